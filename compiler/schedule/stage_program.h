// StageProgram: one kernel as a sequence of stages over the columns of its rows. The language between the schedule and
// the two code generators (GPU and host); target-neutral except for the vector width and mapping chosen in KernelSchedule.
//
//   for each row r in [0, rows):                    -- parallel: grid and warps on a GPU, threads on the host
//     for each stage s, in order:
//       for each column c in [0, s.columns):        -- parallel: lanes x vector; partial results of `reductions` are kept
//         s.body                                    -- loads, arithmetic, tile stores, global stores
//       combine the partial results of the row      -- shuffles + shared memory | vector lanes
//       s.finish                                    -- once per row: finish regions, arithmetic on row values, row stores
//
// What stays between stages: *row values* (one scalar per row: the result of a reduction; in registers of every lane of the
// row) and *tiles* (one element per column; a column is always read by the lane that wrote it, so a tile needs no barrier
// on a GPU: registers where the loop over columns is unrolled, else shared memory; on the host a scratch row).
//
// Rows and the elements of the arguments are sizes (Dim). Columns, trips and tiles are numbers, and so is all of a
// KernelSchedule: the vector width, the lanes of a row, the unrolling and the memory of tiles are chosen for a number of
// columns, so a kernel for another number is another kernel.
//
// A kernel without reductions across columns ("loop kernel") has one stage; then a row is simply a chunk of the output.
#ifndef LOCKSTITCH_COMPILER_SCHEDULE_STAGE_PROGRAM_H
#define LOCKSTITCH_COMPILER_SCHEDULE_STAGE_PROGRAM_H

#include "compiler/graph/primitive_graph.h"
#include "compiler/schedule/kernel_schedule.h"

#include <string>
#include <vector>

namespace lockstitch {

/// Dimension positions in the IndexExprs of a StageProgram: 0 is the row r, 1 the column c; sequential loops inside a body
/// have positions from 2 on, unique within the kernel. Runtime(i) is the i64 value with StageValueId `i` of the kernel.
inline constexpr unsigned kRowDim = 0, kColumnDim = 1, kFirstLoopDim = 2;

/// A scalar (per column, per loop trip or per row) of the kernel; dense ids, defined once.
using StageValueId = uint32_t;

struct StageOp;

/// Straight-line code, with nested sequential loops.
struct StageBlock {
  std::vector<StageOp> ops;
  bool operator==(const StageBlock &) const;
};

enum class StageOpcode : uint8_t {
  Scalar, // opcode of ScalarOp on args: everything but Argument and Read
  Load, // element of buffer argument `argument` at linear element offset `index`; where a guard does not hold nothing
        // is accessed and the value is zero
  Store, // args[0] into buffer argument `argument` at `index`; in a finish block: once per row
  TileLoad,  // column c of tile `tile`, as the same lane stored it
  TileStore, // args[0] into column c of tile `tile`
  Loop, // sequential reduction or scan: dimension `loopDim` from 0 to `trips`-1 runs `loop.body`; results are the
        // accumulators
};

struct StageLoop; // below

/// One operation. `result` is the value it defines (kNone for stores; a Loop defines result .. result+n-1, one per accumulator).
struct StageOp {
  StageOpcode opcode = StageOpcode::Scalar;
  StageValueId result = kNone;
  ElementType type =
      ElementType::F32; // of the result, or of the stored element
  std::vector<StageValueId> args = {};
  PrimitiveId origin =
      kNone; // the primitive of the graph that defines the value: becomes the line of `.loc` (origin + 1)

  // Scalar
  ScalarOpcode scalar = ScalarOpcode::Constant;
  ScalarConstant constant = {};
  IndexExpr index = {}; // Index, InRange, Load, Store
  std::vector<IndexConstraint> guards =
      {}; // Load: all must hold (see isGuardUniform for vectors)
  int64_t lo = 0, hi = 0;

  uint32_t argument = 0;                     // Load, Store
  uint32_t tile = 0;                         // TileLoad, TileStore
  std::shared_ptr<StageLoop> loop = nullptr; // Loop

