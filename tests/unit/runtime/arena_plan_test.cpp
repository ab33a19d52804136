#include "runtime/program/arena_plan.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

using namespace lockstitch;

namespace {

std::vector<LiveInterval> randomIntervals(uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<LiveInterval> intervals(1 + random() % 120);
  for (LiveInterval &interval : intervals) {
    interval.firstStep = random() % 60;
    interval.lastStep = interval.firstStep + random() % 12;
    interval.bytes = random() % 5 == 0 ? 0 : random() % 70000;
  }
  return intervals;
}

TEST(ArenaPlan, LiveBuffersNeverOverlap) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    std::vector<LiveInterval> intervals = randomIntervals(seed);
    Result<ArenaPlan> plan = planArena(intervals);
    ASSERT_TRUE(plan.ok());
    ASSERT_EQ(plan->offsets.size(), intervals.size());
    for (size_t i = 0; i < intervals.size(); ++i) {
      ASSERT_GE(plan->offsets[i], 0);
      ASSERT_EQ(plan->offsets[i] % kArenaAlignment, 0);
      ASSERT_LE(plan->offsets[i] + intervals[i].bytes, plan->totalBytes);
      for (size_t j = 0; j < i; ++j) {
        bool together = intervals[i].firstStep <= intervals[j].lastStep &&
                        intervals[j].firstStep <= intervals[i].lastStep;
        if (!together || !intervals[i].bytes || !intervals[j].bytes)
          continue;
        ASSERT_TRUE(plan->offsets[i] + intervals[i].bytes <= plan->offsets[j] ||
                    plan->offsets[j] + intervals[j].bytes <= plan->offsets[i])
            << "seed " << seed << ": " << i << " and " << j;
      }
    }
    EXPECT_GE(plan->totalBytes, arenaLowerBound(intervals));
    EXPECT_EQ(plan->totalBytes % kArenaAlignment, 0);
  }
}

TEST(ArenaPlan, IsDeterministic) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    std::vector<LiveInterval> intervals = randomIntervals(seed);
    EXPECT_EQ(*planArena(intervals), *planArena(intervals));
  }
}

TEST(ArenaPlan, ChainNeedsTwoNeighbours) {
  std::vector<LiveInterval> chain;
  for (int step = 0; step < 40; ++step)
    chain.push_back({step, step + 1, 1000});
  EXPECT_EQ(planArena(chain)->totalBytes, 2 * 1024);
  EXPECT_EQ(arenaLowerBound(chain), 2 * 1024);
}

TEST(ArenaPlan, TakesTheTightestGap) {
  // Largest first: 0 at [0, 4096), 1 at [4096, 7168), 2 at [7168, 9216). 3 and
  // 4 share the gap that 1 leaves at step 5.
  std::vector<LiveInterval> intervals = {
      {0, 9, 4096}, {0, 4, 3072}, {0, 9, 2048}, {5, 9, 1024}, {5, 9, 2048}};
  Result<ArenaPlan> plan = planArena(intervals);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->totalBytes, 4096 + 3072 + 2048);
  EXPECT_EQ(plan->totalBytes, arenaLowerBound(intervals));
}

TEST(ArenaPlan, StaysNearTheLowerBound) {
  double total = 0, bound = 0;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    std::vector<LiveInterval> intervals = randomIntervals(seed);
    total += planArena(intervals)->totalBytes;
    bound += arenaLowerBound(intervals);
  }
  EXPECT_LT(total / bound, 1.1);
}

TEST(ArenaPlan, NothingNeedsNothing) {
  EXPECT_EQ(planArena({})->totalBytes, 0);
  std::vector<LiveInterval> empty = {{3, 4, 0}};
  EXPECT_EQ(planArena(empty)->offsets, std::vector<int64_t>{0});
  EXPECT_EQ(planArena(empty)->totalBytes, 0);
}

std::string reasonOf(std::vector<LiveInterval> intervals) {
  Result<ArenaPlan> plan = planArena(intervals);
  return plan.ok() ? ""
                   : plan.error().messages.at(0).where + ": " +
                         plan.error().messages.at(0).reason;
}

TEST(ArenaPlan, RefusesAnIntervalThatEndsBeforeItBegins) {
  EXPECT_EQ(reasonOf({{0, 0, 1}, {3, 2, 1}}),
            "arena plan, interval 1: ends before it begins");
}

TEST(ArenaPlan, RefusesANegativeSize) {
  EXPECT_EQ(reasonOf({{0, 0, -1}}),
            "arena plan, interval 0: has a negative size");
}

TEST(ArenaPlan, RefusesATotalBeyond63Bits) {
  int64_t half = int64_t{1} << 61;
  EXPECT_EQ(
      reasonOf({{0, 0, half}, {0, 0, half}}),
      "arena plan, interval 1: the buffers together do not fit in 63 bits");
}

} // namespace
