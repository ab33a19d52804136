#include "runtime/cpu/cpu_features.h"
#include "runtime/cpu/thread_pool.h"
#include "tests/unit/runtime/test_programs.h"

#include <gmock/gmock.h>

#include <atomic>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

using namespace lockstitch;
using namespace lockstitch::testing;

namespace {

TEST(CpuFeatures, LevelsContainEachOther) {
  for (int level = 1; level <= 4; ++level)
    EXPECT_EQ(CpuFeatures::x86Level(level).x86Level(), level);
  EXPECT_TRUE(CpuFeatures::x86Level(3).has("avx2"));
  EXPECT_FALSE(CpuFeatures::x86Level(2).has("avx2"));
}

TEST(CpuFeatures, AgreesWithTheKernel) {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  std::set<std::string> flags;
  while (std::getline(file, line))
    if (line.starts_with("flags")) {
      std::istringstream words(line.substr(line.find(':') + 1));
      for (std::string word; words >> word;)
        flags.insert(word);
      break;
    }
  if (flags.empty())
    GTEST_SKIP() << "no flags in /proc/cpuinfo on this machine";
  const std::pair<const char *, const char *> names[] = {
      {"sse3", "pni"},
      {"ssse3", "ssse3"},
      {"sse4.1", "sse4_1"},
      {"sse4.2", "sse4_2"},
      {"avx", "avx"},
      {"avx2", "avx2"},
      {"fma", "fma"},
      {"f16c", "f16c"},
      {"bmi", "bmi1"},
      {"bmi2", "bmi2"},
      {"lzcnt", "abm"},
      {"popcnt", "popcnt"},
      {"avx512f", "avx512f"},
      {"avx512bw", "avx512bw"},
      {"avx512vl", "avx512vl"},
      {"avx512bf16", "avx512_bf16"},
      {"sse4a", "sse4a"},
      {"xop", "xop"},
      {"gfni", "gfni"},
      {"vaes", "vaes"},
      {"avx512vnni", "avx512_vnni"},
      {"amx-tile", "amx_tile"},
      {"avx512fp16", "avx512_fp16"},
      {"movbe", "movbe"},
      {"cx16", "cx16"},
      {"sahf", "lahf_lm"},
      {"xsavec", "xsavec"},
      {"clzero", "clzero"}};
  for (auto [ours, theirs] : names)
    EXPECT_EQ(CpuFeatures::host().has(ours), flags.count(theirs) == 1) << ours;
}

TEST(CpuFeatures, ParsesLevels) {
  EXPECT_EQ(parseX86Level("x86-64"), 1);
  EXPECT_EQ(parseX86Level("x86-64-v3"), 3);
  EXPECT_EQ(parseX86Level("x86-64-v5"), 0);
  EXPECT_EQ(parseX86Level("host"), 0);
}

TEST(CpuFeatures, TakesWhatFits) {
  std::vector<std::string> features = {"+avx2", "fma"};
  EXPECT_TRUE(
      checkCpu("x86-64-v3", "x86-64-v3", features, CpuFeatures::x86Level(3))
          .ok());
  EXPECT_TRUE(
      checkCpu("host", "znver4", features, CpuFeatures::x86Level(4)).ok());
  EXPECT_TRUE(checkCpu("host", "", {}, CpuFeatures::x86Level(1)).ok());
}

TEST(CpuFeatures, RefusesWithAWayOut) {
  std::vector<std::string> features = {"+avx512f", "+avx512vl", "+avx512f"};
  EXPECT_EQ(text(checkCpu("x86-64-v4", "x86-64-v4", features,
                          CpuFeatures::x86Level(3))),
            "target x86-64-v4: the object was compiled for x86-64-v4; this CPU "
            "(x86-64-v3) lacks avx512bw, avx512cd, avx512dq, "
            "avx512f, avx512vl (compile the model with --target x86-64-v3 or a "
            "lower level, or with --target host on this machine)");
  EXPECT_EQ(text(checkCpu("host", "", features, CpuFeatures({}))),
            "target host: the object was compiled for another CPU; this CPU "
            "(not an x86-64 CPU) lacks avx512f, avx512vl (run it "
            "on an x86-64 machine)");
}

TEST(ThreadPool, CoversEveryItemOnce) {
  for (int threads : {1, 2, 5})
    for (int64_t items : {0, 1, 2, 7, 100, 1001})
      for (int64_t floor : {0, 1, 3, 64, 5000}) {
        ThreadPool pool(threads);
        EXPECT_EQ(pool.threads(), threads);
        std::vector<std::atomic<int>> seen(items);
        pool.parallelFor(
            items, floor, [&](int64_t begin, int64_t end, int slot) {
              EXPECT_LT(begin, end);
              EXPECT_TRUE(end - begin >= floor || end - begin == items);
              EXPECT_GE(slot, 0);
              EXPECT_LT(slot, threads);
              for (int64_t i = begin; i < end; ++i)
                ++seen[i];
            });
        for (auto &count : seen)
          EXPECT_EQ(count, 1);
      }
}

TEST(ThreadPool, SlotsAreNotShared) {
  ThreadPool pool(4);
  std::vector<std::atomic<int>> busy(4);
  std::atomic<int> clashes = 0, most = 0, now = 0;
  pool.parallelFor(64, 1, [&](int64_t, int64_t, int slot) {
    clashes += busy[slot].fetch_add(1) != 0;
    int count = ++now;
    for (int seen = most;
         seen < count && !most.compare_exchange_weak(seen, count);)
      ;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    --now;
    --busy[slot];
  });
  EXPECT_EQ(clashes, 0);
  EXPECT_LE(most, 4);
  EXPECT_GE(most, 2) << "nothing ran at the same time";
}

TEST(ThreadPool, OneThreadIsTheCallers) {
  ThreadPool pool(1);
  std::thread::id caller = std::this_thread::get_id();
  pool.parallelFor(100, 1, [&](int64_t, int64_t, int) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
  });
}

TEST(ThreadPool, ZeroMeansAllCores) {
  EXPECT_EQ(ThreadPool(0).threads(), availableCores());
  EXPECT_GE(availableCores(), 1);
}

} // namespace
