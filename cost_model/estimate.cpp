// Wave by wave. In a wave with B blocks on S multiprocessors,
//
//   bytes in flight = B x threads x loads x width
//   bandwidth       = min(peak,
//                         bytes in flight / latency,   -- Little's law
//                         S x clock x what one multiprocessor draws)
//   time            = the wave's share of the bytes / bandwidth
//
// Full waves are all alike; the last, partial one has fewer bytes but also
// fewer loads in flight. Issue: the multiprocessor with most blocks issues all
// their instructions. Latency: nothing is faster than one round trip to memory.
#include "cost_model/estimate.h"

#include <algorithm>
#include <limits>

namespace lockstitch::cost {
namespace {

int64_t ceilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// GB/s that `blocks` blocks, resident at once, get.
double bandwidth(const Device &device, const KernelShape &kernel,
                 int64_t blocks) {
  double busy = static_cast<double>(std::min(blocks, device.multiprocessors));
  double inFlight =
      static_cast<double>(blocks) * static_cast<double>(kernel.block.threads) *
      static_cast<double>(kernel.independentLoads * kernel.vectorBytes);
  return std::min({device.bandwidthGBs, inFlight / device.latencyNanoseconds,
                   busy * device.clockGHz * device.smBytesPerClock});
}

} // namespace

std::string_view name(Estimate::Bound bound) {
  switch (bound) {
  case Estimate::Bound::Memory:
    return "memory";
  case Estimate::Bound::Latency:
    return "latency";
  case Estimate::Bound::Issue:
    return "issue";
  case Estimate::Bound::Impossible:
    break;
  }
  return "impossible";
}

Estimate estimate(const Device &device, const KernelShape &kernel) {
  Estimate result;
  result.occupancy = occupancy(device, kernel.block);
  if (result.occupancy.blocksPerSm == 0) {
    result.microseconds = std::numeric_limits<double>::infinity();
    return result;
  }
  result.bound = Estimate::Bound::Latency;
  result.microseconds = device.launchMicroseconds;
  if (kernel.blocks <= 0)
    return result;

  int64_t wave = result.occupancy.blocksPerSm * device.multiprocessors;
  int64_t fullWaves = kernel.blocks / wave, rest = kernel.blocks % wave;
  result.waves = static_cast<double>(kernel.blocks) / static_cast<double>(wave);
  int64_t first = std::min(kernel.blocks, wave);
  result.smsBusy = std::min(kernel.blocks, device.multiprocessors);
  result.bytesInFlightPerSm = ceilDivide(first, device.multiprocessors) *
                              kernel.block.threads * kernel.independentLoads *
                              kernel.vectorBytes;

  double bytesPerBlock =
      static_cast<double>(kernel.bytesRead + kernel.bytesWritten) /
      static_cast<double>(kernel.blocks);
  auto waveMicroseconds = [&](int64_t blocks) {
    if (blocks == 0 || bytesPerBlock == 0)
      return 0.0;
    return bytesPerBlock * static_cast<double>(blocks) /
           bandwidth(device, kernel, blocks) / 1e3; // bytes per GB/s are ns
  };
  result.memoryMicroseconds =
      static_cast<double>(fullWaves) * waveMicroseconds(wave) +
      waveMicroseconds(rest);
  result.latencyMicroseconds = kernel.bytesRead + kernel.bytesWritten > 0
                                   ? device.latencyNanoseconds / 1e3
                                   : 0;
  double warps =
      static_cast<double>(ceilDivide(kernel.block.threads, device.warpSize));
  double blocksOnFullest =
      static_cast<double>(ceilDivide(kernel.blocks, device.multiprocessors));
  result.issueMicroseconds =
      blocksOnFullest * warps * kernel.instructionsPerThread /
      (static_cast<double>(device.issuePerClock) * device.clockGHz * 1e3);

  double most = std::max({result.memoryMicroseconds, result.latencyMicroseconds,
                          result.issueMicroseconds});
  if (most == result.issueMicroseconds && most > result.latencyMicroseconds)
    result.bound = Estimate::Bound::Issue;
  else if (most == result.memoryMicroseconds &&
           most > result.latencyMicroseconds)
    result.bound = Estimate::Bound::Memory;
  result.microseconds += most;
  return result;
}

} // namespace lockstitch::cost
