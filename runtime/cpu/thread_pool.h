// The one pool of host threads of a session: kernels and library calls both
// work on it, so that never more threads are at work than the user allowed.
#ifndef LOCKSTITCH_RUNTIME_CPU_THREAD_POOL_H
#define LOCKSTITCH_RUNTIME_CPU_THREAD_POOL_H

#include <cstdint>
#include <functional>
#include <memory>

namespace lockstitch {

class ThreadPool {
public:
  /// `threads` at work at once, the caller's included; 0: as many as this
  /// process may run on.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  int threads() const { return count; }

  /// Calls body(begin, end, slot) for ranges that cover [0, items), each of at
  /// least `floor` items (but the last), and waits. `slot` in [0, threads()) is
  /// distinct for calls that overlap in time *within one parallelFor*: index
  /// scratch memory of the caller's with it. With one thread, or not more than
  /// `floor` items, body(0, items, 0) is called right here. `body` must not
  /// throw and must not call parallelFor.
  void
  parallelFor(int64_t items, int64_t floor,
              const std::function<void(int64_t, int64_t, int)> &body) const;

private:
  int count;
  struct Arena;
  std::unique_ptr<Arena> arena; // null with one thread
};

/// Cores that this process may run on.
int availableCores();

} // namespace lockstitch

#endif // LOCKSTITCH_RUNTIME_CPU_THREAD_POOL_H
