// The coordinates of a product, (batch..., row, column), and strided views over them.
#ifndef LOCKSTITCH_COMPILER_GRAPH_PRODUCT_SPACE_H
#define LOCKSTITCH_COMPILER_GRAPH_PRODUCT_SPACE_H

#include "compiler/graph/dim.h"
#include "compiler/graph/index_expr.h"
#include "runtime/program/library_call.h"

#include <optional>

namespace lockstitch {

/// Extents of (batch..., rows, columns); rows and columns are those of the operand meant: (m, k), (k, n) or (m, n).
Shape productSpace(const MatMulCall &call, int64_t rows, int64_t columns);

/// The linear offset that `view` gives to the coordinates d0, d1, ....
IndexExpr offsetOf(const StridedView &view);

/// The view that gives the coordinates d0 ... d(rank-1) this offset; nothing if the offset is not linear in them.
std::optional<StridedView>
stridedViewOf(const IndexExpr &offset, const IndexRanges &ranges, size_t rank);

} // namespace lockstitch

#endif // LOCKSTITCH_COMPILER_GRAPH_PRODUCT_SPACE_H
