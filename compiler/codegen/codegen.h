// Code generation: a StageProgram and the schedule chosen for it become PTX
// text or a host object. This header is what the rest of the compiler sees: no
// MLIR or LLVM type appears in it.
//
// Both targets share one emitter of bodies (body_emitter.h); gpu_lowering.cpp
// and host_lowering.cpp only arrange rows, columns, lanes, tiles and the fold
// across lanes around it. The way of one kernel:
//
//   StageProgram + KernelSchedule
//     -> MLIR: llvm.func with scf loops, arith/math on scalars or vectors, NVVM
//     operations      (gpu_lowering, host_lowering)
//     -> the LLVM dialect -> LLVM IR (lower_to_llvm)
//     -> a few cheap LLVM passes -> PTX text | ELF object (target_code)
//     -> one PTX module | one shared object without externals (link_ptx,
//     link_object)
#ifndef LOCKSTITCH_COMPILER_CODEGEN_CODEGEN_H
#define LOCKSTITCH_COMPILER_CODEGEN_CODEGEN_H

#include "compiler/schedule/place_syncs.h"
#include "runtime/program/status.h"

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstitch {

/// A GPU architecture: 90 for sm_90. Known: 70 75 80 86 89 90 100 120.
struct GpuTarget {
  unsigned sm = 90;
};

/// A CPU to generate code for.
struct HostTarget {
  std::string name; // as the user wrote it: "host", "x86-64-v3"
  std::string cpu;  // LLVM's name of the CPU or level
  std::string
      features; // LLVM's feature string, "+avx2,-avx512f"; empty for a level
  std::vector<std::string>
      requiredFeatures;      // CPU flags the code may use, LLVM's names, sorted
  unsigned vectorBytes = 16; // widest vector register: 16, 32 or 64
  bool hasFma = false;

  /// "host" (the CPU we run on) or "x86-64-v2", "x86-64-v3", "x86-64-v4".
  /// Anything else is refused.
  static Result<HostTarget> resolve(std::string_view name);
};

struct CodegenOptions {
  bool keepMlir = false; // fill GeneratedText::mlir
  bool keepLlvm = false; // fill GeneratedText::llvm
  bool verify = false;   // run the MLIR and LLVM verifiers; tests do
  /// GPU: what to do instead of what placeSyncs() says; tests leave a sync out
  /// with this.
  std::optional<std::vector<SyncPoint>> syncs = std::nullopt;
};

/// Intermediate texts of one kernel, for `--emit`.
struct GeneratedText {
  std::string mlir; // as built, before any lowering
  std::string llvm; // LLVM IR that the back end was given
};

/// One kernel as PTX: a module of its own. ABI as in runtime/program/program.h
/// (KernelCode).
struct GpuKernel {
  std::string symbol;
  std::string ptx;
  std::array<int64_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  int64_t sharedBytes = 0; // dynamic shared memory that the code addresses
  GeneratedText text;
};

/// One kernel as a relocatable ELF object. ABI as in runtime/program/program.h
/// (KernelCode).
struct HostObject {
  std::string symbol;
  std::vector<std::byte> object;
  int64_t scratchBytes = 0;
  GeneratedText text;
};

/// Makes code for kernels, one at a time. Setting one up costs some
/// milliseconds and holds LLVM's and MLIR's contexts: keep and reuse it; use
/// one per thread. Errors are of kind Internal unless they say otherwise:
/// whatever reaches code generation was accepted before.
class CodeGenerator {
public:
  explicit CodeGenerator(const CodegenOptions &options = {});
  ~CodeGenerator();
  CodeGenerator(const CodeGenerator &) = delete;
  CodeGenerator &operator=(const CodeGenerator &) = delete;

  Result<GpuKernel> emitPtx(const StageProgram &program,
                            const KernelSchedule &schedule,
                            const GpuTarget &target);
  Result<HostObject> emitHostObject(const StageProgram &program,
                                    const KernelSchedule &schedule,
                                    const HostTarget &target);

private:
  /// Starts afresh after a crash inside of LLVM or MLIR, whose contexts cannot
  /// be trusted any more.
  void recover();

  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// One PTX module holding every kernel of `modules` (texts from emitPtx for one
/// target; symbols distinct), in order.
Result<std::string> linkPtx(std::span<const std::string_view> modules);

/// One shared object holding every object of `objects`. It needs nothing from
/// outside: an undefined symbol is an internal error that names it. Equal input
/// gives equal bytes. Thread-safe.
Result<std::vector<std::byte>>
linkSharedObject(std::span<const std::span<const std::byte>> objects);

} // namespace lockstitch

#endif // LOCKSTITCH_COMPILER_CODEGEN_CODEGEN_H
