// The element types of tensors, as ONNX knows them. They stand beside MLIR's
// types, which are signless: uint8 is not int8.
#ifndef LOCKSTITCH_RUNTIME_PROGRAM_ELEMENT_TYPE_H
#define LOCKSTITCH_RUNTIME_PROGRAM_ELEMENT_TYPE_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace lockstitch {

/// Element type of a tensor. Bool is one byte in memory, 0 or 1. The values are
/// part of the artifact format: add only at the end.
enum class ElementType : uint8_t {
  Bool = 0,
  I8 = 1,
  U8 = 2,
  I16 = 3,
  U16 = 4,
  I32 = 5,
  U32 = 6,
  I64 = 7,
  U64 = 8,
  F16 = 9,
  BF16 = 10,
  F32 = 11,
  F64 = 12,
};

inline constexpr int kNumElementTypes = 13;

/// Size of one element in memory, in bytes.
size_t byteSize(ElementType type);

/// Width of the value in bits: 1 for Bool, else 8 * byteSize.
unsigned bitWidth(ElementType type);

/// Name as in the command line's output: "f32", "bf16", "u8", "bool", ...
std::string_view name(ElementType type);

/// The reverse of name(); nothing when there is no such type.
std::optional<ElementType> parseElementType(std::string_view name);

bool isFloat(ElementType type);
bool isSignedInteger(ElementType type);
bool isUnsignedInteger(ElementType type);
/// Signed or unsigned; Bool is not an integer.
bool isInteger(ElementType type);

/// The type in which arithmetic on `type` is done: f32 for f16 and bf16, else
/// the type itself.
ElementType computeType(ElementType type);

} // namespace lockstitch

#endif // LOCKSTITCH_RUNTIME_PROGRAM_ELEMENT_TYPE_H
