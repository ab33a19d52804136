// Where lanes wait for each other, printed.
#include "compiler/schedule/choose_schedule.h"
#include "compiler/schedule/place_syncs.h"
#include "tests/unit/compiler/schedule/kernel_specs.h"

#include <gtest/gtest.h>

using namespace lockstitch;
using namespace lockstitch::testing;

namespace {

StageProgram built(GraphMaker &maker) {
  computeStorageRoots(maker.graph);
  auto result = buildStages(maker.graph, everything(maker.graph), {});
  EXPECT_TRUE(std::holds_alternative<StageProgram>(result))
      << std::get<Refusal>(result).reason;
  return std::get<StageProgram>(result);
}

std::string syncsOf(const StageProgram &program, unsigned threads,
                    unsigned rows, bool unroll) {
  KernelSchedule schedule;
  schedule.threadsPerRow = threads;
  schedule.rowsPerBlock = rows;
  schedule.unrollColumns = unroll;
  placeTiles(program, /*isGpu=*/true, schedule);
  return syncsToString(program, schedule, placeSyncs(program, schedule));
}

StageProgram softmax(int64_t columns) {
  GraphMaker maker;
  maker.output(maker.softmax(maker.input({8, columns}), 1));
  return built(maker);
}

TEST(PlaceSyncs, SoftmaxInOneWarpExchangesOnly) {
  EXPECT_EQ(syncsOf(softmax(128), 32, 4, true),
            R"(syncs of k: 4 rows of 32 threads in a block
  stage 0 exchange: warp of 32 lanes, fold of f32
  stage 1 exchange: warp of 32 lanes, fold of f32
  tile 0 in register: none, a column is read by the lane that wrote it
  tile 1 in register: none, a column is read by the lane that wrote it
)");
}

TEST(PlaceSyncs, OneThreadPerRowWaitsForNobody) {
  EXPECT_EQ(syncsOf(softmax(8), 1, 128, true),
            R"(syncs of k: 128 rows of 1 thread in a block
  tile 0 in register: none, a column is read by the lane that wrote it
  tile 1 in register: none, a column is read by the lane that wrote it
)");
}

TEST(PlaceSyncs, SoftmaxInABlockHasOneBarrierPerReduction) {
  EXPECT_EQ(syncsOf(softmax(4096), 128, 1, false),
            R"(syncs of k: 1 row of 128 threads in a block
  stage 0 exchange: warp of 32 lanes, fold of f32
  stage 0 load_partials: block, partial 0 of stage 0: written by lane 0 of each of 4 warps, read by every lane
  stage 0 combine: warp of 4 lanes, the warps' results of f32
  stage 1 exchange: warp of 32 lanes, fold of f32
  stage 1 load_partials: block, partial 0 of stage 1: written by lane 0 of each of 4 warps, read by every lane
  stage 1 combine: warp of 4 lanes, the warps' results of f32
  tile 0 in shared: none, a column is read by the lane that wrote it
  tile 1 in shared: none, a column is read by the lane that wrote it
)");
}

TEST(PlaceSyncs, TwoReductionsOfOnePassShareABarrier) {
  GraphMaker maker;
  ValueId x = maker.input({8, 4096});
  maker.output(maker.reduce(ScalarOpcode::Add, x, {1}));
  maker.output(maker.reduce(ScalarOpcode::Max, x, {1}));
  EXPECT_EQ(syncsOf(built(maker), 1024, 1, true),
            R"(syncs of k: 1 row of 1024 threads in a block
  stage 0 exchange: warp of 32 lanes, fold of f32, f32
  stage 0 load_partials: block, partial 0 of stage 0: written by lane 0 of each of 32 warps, read by every lane
  stage 0 combine: warp of 32 lanes, the warps' results of f32, f32
)");
}

// dx = (dy - mean(dy) - x * mean(dy * x)) of a normalised x: two sums, then the columns.
TEST(PlaceSyncs, LayerNormBackward) {
  GraphMaker maker;
  ValueId x = maker.input({8, 4096}), dy = maker.input({8, 4096});
  ValueId a = maker.reduce(ScalarOpcode::Add, dy, {1});
  ValueId b = maker.reduce(ScalarOpcode::Add,
                           maker.map(ScalarOpcode::Mul, {dy, x}), {1});
  maker.output(
      maker.map(ScalarOpcode::Sub, {maker.map(ScalarOpcode::Sub, {dy, a}),
                                    maker.map(ScalarOpcode::Mul, {x, b})}));
  EXPECT_EQ(syncsOf(built(maker), 256, 1, true),
            R"(syncs of k: 1 row of 256 threads in a block
  stage 0 exchange: warp of 32 lanes, fold of f32, f32
  stage 0 load_partials: block, partial 0 of stage 0: written by lane 0 of each of 8 warps, read by every lane
  stage 0 combine: warp of 8 lanes, the warps' results of f32, f32
  tile 0 in register: none, a column is read by the lane that wrote it
  tile 1 in register: none, a column is read by the lane that wrote it
)");
}

SharedAccess access(unsigned stage, bool isWrite, int64_t begin,
                    bool isOwn = false) {
  return {stage,
          isWrite ? SyncPlace::StorePartials : SyncPlace::LoadPartials,
          begin,
          begin + 16,
          isWrite,
          isOwn,
          "bytes " + std::to_string(begin),
          isWrite ? "one lane" : "every lane"};
}

std::string barriers(const std::vector<SharedAccess> &accesses, bool loop) {
  std::string text;
  for (const SyncPoint &point : separateHazards(accesses, loop))
    text += std::to_string(point.stage) + " " + std::string(name(point.place)) +
            ": " + point.reason + "\n";
  return text;
}

TEST(SeparateHazards, AReusedPlaceNeedsASecondBarrierPerStage) {
  EXPECT_EQ(
      barriers({access(0, true, 0), access(0, false, 0), access(1, true, 0),
                access(1, false, 0)},
               false),
      "0 load_partials: bytes 0: written by one lane, read by every lane\n"
      "1 store_partials: bytes 0: read by every lane, written by one lane\n"
      "1 load_partials: bytes 0: written by one lane, read by every lane\n");
}

TEST(SeparateHazards, TwoPlacesInTurnNeedOneEach) {
  EXPECT_EQ(
      barriers({access(0, true, 0), access(0, false, 0), access(1, true, 16),
                access(1, false, 16), access(2, true, 0), access(2, false, 0)},
               false),
      "0 load_partials: bytes 0: written by one lane, read by every lane\n"
      "1 load_partials: bytes 16: written by one lane, read by every lane\n"
      "2 load_partials: bytes 0: written by one lane, read by every lane\n");
}

TEST(SeparateHazards, ALoopOverRowsGoesAroundOnceMore) {
  std::vector<SharedAccess> one = {access(0, true, 0), access(0, false, 0)};
  EXPECT_EQ(
      barriers(one, false),
      "0 load_partials: bytes 0: written by one lane, read by every lane\n");
  EXPECT_EQ(
      barriers(one, true),
      "0 store_partials: bytes 0: read by every lane, written by one lane "
      "of the next row\n"
      "0 load_partials: bytes 0: written by one lane, read by every lane\n");
  // An even number of stages over two places needs nothing more.
  EXPECT_EQ(separateHazards({access(0, true, 0), access(0, false, 0),
                             access(1, true, 16), access(1, false, 16)},
                            true)
                .size(),
            2u);
}

TEST(SeparateHazards, WhatOnlyItsOwnLaneAccessesNeedsNone) {
  EXPECT_EQ(barriers({access(0, true, 0, true), access(1, false, 0, true),
                      access(2, true, 0, true)},
                     true),
            "");
  // Unless another lane reads it too.
  EXPECT_EQ(
      barriers({access(0, true, 0, true), access(1, false, 0)}, false),
      "1 load_partials: bytes 0: written by one lane, read by every lane\n");
}

TEST(SeparateHazards, ReadersOfOnePlaceDoNotWaitForEachOther) {
  EXPECT_EQ(barriers({access(0, false, 0), access(1, false, 0)}, true), "");
  EXPECT_EQ(barriers({access(0, true, 0), access(1, true, 16)}, false), "");
}

} // namespace
