// Views around matrix products.
//
// An element of an operand lies at a linear offset of the product's coordinates (batch..., m, k). If the operand is only a
// rearrangement of another tensor, that offset, taken apart into the operand's coordinates, sent through the view's index map
// and put together again, is the offset in the other tensor. When it is still linear in the product's coordinates the product
// can read there itself:
//
//   K [B,S,H*D] -> reshape [B,S,H,D] -> transpose [B,H,D,S] -> MatMul          the product reads K with strides
//
// The same for a result of which only a permutation is used: the product writes it in the permuted order.
#include "compiler/graph/passes/passes.h"
#include "compiler/graph/product_space.h"

#include <algorithm>
#include <set>

namespace lockstitch {
namespace {

/// The coordinates in a tensor of `shape` of the element at `offset`.
std::vector<IndexExpr> takeApart(const IndexExpr &offset, const Shape &shape,
                                 const IndexRanges &ranges) {
  IndexMap linear;
  linear.results = {offset};
  return compose(IndexMap::delinearize(shape), linear, ranges).results;
}

/// The read of a primitive that does nothing but move elements of one tensor.
const ScalarOp *pureRead(const PrimitiveGraph &graph,
                         const Primitive &primitive) {
  if (primitive.kind != Primitive::Kind::Pull || primitive.operands.size() != 1)
    return nullptr;
  const ScalarOp &result = primitive.body[primitive.body.results[0]];
  if (result.opcode != ScalarOpcode::Read || !result.args.empty() ||
      !result.map.constraints.empty() ||
      graph.type(primitive.result).elements() == 0)
    return nullptr;
  return &result;
}

/// Splits batch dimension `dim` of extent n into (n/inner, inner) in all three views: nothing changes but the notation.
void splitBatch(MatMulCall &call, unsigned dim, int64_t inner) {
  call.batch.insert(call.batch.begin() + dim + 1, inner);
  call.batch[dim] /= inner;
  for (StridedView *view : {&call.a, &call.b, &call.result}) {
    int64_t stride = view->strides[dim];
    view->strides.insert(view->strides.begin() + dim + 1, stride);
    view->strides[dim] = stride * inner;
  }
}

/// Heads that share keys and values make the offset depend on (b floordiv 3): with the batch written as two dimensions it is
/// linear again. Returns the dimension to split and the inner extent.
std::optional<std::pair<unsigned, int64_t>>
batchToSplit(const IndexExpr &offset, const IndexRanges &ranges,
             const MatMulCall &call) {
  for (const auto &[atom, coefficient] : toLinearForm(offset, ranges).terms) {
    bool division = atom.kind() == IndexExpr::Kind::FloorDiv ||
                    atom.kind() == IndexExpr::Kind::Mod;
    if (!division || atom.lhs().kind() != IndexExpr::Kind::Dim)
      continue;
    unsigned dim = atom.lhs().position();
    int64_t inner = atom.rhs().value();
    if (dim < call.batch.size() && call.batch[dim] % inner == 0)
      return std::pair{dim, inner};
  }
  return std::nullopt;
}

void absorbOperand(PrimitiveGraph &graph, Primitive &product, unsigned which) {
  MatMulCall &call = product.call.matmul;
  StridedView &view = which == 0 ? call.a : call.b;
  auto spaceOf = [&] {
    return which == 0 ? productSpace(call, call.m, call.k)
                      : productSpace(call, call.k, call.n);
  };
  Shape space = spaceOf();
  if (numElements(space) == 0 || call.hasC)
    return;
  IndexRanges ranges = rangesOf(space);
  // Through a chain of views the offset may be linear only at its end (reshape, then transpose): keep the best so far.
  IndexExpr offset = offsetOf(view);
  ValueId value = product.operands[which];
  while (graph.values[value].kind == Value::Kind::Result) {
    const Primitive &producer = graph.primitives[graph.values[value].producer];
    const ScalarOp *read = pureRead(graph, producer);
    if (!read)
      return;
    std::vector<IndexExpr> at =
        takeApart(offset, graph.type(value).shape, ranges);
    for (IndexExpr &coordinate : at)
      coordinate = simplify(coordinate, ranges);
    IndexMap inner;
    inner.results = std::move(at);
    value = producer.operands[0];
    offset = linearize(compose(read->map, inner, ranges).results,
                       graph.type(value).shape, ranges);
    while (auto split = batchToSplit(offset, ranges, call)) {
      auto [dim, extent] = *split;
      splitBatch(call, dim, extent);
      space = spaceOf();
      ranges = rangesOf(space);
      // The old dimensions in terms of the new.
      std::vector<IndexExpr> dims;
      for (unsigned i = 0; i + 1 < space.size(); ++i)
        dims.push_back(i < dim ? IndexExpr::dim(i)
                       : i == dim
                           ? IndexExpr::dim(i) * IndexExpr::constant(extent) +
                                 IndexExpr::dim(i + 1)
                           : IndexExpr::dim(i + 1));
      offset = simplify(substitute(offset, dims), ranges);
    }
    if (auto strided = stridedViewOf(offset, ranges, space.size())) {
      view = std::move(*strided);
      product.operands[which] = value;
    }
  }
}

/// If all that is used of the product's result is a permutation of it, the product writes that.
void absorbResult(PrimitiveGraph &graph, PrimitiveId id,
                  const std::vector<std::vector<PrimitiveId>> &users) {
  Primitive &product = graph.primitives[id];
  MatMulCall &call = product.call.matmul;
  Shape space = productSpace(call, call.m, call.n);
  if (numElements(space) == 0)
    return;
  IndexRanges ranges = rangesOf(space);
  IndexExpr offset = offsetOf(call.result);
  ValueId value = product.result;
  std::vector<PrimitiveId> chain;
  std::optional<StridedView> best;
  ValueId bestValue = kNone;
  for (;;) {
    if (users[value].size() != 1 ||
        std::find(graph.outputs.begin(), graph.outputs.end(), value) !=
            graph.outputs.end())
      break;
    const Primitive &user = graph.primitives[users[value][0]];
    const ScalarOp *read = pureRead(graph, user);
    const TensorType &from = graph.type(value), &to = graph.type(user.result);
    if (!read || from.elements() != to.elements() || from.element != to.element)
      break;
    IndexExpr moved;
    if (isReshape(graph, user)) {
      moved = offset;
    } else {
      // A permutation: coordinate i of `from` is coordinate perm(i) of `to`.
      std::vector<IndexExpr> at = takeApart(offset, from.shape, ranges);
      std::vector<IndexExpr> to_at(to.shape.size(), IndexExpr::constant(0));
      std::set<unsigned> seen;
      bool permutation = true;
      for (size_t i = 0; i < from.shape.size() && permutation; ++i) {
        if (from.shape[i].value() == 1)
          continue;
        const IndexExpr &source = read->map.results[i];
        permutation = source.kind() == IndexExpr::Kind::Dim &&
                      to.shape[source.position()] == from.shape[i] &&
                      seen.insert(source.position()).second;
        if (permutation)
          to_at[source.position()] = at[i];
      }
      if (!permutation)
        break;
      moved = linearize(to_at, to.shape, ranges);
    }
    offset = moved;
    value = user.result;
    if (!isReshape(graph, user))
      if (auto strided = stridedViewOf(offset, ranges, space.size())) {
        best = std::move(strided);
        bestValue = value;
      }
  }
  if (!best)
    return;
  // The views in between become dead: nothing reads them any more.
  for (ValueId dead = product.result; dead != bestValue;) {
    Primitive &user = graph.primitives[users[dead][0]];
    product.origins.insert(product.origins.end(), user.origins.begin(),
                           user.origins.end());
    dead = user.result;
  }
  ValueId old = product.result;
  PrimitiveId last = graph.values[bestValue].producer;
  call.result = std::move(*best);
  product.result = bestValue;
  graph.values[bestValue].producer = id;
  graph.primitives[last].result =
      old; // keeps the invariant "each value one producer" for what eliminateDead drops
  graph.values[old].producer = last;
}

} // namespace

void absorbViews(PrimitiveGraph &graph) {
  for (Primitive &primitive : graph.primitives)
    if (primitive.kind == Primitive::Kind::Library &&
        primitive.call.kind == LibraryCall::Kind::MatMul)
      for (unsigned which : {0u, 1u})
        absorbOperand(graph, primitive, which);
  std::vector<std::vector<PrimitiveId>> users = graph.users();
  for (PrimitiveId id = 0; id < graph.primitives.size(); ++id)
    if (graph.primitives[id].kind == Primitive::Kind::Library &&
        graph.primitives[id].call.kind == LibraryCall::Kind::MatMul &&
        !graph.primitives[id].call.matmul.hasC)
      absorbResult(graph, id, users);
}

} // namespace lockstitch
