#include "tools/lockstitch/messages.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace lockstitch::tool {
namespace {

int outputErrno = 0;

const char *title(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::CheckFailed:
    return "check failed";
  case ErrorKind::Refused:
    return "error";
  case ErrorKind::Internal:
    return "internal error";
  case ErrorKind::DeviceFailed:
    return "device error";
  }
  return "error";
}

std::string reasonOf(int number) { return std::strerror(number); }

} // namespace

bool wantsColour(const std::string &mode) {
  return mode == "always" || (mode == "auto" && isatty(STDERR_FILENO));
}

std::string toText(const Error &error, bool colour) {
  std::string begin = colour ? "\x1b[1;31m" : "", end = colour ? "\x1b[0m" : "";
  std::string text;
  for (const ErrorMessage &message : error.messages) {
    text += begin + title(error.kind) + ":" + end + " ";
    if (!message.node.empty())
      text += message.node +
              (message.where.empty() ? ": " : " (" + message.where + "): ");
    else if (!message.where.empty())
      text += message.where + ": ";
    text += message.reason + "\n";
    if (!message.wayOut.empty())
      text += "  -> " + message.wayOut + "\n";
  }
  return text;
}

void printError(const Error &error, bool colour) {
  std::string text = toText(error, colour);
  std::fflush(stdout);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void printResult(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size())
    outputErrno = errno;
}

Status finishOutput() {
  if (std::fflush(stdout) != 0)
    outputErrno = errno;
  if (outputErrno == 0 || outputErrno == EPIPE)
    return {};
  return Error::refused("standard output",
                        "cannot be written: " + reasonOf(outputErrno),
                        "write the results to a place with room");
}

Status writeFile(const std::string &path, std::string_view content,
                 const std::string &where) {
  errno = 0;
  std::FILE *file = std::fopen(path.c_str(), "wb");
  bool ok = file && std::fwrite(content.data(), 1, content.size(), file) ==
                        content.size();
  int problem = errno;
  if (file && std::fclose(file) != 0) {
    ok = false;
    problem = errno;
  }
  if (ok)
    return {};
  return Error::refused(
      where, "'" + path + "' cannot be written: " + reasonOf(problem),
      "name a file in a folder that exists and can be written");
}

Result<std::string> readFile(const std::string &path,
                             const std::string &where) {
  auto refuse = [&](const std::string &reason) {
    return Error::refused(where, "'" + path + "' cannot be read: " + reason,
                          "name a file that exists and can be read");
  };
  std::error_code code;
  if (std::filesystem::is_directory(path, code))
    return refuse("it is a folder");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return refuse(reasonOf(errno));
  std::string content((std::istreambuf_iterator<char>(file)),
                      std::istreambuf_iterator<char>());
  if (file.bad())
    return refuse(reasonOf(errno));
  return content;
}

Status makeFolder(const std::string &path, const std::string &where) {
  std::error_code code;
  std::filesystem::create_directories(path, code);
  if (!code && std::filesystem::is_directory(path, code))
    return {};
  return Error::refused(
      where, "the folder '" + path + "' cannot be made: " + code.message(),
      "name a folder that exists or can be made");
}

} // namespace lockstitch::tool
