// lockstitch run: compiles when needed, executes, and looks at the outputs.
#include "runtime/program/artifact.h"
#include "runtime/program/bind.h"
#include "runtime/session/session.h"
#include "tools/lockstitch/check.h"
#include "tools/lockstitch/counters_text.h"
#include "tools/lockstitch/log.h"
#include "tools/lockstitch/messages.h"
#include "tools/lockstitch/model_source.h"
#include "tools/lockstitch/outputs.h"
#include "tools/lockstitch/text.h"
#include "tools/lockstitch/verbs.h"

#include <algorithm>

namespace lockstitch::tool {
namespace {

/// A program to run, its inputs, and on what.
struct Runnable {
  std::shared_ptr<const Program> program;
  std::vector<Array> inputs;
  DeviceKind device = DeviceKind::Host;
  std::string target; // "": the session chooses
};

Result<Runnable> compileModel(const RunVerb &options, Report &report) {
  Result<PreparedModel> prepared = prepareModel(options.model, report);
  if (!prepared.ok())
    return prepared.error();
  if (Status status = checkNoneMissing(prepared->declared, prepared->given,
                                       options.random.has_value());
      !status.ok())
    return status.error();
  Result<ChosenDevice> chosen = chooseDevice(options.device);
  if (!chosen.ok())
    return chosen.error();
  report.device = chosen->device;
  Result<Compilation> compilation =
      compilePrepared(*prepared, options.plan, {chosen->target}, report);
  if (!compilation.ok())
    return compilation.error();
  Result<std::vector<Array>> inputs =
      completeInputs(compilation->program->inputs, std::move(prepared->given),
                     options.random, "");
  if (!inputs.ok())
    return inputs.error();
  return Runnable{compilation->program, std::move(*inputs),
                  *parseDeviceKind(chosen->device), chosen->target};
}

/// As far as the sizes are known before the program is bound.
bool fits(const Shape &shape, const std::vector<int64_t> &given) {
  bool good = shape.size() == given.size();
  for (size_t i = 0; good && i < shape.size(); ++i)
    good = !shape[i].isConstant() || shape[i].value() == given[i];
  return good;
}

std::string describeInputs(const Program &program) {
  std::vector<std::string> texts;
  for (const TensorInfo &input : program.inputs)
    texts.push_back(describe(input, program.symbols));
  return texts.empty() ? "none" : join(texts);
}

/// An artifact is compiled: options that would change what it is are refused;
/// shapes may be said again.
Status refuseCompilerOptions(const RunVerb &options, const Program &program) {
  const std::string &file = options.model.model;
  std::string wayOut =
      "run the model that it was compiled from, or compile that again";
  if (options.plan.explorer)
    return Error::refused("--explorer",
                          "'" + file + "' is compiled already, planned by " +
                              program.explorer,
                          wayOut);
  if (!options.plan.plan.empty())
    return Error::refused("--plan", "'" + file + "' is compiled already",
                          wayOut);
  if (options.plan.libraries != "auto")
    return Error::refused("--libraries", "'" + file + "' is compiled already",
                          wayOut);
  if (!options.model.dims.empty())
    return Error::refused("--dim",
                          "'" + file + "' was compiled for fixed shapes: " +
                              describeInputs(program),
                          wayOut);
  auto shapes = parseShapes(options.model.shapes);
  if (!shapes.ok())
    return shapes.error();
  for (const auto &[name, shape] : *shapes) {
    auto input =
        std::find_if(program.inputs.begin(), program.inputs.end(),
                     [&](const TensorInfo &info) { return info.name == name; });
    if (input == program.inputs.end())
      return Error::refused(
          "--shape " + name, "there is no input '" + name + "'",
          "the artifact's inputs: " + describeInputs(program));
    if (!fits(input->shape, shape))
      return Error::refused(
          "--shape " + name,
          "'" + file + "' was compiled for " +
              describe(*input, program.symbols),
          "leave --shape out, or compile the model for another shape");
  }
  return {};
}

/// The stages that an artifact has: its code.
Status emitFromArtifact(const RunVerb &options, const TargetProgram &target) {
  auto emit = parseEmit(options.plan.emit);
  if (!emit.ok())
    return emit.error();
  for (const auto &[stage, file] : *emit) {
    std::span<const std::byte> bytes;
    if (stage == "object" && !isGpuTarget(target.target))
      bytes = target.code.bytes;
    else if (stage == "ptx" && isGpuTarget(target.target))
      bytes = target.code.bytes;
    else if (stage == "cubin" && isGpuTarget(target.target))
      bytes = target.cubin.bytes;
    if (bytes.empty())
      return Error::refused(
          "--emit " + stage,
          "'" + options.model.model + "' has no such stage for " +
              target.target,
          "use --emit on the model that it was compiled from");
    if (Status status = writeStage(
            stage, file,
            {reinterpret_cast<const char *>(bytes.data()), bytes.size()});
        !status.ok())
      return status;
  }
  return {};
}

/// A program with open sizes, for the shapes of the given inputs and of
/// --shape.
Result<Program> bindProgram(const Program &program, const RunVerb &options,
                            const std::map<size_t, Array> &given) {
  auto shapes = parseShapes(options.model.shapes);
  if (!shapes.ok())
    return shapes.error();
  std::vector<std::vector<int64_t>> extents;
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    const TensorInfo &input = program.inputs[i];
    auto array = given.find(i);
    auto shape = shapes->find(input.name);
    if (array != given.end())
      extents.push_back(array->second.shape);
    else if (shape != shapes->end())
      extents.push_back(shape->second);
    else if (std::any_of(input.shape.begin(), input.shape.end(),
                         [](const Dim &dim) { return !dim.isConstant(); }))
      return Error::refused("input '" + input.name + "'",
                            "its shape is open: " +
                                describe(input, program.symbols),
                            "give it with --input, or its shape with --shape " +
                                input.name + "=N,N...");
    else
      extents.push_back(input.extents());
  }
  Result<SymbolValues> values = bindSymbols(program, extents);
  if (!values.ok())
    return values.error();
  return instantiate(program, *values);
}

Result<Runnable> loadArtifact(const RunVerb &options, Report &report) {
  logInfo("reading " + options.model.model);
  auto program = readArtifact(options.model.model);
  if (!program.ok())
    return program.error();
  report.model = (*program)->model;
  if (Status status = refuseCompilerOptions(options, **program); !status.ok())
    return status.error();
  std::vector<InputDeclaration> declared;
  for (const TensorInfo &input : (*program)->inputs)
    declared.push_back(
        {input.name, input.type, describe(input, (*program)->symbols)});
  auto given = readGivenInputs(declared, options.model);
  if (!given.ok())
    return given.error();
  if (hasOpenSizes(**program)) {
    Result<Program> bound = bindProgram(**program, options, *given);
    if (!bound.ok())
      return bound.error();
    program = std::make_shared<const Program>(std::move(*bound));
  }
  auto inputs = completeInputs((*program)->inputs, std::move(*given),
                               options.random, options.model.model);
  if (!inputs.ok())
    return inputs.error();
  return Runnable{*program, std::move(*inputs),
                  *parseDeviceKind(options.device.device),
                  options.device.target.value_or("")};
}

/// Runs so often as asked; the statistics of all runs end in the report, the
/// last run's outputs in `outputs`.
Status execute(const Session &session, const RunVerb &options,
               const std::vector<Array> &inputs, std::vector<Array> &outputs,
               Report &report) {
  Result<std::unique_ptr<ExecutionContext>> context = session.createContext();
  if (!context.ok())
    return context.error();
  std::vector<TensorView> in;
  for (const Array &array : inputs)
    in.push_back({array.type, array.shape, array.bytes.data()});
  std::vector<MutableTensorView> out;
  for (Array &array : outputs)
    out.push_back({array.type, array.shape, array.bytes.data()});
  for (int64_t i = 0; i < options.repeat; ++i) {
    if (Status status = (*context)->run(in, out); !status.ok())
      return status;
    report.runSeconds.push_back((*context)->statistics().seconds);
    addStatistics(report, session.target(), (*context)->statistics(),
                  i == 0 ? session.prologueStatistics() : RunStatistics());
  }
  return {};
}

std::string timesText(const Report &report) {
  std::vector<double> seconds = report.runSeconds;
  if (seconds.empty())
    return "";
  std::sort(seconds.begin(), seconds.end());
  std::string text = "ran in " + duration(seconds[seconds.size() / 2]);
  if (seconds.size() > 1)
    text += " (median of " + std::to_string(seconds.size()) + ", min " +
            duration(seconds.front()) + ", max " + duration(seconds.back()) +
            ")";
  if (report.compileCpuSeconds.total)
    text = "compiled in " + duration(*report.compileCpuSeconds.total) +
           " of CPU time, " + text;
  return text;
}

std::string checksText(const std::vector<CheckEntry> &checks) {
  Table table({"check", "max abs", "max rel", ""}, {1, 2});
  for (const CheckEntry &check : checks)
    table.add({check.output, check.maxAbs ? number(*check.maxAbs) : "-",
               check.maxRel ? number(*check.maxRel) : "-",
               check.ok ? "ok" : "FAILED"});
  return table.text("");
}

Status failedChecks(const std::vector<CheckEntry> &checks) {
  Error error{ErrorKind::CheckFailed, {}};
  for (const CheckEntry &check : checks)
    if (!check.ok)
      error.messages.push_back(
          {"", "output '" + check.output + "'", check.reason,
           "--rtol, --atol and --atol-rms say how far an output may be off"});
  if (error.messages.empty())
    return {};
  return error;
}

} // namespace

