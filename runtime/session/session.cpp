// One run:
//
//   check     Count, type and shape of every tensor.
//   bind      An address for each memory that steps refer to: the caller's own
//             buffers where the device can use them in place, else staging
//             memory of the context; the arena, the workspace, the constants.
//   upload    Inputs that are staged.
//   steps     In order, each on the context's queue.
//   download  Outputs that are staged, or that are an input, a constant or a
//             part of the arena under another name.
#include "runtime/session/session.h"

#include "runtime/program/validate.h"
#include "runtime/session/create_device.h"

#include <chrono>
#include <cstring>

namespace lockstitch {
namespace {

using Space = BufferRef::Space;
using Clock = std::chrono::steady_clock;

constexpr uintptr_t kAlignment = 64; // of what kernels are given

bool isAligned(const void *pointer) {
  return reinterpret_cast<uintptr_t>(pointer) % kAlignment == 0;
}

double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// First address of each memory, as steps refer to it.
struct Bindings {
  std::vector<std::byte *> inputs, outputs, constants;
  std::byte *arena = nullptr, *workspace = nullptr;

  std::byte *resolve(const BufferRef &ref) const {
    switch (ref.space) {
    case Space::Input:
      return inputs[ref.index] + ref.offset;
    case Space::Output:
      return outputs[ref.index] + ref.offset;
    case Space::Constant:
      return constants[ref.index] + ref.offset;
    case Space::Arena:
      return arena + ref.offset;
    case Space::Workspace:
      return workspace + ref.offset;
    }
    return nullptr;
  }
};

Status runSteps(const std::vector<Step> &steps, const Bindings &bindings,
                Queue &queue, RunStatistics &statistics) {
  statistics.steps.assign(steps.size(), {});
  std::vector<std::byte *> args;
  for (size_t i = 0; i < steps.size(); ++i) {
    const Step &step = steps[i];
    args.clear();
    for (const BufferRef &ref : step.args)
      args.push_back(bindings.resolve(ref));
    Clock::time_point begin = Clock::now();
    Status status;
    switch (step.kind) {
    case Step::Kind::Launch:
      status = queue.launch(step, args, statistics.steps[i]);
      break;
    case Step::Kind::Library:
      status = queue.callLibrary(step, args, statistics.steps[i]);
      break;
    case Step::Kind::Copy:
      status = queue.copy(args[1], args[0], step.args[0].bytes);
      break;
    }
    statistics.steps[i].microseconds = secondsSince(begin) * 1e6;
    if (!status.ok())
      return status;
  }
  return queue.synchronise();
}

std::string shapeText(ElementType type, const std::vector<int64_t> &shape) {
  std::string text = std::string(name(type)) + "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? "x" : "") + std::to_string(shape[i]);
  return text + "]";
}

std::string describeAll(const std::vector<TensorInfo> &infos) {
  std::string text;
  for (const TensorInfo &info : infos)
    text += (text.empty() ? "" : ", ") + describe(info);
  return text.empty() ? "none" : text;
}

/// Checks the caller's tensors against what the program was compiled for.
template <typename View>
Status checkTensors(std::span<const View> given,
                    const std::vector<TensorInfo> &wanted, const char *what) {
  auto refuse = [&](std::string where, std::string reason) {
    return Error::refused(std::move(where), std::move(reason),
                          std::string("the program's ") + what +
                              "s are: " + describeAll(wanted));
  };
  if (given.size() != wanted.size())
    return refuse(std::string(what) + "s",
                  "the program has " + std::to_string(wanted.size()) +
                      ", got " + std::to_string(given.size()));
  for (size_t i = 0; i < given.size(); ++i) {
    std::string where = std::string(what) + " '" + wanted[i].name + "'";
    if (given[i].type != wanted[i].type || given[i].shape != wanted[i].shape)
      return refuse(where, "the program was compiled for " +
                               describe(wanted[i]) + ", got " +
                               shapeText(given[i].type, given[i].shape));
    if (!given[i].data && wanted[i].bytes() > 0)
      return refuse(where, "its data is null");
  }
  return {};
}

class SessionImpl final : public Session,
                          public std::enable_shared_from_this<SessionImpl> {
public:
  Result<std::unique_ptr<ExecutionContext>> createContext() const override;
  const Program &program() const override { return *programPointer; }
  const TargetProgram &target() const override { return *targetPointer; }
  DeviceKind device() const override { return devicePointer->kind(); }
  std::string description() const override {
    return devicePointer->description();
  }
  const RunStatistics &prologueStatistics() const override { return prologue; }

  Status loadConstants() {
    const Program &program = *programPointer;
    for (size_t i = 0; i < program.constants.size(); ++i) {
      std::span<const std::byte> bytes = program.constants[i].bytes;
      std::string what = "constant '" + program.constantInfos[i].name + "'";
      if (Status status = program.constants[i].verify(); !status.ok())
        return status;
      // Weights inside a mapped model lie where Protobuf put them, at any
      // address; those of an artifact are aligned.
      bool inPlace = !bytes.empty() && isAligned(bytes.data());
      Result<std::unique_ptr<DeviceMemory>> memory =
          inPlace
              ? devicePointer->adopt(bytes, what)
              : devicePointer->allocate(program.constantInfos[i].bytes(), what);
      if (!memory.ok())
        return memory.error();
      if (!inPlace && !bytes.empty())
        copies.push_back(i);
      constantAddresses.push_back((*memory)->address);
      constants.push_back(std::move(*memory));
    }
    return {};
  }

  /// Uploads constants that could not stay in place and runs the prologue, with
  /// an arena that is given back afterwards.
  Status runPrologue() {
    const std::vector<Step> &steps = targetPointer->prologue;
    if (copies.empty() && steps.empty())
      return {};
    Result<std::unique_ptr<Queue>> queue = module->createQueue({});
    if (!queue.ok())
      return queue.error();
    for (size_t i : copies) {
      std::span<const std::byte> bytes = programPointer->constants[i].bytes;
      if (Status status = (*queue)->upload(constantAddresses[i], bytes.data(),
                                           bytes.size());
          !status.ok())
        return status;
    }
    std::unique_ptr<DeviceMemory> arena;
    Bindings bindings;
    bindings.constants = constantAddresses;
    if (!steps.empty()) {
      Result<std::unique_ptr<DeviceMemory>> memory = devicePointer->allocate(
          targetPointer->arenaBytes, "the prologue's arena");
      if (!memory.ok())
        return memory.error();
      arena = std::move(*memory);
      bindings.arena = arena->address;
    }
    Clock::time_point begin = Clock::now();
    if (Status status = runSteps(steps, bindings, **queue, prologue);
        !status.ok())
      return status;
    prologue.seconds = secondsSince(begin);
    return {};
  }

  std::shared_ptr<const Program> programPointer;
  const TargetProgram *targetPointer = nullptr;
  std::unique_ptr<Device> devicePointer;
  std::vector<std::unique_ptr<DeviceMemory>>
      constants; // before the module, whose code reads them
  std::vector<std::byte *> constantAddresses;
  std::vector<size_t> copies; // constants that were copied into device memory
  std::shared_ptr<const Module> module;
  RunStatistics prologue;
};

class ContextImpl final : public ExecutionContext {
public:
  explicit ContextImpl(std::shared_ptr<const SessionImpl> session)
      : session(std::move(session)) {}

