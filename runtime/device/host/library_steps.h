// The library calls of a target, prepared for the host library. Used by the
// host device and by the simulator's, whose library calls run on the host too.
#ifndef LOCKSTITCH_RUNTIME_DEVICE_HOST_LIBRARY_STEPS_H
#define LOCKSTITCH_RUNTIME_DEVICE_HOST_LIBRARY_STEPS_H

#include "runtime/library/library.h"
#include "runtime/program/program.h"
#include "runtime/program/status.h"

#include <map>
#include <memory>
#include <span>

namespace lockstitch {

class LibrarySteps {
public:
  /// Prepares every library step of prologue and steps; `target` must outlive
  /// this.
  Status prepare(const TargetProgram &target) {
    Status failed;
    for (const std::vector<Step> *list : {&target.prologue, &target.steps})
      forEachStep(*list, [&](const Step &step, int64_t) {
        if (step.kind != Step::Kind::Library || !failed.ok())
          return;
        Result<std::shared_ptr<const PreparedCall>> call =
            prepareLibraryCall(step.library, step.name);
        if (call.ok())
          calls[&step] = *call;
        else
          failed = call.error();
      });
    return failed;
  }

  int64_t scratchBytes(int threads) const {
    int64_t most = 0;
    for (const auto &[step, call] : calls)
      most = std::max(most, call->scratchBytes(threads));
    return most;
  }

  Status run(const Step &step, std::span<std::byte *const> args,
             std::byte *scratch, const ThreadPool &pool) const {
    auto call = calls.find(&step);
    if (call == calls.end())
      return Error::internal("library call " + step.name,
                             "is not a step of the loaded program");
    call->second->run(args, scratch, pool);
    return {};
  }

private:
  std::map<const Step *, std::shared_ptr<const PreparedCall>> calls;
};

} // namespace lockstitch

#endif // LOCKSTITCH_RUNTIME_DEVICE_HOST_LIBRARY_STEPS_H
