#include "runtime/program/float16.h"

#include <bit>
#include <cmath>

namespace lockstitch {
namespace {

/// Rounds a finite `value` to a binary format with `precision` significant bits
/// (hidden one included), exponents from `minExponent` (of the smallest normal
/// number) to `maxExponent`. Exact in f64 for both 16-bit formats: the quantum
/// is a power of two, and scaling by it and back loses nothing.
double roundTo(double value, int precision, int minExponent, int maxExponent) {
  if (value == 0)
    return value;
  int exponent;
  std::frexp(value, &exponent); // |value| in [0.5, 1) * 2^exponent
  int quantum = std::max(exponent - 1, minExponent) - (precision - 1);
  double scaled = std::ldexp(value, -quantum);
  double floor = std::floor(scaled), rest = scaled - floor;
  double rounded = rest > 0.5 || (rest == 0.5 && std::fmod(floor, 2) != 0)
                       ? floor + 1
                       : floor;
  double result = std::ldexp(rounded, quantum);
  if (std::fabs(result) >= std::ldexp(1.0, maxExponent + 1))
    return std::copysign(INFINITY, value);
  return result == 0 ? std::copysign(0.0, value) : result;
}

/// `rounded` is a value of the format (or infinite): its f32 encoding is exact.
uint16_t encodeHalf(double rounded) {
  uint32_t bits = std::bit_cast<uint32_t>(static_cast<float>(rounded));
  uint16_t sign = (bits >> 16) & 0x8000;
  int exponent = static_cast<int>((bits >> 23) & 0xff) - 127;
  uint32_t mantissa = bits & 0x7fffff;
  if (exponent == 128)
    return sign | 0x7c00;
  if (exponent >= -14)
    return sign | static_cast<uint16_t>((exponent + 15) << 10) |
           static_cast<uint16_t>(mantissa >> 13);
  if (exponent < -24)
    return sign;
  return sign | static_cast<uint16_t>((mantissa | 0x800000) >> (-exponent - 1));
}

} // namespace

float halfToFloat(uint16_t half) {
  uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  uint32_t exponent = (half >> 10) & 0x1f, mantissa = half & 0x3ff;
  if (exponent == 0x1f)
    return std::bit_cast<float>(sign | 0x7f800000 | (mantissa << 13));
  if (exponent)
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) |
                                (mantissa << 13));
  float value = static_cast<float>(mantissa) * 0x1p-24f;
  return sign ? -value : value;
}

uint16_t doubleToHalf(double value) {
  if (std::isnan(value))
    return 0x7fff;
  if (std::isinf(value))
    return std::signbit(value) ? 0xfc00 : 0x7c00;
  return encodeHalf(roundTo(value, 11, -14, 15));
}

uint16_t floatToHalf(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude >= 0x38800000 &&
      magnitude < 0x477ff000) { // normal in f16, also after rounding
    uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
    return static_cast<uint16_t>((bits >> 16) & 0x8000) |
           static_cast<uint16_t>((rounded - 0x38000000) >> 13);
  }
  return doubleToHalf(value);
}

float bfloat16ToFloat(uint16_t bfloat16) {
  return std::bit_cast<float>(static_cast<uint32_t>(bfloat16) << 16);
}

uint16_t floatToBFloat16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return 0x7fff;
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

uint16_t doubleToBFloat16(double value) {
  if (std::isnan(value))
    return 0x7fff;
  if (std::isinf(value))
    return std::signbit(value) ? 0xff80 : 0x7f80;
  return floatToBFloat16(static_cast<float>(roundTo(value, 8, -126, 127)));
}

} // namespace lockstitch