  Status initialise() {
    const SessionImpl &s = *session;
    Result<std::unique_ptr<DeviceMemory>> arenaMemory =
        s.devicePointer->allocate(s.target().arenaBytes, "the arena");
    if (!arenaMemory.ok())
      return arenaMemory.error();
    arena = std::move(*arenaMemory);
    Result<std::unique_ptr<DeviceMemory>> workspaceMemory =
        s.devicePointer->allocate(s.target().workspaceBytes, "the workspace");
    if (!workspaceMemory.ok())
      return workspaceMemory.error();
    workspace = std::move(*workspaceMemory);
    if (Status status = useStream({}); !status.ok())
      return status;
    inputStaging.resize(s.program().inputs.size());
    outputStaging.resize(s.program().outputs.size());
    bindings.constants = s.constantAddresses;
    bindings.arena = arena->address;
    bindings.workspace = workspace->address;
    bindings.inputs.resize(inputStaging.size());
    bindings.outputs.resize(outputStaging.size());
    // A host queue without a stream works right here; on a GPU the
    // synchronisation makes the zeros visible to any stream.
    if (Status status = queue->zero(workspace->address, workspace->bytes);
        !status.ok())
      return status;
    return queue->synchronise();
  }

  Status run(std::span<const TensorView> inputs,
             std::span<const MutableTensorView> outputs,
             const RunOptions &options) override {
    Clock::time_point begin = Clock::now();
    const Program &program = session->program();
    if (Status status = checkTensors(inputs, program.inputs, "input");
        !status.ok())
      return status;
    if (Status status = checkTensors(outputs, program.outputs, "output");
        !status.ok())
      return status;
    if (Status status = checkOverlap(inputs, outputs); !status.ok())
      return status;
    if (Status status = useStream(options.stream); !status.ok())
      return status;
    queue->invalidate(arena->address, arena->bytes);
    if (Status status = bindInputs(inputs); !status.ok())
      return status;
    if (Status status = bindOutputs(outputs); !status.ok())
      return status;
    if (Status status =
            runSteps(session->target().steps, bindings, *queue, lastRun);
        !status.ok())
      return status;
    if (Status status = fetchOutputs(outputs); !status.ok())
      return status;
    lastRun.seconds = secondsSince(begin);
    return {};
  }

