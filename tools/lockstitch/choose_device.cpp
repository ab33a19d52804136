// Which device and target the options mean on this machine.
#include "runtime/session/create_device.h"
#include "tools/lockstitch/verbs.h"

namespace lockstitch::tool {

Result<ChosenDevice> chooseDevice(const DeviceChoice &options) {
  std::optional<DeviceKind> kind = parseDeviceKind(options.device);
  if (!kind)
    return Error::refused("--device",
                          "there is no device '" + options.device + "'",
                          "use auto, host, simulator or cuda");
  DeviceOptions deviceOptions;
  deviceOptions.threads = 1; // this one does no work
  Result<std::unique_ptr<Device>> device = createDevice(*kind, deviceOptions);
  if (!device.ok())
    return device.error();
  ChosenDevice chosen;
  chosen.device = std::string(name((*device)->kind()));
  chosen.target = options.target.value_or(
      (*device)->kind() == DeviceKind::Host ? "host" : "sm_90");
  TargetProgram target;
  target.target = chosen.target;
  if (Status status = (*device)->accepts(target); !status.ok())
    return status.error();
  return chosen;
}

} // namespace lockstitch::tool
