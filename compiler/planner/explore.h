// The fusion explorer: from a primitive graph to a plan.
#ifndef LOCKSTITCH_COMPILER_PLANNER_EXPLORE_H
#define LOCKSTITCH_COMPILER_PLANNER_EXPLORE_H

#include "compiler/planner/plan.h"
#include "compiler/schedule/choose_schedule.h"
#include "runtime/program/library_capability.h"
#include "runtime/program/status.h"

namespace lockstitch {

struct PlannerOptions {
  /// FusionStitching (fusion_stitching.cpp); Xla, for comparison: the merge rules of XLA's open source, without copies of producers, without
  /// epilogues of library calls, without its order by estimated benefit (xla.cpp); None: every primitive alone.
  Explorer explorer = Explorer::FusionStitching;
  ScheduleTarget target;
  /// Whose epilogues may be planned for.
  LibraryFamily libraries = LibraryFamily::Host;
  /// A kernel takes at most this many primitives.
  size_t maxMembers = 400;
};

/// Plans `graph` (storage roots computed). Every decision carries its reason. Errors: internal only.
Result<Plan> explore(const PrimitiveGraph &graph,
                     const PlannerOptions &options);

} // namespace lockstitch

#endif // LOCKSTITCH_COMPILER_PLANNER_EXPLORE_H
