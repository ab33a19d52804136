// Shapes are constants: these nodes fold.
#include "frontends/onnx/node_context.h"
#include "frontends/onnx/rules.h"

#include <algorithm>

namespace lockstitch::onnx {
namespace {

void shape(NodeContext &c) {
  Extents extents = c.extents(0);
  int64_t rank = c.rank(0), start = 0, end = rank;
  if (c.opset >= 15) {
    start = c.attrInt("start", 0);
    end = c.attrInt("end", rank);
  }
  auto clamp = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  start = clamp(start), end = std::max(clamp(end), start);
  std::vector<int64_t> values(extents.begin() + start, extents.begin() + end);
  c.setOutput(
      0, c.graph.constantInts(values, {static_cast<int64_t>(values.size())}));
}

void size(NodeContext &c) {
  c.setOutput(0, c.graph.constantInts({c.type(0).elements()}, {}));
}

constexpr Rule kRules[] = {
    {"Shape", 1, kNewest, shape},
    {"Size", 1, kNewest, size},
};

} // namespace

std::span<const Rule> shapeRules() { return kRules; }

} // namespace lockstitch::onnx
