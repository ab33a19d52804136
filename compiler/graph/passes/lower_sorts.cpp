// Sorts as two reductions, by counting: a key's rank is the number of keys of its line that come before it; position p of
// the result is the one whose rank is p.
//
//   rank[.., i]  = sum over j of (key j comes before key i)
//   order[.., p] = max over i of (rank i == p ? i : 0)
//
// "Before" is a strict total order (equal keys by their position, NaNs above all numbers), so that ranks are a permutation.
// The cost is quadratic in the length of a line: right, parallel, and dear beyond some thousand keys.
#include "compiler/graph/passes/body_copy.h"
#include "compiler/graph/passes/passes.h"

#include <algorithm>

namespace lockstitch {
namespace {

using Op = ScalarOpcode;

/// a < b, where a NaN is larger than every number.
ScalarId isLess(ScalarBuilder &b, ScalarId left, ScalarId right) {
  ScalarId less = b.op(Op::Lt, {left, right});
  if (!isFloat(b.type(left)))
    return less;
  return b.op(Op::Or, {less, b.op(Op::And,
                                  {b.op(Op::IsNaN, {right}),
                                   b.op(Op::Not, {b.op(Op::IsNaN, {left})})})});
}

void lowerSort(PrimitiveGraph &graph, const Primitive &sort) {
  const TensorType type = graph.type(sort.result);
  unsigned rank = sort.domain.size();
  Dim length = sort.domain[sort.along];
  // Ranks are below the length.
  ElementType count =
      length.value() <= INT32_MAX ? ElementType::I32 : ElementType::I64;
  std::vector<IndexExpr> own = IndexMap::identity(rank).results, other = own;
  other[sort.along] = IndexExpr::dim(rank);

  PrimitiveMaker ranks;
  ranks.primitive.kind = Primitive::Kind::Reduce;
  ranks.primitive.domain = sort.domain;
  ranks.primitive.domain.push_back(length);
  ranks.primitive.reducedDims = 1;
  ScalarBuilder &b = ranks.b;
  ScalarId key = BodyCopy(graph, sort, ranks, own).copy(sort.body.results[0]),
           rival =
               BodyCopy(graph, sort, ranks, other).copy(sort.body.results[0]);
  if (sort.descending)
    std::swap(key, rival);
  ScalarId isEarlier =
      b.op(Op::Lt, {b.index(other[sort.along]), b.index(own[sort.along])});
  ScalarId isBefore = b.op(
      Op::Or,
      {isLess(b, rival, key),
       b.op(Op::And, {isEarlier, b.op(Op::Not, {isLess(b, key, rival)})})});
  ranks.primitive.body.results = {b.cast(isBefore, count)};
  ranks.primitive.reducer = Reducer::simple(Op::Add, count, count);
  ValueId ranked =
      addRewritten(graph, ranks, sort, ".rank", {count, sort.domain});

  PrimitiveMaker order;
  order.primitive.kind = Primitive::Kind::Reduce;
  order.primitive.domain = type.shape;
  order.primitive.domain.push_back(length);
  order.primitive.reducedDims = 1;
  ScalarBuilder &o = order.b;
  ScalarId isHere = o.op(Op::Eq, {order.read(graph, ranked, other),
                                  o.cast(o.index(own[sort.along]), count)});
  order.primitive.body.results = {
      o.select(isHere, o.cast(o.index(other[sort.along]), count),
               o.constantInt(count, 0))};
  order.primitive.reducer = Reducer::simple(Op::Max, count, ElementType::I64);
  addRewritten(graph, order, sort, "", type);
  int64_t lines =
      numElements(sort.domain) / std::max<int64_t>(length.value(), 1);
  for (OriginId origin : sort.origins)
    graph.origins[origin].note =
        "sorted by counting: each of " + std::to_string(lines) + " lines of " +
        std::to_string(length.value()) + " keys takes " +
        std::to_string(length.value() * length.value()) + " comparisons";
}

} // namespace

void lowerSorts(PrimitiveGraph &graph) {
  rewritePrimitives(graph, [&](const Primitive &primitive) {
    if (primitive.kind != Primitive::Kind::Sort)
      return false;
    lowerSort(graph, primitive);
    return true;
  });
}

} // namespace lockstitch
