// Scans, pushes and sorts, evaluated as they are defined: one element after the
// other. Internal to the reference evaluator.
#ifndef LOCKSTITCH_COMPILER_GRAPH_EVALUATE_SCATTER_H
#define LOCKSTITCH_COMPILER_GRAPH_EVALUATE_SCATTER_H

#include "compiler/graph/evaluate.h"

namespace lockstitch::evaluation {

/// Each fills `result`, which has the bytes of a tensor of `type`. Error
/// (internal): a read out of bounds.
Status evaluateScan(const Primitive &primitive, const TensorType &type,
                    std::span<const OperandView> operands,
                    std::vector<std::byte> &result);
Status evaluatePush(const Primitive &primitive, const TensorType &type,
                    std::span<const OperandView> operands,
                    std::vector<std::byte> &result);
Status evaluateSort(const Primitive &primitive, const TensorType &type,
                    std::span<const OperandView> operands,
                    std::vector<std::byte> &result);

} // namespace lockstitch::evaluation

#endif // LOCKSTITCH_COMPILER_GRAPH_EVALUATE_SCATTER_H
