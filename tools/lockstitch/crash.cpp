// All texts are made at the start, because a signal handler may hardly do more
// than write them.
//
// A mapped file that somebody truncates is the one fault that is not a defect:
// its pages are gone, and touching one is SIGBUS. If the address lies in a file
// that is mapped the file is refused (status 2) by its name, whatever the thread.
#include "tools/lockstitch/crash.h"

#include "runtime/program/file_bytes.h"
#include "runtime/program/thread_start.h"
#include "tools/lockstitch/messages.h"
#include "tools/lockstitch/report.h"
#include "tools/lockstitch/version.h"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <unistd.h>

namespace lockstitch::tool {
namespace {

constexpr int kRefused = 2, kInternalError = 3;
constexpr char kPathMark = '\x01'; // where a file's name goes
constexpr size_t kStackBytes = 64 * 1024;

std::string reproducerPath, reproducerText; // what is written
std::string crashReportPath, crashReport;
std::string crashMessage;
std::string lostFileMessage, lostFileReport; // with kPathMark
volatile sig_atomic_t isFinished = 0, isHandling = 0;

std::string quoted(const std::string &argument) {
  if (!argument.empty() &&
      argument.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRS"
                                 "TUVWXYZ0123456789_-+=./,:@%") ==
          std::string::npos)
    return argument;
  std::string text = "'";
  for (char c : argument)
    text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

void writeAll(int file, const char *text, size_t size) {
  while (size > 0) {
    ssize_t done = write(file, text, size);
    if (done <= 0)
      return;
    text += done;
    size -= static_cast<size_t>(done);
  }
}

bool writeTo(const char *path, const char *text, size_t size, int flags) {
  int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0644);
  if (file < 0)
    return false;
  writeAll(file, text, size);
  close(file);
  return true;
}

/// Only calls that are allowed in a signal handler.
[[noreturn]] void die(const char *cause) {
  if (isHandling)
    _exit(kInternalError);
  isHandling = 1;
  auto print = [](const char *text) {
    writeAll(STDERR_FILENO, text, std::strlen(text));
  };
  print("internal error: lockstitch stopped: ");
  print(cause);
  print("\n");
  if (writeTo(reproducerPath.c_str(), reproducerText.data(),
              reproducerText.size(), O_EXCL))
    print(crashMessage.c_str());
  if (!crashReportPath.empty())
    writeTo(crashReportPath.c_str(), crashReport.data(), crashReport.size(),
            O_TRUNC);
  _exit(kInternalError);
}

/// Writes `text` with `path` in place of the mark; in JSON its quotes and
/// backslashes are escaped, and what is no printable ASCII is "?".
void writeWithPath(int file, const std::string &text, const char *path,
                   bool isJson) {
  // JSON writes the mark itself escaped.
  const char *mark = isJson ? "\\u0001" : "\x01";
  size_t at = text.find(mark);
  if (at == std::string::npos) {
    writeAll(file, text.data(), text.size());
    return;
  }
  writeAll(file, text.data(), at);
  for (const char *c = path; *c; ++c) {
    if (isJson && (*c == '"' || *c == '\\'))
      writeAll(file, "\\", 1);
    bool isPlain = !isJson || (*c >= ' ' && *c < 127);
    writeAll(file, isPlain ? c : "?", 1);
  }
  at += std::strlen(mark);
  writeAll(file, text.data() + at, text.size() - at);
}

[[noreturn]] void loseFile(const char *path) {
  if (isHandling)
    _exit(kRefused);
  isHandling = 1;
  writeWithPath(STDERR_FILENO, lostFileMessage, path, false);
  if (!crashReportPath.empty())
    if (int file = open(crashReportPath.c_str(),
                        O_WRONLY | O_CREAT | O_CLOEXEC | O_TRUNC, 0644);
        file >= 0) {
      writeWithPath(file, lostFileReport, path, true);
      close(file);
    }
  _exit(kRefused);
}

void onSignal(int number, siginfo_t *info, void *) {
  if (number == SIGBUS && info->si_code == BUS_ADRERR)
    if (const char *path = mappedFile(info->si_addr))
      loseFile(path);
  switch (number) {
  case SIGSEGV:
    die("a memory access outside of its memory (SIGSEGV)");
  case SIGABRT:
    die("a library gave up (SIGABRT)");
  case SIGBUS:
    die("a file changed or vanished while it was used, or a bad address "
        "(SIGBUS)");
  case SIGFPE:
    die("a division by zero (SIGFPE)");
  case SIGILL:
    die("an instruction that this CPU lacks (SIGILL)");
  }
  die("a signal");
}

/// Gives the calling thread a stack for the handler: its own may be what is
/// exhausted.
void useHandlerStack() {
  struct HandlerStack {
    std::unique_ptr<char[]> memory{new char[kStackBytes]};
    HandlerStack() {
      stack_t alternative{};
      alternative.ss_sp = memory.get();
      alternative.ss_size = kStackBytes;
      sigaltstack(&alternative, nullptr);
    }
    ~HandlerStack() {
      stack_t none{};
      none.ss_flags = SS_DISABLE;
      sigaltstack(&none, nullptr);
    }
  };
  thread_local HandlerStack stack;
}

void onExit() {
  if (!isFinished)
    die("a library ended the program");
}

} // namespace

void installCrashHandler(int argc, const char *const *argv,
                         const std::string &reportPath) {
  std::error_code code;
  std::filesystem::path folder = std::filesystem::temp_directory_path(code);
  if (code)
    folder = "/tmp";
  reproducerPath =
      (folder / ("lockstitch-reproducer-" + std::to_string(getpid()) + ".txt"))
          .string();
  std::string command;
  for (int i = 0; i < argc; ++i)
    command += (i ? " " : "") + quoted(argv[i]);
  reproducerText = std::string("lockstitch ") + version() +
                   "\nfolder: " + std::filesystem::current_path(code).string() +
                   "\ncommand: " + command + "\n";
  crashMessage = "  this is a defect of lockstitch, not of its input; how to "
                 "get here again is in\n  " +
                 reproducerPath + "\n";
  crashReportPath = reportPath;
  Report report;
  report.error = Error::internal(
      "lockstitch", "stopped by a crash; the command to get here again is in " +
                        reproducerPath);
  crashReport = toJson(report);

  Error lost = Error::refused(
      std::string(1, kPathMark),
      "the file was truncated while it was in use, or its disk failed",
      "put the file back and run the command again");
  lostFileMessage = toText(lost, false);
  Report lostReport;
  lostReport.error = lost;
  lostFileReport = toJson(lostReport);

  useHandlerStack();
  setThreadStart(useHandlerStack);
  struct sigaction action{};
  action.sa_sigaction = onSignal;
  action.sa_flags = SA_ONSTACK | SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  for (int number : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL})
    sigaction(number, &action, nullptr);
  // A write that fails says so itself.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  std::atexit(onExit);
}

void finished() { isFinished = 1; }

std::string writeReproducer(const std::string &what) {
  std::string text = reproducerText + "what went wrong:\n" + what;
  return writeTo(reproducerPath.c_str(), text.data(), text.size(), O_EXCL)
             ? reproducerPath
             : "";
}

} // namespace lockstitch::tool
