#include "runtime/device/host/host_device.h"

#include "runtime/cpu/cpu_features.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/device/host/library_steps.h"
#include "runtime/device/host/shared_object.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace lockstitch {
namespace {

using KernelFunction = void (*)(void *const *args, int64_t rowBegin,
                                int64_t rowEnd, void *scratch);

constexpr const char *kScratchMemory =
    "the scratch memory of kernels and library calls";

int64_t roundUpScratch(int64_t bytes) { return (bytes + 63) / 64 * 64; }

/// What device, modules and queues share.
struct HostState {
  DeviceOptions options;
  ThreadPool pool;
  std::shared_ptr<MemoryBudget> budget;
  explicit HostState(const DeviceOptions &options)
      : options(options), pool(options.threads),
        budget(MemoryBudget::create(options.memoryCap, options.allocator)) {}
};

class HostMemory final : public DeviceMemory {
public:
  explicit HostMemory(Memory memory) : memory(std::move(memory)) {
    address = this->memory.address();
    bytes = this->memory.bytes();
  }

private:
  Memory memory;
};

class HostModule final : public Module,
                         public std::enable_shared_from_this<HostModule> {
public:
  Result<std::unique_ptr<Queue>> createQueue(Stream stream) const override;

  std::shared_ptr<HostState> state;
  std::shared_ptr<const Program> program; // keeps `target` alive
  const TargetProgram *target = nullptr;
  std::unique_ptr<SharedObject> object; // null if there are no kernels
  std::vector<KernelFunction> functions;
  LibrarySteps library;
  int64_t kernelScratchBytes = 0; // per thread, where known
};

class HostQueue final : public Queue {
public:
  HostQueue(std::shared_ptr<const HostModule> module, Memory scratch)
      : module(std::move(module)), scratch(std::move(scratch)) {}

  Status launch(const Step &step, const KernelCode &kernel,
                std::span<std::byte *const> args,
                StepStatistics &statistics) override {
    int64_t perThread = std::max(module->kernelScratchBytes,
                                 roundUpScratch(kernel.scratchBytes.value()));
    // Only where that is an open size.
    if (Status status = reserve(perThread * module->state->pool.threads());
        !status.ok())
      return status;
    KernelFunction function = module->functions[step.kernel];
    auto *pointers = reinterpret_cast<void *const *>(args.data());
    module->state->pool.parallelFor(
        kernel.rows.value(), kernel.rowsPerTask,
        [&](int64_t begin, int64_t end, int slot) {
          function(pointers, begin, end, scratch.address() + slot * perThread);
        });
    return {};
  }

  Status callLibrary(const Step &step, std::span<std::byte *const> args,
                     StepStatistics &statistics) override {
    return module->library.run(step, args, scratch.address(),
                               module->state->pool);
  }

  Status copy(std::byte *to, const std::byte *from, int64_t bytes) override {
    if (bytes > 0)
      std::memcpy(to, from, bytes);
    return {};
  }
  Status upload(std::byte *to, const std::byte *from, int64_t bytes) override {
    return copy(to, from, bytes);
  }
  Status download(std::byte *to, const std::byte *from,
                  int64_t bytes) override {
    return copy(to, from, bytes);
  }
  Status zero(std::byte *to, int64_t bytes) override {
    if (bytes > 0)
      std::memset(to, 0, bytes);
    return {};
  }
  Status synchronise() override { return {}; }

private:
  Status reserve(int64_t bytes) {
    if (scratch.bytes() >= bytes)
      return {};
    scratch = {};
    Result<Memory> memory =
        module->state->budget->allocate(bytes, kScratchMemory);
    if (!memory.ok())
      return memory.error();
    scratch = std::move(*memory);
    return {};
  }

  std::shared_ptr<const HostModule> module;
  Memory scratch; // kernels: one piece per slot of the pool; a library call:
                  // all of it
};

Result<std::unique_ptr<Queue>> HostModule::createQueue(Stream stream) const {
  if (stream.native)
    return Error::refused(
        "stream", "the host has no streams: work runs on the calling thread",
        "pass no stream");
  int threads = state->pool.threads();
  int64_t bytes =
      std::max(kernelScratchBytes * threads, library.scratchBytes(threads));
  Result<Memory> scratch = state->budget->allocate(bytes, kScratchMemory);
  if (!scratch.ok())
    return scratch.error();
  return std::unique_ptr<Queue>(
      new HostQueue(shared_from_this(), std::move(*scratch)));
}

class HostDevice final : public Device {
public:
  explicit HostDevice(const DeviceOptions &options)
      : state(std::make_shared<HostState>(options)) {}

  DeviceKind kind() const override { return DeviceKind::Host; }

  std::string description() const override {
    int level = CpuFeatures::host().x86Level(), threads = state->pool.threads();
    return "host: " +
           (level ? "x86-64-v" + std::to_string(level) : std::string("CPU")) +
           ", " + std::to_string(threads) +
           (threads == 1 ? " thread" : " threads");
  }

  bool addressesHostMemory() const override { return true; }

  Status accepts(const TargetProgram &target) const override {
    if (target.target != "host" && parseX86Level(target.target) == 0)
      return Error::refused("target " + target.target,
                            "is not for the host device",
                            "run it with --device simulator or --device cuda, "
                            "or compile for host or x86-64-v2/3/4");
    return checkCpu(target.target, target.requiredCpu, target.requiredFeatures);
  }

  Result<std::unique_ptr<DeviceMemory>>
  allocate(int64_t bytes, std::string_view what) override {
    Result<Memory> memory = state->budget->allocate(bytes, what);
    if (!memory.ok())
      return memory.error();
    return std::unique_ptr<DeviceMemory>(new HostMemory(std::move(*memory)));
  }

  Result<std::unique_ptr<DeviceMemory>> adopt(std::span<const std::byte> bytes,
                                              std::string_view what) override {
    auto memory = std::make_unique<DeviceMemory>();
    memory->address = const_cast<std::byte *>(
        bytes.data()); // kernels only read it: validate() has seen to that
    memory->bytes = static_cast<int64_t>(bytes.size());
    return memory;
  }

  Result<std::shared_ptr<const Module>>
  load(std::shared_ptr<const Program> program,
       const TargetProgram &target) override {
    if (Status status = accepts(target); !status.ok())
      return status.error();
    auto module = std::make_shared<HostModule>();
    module->state = state;
    module->program = std::move(program);
    module->target = &target;
    if (!target.kernels.empty()) {
      Result<std::unique_ptr<SharedObject>> object =
          SharedObject::load(target.code.bytes, state->options.objectFolder);
      if (!object.ok())
        return object.error();
      module->object = std::move(*object);
    }
    for (const KernelCode &kernel : target.kernels) {
      auto function =
          reinterpret_cast<KernelFunction>(module->object->find(kernel.symbol));
      if (!function)
        return Error::internal("target " + target.target,
                               "the shared object has no kernel '" +
                                   kernel.symbol + "'");
      module->functions.push_back(function);
      if (kernel.scratchBytes.isConstant())
        module->kernelScratchBytes =
            std::max(module->kernelScratchBytes,
                     roundUpScratch(kernel.scratchBytes.value()));
    }
    if (Status status = module->library.prepare(target); !status.ok())
      return status.error();
    return std::shared_ptr<const Module>(module);
  }

private:
  std::shared_ptr<HostState> state;
};

} // namespace

std::unique_ptr<Device> createHostDevice(const DeviceOptions &options) {
  return std::make_unique<HostDevice>(options);
}

} // namespace lockstitch
