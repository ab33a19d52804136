#include "compiler/graph/dim.h"

namespace lockstitch {

int64_t numElements(const Shape &shape) {
  int64_t count = 1;
  for (const Dim &dim : shape)
    count *= dim.value();
  return count;
}

std::vector<int64_t> rowMajorStrides(const Shape &shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i].value();
  }
  return strides;
}

std::string toString(const Shape &shape) {
  if (shape.empty())
    return "scalar";
  std::string text;
  for (const Dim &dim : shape) {
    if (!text.empty())
      text += "x";
    text += dim.isConstant() ? std::to_string(dim.value()) : "?";
  }
  return text;
}

} // namespace lockstitch