  const RunStatistics &statistics() const override { return lastRun; }

private:
  Status useStream(Stream wanted) {
    if (queue && wanted.native == stream.native)
      return {};
    Result<std::unique_ptr<Queue>> created =
        session->module->createQueue(wanted);
    if (!created.ok())
      return created.error();
    queue = std::move(*created);
    stream = wanted;
    return {};
  }

  Status checkOverlap(std::span<const TensorView> inputs,
                      std::span<const MutableTensorView> outputs) const {
    const Program &program = session->program();
    auto overlap = [](const void *a, int64_t aBytes, const void *b,
                      int64_t bBytes) {
      auto x = reinterpret_cast<uintptr_t>(a),
           y = reinterpret_cast<uintptr_t>(b);
      return aBytes && bBytes && x < y + bBytes && y < x + aBytes;
    };
    for (size_t i = 0; i < outputs.size(); ++i) {
      int64_t bytes = program.outputs[i].bytes();
      std::string where = "output '" + program.outputs[i].name + "'",
                  wayOut = "give every output memory of its own";
      for (size_t j = 0; j < inputs.size(); ++j)
        if (overlap(outputs[i].data, bytes, inputs[j].data,
                    program.inputs[j].bytes()))
          return Error::refused(where,
                                "its memory overlaps that of input '" +
                                    program.inputs[j].name + "'",
                                wayOut);
      for (size_t j = 0; j < i; ++j)
        if (overlap(outputs[i].data, bytes, outputs[j].data,
                    program.outputs[j].bytes()))
          return Error::refused(where,
                                "its memory overlaps that of output '" +
                                    program.outputs[j].name + "'",
                                wayOut);
    }
    return {};
  }

  /// Staging memory is made when it is first needed and kept.
  Result<std::byte *> stage(std::unique_ptr<DeviceMemory> &staging,
                            const TensorInfo &info, const char *what) {
    if (!staging) {
      Result<std::unique_ptr<DeviceMemory>> memory =
          session->devicePointer->allocate(
              info.bytes(), std::string(what) + " '" + info.name + "'");
      if (!memory.ok())
        return memory.error();
      staging = std::move(*memory);
    }
    return staging->address;
  }

  bool usableInPlace(const void *data) const {
    return session->devicePointer->addressesHostMemory() && data &&
           isAligned(data);
  }

