// CodeTarget: what differs between generating code for a CPU and for a GPU.
#ifndef LOCKSTITCH_COMPILER_DRIVER_CODE_TARGET_H
#define LOCKSTITCH_COMPILER_DRIVER_CODE_TARGET_H

#include "compiler/driver/compile.h"
#include "compiler/driver/kernel_set.h"

#include <memory>

namespace lockstitch {

/// What the schedule must know of the target named `name`; refused when there is no such target.
Result<ScheduleTarget> scheduleTargetOf(const std::string &name);

class CodeTarget {
public:
  /// `keepTexts`: this target's intermediate texts are wanted by options.emit.
  static Result<std::unique_ptr<CodeTarget>>
  create(const std::string &name, const CompileOptions &options,
         bool keepTexts);
  virtual ~CodeTarget() = default;

  virtual const ScheduleTarget &scheduleTarget() const = 0;
  /// Generates, links and (GPU) assembles every kernel; fills the program's target, kernels and code, the report's assembler
  /// and the compilation's times and texts.
  virtual Status generate(const KernelSet &kernels, TargetProgram &program,
                          TargetReport &report, Compilation &compilation) = 0;
  /// One per distinct kernel, after generate().
  virtual const std::vector<KernelReport> &kernelReports() const = 0;
};

} // namespace lockstitch

#endif // LOCKSTITCH_COMPILER_DRIVER_CODE_TARGET_H
