//===- target_limits.h - what a GPU holds, and occupancy --------*- C++ -*-===//
#pragma once

#include <cstdint>
#include <string_view>

namespace lockstitch::simulator {

struct TargetLimits {
  std::string_view name; // sm_90
  uint32_t multiprocessors;
  uint32_t threadsPerSm;
  uint32_t blocksPerSm;
  uint32_t threadsPerBlock;
  uint32_t registersPerSm; // 32-bit
  uint32_t registersPerThread;
  uint32_t sharedPerSm;    // bytes
  uint32_t sharedPerBlock; // after opting in
  uint32_t sharedReserved; // per block, by the system
};

/// The limits of `sm_XY` (also `sm_90a`), of the largest product of that
/// generation; null for a name that is not known.
const TargetLimits *targetLimits(std::string_view name);

struct Occupancy {
  uint32_t blocksPerSm = 0;
  uint32_t warpsPerSm = 0;
  double waves = 0;                // of the grid
  uint32_t smsBusy = 0;            // in the first wave
  uint64_t bytesInFlightPerSm = 0; // global loads of the resident threads
  const char *limitedBy = "";      // threads, blocks, registers, shared
};

Occupancy occupancy(const TargetLimits &limits, uint64_t blocks,
                    uint32_t threadsPerBlock, uint32_t registersPerThread,
                    uint32_t sharedBytes, uint32_t loadBytesPerThread);

} // namespace lockstitch::simulator
