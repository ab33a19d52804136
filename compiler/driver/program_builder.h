// ProgramBuilder: from plans and kernels to a Program: which buffer every tensor lies in, and the steps of a run.
#ifndef LOCKSTITCH_COMPILER_DRIVER_PROGRAM_BUILDER_H
#define LOCKSTITCH_COMPILER_DRIVER_PROGRAM_BUILDER_H

#include "compiler/planner/plan.h"
#include "runtime/program/program.h"
#include "runtime/program/status.h"

#include <map>

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

  /// Adds the steps of one target. `launches` stands beside the kernel steps of `plan`, in order; those of a loop's body at
  /// the place of the loop.
  Status addTarget(const Plan &plan, const std::vector<PlannedLaunch> &launches,
                   TargetProgram target);
  std::shared_ptr<const Program> finish() {
    return std::make_shared<Program>(std::move(program));
  }

  Program program;

private:
  friend class LevelBuilder;
  /// The place of a constant of `graph`, or of a value that the prologue computes.
  BufferRef constant(const PrimitiveGraph &graph, ValueId root);

  const PrimitiveGraph &graph;
  /// Index in program.constants, by the bytes of a constant: a body shares those of the graph around it; else by the graph
  /// and the value.
  std::map<std::pair<const void *, size_t>, uint32_t> constants;
};

} // namespace lockstitch

#endif // LOCKSTITCH_COMPILER_DRIVER_PROGRAM_BUILDER_H
