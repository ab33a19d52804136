#include "frontends/onnx/model.h"

namespace lockstitch::onnx {

std::optional<ElementType> elementType(int32_t dataType) {
  switch (dataType) {
  case kFloat:
    return ElementType::F32;
  case kUInt8:
    return ElementType::U8;
  case kInt8:
    return ElementType::I8;
  case kUInt16:
    return ElementType::U16;
  case kInt16:
    return ElementType::I16;
  case kInt32:
    return ElementType::I32;
  case kInt64:
    return ElementType::I64;
  case kBool:
    return ElementType::Bool;
  case kFloat16:
    return ElementType::F16;
  case kDouble:
    return ElementType::F64;
  case kUInt32:
    return ElementType::U32;
  case kUInt64:
    return ElementType::U64;
  case kBFloat16:
    return ElementType::BF16;
  default:
    return std::nullopt;
  }
}

int32_t dataType(ElementType type) {
  switch (type) {
  case ElementType::Bool:
    return kBool;
  case ElementType::I8:
    return kInt8;
  case ElementType::U8:
    return kUInt8;
  case ElementType::I16:
    return kInt16;
  case ElementType::U16:
    return kUInt16;
  case ElementType::I32:
    return kInt32;
  case ElementType::U32:
    return kUInt32;
  case ElementType::I64:
    return kInt64;
  case ElementType::U64:
    return kUInt64;
  case ElementType::F16:
    return kFloat16;
  case ElementType::BF16:
    return kBFloat16;
  case ElementType::F32:
    return kFloat;
  case ElementType::F64:
    return kDouble;
  }
  return kUndefined;
}

std::string dataTypeName(int32_t dataType) {
  if (std::optional<ElementType> element = elementType(dataType))
    return std::string(lockstitch::name(*element));
  switch (dataType) {
  case 0:
    return "undefined";
  case 8:
    return "string";
  case 14:
    return "complex64";
  case 15:
    return "complex128";
  case 17:
    return "float8e4m3fn";
  case 18:
    return "float8e4m3fnuz";
  case 19:
    return "float8e5m2";
  case 20:
    return "float8e5m2fnuz";
  case 21:
    return "uint4";
  case 22:
    return "int4";
  case 23:
    return "float4e2m1";
  case 24:
    return "float8e8m0";
  case 25:
    return "uint2";
  case 26:
    return "int2";
  default:
    return "type " + std::to_string(dataType);
  }
}

std::string canonicalDomain(std::string domain) {
  return domain == "ai.onnx" ? std::string() : domain;
}

const Attribute *Node::attribute(std::string_view name) const {
  for (const Attribute &attribute : attributes)
    if (attribute.name == name)
      return &attribute;
  return nullptr;
}

} // namespace lockstitch::onnx
