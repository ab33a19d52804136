// The command line. The one user of CLI11.
#include "tools/lockstitch/options.h"

#include "tools/lockstitch/text.h"
#include "tools/lockstitch/version.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace lockstitch::tool {
namespace {

/// Checks of values, with messages that name the value.
CLI::Validator oneOf(std::vector<std::string> names) {
  return CLI::Validator(
      [names](std::string &text) {
        bool known = std::find(names.begin(), names.end(), text) != names.end();
        return known ? "" : "'" + text + "' is none of " + join(names);
      },
      "");
}

CLI::Validator inRange(int64_t low, int64_t high) {
  return CLI::Validator(
      [=](std::string &text) -> std::string {
        Result<int64_t> value = parseInteger(text, "");
        if (value.ok() && *value >= low && *value <= high)
          return "";
        std::string range =
            high == INT64_MAX
                ? "of " + std::to_string(low) + " or more"
                : "from " + std::to_string(low) + " to " + std::to_string(high);
        return "'" + text + "' is not a whole number " + range;
      },
      "");
}

CLI::Validator notNegative() {
  return CLI::Validator(
      [](std::string &text) -> std::string {
        char *end = nullptr;
        double value = std::strtod(text.c_str(), &end);
        bool ok =
            !text.empty() && *end == 0 && value >= 0 && std::isfinite(value);
        return ok ? "" : "'" + text + "' is not a number of 0 or more";
      },
      "");
}

void addCommon(CLI::App &verb, CommonOptions &options) {
  verb.add_option("--report", options.report,
                  "write the report (JSON) here, whatever the exit status")
      ->type_name("FILE")
      ->group("Output");
  verb.add_flag("--json", options.json, "print the report instead of text")
      ->group("Output");
  verb.add_option("--log-level", options.logLevel,
                  "off, error, warn, info, debug or trace (default warn)")
      ->check(oneOf({"off", "error", "warn", "info", "debug", "trace"}))
      ->type_name("LEVEL")
      ->group("Output");
  verb.add_option("--color,--colour", options.colour,
                  "auto, always or never (default auto)")
      ->check(oneOf({"auto", "always", "never"}))
      ->type_name("WHEN")
      ->group("Output");
}

/// An option that may be repeated and takes one value each time.
CLI::Option *addList(CLI::App &verb, const std::string &name,
                     std::vector<std::string> &values,
                     const std::string &text) {
  return verb.add_option(name, values, text)
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
}

void addModel(CLI::App &verb, ModelOptions &options, const std::string &what) {
  verb.add_option("MODEL", options.model, what)->required()->type_name("FILE");
  addList(verb, "--input", options.inputs,
          "an input: a .npy file or an ONNX TensorProto; repeatable")
      ->type_name("NAME=FILE")
      ->group("Model");
  verb.add_option(
          "--data-set", options.dataSet,
          "a folder with input_0.pb ... in the order of the model's inputs")
      ->type_name("DIR")
      ->group("Model");
  addList(verb, "--shape", options.shapes,
          "the shape of an input: x=1,3,48,320; repeatable")
      ->type_name("NAME=N,N...")
      ->group("Model");
  addList(verb, "--dim", options.dims,
          "the value of a dimension that the model names; repeatable")
      ->type_name("SYMBOL=N")
      ->group("Model");
}

void addPlan(CLI::App &verb, PlanOptions &options, bool emit) {
  verb.add_option(
          "--explorer", options.explorer,
          "who plans: fusionstitching, xla or none (default fusionstitching)")
      ->check(oneOf({"fusionstitching", "xla", "none"}))
      ->type_name("NAME")
      ->group("Compiler");
  verb.add_option("--plan", options.plan,
                  "use this plan, as --emit plan=FILE prints it")
      ->type_name("FILE")
      ->group("Compiler");
  verb.add_option("--libraries", options.libraries,
                  "auto leaves products and convolutions to libraries; none "
                  "makes kernels of them, slow ones")
      ->check(oneOf({"auto", "none"}))
      ->type_name("NAME")
      ->group("Compiler");
  if (emit)
    addList(verb, "--emit", options.emit,
            "write a stage: graph, primitives, plan, schedule, stages, llvm, "
            "ptx, cubin or object; '-' prints it alone")
        ->type_name("STAGE=FILE")
        ->group("Compiler");
}

const char *const kTargets =
    "host, x86-64-v2, x86-64-v3, x86-64-v4, sm_70, sm_75, sm_80, sm_86, sm_89, "
    "sm_90, sm_100 or sm_120";

void addDevice(CLI::App &verb, DeviceChoice &options) {
  verb.add_option("--device", options.device,
                  "auto, host, simulator or cuda (default auto: a CUDA GPU if "
                  "there is one, else host)")
      ->check(oneOf({"auto", "host", "simulator", "cuda"}))
      ->type_name("NAME")
      ->group("Device");
  verb.add_option("--target", options.target,
                  std::string(kTargets) +
                      " (default: host, or sm_90 for the simulator)")
      ->type_name("T")
      ->group("Device");
}

void defineRun(CLI::App &verb, RunVerb &options) {
  addModel(verb, options.model, "an .onnx model or an .lsp artifact");
  verb.add_option("--random", options.random,
                  "fill inputs that are not given: floats normal with a "
                  "deviation of 0.5, i32 and i64 (which may be "
                  "indices) and bool 0 or 1, other integers 0 to 9")
      ->check(inRange(0, INT64_MAX))
      ->type_name("SEED")
      ->group("Model");
  addPlan(verb, options.plan, true);
  addDevice(verb, options.device);
  verb.add_option("--threads", options.threads,
                  "host threads at work at once (default: all of this process)")
      ->check(inRange(1, 4096))
      ->type_name("N")
      ->group("Device");
  verb.add_option("--memory-cap", options.memoryCap,
                  "bytes that the device may allocate")
      ->check(inRange(1, INT64_MAX))
      ->type_name("BYTES")
      ->group("Device");
  verb.add_option("--seed", options.seed,
                  "simulator: permutes the order of warps and blocks")
      ->check(inRange(0, INT64_MAX))
      ->type_name("N")
      ->group("Device");
  verb.add_option("--repeat", options.repeat, "run so many times (default 1)")
      ->check(inRange(1, 1000000000))
      ->type_name("N")
      ->group("Run");
  verb.add_flag("--check", options.check.check,
                "compare the outputs with output_0.pb ... of --data-set")
      ->group("Run");
  verb.add_option("--rtol", options.check.rtol,
                  "relative tolerance (default 1e-3 for f32 and f64, 1e-2 f16, "
                  "8e-2 bf16)")
      ->check(notNegative())
      ->type_name("R")
      ->group("Run");
  verb.add_option("--atol", options.check.atol,
                  "absolute tolerance (default 1e-5 for f32 and f64, 1e-3 f16, "
                  "1e-2 bf16)")
      ->check(notNegative())
      ->type_name("A")
      ->group("Run");
  verb.add_option("--atol-rms", options.check.atolRms,
                  "adds S times the root mean square of the expected output")
      ->check(notNegative())
      ->type_name("S")
      ->group("Run");
  verb.add_option("--save-outputs", options.saveOutputs,
                  "write 0.npy, 1.npy ... and outputs.json into this folder")
      ->type_name("DIR")
      ->group("Output");
  addCommon(verb, options.common);
  verb.footer("Example:\n  lockstitch run model.onnx --input x=x.npy --dim "
              "batch=4 --save-outputs out\n"
              "  lockstitch run model.onnx --random 1 --device simulator "
              "--report report.json");
}

void defineCompile(CLI::App &verb, CompileVerb &options) {
  addModel(verb, options.model, "an .onnx model");
  verb.add_option("-o,--output", options.output, "the artifact to write")
      ->type_name("FILE.lsp")
      ->group("Output");
  verb.add_option("--weights", options.weights,
                  "embed: the artifact has the weights; refer: it names the "
                  "model's files that have them (default embed)")
      ->check(oneOf({"embed", "refer"}))
      ->type_name("HOW")
      ->group("Output");
  addPlan(verb, options.plan, true);
  addList(verb, "--target", options.targets,
          std::string(kTargets) +
              " (default host); repeatable: one artifact, several targets")
      ->type_name("T")
      ->group("Compiler");
  addCommon(verb, options.common);
  verb.footer("Example:\n  lockstitch compile model.onnx --dim batch=4 -o "
              "model.lsp --target x86-64-v3 --target sm_90\n"
              "  lockstitch compile model.onnx --dim batch=4 --emit ptx=-");
}

void defineInspect(CLI::App &verb, InspectVerb &options) {
  verb.add_option("FILE", options.file, "an .onnx model or an .lsp artifact")
      ->required()
      ->type_name("FILE");
  verb.add_flag("--verify", options.verify,
                "check every checksum of an artifact");
  addCommon(verb, options.common);
  verb.footer("Example:\n  lockstitch inspect model.onnx\n"
              "  lockstitch inspect model.lsp --verify");
}

void defineExplain(CLI::App &verb, ExplainVerb &options) {
  addModel(verb, options.model,
           "an .onnx model, or an .lsp artifact (which has the plan but not "
           "its reasons)");
  verb.add_option("--node", options.node, "why this node is where it is")
      ->type_name("ID")
      ->group("Question");
  verb.add_option("--between", options.between,
                  "why these two nodes are, or are not, one kernel")
      ->expected(2)
      ->allow_extra_args(false)
      ->type_name("A B")
      ->group("Question");
  addPlan(verb, options.plan, false);
  addDevice(verb, options.device);
  addCommon(verb, options.common);
  verb.footer("Example:\n  lockstitch explain model.onnx --dim batch=4\n"
              "  lockstitch explain model.onnx --dim batch=4 --between "
              "Softmax#0 MatMul#1");
}

void defineSimulate(CLI::App &verb, SimulateVerb &options) {
  verb.add_option("FILE", options.file, "a PTX file, whoever made it")
      ->required()
      ->type_name("FILE.ptx");
  verb.add_option("KERNEL", options.kernel,
                  "the kernel's mangled name or, where unique, its plain one")
      ->required();
  addList(verb, "--arg", options.args,
          "one per parameter, in order: FILE.npy (a buffer with its content), "
          "f32[4096] (an uninitialised buffer) or i32=7 (a scalar)")
      ->type_name("ARG")
      ->group("Launch");
  verb.add_option("--grid", options.grid, "blocks (default 1)")
      ->type_name("X[,Y[,Z]]")
      ->group("Launch");
  verb.add_option("--block", options.block, "threads of a block (default 1)")
      ->type_name("X[,Y[,Z]]")
      ->group("Launch");
  verb.add_option("--shared", options.sharedBytes, "dynamic shared memory")
      ->check(inRange(0, int64_t(1) << 30))
      ->type_name("BYTES")
      ->group("Launch");
  verb.add_flag("--cooperative", options.cooperative,
                "all blocks are resident at once and may wait for each other")
      ->group("Launch");
  verb.add_option("--seed", options.seed,
                  "permutes the order of warps and blocks")
      ->check(inRange(0, INT64_MAX))
      ->type_name("N")
      ->group("Launch");
  verb.add_option("--threads", options.threads,
                  "host threads (default: one per core)")
      ->check(inRange(1, 4096))
      ->type_name("N")
      ->group("Launch");
  verb.add_option("--save-args", options.saveArgs,
                  "write every buffer afterwards as INDEX.npy into this folder")
      ->type_name("DIR")
      ->group("Output");
  addCommon(verb, options.common);
  verb.footer("Example:\n  lockstitch simulate kernels.ptx softmax --grid 128 "
              "--block 256 --arg x.npy --arg f32[131072] --arg i32=1024");
}

/// Does `lockstitch VERB` ask for JSON and a stage on standard output at once?
Status checkOutput(const CommonOptions &common, const PlanOptions &plan) {
  Result<std::map<std::string, std::string>> emit = parseEmit(plan.emit);
  if (!emit.ok())
    return emit.error();
  if (common.json && emitsToOutput(*emit))
    return Error::refused(
        "command line", "--json and --emit STAGE=- both want standard output",
        "use --report FILE for the report, or --emit STAGE=FILE");
  return {};
}

} // namespace