std::string totalsText(const Report &report) {
  std::string text = count(report.totals.kernels.value_or(0), "kernel");
  if (report.totals.floorKernels)
    text += " (floor " + std::to_string(*report.totals.floorKernels) + ")";
  text += ", " + count(report.totals.libraryCalls.value_or(0), "library call");
  if (report.totals.nodes)
    text += " for " + count(*report.totals.nodes, "node");
  return text;
}

Status run(const RunVerb &options, Report &report) {
  bool fromArtifact = isArtifact(options.model.model);
  if (options.check.check) // before any work
    if (auto files = listDataSet(options.model.dataSet, "output"); !files.ok())
      return files.error();
  Result<Runnable> runnable = fromArtifact ? loadArtifact(options, report)
                                           : compileModel(options, report);
  if (!runnable.ok())
    return runnable.error();

  SessionOptions sessionOptions;
  sessionOptions.device = runnable->device;
  sessionOptions.target = runnable->target;
  sessionOptions.threads = options.threads;
  sessionOptions.memoryCap = options.memoryCap;
  sessionOptions.seed = options.seed;
  Result<std::shared_ptr<const Session>> session =
      Session::create(runnable->program, sessionOptions);
  if (!session.ok())
    return session.error();
  report.device = std::string(name((*session)->device()));
  logInfo("running on " + (*session)->description());
  const Program &program = (*session)->program();
  if (fromArtifact) {
    addProgram(report, program, (*session)->target());
    if (Status status = emitFromArtifact(options, (*session)->target());
        !status.ok())
      return status;
  }

  Result<std::vector<Array>> outputs = makeOutputs(program.outputs);
  if (!outputs.ok())
    return outputs.error();
  if (Status status =
          execute(**session, options, runnable->inputs, *outputs, report);
      !status.ok())
    return status;
  if (!options.saveOutputs.empty())
    if (Status status =
            saveOutputs(options.saveOutputs, program.outputs, *outputs);
        !status.ok())
      return status;
  if (options.check.check) {
    auto checks = checkOutputs(program.outputs, *outputs, options.model.dataSet,
                               options.check);
    if (!checks.ok())
      return checks.error();
    report.checks = std::move(*checks);
  }

  auto emit = parseEmit(options.plan.emit);
  if (!options.common.json && !(emit.ok() && emitsToOutput(*emit))) {
    printResult(summarise(program.outputs, *outputs));
    if (!report.checks.empty())
      printResult("\n" + checksText(report.checks));
    if (std::string counters = countersText(report); !counters.empty())
      printResult("\n" + counters);
    if (std::string findings = findingsText(report); !findings.empty())
      printResult("\n" + findings);
    std::string where = *report.target == *report.device
                            ? *report.device
                            : *report.target + " on " + *report.device;
    printResult("\n" + where + ": " + totalsText(report) + "\n" +
                timesText(report) + "\n");
  }
  Error failed{ErrorKind::CheckFailed, {}};
  for (const Status &status :
       {findingsStatus(report), failedChecks(report.checks)})
    if (!status.ok())
      failed.messages.insert(failed.messages.end(),
                             status.error().messages.begin(),
                             status.error().messages.end());
  if (!failed.messages.empty())
    return failed;
  return {};
}

} // namespace lockstitch::tool
