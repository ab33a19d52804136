// Resize and Upsample: constant sizes or scales, so that where each position of the result looks, and with which weights, is
// known while compiling.
//
// Each resized axis has taps: 1 (nearest), 2 (linear) or 4 (cubic) positions of the input and their weights for every
// position of the result. An element is the sum over all combinations of taps of the axes; where that would be more than 16,
// one axis is resized after the other. Positions are index expressions where they can be (a whole factor), else constant
// tables that the body reads; the numbers are computed in f32, in the order of ONNX Runtime, since half a pixel decides.
#include "frontends/onnx/node_context.h"
#include "frontends/onnx/rules.h"

#include <algorithm>
#include <cmath>

namespace lockstitch::onnx {
namespace {

using Op = ScalarOpcode;

struct Options {
  std::string mode, transformation, nearest;
  float cubicA = -0.75f, extrapolation = 0;
  bool excludeOutside = false;
};

/// How one axis is resized.
struct Axis {
  int64_t axis, from, to;
  std::vector<std::vector<int64_t>>
      positions; // by tap, then by position of the result
  std::vector<std::vector<float>> weights; // the same; empty for nearest
  std::vector<bool>
      isOutside; // the result is the extrapolation value; empty if nowhere
};

/// The input's coordinate that position `x` of the result stands for.
float originalOf(const NodeContext &c, const Options &options, int64_t x,
                 float scale, int64_t from, int64_t to, float start,
                 float end) {
  const std::string &mode = options.transformation;
  float at = static_cast<float>(x), in = static_cast<float>(from),
        out = static_cast<float>(to);
  if (mode == "half_pixel")
    return (at + 0.5f) / scale - 0.5f;
  if (mode == "asymmetric")
    return at / scale;
  if (mode == "pytorch_half_pixel")
    return to > 1 ? (at + 0.5f) / scale - 0.5f : 0;
  if (mode == "align_corners")
    return to == 1 ? 0 : at * (in - 1) / (out - 1);
  if (mode == "half_pixel_symmetric") {
    float adjustment = out / (scale * in);
    return in / 2 * (1 - adjustment) + (at + 0.5f) / scale - 0.5f;
  }
  if (mode == "tf_crop_and_resize")
    return to > 1 ? start * (in - 1) + at * (end - start) * (in - 1) / (out - 1)
                  : 0.5f * (start + end) * (in - 1);
  c.refuse(
      "attribute 'coordinate_transformation_mode' should be half_pixel, "
      "half_pixel_symmetric, pytorch_half_pixel, align_corners, asymmetric "
      "or tf_crop_and_resize, not '" +
      mode + "'");
}

int64_t nearestOf(const NodeContext &c, const Options &options, float x,
                  bool shrinks) {
  const std::string &mode = options.nearest;
  if (mode == "round_prefer_floor")
    return static_cast<int64_t>(x == std::floor(x) + 0.5f ? std::floor(x)
                                                          : std::round(x));
  if (mode == "round_prefer_ceil")
    return static_cast<int64_t>(x == std::floor(x) + 0.5f ? std::ceil(x)
                                                          : std::round(x));
  if (mode == "ceil" || (mode == "before opset 11" && shrinks))
    return static_cast<int64_t>(std::ceil(x));
  if (mode == "floor" || mode == "before opset 11")
    return static_cast<int64_t>(std::floor(x));
  c.refuse("attribute 'nearest_mode' should be round_prefer_floor, "
           "round_prefer_ceil, floor or ceil, not '" +
           mode + "'");
}

/// Weights of the four neighbours at -1 .. 2 for a point `ratio` to the right of neighbour 0 (Keys' cubic convolution).
std::vector<float> cubicWeights(float ratio, float a) {
  float x0 = ratio + 1, x1 = ratio, x2 = 1 - ratio, x3 = 2 - ratio;
  return {((a * x0 - 5 * a) * x0 + 8 * a) * x0 - 4 * a,
          ((a + 2) * x1 - (a + 3)) * x1 * x1 + 1,
          ((a + 2) * x2 - (a + 3)) * x2 * x2 + 1,
          ((a * x3 - 5 * a) * x3 + 8 * a) * x3 - 4 * a};
}

Axis makeAxis(const NodeContext &c, const Options &options, int64_t axis,
              int64_t from, int64_t to, float scale, float start, float end) {
  Axis result{axis, from, to, {}, {}, {}};
  size_t taps = options.mode == "nearest"  ? 1
                : options.mode == "linear" ? 2
                                           : 4;
  result.positions.assign(taps, std::vector<int64_t>(to));
  if (taps > 1)
    result.weights.assign(taps, std::vector<float>(to));
  auto clamp = [&](int64_t at) { return std::clamp<int64_t>(at, 0, from - 1); };
  for (int64_t x = 0; x < to; ++x) {
    float at = originalOf(c, options, x, scale, from, to, start, end);
    if (options.transformation == "tf_crop_and_resize" &&
        (at < 0 || at > static_cast<float>(from - 1))) {
      result.isOutside.resize(to, false);
      result.isOutside[x] = true;
    }
    int64_t first = static_cast<int64_t>(std::floor(at));
    float ratio = at - static_cast<float>(first);
    if (taps == 1) {
      result.positions[0][x] = clamp(nearestOf(c, options, at, scale < 1));
      continue;
    }
    std::vector<float> weights = taps == 2
                                     ? std::vector<float>{1 - ratio, ratio}
                                     : cubicWeights(ratio, options.cubicA);
    int64_t before = taps == 2 ? 0 : 1;
    float sum = 0;
    for (size_t t = 0; t < taps; ++t) {
      int64_t place = first + static_cast<int64_t>(t) - before;
      if (options.excludeOutside && taps == 4 && place != clamp(place))
        weights[t] = 0;
      sum += weights[t];
      result.positions[t][x] = clamp(place);
    }
    for (size_t t = 0; t < taps; ++t)
      result.weights[t][x] =
          options.excludeOutside ? weights[t] / sum : weights[t];
  }
  return result;
}

/// d*step floordiv divisor, clamped nowhere, if that is what `positions` are.
std::optional<IndexExpr> asExpression(const std::vector<int64_t> &positions,
                                      int64_t from, unsigned dim) {
  int64_t to = static_cast<int64_t>(positions.size());
  auto matches = [&](int64_t step, int64_t divisor) {
    for (int64_t x = 0; x < to; ++x)
      if (positions[x] != x * step / divisor)
        return false;
    return true;
  };
  IndexExpr at = IndexExpr::dim(dim);
  if (to >= from && to % from == 0 && matches(1, to / from))
    return floorDiv(at, to / from);
  if (to > 1 && matches(positions[1], 1))
    return at * IndexExpr::constant(positions[1]);
  return std::nullopt;
}

/// Resizes along `axes` at once.
ValueId resizeAxes(NodeContext &c, ValueId value, const std::vector<Axis> &axes,
                   const Options &options, ElementType element) {
  Extents to = c.graph.extents(value);
  for (const Axis &axis : axes)
    to[axis.axis] = axis.to;
  BodyBuilder body(c.graph, toShape(to));
  ScalarBuilder &b = body.b;
  ElementType wide = computeType(c.graph.element(value));
  auto table = [&](const Axis &axis, const std::vector<float> &values) {
    auto *begin = reinterpret_cast<const std::byte *>(values.data());
    ValueId constant =
        c.graph.constant({ElementType::F32, {Dim(axis.to)}},
                         {begin, begin + values.size() * sizeof(float)});
    return b.cast(body.read(constant, {IndexExpr::dim(axis.axis)}), wide);
  };
  bool isWeighted = options.mode != "nearest";
  std::vector<size_t> tap(axes.size(), 0);
  ScalarId sum = kNone;
  for (bool more = true; more;) {
    std::vector<IndexExpr> at = identityAt(to.size());
    std::vector<ScalarId> runtimes;
    ScalarId weight = kNone;
    for (size_t i = 0; i < axes.size(); ++i) {
      const Axis &axis = axes[i];
      const std::vector<int64_t> &positions = axis.positions[tap[i]];
      if (auto expr = asExpression(positions, axis.from, axis.axis)) {
        at[axis.axis] = *expr;
      } else {
        at[axis.axis] = IndexExpr::runtime(runtimes.size());
        runtimes.push_back(body.read(c.graph.constantInts(positions, {axis.to}),
                                     {IndexExpr::dim(axis.axis)}));
      }
      if (!isWeighted)
        continue;
      ScalarId own = table(axis, axis.weights[tap[i]]);
      weight = weight == kNone ? own : b.op(Op::Mul, {weight, own});
    }
    ScalarId element = isWeighted ? body.readWide(value, at, {}, runtimes)
                                  : body.read(value, at, {}, runtimes);
    if (weight != kNone)
      element = b.op(Op::Mul, {element, weight});
    sum = sum == kNone ? element : b.op(Op::Add, {sum, element});
    more = false;
    for (size_t i = axes.size(); i-- > 0 && !more;) {
      more = ++tap[i] < axes[i].positions.size();
      if (!more)
        tap[i] = 0;
    }
  }
  for (const Axis &axis : axes) {
    if (axis.isOutside.empty())
      continue;
    std::vector<int64_t> outside(axis.isOutside.begin(), axis.isOutside.end());
    ScalarId flag = b.cast(body.read(c.graph.constantInts(outside, {axis.to}),
                                     {IndexExpr::dim(axis.axis)}),
                           ElementType::Bool);
    sum = b.select(flag, b.constant(b.type(sum), options.extrapolation), sum);
  }
  return body.pull(sum, element);
}

/// How far each axis is resized: its new extent and its scale.
struct Target {
  int64_t to;
  float scale;
};

/// From `sizes` of `axes`; a policy makes all axes keep their ratio.
std::vector<Target> fromSizes(const NodeContext &c, const Extents &from,
                              const std::vector<int64_t> &axes,
                              const std::vector<int64_t> &sizes) {
  std::string policy = c.opset >= 18
                           ? c.attrString("keep_aspect_ratio_policy", "stretch")
                           : "stretch";
  std::vector<Target> targets;
  for (size_t i = 0; i < axes.size(); ++i)
    targets.push_back({sizes[i], static_cast<float>(sizes[i]) /
                                     static_cast<float>(from[axes[i]])});
  if (policy == "stretch")
    return targets;
  if (policy != "not_larger" && policy != "not_smaller")
    c.refuse("attribute 'keep_aspect_ratio_policy' should be stretch, "
             "not_larger or not_smaller, not '" +
             policy + "'");
  float scale = targets[0].scale;
  for (const Target &target : targets)
    scale = policy == "not_larger" ? std::min(scale, target.scale)
                                   : std::max(scale, target.scale);
  for (size_t i = 0; i < axes.size(); ++i)
    targets[i] = {static_cast<int64_t>(
                      std::round(scale * static_cast<float>(from[axes[i]]))),
                  scale};
  return targets;
}

void lower(NodeContext &c, const Options &options,
           const std::vector<int64_t> &axes, const std::vector<Target> &targets,
           const std::vector<double> &roi) {
  Extents from = c.extents(0);
  if (options.mode != "nearest" && options.mode != "linear" &&
      options.mode != "cubic")
    c.refuse("attribute 'mode' should be nearest, linear or cubic, not '" +
             options.mode + "'");
  if (options.mode != "nearest" && !isFloat(c.element(0)))
    c.refuse(std::string(lockstitch::name(c.element(0))) +
                 " can only be resized to the nearest",
             "cast it to a float type before, and back after it");
  std::vector<Axis> resized;
  for (size_t i = 0; i < axes.size(); ++i) {
    int64_t extent = from[axes[i]];
    if (targets[i].to < 0 || !(targets[i].scale > 0) ||
        (extent == 0 && targets[i].to > 0))
      c.refuse("a dimension of " + std::to_string(extent) +
               " cannot be resized to " + std::to_string(targets[i].to));
    bool crops = options.transformation == "tf_crop_and_resize";
    if (targets[i].to == extent && !crops && targets[i].scale == 1)
      continue;
    resized.push_back(
        makeAxis(c, options, axes[i], extent, targets[i].to, targets[i].scale,
                 crops ? static_cast<float>(roi[i]) : 0,
                 crops ? static_cast<float>(roi[i + axes.size()]) : 1));
  }
  if (resized.empty())
    return c.setOutput(0, c.input(0));
  size_t combinations = 1;
  for (const Axis &axis : resized)
    combinations *= axis.positions.size();
  ElementType element = c.element(0);
  if (combinations <= 16)
    return c.setOutput(0, resizeAxes(c, c.input(0), resized, options, element));
  ValueId value = c.input(0);
  for (size_t i = 0; i < resized.size(); ++i)
    value = resizeAxes(c, value, {resized[i]}, options,
                       i + 1 < resized.size() ? computeType(element) : element);
  c.setOutput(0, value);
}

std::vector<int64_t> allAxes(const NodeContext &c) {
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < c.rank(0); ++i)
    axes.push_back(i);
  return axes;
}

/// The elements of an optional operand that must be known while compiling; nothing where it is absent or empty.
std::optional<std::vector<double>> knownReals(const NodeContext &c, size_t i,
                                              std::string_view what) {
  if (!c.has(i) || c.type(i).elements() == 0)
    return std::nullopt;
  std::optional<std::vector<double>> values = c.graph.constantReals(c.input(i));
  if (!values)
    c.refuse("its " + std::string(what) +
             " steer a shape, so they must be known while compiling");
  return values;
}

std::vector<Target> fromScales(const NodeContext &c, const Extents &from,
                               const std::vector<int64_t> &axes,
                               const std::vector<double> &scales) {
  if (scales.size() != axes.size())
    c.refuse("it should have " + std::to_string(axes.size()) + " scales, not " +
             std::to_string(scales.size()));
  std::vector<Target> targets;
  for (size_t i = 0; i < axes.size(); ++i) {
    float scale = static_cast<float>(scales[i]);
    targets.push_back({static_cast<int64_t>(std::floor(
                           static_cast<float>(from[axes[i]]) * scale)),
                       scale});
  }
  return targets;
}

void resize(NodeContext &c) {
  Extents from = c.extents(0);
  Options options;
  options.mode = c.attrString("mode", "nearest");
  std::vector<int64_t> axes = allAxes(c);
  if (c.opset < 11) {
    options.transformation = "asymmetric";
    options.nearest = "before opset 11";
    return lower(
        c, options, axes,
        fromScales(c, from, axes,
                   knownReals(c, 1, "scales").value_or(std::vector<double>())),
        {});
  }
  options.transformation =
      c.attrString("coordinate_transformation_mode", "half_pixel");
  options.nearest = c.attrString("nearest_mode", "round_prefer_floor");
  options.cubicA = c.attrFloat("cubic_coeff_a", -0.75f);
  options.extrapolation = c.attrFloat("extrapolation_value", 0);
  options.excludeOutside = c.attrInt("exclude_outside", 0) != 0;
  if (c.opset >= 18)
    if (auto given = c.attrInts("axes")) {
      axes.clear();
      for (int64_t axis : *given)
        axes.push_back(c.axis(axis, c.rank(0), "axes"));
    }
  std::optional<std::vector<double>> scales = knownReals(c, 2, "scales"),
                                     sizes = knownReals(c, 3, "sizes"), roi;
  if (scales.has_value() == sizes.has_value())
    c.refuse("it should have either scales or sizes");
  if (options.transformation == "tf_crop_and_resize") {
    roi = knownReals(c, 1, "regions of interest");
    if (!roi || roi->size() != 2 * axes.size())
      c.refuse("its region of interest should have " +
               std::to_string(2 * axes.size()) + " numbers");
  }
  std::vector<Target> targets;
  if (scales) {
    targets = fromScales(c, from, axes, *scales);
  } else {
    if (sizes->size() != axes.size())
      c.refuse("it should have " + std::to_string(axes.size()) +
               " sizes, not " + std::to_string(sizes->size()));
    targets = fromSizes(c, from, axes,
                        std::vector<int64_t>(sizes->begin(), sizes->end()));
  }
  if (c.opset >= 18 && c.attrInt("antialias", 0) != 0)
    for (const Target &target : targets)
      if (target.scale < 1 && options.mode != "nearest")
        c.refuse("shrinking with antialias is not supported",
                 "export the model with antialias=0, or resize before it");
  lower(c, options, axes, targets, roi.value_or(std::vector<double>()));
}

/// What Resize was called before opset 10.
void upsample(NodeContext &c) {
  Options options;
  options.mode = c.attrString("mode", "nearest");
  options.transformation = "asymmetric";
  options.nearest = "before opset 11";
  std::vector<int64_t> axes = allAxes(c);
  std::vector<double> scales =
      knownReals(c, 1, "scales").value_or(std::vector<double>());
  lower(c, options, axes, fromScales(c, c.extents(0), axes, scales), {});
}

constexpr Rule kRules[] = {
    {"Resize", 10, kNewest, resize},
    {"Upsample", 9, 9, upsample},
};

} // namespace

std::span<const Rule> resizeRules() { return kRules; }

} // namespace lockstitch::onnx
