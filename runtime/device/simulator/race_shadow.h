//===- race_shadow.h - who touched which byte, and is that ordered -*- C++ -*-//
//
// Happens-before race detection, per byte, for shared and for global memory.
//
// Accesses. A warp's access in one interval between its synchronisations, at
// one PTX instruction, has a 26-bit id that names a record {block, warp, clock,
// op}. A cell stores `id << 6 | lane` for the last writer and for the readers
// since; lane 32 means several lanes of that warp. The records live in a table
// per launch, so that a cell costs 8 bytes and a finding can still say where
// the other side was.
//
// Cells. One per 4 bytes of memory as long as all accesses in that page are
// whole words, one per 2 or 1 bytes from the first narrower access on: never
// coarser than the accesses, hence exact per byte.
//
// Order. Each warp has a clock, advanced at every synchronisation, and knows
// clocks of the other warps: `floor` (as of the last barrier of the whole
// block, shared by all warps) and, where a kernel has barriers of a part of the
// block or flags, a vector of its own. Lanes of one warp are ordered by
// bar.warp.sync and barriers only; shuffles and votes move registers and order
// no memory. Between blocks only release/acquire patterns order: see
// sync_order.h.
//
// Several readers (or several atomic writers) collapse to BlockMany (this
// block, this barrier interval) or GridMany. That is exact where whole-block
// barriers are all the order there can be; other kernels keep exact sets.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/simulator/program.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace lockstitch::simulator {

constexpr unsigned LaneBits = 6;
constexpr uint32_t ManyLanes = 32;
constexpr uint32_t OrderedId = 1;  // was read, all of it before the last write
constexpr uint32_t GridManyId = 2; // read by several blocks
constexpr uint32_t GridManyAtomicId = 3; // device-scope atomics by blocks
constexpr uint32_t FirstFreeId = 4;
constexpr uint32_t MaxId = 1u << 25;
/// Codes with this bit name a set of codes, not a record.
constexpr uint32_t SetBit = 1u << 31;

struct AccessRecord {
  enum Kind : uint8_t { Event, BlockMany, Pending };
  uint32_t block = 0;
  uint32_t clock = 0; // BlockMany: the barrier interval
  uint32_t op = 0;
  uint16_t warp = 0;
  Kind kind = Event;
  Scope scope = Scope::Weak;
  bool nonCoherent = false;
};

class AccessTable {
public:
  static constexpr uint32_t ChunkBits = 12;
  AccessTable();
  ~AccessTable();
  /// First id of a fresh chunk, 0 when the table is full.
  uint32_t newChunk();
  AccessRecord &operator[](uint32_t id) {
    return Chunks[id >> ChunkBits].load(
        std::memory_order_acquire)[id & ((1u << ChunkBits) - 1)];
  }
  /// Forgets every record but keeps the memory.
  void reset();
  std::atomic<bool> overflowed{false};

private:
  std::vector<std::atomic<AccessRecord *>> Chunks;
  std::atomic<uint32_t> Next{1}; // ids of chunk 0 have meanings of their own
};

/// Cells of one page of global memory or of a block's shared memory.
struct ShadowPage {
  uint32_t launch = 0; // whose content this is
  uint8_t shift = 2;   // log2 of the bytes per cell
  std::atomic<bool> locked{false};
  uint32_t bytes = 0;
  std::vector<uint32_t> writers, readers;

  void reset(uint32_t bytesOfPage, uint32_t forLaunch);
  /// Splits cells until one is \p newShift wide.
  void refine(uint8_t newShift);
};

/// Holds a page while a warp checks and touches it; does nothing where only
/// one host thread runs the launch.
class PageLock {
public:
  PageLock(ShadowPage *page, bool needed) : Page(needed ? page : nullptr) {
    if (Page)
      while (Page->locked.exchange(true, std::memory_order_acquire))
        while (Page->locked.load(std::memory_order_relaxed)) {
        }
  }
  ~PageLock() {
    if (Page)
      Page->locked.store(false, std::memory_order_release);
  }
  PageLock(const PageLock &) = delete;

private:
  ShadowPage *Page;
};

/// Sets of codes, for cells with several unordered accesses in kernels whose
/// order is richer than whole-block barriers. One host thread.
struct CodeSets {
  std::vector<std::vector<uint32_t>> sets;
  size_t total = 0;
};

} // namespace lockstitch::simulator
