#include "compiler/codegen/codegen.h"

#include "compiler/codegen/lowering.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/ErrorHandling.h"

#include <mutex>

using namespace mlir;

namespace lockstitch {
namespace {

using codegen::MachineTraits;

/// What LLVM said before it gave up.
thread_local std::string fatalReason;

/// LLVM would now print and end the process; instead, give up the kernel at
/// work in this thread.
void leaveFatalError(void *, const char *reason, bool) {
  if (llvm::CrashRecoveryContext *recovery =
          llvm::CrashRecoveryContext::GetCurrent()) {
    fatalReason = reason;
    recovery->HandleExit(1);
  }
}

void initialiseTargets() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    // A crash or a fatal error inside of LLVM ends the compile of one kernel,
    // not the process.
    llvm::CrashRecoveryContext::Enable();
    llvm::install_fatal_error_handler(leaveFatalError);
  });
}

DialectRegistry makeRegistry() {
  DialectRegistry registry;
  registry
      .insert<arith::ArithDialect, cf::ControlFlowDialect, LLVM::LLVMDialect,
              NVVM::NVVMDialect, math::MathDialect, scf::SCFDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
  return registry;
}

/// The least PTX version that knows an architecture and everything that we emit
/// for it; 0 for an unknown one. A lower version asks less of the driver.
unsigned ptxVersion(unsigned sm) {
  switch (sm) {
  case 70:
    return 63;
  case 75:
    return 63;
  case 80:
    return 70;
  case 86:
    return 71;
  case 89:
    return 78;
  case 90:
    return 78;
  case 100:
    return 86;
  case 120:
    return 87;
  default:
    return 0;
  }
}

template <typename T> std::string printed(T &&thing) {
  std::string text;
  llvm::raw_string_ostream out(text);
  thing.print(out);
  return text;
}

} // namespace

struct CodeGenerator::Impl {
  explicit Impl(const CodegenOptions &options)
      : options(options),
        context(makeRegistry(), MLIRContext::Threading::DISABLED) {
    context.loadAllAvailableDialects();
    context.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
      report(diagnostic.str());
      return success();
    });
  }

  /// Remembers the first thing that went wrong.
  void report(std::string what) {
    if (problem.empty())
      problem = std::move(what);
  }

  llvm::TargetMachine *machine(const std::string &triple,
                               const std::string &cpu,
                               const std::string &features) {
    auto &known = machines[triple + " " + cpu + " " + features];
    if (known)
      return known.get();
    llvm::Triple parsed(triple);
    std::string error;
    const llvm::Target *target =
        llvm::TargetRegistry::lookupTarget(parsed, error);
    if (!target) {
      report(error);
      return nullptr;
    }
    llvm::TargetOptions targetOptions;
    // Multiplications and additions are fused by the compiler of ours or not at
    // all.
    targetOptions.AllowFPOpFusion = llvm::FPOpFusion::Strict;
    known.reset(target->createTargetMachine(
        parsed, cpu, features, targetOptions, llvm::Reloc::PIC_, std::nullopt,
        llvm::CodeGenOptLevel::Default));
    return known.get();
  }

  using Lowering = llvm::function_ref<OwningOpRef<ModuleOp>()>;

  /// From the stage program to what the back end writes; an empty buffer means
  /// that `problem` is set.
  llvm::SmallVector<char, 0> compile(Lowering lower,
                                     llvm::TargetMachine &machine,
                                     llvm::CodeGenFileType fileType,
                                     GeneratedText &text) {
    OwningOpRef<ModuleOp> module = lower();
    if (!module)
      return {};
    if (options.keepMlir)
      text.mlir = printed(*module.get());
    if (options.verify && failed(mlir::verify(*module)))
      return {};
    if (failed(codegen::lowerToLlvmDialect(*module))) {
      report("lowering to the LLVM dialect failed");
      return {};
    }
    if (options.verify && failed(mlir::verify(*module)))
      return {};
    llvm::LLVMContext llvmContext;
    llvmContext.setDiagnosticHandlerCallBack(
        [](const llvm::DiagnosticInfo *info, void *self) {
          if (info->getSeverity() != llvm::DS_Error)
            return;
          std::string message;
          llvm::raw_string_ostream out(message);
          llvm::DiagnosticPrinterRawOStream printer(out);
          info->print(printer);
          static_cast<Impl *>(self)->report(message);
        },
        this);
    std::unique_ptr<llvm::Module> ir =
        codegen::translateToLlvm(*module, llvmContext, machine);
    if (!ir) {
      report("translation to LLVM IR failed");
      return {};
    }
    module = {};
    codegen::optimise(*ir, machine);
    if (options.keepLlvm) {
      llvm::raw_string_ostream out(text.llvm);
      ir->print(out, nullptr);
    }
    if (options.verify) {
      std::string message;
      llvm::raw_string_ostream out(message);
      if (llvm::verifyModule(*ir, &out)) {
        report(message);
        return {};
      }
    }
    llvm::SmallVector<char, 0> buffer;
    llvm::raw_svector_ostream stream(buffer);
    llvm::legacy::PassManager passes;
    if (machine.addPassesToEmitFile(passes, stream, nullptr, fileType,
                                    /*DisableVerify=*/!options.verify)) {
      report("this target cannot emit such a file");
      return {};
    }
    passes.run(*ir);
    if (!problem.empty())
      buffer.clear();
    return buffer;
  }

  /// Runs `work` so that a fatal error in LLVM is an error here. Afterwards
  /// MLIR's context cannot be trusted any more.
  Status guarded(const StageProgram &program, llvm::function_ref<void()> work) {
    problem.clear();
    fatalReason.clear();
    llvm::CrashRecoveryContext recovery;
    recovery.DumpStackAndCleanupOnFailure = false;
    if (!recovery.RunSafely(work)) {
      crashed = true;
      report(fatalReason.empty() ? "the code generator crashed" : fatalReason);
    }
    if (!problem.empty())
      return Error::internal("kernel " + program.name,
                             "code generation failed: " + problem);
    return {};
  }

  CodegenOptions options;
  MLIRContext context;
  std::map<std::string, std::unique_ptr<llvm::TargetMachine>> machines;
  std::string problem;
  bool crashed = false;
};

