// Walks the fields of a Protobuf message in memory. The wire format itself
// (tags, varints, fixed-width values) is read by Protobuf's coded stream; this
// class adds what an ONNX file of any size needs: 64-bit lengths, places
// instead of copies for byte fields, and lengths that are checked against the
// enclosing message.
#ifndef LOCKSTITCH_FRONTENDS_ONNX_WIRE_H
#define LOCKSTITCH_FRONTENDS_ONNX_WIRE_H

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lockstitch::onnx {

using Bytes = std::span<const uint8_t>;

/// What went wrong first while a file was walked; shared by all readers of the
/// file.
struct WireError {
  const uint8_t *fileBegin = nullptr;
  const uint8_t *fileEnd = nullptr;
  std::string message;    // empty while all is well
  bool truncated = false; // a field ran past the end of the *file*
  bool failed() const { return !message.empty(); }
  void set(const uint8_t *place, std::string reason);
};

/// One field of a message.
struct WireField {
  enum class Type : uint8_t {
    Varint = 0,
    Fixed64 = 1,
    Length = 2,
    Fixed32 = 5
  };
  uint32_t number = 0;
  Type type = Type::Varint;
  uint64_t value = 0; // Varint, Fixed64, Fixed32
  Bytes bytes;        // Length: its place in the file

  int64_t asInt() const { return static_cast<int64_t>(value); }
  float asFloat() const;
  double asDouble() const;
  std::string asString() const {
    return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
  }
};

class WireReader {
public:
  WireReader(Bytes message, WireError &error)
      : place(message.data()), end(place + message.size()), error(error) {}
  /// Reads the next field; false at the end of the message and after an error.
  bool next(WireField &field);

private:
  const uint8_t *place, *end;
  WireError &error;
};

/// Appends the elements of a repeated varint field, packed or not.
void appendVarints(const WireField &field, std::vector<int64_t> &to,
                   WireError &error);
/// The same for fixed-width fields: appends the raw little-endian bytes of the
/// elements, each `width` (4 or 8) bytes.
void appendFixed(const WireField &field, unsigned width,
                 std::vector<uint8_t> &to, WireError &error);

} // namespace lockstitch::onnx

#endif // LOCKSTITCH_FRONTENDS_ONNX_WIRE_H
