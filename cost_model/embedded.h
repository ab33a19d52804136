// The files of cost_model/devices, as the build put them into the library.
#ifndef LOCKSTITCH_COST_MODEL_EMBEDDED_H
#define LOCKSTITCH_COST_MODEL_EMBEDDED_H

#include <span>
#include <string_view>

namespace lockstitch::cost {

struct EmbeddedFile {
  std::string_view name, text;
};

std::span<const EmbeddedFile> embeddedDevices();

} // namespace lockstitch::cost

#endif // LOCKSTITCH_COST_MODEL_EMBEDDED_H
