// Arena planning: where the intermediate tensors of a program lie in one block
// of memory, so that tensors which live at the same time do not overlap and the
// block is small.
//
// It stands beside the program, not in runtime/memory, because the compiler is
// who calls it: a program carries the offsets.
#ifndef LOCKSTITCH_RUNTIME_PROGRAM_ARENA_PLAN_H
#define LOCKSTITCH_RUNTIME_PROGRAM_ARENA_PLAN_H

#include "runtime/program/status.h"

#include <cstdint>
#include <span>
#include <vector>

namespace lockstitch {

/// Every buffer in an arena begins at a multiple of this many bytes.
inline constexpr int64_t kArenaAlignment = 256;

/// The next multiple of it.
inline int64_t alignedToArena(int64_t bytes) {
  return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

/// A buffer that is needed from step `firstStep` (which writes it) to step
/// `lastStep` (the last that reads it), both inclusive: what step s reads and
/// what step s writes never share bytes.
struct LiveInterval {
  int64_t firstStep = 0, lastStep = 0;
  int64_t bytes = 0;
  bool operator==(const LiveInterval &) const = default;
};

struct ArenaPlan {
  std::vector<int64_t>
      offsets;            // beside the intervals; multiples of kArenaAlignment
  int64_t totalBytes = 0; // a multiple of kArenaAlignment
  bool operator==(const ArenaPlan &) const = default;
};

/// Places the intervals. The same intervals in the same order always give the
/// same plan. An interval of 0 bytes lies at 0. Errors (internal: the caller's
/// mistake): lastStep < firstStep, negative bytes, a total that does not fit in
/// 63 bits.
Result<ArenaPlan> planArena(std::span<const LiveInterval> intervals);

/// The most bytes that are alive at one step, sizes rounded up to
/// kArenaAlignment: no plan can have a smaller total.
int64_t arenaLowerBound(std::span<const LiveInterval> intervals);

} // namespace lockstitch

#endif // LOCKSTITCH_RUNTIME_PROGRAM_ARENA_PLAN_H
