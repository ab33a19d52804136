// Bytes that a kernel moves through device memory, as the plan counts them.
#ifndef LOCKSTITCH_COMPILER_PLANNER_TRAFFIC_H
#define LOCKSTITCH_COMPILER_PLANNER_TRAFFIC_H

#include "compiler/graph/primitive_graph.h"

#include <span>

namespace lockstitch {

struct Traffic {
  int64_t read = 0, written = 0; // bytes
  int64_t tensorsRead = 0;       // distinct ones
  int64_t total() const { return read + written; }
};

/// Distinct bytes of one launch of `members` (sorted): each tensor that is read or written counts once, a gathered table with what is
/// gathered from it. `outputs`: the storage roots that others need.
Traffic trafficOf(const PrimitiveGraph &graph,
                  std::span<const PrimitiveId> members,
                  std::span<const ValueId> outputs);

} // namespace lockstitch

#endif // LOCKSTITCH_COMPILER_PLANNER_TRAFFIC_H
