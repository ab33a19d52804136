// Scalar programs on blocks of coordinates: every operation of a body, and every
// node of an index expression, is done for a whole block before the next one, so
// that the cost of interpreting is paid once per block. Internal to the
// reference evaluator.
#ifndef LOCKSTITCH_COMPILER_GRAPH_EVALUATE_PROGRAM_H
#define LOCKSTITCH_COMPILER_GRAPH_EVALUATE_PROGRAM_H

#include "compiler/graph/evaluate.h"
#include "compiler/graph/evaluate_scalar.h"

namespace lockstitch::evaluation {

inline constexpr int64_t kBlock = 512;

/// Coordinates of a block of the iteration space, one array per dimension.
struct Coordinates {
  size_t count = 0;
  std::vector<std::vector<int64_t>> dims;

  /// `n` points from the row-major position `first` on.
  void setLinear(const std::vector<int64_t> &extents, int64_t first, size_t n);
};

using Column = std::vector<int64_t>;

/// Value of `expr` at each point of the block.
Column evaluateIndex(const IndexExpr &expr, const Coordinates &at,
                     const std::vector<const Slot *> &runtimes);

/// Runs one program on blocks. Keeps its columns between calls.
class ProgramRunner {
public:
  ProgramRunner(const ScalarProgram &program,
                std::span<const OperandView> operands);
  /// `arguments[i]` is the column of argument i of a region. False after a read
  /// out of bounds.
  bool run(const Coordinates &at,
           const std::vector<const Slot *> &arguments = {});
  const Slot *result(size_t index) const {
    return columns[program.results[index]].data();
  }

private:
  bool read(const ScalarOp &op, const Coordinates &at, Slot *result);

  const ScalarProgram &program;
  std::span<const OperandView> operands;
  std::vector<std::vector<int64_t>> strides;
  std::vector<std::vector<Slot>> columns;
};

using Accumulators = std::vector<Slot>;

/// Folds values one by one, or two sets of accumulators, by a region of a
/// reducer.
class Folder {
public:
  explicit Folder(const ScalarProgram &program);
  void fold(std::span<Slot> into, std::span<const Slot> values);

private:
  const ScalarProgram &program;
  ProgramRunner runner;
  Coordinates one;
  bool simple = false;
};

std::vector<int64_t> extentsOf(const Shape &shape);
Error outOfBounds(const Primitive &primitive);
/// A reducer's neutral accumulators.
Accumulators neutralOf(const Reducer &reducer);
/// Stores `finish` of the accumulators of each element; `folded[i]` holds
/// accumulator i of all of them.
void storeFinished(const Reducer &reducer, const TensorType &type,
                   const std::vector<std::vector<Slot>> &folded,
                   std::vector<std::byte> &result);

} // namespace lockstitch::evaluation

#endif // LOCKSTITCH_COMPILER_GRAPH_EVALUATE_PROGRAM_H
