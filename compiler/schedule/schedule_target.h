// What planner and schedule must know of a target.
#ifndef LOCKSTITCH_COMPILER_SCHEDULE_SCHEDULE_TARGET_H
#define LOCKSTITCH_COMPILER_SCHEDULE_SCHEDULE_TARGET_H

#include "cost_model/device.h"

namespace lockstitch {

struct ScheduleTarget {
  bool isGpu = false;
  // GPU
  int sm = 90;
  int64_t multiprocessors = 132;
  int64_t maxThreadsPerBlock = 1024;
  int64_t sharedBytesPerBlock = 227 * 1024; // with opt-in
  // Host
  int64_t vectorBytes = 32;
  // Both
  const cost::Device *device = nullptr; // null: see deviceOf() in kernel_cost.h
};

} // namespace lockstitch

#endif // LOCKSTITCH_COMPILER_SCHEDULE_SCHEDULE_TARGET_H
