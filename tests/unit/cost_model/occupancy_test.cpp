// Expected figures are worked out by hand from the tables; the comments show
// how.
#include "cost_model/occupancy.h"

#include <gtest/gtest.h>

using namespace lockstitch::cost;
using Limit = Occupancy::Limit;

namespace {

void expect(const char *device, BlockResources block, int64_t blocks,
            Limit limit) {
  Occupancy result = occupancy(*findDevice(device), block);
  EXPECT_EQ(result.blocksPerSm, blocks);
  EXPECT_EQ(name(result.limit), name(limit));
  EXPECT_EQ(result.warpsPerSm, blocks * ((block.threads + 31) / 32));
}

TEST(Occupancy, Threads) {
  expect("sm_90", {256, 32, 0}, 8, Limit::Threads);  // 64 warps / 8
  expect("sm_90", {1024, 32, 0}, 2, Limit::Threads); // 64 / 32
  expect("sm_86", {1024, 32, 0}, 1, Limit::Threads); // 48 / 32
  expect("sm_75", {256, 32, 0}, 4, Limit::Threads);  // 32 / 8
  expect("sm_90", {96, 32, 0}, 21, Limit::Threads);  // 64 / 3
  expect("sm_90", {65, 32, 0}, 21, Limit::Threads);  // 65 threads are 3 warps
}

TEST(Occupancy, Blocks) {
  expect("sm_90", {32, 32, 0}, 32, Limit::Blocks);
  expect("sm_86", {64, 32, 0}, 16, Limit::Blocks); // threads would allow 24
  expect("sm_89", {32, 32, 0}, 24, Limit::Blocks);
}

TEST(Occupancy, Registers) {
  // 64 registers: 2048 per warp; a quarter of 65536 holds 8 warps, so 32 warps.
  expect("sm_90", {256, 64, 0}, 4, Limit::Registers);
  // 33 registers: 1056 per warp, rounded to 1280; 16384 / 1280 = 12 warps per
  // part, 48 in all; 48 / 8 = 6.
  expect("sm_90", {256, 33, 0}, 6, Limit::Registers);
  // 255 registers: 8160 -> 8192 per warp; 2 warps per part, 8 in all.
  expect("sm_90", {256, 255, 0}, 1, Limit::Registers);
  expect("sm_90", {1024, 64, 0}, 1, Limit::Registers); // 32 / 32
  expect(
      "sm_90", {1024, 65, 0}, 0,
      Limit::Registers); // 2304 per warp: 7 per part, 28 in all: not one block
  // 40 registers: 1280; 48 warps; 3 warps per block.
  expect("sm_90", {96, 40, 0}, 16, Limit::Registers);
}

TEST(Occupancy, SharedMemory) {
  // 48 KiB + 1 KiB reserved = 50176; 233472 / 50176 = 4.65.
  expect("sm_90", {128, 32, 48 * 1024}, 4, Limit::Shared);
  // 227 KiB + 1 KiB is all there is.
  expect("sm_90", {128, 32, 227 * 1024}, 1, Limit::Shared);
  // 20001 + 1024 = 21025 -> 21120 in units of 128; 167936 / 21120 = 7.95.
  expect("sm_80", {128, 32, 20001}, 7, Limit::Shared);
  // No reservation, units of 256: 20001 -> 20224; 98304 / 20224 = 4.86.
  expect("sm_70", {128, 32, 20001}, 4, Limit::Shared);
}

TEST(Occupancy, Fraction) {
  EXPECT_DOUBLE_EQ(occupancy(*findDevice("sm_90"), {256, 32, 0}).fraction, 1.0);
  EXPECT_DOUBLE_EQ(occupancy(*findDevice("sm_90"), {256, 64, 0}).fraction, 0.5);
}

TEST(Occupancy, Impossible) {
  for (BlockResources block : {BlockResources{0, 32, 0},
                               {1025, 32, 0},
                               {128, 256, 0},
                               {128, 32, 227 * 1024 + 1},
                               {128, -1, 0}})
    expect("sm_90", block, 0, Limit::Impossible);
}

} // namespace
