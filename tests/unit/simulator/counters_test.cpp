//===- counters_test.cpp - counters against figures worked out by hand ----===//
#include "tests/unit/simulator/ptx_test.h"

namespace lockstitch::simulator::testing {
namespace {

using u32 = uint32_t;

Counters count(const std::string &body, Shape shape = {}, size_t words = 4096,
               uint64_t seed = 0) {
  Ptx run(kernel(1, body));
  Buffer x = run.inout(std::vector<u32>(words, 0));
  run.config.seed = seed;
  run.launch("k", {x}, shape);
  run.expectClean();
  return run.result.counters;
}

/// Loads with lanes `stride` bytes apart, from `offset` on.
Counters loads(unsigned stride, unsigned offset = 0,
               const char *load = "ld.global.u32 %r1") {
  return count("mul.wide.u32 %d5, %r0, " + std::to_string(stride) +
               "; add.s64 %d5, %d5, %d0;\n" + load + ", [%d5+" +
               std::to_string(offset) + "];");
}

TEST(Counters, SectorsOfGlobalLoads) {
  EXPECT_EQ(loads(4).sectorsRead, 4u);     // consecutive words
  EXPECT_EQ(loads(4, 4).sectorsRead, 5u);  // misaligned by one
  EXPECT_EQ(loads(4, 32).sectorsRead, 4u); // by a sector
  EXPECT_EQ(loads(0).sectorsRead, 1u);     // broadcast
  EXPECT_EQ(loads(8).sectorsRead, 8u);     // every other word
  EXPECT_EQ(loads(32).sectorsRead, 32u);   // a sector each
  EXPECT_EQ(loads(128).sectorsRead, 32u);  // a line each
  EXPECT_EQ(loads(2, 0, "ld.global.u16 %r1").sectorsRead, 2u);
  EXPECT_EQ(loads(1, 0, "ld.global.u8 %r1").sectorsRead, 1u);
  EXPECT_EQ(loads(8, 0, "ld.global.u64 %d6").sectorsRead, 8u);
  EXPECT_EQ(loads(16, 0, "ld.global.v4.u32 {%r1,%r2,%r3,%r4}").sectorsRead,
            16u);
  EXPECT_EQ(loads(32, 0, "ld.global.v2.u64 {%d6,%d7}").sectorsRead, 32u);
}

TEST(Counters, BytesRequestedAndUnique) {
  Counters c = loads(0);
  EXPECT_EQ(c.bytesRequestedRead, 128u);
  EXPECT_EQ(c.uniqueBytesRead, 4u);
  c = loads(8);
  EXPECT_EQ(c.uniqueBytesRead, 128u);
  // Each of four blocks reads the same 128 bytes.
  c = count("add.s64 %d5, %d0, %d20; ld.global.u32 %r1, [%d5];", {4, 32});
  EXPECT_EQ(c.sectorsRead, 16u);
  EXPECT_EQ(c.uniqueBytesRead, 128u);
  EXPECT_EQ(c.uniqueBytesWritten, 0u);
  c = count("add.s64 %d5, %d0, %d20; ld.global.u32 %r1, [%d5]; st.global.u32 "
            "[%d5], %r1;");
  EXPECT_EQ(c.uniqueBytesRead, 128u);
  EXPECT_EQ(c.uniqueBytesWritten, 128u);
  EXPECT_EQ(c.sectorsWritten, 4u);
}

Counters shared(unsigned stride, const char *access = "st.shared.u32 [%r2], "
                                                      "%r0;") {
  return count(".shared .align 16 .b8 s[8192]; mov.u32 %r1, s; mad.lo.u32 "
               "%r2, %r0, " +
               std::to_string(stride) + ", %r1; " + access);
}

TEST(Counters, BankConflicts) {
  EXPECT_EQ(shared(4).sharedWavefronts, 1u);
  EXPECT_EQ(shared(4).sharedConflicts, 0u);
  EXPECT_EQ(shared(8).sharedConflicts, 1u);    // two words per bank
  EXPECT_EQ(shared(128).sharedConflicts, 31u); // all in one bank
  EXPECT_EQ(shared(132).sharedConflicts, 0u);  // padded
  Counters c = shared(8, "st.shared.u64 [%r2], %d0;");
  EXPECT_EQ(c.sharedWavefronts, 2u);
  EXPECT_EQ(c.sharedConflicts, 0u);
  c = shared(16, "st.shared.v4.u32 [%r2], {%r0,%r0,%r0,%r0};");
  EXPECT_EQ(c.sharedWavefronts, 4u);
  EXPECT_EQ(c.sharedConflicts, 0u);
  c = shared(0, "setp.eq.u32 %p1, %r0, 0; @%p1 st.shared.u32 [s], 1; "
                "bar.warp.sync -1; ld.shared.u32 %r3, [s];");
  EXPECT_EQ(c.sharedWavefronts, 2u); // the broadcast is one
  EXPECT_EQ(c.sharedConflicts, 0u);
}

TEST(Counters, InstructionsAndActiveLanes) {
  // The fixture's kernel: one ld.param, mov, mul.wide and ret besides.
  Counters c = count("add.u32 %r1, %r0, 1;", {2, 64});
  EXPECT_EQ(c.warpInstructions, 4u * 5);
  EXPECT_EQ(c.threadInstructions, 4u * 5 * 32);
  EXPECT_EQ(c.warpByClass[(size_t)InstructionClass::Integer], 4u * 2);
  // A guarded instruction is issued for the warp, executed by some lanes.
  c = count("setp.lt.u32 %p1, %r0, 8; @%p1 add.u32 %r1, %r0, 1;");
  EXPECT_EQ(c.warpInstructions, 6u);
  EXPECT_EQ(c.threadInstructions, 5u * 32 + 8);
  // A partial warp.
  c = count("", {1, 40});
  EXPECT_EQ(c.warpInstructions, 8u);
  EXPECT_EQ(c.threadInstructions, 4u * 40);
  // Both sides of a branch, each with half of the lanes.
  c = count("setp.lt.u32 %p1, %r0, 16; @%p1 bra A; add.u32 %r1, %r0, 1; bra B; "
            "A: add.u32 %r1, %r0, 2; B: add.u32 %r1, %r1, 1;");
  EXPECT_EQ(c.divergentBranches, 1u);
  EXPECT_EQ(c.threadByClass[(size_t)InstructionClass::Integer],
            32u + 16 + 16 + 32);
}

TEST(Counters, BarriersShufflesAtomics) {
  Counters c = count("bar.sync 0; bar.sync 0; shfl.sync.bfly.b32 %r1, %r0, 1, "
                     "31, -1; vote.sync.any.pred %p1, %p2, -1; "
                     "red.global.add.u32 [%d0], 1;",
                     {3, 64});
  EXPECT_EQ(c.barriers, 3u * 2 * 2);
  EXPECT_EQ(c.shuffles, 3u * 2 * 2);
  EXPECT_EQ(c.atomics, 3u * 2);
  EXPECT_EQ(c.sectorsWritten, 6u);
  EXPECT_EQ(c.sectorsRead, 0u);
}

TEST(Counters, DoNotDependOnTheSeedOrThreads) {
  std::string body =
      "mov.u32 %r1, %ctaid.x; mad.lo.u32 %r1, %r1, 128, %r0; mul.wide.u32 "
      "%d5, %r1, 4; add.s64 %d5, %d5, %d0; ld.global.u32 %r2, [%d5];\n"
      ".shared .align 4 .b8 s[512]; mov.u32 %r3, s; mad.lo.u32 %r3, %r0, 4, "
      "%r3; st.shared.u32 [%r3], %r2; bar.sync 0; ld.shared.u32 %r4, [%r3]; "
      "st.global.u32 [%d5], %r4;";
  Counters first = count(body, {16, 128});
  for (uint64_t seed : {1, 2, 3})
    for (unsigned threads : {1, 3}) {
      Ptx run(kernel(1, body));
      Buffer x = run.inout(std::vector<u32>(4096, 0));
      run.config.seed = seed;
      run.config.threads = threads;
      run.launch("k", {x}, {16, 128});
      run.expectClean();
      const Counters &c = run.result.counters;
      EXPECT_EQ(c.threadInstructions, first.threadInstructions);
      EXPECT_EQ(c.sectorsRead, first.sectorsRead);
      EXPECT_EQ(c.uniqueBytesWritten, first.uniqueBytesWritten);
      EXPECT_EQ(c.sharedWavefronts, first.sharedWavefronts);
    }
}

TEST(Counters, PerLine) {
  Ptx run(kernel(1, "mul.wide.u32 %d5, %r0, 8; add.s64 %d5, %d5, %d0;\n"
                    "ld.global.u32 %r1, [%d5];"));
  Buffer x = run.inout(std::vector<u32>(4096, 0));
  run.config.perLine = true;
  run.launch("k", {x}, {2, 64});
  bool found = false;
  for (const LineCounters &line : run.result.lines)
    if (line.opcode == "ld.global.u32") {
      found = true;
      EXPECT_EQ(line.warpInstructions, 4u);
      EXPECT_EQ(line.sectors, 32u);
      EXPECT_EQ(line.idealSectors, 16u);
    }
  EXPECT_TRUE(found);
}

TEST(Counters, SamplingScales) {
  std::string body =
      "mov.u32 %r1, %ctaid.x; mad.lo.u32 %r1, %r1, 32, %r0; mul.wide.u32 "
      "%d5, %r1, 4; add.s64 %d5, %d5, %d0; ld.global.u32 %r2, [%d5];";
  Counters full = count(body, {100, 32});
  Ptx run(kernel(1, body));
  Buffer x = run.inout(std::vector<u32>(4096, 0));
  run.config.sampleBlocksPerClass = 4;
  run.launch("k", {x}, {100, 32});
  EXPECT_TRUE(run.result.sampled);
  EXPECT_EQ(run.result.blocksRun, 6u);
  EXPECT_EQ(run.result.counters.sectorsRead, full.sectorsRead);
  EXPECT_EQ(run.result.counters.threadInstructions, full.threadInstructions);
}

TEST(Occupancy, FromDeclaredResources) {
  const TargetLimits *h100 = targetLimits("sm_90a");
  ASSERT_TRUE(h100);
  Occupancy o = occupancy(*h100, 132 * 8, 256, 32, 0, 16);
  EXPECT_EQ(o.blocksPerSm, 8u);
  EXPECT_EQ(o.warpsPerSm, 64u);
  EXPECT_DOUBLE_EQ(o.waves, 1.0);
  EXPECT_EQ(o.smsBusy, 132u);
  EXPECT_EQ(o.bytesInFlightPerSm, 2048u * 16);
  o = occupancy(*h100, 10, 1024, 64, 0, 16);
  EXPECT_EQ(o.blocksPerSm, 1u); // 65536 registers
  EXPECT_EQ(o.smsBusy, 10u);
  o = occupancy(*h100, 1000, 128, 32, 100 * 1024, 16);
  EXPECT_EQ(o.blocksPerSm, 2u);
  EXPECT_STREQ(o.limitedBy, "shared");
}

} // namespace
} // namespace lockstitch::simulator::testing
