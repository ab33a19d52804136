// The schedules that a stage program may run under.
#ifndef LOCKSTITCH_COMPILER_SCHEDULE_CANDIDATES_H
#define LOCKSTITCH_COMPILER_SCHEDULE_CANDIDATES_H

#include "compiler/schedule/refusal.h"
#include "compiler/schedule/schedule_target.h"
#include "compiler/schedule/stage_program.h"

namespace lockstitch {

/// The schedule by rule: what is taken where the estimates of others are not clearly better. Its resources are not checked.
KernelSchedule ruleSchedule(const StageProgram &program,
                            const ScheduleTarget &target);

/// The rule's first, then its neighbours in vector width, threads per row and rows per block, with what `pin` asks for held
/// fast. In a fixed order, each once, resources not checked. On the host the rule's alone: the cost model sees no tasks.
std::vector<KernelSchedule> candidateSchedules(const StageProgram &program,
                                               const ScheduleTarget &target,
                                               const SchedulePin &pin);

/// Fills in what follows from the mapping: grid, places of the tiles, shared memory, width of indices.
void completeSchedule(const StageProgram &program, const ScheduleTarget &target,
                      KernelSchedule &schedule);

/// What does not fit: shared memory, threads, divisibility, the grid; or nothing. `schedule` is complete.
std::optional<Refusal> checkSchedule(const StageProgram &program,
                                     const ScheduleTarget &target,
                                     const KernelSchedule &schedule);

} // namespace lockstitch

#endif // LOCKSTITCH_COMPILER_SCHEDULE_CANDIDATES_H
