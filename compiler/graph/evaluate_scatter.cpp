#include "compiler/graph/evaluate_scatter.h"

#include "compiler/graph/evaluate_program.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lockstitch::evaluation {
namespace {

/// Lines along one dimension of row-major `extents`: point p lies on line
/// (p / (extent*inner)) * inner + p % inner, at (p / inner) % extent.
struct Lines {
  int64_t extent, inner = 1, count = 1;
  Lines(const std::vector<int64_t> &extents, unsigned along)
      : extent(extents[along]) {
    for (size_t d = 0; d < extents.size(); ++d) {
      count *= d == along ? 1 : extents[d];
      inner *= d > along ? extents[d] : 1;
    }
  }
  int64_t lineOf(int64_t point) const {
    return point / (extent * inner) * inner + point % inner;
  }
  int64_t pointOf(int64_t line, int64_t position, int64_t length) const {
    return (line / inner * length + position) * inner + line % inner;
  }
};

bool isLess(ElementType type, Slot a, Slot b) {
  if (isFloat(type)) // a NaN is larger than every number
    return std::isnan(b.real) ? !std::isnan(a.real) : a.real < b.real;
  if (type == ElementType::U64)
    return static_cast<uint64_t>(a.integer) < static_cast<uint64_t>(b.integer);
  return a.integer < b.integer;
}

} // namespace

Status evaluateScan(const Primitive &primitive, const TensorType &type,
                    std::span<const OperandView> operands,
                    std::vector<std::byte> &result) {
  const Reducer &reducer = primitive.reducer;
  std::vector<int64_t> extents = extentsOf(primitive.domain);
  Lines lines(extents, primitive.along);
  int64_t total = numElements(primitive.domain);
  std::vector<Accumulators> running(lines.count, neutralOf(reducer));
  std::vector<std::vector<Slot>> folded(reducer.types.size(),
                                        std::vector<Slot>(total));
  ProgramRunner body(primitive.body, operands);
  Folder update(reducer.update);
  Coordinates at;
  std::vector<Slot> values(primitive.body.results.size());
  for (int64_t first = 0; first < total; first += kBlock) {
    at.setLinear(extents, first, std::min(kBlock, total - first));
    if (!body.run(at))
      return outOfBounds(primitive);
    for (size_t i = 0; i < at.count; ++i) {
      for (size_t v = 0; v < values.size(); ++v)
        values[v] = body.result(v)[i];
      int64_t point = first + static_cast<int64_t>(i);
      Accumulators &held = running[lines.lineOf(point)];
      update.fold(held, values);
      for (size_t a = 0; a < held.size(); ++a)
        folded[a][point] = held[a];
    }
  }
  storeFinished(reducer, type, folded, result);
  return {};
}

Status evaluatePush(const Primitive &primitive, const TensorType &type,
                    std::span<const OperandView> operands,
                    std::vector<std::byte> &result) {
  const Reducer &reducer = primitive.reducer;
  const OperandView &base = operands[0];
  size_t width = byteSize(type.element);
  // The accumulator has the type of the elements or the one they are computed
  // in: a slot holds both alike.
  std::vector<std::vector<Slot>> held(1, std::vector<Slot>(type.elements()));
  for (int64_t i = 0; i < type.elements(); ++i)
    held[0][i] = load(type.element, base.bytes.data() + i * width);

  std::vector<int64_t> extents = extentsOf(primitive.domain),
                       strides = rowMajorStrides(type.shape);
  int64_t total = numElements(primitive.domain);
  ProgramRunner body(primitive.body, operands);
  Folder update(reducer.update);
  Coordinates at;
  for (int64_t first = 0; first < total; first += kBlock) {
    at.setLinear(extents, first, std::min(kBlock, total - first));
    if (!body.run(at))
      return outOfBounds(primitive);
    std::vector<const Slot *> runtimes;
    for (size_t v = 1; v < primitive.body.results.size(); ++v)
      runtimes.push_back(body.result(v));
    std::vector<bool> lands(at.count, true);
    auto require = [&](const Column &values, int64_t low, int64_t high) {
      for (size_t i = 0; i < at.count; ++i)
        if (values[i] < low || values[i] > high)
          lands[i] = false;
    };
    for (const IndexConstraint &constraint : primitive.target.constraints)
      require(evaluateIndex(constraint.expr, at, runtimes), constraint.lo,
              constraint.hi);
    Column place(at.count, 0);
    for (size_t d = 0; d < type.shape.size(); ++d) {
      Column values = evaluateIndex(primitive.target.results[d], at, runtimes);
      require(values, 0, type.shape[d].value() - 1);
      for (size_t i = 0; i < at.count; ++i)
        if (lands[i])
          place[i] += values[i] * strides[d];
    }
    for (size_t i = 0; i < at.count; ++i)
      if (lands[i])
        update.fold({&held[0][place[i]], 1}, {body.result(0) + i, 1});
  }
  storeFinished(reducer, type, held, result);
  return {};
}

Status evaluateSort(const Primitive &primitive, const TensorType &type,
                    std::span<const OperandView> operands,
                    std::vector<std::byte> &result) {
  std::vector<int64_t> extents = extentsOf(primitive.domain);
  Lines lines(extents, primitive.along);
  int64_t total = numElements(primitive.domain),
          length = type.shape[primitive.along].value();
  ElementType keyType = primitive.body[primitive.body.results[0]].type;
  ProgramRunner body(primitive.body, operands);
  std::vector<Slot> keys(total);
  Coordinates at;
  for (int64_t first = 0; first < total; first += kBlock) {
    at.setLinear(extents, first, std::min(kBlock, total - first));
    if (!body.run(at))
      return outOfBounds(primitive);
    std::copy_n(body.result(0), at.count, keys.begin() + first);
  }
  std::vector<int64_t> order(lines.extent);
  for (int64_t line = 0; line < lines.count; ++line) {
    auto key = [&](int64_t position) {
      return keys[lines.pointOf(line, position, lines.extent)];
    };
    std::iota(order.begin(), order.end(), 0);
    auto isBefore = [&](int64_t a, int64_t b) {
      return primitive.descending ? isLess(keyType, key(b), key(a))
                                  : isLess(keyType, key(a), key(b));
    };
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return isBefore(a, b) || (a < b && !isBefore(b, a));
    });
    for (int64_t i = 0; i < length; ++i) {
      Slot slot;
      slot.integer = order[i];
      store(type.element, slot,
            result.data() + lines.pointOf(line, i, length) * sizeof(int64_t));
    }
  }
  return {};
}

} // namespace lockstitch::evaluation
