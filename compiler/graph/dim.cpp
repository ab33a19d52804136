#include "compiler/graph/dim.h"

namespace lockstitch {

uint32_t SymbolTable::getOrCreate(std::string_view name) {
  if (auto id = find(name))
    return *id;
  Symbol symbol;
  symbol.name = std::string(name);
  symbols.push_back(std::move(symbol));
  return static_cast<uint32_t>(symbols.size() - 1);
}

std::optional<uint32_t> SymbolTable::find(std::string_view name) const {
  for (size_t i = 0; i < symbols.size(); ++i)
    if (symbols[i].name == name)
      return static_cast<uint32_t>(i);
  return std::nullopt;
}

Dim SymbolTable::resolve(Dim dim) const {
  if (!dim.isConstant() && symbols[dim.symbol()].value)
    return Dim(*symbols[dim.symbol()].value);
  return dim;
}

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
