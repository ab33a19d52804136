// KernelSet: the distinct kernels of one target. Equal stage programs under equal schedules are one kernel, generated once:
// twelve equal encoder layers cost one.
#ifndef LOCKSTITCH_COMPILER_DRIVER_KERNEL_SET_H
#define LOCKSTITCH_COMPILER_DRIVER_KERNEL_SET_H

#include "compiler/schedule/choose_schedule.h"

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace lockstitch {

struct DistinctKernel {
  StageProgram program; // its name is the symbol; its arguments name no values
  KernelSchedule schedule;
  uint64_t hash = 0;
  ScheduleCandidate chosen;                 // the schedule with its score
  std::vector<ScheduleCandidate> runnersUp; // what else it might have been
};

class KernelSet {
public:
  /// Index of the kernel equal to the chosen one, added when new. `label` goes into the symbol of a new one.
  uint32_t add(ScheduleChoice choice, const std::string &label);
  const std::vector<DistinctKernel> &kernels() const { return distinct; }

private:
  std::vector<DistinctKernel> distinct;
  std::unordered_multimap<uint64_t, uint32_t> byHash;
};

} // namespace lockstitch

#endif // LOCKSTITCH_COMPILER_DRIVER_KERNEL_SET_H
