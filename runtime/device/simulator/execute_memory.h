//===- execute_memory.h - how a warp touches memory -------------*- C++ -*-===//
//
// One access of a warp: its addresses, the common shapes (consecutive lanes at
// consecutive addresses; all lanes at one address) that are checked in one go,
// and the way for everything else, lane by lane.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/simulator/race.h"

namespace lockstitch::simulator {

LS_INLINE void computeAddresses(const Op &o, const Warp &w, Slot base,
                                bool wide, int64_t offset,
                                uint64_t *addresses) {
  if (base == NoSlot) {
    for (unsigned i = 0; i < 32; ++i)
      addresses[i] = (uint64_t)offset;
  } else if (wide) {
    const uint64_t *a = w.src<uint64_t>(base);
    LS_LANES
    for (unsigned i = 0; i < 32; ++i)
      addresses[i] = a[i] + (uint64_t)offset;
  } else {
    // 32-bit addresses wrap in 32 bits.
    const uint32_t *a = w.src<uint32_t>(base);
    LS_LANES
    for (unsigned i = 0; i < 32; ++i)
      addresses[i] = a[i] + (uint32_t)offset;
  }
}

/// What lanes move between registers and memory when they go one by one.
struct alignas(32) LaneData {
  uint8_t bytes[32][32];
};

/// Turns generic addresses into those of one space. Lanes in another space than
/// the first active one stay in \p rest and keep their generic address.
StateSpace splitGeneric(const Warp &w, uint64_t *addresses, uint32_t mask,
                        uint32_t &rest);

/// Lane by lane, with every check. Loads fill \p data, with zeros where a check
/// failed; stores take from it.
void slowGlobal(Warp &w, const Op &op, const uint64_t *addresses, uint32_t mask,
                bool isLoad, unsigned bytes, LaneData &data);
void slowShared(Warp &w, const Op &op, const uint64_t *addresses, uint32_t mask,
                bool isLoad, unsigned bytes, LaneData &data);
void slowLocal(Warp &w, const Op &op, const uint64_t *addresses, uint32_t mask,
               bool isLoad, unsigned bytes, LaneData &data);

/// Checks one lane's access to global memory; null where it must not happen.
/// Shared by atomics and cp.async.
Allocation *checkGlobalLane(Warp &w, const Op &op, unsigned lane,
                            uint64_t address, unsigned bytes, bool reads,
                            bool writes);
bool checkSharedLane(Warp &w, const Op &op, unsigned lane, uint64_t address,
                     unsigned bytes, bool reads, bool writes);
/// Distinct 32-byte sectors of the active lanes.
unsigned countSectors(const uint64_t *addresses, uint32_t mask, unsigned bytes);
/// Wavefronts of a shared access: bank conflicts per phase.
void countWavefronts(Warp &w, const Op &op, const uint64_t *addresses,
                     uint32_t mask, unsigned bytes);
/// Refines the page for an access of this size, opens it, and returns it.
ShadowPage &globalPage(Warp &w, Allocation &allocation, uint64_t address);

} // namespace lockstitch::simulator
