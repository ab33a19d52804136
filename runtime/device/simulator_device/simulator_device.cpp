#include "runtime/device/simulator_device/simulator_device.h"

#include "runtime/device/host/library_steps.h"
#include "runtime/device/simulator/simulator.h"

#include <algorithm>
#include <cstring>
#include <mutex>

namespace lockstitch {
namespace {

uint64_t simulated(const std::byte *address) {
  return reinterpret_cast<uintptr_t>(address);
}

/// The simulated memory, shared by device, modules and queues. It may be used
/// from several threads at once, its book-keeping under a mutex (launches
/// exclude each other inside the simulator).
struct SimulatorState {
  explicit SimulatorState(const DeviceOptions &options)
      : options(options), pool(options.threads),
        scratchBudget(
            MemoryBudget::create(options.memoryCap, options.allocator)) {}
  DeviceOptions options;
  ThreadPool pool;
  std::mutex mutex;
  simulator::Memory memory;
  int64_t allocated = 0;
  std::shared_ptr<MemoryBudget> scratchBudget; // of library calls
};

class SimulatedMemory final : public DeviceMemory {
public:
  SimulatedMemory(std::shared_ptr<SimulatorState> state, uint64_t base,
                  int64_t size, int64_t counted)
      : state(std::move(state)), counted(counted) {
    address = reinterpret_cast<std::byte *>(base);
    bytes = size;
  }
  ~SimulatedMemory() override {
    std::lock_guard lock(state->mutex);
    state->memory.free(simulated(address));
    state->allocated -= counted;
  }

private:
  std::shared_ptr<SimulatorState> state;
  int64_t counted;
};

class SimulatorModule final
    : public Module,
      public std::enable_shared_from_this<SimulatorModule> {
public:
  Result<std::unique_ptr<Queue>> createQueue(Stream stream) const override;

  std::shared_ptr<SimulatorState> state;
  std::shared_ptr<const Program> program; // keeps `target` alive
  const TargetProgram *target = nullptr;
  std::shared_ptr<const simulator::Module>
      module; // null if there are no kernels
  std::vector<std::string>
      kernels; // the module's names, beside target->kernels
  LibrarySteps library;
};

class SimulatorQueue final : public Queue {
public:
  SimulatorQueue(std::shared_ptr<const SimulatorModule> module, Memory scratch)
      : module(std::move(module)), state(*this->module->state),
        scratch(std::move(scratch)) {}

  Status launch(const Step &step, const KernelCode &kernel,
                std::span<std::byte *const> args,
                StepStatistics &statistics) override {
    std::vector<simulator::Argument> arguments;
    for (size_t i = 0; i < args.size(); ++i) {
      const KernelArgument &argument = kernel.arguments[i];
      simulator::TensorRange range;
      range.name = i < step.argNames.size() ? step.argNames[i]
                                            : "argument " + std::to_string(i);
      range.address = simulated(args[i]);
      range.bytes = argument.elements.value() * byteSize(argument.type);
      range.readOnly = !argument.isOutput;
      arguments.push_back(simulator::Argument::buffer(std::move(range)));
    }
    simulator::LaunchConfig config;
    for (int i = 0; i < 3; ++i) {
      config.grid[i] = static_cast<uint32_t>(kernel.grid[i].value());
      config.block[i] = static_cast<uint32_t>(kernel.block[i]);
    }
    config.sharedBytes = static_cast<uint32_t>(kernel.sharedBytes.value());
    config.seed = state.options.seed;
    config.threads = state.pool.threads();
    simulator::LaunchResult result =
        simulator::launch(*module->module, module->kernels[step.kernel],
                          state.memory, arguments, config);
    if (result.error)
      return Error::internal(
          "kernel " + kernel.symbol,
          "the simulator cannot launch it: " + result.error.message +
              (result.error.line
                   ? " (PTX line " + std::to_string(result.error.line) + ")"
                   : ""));
    statistics.counters = counters(result.counters);
    for (const simulator::Finding &finding : result.findings)
      statistics.findings.push_back(translate(finding, step));
    return {};
  }

