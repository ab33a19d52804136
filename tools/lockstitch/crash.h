// What happens when something goes wrong that must not: a message, a
// reproducer, the report, exit status 3. Never a signal.
#ifndef LOCKSTITCH_TOOLS_LOCKSTITCH_CRASH_H
#define LOCKSTITCH_TOOLS_LOCKSTITCH_CRASH_H

#include <string>

namespace lockstitch::tool {

/// Handles SIGSEGV, SIGABRT, SIGBUS, SIGFPE and SIGILL, and calls of exit()
/// before finished(); ignores SIGPIPE and SIGXFSZ. `reportPath`
/// ("": none) gets a report of the crash.
void installCrashHandler(int argc, const char *const *argv,
                         const std::string &reportPath);

/// From here on the process may end by itself.
void finished();

/// Writes how to get here again (the command, the folder, the version, `what`
/// went wrong) into the temporary folder. Returns the file's name, or "" if it
/// cannot be written.
std::string writeReproducer(const std::string &what);

} // namespace lockstitch::tool

#endif // LOCKSTITCH_TOOLS_LOCKSTITCH_CRASH_H
