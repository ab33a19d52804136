//===- opcodes_float.cpp - f32 arithmetic ---------------------------------===//
//
// Rounding modes other than to nearest are had from the host: the plain handler
// runs, out of line, between two calls of fesetround. `.ftz` flushes denormal
// inputs and results to zero of the same sign.
//
// An instruction without a rounding modifier may be fused by ptxas; here, as in
// everything Lockstitch emits, it never is.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/simulator/half.h"
#include "runtime/device/simulator/opcode_table.h"
#include "runtime/device/simulator/rounding.h"

namespace lockstitch::simulator {

namespace {

constexpr InstructionClass Kind = InstructionClass::Float32;
constexpr InstructionClass Slow = InstructionClass::Special;

template <bool Ftz> LS_INLINE float fz(float f) {
  if constexpr (!Ftz)
    return f;
  uint32_t bits = bitsOf(f);
  return floatOf((bits & 0x7F800000u) == 0 ? bits & 0x80000000u : bits);
}
/// GPUs give one NaN, 0x7FFFFFFF, whatever went in.
LS_INLINE float canonical(float f) { return f != f ? floatOf(0x7FFFFFFFu) : f; }
template <bool Sat> LS_INLINE float saturate(float f) {
  if constexpr (!Sat)
    return f;
  return f > 0 ? (f < 1 ? f : 1.0f) : 0.0f; // NaN gives 0
}
template <bool Ftz, bool Sat> LS_INLINE float finish(float f) {
  return saturate<Sat>(fz<Ftz>(canonical(f)));
}

template <bool Ftz, bool Sat> LS_INLINE float add(float a, float b) {
  return finish<Ftz, Sat>(fz<Ftz>(a) + fz<Ftz>(b));
}
template <bool Ftz, bool Sat> LS_INLINE float sub(float a, float b) {
  return finish<Ftz, Sat>(fz<Ftz>(a) - fz<Ftz>(b));
}
template <bool Ftz, bool Sat> LS_INLINE float mul(float a, float b) {
  return finish<Ftz, Sat>(fz<Ftz>(a) * fz<Ftz>(b));
}
template <bool Ftz, bool Sat> LS_INLINE float fma(float a, float b, float c) {
  return finish<Ftz, Sat>(__builtin_fmaf(fz<Ftz>(a), fz<Ftz>(b), fz<Ftz>(c)));
}
template <bool Ftz> LS_INLINE float div(float a, float b) {
  return finish<Ftz, false>(fz<Ftz>(a) / fz<Ftz>(b));
}
template <bool Ftz> LS_INLINE float rcp(float a) {
  return finish<Ftz, false>(1.0f / fz<Ftz>(a));
}
template <bool Ftz> LS_INLINE float root(float a) {
  return finish<Ftz, false>(__builtin_sqrtf(fz<Ftz>(a)));
}
template <bool Ftz> LS_INLINE float absF(float a) {
  return fz<Ftz>(floatOf(bitsOf(a) & 0x7FFFFFFFu));
}
template <bool Ftz> LS_INLINE float negF(float a) {
  return fz<Ftz>(floatOf(bitsOf(a) ^ 0x80000000u));
}
LS_INLINE float copysignF(float a, float b) {
  // PTX: the sign of a, the magnitude of b.
  return floatOf((bitsOf(a) & 0x80000000u) | (bitsOf(b) & 0x7FFFFFFFu));
}

/// Orders -0 below +0 and drops NaN where one operand is a number.
template <bool Max> LS_INLINE float pick(float a, float b) {
  bool less = a < b || (a == b && (bitsOf(a) >> 31) > (bitsOf(b) >> 31));
  float r = less != Max ? a : b;
  r = a != a ? b : r;
  r = b != b ? a : r;
  return canonical(r);
}
template <bool Max, bool Ftz, bool Nan, bool XorSign>
LS_INLINE float minMax(float a, float b) {
  a = fz<Ftz>(a), b = fz<Ftz>(b);
  uint32_t sign = (bitsOf(a) ^ bitsOf(b)) & 0x80000000u;
  if (XorSign)
    a = floatOf(bitsOf(a) & 0x7FFFFFFFu), b = floatOf(bitsOf(b) & 0x7FFFFFFFu);
  float r = pick<Max>(a, b);
  if (Nan)
    r = a != a || b != b ? floatOf(0x7FFFFFFFu) : r;
  if (XorSign)
    r = r != r ? r : floatOf((bitsOf(r) & 0x7FFFFFFFu) | sign);
  return r;
}
template <bool Max, bool Ftz, bool Nan, bool Abs>
LS_INLINE float minMax3(float a, float b, float c) {
  if (Abs) {
    a = floatOf(bitsOf(a) & 0x7FFFFFFFu);
    b = floatOf(bitsOf(b) & 0x7FFFFFFFu);
    c = floatOf(bitsOf(c) & 0x7FFFFFFFu);
  }
  return minMax<Max, Ftz, Nan, false>(minMax<Max, Ftz, Nan, false>(a, b), c);
}

template <bool Ftz> LS_INLINE uint64_t join(float low, float high) {
  return (uint64_t)bitsOf(high) << 32 | bitsOf(low);
}
LS_INLINE float lowOf(FloatPair p) { return floatOf((uint32_t)p.bits); }
LS_INLINE float highOf(FloatPair p) {
  return floatOf((uint32_t)(p.bits >> 32));
}
template <auto F> LS_INLINE FloatPair pair2(FloatPair a, FloatPair b) {
  return FloatPair{join<false>(F(lowOf(a), lowOf(b)), F(highOf(a), highOf(b)))};
}
template <auto F>
LS_INLINE FloatPair pair3(FloatPair a, FloatPair b, FloatPair c) {
  return FloatPair{join<false>(F(lowOf(a), lowOf(b), lowOf(c)),
                               F(highOf(a), highOf(b), highOf(c)))};
}

// Mixed precision of sm_100: a narrow operand, f32 otherwise.
template <class H, bool Sat> LS_INLINE float addMixed(H a, float c) {
  return add<false, Sat>(toFloat(a), c);
}
template <class H, bool Sat> LS_INLINE float subMixed(H a, float c) {
  return sub<false, Sat>(toFloat(a), c);
}
template <class H, bool Sat> LS_INLINE float fmaMixed(H a, H b, float c) {
  return fma<false, Sat>(toFloat(a), toFloat(b), c);
}

template <bool Ftz, bool Sat> void addArithmetic(OpcodeTable &t) {
  std::string tail =
      std::string(Ftz ? ".ftz" : "") + (Sat ? ".sat" : "") + ".f32";
  addRounded<Binary<add<Ftz, Sat>, float, float, float>>(t, "add", tail, Kind,
                                                         true);
  addRounded<Binary<sub<Ftz, Sat>, float, float, float>>(t, "sub", tail, Kind,
                                                         true);
  addRounded<Binary<mul<Ftz, Sat>, float, float, float>>(t, "mul", tail, Kind,
                                                         true);
  using Fma = Ternary<fma<Ftz, Sat>, float, float, float, float>;
  addRounded<Fma>(t, "fma", tail, Kind, false);
  addRounded<Fma>(t, "mad", tail, Kind, false);
}

template <bool Ftz> void addRest(OpcodeTable &t) {
  std::string ftz = Ftz ? ".ftz" : "";
  std::string tail = ftz + ".f32";
  addRounded<Binary<div<Ftz>, float, float, float>>(t, "div", tail, Slow,
                                                    false);
  addRounded<Unary<rcp<Ftz>, float, float>>(t, "rcp", tail, Slow, false);
  addRounded<Unary<root<Ftz>, float, float>>(t, "sqrt", tail, Slow, false);
  t.add<Unary<absF<Ftz>, float, float>>("abs" + ftz + ".", {"f32"}, Kind);
  t.add<Unary<negF<Ftz>, float, float>>("neg" + ftz + ".", {"f32"}, Kind);
#define LS_MINMAX(NAME, MAX)                                                   \
  t.add<Binary<minMax<MAX, Ftz, false, false>, float, float, float>>(          \
      NAME + ftz + ".", {"f32"}, Kind);                                        \
  t.add<Binary<minMax<MAX, Ftz, true, false>, float, float, float>>(           \
      NAME + ftz + ".NaN.", {"f32"}, Kind);                                    \
  t.add<Binary<minMax<MAX, Ftz, false, true>, float, float, float>>(           \
      NAME + ftz + ".xorsign.abs.", {"f32"}, Kind);                            \
  t.add<Binary<minMax<MAX, Ftz, true, true>, float, float, float>>(            \
      NAME + ftz + ".NaN.xorsign.abs.", {"f32"}, Kind);                        \
  t.add<Ternary<minMax3<MAX, Ftz, false, false>, float, float, float, float>>( \
      NAME "3" + ftz + ".", {"f32"}, Kind);                                    \
  t.add<Ternary<minMax3<MAX, Ftz, true, false>, float, float, float, float>>(  \
      NAME "3" + ftz + ".NaN.", {"f32"}, Kind);                                \
  t.add<Ternary<minMax3<MAX, Ftz, false, true>, float, float, float, float>>(  \
      NAME "3" + ftz + ".abs.", {"f32"}, Kind);                                \
  t.add<Ternary<minMax3<MAX, Ftz, true, true>, float, float, float, float>>(   \
      NAME "3" + ftz + ".NaN.abs.", {"f32"}, Kind);
  LS_MINMAX("min", false)
  LS_MINMAX("max", true)
#undef LS_MINMAX
  addRounded<Binary<pair2<add<Ftz, false>>, FloatPair, FloatPair, FloatPair>>(
      t, "add", ftz + ".f32x2", Kind, true);
  addRounded<Binary<pair2<sub<Ftz, false>>, FloatPair, FloatPair, FloatPair>>(
      t, "sub", ftz + ".f32x2", Kind, true);
  addRounded<Binary<pair2<mul<Ftz, false>>, FloatPair, FloatPair, FloatPair>>(
      t, "mul", ftz + ".f32x2", Kind, true);
  addRounded<Ternary<pair3<fma<Ftz, false>>, FloatPair, FloatPair, FloatPair,
                     FloatPair>>(t, "fma", ftz + ".f32x2", Kind, false);
}

template <class H, bool Sat>
void addMixedTypes(OpcodeTable &t, const char *type) {
  std::string tail = std::string(Sat ? ".sat" : "") + ".f32." + type;
  addRounded<Binary<addMixed<H, Sat>, float, H, float>>(t, "add", tail, Kind,
                                                        true);
  addRounded<Binary<subMixed<H, Sat>, float, H, float>>(t, "sub", tail, Kind,
                                                        true);
  addRounded<Ternary<fmaMixed<H, Sat>, float, H, H, float>>(t, "fma", tail,
                                                            Kind, false);
}

} // namespace

void addFloatOpcodes(OpcodeTable &t) {
  addArithmetic<false, false>(t);
  addArithmetic<true, false>(t);
  addArithmetic<false, true>(t);
  addArithmetic<true, true>(t);
  addRest<false>(t);
  addRest<true>(t);
  t.add<Binary<copysignF, float, float, float>>("copysign.", {"f32"}, Kind);
  addMixedTypes<Half, false>(t, "f16");
  addMixedTypes<Half, true>(t, "f16");
  addMixedTypes<BFloat, false>(t, "bf16");
  addMixedTypes<BFloat, true>(t, "bf16");
}

} // namespace lockstitch::simulator
