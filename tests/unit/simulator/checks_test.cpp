//===- checks_test.cpp - each check finds its fault and nothing else ------===//
#include "tests/unit/simulator/ptx_test.h"

namespace lockstitch::simulator::testing {
namespace {

using u32 = uint32_t;

/// Runs a body with one inout buffer of \p words u32 under several seeds and
/// returns the kinds that were found.
std::string findings(const std::string &body, Shape shape = {},
                     size_t words = 1024, bool cooperative = false,
                     const std::string &module = {}) {
  std::string all;
  for (uint64_t seed : {0, 1, 2, 7}) {
    Ptx run(kernel(1, body, module));
    Buffer x = run.inout(std::vector<u32>(words, 0));
    run.config.seed = seed;
    run.config.cooperative = cooperative;
    run.config.budget = 3000000;
    run.launch("k", {x}, shape);
    for (const Finding &f : run.result.findings)
      if (all.find(name(f.kind)) == std::string::npos)
        all += std::string(all.empty() ? "" : " ") + name(f.kind);
  }
  return all;
}

/// Address of element %r<i> of buffer 0 in %d<j>.
std::string at(const char *index, const char *address) {
  return std::string("mul.wide.u32 ") + address + ", " + index +
         ", 4; add.s64 " + address + ", " + address + ", %d0;\n";
}

const char *GlobalId = "mov.u32 %r50, %ctaid.x; mov.u32 %r51, %ntid.x;\n"
                       "mad.lo.u32 %r50, %r50, %r51, %r0;\n";

TEST(Bounds, AllocationAndTensor) {
  std::string store =
      std::string(GlobalId) + at("%r50", "%d5") + "st.global.u32 [%d5], %r0;";
  EXPECT_EQ(findings(store, {8, 128}, 1024), "");
  EXPECT_EQ(findings(store, {8, 128}, 1023), "out-of-bounds");
  // Two tensors in one arena: running over the first is found although the
  // bytes are allocated.
  Ptx run(kernel(2, "add.s64 %d5, %d0, %d20; st.global.u32 [%d5+4], %r0;"));
  uint64_t arena = run.memory.allocate(4096, "arena");
  run.launch("k",
             {Argument::buffer({"first", arena, 128}),
              Argument::buffer({"second", arena + 128, 128})},
             {});
  ASSERT_EQ(run.result.findings.size(), 1u);
  const Finding &f = run.result.findings[0];
  EXPECT_EQ(f.kind, FindingKind::OutOfBounds);
  EXPECT_EQ(f.tensor, "first");
  EXPECT_EQ(f.argument, 0);
  EXPECT_EQ(f.offset, 128);
  EXPECT_EQ(f.thread[0], 31u);
  EXPECT_EQ(f.occurrences, 1u);
}

TEST(Bounds, SharedAndLocal) {
  EXPECT_EQ(findings(".shared .align 4 .b8 s[128]; mov.u32 %r1, s; mad.lo.u32 "
                     "%r1, %r0, 4, %r1; st.shared.u32 [%r1], %r0;"),
            "");
  EXPECT_EQ(findings(".shared .align 4 .b8 s[124]; mov.u32 %r1, s; mad.lo.u32 "
                     "%r1, %r0, 4, %r1; st.shared.u32 [%r1], %r0;"),
            "out-of-bounds");
  EXPECT_EQ(findings(".local .align 4 .b8 l[8]; mov.u64 %d5, l; st.local.u32 "
                     "[%d5+8], %r0;"),
            "out-of-bounds");
}

TEST(Alignment, WholeVector) {
  EXPECT_EQ(findings("mul.wide.u32 %d5, %r0, 16; add.s64 %d5, %d5, %d0; "
                     "ld.global.v4.u32 {%r1,%r2,%r3,%r4}, [%d5];"),
            "");
  EXPECT_EQ(findings("mul.wide.u32 %d5, %r0, 16; add.s64 %d5, %d5, %d0; "
                     "ld.global.v4.u32 {%r1,%r2,%r3,%r4}, [%d5+8];"),
            "misaligned");
}

TEST(Uninitialised, GlobalAndShared) {
  Ptx run(kernel(1, "ld.global.u32 %r1, [%d0+4];"));
  Buffer x = run.output<u32>(2);
  u32 one = 1;
  run.memory.write(x.address, &one, 4);
  run.launch("k", {x}, {});
  ASSERT_EQ(run.result.findings.size(), 1u);
  EXPECT_EQ(run.result.findings[0].kind, FindingKind::Uninitialised);
  EXPECT_EQ(run.result.findings[0].offset, 4);
  EXPECT_EQ(findings(".shared .b8 s[128]; ld.shared.u8 %r1, [s];"),
            "uninitialised");
}

TEST(ReadOnly, WritesAreFound) {
  Ptx run(kernel(1, "st.global.u32 [%d0], 1;"));
  Buffer x = run.input<u32>({1});
  run.launch("k", {x}, {1, 1});
  EXPECT_TRUE(run.has(FindingKind::ReadOnly));
  EXPECT_EQ(run.read<u32>(x)[0], 1u);
}

std::string neighbour(const std::string &between) {
  return ".shared .align 4 .b8 s[1024]; mov.u32 %r1, s; mad.lo.u32 %r2, %r0, "
         "4, %r1; st.shared.u32 [%r2], %r0;\n" +
         between +
         "\nxor.b32 %r3, %r0, 33; and.b32 %r3, %r3, 127; mad.lo.u32 %r3, %r3, "
         "4, %r1; ld.shared.u32 %r4, [%r3];";
}

TEST(Race, SharedNeedsABarrier) {
  EXPECT_EQ(findings(neighbour("bar.sync 0;"), {1, 128}), "");
  EXPECT_NE(findings(neighbour(""), {1, 128}).find("race"), std::string::npos);
  // A warp's sync orders its own lanes only.
  EXPECT_NE(findings(neighbour("bar.warp.sync -1;"), {1, 128}).find("race"),
            std::string::npos);
}

std::string withinWarp(const std::string &between) {
  return ".shared .align 4 .b8 s[128]; mov.u32 %r1, s; mad.lo.u32 %r2, %r0, "
         "4, %r1; st.shared.u32 [%r2], %r0;\n" +
         between +
         "\nxor.b32 %r3, %r0, 1; mad.lo.u32 %r3, %r3, 4, %r1; ld.shared.u32 "
         "%r4, [%r3];";
}

// What one launch read through the non-coherent path says nothing about the reads of the next: records of accesses are used
// again.
TEST(Race, ReadsByManyThreadsAreCoherentUnlessTheySaySo) {
  auto body = [](const char *load, const char *store) {
    return ".shared .align 4 .b8 s[512];\n" + at("%r0", "%d5") +
           "mov.u32 %r1, s; mad.lo.u32 %r2, %r0, 4, %r1;\n" +
           "ld.global.nc.u32 %r3, [%d5]; st.shared.u32 [%r2], %r3;\n"
           "bar.sync 0;\n" +
           load +
           "bar.sync 0;\n"
           "setp.eq.u32 %p1, %r0, 0;\n" +
           store;
  };
  const char *shared = "ld.shared.u32 %r4, [%r1];\n";
  Ptx run(kernel(1, body(shared, "@%p1 st.shared.u32 [%r1], %r4;")));
  Buffer x = run.inout(std::vector<u32>(128, 0));
  for (int launch = 0; launch < 20; ++launch) {
    run.launch("k", {x}, {6, 128});
    ASSERT_TRUE(run.result.findings.empty())
        << run.result.findings[0].message << ", launch " << launch;
  }
  // The same element read by all through that path, and then written: a barrier does not help.
  EXPECT_EQ(findings(body("ld.global.nc.u32 %r4, [%d0];\n",
                          "@%p1 st.global.u32 [%d0], %r4;"),
                     {1, 128}, 128),
            "race");
  EXPECT_EQ(findings(body("ld.global.u32 %r4, [%d0+256];\n",
                          "@%p1 st.global.u32 [%d0+256], %r4;"),
                     {1, 32}, 128),
            "");
}

TEST(Race, LanesNeedAWarpSync) {
  EXPECT_EQ(findings(withinWarp("bar.warp.sync -1;")), "");
  EXPECT_EQ(findings(withinWarp("")), "race");
  EXPECT_EQ(findings(withinWarp("vote.sync.any.pred %p1, %p1, -1;")), "race");
}

TEST(Race, WriteAfterReadAndOneValueByOneInstruction) {
  // All read s[0], then one writes it.
  std::string text =
      ".shared .align 4 .b8 s[4]; setp.eq.u32 %p1, %r0, 0; @%p1 st.shared.u32 "
      "[s], %r0; bar.sync 0; ld.shared.u32 %r1, [s];\n";
  EXPECT_EQ(findings(text + "bar.sync 0; @%p1 st.shared.u32 [s], 7;", {1, 64}),
            "");
  EXPECT_EQ(findings(text + "@%p1 st.shared.u32 [s], 7;", {1, 64}), "race");
  // Lanes of one instruction that write one value are no race; different
  // values are.
  EXPECT_EQ(findings(".shared .align 4 .b8 s[4]; st.shared.u32 [s], 7;"), "");
  EXPECT_EQ(findings(".shared .align 4 .b8 s[4]; st.shared.u32 [s], %r0;"),
            "race");
}

TEST(Race, BytesAreToldApart) {
  std::string bytes = std::string(GlobalId) +
                      "cvt.u64.u32 %d5, %r50; add.s64 %d5, %d5, %d0; "
                      "st.global.u8 [%d5], %r0;";
  EXPECT_EQ(findings(bytes, {7, 33}), "");
}

TEST(Race, BlocksThatShareAByte) {
  // Block b writes elements [31 b, 31 b + 32): neighbours overlap in one.
  std::string text = "mov.u32 %r1, %ctaid.x; mad.lo.u32 %r1, %r1, 31, %r0;\n" +
                     at("%r1", "%d5") + "st.global.u32 [%d5], %r0;";
  EXPECT_EQ(findings(text, {4, 31}), "");
  EXPECT_EQ(findings(text, {4, 32}), "race");
  // Reading what another block writes.
  std::string reads = std::string(GlobalId) + at("%r50", "%d5") +
                      "ld.global.u32 %r1, [%d0]; st.global.u32 [%d5], %r1;";
  EXPECT_EQ(findings(reads, {4, 32}), "race");
  // Atomics do not race with each other, but with plain reads.
  EXPECT_EQ(findings("red.global.add.u32 [%d0], 1;", {4, 64}), "");
  EXPECT_EQ(findings("red.global.add.u32 [%d0], 1; ld.global.u32 %r1, [%d0];",
                     {4, 64}),
            "race");
  EXPECT_EQ(findings("red.cta.global.add.u32 [%d0], 1;", {4, 64}), "race");
}

TEST(Race, NonCoherentLoadsOfWrittenBytes) {
  EXPECT_EQ(findings("add.s64 %d5, %d0, %d20; st.global.u32 [%d5], %r0; "
                     "ld.global.nc.u32 %r1, [%d5];"),
            "race");
}

/// The last block to arrive adds up what all have stored. Element 0 counts.
std::string lastBlock(const std::string &fence, const std::string &count) {
  return "mov.u32 %r1, %ctaid.x; add.u32 %r2, %r1, 1;\n" + at("%r2", "%d5") +
         "setp.eq.u32 %p1, %r0, 0; @!%p1 bra WAIT;\n"
         "st.global.u32 [%d5], %r2;\n" +
         fence + count +
         "mov.u32 %r4, %nctaid.x; sub.u32 %r4, %r4, 1;\n"
         "setp.eq.u32 %p2, %r3, %r4; selp.u32 %r5, 1, 0, %p2;\n"
         "st.shared.u32 [flag], %r5;\nWAIT: bar.sync 0;\n"
         "ld.shared.u32 %r6, [flag]; setp.eq.u32 %p3, %r6, 0;\n"
         "@%p3 bra END;\n"
         "mov.u32 %r7, %nctaid.x; setp.ge.u32 %p4, %r0, %r7; @%p4 bra END;\n"
         "add.u32 %r8, %r0, 1;\n" +
         at("%r8", "%d6") +
         "ld.global.u32 %r9, [%d6]; add.u32 %r9, %r9, 5; st.global.u32 [%d6], "
         "%r9;\n@%p1 st.global.u32 [%d0], 0;\nEND:";
}

TEST(Race, LastBlockReduction) {
  const char *flag = ".shared .align 4 .u32 flag;\n";
  const char *atomic = "atom.global.add.u32 %r3, [%d0], 1;\n";
  Shape shape{16, 64};
  EXPECT_EQ(
      findings(lastBlock("membar.gl;\n", atomic), shape, 1024, false, flag),
      "");
  EXPECT_EQ(findings(lastBlock("fence.acq_rel.gpu;\n", atomic), shape, 1024,
                     false, flag),
            "");
  EXPECT_EQ(findings(lastBlock("", "atom.acq_rel.gpu.global.add.u32 %r3, "
                                   "[%d0], 1;\n"),
                     shape, 1024, false, flag),
            "");
  EXPECT_EQ(findings(lastBlock("", atomic), shape, 1024, false, flag), "race");
  EXPECT_EQ(findings(lastBlock("fence.acq_rel.cta;\n", atomic), shape, 1024,
                     false, flag),
            "race");
  EXPECT_NE(findings(lastBlock("membar.gl;\n",
                               "ld.global.u32 %r3, [%d0]; add.u32 %r12, %r3, "
                               "1; st.global.u32 [%d0], %r12;\n"),
                     shape, 1024, false, flag)
                .find("race"),
            std::string::npos);
}

/// Each block writes its element, all meet, each reads its neighbour's.
std::string gridBarrier(const std::string &before, const std::string &after) {
  return "mov.u32 %r1, %ctaid.x; mov.u32 %r10, %nctaid.x; add.u32 %r2, %r1, "
         "1;\n" +
         at("%r2", "%d5") +
         "setp.ne.u32 %p1, %r0, 0; @%p1 bra MEET;\n"
         "st.global.u32 [%d5], %r2;\n" +
         before +
         "red.global.add.u32 [%d0], 1;\n"
         "SPIN: ld.volatile.global.u32 %r3, [%d0]; setp.lt.u32 %p2, %r3, "
         "%r10; @%p2 bra SPIN;\n" +
         after +
         "MEET: bar.sync 0;\n"
         "add.u32 %r4, %r1, 1; rem.u32 %r4, %r4, %r10; add.u32 %r4, %r4, 1;\n" +
         at("%r4", "%d6") + "ld.global.u32 %r5, [%d6];";
}

TEST(Race, GridWideBarrier) {
  Shape shape{12, 64};
  EXPECT_EQ(
      findings(gridBarrier("membar.gl;\n", "membar.gl;\n"), shape, 1024, true),
      "");
  EXPECT_EQ(findings(gridBarrier("", "membar.gl;\n"), shape, 1024, true),
            "race");
  EXPECT_EQ(findings(gridBarrier("membar.gl;\n", ""), shape, 1024, true),
            "race");
}

TEST(Race, PendingCopyIsNotToBeRead) {
  std::string copy =
      ".shared .align 16 .b8 s[512]; mov.u32 %r1, s; mad.lo.u32 %r1, %r0, 16, "
      "%r1; mul.wide.u32 %d5, %r0, 16; add.s64 %d5, %d5, %d0;\n"
      "cp.async.ca.shared.global [%r1], [%d5], 16; cp.async.commit_group;\n";
  EXPECT_EQ(findings(copy + "cp.async.wait_group 0; ld.shared.u32 %r2, [%r1];"),
            "");
  EXPECT_NE(findings(copy + "ld.shared.u32 %r2, [%r1]; cp.async.wait_all;")
                .find("race"),
            std::string::npos);
  EXPECT_NE(findings(copy + "cp.async.wait_group 1; ld.shared.u32 %r2, [%r1];")
                .find("race"),
            std::string::npos);
}

TEST(Barrier, DivergentOnesAreFound) {
  EXPECT_EQ(findings("setp.lt.u32 %p1, %r0, 16; @%p1 bar.sync 0;"), "barrier");
  EXPECT_EQ(findings("setp.lt.u32 %p1, %r0, 16; @%p1 bra A; bar.sync 0; bra "
                     "B; A: bar.sync 1; B:"),
            "barrier deadlock");
  // Different warps may go different ways to the same barrier.
  EXPECT_EQ(findings("setp.lt.u32 %p1, %r0, 32; @%p1 bra A; bar.sync 0; bra "
                     "B; A: bar.sync 0; B:",
                     {1, 64}),
            "");
  EXPECT_EQ(findings("bar.sync 0, 48;", {1, 64}), "barrier");
}

TEST(Barrier, NamedOnesPairProducersWithConsumers) {
  std::string text =
      ".shared .align 4 .b8 s[128]; mov.u32 %r1, s; and.b32 %r2, %r0, 31; "
      "mad.lo.u32 %r1, %r2, 4, %r1; setp.lt.u32 %p1, %r0, 32; @%p1 bra P;\n"
      "bar.sync 1, 64; ld.shared.u32 %r3, [%r1]; bra E;\n"
      "P: st.shared.u32 [%r1], %r0;";
  EXPECT_EQ(findings(text + " bar.arrive 1, 64; E:", {1, 64}), "");
  EXPECT_NE(findings(text + " E:", {1, 64}), "");
}

TEST(Shuffle, ReadsFromLanesThatDoNotTakePart) {
  EXPECT_EQ(findings("shfl.sync.bfly.b32 %r1, %r0, 16, 0x1f, -1;"), "");
  EXPECT_EQ(findings("shfl.sync.bfly.b32 %r1, %r0, 16, 0x1f, -1;", {1, 16}),
            "shuffle");
  EXPECT_EQ(findings("setp.lt.u32 %p1, %r0, 16; @%p1 bra A; bra B; A: "
                     "shfl.sync.idx.b32 %r1, %r0, 3, 0x1f, -1; B: "
                     "bar.warp.sync -1;"),
            "shuffle");
  EXPECT_EQ(findings("setp.lt.u32 %p1, %r0, 16; @%p1 shfl.sync.idx.b32 %r1, "
                     "%r0, 3, 0x1f, 0xFFFF;"),
            "");
  EXPECT_EQ(findings("shfl.sync.idx.b32 %r1, %r0, 3, 0x1f, 0xFFFF;"),
            "shuffle");
}

TEST(Deadlock, SpinsAndEndlessLoops) {
  EXPECT_EQ(findings("L: ld.volatile.global.u32 %r1, [%d0]; setp.eq.u32 %p1, "
                     "%r1, 0; @%p1 bra L;",
                     {4, 64}),
            "deadlock");
  EXPECT_EQ(findings("L: bra L;", {2, 32}), "deadlock");
  EXPECT_EQ(findings("L: add.u32 %r1, %r1, 1; bra L;"), "deadlock");
  // Warps that wait at different barriers for each other.
  EXPECT_EQ(findings("setp.lt.u32 %p1, %r0, 32; @%p1 bra A; bar.sync 1; bra "
                     "B; A: bar.sync 2; B:",
                     {1, 64}),
            "deadlock");
  Ptx run(kernel(1, "L: ld.volatile.global.u32 %r1, [%d0]; setp.eq.u32 %p1, "
                    "%r1, 0; @%p1 bra L;"));
  Buffer x = run.inout<u32>({0});
  run.launch("k", {x}, {2, 32});
  ASSERT_FALSE(run.result.findings.empty());
  EXPECT_NE(run.result.findings[0].message.find("spins"), std::string::npos);
}

TEST(Deadlock, ALockBetweenLanesIsNone) {
  // Each lane takes a lock in turn; needs independent progress of lanes.
  EXPECT_EQ(
      findings("L: atom.global.cas.b32 %r1, [%d0], 0, 1; setp.ne.u32 %p1, %r1, "
               "0; @%p1 bra L;\nmembar.gl; ld.volatile.global.u32 %r2, "
               "[%d0+4]; add.u32 %r2, %r2, 1; st.volatile.global.u32 [%d0+4], "
               "%r2; membar.gl; atom.global.exch.b32 %r3, [%d0], 0;",
               {2, 64}),
      "");
}

TEST(Limit, BlocksAndSharedMemory) {
  EXPECT_EQ(findings("", {1, 1025}), "limit");
  EXPECT_EQ(findings("", {1, 32, 300000}), "limit");
  EXPECT_EQ(findings("", {100000, 1024}, 16, true), "limit");
  EXPECT_EQ(findings("", {1, 1024}), "");
}

TEST(Trap, EndsTheLaunch) {
  EXPECT_EQ(findings("setp.eq.u32 %p1, %r0, 5; @%p1 trap;"), "trap");
}

TEST(Findings, NameTheSourceLine) {
  Ptx run(kernel(1, ".loc 1 42 3\nst.global.u32 [%d0+4096], 1;",
                 ".file 1 \"model.onnx\"\n"));
  Buffer x = run.output<u32>(4);
  run.launch("k", {x}, {2, 64});
  ASSERT_EQ(run.result.findings.size(), 1u);
  const Finding &f = run.result.findings[0];
  EXPECT_EQ(f.sourceFile, "model.onnx");
  EXPECT_EQ(f.sourceLine, 42u);
  EXPECT_EQ(f.occurrences, 128u);
  EXPECT_EQ(f.block[0], 0u);
  EXPECT_EQ(f.thread[0], 0u);
}

TEST(Launch, WrongArgumentsAreRefused) {
  Ptx run(kernel(1, ""));
  LaunchResult r = launch(*run.module, "k", run.memory, {}, run.config);
  EXPECT_NE(r.error.message, "");
  r = launch(*run.module, "k", run.memory, {Argument::scalar<int>(1)},
             run.config);
  EXPECT_NE(r.error.message, "");
  r = launch(*run.module, "other", run.memory, {}, run.config);
  EXPECT_NE(r.error.message, "");
}

} // namespace
} // namespace lockstitch::simulator::testing
