#include "compiler/driver/code_target.h"

#include "compiler/codegen/assembler.h"
#include "compiler/codegen/codegen.h"
#include "compiler/driver/cpu_timer.h"
#include "cost_model/device.h"
#include "runtime/program/thread_start.h"

#include <algorithm>
#include <atomic>
#include <thread>

namespace lockstitch {
namespace {

constexpr unsigned kKnownGpus[] = {70, 75, 80, 86, 89, 90, 100, 120};

std::optional<unsigned> parseGpu(const std::string &name) {
  for (unsigned sm : kKnownGpus)
    if (name == "sm_" + std::to_string(sm))
      return sm;
  return std::nullopt;
}

Error unknownTarget(const std::string &name) {
  std::string known = "host, x86-64-v2, x86-64-v3, x86-64-v4";
  for (unsigned sm : kKnownGpus)
    known += ", sm_" + std::to_string(sm);
  return Error::refused("--target " + name, "there is no such target",
                        "known targets: " + known);
}

/// From the description of the device in cost_model/devices.
ScheduleTarget gpuScheduleTarget(unsigned sm) {
  ScheduleTarget target;
  target.isGpu = true;
  target.sm = static_cast<int>(sm);
  if (const cost::Device *device =
          cost::findDevice("sm_" + std::to_string(sm))) {
    target.device = device;
    target.multiprocessors = device->multiprocessors;
    target.maxThreadsPerBlock = device->threadsPerBlock;
    target.sharedBytesPerBlock = device->sharedPerBlock;
  }
  return target;
}

/// What both kinds of target do: every kernel through code generation, on as many threads as there are cores.
class CodeTargetBase : public CodeTarget {
public:
  CodeTargetBase(ScheduleTarget schedule, const CompileOptions &options,
                 bool keepTexts)
      : schedule(schedule), options(options), keepTexts(keepTexts) {
    codegen.keepLlvm = keepTexts && options.emit.count("llvm");
    codegen.verify = options.verify;
  }
  const ScheduleTarget &scheduleTarget() const override { return schedule; }
  const std::vector<KernelReport> &kernelReports() const override {
    return reports;
  }

protected:
  /// Calls `make(generator, index)` for every kernel; the first error in order of the kernels is returned. Each thread has a
  /// generator of its own: setting one up costs milliseconds, so few kernels stay on one thread.
  template <typename Make>
  Status forEachKernel(size_t count, double &seconds, Make make) {
    reports.resize(count);
    std::vector<Status> results(count);
    std::atomic<size_t> next = 0;
    double begin = cpuSeconds();
    auto work = [&] {
      enterThread();
      CodeGenerator generator(codegen);
      for (size_t index; (index = next++) < count;) {
        double before = cpuSeconds(CLOCK_THREAD_CPUTIME_ID);
        results[index] = make(generator, index);
        reports[index].compileCpuMilliseconds =
            (cpuSeconds(CLOCK_THREAD_CPUTIME_ID) - before) * 1000;
      }
    };
    unsigned threads = std::min<size_t>(
        std::max(1u, std::thread::hardware_concurrency()), (count + 3) / 4);
    std::vector<std::thread> helpers;
    for (unsigned i = 1; i < threads; ++i)
      helpers.emplace_back(work);
    if (count)
      work();
    for (std::thread &helper : helpers)
      helper.join();
    seconds += cpuSeconds() - begin;
    for (Status &status : results)
      if (!status.ok())
        return status;
    return {};
  }

  void keepLlvm(Compilation &compilation, const GeneratedText &text) {
    if (codegen.keepLlvm)
      compilation.emitted["llvm"] += text.llvm;
  }

  static KernelCode describe(const DistinctKernel &kernel) {
    KernelCode code;
    code.symbol = kernel.program.name;
    code.hash = kernel.hash;
    code.rows = kernel.program.rows;
    for (const StageArgument &argument : kernel.program.arguments)
      code.arguments.push_back(
          {argument.type, argument.elements, argument.isOutput});
    return code;
  }

  ScheduleTarget schedule;
  const CompileOptions &options;
  const bool keepTexts;
  CodegenOptions codegen;
  std::vector<KernelReport> reports;
};

class HostCodeTarget final : public CodeTargetBase {
public:
  HostCodeTarget(HostTarget target, const CompileOptions &options,
                 bool keepTexts)
      : CodeTargetBase(scheduleFor(target), options, keepTexts),
        target(std::move(target)) {}

  static ScheduleTarget scheduleFor(const HostTarget &target) {
    ScheduleTarget schedule;
    schedule.vectorBytes = target.vectorBytes;
    return schedule;
  }

