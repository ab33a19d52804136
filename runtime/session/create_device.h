// From the name of a device to a device: the one place that knows all three.
#ifndef LOCKSTITCH_RUNTIME_SESSION_CREATE_DEVICE_H
#define LOCKSTITCH_RUNTIME_SESSION_CREATE_DEVICE_H

#include "runtime/device/device.h"

namespace lockstitch {

/// Auto becomes cuda if there is a usable GPU, else host. Errors: as the
/// device's.
Result<std::unique_ptr<Device>> createDevice(DeviceKind kind,
                                             const DeviceOptions &options);

/// The target of the program that suits the device best, or the one named
/// `wanted`. Errors (refused): none of that name; none that the device takes.
/// The message lists what the program has.
Result<const TargetProgram *> chooseTarget(const Program &program,
                                           const Device &device,
                                           const std::string &wanted);

} // namespace lockstitch

#endif // LOCKSTITCH_RUNTIME_SESSION_CREATE_DEVICE_H
