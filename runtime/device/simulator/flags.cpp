//===- flags.cpp - release and acquire by a warp --------------------------===//
#include "runtime/device/simulator/flags.h"

namespace lockstitch::simulator {

namespace {

/// Everything before now that this warp may pass on.
void snapshot(Warp &w, Release &release) {
  const Block &block = *w.block;
  release.valid = true;
  release.clocks.assign(block.floor.begin(), block.floor.end());
  for (size_t i = 0; i < w.known.size(); ++i)
    release.clocks[i] = std::max(release.clocks[i], w.known[i]);
  release.clocks[w.id] = w.clock;
  release.knowledge = w.acquired;
  release.knowledge.join(block.floorKnowledge);
}

uint64_t deviceWord(uint64_t address) { return address & ~uint64_t(3); }
/// A word as seen within one block only: fences of block scope order no more.
uint64_t blockWord(const Warp &w, uint64_t address, bool isShared) {
  return (address & ~uint64_t(3)) | (isShared ? uint64_t(1) << 39 : 0) |
         (uint64_t)(w.block->linear + 1) << 40;
}

struct Releases {
  Release block, device;
};
/// What a strong write passes on, per scope.
Releases releasesOf(Warp &w, const MemoryAccess &m) {
  Releases r;
  r.device.join(w.released[1]);
  r.device.join(w.block->floorReleased[1]);
  r.block = r.device;
  r.block.join(w.released[0]);
  r.block.join(w.block->floorReleased[0]);
  if (m.release) {
    Release now;
    snapshot(w, now);
    ++w.clock;
    r.block.join(now);
    if (m.scope == Scope::Device)
      r.device.join(now);
  }
  // A strong access of block scope is no signal to other blocks.
  if (m.scope != Scope::Device)
    r.device = Release();
  return r;
}

void acquirePending(Warp &w) {
  w.acquired.join(w.pending);
  w.pending.clear();
}

} // namespace

void fenceFlags(Warp &w, Scope scope) {
  Release now;
  snapshot(w, now);
  w.released[0] = now;
  if (scope == Scope::Device)
    w.released[1] = std::move(now);
  ++w.clock;
  acquirePending(w);
}

void readFlag(Warp &w, const MemoryAccess &m, uint64_t address, bool isShared) {
  SyncOrder &order = w.worker->launch->order;
  if (!isShared && m.scope == Scope::Device)
    order.observe(deviceWord(address), w.acquired, w.pending);
  order.observe(blockWord(w, address, isShared), w.acquired, w.pending);
  if (m.acquire)
    acquirePending(w);
}

/// The write has the clock of now, alone.
template <class F>
static void record(Warp &w, const MemoryAccess &m, uint64_t address,
                   bool isShared, F add) {
  uint32_t clock = w.clock;
  Releases r = releasesOf(w, m);
  auto writer = [&](const Release &release) {
    return SyncOrder::Writer{w.block->linear, w.id, clock,
                             release.valid ? &release.clocks : nullptr,
                             &release.knowledge};
  };
  if (!isShared)
    add(deviceWord(address), writer(r.device));
  add(blockWord(w, address, isShared), writer(r.block));
  w.clock = clock + 1;
}

void writeFlag(Warp &w, const MemoryAccess &m, uint64_t address,
               bool isShared) {
  SyncOrder &order = w.worker->launch->order;
  record(w, m, address, isShared,
         [&](uint64_t word, const SyncOrder::Writer &writer) {
           order.write(word, writer);
         });
}

void readForUpdate(Warp &w, const MemoryAccess &m, uint64_t address,
                   bool isShared) {
  readFlag(w, m, address, isShared);
  // The CUDA guide's last-block example: fence, atomic, and no fence after.
  const Block &block = *w.block;
  if (w.released[0].valid || w.released[1].valid ||
      block.floorReleased[0].valid || block.floorReleased[1].valid)
    acquirePending(w);
}

void updateFlag(Warp &w, const MemoryAccess &m, uint64_t address,
                bool isShared) {
  SyncOrder &order = w.worker->launch->order;
  record(w, m, address, isShared,
         [&](uint64_t word, const SyncOrder::Writer &writer) {
           order.append(word, writer);
         });
}

} // namespace lockstitch::simulator
