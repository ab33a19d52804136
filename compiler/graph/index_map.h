// IndexMap: where an element of one tensor is found, as a function of the coordinates of an iteration space.
#ifndef LOCKSTITCH_COMPILER_GRAPH_INDEX_MAP_H
#define LOCKSTITCH_COMPILER_GRAPH_INDEX_MAP_H

#include "compiler/graph/dim.h"
#include "compiler/graph/index_expr.h"

namespace lockstitch {

/// lo <= expr <= hi.
struct IndexConstraint {
  IndexExpr expr;
  int64_t lo = 0, hi = 0;
  bool operator==(const IndexConstraint &) const = default;
};

/// (d0, ..., dn-1)[s0, ...] -> (e0, ..., em-1). The run-time variables s are values that the reading body computes; the
/// operation that holds the map says which. Where a constraint does not hold (the border of a Pad, the other parts of a
/// Concat) nothing is read and the element is zero.
struct IndexMap {
  unsigned numDims = 0;
  std::vector<IndexExpr> results;
  std::vector<IndexConstraint> constraints;

  bool operator==(const IndexMap &) const = default;
  bool isIdentity() const;
  uint64_t hash() const;

  static IndexMap identity(unsigned rank);
  /// Linear index -> coordinates of row-major `shape`; one dimension.
  static IndexMap delinearize(const Shape &shape);
};

/// Ranges 0 .. extent-1 of every dimension of `domain`. An empty dimension gets the range 0 .. 0.
IndexRanges rangesOf(const Shape &domain);

/// `outer` after `inner`: replaces outer's dimensions by inner's results and simplifies on `ranges` (of inner's space).
IndexMap compose(const IndexMap &outer, const IndexMap &inner,
                 const IndexRanges &ranges);

/// Row-major linear index of coordinates `results` in `shape`, simplified on `ranges`.
IndexExpr linearize(std::span<const IndexExpr> results, const Shape &shape,
                    const IndexRanges &ranges);

/// The map that a reshape from `from` to `to` is: coordinates of `to` -> coordinates of `from`. Equal element counts.
IndexMap reshapeMap(const Shape &from, const Shape &to);

std::string toString(const IndexMap &map);
bool parseIndexMap(std::string_view text, IndexMap &map, std::string &error);

} // namespace lockstitch

#endif // LOCKSTITCH_COMPILER_GRAPH_INDEX_MAP_H
