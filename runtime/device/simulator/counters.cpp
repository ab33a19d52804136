//===- counters.cpp - adding counters up ----------------------------------===//
#include "runtime/device/simulator/counters.h"

namespace lockstitch::simulator {

const char *name(InstructionClass kind) {
  static constexpr const char *Names[] = {
      "integer",    "logic",   "float32",   "float64", "half",   "special",
      "conversion", "control", "parameter", "global",  "shared", "local",
      "atomic",     "barrier", "shuffle",   "matrix"};
  static_assert(sizeof Names / sizeof *Names ==
                (size_t)InstructionClass::Count);
  return Names[(size_t)kind];
}

void Counters::add(const Counters &o, uint64_t times) {
  threadInstructions += o.threadInstructions * times;
  warpInstructions += o.warpInstructions * times;
  for (size_t i = 0; i < warpByClass.size(); ++i) {
    warpByClass[i] += o.warpByClass[i] * times;
    threadByClass[i] += o.threadByClass[i] * times;
  }
  divergentBranches += o.divergentBranches * times;
  branches += o.branches * times;
  globalLoads += o.globalLoads * times;
  globalStores += o.globalStores * times;
  sectorsRead += o.sectorsRead * times;
  sectorsWritten += o.sectorsWritten * times;
  bytesRequestedRead += o.bytesRequestedRead * times;
  bytesRequestedWritten += o.bytesRequestedWritten * times;
  uniqueBytesRead += o.uniqueBytesRead * times;
  uniqueBytesWritten += o.uniqueBytesWritten * times;
  localSectorsRead += o.localSectorsRead * times;
  localSectorsWritten += o.localSectorsWritten * times;
  sharedLoads += o.sharedLoads * times;
  sharedStores += o.sharedStores * times;
  sharedWavefronts += o.sharedWavefronts * times;
  sharedConflicts += o.sharedConflicts * times;
  barriers += o.barriers * times;
  shuffles += o.shuffles * times;
  atomics += o.atomics * times;
  atomicCollisions += o.atomicCollisions * times;
}

} // namespace lockstitch::simulator
