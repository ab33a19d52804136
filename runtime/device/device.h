// What runs steps: the interface that host, simulator and cuda implement.
//
//   Device        one per session: memory under a cap, threads
//     Module      the code of one TargetProgram, loaded; immutable, shared by
//                 all execution contexts
//       Queue     executes steps in order; one per execution context, not to
//                 be used from two threads at once
//
// Nothing here knows of LLVM, ONNX or the compiler. Everything that can fail
// returns a Status; a device error (out of memory, fault) is
// ErrorKind::DeviceFailed, a device or code that does not fit is
// ErrorKind::Refused with a way out.
#ifndef LOCKSTITCH_RUNTIME_DEVICE_DEVICE_H
#define LOCKSTITCH_RUNTIME_DEVICE_DEVICE_H

#include "runtime/device/statistics.h"
#include "runtime/memory/allocator.h"
#include "runtime/program/program.h"
#include "runtime/program/status.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace lockstitch {

/// Auto: a CUDA GPU if there is one, else the host.
enum class DeviceKind : uint8_t { Auto, Host, Simulator, Cuda };

std::string_view name(DeviceKind kind);
std::optional<DeviceKind> parseDeviceKind(std::string_view name);

struct DeviceOptions {
  /// Host threads at work at once, the caller's included; 0: as many as this
  /// process may run on.
  int threads = 0;
  /// Bytes that the device may allocate at once (constants that stay in the
  /// mapped file and the caller's buffers do not count); 0: no cap.
  int64_t memoryCap = 0;
  /// Where host memory comes from; null: the C library.
  std::shared_ptr<Allocator> allocator = {};
  /// Host: if not empty, loaded objects are kept in this folder under the name
  /// of their hash, where `perf report` finds their symbols after the process
  /// has ended. Else they live in anonymous memory files (gdb finds those of a
  /// live process).
  std::string objectFolder = {};
  /// Simulator: permutes the order of warps and blocks.
  uint64_t seed = 0;
  /// cuda: which GPU.
  int ordinal = 0;
};

/// The stream that work is put on: cuda's CUstream. The host's and the
/// simulator's stream is the calling thread (null).
struct Stream {
  void *native = nullptr;
};

/// Memory of a device. `address` is meaningful to its device's queue; a host
/// pointer where addressesHostMemory().
class DeviceMemory {
public:
  virtual ~DeviceMemory();
  std::byte *address = nullptr;
  int64_t bytes = 0;
};

class Queue {
public:
  virtual ~Queue();
  /// Executes kernel `step.kernel` on `args`, one address per argument.
  /// `step` is one of the loaded target's; `kernel` is its kernel with numbers
  /// for all sizes. Asynchronous where the device is.
  virtual Status launch(const Step &step, const KernelCode &kernel,
                        std::span<std::byte *const> args,
                        StepStatistics &statistics) = 0;
  /// Executes `step.library`, `step` being one of the loaded target's;
  /// operands, then the result.
  virtual Status callLibrary(const Step &step, std::span<std::byte *const> args,
                             StepStatistics &statistics) = 0;
  /// Device to device; the ranges do not overlap.
  virtual Status copy(std::byte *to, const std::byte *from, int64_t bytes) = 0;
  virtual Status upload(std::byte *to, const std::byte *from,
                        int64_t bytes) = 0;
  virtual Status download(std::byte *to, const std::byte *from,
                          int64_t bytes) = 0;
  virtual Status zero(std::byte *to, int64_t bytes) = 0;
  /// Called before a run: the arena's content is void from here on (the
  /// simulator then catches reads of it).
  virtual void invalidate(std::byte *memory, int64_t bytes) {}
  /// Waits for all of the above; errors of asynchronous work appear here at the
  /// latest.
  virtual Status synchronise() = 0;
};

class Module {
public:
  virtual ~Module();
  virtual Result<std::unique_ptr<Queue>> createQueue(Stream stream) const = 0;
};

class Device {
public:
  virtual ~Device();
  virtual DeviceKind kind() const = 0;
  /// One line for logs: "host: x86-64-v4, 2 threads".
  virtual std::string description() const = 0;
  /// Whether kernels can be given any host pointer (64-byte aligned): then
  /// inputs and outputs are used in place.
  virtual bool addressesHostMemory() const = 0;
  /// Whether load() could succeed here; else why not, and the way out.
  virtual Status accepts(const TargetProgram &target) const = 0;
  /// `what` names the use, for messages and findings.
  virtual Result<std::unique_ptr<DeviceMemory>>
  allocate(int64_t bytes, std::string_view what) = 0;
  /// Makes host memory (64-byte aligned) visible to kernels for reading,
  /// without a copy where the device can; the caller keeps it alive and
  /// unchanged.
  virtual Result<std::unique_ptr<DeviceMemory>>
  adopt(std::span<const std::byte> bytes, std::string_view what) = 0;
  /// `target` is one of `program`'s; both are kept alive by the module.
  virtual Result<std::shared_ptr<const Module>>
  load(std::shared_ptr<const Program> program, const TargetProgram &target) = 0;
};

} // namespace lockstitch

#endif // LOCKSTITCH_RUNTIME_DEVICE_DEVICE_H
