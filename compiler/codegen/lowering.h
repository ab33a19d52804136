// The two drivers around BodyEmitter, and what follows them. Internal to code
// generation.
#ifndef LOCKSTITCH_COMPILER_CODEGEN_LOWERING_H
#define LOCKSTITCH_COMPILER_CODEGEN_LOWERING_H

#include "compiler/codegen/codegen.h"
#include "compiler/codegen/value_builder.h"

namespace lockstitch::codegen {

/// Name of the one array of dynamic shared memory of a PTX module.
inline constexpr llvm::StringLiteral kSharedSymbol = "lockstitch_shared";

/// Builds `program` as an llvm.func in a module of its own. On failure the
/// module is null and `problem` says why.
mlir::OwningOpRef<mlir::ModuleOp> lowerToGpu(mlir::MLIRContext *context,
                                             const StageProgram &program,
                                             const KernelSchedule &schedule,
                                             MachineTraits traits,
                                             std::string &problem);
mlir::OwningOpRef<mlir::ModuleOp> lowerToHost(mlir::MLIRContext *context,
                                              const StageProgram &program,
                                              const KernelSchedule &schedule,
                                              MachineTraits traits,
                                              std::string &problem);

/// A function with debug information that turns every operation's line into
/// `.loc`, and a builder set up in its body.
mlir::LLVM::LLVMFuncOp makeKernelFunction(ValueBuilder &v,
                                          mlir::ModuleOp module,
                                          const StageProgram &program,
                                          llvm::ArrayRef<Type> argumentTypes);

/// scf, arith, math and cf -> the LLVM dialect, in place.
mlir::LogicalResult lowerToLlvmDialect(mlir::ModuleOp module);

/// Everything of a module for `machine` (target triple, data layout), after the
/// cheap passes its target needs.
std::unique_ptr<llvm::Module> translateToLlvm(mlir::ModuleOp module,
                                              llvm::LLVMContext &context,
                                              llvm::TargetMachine &machine);
void optimise(llvm::Module &module, llvm::TargetMachine &machine);

/// Where the shared memory or the scratch row of each slot begins, and the size
/// of all.
struct SlotLayout {
  std::vector<int64_t> offsets; // of each slot
  int64_t bytes = 0;
};
SlotLayout layoutSlots(const StageProgram &program, int64_t alignment);
/// Bytes of the partial results of one accumulator of `type`: one per warp,
/// rounded up to 16.
int64_t partialBytes(ElementType type, unsigned warps);
/// Tiles may share a slot only when their elements have one size: else a lane's
/// columns of one tile would be another lane's of the other. Says what is
/// wrong, or nothing.
std::optional<std::string> checkSlots(const StageProgram &program);

} // namespace lockstitch::codegen

#endif // LOCKSTITCH_COMPILER_CODEGEN_LOWERING_H
