// Reduce*, ArgMax, ArgMin. One Reduce primitive each (ReduceLogSumExp: three),
// whatever the axes.
#include "frontends/onnx/reduce.h"
#include "frontends/onnx/rules.h"

#include <algorithm>
#include <cmath>

namespace lockstitch::onnx {

using Op = ScalarOpcode;

int64_t reducedCount(const Shape &shape, const std::vector<int64_t> &axes) {
  int64_t count = 1;
  for (int64_t axis : axes)
    count *= shape[axis].value();
  return count;
}

Reducer makeReducer(const Reduction &reduction) {
  Reducer reducer =
      Reducer::simple(reduction.opcode, reduction.accumulate, reduction.result);
  if (!reduction.after)
    return reducer;
  reducer.finish = {};
  ScalarBuilder b(reducer.finish);
  ScalarId result = reduction.after(b, b.argument(0, reducer.types[0]));
  reducer.finish.results = {b.cast(result, reduction.result)};
  return reducer;
}

namespace {

/// The iteration space of a reduction: the result's dimensions, then the
/// reduced ones; and where the element lies in it.
struct ReducedSpace {
  Shape domain;
  std::vector<IndexExpr> at;

  ReducedSpace(const Shape &shape, const std::vector<int64_t> &axes, bool keep)
      : at(shape.size()) {
    for (size_t i = 0; i < shape.size(); ++i) {
      if (!std::binary_search(axes.begin(), axes.end(),
                              static_cast<int64_t>(i))) {
        at[i] = IndexExpr::dim(domain.size());
        domain.push_back(shape[i]);
      } else if (keep) {
        domain.push_back(1);
      }
    }
    for (int64_t axis : axes) {
      at[axis] = IndexExpr::dim(domain.size());
      domain.push_back(shape[axis]);
    }
  }
};

} // namespace

ValueId reduceElements(GraphBuilder &graph, std::span<const ValueId> operands,
                       const Shape &shape, const std::vector<int64_t> &axes,
                       bool keep, const Reduction &reduction,
                       const ElementFunction &make) {
  auto [domain, at] = ReducedSpace(shape, axes, keep);
  BodyBuilder body(graph, domain);
  std::vector<ScalarId> elements;
  for (ValueId operand : operands) {
    const Shape &own = graph.type(operand).shape;
    std::vector<IndexExpr> ownAt(at.end() - own.size(), at.end());
    for (size_t i = 0; i < own.size(); ++i)
      if (own[i].value() == 1)
        ownAt[i] = IndexExpr::constant(0);
    elements.push_back(body.readWide(operand, ownAt));
  }
  ScalarId value = body.b.cast(make(body.b, elements), reduction.accumulate);
  if (reduction.before)
    value = reduction.before(body.b, value);
  if (axes.empty()) // nothing is folded: an elementwise operation
    return body.pull(reduction.after ? reduction.after(body.b, value) : value,
                     reduction.result);
  return body.reduce({value}, axes.size(), makeReducer(reduction),
                     reduction.result);
}

ValueId reduceAxes(GraphBuilder &graph, ValueId value,
                   const std::vector<int64_t> &axes, bool keep,
                   const Reduction &reduction) {
  Shape shape = graph.type(value).shape;
  return reduceElements(
      graph, {&value, 1}, shape, axes, keep, reduction,
      [](ScalarBuilder &, std::span<const ScalarId> args) { return args[0]; });
}

/// Accumulators (value, index). A NaN beats every number; among equals the
/// smaller (or, on request, the larger) index wins. Since that is a total
/// order, it does not matter in which order pairs are compared.
static Reducer argReducer(ElementType type, bool isMax, bool last) {
  Reducer reducer = Reducer::simple(isMax ? Op::Max : Op::Min, type, type);
  reducer.types = {type, ElementType::I64};
  reducer.init.push_back(ScalarConstant::fromInt(last ? -1 : INT64_MAX));
  for (ScalarProgram *program : {&reducer.update, &reducer.combine}) {
    *program = {};
    ScalarBuilder b(*program);
    ScalarId heldValue = b.argument(0, type),
             heldIndex = b.argument(1, ElementType::I64);
    ScalarId newValue = b.argument(2, type),
             newIndex = b.argument(3, ElementType::I64);
    ScalarId isBetter = b.op(isMax ? Op::Gt : Op::Lt, {newValue, heldValue}),
             isEqual = b.op(Op::Eq, {newValue, heldValue});
    if (isFloat(type)) {
      ScalarId newIsNaN = b.op(Op::IsNaN, {newValue}),
               heldIsNaN = b.op(Op::IsNaN, {heldValue});
      isBetter =
          b.op(Op::Or, {isBetter,
                        b.op(Op::And, {newIsNaN, b.op(Op::Not, {heldIsNaN})})});
      isEqual = b.op(Op::Or, {isEqual, b.op(Op::And, {newIsNaN, heldIsNaN})});
    }
    ScalarId winsTie = b.op(last ? Op::Gt : Op::Lt, {newIndex, heldIndex});
    ScalarId take = b.op(Op::Or, {isBetter, b.op(Op::And, {isEqual, winsTie})});
    program->results = {b.select(take, newValue, heldValue),
                        b.select(take, newIndex, heldIndex)};
  }
  reducer.finish = {};
  ScalarBuilder finish(reducer.finish);
  reducer.finish.results = {finish.argument(1, ElementType::I64)};
  return reducer;
}

ValueId argReduce(GraphBuilder &graph, ValueId value,
                  const std::vector<int64_t> &axes, bool keep, bool isMax,
                  bool last) {
  ReducedSpace space(graph.type(value).shape, axes, keep);
  BodyBuilder body(graph, space.domain);
  ScalarId element = body.readWide(value, space.at);
  std::vector<IndexExpr> reducedAt;
  Shape reduced(space.domain.end() - axes.size(), space.domain.end());
  for (int64_t axis : axes)
    reducedAt.push_back(space.at[axis]);
  ScalarId index = body.b.index(linearize(reducedAt, reduced, body.ranges()));
  ElementType type = body.b.type(element);
  return body.reduce({element, index}, axes.size(),
                     argReducer(type, isMax, last), ElementType::I64);
}

namespace {

struct Axes {
  std::vector<int64_t> axes;
  bool keep;
};

/// The axes of a Reduce* node: none given means all, or none with
/// noop_with_empty_axes.
Axes axesOf(const NodeContext &c, int64_t inputSince) {
  std::optional<std::vector<int64_t>> given = c.intsFrom("axes", 1, inputSince);
  Axes result;
  result.keep = c.attrInt("keepdims", 1) != 0;
  if (given && !given->empty())
    result.axes = c.axes(*given, c.rank(0));
  else if (c.opset < inputSince || !c.attrInt("noop_with_empty_axes", 0))
    for (int64_t i = 0; i < c.rank(0); ++i)
      result.axes.push_back(i);
  return result;
}

ScalarId square(ScalarBuilder &b, ScalarId x) { return b.op(Op::Mul, {x, x}); }
ScalarId magnitude(ScalarBuilder &b, ScalarId x) { return b.op(Op::Abs, {x}); }
ScalarId squareRoot(ScalarBuilder &b, ScalarId x) {
  return b.op(Op::Sqrt, {x});
}
ScalarId logarithm(ScalarBuilder &b, ScalarId x) { return b.op(Op::Log, {x}); }

/// `inputSince`: the opset in which axes became an input.
void reduce(NodeContext &c, int64_t inputSince, Reduction reduction,
            bool needsReals = false) {
  Axes axes = axesOf(c, inputSince);
  ElementType type = c.element(0);
  reduction.result = type;
  reduction.accumulate = computeType(type);
  if (needsReals && !isFloat(type)) // roots and logarithms of integers
    reduction.accumulate = ElementType::F64;
  c.setOutput(0,
              reduceAxes(c.graph, c.input(0), axes.axes, axes.keep, reduction));
}

void reduceSum(NodeContext &c) { reduce(c, 13, {}); }
void reduceProd(NodeContext &c) { reduce(c, 18, {.opcode = Op::Mul}); }
void reduceL1(NodeContext &c) { reduce(c, 18, {.before = magnitude}); }
void reduceL2(NodeContext &c) {
  reduce(c, 18, {.before = square, .after = squareRoot}, true);
}
void reduceSumSquare(NodeContext &c) { reduce(c, 18, {.before = square}); }
void reduceLogSum(NodeContext &c) { reduce(c, 18, {.after = logarithm}, true); }

template <Op opcode, Op boolOpcode> void reduceExtreme(NodeContext &c) {
  reduce(c, 18,
         {.opcode = c.element(0) == ElementType::Bool ? boolOpcode : opcode});
}

void reduceMean(NodeContext &c) {
  double count =
      static_cast<double>(reducedCount(c.shape(0), axesOf(c, 18).axes));
  reduce(c, 18, {.after = [count](ScalarBuilder &b, ScalarId sum) {
           return b.op(Op::Div, {sum, b.constant(b.type(sum), count)});
         }});
}

/// log(sum(exp(x))) = m + log(sum(exp(x - m))) with m the maximum, or 0 where
/// that is not finite.
void reduceLogSumExp(NodeContext &c) {
  c.requireFloat(0);
  Axes axes = axesOf(c, 18);
  ElementType type = c.element(0), wide = computeType(type);
  Reduction maximum{.opcode = Op::Max, .accumulate = wide, .result = wide};
  maximum.after = [](ScalarBuilder &b, ScalarId m) {
    ScalarId isBad = b.op(Op::Or, {b.op(Op::IsInf, {m}), b.op(Op::IsNaN, {m})});
    return b.select(isBad, b.constant(b.type(m), 0), m);
  };
  ValueId shift = reduceAxes(c.graph, c.input(0), axes.axes, true, maximum);
  ValueId operands[] = {c.input(0), shift};
  Reduction sum{.accumulate = wide, .result = wide, .after = logarithm};
  ValueId log = reduceElements(
      c.graph, operands, c.shape(0), axes.axes, true, sum,
      [](ScalarBuilder &b, std::span<const ScalarId> args) {
        return b.op(Op::Exp, {b.op(Op::Sub, {args[0], args[1]})});
      });
  ValueId terms[] = {shift, log};
  ValueId result = elementwise(
      c, terms, type, [](ScalarBuilder &b, std::span<const ScalarId> args) {
        return b.op(Op::Add, {args[0], args[1]});
      });
  if (!axes.keep) {
    Extents to;
    for (int64_t i = 0; i < c.rank(0); ++i)
      if (!std::binary_search(axes.axes.begin(), axes.axes.end(), i))
        to.push_back(c.extents(0)[i]);
    result = reshape(c.graph, result, to);
  }
  c.setOutput(0, result);
}

template <bool isMax> void argExtreme(NodeContext &c) {
  if (c.rank(0) == 0)
    c.refuse("a scalar has no axis to search along");
  int64_t axis = c.axis(c.attrInt("axis", 0), c.rank(0));
  bool keep = c.attrInt("keepdims", 1) != 0,
       last = c.opset >= 12 && c.attrInt("select_last_index", 0) != 0;
  if (c.extents(0)[axis] == 0)
    c.refuse("there is nothing to search along a dimension of 0");
  c.setOutput(0, argReduce(c.graph, c.input(0), {axis}, keep, isMax, last));
}

constexpr Rule kRules[] = {
    {"ArgMax", 1, kNewest, argExtreme<true>},
    {"ArgMin", 1, kNewest, argExtreme<false>},
    {"ReduceL1", 1, kNewest, reduceL1},
    {"ReduceL2", 1, kNewest, reduceL2},
    {"ReduceLogSum", 1, kNewest, reduceLogSum},
    {"ReduceLogSumExp", 1, kNewest, reduceLogSumExp},
    {"ReduceMax", 1, kNewest, reduceExtreme<Op::Max, Op::Or>},
    {"ReduceMean", 1, kNewest, reduceMean},
    {"ReduceMin", 1, kNewest, reduceExtreme<Op::Min, Op::And>},
    {"ReduceProd", 1, kNewest, reduceProd},
    {"ReduceSum", 1, kNewest, reduceSum},
    {"ReduceSumSquare", 1, kNewest, reduceSumSquare},
};

} // namespace

std::span<const Rule> reductionRules() { return kRules; }

} // namespace lockstitch::onnx
