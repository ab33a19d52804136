//===- opcodes_half.cpp - f16, bf16 and their pairs -----------------------===//
#include "runtime/device/simulator/half.h"
#include "runtime/device/simulator/opcode_table.h"

namespace lockstitch::simulator {

namespace {

constexpr InstructionClass Kind = InstructionClass::Half;

/// What a result may still go through.
enum Finish { Plain, Sat, Relu };

template <class H> LS_INLINE H flushH(H h) {
  constexpr uint16_t Exponent = std::is_same_v<H, Half> ? 0x7C00 : 0x7F80;
  return H{(uint16_t)((h.bits & Exponent) == 0 ? h.bits & 0x8000 : h.bits)};
}
template <class H, bool Ftz> LS_INLINE float in(H h) {
  if constexpr (Ftz)
    h = flushH(h);
  return toFloat(h);
}
template <class H, Finish F, bool Ftz> LS_INLINE H out(H h) {
  if constexpr (Ftz)
    h = flushH(h);
  if constexpr (F == Sat) {
    float f = toFloat(h);
    return narrow<H>(f > 0 ? (f < 1 ? f : 1.0f) : 0.0f);
  }
  if constexpr (F == Relu) {
    float f = toFloat(h); // NaN stays, canonical
    return f != f ? H{0x7FFF} : f > 0 ? h : H{0};
  }
  return h;
}
template <class H, Finish F, bool Ftz> LS_INLINE H add(H a, H b) {
  return out<H, F, Ftz>(narrow<H>(in<H, Ftz>(a) + in<H, Ftz>(b)));
}
template <class H, Finish F, bool Ftz> LS_INLINE H sub(H a, H b) {
  return out<H, F, Ftz>(narrow<H>(in<H, Ftz>(a) - in<H, Ftz>(b)));
}
template <class H, Finish F, bool Ftz> LS_INLINE H mul(H a, H b) {
  return out<H, F, Ftz>(narrow<H>(in<H, Ftz>(a) * in<H, Ftz>(b)));
}
template <class H, Finish F, bool Ftz> LS_INLINE H fma(H a, H b, H c) {
  if constexpr (Ftz)
    a = flushH(a), b = flushH(b), c = flushH(c);
  return out<H, F, Ftz>(fmaNarrow(a, b, c));
}
template <class H, bool Ftz> LS_INLINE H negH(H a) {
  if constexpr (Ftz)
    a = flushH(a);
  return H{(uint16_t)(a.bits ^ 0x8000)};
}
template <class H, bool Ftz> LS_INLINE H absH(H a) {
  if constexpr (Ftz)
    a = flushH(a);
  return H{(uint16_t)(a.bits & 0x7FFF)};
}
template <class H, bool Max, bool Ftz, bool Nan, bool XorSign>
LS_INLINE H minMax(H a, H b) {
  if constexpr (Ftz)
    a = flushH(a), b = flushH(b);
  uint16_t sign = (uint16_t)((a.bits ^ b.bits) & 0x8000);
  if constexpr (XorSign)
    a = absH<H, false>(a), b = absH<H, false>(b);
  float x = toFloat(a), y = toFloat(b);
  bool less = x < y || (x == y && (a.bits >> 15) > (b.bits >> 15));
  H r = less != Max ? a : b;
  r = x != x ? b : r;
  r = y != y ? a : r;
  bool nan = Nan ? x != x || y != y : x != x && y != y;
  if constexpr (XorSign)
    r = H{(uint16_t)((r.bits & 0x7FFF) | sign)};
  return nan ? H{0x7FFF} : r;
}

template <class H, auto F> LS_INLINE uint32_t pair1(uint32_t a) {
  return F(H{(uint16_t)a}).bits | (uint32_t)F(H{(uint16_t)(a >> 16)}).bits
                                      << 16;
}
template <class H, auto F> LS_INLINE uint32_t pair2(uint32_t a, uint32_t b) {
  return F(H{(uint16_t)a}, H{(uint16_t)b}).bits |
         (uint32_t)F(H{(uint16_t)(a >> 16)}, H{(uint16_t)(b >> 16)}).bits << 16;
}
template <class H, auto F>
LS_INLINE uint32_t pair3(uint32_t a, uint32_t b, uint32_t c) {
  return F(H{(uint16_t)a}, H{(uint16_t)b}, H{(uint16_t)c}).bits |
         (uint32_t)F(H{(uint16_t)(a >> 16)}, H{(uint16_t)(b >> 16)},
                     H{(uint16_t)(c >> 16)})
                 .bits
             << 16;
}

struct Adder {
  OpcodeTable &t;
  std::string single, packed; // ".f16", ".f16x2"

