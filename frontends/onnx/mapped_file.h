// A file mapped read-only into memory, shared by everything that points into
// it.
#ifndef LOCKSTITCH_FRONTENDS_ONNX_MAPPED_FILE_H
#define LOCKSTITCH_FRONTENDS_ONNX_MAPPED_FILE_H

#include "runtime/program/file_bytes.h"
#include "runtime/program/status.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace lockstitch::onnx {

/// The bytes of a file. Kept alive by a shared pointer; pages are read from
/// disk when they are touched.
class MappedFile {
public:
  /// Maps `path`. A missing file, a directory, an unreadable and an empty file
  /// each have a message of their own; `what` names the kind of file in it
  /// ("model", "tensor file" ...).
  static Result<std::shared_ptr<const MappedFile>>
  open(const std::string &path, const std::string &what);
  std::span<const uint8_t> bytes() const {
    return {reinterpret_cast<const uint8_t *>(file->bytes().data()),
            file->bytes().size()};
  }

private:
  explicit MappedFile(std::shared_ptr<const FileBytes> file)
      : file(std::move(file)) {}
  std::shared_ptr<const FileBytes> file;
};

} // namespace lockstitch::onnx

#endif // LOCKSTITCH_FRONTENDS_ONNX_MAPPED_FILE_H
