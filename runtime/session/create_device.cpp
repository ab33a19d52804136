#include "runtime/session/create_device.h"

#include "runtime/cpu/cpu_features.h"
#include "runtime/device/cuda/cuda_device.h"
#include "runtime/device/host/host_device.h"
#include "runtime/device/simulator_device/simulator_device.h"

namespace lockstitch {
namespace {

/// Higher is better; all are accepted by the device.
int preference(DeviceKind device, const TargetProgram &target) {
  if (device == DeviceKind::Host)
    return target.target == "host" ? 5 : parseX86Level(target.target);
  return target.target == "sm_90" ? 1 : 0;
}

std::string list(const Program &program) {
  std::string names;
  for (const TargetProgram &target : program.targets)
    names += (names.empty() ? "" : ", ") + target.target;
  return names.empty() ? "no target" : names;
}

} // namespace

Result<std::unique_ptr<Device>> createDevice(DeviceKind kind,
                                             const DeviceOptions &options) {
  switch (kind) {
  case DeviceKind::Auto:
    return cudaDeviceUsable() ? createCudaDevice(options)
                              : createHostDevice(options);
  case DeviceKind::Host:
    return createHostDevice(options);
  case DeviceKind::Simulator:
    return createSimulatorDevice(options);
  case DeviceKind::Cuda:
    return createCudaDevice(options);
  }
  return Error::internal("device", "unknown kind");
}

Result<const TargetProgram *> chooseTarget(const Program &program,
                                           const Device &device,
                                           const std::string &wanted) {
  if (!wanted.empty()) {
    const TargetProgram *target = program.find(wanted);
    if (!target)
      return Error::refused(
          "target " + wanted, "the program has " + list(program),
          "choose one of them, or compile the model with --target " + wanted);
    if (Status status = device.accepts(*target); !status.ok())
      return status.error();
    return target;
  }
  const TargetProgram *best = nullptr;
  std::vector<ErrorMessage> reasons;
  for (const TargetProgram &target : program.targets) {
    if (Status status = device.accepts(target); !status.ok()) {
      reasons.insert(reasons.end(), status.error().messages.begin(),
                     status.error().messages.end());
      continue;
    }
    if (!best ||
        preference(device.kind(), target) > preference(device.kind(), *best))
      best = &target;
  }
  if (best)
    return best;
  std::string kind(name(device.kind()));
  Error error = Error::refused(
      "device " + kind,
      "none of the program's targets (" + list(program) + ") runs on it",
      "compile the model with --target " +
          std::string(device.kind() == DeviceKind::Host ? "host" : "sm_90"));
  error.messages.insert(error.messages.end(), reasons.begin(), reasons.end());
  return error;
}

} // namespace lockstitch
