#include "compiler/graph/index_map.h"

#include <algorithm>

namespace lockstitch {

bool IndexMap::isIdentity() const {
  if (results.size() != numDims || !constraints.empty())
    return false;
  for (unsigned i = 0; i < numDims; ++i)
    if (results[i].kind() != IndexExpr::Kind::Dim || results[i].position() != i)
      return false;
  return true;
}

uint64_t IndexMap::hash() const {
  uint64_t hash = numDims;
  for (const IndexExpr &result : results)
    hash = hash * 0x9E3779B97F4A7C15ull + result.hash();
  for (const IndexConstraint &constraint : constraints)
    hash = hash * 0x9E3779B97F4A7C15ull + constraint.expr.hash() +
           31 * constraint.lo + constraint.hi;
  return hash;
}

IndexMap IndexMap::identity(unsigned rank) {
  IndexMap map;
  map.numDims = rank;
  for (unsigned i = 0; i < rank; ++i)
    map.results.push_back(IndexExpr::dim(i));
  return map;
}

IndexMap IndexMap::delinearize(const Shape &shape) {
  IndexMap map;
  map.numDims = 1;
  std::vector<int64_t> strides = rowMajorStrides(shape);
  for (size_t i = 0; i < shape.size(); ++i) {
    IndexExpr at =
        floorDiv(IndexExpr::dim(0), std::max<int64_t>(strides[i], 1));
    // The first dimension needs no mod: the linear index is within the shape.
    map.results.push_back(
        i == 0 ? at : mod(at, std::max<int64_t>(shape[i].value(), 1)));
  }
  return map;
}

IndexRanges rangesOf(const Shape &domain) {
  IndexRanges ranges;
  for (const Dim &dim : domain)
    ranges.dims.push_back({0, std::max<int64_t>(dim.value(), 1) - 1});
  return ranges;
}

IndexMap compose(const IndexMap &outer, const IndexMap &inner,
                 const IndexRanges &ranges) {
  IndexMap map;
  map.numDims = inner.numDims;
  map.results.reserve(outer.results.size());
  for (const IndexExpr &result : outer.results)
    map.results.push_back(simplify(substitute(result, inner.results), ranges));
  map.constraints = inner.constraints;
  for (const IndexConstraint &constraint : outer.constraints) {
    IndexConstraint moved{
        simplify(substitute(constraint.expr, inner.results), ranges),
        constraint.lo, constraint.hi};
    Interval range = rangeOf(moved.expr, ranges);
    if ((range.low < moved.lo || range.high > moved.hi) &&
        std::find(map.constraints.begin(), map.constraints.end(), moved) ==
            map.constraints.end())
      map.constraints.push_back(std::move(moved));
  }
  return map;
}

IndexExpr linearize(std::span<const IndexExpr> results, const Shape &shape,
                    const IndexRanges &ranges) {
  std::vector<int64_t> strides = rowMajorStrides(shape);
  IndexExpr sum = IndexExpr::constant(0);
  for (size_t i = 0; i < shape.size(); ++i)
    sum = sum + results[i] * IndexExpr::constant(strides[i]);
  return simplify(sum, ranges);
}

IndexMap reshapeMap(const Shape &from, const Shape &to) {
  IndexRanges ranges = rangesOf(to);
  IndexMap linear;
  linear.numDims = to.size();
  linear.results = {
      linearize(IndexMap::identity(to.size()).results, to, ranges)};
  return compose(IndexMap::delinearize(from), linear, ranges);
}

} // namespace lockstitch
