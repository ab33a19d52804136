// Walks over the operations of a stage program.
#ifndef LOCKSTITCH_COMPILER_SCHEDULE_STAGE_WALK_H
#define LOCKSTITCH_COMPILER_SCHEDULE_STAGE_WALK_H

#include "compiler/schedule/stage_program.h"

#include <algorithm>

namespace lockstitch {

/// Calls `visit(op, times)` for every operation, loops' bodies included; `times`: how often it runs for one run of the block.
template <typename Visit>
void forEachOp(const StageBlock &block, Visit visit, double times = 1) {
  for (const StageOp &op : block.ops) {
    visit(op, times);
    if (!op.loop)
      continue;
    double trips = times * static_cast<double>(op.loop->trips);
    forEachOp(op.loop->body, visit, trips);
    forEachOp(op.loop->trip, visit, trips);
  }
}

inline bool isAccess(const StageOp &op) {
  return op.opcode == StageOpcode::Load || op.opcode == StageOpcode::Store;
}

inline bool hasReductions(const StageProgram &program) {
  return std::any_of(
      program.stages.begin(), program.stages.end(),
      [](const Stage &stage) { return !stage.reductions.empty(); });
}

inline int64_t longestStage(const StageProgram &program) {
  int64_t longest = 1;
  for (const Stage &stage : program.stages)
    longest = std::max(longest, stage.columns);
  return longest;
}

/// Do elements of neighbouring rows lie side by side at `offset`?
bool isRowContiguous(const StageProgram &program, const IndexExpr &offset,
                     int64_t columns);

} // namespace lockstitch

#endif // LOCKSTITCH_COMPILER_SCHEDULE_STAGE_WALK_H
