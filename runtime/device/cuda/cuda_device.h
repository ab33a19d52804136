// CUDA GPUs through the driver API, which is loaded at run time and never
// needed to build, to test or to run elsewhere.
#ifndef LOCKSTITCH_RUNTIME_DEVICE_CUDA_CUDA_DEVICE_H
#define LOCKSTITCH_RUNTIME_DEVICE_CUDA_CUDA_DEVICE_H

#include "runtime/device/device.h"

namespace lockstitch {

/// GPU number `options.ordinal`.
/// Errors (refused): no driver library, a driver that does not start, no GPU or
/// not that one; the message says which and the way out. This version has no
/// execution on a GPU yet: where a driver and a GPU are found, it says so.
Result<std::unique_ptr<Device>> createCudaDevice(const DeviceOptions &options);

/// Whether a driver with at least one GPU is there and createCudaDevice would
/// succeed: what `--device auto` asks.
bool cudaDeviceUsable();

/// The same with another driver library (tests).
Result<std::unique_ptr<Device>> createCudaDevice(const DeviceOptions &options,
                                                 const char *driverLibrary);

} // namespace lockstitch

#endif // LOCKSTITCH_RUNTIME_DEVICE_CUDA_CUDA_DEVICE_H
