//===- half.h - f16 and bf16 as integers ------------------------*- C++ -*-===//
//
// Conversions by integer arithmetic, free of branches so that loops over lanes
// become vector code on every CPU, and exact: no rounding happens twice.
//
// Sums, differences and products of two halves are computed in f32 and rounded
// once more, which is exact because 24 >= 2 * 11 + 2. A fused multiply-add is
// not: it is computed in double, whose error is kept as a sticky bit ("round to
// odd"), then narrowed.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/simulator/lanes.h"

#include <cmath>

namespace lockstitch::simulator {

constexpr uint16_t HalfNaN = 0x7FFF;
constexpr uint16_t BFloatNaN = 0x7FFF;

LS_INLINE uint32_t bitsOf(float f) { return std::bit_cast<uint32_t>(f); }
LS_INLINE float floatOf(uint32_t u) { return std::bit_cast<float>(u); }
LS_INLINE uint64_t bitsOf(double f) { return std::bit_cast<uint64_t>(f); }
LS_INLINE double doubleOf(uint64_t u) { return std::bit_cast<double>(u); }

LS_INLINE float toFloat(Half h) {
  uint32_t sign = (uint32_t)(h.bits & 0x8000) << 16;
  uint32_t body = (uint32_t)(h.bits & 0x7FFF) << 13;
  // Multiplying by 2^112 moves the exponent and normalises denormals.
  uint32_t scaled = bitsOf(floatOf(body) * floatOf(0x77800000u));
  uint32_t special = body | 0x7F800000u;
  return floatOf(sign | (body >= 0x0F800000u ? special : scaled));
}
LS_INLINE float toFloat(BFloat b) { return floatOf((uint32_t)b.bits << 16); }

/// Round to nearest even; overflow to infinity; NaN becomes 0x7FFF.
LS_INLINE Half halfOf(float f) {
  uint32_t bits = bitsOf(f);
  uint32_t sign = bits >> 16 & 0x8000;
  uint32_t x = bits & 0x7FFFFFFFu;
  // Normal results: rebias, round at bit 13.
  uint32_t normal = (x - 0x38000000u + 0xFFFu + (x >> 13 & 1)) >> 13;
  // Denormal results: adding 0.5 lines the unit of 2^-24 up with the last bit.
  uint32_t tiny = bitsOf(floatOf(x) + 0.5f) - 0x3F000000u;
  uint32_t r = x < 0x38800000u ? tiny : normal;
  r = x >= 0x477FF000u ? 0x7C00u : r;
  r = x > 0x7F800000u ? (uint32_t)HalfNaN : sign | r;
  return Half{(uint16_t)r};
}
LS_INLINE BFloat bfloatOf(float f) {
  uint32_t x = bitsOf(f);
  uint32_t r = (x + 0x7FFFu + (x >> 16 & 1)) >> 16;
  return BFloat{
      (uint16_t)((x & 0x7FFFFFFFu) > 0x7F800000u ? (uint32_t)BFloatNaN : r)};
}
template <class H> LS_INLINE H narrow(float f) {
  if constexpr (std::is_same_v<H, Half>)
    return halfOf(f);
  else
    return bfloatOf(f);
}

/// A double rounded to f32 with the lost bits kept sticky in the last one:
/// rounding that once more to 22 bits or fewer is as if done at once.
LS_INLINE float toOdd(double d) {
  float f = (float)d;
  double back = (double)f;
  uint32_t bits = bitsOf(f);
  bool inexact = back != d && back == back;
  bool away = std::fabs(back) > std::fabs(d);
  // Step back to the truncated value, then set the sticky bit.
  uint32_t truncated = away ? bits - 1 : bits;
  return floatOf(inexact ? truncated | 1 : bits);
}
/// a * b + c, exact but for a sticky last bit of a double. The product of two
/// halves or bfloats is exact in a double; the sum's error decides the bit.
LS_INLINE double fmaOdd(double a, double b, double c) {
  double p = a * b;
  double s = p + c;
  double bb = s - p;
  double error = (p - (s - bb)) + (c - bb);
  uint64_t bits = bitsOf(s);
  bool finite = (bits & 0x7FF0000000000000ull) != 0x7FF0000000000000ull;
  bool inexact = error != 0 && finite;
  // error has the sign of what s lacks; s is too large when signs differ.
  bool tooLarge = (error < 0) != (s < 0);
  uint64_t truncated = tooLarge ? bits - 1 : bits;
  return doubleOf(inexact ? truncated | 1 : bits);
}
template <class H> LS_INLINE H fmaNarrow(H a, H b, H c) {
  double r = fmaOdd((double)toFloat(a), (double)toFloat(b), (double)toFloat(c));
  return narrow<H>(toOdd(r));
}

} // namespace lockstitch::simulator
