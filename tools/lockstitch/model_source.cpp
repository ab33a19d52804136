#include "tools/lockstitch/model_source.h"

#include "runtime/program/artifact.h"
#include "tools/lockstitch/log.h"
#include "tools/lockstitch/messages.h"
#include "tools/lockstitch/text.h"

#include <algorithm>
#include <ctime>

namespace lockstitch::tool {
namespace {

Explorer explorerOf(const std::string &name) {
  return name == "none"  ? Explorer::None
         : name == "xla" ? Explorer::Xla
                         : Explorer::FusionStitching;
}

std::string shapeList(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? "," : "") + std::to_string(shape[i]);
  return text + "]";
}

Result<CompileOptions> compileOptions(const PlanOptions &options) {
  CompileOptions result;
  result.explorer = explorerOf(options.explorer.value_or("fusionstitching"));
  result.libraryCalls = options.libraries != "none";
  if (!options.plan.empty()) {
    if (options.explorer)
      return Error::refused(
          "--plan", "--explorer says who plans, but --plan is a plan already",
          "leave one of them out");
    Result<std::string> text = readFile(options.plan, "--plan");
    if (!text.ok())
      return text.error();
    if (text->find_first_not_of(" \t\r\n") == std::string::npos)
      return Error::refused("--plan", "'" + options.plan + "' is empty",
                            "begin with what --emit plan=FILE prints");
    result.plan = std::move(*text);
    result.planFile = options.plan;
  }
  return result;
}

/// Which of `targets` the stage is taken from.
std::string targetOfStage(const std::string &stage,
                          const std::vector<std::string> &targets) {
  if (!isGpuStage(stage) && !isHostStage(stage))
    return targets.front();
  for (const std::string &target : targets)
    if (isGpuTarget(target) == isGpuStage(stage))
      return target;
  return isGpuStage(stage) ? "sm_90" : "host";
}

/// No tensor has more bytes than can be counted: sizes are multiplied without a
/// check from here on.
Status checkSizes(const PrimitiveGraph &graph) {
  for (const Value &value : graph.values) {
    std::vector<int64_t> shape;
    for (const Dim &dim : value.type.shape)
      shape.push_back(dim.value());
    if (bytesOf(value.type.element, shape) >= 0)
      continue;
    std::string what =
        value.kind == Value::Kind::Input ? "input '" : "tensor '";
    return Error::refused(what + value.name + "'",
                          describe(value.type.element, shape) +
                              " has more bytes than 63 bits can count",
                          "give smaller shapes: --shape, --dim");
  }
  return {};
}

Status writeStages(const Compilation &compilation,
                   const std::map<std::string, std::string> &emit,
                   const std::string &target) {
  for (const std::string &stage : kEmitStages) {
    auto file = emit.find(stage);
    if (file == emit.end())
      continue;
    auto text = compilation.emitted.find(stage);
    if (text == compilation.emitted.end()) {
      std::string assembler = compilation.targets.empty()
                                  ? ""
                                  : compilation.targets.front().assembler;
      if (stage == "cubin")
        return Error::refused("--emit cubin",
                              "there is no assembler" +
                                  (assembler.empty() ? "" : ": " + assembler),
                              "install ptxas (part of the CUDA toolkit) and "
                              "put it on the PATH, or use --emit ptx");
      return Error::internal("--emit " + stage,
                             "the compiler did not keep this stage for " +
                                 target);
    }
    if (Status status = writeStage(stage, file->second, text->second);
        !status.ok())
      return status;
  }
  return {};
}

} // namespace

double cpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) +
         static_cast<double>(time.tv_nsec) * 1e-9;
}

bool isArtifact(const std::string &path) {
  return path.ends_with(".lsp") || looksLikeArtifact(path);
}

bool isGpuTarget(const std::string &target) {
  return target.starts_with("sm_");
}
bool isGpuStage(const std::string &stage) {
  return stage == "ptx" || stage == "cubin";
}
bool isHostStage(const std::string &stage) { return stage == "object"; }

Status writeStage(const std::string &stage, const std::string &file,
                  std::string_view content) {
  if (file == "-") {
    printResult(content);
    return {};
  }
  return writeFile(file, content, "--emit " + stage);
}

std::string declarationText(const OnnxTensorInfo &info) {
  std::string text = info.name + " " + info.elementName;
  if (!info.shape)
    return text + " of any shape";
  text += "[";
  for (size_t i = 0; i < info.shape->size(); ++i) {
    const onnx::DeclaredDim &dim = (*info.shape)[i];
    text += (i ? "," : "") + (dim.value            ? std::to_string(*dim.value)
                              : dim.symbol.empty() ? "?"
                                                   : dim.symbol);
  }
  return text + "]";
}

