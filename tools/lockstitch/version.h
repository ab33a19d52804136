#ifndef LOCKSTITCH_TOOLS_LOCKSTITCH_VERSION_H
#define LOCKSTITCH_TOOLS_LOCKSTITCH_VERSION_H

namespace lockstitch::tool {

/// The project's version, "0.1.0".
inline const char *version() { return LOCKSTITCH_VERSION; }

} // namespace lockstitch::tool

#endif // LOCKSTITCH_TOOLS_LOCKSTITCH_VERSION_H
