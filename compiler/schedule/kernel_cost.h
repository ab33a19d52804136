// A kernel under a schedule, as the cost model sees it. The report, the planner and the choice of a schedule ask through here, so
// that all of them mean the same estimate.
#ifndef LOCKSTITCH_COMPILER_SCHEDULE_KERNEL_COST_H
#define LOCKSTITCH_COMPILER_SCHEDULE_KERNEL_COST_H

#include "compiler/schedule/schedule_target.h"
#include "compiler/schedule/stage_program.h"
#include "cost_model/estimate.h"

namespace lockstitch {

/// The description of the target's device: its `device`, else the built-in one of its name.
const cost::Device &deviceOf(const ScheduleTarget &target);

/// One launch. `registers` per thread, 0: not known.
cost::KernelShape launchShape(const StageProgram &program,
                              const KernelSchedule &schedule, bool isGpu,
                              int64_t bytesRead, int64_t bytesWritten,
                              int64_t registers = 0);

} // namespace lockstitch

#endif // LOCKSTITCH_COMPILER_SCHEDULE_KERNEL_COST_H
