// The loader wants a path. An anonymous memory file has one as long as its
// descriptor is open: /proc/PID/fd/N, with the process's number instead of
// `self`, so that a debugger that is attached finds it too. The descriptor
// stays open for another reason also: the loader recognises objects by path,
// and would take the next object behind the same number for this one.
#include "runtime/device/host/shared_object.h"

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lockstitch {
namespace {

bool writeAll(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t count = write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return false;
    bytes = bytes.subspan(count);
  }
  return true;
}

std::string problem(const std::string &what) {
  return what + ": " + std::strerror(errno);
}

/// FNV-1a: the name only has to differ between different objects.
uint64_t hash(std::span<const std::byte> bytes) {
  uint64_t value = 0xcbf29ce484222325;
  for (std::byte byte : bytes)
    value = (value ^ static_cast<uint8_t>(byte)) * 0x100000001b3;
  return value;
}

/// Writes the image under its hash, by way of a temporary name so that nobody
/// sees half a file.
Result<std::string> keepIn(const std::string &folder,
                           std::span<const std::byte> image) {
  char name[64];
  std::snprintf(name, sizeof name, "/lockstitch-%016" PRIx64 ".so",
                hash(image));
  std::string path = folder + name, temporary = path + ".XXXXXX";
  struct stat status;
  if (stat(path.c_str(), &status) == 0 &&
      static_cast<size_t>(status.st_size) == image.size())
    return path;
  int file = mkstemp(temporary.data());
  if (file < 0)
    return Error::refused("object folder " + folder,
                          problem("the object cannot be written"),
                          "name a folder that exists and can be written");
  bool written = writeAll(file, image) && fchmod(file, 0755) == 0;
  written = close(file) == 0 && written;
  if (!written || rename(temporary.c_str(), path.c_str()) != 0) {
    Error error = Error::refused("object folder " + folder,
                                 problem("the object cannot be written"),
                                 "free space there or name another folder");
    unlink(temporary.c_str());
    return error;
  }
  return path;
}

} // namespace

SharedObject::~SharedObject() {
  if (handle)
    dlclose(handle);
  if (file >= 0)
    close(file);
}

Result<std::unique_ptr<SharedObject>>
SharedObject::load(std::span<const std::byte> image,
                   const std::string &folder) {
  std::unique_ptr<SharedObject> object(new SharedObject);
  std::string path;
  if (folder.empty()) {
    object->file = memfd_create("lockstitch-kernels", MFD_CLOEXEC);
    if (object->file < 0 || !writeAll(object->file, image))
      return Error::device("host code",
                           problem("no anonymous memory file for it"),
                           "set an object folder");
    path = "/proc/" + std::to_string(getpid()) + "/fd/" +
           std::to_string(object->file);
  } else {
    Result<std::string> kept = keepIn(folder, image);
    if (!kept.ok())
      return kept.error();
    path = *kept;
  }
  object->handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!object->handle) {
    const char *reason = dlerror();
    return Error::refused("host code",
                          std::string("the shared object cannot be loaded: ") +
                              (reason ? reason : "unknown"),
                          "compile the model again");
  }
  return object;
}

void *SharedObject::find(const std::string &symbol) const {
  return dlsym(handle, symbol.c_str());
}

} // namespace lockstitch
