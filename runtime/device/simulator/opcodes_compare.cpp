//===- opcodes_compare.cpp - setp, set, testp -----------------------------===//
//
// The compared values give one bit per lane; `.and .or .xor` combine it with a
// predicate, and the second destination of `p|q` gets the combination with the
// opposite. Op::mode says which combination (0: none).
//
//===----------------------------------------------------------------------===//
#include "runtime/device/simulator/half.h"
#include "runtime/device/simulator/opcode_table.h"

namespace lockstitch::simulator {

namespace {

constexpr InstructionClass Kind = InstructionClass::Logic;

enum Comparison {
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  Equ,
  Neu,
  Ltu,
  Leu,
  Gtu,
  Geu,
  Num,
  Nan
};
const char *const Names[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                             "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};

template <Comparison C, class T> LS_INLINE bool compareValues(T a, T b) {
  switch (C) {
  case Eq:
    return a == b;
  case Ne:
    return a < b || a > b || (std::is_integral_v<T> && a != b);
  case Lt:
    return a < b;
  case Le:
    return a <= b;
  case Gt:
    return a > b;
  case Ge:
    return a >= b;
  case Equ:
    return !(a < b || a > b);
  case Neu:
    return a != b;
  case Ltu:
    return !(a >= b);
  case Leu:
    return !(a > b);
  case Gtu:
    return !(a <= b);
  case Geu:
    return !(a < b);
  case Num:
    return a == a && b == b;
  case Nan:
    return a != a || b != b;
  }
}

LS_INLINE float flush(float f) {
  uint32_t bits = std::bit_cast<uint32_t>(f);
  return (bits & 0x7F800000u) == 0 ? floatOf(bits & 0x80000000u) : f;
}

/// Loads as type T but compares as its arithmetic type.
template <class T, bool Ftz, Comparison C> LS_INLINE bool compareAs(T a, T b) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat>)
    return compareValues<C>(toFloat(a), toFloat(b));
  else if constexpr (Ftz)
    return compareValues<C>(flush(a), flush(b));
  else
    return compareValues<C>(a, b);
}

LS_INLINE uint32_t combine(uint8_t mode, uint32_t bits, uint32_t with) {
  switch (mode) {
  case 1:
    return bits & with;
  case 2:
    return bits | with;
  case 3:
    return bits ^ with;
  default:
    return bits;
  }
}

template <Comparison C, class T, bool Ftz> struct Setp {
  using Types = std::tuple<Predicate, T, T>;
  static LS_INLINE void run(const Op &o, Warp &w) {
    uint32_t bits = compareLanes<compareAs<T, Ftz, C>, T, T>(o, w);
    uint32_t with = o.mode ? *w.src<uint32_t>(o.c) : 0;
    if (o.flags & 1) // !c
      with = ~with;
    uint32_t p = combine(o.mode, bits, with);
    uint32_t q = combine(o.mode, ~bits, with);
    setPredicate(w, o.d, p);
    setPredicate(w, o.e, q);
  }
};

/// A packed pair sets p from the low halves and q from the high ones.
template <Comparison C, class H> struct SetpPair {
  using Types = std::tuple<Predicate, uint32_t, uint32_t>;
  static LS_INLINE bool low(uint32_t a, uint32_t b) {
    return compareAs<H, false, C>(H{(uint16_t)a}, H{(uint16_t)b});
  }
  static LS_INLINE bool high(uint32_t a, uint32_t b) {
    return low(a >> 16, b >> 16);
  }
  static LS_INLINE void run(const Op &o, Warp &w) {
    uint32_t p = compareLanes<low, uint32_t, uint32_t>(o, w);
    uint32_t q = compareLanes<high, uint32_t, uint32_t>(o, w);
    uint32_t with = o.mode ? *w.src<uint32_t>(o.c) : 0;
    if (o.flags & 1)
      with = ~with;
    setPredicate(w, o.d, combine(o.mode, p, with));
    setPredicate(w, o.e, combine(o.mode, q, with));
  }
};

/// D is the destination; TrueBits what "true" looks like there.
template <Comparison C, class T, bool Ftz, class D, uint64_t TrueBits>
struct SetValue {
  using Types = std::tuple<D, T, T>;
  static LS_INLINE void run(const Op &o, Warp &w) {
    uint32_t bits = compareLanes<compareAs<T, Ftz, C>, T, T>(o, w);
    uint32_t with = o.mode ? *w.src<uint32_t>(o.c) : 0;
    if (o.flags & 1)
      with = ~with;
    bits = combine(o.mode, bits, with);
    LaneOf<D> *d = w.dst<LaneOf<D>>(o.d);
    LaneOf<D> t[32];
    LS_LANES
    for (unsigned i = 0; i < 32; ++i)
      t[i] = (bits >> i & 1) ? (LaneOf<D>)TrueBits : 0;
    blend(d, t, w.mask);
  }
};
/// set.CmpOp.f16x2 and .bf16x2: a half of ones or of 1.0 per half.
template <Comparison C, class H, uint16_t TrueBits> struct SetPair {
  using Types = std::tuple<uint32_t, uint32_t, uint32_t>;
  static LS_INLINE uint32_t both(uint32_t a, uint32_t b) {
    return (SetpPair<C, H>::low(a, b) ? TrueBits : 0u) |
           (SetpPair<C, H>::high(a, b) ? (uint32_t)TrueBits << 16 : 0u);
  }
  static LS_INLINE void run(const Op &o, Warp &w) {
    Binary<both, uint32_t, uint32_t, uint32_t>::run(o, w);
  }
};

const char *const Combinations[] = {"", ".and", ".or", ".xor"};

template <Comparison C, class T, bool Ftz = false>
void addComparison(OpcodeTable &t, const char *alias, const char *type) {
  std::string cmp = std::string(".") + (alias ? alias : Names[C]);
  std::string ftz = Ftz ? ".ftz" : "";
  for (uint8_t mode = 0; mode < 4; ++mode) {
    std::string stem = cmp + Combinations[mode] + ftz;
    t.add("setp" + stem + "." + type,
          OpcodeTable::entry<Setp<C, T, Ftz>>(Kind, mode));
    if constexpr (sizeof(T) >= 4 || std::is_integral_v<T>) {
      for (const char *d : {".u32.", ".s32."})
        t.add(
            "set" + stem + d + type,
            OpcodeTable::entry<SetValue<C, T, Ftz, uint32_t, ~0u>>(Kind, mode));
      t.add("set" + stem + ".f32." + type,
            OpcodeTable::entry<SetValue<C, T, Ftz, uint32_t, 0x3F800000u>>(
                Kind, mode));
    } else {
      constexpr uint16_t One = std::is_same_v<T, Half> ? 0x3C00 : 0x3F80;
      for (const char *d : {".u16.", ".s16."})
        t.add("set" + stem + d + type,
              OpcodeTable::entry<SetValue<C, T, Ftz, uint16_t, 0xFFFF>>(Kind,
                                                                        mode));
      for (const char *d : {".u32.", ".s32."})
        t.add(
            "set" + stem + d + type,
            OpcodeTable::entry<SetValue<C, T, Ftz, uint32_t, ~0u>>(Kind, mode));
      t.add("set" + stem + "." + type + "." + type,
            OpcodeTable::entry<SetValue<C, T, Ftz, uint16_t, One>>(Kind, mode));
    }
  }
}

template <Comparison C, class H>
void addPair(OpcodeTable &t, const char *type) {
  std::string cmp = std::string(".") + Names[C];
  for (uint8_t mode = 0; mode < 4; ++mode)
    t.add("setp" + cmp + Combinations[mode] + "." + type,
          OpcodeTable::entry<SetpPair<C, H>>(Kind, mode));
  constexpr uint16_t One = std::is_same_v<H, Half> ? 0x3C00 : 0x3F80;
  t.add("set" + cmp + "." + type + "." + type,
        OpcodeTable::entry<SetPair<C, H, One>>(Kind));
  for (const char *d : {".u32.", ".s32."})
    t.add("set" + cmp + d + type,
          OpcodeTable::entry<SetPair<C, H, 0xFFFF>>(Kind));
}

template <Comparison C> void addInteger(OpcodeTable &t) {
  addComparison<C, int16_t>(t, nullptr, "s16");
  addComparison<C, int32_t>(t, nullptr, "s32");
  addComparison<C, int64_t>(t, nullptr, "s64");
  addComparison<C, uint16_t>(t, nullptr, "u16");
  addComparison<C, uint32_t>(t, nullptr, "u32");
  addComparison<C, uint64_t>(t, nullptr, "u64");
  if constexpr (C == Eq || C == Ne) {
    addComparison<C, uint16_t>(t, nullptr, "b16");
    addComparison<C, uint32_t>(t, nullptr, "b32");
    addComparison<C, uint64_t>(t, nullptr, "b64");
  } else {
    const char *alias = C == Lt ? "lo" : C == Le ? "ls" : C == Gt ? "hi" : "hs";
    addComparison<C, uint16_t>(t, alias, "u16");
    addComparison<C, uint32_t>(t, alias, "u32");
    addComparison<C, uint64_t>(t, alias, "u64");
  }
}

template <Comparison C> void addFloat(OpcodeTable &t) {
  addComparison<C, float>(t, nullptr, "f32");
  addComparison<C, float, true>(t, nullptr, "f32");
  addComparison<C, double>(t, nullptr, "f64");
  addComparison<C, Half>(t, nullptr, "f16");
  addComparison<C, BFloat>(t, nullptr, "bf16");
  addPair<C, Half>(t, "f16x2");
  addPair<C, BFloat>(t, "bf16x2");
}

enum Test { Finite, Infinite, Number, NotANumber, Normal, Subnormal };
template <Test X, class T> struct Testp {
  using Types = std::tuple<Predicate, T>;
  static LS_INLINE bool test(T a, T) {
    using B = LaneOf<T>;
    constexpr B Exponent =
        sizeof(T) == 8 ? (B)0x7FF0000000000000ull : (B)0x7F800000ull;
    constexpr B Sign = B(1) << (8 * sizeof(T) - 1);
    B bits = toLane<T>(a) & ~Sign;
    switch (X) {
    case Finite:
      return bits < Exponent;
    case Infinite:
      return bits == Exponent;
    case Number:
      return bits <= Exponent;
    case NotANumber:
      return bits > Exponent;
    // Zero is neither normal nor subnormal for the GPU... it is normal by the
    // manual: "testp.normal: true if the input is a normal number (not
    // subnormal and not infinity)".
    case Normal:
      return (bits & Exponent) != Exponent &&
             ((bits & Exponent) != 0 || bits == 0);
    case Subnormal:
      return (bits & Exponent) == 0 && bits != 0;
    }
  }
  static LS_INLINE void run(const Op &o, Warp &w) {
    Op same = o;
    same.b = o.a;
    setPredicate(w, o.d, compareLanes<test, T, T>(same, w));
  }
};
template <Test X> void addTest(OpcodeTable &t, const char *name) {
  t.add(std::string("testp.") + name + ".f32",
        OpcodeTable::entry<Testp<X, float>>(Kind));
  t.add(std::string("testp.") + name + ".f64",
        OpcodeTable::entry<Testp<X, double>>(Kind));
}

} // namespace

void addCompareOpcodes(OpcodeTable &t) {
  addInteger<Eq>(t);
  addInteger<Ne>(t);
  addInteger<Lt>(t);
  addInteger<Le>(t);
  addInteger<Gt>(t);
  addInteger<Ge>(t);
  addFloat<Eq>(t);
  addFloat<Ne>(t);
  addFloat<Lt>(t);
  addFloat<Le>(t);
  addFloat<Gt>(t);
  addFloat<Ge>(t);
  addFloat<Equ>(t);
  addFloat<Neu>(t);
  addFloat<Ltu>(t);
  addFloat<Leu>(t);
  addFloat<Gtu>(t);
  addFloat<Geu>(t);
  addFloat<Num>(t);
  addFloat<Nan>(t);
  addTest<Finite>(t, "finite");
  addTest<Infinite>(t, "infinite");
  addTest<Number>(t, "number");
  addTest<NotANumber>(t, "notanumber");
  addTest<Normal>(t, "normal");
  addTest<Subnormal>(t, "subnormal");
}

} // namespace lockstitch::simulator
