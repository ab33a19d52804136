#include "runtime/program/thread_start.h"

#include <atomic>

namespace lockstitch {
namespace {
std::atomic<void (*)()> threadStart{nullptr};
} // namespace

void setThreadStart(void (*start)()) { threadStart.store(start); }

void enterThread() {
  thread_local bool entered = false;
  if (entered)
    return;
  entered = true;
  if (void (*start)() = threadStart.load())
    start();
}

} // namespace lockstitch
