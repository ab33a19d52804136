// The host: kernels as a shared object for this CPU, rows spread over the pool,
// library calls on the host library.
#ifndef LOCKSTITCH_RUNTIME_DEVICE_HOST_HOST_DEVICE_H
#define LOCKSTITCH_RUNTIME_DEVICE_HOST_HOST_DEVICE_H

#include "runtime/device/device.h"

namespace lockstitch {

/// Never fails: a host is always there.
std::unique_ptr<Device> createHostDevice(const DeviceOptions &options);

} // namespace lockstitch

#endif // LOCKSTITCH_RUNTIME_DEVICE_HOST_HOST_DEVICE_H
