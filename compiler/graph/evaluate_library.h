// Products and convolutions by plain loops. Internal to the reference
// evaluator.
#ifndef LOCKSTITCH_COMPILER_GRAPH_EVALUATE_LIBRARY_H
#define LOCKSTITCH_COMPILER_GRAPH_EVALUATE_LIBRARY_H

#include "compiler/graph/evaluate.h"

namespace lockstitch::evaluation {

/// `result` must be zero-filled and of the size of the call's result.
void evaluateLibraryCall(const LibraryCall &call,
                         std::span<const OperandView> operands,
                         std::vector<std::byte> &result);

} // namespace lockstitch::evaluation

#endif // LOCKSTITCH_COMPILER_GRAPH_EVALUATE_LIBRARY_H
