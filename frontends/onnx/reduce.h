// Reductions over axes, shared by the rules of reductions and of
// normalisations.
#ifndef LOCKSTITCH_FRONTENDS_ONNX_REDUCE_H
#define LOCKSTITCH_FRONTENDS_ONNX_REDUCE_H

#include "frontends/onnx/node_context.h"

namespace lockstitch::onnx {

/// Computes something of one scalar, or does nothing where empty.
using ScalarFunction = std::function<ScalarId(ScalarBuilder &, ScalarId)>;

/// What a reduction does: `opcode` folds `before(element)` in the type
/// `accumulate`; `after` is applied once to the result, which is then cast to
/// `result`.
struct Reduction {
  ScalarOpcode opcode = ScalarOpcode::Add;
  ElementType accumulate = ElementType::F32;
  ElementType result = ElementType::F32;
  ScalarFunction before = nullptr, after = nullptr;
};

/// Reduces `value` over `axes` (sorted, non-negative). Reduced dimensions stay
/// with extent 1 if `keep`.
ValueId reduceAxes(GraphBuilder &graph, ValueId value,
                   const std::vector<int64_t> &axes, bool keep,
                   const Reduction &reduction);

/// The same for a value that is computed from several operands, all of which
/// broadcast to `shape`: `make` yields the element.
ValueId reduceElements(GraphBuilder &graph, std::span<const ValueId> operands,
                       const Shape &shape, const std::vector<int64_t> &axes,
                       bool keep, const Reduction &reduction,
                       const ElementFunction &make);

/// Index (row-major over `axes`) of the largest or smallest element over
/// `axes`, as i64. NaN beats all; of equal ones the first, or the last if
/// `last`.
ValueId argReduce(GraphBuilder &graph, ValueId value,
                  const std::vector<int64_t> &axes, bool keep, bool isMax,
                  bool last);

/// Number of elements that are folded into one.
int64_t reducedCount(const Shape &shape, const std::vector<int64_t> &axes);

/// A reducer that folds with `opcode`, applies `after` and casts to `result`.
Reducer makeReducer(const Reduction &reduction);

} // namespace lockstitch::onnx

#endif // LOCKSTITCH_FRONTENDS_ONNX_REDUCE_H
