#include "execute.h"

#include "compiler/graph/evaluate_scalar.h"

#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <random>
#include <sys/mman.h>
#include <unistd.h>

namespace lockstitch::testing {

CodeGenerator &generator() {
  static CodeGenerator instance(
      {.keepMlir = true, .keepLlvm = true, .verify = true});
  return instance;
}

const HostTarget &hostTarget() {
  static HostTarget target = *HostTarget::resolve("host");
  return target;
}

std::vector<Bytes> makeBuffers(const StageProgram &program, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, 2);
  std::vector<Bytes> buffers;
  for (const StageArgument &argument : program.arguments) {
    size_t size = byteSize(argument.type);
    Bytes bytes(argument.elements.value() * size, std::byte{0xa5});
    if (!argument.isOutput)
      for (int64_t i = 0; i < argument.elements.value(); ++i) {
        evaluation::Slot value;
        if (isFloat(argument.type))
          value.real = normal(random);
        else if (argument.type == ElementType::Bool)
          value.integer = random() & 1;
        else
          value.integer = static_cast<int64_t>(
              (uint64_t(random()) << 32 | random()) >> (random() % 60));
        evaluation::store(argument.type, value, bytes.data() + i * size);
      }
    buffers.push_back(std::move(bytes));
  }
  return buffers;
}

namespace {

/// Memory whose end is the end of the readable world.
class GuardedBuffer {
public:
  GuardedBuffer(const Bytes &content, size_t alignment) : size(content.size()) {
    size_t page = sysconf(_SC_PAGESIZE);
    bytes = (size + page - 1) / page * page + 2 * page;
    base = static_cast<std::byte *>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base, page, PROT_NONE);
    mprotect(base + bytes - page, page, PROT_NONE);
    size_t start = bytes - page - size;
    data = base + start / alignment * alignment;
    std::memcpy(data, content.data(), size);
  }
  ~GuardedBuffer() { munmap(base, bytes); }
  GuardedBuffer(const GuardedBuffer &) = delete;

  size_t size, bytes;
  std::byte *base, *data;
};

using KernelFunction = void (*)(void *const *, int64_t, int64_t, void *);

} // namespace

void runOnHost(const StageProgram &program, KernelSchedule schedule,
               std::vector<Bytes> &buffers, const HostTarget &target) {
  placeTiles(program, /*isGpu=*/false, schedule);
  Result<HostObject> object =
      generator().emitHostObject(program, schedule, target);
  ASSERT_TRUE(object.ok()) << object.error().messages[0].reason;
  std::span<const std::byte> bytes(object->object);
  Result<std::vector<std::byte>> library =
      linkSharedObject(std::span(&bytes, 1));
  ASSERT_TRUE(library.ok()) << library.error().messages[0].reason;
  int file = memfd_create("kernel", 0);
  ASSERT_EQ(write(file, library->data(), library->size()),
            static_cast<ssize_t>(library->size()));
  void *handle = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(),
                        RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(handle) << dlerror();
  auto kernel =
      reinterpret_cast<KernelFunction>(dlsym(handle, program.name.c_str()));
  ASSERT_TRUE(kernel);
  std::vector<std::unique_ptr<GuardedBuffer>> memory;
  std::vector<void *> args;
  for (size_t i = 0; i < buffers.size(); ++i) {
    memory.push_back(std::make_unique<GuardedBuffer>(
        buffers[i], byteSize(program.arguments[i].type)));
    args.push_back(memory.back()->data);
  }
  GuardedBuffer scratch(Bytes(object->scratchBytes), 64);
  int64_t middle = program.rows.value() / 3;
  kernel(args.data(), 0, middle, scratch.data);
  kernel(args.data(), middle, program.rows.value(), scratch.data);
  for (size_t i = 0; i < buffers.size(); ++i)
    std::memcpy(buffers[i].data(), memory[i]->data, buffers[i].size());
  dlclose(handle);
  close(file);
}

std::vector<simulator::Finding> launchOnSimulator(const StageProgram &program,
                                                  const GpuKernel &kernel,
                                                  std::vector<Bytes> &buffers,
                                                  uint64_t seed) {
  simulator::Diagnostic diagnostic;
  auto module = simulator::Module::parse(kernel.ptx, diagnostic);
  if (!module) {
    ADD_FAILURE() << diagnostic.message << "\n" << kernel.ptx;
    return {};
  }
  simulator::Memory memory;
  std::vector<simulator::Argument> arguments;
  std::vector<uint64_t> addresses;
  for (size_t i = 0; i < buffers.size(); ++i) {
    std::string name = "arg" + std::to_string(i);
    bool isInput = !program.arguments[i].isOutput;
    uint64_t address = memory.allocate(buffers[i].size(), name);
    if (isInput)
      memory.write(address, buffers[i].data(), buffers[i].size());
    addresses.push_back(address);
    arguments.push_back(simulator::Argument::buffer(
        {name, address, buffers[i].size(), isInput}));
  }
  simulator::LaunchConfig config;
  config.grid[0] = kernel.grid[0];
  config.block[0] = kernel.block[0];
  config.sharedBytes = kernel.sharedBytes;
  config.seed = seed;
  simulator::LaunchResult result =
      simulator::launch(*module, kernel.symbol, memory, arguments, config);
  EXPECT_FALSE(result.error)
      << program.name << ": " << result.error.message << "\n"
      << kernel.ptx;
  for (size_t i = 0; i < buffers.size(); ++i)
    if (program.arguments[i].isOutput)
      memory.read(addresses[i], buffers[i].data(), buffers[i].size());
  return std::move(result.findings);
}

void expectEqual(const StageProgram &program, const std::vector<Bytes> &actual,
                 const std::vector<Bytes> &expected, Tolerance tolerance,
                 const std::string &what) {
  for (size_t i = 0; i < program.arguments.size(); ++i) {
    const StageArgument &argument = program.arguments[i];
    if (!argument.isOutput)
      continue;
    size_t size = byteSize(argument.type);
    int reported = 0;
    for (int64_t at = 0; at < argument.elements.value() && reported < 5; ++at) {
      const std::byte *x = actual[i].data() + at * size,
                      *y = expected[i].data() + at * size;
      if (!std::memcmp(x, y, size))
        continue;
      evaluation::Slot a = evaluation::load(argument.type, x),
                       b = evaluation::load(argument.type, y);
      if (isFloat(argument.type)) {
        if (std::isnan(a.real) && std::isnan(b.real))
          continue;
        if (std::fabs(a.real - b.real) <=
            tolerance.absolute + tolerance.relative * std::fabs(b.real))
          continue;
        ADD_FAILURE() << what << ": " << program.name << " argument " << i
                      << " [" << at << "] is " << a.real << ", not " << b.real;
      } else {
        ADD_FAILURE() << what << ": " << program.name << " argument " << i
                      << " [" << at << "] is " << a.integer << ", not "
                      << b.integer;
      }
      ++reported;
    }
  }
}

void checkOnHost(const StageProgram &program, std::vector<unsigned> widths,
                 Tolerance tolerance) {
  std::optional<std::string> wrong = verify(program);
  ASSERT_FALSE(wrong) << *wrong;
  std::vector<Bytes> expected = makeBuffers(program);
  interpret(program, expected);
  for (unsigned width : widths) {
    std::vector<Bytes> actual = makeBuffers(program);
    KernelSchedule schedule;
    schedule.vectorWidth = width;
    runOnHost(program, schedule, actual);
    expectEqual(program, actual, expected, tolerance,
                "host, width " + std::to_string(width));
  }
}

} // namespace lockstitch::testing
