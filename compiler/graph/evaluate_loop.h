// Loops, trip after trip. Internal to the reference evaluator.
#ifndef LOCKSTITCH_COMPILER_GRAPH_EVALUATE_LOOP_H
#define LOCKSTITCH_COMPILER_GRAPH_EVALUATE_LOOP_H

#include "compiler/graph/evaluate.h"
#include "compiler/graph/loop.h"

namespace lockstitch::evaluation {

/// evaluateGraph() without copies of the inputs.
Result<std::vector<HostTensor>>
evaluateViews(const PrimitiveGraph &graph, std::span<const OperandView> inputs);

/// All results of `loop`, in order.
Result<std::vector<HostTensor>>
evaluateLoop(const Loop &loop, std::span<const OperandView> operands);

} // namespace lockstitch::evaluation

#endif // LOCKSTITCH_COMPILER_GRAPH_EVALUATE_LOOP_H
