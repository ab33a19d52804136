// What a library call can take along: the region of primitives behind a product or convolution, in the library's terms.
#ifndef LOCKSTITCH_COMPILER_PLANNER_LIBRARY_EPILOGUE_H
#define LOCKSTITCH_COMPILER_PLANNER_LIBRARY_EPILOGUE_H

#include "compiler/schedule/build_stages.h"

#include <span>
#include <variant>

namespace lockstitch {

/// A library call with everything that it does.
struct LibraryStep {
  LibraryCall call;
  std::vector<ValueId> operands; // storage roots, in the order of the contract
  ValueId result = kNone;        // what it writes
};

/// The call that `members` are together: a Library primitive, then the pulls of its epilogue in topological order (none: the
/// call alone), of which `result` is read outside. Refused where the contract of runtime/program/library_call.h has no words
/// for the region; whether a library takes the call is another question (library_capability.h).
std::variant<LibraryStep, Refusal>
buildLibraryStep(const PrimitiveGraph &graph,
                 std::span<const PrimitiveId> members, ValueId result);

} // namespace lockstitch

#endif // LOCKSTITCH_COMPILER_PLANNER_LIBRARY_EPILOGUE_H