  Status generate(const KernelSet &kernels, TargetProgram &program,
                  TargetReport &report, Compilation &compilation) override {
    program.target = target.name;
    program.requiredCpu = target.cpu;
    program.requiredFeatures = target.requiredFeatures;
    const auto &list = kernels.kernels();
    std::vector<HostObject> objects(list.size());
    Status status =
        forEachKernel(list.size(), compilation.seconds.codegenHost,
                      [&](CodeGenerator &generator, size_t i) {
                        Result<HostObject> object = generator.emitHostObject(
                            list[i].program, list[i].schedule, target);
                        if (!object.ok())
                          return Status(object.error());
                        objects[i] = std::move(*object);
                        return Status();
                      });
    if (!status.ok())
      return status;
    std::vector<std::span<const std::byte>> parts;
    for (size_t i = 0; i < list.size(); ++i) {
      KernelCode code = describe(list[i]);
      code.rowsPerTask = list[i].schedule.rowsPerTask;
      code.scratchBytes = objects[i].scratchBytes;
      program.kernels.push_back(std::move(code));
      reports[i].symbol = list[i].program.name;
      parts.push_back(objects[i].object);
      keepLlvm(compilation, objects[i].text);
    }
    if (parts.empty())
      return {};
    double begin = cpuSeconds();
    Result<std::vector<std::byte>> linked = linkSharedObject(parts);
    compilation.seconds.link += cpuSeconds() - begin;
    if (!linked.ok())
      return linked.error();
    if (keepTexts && options.emit.count("object"))
      compilation.emitted["object"].assign(
          reinterpret_cast<const char *>(linked->data()), linked->size());
    program.code = Blob::own(std::move(*linked));
    return {};
  }

private:
  HostTarget target;
};

class GpuCodeTarget final : public CodeTargetBase {
public:
  GpuCodeTarget(unsigned sm, const CompileOptions &options, bool keepTexts)
      : CodeTargetBase(gpuScheduleTarget(sm), options, keepTexts), target{sm} {}

  Status generate(const KernelSet &kernels, TargetProgram &program,
                  TargetReport &report, Compilation &compilation) override {
    program.target = "sm_" + std::to_string(target.sm);
    const auto &list = kernels.kernels();
    std::vector<GpuKernel> generated(list.size());
    Status status =
        forEachKernel(list.size(), compilation.seconds.codegenPtx,
                      [&](CodeGenerator &generator, size_t i) {
                        Result<GpuKernel> kernel = generator.emitPtx(
                            list[i].program, list[i].schedule, target);
                        if (!kernel.ok())
                          return Status(kernel.error());
                        generated[i] = std::move(*kernel);
                        return Status();
                      });
    if (!status.ok())
      return status;
    std::vector<std::string_view> parts;
    for (size_t i = 0; i < list.size(); ++i) {
      KernelCode code = describe(list[i]);
      std::copy(generated[i].grid.begin(), generated[i].grid.end(),
                code.grid.begin());
      code.block = generated[i].block;
      code.sharedBytes = generated[i].sharedBytes;
      program.kernels.push_back(std::move(code));
      reports[i].symbol = list[i].program.name;
      parts.push_back(generated[i].ptx);
      keepLlvm(compilation, generated[i].text);
    }
    if (parts.empty())
      return {};
    Result<std::string> module = linkPtx(parts);
    if (!module.ok())
      return module.error();
    if (keepTexts && options.emit.count("ptx"))
      compilation.emitted["ptx"] = *module;
    std::vector<std::byte> bytes(module->size());
    std::copy(module->begin(), module->end(),
              reinterpret_cast<char *>(bytes.data()));
    program.code = Blob::own(std::move(bytes));
    return options.assemble || options.emit.count("cubin")
               ? assemble(*module, program, report, compilation)
               : Status();
  }

private:
  /// PTX needs no assembler here, the driver has one: where none is found, or it does not know the architecture, the program
  /// is complete without and the report says so.
  Status assemble(const std::string &ptx, TargetProgram &program,
                  TargetReport &report, Compilation &compilation) {
    std::optional<Assembler> assembler = Assembler::find();
    if (!assembler) {
      report.assembler = "not found (ptxas or nvJitLink)";
    } else {
      report.assembler = assembler->path();
      double begin = cpuSeconds();
      Result<AssembledCode> code = assembler->assemble(ptx, target);
      compilation.seconds.link += cpuSeconds() - begin;
      if (code.ok()) {
        for (const KernelResources &kernel : code->kernels)
          for (KernelReport &entry : reports)
            if (entry.symbol == kernel.symbol) {
              entry.registers = kernel.registers;
              entry.spillBytes = kernel.spillStoreBytes + kernel.spillLoadBytes;
            }
        if (keepTexts && options.emit.count("cubin"))
          compilation.emitted["cubin"].assign(
              reinterpret_cast<const char *>(code->cubin.data()),
              code->cubin.size());
        program.cubin = Blob::own(std::move(code->cubin));
        return {};
      }
      if (code.error().kind != ErrorKind::Refused)
        return code.error();
      report.assembler += ": " + code.error().messages[0].reason;
    }
    if (keepTexts && options.emit.count("cubin"))
      return Error::refused("--emit cubin",
                            "no assembler for " + program.target + ": " +
                                report.assembler,
                            "install the CUDA toolkit, or emit ptx");
    return {};
  }

  GpuTarget target;
};

} // namespace

Result<ScheduleTarget> scheduleTargetOf(const std::string &name) {
  if (auto sm = parseGpu(name))
    return gpuScheduleTarget(*sm);
  Result<HostTarget> host = HostTarget::resolve(name);
  if (!host.ok())
    return unknownTarget(name);
  return HostCodeTarget::scheduleFor(*host);
}

Result<std::unique_ptr<CodeTarget>>
CodeTarget::create(const std::string &name, const CompileOptions &options,
                   bool keepTexts) {
  if (auto sm = parseGpu(name))
    return std::unique_ptr<CodeTarget>(
        std::make_unique<GpuCodeTarget>(*sm, options, keepTexts));
  Result<HostTarget> host = HostTarget::resolve(name);
  if (!host.ok())
    return unknownTarget(name);
  return std::unique_ptr<CodeTarget>(
      std::make_unique<HostCodeTarget>(std::move(*host), options, keepTexts));
}

} // namespace lockstitch
