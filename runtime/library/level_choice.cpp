// Chooses the build of level_kernels.cpp that this CPU runs.
#include "runtime/cpu/cpu_features.h"
#include "runtime/library/level_kernels.h"

#include <algorithm>

namespace lockstitch::library {

extern const LevelKernels kLevelKernels_baseline;
#if defined(LOCKSTITCH_X86_LEVELS)
extern const LevelKernels kLevelKernels_v2, kLevelKernels_v3, kLevelKernels_v4;
#endif

const LevelKernels &levelKernels(int level) {
#if defined(LOCKSTITCH_X86_LEVELS)
  static const int mine = CpuFeatures::host().x86Level();
  switch (std::min(level, mine)) {
  case 4:
    return kLevelKernels_v4;
  case 3:
    return kLevelKernels_v3;
  case 2:
    return kLevelKernels_v2;
  }
#endif
  return kLevelKernels_baseline;
}

} // namespace lockstitch::library