  Status bindInputs(std::span<const TensorView> inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      auto *data = static_cast<std::byte *>(const_cast<void *>(
          inputs[i].data)); // only read: validate() has seen to that
      if (usableInPlace(data)) {
        bindings.inputs[i] = data;
        continue;
      }
      const TensorInfo &info = session->program().inputs[i];
      Result<std::byte *> staged =
          stage(inputStaging[i], info, "a copy of input");
      if (!staged.ok())
        return staged.error();
      bindings.inputs[i] = *staged;
      if (Status status = queue->upload(*staged, data, info.bytes());
          !status.ok())
        return status;
    }
    return {};
  }

  Status bindOutputs(std::span<const MutableTensorView> outputs) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (usableInPlace(outputs[i].data)) {
        bindings.outputs[i] = static_cast<std::byte *>(outputs[i].data);
        continue;
      }
      const TensorInfo &info = session->program().outputs[i];
      Result<std::byte *> staged =
          stage(outputStaging[i], info, "a copy of output");
      if (!staged.ok())
        return staged.error();
      bindings.outputs[i] = *staged;
      queue->invalidate(*staged, info.bytes());
    }
    return {};
  }

  Status fetchOutputs(std::span<const MutableTensorView> outputs) {
    const std::vector<BufferRef> &places = session->target().outputs;
    for (uint32_t i = 0; i < outputs.size(); ++i) {
      int64_t bytes = session->program().outputs[i].bytes();
      std::byte *from =
          places.empty() ? bindings.outputs[i] : bindings.resolve(places[i]);
      auto *to = static_cast<std::byte *>(outputs[i].data);
      if (bytes == 0 || from == to)
        continue;
      if (Status status = queue->download(to, from, bytes); !status.ok())
        return status;
    }
    return queue->synchronise();
  }

  std::shared_ptr<const SessionImpl> session; // first: outlives what follows
  std::unique_ptr<DeviceMemory> arena, workspace;
  std::vector<std::unique_ptr<DeviceMemory>> inputStaging, outputStaging;
  Stream stream;
  std::unique_ptr<Queue> queue;
  Bindings bindings;
  RunStatistics lastRun;
};

Result<std::unique_ptr<ExecutionContext>> SessionImpl::createContext() const {
  auto context = std::make_unique<ContextImpl>(shared_from_this());
  if (Status status = context->initialise(); !status.ok())
    return status.error();
  return std::unique_ptr<ExecutionContext>(std::move(context));
}

} // namespace

ExecutionContext::~ExecutionContext() = default;
Session::~Session() = default;

std::string describe(const TensorInfo &info) {
  return info.name + " " + shapeText(info.type, info.shape);
}

Result<std::shared_ptr<const Session>>
Session::create(std::shared_ptr<const Program> program,
                const SessionOptions &options) {
  if (!program)
    return Error::internal("session", "no program");
  if (Status status = validate(*program); !status.ok())
    return status.error();
  DeviceOptions deviceOptions;
  deviceOptions.threads = options.threads;
  deviceOptions.memoryCap = options.memoryCap;
  deviceOptions.allocator = options.allocator;
  deviceOptions.objectFolder = options.objectFolder;
  deviceOptions.seed = options.seed;
  deviceOptions.ordinal = options.ordinal;
  Result<std::unique_ptr<Device>> device =
      createDevice(options.device, deviceOptions);
  if (!device.ok())
    return device.error();
  auto session = std::make_shared<SessionImpl>();
  session->devicePointer = std::move(*device);
  session->programPointer = program;
  Result<const TargetProgram *> target =
      chooseTarget(*program, *session->devicePointer, options.target);
  if (!target.ok())
    return target.error();
  session->targetPointer = *target;
  for (const Blob *blob : {&(*target)->code, &(*target)->cubin})
    if (Status status = blob->verify(); !status.ok())
      return status.error();
  Result<std::shared_ptr<const Module>> module =
      session->devicePointer->load(program, **target);
  if (!module.ok())
    return module.error();
  session->module = *module;
  if (Status status = session->loadConstants(); !status.ok())
    return status.error();
  if (Status status = session->runPrologue(); !status.ok())
    return status.error();
  return std::shared_ptr<const Session>(session);
}

} // namespace lockstitch
