// Composites that normalise: each becomes the reductions and elementwise steps
// that it is. The planner stitches them together again, and so treats a
// LayerNormalization node and one that is written out in small nodes alike.
//
// Statistics are computed in f32 (f64 for f64), the variance from centred
// values; the result is rounded to the declared type once, at the end of the
// node.
#include "frontends/onnx/reduce.h"
#include "frontends/onnx/rules.h"

namespace lockstitch::onnx {
namespace {

using Op = ScalarOpcode;

std::vector<int64_t> axesFrom(int64_t first, int64_t rank) {
  std::vector<int64_t> axes;
  for (int64_t i = first; i < rank; ++i)
    axes.push_back(i);
  return axes;
}

/// Softmax: one axis from opset 13 on; before, everything from `axis` on as if
/// it were flattened.
std::vector<int64_t> softmaxAxes(const NodeContext &c) {
  int64_t rank = c.rank(0);
  if (c.opset >= 13) {
    if (rank == 0)
      return {};
    return {c.axis(c.attrInt("axis", -1), rank)};
  }
  int64_t axis = c.attrInt("axis", 1);
  if (axis == rank)
    return {};
  return axesFrom(c.axis(axis, rank), rank);
}

ScalarId exponentOfDifference(ScalarBuilder &b,
                              std::span<const ScalarId> args) {
  return b.op(Op::Exp, {b.op(Op::Sub, {args[0], args[1]})});
}

void softmax(NodeContext &c) {
  c.requireFloat(0);
  ElementType type = c.element(0), wide = computeType(type);
  std::vector<int64_t> axes = softmaxAxes(c);
  ValueId maximum =
      reduceAxes(c.graph, c.input(0), axes, true,
                 {.opcode = Op::Max, .accumulate = wide, .result = wide});
  ValueId shifted[] = {c.input(0), maximum};
  ValueId exponent = elementwise(c, shifted, wide, exponentOfDifference);
  ValueId sum = reduceAxes(c.graph, exponent, axes, true,
                           {.accumulate = wide, .result = wide});
  ValueId parts[] = {exponent, sum};
  c.setOutput(0,
              elementwise(c, parts, type,
                          [](ScalarBuilder &b, std::span<const ScalarId> args) {
                            return b.op(Op::Div, {args[0], args[1]});
                          }));
}

void logSoftmax(NodeContext &c) {
  c.requireFloat(0);
  ElementType type = c.element(0), wide = computeType(type);
  std::vector<int64_t> axes = softmaxAxes(c);
  ValueId maximum =
      reduceAxes(c.graph, c.input(0), axes, true,
                 {.opcode = Op::Max, .accumulate = wide, .result = wide});
  ValueId shifted[] = {c.input(0), maximum};
  Reduction logSum{.accumulate = wide, .result = wide};
  logSum.after = [](ScalarBuilder &b, ScalarId sum) {
    return b.op(Op::Log, {sum});
  };
  ValueId log = reduceElements(c.graph, shifted, c.shape(0), axes, true, logSum,
                               exponentOfDifference);
  ValueId parts[] = {c.input(0), maximum, log};
  c.setOutput(
      0,
      elementwise(
          c, parts, type, [](ScalarBuilder &b, std::span<const ScalarId> args) {
            return b.op(Op::Sub, {b.op(Op::Sub, {args[0], args[1]}), args[2]});
          }));
}

/// 1 where the (first) maximum is, else 0.
void hardmax(NodeContext &c) {
  c.requireFloat(0);
  std::vector<int64_t> axes = softmaxAxes(c);
  Shape extents;
  std::vector<IndexExpr> at;
  for (int64_t axis : axes) {
    extents.push_back(c.shape(0)[axis]);
    at.push_back(IndexExpr::dim(axis));
  }
  if (axes.empty() || c.type(0).elements() == 0) { // every element is alone
    BodyBuilder ones(c.graph, c.shape(0));
    return c.setOutput(
        0, ones.pull(ones.b.constant(c.element(0), 1), c.element(0)));
  }
  ValueId maximum = argReduce(c.graph, c.input(0), axes, true, /*isMax=*/true,
                              /*last=*/false);
  BodyBuilder body(c.graph, c.shape(0));
  ScalarId here = body.b.index(linearize(at, extents, body.ranges()));
  ScalarId isMaximum = body.b.op(Op::Eq, {here, body.readBroadcast(maximum)});
  c.setOutput(0, body.pull(body.b.cast(isMaximum, computeType(c.element(0))),
                           c.element(0)));
}

/// 1 / sqrt(sum / count + epsilon)
ScalarFunction inverseDeviation(double count, float epsilon) {
  return [=](ScalarBuilder &b, ScalarId sum) {
    ElementType type = b.type(sum);
    ScalarId variance = b.op(Op::Div, {sum, b.constant(type, count)});
    ScalarId root =
        b.op(Op::Sqrt, {b.op(Op::Add, {variance, b.constant(type, epsilon)})});
    return b.op(Op::Div, {b.constant(type, 1), root});
  };
}

ScalarFunction divideBy(double count) {
  return [=](ScalarBuilder &b, ScalarId sum) {
    return b.op(Op::Div, {sum, b.constant(b.type(sum), count)});
  };
}

struct Statistics {
  ValueId mean, inverseDeviation;
};

/// Mean and 1 / sqrt(variance + epsilon) over `axes`, which stay with extent 1.
Statistics statistics(NodeContext &c, ValueId x,
                      const std::vector<int64_t> &axes, float epsilon) {
  Shape shape = c.graph.type(x).shape;
  ElementType wide = computeType(c.graph.element(x));
  double count = static_cast<double>(reducedCount(shape, axes));
  Statistics result;
  result.mean = reduceAxes(
      c.graph, x, axes, true,
      {.accumulate = wide, .result = wide, .after = divideBy(count)});
  ValueId operands[] = {x, result.mean};
  result.inverseDeviation =
      reduceElements(c.graph, operands, shape, axes, true,
                     {.accumulate = wide,
                      .result = wide,
                      .after = inverseDeviation(count, epsilon)},
                     [](ScalarBuilder &b, std::span<const ScalarId> args) {
                       ScalarId centred = b.op(Op::Sub, {args[0], args[1]});
                       return b.op(Op::Mul, {centred, centred});
                     });
  return result;
}

/// Scale and bias may broadcast to the input, but not the other way round.
void requireBroadcastsTo(NodeContext &c, size_t i) {
  ValueId both[] = {c.input(0), c.input(i)};
  if (c.broadcast(both) != c.extents(0))
    c.refuse("its input " + std::to_string(i) + " of " +
             toString(c.extents(i)) + " does not broadcast to " +
             toString(c.extents(0)));
}

void layerNormalization(NodeContext &c) {
  c.requireFloat(0);
  std::vector<int64_t> axes =
      axesFrom(c.axis(c.attrInt("axis", -1), c.rank(0)), c.rank(0));
  Statistics stats =
      statistics(c, c.input(0), axes, c.attrFloat("epsilon", 1e-5f));
  BodyBuilder body(c.graph, c.shape(0));
  ScalarBuilder &b = body.b;
  ScalarId centred = b.op(Op::Sub, {body.readBroadcast(c.input(0)),
                                    body.readBroadcast(stats.mean)});
  ScalarId value =
      b.op(Op::Mul, {centred, body.readBroadcast(stats.inverseDeviation)});
  requireBroadcastsTo(c, 1);
  value = b.op(Op::Mul,
               {value, b.cast(body.readBroadcast(c.input(1)), b.type(value))});
  if (c.has(2)) {
    requireBroadcastsTo(c, 2);
    value =
        b.op(Op::Add,
             {value, b.cast(body.readBroadcast(c.input(2)), b.type(value))});
  }
  c.setOutput(0, body.pull(value, c.element(0)));
  c.setOutput(1, stats.mean);
  c.setOutput(2, stats.inverseDeviation);
}

void rmsNormalization(NodeContext &c) {
  c.requireFloat(0);
  ElementType wide = computeType(c.element(0));
  std::vector<int64_t> axes =
      axesFrom(c.axis(c.attrInt("axis", -1), c.rank(0)), c.rank(0));
  Reduction reduction{.accumulate = wide, .result = wide};
  reduction.before = [](ScalarBuilder &b, ScalarId x) {
    return b.op(Op::Mul, {x, x});
  };
  reduction.after =
      inverseDeviation(static_cast<double>(reducedCount(c.shape(0), axes)),
                       c.attrFloat("epsilon", 1e-5f));
  ValueId inverse = reduceAxes(c.graph, c.input(0), axes, true, reduction);
  requireBroadcastsTo(c, 1);
  BodyBuilder body(c.graph, c.shape(0));
  ScalarId value = body.b.op(
      Op::Mul, {body.readBroadcast(c.input(0)), body.readBroadcast(inverse)});
  value = body.b.op(Op::Mul, {value, body.b.cast(body.readBroadcast(c.input(1)),
                                                 body.b.type(value))});
  c.setOutput(0, body.pull(value, c.element(0)));
}

/// `value` along dimension 1 of the input.
ScalarId readChannel(BodyBuilder &body, NodeContext &c, ValueId value,
                     IndexExpr channel = IndexExpr::dim(1)) {
  return body.b.cast(body.readWide(value, {channel}),
                     computeType(c.element(0)));
}

void requireChannels(NodeContext &c, size_t first, size_t count,
                     int64_t channels) {
  for (size_t i = first; i < first + count; ++i)
    if (c.rank(i) != 1 || c.extents(i)[0] != channels)
      c.refuse("its input " + std::to_string(i) + " should have the shape [" +
               std::to_string(channels) + "], not " + toString(c.extents(i)));
}

void instanceNormalization(NodeContext &c) {
  c.requireFloat(0);
  if (c.rank(0) < 2)
    c.refuse("its input should have rank 2 or more");
  requireChannels(c, 1, 2, c.extents(0)[1]);
  Statistics stats = statistics(c, c.input(0), axesFrom(2, c.rank(0)),
                                c.attrFloat("epsilon", 1e-5f));
  BodyBuilder body(c.graph, c.shape(0));
  ScalarBuilder &b = body.b;
  ScalarId centred = b.op(Op::Sub, {body.readBroadcast(c.input(0)),
                                    body.readBroadcast(stats.mean)});
  ScalarId value =
      b.op(Op::Mul, {centred, body.readBroadcast(stats.inverseDeviation)});
  value = b.op(Op::Mul, {value, readChannel(body, c, c.input(1))});
  c.setOutput(
      0, body.pull(b.op(Op::Add, {value, readChannel(body, c, c.input(2))}),
                   c.element(0)));
}

/// Opset 18 has a scale and bias per group, opset 21 per channel.
void groupNormalization(NodeContext &c) {
  c.requireFloat(0);
  Extents from = c.extents(0);
  int64_t groups = c.attrInt("num_groups");
  if (from.size() < 2 || groups <= 0 || from[1] % groups)
    c.refuse("channels of " + toString(from) + " cannot be split into " +
             std::to_string(groups) + " groups");
  int64_t perGroup = from[1] / groups;
  bool perChannel = c.opset >= 21;
  requireChannels(c, 1, 2, perChannel ? from[1] : groups);
  Extents grouped = {from[0], groups, perGroup};
  grouped.insert(grouped.end(), from.begin() + 2, from.end());
  ValueId split = reshape(c.graph, c.input(0), grouped);
  Statistics stats = statistics(c, split, axesFrom(2, grouped.size()),
                                c.attrFloat("epsilon", 1e-5f));
  BodyBuilder body(c.graph, c.shape(0));
  ScalarBuilder &b = body.b;
  IndexExpr group = floorDiv(IndexExpr::dim(1), std::max<int64_t>(perGroup, 1));
  std::vector<IndexExpr> statAt(grouped.size(), IndexExpr::constant(0));
  statAt[0] = IndexExpr::dim(0);
  statAt[1] = group;
  ScalarId centred = b.op(Op::Sub, {body.readBroadcast(c.input(0)),
                                    body.readWide(stats.mean, statAt)});
  ScalarId value =
      b.op(Op::Mul, {centred, body.readWide(stats.inverseDeviation, statAt)});
  IndexExpr channel = perChannel ? IndexExpr::dim(1) : group;
  value = b.op(Op::Mul, {value, readChannel(body, c, c.input(1), channel)});
  c.setOutput(
      0, body.pull(
             b.op(Op::Add, {value, readChannel(body, c, c.input(2), channel)}),
             c.element(0)));
}

/// (x - mean) * (scale / sqrt(variance + epsilon)) + bias. The factor is per
/// channel and folds with constants.
void batchNormalization(NodeContext &c) {
  c.requireFloat(0);
  bool training = c.opset >= 14 && c.attrInt("training_mode", 0);
  if (c.opset < 9 && !c.attrInt("spatial", 1))
    c.refuse("statistics per element (spatial=0) are not supported");
  if (c.rank(0) < (training ? 2 : 1))
    c.refuse("its input has no channels");
  int64_t channels = c.rank(0) < 2 ? 1 : c.extents(0)[1];
  requireChannels(c, 1, 4, channels);
  float epsilon = c.attrFloat("epsilon", 1e-5f);
  ElementType wide = computeType(c.element(0));
  IndexExpr first = IndexExpr::dim(0);
  auto channelOf = [&](BodyBuilder &body, ValueId value, IndexExpr at) {
    return body.b.cast(body.readWide(value, {at}), wide);
  };

  ValueId mean = c.input(3), variance = c.input(4);
  if (training) { // the batch's own statistics, over all axes but the channels'
    std::vector<int64_t> axes = axesFrom(2, c.rank(0));
    axes.insert(axes.begin(), 0);
    double count = static_cast<double>(reducedCount(c.shape(0), axes));
    Reduction average{
        .accumulate = wide, .result = wide, .after = divideBy(count)};
    ValueId kept = reduceAxes(c.graph, c.input(0), axes, true, average);
    ValueId operands[] = {c.input(0), kept};
    variance =
        reduceElements(c.graph, operands, c.shape(0), axes, false, average,
                       [](ScalarBuilder &b, std::span<const ScalarId> args) {
                         ScalarId centred = b.op(Op::Sub, {args[0], args[1]});
                         return b.op(Op::Mul, {centred, centred});
                       });
    mean = reshape(c.graph, kept, {channels});
    float momentum = c.attrFloat("momentum", 0.9f);
    for (size_t i : {1, 2}) {
      if (!c.wantsOutput(i))
        continue;
      BodyBuilder running(c.graph, {Dim(channels)});
      ScalarBuilder &r = running.b;
      ScalarId old = r.op(Op::Mul, {channelOf(running, c.input(i + 2), first),
                                    r.constant(wide, momentum)});
      ScalarId now =
          r.op(Op::Mul, {channelOf(running, i == 1 ? mean : variance, first),
                         r.constant(wide, 1 - momentum)});
      c.setOutput(i, running.pull(r.op(Op::Add, {old, now}), c.element(i + 2)));
    }
  }

  BodyBuilder factorBody(c.graph, {Dim(channels)});
  ScalarBuilder &f = factorBody.b;
  ScalarId shifted = f.op(Op::Add, {channelOf(factorBody, variance, first),
                                    f.constant(wide, epsilon)});
  ScalarId scale = channelOf(factorBody, c.input(1), first);
  ValueId factor =
      factorBody.pull(f.op(Op::Div, {scale, f.op(Op::Sqrt, {shifted})}), wide,
                      /*alwaysFold=*/true);

  BodyBuilder body(c.graph, c.shape(0));
  ScalarBuilder &b = body.b;
  IndexExpr channel =
      c.rank(0) < 2 ? IndexExpr::constant(0) : IndexExpr::dim(1);
  ScalarId centred =
      b.op(Op::Sub, {body.readWide(c.input(0), identityAt(body.rank())),
                     channelOf(body, mean, channel)});
  ScalarId value = b.op(Op::Mul, {centred, body.readWide(factor, {channel})});
  c.setOutput(
      0, body.pull(b.op(Op::Add, {value, channelOf(body, c.input(2), channel)}),
                   c.element(0)));
}

/// The mean of a whole axis set removed and the deviation divided out; no
/// scale.
void meanVarianceNormalization(NodeContext &c) {
  c.requireFloat(0);
  std::vector<int64_t> axes = c.axes(
      c.attrInts("axes").value_or(std::vector<int64_t>{0, 2, 3}), c.rank(0));
  Statistics stats = statistics(c, c.input(0), axes, 1e-9f);
  BodyBuilder body(c.graph, c.shape(0));
  ScalarId centred = body.b.op(Op::Sub, {body.readBroadcast(c.input(0)),
                                         body.readBroadcast(stats.mean)});
  c.setOutput(
      0, body.pull(body.b.op(Op::Mul, {centred, body.readBroadcast(
                                                    stats.inverseDeviation)}),
                   c.element(0)));
}

/// x / |x|_p along one axis; 0 where the norm is 0.
void lpNormalization(NodeContext &c) {
  c.requireFloat(0);
  int64_t p = c.attrInt("p", 2);
  if (p != 1 && p != 2)
    c.refuse("attribute 'p' should be 1 or 2, not " + std::to_string(p));
  ElementType wide = computeType(c.element(0));
  Reduction norm{.accumulate = wide, .result = wide};
  norm.before = [p](ScalarBuilder &b, ScalarId x) {
    return p == 1 ? b.op(Op::Abs, {x}) : b.op(Op::Mul, {x, x});
  };
  norm.after = [p](ScalarBuilder &b, ScalarId s) {
    return p == 1 ? s : b.op(Op::Sqrt, {s});
  };
  ValueId operands[] = {c.input(0),
                        reduceAxes(c.graph, c.input(0),
                                   {c.axis(c.attrInt("axis", -1), c.rank(0))},
                                   true, norm)};
  c.setOutput(0,
              elementwise(c, operands, c.element(0),
                          [](ScalarBuilder &b, std::span<const ScalarId> args) {
                            ScalarId zero = b.constant(b.type(args[1]), 0);
                            return b.select(b.op(Op::Eq, {args[1], zero}), zero,
                                            b.op(Op::Div, {args[0], args[1]}));
                          }));
}

constexpr Rule kRules[] = {
    {"BatchNormalization", 7, kNewest, batchNormalization},
    {"GroupNormalization", 18, kNewest, groupNormalization},
    {"Hardmax", 1, kNewest, hardmax},
    {"InstanceNormalization", 6, kNewest, instanceNormalization},
    {"LayerNormalization", 17, kNewest, layerNormalization},
    {"LogSoftmax", 1, kNewest, logSoftmax},
    {"LpNormalization", 1, kNewest, lpNormalization},
    {"MeanVarianceNormalization", 9, kNewest, meanVarianceNormalization},
    {"RMSNormalization", 23, kNewest, rmsNormalization},
    {"Softmax", 1, kNewest, softmax},
};

} // namespace

std::span<const Rule> normalizationRules() { return kRules; }

} // namespace lockstitch::onnx
