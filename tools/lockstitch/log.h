// The log: what the program is doing, on standard error. The one user of
// spdlog.
#ifndef LOCKSTITCH_TOOLS_LOCKSTITCH_LOG_H
#define LOCKSTITCH_TOOLS_LOCKSTITCH_LOG_H

#include <string>

namespace lockstitch::tool {

/// `level`: off, error, warn, info, debug, trace.
void setUpLog(const std::string &level, bool colour);

void logDebug(const std::string &text);
void logInfo(const std::string &text);
void logWarning(const std::string &text);

} // namespace lockstitch::tool

#endif // LOCKSTITCH_TOOLS_LOCKSTITCH_LOG_H
