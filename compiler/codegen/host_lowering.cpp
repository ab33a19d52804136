// A kernel on the host: void symbol(void *const *args, int64_t rowBegin,
// int64_t rowEnd, void *scratch).
//
//   load the argument pointers
//   for row in [rowBegin, rowEnd)
//     for each stage
//       for c = 0 .. main step V        vectors; one accumulator of V lanes per
//       reduction fold the lanes of the accumulators for c = main .. columns
//       the rest, scalar, into the same accumulators, in order finish
//
// Tiles are rows of scratch memory; the vector loop uses them at multiples of
// V, so their accesses are aligned.
#include "compiler/codegen/body_emitter.h"
#include "compiler/codegen/lowering.h"

using namespace mlir;

namespace lockstitch::codegen {
namespace {

class HostLowering : public BodyContext {
public:
  HostLowering(ValueBuilder &v, const StageProgram &program,
               const KernelSchedule &schedule)
      : v(v), program(program), emitter(v, program, 64),
        vectorWidth(std::max(schedule.vectorWidth, 1u)),
        slots(layoutSlots(program, schedule, TileSpace::Scratch,
                          kScratchAlignment)) {}

  void run(LLVM::LLVMFuncOp function) {
    Block *entry = &function.getBody().front();
    v.b.setInsertionPointToStart(entry);
    v.startFunction(entry);
    Type pointer = LLVM::LLVMPointerType::get(v.b.getContext());
    SmallVector<Value> arguments;
    for (size_t i = 0; i < program.arguments.size(); ++i) {
      Value place = emitter.offsetPointer(entry->getArgument(0), i * 8);
      arguments.push_back(LLVM::LoadOp::create(v.b, pointer, place, 8u));
    }
    emitter.setArgumentPointers(arguments);
    scratch = entry->getArgument(3);
    auto rows =
        scf::ForOp::create(v.b, entry->getArgument(1), entry->getArgument(2),
                           v.constantInt(v.i(64), 1));
    LLVM::ReturnOp::create(v.b, ValueRange{});
    emitter.enter(rows);
    v.b.setInsertionPointToStart(rows.getBody());
    emitter.setDim(
        kRowDim,
        {{{rows.getInductionVar(), emitter.depth()}}, 0, emitter.depth()});
    for (const Stage &stage : program.stages)
      emitStage(stage);
    emitter.leave();
  }

  Value loadTile(uint32_t tile) override {
    return emitter.loadMemory(tilePointer(tile), program.tiles[tile].type,
                              width, tileAlignment(tile));
  }
  void storeTile(uint32_t tile, Value value) override {
    emitter.storeMemory(value, tilePointer(tile), program.tiles[tile].type,
                        tileAlignment(tile));
  }

  BodyEmitter &body() { return emitter; }

private:
  Value tilePointer(uint32_t tile) {
    const StageTile &info = program.tiles[tile];
    Value start = emitter.offsetPointer(scratch, slots.offsets[info.slot]);
    return emitter.gep(start, v.memoryType(info.type), emitter.column());
  }
  int64_t tileAlignment(uint32_t tile) {
    return std::min<int64_t>(width * byteSize(program.tiles[tile].type),
                             kScratchAlignment);
  }

  void emitStage(const Stage &stage) {
    int64_t main =
        vectorWidth > 1 ? stage.columns - stage.columns % vectorWidth : 0;
    Accumulators accumulators;
    if (main > 0) {
      for (const StageReduction &fold : stage.reductions)
        accumulators.push_back(emitter.initial(fold, vectorWidth));
      emitColumns(stage, vectorWidth, 0, main, accumulators);
      for (auto [fold, values] : llvm::zip(stage.reductions, accumulators))
        values = emitter.foldLanes(fold, values);
    } else {
      for (const StageReduction &fold : stage.reductions)
        accumulators.push_back(emitter.initial(fold, 1));
    }
    emitColumns(stage, 1, main, stage.columns, accumulators);
    for (auto [fold, values] : llvm::zip(stage.reductions, accumulators))
      for (auto [id, type, value] : llvm::zip(fold.results, fold.types, values))
        emitter.setValue(id, {value, type, emitter.depth()});
    emitter.emitBlock(stage.finish, *this);
  }

  /// Columns first .. last-1 in steps of `step` lanes; a single step needs no
  /// loop.
  void emitColumns(const Stage &stage, unsigned step, int64_t first,
                   int64_t last, Accumulators &accumulators) {
    if (first >= last)
      return;
    width = step;
    emitter.startColumns(stage, step);
    if (last - first == step) {
      emitter.enter(nullptr);
      emitter.setDim(kColumnDim, {{}, first, emitter.depth()});
      emitter.emitBlock(stage.body, *this);
      accumulators = emitter.emitUpdates(stage, accumulators, width);
      emitter.leave();
      return;
    }
    Type index = v.i(64);
    auto loop = scf::ForOp::create(
        v.b, v.constantInt(index, first), v.constantInt(index, last),
        v.constantInt(index, step), flatten(accumulators));
    {
      OpBuilder::InsertionGuard guard(v.b);
      emitter.enter(loop);
      v.b.setInsertionPointToStart(loop.getBody());
      emitter.setDim(
          kColumnDim,
          {{{loop.getInductionVar(), emitter.depth()}}, 0, emitter.depth()});
      emitter.emitBlock(stage.body, *this);
      Accumulators carried = unflatten(stage, loop.getRegionIterArgs());
      SmallVector<Value> next =
          flatten(emitter.emitUpdates(stage, carried, width));
      if (!next.empty())
        scf::YieldOp::create(v.b, next);
      emitter.leave();
    }
    accumulators = unflatten(stage, loop.getResults());
  }

  ValueBuilder &v;
  const StageProgram &program;
  BodyEmitter emitter;
  const unsigned vectorWidth;
  const SlotLayout slots;
  unsigned width = 1; // of the columns being emitted
  Value scratch;
};

} // namespace

OwningOpRef<ModuleOp> lowerToHost(MLIRContext *context,
                                  const StageProgram &program,
                                  const KernelSchedule &schedule,
                                  MachineTraits traits, std::string &problem) {
  ValueBuilder v(context, UnknownLoc::get(context), traits);
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(context));
  Type pointer = LLVM::LLVMPointerType::get(context), i64 = v.i(64);
  auto function =
      makeKernelFunction(v, *module, program, {pointer, i64, i64, pointer});
  HostLowering lowering(v, program, schedule);
  lowering.run(function);
  problem = lowering.body().problem;
  return problem.empty() ? std::move(module) : OwningOpRef<ModuleOp>();
}

} // namespace lockstitch::codegen
