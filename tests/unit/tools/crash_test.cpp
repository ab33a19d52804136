// A stack that is exhausted on a thread of the pool: the handler has a stack of
// its own there too.
#include "runtime/cpu/thread_pool.h"
#include "tools/lockstitch/crash.h"

#include <gtest/gtest.h>

#include <atomic>

#include <unistd.h>

using namespace lockstitch;
using namespace lockstitch::tool;

namespace {

/// Deeper than any stack.
__attribute__((noinline)) int sink(volatile char *above, int depth) {
  volatile char here[4096];
  here[0] = static_cast<char>(depth);
  here[4095] = above[0];
  return depth == INT32_MAX ? here[0] : sink(here, depth + 1) + here[4095];
}

void exhaustThePool(int threads, bool onlyWorkers) {
  const char *arguments[] = {"lockstitch", "test"};
  installCrashHandler(2, arguments, "");
  ThreadPool pool(threads);
  pid_t caller = gettid();
  std::atomic<int> waiting = 0;
  pool.parallelFor(64, 1, [&](int64_t, int64_t, int) {
    if (onlyWorkers && gettid() == caller) {
      // Leaves the rest to the workers.
      for (++waiting; waiting < 1000; ++waiting)
        usleep(10000);
      return;
    }
    volatile char top = 0;
    sink(&top, 0);
  });
  finished();
  _exit(0);
}

TEST(CrashDeathTest, StackOfTheCaller) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(exhaustThePool(1, false), testing::ExitedWithCode(3),
              "internal error: lockstitch stopped: .*SIGSEGV");
}

TEST(CrashDeathTest, StackOfAThreadOfThePool) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(exhaustThePool(2, true), testing::ExitedWithCode(3),
              "internal error: lockstitch stopped: .*SIGSEGV");
}

} // namespace
