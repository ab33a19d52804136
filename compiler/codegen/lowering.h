// The two drivers around BodyEmitter, and what follows them. Internal to code
// generation.
#ifndef LOCKSTITCH_COMPILER_CODEGEN_LOWERING_H
#define LOCKSTITCH_COMPILER_CODEGEN_LOWERING_H

#include "compiler/codegen/codegen.h"
#include "compiler/codegen/value_builder.h"
#include "compiler/schedule/place_syncs.h"

namespace lockstitch::codegen {

/// Name of the one array of dynamic shared memory of a PTX module.
inline constexpr llvm::StringLiteral kSharedSymbol = "lockstitch_shared";

/// Builds `program` as an llvm.func in a module of its own. On failure the
/// module is null and `problem` says why. On a GPU the lanes wait for each
/// other where `syncs` says, and nowhere else.
mlir::OwningOpRef<mlir::ModuleOp>
lowerToGpu(mlir::MLIRContext *context, const StageProgram &program,
           const KernelSchedule &schedule, const std::vector<SyncPoint> &syncs,
           MachineTraits traits, std::string &problem);
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

} // namespace lockstitch::codegen

#endif // LOCKSTITCH_COMPILER_CODEGEN_LOWERING_H
