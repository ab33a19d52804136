// ProgramBuilder: from plans and kernels to a Program: which buffer every tensor lies in, and the steps of a run.
#ifndef LOCKSTITCH_COMPILER_DRIVER_PROGRAM_BUILDER_H
#define LOCKSTITCH_COMPILER_DRIVER_PROGRAM_BUILDER_H

#include "compiler/planner/plan.h"
#include "runtime/program/program.h"
#include "runtime/program/status.h"

#include <unordered_map>

namespace lockstitch {

/// A kernel step of a plan, once its kernel is known.
struct PlannedLaunch {
  uint32_t kernel = 0; // index into the target's distinct kernels
  std::vector<ValueId>
      arguments; // storage roots, one per argument of the kernel
  std::vector<std::string> schemes;
};

class ProgramBuilder {
public:
  explicit ProgramBuilder(const PrimitiveGraph &graph);

  /// Adds the steps of one target. `launches` stands beside the kernel steps of `plan`, in order.
  Status addTarget(const Plan &plan, const std::vector<PlannedLaunch> &launches,
                   TargetProgram target);
  std::shared_ptr<const Program> finish() {
    return std::make_shared<Program>(std::move(program));
  }

  Program program;

private:
  BufferRef constant(ValueId root);
  std::string nameOf(ValueId value) const;
  std::vector<std::string>
  nodesOf(const std::vector<PrimitiveId> &members) const;

  const PrimitiveGraph &graph;
  std::unordered_map<ValueId, uint32_t>
      constants; // storage root -> index in program.constants
};

} // namespace lockstitch

#endif // LOCKSTITCH_COMPILER_DRIVER_PROGRAM_BUILDER_H
