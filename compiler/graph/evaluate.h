// The reference evaluator: computes primitives on host arrays exactly as the
// documents of ScalarProgram, Reducer and LibraryCall say. The importer folds
// constants with it, and tests use it as the oracle for kernels. It is no back
// end: it runs while compiling, on shape-sized values, never in a model.
#ifndef LOCKSTITCH_COMPILER_GRAPH_EVALUATE_H
#define LOCKSTITCH_COMPILER_GRAPH_EVALUATE_H

#include "compiler/graph/primitive_graph.h"
#include "runtime/program/status.h"

#include <cstddef>
#include <span>
#include <vector>

namespace lockstitch {

/// A tensor in host memory, row-major.
struct HostTensor {
  TensorType type;
  std::vector<std::byte> bytes;
};

/// An operand: its type and its bytes (of any alignment).
struct OperandView {
  TensorType type;
  std::span<const std::byte> bytes;
};

/// The bytes of `primitive`'s result, of type `resultType`. f32 is computed in
/// f32, operation by operation, as kernels do; transcendental functions are
/// correctly rounded (nearly always). A sum is added up in blocks of 64 that
/// are combined as a balanced tree. An internal error if a read lies outside of
/// its operand.
Result<std::vector<std::byte>>
evaluatePrimitive(const Primitive &primitive, const TensorType &resultType,
                  std::span<const OperandView> operands);

/// Runs the whole graph on `inputs` (in the order of graph.inputs, types as
/// declared); returns the outputs in order.
Result<std::vector<HostTensor>>
evaluateGraph(const PrimitiveGraph &graph, std::span<const HostTensor> inputs);

} // namespace lockstitch

#endif // LOCKSTITCH_COMPILER_GRAPH_EVALUATE_H
