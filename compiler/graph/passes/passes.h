// Clean-up of the primitive graph, one pass per file. compiler/driver runs them in this order; each keeps the origins.
#ifndef LOCKSTITCH_COMPILER_GRAPH_PASSES_PASSES_H
#define LOCKSTITCH_COMPILER_GRAPH_PASSES_PASSES_H

#include "compiler/graph/primitive_graph.h"

#include <functional>

namespace lockstitch {

/// Reads of constants whose elements are all equal become constants of the body.
/// First, because a constant in a body is what every later pass can see through.
void inlineConstants(PrimitiveGraph &graph);

/// Primitives that compute the same from the same are made once; the origins of both stay.
void eliminateCommonPrimitives(PrimitiveGraph &graph);

/// Transposes, slices and broadcasts around matrix products become strides of the products' operands and results.
void absorbViews(PrimitiveGraph &graph);

/// Drops what no output needs and renumbers values and primitives in topological order.
void eliminateDead(PrimitiveGraph &graph);

/// Rewrites every Push into reductions and pulls: each element looks for the updates that land on it.
/// Late, so that a pass that can do better with the push itself may come before.
void lowerPushes(PrimitiveGraph &graph);

/// Rewrites every Sort into two reductions that count.
void lowerSorts(PrimitiveGraph &graph);

/// Drops what loops carry, collect and capture for nothing, cleans up their bodies, computes before a loop what is the same
/// in every trip. Needs a graph without dead primitives, leaves some.
void simplifyLoops(PrimitiveGraph &graph);

/// All of the above, as for a graph of which more is to come: the body of a loop.
void cleanUpBody(PrimitiveGraph &graph);

/// Library calls that `isTaken` denies become reductions: slow, and right. After the clean-up, which absorbs views into them.
/// Only bare calls are known here; one that comes with an addend stays as it is. Those in the bodies of loops as well.
void lowerLibraryCalls(PrimitiveGraph &graph,
                       const std::function<bool(const LibraryCall &)> &isTaken);

/// All of the above but the last, then computes the storage roots.
void cleanUp(PrimitiveGraph &graph);

} // namespace lockstitch

#endif // LOCKSTITCH_COMPILER_GRAPH_PASSES_PASSES_H
