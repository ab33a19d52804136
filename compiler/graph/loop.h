// Loop: a counted loop over a body graph. What a recurrence is in the primitive graph.
//
//   operands of the primitive   body.inputs             each trip
//     carried 0..c-1            carried 0..c-1          first trip: the operand; later: what the trip before made
//     sliced  c..c+s-1          slices                  [trips, ...] -> [...]: the trip's slice, from either end
//     captured                  captured                the whole operand
//
//   results                     body.outputs
//     final carried values      next carried values     after the last trip
//     collected                 collected               [...] -> [trips, ...]: written at the trip's index, from either end
//
// A primitive has one result, and everything that orders, groups and drops primitives relies on that. So a Loop yields a
// token, a tensor without elements, and each of its results is a Project primitive that reads the token. The number of the
// trip, where a body wants it, is a slice of a constant 0, 1, 2 ...: nothing else knows about it.
#ifndef LOCKSTITCH_COMPILER_GRAPH_LOOP_H
#define LOCKSTITCH_COMPILER_GRAPH_LOOP_H

#include "compiler/graph/primitive_graph.h"

namespace lockstitch {

struct Loop {
  Dim trips = 1; // at least 1
  uint32_t carried = 0;
  /// One per sliced operand: is the first trip's slice the last one?
  std::vector<bool> slices;
  /// One per collected result: does the first trip write the last slice?
  std::vector<bool> collected;
  /// Its origins are a table of its own: only the nodes that it still has.
  PrimitiveGraph body;

  size_t numResults() const { return carried + collected.size(); }
  bool isSliced(size_t operand) const {
    return operand >= carried && operand < carried + slices.size();
  }
  bool isCaptured(size_t operand) const {
    return operand >= carried + slices.size();
  }
  /// Type of a result, 0 .. numResults()-1.
  TensorType resultType(size_t result) const;
};

/// The type of a Loop's own result.
TensorType tokenType();
/// `type` with `trips` as an additional leading dimension.
TensorType stacked(const Dim &trips, const TensorType &type);

/// What is wrong with a Loop or Project primitive, or nothing.
std::optional<std::string> verifyLoop(const PrimitiveGraph &graph,
                                      const Primitive &primitive);

/// Does it depend on nothing but constants? For every primitive: then it runs once, in the prologue. Loops never do: their
/// results lie in the arena.
std::vector<bool> constantPrimitives(const PrimitiveGraph &graph);

/// Where the bytes of a loop's values lie, as far as the loop alone decides it.
///
///   two slots   slot t % 2 is read by trip t, slot (t+1) % 2 written: nothing is copied
///   history     where the next carried value is also collected: it is written once, at its place in the collected result,
///               and read from there by the next trip; the slot before the first holds the initial value
struct LoopPlacement {
  /// Per carried value: which collected result it lies in; kNone: two slots.
  std::vector<uint32_t> history;
  /// Per output of the body: does its producer write it where it belongs? Else it is copied at the end of the trip.
  std::vector<bool> direct;
};
LoopPlacement placeLoop(const Loop &loop);

} // namespace lockstitch

#endif // LOCKSTITCH_COMPILER_GRAPH_LOOP_H
