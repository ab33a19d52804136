// CPU time of this process, for the figures of a compilation.
#ifndef LOCKSTITCH_COMPILER_DRIVER_CPU_TIMER_H
#define LOCKSTITCH_COMPILER_DRIVER_CPU_TIMER_H

#include <ctime>

namespace lockstitch {

/// CPU seconds of the whole process, or of the calling thread.
inline double cpuSeconds(clockid_t clock = CLOCK_PROCESS_CPUTIME_ID) {
  timespec time;
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) +
         static_cast<double>(time.tv_nsec) * 1e-9;
}

/// Adds the CPU time of its life to `seconds`.
class CpuTimer {
public:
  explicit CpuTimer(double &seconds) : seconds(seconds), begin(cpuSeconds()) {}
  ~CpuTimer() { seconds += cpuSeconds() - begin; }

private:
  double &seconds;
  double begin;
};

} // namespace lockstitch

#endif // LOCKSTITCH_COMPILER_DRIVER_CPU_TIMER_H
