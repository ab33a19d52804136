// The clock of run statistics.
#ifndef LOCKSTITCH_RUNTIME_SESSION_CLOCK_H
#define LOCKSTITCH_RUNTIME_SESSION_CLOCK_H

#include <chrono>

namespace lockstitch {

using Clock = std::chrono::steady_clock;

inline double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

} // namespace lockstitch

#endif // LOCKSTITCH_RUNTIME_SESSION_CLOCK_H