CodeGenerator::CodeGenerator(const CodegenOptions &options) {
  initialiseTargets();
  impl = std::make_unique<Impl>(options);
}

CodeGenerator::~CodeGenerator() {
  if (impl->crashed)
    (void)impl.release(); // see recover()
}

void CodeGenerator::recover() {
  if (!impl->crashed)
    return;
  CodegenOptions options = impl->options;
  (void)impl
      .release(); // its destructors would walk over what the crash left behind
  impl = std::make_unique<Impl>(options);
}

Result<GpuKernel> CodeGenerator::emitPtx(const StageProgram &program,
                                         const KernelSchedule &schedule,
                                         const GpuTarget &target) {
  unsigned ptx = ptxVersion(target.sm);
  if (!ptx)
    return Error::refused(
        "target sm_" + std::to_string(target.sm),
        "this GPU architecture is not known",
        "known are sm_70 sm_75 sm_80 sm_86 sm_89 sm_90 sm_100 sm_120");
  GpuKernel kernel;
  kernel.symbol = program.name;
  kernel.grid = {schedule.gridX, 1, 1};
  kernel.block = {static_cast<int64_t>(schedule.threadsPerRow) *
                      schedule.rowsPerBlock,
                  1, 1};
  kernel.sharedBytes = layoutShared(program, schedule).bytes;
  MachineTraits traits;
  traits.isGpu = traits.hasFma = traits.hasHalfConvert = true;
  traits.hasBfloatConvert = target.sm >= 90;
  traits.sm = target.sm;
  recover();
  Status status = impl->guarded(program, [&] {
    llvm::TargetMachine *machine =
        impl->machine("nvptx64-nvidia-cuda", "sm_" + std::to_string(target.sm),
                      "+ptx" + std::to_string(ptx));
    if (!machine)
      return;
    if (std::optional<std::string> wrong = checkTiles(program, schedule))
      return impl->report(*wrong);
    auto lower = [&] {
      return codegen::lowerToGpu(&impl->context, program, schedule,
                                 impl->options.syncs
                                     ? *impl->options.syncs
                                     : placeSyncs(program, schedule),
                                 traits, impl->problem);
    };
    auto text = impl->compile(lower, *machine,
                              llvm::CodeGenFileType::AssemblyFile, kernel.text);
    kernel.ptx.assign(text.begin(), text.end());
  });
  if (!status.ok())
    return status.error();
  // The same form as a module of several kernels.
  std::string_view alone = kernel.ptx;
  Result<std::string> module = linkPtx(std::span(&alone, 1));
  if (!module.ok())
    return module.error();
  kernel.ptx = std::move(*module);
  return kernel;
}

