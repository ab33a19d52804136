//===- opcodes_integer.cpp - integer arithmetic ---------------------------===//
#include "runtime/device/simulator/opcode_table.h"

#include <limits>

namespace lockstitch::simulator {

namespace {

using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using s16 = int16_t;
using s32 = int32_t;
using s64 = int64_t;

constexpr InstructionClass Kind = InstructionClass::Integer;

template <class T> struct Wider;
template <> struct Wider<u16> {
  using type = u32;
};
template <> struct Wider<s16> {
  using type = s32;
};
template <> struct Wider<u32> {
  using type = u64;
};
template <> struct Wider<s32> {
  using type = s64;
};
template <> struct Wider<u64> {
  using type = unsigned __int128;
};
template <> struct Wider<s64> {
  using type = __int128;
};

// Everything wraps: computed unsigned, and for 16 bits in 32.
template <class T> LS_INLINE T addT(T a, T b) { return (T)((u64)a + (u64)b); }
template <class T> LS_INLINE T subT(T a, T b) { return (T)((u64)a - (u64)b); }
template <class T> LS_INLINE T mulLoT(T a, T b) {
  if constexpr (sizeof(T) <= 4)
    return (T)((u32)a * (u32)b);
  else
    return (T)((u64)a * (u64)b);
}
template <class T> LS_INLINE T mulHiT(T a, T b) {
  using W = typename Wider<T>::type;
  return (T)(((W)a * (W)b) >> (8 * sizeof(T)));
}
template <class T> LS_INLINE typename Wider<T>::type mulWideT(T a, T b) {
  using W = typename Wider<T>::type;
  return (W)a * (W)b;
}
template <class T> LS_INLINE T madLoT(T a, T b, T c) {
  return addT<T>(mulLoT<T>(a, b), c);
}
template <class T> LS_INLINE T madHiT(T a, T b, T c) {
  return addT<T>(mulHiT<T>(a, b), c);
}
template <class T>
LS_INLINE typename Wider<T>::type madWideT(T a, T b,
                                           typename Wider<T>::type c) {
  return addT<typename Wider<T>::type>(mulWideT<T>(a, b), c);
}
// Division by zero and MIN / -1 are unspecified by PTX; GPUs give all ones
// (quotient) and the dividend (remainder), and MIN and 0.
template <class T> LS_INLINE T divT(T a, T b) {
  if (b == 0)
    return (T)~T(0);
  if constexpr (std::is_signed_v<T>)
    if (b == -1)
      return (T)(0 - (u64)a);
  return (T)(a / b);
}
template <class T> LS_INLINE T remT(T a, T b) {
  if (b == 0)
    return a;
  if constexpr (std::is_signed_v<T>)
    if (b == -1)
      return 0;
  return (T)(a % b);
}
template <class T> LS_INLINE T absT(T a) { return a < 0 ? (T)(0 - (u64)a) : a; }
template <class T> LS_INLINE T negT(T a) { return (T)(0 - (u64)a); }
template <class T> LS_INLINE T minT(T a, T b) { return a < b ? a : b; }
template <class T> LS_INLINE T maxT(T a, T b) { return a > b ? a : b; }
template <class T> LS_INLINE T sadT(T a, T b, T c) {
  return addT<T>(c, a < b ? subT<T>(b, a) : subT<T>(a, b));
}
LS_INLINE s32 clampS32(s64 v) {
  return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (s32)v;
}
LS_INLINE s32 addSat(s32 a, s32 b) { return clampS32((s64)a + b); }
LS_INLINE s32 subSat(s32 a, s32 b) { return clampS32((s64)a - b); }
LS_INLINE s32 madHiSat(s32 a, s32 b, s32 c) {
  return clampS32((s64)mulHiT<s32>(a, b) + c);
}
template <class T> LS_INLINE T sext24(T a) {
  return std::is_signed_v<T> ? (T)((s32)((u32)a << 8) >> 8)
                             : (T)((u32)a & 0xFFFFFF);
}
// mul24.lo keeps the low 32 of the 48 bits, .hi the upper 32.
template <class T> LS_INLINE T mul24Lo(T a, T b) {
  return (T)((u64)(s64)sext24(a) * (u64)(s64)sext24(b));
}
template <class T> LS_INLINE T mul24Hi(T a, T b) {
  return (T)(((s64)sext24(a) * (s64)sext24(b)) >> 16);
}
template <class T> LS_INLINE T mad24Lo(T a, T b, T c) {
  return addT<T>(mul24Lo<T>(a, b), c);
}
template <class T> LS_INLINE T mad24Hi(T a, T b, T c) {
  return addT<T>(mul24Hi<T>(a, b), c);
}

template <class T, auto F> LS_INLINE u32 pairs(u32 a, u32 b) {
  u32 low = (u16)F((T)(u16)a, (T)(u16)b);
  u32 high = (u16)F((T)(u16)(a >> 16), (T)(u16)(b >> 16));
  return low | high << 16;
}
template <class T, auto F> LS_INLINE u32 pairsRelu(u32 a, u32 b) {
  auto relu = [](T x, T y) __attribute__((always_inline)) {
    return maxT<T>(F(x, y), 0);
  };
  u32 low = (u16)relu((T)(u16)a, (T)(u16)b);
  u32 high = (u16)relu((T)(u16)(a >> 16), (T)(u16)(b >> 16));
  return low | high << 16;
}
LS_INLINE s32 minRelu(s32 a, s32 b) { return maxT<s32>(minT(a, b), 0); }
LS_INLINE s32 maxRelu(s32 a, s32 b) { return maxT<s32>(maxT(a, b), 0); }

template <class A, class B> LS_INLINE u32 dp4a(u32 a, u32 b, u32 c) {
  for (unsigned i = 0; i < 32; i += 8)
    c += (u32)((s32)(A)(a >> i) * (s32)(B)(b >> i));
  return c;
}
template <class A, class B, unsigned Shift>
LS_INLINE u32 dp2a(u32 a, u32 b, u32 c) {
  using WideA = std::conditional_t<std::is_signed_v<A>, s16, u16>;
  for (unsigned i = 0; i < 2; ++i)
    c += (u32)((s32)(WideA)(a >> 16 * i) * (s32)(B)(b >> (Shift + 8 * i)));
  return c;
}

template <class T> void addType(OpcodeTable &t, const std::string &s) {
  using W = typename Wider<T>::type;
  auto add = [&]<class H>(const char *name, H *) {
    t.add(std::string(name) + "." + s, OpcodeTable::entry<H>(Kind));
  };
#define UN(N, F) add(N, (Unary<F<T>, T, T> *)nullptr)
#define BIN(N, F) add(N, (Binary<F<T>, T, T, T> *)nullptr)
#define TRI(N, F) add(N, (Ternary<F<T>, T, T, T, T> *)nullptr)
  BIN("add", addT);
  BIN("sub", subT);
  BIN("mul.lo", mulLoT);
  BIN("mul.hi", mulHiT);
  TRI("mad.lo", madLoT);
  TRI("mad.hi", madHiT);
  BIN("div", divT);
  BIN("rem", remT);
  BIN("min", minT);
  BIN("max", maxT);
  TRI("sad", sadT);
  if constexpr (std::is_signed_v<T>)
    UN("abs", absT);
  UN("neg", negT);
  if constexpr (sizeof(T) < 8) {
    add("mul.wide", (Binary<mulWideT<T>, W, T, T> *)nullptr);
    add("mad.wide", (Ternary<madWideT<T>, W, T, T, W> *)nullptr);
  }
  if constexpr (sizeof(T) == 4) {
    BIN("mul24.lo", mul24Lo);
    BIN("mul24.hi", mul24Hi);
    TRI("mad24.lo", mad24Lo);
    TRI("mad24.hi", mad24Hi);
  }
}

template <class A, class B>
void addDotProducts(OpcodeTable &t, const std::string &types) {
  t.add("dp4a." + types,
        OpcodeTable::entry<Ternary<dp4a<A, B>, u32, u32, u32, u32>>(Kind));
  t.add("dp2a.lo." + types,
        OpcodeTable::entry<Ternary<dp2a<A, B, 0>, u32, u32, u32, u32>>(Kind));
  t.add("dp2a.hi." + types,
        OpcodeTable::entry<Ternary<dp2a<A, B, 16>, u32, u32, u32, u32>>(Kind));
}

} // namespace

void addIntegerOpcodes(OpcodeTable &t) {
  addType<u16>(t, "u16");
  addType<s16>(t, "s16");
  addType<u32>(t, "u32");
  addType<s32>(t, "s32");
  addType<u64>(t, "u64");
  addType<s64>(t, "s64");
  t.add<Binary<addSat, s32, s32, s32>>("add.sat.", {"s32"}, Kind);
  t.add<Binary<subSat, s32, s32, s32>>("sub.sat.", {"s32"}, Kind);
  t.add<Ternary<madHiSat, s32, s32, s32, s32>>("mad.hi.sat.", {"s32"}, Kind);
  t.add<Binary<minRelu, s32, s32, s32>>("min.relu.", {"s32"}, Kind);
  t.add<Binary<maxRelu, s32, s32, s32>>("max.relu.", {"s32"}, Kind);
  t.add<Binary<pairs<u16, addT<u16>>, u32, u32, u32>>("add.",
                                                      {"u16x2", "s16x2"}, Kind);
  t.add<Binary<pairs<u16, minT<u16>>, u32, u32, u32>>("min.", {"u16x2"}, Kind);
  t.add<Binary<pairs<s16, minT<s16>>, u32, u32, u32>>("min.", {"s16x2"}, Kind);
  t.add<Binary<pairs<u16, maxT<u16>>, u32, u32, u32>>("max.", {"u16x2"}, Kind);
  t.add<Binary<pairs<s16, maxT<s16>>, u32, u32, u32>>("max.", {"s16x2"}, Kind);
  t.add<Binary<pairsRelu<s16, minT<s16>>, u32, u32, u32>>("min.relu.",
                                                          {"s16x2"}, Kind);
  t.add<Binary<pairsRelu<s16, maxT<s16>>, u32, u32, u32>>("max.relu.",
                                                          {"s16x2"}, Kind);
  addDotProducts<uint8_t, uint8_t>(t, "u32.u32");
  addDotProducts<int8_t, uint8_t>(t, "s32.u32");
  addDotProducts<uint8_t, int8_t>(t, "u32.s32");
  addDotProducts<int8_t, int8_t>(t, "s32.s32");
}

} // namespace lockstitch::simulator
