//===- lanes.h - one operation on 32 lanes ----------------------*- C++ -*-===//
//
// Handlers are written once, as loops over 32 lanes that the compiler turns
// into vector code, and compiled twice: for the baseline CPU and, on x86-64,
// for AVX2. Everything in a handler's loop is forced inline, so that no code
// for the wider CPU can leak into the rest of the program. Lanes that are
// switched off are computed too and blended away: operations are total
// functions.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/simulator/warp.h"

#include <bit>
#include <cstring>
#include <type_traits>

#define LS_INLINE inline __attribute__((always_inline))
#if defined(__x86_64__)
#define LS_WIDE                                                                \
  __attribute__((target("avx2,fma,bmi,bmi2,f16c,lzcnt,popcnt,movbe")))
#define LS_HAVE_WIDE 1
#else
#define LS_WIDE
#define LS_HAVE_WIDE 0
#endif
#if defined(__clang__)
// Slots are equal or disjoint, and lane i depends on lane i alone.
#define LS_LANES                                                               \
  _Pragma("clang loop vectorize(assume_safety) interleave(disable)")
#else
#define LS_LANES _Pragma("GCC ivdep")
#endif

namespace lockstitch::simulator {

struct HandlerPair {
  Handler baseline = nullptr;
  Handler wide = nullptr;
};

template <class F> void runBaseline(const Op &op, Warp &w) { F::run(op, w); }
template <class F> LS_WIDE void runWide(const Op &op, Warp &w) {
  F::run(op, w);
}
template <class F> HandlerPair handlerPair() {
  return {runBaseline<F>, runWide<F>};
}

/// Brain floats and halves are distinct types with the bits of a uint16_t.
struct Half {
  uint16_t bits;
};
struct BFloat {
  uint16_t bits;
};
struct HalfPair {
  uint32_t bits;
};
struct BFloatPair {
  uint32_t bits;
};
struct FloatPair {
  uint64_t bits;
};
/// A predicate operand; lanes are bits of a word.
struct Predicate {};

/// How a value of type T lies in a slot.
template <class T>
using LaneOf = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <class T> LS_INLINE T fromLane(LaneOf<T> lane) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>)
    return std::bit_cast<T>(lane);
  else if constexpr (std::is_integral_v<T>)
    return (T)lane;
  else if constexpr (sizeof(T) == 2)
    return T{(uint16_t)lane};
  else
    return T{lane};
}
template <class T> LS_INLINE LaneOf<T> toLane(T value) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>)
    return std::bit_cast<LaneOf<T>>(value);
  else if constexpr (std::is_integral_v<T>)
    return (LaneOf<T>)(std::make_unsigned_t<T>)value;
  else
    return value.bits;
}

template <class L> LS_INLINE void blend(L *d, const L *t, uint32_t mask) {
  LS_LANES
  for (unsigned i = 0; i < 32; ++i)
    d[i] = (mask >> i & 1) ? t[i] : d[i];
}

/// Predicates of 32 lanes from bytes 0 or 1.
LS_INLINE uint32_t packMask(const uint8_t *flags) {
  uint32_t mask = 0;
  for (unsigned i = 0; i < 4; ++i) {
    uint64_t eight;
    std::memcpy(&eight, flags + 8 * i, 8);
    // Gathers the low bits of eight bytes in one byte, byte 0 lowest.
    mask |= (uint32_t)((eight * 0x0102040810204080ull) >> 56) << (8 * i);
  }
  return mask;
}

template <auto F, class D, class A> struct Unary {
  using Types = std::tuple<D, A>;
  static LS_INLINE void run(const Op &o, Warp &w) {
    LaneOf<D> *d = w.dst<LaneOf<D>>(o.d);
    const LaneOf<A> *a = w.src<LaneOf<A>>(o.a);
    if (w.mask == ~0u) {
      LS_LANES
      for (unsigned i = 0; i < 32; ++i)
        d[i] = toLane<D>(F(fromLane<A>(a[i])));
      return;
    }
    LaneOf<D> t[32];
    LS_LANES
    for (unsigned i = 0; i < 32; ++i)
      t[i] = toLane<D>(F(fromLane<A>(a[i])));
    blend(d, t, w.mask);
  }
};

