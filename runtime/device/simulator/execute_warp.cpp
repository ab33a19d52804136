//===- execute_warp.cpp - shuffles, votes, matches, warp reductions -------===//
//
// The interpreter has brought the lanes of the membermask together before a
// handler runs; w.mask are the lanes that execute. What is left to check is
// whether a lane reads from one that does not.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/simulator/handlers.h"
#include "runtime/device/simulator/lanes.h"
#include "runtime/device/simulator/opcode_table.h"

namespace lockstitch::simulator {

namespace {

/// The lanes of the warp that share lane \p i's membermask and execute.
uint32_t members(const Op &o, const Warp &w, unsigned i) {
  return w.src<uint32_t>(o.c)[i] & w.mask;
}

void flagLane(const Op &o, Warp &w, unsigned lane, unsigned source) {
  report(w, o, FindingKind::Shuffle, lane,
         "lane " + std::to_string(lane) + " reads from lane " +
             std::to_string(source) + ", which does not take part");
}

struct ShuffleOp {
  static LS_INLINE void run(const Op &o, Warp &w) {
    uint32_t *d = w.dst<uint32_t>(o.d);
    const uint32_t *a = w.src<uint32_t>(o.a);
    const uint32_t *b = w.src<uint32_t>(o.b), *c = w.src<uint32_t>(o.f);
    const uint32_t *member = w.src<uint32_t>(o.c);
    uint32_t source[32];
    uint32_t inRange[32];
    Shuffle mode = (Shuffle)o.mode;
    uint32_t bits = 0, bad = 0;
    LS_LANES
    for (unsigned i = 0; i < 32; ++i) {
      uint32_t clamp = c[i] & 31, segment = c[i] >> 8 & 31;
      uint32_t maxLane = (i & segment) | (clamp & ~segment);
      uint32_t minLane = i & segment;
      uint32_t x = b[i] & 31;
      uint32_t j = mode == Shuffle::Up          ? i - x
                   : mode == Shuffle::Down      ? i + x
                   : mode == Shuffle::Butterfly ? i ^ x
                                                : minLane | (x & ~segment);
      bool valid =
          mode == Shuffle::Up ? (int32_t)j >= (int32_t)maxLane : j <= maxLane;
      inRange[i] = valid;
      source[i] = (valid ? j : i) & 31;
    }
    uint32_t t[32];
    for (unsigned i = 0; i < 32; ++i)
      t[i] = a[source[i]];
    for (unsigned i = 0; i < 32; ++i) {
      bits |= inRange[i] << i;
      uint32_t seen = member[i] & w.mask;
      bad |= (~seen >> source[i] & 1) << i;
    }
    bad &= w.mask;
    for (; bad; bad &= bad - 1) {
      unsigned i = (unsigned)__builtin_ctz(bad);
      flagLane(o, w, i, source[i]);
    }
    blend(d, t, w.mask);
    setPredicate(w, o.e, bits);
    ++w.worker->counters.shuffles;
  }
};

void vote(const Op &o, Warp &w) {
  uint32_t p = *w.src<uint32_t>(o.a);
  if (o.flags & 1)
    p = ~p;
  uint32_t result = 0;
  for (unsigned i = 0; i < 32; ++i) {
    if (!(w.mask >> i & 1))
      continue;
    uint32_t m = members(o, w, i);
    uint32_t yes = p & m;
    switch ((Vote)o.mode) {
    case Vote::All:
      result |= (uint32_t)(yes == m) << i;
      break;
    case Vote::Any:
      result |= (uint32_t)(yes != 0) << i;
      break;
    case Vote::Uniform:
      result |= (uint32_t)(yes == m || yes == 0) << i;
      break;
    case Vote::Ballot:
      w.dst<uint32_t>(o.d)[i] = yes;
      break;
    }
  }
  if ((Vote)o.mode != Vote::Ballot)
    setPredicate(w, o.d, result);
  ++w.worker->counters.shuffles;
}

void match(const Op &o, Warp &w) {
  bool all = o.mode & 1, wide = o.mode & 2;
  auto value = [&](unsigned i) {
    return wide ? w.src<uint64_t>(o.a)[i] : w.src<uint32_t>(o.a)[i];
  };
  uint32_t result[32] = {}, equalBits = 0;
  for (unsigned i = 0; i < 32; ++i) {
    if (!(w.mask >> i & 1))
      continue;
    uint32_t m = members(o, w, i), same = 0;
    for (unsigned k = 0; k < 32; ++k)
      if ((m >> k & 1) && value(k) == value(i))
        same |= 1u << k;
    result[i] = all ? (same == m ? m : 0) : same;
    equalBits |= (uint32_t)(same == m) << i;
  }
  blend(w.dst<uint32_t>(o.d), result, w.mask);
  setPredicate(w, o.e, equalBits);
  ++w.worker->counters.shuffles;
}

void redux(const Op &o, Warp &w) {
  const uint32_t *a = w.src<uint32_t>(o.a);
  bool isSigned = o.flags & 1;
  uint32_t result[32] = {};
  for (unsigned i = 0; i < 32; ++i) {
    if (!(w.mask >> i & 1))
      continue;
    uint32_t m = members(o, w, i);
    if (m == 0)
      continue;
    uint32_t r = a[__builtin_ctz(m)];
    for (uint32_t left = m & (m - 1); left; left &= left - 1) {
      uint32_t x = a[__builtin_ctz(left)];
      bool less = isSigned ? (int32_t)x < (int32_t)r : x < r;
      switch ((Reduction)o.mode) {
      case Reduction::Add:
        r += x;
        break;
      case Reduction::Min:
        r = less ? x : r;
        break;
      case Reduction::Max:
        r = less ? r : x;
        break;
      case Reduction::And:
        r &= x;
        break;
      case Reduction::Or:
        r |= x;
        break;
      case Reduction::Xor:
        r ^= x;
        break;
      }
    }
    result[i] = r;
  }
  blend(w.dst<uint32_t>(o.d), result, w.mask);
  ++w.worker->counters.shuffles;
}

void elect(const Op &o, Warp &w) {
  uint32_t leader[32] = {}, chosen = 0;
  for (unsigned i = 0; i < 32; ++i) {
    if (!(w.mask >> i & 1))
      continue;
    uint32_t m = members(o, w, i);
    leader[i] = m ? (uint32_t)__builtin_ctz(m) : i;
    chosen |= (uint32_t)(leader[i] == i) << i;
  }
  blend(w.dst<uint32_t>(o.d), leader, w.mask);
  setPredicate(w, o.e, chosen);
}

void activeMask(const Op &o, Warp &w) {
  uint32_t *d = w.dst<uint32_t>(o.d);
  for (unsigned i = 0; i < 32; ++i)
    if (w.mask >> i & 1)
      d[i] = w.mask;
}

/// Orders the memory accesses of the lanes that took part.
void syncWarp(const Op &o, Warp &w) {
  ++w.effects;
  if ((w.mask & w.live) == w.live) {
    w.syncClock = w.clock++;
    w.laneKnown.reset();
    return;
  }
  // A part of the warp: each of its lanes learns what each of them knew.
  if (!w.laneKnown) {
    w.laneKnown.reset(new uint32_t[32 * 32]);
    std::fill_n(w.laneKnown.get(), 32 * 32, w.syncClock);
  }
  uint32_t *known = w.laneKnown.get();
  uint32_t joined[32] = {};
  for (unsigned i = 0; i < 32; ++i) {
    if (!(w.mask >> i & 1))
      continue;
    for (unsigned k = 0; k < 32; ++k)
      joined[k] = std::max(joined[k], known[i * 32 + k]);
    joined[i] = std::max(joined[i], w.clock);
  }
  for (unsigned i = 0; i < 32; ++i)
    if (w.mask >> i & 1)
      std::copy(joined, joined + 32, known + i * 32);
  ++w.clock;
}

} // namespace

Handler shuffleHandler() { return select(handlerPair<ShuffleOp>()); }
Handler voteHandler() { return vote; }
Handler matchHandler() { return match; }
Handler reduxHandler() { return redux; }
Handler electHandler() { return elect; }
Handler activeMaskHandler() { return activeMask; }
Handler warpSyncHandler() { return syncWarp; }

} // namespace lockstitch::simulator
