// What a target of an artifact needs of the machine that runs it.
#ifndef LOCKSTITCH_TOOLS_LOCKSTITCH_NEEDS_H
#define LOCKSTITCH_TOOLS_LOCKSTITCH_NEEDS_H

#include "tools/lockstitch/report.h"

#include <string_view>

namespace lockstitch::tool {

ListedTarget listTarget(const TargetProgram &target);

/// The oldest CUDA release whose driver takes PTX with this `.version` line:
/// "CUDA 12.0". Nothing where the text has no such line. Source: the table
/// "Release History" of NVIDIA's PTX ISA manual; versions after the table's end
/// give the ISA version.
std::optional<std::string> driverFor(std::string_view ptx);

/// "9.0" for sm_90, "12.0" for sm_120; nothing for other names.
std::optional<std::string> computeCapability(std::string_view target);

} // namespace lockstitch::tool

#endif // LOCKSTITCH_TOOLS_LOCKSTITCH_NEEDS_H
