// One run:
//
//   sizes     Of a program with open sizes: the shapes of the inputs give its
//             symbols values, and these a program of constant sizes, which is
//             kept for the next run (see Sizes).
//   check     Count, type and shape of every tensor.
//   bind      An address for each memory that steps refer to: the caller's own
//             buffers where the device can use them in place, else staging
//             memory of the context; the arena, the workspace, the constants.
//   upload    Inputs that are staged.
//   steps     In order, each on the context's queue.
//   download  Outputs that are staged, or that are an input, a constant or a
//             part of the arena under another name.
#include "runtime/session/session.h"

#include "runtime/program/bind.h"
#include "runtime/program/validate.h"
#include "runtime/session/clock.h"
#include "runtime/session/create_device.h"
#include "runtime/session/run_steps.h"

#include <cstring>
#include <map>
#include <mutex>

namespace lockstitch {
namespace {

using Space = BufferRef::Space;

constexpr uintptr_t kAlignment = 64; // of what kernels are given

bool isAligned(const void *pointer) {
  return reinterpret_cast<uintptr_t>(pointer) % kAlignment == 0;
}

/// A program whose sizes are numbers: the loaded one itself, or what became of
/// it for certain shapes of the inputs.
struct Sizes {
  std::shared_ptr<const Program> program;
  const TargetProgram *target = nullptr;
};

std::string shapeText(ElementType type, const std::vector<int64_t> &shape) {
  TensorInfo info;
  info.type = type;
  info.shape.assign(shape.begin(), shape.end());
  return describe(info).substr(1);
}

/// Checks the caller's tensors against what the program was compiled for.
template <typename View>
Status checkTensors(std::span<const View> given,
                    const std::vector<TensorInfo> &wanted, const char *what) {
  auto refuse = [&](std::string where, std::string reason) {
    return Error::refused(std::move(where), std::move(reason),
                          std::string("the program's ") + what +
                              "s are: " + lockstitch::describeAll(wanted, {}));
  };
  if (given.size() != wanted.size())
    return refuse(std::string(what) + "s",
                  "the program has " + std::to_string(wanted.size()) +
                      ", got " + std::to_string(given.size()));
  for (size_t i = 0; i < given.size(); ++i) {
    std::string where = std::string(what) + " '" + wanted[i].name + "'";
    if (given[i].type != wanted[i].type ||
        given[i].shape != wanted[i].extents())
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
      Result<std::unique_ptr<DeviceMemory>> memory =
          devicePointer->allocate(prologueArenaBytes(), "the prologue's arena");
      if (!memory.ok())
        return memory.error();
      arena = std::move(*memory);
      bindings.arena = arena->address;
    }
    Clock::time_point begin = Clock::now();
    if (Status status = runSteps(steps, steps, targetPointer->kernels, bindings,
                                 **queue, prologue);
        !status.ok())
      return status;
    if (Status status = (*queue)->synchronise(); !status.ok())
      return status;
    prologue.seconds = secondsSince(begin);
    return {};
  }

  /// The arena's size may be open, the prologue's own part of it never is.
  int64_t prologueArenaBytes() const {
    if (targetPointer->arenaBytes.isConstant())
      return targetPointer->arenaBytes.value();
    int64_t bytes = 0;
    for (const Step &step : targetPointer->prologue)
      for (const BufferRef &ref : step.args)
        if (ref.space == Space::Arena)
          bytes = std::max(bytes, ref.offset.value() + ref.bytes.value());
    return bytes;
  }

  /// The sizes for inputs of these shapes. Thread-safe.
  Result<Sizes> sizesFor(std::span<const TensorView> inputs) const {
    if (!isOpen)
      return Sizes{programPointer, targetPointer};
    std::vector<std::vector<int64_t>> shapes;
    for (const TensorView &input : inputs)
      shapes.push_back(input.shape);
    Result<SymbolValues> values = bindSymbols(*programPointer, shapes);
    if (!values.ok())
      return values.error();
    std::lock_guard lock(mutex);
    if (auto known = instances.find(*values); known != instances.end())
      return known->second;
    Result<Program> made = instantiate(*programPointer, *values, targetPointer);
    if (!made.ok())
      return made.error();
    if (Status status = validate(*made); !status.ok())
      return status.error();
    auto program = std::make_shared<const Program>(std::move(*made));
    Sizes sizes{program, &program->targets[0]};
    if (instances.size() >= kMostInstances)
      instances.clear();
    instances.emplace(std::move(*values), sizes);
    return sizes;
  }

  /// Of a program with open sizes: what must be known before it runs.
  Status checkOpen() const {
    std::string problem;
    auto visit = [&](const Dim &size) {
      if (!size.isConstant() && problem.empty())
        problem = toString(size, &programPointer->symbols);
    };
    for (const Step &step : targetPointer->prologue) {
      for (const BufferRef &ref : step.args) {
        visit(ref.offset);
        visit(ref.bytes);
      }
      if (step.kind == Step::Kind::Launch) {
        TargetProgram only;
        only.kernels = {targetPointer->kernels[step.kernel]};
        visitTargetSizes(only, visit);
      }
    }
    if (problem.empty())
      return {};
    return Error::refused("target " + targetPointer->target,
                          "its prologue has the open size " + problem +
                              ", but runs before there are inputs",
                          "compile the model again with --dim for the symbols "
                          "of that size");
  }

