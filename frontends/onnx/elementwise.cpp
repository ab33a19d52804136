// Arithmetic, comparisons, logic, casts and selections: one element of the
// result from one element of each operand.
#include "frontends/onnx/node_context.h"
#include "frontends/onnx/rules.h"

#include <cmath>

namespace lockstitch::onnx {
namespace {

using Op = ScalarOpcode;

ValueId
unaryOf(NodeContext &c,
        const std::function<ScalarId(ScalarBuilder &, ScalarId)> &make) {
  ValueId x = c.input(0);
  return elementwise(c, {&x, 1}, c.element(0),
                     [&](ScalarBuilder &b, std::span<const ScalarId> args) {
                       return make(b, args[0]);
                     });
}

/// A function that only floats have.
template <Op opcode> void floatUnary(NodeContext &c) {
  c.requireFloat(0);
  c.setOutput(0, unaryOf(c, [](ScalarBuilder &b, ScalarId x) {
                return b.op(opcode, {x});
              }));
}

/// One that numbers of any type have.
template <Op opcode> void unary(NodeContext &c) {
  c.setOutput(0, unaryOf(c, [](ScalarBuilder &b, ScalarId x) {
                return b.op(opcode, {x});
              }));
}

template <Op opcode> void binary(NodeContext &c) {
  c.requireSameType(0, 2);
  ValueId operands[] = {c.input(0), c.input(1)};
  c.setOutput(0,
              elementwise(c, operands, c.element(0),
                          [](ScalarBuilder &b, std::span<const ScalarId> args) {
                            return b.op(opcode, {args[0], args[1]});
                          }));
}

template <Op opcode> void comparison(NodeContext &c) {
  c.requireSameType(0, 2);
  ValueId operands[] = {c.input(0), c.input(1)};
  c.setOutput(0,
              elementwise(c, operands, ElementType::Bool,
                          [](ScalarBuilder &b, std::span<const ScalarId> args) {
                            return b.op(opcode, {args[0], args[1]});
                          }));
}

/// Max, Min, Sum, Mean of any number of operands that broadcast together.
template <Op opcode, bool isMean = false> void variadic(NodeContext &c) {
  c.requireSameType(0, c.numInputs());
  if (c.numInputs() == 1)
    return c.setOutput(0, c.input(0));
  if (isMean)
    c.requireFloat(0);
  for (size_t i = 0; i < c.numInputs(); ++i)
    c.input(i);
  c.setOutput(
      0, elementwise(c, c.inputs(), c.element(0),
                     [&](ScalarBuilder &b, std::span<const ScalarId> args) {
                       ScalarId result = args[0];
                       for (ScalarId arg : args.subspan(1))
                         result = b.op(opcode, {result, arg});
                       if (isMean)
                         result = b.op(Op::Div,
                                       {result, b.constant(b.type(result),
                                                           static_cast<double>(
                                                               args.size()))});
                       return result;
                     }));
}

void reciprocal(NodeContext &c) {
  c.requireFloat(0);
  c.setOutput(0, unaryOf(c, [](ScalarBuilder &b, ScalarId x) {
                return b.op(Op::Div, {b.constant(b.type(x), 1), x});
              }));
}

void modulo(NodeContext &c) {
  bool cStyle = c.attrInt("fmod", 0) != 0;
  if (!cStyle && isFloat(c.element(0)) && c.opset < 28)
    c.refuse("floating-point operands need fmod=1");
  cStyle ? binary<Op::Rem>(c) : binary<Op::Mod>(c);
}

void bitShift(NodeContext &c) {
  std::string direction = c.attrString("direction", "");
  if (direction != "LEFT" && direction != "RIGHT")
    c.refuse("attribute 'direction' should be LEFT or RIGHT, not '" +
             direction + "'");
  direction == "LEFT" ? binary<Op::ShiftLeft>(c) : binary<Op::ShiftRight>(c);
}

void isInf(NodeContext &c) {
  bool negative = c.attrInt("detect_negative", 1),
       positive = c.attrInt("detect_positive", 1);
  ValueId x = c.input(0);
  c.setOutput(
      0, elementwise(
             c, {&x, 1}, ElementType::Bool,
             [&](ScalarBuilder &b, std::span<const ScalarId> args) {
               ScalarId found = b.op(Op::IsInf, {args[0]}),
                        zero = b.constant(b.type(args[0]), 0);
               if (!positive)
                 found = b.op(Op::And, {found, b.op(Op::Lt, {args[0], zero})});
               if (!negative)
                 found = b.op(Op::And, {found, b.op(Op::Gt, {args[0], zero})});
               return found;
             }));
}

void isNaN(NodeContext &c) {
  ValueId x = c.input(0);
  c.setOutput(0,
              elementwise(c, {&x, 1}, ElementType::Bool,
                          [](ScalarBuilder &b, std::span<const ScalarId> args) {
                            return b.op(Op::IsNaN, {args[0]});
                          }));
}

/// x to a power that is known: cheap forms that agree with C's pow in every
/// case, signed zeros and infinities too.
std::optional<ScalarId> constantPower(ScalarBuilder &b, ScalarId x,
                                      double exponent) {
  ElementType type = b.type(x);
  ScalarId one = b.constant(type, 1);
  // sqrt(-0) is -0 and sqrt(-inf) is NaN, where pow gives +0 and +inf.
  auto root = [&](double atMinusInfinity, bool invert) {
    ScalarId sqrt = b.op(Op::Sqrt, {b.op(Op::Add, {x, b.constant(type, 0)})});
    ScalarId value = invert ? b.op(Op::Div, {one, sqrt}) : sqrt;
    return b.select(b.op(Op::Eq, {x, b.constant(type, -HUGE_VAL)}),
                    b.constant(type, atMinusInfinity), value);
  };
  if (exponent == 0)
    return one;
  if (exponent == 1)
    return x;
  if (exponent == 2)
    return b.op(Op::Mul, {x, x});
  if (exponent == 3)
    return b.op(Op::Mul, {b.op(Op::Mul, {x, x}), x});
  if (exponent == -1)
    return b.op(Op::Div, {one, x});
  if (exponent == 0.5)
    return root(HUGE_VAL, false);
  if (exponent == -0.5)
    return root(0, true);
  return std::nullopt;
}

/// `value`, or the whole number that it misses by rounding only. A power of an
/// integer is truncated afterwards, and 9^0.5 must not end as 2 because pow is
/// off by an ulp.
ScalarId wholeIfClose(ScalarBuilder &b, ScalarId value) {
  ScalarId whole = b.op(Op::Round, {value});
  ScalarId error = b.op(Op::Abs, {b.op(Op::Sub, {value, whole})});
  ScalarId slack = b.op(
      Op::Mul, {b.op(Op::Abs, {value}), b.constant(ElementType::F64, 0x1p-49)});
  return b.select(b.op(Op::Le, {error, slack}), whole, value);
}

/// The result has the base's type; the exponent may have another. Mixed types
/// are computed in f64.
void power(NodeContext &c) {
  ElementType baseType = c.element(0), exponentType = c.element(1);
  ValueId operands[] = {c.input(0), c.input(1)};
  std::optional<double> known;
  if (c.graph.splat(operands[1]))
    known = (*c.graph.constantReals(operands[1]))[0];
  c.setOutput(
      0, elementwise(
             c, operands, baseType,
             [&](ScalarBuilder &b, std::span<const ScalarId> args) {
               ScalarId base = args[0], exponent = args[1];
               if (isFloat(baseType) && known)
                 if (std::optional<ScalarId> cheap =
                         constantPower(b, base, *known))
                   return *cheap;
               if (baseType == exponentType)
                 return b.op(Op::Pow, {base, exponent});
               if (!isFloat(baseType) &&
                   !isFloat(exponentType)) { // exact, modulo the width
                 base = b.cast(base, ElementType::I64);
                 return b.op(Op::Pow,
                             {base, b.cast(exponent, ElementType::I64)});
               }
               if (known && isFloat(baseType))
                 return b.op(Op::Pow, {base, b.constant(b.type(base), *known)});
               if (isFloat(baseType) && isFloat(exponentType) &&
                   exponentType != ElementType::F64)
                 return b.op(Op::Pow, {base, b.cast(exponent, b.type(base))});
               ScalarId power =
                   b.op(Op::Pow, {b.cast(base, ElementType::F64),
                                  b.cast(exponent, ElementType::F64)});
               return isFloat(baseType) ? power : wholeIfClose(b, power);
             }));
}

void clip(NodeContext &c) {
  ValueId x = c.input(0), bounds[2] = {kNone, kNone};
  std::optional<double> fixed[2];
  if (c.opset < 11) {
    if (const Attribute *low = c.attribute("min", Attribute::Kind::Float))
      fixed[0] = low->f;
    if (const Attribute *high = c.attribute("max", Attribute::Kind::Float))
      fixed[1] = high->f;
  } else {
    for (size_t i = 0; i < 2; ++i) {
      if (!c.has(i + 1))
        continue;
      if (c.type(i + 1).elements() != 1)
        c.refuse("its bound (input " + std::to_string(i + 1) +
                 ") should be a scalar, not " + toString(c.extents(i + 1)));
      c.requireSameType(0, i + 2);
      bounds[i] = reshape(c.graph, c.input(i + 1), {});
    }
  }
  BodyBuilder body(c.graph, c.shape(0));
  ScalarId value = body.readBroadcast(x);
  ElementType type = body.b.type(value);
  for (size_t i = 0; i < 2; ++i) {
    Op opcode = i == 0 ? Op::Max : Op::Min;
    if (bounds[i] != kNone)
      value = body.b.op(opcode, {value, body.readBroadcast(bounds[i])});
    else if (fixed[i])
      value = body.b.op(opcode, {value, body.b.constant(type, *fixed[i])});
  }
  c.setOutput(0, body.pull(value, c.element(0)));
}

void where(NodeContext &c) {
  if (c.element(0) != ElementType::Bool)
    c.refuse("its condition should be bool, not " +
             std::string(lockstitch::name(c.element(0))));
  c.requireSameType(1, 2);
  BodyBuilder body(c.graph, toShape(c.broadcast(c.inputs())));
  auto read = [&](size_t i) {
    return body.read(c.input(i), broadcastAt(c.shape(i), body.rank()));
  };
  ScalarId condition = read(0), ifTrue = read(1), ifFalse = read(2);
  c.setOutput(
      0, body.pull(body.b.select(condition, ifTrue, ifFalse), c.element(1)));
}

void cast(NodeContext &c) {
  int32_t to = static_cast<int32_t>(c.attrInt("to"));
  std::optional<ElementType> element = elementType(to);
  if (!element)
    c.refuse("a cast to " + dataTypeName(to) + " is not supported");
  c.setOutput(0, castTo(c.graph, c.input(0), *element));
}

void castLike(NodeContext &c) {
  c.setOutput(0, castTo(c.graph, c.input(0), c.element(1)));
}

constexpr Rule kRules[] = {
    {"Abs", 1, kNewest, unary<Op::Abs>},
    {"Add", 7, kNewest, binary<Op::Add>},
    {"And", 7, kNewest, binary<Op::And>},
    {"BitShift", 11, kNewest, bitShift},
    {"BitwiseAnd", 18, kNewest, binary<Op::And>},
    {"BitwiseNot", 18, kNewest, unary<Op::Not>},
    {"BitwiseOr", 18, kNewest, binary<Op::Or>},
    {"BitwiseXor", 18, kNewest, binary<Op::Xor>},
    {"Cast", 6, kNewest, cast},
    {"CastLike", 15, kNewest, castLike},
    {"Ceil", 1, kNewest, floatUnary<Op::Ceil>},
    {"Clip", 6, kNewest, clip},
    {"Cos", 7, kNewest, floatUnary<Op::Cos>},
    {"Div", 7, kNewest, binary<Op::Div>},
    {"Equal", 7, kNewest, comparison<Op::Eq>},
    {"Erf", 9, kNewest, floatUnary<Op::Erf>},
    {"Exp", 1, kNewest, floatUnary<Op::Exp>},
    {"Floor", 1, kNewest, floatUnary<Op::Floor>},
    {"Greater", 7, kNewest, comparison<Op::Gt>},
    {"GreaterOrEqual", 12, kNewest, comparison<Op::Ge>},
    {"IsInf", 10, kNewest, isInf},
    {"IsNaN", 9, kNewest, isNaN},
    {"Less", 7, kNewest, comparison<Op::Lt>},
    {"LessOrEqual", 12, kNewest, comparison<Op::Le>},
    {"Log", 1, kNewest, floatUnary<Op::Log>},
    {"Max", 8, kNewest, variadic<Op::Max>},
    {"Mean", 8, kNewest, variadic<Op::Add, true>},
    {"Min", 8, kNewest, variadic<Op::Min>},
    {"Mod", 10, kNewest, modulo},
    {"Mul", 7, kNewest, binary<Op::Mul>},
    {"Neg", 1, kNewest, unary<Op::Neg>},
    {"Not", 1, kNewest, unary<Op::Not>},
    {"Or", 7, kNewest, binary<Op::Or>},
    {"Pow", 7, kNewest, power},
    {"Reciprocal", 1, kNewest, reciprocal},
    {"Round", 11, kNewest, floatUnary<Op::Round>},
    {"Sign", 9, kNewest, unary<Op::Sign>},
    {"Sin", 7, kNewest, floatUnary<Op::Sin>},
    {"Sqrt", 1, kNewest, floatUnary<Op::Sqrt>},
    {"Sub", 7, kNewest, binary<Op::Sub>},
    {"Sum", 8, kNewest, variadic<Op::Add>},
    {"Tanh", 1, kNewest, floatUnary<Op::Tanh>},
    {"Where", 9, kNewest, where},
    {"Xor", 7, kNewest, binary<Op::Xor>},
};

} // namespace

std::span<const Rule> elementwiseRules() { return kRules; }

} // namespace lockstitch::onnx
