// What goes to the two streams: results to standard output, everything else to
// standard error.
#ifndef LOCKSTITCH_TOOLS_LOCKSTITCH_MESSAGES_H
#define LOCKSTITCH_TOOLS_LOCKSTITCH_MESSAGES_H

#include "runtime/program/status.h"

#include <string>
#include <string_view>

namespace lockstitch::tool {

/// Whether standard error gets colour: `mode` is auto (if it is a terminal),
/// always or never.
bool wantsColour(const std::string &mode);

/// An error as text, one paragraph per message:
///
///   error: MatMul#3 (model.onnx): the reason
///     -> the way out
std::string toText(const Error &error, bool colour);
void printError(const Error &error, bool colour);

/// Appends to standard output. A reader that went away (a closed pipe) is not
/// an error; whatever else goes wrong is remembered for finishOutput().
void printResult(std::string_view text);
/// Flushes. Error (refused): standard output could not be written (a full
/// disk).
Status finishOutput();

/// Writes a whole file. Error (refused, at `where`): it cannot be written.
Status writeFile(const std::string &path, std::string_view content,
                 const std::string &where);
/// Reads a whole file. Error (refused, at `where`): it cannot be read.
Result<std::string> readFile(const std::string &path, const std::string &where);
/// Makes the folder and those above it. Error (refused, at `where`): it cannot
/// be made.
Status makeFolder(const std::string &path, const std::string &where);

} // namespace lockstitch::tool

#endif // LOCKSTITCH_TOOLS_LOCKSTITCH_MESSAGES_H
