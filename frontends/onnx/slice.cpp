// Operators that take tensors apart or put them together: Slice, Split, Concat,
// Pad, Trilu.
//
// Where an element of the result lies outside of an operand, the read carries a
// constraint (nothing is accessed) and the body selects something else.
#include "frontends/onnx/node_context.h"
#include "frontends/onnx/rules.h"

#include <algorithm>

namespace lockstitch::onnx {
namespace {

/// Elements start, start + step, ... along each axis of `value`.
ValueId slice(GraphBuilder &graph, ValueId value,
              const std::vector<int64_t> &starts,
              const std::vector<int64_t> &steps, const Extents &to) {
  bool isAll = to == graph.extents(value);
  for (int64_t step : steps)
    isAll &= step == 1;
  if (isAll)
    return value;
  BodyBuilder body(graph, toShape(to));
  std::vector<IndexExpr> at;
  for (size_t i = 0; i < to.size(); ++i)
    at.push_back(IndexExpr::dim(i) * IndexExpr::constant(steps[i]) +
                 IndexExpr::constant(starts[i]));
  return body.pull(body.read(value, at), graph.element(value));
}

void sliceRule(NodeContext &c) {
  Extents from = c.extents(0), to = from;
  int64_t rank = c.rank(0);
  std::optional<std::vector<int64_t>> starts = c.intsFrom("starts", 1, 10),
                                      ends = c.intsFrom("ends", 2, 10),
                                      axes = c.intsFrom("axes", 3, 10), steps;
  if (c.opset >= 10 && c.has(4))
    steps = c.constantInts(4, "steps");
  if (!starts || !ends || starts->size() != ends->size() ||
      (axes && axes->size() != starts->size()) ||
      (steps && steps->size() != starts->size()))
    c.refuse("starts, ends, axes and steps should have one number per axis");
  std::vector<int64_t> first(rank, 0), step(rank, 1);
  if (!axes && static_cast<int64_t>(starts->size()) > rank)
    c.refuse("it slices more axes than its input has");
  std::vector<bool> seen(rank, false);
  for (size_t i = 0; i < starts->size(); ++i) {
    int64_t axis = axes ? c.axis((*axes)[i], rank) : static_cast<int64_t>(i),
            extent = from[axis];
    if (seen[axis])
      c.refuse("an axis is named twice");
    seen[axis] = true;
    int64_t by = steps ? (*steps)[i] : 1;
    if (by == 0)
      c.refuse("a step is 0");
    auto absolute = [&](int64_t at) {
      return at < 0 ? (at < -extent ? -1 - extent : at) + extent : at;
    };
    int64_t begin = absolute((*starts)[i]), end = absolute((*ends)[i]), count;
    if (by > 0) {
      begin = std::clamp<int64_t>(begin, 0, extent);
      end = std::clamp<int64_t>(end, 0, extent);
      count = end > begin ? (end - begin - 1) / by + 1 : 0;
    } else {
      begin = std::clamp<int64_t>(begin, -1, extent - 1);
      end = std::clamp<int64_t>(end, -1, extent - 1);
      // The distance is at most the extent, so a huge step is as good as the
      // extent.
      int64_t back = by < -extent ? std::max<int64_t>(extent, 1) : -by;
      count = begin > end ? (begin - end - 1) / back + 1 : 0;
    }
    if (count <= 1)
      by = 1; // one element: no step is taken
    to[axis] = count;
    first[axis] = count ? begin : 0;
    step[axis] = by;
  }
  c.setOutput(0, slice(c.graph, c.input(0), first, step, to));
}

void split(NodeContext &c) {
  Extents from = c.extents(0);
  int64_t axis = c.axis(c.attrInt("axis", 0), c.rank(0)), extent = from[axis];
  std::optional<std::vector<int64_t>> sizes = c.intsFrom("split", 1, 13);
  int64_t parts = static_cast<int64_t>(c.numOutputs());
  if (!sizes) {
    bool mayBeUneven = c.opset >= 18;
    if (mayBeUneven && c.attrInt("num_outputs", parts) != parts)
      c.refuse("it has " + std::to_string(parts) +
               " outputs, but num_outputs is " +
               std::to_string(c.attrInt("num_outputs")));
    if (!mayBeUneven && extent % parts)
      c.refuse("a dimension of " + std::to_string(extent) +
               " cannot be split into " + std::to_string(parts) +
               " equal parts");
    int64_t size = (extent + parts - 1) / parts, left = extent;
    sizes.emplace();
    for (int64_t i = 0; i < parts; ++i, left -= sizes->back())
      sizes->push_back(std::min(size, left));
  }
  int64_t sum = 0;
  for (int64_t size : *sizes) {
    if (size < 0)
      c.refuse("a part is negative");
    sum += size;
  }
  if (static_cast<int64_t>(sizes->size()) != parts || sum != extent)
    c.refuse("the parts " + toString(*sizes) +
             " do not make up a dimension of " + std::to_string(extent) +
             " and " + std::to_string(parts) + " outputs");
  std::vector<int64_t> starts(from.size(), 0), steps(from.size(), 1);
  for (int64_t i = 0; i < parts; ++i) {
    Extents to = from;
    to[axis] = (*sizes)[i];
    if (c.wantsOutput(i))
      c.setOutput(i, slice(c.graph, c.input(0), starts, steps, to));
    starts[axis] += to[axis];
  }
}

void concat(NodeContext &c) {
  c.requireSameType(0, c.numInputs());
  Extents to = c.extents(0);
  if (to.empty())
    c.refuse("scalars cannot be concatenated");
  int64_t axis =
      c.axis(c.opset < 4 ? c.attrInt("axis", 1) : c.attrInt("axis"), c.rank(0));
  to[axis] = 0;
  struct Part {
    ValueId value;
    int64_t begin, size;
  };
  std::vector<Part> parts;
  for (ValueId value : c.inputs()) {
    if (value == kNone)
      c.refuse("an input is missing");
    Extents extents = c.graph.extents(value);
    bool fits = extents.size() == to.size();
    for (size_t i = 0; i < to.size() && fits; ++i)
      fits = static_cast<int64_t>(i) == axis || extents[i] == to[i];
    if (!fits)
      c.refuse("a tensor of " + toString(extents) +
               " cannot be joined to one of " + toString(c.extents(0)) +
               " along axis " + std::to_string(axis));
    if (extents[axis])
      parts.push_back({value, to[axis], extents[axis]});
    to[axis] += extents[axis];
  }
  if (parts.size() == 1)
    return c.setOutput(0, parts[0].value);
  BodyBuilder body(c.graph, toShape(to));
  IndexExpr along = IndexExpr::dim(axis);
  ScalarId result = body.b.constant(c.element(0), 0);
  for (size_t i = parts.size(); i-- > 0;) {
    const Part &part = parts[i];
    std::vector<IndexExpr> at = identityAt(to.size());
    at[axis] = along - IndexExpr::constant(part.begin);
    bool isSplat = c.graph.splat(part.value).has_value();
    std::vector<IndexConstraint> within;
    if (!isSplat)
      within.push_back({at[axis], 0, part.size - 1});
    ScalarId element = body.read(part.value, at, within);
    result = i + 1 == parts.size()
                 ? element
                 : body.b.select(
                       body.b.inRange(along, 0, part.begin + part.size - 1),
                       element, result);
  }
  c.setOutput(0, body.pull(result, c.element(0)));
}

/// One axis of a Pad that repeats elements: edge, reflect, wrap.
ValueId padAxis(GraphBuilder &graph, ValueId value, size_t axis, int64_t before,
                int64_t after, const std::string &mode) {
  Extents from = graph.extents(value), to = from;
  int64_t extent = from[axis];
  to[axis] += before + after;
  BodyBuilder body(graph, toShape(to));
  IndexExpr along = IndexExpr::dim(axis) - IndexExpr::constant(before);
  std::vector<IndexExpr> at = identityAt(to.size());
  auto readAt = [&](const IndexExpr &where, bool constrained) {
    at[axis] = where;
    std::vector<IndexConstraint> within;
    if (constrained)
      within.push_back({where, 0, extent - 1});
    return body.read(value, at, within);
  };
  ScalarId result;
  if (mode == "wrap") {
    result = readAt(mod(along, extent), false);
  } else {
    bool isEdge = mode == "edge";
    IndexExpr zero = IndexExpr::constant(0),
              last = IndexExpr::constant(extent - 1);
    result = readAt(along, true);
    if (before > 0) {
      ScalarId left = isEdge ? readAt(zero, false) : readAt(zero - along, true);
      result = body.b.select(body.b.inRange(along, -before, -1), left, result);
    }
    if (after > 0) {
      ScalarId right =
          isEdge ? readAt(last, false) : readAt(last + last - along, true);
      result = body.b.select(body.b.inRange(along, extent, extent - 1 + after),
                             right, result);
    }
  }
  return body.pull(result, graph.element(value));
}

void pad(NodeContext &c) {
  Extents from = c.extents(0), to = from;
  int64_t rank = c.rank(0);
  std::string mode = c.attrString("mode", "constant");
  std::optional<std::vector<int64_t>> pads = c.intsFrom("pads", 1, 11);
  if (!pads)
    c.refuse("it does not say how much to pad");
  std::vector<int64_t> axes(rank);
  for (int64_t i = 0; i < rank; ++i)
    axes[i] = i;
  if (c.opset >= 18 && c.has(3)) {
    axes = c.constantInts(3, "axes");
    for (int64_t &axis : axes)
      axis = c.axis(axis, rank);
  }
  if (pads->size() != 2 * axes.size())
    c.refuse("pads should have two numbers per axis");
  std::vector<int64_t> before(rank, 0), after(rank, 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    before[axes[i]] = (*pads)[i];
    after[axes[i]] = (*pads)[i + axes.size()];
  }
  for (int64_t i = 0; i < rank; ++i) {
    to[i] += before[i] + after[i];
    if (to[i] < 0)
      c.refuse("pads " + toString(*pads) + " take more than there is of " +
               toString(from));
  }
  if (mode == "reflect" || mode == "edge" || mode == "wrap") {
    ValueId value = c.input(0);
    for (int64_t i = 0; i < rank; ++i) {
      int64_t extent = from[i],
              most = mode == "reflect" ? extent - 1 : INT64_MAX;
      if (!before[i] && !after[i])
        continue;
      if (before[i] > most || after[i] > most || (extent == 0 && to[i]))
        c.refuse("a dimension of " + std::to_string(extent) +
                 " cannot be padded by " +
                 std::to_string(std::max(before[i], after[i])) + " in mode " +
                 mode);
      if (to[i] == 0) {
        value = slice(c.graph, value, std::vector<int64_t>(rank, 0),
                      std::vector<int64_t>(rank, 1), [&] {
                        Extents none = c.graph.extents(value);
                        none[i] = 0;
                        return none;
                      }());
        continue;
      }
      value = padAxis(c.graph, value, i, before[i], after[i], mode);
    }
    return c.setOutput(0, value);
  }
  if (mode != "constant")
    c.refuse("mode '" + mode + "' is not supported");
  if (to == from && std::all_of(before.begin(), before.end(),
                                [](int64_t n) { return n == 0; }))
    return c.setOutput(0, c.input(0));
  BodyBuilder body(c.graph, toShape(to));
  ElementType type = c.element(0);
  ScalarId fill;
  bool isZero = true;
  if (c.opset < 11) {
    float value = c.attrFloat("value", 0);
    fill = body.b.constant(type, value);
    isZero = value == 0;
  } else if (c.has(2)) {
    if (c.type(2).elements() != 1 || c.element(2) != type)
      c.refuse("the value to pad with should be one " +
               std::string(lockstitch::name(type)));
    ValueId scalar = reshape(c.graph, c.input(2), {});
    fill = body.read(scalar, {});
    auto known = c.graph.splat(scalar);
    isZero = known && *known == ScalarConstant{};
  } else {
    fill = body.b.constant(type, 0);
  }
  std::vector<IndexExpr> at;
  std::vector<IndexConstraint> within;
  std::optional<ScalarId> inside;
  for (int64_t i = 0; i < rank; ++i) {
    at.push_back(IndexExpr::dim(i) - IndexExpr::constant(before[i]));
    if (before[i] <= 0 && after[i] <= 0)
      continue;
    within.push_back({at[i], 0, from[i] - 1});
    ScalarId here = body.b.inRange(at[i], 0, from[i] - 1);
    inside = inside ? body.b.op(ScalarOpcode::And, {*inside, here}) : here;
  }
  if (c.type(0).elements() == 0)
    return c.setOutput(0, body.pull(fill, type)); // nothing but border
  bool isSplat = c.graph.splat(c.input(0)).has_value();
  ScalarId element = body.read(
      c.input(0), at, isSplat ? std::vector<IndexConstraint>{} : within);
  if (inside && (isSplat || !isZero))
    element = body.b.select(*inside, element, fill);
  c.setOutput(0, body.pull(element, type));
}

void trilu(NodeContext &c) {
  int64_t rank = c.rank(0), k = 0;
  if (rank < 2)
    c.refuse("its input should have rank 2 or more");
  if (c.has(1)) {
    std::vector<int64_t> given = c.constantInts(1, "k");
    k = given.empty() ? 0 : given[0];
  }
  constexpr int64_t kFar = int64_t(1) << 40;
  k = std::clamp(k, -kFar, kFar);
  IndexExpr diagonal = IndexExpr::dim(rank - 1) - IndexExpr::dim(rank - 2) -
                       IndexExpr::constant(k);
  BodyBuilder body(c.graph, c.shape(0));
  ScalarId keep = c.attrInt("upper", 1)
                      ? body.b.inRange(diagonal, 0, 4 * kFar)
                      : body.b.inRange(diagonal, -4 * kFar, 0);
  ScalarId element = body.read(c.input(0), identityAt(rank));
  c.setOutput(0, body.pull(body.b.select(keep, element,
                                         body.b.constant(c.element(0), 0)),
                           c.element(0)));
}

/// Both at once, so that the middle stays the middle: of an odd difference the larger part is at the end.
void centerCropPad(NodeContext &c) {
  Extents from = c.extents(0), to = from;
  std::vector<int64_t> sizes = c.constantInts(1, "shape"), axes;
  if (auto given = c.attrInts("axes")) {
    for (int64_t axis : *given)
      axes.push_back(c.axis(axis, c.rank(0), "axes"));
  } else {
    for (int64_t i = 0; i < c.rank(0); ++i)
      axes.push_back(i);
  }
  if (sizes.size() != axes.size())
    c.refuse("its shape " + toString(sizes) + " is not for " +
             std::to_string(axes.size()) + " axes");
  for (size_t i = 0; i < axes.size(); ++i) {
    if (sizes[i] < 0)
      c.refuse("the shape " + toString(sizes) + " is not possible");
    to[axes[i]] = sizes[i];
  }
  BodyBuilder body(c.graph, toShape(to));
  std::vector<IndexExpr> at = identityAt(to.size());
  std::vector<IndexConstraint> constraints;
  for (size_t i = 0; i < to.size(); ++i) {
    int64_t more = to[i] - from[i];
    at[i] = at[i] - IndexExpr::constant(more >= 0 ? more / 2 : -(-more / 2));
    if (more > 0)
      constraints.push_back({at[i], 0, from[i] - 1});
  }
  c.setOutput(0,
              body.pull(body.read(c.input(0), at, constraints), c.element(0)));
}

constexpr Rule kRules[] = {
    {"CenterCropPad", 18, kNewest, centerCropPad},
    {"Concat", 1, kNewest, concat},
    {"Pad", 2, kNewest, pad},
    {"Slice", 1, kNewest, sliceRule},
    {"Split", 2, kNewest, split},
    {"Trilu", 14, kNewest, trilu},
};

} // namespace

std::span<const Rule> sliceRules() { return kRules; }

} // namespace lockstitch::onnx
