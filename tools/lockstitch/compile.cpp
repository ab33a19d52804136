// lockstitch compile: a model into an artifact, ahead of time.
#include "runtime/program/artifact.h"
#include "tools/lockstitch/log.h"
#include "tools/lockstitch/messages.h"
#include "tools/lockstitch/model_source.h"
#include "tools/lockstitch/text.h"
#include "tools/lockstitch/verbs.h"

#include <algorithm>
#include <filesystem>

namespace lockstitch::tool {
namespace {

/// --target, else host; where only stages of a GPU are asked for, sm_90.
Result<std::vector<std::string>> chooseTargets(const CompileVerb &options) {
  std::vector<std::string> targets;
  for (const std::string &target : options.targets) {
    if (std::find(targets.begin(), targets.end(), target) != targets.end())
      return Error::refused("--target " + target, "is given twice",
                            "give each target once");
    targets.push_back(target);
  }
  if (!targets.empty())
    return targets;
  auto emit = parseEmit(options.plan.emit);
  if (!emit.ok())
    return emit.error();
  bool gpu = false, host = false;
  for (const auto &[stage, file] : *emit) {
    gpu |= isGpuStage(stage);
    host |= isHostStage(stage);
  }
  targets = {options.output.empty() && gpu && !host ? "sm_90" : "host"};
  return targets;
}

} // namespace

Status compileAheadOfTime(const CompileVerb &options, Report &report) {
  if (isArtifact(options.model.model))
    return Error::refused(options.model.model,
                          "is an artifact: compiled already",
                          "give the .onnx model");
  Result<std::vector<std::string>> targets = chooseTargets(options);
  if (!targets.ok())
    return targets.error();
  report.target = targets->front();
  Result<PreparedModel> prepared = prepareModel(options.model, report);
  if (!prepared.ok())
    return prepared.error();
  std::error_code code;
  if (!options.output.empty() &&
      std::filesystem::equivalent(options.output, options.model.model, code))
    return Error::refused("-o", "'" + options.output + "' is the model itself",
                          "name another file");
  Result<Compilation> compilation =
      compilePrepared(*prepared, options.plan, *targets, report);
  if (!compilation.ok())
    return compilation.error();
  for (const TargetProgram &target : compilation->program->targets) {
    Report part;
    part.target = target.target;
    addProgram(part, *compilation->program, target);
    addCompilation(part, *compilation, target);
    report.targets.push_back(std::move(part));
  }
  if (!options.output.empty()) {
    logInfo("writing " + options.output);
    WeightStorage weights = options.weights == "refer" ? WeightStorage::Refer
                                                       : WeightStorage::Embed;
    if (Status status =
            writeArtifact(*compilation->program, options.output, weights);
        !status.ok())
      return status;
  }
  auto emit = parseEmit(options.plan.emit);
  if (options.common.json || (emit.ok() && emitsToOutput(*emit)))
    return {};
  std::string text;
  if (!options.output.empty()) {
    auto bytes = std::filesystem::file_size(options.output, code);
    text = options.output + ": " + join(*targets) + ", " +
           (code ? "" : byteCount(static_cast<int64_t>(bytes))) + "\n";
  }
  text += *report.target + ": " + totalsText(report) + "\n";
  if (report.compileCpuSeconds.total)
    text += "compiled in " + duration(*report.compileCpuSeconds.total) +
            " of CPU time\n";
  printResult(text);
  return {};
}

} // namespace lockstitch::tool
