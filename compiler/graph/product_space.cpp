#include "compiler/graph/product_space.h"

namespace lockstitch {

Shape productSpace(const MatMulCall &call, int64_t rows, int64_t columns) {
  Shape shape(call.batch.begin(), call.batch.end());
  shape.push_back(rows);
  shape.push_back(columns);
  return shape;
}

IndexExpr offsetOf(const StridedView &view) {
  IndexExpr sum = IndexExpr::constant(view.offset);
  for (unsigned i = 0; i < view.strides.size(); ++i)
    sum = sum + IndexExpr::dim(i) * IndexExpr::constant(view.strides[i]);
  return sum;
}

std::optional<StridedView>
stridedViewOf(const IndexExpr &offset, const IndexRanges &ranges, size_t rank) {
  LinearForm form = toLinearForm(offset, ranges);
  StridedView view;
  view.offset = form.constant;
  view.strides.assign(rank, 0);
  for (const auto &[atom, coefficient] : form.terms) {
    if (atom.kind() != IndexExpr::Kind::Dim)
      return std::nullopt;
    view.strides[atom.position()] = coefficient;
  }
  return view;
}

} // namespace lockstitch
