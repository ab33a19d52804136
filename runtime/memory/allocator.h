// Memory of the host device: the caller's allocator or our own, under a cap
// that the caller sets.
#ifndef LOCKSTITCH_RUNTIME_MEMORY_ALLOCATOR_H
#define LOCKSTITCH_RUNTIME_MEMORY_ALLOCATOR_H

#include "runtime/program/status.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace lockstitch {

/// Where memory comes from. A server hands in its own. Called from any thread.
class Allocator {
public:
  virtual ~Allocator();
  /// `bytes` > 0 bytes at a multiple of `alignment` (a power of two), or null
  /// when there is no memory. Not initialised.
  virtual void *allocate(int64_t bytes, size_t alignment) = 0;
  /// `bytes` as they were asked for.
  virtual void deallocate(void *memory, int64_t bytes) = 0;
};

/// The C library's allocator.
std::shared_ptr<Allocator> systemAllocator();

/// Alignment of all that a device allocates: the arena's, so that offsets keep
/// their alignment.
inline constexpr size_t kMemoryAlignment = 256;

class MemoryBudget;

/// An allocation; returns to its allocator and its budget with the last owner.
/// `bytes` may be 0 (then `address` is a valid pointer that must not be read).
class Memory {
public:
  Memory() = default;
  Memory(Memory &&other) noexcept { *this = std::move(other); }
  Memory &operator=(Memory &&other) noexcept;
  ~Memory();
  std::byte *address() const { return begin; }
  int64_t bytes() const { return size; }

private:
  friend class MemoryBudget;
  std::byte *begin = nullptr;
  int64_t size = 0, taken = 0;
  std::shared_ptr<MemoryBudget> budget;
};

/// Counts what is allocated and refuses what goes beyond the cap. Thread-safe.
class MemoryBudget : public std::enable_shared_from_this<MemoryBudget> {
public:
  /// `cap` in bytes, 0 for none; `allocator` null for the system's.
  static std::shared_ptr<MemoryBudget>
  create(int64_t cap, std::shared_ptr<Allocator> allocator);

  /// At least `bytes` bytes, kMemoryAlignment-aligned, not initialised. `what`
  /// names the use in the message ("the arena"). Errors (DeviceFailed): beyond
  /// the cap, out of memory, a negative size.
  Result<Memory> allocate(int64_t bytes, std::string_view what);
  int64_t inUse() const { return used.load(); }
  int64_t peak() const { return most.load(); }
  int64_t cap() const { return limit; }

private:
  friend class Memory;
  MemoryBudget(int64_t cap, std::shared_ptr<Allocator> allocator);
  int64_t limit;
  std::shared_ptr<Allocator> allocator;
  std::atomic<int64_t> used{0}, most{0};
};

} // namespace lockstitch

#endif // LOCKSTITCH_RUNTIME_MEMORY_ALLOCATOR_H
