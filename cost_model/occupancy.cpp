// The rules are those of cuda_occupancy.h in the CUDA toolkit:
//
//   threads    Whole warps.
//   registers  Per warp, rounded up to the unit. A multiprocessor has four
//              parts with a quarter of the registers each, and a warp takes
//              them from one part.
//   shared     The block's bytes and what the system reserves, rounded up to
//              the unit.
#include "cost_model/occupancy.h"

#include <algorithm>

namespace lockstitch::cost {
namespace {

constexpr int64_t kParts = 4; // of a multiprocessor

int64_t ceilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t roundUp(int64_t value, int64_t unit) {
  return ceilDivide(value, unit) * unit;
}

} // namespace

std::string_view name(Occupancy::Limit limit) {
  switch (limit) {
  case Occupancy::Limit::Threads:
    return "threads";
  case Occupancy::Limit::Blocks:
    return "blocks";
  case Occupancy::Limit::Registers:
    return "registers";
  case Occupancy::Limit::Shared:
    return "shared memory";
  case Occupancy::Limit::Impossible:
    break;
  }
  return "impossible";
}

Occupancy occupancy(const Device &device, const BlockResources &block) {
  Occupancy result;
  if (block.threads < 1 || block.threads > device.threadsPerBlock ||
      block.registersPerThread < 0 ||
      block.registersPerThread > device.registersPerThread ||
      block.sharedBytes < 0 || block.sharedBytes > device.sharedPerBlock)
    return result;
  int64_t warps = ceilDivide(block.threads, device.warpSize);

  int64_t byThreads = device.warpsPerSm() / warps;
  int64_t registersPerWarp =
      roundUp(std::max<int64_t>(block.registersPerThread, 1) * device.warpSize,
              device.registerUnit);
  int64_t parts = device.warpSize > 1 ? kParts : 1;
  int64_t byRegisters =
      device.registersPerSm / parts / registersPerWarp * parts / warps;
  int64_t shared =
      roundUp(block.sharedBytes + device.sharedReserved, device.sharedUnit);
  int64_t byShared = shared ? device.sharedPerSm / shared : device.blocksPerSm;

  struct Candidate {
    Occupancy::Limit limit;
    int64_t blocks;
  };
  const Candidate candidates[] = {
      {Occupancy::Limit::Threads, byThreads},
      {Occupancy::Limit::Blocks, device.blocksPerSm},
      {Occupancy::Limit::Registers, byRegisters},
      {Occupancy::Limit::Shared, byShared}};
  Candidate least =
      *std::min_element(std::begin(candidates), std::end(candidates),
                        [](const Candidate &a, const Candidate &b) {
                          return a.blocks < b.blocks;
                        });
  result.blocksPerSm = least.blocks;
  result.limit = least.limit;
  result.warpsPerSm = least.blocks * warps;
  result.fraction = static_cast<double>(result.warpsPerSm) /
                    static_cast<double>(device.warpsPerSm());
  return result;
}

} // namespace lockstitch::cost
