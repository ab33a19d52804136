#include "compiler/schedule/kernel_schedule.h"

#include <gtest/gtest.h>

#include <random>

using namespace lockstitch;

namespace {

TEST(KernelScheduleText, RoundTrips) {
  std::mt19937 random(3);
  for (int i = 0; i < 500; ++i) {
    KernelSchedule schedule;
    schedule.vectorWidth = 1 << random() % 5;
    schedule.threadsPerRow = 1 << random() % 11;
    schedule.rowsPerBlock = 1 + random() % 128;
    schedule.unrollColumns = random() % 2;
    schedule.sharedBytes = random() % 232448;
    schedule.wideIndex = random() % 2;
    schedule.gridX = 1 + (int64_t(random()) << (random() % 20));
    schedule.rowsPerTask = 1 + random() % 1000;
    for (unsigned tile = 0; tile < random() % 4; ++tile)
      schedule.tiles.push_back(static_cast<TileSpace>(random() % 3));
    KernelSchedule back;
    std::string error;
    ASSERT_TRUE(parseKernelSchedule(toString(schedule), back, error)) << error;
    EXPECT_EQ(back, schedule) << toString(schedule);
  }
}

TEST(KernelScheduleText, ErrorsSayWhat) {
  const std::string good =
      "vector 4 threads_per_row 32 rows_per_block 4 grid 4 "
      "shared 0 unrolled rows_per_task 1";
  struct {
    std::string text, error;
  } cases[] = {
      {good + " fast", "a schedule has no 'fast'"},
      {good + " vector 4", "'vector' is there twice"},
      {good + " looped", "both 'unrolled' and 'looped'"},
      {good + " tiles register,cloud",
       "a tile lives in register, shared or scratch, not 'cloud'"},
      {"vector four", "'vector' needs a whole number from 1 on, not 'four'"},
      {"vector 0", "'vector' needs a whole number from 1 on, not '0'"},
      {"shared -1", "'shared' needs a whole number from 0 on, not '-1'"},
      {"vector 4x", "'vector' needs a whole number from 1 on, not '4x'"},
      {"vector 99999999999",
       "'vector' needs a whole number from 1 on, not '99999999999'"},
      {"vector", "'vector' has no value"},
      {"", "'vector' is missing"},
      {"vector 4 threads_per_row 32 rows_per_block 4 grid 4 shared 0 "
       "rows_per_task 1",
       "'unrolled' or 'looped' is missing"},
  };
  for (const auto &test : cases) {
    KernelSchedule schedule;
    std::string error;
    EXPECT_FALSE(parseKernelSchedule(test.text, schedule, error)) << test.text;
    EXPECT_EQ(error, test.error);
  }
  KernelSchedule schedule;
  std::string error;
  EXPECT_TRUE(parseKernelSchedule(good, schedule, error)) << error;
}

TEST(SchedulePinText, RoundTripsAndRefuses) {
  for (const char *text :
       {"vector 4 threads_per_row 128", "rows_per_block 2 looped tiles kept",
        "rows_per_task 7", "unrolled", "tiles recomputed"}) {
    SchedulePin pin;
    std::string error;
    ASSERT_TRUE(parseSchedulePin(text, pin, error)) << error;
    EXPECT_EQ(toString(pin), text);
  }
  struct {
    const char *text, *error;
  } cases[] = {
      {"", "asks for nothing"},
      {"grid 4", "a schedule takes vector, threads_per_row, rows_per_block, "
                 "rows_per_task, unrolled or looped, and tiles; not 'grid'"},
      {"tiles none", "tiles are kept or recomputed, not 'none'"},
      {"unrolled looped", "both 'unrolled' and 'looped'"},
      {"vector", "'vector' has no value"},
  };
  for (const auto &test : cases) {
    SchedulePin pin;
    std::string error;
    EXPECT_FALSE(parseSchedulePin(test.text, pin, error)) << test.text;
    EXPECT_EQ(error, test.error);
  }
}

} // namespace
