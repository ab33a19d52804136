// The bytes of a file, for reading: how models, weights and artifacts are
// opened.
//
// A file of up to kCopiedBytes is copied, a larger one mapped: pages are then
// read from disk when they are touched. Whoever truncates a mapped file in place
// turns a later touch into SIGBUS; nothing in user space can rule that out. So
// that a program can at least say what happened, mappedFile() tells a signal
// handler which file an address belongs to, and isIntact() tells before a large
// read whether the file still has its size.
#ifndef LOCKSTITCH_RUNTIME_PROGRAM_FILE_BYTES_H
#define LOCKSTITCH_RUNTIME_PROGRAM_FILE_BYTES_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace lockstitch {

class FileBytes {
public:
  static constexpr size_t kCopiedBytes = 256 * 1024;

  enum class Problem : uint8_t {
    None,
    NoSuchFile,
    CannotOpen,    // `code` is errno
    CannotExamine, // `code` is errno
    Directory,
    NotRegular,
    Empty,
    CannotMap, // or read; `code` is errno
  };
  struct Opened {
    std::shared_ptr<const FileBytes> file; // null if there is a problem
    Problem problem = Problem::None;
    int code = 0;
  };
  static Opened open(const std::string &path);

  ~FileBytes();
  FileBytes(const FileBytes &) = delete;
  FileBytes &operator=(const FileBytes &) = delete;

  /// 64-byte aligned at the begin.
  std::span<const std::byte> bytes() const { return {data, size}; }
  const std::string &path() const { return name; }
  /// Whether the file, if it is mapped, still has all its bytes.
  bool isIntact() const;

private:
  FileBytes() = default;
  std::string name;
  const std::byte *data = nullptr;
  size_t size = 0;
  bool isMapped = false;
  int descriptor = -1; // mapped files
  int slot = -1;       // of the table for mappedFile()
};

/// Where in a file bytes in memory come from.
struct FilePlace {
  std::string path;
  uint64_t fileBytes = 0, offset = 0;
};
/// Of bytes that an open FileBytes holds; nothing for all others.
std::optional<FilePlace> findInFiles(std::span<const std::byte> bytes);

/// Path of the mapped file that an address lies in, or null. May be called in a
/// signal handler; the text lives as long as the mapping.
const char *mappedFile(const void *address) noexcept;

} // namespace lockstitch

#endif // LOCKSTITCH_RUNTIME_PROGRAM_FILE_BYTES_H