Result<PreparedModel> prepareModel(const ModelOptions &options,
                                   Report &report) {
  double begin = cpuSeconds();
  logInfo("reading " + options.model);
  Result<OnnxModel> model = readModel(options.model);
  if (!model.ok())
    return model.error();
  PreparedModel prepared;
  prepared.model = std::move(*model);
  report.model = prepared.model.name;
  for (const OnnxTensorInfo &input : prepared.model.inputs)
    prepared.declared.push_back(
        {input.name, input.element, declarationText(input)});
  auto shapes = parseShapes(options.shapes);
  if (!shapes.ok())
    return shapes.error();
  auto dims = parseDims(options.dims);
  if (!dims.ok())
    return dims.error();
  auto given = readGivenInputs(prepared.declared, options);
  if (!given.ok())
    return given.error();
  prepared.import.shapes = std::move(*shapes);
  prepared.import.dims = std::move(*dims);
  prepared.given = std::move(*given);
  for (const auto &[index, array] : prepared.given) {
    const std::string &name = prepared.declared[index].name;
    auto [place, isNew] = prepared.import.shapes.emplace(name, array.shape);
    if (!isNew && place->second != array.shape)
      return Error::refused("input '" + name + "'",
                            "--shape says " + shapeList(place->second) +
                                ", the given tensor is " +
                                describe(array.type, array.shape),
                            "leave --shape out, or give another tensor");
  }
  prepared.cpuSeconds = cpuSeconds() - begin;
  return prepared;
}

Result<Compilation> compilePrepared(const PreparedModel &prepared,
                                    const PlanOptions &options,
                                    const std::vector<std::string> &targets,
                                    Report &report) {
  report.target = targets.front();
  report.explorer = options.explorer.value_or("fusionstitching");
  auto emit = parseEmit(options.emit);
  if (!emit.ok())
    return emit.error();
  Result<CompileOptions> wanted = compileOptions(options);
  if (!wanted.ok())
    return wanted.error();

  double begin = cpuSeconds();
  logInfo("importing " + prepared.model.path);
  Result<PrimitiveGraph> graph = importModel(prepared.model, prepared.import);
  double imported = cpuSeconds();
  report.compileCpuSeconds.import = prepared.cpuSeconds + imported - begin;
  if (!graph.ok())
    return graph.error();
  if (Status status = checkSizes(*graph); !status.ok())
    return status.error();

  // Stages are kept of the first target only: those of another one take a
  // compilation of their own.
  std::map<std::string, std::set<std::string>> elsewhere;
  wanted->targets = targets;
  for (const auto &[stage, file] : *emit)
    if (std::string target = targetOfStage(stage, targets);
        target == targets.front())
      wanted->emit.insert(stage);
    else
      elsewhere[target].insert(stage);
  for (const auto &[target, stages] : elsewhere) {
    CompileOptions more = *wanted;
    more.targets = {target};
    more.emit = stages;
    logInfo("compiling for " + target + ", for --emit");
    Result<Compilation> compilation = compile(*graph, more);
    if (!compilation.ok())
      return compilation.error();
    std::map<std::string, std::string> files;
    for (const std::string &stage : stages)
      files[stage] = (*emit)[stage];
    if (Status status = writeStages(*compilation, files, target); !status.ok())
      return status.error();
  }

  double compileBegin = cpuSeconds();
  logInfo("compiling for " + join(targets));
  Result<Compilation> compilation = compile(std::move(*graph), *wanted);
  report.compileCpuSeconds.total =
      *report.compileCpuSeconds.import + cpuSeconds() - compileBegin;
  if (!compilation.ok())
    return compilation.error();
  for (const TargetReport &target : compilation->targets)
    if (!target.assembler.empty())
      logInfo("assembler for " + target.target + ": " + target.assembler);
  const TargetProgram *program = compilation->program->find(targets.front());
  if (!program)
    return Error::internal("compiler",
                           "the program lacks the target " + targets.front());
  addProgram(report, *compilation->program, *program);
  addCompilation(report, *compilation, *program);
  std::map<std::string, std::string> files;
  for (const std::string &stage : wanted->emit)
    files[stage] = (*emit)[stage];
  if (Status status = writeStages(*compilation, files, targets.front());
      !status.ok())
    return status.error();
  return compilation;
}

} // namespace lockstitch::tool
