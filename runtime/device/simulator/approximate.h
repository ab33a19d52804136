//===- approximate.h - exp2, log2 and friends, to double precision -*- C++ -*-//
//
// GPUs approximate these in ways that differ between generations, so the
// simulator defines them as the correctly rounded f32: computed in double by
// our own polynomials, which no host library changes, and rounded once. (A
// result within 2^-50 of a rounding boundary may go either way; that is a
// billionth of the documented error.)
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/simulator/half.h"

namespace lockstitch::simulator {

/// 2^x for |x| <= 1100: Taylor series of exp(f ln 2), |f| <= 1/2.
LS_INLINE double exp2Double(double x) {
  double magic = 6755399441055744.0; // 1.5 * 2^52: rounds to an integer
  double shifted = x + magic;
  double whole = shifted - magic;
  double y = (x - whole) * 0.693147180559945309417;
  double p = 1.0 / 6227020800.0;
  p = p * y + 1.0 / 479001600.0;
  p = p * y + 1.0 / 39916800.0;
  p = p * y + 1.0 / 3628800.0;
  p = p * y + 1.0 / 362880.0;
  p = p * y + 1.0 / 40320.0;
  p = p * y + 1.0 / 5040.0;
  p = p * y + 1.0 / 720.0;
  p = p * y + 1.0 / 120.0;
  p = p * y + 1.0 / 24.0;
  p = p * y + 1.0 / 6.0;
  p = p * y + 0.5;
  p = p * y + 1.0;
  p = p * y + 1.0;
  // The low bits of `shifted` are the integer.
  int64_t e = (int64_t)(bitsOf(shifted) << 12) >> 12;
  return p * doubleOf((uint64_t)(e + 1023) << 52);
}

/// log2 of a positive normal double: atanh series around 1.
LS_INLINE double log2Double(double x) {
  uint64_t bits = bitsOf(x);
  // Exponent so that the fraction lies in [sqrt(1/2), sqrt(2)).
  uint64_t shifted = bits - 0x3FE6A09E667F3BCDull;
  int64_t e = (int64_t)shifted >> 52;
  double m = doubleOf(bits - ((uint64_t)e << 52));
  double s = (m - 1.0) / (m + 1.0);
  double z = s * s;
  double p = 1.0 / 23.0;
  p = p * z + 1.0 / 21.0;
  p = p * z + 1.0 / 19.0;
  p = p * z + 1.0 / 17.0;
  p = p * z + 1.0 / 15.0;
  p = p * z + 1.0 / 13.0;
  p = p * z + 1.0 / 11.0;
  p = p * z + 1.0 / 9.0;
  p = p * z + 1.0 / 7.0;
  p = p * z + 1.0 / 5.0;
  p = p * z + 1.0 / 3.0;
  p = p * z + 1.0;
  // int64 to double without AVX-512: through the magic constant.
  double whole =
      doubleOf((uint64_t)e + 0x4338000000000000ull) - 6755399441055744.0;
  return whole + 2.0 * s * p * 1.44269504088896340736;
}

} // namespace lockstitch::simulator
