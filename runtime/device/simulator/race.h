//===- race.h - checks of one access against the shadow ---------*- C++ -*-===//
//
// The fast checks take a run of cells that a warp touches in lane order and
// look for the patterns of race-free code, in vector code: nobody was here
// before; the same threads were; only readers of any kind, and we read. What
// they do not recognise goes cell by cell through readCells and writeCells.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/simulator/lanes.h"

namespace lockstitch::simulator {

/// The id of this op's accesses in the warp's present interval; 0: the table
/// is full.
uint32_t newAccessId(Warp &w, const Op &op, uint32_t index);
LS_INLINE uint32_t accessId(Warp &w, const Op &op, uint32_t index) {
  Warp::CachedId &cached = w.ids[index];
  if (cached.serial == w.block->serial && cached.clock == w.clock)
    return cached.id;
  return newAccessId(w, op, index);
}

/// Whether the accesses of \p code happened before what lane \p lane of the
/// warp (ManyLanes: each of them) does now.
bool isOrdered(const Warp &w, unsigned lane, uint32_t code);

struct CellAccess {
  const Op *op;
  uint32_t id;
  unsigned lane;
  uint64_t address;
  bool sameValue = false; // a write that changes nothing
};
void readCells(Warp &w, const CellAccess &access, ShadowPage &page,
               uint32_t offset, unsigned bytes);
void writeCells(Warp &w, const CellAccess &access, ShadowPage &page,
                uint32_t offset, unsigned bytes);
/// The target of cp.async: written, but not to be touched until it is waited
/// for.
void pendingCells(Warp &w, const CellAccess &access, ShadowPage &page,
                  uint32_t offset, unsigned bytes);

/// The copy arrives: what was pending becomes a write of the waiting thread.
void completePendingCells(Warp &w, const CellAccess &access, ShadowPage &page,
                          uint32_t offset, unsigned bytes);

/// Readies a page of global memory: allocates, clears what an earlier launch
/// left. The caller holds its lock.
ShadowPage &openPage(Warp &w, ShadowPage &page);

/// Cells that lane i uses: `1 << Log` of them in a row.
template <unsigned Log>
LS_INLINE bool fastCells(Warp &w, uint32_t id, unsigned firstLane,
                         unsigned lanes, uint32_t *writers, uint32_t *readers,
                         bool isWrite, bool nonCoherent) {
  uint32_t anyWriter = 0, anyReader = 0, notMany = 0;
  uint32_t oddWriter = 0, oddReader = 0;
  unsigned cells = lanes << Log;
  uint32_t w0 = writers[0], r0 = readers[0];
  LS_LANES
  for (unsigned i = 0; i < cells; ++i) {
    anyWriter |= writers[i];
    anyReader |= readers[i];
    notMany |= readers[i] ^ (GridManyId << LaneBits);
    oddWriter |= writers[i] ^ (w0 + (i >> Log));
    oddReader |= readers[i] ^ (r0 + (i >> Log));
  }
  // Same threads as ours, in the same order of lanes, and before us.
  auto ours = [&](uint32_t code, uint32_t odd) {
    return odd == 0 && !(code & SetBit) && code >= (FirstFreeId << LaneBits) &&
           (code & ((1u << LaneBits) - 1)) == firstLane &&
           // Ordered for the first lane: as its own, hence likewise for each
           // lane, or by a synchronisation of warps, hence for all.
           !w.laneKnown && isOrdered(w, firstLane, code) &&
           !(isWrite &&
             (*w.worker->launch->table)[code >> LaneBits].nonCoherent);
  };
  if (anyWriter != 0 && (nonCoherent || !ours(w0, oddWriter)))
    return false;
  uint32_t code = id << LaneBits | firstLane;
  if (!isWrite) {
    if (anyReader != 0) {
      if (notMany == 0)
        return true;
      if (!ours(r0, oddReader))
        return false;
    }
    LS_LANES
    for (unsigned i = 0; i < cells; ++i)
      readers[i] = code + (i >> Log);
    return true;
  }
  if (anyReader != 0) {
    if (!ours(r0, oddReader))
      return false;
    LS_LANES
    for (unsigned i = 0; i < cells; ++i)
      readers[i] = readers[i] ? OrderedId << LaneBits : 0;
  }
  LS_LANES
  for (unsigned i = 0; i < cells; ++i)
    writers[i] = code + (i >> Log);
  return true;
}

/// Chooses the variant for \p bytesPerLane; false where the slow way is needed.
LS_INLINE bool fastCheck(Warp &w, uint32_t id, unsigned firstLane,
                         unsigned lanes, ShadowPage &page, uint32_t offset,
                         unsigned bytesPerLane, bool isWrite,
                         bool nonCoherent = false) {
  uint32_t *writers = page.writers.data() + (offset >> page.shift);
  uint32_t *readers = page.readers.data() + (offset >> page.shift);
  switch (bytesPerLane >> page.shift) {
  case 1:
    return fastCells<0>(w, id, firstLane, lanes, writers, readers, isWrite,
                        nonCoherent);
  case 2:
    return fastCells<1>(w, id, firstLane, lanes, writers, readers, isWrite,
                        nonCoherent);
  case 4:
    return fastCells<2>(w, id, firstLane, lanes, writers, readers, isWrite,
                        nonCoherent);
  case 8:
    return fastCells<3>(w, id, firstLane, lanes, writers, readers, isWrite,
                        nonCoherent);
  default:
    return false;
  }
}

} // namespace lockstitch::simulator