  Status callLibrary(const Step &step, std::span<std::byte *const> args,
                     StepStatistics &statistics) override {
    std::vector<std::byte *> host;
    {
      std::lock_guard lock(state.mutex);
      for (size_t i = 0; i < args.size(); ++i) {
        int64_t bytes = operandBytes(step.library, i);
        host.push_back(hostPointer(args[i], bytes));
        if (!host.back() && bytes)
          return outside("library call " + step.name);
      }
    }
    if (Status status =
            module->library.run(step, host, scratch.address(), state.pool);
        !status.ok())
      return status;
    std::lock_guard lock(state.mutex);
    state.memory.markInitialised(simulated(args.back()),
                                 operandBytes(step.library, args.size() - 1));
    return {};
  }

  Status copy(std::byte *to, const std::byte *from, int64_t bytes) override {
    if (bytes == 0)
      return {};
    std::lock_guard lock(state.mutex);
    const std::byte *source = hostPointer(from, bytes);
    if (!source || !state.memory.write(simulated(to), source, bytes))
      return outside("copy");
    return {};
  }

  Status upload(std::byte *to, const std::byte *from, int64_t bytes) override {
    if (bytes == 0)
      return {};
    std::lock_guard lock(state.mutex);
    return state.memory.write(simulated(to), from, bytes) ? Status()
                                                          : outside("upload");
  }

  Status download(std::byte *to, const std::byte *from,
                  int64_t bytes) override {
    if (bytes == 0)
      return {};
    std::lock_guard lock(state.mutex);
    return state.memory.read(simulated(from), to, bytes) ? Status()
                                                         : outside("download");
  }

  Status zero(std::byte *to, int64_t bytes) override {
    std::vector<std::byte> zeros(bytes);
    return upload(to, zeros.data(), bytes);
  }

  void invalidate(std::byte *memory, int64_t bytes) override {
    std::lock_guard lock(state.mutex);
    if (bytes > 0)
      state.memory.markUninitialised(simulated(memory), bytes);
  }

  Status synchronise() override { return {}; }

private:
  std::byte *hostPointer(const std::byte *address, int64_t bytes) {
    return static_cast<std::byte *>(
        state.memory.hostPointer(simulated(address), bytes));
  }

  static Status outside(const std::string &where) {
    return Error::device(
        where,
        "the range does not lie within one allocation of the simulated device");
  }

  static LaunchCounters counters(const simulator::Counters &from) {
    LaunchCounters to;
    to.threadInstructions = from.threadInstructions;
    to.warpInstructions = from.warpInstructions;
    to.sectorsRead = from.sectorsRead;
    to.sectorsWritten = from.sectorsWritten;
    to.sharedConflicts = from.sharedConflicts;
    to.barriers = from.barriers;
    to.shuffles = from.shuffles;
    to.atomics = from.atomics;
    return to;
  }

  /// `.loc` lines are indices into the step's lineNodes, from 1.
  static Finding translate(const simulator::Finding &from, const Step &step) {
    Finding to;
    to.kind = simulator::name(from.kind);
    to.message = from.message;
    to.ptxLine = from.ptxLine;
    to.sourceFile = from.sourceFile;
    to.sourceLine = from.sourceLine;
    for (int i = 0; i < 3; ++i) {
      to.block[i] = from.block[i];
      to.thread[i] = from.thread[i];
    }
    to.address = from.address;
    if (from.argument >= 0) {
      to.argument = from.argument;
      to.offset = from.offset;
    }
    to.tensor = from.tensor;
    if (from.sourceLine > 0 && from.sourceLine <= step.lineNodes.size() &&
        !step.lineNodes[from.sourceLine - 1].empty())
      to.nodes = {step.lineNodes[from.sourceLine - 1]};
    else
      to.nodes = step.nodes;
    return to;
  }

  std::shared_ptr<const SimulatorModule> module;
  SimulatorState &state;
  Memory scratch;
};

Result<std::unique_ptr<Queue>>
SimulatorModule::createQueue(Stream stream) const {
  if (stream.native)
    return Error::refused(
        "stream",
        "the simulator has no streams: work runs on the calling thread",
        "pass no stream");
  Result<Memory> scratch = state->scratchBudget->allocate(
      library.scratchBytes(state->pool.threads()),
      "the scratch memory of library calls");
  if (!scratch.ok())
    return scratch.error();
  return std::unique_ptr<Queue>(
      new SimulatorQueue(shared_from_this(), std::move(*scratch)));
}

class SimulatorDevice final : public Device {
public:
  explicit SimulatorDevice(const DeviceOptions &options)
      : state(std::make_shared<SimulatorState>(options)) {}

