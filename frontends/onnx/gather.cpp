// Operators whose indices are data. Indices that are constants of the model
// become index expressions where they can (one index, evenly spaced ones), and
// are checked here; others are made non-negative and clamped by the body, so
// that no value of an index reads outside of the tensor.
#include "frontends/onnx/node_context.h"
#include "frontends/onnx/rules.h"

namespace lockstitch::onnx {
namespace {

using Op = ScalarOpcode;

/// `index` as an i64 in [0, extent): negative ones count from the end, others
/// are clamped.
ScalarId clampedIndex(ScalarBuilder &b, ScalarId index, int64_t extent) {
  index = b.cast(index, ElementType::I64);
  ScalarId zero = b.constantInt(ElementType::I64, 0);
  ScalarId fromEnd =
      b.op(Op::Add, {index, b.constantInt(ElementType::I64, extent)});
  index = b.select(b.op(Op::Lt, {index, zero}), fromEnd, index);
  index = b.op(Op::Max, {index, zero});
  return b.op(Op::Min, {index, b.constantInt(ElementType::I64, extent - 1)});
}

void requireIndices(NodeContext &c, size_t i) {
  if (c.element(i) != ElementType::I64 && c.element(i) != ElementType::I32)
    c.refuse("indices should be i32 or i64, not " +
             std::string(lockstitch::name(c.element(i))));
}

/// Makes constant indices non-negative; refuses one that is out of range.
std::vector<int64_t>
checkedIndices(NodeContext &c, std::vector<int64_t> indices, int64_t extent) {
  for (int64_t &index : indices) {
    if (index < -extent || index >= extent)
      c.refuse("index " + std::to_string(index) + " is outside of [" +
               std::to_string(-extent) + ", " + std::to_string(extent - 1) +
               "]");
    index = index < 0 ? index + extent : index;
  }
  return indices;
}

/// first and step, if `indices` are first, first + step, first + 2 step ...
std::optional<std::pair<int64_t, int64_t>>
evenlySpaced(const std::vector<int64_t> &indices) {
  if (indices.empty())
    return std::nullopt;
  int64_t step = indices.size() > 1 ? indices[1] - indices[0] : 0;
  for (size_t i = 1; i < indices.size(); ++i)
    if (indices[i] - indices[i - 1] != step)
      return std::nullopt;
  return std::pair(indices[0], step);
}

void gather(NodeContext &c) {
  requireIndices(c, 1);
  Extents data = c.extents(0), shape = c.extents(1);
  if (data.empty())
    c.refuse("a scalar has nothing to gather from");
  int64_t axis = c.axis(c.attrInt("axis", 0), c.rank(0)), extent = data[axis];
  Extents to(data.begin(), data.begin() + axis);
  to.insert(to.end(), shape.begin(), shape.end());
  to.insert(to.end(), data.begin() + axis + 1, data.end());
  if (extent == 0 && c.type(1).elements() != 0)
    c.refuse("there is nothing to gather along a dimension of 0");
  ValueId indices = c.input(1);
  std::optional<std::vector<int64_t>> known = c.graph.constantInts(indices);
  if (known)
    known = checkedIndices(c, *known, extent);

  BodyBuilder body(c.graph, toShape(to));
  std::vector<IndexExpr> at(data.size()), indexAt;
  for (size_t i = 0; i < data.size(); ++i) {
    if (static_cast<int64_t>(i) != axis)
      at[i] = IndexExpr::dim(
          static_cast<int64_t>(i) < axis ? i : i - 1 + shape.size());
  }
  for (size_t i = 0; i < shape.size(); ++i)
    indexAt.push_back(IndexExpr::dim(axis + i));
  if (auto line = known ? evenlySpaced(*known) : std::nullopt) {
    IndexExpr linear = linearize(indexAt, toShape(shape), body.ranges());
    at[axis] = IndexExpr::constant(line->first) +
               IndexExpr::constant(line->second) * linear;
    return c.setOutput(0, body.pull(body.read(c.input(0), at), c.element(0)));
  }
  at[axis] = IndexExpr::runtime(0);
  ScalarId index;
  if (known) // checked and non-negative already
    index = body.read(c.graph.constantInts(*known, shape), indexAt);
  else
    index = clampedIndex(body.b, body.read(indices, indexAt), extent);
  c.setOutput(0,
              body.pull(body.read(c.input(0), at, {}, {index}), c.element(0)));
}

void gatherElements(NodeContext &c) {
  requireIndices(c, 1);
  Extents data = c.extents(0), shape = c.extents(1);
  if (data.size() != shape.size() || data.empty())
    c.refuse("data and indices should have the same rank, and not 0");
  int64_t axis = c.axis(c.attrInt("axis", 0), c.rank(0));
  for (size_t i = 0; i < data.size(); ++i)
    if (static_cast<int64_t>(i) != axis && shape[i] > data[i])
      c.refuse("indices of " + toString(shape) + " are larger than data of " +
               toString(data));
  if (data[axis] == 0 && c.type(1).elements() != 0)
    c.refuse("there is nothing to gather along a dimension of 0");
  if (auto known = c.graph.constantInts(c.input(1)))
    checkedIndices(c, *known, data[axis]);
  BodyBuilder body(c.graph, toShape(shape));
  ScalarId index = clampedIndex(
      body.b, body.read(c.input(1), identityAt(shape.size())), data[axis]);
  std::vector<IndexExpr> at = identityAt(data.size());
  at[axis] = IndexExpr::runtime(0);
  c.setOutput(0,
              body.pull(body.read(c.input(0), at, {}, {index}), c.element(0)));
}

void gatherND(NodeContext &c) {
  requireIndices(c, 1);
  Extents data = c.extents(0), shape = c.extents(1);
  int64_t batch = c.opset >= 12 ? c.attrInt("batch_dims", 0) : 0,
          rank = c.rank(0);
  if (shape.empty() || batch < 0 ||
      batch >= static_cast<int64_t>(shape.size()) ||
      batch + shape.back() > rank || shape.back() < 1)
    c.refuse("indices of " + toString(shape) + " do not fit data of " +
             toString(data));
  int64_t depth = shape.back();
  for (int64_t i = 0; i < batch; ++i)
    if (data[i] != shape[i])
      c.refuse("the batch dimensions of " + toString(data) + " and " +
               toString(shape) + " differ");
  Extents to(shape.begin(), shape.end() - 1);
  to.insert(to.end(), data.begin() + batch + depth, data.end());
  BodyBuilder body(c.graph, toShape(to));
  std::vector<ScalarId> indices;
  std::vector<IndexExpr> at;
  for (int64_t i = 0; i < batch; ++i)
    at.push_back(IndexExpr::dim(i));
  for (int64_t k = 0; k < depth; ++k) {
    if (data[batch + k] == 0 && c.type(1).elements() != 0)
      c.refuse("there is nothing to gather along a dimension of 0");
    std::vector<IndexExpr> indexAt = identityAt(shape.size() - 1);
    indexAt.push_back(IndexExpr::constant(k));
    indices.push_back(
        clampedIndex(body.b, body.read(c.input(1), indexAt), data[batch + k]));
    at.push_back(IndexExpr::runtime(k));
  }
  for (int64_t i = batch + depth; i < rank; ++i)
    at.push_back(IndexExpr::dim(shape.size() - 1 + i - batch - depth));
  c.setOutput(0,
              body.pull(body.read(c.input(0), at, {}, indices), c.element(0)));
}

/// The first `length` elements of each sequence backwards, the others as they
/// are.
void reverseSequence(NodeContext &c) {
  requireIndices(c, 1);
  int64_t time = c.axis(c.attrInt("time_axis", 0), c.rank(0), "time_axis"),
          batch = c.axis(c.attrInt("batch_axis", 1), c.rank(0), "batch_axis");
  Extents data = c.extents(0);
  if (time == batch || c.extents(1) != Extents{data[batch]})
    c.refuse("its lengths of " + toString(c.extents(1)) +
             " should be one for each of the " + std::to_string(data[batch]) +
             " sequences of " + toString(data));
  BodyBuilder body(c.graph, c.shape(0));
  ScalarBuilder &b = body.b;
  ScalarId length = b.cast(body.read(c.input(1), {IndexExpr::dim(batch)}),
                           ElementType::I64),
           step = b.index(IndexExpr::dim(time));
  ScalarId mirrored = b.op(Op::Sub, {b.op(Op::Sub, {length, step}),
                                     b.constantInt(ElementType::I64, 1)});
  ScalarId from = b.select(b.op(Op::Lt, {step, length}), mirrored, step);
  std::vector<IndexExpr> at = identityAt(data.size());
  at[time] = IndexExpr::runtime(0);
  c.setOutput(0, body.pull(body.read(c.input(0), at, {},
                                     {clampedIndex(b, from, data[time])}),
                           c.element(0)));
}

void oneHot(NodeContext &c) {
  std::optional<std::vector<double>> depthValue =
      c.graph.constantReals(c.input(1));
  if (!depthValue || depthValue->size() != 1)
    c.refuse("its depth steers a shape, so it must be known while compiling");
  int64_t depth = static_cast<int64_t>((*depthValue)[0]);
  if (c.type(2).elements() != 2 || c.rank(2) != 1)
    c.refuse("its values should be two");
  Extents to = c.extents(0);
  int64_t axis = c.axis(c.attrInt("axis", -1), c.rank(0) + 1);
  to.insert(to.begin() + axis, depth);
  BodyBuilder body(c.graph, toShape(to));
  std::vector<IndexExpr> at = identityAt(to.size());
  at.erase(at.begin() + axis);
  ScalarBuilder &b = body.b;
  ScalarId index = b.cast(body.readWide(c.input(0), at), ElementType::I64),
           zero = b.constantInt(ElementType::I64, 0);
  index = b.select(
      b.op(Op::Lt, {index, zero}),
      b.op(Op::Add, {index, b.constantInt(ElementType::I64, depth)}), index);
  ScalarId isHere = b.op(Op::Eq, {index, b.index(IndexExpr::dim(axis))});
  ScalarId off = body.read(c.input(2), {IndexExpr::constant(0)}),
           on = body.read(c.input(2), {IndexExpr::constant(1)});
  c.setOutput(0, body.pull(b.select(isHere, on, off), c.element(2)));
}

constexpr Rule kRules[] = {
    {"Gather", 1, kNewest, gather},
    {"GatherElements", 11, kNewest, gatherElements},
    {"GatherND", 11, kNewest, gatherND},
    {"OneHot", 9, kNewest, oneHot},
    {"ReverseSequence", 10, kNewest, reverseSequence},
};

} // namespace

std::span<const Rule> gatherRules() { return kRules; }

} // namespace lockstitch::onnx
