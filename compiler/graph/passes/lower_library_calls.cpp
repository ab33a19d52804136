// Products and convolutions that no library takes become reductions, like any other: slow, and right.
//
//   product        y[e] = sum over k of a[offset_a(b, i, k)] * b[offset_b(b, k, j)]    (b, i, j) being where e lies in the result
//   convolution    y[n, m, o...] = sum over (c, t...) of x[n, g*C + c, o*stride - pad + t*dilation] * w[m, c, t...]
//
// The views of a product are offsets into whole tensors; taken apart into the tensors' coordinates they are index maps. The
// result is written in its own order, so its view is inverted: of strides that nest, each coordinate is (e floordiv stride)
// mod extent.
#include "compiler/graph/loop.h"
#include "compiler/graph/passes/passes.h"
#include "compiler/graph/product_space.h"

#include <algorithm>

namespace lockstitch {
namespace {

/// Rewrites one primitive in place; its result and its type stay.
class CallLowering {
public:
  CallLowering(const PrimitiveGraph &graph, Primitive &primitive)
      : graph(graph), primitive(primitive),
        result(graph.type(primitive.result)) {}

  bool run() {
    Primitive lowered = primitive;
    lowered.call = {};
    lowered.kind = Primitive::Kind::Reduce;
    bool built = primitive.call.kind == LibraryCall::Kind::MatMul
                     ? product(lowered)
                     : convolution(lowered);
    if (built)
      primitive = std::move(lowered);
    return built;
  }

private:
  /// The coordinates of the element at linear `offset` of operand `index`.
  IndexMap element(size_t index, const IndexExpr &offset,
                   const Shape &domain) const {
    IndexMap linear;
    linear.numDims = domain.size();
    linear.results = {offset};
    return compose(
        IndexMap::delinearize(graph.type(primitive.operands[index]).shape),
        linear, rangesOf(domain));
  }

  /// body = left * right; the sum of them is scaled by `alpha` and rounded to the result's type.
  void multiplyAndAdd(Primitive &lowered, IndexMap left, IndexMap right,
                      float alpha) const {
    ElementType type = result.element, wide = computeType(type);
    ScalarBuilder b(lowered.body);
    ScalarId x = b.cast(b.read(0, type, std::move(left)), wide),
             y = b.cast(b.read(1, type, std::move(right)), wide);
    lowered.body.results = {b.op(ScalarOpcode::Mul, {x, y})};
    lowered.reducer = Reducer::simple(ScalarOpcode::Add, type, type);
    if (alpha == 1)
      return;
    lowered.reducer.finish = {};
    ScalarBuilder finish(lowered.reducer.finish);
    ScalarId factor =
        isFloat(wide) ? finish.constant(wide, alpha)
                      : finish.constantInt(wide, static_cast<int64_t>(alpha));
    ScalarId scaled =
        finish.op(ScalarOpcode::Mul, {finish.argument(0, wide), factor});
    lowered.reducer.finish.results = {finish.cast(scaled, type)};
  }

  /// Where the element at linear offset `e` of the result lies in the call's coordinates; nothing if the result's view is not
  /// a dense permutation.
  std::optional<std::vector<IndexExpr>>
  coordinatesOf(const MatMulCall &call, const IndexExpr &e,
                const IndexRanges &ranges) const {
    Shape space = productSpace(call, call.m, call.n);
    std::vector<size_t> order;
    for (size_t i = 0; i < space.size(); ++i)
      if (space[i].value() != 1)
        order.push_back(i);
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return call.result.strides[a] < call.result.strides[b];
    });
    int64_t dense = 1;
    std::vector<IndexExpr> at(space.size(), IndexExpr::constant(0));
    for (size_t i : order) {
      if (call.result.strides[i] != dense)
        return std::nullopt;
      dense *= space[i].value();
      at[i] = simplify(
          mod(floorDiv(e, call.result.strides[i]), space[i].value()), ranges);
    }
    if (call.result.offset != 0 || dense != result.elements())
      return std::nullopt;
    return at;
  }

