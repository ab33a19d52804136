// The time that one launch takes, from its shape and the bytes that it moves.
// Only ratios are claimed: it ranks schedules.
#ifndef LOCKSTITCH_COST_MODEL_ESTIMATE_H
#define LOCKSTITCH_COST_MODEL_ESTIMATE_H

#include "cost_model/device.h"
#include "cost_model/occupancy.h"

namespace lockstitch::cost {

/// What the estimate is made from.
struct KernelShape {
  int64_t blocks = 0; // of the grid
  BlockResources block;
  int64_t bytesRead = 0,
          bytesWritten = 0;         // through device memory, whole launch
  int64_t vectorBytes = 4;          // of one load of one thread
  int64_t independentLoads = 1;     // that a thread has under way at once
  double instructionsPerThread = 0; // 0: not known, then issue does not limit
  bool operator==(const KernelShape &) const = default;
};

struct Estimate {
  enum class Bound { Memory, Latency, Issue, Impossible };
  double microseconds = 0; // launch + the largest of the next three
  double memoryMicroseconds = 0, latencyMicroseconds = 0, issueMicroseconds = 0;
  Bound bound = Bound::Impossible;
  Occupancy occupancy;
  double waves = 0;    // blocks / (blocks that the whole device holds)
  int64_t smsBusy = 0; // in the first wave
  int64_t bytesInFlightPerSm =
      0; // loads under way on a busy multiprocessor, first wave
  bool operator==(const Estimate &) const = default;
};

/// "memory", "latency", "issue", "impossible".
std::string_view name(Estimate::Bound bound);

/// A kernel without blocks costs its launch. One that does not fit the device
/// is Impossible, with infinite time.
Estimate estimate(const Device &device, const KernelShape &kernel);

} // namespace lockstitch::cost

#endif // LOCKSTITCH_COST_MODEL_ESTIMATE_H