  std::shared_ptr<const Program> programPointer;
  const TargetProgram *targetPointer = nullptr;
  bool isOpen = false;
  static constexpr size_t kMostInstances = 64;
  mutable std::mutex mutex; // of instances
  mutable std::map<SymbolValues, Sizes> instances;
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
  /// Memory is given back when nothing uses it any more.
  ~ContextImpl() override { (void)ContextImpl::wait(); }

  Status initialise() {
    const SessionImpl &s = *session;
    inputStaging.resize(s.program().inputs.size());
    outputStaging.resize(s.program().outputs.size());
    bindings.constants = s.constantAddresses;
    bindings.inputs.resize(inputStaging.size());
    bindings.outputs.resize(outputStaging.size());
    // Of open sizes the first run says how much memory is needed.
    return s.isOpen ? useStream({})
                    : useSizes({s.programPointer, s.targetPointer});
  }

  Status run(std::span<const TensorView> inputs,
             std::span<const MutableTensorView> outputs,
             const RunOptions &options) override {
    Clock::time_point begin = Clock::now();
    if (session->isOpen) {
      Result<Sizes> wanted = session->sizesFor(inputs);
      if (!wanted.ok())
        return wanted.error();
      if (Status status = useSizes(*wanted); !status.ok())
        return status;
    }
    const Program &program = *sizes.program;
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
            runSteps(session->target().steps, sizes.target->steps,
                     sizes.target->kernels, bindings, *queue, lastRun);
        !status.ok())
      return status;
    if (Status status = fetchOutputs(outputs); !status.ok())
      return status;
    Status done = options.asynchronous ? Status() : queue->synchronise();
    lastRun.seconds = secondsSince(begin);
    return done;
  }

  Status wait() override { return queue ? queue->synchronise() : Status(); }

  const RunStatistics &statistics() const override { return lastRun; }

private:
  /// Memory grows when it must; a workspace of another size starts at zero
  /// again.
  Status useSizes(const Sizes &wanted) {
    if (sizes.target == wanted.target)
      return {};
    // What is under way uses the memories that may be replaced here.
    if (Status status = wait(); !status.ok())
      return status;
    int64_t arenaBytes = wanted.target->arenaBytes.value(),
            workspaceBytes = wanted.target->workspaceBytes.value();
    if (!arena || arena->bytes < arenaBytes) {
      arena.reset();
      sizes = {};
      Result<std::unique_ptr<DeviceMemory>> memory =
          session->devicePointer->allocate(arenaBytes, "the arena");
      if (!memory.ok())
        return memory.error();
      arena = std::move(*memory);
    }
    if (!workspace || workspace->bytes != workspaceBytes) {
      workspace.reset();
      sizes = {};
      Result<std::unique_ptr<DeviceMemory>> memory =
          session->devicePointer->allocate(workspaceBytes, "the workspace");
      if (!memory.ok())
        return memory.error();
      workspace = std::move(*memory);
      if (Status status = useStream(stream); !status.ok())
        return status;
      // A host queue without a stream works right here; on a GPU the
      // synchronisation makes the zeros visible to any stream.
      if (Status status = queue->zero(workspace->address, workspace->bytes);
          !status.ok())
        return status;
      if (Status status = queue->synchronise(); !status.ok())
        return status;
    }
    bindings.arena = arena->address;
    bindings.workspace = workspace->address;
    sizes = wanted;
    return {};
  }

  Status useStream(Stream wanted) {
    if (queue && wanted.native == stream.native)
      return {};
    // The memories are the same on every stream: what is under way ends first.
    if (Status status = wait(); !status.ok())
      return status;
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
    const Program &program = *sizes.program;
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
    if (!staging || staging->bytes < info.bytes()) {
      staging.reset();
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
      const TensorInfo &info = sizes.program->inputs[i];
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
      const TensorInfo &info = sizes.program->outputs[i];
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
    const std::vector<BufferRef> &places = sizes.target->outputs;
    for (uint32_t i = 0; i < outputs.size(); ++i) {
      int64_t bytes = sizes.program->outputs[i].bytes();
      std::byte *from =
          places.empty() ? bindings.outputs[i] : bindings.resolve(places[i]);
      auto *to = static_cast<std::byte *>(outputs[i].data);
      if (bytes == 0 || from == to)
        continue;
      if (Status status = queue->download(to, from, bytes); !status.ok())
        return status;
    }
    return {};
  }

  std::shared_ptr<const SessionImpl> session; // first: outlives what follows
  Sizes sizes; // of the last run; without a target before the first
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

std::string describe(const TensorInfo &info) { return describe(info, {}); }

Result<std::shared_ptr<const Session>>
Session::create(std::shared_ptr<const Program> program,
                const SessionOptions &options) {
  if (!program)
    return Error::internal("session", "no program");
  bool isOpen = hasOpenSizes(*program);
  if (isOpen) {
    program = std::make_shared<const Program>(resolveSymbols(*program));
    isOpen = hasOpenSizes(*program);
  }
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
  session->isOpen = isOpen;
  if (Status status = session->checkOpen(); !status.ok())
    return status.error();
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
