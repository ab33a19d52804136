// Scalar operations on blocks of values: the meaning of every ScalarOpcode.
// Internal to the reference evaluator.
#ifndef LOCKSTITCH_COMPILER_GRAPH_EVALUATE_SCALAR_H
#define LOCKSTITCH_COMPILER_GRAPH_EVALUATE_SCALAR_H

#include "compiler/graph/scalar_program.h"

#include <cstddef>
#include <span>
#include <vector>

namespace lockstitch::evaluation {

/// A scalar of any type: floats (also f16, bf16 and f32, exactly) as a double,
/// the rest as an integer, sign- or zero-extended to 64 bits by its type; Bool
/// is 0 or 1.
union Slot {
  double real;
  int64_t integer;
};

Slot load(ElementType type, const std::byte *place);
void store(ElementType type, Slot value, std::byte *place);
Slot constantSlot(ElementType type, const ScalarConstant &constant);

/// Applies an opcode of one to three arguments and no payload to `count`
/// values; `argType` is the type of the last argument (a Cast's source, a
/// comparison's operands), `type` that of the result.
void applyOpcode(ScalarOpcode opcode, ElementType type, ElementType argType,
                 std::span<const Slot *const> args, Slot *result, size_t count);

} // namespace lockstitch::evaluation

#endif // LOCKSTITCH_COMPILER_GRAPH_EVALUATE_SCALAR_H
