// Assembler: PTX -> cubin, by what the machine has: the program `ptxas`, else
// the library nvJitLink. Both are looked for when asked for, never needed to
// build or to run: a driver assembles PTX itself.
#ifndef LOCKSTITCH_COMPILER_CODEGEN_ASSEMBLER_H
#define LOCKSTITCH_COMPILER_CODEGEN_ASSEMBLER_H

#include "compiler/codegen/codegen.h"

#include <optional>

namespace lockstitch {

/// What the assembler says of a kernel.
struct KernelResources {
  std::string symbol;
  int64_t registers = 0; // per thread
  int64_t stackBytes = 0, spillStoreBytes = 0, spillLoadBytes = 0;
};

struct AssembledCode {
  std::vector<std::byte> cubin;
  std::vector<KernelResources> kernels; // empty if the assembler does not tell
};

class Assembler {
public:
  /// `ptxas` in PATH, then below CUDA_HOME, CUDA_PATH and /usr/local/cuda; then
  /// libnvJitLink. Nothing if there is none.
  static std::optional<Assembler> find();

  /// What was found: a path.
  const std::string &path() const { return place; }

  /// Assembles one module. Errors are of kind Internal (the text is ours), or
  /// Refused when the assembler found is too new or too old for the
  /// architecture.
  Result<AssembledCode> assemble(std::string_view ptx,
                                 const GpuTarget &target) const;

private:
  Result<AssembledCode> runPtxas(std::string_view ptx,
                                 const GpuTarget &target) const;
  Result<AssembledCode> runLibrary(std::string_view ptx,
                                   const GpuTarget &target) const;

  std::string place;
  void *library = nullptr; // of nvJitLink, never closed
};

} // namespace lockstitch

#endif // LOCKSTITCH_COMPILER_CODEGEN_ASSEMBLER_H
