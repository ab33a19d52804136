#include "compiler/schedule/kernel_cost.h"

#include "compiler/schedule/memory_layout.h"

#include <algorithm>

namespace lockstitch {

const cost::Device &deviceOf(const ScheduleTarget &target) {
  if (target.device)
    return *target.device;
  const cost::Device *device = cost::findDevice(
      target.isGpu ? "sm_" + std::to_string(target.sm) : "host");
  if (!device)
    device = cost::findDevice("sm_90");
  return *device;
}

cost::KernelShape launchShape(const StageProgram &program,
                              const KernelSchedule &schedule, bool isGpu,
                              int64_t bytesRead, int64_t bytesWritten,
                              int64_t registers) {
  cost::KernelShape shape;
  shape.blocks = isGpu ? schedule.gridX : 1;
  shape.block.threads = isGpu ? static_cast<int64_t>(schedule.threadsPerRow) *
                                    schedule.rowsPerBlock
                              : 1;
  shape.block.registersPerThread = registers;
  shape.block.sharedBytes = isGpu ? layoutShared(program, schedule).bytes : 0;
  shape.bytesRead = bytesRead;
  shape.bytesWritten = bytesWritten;
  int64_t elementBytes = 1, steps = 1;
  for (const StageArgument &argument : program.arguments)
    elementBytes = std::max<int64_t>(elementBytes, byteSize(argument.type));
  int64_t perStep =
      static_cast<int64_t>(schedule.vectorWidth) * schedule.threadsPerRow;
  for (const Stage &stage : program.stages)
    steps = std::max(steps, (stage.columns + perStep - 1) / perStep);
  shape.vectorBytes =
      std::min<int64_t>(16, elementBytes * schedule.vectorWidth);
  shape.independentLoads = schedule.unrollColumns ? steps : 1;
  return shape;
}

} // namespace lockstitch
