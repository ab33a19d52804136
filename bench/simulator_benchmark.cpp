//===- simulator_benchmark.cpp - how fast the PTX simulator runs ----------===//
//
// Thread instructions (warp instructions times active lanes) per second of CPU
// time, with every check on (`checks:1`) and on one host thread, parsing apart.
// `ratio` is how many times longer that takes than the same loop as native
// code on one core.
//
// The kernels are what Lockstitch emits for softmax and layer normalisation
// over rows that fill whole blocks, and a vectorised stream: y = 2 x + 1.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/simulator/simulator.h"

#include <benchmark/benchmark.h>

#include <cmath>
#include <ctime>
#include <fstream>
#include <sstream>

using namespace lockstitch::simulator;

namespace {

std::string readFile(const std::string &name) {
  std::ifstream in(std::string(LOCKSTITCH_SOURCE_DIR) + "/bench/simulator/" +
                   name);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

struct Kernel {
  std::shared_ptr<const Module> module;
  std::string name;
  LaunchConfig config;
  Memory memory;
  std::vector<Argument> arguments;
  std::vector<std::vector<float>> data; // inputs, for the native loop

  explicit Kernel(const std::string &text) {
    Diagnostic why;
    module = Module::parse(text, why);
    if (module && !module->kernels().empty())
      name = module->kernels()[0].name;
  }
  void input(size_t count) {
    std::vector<float> values(count);
    for (size_t i = 0; i < count; ++i)
      values[i] = (float)((i * 2654435761u >> 8) % 1024) / 256.0f - 2.0f;
    uint64_t address = memory.allocate(count * 4);
    memory.write(address, values.data(), count * 4);
    arguments.push_back(Argument::buffer({"input", address, count * 4, true}));
    data.push_back(std::move(values));
  }
  void output(size_t count) {
    uint64_t address = memory.allocate(count * 4);
    arguments.push_back(
        Argument::buffer({"output", address, count * 4, false}));
  }
};

/// CPU time of this thread: others on the machine do not count.
double cpuSeconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

template <class F> double secondsOf(F work) {
  double best = 1e30;
  for (int i = 0; i < 5; ++i) {
    double start = cpuSeconds();
    work();
    best = std::min(best, cpuSeconds() - start);
  }
  return best;
}

template <class F>
void runKernel(benchmark::State &state, Kernel &kernel, F native) {
  if (kernel.name.empty()) {
    state.SkipWithError("the kernel does not parse");
    return;
  }
  uint64_t instructions = 0;
  double seconds = 0;
  for (auto _ : state) {
    double start = cpuSeconds();
    LaunchResult result = launch(*kernel.module, kernel.name, kernel.memory,
                                 kernel.arguments, kernel.config);
    seconds += cpuSeconds() - start;
    if (!result.ok()) {
      state.SkipWithError(result.error ? result.error.message.c_str()
                                       : result.findings[0].message.c_str());
      return;
    }
    instructions += result.counters.threadInstructions;
  }
  state.counters["thread_instructions"] =
      benchmark::Counter((double)instructions, benchmark::Counter::kIsRate,
                         benchmark::Counter::kIs1000);
  state.counters["ratio"] =
      seconds / (double)state.iterations() / secondsOf(native);
}

void softmax(benchmark::State &state) {
  constexpr size_t Rows = 256, N = 1024;
  Kernel k(readFile("softmax_1024.ptx"));
  k.config.grid[0] = Rows;
  k.config.block[0] = 256;
  k.config.sharedBytes = 64;
  k.config.checks = state.range(0) != 0;
  k.input(Rows * N);
  k.output(Rows * N);
  std::vector<float> y(Rows * N);
  runKernel(state, k, [&] {
    for (size_t r = 0; r < Rows; ++r) {
      const float *x = k.data[0].data() + r * N;
      float *out = y.data() + r * N;
      float top = x[0], sum = 0;
      for (size_t i = 0; i < N; ++i)
        top = x[i] > top ? x[i] : top;
      for (size_t i = 0; i < N; ++i)
        sum += out[i] = std::exp(x[i] - top);
      for (size_t i = 0; i < N; ++i)
        out[i] /= sum;
    }
    benchmark::DoNotOptimize(y.data());
  });
}
BENCHMARK(softmax)->ArgName("checks")->Arg(1)->Arg(0)->Unit(
    benchmark::kMillisecond);

void layerNorm(benchmark::State &state) {
  constexpr size_t Rows = 256, N = 1024;
  Kernel k(readFile("layer_norm_1024.ptx"));
  k.config.grid[0] = Rows;
  k.config.block[0] = 256;
  k.config.sharedBytes = 64;
  k.config.checks = state.range(0) != 0;
  k.input(Rows * N);
  k.input(N);
  k.input(N);
  k.output(Rows * N);
  std::vector<float> y(Rows * N);
  runKernel(state, k, [&] {
    for (size_t r = 0; r < Rows; ++r) {
      const float *x = k.data[0].data() + r * N;
      float *out = y.data() + r * N;
      float mean = 0, var = 0;
      for (size_t i = 0; i < N; ++i)
        mean += x[i];
      mean /= N;
      for (size_t i = 0; i < N; ++i)
        var += (x[i] - mean) * (x[i] - mean);
      float scale = 1 / std::sqrt(var / N + 1e-5f);
      for (size_t i = 0; i < N; ++i)
        out[i] = (x[i] - mean) * scale * k.data[1][i] + k.data[2][i];
    }
    benchmark::DoNotOptimize(y.data());
  });
}
BENCHMARK(layerNorm)->ArgName("checks")->Arg(1)->Arg(0)->Unit(
    benchmark::kMillisecond);

const char *const Stream = R"(
.version 8.5
.target sm_90
.address_size 64
.visible .entry stream(.param .u64 x, .param .u64 y)
{
  .reg .b32 %r<16>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [y];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mad.lo.u32 %r4, %r2, %r3, %r1;
  mul.wide.u32 %rd3, %r4, 16;
  add.s64 %rd4, %rd1, %rd3;
  ld.global.v4.b32 {%r5, %r6, %r7, %r8}, [%rd4];
  fma.rn.f32 %r5, %r5, 0f40000000, 0f3F800000;
  fma.rn.f32 %r6, %r6, 0f40000000, 0f3F800000;
  fma.rn.f32 %r7, %r7, 0f40000000, 0f3F800000;
  fma.rn.f32 %r8, %r8, 0f40000000, 0f3F800000;
  add.s64 %rd5, %rd2, %rd3;
  st.global.v4.b32 [%rd5], {%r5, %r6, %r7, %r8};
  ret;
}
)";

void vectorStream(benchmark::State &state) {
  constexpr size_t N = 1 << 20;
  Kernel k(Stream);
  k.config.grid[0] = N / 4 / 256;
  k.config.block[0] = 256;
  k.config.checks = state.range(0) != 0;
  k.input(N);
  k.output(N);
  std::vector<float> y(N);
  runKernel(state, k, [&] {
    const float *x = k.data[0].data();
    for (size_t i = 0; i < N; ++i)
      y[i] = x[i] * 2.0f + 1.0f;
    benchmark::DoNotOptimize(y.data());
  });
}
BENCHMARK(vectorStream)
    ->ArgName("checks")
    ->Arg(1)
    ->Arg(0)
    ->Unit(benchmark::kMillisecond);

/// One small block: what a launch costs.
void smallLaunch(benchmark::State &state) {
  Kernel k(Stream);
  k.config.block[0] = 64;
  k.input(256);
  k.output(256);
  for (auto _ : state) {
    LaunchResult result =
        launch(*k.module, k.name, k.memory, k.arguments, k.config);
    if (!result.ok()) {
      state.SkipWithError("not clean");
      return;
    }
  }
}
BENCHMARK(smallLaunch)->Unit(benchmark::kMicrosecond);

/// Parsing and decoding of an emitted kernel.
void parse(benchmark::State &state) {
  std::string text = readFile("softmax_1024.ptx");
  for (auto _ : state) {
    Diagnostic why;
    auto module = Module::parse(text, why);
    if (!module || !module->check(module->kernels()[0].name, why)) {
      state.SkipWithError("does not parse");
      return;
    }
  }
  state.SetBytesProcessed((int64_t)(text.size() * state.iterations()));
}
BENCHMARK(parse)->Unit(benchmark::kMicrosecond);

} // namespace

BENCHMARK_MAIN();