template <auto F, class D, class A, class B> struct Binary {
  using Types = std::tuple<D, A, B>;
  static LS_INLINE void run(const Op &o, Warp &w) {
    LaneOf<D> *d = w.dst<LaneOf<D>>(o.d);
    const LaneOf<A> *a = w.src<LaneOf<A>>(o.a);
    const LaneOf<B> *b = w.src<LaneOf<B>>(o.b);
    if (w.mask == ~0u) {
      LS_LANES
      for (unsigned i = 0; i < 32; ++i)
        d[i] = toLane<D>(F(fromLane<A>(a[i]), fromLane<B>(b[i])));
      return;
    }
    LaneOf<D> t[32];
    LS_LANES
    for (unsigned i = 0; i < 32; ++i)
      t[i] = toLane<D>(F(fromLane<A>(a[i]), fromLane<B>(b[i])));
    blend(d, t, w.mask);
  }
};

template <auto F, class D, class A, class B, class C> struct Ternary {
  using Types = std::tuple<D, A, B, C>;
  static LS_INLINE void run(const Op &o, Warp &w) {
    LaneOf<D> *d = w.dst<LaneOf<D>>(o.d);
    const LaneOf<A> *a = w.src<LaneOf<A>>(o.a);
    const LaneOf<B> *b = w.src<LaneOf<B>>(o.b);
    const LaneOf<C> *c = w.src<LaneOf<C>>(o.c);
    if (w.mask == ~0u) {
      LS_LANES
      for (unsigned i = 0; i < 32; ++i)
        d[i] = toLane<D>(
            F(fromLane<A>(a[i]), fromLane<B>(b[i]), fromLane<C>(c[i])));
      return;
    }
    LaneOf<D> t[32];
    LS_LANES
    for (unsigned i = 0; i < 32; ++i)
      t[i] =
          toLane<D>(F(fromLane<A>(a[i]), fromLane<B>(b[i]), fromLane<C>(c[i])));
    blend(d, t, w.mask);
  }
};

/// Four sources: a, b, c and e.
template <auto F, class D, class A, class B, class C, class E>
struct Quaternary {
  using Types = std::tuple<D, A, B, C, E>;
  static LS_INLINE void run(const Op &o, Warp &w) {
    LaneOf<D> *d = w.dst<LaneOf<D>>(o.d);
    const LaneOf<A> *a = w.src<LaneOf<A>>(o.a);
    const LaneOf<B> *b = w.src<LaneOf<B>>(o.b);
    const LaneOf<C> *c = w.src<LaneOf<C>>(o.c);
    const LaneOf<E> *e = w.src<LaneOf<E>>(o.f);
    LaneOf<D> t[32];
    LS_LANES
    for (unsigned i = 0; i < 32; ++i)
      t[i] = toLane<D>(F(fromLane<A>(a[i]), fromLane<B>(b[i]),
                         fromLane<C>(c[i]), fromLane<E>(e[i])));
    blend(d, t, w.mask);
  }
};

/// One bit per lane of F(a, b), over the whole warp.
template <auto F, class A, class B>
LS_INLINE uint32_t compareLanes(const Op &o, Warp &w) {
  const LaneOf<A> *a = w.src<LaneOf<A>>(o.a);
  const LaneOf<B> *b = w.src<LaneOf<B>>(o.b);
  alignas(32) uint8_t flags[32];
  LS_LANES
  for (unsigned i = 0; i < 32; ++i)
    flags[i] = F(fromLane<A>(a[i]), fromLane<B>(b[i])) ? 1 : 0;
  return packMask(flags);
}

LS_INLINE void setPredicate(Warp &w, Slot slot, uint32_t bits) {
  if (slot == NoSlot)
    return;
  uint32_t *p = w.dst<uint32_t>(slot);
  *p = (*p & ~w.mask) | (bits & w.mask);
}

} // namespace lockstitch::simulator
