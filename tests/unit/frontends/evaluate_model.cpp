// Developer's tool: imports a model and computes it with the reference
// evaluator, without any back end, so that an importer's mistake is told from a
// code generator's.
//
//   evaluate_model MODEL.onnx [FOLDER]
//       FOLDER holds input_0.pb ... and, if there are any, output_0.pb ... to
//       compare with (default: MODEL's test_data_set_0). --print: the primitive
//       graph. --rtol R --atol A --atol-rms S: as `lockstitch run --check`.
#include "compiler/graph/evaluate.h"
#include "compiler/graph/evaluate_scalar.h"
#include "frontends/onnx/importer.h"
#include "frontends/onnx/tensor_file.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <sys/resource.h>

using namespace lockstitch;
namespace fs = std::filesystem;

namespace {

struct Tolerance {
  double relative = 1e-4, absolute = 1e-5, ofRootMeanSquare = 0;
};

int fail(const Error &error) {
  for (const ErrorMessage &message : error.messages)
    std::fprintf(stderr, "error: %s%s%s: %s%s%s\n", message.node.c_str(),
                 message.node.empty() ? "" : ": ", message.where.c_str(),
                 message.reason.c_str(), message.wayOut.empty() ? "" : "; ",
                 message.wayOut.c_str());
  return error.kind == ErrorKind::Internal ? 3 : 2;
}

bool compare(const std::string &name, const HostTensor &got,
             const HostTensor &want, const Tolerance &tolerance) {
  if (!(got.type == want.type)) {
    std::printf("%s: is %s, should be %s\n", name.c_str(),
                toString(got.type).c_str(), toString(want.type).c_str());
    return false;
  }
  ElementType type = got.type.element;
  size_t width = byteSize(type), count = got.type.elements(), wrong = 0,
         first = 0;
  double squares = 0, worst = 0;
  auto at = [&](const HostTensor &tensor, size_t i) {
    return evaluation::load(type, tensor.bytes.data() + i * width);
  };
  if (isFloat(type))
    for (size_t i = 0; i < count; ++i)
      squares += std::isfinite(at(want, i).real)
                     ? at(want, i).real * at(want, i).real
                     : 0;
  double absolute =
      tolerance.absolute +
      tolerance.ofRootMeanSquare * std::sqrt(count ? squares / count : 0);
  for (size_t i = 0; i < count; ++i) {
    bool ok;
    if (isFloat(type)) {
      double g = at(got, i).real, w = at(want, i).real;
      ok = std::isnan(w)   ? std::isnan(g)
           : std::isinf(w) ? g == w
                           : std::fabs(g - w) <=
                                 absolute + tolerance.relative * std::fabs(w);
      if (std::isfinite(g) && std::isfinite(w) && g != w) {
        double allowed = absolute + tolerance.relative * std::fabs(w);
        worst = std::fmax(worst,
                          allowed > 0 ? std::fabs(g - w) / allowed : HUGE_VAL);
      }
    } else {
      ok = at(got, i).integer == at(want, i).integer;
    }
    if (!ok && !wrong++)
      first = i;
  }
  if (!wrong) {
    std::printf("%s: %s ok, %.3f of the tolerance\n", name.c_str(),
                toString(got.type).c_str(), worst);
    return true;
  }
  auto text = [&](const HostTensor &tensor) {
    return isFloat(type) ? std::to_string(at(tensor, first).real)
                         : std::to_string(at(tensor, first).integer);
  };
  std::printf(
      "%s: %s, %zu of %zu values differ; number %zu is %s, should be %s\n",
      name.c_str(), toString(got.type).c_str(), wrong, count, first,
      text(got).c_str(), text(want).c_str());
  return false;
}

} // namespace

int main(int argc, char **argv) {
  std::vector<std::string> places;
  Tolerance tolerance;
  bool print = false, importOnly = false, specialise = false;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    auto number = [&] { return i + 1 < argc ? std::atof(argv[++i]) : 0.0; };
    if (argument == "--print")
      print = true;
    else if (argument == "--specialise")
      specialise = true;
    else if (argument == "--import-only")
      importOnly = true;
    else if (argument == "--rtol")
      tolerance.relative = number();
    else if (argument == "--atol")
      tolerance.absolute = number();
    else if (argument == "--atol-rms")
      tolerance.ofRootMeanSquare = number();
    else
      places.push_back(argument);
  }
  if (places.empty()) {
    std::fprintf(stderr, "usage: evaluate_model MODEL.onnx [FOLDER] [--print] "
                         "[--rtol R] [--atol A] [--atol-rms S]\n");
    return 2;
  }
  auto cpuMilliseconds = [] {
    return 1e3 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  };
  double start = cpuMilliseconds();
  auto model = readModel(places[0]);
  double read = cpuMilliseconds();
  if (!model.ok())
    return fail(model.error());
  fs::path folder = places.size() > 1
                        ? fs::path(places[1])
                        : fs::path(places[0]).parent_path() / "test_data_set_0";

  ImportOptions options;
  std::vector<HostTensor> inputs;
  for (size_t i = 0; i < model->inputs.size(); ++i) {
    auto tensor = readTensorFile(
        (folder / ("input_" + std::to_string(i) + ".pb")).string());
    if (!tensor.ok())
      return fail(tensor.error());
    std::vector<int64_t> &shape = options.shapes[model->inputs[i].name];
    for (const Dim &dim : tensor->type.shape)
      shape.push_back(dim.value());
    inputs.push_back(std::move(*tensor));
  }
  if (specialise)
    for (size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i].type.elements() <= 64)
        options.values[model->inputs[i].name] = inputs[i];
  double beforeImport = cpuMilliseconds();
  auto graph = importModel(*model, options);
  if (!graph.ok())
    return fail(graph.error());
  double imported = cpuMilliseconds();
  size_t library = 0;
  for (const Primitive &primitive : graph->primitives)
    library += primitive.kind == Primitive::Kind::Library;
  std::printf("%s: %zu nodes, %zu primitives, %zu library calls\n",
              graph->name.c_str(), graph->origins.size(),
              graph->primitives.size(), library);
  if (print)
    std::fputs(toString(*graph).c_str(), stdout);
  if (importOnly) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    std::printf("read %.1f ms, import %.1f ms of CPU; peak memory %ld KiB, the "
                "file has %zu KiB\n",
                read - start, imported - beforeImport, usage.ru_maxrss,
                static_cast<size_t>(fs::file_size(places[0]) >> 10));
    return 0;
  }
  auto outputs = evaluateGraph(*graph, inputs);
  if (!outputs.ok())
    return fail(outputs.error());
  bool ok = true;
  for (size_t i = 0; i < outputs->size(); ++i) {
    fs::path file = folder / ("output_" + std::to_string(i) + ".pb");
    if (!fs::exists(file))
      continue;
    auto want = readTensorFile(file.string());
    if (!want.ok())
      return fail(want.error());
    ok &= compare(graph->outputNames[i], (*outputs)[i], *want, tolerance);
  }
  return ok ? 0 : 1;
}
