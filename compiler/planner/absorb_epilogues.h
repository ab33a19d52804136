// Gives kernels that only finish a library call's result to that call.
#ifndef LOCKSTITCH_COMPILER_PLANNER_ABSORB_EPILOGUES_H
#define LOCKSTITCH_COMPILER_PLANNER_ABSORB_EPILOGUES_H

#include "compiler/planner/partition.h"
#include "runtime/program/library_capability.h"

namespace lockstitch {

/// Moves the members of every kernel that is wholly an epilogue of one library call, by the contract and by what a library of
/// `libraries` takes, into that call's step. Steps stay in an order that can be executed, outputs are found; decisions about
/// the pairs concerned are rewritten. `partition` is what the plan was made from.
void absorbEpilogues(const PrimitiveGraph &graph, const Partition &partition,
                     LibraryFamily libraries, Plan &plan);

} // namespace lockstitch

#endif // LOCKSTITCH_COMPILER_PLANNER_ABSORB_EPILOGUES_H
