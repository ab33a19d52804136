// Products and convolutions of typical sizes, on each backend and with one and
// two threads: the figures of docs/library_calls.md. Process CPU time is what
// to compare on a machine that does other things too.
#include "runtime/library/library.h"

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <memory>

using namespace lockstitch;

namespace {

LibraryCall product(std::vector<int64_t> batch, int64_t m, int64_t n, int64_t k,
                    bool transposedB) {
  LibraryCall call;
  call.matmul.batch = batch;
  call.matmul.m = m;
  call.matmul.n = n;
  call.matmul.k = k;
  auto view = [&](int64_t rows, int64_t columns, bool transposed) {
    std::vector<int64_t> strides(batch.size() + 2);
    strides[batch.size()] = transposed ? 1 : columns;
    strides[batch.size() + 1] = transposed ? rows : 1;
    int64_t stride = rows * columns;
    for (size_t i = batch.size(); i-- > 0; stride *= batch[i])
      strides[i] = stride;
    return StridedView{0, strides};
  };
  call.matmul.a = view(m, k, false);
  call.matmul.b = view(k, n, transposedB);
  call.matmul.result = view(m, n, false);
  return call;
}

LibraryCall convolution(int64_t in, int64_t out, int64_t group, int64_t size,
                        int64_t kernel, int64_t stride, int64_t pad) {
  LibraryCall call;
  call.kind = LibraryCall::Kind::Conv;
  int64_t result = (size + 2 * pad - kernel) / stride + 1;
  call.conv = {ElementType::F32,
               1,
               in,
               out,
               group,
               {size, size},
               {kernel, kernel},
               {result, result},
               {stride, stride},
               {1, 1},
               {pad, pad},
               {pad, pad},
               true};
  return call;
}

void measure(benchmark::State &state, const LibraryCall &call,
             LibraryOptions options, int threads) {
  auto prepared = prepareLibraryCall(call, "benchmark", options);
  if (!prepared.ok()) {
    state.SkipWithError(prepared.error().messages[0].reason.c_str());
    return;
  }
  using Memory = std::unique_ptr<std::byte[], void (*)(void *)>;
  auto allocate = [](int64_t bytes) {
    return Memory(static_cast<std::byte *>(
                      std::aligned_alloc(64, (bytes + 64) / 64 * 64)),
                  [](void *p) { std::free(p); });
  };
  std::vector<Memory> buffers;
  std::vector<std::byte *> args;
  for (size_t i = 0; i < operandCount(call); ++i) {
    int64_t bytes = operandBytes(call, i);
    buffers.push_back(allocate(bytes));
    for (int64_t j = 0; j < bytes / 4; ++j)
      reinterpret_cast<float *>(buffers.back().get())[j] = 0.5f;
    args.push_back(buffers.back().get());
  }
  Memory scratch = allocate((*prepared)->scratchBytes(threads));
  ThreadPool pool(threads);
  for (auto _ : state)
    (*prepared)->run(args, scratch.get(), pool);
  state.SetLabel((*prepared)->implementation());
}

void add(const std::string &name, const LibraryCall &call) {
  using Backend = LibraryOptions::Backend;
  const std::pair<const char *, LibraryOptions> choices[] = {
      {"eigen_v3", {Backend::Eigen, 3}},
      {"eigen_v4", {Backend::Eigen, 4}},
      {"onednn", {Backend::OneDnn, 4}}};
  for (const auto &[backend, options] : choices)
    for (int threads : {1, 2})
      benchmark::RegisterBenchmark(
          (name + "/" + backend + "/" + std::to_string(threads)).c_str(),
          [call, options = options, threads](benchmark::State &state) {
            measure(state, call, options, threads);
          })
          ->MeasureProcessCPUTime()
          ->UseRealTime()
          ->Unit(benchmark::kMicrosecond);
}

} // namespace

int main(int argc, char **argv) {
  add("128x768x768", product({}, 128, 768, 768, false));
  add("128x768x768_bT", product({}, 128, 768, 768, true));
  add("128x3072x768", product({}, 128, 3072, 768, false));
  add("128x768x3072", product({}, 128, 768, 3072, false));
  add("512x512x512", product({}, 512, 512, 512, false));
  add("12x_64x64x64", product({12}, 64, 64, 64, false));
  add("96x_64x64x64", product({96}, 64, 64, 64, false));
  add("12x_128x128x64_bT", product({12}, 128, 128, 64, true));
  add("1x4096x4096", product({}, 1, 4096, 4096, false));
  add("8x768x768", product({}, 8, 768, 768, false));
  add("conv3x3_64ch_56", convolution(64, 64, 1, 56, 3, 1, 1));
  add("conv3x3_512ch_7", convolution(512, 512, 1, 7, 3, 1, 1));
  add("conv1x1_256_64ch_56", convolution(256, 64, 1, 56, 1, 1, 0));
  add("conv7x7s2_3_64ch_224", convolution(3, 64, 1, 224, 7, 2, 3));
  add("depthwise3x3_144ch_56", convolution(144, 144, 144, 56, 3, 1, 1));
  add("depthwise3x3s2_144ch_56", convolution(144, 144, 144, 56, 3, 2, 1));
  add("grouped3x3_32x4ch_56", convolution(128, 128, 32, 56, 3, 1, 1));
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
