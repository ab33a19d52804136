#include "runtime/device/device.h"

namespace lockstitch {

DeviceMemory::~DeviceMemory() = default;
Queue::~Queue() = default;
Module::~Module() = default;
Device::~Device() = default;

std::string_view name(DeviceKind kind) {
  switch (kind) {
  case DeviceKind::Auto:
    return "auto";
  case DeviceKind::Host:
    return "host";
  case DeviceKind::Simulator:
    return "simulator";
  case DeviceKind::Cuda:
    return "cuda";
  }
  return "";
}

std::optional<DeviceKind> parseDeviceKind(std::string_view text) {
  for (DeviceKind kind : {DeviceKind::Auto, DeviceKind::Host,
                          DeviceKind::Simulator, DeviceKind::Cuda})
    if (name(kind) == text)
      return kind;
  return std::nullopt;
}

} // namespace lockstitch
