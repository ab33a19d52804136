// lockstitch simulate: any PTX kernel on the simulator, with all checks and
// counters.
#include "runtime/device/simulator/simulator.h"
#include "tools/lockstitch/log.h"
#include "tools/lockstitch/messages.h"
#include "tools/lockstitch/simulate_arguments.h"
#include "tools/lockstitch/text.h"
#include "tools/lockstitch/verbs.h"

#include <algorithm>
#include <cstring>

namespace lockstitch::tool {
namespace {

namespace sim = simulator;

/// A buffer in simulated memory, for --save-args.
struct Buffer {
  size_t index = 0;
  Array array; // its content after the launch
  uint64_t address = 0;
};

struct Arguments {
  std::vector<sim::Argument> arguments;
  std::vector<Buffer> buffers;
};

std::string where(const std::string &file, const sim::Diagnostic &why) {
  return why.line ? file + ", line " + std::to_string(why.line) : file;
}

std::string listKernels(const sim::Module &module) {
  std::vector<std::string> names;
  for (const sim::KernelInfo &kernel : module.kernels())
    names.push_back(kernel.name);
  return names.empty() ? "the file has no kernel"
                       : "its kernels: " + joinShort(names, 12);
}

std::string listParameters(const sim::KernelInfo &kernel) {
  std::vector<std::string> texts;
  for (const sim::ParameterInfo &parameter : kernel.parameters)
    texts.push_back(parameter.name + " (" + count(parameter.bytes, "byte") +
                    ")");
  return texts.empty() ? "it has no parameters"
                       : "its parameters: " + join(texts);
}

/// A buffer of `bytes`, with `content` if that is not null.
Result<sim::Argument> addBuffer(sim::Memory &memory,
                                const sim::ParameterInfo &parameter,
                                size_t index, Array array, bool filled,
                                Arguments &to) {
  std::string place = "--arg " + std::to_string(index);
  int64_t bytes = bytesOf(array.type, array.shape);
  if (parameter.bytes != 8)
    return Error::refused(place,
                          "is a buffer, but parameter '" + parameter.name +
                              "' has " + count(parameter.bytes, "byte"),
                          "give a scalar of that size, for example i32=7");
  uint64_t address =
      memory.allocate(static_cast<uint64_t>(bytes), parameter.name);
  if (!address)
    return Error::device(
        place, "out of memory: " + byteCount(bytes) + " could not be allocated",
        "use a smaller buffer");
  if (filled && bytes &&
      !memory.write(address, array.bytes.data(), static_cast<uint64_t>(bytes)))
    return Error::internal(place, "the buffer could not be filled");
  to.buffers.push_back({index, std::move(array), address});
  return sim::Argument::buffer(
      {parameter.name, address, static_cast<uint64_t>(bytes), false});
}

Result<Arguments> makeArguments(const SimulateVerb &options,
                                const sim::KernelInfo &kernel,
                                sim::Memory &memory) {
  if (options.args.size() != kernel.parameters.size())
    return Error::refused(
        "--arg",
        "kernel '" + kernel.name + "' has " +
            count(static_cast<int64_t>(kernel.parameters.size()), "parameter") +
            ", " +
            count(static_cast<int64_t>(options.args.size()), "argument") +
            (options.args.size() == 1 ? " is" : " are") + " given",
        listParameters(kernel));
  Arguments made;
  for (size_t i = 0; i < options.args.size(); ++i) {
    const sim::ParameterInfo &parameter = kernel.parameters[i];
    std::string place = "--arg " + std::to_string(i);
    Result<KernelArgumentText> parsed =
        parseKernelArgument(options.args[i], place);
    if (!parsed.ok())
      return parsed.error();
    if (auto *scalar = std::get_if<ScalarArgument>(&*parsed)) {
      if (scalar->bytes.size() != parameter.bytes)
        return Error::refused(
            place,
            "'" + options.args[i] + "' has " +
                count(static_cast<int64_t>(scalar->bytes.size()), "byte") +
                ", parameter '" + parameter.name + "' " +
                count(parameter.bytes, "byte"),
            listParameters(kernel));
      sim::Argument argument;
      argument.bytes = scalar->bytes;
      made.arguments.push_back(std::move(argument));
      continue;
    }
    Array array;
    bool filled = false;
    if (auto *file = std::get_if<FileArgument>(&*parsed)) {
      Result<Array> read = readArray(file->path, place);
      if (!read.ok()) {
        Error error = read.error();
        for (ErrorMessage &message : error.messages)
          if (message.wayOut.empty())
            message.wayOut = "give FILE.npy, TYPE[ELEMENTS] (f32[4096]) or "
                             "TYPE=VALUE (i32=7)";
        return error;
      }
      array = std::move(*read);
      filled = true;
    } else {
      const BufferArgument &buffer = std::get<BufferArgument>(*parsed);
      array.type = buffer.type;
      array.shape = buffer.shape;
    }
    Result<sim::Argument> argument =
        addBuffer(memory, parameter, i, std::move(array), filled, made);
    if (!argument.ok())
      return argument.error();
    made.arguments.push_back(std::move(*argument));
  }
  return made;
}

Status saveArguments(const std::string &folder, const sim::Memory &memory,
                     std::vector<Buffer> &buffers) {
  if (Status status = makeFolder(folder, "--save-args"); !status.ok())
    return status;
  for (Buffer &buffer : buffers) {
    Array &array = buffer.array;
    array.bytes.resize(static_cast<size_t>(bytesOf(array.type, array.shape)));
    if (!array.bytes.empty() &&
        !memory.read(buffer.address, array.bytes.data(), array.bytes.size()))
      return Error::internal("--save-args", "argument " +
                                                std::to_string(buffer.index) +
                                                " could not be read");
    if (array.type == ElementType::BF16) // NumPy lacks it: the bits, as u16
      array.type = ElementType::U16;
    Result<std::string> file =
        writeArray(folder, std::to_string(buffer.index), "", array);
    if (!file.ok())
      return file.error();
  }
  return {};
}

Finding translate(const sim::Finding &from) {
  Finding to;
  to.kind = sim::name(from.kind);
  to.message = from.message;
  if (from.occurrences > 1)
    to.message += " (" + std::to_string(from.occurrences) + " times)";
  to.ptxLine = from.ptxLine;
  to.sourceFile = from.sourceFile;
  to.sourceLine = from.sourceLine;
  std::copy(std::begin(from.block), std::end(from.block), to.block.begin());
  std::copy(std::begin(from.thread), std::end(from.thread), to.thread.begin());
  to.address = from.address;
  if (from.argument >= 0) {
    to.argument = from.argument;
    to.offset = from.offset;
  }
  to.tensor = from.tensor;
  return to;
}

/// FNV-1a: says only whether two texts are the same.
uint64_t hashOf(const std::string &text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char c : text)
    hash = (hash ^ c) * 0x100000001b3;
  return hash;
}

KernelEntry entryOf(const std::string &kernel, uint64_t code,
                    const sim::LaunchConfig &config,
                    const sim::LaunchResult &result) {
  KernelEntry entry;
  entry.name = kernel;
  entry.code = hexadecimal(code);
  entry.grid.emplace();
  entry.block.emplace();
  std::copy(std::begin(config.grid), std::end(config.grid),
            entry.grid->begin());
  std::copy(std::begin(config.block), std::end(config.block),
            entry.block->begin());
  entry.sharedBytes = result.sharedBytes;
  entry.waves = result.occupancy.waves;
  entry.smsBusy = result.occupancy.smsBusy;
  entry.bytesInFlightPerSm =
      static_cast<int64_t>(result.occupancy.bytesInFlightPerSm);
  const sim::Counters &counted = result.counters;
  entry.bytesRead = static_cast<int64_t>(counted.uniqueBytesRead);
  entry.bytesWritten = static_cast<int64_t>(counted.uniqueBytesWritten);
  LaunchCounters counters;
  counters.threadInstructions =
      static_cast<int64_t>(counted.threadInstructions);
  counters.warpInstructions = static_cast<int64_t>(counted.warpInstructions);
  counters.sectorsRead = static_cast<int64_t>(counted.sectorsRead);
  counters.sectorsWritten = static_cast<int64_t>(counted.sectorsWritten);
  counters.sharedConflicts = static_cast<int64_t>(counted.sharedConflicts);
  counters.barriers = static_cast<int64_t>(counted.barriers);
  counters.shuffles = static_cast<int64_t>(counted.shuffles);
  counters.atomics = static_cast<int64_t>(counted.atomics);
  entry.counters = counters;
  for (const sim::Finding &finding : result.findings)
    entry.findings.push_back(translate(finding));
  return entry;
}

std::string triple(const uint32_t (&values)[3]) {
  return std::to_string(values[0]) + "," + std::to_string(values[1]) + "," +
         std::to_string(values[2]);
}

std::string resultText(const std::string &kernel, const std::string &target,
                       const sim::LaunchConfig &config,
                       const sim::LaunchResult &result) {
  const sim::Counters &counted = result.counters;
  std::string text = kernel + " on the simulator (" + target + "), grid " +
                     triple(config.grid) + ", block " + triple(config.block) +
                     "\n";
  Table table({"counter", "value"}, {1});
  auto add = [&](const std::string &name, uint64_t value) {
    table.add({name, std::to_string(value)});
  };
  add("thread instructions", counted.threadInstructions);
  add("warp instructions", counted.warpInstructions);
  for (size_t i = 0; i < counted.warpByClass.size(); ++i)
    if (counted.warpByClass[i])
      add(std::string("  ") + sim::name(static_cast<sim::InstructionClass>(i)),
          counted.warpByClass[i]);
  add("sectors read (32 bytes)", counted.sectorsRead);
  add("sectors written", counted.sectorsWritten);
  add("distinct bytes read", counted.uniqueBytesRead);
  add("distinct bytes written", counted.uniqueBytesWritten);
  add("shared-memory conflicts", counted.sharedConflicts);
  add("barriers", counted.barriers);
  add("shuffles", counted.shuffles);
  add("atomics", counted.atomics);
  text += table.text();
  text += "  active lanes " + number(counted.activeLanes()) + " of 32, " +
          number(result.occupancy.waves) + " waves, " +
          count(result.occupancy.smsBusy, "SM") + " busy, " +
          count(result.occupancy.warpsPerSm, "warp") + " per SM, " +
          byteCount(static_cast<int64_t>(result.occupancy.bytesInFlightPerSm)) +
          " in flight per SM\n";
  for (const sim::Finding &finding : result.findings) {
    std::string one = finding.toText(kernel);
    text += one + (one.ends_with("\n") ? "" : "\n");
  }
  if (result.findings.empty())
    text += "no findings\n";
  if (!result.raceCheckComplete)
    logWarning("the kernel touched too much memory for the race checker: some "
               "races may not be listed");
  return text;
}

/// The launch, refused where it does not fit 32 bits.
Result<sim::LaunchConfig> configOf(const SimulateVerb &options) {
  sim::LaunchConfig config;
  auto grid = parseExtents(options.grid, "--grid");
  if (!grid.ok())
    return grid.error();
  auto block = parseExtents(options.block, "--block");
  if (!block.ok())
    return block.error();
  for (int i = 0; i < 3; ++i) {
    config.grid[i] = static_cast<uint32_t>((*grid)[i]);
    config.block[i] = static_cast<uint32_t>((*block)[i]);
  }
  config.sharedBytes = static_cast<uint32_t>(options.sharedBytes);
  config.cooperative = options.cooperative;
  config.seed = options.seed;
  config.threads = static_cast<unsigned>(options.threads);
  return config;
}

} // namespace

