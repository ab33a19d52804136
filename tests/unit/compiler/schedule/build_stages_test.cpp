#include "compiler/graph/passes/passes.h"
#include "compiler/planner/explore.h"
#include "compiler/schedule/choose_schedule.h"
#include "tests/unit/compiler/random_graph.h"
#include "tests/unit/compiler/schedule/kernel_specs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace lockstitch;
using namespace lockstitch::testing;
using ::testing::HasSubstr;

namespace {

StageProgram built(const PrimitiveGraph &graph, StageOptions options = {}) {
  auto result = buildStages(graph, everything(graph), options);
  if (auto *refusal = std::get_if<Refusal>(&result)) {
    ADD_FAILURE() << refusal->reason;
    return {};
  }
  EXPECT_EQ(verify(std::get<StageProgram>(result)).value_or(""), "");
  return std::get<StageProgram>(result);
}

std::string refused(const PrimitiveGraph &graph) {
  auto result = buildStages(graph, everything(graph), {});
  if (auto *refusal = std::get_if<Refusal>(&result))
    return refusal->reason;
  return "built";
}

TEST(BuildStages, SoftmaxReadsItsInputOnceAndSharesATileSlot) {
  StageProgram program = built(softmaxGraph(8, 100));
  EXPECT_EQ(program.rows, 8);
  ASSERT_EQ(program.stages.size(), 3u);
  int loads = 0;
  for (const Stage &stage : program.stages)
    for (const StageOp &op : stage.body.ops)
      loads += op.opcode == StageOpcode::Load;
  EXPECT_EQ(loads, 1);
  ASSERT_EQ(program.tiles.size(), 2u);
  EXPECT_EQ(program.tiles[0].slot, program.tiles[1].slot);
}

TEST(BuildStages, WithoutTilesValuesAreComputedAgain) {
  StageOptions options;
  options.tiles = false;
  StageProgram program = built(softmaxGraph(8, 100), options);
  EXPECT_TRUE(program.tiles.empty());
  int loads = 0;
  for (const Stage &stage : program.stages)
    for (const StageOp &op : stage.body.ops)
      loads += op.opcode == StageOpcode::Load;
  EXPECT_EQ(loads, 3);
}

TEST(BuildStages, ReductionsOverOuterAxesWalkAsTheyRead) {
  GraphMaker maker;
  ValueId x = maker.input({3, 50, 7});
  maker.output(maker.map(ScalarOpcode::Sub,
                         {x, maker.reduce(ScalarOpcode::Max, x, {1})}));
  computeStorageRoots(maker.graph);
  StageProgram program = built(maker.graph);
  EXPECT_EQ(program.rows, 21);
  EXPECT_EQ(program.stages.back().columns, 50);
}

TEST(BuildStages, AViewBetweenReductionAndUserIsSeenThrough) {
  GraphMaker maker;
  ValueId x = maker.input({4, 6, 32});
  ValueId flat = maker.reshape(x, {24, 32});
  ValueId mean =
      maker.reshape(maker.reduce(ScalarOpcode::Add, flat, {1}), {4, 6, 1});
  maker.output(maker.map(ScalarOpcode::Sub, {x, mean}));
  computeStorageRoots(maker.graph);
  EXPECT_EQ(built(maker.graph).rows, 24);
}

TEST(BuildStages, AnotherRowsReductionIsRefused) {
  GraphMaker maker;
  ValueId x = maker.input({8, 8});
  ValueId sum = maker.reduce(ScalarOpcode::Add, x, {1}); // [8, 1]
  maker.output(maker.map(ScalarOpcode::Add, {x, maker.transpose(sum, {1, 0})}));
  computeStorageRoots(maker.graph);
  EXPECT_THAT(refused(maker.graph), HasSubstr("another row"));
}

TEST(BuildStages, OutputsThatDoNotDivideIntoRowsAreRefused) {
  GraphMaker maker;
  ValueId x = maker.input({8, 10});
  maker.output(maker.reduce(ScalarOpcode::Add, x, {1}));
  maker.output(maker.slice(x, 1, 0, 3));
  ValueId y = maker.input({7});
  maker.output(maker.map(ScalarOpcode::Neg, {y}));
  computeStorageRoots(maker.graph);
  EXPECT_THAT(refused(maker.graph),
              HasSubstr("does not divide into the 8 rows"));
}

TEST(BuildStages, DoublingReadsStayShared) {
  // Each value is read twice by the next: 2^40 paths, 41 instances.
  GraphMaker maker;
  ValueId x = maker.input({16});
  for (int i = 0; i < 40; ++i)
    x = maker.map(ScalarOpcode::Add, {x, x});
  maker.output(x);
  computeStorageRoots(maker.graph);
  EXPECT_LT(built(maker.graph).numValues, 100u);
}

TEST(BuildStages, ValuesReadAtTooManyPlacesAreRefused) {
  // x + shifted x, again and again: every level is needed at one more place than the one before it.
  GraphMaker maker;
  ValueId x = maker.input({2000});
  for (int i = 0; i < 100; ++i) {
    int64_t length = maker.graph.type(x).elements() - 1;
    x = maker.map(ScalarOpcode::Add,
                  {maker.slice(x, 0, 0, length), maker.slice(x, 0, 1, length)});
  }
  maker.output(x);
  computeStorageRoots(maker.graph);
  EXPECT_THAT(refused(maker.graph), HasSubstr("multiply the work"));
}

TEST(BuildStages, AScanStoresAsItGoesAlsoMirrored) {
  GraphMaker maker;
  ValueId x = maker.map(ScalarOpcode::Exp, {maker.input({4, 6})});
  ValueId sum = maker.scan(ScalarOpcode::Add, x, 1);
  maker.output(maker.slice(sum, 1, 5, 6, -1));
  computeStorageRoots(maker.graph);
  StageProgram program = built(maker.graph);
  ASSERT_EQ(program.stages.size(), 1u);
  EXPECT_EQ(program.rows * program.stages[0].columns, Dim(4));
  ASSERT_EQ(program.stages[0].body.ops.size(), 1u);
  const StageOp &op = program.stages[0].body.ops[0];
  ASSERT_TRUE(op.loop && op.loop->isScan());
  EXPECT_EQ(op.loop->trip.ops.back().opcode, StageOpcode::Store);
  std::string text = toString(program);
  EXPECT_THAT(text, HasSubstr("scan k0 < 6 {"));
  EXPECT_THAT(text, HasSubstr("= fold so far (%"));
  EXPECT_THAT(text, HasSubstr("arg1[r*6 + k0*-1 + 5]"));
}

TEST(BuildStages, AReductionInAScanIsALoopBeforeIt) {
  GraphMaker maker;
  ValueId x = maker.input({4, 6});
  maker.output(
      maker.map(ScalarOpcode::Div, {maker.scan(ScalarOpcode::Add, x, 0),
                                    maker.reduce(ScalarOpcode::Add, x, {0})}));
  computeStorageRoots(maker.graph);
  std::string text = toString(built(maker.graph));
  EXPECT_LT(text.find("loop k1 < 4"), text.find("scan k0 < 4"));
}

TEST(BuildStages, WhatDoesNotFitAScanIsRefused) {
  GraphMaker two;
  ValueId x = two.input({4, 6});
  two.output(two.scan(ScalarOpcode::Add, two.scan(ScalarOpcode::Add, x, 0), 1));
  computeStorageRoots(two.graph);
  EXPECT_THAT(refused(two.graph),
              HasSubstr("a kernel's lanes walk along one scan, not 2"));

  GraphMaker shifted;
  x = shifted.scan(ScalarOpcode::Add, shifted.input({4, 6}), 1);
  shifted.output(
      shifted.map(ScalarOpcode::Sub, {x, shifted.slice(x, 1, 5, 1)}));
  computeStorageRoots(shifted.graph);
  EXPECT_THAT(refused(shifted.graph),
              HasSubstr("another element than the one that a lane has just "
                        "scanned"));

  GraphMaker shape;
  x = shape.scan(ScalarOpcode::Add, shape.input({4, 6}), 1);
  shape.output(shape.slice(x, 1, 0, 3));
  computeStorageRoots(shape.graph);
  EXPECT_THAT(refused(shape.graph), HasSubstr("has not the shape of its scan"));
}

TEST(BuildStages, PushesAndSortsHaveNoStage) {
  GraphMaker maker;
  ValueId x = maker.input({4});
  maker.output(maker.scatter(x, x, x, 0));
  computeStorageRoots(maker.graph);
  EXPECT_THAT(refused(maker.graph), HasSubstr("p0 is a push"));
  GraphMaker sorts;
  sorts.output(sorts.sort(sorts.input({4}), 0, false, 4));
  computeStorageRoots(sorts.graph);
  EXPECT_THAT(refused(sorts.graph), HasSubstr("p0 is a sort"));
}

TEST(ClassifyAccess, ByTheColumn) {
  StageProgram program;
  program.rows = 10;
  IndexExpr r = IndexExpr::dim(kRowDim), c = IndexExpr::dim(kColumnDim);
  auto k = [](int64_t v) { return IndexExpr::constant(v); };
  Access access = classifyAccess(program, r * k(64) + c, 64, 4);
  EXPECT_EQ(access.kind, AccessKind::Contiguous);
  EXPECT_TRUE(access.aligned);
  EXPECT_FALSE(classifyAccess(program, r * k(63) + c, 63, 4).aligned);
  EXPECT_FALSE(classifyAccess(program, r * k(64) + c + k(2), 60, 4).aligned);
  EXPECT_EQ(classifyAccess(program, r, 64, 4).kind, AccessKind::Uniform);
  EXPECT_EQ(classifyAccess(program, floorDiv(c, 16), 64, 4).kind,
            AccessKind::Uniform);
  EXPECT_EQ(classifyAccess(program, c * k(10) + r, 64, 4).stride, 10);
  EXPECT_EQ(classifyAccess(program, mod(c, 6), 64, 4).kind,
            AccessKind::Strided);
}

TEST(IsGuardUniform, OnlyWhereGroupsDoNotStraddle) {
  StageProgram program;
  program.rows = 10;
  IndexExpr c = IndexExpr::dim(kColumnDim);
  EXPECT_TRUE(isGuardUniform(program, {c, 0, 31}, 64, 4));
  EXPECT_FALSE(isGuardUniform(program, {c, 0, 29}, 64, 4));
  EXPECT_FALSE(
      isGuardUniform(program, {c - IndexExpr::constant(1), 0, 31}, 64, 4));
  EXPECT_TRUE(isGuardUniform(program, {IndexExpr::dim(kRowDim), 0, 3}, 64, 4));
}

TEST(ScheduleKernel, TilesThatFitNowhereGo) {
  ScheduleTarget target;
  target.isGpu = true;
  PrimitiveGraph graph = softmaxGraph(4, 200000); // 800 KB a row
  auto result = scheduleKernel(graph, everything(graph), target);
  ASSERT_TRUE(std::holds_alternative<ScheduledKernel>(result));
  EXPECT_TRUE(std::get<ScheduledKernel>(result).program.tiles.empty());
  EXPECT_LE(std::get<ScheduledKernel>(result).schedule.sharedBytes,
            target.sharedBytesPerBlock);
}

TEST(ScheduleKernel, EveryRandomKernelVerifiesOnBothTargets) {
  for (uint32_t seed = 1000; seed < 1200; ++seed) {
    PrimitiveGraph graph = randomGraph(seed, 30);
    cleanUp(graph);
    for (bool gpu : {false, true}) {
      PlannerOptions options;
      options.target.isGpu = gpu;
      Result<Plan> plan = explore(graph, options);
      ASSERT_TRUE(plan.ok());
      for (const PlanStep &step : plan->steps) {
        if (step.kind != PlanStep::Kind::Kernel)
          continue;
        auto result = scheduleKernel(graph, {"k", step.members, step.outputs},
                                     options.target);
        ASSERT_TRUE(std::holds_alternative<ScheduledKernel>(result)) << seed;
        const ScheduledKernel &kernel = std::get<ScheduledKernel>(result);
        ASSERT_EQ(verify(kernel.program).value_or(""), "")
            << "seed " << seed << "\n"
            << toString(kernel.program);
        if (gpu)
          for (const Stage &stage : kernel.program.stages)
            ASSERT_EQ(stage.columns % kernel.schedule.vectorWidth, 0) << seed;
      }
    }
  }
}

} // namespace
