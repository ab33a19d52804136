// Where tiles and partial results lie: shared memory of a block, scratch memory of a host task.
//
//   shared memory   row 0: slots of the tiles | row 1: ... | partial results, set 0 | set 1
//
// A slot holds tiles whose lives do not overlap. Partial results (one per warp and accumulator, of rows that are a block) lie
// in two sets that the stages with reductions use in turn: the barrier between writing and reading one set also separates
// the reads of the other from its next writes, so that one barrier per stage is enough (place_syncs.h proves it each time).
#ifndef LOCKSTITCH_COMPILER_SCHEDULE_MEMORY_LAYOUT_H
#define LOCKSTITCH_COMPILER_SCHEDULE_MEMORY_LAYOUT_H

#include "compiler/schedule/stage_program.h"

namespace lockstitch {

/// Where each slot begins within a row's tiles, and the size of all.
struct SlotLayout {
  std::vector<int64_t> offsets; // of each slot
  std::vector<int64_t> sizes;   // bytes used
  int64_t bytes = 0;
};
/// Of the tiles that live in `space`; every slot begins at a multiple of `alignment`.
SlotLayout layoutSlots(const StageProgram &program,
                       const KernelSchedule &schedule, TileSpace space,
                       int64_t alignment);

/// Partial results of one accumulator of a fold.
struct PartialPlace {
  unsigned stage = 0, fold = 0, accumulator = 0;
  ElementType type = ElementType::F32;
  int64_t offset = 0,
          bytes = 0; // in the block's shared memory; one element per warp
};

struct SharedLayout {
  SlotLayout slots; // of one row; rows lie one behind the other
  std::vector<PartialPlace> partials; // in the order stage, fold, accumulator
  int64_t bytes = 0;                  // of all, for one block
};
SharedLayout layoutShared(const StageProgram &program,
                          const KernelSchedule &schedule);

/// Scratch memory of one call of the host code, in bytes; slots begin at multiples of 64.
inline constexpr int64_t kScratchAlignment = 64;
int64_t hostScratchBytes(const StageProgram &program,
                         const KernelSchedule &schedule);

/// The usual places: registers where the columns are unrolled, else shared memory; on the host scratch memory.
void placeTiles(const StageProgram &program, bool isGpu,
                KernelSchedule &schedule);

/// Every tile must have a place; and tiles may share a slot only when their elements have one size: else a lane's columns of one
/// tile would be another lane's of the other. Says what is wrong, or nothing.
std::optional<std::string> checkTiles(const StageProgram &program,
                                      const KernelSchedule &schedule);

} // namespace lockstitch

#endif // LOCKSTITCH_COMPILER_SCHEDULE_MEMORY_LAYOUT_H
