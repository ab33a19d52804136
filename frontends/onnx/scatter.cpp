// Scatter, ScatterElements, ScatterND, TensorScatter: a Push of the updates onto the data.
//
// Indices that are constants of the model are checked here, and become index
// expressions where they are affine in the coordinates of the updates (a slice
// that is assigned to). Others count from the end where they are negative;
// an update whose index is out of range all the same (an error in ONNX) does
// nothing. Of several updates of one element the last wins, or all are combined
// in row-major order.
#include "frontends/onnx/node_context.h"
#include "frontends/onnx/rules.h"

#include <algorithm>

namespace lockstitch::onnx {
namespace {

using Op = ScalarOpcode;

/// The last update wins.
Reducer assigning(ElementType type) {
  Reducer reducer;
  reducer.types = {type};
  reducer.init = {{}};
  for (ScalarProgram *program : {&reducer.update, &reducer.combine}) {
    ScalarBuilder b(*program);
    b.argument(0, type);
    program->results = {b.argument(1, type)};
  }
  ScalarBuilder finish(reducer.finish);
  reducer.finish.results = {finish.argument(0, type)};
  return reducer;
}

/// How updates are combined with what is there.
Reducer reducerOf(const NodeContext &c) {
  std::string reduction =
      c.opset >= 16 ? c.attrString("reduction", "none") : "none";
  ElementType type = c.element(0);
  if (reduction == "none")
    return assigning(type);
  if (type == ElementType::Bool)
    c.refuse("bools have no reduction '" + reduction + "'");
  if (reduction == "add") {
    Reducer reducer = Reducer::simple(Op::Add, type, type);
    reducer.init[0].real = -0.0; // what changes no number, not even -0
    return reducer;
  }
  if (reduction == "mul")
    return Reducer::simple(Op::Mul, type, type);
  bool isMin = reduction == "min";
  if (c.opset < 18 || (!isMin && reduction != "max"))
    c.refuse("opset " + std::to_string(c.opset) + " has no reduction '" +
             reduction + "'");
  return Reducer::simple(isMin ? Op::Min : Op::Max, type, type);
}

/// c + sum of s_i * d_i, if that is what `values` (row-major of `shape`) are.
std::optional<IndexExpr> affine(const std::vector<int64_t> &values,
                                const Extents &shape) {
  if (values.empty())
    return std::nullopt;
  std::vector<int64_t> strides = rowMajorStrides(toShape(shape)), slopes;
  IndexExpr expr = IndexExpr::constant(values[0]);
  for (size_t d = 0; d < shape.size(); ++d) {
    slopes.push_back(shape[d] > 1 ? values[strides[d]] - values[0] : 0);
    expr = expr + IndexExpr::dim(d) * IndexExpr::constant(slopes[d]);
  }
  for (size_t i = 0; i < values.size(); ++i) {
    int64_t want = values[0], rest = static_cast<int64_t>(i);
    for (size_t d = 0; d < shape.size(); ++d) {
      want += rest / strides[d] * slopes[d];
      rest %= strides[d];
    }
    if (values[i] != want)
      return std::nullopt;
  }
  return expr;
}

/// The push while it is made: coordinates that are data become run-time
/// variables.
struct Scatter {
  NodeContext &c;
  BodyBuilder body;
  IndexMap target;
  std::vector<ScalarId> runtimes;

  explicit Scatter(NodeContext &c) : c(c), body(c.graph, c.shape(2)) {
    if (c.element(1) != ElementType::I64 && c.element(1) != ElementType::I32)
      c.refuse("indices should be i32 or i64, not " +
               std::string(lockstitch::name(c.element(1))));
    if (c.element(2) != c.element(0))
      c.refuse("updates of " + std::string(lockstitch::name(c.element(2))) +
               " do not fit data of " +
               std::string(lockstitch::name(c.element(0))));
    target.numDims = body.rank();
  }

  /// The coordinate that the element of the indices at `at` names, along a
  /// dimension of `extent`. `known`: the indices at d0, d1, ... of `shape`,
  /// where they are constant.
  void addIndexed(std::vector<IndexExpr> at, int64_t extent,
                  std::optional<std::vector<int64_t>> known,
                  const Extents &shape) {
    if (known) {
      for (int64_t &index : *known) {
        if (index < -extent || index >= extent)
          c.refuse("index " + std::to_string(index) + " is outside of [" +
                   std::to_string(-extent) + ", " + std::to_string(extent - 1) +
                   "]");
        index = index < 0 ? index + extent : index;
      }
      if (std::optional<IndexExpr> expr = affine(*known, shape)) {
        target.results.push_back(simplify(*expr, body.ranges()));
        return;
      }
    }
    ScalarBuilder &b = body.b;
    ScalarId index =
        b.cast(body.read(c.input(1), std::move(at)), ElementType::I64);
    ScalarId fromEnd =
        b.op(Op::Add, {index, b.constantInt(ElementType::I64, extent)});
    index = b.select(b.op(Op::Lt, {index, b.constantInt(ElementType::I64, 0)}),
                     fromEnd, index);
    target.results.push_back(IndexExpr::runtime(runtimes.size()));
    runtimes.push_back(index);
  }

