//===- execute_async.cpp - cp.async ---------------------------------------===//
//
// A copy is checked and read when it is issued, and arrives when its thread
// waits for it, no earlier: until then its target is "pending" for the race
// checker, which nobody may touch, not even the thread itself.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/simulator/execute_memory.h"
#include "runtime/device/simulator/handlers.h"

#include <algorithm>

namespace lockstitch::simulator {

namespace {

void copyAsync(const Op &o, Warp &w) {
  LaunchState &launch = *w.worker->launch;
  const MemoryAccess &m = *o.memory;
  uint64_t from[32], to[32];
  computeAddresses(o, w, o.a, m.wideAddress, o.imm, from);
  computeAddresses(o, w, o.b, o.flags & 1, (int32_t)o.target, to);
  unsigned bytes = m.elementBytes;
  const uint32_t *size = o.c == NoSlot ? nullptr : w.src<uint32_t>(o.c);
  bool bySize = size && !(o.flags & 2);
  uint32_t reading = 0;
  for (uint32_t left = w.mask; left; left &= left - 1) {
    unsigned i = (unsigned)__builtin_ctz(left);
    unsigned sourceBytes = bytes;
    if (bySize)
      sourceBytes = std::min(bytes, size[i]);
    if (size && (o.flags & 2)) {
      bool ignored = (*size >> i & 1) != ((o.flags & 4) ? 1u : 0u);
      if (ignored)
        sourceBytes = 0;
    }
    if (to[i] >> 32 == SharedWindow >> 32)
      to[i] -= SharedWindow;
    if (!checkSharedLane(w, o, i, to[i], bytes, false, true))
      continue;
    AsyncCopy copy;
    copy.lane = i;
    copy.group = w.commits[i];
    copy.target = to[i];
    copy.bytes = (uint8_t)bytes;
    copy.sourceBytes = (uint8_t)sourceBytes;
    copy.op = (uint32_t)(&o - launch.program->ops.data());
    std::memset(copy.data, 0, sizeof copy.data);
    if (sourceBytes) {
      if (from[i] % bytes) {
        describeAddress(w, o,
                        report(w, o, FindingKind::Misaligned, i,
                               "cp.async from a misaligned address"),
                        from[i]);
        continue;
      }
      Allocation *a = nullptr;
      // A short source need not be aligned to its own size.
      unsigned step = sourceBytes == bytes ? bytes : 1;
      for (unsigned k = 0; k < sourceBytes; k += step) {
        a = checkGlobalLane(w, o, i, from[i] + k, step, true, false);
        if (!a)
          break;
      }
      if (!a)
        continue;
      reading |= 1u << i;
      ShadowPage *page = launch.checks ? &globalPage(w, *a, from[i]) : nullptr;
      PageLock lock(page, launch.multithreaded);
      if (page) {
        openPage(w, *page);
        if (sourceBytes % 4)
          page->refine(sourceBytes % 2 ? 0 : 1);
        readCells(w, {&o, accessId(w, o, o.access), i, from[i]}, *page,
                  (uint32_t)(from[i] & 4095), sourceBytes);
      }
      std::memcpy(copy.data, a->host + (from[i] - a->base), sourceBytes);
    }
    if (launch.checks)
      pendingCells(w, {&o, accessId(w, o, o.access + 1), i, to[i]},
                   w.block->sharedShadow, (uint32_t)to[i], bytes);
    w.copies.push_back(copy);
    ++w.effects;
  }
  Counters &c = w.worker->counters;
  ++c.globalLoads;
  unsigned sectors = reading ? countSectors(from, reading, bytes) : 0;
  uint64_t total = (uint64_t)__builtin_popcount(reading) * bytes;
  c.sectorsRead += sectors;
  c.bytesRequestedRead += total;
  w.worker->accesses[o.access].sectors += sectors;
  w.worker->accesses[o.access].ideal += (total + 31) / 32;
  ++c.sharedStores;
  countWavefronts(w, o, to, w.mask, bytes);
}

void commit(const Op &, Warp &w) {
  for (unsigned i = 0; i < 32; ++i)
    if (w.mask >> i & 1)
      ++w.commits[i];
}

void wait(const Op &o, Warp &w) {
  LaunchState &launch = *w.worker->launch;
  size_t kept = 0;
  for (size_t k = 0; k < w.copies.size(); ++k) {
    AsyncCopy &copy = w.copies[k];
    // wait_group n: all but the latest n committed groups; wait_all: all.
    bool arrives = (w.mask >> copy.lane & 1) &&
                   (o.imm < 0 || (int64_t)copy.group + o.imm <
                                     (int64_t)w.commits[copy.lane]);
    if (!arrives) {
      w.copies[kept++] = copy;
      continue;
    }
    const Op &from = launch.program->ops[copy.op];
    if (launch.checks)
      completePendingCells(
          w,
          {&from, accessId(w, from, from.access + 1), copy.lane, copy.target},
          w.block->sharedShadow, (uint32_t)copy.target, copy.bytes);
    std::memcpy(w.block->shared.host + copy.target, copy.data, copy.bytes);
    w.block->shared.setInitialised(copy.target, copy.bytes, true);
    ++w.effects;
  }
  w.copies.resize(kept);
}

} // namespace

Handler asyncCopyHandler() { return copyAsync; }
Handler asyncCommitHandler() { return commit; }
Handler asyncWaitHandler() { return wait; }

} // namespace lockstitch::simulator
