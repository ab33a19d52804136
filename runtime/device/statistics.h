// What a run leaves behind for the report: times of every device, counters and
// findings of the simulator.
#ifndef LOCKSTITCH_RUNTIME_DEVICE_STATISTICS_H
#define LOCKSTITCH_RUNTIME_DEVICE_STATISTICS_H

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockstitch {

/// What one launch did, as the simulator counts it. Names and meaning are the
/// report's.
struct LaunchCounters {
  int64_t threadInstructions = 0, warpInstructions = 0;
  int64_t sectorsRead = 0, sectorsWritten = 0; // of 32 bytes
  int64_t sharedConflicts = 0; // wavefronts beyond the fewest possible
  int64_t barriers = 0, shuffles = 0, atomics = 0;
  bool operator==(const LaunchCounters &) const = default;
  LaunchCounters &operator+=(const LaunchCounters &other) {
    threadInstructions += other.threadInstructions;
    warpInstructions += other.warpInstructions;
    sectorsRead += other.sectorsRead;
    sectorsWritten += other.sectorsWritten;
    sharedConflicts += other.sharedConflicts;
    barriers += other.barriers;
    shuffles += other.shuffles;
    atomics += other.atomics;
    return *this;
  }
};

/// Something that a kernel must not do. Fields and kinds are the report's.
struct Finding {
  std::string kind, message;
  int64_t ptxLine = 0;
  std::string sourceFile;
  int64_t sourceLine = 0; // 0: unknown
  std::array<int64_t, 3> block{}, thread{};
  uint64_t address = 0;
  std::optional<int64_t> argument,
      offset; // of the kernel's argument it concerns; bytes from the argument's
              // begin
  std::string tensor;
  std::vector<std::string> nodes;
};

/// One step in one run; of a step in a loop, all its trips together.
struct StepStatistics {
  double microseconds = 0;
  std::optional<LaunchCounters> counters; // simulator only
  std::vector<Finding> findings;          // simulator only
};

struct RunStatistics {
  double seconds =
      0; // wall time of the whole run, copies at its borders included
  /// Beside TargetProgram::steps, as forEachStep() goes through them.
  std::vector<StepStatistics> steps;
};

} // namespace lockstitch

#endif // LOCKSTITCH_RUNTIME_DEVICE_STATISTICS_H
