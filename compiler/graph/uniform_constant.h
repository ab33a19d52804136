// Constants whose elements are all equal.
#ifndef LOCKSTITCH_COMPILER_GRAPH_UNIFORM_CONSTANT_H
#define LOCKSTITCH_COMPILER_GRAPH_UNIFORM_CONSTANT_H

#include "compiler/graph/primitive_graph.h"

#include <optional>

namespace lockstitch {

/// The scalar that all elements of a constant are, if they are; nothing for other values and for empty constants.
std::optional<ScalarConstant> uniformValue(const Value &value);

} // namespace lockstitch

#endif // LOCKSTITCH_COMPILER_GRAPH_UNIFORM_CONSTANT_H
