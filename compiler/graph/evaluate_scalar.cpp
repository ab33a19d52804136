#include "compiler/graph/evaluate_scalar.h"

#include "runtime/program/float16.h"

#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>

namespace lockstitch::evaluation {
namespace {

template <typename T> T loadAs(const std::byte *place) {
  T value;
  std::memcpy(&value, place, sizeof value);
  return value;
}

template <typename T> void storeAs(T value, std::byte *place) {
  std::memcpy(place, &value, sizeof value);
}

Slot fromInt(int64_t value) {
  Slot slot;
  slot.integer = value;
  return slot;
}

Slot fromReal(double value) {
  Slot slot;
  slot.real = value;
  return slot;
}

/// Keeps the low bits that `type` has and extends them again: integers wrap
/// around.
int64_t wrap(ElementType type, int64_t value) {
  switch (type) {
  case ElementType::Bool:
    return value & 1;
  case ElementType::I8:
    return static_cast<int8_t>(value);
  case ElementType::U8:
    return static_cast<uint8_t>(value);
  case ElementType::I16:
    return static_cast<int16_t>(value);
  case ElementType::U16:
    return static_cast<uint16_t>(value);
  case ElementType::I32:
    return static_cast<int32_t>(value);
  case ElementType::U32:
    return static_cast<uint32_t>(value);
  default:
    return value;
  }
}

double roundTo(ElementType type, double value) {
  switch (type) {
  case ElementType::F32:
    return static_cast<float>(value);
  case ElementType::F16:
    return halfToFloat(doubleToHalf(value));
  case ElementType::BF16:
    return bfloat16ToFloat(doubleToBFloat16(value));
  default:
    return value;
  }
}

int64_t saturate(ElementType type, double value) {
  if (std::isnan(value))
    return 0;
  value = std::trunc(value);
  unsigned bits = bitWidth(type);
  if (isSignedInteger(type)) {
    double limit = std::ldexp(1.0, bits - 1);
    if (value >= limit)
      return static_cast<int64_t>(~0ull >> (65 - bits));
    if (value < -limit)
      return static_cast<int64_t>(~0ull << (bits - 1));
    return static_cast<int64_t>(value);
  }
  double limit = std::ldexp(1.0, bits);
  if (value >= limit)
    return static_cast<int64_t>(~0ull >> (64 - bits));
  if (value < 0)
    return 0;
  return static_cast<int64_t>(static_cast<uint64_t>(value));
}

/// An integer as a double that still rounds to a narrower float as the integer itself would: what does not fit into 53 bits
/// is cut off and leaves its trace in the last bit (rounding to odd).
double stickyReal(ElementType from, int64_t value) {
  bool negative = from != ElementType::U64 && value < 0;
  uint64_t magnitude = negative ? 0 - static_cast<uint64_t>(value)
                                : static_cast<uint64_t>(value);
  uint64_t lost = magnitude & 0x7ff;
  double real =
      magnitude >> 53
          ? std::ldexp(static_cast<double>((magnitude >> 11) | (lost != 0)), 11)
          : static_cast<double>(magnitude);
  return negative ? -real : real;
}

Slot castSlot(ElementType to, ElementType from, Slot value) {
  if (isFloat(from)) {
    if (isFloat(to))
      return fromReal(roundTo(to, value.real));
    if (to == ElementType::Bool)
      return fromInt(value.real != 0); // NaN too
    return fromInt(saturate(to, value.real));
  }
  if (isFloat(to)) {
    double real =
        from == ElementType::U64
            ? static_cast<double>(static_cast<uint64_t>(value.integer))
            : static_cast<double>(value.integer);
    if (to == ElementType::F16 || to == ElementType::BF16)
      real = stickyReal(from, value.integer);
    if (to == ElementType::F32) // once, not by way of f64
      real = from == ElementType::U64
                 ? static_cast<float>(static_cast<uint64_t>(value.integer))
                 : static_cast<float>(value.integer);
    return fromReal(roundTo(to, real));
  }
  return fromInt(to == ElementType::Bool ? value.integer != 0
                                         : wrap(to, value.integer));
}

double minimum(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<double>::quiet_NaN();
  if (a == 0 && b == 0)
    return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

double maximum(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<double>::quiet_NaN();
  if (a == 0 && b == 0)
    return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

/// T is float or double: the type in which the operation is done.
template <typename T> double floatOp(ScalarOpcode opcode, T a, T b, T c) {
  auto wide = [](double value) {
    return static_cast<double>(static_cast<T>(value));
  };
  switch (opcode) {
  case ScalarOpcode::Add:
    return a + b;
  case ScalarOpcode::Sub:
    return a - b;
  case ScalarOpcode::Mul:
    return a * b;
  case ScalarOpcode::Div:
    return a / b;
  case ScalarOpcode::Rem:
    return std::fmod(a, b);
  case ScalarOpcode::Mod: {
    T rest = std::fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
  case ScalarOpcode::Min:
    return minimum(a, b);
  case ScalarOpcode::Max:
    return maximum(a, b);
  case ScalarOpcode::Pow:
    return wide(std::pow(static_cast<double>(a), static_cast<double>(b)));
  case ScalarOpcode::Fma:
    return std::fma(a, b, c);
  case ScalarOpcode::Neg:
    return -a;
  case ScalarOpcode::Abs:
    return std::fabs(a);
  case ScalarOpcode::Sign:
    return std::isnan(a) ? a : a > 0 ? 1 : a < 0 ? -1 : 0;
  case ScalarOpcode::Floor:
    return std::floor(a);
  case ScalarOpcode::Ceil:
    return std::ceil(a);
  case ScalarOpcode::Round:
    return std::nearbyint(a);
  case ScalarOpcode::Sqrt:
    return std::sqrt(a);
  case ScalarOpcode::Exp:
    return wide(std::exp(static_cast<double>(a)));
  case ScalarOpcode::Log:
    return wide(std::log(static_cast<double>(a)));
  case ScalarOpcode::Sin:
    return wide(std::sin(static_cast<double>(a)));
  case ScalarOpcode::Cos:
    return wide(std::cos(static_cast<double>(a)));
  case ScalarOpcode::Tanh:
    return wide(std::tanh(static_cast<double>(a)));
  case ScalarOpcode::Erf:
    return wide(std::erf(static_cast<double>(a)));
  default:
    return std::numeric_limits<double>::quiet_NaN();
  }
}

int64_t power(ElementType type, int64_t base, int64_t exponent, bool isSigned) {
  if (isSigned && exponent < 0)
    return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  uint64_t result = 1, factor = static_cast<uint64_t>(base);
  for (uint64_t left = static_cast<uint64_t>(exponent); left; left >>= 1) {
    if (left & 1)
      result *= factor;
    factor *= factor;
  }
  return wrap(type, static_cast<int64_t>(result));
}

int64_t intOp(ScalarOpcode opcode, ElementType type, int64_t a, int64_t b) {
  bool isSigned = isSignedInteger(type);
  uint64_t ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  unsigned bits = bitWidth(type);
  auto wrapped = [&](uint64_t value) {
    return wrap(type, static_cast<int64_t>(value));
  };
  switch (opcode) {
  case ScalarOpcode::Not:
    return type == ElementType::Bool ? !a : wrapped(~ua);
  case ScalarOpcode::And:
    return a & b;
  case ScalarOpcode::Or:
    return a | b;
  case ScalarOpcode::Xor:
    return a ^ b;
  case ScalarOpcode::ShiftLeft:
    return ub >= bits ? 0 : wrapped(ua << ub);
  case ScalarOpcode::ShiftRight:
    if (!isSigned)
      return ub >= bits ? 0 : wrapped(ua >> ub);
    return a >> (ub >= bits ? 63 : ub);
  case ScalarOpcode::Add:
    return wrapped(ua + ub);
  case ScalarOpcode::Sub:
    return wrapped(ua - ub);
  case ScalarOpcode::Mul:
    return wrapped(ua * ub);
  case ScalarOpcode::Div:
    if (b == 0)
      return 0;
    if (!isSigned)
      return static_cast<int64_t>(ua / ub);
    return b == -1 ? wrapped(0 - ua) : a / b;
  case ScalarOpcode::Rem:
  case ScalarOpcode::Mod: {
    if (b == 0)
      return 0;
    if (!isSigned)
      return static_cast<int64_t>(ua % ub);
    int64_t rest = b == -1 ? 0 : a % b;
    return opcode == ScalarOpcode::Mod && rest != 0 && (rest < 0) != (b < 0)
               ? rest + b
               : rest;
  }
  case ScalarOpcode::Min:
    return isSigned ? (a < b ? a : b) : (ua < ub ? a : b);
  case ScalarOpcode::Max:
    return isSigned ? (a > b ? a : b) : (ua > ub ? a : b);
  case ScalarOpcode::Pow:
    return power(type, a, b, isSigned);
  case ScalarOpcode::Neg:
    return wrapped(0 - ua);
  case ScalarOpcode::Abs:
    return isSigned && a < 0 ? wrapped(0 - ua) : a;
  case ScalarOpcode::Sign:
    return isSigned ? (a > 0) - (a < 0) : ua > 0;
  default:
    return a; // Floor, Ceil, Round of an integer
  }
}

template <typename T> bool compare(ScalarOpcode opcode, T a, T b) {
  switch (opcode) {
  case ScalarOpcode::Eq:
    return a == b;
  case ScalarOpcode::Ne:
    return a != b;
  case ScalarOpcode::Lt:
    return a < b;
  case ScalarOpcode::Le:
    return a <= b;
  case ScalarOpcode::Gt:
    return a > b;
  default:
    return a >= b;
  }
}

bool isComparison(ScalarOpcode opcode) {
  return opcode >= ScalarOpcode::Eq && opcode <= ScalarOpcode::Ge;
}

} // namespace

Slot load(ElementType type, const std::byte *place) {
  switch (type) {
  case ElementType::Bool:
    return fromInt(loadAs<uint8_t>(place) != 0);
  case ElementType::I8:
    return fromInt(loadAs<int8_t>(place));
  case ElementType::U8:
    return fromInt(loadAs<uint8_t>(place));
  case ElementType::I16:
    return fromInt(loadAs<int16_t>(place));
  case ElementType::U16:
    return fromInt(loadAs<uint16_t>(place));
  case ElementType::I32:
    return fromInt(loadAs<int32_t>(place));
  case ElementType::U32:
    return fromInt(loadAs<uint32_t>(place));
  case ElementType::I64:
  case ElementType::U64:
    return fromInt(loadAs<int64_t>(place));
  case ElementType::F16:
    return fromReal(halfToFloat(loadAs<uint16_t>(place)));
  case ElementType::BF16:
    return fromReal(bfloat16ToFloat(loadAs<uint16_t>(place)));
  case ElementType::F32:
    return fromReal(loadAs<float>(place));
  case ElementType::F64:
    return fromReal(loadAs<double>(place));
  }
  return fromInt(0);
}

void store(ElementType type, Slot value, std::byte *place) {
  switch (byteSize(type)) {
  case 1:
    return storeAs(static_cast<uint8_t>(value.integer), place);
  case 2:
    if (type == ElementType::F16)
      return storeAs(doubleToHalf(value.real), place);
    if (type == ElementType::BF16)
      return storeAs(doubleToBFloat16(value.real), place);
    return storeAs(static_cast<uint16_t>(value.integer), place);
  case 4:
    if (type == ElementType::F32)
      return storeAs(static_cast<float>(value.real), place);
    return storeAs(static_cast<uint32_t>(value.integer), place);
  default:
    return storeAs(value.integer, place); // the bits of a double, too
  }
}

Slot constantSlot(ElementType type, const ScalarConstant &constant) {
  return isFloat(type) ? fromReal(roundTo(type, constant.real))
                       : fromInt(wrap(type, constant.integer));
}

void applyOpcode(ScalarOpcode opcode, ElementType type, ElementType argType,
                 std::span<const Slot *const> args, Slot *result,
                 size_t count) {
  assert(!args.empty() && "leaves have no arguments and are no operations");
  const Slot *a = args[0], *b = args.size() > 1 ? args[1] : a,
             *c = args.size() > 2 ? args[2] : a;
  if (opcode == ScalarOpcode::Select) {
    for (size_t i = 0; i < count; ++i)
      result[i] = a[i].integer ? b[i] : c[i];
  } else if (opcode == ScalarOpcode::Cast) {
    for (size_t i = 0; i < count; ++i)
      result[i] = castSlot(type, argType, a[i]);
  } else if (opcode == ScalarOpcode::IsNaN) {
    for (size_t i = 0; i < count; ++i)
      result[i] = fromInt(isFloat(argType) && std::isnan(a[i].real));
  } else if (opcode == ScalarOpcode::IsInf) {
    for (size_t i = 0; i < count; ++i)
      result[i] = fromInt(isFloat(argType) && std::isinf(a[i].real));
  } else if (isComparison(opcode)) {
    for (size_t i = 0; i < count; ++i)
      result[i] =
          fromInt(isFloat(argType) ? compare(opcode, a[i].real, b[i].real)
                  : argType == ElementType::U64
                      ? compare(opcode, static_cast<uint64_t>(a[i].integer),
                                static_cast<uint64_t>(b[i].integer))
                      : compare(opcode, a[i].integer, b[i].integer));
  } else if (type == ElementType::F64) {
    for (size_t i = 0; i < count; ++i)
      result[i] =
          fromReal(floatOp<double>(opcode, a[i].real, b[i].real, c[i].real));
  } else if (isFloat(type)) {
    for (size_t i = 0; i < count; ++i)
      result[i] = fromReal(floatOp<float>(opcode, static_cast<float>(a[i].real),
                                          static_cast<float>(b[i].real),
                                          static_cast<float>(c[i].real)));
  } else {
    for (size_t i = 0; i < count; ++i)
      result[i] = fromInt(intOp(opcode, type, a[i].integer, b[i].integer));
  }
}

} // namespace lockstitch::evaluation
