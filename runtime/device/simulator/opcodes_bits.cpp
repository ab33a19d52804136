//===- opcodes_bits.cpp - moves, logic, shifts, bit fields ----------------===//
#include "runtime/device/simulator/opcode_table.h"

namespace lockstitch::simulator {

namespace {

using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using s16 = int16_t;
using s32 = int32_t;
using s64 = int64_t;

constexpr InstructionClass Kind = InstructionClass::Logic;

template <class T> LS_INLINE T moveT(T a) { return a; }
template <class T> LS_INLINE T andT(T a, T b) { return (T)(a & b); }
template <class T> LS_INLINE T orT(T a, T b) { return (T)(a | b); }
template <class T> LS_INLINE T xorT(T a, T b) { return (T)(a ^ b); }
template <class T> LS_INLINE T notT(T a) { return (T)~a; }
template <class T> LS_INLINE T cnotT(T a) { return a == 0; }
// Amounts beyond the width clamp; the amount is a .u32 for every width.
template <class T> LS_INLINE T shlT(T a, u32 n) {
  constexpr u32 Bits = 8 * sizeof(T);
  using W = std::conditional_t<sizeof(T) == 8, u64, u32>;
  return n >= Bits ? T(0) : (T)((W)a << (n & (sizeof(T) == 8 ? 63 : 31)));
}
template <class T> LS_INLINE T shrT(T a, u32 n) {
  constexpr u32 Bits = 8 * sizeof(T);
  if constexpr (std::is_signed_v<T>)
    return (T)(a >> (n >= Bits ? Bits - 1 : n));
  else
    return n >= Bits ? T(0) : (T)(a >> n);
}
template <bool Left, bool Wrap> LS_INLINE u32 shf(u32 a, u32 b, u32 n) {
  n = Wrap ? n & 31 : n > 32 ? 32 : n;
  u64 pair = (u64)b << 32 | a;
  return Left ? (u32)((n == 32 ? (u64)a << 32 : pair << n) >> 32)
              : (u32)(pair >> n);
}
template <class T> LS_INLINE T bfeT(T a, u32 b, u32 c) {
  using U = std::make_unsigned_t<T>;
  constexpr u32 Bits = 8 * sizeof(T);
  u32 pos = b & 255, len = c & 255;
  U sign = 0;
  if (std::is_signed_v<T> && len != 0) {
    u32 last = pos + len - 1 < Bits - 1 ? pos + len - 1 : Bits - 1;
    sign = (U)((U)a >> last & 1);
  }
  U field = pos >= Bits ? 0 : (U)((U)a >> pos);
  if (pos + len > Bits)
    len = pos >= Bits ? 0 : (Bits - pos < len ? Bits - pos : len);
  U keep = len >= Bits ? (U)~U(0) : (U)((U(1) << len) - 1);
  U fill = sign ? (U)~keep : 0;
  if ((c & 255) == 0)
    return 0;
  return (T)((field & keep) | fill);
}
template <class T> LS_INLINE T bfiT(T a, T b, u32 c, u32 d) {
  constexpr u32 Bits = 8 * sizeof(T);
  u32 pos = c & 255, len = d & 255;
  if (pos >= Bits || len == 0)
    return b;
  T keep = len >= Bits ? (T)~T(0) : (T)((T(1) << len) - 1);
  keep = (T)(keep << pos);
  return (T)((b & ~keep) | ((T)(a << pos) & keep));
}
template <class T> LS_INLINE u32 popcT(T a) {
  return (u32)__builtin_popcountll(a);
}
template <class T> LS_INLINE u32 clzT(T a) {
  return a == 0 ? (u32)(8 * sizeof(T))
                : (u32)__builtin_clzll(a) - (64 - 8 * (u32)sizeof(T));
}
template <class T> LS_INLINE T brevT(T a) {
  u64 v = a;
  v = (v >> 1 & 0x5555555555555555ull) | (v & 0x5555555555555555ull) << 1;
  v = (v >> 2 & 0x3333333333333333ull) | (v & 0x3333333333333333ull) << 2;
  v = (v >> 4 & 0x0F0F0F0F0F0F0F0Full) | (v & 0x0F0F0F0F0F0F0F0Full) << 4;
  v = __builtin_bswap64(v);
  return (T)(v >> (64 - 8 * sizeof(T)));
}
template <class T, bool ShiftAmount> LS_INLINE u32 bfindT(T a) {
  using U = std::make_unsigned_t<T>;
  U v = (U)a;
  if (std::is_signed_v<T> && a < 0)
    v = (U)~v;
  if (v == 0)
    return ~0u;
  u32 bit = (u32)(8 * sizeof(T)) - 1 - clzT<U>(v);
  return ShiftAmount ? (u32)(8 * sizeof(T)) - 1 - bit : bit;
}
template <bool Wrap> LS_INLINE u32 bmsk(u32 a, u32 b) {
  u32 pos = Wrap ? a & 31 : a > 32 ? 32 : a;
  u32 len = Wrap ? b & 31 : b > 32 ? 32 : b;
  u64 field = ((u64(1) << len) - 1) << pos;
  return (u32)field;
}
template <class T, bool Wrap> LS_INLINE u32 szext(u32 a, u32 n) {
  if (Wrap)
    n &= 31;
  if (n >= 32)
    return a;
  u32 keep = n == 0 ? 0 : ~0u >> (32 - n);
  if (std::is_signed_v<T> && n != 0 && (a >> (n - 1) & 1))
    return (a & keep) | ~keep;
  return a & keep;
}
LS_INLINE u32 byteOf(u64 pair, u32 selector) {
  u32 byte = (u32)(pair >> (8 * (selector & 7))) & 0xFF;
  // Bit 3 replicates the sign of the byte.
  return selector & 8 ? (byte & 0x80 ? 0xFF : 0) : byte;
}
LS_INLINE u32 prmt(u32 a, u32 b, u32 c) {
  u64 pair = (u64)b << 32 | a;
  u32 r = 0;
  for (u32 i = 0; i < 4; ++i)
    r |= byteOf(pair, c >> 4 * i) << 8 * i;
  return r;
}
enum PrmtMode { F4E, B4E, Rc8, Ecl, Ecr, Rc16 };
template <PrmtMode M> LS_INLINE u32 prmtMode(u32 a, u32 b, u32 c) {
  u64 pair = (u64)b << 32 | a;
  u32 n = c & 3, r = 0;
  for (u32 i = 0; i < 4; ++i) {
    u32 s = 0;
    switch (M) {
    case F4E:
      s = n + i;
      break;
    case B4E:
      s = (n - i) & 7;
      break;
    case Rc8:
      s = n;
      break;
    case Ecl:
      s = i > n ? i : n;
      break;
    case Ecr:
      s = i < n ? i : n;
      break;
    case Rc16:
      s = (n & 1) * 2 + (i & 1);
      break;
    }
    r |= ((u32)(pair >> (8 * (s & 7))) & 0xFF) << 8 * i;
  }
  return r;
}
LS_INLINE u32 slctInt(u32 a, u32 b, s32 c) { return c >= 0 ? a : b; }
LS_INLINE u64 slctInt64(u64 a, u64 b, s32 c) { return c >= 0 ? a : b; }
LS_INLINE u32 slctFloat(u32 a, u32 b, float c) { return c >= 0 ? a : b; }
LS_INLINE u64 slctFloat64(u64 a, u64 b, float c) { return c >= 0 ? a : b; }

/// Any function of three bits; o.imm is its truth table.
struct Lop3 {
  using Types = std::tuple<u32, u32, u32, u32>;
  static LS_INLINE void run(const Op &o, Warp &w) {
    u32 *d = w.dst<u32>(o.d);
    const u32 *a = w.src<u32>(o.a), *b = w.src<u32>(o.b), *c = w.src<u32>(o.c);
    u32 lut[8];
    for (unsigned i = 0; i < 8; ++i)
      lut[i] = o.imm >> i & 1 ? ~0u : 0;
    u32 t[32];
    LS_LANES
    for (unsigned i = 0; i < 32; ++i) {
      u32 x = a[i], y = b[i], z = c[i];
      t[i] = (lut[0] & ~x & ~y & ~z) | (lut[1] & ~x & ~y & z) |
             (lut[2] & ~x & y & ~z) | (lut[3] & ~x & y & z) |
             (lut[4] & x & ~y & ~z) | (lut[5] & x & ~y & z) |
             (lut[6] & x & y & ~z) | (lut[7] & x & y & z);
    }
    blend(d, t, w.mask);
  }
};

template <class T> struct Selp {
  using Types = std::tuple<T, T, T, Predicate>;
  static LS_INLINE void run(const Op &o, Warp &w) {
    T *d = w.dst<T>(o.d);
    const T *a = w.src<T>(o.a), *b = w.src<T>(o.b);
    u32 p = *w.src<u32>(o.c);
    T t[32];
    LS_LANES
    for (unsigned i = 0; i < 32; ++i)
      t[i] = (p >> i & 1) ? a[i] : b[i];
    blend(d, t, w.mask);
  }
};

template <auto F> struct PredicateBinary {
  using Types = std::tuple<Predicate, Predicate, Predicate>;
  static LS_INLINE void run(const Op &o, Warp &w) {
    setPredicate(w, o.d, F(*w.src<u32>(o.a), *w.src<u32>(o.b)));
  }
};
template <auto F> struct PredicateUnary {
  using Types = std::tuple<Predicate, Predicate>;
  static LS_INLINE void run(const Op &o, Warp &w) {
    setPredicate(w, o.d, F(*w.src<u32>(o.a)));
  }
};

template <class T> void addLogic(OpcodeTable &t, const std::string &bits) {
  using S = std::make_signed_t<T>;
  t.add("and.b" + bits, OpcodeTable::entry<Binary<andT<T>, T, T, T>>(Kind));
  t.add("or.b" + bits, OpcodeTable::entry<Binary<orT<T>, T, T, T>>(Kind));
  t.add("xor.b" + bits, OpcodeTable::entry<Binary<xorT<T>, T, T, T>>(Kind));
  t.add("not.b" + bits, OpcodeTable::entry<Unary<notT<T>, T, T>>(Kind));
  t.add("cnot.b" + bits, OpcodeTable::entry<Unary<cnotT<T>, T, T>>(Kind));
  t.add("shl.b" + bits, OpcodeTable::entry<Binary<shlT<T>, T, T, u32>>(Kind));
  t.add("shr.b" + bits, OpcodeTable::entry<Binary<shrT<T>, T, T, u32>>(Kind));
  t.add("shr.u" + bits, OpcodeTable::entry<Binary<shrT<T>, T, T, u32>>(Kind));
  t.add("shr.s" + bits, OpcodeTable::entry<Binary<shrT<S>, S, S, u32>>(Kind));
  using L = LaneOf<T>;
  for (const char *sign : {"b", "u", "s"})
    t.add(std::string("mov.") + sign + bits,
          OpcodeTable::entry<Unary<moveT<T>, T, T>>(Kind));
  for (const char *sign : {"b", "u", "s"})
    t.add(std::string("selp.") + sign + bits, [&] {
      OpcodeEntry e = OpcodeTable::entry<Selp<L>>(Kind);
      if (sizeof(T) == 2)
        e.operands[0] = e.operands[1] = e.operands[2] = OperandType::Bits16;
      return e;
    }());
}

template <class T> void addFields(OpcodeTable &t, const std::string &bits) {
  using S = std::make_signed_t<T>;
  t.add("bfe.u" + bits,
        OpcodeTable::entry<Ternary<bfeT<T>, T, T, u32, u32>>(Kind));
  t.add("bfe.s" + bits,
        OpcodeTable::entry<Ternary<bfeT<S>, S, S, u32, u32>>(Kind));
  t.add("bfi.b" + bits,
        OpcodeTable::entry<Quaternary<bfiT<T>, T, T, T, u32, u32>>(Kind));
  t.add("popc.b" + bits, OpcodeTable::entry<Unary<popcT<T>, u32, T>>(Kind));
  t.add("clz.b" + bits, OpcodeTable::entry<Unary<clzT<T>, u32, T>>(Kind));
  t.add("brev.b" + bits, OpcodeTable::entry<Unary<brevT<T>, T, T>>(Kind));
  t.add("bfind.u" + bits,
        OpcodeTable::entry<Unary<bfindT<T, false>, u32, T>>(Kind));
  t.add("bfind.s" + bits,
        OpcodeTable::entry<Unary<bfindT<S, false>, u32, S>>(Kind));
  t.add("bfind.shiftamt.u" + bits,
        OpcodeTable::entry<Unary<bfindT<T, true>, u32, T>>(Kind));
  t.add("bfind.shiftamt.s" + bits,
        OpcodeTable::entry<Unary<bfindT<S, true>, u32, S>>(Kind));
}

} // namespace

void addBitOpcodes(OpcodeTable &t) {
  addLogic<u16>(t, "16");
  addLogic<u32>(t, "32");
  addLogic<u64>(t, "64");
  addFields<u32>(t, "32");
  addFields<u64>(t, "64");
  t.add<Unary<moveT<u16>, u16, u16>>("mov.", {"f16", "bf16"}, Kind);
  t.add<Unary<moveT<u32>, u32, u32>>("mov.", {"f16x2", "bf16x2"}, Kind);
  t.add<Unary<moveT<float>, float, float>>("mov.", {"f32"}, Kind);
  t.add<Unary<moveT<double>, double, double>>("mov.", {"f64"}, Kind);
  auto selp = [&](const char *name, OpcodeEntry e, OperandType type) {
    e.operands[0] = e.operands[1] = e.operands[2] = type;
    t.add(name, e);
  };
  selp("selp.f32", OpcodeTable::entry<Selp<u32>>(Kind), OperandType::Float32);
  selp("selp.f64", OpcodeTable::entry<Selp<u64>>(Kind), OperandType::Float64);
  selp("selp.f16", OpcodeTable::entry<Selp<u32>>(Kind), OperandType::Bits16);
  selp("selp.bf16", OpcodeTable::entry<Selp<u32>>(Kind), OperandType::Bits16);
  for (const char *type : {"b32", "u32", "s32", "f32"}) {
    std::string name = std::string("slct.") + type;
    t.add<Ternary<slctInt, u32, u32, u32, s32>>(name + ".", {"s32"}, Kind);
    t.add<Ternary<slctFloat, u32, u32, u32, float>>(name + ".", {"f32"}, Kind);
    t.add<Ternary<slctFloat, u32, u32, u32, float>>(
        std::string("slct.ftz.") + type + ".", {"f32"}, Kind);
  }
  for (const char *type : {"b64", "u64", "s64", "f64"}) {
    std::string name = std::string("slct.") + type;
    t.add<Ternary<slctInt64, u64, u64, u64, s32>>(name + ".", {"s32"}, Kind);
    t.add<Ternary<slctFloat64, u64, u64, u64, float>>(name + ".", {"f32"},
                                                      Kind);
    t.add<Ternary<slctFloat64, u64, u64, u64, float>>(
        std::string("slct.ftz.") + type + ".", {"f32"}, Kind);
  }
  t.add<PredicateBinary<andT<u32>>>("and.", {"pred"}, Kind);
  t.add<PredicateBinary<orT<u32>>>("or.", {"pred"}, Kind);
  t.add<PredicateBinary<xorT<u32>>>("xor.", {"pred"}, Kind);
  t.add<PredicateUnary<notT<u32>>>("not.", {"pred"}, Kind);
  t.add<PredicateUnary<moveT<u32>>>("mov.", {"pred"}, Kind);
  t.add<Ternary<shf<true, true>, u32, u32, u32, u32>>("shf.l.wrap.", {"b32"},
                                                      Kind);
  t.add<Ternary<shf<true, false>, u32, u32, u32, u32>>("shf.l.clamp.", {"b32"},
                                                       Kind);
  t.add<Ternary<shf<false, true>, u32, u32, u32, u32>>("shf.r.wrap.", {"b32"},
                                                       Kind);
  t.add<Ternary<shf<false, false>, u32, u32, u32, u32>>("shf.r.clamp.", {"b32"},
                                                        Kind);
  t.add<Binary<bmsk<false>, u32, u32, u32>>("bmsk.clamp.", {"b32"}, Kind);
  t.add<Binary<bmsk<true>, u32, u32, u32>>("bmsk.wrap.", {"b32"}, Kind);
  t.add<Binary<szext<u32, false>, u32, u32, u32>>("szext.clamp.", {"u32"},
                                                  Kind);
  t.add<Binary<szext<s32, false>, u32, u32, u32>>("szext.clamp.", {"s32"},
                                                  Kind);
  t.add<Binary<szext<u32, true>, u32, u32, u32>>("szext.wrap.", {"u32"}, Kind);
  t.add<Binary<szext<s32, true>, u32, u32, u32>>("szext.wrap.", {"s32"}, Kind);
  t.add<Ternary<prmt, u32, u32, u32, u32>>("prmt.", {"b32"}, Kind);
  t.add<Ternary<prmtMode<F4E>, u32, u32, u32, u32>>("prmt.b32.", {"f4e"}, Kind);
  t.add<Ternary<prmtMode<B4E>, u32, u32, u32, u32>>("prmt.b32.", {"b4e"}, Kind);
  t.add<Ternary<prmtMode<Rc8>, u32, u32, u32, u32>>("prmt.b32.", {"rc8"}, Kind);
  t.add<Ternary<prmtMode<Ecl>, u32, u32, u32, u32>>("prmt.b32.", {"ecl"}, Kind);
  t.add<Ternary<prmtMode<Ecr>, u32, u32, u32, u32>>("prmt.b32.", {"ecr"}, Kind);
  t.add<Ternary<prmtMode<Rc16>, u32, u32, u32, u32>>("prmt.b32.", {"rc16"},
                                                     Kind);
  t.add<Lop3>("lop3.", {"b32"}, Kind); // a fourth source, the table, is imm
}

} // namespace lockstitch::simulator
