// Clean-up of the primitive graph, one pass per file. compiler/driver runs them in this order; each keeps the origins.
#ifndef LOCKSTITCH_COMPILER_GRAPH_PASSES_PASSES_H
#define LOCKSTITCH_COMPILER_GRAPH_PASSES_PASSES_H

#include "compiler/graph/primitive_graph.h"

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

/// All of the above, then computes the storage roots.
void cleanUp(PrimitiveGraph &graph);

} // namespace lockstitch

#endif // LOCKSTITCH_COMPILER_GRAPH_PASSES_PASSES_H
