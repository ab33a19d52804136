//===- barrier.cpp - barriers of a block ----------------------------------===//
//
// Barrier 0 to 15 of a block each count threads. Without an expected number
// they wait for every thread that has not exited (the manual: exited threads
// release whoever waits for them). A complete barrier of the whole block orders
// all warps at once through Block::floor; one of a part joins the clocks of
// those that took part.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/simulator/interpreter.h"

namespace lockstitch::simulator {

namespace {

/// What this warp knows of the others, itself included.
void joinClocks(const Warp &w, std::vector<uint32_t> &into) {
  const Block &block = *w.block;
  into.resize(block.floor.size());
  for (size_t i = 0; i < into.size(); ++i) {
    uint32_t known = block.floor[i];
    if (i < w.known.size())
      known = std::max(known, w.known[i]);
    if (i == w.id)
      known = w.clock;
    into[i] = std::max(into[i], known);
  }
}

void passKnowledge(const Warp &w, BlockBarrier &barrier) {
  joinClocks(w, barrier.clocks);
  barrier.knowledge.join(w.acquired);
  for (unsigned s = 0; s < 2; ++s)
    barrier.released[s].join(w.released[s]);
}

void orderWholeBlock(Block &block) {
  bool flags = block.launch->program->mayOrder;
  for (Warp &w : block.warps) {
    if (w.live == 0)
      continue; // it exited, and took no part
    block.floor[w.id] = w.clock;
    w.syncClock = w.clock++;
    w.laneKnown.reset();
    w.known.clear();
    if (!flags)
      continue;
    block.floorKnowledge.join(w.acquired);
    w.acquired.clear();
    for (unsigned s = 0; s < 2; ++s) {
      block.floorReleased[s].join(w.released[s]);
      w.released[s] = Release();
    }
  }
  ++block.epoch;
}

void orderPart(BlockBarrier &barrier, Warp &w, bool wholeWarp) {
  w.known.resize(barrier.clocks.size());
  for (size_t i = 0; i < w.known.size(); ++i)
    if (i != w.id)
      w.known[i] = std::max(w.known[i], barrier.clocks[i]);
  w.acquired.join(barrier.knowledge);
  for (unsigned s = 0; s < 2; ++s)
    w.released[s].join(barrier.released[s]);
  if (wholeWarp) {
    w.syncClock = w.clock;
    w.laneKnown.reset();
  }
  ++w.clock;
}

void writeResult(Warp &w, const Op &op, uint32_t mask,
                 const BlockBarrier &barrier) {
  if (op.mode < 2 || op.d == NoSlot)
    return;
  if (op.mode == 2) {
    uint32_t *d = w.dst<uint32_t>(op.d);
    for (unsigned i = 0; i < 32; ++i)
      if (mask >> i & 1)
        d[i] = barrier.popc;
    return;
  }
  uint32_t *p = w.dst<uint32_t>(op.d);
  bool value = op.mode == 3 ? barrier.andAll : barrier.orAny;
  *p = (*p & ~mask) | (value ? mask : 0);
}

void release(Block &block, unsigned id) {
  BlockBarrier &barrier = block.barriers[id];
  const Program &program = *block.launch->program;
  // Whoever arrived without waiting may have exited: then it is no matter of
  // the threads that live.
  bool whole = barrier.waiting == block.liveThreads && barrier.clocks.empty();
  if (!whole)
    for (Warp &w : block.warps)
      for (const Fragment &f : w.fragments)
        if (f.state == Fragment::AtBarrier && f.barrier == id)
          passKnowledge(w, barrier);
  for (Warp &w : block.warps) {
    uint32_t released = 0;
    for (Fragment &f : w.fragments)
      if (f.state == Fragment::AtBarrier && f.barrier == id) {
        writeResult(w, program.ops[f.pc], f.mask, barrier);
        ++f.pc;
        f.state = Fragment::Ready;
        released |= f.mask;
      }
    if (released && !whole)
      orderPart(barrier, w, released == w.live);
  }
  if (whole)
    orderWholeBlock(block);
  barrier = BlockBarrier(); // no longer active
}

} // namespace

void arriveAtBarrier(Warp &w, Fragment &f, const Op &op) {
  Block &block = *w.block;
  unsigned lane = (unsigned)__builtin_ctz(f.mask);
  auto flag = [&](const std::string &message) {
    report(w, op, FindingKind::Barrier, lane, message);
  };
  uint32_t id = w.src<uint32_t>(op.a)[lane];
  uint32_t expected = op.b == NoSlot ? 0 : w.src<uint32_t>(op.b)[lane];
  ++w.effects;
  if (id >= NumBarriers) {
    flag("barrier " + std::to_string(id) + " does not exist");
    ++f.pc;
    return;
  }
  if (expected % 32) {
    flag("the number of threads of a barrier is no multiple of 32: " +
         std::to_string(expected));
    expected = (expected + 31) / 32 * 32;
  }
  BlockBarrier &barrier = block.barriers[id];
  if (barrier.active && barrier.expected != expected)
    flag("threads arrive at barrier " + std::to_string(id) +
         " with different numbers of threads");
  if (!barrier.active) {
    barrier.active = true;
    barrier.expected = expected;
  }
  unsigned threads = (unsigned)__builtin_popcount(f.mask);
  // An aligned barrier counts whole warps, also the incomplete last one.
  barrier.arrived += op.aligned ? 32 : threads;
  ++w.worker->counters.barriers;
  if (op.mode >= 2) {
    uint32_t p = *w.src<uint32_t>(op.c);
    if (op.flags & 1)
      p = ~p;
    p &= f.mask;
    barrier.popc += (unsigned)__builtin_popcount(p);
    barrier.andAll &= p == f.mask;
    barrier.orAny |= p != 0;
  }
  if (op.mode == 1) { // arrive: goes on, and lets others know what it did
    passKnowledge(w, barrier);
    ++w.clock;
    ++f.pc;
    return;
  }
  barrier.waiting += threads;
  f.barrier = (uint8_t)id;
  f.state = Fragment::AtBarrier;
}

bool releaseBarriers(Block &block) {
  bool any = false;
  for (unsigned id = 0; id < NumBarriers; ++id) {
    BlockBarrier &barrier = block.barriers[id];
    if (!barrier.active)
      continue;
    bool complete = barrier.expected ? barrier.arrived >= barrier.expected
                                     : barrier.waiting == block.liveThreads;
    // Exited threads do not come any more.
    complete |= barrier.waiting == block.liveThreads;
    if (!complete || (barrier.waiting == 0 && block.liveThreads == 0))
      continue;
    release(block, id);
    any = true;
  }
  return any;
}

} // namespace lockstitch::simulator
