// How many blocks of a kernel a multiprocessor holds at once.
#ifndef LOCKSTITCH_COST_MODEL_OCCUPANCY_H
#define LOCKSTITCH_COST_MODEL_OCCUPANCY_H

#include "cost_model/device.h"

namespace lockstitch::cost {

/// What a block asks for.
struct BlockResources {
  int64_t threads = 0;
  int64_t registersPerThread = 0;
  int64_t sharedBytes = 0; // static and dynamic
  bool operator==(const BlockResources &) const = default;
};

struct Occupancy {
  enum class Limit { Threads, Blocks, Registers, Shared, Impossible };
  int64_t blocksPerSm = 0; // 0: the block does not fit at all
  int64_t warpsPerSm = 0;
  double fraction = 0; // of the warps that a multiprocessor can hold
  Limit limit = Limit::Impossible; // what stops another block; of equal limits
                                   // the first in the order above
  bool operator==(const Occupancy &) const = default;
};

/// "threads", "blocks", "registers", "shared memory", "impossible".
std::string_view name(Occupancy::Limit limit);

/// As CUDA's occupancy calculator. Impossible: no threads or too many, more
/// registers per thread or shared memory per block than there are.
Occupancy occupancy(const Device &device, const BlockResources &block);

} // namespace lockstitch::cost

#endif // LOCKSTITCH_COST_MODEL_OCCUPANCY_H
