// From a set of primitives that shall become one kernel to its stage program, or the reason why they can't.
//
// This is the full legality check of a fusion: a kernel that builds here can be generated. Resources are checked afterwards,
// by choose_schedule.h, before anything is lowered.
#ifndef LOCKSTITCH_COMPILER_SCHEDULE_BUILD_STAGES_H
#define LOCKSTITCH_COMPILER_SCHEDULE_BUILD_STAGES_H

#include "compiler/schedule/refusal.h"
#include "compiler/schedule/stage_program.h"

#include <variant>

namespace lockstitch {

/// A kernel to be: primitives in topological order, and the values that others need of it (storage roots, see storageRoot).
struct KernelSpec {
  std::string name;
  std::vector<PrimitiveId> members;
  std::vector<ValueId> outputs;
};

struct StageOptions {
  /// How a kernel without reductions across columns splits its elements: a row is one vector of at most `vectorBytes`
  /// (GPU: one row per thread), or a run of the innermost dimensions of about `runLength` elements (host).
  enum class LoopRows : uint8_t { Vector, Run };
  LoopRows loopRows = LoopRows::Vector;
  int64_t vectorBytes = 16;
  int64_t runLength = 2048;
  /// Keep values between stages in tiles; otherwise they are computed (and their inputs read) again.
  bool tiles = true;
  /// Does it matter where a tensor begins? A CPU's accesses need no alignment: slices of a loop at odd places take the same
  /// code as whole tensors.
  bool alignment = true;
  /// Limits of what one kernel may be.
  size_t maxOperations = 6000;
  size_t maxInstances = 3000;
  bool operator==(const StageOptions &) const = default;
};

/// Builds the stage program. The `origin` of an operation is the position of its primitive in `spec.members`.
std::variant<StageProgram, Refusal> buildStages(const PrimitiveGraph &graph,
                                                const KernelSpec &spec,
                                                const StageOptions &options);

} // namespace lockstitch

#endif // LOCKSTITCH_COMPILER_SCHEDULE_BUILD_STAGES_H
