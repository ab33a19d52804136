// Makes a Loop: what its body is built in, and how values get in and out.
#ifndef LOCKSTITCH_FRONTENDS_ONNX_LOOP_BUILDER_H
#define LOCKSTITCH_FRONTENDS_ONNX_LOOP_BUILDER_H

#include "frontends/onnx/graph_builder.h"

namespace lockstitch::onnx {

/// More trips than this are refused: each costs the launches of the body.
inline constexpr int64_t kMaxTrips = 1 << 20;

class LoopBuilder {
public:
  /// A loop in `outer`'s graph that belongs to the current origin.
  explicit LoopBuilder(GraphBuilder &outer);

  GraphBuilder body;

  // Each returns the value that the body sees.
  /// A value that every trip hands to the next; setNext() says what.
  ValueId carry(ValueId initial);
  /// Trip t's slice of `operand` along its first dimension, which has as many
  /// slices as there are trips; `reversed`: from the last on.
  ValueId slice(ValueId operand, bool reversed = false);
  /// The same value in every trip. Constants become constants of the body.
  ValueId capture(ValueId operand);
  /// The number of the trip, an i64 scalar.
  ValueId trip();

  /// `next` is of the type of `carried`, which carry() returned.
  void setNext(ValueId carried, ValueId next);
  /// Stacks the values of all trips along a new first dimension; `reversed`:
  /// the first trip's last.
  void collect(ValueId value, bool reversed = false);

  /// Ends the loop. The final carried values in the order of carry(), then what
  /// was collected.
  std::vector<ValueId> finish(int64_t trips);

private:
  struct Port {
    ValueId outside, inside;
    ValueId next = kNone;
    bool reversed = false;
  };
  ValueId input(ValueId operand, TensorType type);

  GraphBuilder &outer;
  std::vector<Port> carried, sliced, captured;
  std::vector<std::pair<ValueId, bool>> collected;
  std::unordered_map<ValueId, ValueId> known; // captured, constants included
};

} // namespace lockstitch::onnx

#endif // LOCKSTITCH_FRONTENDS_ONNX_LOOP_BUILDER_H
