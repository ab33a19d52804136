//===- cuda_test.cpp - PTX that nvcc made, on the simulator ---------------===//
//
// Runs every kernel of cuda/kernels.cu: the values must be those of C++, and
// there must be no finding under any of twenty seeds. The PTX is the checked-in
// one and, where nvcc was found at configure time, also what it makes now.
//
//===----------------------------------------------------------------------===//
#include "tests/simulator/support/cuda_kernels.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace lockstitch::simtest {
namespace {

const std::string Root =
    std::string(LOCKSTITCH_SOURCE_DIR) + "/tests/simulator/cuda/";

const std::vector<CudaKernel> &kernels() {
  static const std::vector<CudaKernel> List = cudaKernels();
  return List;
}

std::shared_ptr<const Module> parseFile(const std::string &path) {
  Diagnostic why;
  auto module = Module::parse(readFile(path), why);
  EXPECT_TRUE(module) << path << ":" << why.line << ": " << why.message;
  return module;
}

std::shared_ptr<const Module> checkedIn() {
  static const auto Shared = parseFile(Root + "ptx/kernels.ptx");
  return Shared;
}

void check(const Module &module, const CudaKernel &kernel, unsigned seeds) {
  Counters first;
  for (unsigned seed = 0; seed < seeds; ++seed) {
    Options options;
    options.seed = seed;
    options.threads = 1 + seed % 2;
    Outcome outcome = run(module, kernel.setup, options);
    ASSERT_FALSE(outcome.result.error) << "line " << outcome.result.error.line
                                       << ": " << outcome.result.error.message;
    for (const Finding &f : outcome.result.findings)
      ADD_FAILURE() << "seed " << seed << ": " << f.toText(kernel.setup.kernel);
    ASSERT_TRUE(outcome.result.raceCheckComplete);
    size_t next = 0;
    for (const Buffer &b : kernel.setup.arguments) {
      if (!b.isOutput)
        continue;
      std::string why;
      EXPECT_TRUE(same(b, kernel.expected[next], outcome.outputs[next], &why))
          << "seed " << seed << ": " << why;
      ++next;
    }
    ASSERT_EQ(next, kernel.expected.size());
    if (::testing::Test::HasFailure())
      return;
    // Without spin waits the counters do not depend on the seed.
    const Counters &c = outcome.result.counters;
    if (seed == 0)
      first = c;
    else if (!kernel.setup.cooperative) {
      EXPECT_EQ(c.threadInstructions, first.threadInstructions);
      EXPECT_EQ(c.sectorsRead, first.sectorsRead);
      EXPECT_EQ(c.sectorsWritten, first.sectorsWritten);
      EXPECT_EQ(c.sharedConflicts, first.sharedConflicts);
      EXPECT_EQ(c.uniqueBytesRead, first.uniqueBytesRead);
      EXPECT_EQ(c.uniqueBytesWritten, first.uniqueBytesWritten);
    }
  }
}

std::string testName(const ::testing::TestParamInfo<size_t> &info) {
  return kernels()[info.param].setup.kernel;
}

class Cuda : public ::testing::TestWithParam<size_t> {};

TEST_P(Cuda, CheckedInPtx) {
  ASSERT_TRUE(checkedIn());
  check(*checkedIn(), kernels()[GetParam()], 20);
}

INSTANTIATE_TEST_SUITE_P(All, Cuda,
                         ::testing::Range(size_t(0), kernels().size()),
                         testName);

TEST(Cuda, EveryKernelOfTheFileIsTested) {
  ASSERT_TRUE(checkedIn());
  for (const KernelInfo &info : checkedIn()->kernels()) {
    bool found = false;
    for (const CudaKernel &k : kernels())
      found |= k.setup.kernel == info.name;
    EXPECT_TRUE(found) << info.name;
  }
}

#ifdef LOCKSTITCH_NVCC
/// What nvcc makes now, for every generation that it knows and we model.
TEST(Cuda, CompiledByNvccNow) {
  std::string folder = std::string(LOCKSTITCH_BINARY_DIR) + "/nvcc_ptx";
  std::filesystem::create_directories(folder);
  for (const char *arch : {"sm_80", "sm_90", "sm_100"}) {
    std::string out = folder + "/kernels_" + arch + ".ptx";
    std::string command = std::string(LOCKSTITCH_NVCC) +
                          " -ptx -std=c++17 -lineinfo -arch=" + arch + " -o " +
                          out + " " + Root + "kernels.cu > " + out +
                          ".log 2>&1";
    ASSERT_EQ(std::system(command.c_str()), 0) << readFile(out + ".log");
    auto module = parseFile(out);
    ASSERT_TRUE(module);
    for (const CudaKernel &k : kernels()) {
      SCOPED_TRACE(std::string(arch) + " " + k.setup.kernel);
      check(*module, k, 3);
    }
  }
}
#endif

} // namespace
} // namespace lockstitch::simtest
