// The steps of a program, executed in order on a queue.
#ifndef LOCKSTITCH_RUNTIME_SESSION_RUN_STEPS_H
#define LOCKSTITCH_RUNTIME_SESSION_RUN_STEPS_H

#include "runtime/device/device.h"
#include "runtime/program/program.h"

#include <span>
#include <vector>

namespace lockstitch {

/// First address of each memory, as steps refer to it.
struct Bindings {
  std::vector<std::byte *> inputs, outputs, constants;
  std::byte *arena = nullptr, *workspace = nullptr;

  /// `trips`: the current one of each loop around the step, from outside.
  std::byte *resolve(const BufferRef &ref,
                     std::span<const int64_t> trips = {}) const {
    int64_t moved = 0;
    for (const TripStride &stride : ref.trips)
      moved += stride.at(trips[stride.depth]);
    return base(ref) + moved;
  }

private:
  std::byte *base(const BufferRef &ref) const {
    switch (ref.space) {
    case BufferRef::Space::Input:
      return inputs[ref.index] + ref.offset.value();
    case BufferRef::Space::Output:
      return outputs[ref.index] + ref.offset.value();
    case BufferRef::Space::Constant:
      return constants[ref.index] + ref.offset.value();
    case BufferRef::Space::Arena:
      return arena + ref.offset.value();
    case BufferRef::Space::Workspace:
      return workspace + ref.offset.value();
    }
    return nullptr;
  }
};

/// Executes `steps`, loops as often as they make trips, all of them on the queue; nobody waits here. They are the loaded program's, which the module
/// knows; `sized` are beside them, of `kernels`, with numbers for sizes. The statistics are one entry per step, a loop's
/// followed by those of its own steps, summed over the trips. Errors: the device's.
Status runSteps(const std::vector<Step> &steps, const std::vector<Step> &sized,
                const std::vector<KernelCode> &kernels,
                const Bindings &bindings, Queue &queue,
                RunStatistics &statistics);

} // namespace lockstitch

#endif // LOCKSTITCH_RUNTIME_SESSION_RUN_STEPS_H
