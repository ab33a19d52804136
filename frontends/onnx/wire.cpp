#include "frontends/onnx/wire.h"

#include <bit>
#include <cstring>
#include <google/protobuf/io/coded_stream.h>

namespace lockstitch::onnx {

using google::protobuf::io::CodedInputStream;

void WireError::set(const uint8_t *place, std::string reason) {
  if (failed())
    return;
  message =
      "at byte " + std::to_string(place - fileBegin) + ": " + std::move(reason);
}

float WireField::asFloat() const {
  return std::bit_cast<float>(static_cast<uint32_t>(value));
}
double WireField::asDouble() const { return std::bit_cast<double>(value); }

bool WireReader::next(WireField &field) {
  if (place == end || error.failed())
    return false;
  // A tag and a scalar take at most 5 + 10 bytes, so that a stream over this
  // window, not over the whole message, reads them: Protobuf's positions are
  // 32-bit, a model's are not.
  constexpr int64_t kWindow = 16;
  CodedInputStream stream(
      place, static_cast<int>(std::min<int64_t>(end - place, kWindow)));
  uint32_t tag = stream.ReadTag();
  field.number = tag >> 3;
  bool ok = field.number != 0;
  if (!ok) {
    error.set(place, "there is no valid field here");
    return false;
  }
  field.bytes = {};
  field.value = 0;
  switch (tag & 7) {
  case 0:
    field.type = WireField::Type::Varint;
    ok = stream.ReadVarint64(&field.value);
    break;
  case 1: {
    field.type = WireField::Type::Fixed64;
    uint64_t value = 0;
    ok = stream.ReadLittleEndian64(&value);
    field.value = value;
    break;
  }
  case 2: {
    field.type = WireField::Type::Length;
    uint64_t length = 0;
    ok = stream.ReadVarint64(&length);
    if (!ok)
      break;
    const uint8_t *data = place + stream.CurrentPosition();
    if (length > static_cast<uint64_t>(end - data)) {
      error.truncated = end == error.fileEnd;
      error.set(place, "field " + std::to_string(field.number) + " is " +
                           std::to_string(length) + " bytes long, but only " +
                           std::to_string(end - data) + " are left");
      return false;
    }
    field.bytes = {data, static_cast<size_t>(length)};
    place = data + length;
    return true;
  }
  case 5: {
    field.type = WireField::Type::Fixed32;
    uint32_t value = 0;
    ok = stream.ReadLittleEndian32(&value);
    field.value = value;
    break;
  }
  default:
    error.set(place, "field " + std::to_string(field.number) +
                         " has wire type " + std::to_string(tag & 7) +
                         ", which no ONNX file uses");
    return false;
  }
  if (!ok) {
    error.truncated = end == error.fileEnd && end - place < kWindow;
    error.set(place, "field " + std::to_string(field.number) + " is cut off");
    return false;
  }
  place += stream.CurrentPosition();
  return true;
}

void appendVarints(const WireField &field, std::vector<int64_t> &to,
                   WireError &error) {
  if (field.type == WireField::Type::Varint) {
    to.push_back(field.asInt());
    return;
  }
  if (field.type != WireField::Type::Length || field.bytes.size() > INT32_MAX) {
    error.set(field.bytes.empty() ? error.fileBegin : field.bytes.data(),
              "field " + std::to_string(field.number) +
                  " should hold integers");
    return;
  }
  CodedInputStream stream(field.bytes.data(),
                          static_cast<int>(field.bytes.size()));
  while (stream.CurrentPosition() < static_cast<int>(field.bytes.size())) {
    uint64_t value;
    if (!stream.ReadVarint64(&value)) {
      error.set(field.bytes.data(), "a packed list of integers is damaged");
      return;
    }
    to.push_back(static_cast<int64_t>(value));
  }
}

void appendFixed(const WireField &field, unsigned width,
                 std::vector<uint8_t> &to, WireError &error) {
  WireField::Type single =
      width == 4 ? WireField::Type::Fixed32 : WireField::Type::Fixed64;
  if (field.type == single) {
    for (unsigned i = 0; i < width; ++i)
      to.push_back(static_cast<uint8_t>(field.value >> (8 * i)));
  } else if (field.type == WireField::Type::Length &&
             field.bytes.size() % width == 0) {
    to.insert(to.end(), field.bytes.begin(), field.bytes.end());
  } else {
    error.set(field.bytes.empty() ? error.fileBegin : field.bytes.data(),
              "field " + std::to_string(field.number) +
                  " should hold numbers of " + std::to_string(width) +
                  " bytes");
  }
}

} // namespace lockstitch::onnx
