// The meaning of every ScalarOpcode in arith/math operations. Where a machine
// instruction would trap, be undefined or differ between targets (division by
// zero, shifts by the width, conversions), the guard is here, once for all
// targets.
#include "compiler/codegen/value_builder.h"

#include "llvm/Support/ErrorHandling.h"

using namespace mlir;

namespace lockstitch::codegen {

/// The constant in every lane of `x`, if it is one.
static std::optional<int64_t> constantOf(Value x) {
  APInt value;
  if (matchPattern(x, m_ConstantInt(&value)))
    return value.getSExtValue();
  return std::nullopt;
}

/// x / y or x % y (C's meaning) with the rules of Div and Rem for y = 0 and
/// INT_MIN / -1.
static Value divideInts(ValueBuilder &v, Value x, Value y, bool isSigned,
                        bool remainder) {
  auto divide = [&](Value divisor) {
    if (remainder)
      return isSigned ? v.remS(x, divisor) : v.remU(x, divisor);
    return isSigned ? v.divS(x, divisor) : v.divU(x, divisor);
  };
  std::optional<int64_t> constant = constantOf(y);
  if (constant && *constant != 0 && !(isSigned && *constant == -1))
    return divide(y);
  Value zero = v.k(y, 0), isZero = v.compare(IntCompare::eq, y, zero);
  if (!isSigned)
    return v.select(isZero, zero, divide(v.select(isZero, v.k(y, 1), y)));
  Value isMinusOne = v.compare(IntCompare::eq, y, v.k(y, -1));
  Value result = divide(v.select(v.orI(isZero, isMinusOne), v.k(y, 1), y));
  result = v.select(isMinusOne, remainder ? zero : v.sub(zero, x), result);
  return v.select(isZero, zero, result);
}

/// Python's %: the remainder, moved by the divisor where the signs differ.
static Value floorModInts(ValueBuilder &v, Value x, Value y, bool isSigned) {
  Value remainder = divideInts(v, x, y, isSigned, true);
  if (!isSigned)
    return remainder;
  Value zero = v.k(x, 0);
  Value differs = v.compare(IntCompare::slt, v.xorI(remainder, y), zero);
  Value adjust = v.andI(v.compare(IntCompare::ne, remainder, zero), differs);
  return v.select(adjust, v.add(remainder, y), remainder);
}

static Value floorModFloats(ValueBuilder &v, Value x, Value y) {
  Value remainder = emitFloatRem(v, x, y);
  Value zero = v.f(x, 0);
  Value differs = v.xorI(v.compare(FloatCompare::OLT, remainder, zero),
                         v.compare(FloatCompare::OLT, y, zero));
  Value adjust = v.andI(v.compare(FloatCompare::ONE, remainder, zero), differs);
  return v.select(adjust, v.addF(remainder, y), remainder);
}

static Value shift(ValueBuilder &v, ScalarOpcode opcode, Value x, Value amount,
                   bool isSigned) {
  int64_t width = ValueBuilder::elementOf(x).getIntOrFloatBitWidth();
  Value inRange = v.compare(IntCompare::ult, amount, v.k(amount, width));
  if (opcode == ScalarOpcode::ShiftRight && isSigned)
    return v.shrS(x, v.select(inRange, amount, v.k(amount, width - 1)));
  Value safe = v.select(inRange, amount, v.k(amount, 0));
  Value shifted =
      opcode == ScalarOpcode::ShiftLeft ? v.shl(x, safe) : v.shrU(x, safe);
  return v.select(inRange, shifted, v.k(x, 0));
}

static Value compareValues(ValueBuilder &v, ScalarOpcode opcode, Value x,
                           Value y, ElementType type) {
  if (isFloat(type)) {
    switch (opcode) {
    case ScalarOpcode::Eq:
      return v.compare(FloatCompare::OEQ, x, y);
    case ScalarOpcode::Ne:
      return v.compare(FloatCompare::UNE, x, y);
    case ScalarOpcode::Lt:
      return v.compare(FloatCompare::OLT, x, y);
    case ScalarOpcode::Le:
      return v.compare(FloatCompare::OLE, x, y);
    case ScalarOpcode::Gt:
      return v.compare(FloatCompare::OGT, x, y);
    default:
      return v.compare(FloatCompare::OGE, x, y);
    }
  }
  bool isSigned = isSignedInteger(type);
  switch (opcode) {
  case ScalarOpcode::Eq:
    return v.compare(IntCompare::eq, x, y);
  case ScalarOpcode::Ne:
    return v.compare(IntCompare::ne, x, y);
  case ScalarOpcode::Lt:
    return v.compare(isSigned ? IntCompare::slt : IntCompare::ult, x, y);
  case ScalarOpcode::Le:
    return v.compare(isSigned ? IntCompare::sle : IntCompare::ule, x, y);
  case ScalarOpcode::Gt:
    return v.compare(isSigned ? IntCompare::sgt : IntCompare::ugt, x, y);
  default:
    return v.compare(isSigned ? IntCompare::sge : IntCompare::uge, x, y);
  }
}

static Value floatOp(ValueBuilder &v, ScalarOpcode opcode,
                     ArrayRef<Value> args) {
  Value x = args[0];
  switch (opcode) {
  case ScalarOpcode::IsNaN:
    return v.isNaN(x);
  case ScalarOpcode::IsInf:
    return v.compare(FloatCompare::OEQ, v.absF(x),
                     v.f(x, std::numeric_limits<double>::infinity()));
  case ScalarOpcode::Add:
    return v.addF(x, args[1]);
  case ScalarOpcode::Sub:
    return v.subF(x, args[1]);
  case ScalarOpcode::Mul:
    return v.mulF(x, args[1]);
  case ScalarOpcode::Div:
    return v.divF(x, args[1]);
  case ScalarOpcode::Rem:
    return emitFloatRem(v, x, args[1]);
  case ScalarOpcode::Mod:
    return floorModFloats(v, x, args[1]);
  case ScalarOpcode::Min:
    return v.minimum(x, args[1]);
  case ScalarOpcode::Max:
    return v.maximum(x, args[1]);
  case ScalarOpcode::Pow:
    return emitPow(v, x, args[1]);
  case ScalarOpcode::Fma:
    return v.fma(x, args[1], args[2]);
  case ScalarOpcode::Neg:
    return v.negF(x);
  case ScalarOpcode::Abs:
    return v.absF(x);
  case ScalarOpcode::Sign: {
    Value zero = v.f(x, 0);
    Value one =
        v.select(v.compare(FloatCompare::OGT, x, zero), v.f(x, 1), v.f(x, -1));
    Value finite = v.select(v.compare(FloatCompare::OEQ, x, zero), zero, one);
    return v.select(v.isNaN(x), x, finite);
  }
  case ScalarOpcode::Floor:
    return v.floor(x);
  case ScalarOpcode::Ceil:
    return v.ceil(x);
  case ScalarOpcode::Round:
    return v.roundEven(x);
  case ScalarOpcode::Sqrt:
    return v.sqrt(x);
  case ScalarOpcode::Exp:
    return emitExp(v, x);
  case ScalarOpcode::Log:
    return emitLog(v, x);
  case ScalarOpcode::Sin:
    return emitSin(v, x);
  case ScalarOpcode::Cos:
    return emitCos(v, x);
  case ScalarOpcode::Tanh:
    return emitTanh(v, x);
  case ScalarOpcode::Erf:
    return emitErf(v, x);
  default:
    return {};
  }
}

static Value intOp(ValueBuilder &v, ScalarOpcode opcode, ArrayRef<Value> args,
                   bool isSigned) {
  Value x = args[0];
  auto negate = [&] { return v.sub(v.k(x, 0), x); };
  switch (opcode) {
  case ScalarOpcode::Not:
    return v.notI(x);
  case ScalarOpcode::And:
    return v.andI(x, args[1]);
  case ScalarOpcode::Or:
    return v.orI(x, args[1]);
  case ScalarOpcode::Xor:
    return v.xorI(x, args[1]);
  case ScalarOpcode::ShiftLeft:
  case ScalarOpcode::ShiftRight:
    return shift(v, opcode, x, args[1], isSigned);
  case ScalarOpcode::IsNaN:
  case ScalarOpcode::IsInf:
    return v.constantInt(ValueBuilder::like(x, v.i(1)), 0);
  case ScalarOpcode::Add:
    return v.add(x, args[1]);
  case ScalarOpcode::Sub:
    return v.sub(x, args[1]);
  case ScalarOpcode::Mul:
    return v.mul(x, args[1]);
  case ScalarOpcode::Div:
    return divideInts(v, x, args[1], isSigned, false);
  case ScalarOpcode::Rem:
    return divideInts(v, x, args[1], isSigned, true);
  case ScalarOpcode::Mod:
    return floorModInts(v, x, args[1], isSigned);
  case ScalarOpcode::Min:
    return v.select(
        v.compare(isSigned ? IntCompare::slt : IntCompare::ult, x, args[1]), x,
        args[1]);
  case ScalarOpcode::Max:
    return v.select(
        v.compare(isSigned ? IntCompare::sgt : IntCompare::ugt, x, args[1]), x,
        args[1]);
  case ScalarOpcode::Pow:
    return emitIntPow(v, x, args[1], isSigned);
  case ScalarOpcode::Neg:
    return negate();
  case ScalarOpcode::Abs:
    return isSigned
               ? v.select(v.compare(IntCompare::slt, x, v.k(x, 0)), negate(), x)
               : x;
  case ScalarOpcode::Sign: {
    Value zero = v.k(x, 0), one = v.k(x, 1);
    Value positive = v.select(v.compare(IntCompare::eq, x, zero), zero, one);
    return isSigned ? v.select(v.compare(IntCompare::slt, x, zero), v.k(x, -1),
                               positive)
                    : positive;
  }
  case ScalarOpcode::Floor:
  case ScalarOpcode::Ceil:
  case ScalarOpcode::Round:
    return x;
  default:
    return {};
  }
}

/// Bool as the two-element lattice: Add, Max are or; Mul, Min are and.
static Value boolOp(ValueBuilder &v, ScalarOpcode opcode,
                    ArrayRef<Value> args) {
  switch (opcode) {
  case ScalarOpcode::Not:
    return v.notI(args[0]);
  case ScalarOpcode::And:
  case ScalarOpcode::Mul:
  case ScalarOpcode::Min:
    return v.andI(args[0], args[1]);
  case ScalarOpcode::Or:
  case ScalarOpcode::Add:
  case ScalarOpcode::Max:
    return v.orI(args[0], args[1]);
  case ScalarOpcode::Xor:
    return v.xorI(args[0], args[1]);
  default:
    return {};
  }
}

Value emitScalarOp(ValueBuilder &v, ScalarOpcode opcode, ElementType type,
                   ArrayRef<Value> args, ArrayRef<ElementType> argTypes) {
  if (opcode == ScalarOpcode::Cast)
    return emitCast(v, args[0], argTypes[0], type);
  if (opcode == ScalarOpcode::Select)
    return v.select(args[0], args[1], args[2]);
  ElementType operandType = argTypes[0];
  if (operandType == ElementType::F16 || operandType == ElementType::BF16) {
    // Comparisons of 16-bit floats, in f32; arithmetic on them does not occur,
    // but would be right.
    SmallVector<Value> wide;
    for (Value arg : args)
      wide.push_back(emitCast(v, arg, operandType, ElementType::F32));
    SmallVector<ElementType> wideTypes(args.size(), ElementType::F32);
    bool narrows = type == operandType;
    Value result = emitScalarOp(v, opcode, narrows ? ElementType::F32 : type,
                                wide, wideTypes);
    return narrows && result ? emitCast(v, result, ElementType::F32, type)
                             : result;
  }
  switch (opcode) {
  case ScalarOpcode::Eq:
  case ScalarOpcode::Ne:
  case ScalarOpcode::Lt:
  case ScalarOpcode::Le:
  case ScalarOpcode::Gt:
  case ScalarOpcode::Ge:
    return compareValues(v, opcode, args[0], args[1], operandType);
  default:
    break;
  }
  if (isFloat(operandType))
    return floatOp(v, opcode, args);
  if (operandType == ElementType::Bool)
    return boolOp(v, opcode, args);
  return intOp(v, opcode, args, isSignedInteger(operandType));
}

} // namespace lockstitch::codegen
