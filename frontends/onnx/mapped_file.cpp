#include "frontends/onnx/mapped_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lockstitch::onnx {

Result<std::shared_ptr<const MappedFile>>
MappedFile::open(const std::string &path, const std::string &what) {
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    if (errno == ENOENT || errno == ENOTDIR)
      return Error::refused(path, "no such file", "give the path of a " + what);
    return Error::refused(
        path, std::string("the file cannot be opened: ") + std::strerror(errno),
        "check its permissions");
  }
  struct stat info;
  if (fstat(file, &info) != 0) {
    int code = errno;
    close(file);
    return Error::refused(path, std::string("the file cannot be examined: ") +
                                    std::strerror(code));
  }
  if (S_ISDIR(info.st_mode)) {
    close(file);
    return Error::refused(path, "this is a directory, not a file",
                          "give the path of a " + what);
  }
  if (!S_ISREG(info.st_mode)) {
    close(file);
    return Error::refused(path,
                          "this is not a regular file, so it cannot be mapped",
                          "copy it into a file first");
  }
  if (info.st_size == 0) {
    close(file);
    return Error::refused(
        path, "the file is empty",
        "it may not have been downloaded or written completely");
  }
  size_t size = static_cast<size_t>(info.st_size);
  void *data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  int code = errno;
  close(file);
  if (data == MAP_FAILED)
    return Error::refused(
        path, std::string("the file cannot be mapped into memory: ") +
                  std::strerror(code));
  return std::shared_ptr<const MappedFile>(
      new MappedFile(static_cast<const uint8_t *>(data), size));
}

MappedFile::~MappedFile() { munmap(const_cast<uint8_t *>(data), size); }

} // namespace lockstitch::onnx