  template <class H, auto F> void unary(const std::string &name) {
    t.add(name + single, OpcodeTable::entry<Unary<F, H, H>>(Kind));
    t.add(name + packed,
          OpcodeTable::entry<Unary<pair1<H, F>, uint32_t, uint32_t>>(Kind));
  }
  template <class H, auto F> void binary(const std::string &name) {
    t.add(name + single, OpcodeTable::entry<Binary<F, H, H, H>>(Kind));
    t.add(name + packed,
          OpcodeTable::entry<Binary<pair2<H, F>, uint32_t, uint32_t, uint32_t>>(
              Kind));
  }
  template <class H, auto F> void ternary(const std::string &name) {
    t.add(name + single, OpcodeTable::entry<Ternary<F, H, H, H, H>>(Kind));
    t.add(name + packed,
          OpcodeTable::entry<
              Ternary<pair3<H, F>, uint32_t, uint32_t, uint32_t, uint32_t>>(
              Kind));
  }
};

template <class H, Finish F, bool Ftz>
void addArithmetic(Adder &a, const std::string &tail) {
  for (const char *rounding : {"", ".rn"}) {
    a.binary<H, add<H, F, Ftz>>(std::string("add") + rounding + tail);
    a.binary<H, sub<H, F, Ftz>>(std::string("sub") + rounding + tail);
    a.binary<H, mul<H, F, Ftz>>(std::string("mul") + rounding + tail);
  }
}

template <class H, bool Ftz> void addRest(Adder &a) {
  std::string ftz = Ftz ? ".ftz" : "";
  a.unary<H, negH<H, Ftz>>("neg" + ftz);
  a.unary<H, absH<H, Ftz>>("abs" + ftz);
#define LS_MINMAX(NAME, MAX)                                                   \
  a.binary<H, minMax<H, MAX, Ftz, false, false>>(NAME + ftz);                  \
  a.binary<H, minMax<H, MAX, Ftz, true, false>>(NAME + ftz + ".NaN");          \
  a.binary<H, minMax<H, MAX, Ftz, false, true>>(NAME + ftz + ".xorsign.abs");  \
  a.binary<H, minMax<H, MAX, Ftz, true, true>>(NAME + ftz + ".NaN.xorsign.abs");
  LS_MINMAX("min", false)
  LS_MINMAX("max", true)
#undef LS_MINMAX
}

} // namespace

void addHalfOpcodes(OpcodeTable &t) {
  Adder half{t, ".f16", ".f16x2"};
  addArithmetic<Half, Plain, false>(half, "");
  addArithmetic<Half, Plain, true>(half, ".ftz");
  addArithmetic<Half, Sat, false>(half, ".sat");
  addArithmetic<Half, Sat, true>(half, ".ftz.sat");
  half.ternary<Half, fma<Half, Plain, false>>("fma.rn");
  half.ternary<Half, fma<Half, Plain, true>>("fma.rn.ftz");
  half.ternary<Half, fma<Half, Sat, false>>("fma.rn.sat");
  half.ternary<Half, fma<Half, Sat, true>>("fma.rn.ftz.sat");
  half.ternary<Half, fma<Half, Relu, false>>("fma.rn.relu");
  half.ternary<Half, fma<Half, Relu, true>>("fma.rn.ftz.relu");
  addRest<Half, false>(half);
  addRest<Half, true>(half);
  Adder brain{t, ".bf16", ".bf16x2"};
  addArithmetic<BFloat, Plain, false>(brain, "");
  brain.ternary<BFloat, fma<BFloat, Plain, false>>("fma.rn");
  brain.ternary<BFloat, fma<BFloat, Relu, false>>("fma.rn.relu");
  addRest<BFloat, false>(brain);
}

} // namespace lockstitch::simulator
