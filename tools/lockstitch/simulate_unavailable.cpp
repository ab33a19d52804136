#include "tools/lockstitch/verbs.h"

namespace lockstitch::tool {

Status simulate(const SimulateVerb &options, Report &report) {
  return Error::refused("simulate", "this build has no simulator",
                        "build it with runtime/device/simulator");
}

} // namespace lockstitch::tool
