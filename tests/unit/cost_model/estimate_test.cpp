// Expected figures are worked out by hand; the comments show how. The device
// has round figures.
#include "cost_model/estimate.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace lockstitch::cost;

namespace {

/// 10 multiprocessors of 4 blocks of 256 threads, 1000 GB/s, 500 ns, 2 us.
Device roundDevice() {
  Device device = *findDevice("sm_90");
  device.multiprocessors = 10;
  device.threadsPerSm = 1024;
  device.clockGHz = 2;
  device.bandwidthGBs = 1000;
  device.smBytesPerClock = 100; // 200 GB/s for one multiprocessor
  device.latencyNanoseconds = 500;
  device.launchMicroseconds = 2;
  return device;
}

KernelShape streaming(int64_t blocks, int64_t bytes) {
  KernelShape kernel;
  kernel.blocks = blocks;
  kernel.block = {256, 32, 0};
  kernel.bytesRead = bytes / 2;
  kernel.bytesWritten = bytes / 2;
  kernel.vectorBytes = 16;
  kernel.independentLoads = 4;
  return kernel;
}

TEST(Estimate, SaturatedMemory) {
  // 40 blocks are one wave; in flight 40 x 256 x 64 = 655360 B, / 500 ns = 1310
  // GB/s: the peak of 1000 GB/s counts. 100 MB in 2.5 waves at 1000 GB/s: the
  // last half wave has 20 blocks x 16384 B / 500 ns = 655.36 GB/s for its 20
  // MB.
  Estimate result = estimate(roundDevice(), streaming(100, 100'000'000));
  EXPECT_DOUBLE_EQ(result.waves, 2.5);
  EXPECT_EQ(result.smsBusy, 10);
  EXPECT_EQ(result.bytesInFlightPerSm, 4 * 256 * 64);
  EXPECT_NEAR(result.memoryMicroseconds, 80 + 20'000'000 / 655.36 / 1e3, 1e-9);
  EXPECT_NEAR(result.microseconds, 2 + result.memoryMicroseconds, 1e-9);
  EXPECT_EQ(name(result.bound), "memory");
  EXPECT_EQ(result.occupancy.blocksPerSm, 4);
}

TEST(Estimate, TooFewBytesInFlight) {
  // Scalar loads, one at a time: 40 x 256 x 4 = 40960 B / 500 ns = 81.92 GB/s.
  KernelShape kernel = streaming(40, 8'192'000);
  kernel.vectorBytes = 4;
  kernel.independentLoads = 1;
  EXPECT_NEAR(estimate(roundDevice(), kernel).memoryMicroseconds, 100, 1e-9);
}

TEST(Estimate, FewMultiprocessorsBusy) {
  // 2 blocks on 2 multiprocessors draw at most 400 GB/s; in flight 2 x 16384 B
  // x 32 loads / 500 ns is far more.
  KernelShape kernel = streaming(2, 4'000'000);
  kernel.independentLoads = 128;
  Estimate result = estimate(roundDevice(), kernel);
  EXPECT_EQ(result.smsBusy, 2);
  EXPECT_DOUBLE_EQ(result.waves, 0.05);
  EXPECT_NEAR(result.memoryMicroseconds, 10, 1e-9);
}

TEST(Estimate, TinyKernelsCostALaunchAndARoundTrip) {
  Estimate result = estimate(roundDevice(), streaming(1, 64));
  EXPECT_NEAR(result.microseconds, 2.5, 1e-9);
  EXPECT_EQ(name(result.bound), "latency");
}

TEST(Estimate, ManyInstructions) {
  // 95 blocks: the fullest multiprocessor has 10; 10 x 8 warps x 1000 / (4 per
  // clock x 2 GHz) = 10 us.
  KernelShape kernel = streaming(95, 1000);
  kernel.instructionsPerThread = 1000;
  Estimate result = estimate(roundDevice(), kernel);
  EXPECT_NEAR(result.issueMicroseconds, 10, 1e-9);
  EXPECT_NEAR(result.microseconds, 12, 1e-9);
  EXPECT_EQ(name(result.bound), "issue");
}

TEST(Estimate, NothingToDoCostsALaunch) {
  EXPECT_DOUBLE_EQ(estimate(roundDevice(), streaming(0, 0)).microseconds, 2);
}

TEST(Estimate, WhatDoesNotFitTakesForever) {
  KernelShape kernel = streaming(1, 64);
  kernel.block.sharedBytes = 1 << 20;
  Estimate result = estimate(roundDevice(), kernel);
  EXPECT_TRUE(std::isinf(result.microseconds));
  EXPECT_EQ(name(result.bound), "impossible");
}

TEST(Estimate, MoreBytesInFlightAreNeverSlower) {
  const Device &device = *findDevice("sm_90");
  for (int64_t blocks : {1, 100, 132, 1000, 5000}) {
    double before = INFINITY;
    for (int64_t loads : {1, 2, 4, 8}) {
      KernelShape kernel = streaming(blocks, 64 << 20);
      kernel.independentLoads = loads;
      double now = estimate(device, kernel).microseconds;
      EXPECT_LE(now, before);
      before = now;
    }
  }
}

TEST(Estimate, ALargeStreamOnAnH100TakesItsBytes) {
  // 1 GB at 3350 GB/s: 298.5 us; the launch and the tail add less than 5 %.
  Estimate result =
      estimate(*findDevice("sm_90"), streaming(100'000, 1'000'000'000));
  EXPECT_NEAR(result.microseconds, 298.5, 0.05 * 298.5);
}

} // namespace