  void finish() {
    ScalarId update = body.read(c.input(2), identityAt(body.rank()));
    c.setOutput(0, body.push(c.input(0), update, std::move(target),
                             std::move(runtimes), reducerOf(c)));
  }
};

void scatterElements(NodeContext &c) {
  Extents data = c.extents(0), shape = c.extents(1);
  if (data.size() != shape.size() || data.empty() || shape != c.extents(2))
    c.refuse("data, indices and updates of " + toString(data) + ", " +
             toString(shape) + " and " + toString(c.extents(2)) +
             " do not fit: they should have the same rank, not 0, the last two "
             "the same shape");
  int64_t axis = c.axis(c.attrInt("axis", 0), c.rank(0));
  for (size_t i = 0; i < data.size(); ++i)
    if (static_cast<int64_t>(i) != axis && shape[i] > data[i])
      c.refuse("indices of " + toString(shape) + " are larger than data of " +
               toString(data));
  Scatter scatter(c);
  for (size_t i = 0; i < data.size(); ++i) {
    if (static_cast<int64_t>(i) == axis)
      scatter.addIndexed(identityAt(data.size()), data[axis],
                         c.graph.constantInts(c.input(1)), shape);
    else
      scatter.target.results.push_back(IndexExpr::dim(i));
  }
  scatter.finish();
}

void scatterND(NodeContext &c) {
  Extents data = c.extents(0), shape = c.extents(1);
  if (shape.empty() || shape.back() < 1 || shape.back() > c.rank(0))
    c.refuse("indices of " + toString(shape) + " do not fit data of " +
             toString(data));
  size_t depth = shape.back();
  Extents tuples(shape.begin(), shape.end() - 1), want = tuples;
  want.insert(want.end(), data.begin() + depth, data.end());
  if (want != c.extents(2))
    c.refuse("updates should have the shape " + toString(want) + ", not " +
             toString(c.extents(2)));
  std::optional<std::vector<int64_t>> known = c.graph.constantInts(c.input(1));
  Scatter scatter(c);
  for (size_t k = 0; k < depth; ++k) {
    std::vector<IndexExpr> at = identityAt(tuples.size());
    at.push_back(IndexExpr::constant(k));
    std::optional<std::vector<int64_t>> column;
    if (known) {
      column.emplace();
      for (size_t i = k; i < known->size(); i += depth)
        column->push_back((*known)[i]);
    }
    scatter.addIndexed(std::move(at), data[k], std::move(column), tuples);
  }
  for (size_t i = tuples.size(); i < want.size(); ++i)
    scatter.target.results.push_back(IndexExpr::dim(i));
  scatter.finish();
}

/// A cache of keys or values: each sequence of the batch writes its update from an index of its own on, or around the end.
void tensorScatter(NodeContext &c) {
  Extents cache = c.extents(0), update = c.extents(1);
  c.requireSameType(0, 2);
  int64_t axis = c.axis(c.attrInt("axis", -2), c.rank(0));
  std::string mode = c.attrString("mode", "linear");
  if (mode != "linear" && mode != "circular")
    c.refuse("attribute 'mode' should be linear or circular, not '" + mode +
             "'");
  Extents want = cache;
  if (update.size() == cache.size() && axis != 0)
    want[axis] = std::min(update[axis], cache[axis]);
  if (axis == 0 || want != update)
    c.refuse("an update of " + toString(update) + " does not fit a cache of " +
             toString(cache) + " along axis " + std::to_string(axis));
  if (c.has(2) &&
      (c.extents(2) != Extents{cache[0]} || c.element(2) != ElementType::I64))
    c.refuse("its indices should be one i64 for each of the " +
             std::to_string(cache[0]) + " sequences");
  BodyBuilder body(c.graph, toShape(update));
  IndexMap target = IndexMap::identity(body.rank());
  std::vector<ScalarId> runtimes;
  if (c.has(2)) {
    runtimes = {body.read(c.input(2), {IndexExpr::dim(0)})};
    target.results[axis] = IndexExpr::dim(axis) + IndexExpr::runtime(0);
  }
  if (mode == "circular" && cache[axis] > 0)
    target.results[axis] = mod(target.results[axis], cache[axis]);
  ScalarId element = body.read(c.input(1), identityAt(body.rank()));
  c.setOutput(0, body.push(c.input(0), element, std::move(target),
                           std::move(runtimes), assigning(c.element(0))));
}

constexpr Rule kRules[] = {
    {"Scatter", 9, 10, scatterElements},
    {"ScatterElements", 11, kNewest, scatterElements},
    {"ScatterND", 11, kNewest, scatterND},
    {"TensorScatter", 24, kNewest, tensorScatter},
};

} // namespace

std::span<const Rule> scatterRules() { return kRules; }

} // namespace lockstitch::onnx
