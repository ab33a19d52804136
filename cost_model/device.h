// What a device can hold and how fast it is, as data: one text file per device
// in cost_model/devices, built into the library.
//
//   # comment
//   key value unit        # where the figure comes from
//
// The cost model knows nothing of MLIR, of the compiler or of the runtime.
#ifndef LOCKSTITCH_COST_MODEL_DEVICE_H
#define LOCKSTITCH_COST_MODEL_DEVICE_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstitch::cost {

struct Device {
  std::string name;    // as a target: "sm_90", "host"
  std::string product; // whose figures these are: "H100 SXM5 80GB"
  int64_t multiprocessors = 0;
  double clockGHz = 0;        // at which a loaded device runs (boost)
  int64_t issuePerClock = 0;  // warp instructions per clock and multiprocessor
  int64_t registersPerSm = 0; // of 32 bits
  int64_t registersPerThread = 0;
  int64_t registerUnit =
      0; // registers are given out to a warp in multiples of this
  int64_t sharedPerSm = 0;    // bytes
  int64_t sharedPerBlock = 0; // bytes, after opting in
  int64_t sharedReserved = 0; // bytes per block that the system takes
  int64_t sharedUnit =
      0; // bytes: shared memory is given out in multiples of this
  int64_t threadsPerBlock = 0;
  int64_t threadsPerSm = 0;
  int64_t blocksPerSm = 0;
  int64_t warpSize = 0;
  double bandwidthGBs = 0;    // device memory, 1e9 bytes per second
  double smBytesPerClock = 0; // most that one multiprocessor draws from memory
  double latencyNanoseconds =
      0; // of a load from device memory on a loaded device
  int64_t l2Bytes = 0;
  double launchMicroseconds =
      0; // between the kernels of one stream, back to back

  int64_t warpsPerSm() const { return threadsPerSm / warpSize; }
  bool operator==(const Device &) const = default;
};

/// Reads a description. Nothing on success; else "FILE:LINE: reason". `file` is
/// for the message only. Every key must be there once; a key that is not known
/// is an error.
std::optional<std::string> parseDevice(std::string_view text,
                                       std::string_view file, Device &device);

/// One of the built-in devices; null for a name that has none. "x86-64-v3" and
/// the like are "host".
const Device *findDevice(std::string_view name);

/// Names of the built-in devices, in the order of the files.
std::vector<std::string> deviceNames();

/// The text of a built-in device's file, as it is in the repository; empty if
/// there is none.
std::string_view deviceText(std::string_view name);

} // namespace lockstitch::cost

#endif // LOCKSTITCH_COST_MODEL_DEVICE_H
