// Compile time per distinct kernel: models of the workload suite through the compiler, warm, for a GPU and for the host.
//
//   build/bench/bin/compile_benchmark [--benchmark_filter=host]
//
// Counters: kernels = distinct kernels made; cpu_ms_per_kernel = CPU time of code generation over them (all threads),
// plan_ms = clean-up, planning and scheduling of the whole model.
#include "compiler/driver/compile.h"
#include "frontends/onnx/importer.h"
#include "frontends/onnx/tensor_file.h"

#include <benchmark/benchmark.h>

#include <filesystem>

using namespace lockstitch;

namespace {

const char *const kModels[] = {"bert",
                               "transformer",
                               "vit",
                               "llama",
                               "kernels/softmax",
                               "kernels/layer_norm",
                               "kernels/two_layer_norms",
                               "kernels/rotary"};

Result<PrimitiveGraph> load(const std::string &name) {
  std::filesystem::path folder = std::filesystem::path(LOCKSTITCH_SOURCE_DIR) /
                                 "tests/data/workloads/small" / name;
  Result<OnnxModel> model = readModel((folder / "model.onnx").string());
  if (!model.ok())
    return model.error();
  return importModel(*model, {});
}

void compileModel(benchmark::State &state, const std::string &name,
                  const std::string &target) {
  Result<PrimitiveGraph> graph = load(name);
  if (!graph.ok()) {
    state.SkipWithError(graph.error().messages[0].reason.c_str());
    return;
  }
  CompileOptions options;
  options.targets = {target};
  options.assemble = false;
  double codegen = 0, plan = 0;
  size_t kernels = 0, runs = 0;
  (void)compile(*graph, options); // warm: LLVM's tables, the page cache
  for (auto _ : state) {
    Result<Compilation> compiled = compile(*graph, options);
    if (!compiled.ok()) {
      state.SkipWithError(compiled.error().messages[0].reason.c_str());
      return;
    }
    codegen += compiled->seconds.codegenPtx + compiled->seconds.codegenHost;
    plan += compiled->seconds.graph + compiled->seconds.plan +
            compiled->seconds.schedule;
    kernels = compiled->program->targets[0].kernels.size();
    ++runs;
  }
  state.counters["kernels"] = static_cast<double>(kernels);
  state.counters["cpu_ms_per_kernel"] =
      codegen * 1000 / static_cast<double>(runs * std::max<size_t>(kernels, 1));
  state.counters["plan_ms"] = plan * 1000 / static_cast<double>(runs);
}

} // namespace

int main(int argc, char **argv) {
  for (const char *target : {"sm_90", "host"})
    for (const char *model : kModels)
      benchmark::RegisterBenchmark((std::string(target) + "/" + model).c_str(),
                                   compileModel, model, target)
          ->Unit(benchmark::kMillisecond);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