  bool product(Primitive &lowered) const {
    const MatMulCall &call = primitive.call.matmul;
    if (call.hasC || call.k == 0)
      return false;
    lowered.domain = result.shape;
    lowered.domain.push_back(call.k);
    lowered.reducedDims = 1;
    IndexRanges ranges = rangesOf(lowered.domain);
    std::vector<IndexExpr> dims;
    for (unsigned i = 0; i < result.shape.size(); ++i)
      dims.push_back(IndexExpr::dim(i));
    auto at =
        coordinatesOf(call, linearize(dims, result.shape, ranges), ranges);
    if (!at)
      return false;
    size_t row = call.batch.size(), column = row + 1;
    IndexExpr k = IndexExpr::dim(static_cast<unsigned>(result.shape.size()));
    std::vector<IndexExpr> left = *at, right = *at;
    left[column] = k;
    right[row] = k;
    multiplyAndAdd(
        lowered,
        element(0, simplify(substitute(offsetOf(call.a), left), ranges),
                lowered.domain),
        element(1, simplify(substitute(offsetOf(call.b), right), ranges),
                lowered.domain),
        call.alpha);
    return true;
  }

  bool convolution(Primitive &lowered) const {
    const ConvCall &call = primitive.call.conv;
    if (call.hasBias)
      return false;
    unsigned spatial = static_cast<unsigned>(call.kernel.size());
    int64_t channels = call.inputChannels / call.group,
            filters = call.outputChannels / call.group;
    lowered.domain = {call.batch, call.outputChannels};
    lowered.domain.insert(lowered.domain.end(), call.outputSpatial.begin(),
                          call.outputSpatial.end());
    lowered.domain.push_back(channels);
    lowered.domain.insert(lowered.domain.end(), call.kernel.begin(),
                          call.kernel.end());
    lowered.reducedDims = spatial + 1;
    if (result.shape.size() != spatial + 2)
      return false;
    IndexRanges ranges = rangesOf(lowered.domain);
    auto dim = [](unsigned position) { return IndexExpr::dim(position); };
    auto number = [](int64_t value) { return IndexExpr::constant(value); };
    IndexMap input, filter;
    input.numDims = filter.numDims =
        static_cast<unsigned>(lowered.domain.size());
    IndexExpr channel = dim(spatial + 2);
    input.results = {dim(0),
                     floorDiv(dim(1), filters) * number(channels) + channel};
    filter.results = {dim(1), channel};
    for (unsigned i = 0; i < spatial; ++i) {
      IndexExpr tap = dim(spatial + 3 + i);
      IndexExpr at = dim(2 + i) * number(call.strides[i]) +
                     tap * number(call.dilations[i]) +
                     number(-call.padsBegin[i]);
      input.results.push_back(at);
      filter.results.push_back(tap);
      Interval inside{0, call.inputSpatial[i] - 1};
      // Both sides are zero in the border, so that no infinite weight makes it NaN.
      if (!inside.contains(rangeOf(at, ranges)))
        for (IndexMap *map : {&input, &filter})
          map->constraints.push_back(
              {simplify(at, ranges), inside.low, inside.high});
    }
    for (IndexMap *map : {&input, &filter})
      for (IndexExpr &expr : map->results)
        expr = simplify(expr, ranges);
    multiplyAndAdd(lowered, std::move(input), std::move(filter), 1);
    return true;
  }

  const PrimitiveGraph &graph;
  Primitive &primitive;
  const TensorType result;
};

} // namespace

void lowerLibraryCalls(
    PrimitiveGraph &graph,
    const std::function<bool(const LibraryCall &)> &isTaken) {
  for (Primitive &primitive : graph.primitives) {
    if (primitive.kind == Primitive::Kind::Library && !isTaken(primitive.call))
      CallLowering(graph, primitive).run();
    if (primitive.kind != Primitive::Kind::Loop)
      continue;
    auto loop = std::make_shared<Loop>(*primitive.loop);
    lowerLibraryCalls(loop->body, isTaken);
    primitive.loop = std::move(loop);
  }
}

} // namespace lockstitch
