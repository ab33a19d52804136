// Stands in while the simulator's own library is not part of the build.
#include "runtime/device/simulator_device/simulator_device.h"

namespace lockstitch {
namespace {

class Unavailable final : public Device {
public:
  DeviceKind kind() const override { return DeviceKind::Simulator; }
  std::string description() const override { return "simulator: not built"; }
  bool addressesHostMemory() const override { return false; }
  Status accepts(const TargetProgram &) const override { return refusal(); }
  Result<std::unique_ptr<DeviceMemory>> allocate(int64_t, std::string_view) override { return refusal(); }
  Result<std::unique_ptr<DeviceMemory>> adopt(std::span<const std::byte>, std::string_view) override { return refusal(); }
  Result<std::shared_ptr<const Module>> load(std::shared_ptr<const Program>, const TargetProgram &) override {
    return refusal();
  }

private:
  static Error refusal() {
    return Error::refused("device simulator", "this build has no simulator", "run with --device host");
  }
};

} // namespace

std::unique_ptr<Device> createSimulatorDevice(const DeviceOptions &) { return std::make_unique<Unavailable>(); }

} // namespace lockstitch
