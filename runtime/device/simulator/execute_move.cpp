//===- execute_move.cpp - packing, address spaces, clocks, fences ---------===//
#include "runtime/device/simulator/flags.h"
#include "runtime/device/simulator/handlers.h"
#include "runtime/device/simulator/lanes.h"
#include "runtime/device/simulator/opcode_table.h"

namespace lockstitch::simulator {

namespace {

template <unsigned Parts, unsigned Bits> struct Pack {
  static LS_INLINE void run(const Op &o, Warp &w) {
    using Whole = std::conditional_t<Parts * Bits == 64, uint64_t, uint32_t>;
    const std::vector<Slot> &list = w.worker->launch->program->lists[o.list];
    const uint32_t *part[Parts];
    for (unsigned k = 0; k < Parts; ++k)
      part[k] = w.src<uint32_t>(list[k]);
    Whole t[32];
    LS_LANES
    for (unsigned i = 0; i < 32; ++i) {
      Whole v = 0;
      for (unsigned k = 0; k < Parts; ++k)
        v |= (Whole)part[k][i] << (k * Bits);
      t[i] = v;
    }
    blend(w.dst<Whole>(o.d), t, w.mask);
  }
};

template <unsigned Parts, unsigned Bits> struct Unpack {
  static LS_INLINE void run(const Op &o, Warp &w) {
    using Whole = std::conditional_t<Parts * Bits == 64, uint64_t, uint32_t>;
    const std::vector<Slot> &list = w.worker->launch->program->lists[o.list];
    Whole a[32]; // a destination may be the source
    std::memcpy(a, w.src<Whole>(o.a), sizeof a);
    constexpr uint32_t Keep = Bits == 32 ? ~0u : (1u << (Bits & 31)) - 1;
    for (unsigned k = 0; k < Parts; ++k) {
      if (list[k] == NoSlot)
        continue;
      uint32_t t[32];
      LS_LANES
      for (unsigned i = 0; i < 32; ++i)
        t[i] = (uint32_t)(a[i] >> (k * Bits)) & Keep;
      blend(w.dst<uint32_t>(list[k]), t, w.mask);
    }
  }
};

uint64_t windowOf(StateSpace space) {
  switch (space) {
  case StateSpace::Shared:
    return SharedWindow;
  case StateSpace::Local:
    return LocalWindow;
  case StateSpace::Param:
    return ParamWindow;
  default:
    return 0; // global and constant addresses are generic ones
  }
}

struct Cvta {
  static LS_INLINE void run(const Op &o, Warp &w) {
    uint64_t *d = w.dst<uint64_t>(o.d);
    const uint64_t *a = w.src<uint64_t>(o.a);
    uint64_t window = windowOf((StateSpace)o.mode);
    uint64_t add = o.flags & 1 ? 0 - window : window;
    uint64_t t[32];
    LS_LANES
    for (unsigned i = 0; i < 32; ++i)
      t[i] = a[i] + add;
    blend(d, t, w.mask);
  }
};

void isSpace(const Op &o, Warp &w) {
  const uint64_t *a = w.src<uint64_t>(o.a);
  StateSpace space = (StateSpace)o.mode;
  uint32_t bits = 0;
  for (unsigned i = 0; i < 32; ++i) {
    uint64_t window = a[i] & ~(WindowSize - 1);
    bool isWindow = window == SharedWindow || window == LocalWindow ||
                    window == ParamWindow;
    bool yes;
    if (space == StateSpace::Global)
      yes = !isWindow;
    else if (space == StateSpace::Const) {
      const Allocation *c =
          isWindow ? nullptr : w.worker->launch->memory->find(a[i]);
      yes = c && c->readOnly && c->name.rfind(".const ", 0) == 0;
    } else
      yes = window == windowOf(space);
    bits |= (uint32_t)yes << i;
  }
  setPredicate(w, o.d, bits);
}

template <class T> struct Zero {
  static LS_INLINE void run(const Op &o, Warp &w) {
    T t[32] = {};
    blend(w.dst<T>(o.d), t, w.mask);
  }
};

/// A clock that advances with the warp's instructions: monotone, and the same
/// in every run.
void readClock(const Op &o, Warp &w) {
  uint64_t now = w.executed * 4 + 1000;
  for (unsigned i = 0; i < 32; ++i) {
    if (!(w.mask >> i & 1))
      continue;
    if (o.mode == 1)
      w.dst<uint64_t>(o.d)[i] = now;
    else
      w.dst<uint32_t>(o.d)[i] = (uint32_t)(o.mode == 2 ? now >> 32 : now);
  }
}

void fence(const Op &o, Warp &w) { fenceFlags(w, (Scope)o.mode); }
void nothing(const Op &, Warp &) {}

} // namespace

Handler packHandler(unsigned parts, unsigned bits) {
  if (parts == 2 && bits == 16)
    return select(handlerPair<Pack<2, 16>>());
  if (parts == 4 && bits == 16)
    return select(handlerPair<Pack<4, 16>>());
  return select(handlerPair<Pack<2, 32>>());
}
Handler unpackHandler(unsigned parts, unsigned bits) {
  if (parts == 2 && bits == 16)
    return select(handlerPair<Unpack<2, 16>>());
  if (parts == 4 && bits == 16)
    return select(handlerPair<Unpack<4, 16>>());
  return select(handlerPair<Unpack<2, 32>>());
}
Handler cvtaHandler() { return select(handlerPair<Cvta>()); }
Handler isSpaceHandler() { return isSpace; }
Handler broadcastZeroHandler(bool wide) {
  return wide ? select(handlerPair<Zero<uint64_t>>())
              : select(handlerPair<Zero<uint32_t>>());
}
Handler clockHandler() { return readClock; }
Handler fenceHandler() { return fence; }
Handler nothingHandler() { return nothing; }

} // namespace lockstitch::simulator
