// Every placed sync is needed: without it the simulator reports a race, or, for
// an exchange within a warp, the values are others (lanes that do not exchange
// race with nobody; a softmax without its whole maximum differs in its last
// bits only). And the kernel with all of them is clean.
#include "execute.h"
#include "sample_kernels.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <set>

namespace lockstitch::testing {
namespace {

using ::testing::HasSubstr;

struct Outcome {
  std::set<std::string> findings; // kinds
  bool isRight = true;
  std::vector<Bytes> buffers; // after the run
};

/// Runs `program` under `schedule` with `syncs` instead of the placed ones.
Outcome runWith(const StageProgram &program, const KernelSchedule &schedule,
                std::vector<SyncPoint> syncs) {
  CodegenOptions options;
  options.verify = true;
  options.syncs = std::move(syncs);
  CodeGenerator mine(options);
  Result<GpuKernel> kernel = mine.emitPtx(program, schedule, {90});
  EXPECT_TRUE(kernel.ok());
  Outcome outcome;
  if (!kernel.ok())
    return outcome;
  std::vector<Bytes> expected = makeBuffers(program),
                     buffers = makeBuffers(program);
  interpret(program, expected);
  for (const simulator::Finding &finding :
       launchOnSimulator(program, *kernel, buffers))
    outcome.findings.insert(std::string(simulator::name(finding.kind)));
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (!program.arguments[i].isOutput)
      continue;
    for (size_t at = 0; at + 4 <= buffers[i].size(); at += 4) {
      float want, got;
      std::memcpy(&want, expected[i].data() + at, 4);
      std::memcpy(&got, buffers[i].data() + at, 4);
      outcome.isRight &= std::abs(want - got) <= 2e-3f * std::abs(want) + 2e-4f;
    }
  }
  outcome.buffers = std::move(buffers);
  return outcome;
}

/// Three reductions one after the other, the third over what the others gave.
StageProgram threeFolds(int64_t rows, int64_t columns) {
  KernelBuilder k("three_folds", rows);
  uint32_t in = k.input(ElementType::F32, rows * columns),
           out = k.output(ElementType::F32, rows);
  StageValueId previous = kNone;
  for (int i = 0; i < 3; ++i) {
    k.stage(columns);
    StageValueId value = k.load(in, row() * num(columns) + col());
    if (previous != kNone)
      value = k.op(ScalarOpcode::Mul, ElementType::F32, {value, previous});
    StageValueId weight =
        k.op(ScalarOpcode::Mul, ElementType::F32,
             {value, k.constant(ElementType::F32, 1.0 / 1024)});
    previous = k.reduce(ScalarOpcode::Add, ElementType::F32, weight, 0);
  }
  k.finish();
  k.store(out, row(), previous);
  return k.program;
}

void everySyncIsNeeded(const StageProgram &program, unsigned threads,
                       bool unroll) {
  KernelSchedule schedule;
  schedule.vectorWidth = 4;
  schedule.threadsPerRow = threads;
  schedule.unrollColumns = unroll;
  schedule.gridX = program.rows.value();
  placeTiles(program, /*isGpu=*/true, schedule);
  std::vector<SyncPoint> syncs = placeSyncs(program, schedule);
  SCOPED_TRACE(syncsToString(program, schedule, syncs));
  Outcome whole = runWith(program, schedule, syncs);
  EXPECT_TRUE(whole.isRight);
  EXPECT_TRUE(whole.findings.empty());
  ASSERT_FALSE(syncs.empty());
  for (size_t i = 0; i < syncs.size(); ++i) {
    SCOPED_TRACE("without sync " + std::to_string(i));
    std::vector<SyncPoint> fewer = syncs;
    fewer.erase(fewer.begin() + i);
    Outcome outcome = runWith(program, schedule, fewer);
    if (syncs[i].level == SyncLevel::Block)
      EXPECT_TRUE(outcome.findings.count("race"));
    else
      EXPECT_TRUE(outcome.buffers != whole.buffers);
  }
}

TEST(Syncs, EachIsNeeded) {
  for (unsigned threads : {8u, 32u, 64u, 256u})
    for (bool unroll : {true, false}) {
      everySyncIsNeeded(softmax(3, 1024), threads, unroll);
      everySyncIsNeeded(layerNorm(3, 1024), threads, unroll);
      everySyncIsNeeded(threeFolds(3, 1024), threads, unroll);
    }
}

TEST(Syncs, LevelsBeyondTheBlockHaveNoLowering) {
  StageProgram program = softmax(2, 1024);
  KernelSchedule schedule;
  schedule.threadsPerRow = 64;
  schedule.gridX = 2;
  placeTiles(program, /*isGpu=*/true, schedule);
  struct {
    SyncPoint point;
    const char *says;
  } cases[] = {
      {{0, SyncPlace::LoadPartials, SyncLevel::Grid, 0, ""},
       "stage 0, load_partials: a sync of level grid has no lowering"},
      {{1, SyncPlace::LoadPartials, SyncLevel::BlockGroup, 0, ""},
       "stage 1, load_partials: a sync of level block_group has no lowering"},
      {{0, SyncPlace::LoadPartials, SyncLevel::Warp, 32, ""},
       "a sync of level warp does not belong there"},
      {{0, SyncPlace::Exchange, SyncLevel::Block, 0, ""},
       "a sync of level block does not belong there"}};
  for (const auto &test : cases) {
    CodegenOptions options;
    options.syncs = {test.point};
    CodeGenerator mine(options);
    Result<GpuKernel> kernel = mine.emitPtx(program, schedule, {90});
    ASSERT_FALSE(kernel.ok());
    EXPECT_EQ(kernel.error().kind, ErrorKind::Internal);
    EXPECT_THAT(kernel.error().messages[0].reason, HasSubstr(test.says));
  }
}

TEST(Syncs, TilesNeedAPlace) {
  StageProgram program = softmax(2, 1024);
  KernelSchedule schedule;
  schedule.threadsPerRow = 64;
  schedule.gridX = 2;
  Result<GpuKernel> kernel = generator().emitPtx(program, schedule, {90});
  ASSERT_FALSE(kernel.ok());
  EXPECT_THAT(kernel.error().messages[0].reason,
              HasSubstr("the schedule has places for 0 tiles of"));
  placeTiles(program, /*isGpu=*/true, schedule);
  schedule.unrollColumns = false;
  kernel = generator().emitPtx(program, schedule, {90});
  ASSERT_FALSE(kernel.ok());
  EXPECT_THAT(kernel.error().messages[0].reason,
              HasSubstr("a tile in registers needs its columns unrolled"));
}

} // namespace
} // namespace lockstitch::testing
