// The report: what a command found out, for other programs. Its JSON form is an
// interface, described in docs/command_line.md and written by report_json.cpp
// alone; a field that is nothing here is `null` there.
#ifndef LOCKSTITCH_TOOLS_LOCKSTITCH_REPORT_H
#define LOCKSTITCH_TOOLS_LOCKSTITCH_REPORT_H

#include "compiler/driver/schedule_report.h"
#include "runtime/device/statistics.h"
#include "runtime/program/program.h"
#include "runtime/program/status.h"

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lockstitch {
struct Compilation;
struct DecisionReport;
} // namespace lockstitch

namespace lockstitch::tool {

/// The schedule that a kernel has, and the best that it does not have.
struct ScheduleEntries {
  ScheduleReport chosen;
  std::vector<ScheduleReport> runnersUp;
};

struct KernelEntry {
  std::string name;
  std::optional<std::string> code; // equal code has an equal one
  std::vector<std::string> nodes, schemes;
  int64_t launches = 1; // per inference
  std::optional<std::array<int64_t, 3>> grid, block;
  std::optional<int64_t> sharedBytes, registers, spillBytes;
  std::optional<double> waves;
  std::optional<int64_t> smsBusy, bytesInFlightPerSm, bytesRead, bytesWritten;
  std::optional<double> estimatedMicroseconds, compileCpuMilliseconds;
  std::optional<ScheduleEntries> schedule;
  std::optional<LaunchCounters> counters;
  std::vector<Finding> findings;
};

struct LibraryEntry {
  std::string name;
  std::vector<std::string> nodes;
  std::string kind; // matmul conv ...
  std::vector<std::string> epilogue;
  int64_t calls = 1, bytesRead = 0, bytesWritten = 0;
};

struct Totals {
  std::optional<int64_t> nodes, kernels, launches, distinctKernels,
      floorKernels, libraryCalls, kernelBytes, libraryBytes, arenaBytes,
      constantBytes;
};

struct CompileCpuSeconds {
  std::optional<double> total, import, graph, plan, schedule, codegenPtx,
      codegenHost, link;
};

struct CheckEntry {
  std::string output;
  std::optional<double> maxAbs, maxRel; // nothing where the shapes differ
  bool ok = false;
  std::string reason; // why not ok
};

struct DecisionEntry {
  std::string a, b;
  bool merged = false, byProfit = false;
  std::string reason;
  /// A number of the decision by its key in the report; a count or a measure.
  struct Number {
    std::string key;
    double value = 0;
    bool isWhole = false;
  };
  std::vector<Number> numbers = {};
};

/// A tensor of a model, as `inspect` lists it. A dimension is a number, or the
/// name of an open one ("" without a name).
struct ListedTensor {
  std::string name, type;
  std::optional<std::vector<std::string>> shape;
};

struct ListedOperator {
  std::string opType, domain;
  int64_t opset = 0;
  bool supported = false;
  std::string reason;
  std::vector<std::string> nodes;
};

/// One target of an artifact and what it needs.
struct ListedTarget {
  std::string target;
  int64_t kernels = 0, launches = 0, libraryCalls = 0, prologueSteps = 0;
  int64_t codeBytes = 0, cubinBytes = 0;
  std::optional<int64_t> arenaBytes, workspaceBytes; // nothing: an open size
  std::optional<std::string> cpu, driver,
      computeCapability; // whichever applies
  std::vector<std::string> cpuFeatures, libraries;
  std::optional<int64_t> sms;
};

/// A stretch of an artifact's bytes, or of a file of weights.
struct ListedPart {
  std::string what, file; // "": the artifact itself
  int64_t offset = 0, bytes = 0;
  std::string checksum, state; // "not verified" "good" "bad"
};

/// What `inspect` adds.
struct Listing {
  std::string kind; // "model" or "artifact"
  std::vector<ListedTensor> inputs, outputs;
  std::map<std::string, int64_t> opsets; // model
  std::vector<ListedOperator> operators; // model
  int64_t constants = 0, constantBytes = 0;
  std::string compilerVersion;       // artifact
  std::vector<ListedTarget> targets; // artifact
  std::vector<ListedPart> parts;     // artifact
};

struct Report {
  std::optional<std::string> options, plan, model, target, device, explorer;
  std::optional<Error> error;
  std::vector<KernelEntry> kernels;
  std::vector<KernelEntry> prologueKernels; // run once per loaded program
  std::vector<LibraryEntry> libraryCalls;
  Totals totals;
  CompileCpuSeconds compileCpuSeconds;
  std::vector<double> runSeconds; // one per repetition
  std::vector<CheckEntry> checks;
  std::optional<std::vector<DecisionEntry>> decisions; // explain
  std::optional<Listing> listing;                      // inspect
  /// compile: what kernels, libraryCalls, totals and prologueKernels are for
  /// each target, the first included.
  std::vector<Report> targets;
};

/// The JSON text, ending in a newline. Numbers that JSON lacks (infinities,
/// NaN) are `null`.
std::string toJson(const Report &report);

/// Fills in what a program says of one of its targets: kernels, library calls,
/// totals.
void addProgram(Report &report, const Program &program,
                const TargetProgram &target);

/// Fills in what only the compiler knows of `target`: registers, waves, times.
/// After addProgram().
void addCompilation(Report &report, const Compilation &compilation,
                    const TargetProgram &target);

/// Fills in counters and findings. After addProgram(). `steps` are beside
/// target.steps, `prologue` beside target.prologue. Findings of several runs
/// are kept once.
void addStatistics(Report &report, const TargetProgram &target,
                   const RunStatistics &steps, const RunStatistics &prologue);

/// Of all kernels.
size_t numFindings(const Report &report);
/// Error (check failed) with one message per kernel with findings, or nothing.
Status findingsStatus(const Report &report);

} // namespace lockstitch::tool

#endif // LOCKSTITCH_TOOLS_LOCKSTITCH_REPORT_H
