// How a schedule was judged, for reports.
#ifndef LOCKSTITCH_COMPILER_DRIVER_SCHEDULE_REPORT_H
#define LOCKSTITCH_COMPILER_DRIVER_SCHEDULE_REPORT_H

#include <cstdint>
#include <string>

namespace lockstitch {

/// A schedule that was looked at, with the cost model's estimate of one launch.
struct ScheduleReport {
  std::string
      text; // as --emit schedule prints it; ends in ", tiles recomputed" where they are
  bool isRule = false;
  double microseconds = 0, memoryMicroseconds = 0, latencyMicroseconds = 0,
         issueMicroseconds = 0;
  std::string bound; // memory, latency, issue
  int64_t bytesRead = 0, bytesWritten = 0, registers = 0;
  double instructionsPerThread = 0;
  std::string lost; // why it was not taken; "" for the chosen one
};

} // namespace lockstitch

#endif // LOCKSTITCH_COMPILER_DRIVER_SCHEDULE_REPORT_H
