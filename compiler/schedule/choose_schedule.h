// Chooses how a stage program runs on a target: vector width, threads per row, rows per block, where tiles live.
#ifndef LOCKSTITCH_COMPILER_SCHEDULE_CHOOSE_SCHEDULE_H
#define LOCKSTITCH_COMPILER_SCHEDULE_CHOOSE_SCHEDULE_H

#include "compiler/schedule/build_stages.h"
#include "compiler/schedule/schedule_target.h"

namespace lockstitch {

/// A kernel as it will be generated.
struct ScheduledKernel {
  StageProgram program;
  KernelSchedule schedule;
};

/// Builds the stage program for the target and chooses its schedule; falls back from tiles to recomputation when the tiles of
/// a row fit nowhere. A refusal says which resource is short.
std::variant<ScheduledKernel, Refusal>
scheduleKernel(const PrimitiveGraph &graph, const KernelSpec &spec,
               const ScheduleTarget &target);

/// The composition schemes of a kernel as the paper names them: "thread" (values stay in one lane), "warp" (rows
/// within a warp), "block" (rows across a block).
std::vector<std::string> schemesOf(const StageProgram &program,
                                   const KernelSchedule &schedule);

} // namespace lockstitch

#endif // LOCKSTITCH_COMPILER_SCHEDULE_CHOOSE_SCHEDULE_H
