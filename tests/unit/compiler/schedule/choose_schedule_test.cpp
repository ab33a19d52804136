// The choice among candidates: what wins, what a person may ask for, and how long it takes.
#include "compiler/schedule/candidates.h"
#include "compiler/schedule/choose_schedule.h"
#include "tests/unit/compiler/schedule/kernel_specs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

using namespace lockstitch;
using namespace lockstitch::testing;
using ::testing::HasSubstr;

namespace {

PrimitiveGraph pointwise(int64_t elements) {
  GraphMaker maker;
  maker.output(maker.map(ScalarOpcode::Tanh, {maker.input({elements})}));
  computeStorageRoots(maker.graph);
  return std::move(maker.graph);
}

ScheduleTarget gpu() {
  ScheduleTarget target;
  target.isGpu = true;
  return target;
}

std::string pinned(const PrimitiveGraph &graph, const char *text,
                   const ScheduleTarget &target) {
  SchedulePin pin;
  std::string error;
  EXPECT_TRUE(parseSchedulePin(text, pin, error)) << error;
  auto chosen = chooseSchedule(graph, everything(graph), target, pin);
  if (auto *refusal = std::get_if<Refusal>(&chosen))
    return "refused: " + refusal->reason;
  return toString(std::get<ScheduleChoice>(chosen).kernel.schedule);
}

TEST(ChooseSchedule, AtLeastAsGoodAsTheRuleAndWithReasonsForTheRest) {
  for (int64_t rows : {1, 13, 1000, 100000})
    for (int64_t columns : {7, 96, 1000, 4096, 50000}) {
      PrimitiveGraph graph = softmaxGraph(rows, columns);
      auto chosen = chooseSchedule(graph, everything(graph), gpu());
      ASSERT_TRUE(std::holds_alternative<ScheduleChoice>(chosen));
      const ScheduleChoice &choice = std::get<ScheduleChoice>(chosen);
      SCOPED_TRACE(toString(choice.kernel.schedule));
      EXPECT_EQ(choice.kernel.schedule, choice.chosen.schedule);
      EXPECT_EQ(choice.chosen.lost, "");
      EXPECT_LE(choice.runnersUp.size(), 3u);
      EXPECT_FALSE(choice.runnersUp.empty());
      for (const ScheduleCandidate &other : choice.runnersUp) {
        EXPECT_NE(other.lost, "");
        if (other.isRule && !choice.chosen.isRule) {
          const cost::KernelShape &taken = choice.chosen.score.shape,
                                  &rule = other.score.shape;
          EXPECT_LE(choice.chosen.score.estimate.microseconds,
                    other.score.estimate.microseconds * 1.01);
          EXPECT_GE(choice.chosen.score.estimate.smsBusy,
                    other.score.estimate.smsBusy);
          EXPECT_LE(taken.bytesRead + taken.bytesWritten,
                    rule.bytesRead + rule.bytesWritten);
          EXPECT_LE(taken.instructionsPerThread *
                        static_cast<double>(taken.blocks * taken.block.threads),
                    rule.instructionsPerThread *
                        static_cast<double>(rule.blocks * rule.block.threads));
        }
      }
      EXPECT_FALSE(
          checkSchedule(choice.kernel.program, gpu(), choice.kernel.schedule));
      auto again = chooseSchedule(graph, everything(graph), gpu());
      EXPECT_EQ(std::get<ScheduleChoice>(again).kernel.schedule,
                choice.kernel.schedule);
    }
}

// 13 rows: the rule gives four of them to a block of 128 threads and computes three of them in vain.
TEST(ChooseSchedule, FewRowsAreSpreadOverTheMachine) {
  GraphMaker maker;
  ValueId x = maker.input({13, 768});
  ValueId square = maker.map(ScalarOpcode::Mul, {x, x});
  maker.output(maker.map(ScalarOpcode::Div,
                         {x, maker.reduce(ScalarOpcode::Add, square, {1})}));
  computeStorageRoots(maker.graph);
  auto chosen = chooseSchedule(maker.graph, everything(maker.graph), gpu());
  ASSERT_TRUE(std::holds_alternative<ScheduleChoice>(chosen));
  EXPECT_EQ(std::get<ScheduleChoice>(chosen).kernel.schedule.gridX, 13);
}

TEST(ChooseSchedule, LongRowsComputeAgainWhenTilesFitNowhere) {
  PrimitiveGraph graph = softmaxGraph(4, 200000);
  auto chosen = chooseSchedule(graph, everything(graph), gpu());
  ASSERT_TRUE(std::holds_alternative<ScheduleChoice>(chosen));
  const ScheduleChoice &choice = std::get<ScheduleChoice>(chosen);
  EXPECT_FALSE(choice.chosen.tilesKept);
  EXPECT_TRUE(choice.kernel.program.tiles.empty());
  // With tiles, it says, shared memory is short; asked for all the same, it is refused with the figure.
  EXPECT_THAT(pinned(graph, "tiles kept", gpu()),
              HasSubstr("bytes of shared memory of 232448"));
}

TEST(ChooseSchedule, WhatIsAskedForIsHeldFast) {
  PrimitiveGraph graph = softmaxGraph(64, 4096);
  EXPECT_EQ(
      pinned(graph, "vector 2 threads_per_row 256 looped", gpu()),
      "vector 2 threads_per_row 256 rows_per_block 1 grid 64 shared 16448 "
      "looped rows_per_task 1 tiles shared,shared");
  EXPECT_THAT(pinned(graph, "tiles recomputed threads_per_row 32", gpu()),
              HasSubstr("threads_per_row 32"));
  EXPECT_THAT(pinned(graph, "threads_per_row 16 rows_per_block 3", gpu()),
              HasSubstr("threads_per_row 16 rows_per_block 3 grid 22"));
  EXPECT_THAT(pinned(pointwise(4096), "rows_per_block 64", gpu()),
              HasSubstr("rows_per_block 64 grid 16"));
  EXPECT_THAT(pinned(pointwise(4096), "vector 2", gpu()),
              HasSubstr("vector 2 threads_per_row 1"));
  EXPECT_THAT(pinned(softmaxGraph(64, 4096), "vector 4 rows_per_task 9", {}),
              HasSubstr("vector 4"));
  EXPECT_THAT(pinned(softmaxGraph(64, 4096), "vector 4 rows_per_task 9", {}),
              HasSubstr("rows_per_task 9"));
}

TEST(ChooseSchedule, WhatDoesNotFitIsRefusedWithTheReason) {
  PrimitiveGraph graph = softmaxGraph(64, 4098);
  struct {
    const char *text, *says;
  } cases[] = {
      {"vector 4", "vectors of 4 do not divide its 4098 columns"},
      {"vector 3", "vector and threads per row are powers of two"},
      {"threads_per_row 48", "vector and threads per row are powers of two"},
      {"threads_per_row 64 rows_per_block 2",
       "a row of 64 threads is a block of its own"},
      {"threads_per_row 32 rows_per_block 64",
       "a block would have 2048 threads of 1024"},
      {"threads_per_row 1 looped tiles kept",
       "one thread per row keeps no tile in shared memory"},
      {"threads_per_row 32 unrolled vector 1",
       "unrolling its 129 steps is too much; the limit is 64"},
  };
  for (const auto &test : cases)
    EXPECT_THAT(pinned(graph, test.text, gpu()), HasSubstr(test.says))
        << test.text;
  EXPECT_THAT(pinned(pointwise(4096), "threads_per_row 32", gpu()),
              HasSubstr("it has no rows to share"));
  EXPECT_THAT(pinned(pointwise(4096), "vector 16", gpu()),
              HasSubstr("vectors of 16 elements do not suit its outputs"));
  EXPECT_THAT(pinned(graph, "vector 64", {}),
              HasSubstr("more than twice what this CPU's registers hold"));
}

TEST(ScheduleMemory, EqualKernelsAreChosenOnce) {
  GraphMaker maker;
  std::vector<ValueId> results;
  for (int layer = 0; layer < 5; ++layer) {
    ValueId x = maker.input({64, 768});
    results.push_back(maker.map(ScalarOpcode::Sub,
                                {x, maker.reduce(ScalarOpcode::Add, x, {1})}));
    maker.output(results.back());
  }
  computeStorageRoots(maker.graph);
  ScheduleTarget target = gpu();
  ScheduleMemory memory(maker.graph, target);
  for (PrimitiveId layer = 0; layer < 5; ++layer) {
    auto chosen =
        memory.choose({"k", {2 * layer, 2 * layer + 1}, {results[layer]}}, {});
    ASSERT_TRUE(std::holds_alternative<ScheduleChoice>(chosen));
    const StageProgram &program =
        std::get<ScheduleChoice>(chosen).kernel.program;
    EXPECT_EQ(program.arguments.back().value, results[layer]);
  }
  EXPECT_EQ(memory.numDistinct(), 1u);
  SchedulePin pin;
  pin.vectorWidth = 2;
  auto other = memory.choose({"k", {0, 1}, {results[0]}}, pin);
  EXPECT_EQ(std::get<ScheduleChoice>(other).kernel.schedule.vectorWidth, 2u);
  EXPECT_EQ(memory.numDistinct(), 2u);
}

// The budget is a millisecond of a machine's time; a busy or sanitised one gets ten.
TEST(ChooseSchedule, TakesLessThanAMillisecondForAKernel) {
  PrimitiveGraph graph = softmaxGraph(4096, 4096);
  KernelSpec spec = everything(graph);
  auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i)
    (void)chooseSchedule(graph, spec, gpu());
  std::chrono::duration<double, std::milli> each =
      (std::chrono::steady_clock::now() - begin) / 20;
  RecordProperty("milliseconds", std::to_string(each.count()));
  EXPECT_LT(each.count(), 10);
}

} // namespace
