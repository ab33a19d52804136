// Plan: which primitives become one kernel, which are library calls, in which order, and why.
#ifndef LOCKSTITCH_COMPILER_PLANNER_PLAN_H
#define LOCKSTITCH_COMPILER_PLANNER_PLAN_H

#include "compiler/schedule/kernel_schedule.h"
#include "compiler/schedule/refusal.h"

#include <string>
#include <vector>

namespace lockstitch {

/// Why two neighbours are, or are not, one kernel.
struct Decision {
  PrimitiveId a = kNone, b = kNone; // a feeds b, or both read one value
  bool merged = false;
  bool byProfit = false; // else by legality
  std::string reason;
  /// What is known of it: what merging saves or would save, estimated times, the resource that is short. Refused: of the kernels
  /// that the two are in at the end.
  Figures figures = {};
  bool operator==(const Decision &) const = default;
};

/// One step of the plan.
struct PlanStep {
  enum class Kind : uint8_t { Kernel, Library, Loop };
  Kind kind = Kind::Kernel;
  bool prologue = false; // depends on constants only: run once
  /// In topological order. Library: the call, then its epilogue (library_epilogue.h). Loop: the loop, then its results.
  std::vector<PrimitiveId> members;
  std::vector<ValueId>
      outputs; // storage roots that others read, in order; one for Library
  /// Kernel of a plan given by a person: what its schedule must be, and the line that says so (0: none).
  SchedulePin pin = {};
  int pinLine = 0;
  /// Loop: the plan of the body, in terms of its graph.
  std::vector<PlanStep> body;
  std::vector<Decision> bodyDecisions;
  bool operator==(const PlanStep &) const = default;
};

/// The kind of step that a primitive is in: the calls and loops that stand alone are not part of kernels.
PlanStep::Kind stepKind(const Primitive &primitive);

struct Plan {
  std::vector<PlanStep> steps; // in an order that can be executed
  std::vector<Decision> decisions;

  /// Kernels of the steps that run on every inference; those of a loop's body once.
  int64_t numKernels() const;
};

enum class Explorer : uint8_t {
  FusionStitching, // the planner of this compiler
  Xla,             // XLA's rules, for comparison: see xla.cpp
  None,            // every primitive its own kernel
};

/// "fusionstitching", "xla", "none".
std::string_view name(Explorer explorer);

/// Orders `steps` (each a set of primitives that is convex together) so that every step follows what it reads; the order is
/// the same on every run. Returns false if they are not acyclic.
bool orderSteps(const PrimitiveGraph &graph, std::vector<PlanStep> &steps);

/// Fills the outputs of every kernel step: the storage roots made in it that another step or the caller reads.
void findOutputs(const PrimitiveGraph &graph, std::vector<PlanStep> &steps);

/// Number of depths of library calls (longest path) at which there is memory-intensive work that no epilogue took. A loop
/// counts as a library call, and adds the depths of its body.
int64_t floorKernels(const PrimitiveGraph &graph, const Plan &plan);

/// Text form, for `--emit plan` and `--plan`:
///
///   kernel "Softmax#0/0" "Softmax#0/1" ...      the members, by name
///     schedule vector 4 threads_per_row 128     optional, read only: holds the schedule of the kernel above (SchedulePin)
///   library "MatMul#0/0" "Add#0/0"              the call, then its epilogue
std::string toString(const PrimitiveGraph &graph, const Plan &plan);

/// The reverse. Every primitive that is not a reshape must be named exactly once; reshapes may be left out. Returns false
/// and sets `error` ("line 3: ...").
bool parsePlan(std::string_view text, const PrimitiveGraph &graph, Plan &plan,
               std::string &error);

} // namespace lockstitch

#endif // LOCKSTITCH_COMPILER_PLANNER_PLAN_H
