// A shared object out of a program, mapped into this process by the system's
// own loader, so that debuggers and profilers see it like any other.
#ifndef LOCKSTITCH_RUNTIME_DEVICE_HOST_SHARED_OBJECT_H
#define LOCKSTITCH_RUNTIME_DEVICE_HOST_SHARED_OBJECT_H

#include "runtime/program/status.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace lockstitch {

class SharedObject {
public:
  ~SharedObject();
  SharedObject(const SharedObject &) = delete;
  SharedObject &operator=(const SharedObject &) = delete;

  /// Loads `image`. With an empty `folder` it lies in an anonymous memory file
  /// of this process; else it is written to `folder`/lockstitch-HASH.so (if it
  /// is not there yet) and stays. Errors: refused (not a shared object that
  /// this system loads; a folder that cannot be written), device (no memory
  /// file).
  static Result<std::unique_ptr<SharedObject>>
  load(std::span<const std::byte> image, const std::string &folder);

  /// Address of a symbol, or null.
  void *find(const std::string &symbol) const;

private:
  SharedObject() = default;
  void *handle = nullptr;
  int file = -1;
};

} // namespace lockstitch

#endif // LOCKSTITCH_RUNTIME_DEVICE_HOST_SHARED_OBJECT_H
