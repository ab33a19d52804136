//===- target_limits.cpp - what a GPU holds, and occupancy ----------------===//
#include "runtime/device/simulator/target_limits.h"

#include <algorithm>

namespace lockstitch::simulator {

// From the CUDA programming guide's table of compute capabilities; the number
// of multiprocessors is that of the V100, T4, A100, A10 (3090), L40S, H100
// SXM, B200, B300, Thor and RTX PRO 6000.
static constexpr TargetLimits Table[] = {
    {"sm_70", 80, 2048, 32, 1024, 65536, 255, 98304, 98304, 0},
    {"sm_75", 40, 1024, 16, 1024, 65536, 255, 65536, 65536, 0},
    {"sm_80", 108, 2048, 32, 1024, 65536, 255, 167936, 166912, 1024},
    {"sm_86", 72, 1536, 16, 1024, 65536, 255, 102400, 101376, 1024},
    {"sm_89", 142, 1536, 24, 1024, 65536, 255, 102400, 101376, 1024},
    {"sm_90", 132, 2048, 32, 1024, 65536, 255, 233472, 232448, 1024},
    {"sm_100", 148, 2048, 32, 1024, 65536, 255, 233472, 232448, 1024},
    {"sm_103", 148, 2048, 32, 1024, 65536, 255, 233472, 232448, 1024},
    {"sm_110", 20, 1536, 24, 1024, 65536, 255, 233472, 232448, 1024},
    {"sm_120", 188, 1536, 24, 1024, 65536, 255, 102400, 101376, 1024},
    {"sm_121", 48, 1536, 24, 1024, 65536, 255, 102400, 101376, 1024},
};

const TargetLimits *targetLimits(std::string_view name) {
  while (!name.empty() && (name.back() == 'a' || name.back() == 'f'))
    name.remove_suffix(1);
  for (const TargetLimits &limits : Table)
    if (limits.name == name)
      return &limits;
  if (name == "sm_72")
    return &Table[0];
  if (name == "sm_87" || name == "sm_88")
    return &Table[3];
  return nullptr;
}

Occupancy occupancy(const TargetLimits &limits, uint64_t blocks,
                    uint32_t threadsPerBlock, uint32_t registersPerThread,
                    uint32_t sharedBytes, uint32_t loadBytesPerThread) {
  Occupancy result;
  uint32_t warps = std::max(1u, (threadsPerBlock + 31) / 32);
  struct Candidate {
    uint64_t blocks;
    const char *why;
  };
  // Registers are given out per warp in units of 256.
  uint64_t registersPerWarp =
      (uint64_t(std::max(1u, registersPerThread)) * 32 + 255) & ~uint64_t(255);
  uint64_t shared =
      (uint64_t(sharedBytes) + limits.sharedReserved + 127) & ~uint64_t(127);
  Candidate candidates[] = {
      {limits.threadsPerSm / (warps * 32), "threads"},
      {limits.blocksPerSm, "blocks"},
      {limits.registersPerSm / registersPerWarp / warps, "registers"},
      {shared ? limits.sharedPerSm / shared : limits.blocksPerSm, "shared"}};
  Candidate best = candidates[0];
  for (const Candidate &c : candidates)
    if (c.blocks < best.blocks)
      best = c;
  result.blocksPerSm = (uint32_t)best.blocks;
  result.limitedBy = best.why;
  result.warpsPerSm = result.blocksPerSm * warps;
  uint64_t wave = uint64_t(result.blocksPerSm) * limits.multiprocessors;
  result.waves = wave ? (double)blocks / (double)wave : 0;
  result.smsBusy = (uint32_t)std::min<uint64_t>(blocks, limits.multiprocessors);
  // A short grid does not fill the last places of an SM.
  uint64_t resident = std::min<uint64_t>(result.blocksPerSm,
                                         (blocks + limits.multiprocessors - 1) /
                                             limits.multiprocessors);
  result.bytesInFlightPerSm =
      resident * threadsPerBlock * uint64_t(loadBytesPerThread);
  return result;
}

} // namespace lockstitch::simulator