std::string findOption(int argc, const char *const *argv,
                       const std::string &name, const std::string &otherwise) {
  std::string found = otherwise;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument == "--")
      break;
    if (argument == name && i + 1 < argc && argv[i + 1][0] != '-')
      found = argv[++i];
    else if (argument.starts_with(name + "=") &&
             argument.size() > name.size() + 1)
      found = argument.substr(name.size() + 1);
  }
  return found;
}

Result<Invocation> parseCommandLine(int argc, const char *const *argv) {
  CLI::App app("Lockstitch compiles ONNX models into a few large kernels, runs "
               "them on this CPU, on a simulated GPU or on a GPU, "
               "and says what it did and why.",
               "lockstitch");
  app.footer("Example:\n  lockstitch run model.onnx --random 1\n\n'lockstitch "
             "VERB --help' says more of each.\n\n"
             "Exit status: 0 success; 1 a check failed; 2 the input was "
             "refused; 3 an internal error; 4 the device failed.");
  app.set_version_flag("--version", std::string("lockstitch ") + version());
  app.require_subcommand(1);
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::Throw);

  RunVerb run;
  CompileVerb compile;
  InspectVerb inspect;
  ExplainVerb explain;
  SimulateVerb simulate;
  CLI::App *runApp =
      app.add_subcommand("run", "compile a model when needed, and execute it");
  CLI::App *compileApp = app.add_subcommand(
      "compile", "compile a model ahead of time, into an artifact");
  CLI::App *inspectApp =
      app.add_subcommand("inspect", "say what is in a model or an artifact");
  CLI::App *explainApp =
      app.add_subcommand("explain", "show the plan of a model and its reasons");
  CLI::App *simulateApp = app.add_subcommand(
      "simulate", "run any PTX kernel on the simulator, with all checks");
  defineRun(*runApp, run);
  defineCompile(*compileApp, compile);
  defineInspect(*inspectApp, inspect);
  defineExplain(*explainApp, explain);
  defineSimulate(*simulateApp, simulate);

  std::vector<std::string> verbs;
  for (const CLI::App *verb : app.get_subcommands({}))
    verbs.push_back(verb->get_name());
  if (argc > 1 && argv[1][0] != '-' &&
      std::find(verbs.begin(), verbs.end(), argv[1]) == verbs.end())
    return Error::refused("command line",
                          std::string("there is no verb '") + argv[1] + "'",
                          "verbs are: " + join(verbs));
  if (argc <= 1)
    return Error::refused("command line", "no verb is given",
                          "verbs are: " + join(verbs) +
                              "; see lockstitch --help");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp &) {
    for (const CLI::App *verb : app.get_subcommands())
      return Invocation(HelpText{verb->help()});
    return Invocation(HelpText{app.help()});
  } catch (const CLI::CallForVersion &) {
    return Invocation(HelpText{std::string("lockstitch ") + version() + "\n"});
  } catch (const CLI::ParseError &error) {
    std::string verb;
    for (const CLI::App *used : app.get_subcommands())
      verb = " " + used->get_name();
    return Error::refused("command line", error.what(),
                          "see lockstitch" + verb + " --help");
  }

  if (runApp->parsed()) {
    if (Status status = checkOutput(run.common, run.plan); !status.ok())
      return status.error();
    if (run.check.check && run.model.dataSet.empty())
      return Error::refused("--check", "there is nothing to compare with",
                            "give --data-set DIR with output_0.pb ...");
    return Invocation(std::move(run));
  }
  if (compileApp->parsed()) {
    if (Status status = checkOutput(compile.common, compile.plan); !status.ok())
      return status.error();
    if (compile.output.empty() && compile.plan.emit.empty())
      return Error::refused("command line", "nothing is asked for",
                            "give -o FILE.lsp, or --emit STAGE=FILE");
    return Invocation(std::move(compile));
  }
  if (inspectApp->parsed())
    return Invocation(std::move(inspect));
  if (explainApp->parsed())
    return Invocation(std::move(explain));
  return Invocation(std::move(simulate));
}

} // namespace lockstitch::tool
