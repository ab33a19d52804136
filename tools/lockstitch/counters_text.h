// What the simulator counted and found, for people.
#ifndef LOCKSTITCH_TOOLS_LOCKSTITCH_COUNTERS_TEXT_H
#define LOCKSTITCH_TOOLS_LOCKSTITCH_COUNTERS_TEXT_H

#include "tools/lockstitch/report.h"

namespace lockstitch::tool {

/// A table of the kernels that have counters, "" if none has: bytes that were
/// moved (sectors times 32) against the floor "each input once, each output
/// once", instructions, conflicts. A total at the end.
std::string countersText(const Report &report);

/// Every finding, with kernel, PTX line, source line, block, thread and nodes;
/// "" if there is none.
std::string findingsText(const Report &report);

} // namespace lockstitch::tool

#endif // LOCKSTITCH_TOOLS_LOCKSTITCH_COUNTERS_TEXT_H
