#include "tools/lockstitch/report.h"

#include "compiler/driver/compile.h"
#include "tools/lockstitch/text.h"

#include <algorithm>
#include <set>

namespace lockstitch::tool {
namespace {

KernelEntry entryOf(const TargetProgram &target, const Step &step,
                    int64_t launches) {
  KernelEntry entry;
  entry.name = step.name;
  entry.nodes = step.nodes;
  entry.schemes = step.schemes;
  entry.launches = launches;
  entry.bytesRead = step.bytesRead;
  entry.bytesWritten = step.bytesWritten;
  if (step.kind == Step::Kind::Copy) {
    entry.code = "copy";
    return entry;
  }
  const KernelCode &code = target.kernels[step.kernel];
  entry.code = hexadecimal(code.hash);
  entry.estimatedMicroseconds = step.estimatedMicroseconds;
  if (target.target.starts_with("sm_")) {
    bool known = code.sharedBytes.isConstant();
    for (const Dim &extent : code.grid)
      known &= extent.isConstant();
    if (known)
      entry.grid = {code.grid[0].value(), code.grid[1].value(),
                    code.grid[2].value()};
    entry.block = code.block;
    if (known)
      entry.sharedBytes = code.sharedBytes.value();
  }
  return entry;
}

LibraryEntry libraryEntry(const Step &step, int64_t calls) {
  LibraryEntry entry;
  entry.calls = calls;
  entry.name = step.name;
  entry.nodes = step.nodes;
  entry.bytesRead = step.bytesRead;
  entry.bytesWritten = step.bytesWritten;
  switch (step.library.kind) {
  case LibraryCall::Kind::MatMul: {
    const MatMulCall &call = step.library.matmul;
    entry.kind = "matmul";
    // A third operand that is one row is what people call a bias.
    bool isRow = call.c.strides.size() >= 2 &&
                 call.c.strides[call.c.strides.size() - 2] == 0;
    if (call.hasC)
      entry.epilogue = {isRow ? "bias" : "add"};
    break;
  }
  case LibraryCall::Kind::Conv:
    entry.kind = "conv";
    if (step.library.conv.hasBias)
      entry.epilogue = {"bias"};
    break;
  }
  if (step.library.activation == Activation::Relu)
    entry.epilogue.push_back("relu");
  return entry;
}

bool isKernel(const Step &step) {
  return step.kind == Step::Kind::Launch || step.kind == Step::Kind::Copy;
}

bool sameFinding(const Finding &a, const Finding &b) {
  return a.kind == b.kind && a.ptxLine == b.ptxLine;
}

void addTo(std::vector<KernelEntry> &entries, const std::vector<Step> &steps,
           const RunStatistics &statistics) {
  size_t at = 0;
  std::vector<CountedStep> flat = flatten(steps);
  for (size_t i = 0; i < flat.size() && i < statistics.steps.size(); ++i) {
    if (!isKernel(*flat[i].step))
      continue;
    KernelEntry &entry = entries[at++];
    const StepStatistics &step = statistics.steps[i];
    if (step.counters)
      entry.counters = step.counters;
    for (const Finding &finding : step.findings)
      if (std::none_of(entry.findings.begin(), entry.findings.end(),
                       [&](const Finding &known) {
                         return sameFinding(known, finding);
                       }))
        entry.findings.push_back(finding);
  }
}

} // namespace

void addProgram(Report &report, const Program &program,
                const TargetProgram &target) {
  report.model = program.model;
  report.options = hexadecimal(program.optionsHash);
  report.plan = hexadecimal(program.planHash);
  report.explorer = program.explorer;
  report.target = target.target;
  report.kernels.clear();
  report.prologueKernels.clear();
  report.libraryCalls.clear();
  Totals totals;
  totals.nodes = program.totalNodes;
  totals.kernelBytes = totals.libraryBytes = totals.launches = 0;
  std::set<std::string> distinct;
  forEachStep(target.steps, [&](const Step &step, int64_t trips) {
    int64_t bytes = (step.bytesRead + step.bytesWritten) * trips;
    if (step.kind == Step::Kind::Library) {
      report.libraryCalls.push_back(libraryEntry(step, trips));
      *totals.libraryBytes += bytes;
    }
    if (!isKernel(step))
      return;
    report.kernels.push_back(entryOf(target, step, trips));
    *totals.kernelBytes += bytes;
    *totals.launches += report.kernels.back().launches;
    distinct.insert(*report.kernels.back().code);
  });
  for (const Step &step : target.prologue)
    if (isKernel(step))
      report.prologueKernels.push_back(entryOf(target, step, 0));
  totals.kernels = static_cast<int64_t>(report.kernels.size());
  totals.distinctKernels = static_cast<int64_t>(distinct.size());
  totals.libraryCalls = static_cast<int64_t>(report.libraryCalls.size());
  totals.floorKernels = target.floorKernels;
  if (target.arenaBytes.isConstant()) // else open: unknown before a run
    totals.arenaBytes = target.arenaBytes.value();
  totals.constantBytes = 0;
  for (const TensorInfo &constant : program.constantInfos)
    *totals.constantBytes += constant.bytes();
  report.totals = totals;
}

void addCompilation(Report &report, const Compilation &compilation,
                    const TargetProgram &target) {
  const CompileSeconds &from = compilation.seconds;
  CompileCpuSeconds &to = report.compileCpuSeconds;
  to.graph = from.graph;
  to.plan = from.plan;
  to.schedule = from.schedule;
  to.codegenPtx = from.codegenPtx;
  to.codegenHost = from.codegenHost;
  to.link = from.link;
  bool isGpu = target.target.starts_with("sm_");
  for (const TargetReport &known : compilation.targets) {
    if (known.target != target.target)
      continue;
    size_t at = 0, launch = 0;
    for (const auto &[counted, trips] : flatten(target.steps)) {
      const Step &step = *counted;
      if (!isKernel(step))
        continue;
      KernelEntry &entry = report.kernels[at++];
      if (step.kind != Step::Kind::Launch || launch >= known.kernels.size())
        continue;
      const KernelReport &kernel = known.kernels[launch++];
      entry.compileCpuMilliseconds = kernel.compileCpuMilliseconds;
      entry.estimatedMicroseconds = kernel.estimatedMicroseconds;
      entry.schedule = {kernel.chosen, kernel.runnersUp};
      if (!isGpu)
        continue;
      if (kernel.registers >= 0)
        entry.registers = kernel.registers;
      if (kernel.spillBytes >= 0)
        entry.spillBytes = kernel.spillBytes;
      entry.waves = kernel.waves;
      entry.smsBusy = kernel.smsBusy;
      entry.bytesInFlightPerSm =
          static_cast<int64_t>(kernel.bytesInFlightPerSm);
    }
    return;
  }
}

void addStatistics(Report &report, const TargetProgram &target,
                   const RunStatistics &steps, const RunStatistics &prologue) {
  addTo(report.kernels, target.steps, steps);
  addTo(report.prologueKernels, target.prologue, prologue);
}

size_t numFindings(const Report &report) {
  size_t n = 0;
  for (const std::vector<KernelEntry> *kernels :
       {&report.kernels, &report.prologueKernels})
    for (const KernelEntry &kernel : *kernels)
      n += kernel.findings.size();
  return n;
}

Status findingsStatus(const Report &report) {
  Error error{ErrorKind::CheckFailed, {}};
  for (const std::vector<KernelEntry> *kernels :
       {&report.kernels, &report.prologueKernels})
    for (const KernelEntry &kernel : *kernels) {
      if (kernel.findings.empty())
        continue;
      const Finding &first = kernel.findings.front();
      std::string where = "kernel " + kernel.name;
      if (first.ptxLine > 0)
        where += ", PTX line " + std::to_string(first.ptxLine);
      std::string more =
          kernel.findings.size() > 1
              ? " (and " +
                    count(static_cast<int64_t>(kernel.findings.size()) - 1,
                          "finding") +
                    " more)"
              : "";
      error.messages.push_back({join(first.nodes), where,
                                first.kind + ": " + first.message + more, ""});
    }
  if (error.messages.empty())
    return {};
  return error;
}

} // namespace lockstitch::tool
