// From the operations that the drivers built to optimised LLVM IR.
//
// The kernels are built at the level of the LLVM dialect already (pointers,
// loads, stores), so two conversions suffice: the loops become branches, then
// every arith, math and cf operation becomes its LLVM counterpart; no type
// changes.
#include "compiler/codegen/lowering.h"

using namespace mlir;

namespace lockstitch::codegen {

LLVM::LLVMFuncOp makeKernelFunction(ValueBuilder &v, ModuleOp module,
                                    const StageProgram &program,
                                    ArrayRef<Type> argumentTypes) {
  MLIRContext *context = v.b.getContext();
  // Line information only: "DebugDirectivesOnly" gives `.loc` and no debug
  // sections.
  auto name = StringAttr::get(context, program.name);
  auto file = LLVM::DIFileAttr::get(context, "primitives", "");
  auto unit = LLVM::DICompileUnitAttr::get(
      DistinctAttr::create(UnitAttr::get(context)), llvm::dwarf::DW_LANG_C,
      file, StringAttr::get(context, "lockstitch"), /*isOptimized=*/true,
      LLVM::DIEmissionKind::DebugDirectivesOnly);
  auto type =
      LLVM::DISubroutineTypeAttr::get(context, llvm::dwarf::DW_CC_normal, {});
  auto subprogram = LLVM::DISubprogramAttr::get(
      context, DistinctAttr::create(UnitAttr::get(context)), unit, file, name,
      name, file, 0, 0,
      LLVM::DISubprogramFlags::Definition | LLVM::DISubprogramFlags::Optimized,
      type, {}, {});
  Location location = FusedLocWith<LLVM::DISubprogramAttr>::get(
      {FileLineColLoc::get(context, "primitives", 0, 0)}, subprogram, context);
  v.b.setLoc(location);
  v.b.setInsertionPointToEnd(module.getBody());
  auto functionType = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(context), argumentTypes);
  auto function = LLVM::LLVMFuncOp::create(v.b, program.name, functionType);
  function.addEntryBlock(v.b);
  v.b.setLoc(FileLineColLoc::get(context, "primitives", 0, 0));
  return function;
}

LogicalResult lowerToLlvmDialect(ModuleOp module) {
  MLIRContext *context = module.getContext();
  ConversionConfig config;
  config.allowPatternRollback = false;
  {
    RewritePatternSet patterns(context);
    populateSCFToControlFlowConversionPatterns(patterns);
    ConversionTarget target(*context);
    target.addIllegalDialect<scf::SCFDialect>();
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    if (failed(applyPartialConversion(module, target, std::move(patterns),
                                      config)))
      return failure();
  }
  LLVMTypeConverter converter(context);
  RewritePatternSet patterns(context);
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  populateMathToLLVMConversionPatterns(converter, patterns);
  LLVMConversionTarget target(*context);
  target.addLegalDialect<NVVM::NVVMDialect>();
  target.addLegalOp<ModuleOp>();
  return applyFullConversion(module, target, std::move(patterns), config);
}

std::unique_ptr<llvm::Module> translateToLlvm(ModuleOp module,
                                              llvm::LLVMContext &context,
                                              llvm::TargetMachine &machine) {
  std::unique_ptr<llvm::Module> result = translateModuleToLLVMIR(
      module, context, "lockstitch", /*disableVerification=*/true);
  if (!result)
    return nullptr;
  result->setTargetTriple(machine.getTargetTriple());
  result->setDataLayout(machine.createDataLayout());
  for (llvm::Function &function : *result) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr(llvm::Attribute::NoUnwind);
    if (machine.getTargetTriple().isNVPTX())
      continue;
    function.addFnAttr("target-cpu", machine.getTargetCPU());
    function.addFnAttr("target-features", machine.getTargetFeatureString());
    // The schedule chose the vectors: do not split them to please a default
    // that prefers shorter ones.
    function.addFnAttr("prefer-vector-width", "512");
    function.addFnAttr("min-legal-vector-width", "512");
    function.addFnAttr("no-trapping-math", "true");
    // A scalar remainder loop must not become a call of memset or memcpy: the
    // object has no externals.
    function.addFnAttr("no-builtins");
  }
  return result;
}

void optimise(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::FunctionPassManager passes;
  // A GPU thread has no vector registers: take the vectors apart here, where it
  // is cheap and sure, and keep them only in loads and stores.
  if (machine.getTargetTriple().isNVPTX())
    passes.addPass(llvm::ScalarizerPass());
  passes.addPass(llvm::EarlyCSEPass());
  passes.addPass(
      llvm::InstCombinePass(llvm::InstCombineOptions().setMaxIterations(1)));
  passes.addPass(llvm::SimplifyCFGPass());
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      passes.run(function, functions);
}

} // namespace lockstitch::codegen
