// lockstitch: the command line program. A verb does the work (verbs.h); here
// are the ways out.
#include "tools/lockstitch/crash.h"
#include "tools/lockstitch/log.h"
#include "tools/lockstitch/messages.h"
#include "tools/lockstitch/verbs.h"

#include <exception>
#include <new>

using namespace lockstitch;
using namespace lockstitch::tool;

namespace {

template <typename... Ts> struct Overload : Ts... {
  using Ts::operator()...;
};
template <typename... Ts> Overload(Ts...) -> Overload<Ts...>;

/// A verb, with what other people's code may throw turned into an Error.
template <typename Verb> Status guarded(Verb verb) {
  try {
    return verb();
  } catch (const std::bad_alloc &) {
    return Error::device(
        "memory", "out of memory: this machine has not enough for the command",
        "free memory, or use a smaller model or batch");
  } catch (const std::exception &error) {
    return Error::internal("lockstitch",
                           std::string("unexpected: ") + error.what());
  } catch (...) {
    return Error::internal("lockstitch",
                           "unexpected: something unknown was thrown");
  }
}

Status perform(const Invocation &invocation, Report &report) {
  return std::visit(
      Overload{
          [&](const HelpText &help) -> Status {
            printResult(help.text);
            return {};
          },
          [&](const RunVerb &verb) { return run(verb, report); },
          [&](const CompileVerb &verb) {
            return compileAheadOfTime(verb, report);
          },
          [&](const InspectVerb &verb) { return inspect(verb, report); },
          [&](const ExplainVerb &verb) { return explain(verb, report); },
          [&](const SimulateVerb &verb) { return simulate(verb, report); }},
      invocation);
}

const CommonOptions *commonOptions(const Invocation &invocation) {
  return std::visit(Overload{[](const HelpText &) -> const CommonOptions * {
                               return nullptr;
                             },
                             [](const auto &verb) -> const CommonOptions * {
                               return &verb.common;
                             }},
                    invocation);
}

/// The first error stays; a later one is added to its messages.
void combine(Status &status, Status later) {
  if (later.ok())
    return;
  if (status.ok()) {
    status = std::move(later);
    return;
  }
  Error error = status.error();
  error.messages.insert(error.messages.end(), later.error().messages.begin(),
                        later.error().messages.end());
  status = std::move(error);
}

} // namespace

int main(int argc, char **argv) {
  std::string reportPath = findOption(argc, argv, "--report", "");
  installCrashHandler(argc, argv, reportPath);
  bool colour = wantsColour(findOption(argc, argv, "--color", "auto"));

  Report report;
  bool json = false;
  Status status = guarded([&]() -> Status {
    Result<Invocation> invocation = parseCommandLine(argc, argv);
    if (!invocation.ok())
      return invocation.error();
    if (const CommonOptions *common = commonOptions(*invocation)) {
      colour = wantsColour(common->colour);
      setUpLog(common->logLevel, colour);
      json = common->json;
    }
    return perform(*invocation, report);
  });

  if (!status.ok() && status.error().kind == ErrorKind::Internal) {
    Error error = status.error();
    std::string file = writeReproducer(toText(error, false));
    if (!error.messages.empty() && error.messages.back().wayOut.empty())
      error.messages.back().wayOut =
          "this is a defect of lockstitch, not of its input; the command to "
          "get here again is in " +
          (file.empty() ? "no file: the temporary folder cannot be written"
                        : file);
    status = std::move(error);
  }
  if (!status.ok())
    report.error = status.error();
  if (json)
    combine(status, guarded([&]() -> Status {
              printResult(toJson(report));
              return {};
            }));
  combine(status, finishOutput());
  if (!reportPath.empty())
    combine(status, guarded([&] {
              if (!status.ok())
                report.error = status.error();
              return writeFile(reportPath, toJson(report), "--report");
            }));
  if (!status.ok())
    printError(status.error(), colour);
  finished();
  return status.ok() ? 0 : static_cast<int>(status.error().kind);
}
