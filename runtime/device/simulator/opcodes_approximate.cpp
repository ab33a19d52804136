//===- opcodes_approximate.cpp - the special function unit ----------------===//
//
// See approximate.h for what "approximate" means here. Under a perturbation
// (LaunchConfig) each finite, non-zero result is moved by the error that the
// PTX manual allows for its instruction: up, down, or by a hash of its bits.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/simulator/approximate.h"
#include "runtime/device/simulator/opcode_table.h"

#include <cmath>

namespace lockstitch::simulator {

namespace {

constexpr InstructionClass Kind = InstructionClass::Special;

template <bool Ftz> LS_INLINE float fz(float f) {
  if constexpr (!Ftz)
    return f;
  uint32_t bits = bitsOf(f);
  return floatOf((bits & 0x7F800000u) == 0 ? bits & 0x80000000u : bits);
}
LS_INLINE float canonical(float f) { return f != f ? floatOf(0x7FFFFFFFu) : f; }

template <bool Ftz> LS_INLINE float ex2(float a) {
  float x = fz<Ftz>(a);
  float bounded = x < -160.0f ? -160.0f : x > 160.0f ? 160.0f : x;
  bounded = x != x ? 0.0f : bounded;
  float r = (float)exp2Double((double)bounded);
  return fz<Ftz>(x != x ? floatOf(0x7FFFFFFFu) : r);
}
template <bool Ftz> LS_INLINE float lg2(float a) {
  float x = fz<Ftz>(a);
  bool usual = x > 0 && x < floatOf(0x7F800000u);
  float r = (float)log2Double((double)(usual ? x : 1.0f));
  r = x == 0 ? floatOf(0xFF800000u) : r;
  r = x == floatOf(0x7F800000u) ? x : r;
  r = x < 0 || x != x ? floatOf(0x7FFFFFFFu) : r;
  return fz<Ftz>(r);
}
template <bool Ftz> LS_INLINE float rcp(float a) {
  return fz<Ftz>(canonical(1.0f / fz<Ftz>(a)));
}
template <bool Ftz> LS_INLINE float root(float a) {
  return fz<Ftz>(canonical(__builtin_sqrtf(fz<Ftz>(a))));
}
template <bool Ftz> LS_INLINE float rsqrt(float a) {
  return fz<Ftz>(canonical((float)(1.0 / __builtin_sqrt((double)fz<Ftz>(a)))));
}
template <bool Ftz> LS_INLINE float div(float a, float b) {
  return fz<Ftz>(canonical(fz<Ftz>(a) / fz<Ftz>(b)));
}
template <bool Ftz> LS_INLINE float divApprox(float a, float b) {
  // The manual: for 2^126 < |b| < 2^128 the quotient is 0 (NaN if a is
  // infinite).
  b = fz<Ftz>(b);
  float m = floatOf(bitsOf(b) & 0x7FFFFFFFu);
  bool huge = m > floatOf(0x7E800000u) && m < floatOf(0x7F800000u);
  float r = div<Ftz>(a, b);
  float zero = floatOf((bitsOf(a) ^ bitsOf(b)) & 0x80000000u);
  float x = floatOf(bitsOf(a) & 0x7FFFFFFFu);
  float atHuge = x < floatOf(0x7F800000u) ? zero : floatOf(0x7FFFFFFFu);
  return huge ? atHuge : r;
}
// Host library, double precision: any libm is right to far more than f32.
template <bool Ftz> LS_INLINE float sine(float a) {
  return fz<Ftz>(canonical((float)std::sin((double)fz<Ftz>(a))));
}
template <bool Ftz> LS_INLINE float cosine(float a) {
  return fz<Ftz>(canonical((float)std::cos((double)fz<Ftz>(a))));
}
LS_INLINE float tangentH(float a) {
  return canonical((float)std::tanh((double)a));
}
template <class H> LS_INLINE H ex2H(H a) {
  return narrow<H>(ex2<false>(toFloat(a)));
}
template <class H> LS_INLINE H tanhH(H a) {
  return narrow<H>(tangentH(toFloat(a)));
}
template <class H, auto F> LS_INLINE uint32_t pair1(uint32_t a) {
  return F(H{(uint16_t)a}).bits | (uint32_t)F(H{(uint16_t)(a >> 16)}).bits
                                      << 16;
}

__attribute__((noinline)) void perturb(const Op &o, Warp &w) {
  Perturbation how = w.worker->launch->config->perturbation;
  uint32_t *d = w.dst<uint32_t>(o.d);
  // Units in the last place of f32, from 128 on their logarithm.
  int32_t bound = o.mode < 128 ? o.mode : 1 << (o.mode - 128);
  for (unsigned i = 0; i < 32; ++i) {
    uint32_t x = d[i] & 0x7FFFFFFFu;
    if (!(w.mask >> i & 1) || x == 0 || x >= 0x7F800000u)
      continue;
    int32_t step = bound;
    if (how == Perturbation::Down)
      step = -bound;
    if (how == Perturbation::Random) {
      uint64_t h =
          (x + w.worker->launch->config->seed * 0x9E3779B97F4A7C15ull) *
          0xD6E8FEB86659FD93ull;
      step = (int32_t)((h >> 40) % (uint64_t)(2 * bound + 1)) - bound;
    }
    // Up means towards plus infinity.
    if (d[i] >> 31)
      step = -step;
    int64_t moved = (int64_t)x + step;
    if (moved > 0 && moved < 0x7F800000)
      d[i] = (d[i] & 0x80000000u) | (uint32_t)moved;
  }
}
template <class F> struct Perturbed {
  using Types = typename F::Types;
  static LS_INLINE void run(const Op &o, Warp &w) {
    F::run(o, w);
    if (w.worker->launch->config->perturbation != Perturbation::None)
      perturb(o, w);
  }
};

template <auto F> using One = Perturbed<Unary<F, float, float>>;
template <auto F> using Two = Perturbed<Binary<F, float, float, float>>;

/// The second figure is the allowed error in units of the last place.
template <bool Ftz> void addForms(OpcodeTable &t) {
  std::string tail = std::string(".approx") + (Ftz ? ".ftz" : "") + ".";
  t.add<One<ex2<Ftz>>>("ex2" + tail, {"f32"}, Kind, 2);
  t.add<One<lg2<Ftz>>>("lg2" + tail, {"f32"}, Kind, 2);
  t.add<One<rcp<Ftz>>>("rcp" + tail, {"f32"}, Kind, 1);
  t.add<One<root<Ftz>>>("sqrt" + tail, {"f32"}, Kind, 2);
  t.add<One<rsqrt<Ftz>>>("rsqrt" + tail, {"f32"}, Kind, 2);
  t.add<One<sine<Ftz>>>("sin" + tail, {"f32"}, Kind, 6);
  t.add<One<cosine<Ftz>>>("cos" + tail, {"f32"}, Kind, 6);
  t.add<Two<divApprox<Ftz>>>("div" + tail, {"f32"}, Kind, 2);
  t.add<Two<div<Ftz>>>(std::string("div.full") + (Ftz ? ".ftz." : "."), {"f32"},
                       Kind, 2);
}

} // namespace

void addApproximateOpcodes(OpcodeTable &t) {
  addForms<false>(t);
  addForms<true>(t);
  // 2^-11 relative: 2^12 units.
  t.add<One<tangentH>>("tanh.approx.", {"f32"}, Kind, 128 + 12);
  t.add<Unary<tanhH<Half>, Half, Half>>("tanh.approx.", {"f16"}, Kind);
  t.add<Unary<tanhH<BFloat>, BFloat, BFloat>>("tanh.approx.", {"bf16"}, Kind);
  t.add<Unary<pair1<Half, tanhH<Half>>, uint32_t, uint32_t>>("tanh.approx.",
                                                             {"f16x2"}, Kind);
  t.add<Unary<pair1<BFloat, tanhH<BFloat>>, uint32_t, uint32_t>>(
      "tanh.approx.", {"bf16x2"}, Kind);
  t.add<Unary<ex2H<Half>, Half, Half>>("ex2.approx.", {"f16"}, Kind);
  t.add<Unary<pair1<Half, ex2H<Half>>, uint32_t, uint32_t>>("ex2.approx.",
                                                            {"f16x2"}, Kind);
  t.add<Unary<ex2H<BFloat>, BFloat, BFloat>>("ex2.approx.ftz.", {"bf16"}, Kind);
  t.add<Unary<pair1<BFloat, ex2H<BFloat>>, uint32_t, uint32_t>>(
      "ex2.approx.ftz.", {"bf16x2"}, Kind);
}

} // namespace lockstitch::simulator
