#include "runtime/program/element_type.h"

namespace lockstitch {
namespace {
struct Row {
  std::string_view name;
  uint8_t bytes;
};
constexpr Row kRows[kNumElementTypes] = {
    {"bool", 1}, {"i8", 1},  {"u8", 1},  {"i16", 2}, {"u16", 2},
    {"i32", 4},  {"u32", 4}, {"i64", 8}, {"u64", 8}, {"f16", 2},
    {"bf16", 2}, {"f32", 4}, {"f64", 8}};
} // namespace

size_t byteSize(ElementType type) {
  return kRows[static_cast<int>(type)].bytes;
}

unsigned bitWidth(ElementType type) {
  return type == ElementType::Bool ? 1 : 8 * byteSize(type);
}

std::string_view name(ElementType type) {
  return kRows[static_cast<int>(type)].name;
}

std::optional<ElementType> parseElementType(std::string_view name) {
  for (int i = 0; i < kNumElementTypes; ++i)
    if (kRows[i].name == name)
      return static_cast<ElementType>(i);
  return std::nullopt;
}

bool isFloat(ElementType type) { return type >= ElementType::F16; }

bool isSignedInteger(ElementType type) {
  return type == ElementType::I8 || type == ElementType::I16 ||
         type == ElementType::I32 || type == ElementType::I64;
}

bool isUnsignedInteger(ElementType type) {
  return type == ElementType::U8 || type == ElementType::U16 ||
         type == ElementType::U32 || type == ElementType::U64;
}

bool isInteger(ElementType type) {
  return isSignedInteger(type) || isUnsignedInteger(type);
}

ElementType computeType(ElementType type) {
  return type == ElementType::F16 || type == ElementType::BF16
             ? ElementType::F32
             : type;
}

} // namespace lockstitch
