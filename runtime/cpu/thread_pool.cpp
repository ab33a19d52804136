// TBB behind one file. Ranges are made by hand instead of by TBB's partitioner:
// about four per thread, so that a slow core does not hold up the others, and
// never smaller than the floor below which a task costs more than it brings.
#include "runtime/cpu/thread_pool.h"

#include "runtime/program/thread_start.h"

#include <algorithm>
#include <atomic>
#include <sched.h>
#include <thread>

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

namespace lockstitch {
namespace {

// The thread sanitizer does not see how TBB's library, which is not built with
// it, orders threads. This says it: what the caller did before is before every
// piece, and every piece before what the caller does next.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LOCKSTITCH_TELL_SANITIZER 1
#endif
#endif
#ifdef LOCKSTITCH_TELL_SANITIZER
std::atomic<int> handedOut, handedBack;
void handOut() { handedOut.fetch_add(1, std::memory_order_release); }
void takeOver() { handedOut.load(std::memory_order_acquire); }
void handBack() { handedBack.fetch_add(1, std::memory_order_release); }
void takeBack() { handedBack.load(std::memory_order_acquire); }
#else
void handOut() {}
void takeOver() {}
void handBack() {}
void takeBack() {}
#endif

} // namespace

struct ThreadPool::Arena {
  // TBB makes as many workers as the machine has cores, whatever an arena asks
  // for; this lifts that when more are asked for.
  explicit Arena(int threads)
      : workers(
            tbb::global_control::max_allowed_parallelism,
            std::max<size_t>(tbb::global_control::active_value(
                                 tbb::global_control::max_allowed_parallelism),
                             threads)),
        arena(threads) {}
  tbb::global_control workers;
  tbb::task_arena arena;
};

ThreadPool::ThreadPool(int threads)
    : count(threads > 0 ? threads : availableCores()) {
  if (count > 1)
    arena = std::make_unique<Arena>(count);
}

ThreadPool::~ThreadPool() = default;

void ThreadPool::parallelFor(
    int64_t items, int64_t floor,
    const std::function<void(int64_t, int64_t, int)> &body) const {
  if (items <= 0)
    return;
  floor = std::max<int64_t>(floor, 1);
  if (!arena || items <= floor) {
    body(0, items, 0);
    return;
  }
  int64_t pieces = std::min<int64_t>(items / floor, int64_t{4} * count);
  auto boundary =
      [&](int64_t piece) { // items * piece / pieces without overflow
        return items / pieces * piece + std::min(piece, items % pieces);
      };
  handOut();
  arena->arena.execute([&] {
    tbb::parallel_for(
        int64_t{0}, pieces,
        [&](int64_t piece) {
          takeOver();
          enterThread();
          body(boundary(piece), boundary(piece + 1),
               tbb::this_task_arena::current_thread_index());
          handBack();
        },
        tbb::simple_partitioner());
  });
  takeBack();
}

int availableCores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

} // namespace lockstitch
