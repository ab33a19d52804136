// The simulator behind the device interface: executes a target's PTX on the
// host, checks and counts what it does.
#ifndef LOCKSTITCH_RUNTIME_DEVICE_SIMULATOR_DEVICE_SIMULATOR_DEVICE_H
#define LOCKSTITCH_RUNTIME_DEVICE_SIMULATOR_DEVICE_SIMULATOR_DEVICE_H

#include "runtime/device/device.h"

namespace lockstitch {

/// Takes every sm_* target. Kernels run on the simulator, with counters and
/// findings per launch in StepStatistics (a finding is not an error: the run
/// goes on); library calls run on the host library, on the same memory.
std::unique_ptr<Device> createSimulatorDevice(const DeviceOptions &options);

} // namespace lockstitch

#endif // LOCKSTITCH_RUNTIME_DEVICE_SIMULATOR_DEVICE_SIMULATOR_DEVICE_H
