#include "compiler/graph/scalar_program.h"

#include "runtime/program/float16.h"

#include <bit>
#include <cassert>
#include <cmath>
#include <cstdio>

namespace lockstitch {
namespace {
struct OpcodeRow {
  std::string_view text;
  int arity;
};
constexpr OpcodeRow kOpcodes[] = {
#define X(name, text, arity) {text, arity},
    LOCKSTITCH_SCALAR_OPCODES(X)
#undef X
};

bool isComparison(ScalarOpcode opcode) {
  return opcode >= ScalarOpcode::Eq && opcode <= ScalarOpcode::IsInf;
}

std::string constantText(const ScalarOp &op) {
  if (!isFloat(op.type))
    return std::to_string(op.constant.integer);
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.17g", op.constant.real);
  return buffer;
}
} // namespace

std::string_view toString(ScalarOpcode opcode) {
  return kOpcodes[static_cast<int>(opcode)].text;
}

std::optional<ScalarOpcode> parseScalarOpcode(std::string_view text) {
  for (size_t i = 0; i < std::size(kOpcodes); ++i)
    if (kOpcodes[i].text == text)
      return static_cast<ScalarOpcode>(i);
  return std::nullopt;
}

int arity(ScalarOpcode opcode) {
  return kOpcodes[static_cast<int>(opcode)].arity;
}

bool isTranscendental(ScalarOpcode opcode) {
  switch (opcode) {
  case ScalarOpcode::Exp:
  case ScalarOpcode::Log:
  case ScalarOpcode::Sin:
  case ScalarOpcode::Cos:
  case ScalarOpcode::Tanh:
  case ScalarOpcode::Erf:
  case ScalarOpcode::Pow:
    return true;
  default:
    return false;
  }
}

bool ScalarConstant::operator==(const ScalarConstant &other) const {
  // By bits: NaN equals itself and -0 differs from +0.
  return std::bit_cast<uint64_t>(real) == std::bit_cast<uint64_t>(other.real) &&
         integer == other.integer;
}

ScalarId ScalarBuilder::insert(ScalarOp op) {
  // Bodies are short: a linear search is the fastest table. Only look back a window in long ones.
  size_t first = program.ops.size() > 512 ? program.ops.size() - 512 : 0;
  for (size_t i = program.ops.size(); i-- > first;)
    if (program.ops[i] == op)
      return static_cast<ScalarId>(i);
  program.ops.push_back(std::move(op));
  return static_cast<ScalarId>(program.ops.size() - 1);
}

ScalarId ScalarBuilder::argument(uint32_t position, ElementType type) {
  ScalarOp op{.opcode = ScalarOpcode::Argument, .type = type};
  op.operand = position;
  return insert(std::move(op));
}

ScalarId ScalarBuilder::constant(ElementType type, double value) {
  if (!isFloat(type))
    return constantInt(type, static_cast<int64_t>(value));
  switch (type) {
  case ElementType::F32:
    value = static_cast<float>(value);
    break;
  case ElementType::F16:
    value = halfToFloat(doubleToHalf(value));
    break;
  case ElementType::BF16:
    value = bfloat16ToFloat(doubleToBFloat16(value));
    break;
  default:
    break;
  }
  ScalarOp op{.opcode = ScalarOpcode::Constant, .type = type};
  op.constant = ScalarConstant::fromDouble(value);
  return insert(std::move(op));
}

ScalarId ScalarBuilder::constantInt(ElementType type, int64_t value) {
  if (isFloat(type))
    return constant(type, static_cast<double>(value));
  ScalarOp op{.opcode = ScalarOpcode::Constant, .type = type};
  op.constant = ScalarConstant::fromInt(value);
  return insert(std::move(op));
}

ScalarId ScalarBuilder::index(const IndexExpr &expr) {
  if (expr.isConstant())
    return constantInt(ElementType::I64, expr.value());
  ScalarOp op{.opcode = ScalarOpcode::Index, .type = ElementType::I64};
  op.index = expr;
  return insert(std::move(op));
}

ScalarId ScalarBuilder::inRange(const IndexExpr &expr, int64_t lo, int64_t hi) {
  if (expr.isConstant())
    return constantInt(ElementType::Bool,
                       lo <= expr.value() && expr.value() <= hi);
  ScalarOp op{.opcode = ScalarOpcode::InRange, .type = ElementType::Bool};
  op.index = expr;
  op.lo = lo;
  op.hi = hi;
  return insert(std::move(op));
}

ScalarId ScalarBuilder::read(uint32_t operand, ElementType type, IndexMap map,
                             std::vector<ScalarId> runtimes) {
  ScalarOp op{.opcode = ScalarOpcode::Read, .type = type};
  op.operand = operand;
  op.map = std::move(map);
  op.args = std::move(runtimes);
  return insert(std::move(op));
}

ScalarId ScalarBuilder::cast(ScalarId value, ElementType type) {
  if (program.ops[value].type == type)
    return value;
  const ScalarOp &from = program.ops[value];
  if (from.opcode == ScalarOpcode::Constant && isFloat(from.type) &&
      isFloat(type))
    return constant(type, from.constant.real);
  ScalarOp op{.opcode = ScalarOpcode::Cast, .type = type};
  op.args = {value};
  return insert(std::move(op));
}

ScalarId ScalarBuilder::select(ScalarId condition, ScalarId ifTrue,
                               ScalarId ifFalse) {
  if (ifTrue == ifFalse)
    return ifTrue;
  if (program.ops[condition].opcode == ScalarOpcode::Constant)
    return program.ops[condition].constant.integer ? ifTrue : ifFalse;
  ScalarOp op{.opcode = ScalarOpcode::Select, .type = program.ops[ifTrue].type};
  op.args = {condition, ifTrue, ifFalse};
  return insert(std::move(op));
}

ScalarId ScalarBuilder::op(ScalarOpcode opcode, std::vector<ScalarId> args) {
  assert(arity(opcode) == static_cast<int>(args.size()));
  ScalarOp op{.opcode = opcode,
              .type = isComparison(opcode) ? ElementType::Bool
                                           : program.ops[args[0]].type};
  op.args = std::move(args);
  return insert(std::move(op));
}

std::string toString(const ScalarProgram &program, std::string_view indent) {
  std::string text;
  for (size_t i = 0; i < program.ops.size(); ++i) {
    const ScalarOp &op = program.ops[i];
    text += indent;
    text += "%" + std::to_string(i) + " = " + std::string(toString(op.opcode)) +
            " " + std::string(name(op.type));
    switch (op.opcode) {
    case ScalarOpcode::Argument:
      text += " " + std::to_string(op.operand);
      break;
    case ScalarOpcode::Constant:
      text += " " + constantText(op);
      break;
    case ScalarOpcode::Index:
      text += " [" + toString(op.index) + "]";
      break;
    case ScalarOpcode::InRange:
      text += " [" + toString(op.index) + "] " + std::to_string(op.lo) +
              " .. " + std::to_string(op.hi);
      break;
    case ScalarOpcode::Read:
      text += " #" + std::to_string(op.operand) + " at " + toString(op.map);
      break;
    default:
      break;
    }
    for (size_t j = 0; j < op.args.size(); ++j)
      text += std::string(j                                 ? ", "
                          : op.opcode == ScalarOpcode::Read ? " with "
                                                            : " ") +
              "%" + std::to_string(op.args[j]);
    text += "\n";
  }
  text += indent;
  text += "yield";
  for (size_t i = 0; i < program.results.size(); ++i)
    text += (i ? ", %" : " %") + std::to_string(program.results[i]);
  return text + "\n";
}

} // namespace lockstitch
