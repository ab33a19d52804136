// KernelSchedule: how one kernel runs on one target. A value with a text form that reads back.
#ifndef LOCKSTITCH_COMPILER_SCHEDULE_KERNEL_SCHEDULE_H
#define LOCKSTITCH_COMPILER_SCHEDULE_KERNEL_SCHEDULE_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstitch {

/// Where a tile of a stage program lives.
enum class TileSpace : uint8_t {
  Register, // GPU: a value per step of an unrolled loop, in the lane that owns the column
  Shared, // GPU: shared memory of the block, one row of it for each row of the block
  Scratch, // host: a row of the task's scratch memory
};

/// "register", "shared", "scratch".
std::string_view name(TileSpace space);

/// Chosen by choose_schedule.h; codegen follows it and decides nothing.
struct KernelSchedule {
  unsigned vectorWidth =
      1; // elements of one lane per step; divides the columns of every stage on a GPU (on the host a
         // scalar loop handles the rest)
  // GPU
  unsigned threadsPerRow =
      1; // power of two. <= 32: lanes of one warp, combined by shuffles; > 32: the whole block is one
         // row, combined by shuffles and shared memory
  unsigned rowsPerBlock =
      1; // blockDim.x = threadsPerRow * rowsPerBlock; rows past the end are clamped, their stores dropped
  bool unrollColumns =
      true; // every loop over columns is unrolled: tiles may live in registers
  int64_t sharedBytes =
      0; // static need: tiles in shared memory and partial results
  bool wideIndex = false; // 64-bit indices: some offset may exceed 2^31
  int64_t gridX = 1;
  // Host
  int64_t rowsPerTask = 1; // floor on the rows that one task takes
  // Both
  std::vector<TileSpace> tiles; // beside StageProgram::tiles
  bool operator==(const KernelSchedule &) const = default;
};

/// "vector 4 threads_per_row 32 rows_per_block 4 grid 4 shared 0 unrolled rows_per_task 1 tiles register,register"; " wide" after
/// "unrolled" or "looped" for 64-bit indices; no "tiles" where there are none.
std::string toString(const KernelSchedule &schedule);

/// What a person asks of a schedule; what is not asked for (0, nothing) is chosen.
struct SchedulePin {
  enum class Loop : uint8_t { Any, Unrolled, Looped };
  enum class Tiles : uint8_t { Any, Kept, Recomputed };
  unsigned vectorWidth = 0, threadsPerRow = 0, rowsPerBlock = 0;
  int64_t rowsPerTask = 0;
  Loop loop = Loop::Any;
  Tiles tiles = Tiles::Any;
  bool operator==(const SchedulePin &) const = default;
};

/// The reverse of toString. Every key must be there once. Returns false and sets `error`.
bool parseKernelSchedule(std::string_view text, KernelSchedule &schedule,
                         std::string &error);

/// Some of `vector N`, `threads_per_row N`, `rows_per_block N`, `rows_per_task N`, `unrolled` or `looped`, `tiles kept` or
/// `tiles recomputed`. Returns false and sets `error`.
bool parseSchedulePin(std::string_view text, SchedulePin &pin,
                      std::string &error);
/// The reverse.
std::string toString(const SchedulePin &pin);

} // namespace lockstitch

#endif // LOCKSTITCH_COMPILER_SCHEDULE_KERNEL_SCHEDULE_H
