// magika FILE...: tells the type of files, with the model `magika` compiled by Lockstitch. Shows how Lockstitch is embedded:
//
//   readModel -> importModel -> compile -> Session::create -> createContext -> run
//
// What the model wants to see of a file, and what its scores mean, is in magika_files.h.
#include "compiler/driver/compile.h"
#include "frontends/onnx/importer.h"
#include "runtime/session/session.h"
#include "tools/examples/magika_files.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>

using namespace lockstitch;

namespace {

/// Files per run of the model: the program is compiled for so many at once, or for fewer if there are fewer files.
constexpr int64_t kMaxBatch = 16;
constexpr int kTimedRuns = 5;

double secondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
      .count();
}

/// The model, compiled for `batch` files and ready to run on this CPU.
struct CompiledModel {
  std::shared_ptr<const Session> session;
  std::unique_ptr<ExecutionContext> context;
  int64_t batch = 0;
  double compileSeconds = 0, runSeconds = 0;

  const TensorInfo &input() const { return session->program().inputs[0]; }
  const TensorInfo &output() const { return session->program().outputs[0]; }
};

Result<CompiledModel> prepare(const std::string &file, int64_t batch,
                              int64_t tokens, int64_t labels, int threads) {
  auto begin = std::chrono::steady_clock::now();
  Result<OnnxModel> model = readModel(file);
  if (!model.ok())
    return model.error();
  ImportOptions shapes;
  shapes.shapes["bytes"] = {batch, tokens}; // the model leaves the batch open
  Result<PrimitiveGraph> graph = importModel(*model, shapes);
  if (!graph.ok())
    return graph.error();
  CompileOptions options;
  options.targets = {"host"};
  Result<Compilation> compilation = compile(std::move(*graph), options);
  if (!compilation.ok())
    return compilation.error();

  CompiledModel compiled;
  compiled.batch = batch;
  compiled.compileSeconds = secondsSince(begin);
  SessionOptions sessionOptions;
  sessionOptions.device = DeviceKind::Host;
  sessionOptions.threads = threads;
  Result<std::shared_ptr<const Session>> session =
      Session::create(compilation->program, sessionOptions);
  if (!session.ok())
    return session.error();
  compiled.session = std::move(*session);
  Result<std::unique_ptr<ExecutionContext>> context =
      compiled.session->createContext();
  if (!context.ok())
    return context.error();
  compiled.context = std::move(*context);

  const Program &made = compiled.session->program();
  if (made.inputs.size() != 1 || made.outputs.size() != 1 ||
      compiled.output().extents() != std::vector<int64_t>{batch, labels})
    return Error::refused(file,
                          "is not the model that the configuration describes",
                          "use the files of magika 1.0.3");
  return compiled;
}

/// Scores of `batch` files, row after row.
Result<std::vector<float>> run(CompiledModel &model,
                               const std::vector<int32_t> &tokens) {
  std::vector<float> scores(model.output().elements());
  TensorView input{model.input().type, model.input().extents(), tokens.data()};
  MutableTensorView output{model.output().type, model.output().extents(),
                           scores.data()};
  if (Status status = model.context->run({&input, 1}, {&output, 1});
      !status.ok())
    return status.error();
  return scores;
}

/// Fills in the answers that only the model can give, a batch at a time; the last one is filled up with empty rows.
Status askModel(CompiledModel &model, const magika::Config &config,
                magika::Mode mode, std::vector<magika::Reading> &readings) {
  std::vector<magika::Reading *> open;
  for (magika::Reading &reading : readings)
    if (reading.needsModel)
      open.push_back(&reading);
  for (size_t begin = 0; begin < open.size(); begin += model.batch) {
    size_t count = std::min<size_t>(model.batch, open.size() - begin);
    std::vector<int32_t> tokens(model.batch * config.tokens(),
                                config.paddingToken);
    for (size_t i = 0; i < count; ++i)
      std::ranges::copy(open[begin + i]->tokens,
                        tokens.begin() +
                            static_cast<int64_t>(i) * config.tokens());
    Result<std::vector<float>> scores = run(model, tokens);
    if (!scores.ok())
      return scores.error();
    std::span<const float> rows(*scores);
    for (size_t i = 0; i < count; ++i)
      open[begin + i]->answer = magika::interpret(
          config, rows.subspan(i * config.labels.size(), config.labels.size()),
          mode);

    if (begin == 0) { // once more, to time it
      std::vector<double> times;
      for (int i = 0; i < kTimedRuns; ++i) {
        auto start = std::chrono::steady_clock::now();
        if (Result<std::vector<float>> again = run(model, tokens); !again.ok())
          return again.error();
        times.push_back(secondsSince(start));
      }
      std::ranges::nth_element(times, times.begin() + kTimedRuns / 2);
      model.runSeconds = times[kTimedRuns / 2];
    }
  }
  return {};
}