Result<HostObject> CodeGenerator::emitHostObject(const StageProgram &program,
                                                 const KernelSchedule &schedule,
                                                 const HostTarget &target) {
  HostObject object;
  object.symbol = program.name;
  object.scratchBytes = hostScratchBytes(program, schedule);
  MachineTraits traits;
  traits.hasFma = target.hasFma;
  traits.hasHalfConvert = llvm::is_contained(target.requiredFeatures, "f16c");
  recover();
  Status status = impl->guarded(program, [&] {
    llvm::TargetMachine *machine =
        impl->machine("x86_64-unknown-linux-gnu", target.cpu, target.features);
    if (!machine)
      return;
    if (std::optional<std::string> wrong = checkTiles(program, schedule))
      return impl->report(*wrong);
    auto lower = [&] {
      return codegen::lowerToHost(&impl->context, program, schedule, traits,
                                  impl->problem);
    };
    auto bytes = impl->compile(lower, *machine,
                               llvm::CodeGenFileType::ObjectFile, object.text);
    auto *first = reinterpret_cast<const std::byte *>(bytes.data());
    object.object.assign(first, first + bytes.size());
  });
  if (!status.ok())
    return status.error();
  return object;
}

/// May code made from a kernel use this CPU feature? The rest (cache control,
/// virtualisation, keys ...) need not be asked for where the code is to run.
static bool concernsKernels(llvm::StringRef feature) {
  constexpr llvm::StringLiteral prefixes[] = {"sse", "ssse", "avx", "fma",
                                              "bmi"};
  constexpr llvm::StringLiteral names[] = {"cmov",  "crc32",  "cx8",   "cx16",
                                           "f16c",  "gfni",   "lzcnt", "mmx",
                                           "movbe", "popcnt", "tbm",   "xop"};
  return llvm::is_contained(names, feature) ||
         llvm::any_of(prefixes, [&](llvm::StringRef prefix) {
           return feature.starts_with(prefix);
         });
}

Result<HostTarget> HostTarget::resolve(std::string_view name) {
  HostTarget target;
  target.name = name;
  llvm::StringMap<bool> features;
  if (name == "host") {
    target.cpu = llvm::sys::getHostCPUName();
    features = llvm::sys::getHostCPUFeatures();
    std::vector<std::string> flags;
    for (const auto &[feature, present] : features)
      flags.push_back((present ? "+" : "-") + feature.str());
    std::sort(flags.begin(), flags.end());
    target.features = llvm::join(flags, ",");
  } else if (name == "x86-64-v2" || name == "x86-64-v3" ||
             name == "x86-64-v4") {
    target.cpu = name;
    llvm::SmallVector<llvm::StringRef> names;
    llvm::X86::getFeaturesForCPU(target.cpu, names);
    for (llvm::StringRef feature : names) {
      features[feature] = true;
      llvm::X86::updateImpliedFeatures(feature, true, features);
    }
  } else {
    return Error::refused(
        "target " + std::string(name), "this is not a CPU target",
        "CPU targets are host, x86-64-v2, x86-64-v3 and x86-64-v4");
  }
  for (const auto &[feature, present] : features)
    if (present && concernsKernels(feature))
      target.requiredFeatures.push_back(feature.str());
  std::sort(target.requiredFeatures.begin(), target.requiredFeatures.end());
  auto has = [&](llvm::StringRef feature) {
    return llvm::is_contained(target.requiredFeatures, feature);
  };
  target.hasFma = has("fma");
  target.vectorBytes =
      has("avx512f") && has("avx512vl") && has("avx512bw") && has("avx512dq")
          ? 64
      : has("avx2") ? 32
                    : 16;
  return target;
}

} // namespace lockstitch
