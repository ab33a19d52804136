// Pools are reductions over windows: the domain is the result's dimensions,
// then the window's. Positions in the padding are not read (the map's
// constraints) and count as the neutral element.
#include "frontends/onnx/reduce.h"
#include "frontends/onnx/rules.h"
#include "frontends/onnx/spatial.h"

namespace lockstitch::onnx {
namespace {

using Op = ScalarOpcode;

std::vector<int64_t> kernelOf(const NodeContext &c) {
  if (c.rank(0) < 3)
    c.refuse("its input should be [N, C, spatial...], not " +
             toString(c.extents(0)));
  auto kernel = c.attrInts("kernel_shape");
  if (!kernel)
    c.refuse("attribute 'kernel_shape' is missing");
  return *kernel;
}

/// Position in the input of window element `dim(within)` of output position
/// `dim(at)`.
IndexExpr positionOf(const Windows &w, size_t i, unsigned at, unsigned within) {
  return IndexExpr::dim(at) * IndexExpr::constant(w.strides[i]) +
         IndexExpr::dim(within) * IndexExpr::constant(w.dilations[i]) -
         IndexExpr::constant(w.padsBegin[i]);
}

ValueId reduceWindows(NodeContext &c, const Windows &w,
                      const Reduction &reduction) {
  Extents to = {c.extents(0)[0], c.extents(0)[1]};
  to.insert(to.end(), w.output.begin(), w.output.end());
  unsigned rank = to.size();
  Shape domain = toShape(to);
  for (int64_t extent : w.kernel)
    domain.push_back(extent);
  BodyBuilder body(c.graph, domain);
  std::vector<IndexExpr> at = {IndexExpr::dim(0), IndexExpr::dim(1)};
  std::vector<IndexConstraint> within;
  std::optional<ScalarId> inside;
  for (int64_t i = 0; i < w.rank(); ++i) {
    IndexExpr position = positionOf(w, i, 2 + i, rank + i);
    at.push_back(position);
    Interval range = rangeOf(position, body.ranges());
    if (range.low >= 0 && range.high < w.input[i])
      continue;
    within.push_back({position, 0, w.input[i] - 1});
    ScalarId here = body.b.inRange(position, 0, w.input[i] - 1);
    inside = inside ? body.b.op(Op::And, {*inside, here}) : here;
  }
  ScalarId value = body.readWide(c.input(0), at, within);
  Reducer reducer = makeReducer(reduction);
  if (inside &&
      reduction.opcode !=
          Op::Add) { // a read outside yields 0, which a sum does not mind
    ElementType type = body.b.type(value);
    ScalarId neutral = isFloat(type)
                           ? body.b.constant(type, reducer.init[0].real)
                           : body.b.constantInt(type, reducer.init[0].integer);
    value = body.b.select(*inside, value, neutral);
  }
  return body.reduce({value}, w.rank(), std::move(reducer), reduction.result);
}

void maxPool(NodeContext &c) {
  Windows w = windowsOf(c, kernelOf(c));
  ElementType type = c.element(0);
  c.setOutput(0, reduceWindows(c, w,
                               {.opcode = Op::Max,
                                .accumulate = computeType(type),
                                .result = type}));
}

/// Number of positions of the window at output position `at` that lie in [low,
/// high), as an i64.
ScalarId positionsInside(BodyBuilder &body, const Windows &w, size_t i,
                         unsigned at, int64_t low, int64_t high) {
  ScalarBuilder &b = body.b;
  auto number = [&](int64_t value) {
    return b.constantInt(ElementType::I64, value);
  };
  ScalarId start =
      b.index(IndexExpr::dim(at) * IndexExpr::constant(w.strides[i]) -
              IndexExpr::constant(w.padsBegin[i]));
  // Element k lies at start + k * dilation: first k with that >= low, and first
  // with that >= high.
  auto firstFrom = [&](int64_t bound) {
    ScalarId distance =
        b.op(Op::Max, {b.op(Op::Sub, {number(bound), start}), number(0)});
    ScalarId steps =
        b.op(Op::Div, {b.op(Op::Add, {distance, number(w.dilations[i] - 1)}),
                       number(w.dilations[i])});
    return b.op(Op::Min, {steps, number(w.kernel[i])});
  };
  return b.op(Op::Sub, {firstFrom(high), firstFrom(low)});
}

void averagePool(NodeContext &c) {
  c.requireFloat(0);
  Windows w = windowsOf(c, kernelOf(c));
  ElementType type = c.element(0), wide = computeType(type);
  double size = 1;
  for (int64_t extent : w.kernel)
    size *= static_cast<double>(extent);
  Reduction sum{.accumulate = wide, .result = type};
  sum.after = [size](ScalarBuilder &b, ScalarId s) {
    return b.op(Op::Div, {s, b.constant(b.type(s), size)});
  };
  if (!w.isPadded())
    return c.setOutput(0, reduceWindows(c, w, sum));

  // The divisor depends on the position: padding counts only where it is asked
  // for, and what ceil_mode adds never does.
  bool countPads = c.attrInt("count_include_pad", 0) != 0;
  ValueId sums = reduceWindows(c, w, {.accumulate = wide, .result = wide});
  BodyBuilder body(c.graph, c.graph.type(sums).shape);
  ScalarId count = body.b.constantInt(ElementType::I64, 1);
  for (int64_t i = 0; i < w.rank(); ++i) {
    int64_t low = countPads ? -w.padsBegin[i] : 0,
            high = w.input[i] + (countPads ? w.padsEnd[i] : 0);
    count = body.b.op(Op::Mul,
                      {count, positionsInside(body, w, i, 2 + i, low, high)});
  }
  ScalarId total = body.readWide(sums, identityAt(body.rank()));
  c.setOutput(
      0,
      body.pull(body.b.op(Op::Div, {total, body.b.cast(count, wide)}), type));
}

template <bool isMax> void globalPool(NodeContext &c) {
  if (c.rank(0) < 2)
    c.refuse("its input should be [N, C, spatial...], not " +
             toString(c.extents(0)));
  ElementType type = c.element(0);
  std::vector<int64_t> axes;
  for (int64_t i = 2; i < c.rank(0); ++i)
    axes.push_back(i);
  Reduction reduction{.opcode = isMax ? Op::Max : Op::Add,
                      .accumulate = computeType(type),
                      .result = type};
  if (!isMax) {
    double count = static_cast<double>(reducedCount(c.shape(0), axes));
    reduction.after = [count](ScalarBuilder &b, ScalarId s) {
      return b.op(Op::Div, {s, b.constant(b.type(s), count)});
    };
  }
  c.setOutput(0, reduceAxes(c.graph, c.input(0), axes, true, reduction));
}

constexpr Rule kRules[] = {
    {"AveragePool", 1, kNewest, averagePool},
    {"GlobalAveragePool", 1, kNewest, globalPool<false>},
    {"GlobalMaxPool", 1, kNewest, globalPool<true>},
    {"MaxPool", 1, kNewest, maxPool},
};

} // namespace

std::span<const Rule> poolingRules() { return kRules; }

} // namespace lockstitch::onnx
