// Shapes of constant sizes: the helpers of the compiler. Dim itself, an expression over symbols, is
// runtime/program/dim.h's, because programs carry it too.
//
// Today the importer resolves every symbol to a number before anything is planned (`--dim`, `--shape`, or the inputs
// themselves), so value() may be called wherever a graph has passed the importer.
#ifndef LOCKSTITCH_COMPILER_GRAPH_DIM_H
#define LOCKSTITCH_COMPILER_GRAPH_DIM_H

#include "runtime/program/dim.h"

namespace lockstitch {

/// Number of elements of a constant shape; 1 for rank 0.
int64_t numElements(const Shape &shape);
/// Row-major strides in elements of a constant shape.
std::vector<int64_t> rowMajorStrides(const Shape &shape);
/// "2x3x4", "scalar" for rank 0, open sizes as "?".
std::string toString(const Shape &shape);

} // namespace lockstitch

#endif // LOCKSTITCH_COMPILER_GRAPH_DIM_H