  bool operator==(const StageOp &) const;
};

/// A fold over values, as Reducer, with the values given. In a stage: over the columns of a row, across lanes. In a Loop: in
/// one lane, in order. `update`, `combine` as in Reducer; finish regions are ordinary ops of the surrounding/finish block.
struct StageReduction {
  std::vector<StageValueId>
      values; // yielded by the body for each column / trip: arguments of `update`
  std::vector<ElementType> types;   // accumulators
  std::vector<ScalarConstant> init; // neutral elements
  ScalarProgram update, combine;
  std::vector<StageValueId>
      results; // accumulators after the fold: row values in a stage (visible in `finish` and later)
  PrimitiveId origin = kNone;
  bool operator==(const StageReduction &) const = default;
};

/// Iterator kinds: *reduction* where nothing but the accumulators after the last trip is of interest, *scan* where every trip
/// has a block that sees them as they are after it, and may store.
struct StageLoop {
  unsigned loopDim = kFirstLoopDim;
  int64_t trips = 0;
  StageBlock body;
  StageReduction reduction;          // results are the results of the Loop op
  std::vector<StageValueId> running; // scan: the accumulators after this trip
  StageBlock trip;                   // scan: runs after the update of each trip
  bool isScan() const { return !running.empty(); }
  bool operator==(const StageLoop &) const = default;
};

/// One pass over the columns of a row.
struct Stage {
  int64_t columns = 1;
  StageBlock body;                        // per column
  std::vector<StageReduction> reductions; // across the columns
  StageBlock finish; // per row; sees row values of this and earlier stages
  bool operator==(const Stage &) const = default;
};

/// A row of `columns` elements kept between stages.
struct StageTile {
  ElementType type = ElementType::F32;
  int64_t columns = 0;
  uint32_t slot = 0; // tiles whose lives do not overlap share a slot
  bool operator==(const StageTile &) const = default;
};

/// The widest access of any GPU, in bytes.
inline constexpr int64_t kAccessAlignment = 16;

/// A buffer that the kernel reads or writes; never both (no aliasing between arguments).
struct StageArgument {
  ElementType type = ElementType::F32;
  Dim elements = 0;
  bool isOutput = false;
  ValueId value = kNone; // of the primitive graph, for messages
  int64_t alignment =
      kAccessAlignment; // bytes, of its first element, as far as an access may make use of it
  bool operator==(const StageArgument &) const = default;
};

/// One kernel, before a mapping is chosen.
struct StageProgram {
  std::string name; // symbol: [A-Za-z0-9_]+
  Dim rows = 1;
  std::vector<StageArgument> arguments;
  std::vector<StageTile> tiles;
  std::vector<Stage> stages;
  uint32_t numValues = 0;
  unsigned numLoopDims =
      0; // loops use kFirstLoopDim .. kFirstLoopDim + numLoopDims - 1
  std::vector<int64_t> loopTrips; // trips of each, for ranges
  bool operator==(const StageProgram &) const = default;

  /// Ranges of r, c (of a stage with `columns` columns) and the loop dimensions.
  IndexRanges ranges(int64_t columns) const;
};

/// How one access of a body walks through memory as the column advances by one within an aligned group of `width` columns.
enum class AccessKind : uint8_t { Uniform, Contiguous, Strided };
struct Access {
  AccessKind kind;
  int64_t stride =
      0; // elements per column, for Strided with a constant stride; 0 if it varies
  bool aligned =
      false; // Contiguous: the first element's offset is a multiple of `width`
};
/// Classifies `offset` for vectors of `width` columns in a stage with `columns` columns.
Access classifyAccess(const StageProgram &program, const IndexExpr &offset,
                      int64_t columns, unsigned width);

/// Does argument `argument` begin where an access of `width` of its elements may?
bool isAligned(const StageProgram &program, uint32_t argument, unsigned width);

/// Is `guard` the same for all columns of an aligned group of `width` columns? Then one test serves the whole vector.
bool isGuardUniform(const StageProgram &program, const IndexConstraint &guard,
                    int64_t columns, unsigned width);

/// Without what differs from launch to launch of one kernel: its name and the values that its arguments are.
StageProgram withoutNames(StageProgram program);

/// The program as text: what `--emit stages` prints.
std::string toString(const StageProgram &program);

/// Checks single definition, dominance, ranges of offsets within their arguments; returns what is wrong, or nothing.
std::optional<std::string> verify(const StageProgram &program);

} // namespace lockstitch

#endif // LOCKSTITCH_COMPILER_SCHEDULE_STAGE_PROGRAM_H