void printAnswers(const std::vector<std::string> &files,
                  const std::vector<magika::Reading> &readings) {
  size_t width = 4;
  for (const std::string &file : files)
    width = std::max(width, file.size());
  fmt::print("{:{}}  {:14} {:>6}\n", "file", width, "type", "score");
  for (size_t i = 0; i < files.size(); ++i) {
    const magika::Answer &answer = readings[i].answer;
    std::string note;
    if (!readings[i].needsModel)
      note = "  (the model was not asked)";
    else if (!answer.reason.empty())
      note = fmt::format("  (the model said {}: {})", answer.modelType,
                         answer.reason);
    fmt::print("{:{}}  {:14} {:6.3f}{}\n", files[i], width, answer.type,
               answer.score, note);
  }
}

void printProgram(const CompiledModel &model) {
  const TargetProgram &target = model.session->target();
  int64_t kernels = 0, calls = 0, kernelBytes = 0, libraryBytes = 0;
  forEachStep(target.steps, [&](const Step &step, int64_t) {
    if (step.kind == Step::Kind::Loop)
      return;
    bool library = step.kind == Step::Kind::Library;
    (library ? calls : kernels) += 1;
    (library ? libraryBytes : kernelBytes) +=
        step.bytesRead + step.bytesWritten;
  });
  auto row = [](std::string_view what, const std::string &figure) {
    fmt::print("  {:38} {:>12}\n", what, figure);
  };
  auto megabytes = [](int64_t bytes) {
    return fmt::format("{:.2f} MB", bytes / 1e6);
  };
  fmt::print("\ncompiled for {} files at once, run on {}\n", model.batch,
             model.session->description());
  row("nodes in", fmt::to_string(model.session->program().totalNodes));
  row("kernels out", fmt::to_string(kernels));
  row("library calls", fmt::to_string(calls));
  row("bytes read and written by kernels", megabytes(kernelBytes));
  row("bytes read and written by library calls", megabytes(libraryBytes));
  row("memory for intermediate values", megabytes(target.arenaBytes.value()));
  row("compile time", fmt::format("{:.0f} ms", model.compileSeconds * 1e3));
  row(fmt::format("run time (median of {})", kTimedRuns),
      fmt::format("{:.2f} ms", model.runSeconds * 1e3));
}

Status tell(const std::string &modelFile, const magika::Config &config,
            magika::Mode mode, int threads,
            const std::vector<std::string> &files) {
  std::vector<magika::Reading> readings;
  Error unreadable;
  for (const std::string &file : files) {
    Result<magika::Reading> reading = magika::readFile(config, file);
    if (reading.ok())
      readings.push_back(std::move(*reading));
    else
      unreadable.messages.push_back(reading.error().messages[0]);
  }
  if (!unreadable.messages.empty())
    return unreadable;

  int64_t open = std::ranges::count_if(readings, &magika::Reading::needsModel);
  if (open == 0) {
    printAnswers(files, readings);
    return {};
  }
  auto labels = static_cast<int64_t>(config.labels.size());
  Result<CompiledModel> model = prepare(modelFile, std::min(open, kMaxBatch),
                                        config.tokens(), labels, threads);
  if (!model.ok())
    return model.error();
  if (Status status = askModel(*model, config, mode, readings); !status.ok())
    return status;
  printAnswers(files, readings);
  printProgram(*model);
  return {};
}

int report(const Error &error) {
  for (const ErrorMessage &message : error.messages) {
    fmt::print(stderr, "magika: {}{}{}: {}\n", message.where,
               message.where.empty() || message.node.empty() ? "" : ": ",
               message.node, message.reason);
    if (!message.wayOut.empty())
      fmt::print(stderr, "  {}\n", message.wayOut);
  }
  return static_cast<int>(error.kind);
}

} // namespace

int main(int argc, char **argv) {
  std::string model, config, types;
  std::vector<std::string> files;
  int threads = 0;
  magika::Mode mode = magika::Mode::HighConfidence;
  const std::map<std::string, magika::Mode> modes = {
      {"best-guess", magika::Mode::BestGuess},
      {"medium-confidence", magika::Mode::MediumConfidence},
      {"high-confidence", magika::Mode::HighConfidence}};

  CLI::App app(
      "Tells the type of files with the model magika, compiled by Lockstitch");
  app.footer("Example:  tools/dev demo README.md");
  app.add_option("--model", model, "model.onnx of magika 1.0.3")->required();
  app.add_option("--config", config, "its config.min.json")->required();
  app.add_option("--types", types, "its content_types_kb.min.json")->required();
  app.add_option("--mode", mode, "how sure the model must be")
      ->transform(CLI::CheckedTransformer(modes));
  app.add_option("--threads", threads,
                 "threads at work at once; 0: one per core")
      ->check(CLI::Range(0, 1024));
  app.add_option("FILE", files, "files to look at")->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    int status = app.exit(error);
    return status == 0 ? 0 : 2;
  }

  Result<magika::Config> read = magika::readConfig(config, types);
  if (!read.ok())
    return report(read.error());
  Status status = tell(model, *read, mode, threads, files);
  return status.ok() ? 0 : report(status.error());
}