  DeviceKind kind() const override { return DeviceKind::Simulator; }

  std::string description() const override {
    int threads = state->pool.threads();
    return "simulator: PTX, " + std::to_string(threads) +
           (threads == 1 ? " thread" : " threads");
  }

  bool addressesHostMemory() const override { return false; }

  Status accepts(const TargetProgram &target) const override {
    if (!target.target.starts_with("sm_"))
      return Error::refused("target " + target.target,
                            "has no PTX for the simulator",
                            "run it with --device host, or compile for sm_90 "
                            "or another sm_* target");
    return {};
  }

  Result<std::unique_ptr<DeviceMemory>>
  allocate(int64_t bytes, std::string_view what) override {
    std::lock_guard lock(state->mutex);
    std::string where = "memory for " + std::string(what);
    int64_t cap = state->options.memoryCap;
    if (cap > 0 && bytes > cap - state->allocated)
      return Error::device(where,
                           std::to_string(bytes) +
                               " bytes are needed, but of the memory cap of " +
                               std::to_string(cap) + " bytes " +
                               std::to_string(state->allocated) + " are in use",
                           "raise the memory cap, or use fewer execution "
                           "contexts or a smaller batch");
    uint64_t address = state->memory.allocate(bytes, std::string(what));
    if (!address)
      return Error::device(where,
                           "out of memory: " + std::to_string(bytes) +
                               " bytes could not be allocated",
                           "free memory, or use a smaller batch");
    state->allocated += bytes;
    return std::unique_ptr<DeviceMemory>(
        new SimulatedMemory(state, address, bytes, bytes));
  }

  Result<std::unique_ptr<DeviceMemory>> adopt(std::span<const std::byte> bytes,
                                              std::string_view what) override {
    std::lock_guard lock(state->mutex);
    uint64_t address =
        state->memory.adopt(const_cast<std::byte *>(bytes.data()), bytes.size(),
                            std::string(what), true);
    if (!address)
      return Error::device(std::string(what), "out of simulated address space");
    return std::unique_ptr<DeviceMemory>(
        new SimulatedMemory(state, address, bytes.size(), 0));
  }

  Result<std::shared_ptr<const Module>>
  load(std::shared_ptr<const Program> program,
       const TargetProgram &target) override {
    if (Status status = accepts(target); !status.ok())
      return status.error();
    auto module = std::make_shared<SimulatorModule>();
    module->state = state;
    module->program = std::move(program);
    module->target = &target;
    if (!target.kernels.empty()) {
      std::span<const std::byte> code = target.code.bytes;
      std::string text(reinterpret_cast<const char *>(code.data()),
                       code.size());
      while (!text.empty() &&
             text.back() == '\0') // PTX for the driver ends with a null
        text.pop_back();
      simulator::Diagnostic why;
      module->module = simulator::Module::parse(std::move(text), why);
      if (!module->module)
        return notSupported(target, "the simulator does not take its PTX", why);
      for (const KernelCode &kernel : target.kernels) {
        module->kernels.push_back(
            module->module->findKernel(kernel.symbol, why));
        if (module->kernels.back().empty() ||
            !module->module->check(module->kernels.back(), why))
          return notSupported(target,
                              "the simulator does not take kernel '" +
                                  kernel.symbol + "'",
                              why);
      }
    }
    if (Status status = module->library.prepare(target); !status.ok())
      return status.error();
    return std::shared_ptr<const Module>(module);
  }

private:
  static Error notSupported(const TargetProgram &target,
                            const std::string &what,
                            const simulator::Diagnostic &why) {
    std::string line = why.line ? ", line " + std::to_string(why.line) : "";
    return Error::internal("target " + target.target + ", PTX" + line,
                           what + ": " + why.message);
  }

  std::shared_ptr<SimulatorState> state;
};

} // namespace

std::unique_ptr<Device> createSimulatorDevice(const DeviceOptions &options) {
  return std::make_unique<SimulatorDevice>(options);
}

} // namespace lockstitch