Status simulate(const SimulateVerb &options, Report &report) {
  report.device = "simulator";
  Result<sim::LaunchConfig> config = configOf(options);
  if (!config.ok())
    return config.error();
  Result<std::string> text = readFile(options.file, "PTX file");
  if (!text.ok())
    return text.error();
  uint64_t code = hashOf(*text);
  if (text->find(".entry") == std::string::npos)
    return Error::refused(
        options.file,
        "is not a PTX file with a kernel: there is no '.entry' in it",
        "give PTX text, as nvcc --ptx, Triton or lockstitch --emit ptx=FILE "
        "write it");
  sim::Diagnostic why;
  std::shared_ptr<const sim::Module> module =
      sim::Module::parse(std::move(*text), why);
  if (!module)
    return Error::refused(
        where(options.file, why), why.message,
        "the simulator takes the PTX that docs/simulator.md describes");
  report.target = std::string(module->target());
  std::string name = module->findKernel(options.kernel, why);
  if (name.empty())
    return Error::refused(options.file,
                          why.message.empty()
                              ? "there is no kernel '" + options.kernel + "'"
                              : why.message,
                          listKernels(*module));
  if (!module->check(name, why))
    return Error::refused(
        where(options.file, why), why.message,
        "the simulator takes the PTX that docs/simulator.md describes");
  std::vector<sim::KernelInfo> kernels = module->kernels();
  auto kernel = std::find_if(
      kernels.begin(), kernels.end(),
      [&](const sim::KernelInfo &info) { return info.name == name; });
  if (kernel == kernels.end())
    return Error::internal(options.file, "kernel '" + name + "' is not listed");

  sim::Memory memory;
  Result<Arguments> arguments = makeArguments(options, *kernel, memory);
  if (!arguments.ok())
    return arguments.error();
  sim::LaunchResult result =
      sim::launch(*module, name, memory, arguments->arguments, *config);
  if (result.error)
    return Error::refused(where(options.file, result.error),
                          result.error.message,
                          "change the launch, or the kernel");

  report.kernels.push_back(entryOf(name, code, *config, result));
  report.totals.kernels = report.totals.launches =
      report.totals.distinctKernels = 1;
  report.totals.kernelBytes =
      *report.kernels[0].bytesRead + *report.kernels[0].bytesWritten;
  if (!options.saveArgs.empty())
    if (Status status =
            saveArguments(options.saveArgs, memory, arguments->buffers);
        !status.ok())
      return status;
  if (!options.common.json)
    printResult(resultText(name, *report.target, *config, result));
  return findingsStatus(report);
}

} // namespace lockstitch::tool
