//===- execute_convert.cpp - cvt ------------------------------------------===//
//
// One general conversion per pair of types, with the modifiers in Op::mode, and
// vectorised versions of the common ones. Float to integer clamps to the
// destination's range; NaN gives 0, or only the top bit where a 64-bit type is
// involved. Rounding other than to nearest of f32 results is the host's.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/simulator/half.h"
#include "runtime/device/simulator/handlers.h"
#include "runtime/device/simulator/rounding.h"

#include <cmath>
#include <limits>

namespace lockstitch::simulator {

namespace {

enum Mode : uint8_t {
  Nearest = 0,
  Zero = 1,
  Down = 2,
  Up = 3,
  RoundingMask = 7,
  ToInteger = 8,
  Ftz = 16,
  Sat = 32,
  Relu = 64
};

template <class T> constexpr bool IsFloat = !std::is_integral_v<T>;

LS_INLINE float flushF(float f) {
  return (bitsOf(f) & 0x7F800000u) == 0 ? floatOf(bitsOf(f) & 0x80000000u) : f;
}

template <class T> LS_INLINE double widen(T v, uint8_t mode) {
  if constexpr (std::is_same_v<T, double>)
    return v;
  else if constexpr (std::is_same_v<T, float>)
    return (double)(mode & Ftz ? flushF(v) : v);
  else
    return (double)toFloat(v);
}

LS_INLINE double roundTo(double v, uint8_t mode) {
  switch (mode & RoundingMask) {
  case Zero:
    return std::trunc(v);
  case Down:
    return std::floor(v);
  case Up:
    return std::ceil(v);
  default:
    return std::nearbyint(v); // the host rounds to nearest even here
  }
}

template <class H> LS_INLINE H narrowMode(float f, uint8_t mode) {
  H r = narrow<H>(f);
  float back = toFloat(r);
  uint8_t rounding = mode & RoundingMask;
  if (rounding == Nearest || back != back || back == f)
    return r;
  bool negative = r.bits >> 15;
  bool towardZero = rounding == Zero   ? std::fabs(back) > std::fabs(f)
                    : rounding == Down ? back > f && !negative
                                       : back < f && negative;
  bool away = rounding == Down ? back > f && negative
              : rounding == Up ? back < f && !negative
                               : false;
  r.bits = (uint16_t)(r.bits + (away ? 1 : 0) - (towardZero ? 1 : 0));
  return r;
}

/// A 64-bit integer as a double whose last bit is sticky.
LS_INLINE double integerToOdd(bool negative, uint64_t magnitude) {
  double d;
  if (magnitude >> 53) {
    uint64_t kept = magnitude >> 11 | ((magnitude & 0x7FF) != 0);
    d = (double)kept * 2048.0;
  } else {
    d = (double)magnitude;
  }
  return negative ? -d : d;
}

template <class To, class From> To convertFloatToInt(From v, uint8_t mode) {
  double x = widen(v, mode);
  constexpr bool Wide = std::is_same_v<From, double> || sizeof(To) == 8;
  if (x != x)
    return Wide ? (To)(uint64_t(1) << (8 * sizeof(To) - 1)) : To(0);
  x = roundTo(x, mode);
  constexpr double Low = (double)std::numeric_limits<To>::min();
  // One past the maximum: a power of two, hence exact.
  constexpr double End =
      2.0 * (double)(uint64_t(1)
                     << (8 * sizeof(To) - (std::is_signed_v<To> ? 2 : 1)));
  if (x < Low)
    return std::numeric_limits<To>::min();
  if (x >= End)
    return std::numeric_limits<To>::max();
  return (To)x;
}

template <class To, class From> To convertIntToInt(From v, uint8_t mode) {
  if (!(mode & Sat))
    return (To)v;
  __int128 x = v;
  __int128 low = std::numeric_limits<To>::min();
  __int128 high = std::numeric_limits<To>::max();
  return (To)(x < low ? low : x > high ? high : x);
}

template <class To, class From> To convertIntToFloat(From v, uint8_t mode) {
  if constexpr (std::is_same_v<To, float> || std::is_same_v<To, double>) {
    To r = (To)v;
    if constexpr (std::is_same_v<From, uint64_t>) {
      // Rounding downwards, the host's sequence for unsigned 64-bit integers
      // turns 0 into -0; the compiler, which assumes rounding to nearest, must
      // not know that r is the conversion.
      asm volatile("" : "+m"(r));
      if (v == 0)
        r = 0;
    }
    return mode & Sat ? (r > 0 ? (r < 1 ? r : To(1)) : To(0)) : r;
  } else {
    bool negative = v < 0;
    uint64_t magnitude = negative ? 0 - (uint64_t)(int64_t)v : (uint64_t)v;
    return narrowMode<To>(toOdd(integerToOdd(negative, magnitude)), mode);
  }
}

template <class To, class From> To convertFloatToFloat(From v, uint8_t mode) {
  double x = widen(v, mode);
  if (mode & ToInteger)
    x = roundTo(x, mode);
  if constexpr (std::is_same_v<To, double>) {
    if (mode & Sat)
      x = x > 0 ? (x < 1 ? x : 1.0) : 0.0;
    return x;
  } else if constexpr (std::is_same_v<To, float>) {
    float r = (float)x; // in the host's rounding mode
    if (r != r)
      r = floatOf(0x7FFFFFFFu);
    if (mode & Ftz)
      r = flushF(r);
    if (mode & Sat)
      r = r > 0 ? (r < 1 ? r : 1.0f) : 0.0f;
    if (mode & Relu)
      r = r > 0 || r != r ? r : 0.0f;
    return r;
  } else {
    To r = narrowMode<To>(std::is_same_v<From, double> ? toOdd(x) : (float)x,
                          mode);
    float back = toFloat(r);
    if (mode & Sat)
      r = narrow<To>(back > 0 ? (back < 1 ? back : 1.0f) : 0.0f);
    if (mode & Relu)
      r = back > 0 || back != back ? r : To{0};
    return r;
  }
}

template <class To, class From> To convertValue(From v, uint8_t mode) {
  if constexpr (IsFloat<To> && IsFloat<From>)
    return convertFloatToFloat<To, From>(v, mode);
  else if constexpr (IsFloat<To>)
    return convertIntToFloat<To, From>(v, mode);
  else if constexpr (IsFloat<From>)
    return convertFloatToInt<To, From>(v, mode);
  else
    return convertIntToInt<To, From>(v, mode);
}

/// The result in its lane: narrow signed integers are extended to the register.
template <class To> LS_INLINE LaneOf<To> place(To v, bool extendTo32) {
  if constexpr (std::is_integral_v<To> && std::is_signed_v<To> &&
                sizeof(To) < 4) {
    uint32_t x = (uint32_t)(int32_t)v;
    return extendTo32 ? x : x & 0xFFFF;
  } else {
    return toLane<To>(v);
  }
}

template <class To, class From> void general(const Op &o, Warp &w) {
  LaneOf<To> *d = w.dst<LaneOf<To>>(o.d);
  const LaneOf<From> *a = w.src<LaneOf<From>>(o.a);
  for (uint32_t left = w.mask; left; left &= left - 1) {
    unsigned i = (unsigned)__builtin_ctz(left);
    d[i] = place<To>(convertValue<To, From>(fromLane<From>(a[i]), o.mode),
                     o.flags & 4);
  }
}
template <class To, class From, int HostMode>
void generalRounded(const Op &o, Warp &w) {
  std::fesetround(HostMode);
  general<To, From>(o, w);
  std::fesetround(FE_TONEAREST);
}

template <class To, class From> struct PlainInteger {
  static LS_INLINE void run(const Op &o, Warp &w) {
    LaneOf<To> *d = w.dst<LaneOf<To>>(o.d);
    const LaneOf<From> *a = w.src<LaneOf<From>>(o.a);
    bool extend = o.flags & 4;
    LaneOf<To> t[32];
    LS_LANES
    for (unsigned i = 0; i < 32; ++i)
      t[i] = place<To>((To)fromLane<From>(a[i]), extend);
    blend(d, t, w.mask);
  }
};

template <class F> LS_INLINE float intToFloat(F v) { return (float)v; }
template <uint8_t Rounding> LS_INLINE int32_t floatToS32(float f) {
  float r = Rounding == Zero ? f : __builtin_nearbyintf(f);
  r = r != r ? 0.0f : r;
  float bounded = r < -2147483648.0f ? -2147483648.0f : r;
  bounded = bounded > 2147483520.0f ? 2147483520.0f : bounded;
  int32_t x = (int32_t)bounded;
  return r >= 2147483648.0f ? INT32_MAX : x;
}
template <class H> LS_INLINE float halfToFloat(H h) {
  float f = toFloat(h);
  return f != f ? floatOf(0x7FFFFFFFu) : f;
}
template <class H> LS_INLINE H floatToHalf(float f) { return narrow<H>(f); }
LS_INLINE double floatToDouble(float f) { return f; }
LS_INLINE float doubleToFloat(double d) {
  float f = (float)d;
  return f != f ? floatOf(0x7FFFFFFFu) : f;
}
template <class H> LS_INLINE uint32_t packHalves(float high, float low) {
  return (uint32_t)narrow<H>(high).bits << 16 | narrow<H>(low).bits;
}
template <class H> LS_INLINE uint32_t packHalvesRelu(float high, float low) {
  high = high > 0 || high != high ? high : 0.0f;
  low = low > 0 || low != low ? low : 0.0f;
  return packHalves<H>(high, low);
}
template <class H> void packMode(const Op &o, Warp &w) {
  uint32_t *d = w.dst<uint32_t>(o.d);
  const uint32_t *a = w.src<uint32_t>(o.a), *b = w.src<uint32_t>(o.b);
  for (unsigned i = 0; i < 32; ++i)
    if (w.mask >> i & 1)
      d[i] = (uint32_t)convertFloatToFloat<H>(floatOf(a[i]), o.mode).bits
                 << 16 |
             convertFloatToFloat<H>(floatOf(b[i]), o.mode).bits;
}
template <bool TiesAway> LS_INLINE uint32_t toTf32(uint32_t x) {
  bool special = (x & 0x7F800000u) == 0x7F800000u;
  uint32_t nan = (x & 0x7FFFFFu) ? 0x7FFFFFFFu : x;
  uint32_t half = TiesAway ? 0x1000u : 0xFFFu + (x >> 13 & 1);
  return special ? nan : (x + half) & ~0x1FFFu;
}
LS_INLINE uint32_t toTf32Zero(uint32_t x) {
  bool special = (x & 0x7F800000u) == 0x7F800000u;
  return special && (x & 0x7FFFFFu) ? 0x7FFFFFFFu : x & ~0x1FFFu;
}

template <class To, class From> Handler choose(uint8_t mode) {
  uint8_t rounding = mode & RoundingMask;
  if constexpr (std::is_integral_v<To> && std::is_integral_v<From>) {
    if (!(mode & Sat))
      return select(handlerPair<PlainInteger<To, From>>());
  }
  if (mode == Nearest) {
    if constexpr (std::is_same_v<To, float> && std::is_integral_v<From> &&
                  sizeof(From) == 4)
      return select(handlerPair<Unary<intToFloat<From>, float, From>>());
    if constexpr (std::is_same_v<To, float> && sizeof(From) == 2 &&
                  IsFloat<From>)
      return select(handlerPair<Unary<halfToFloat<From>, float, From>>());
    if constexpr (IsFloat<To> && sizeof(To) == 2 && std::is_same_v<From, float>)
      return select(handlerPair<Unary<floatToHalf<To>, To, float>>());
    if constexpr (std::is_same_v<To, double> && std::is_same_v<From, float>)
      return select(handlerPair<Unary<floatToDouble, double, float>>());
    if constexpr (std::is_same_v<To, float> && std::is_same_v<From, double>)
      return select(handlerPair<Unary<doubleToFloat, float, double>>());
  }
  if constexpr (std::is_same_v<To, int32_t> && std::is_same_v<From, float>) {
    if (mode == (ToInteger | Zero))
      return select(handlerPair<Unary<floatToS32<Zero>, int32_t, float>>());
    if (mode == (ToInteger | Nearest))
      return select(handlerPair<Unary<floatToS32<Nearest>, int32_t, float>>());
  }
  constexpr bool HostRounds =
      (std::is_same_v<To, float> || std::is_same_v<To, double>);
  if (HostRounds && !(mode & ToInteger)) {
    if (rounding == Zero)
      return generalRounded<To, From, FE_TOWARDZERO>;
    if (rounding == Down)
      return generalRounded<To, From, FE_DOWNWARD>;
    if (rounding == Up)
      return generalRounded<To, From, FE_UPWARD>;
  }
  return general<To, From>;
}

template <class To> Handler chooseFrom(ScalarType from, uint8_t mode) {
  switch (from) {
  case ScalarType::U8:
    return choose<To, uint8_t>(mode);
  case ScalarType::S8:
    return choose<To, int8_t>(mode);
  case ScalarType::U16:
    return choose<To, uint16_t>(mode);
  case ScalarType::S16:
    return choose<To, int16_t>(mode);
  case ScalarType::U32:
    return choose<To, uint32_t>(mode);
  case ScalarType::S32:
    return choose<To, int32_t>(mode);
  case ScalarType::U64:
    return choose<To, uint64_t>(mode);
  case ScalarType::S64:
    return choose<To, int64_t>(mode);
  case ScalarType::F16:
    return choose<To, Half>(mode);
  case ScalarType::BF16:
    return choose<To, BFloat>(mode);
  case ScalarType::F32:
    return choose<To, float>(mode);
  case ScalarType::F64:
    return choose<To, double>(mode);
  default:
    return nullptr;
  }
}

bool isFloating(ScalarType t) {
  return t == ScalarType::F16 || t == ScalarType::BF16 ||
         t == ScalarType::F32 || t == ScalarType::F64;
}

} // namespace

Handler convertHandler(std::string_view modifiers, ScalarType to,
                       ScalarType from, unsigned sources, uint8_t &mode) {
  mode = 0;
  bool integer = false, tiesAway = false, rounded = false, finite = false;
  while (!modifiers.empty()) {
    modifiers.remove_prefix(1); // the dot
    std::string_view m = modifiers.substr(0, modifiers.find('.'));
    modifiers.remove_prefix(m.size());
    if (m == "rn" || m == "rz" || m == "rm" || m == "rp" || m == "rni" ||
        m == "rzi" || m == "rmi" || m == "rpi") {
      mode |= m[1] == 'n'   ? Nearest
              : m[1] == 'z' ? Zero
              : m[1] == 'm' ? Down
                            : Up;
      integer = m.size() == 3;
      rounded = true;
    } else if (m == "rna") {
      tiesAway = rounded = true;
    } else if (m == "ftz") {
      mode |= Ftz;
    } else if (m == "sat") {
      mode |= Sat;
    } else if (m == "relu") {
      mode |= Relu;
    } else if (m == "satfinite") {
      finite = true;
    } else {
      return nullptr;
    }
  }
  if (integer)
    mode |= ToInteger;
  if (finite)
    return nullptr; // of the 8-bit and smaller formats
  if (to == ScalarType::TF32) {
    if (from != ScalarType::F32 || sources != 1 || (mode & ~RoundingMask))
      return nullptr;
    uint8_t rounding = mode & RoundingMask;
    if (tiesAway)
      return select(handlerPair<Unary<toTf32<true>, uint32_t, uint32_t>>());
    if (rounding == Zero)
      return select(handlerPair<Unary<toTf32Zero, uint32_t, uint32_t>>());
    return rounding == Nearest && rounded
               ? select(handlerPair<Unary<toTf32<false>, uint32_t, uint32_t>>())
               : nullptr;
  }
  if (tiesAway)
    return nullptr;
  if (sources == 2) {
    if (from != ScalarType::F32 || !rounded || integer)
      return nullptr;
    if (to == ScalarType::F16x2)
      return mode == Nearest
                 ? select(handlerPair<
                          Binary<packHalves<Half>, uint32_t, float, float>>())
             : mode == Relu
                 ? select(handlerPair<Binary<packHalvesRelu<Half>, uint32_t,
                                             float, float>>())
                 : packMode<Half>;
    if (to == ScalarType::BF16x2)
      return mode == Nearest
                 ? select(handlerPair<
                          Binary<packHalves<BFloat>, uint32_t, float, float>>())
             : mode == Relu
                 ? select(handlerPair<Binary<packHalvesRelu<BFloat>, uint32_t,
                                             float, float>>())
                 : packMode<BFloat>;
    return nullptr;
  }
  // Which conversions need a rounding modifier, and of which sort.
  bool toFloat = isFloating(to), fromFloat = isFloating(from);
  if (fromFloat && !toFloat && !integer)
    return nullptr;
  if (!fromFloat && toFloat && (integer || !rounded))
    return nullptr;
  if (!fromFloat && !toFloat && rounded)
    return nullptr;
  switch (to) {
  case ScalarType::U8:
    return chooseFrom<uint8_t>(from, mode);
  case ScalarType::S8:
    return chooseFrom<int8_t>(from, mode);
  case ScalarType::U16:
    return chooseFrom<uint16_t>(from, mode);
  case ScalarType::S16:
    return chooseFrom<int16_t>(from, mode);
  case ScalarType::U32:
    return chooseFrom<uint32_t>(from, mode);
  case ScalarType::S32:
    return chooseFrom<int32_t>(from, mode);
  case ScalarType::U64:
    return chooseFrom<uint64_t>(from, mode);
  case ScalarType::S64:
    return chooseFrom<int64_t>(from, mode);
  case ScalarType::F16:
    return chooseFrom<Half>(from, mode);
  case ScalarType::BF16:
    return chooseFrom<BFloat>(from, mode);
  case ScalarType::F32:
    return chooseFrom<float>(from, mode);
  case ScalarType::F64:
    return chooseFrom<double>(from, mode);
  default:
    return nullptr;
  }
}

} // namespace lockstitch::simulator
