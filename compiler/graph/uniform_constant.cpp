#include "compiler/graph/uniform_constant.h"

#include "compiler/graph/evaluate_scalar.h"

#include <cstring>

namespace lockstitch {

std::optional<ScalarConstant> uniformValue(const Value &value) {
  if (value.kind != Value::Kind::Constant || value.type.elements() == 0)
    return std::nullopt;
  ElementType type = value.type.element;
  size_t size = byteSize(type);
  const std::byte *data = value.constant.data;
  // Equal to its own tail: one pass, and weights differ within a few bytes.
  if (value.constant.bytes > size &&
      std::memcmp(data, data + size, value.constant.bytes - size) != 0)
    return std::nullopt;
  evaluation::Slot slot = evaluation::load(type, data);
  return isFloat(type) ? ScalarConstant::fromDouble(slot.real)
                       : ScalarConstant::fromInt(slot.integer);
}

} // namespace lockstitch
