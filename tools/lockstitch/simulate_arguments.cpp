#include "tools/lockstitch/simulate_arguments.h"

#include "runtime/program/float16.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>

namespace lockstitch::tool {
namespace {

Error refuseValue(const std::string &text, ElementType type,
                  const std::string &where) {
  return Error::refused(where,
                        "'" + text + "' is not a value of " +
                            std::string(lockstitch::name(type)),
                        "give TYPE=VALUE, for example i32=7 or f32=0.5");
}

template <typename T> std::vector<uint8_t> bytesOfValue(T value) {
  std::vector<uint8_t> bytes(sizeof(T));
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

template <typename T>
Result<std::vector<uint8_t>> parseIntegerAs(const std::string &text,
                                            ElementType type,
                                            const std::string &where) {
  T value = 0;
  auto [end, code] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size())
    return refuseValue(text, type, where);
  return bytesOfValue(value);
}

Result<std::vector<uint8_t>> parseFloat(const std::string &text,
                                        ElementType type,
                                        const std::string &where) {
  char *end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != 0 ||
      std::isspace(static_cast<unsigned char>(text[0])))
    return refuseValue(text, type, where);
  switch (type) {
  case ElementType::F16:
    return bytesOfValue(doubleToHalf(value));
  case ElementType::BF16:
    return bytesOfValue(doubleToBFloat16(value));
  case ElementType::F32:
    return bytesOfValue(std::strtof(text.c_str(), nullptr)); // rounded once
  default:
    return bytesOfValue(value);
  }
}

Result<std::vector<uint8_t>> parseScalar(const std::string &text,
                                         ElementType type,
                                         const std::string &where) {
  switch (type) {
  case ElementType::Bool:
    if (text == "0" || text == "false")
      return bytesOfValue(uint8_t(0));
    if (text == "1" || text == "true")
      return bytesOfValue(uint8_t(1));
    return refuseValue(text, type, where);
  case ElementType::I8:
    return parseIntegerAs<int8_t>(text, type, where);
  case ElementType::U8:
    return parseIntegerAs<uint8_t>(text, type, where);
  case ElementType::I16:
    return parseIntegerAs<int16_t>(text, type, where);
  case ElementType::U16:
    return parseIntegerAs<uint16_t>(text, type, where);
  case ElementType::I32:
    return parseIntegerAs<int32_t>(text, type, where);
  case ElementType::U32:
    return parseIntegerAs<uint32_t>(text, type, where);
  case ElementType::I64:
    return parseIntegerAs<int64_t>(text, type, where);
  case ElementType::U64:
    return parseIntegerAs<uint64_t>(text, type, where);
  default:
    return parseFloat(text, type, where);
  }
}

Result<KernelArgumentText> parseBuffer(const std::string &text, size_t bracket,
                                       ElementType type,
                                       const std::string &where) {
  auto refuse = [&](const std::string &reason) {
    return Error::refused(where, "'" + text + "' " + reason,
                          "give TYPE[ELEMENTS], for example f32[4096]");
  };
  if (text.back() != ']')
    return refuse("is not a buffer");
  BufferArgument buffer;
  buffer.type = type;
  std::string inside = text.substr(bracket + 1, text.size() - bracket - 2);
  size_t at = 0;
  while (at <= inside.size()) {
    size_t end = std::min(inside.find_first_of(",x", at), inside.size());
    int64_t extent = 0;
    auto [stop, code] =
        std::from_chars(inside.data() + at, inside.data() + end, extent);
    if (code != std::errc() || stop != inside.data() + end || extent < 0)
      return refuse("is not a buffer");
    buffer.shape.push_back(extent);
    at = end + 1;
  }
  if (bytesOf(type, buffer.shape) < 0)
    return refuse("is too large");
  return KernelArgumentText(buffer);
}

} // namespace

Result<KernelArgumentText> parseKernelArgument(const std::string &text,
                                               const std::string &where) {
  size_t at = text.find_first_of("[=");
  if (at != std::string::npos)
    if (std::optional<ElementType> type =
            parseElementType(text.substr(0, at))) {
      if (text[at] == '[')
        return parseBuffer(text, at, *type, where);
      Result<std::vector<uint8_t>> bytes =
          parseScalar(text.substr(at + 1), *type, where);
      if (!bytes.ok())
        return bytes.error();
      return KernelArgumentText(ScalarArgument{*type, std::move(*bytes)});
    }
  if (text.empty())
    return Error::refused(where, "is empty",
                          "give FILE.npy, TYPE[ELEMENTS] or TYPE=VALUE");
  return KernelArgumentText(FileArgument{text});
}

} // namespace lockstitch::tool
