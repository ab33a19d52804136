// A kernel on a GPU: one thread block for `rowsPerBlock` rows, `threadsPerRow`
// threads for each.
//
//   lane = tid mod threadsPerRow, row = ctaid * rowsPerBlock + tid /
//   threadsPerRow for each stage
//     for it = 0 .. full-1            steps in which every lane has V columns:
//     (it*T + lane)*V .. if lane < partial               the last step, when
//     V*T does not divide the columns fold: V lanes of a vector -> lanes of a
//     warp (shuffles) -> warps (shared memory, one barrier per stage, shuffles)
//     finish                          by all threads alike; stores by lane 0
//
// Unrolled, the steps are straight code and a tile in registers is a value per
// step. Where lanes wait for each other is decided by
// compiler/schedule/place_syncs.h, where tiles live by the schedule.
//
// Barriers: only between stages, at the top level, never under a condition.
// Rows past the end compute row rows-1 again and store nothing, so that every
// thread reaches every barrier and every shuffle.
#include "compiler/codegen/body_emitter.h"
#include "compiler/codegen/lowering.h"

using namespace mlir;

namespace lockstitch::codegen {
namespace {

class GpuLowering : public BodyContext {
public:
  GpuLowering(ValueBuilder &v, const StageProgram &program,
              const KernelSchedule &schedule,
              const std::vector<SyncPoint> &syncs)
      : v(v), program(program), schedule(schedule), syncs(syncs),
        emitter(v, program, needsWideIndex(program, schedule) ? 64 : 32),
        vectorWidth(std::max(schedule.vectorWidth, 1u)),
        threads(schedule.threadsPerRow), rows(schedule.rowsPerBlock),
        layout(layoutShared(program, schedule)) {}

  void run(LLVM::LLVMFuncOp function, Value sharedMemory) {
    Block *entry = &function.getBody().front();
    shared = sharedMemory;
    emitter.setArgumentPointers(SmallVector<Value>(
        entry->getArguments().begin(), entry->getArguments().end()));
    if (program.rows.value() <
        1) { // nothing to compute, and no row to clamp to
      LLVM::ReturnOp::create(v.b, ValueRange{});
      return;
    }
    mapThreads();
    for (unsigned number = 0; number < program.stages.size(); ++number)
      emitStage(program.stages[number], number);
    LLVM::ReturnOp::create(v.b, ValueRange{});
  }

  // BodyContext
  Value loadTile(uint32_t tile) override {
    if (isInRegisters(tile))
      return tileValues[{tile, step}];
    return emitter.loadMemory(tilePointer(tile), program.tiles[tile].type,
                              vectorWidth, tileAlignment(tile));
  }
  void storeTile(uint32_t tile, Value value) override {
    if (isInRegisters(tile))
      tileValues[{tile, step}] = value;
    else
      emitter.storeMemory(value, tilePointer(tile), program.tiles[tile].type,
                          tileAlignment(tile));
  }
  void store(llvm::function_ref<void()> emitStores) override {
    Value condition = storeCondition;
    if (!condition)
      return emitStores();
    auto branch = scf::IfOp::create(v.b, condition, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(v.b);
    v.b.setInsertionPointToStart(branch.thenBlock());
    emitStores();
  }

  BodyEmitter &body() { return emitter; }

private:
  static bool needsWideIndex(const StageProgram &program,
                             const KernelSchedule &schedule) {
    return schedule.wideIndex ||
           schedule.gridX * schedule.rowsPerBlock > INT32_MAX;
  }

  // Threads

  void mapThreads() {
    Type i32 = v.i(32);
    Value tid = NVVM::ThreadIdXOp::create(v.b, i32);
    Value block =
        v.resize(NVVM::BlockIdXOp::create(v.b, i32), emitter.indexBits, false);
    lane = tid;
    Value row = block;
    if (rows > 1) {
      lane = v.andI(tid, v.k(tid, threads - 1));
      rowInBlock = v.shrU(tid, v.k(tid, llvm::Log2_32(threads)));
      row = v.add(v.mul(block, v.k(block, rows), true),
                  v.resize(rowInBlock, emitter.indexBits, false), true);
    }
    if (schedule.gridX * rows != program.rows.value()) {
      rowExists =
          v.compare(IntCompare::ult, row, v.k(row, program.rows.value()));
      row = v.select(rowExists, row, v.k(row, program.rows.value() - 1));
    }
    emitter.setDim(kRowDim, {{{row, 0}}, 0, 0});
    laneColumn =
        v.mul(v.resize(lane, emitter.indexBits, false),
              v.constantInt(v.i(emitter.indexBits), vectorWidth), true);
    storeCondition = rowExists;
  }

  // Tiles

  bool isInRegisters(uint32_t tile) const {
    return schedule.tiles[tile] == TileSpace::Register;
  }
  Value tilePointer(uint32_t tile) {
    const StageTile &info = program.tiles[tile];
    Value start = emitter.offsetPointer(rows > 1 ? tileBase : shared,
                                        layout.slots.offsets[info.slot]);
    return emitter.gep(start, v.memoryType(info.type), emitter.column());
  }
  int64_t tileAlignment(uint32_t tile) {
    return std::min<int64_t>(vectorWidth * byteSize(program.tiles[tile].type),
                             16);
  }

  // Columns

  void emitStage(const Stage &stage, unsigned number) {
    syncAt(number, SyncPlace::Body);
    int64_t chunks = stage.columns / vectorWidth;
    int64_t full = chunks / threads, partial = chunks % threads;
    Accumulators accumulators;
    for (const StageReduction &fold : stage.reductions)
      accumulators.push_back(emitter.initial(fold, vectorWidth));
    emitter.startColumns(stage, vectorWidth);
    if (layout.slots.bytes > 0 && rows > 1 && !tileBase)
      tileBase = emitter.gep(
          shared, v.i(8),
          v.mul(rowInBlock, v.k(rowInBlock, layout.slots.bytes), true));
    if (schedule.unrollColumns || full <= 1)
      for (step = 0; step < full; ++step)
        accumulators = emitStep(stage, accumulators);
    else
      accumulators = emitLoop(stage, full, accumulators);
    step = full;
    if (partial)
      accumulators = emitPartialStep(stage, partial, accumulators);
    foldAcrossLanes(stage, number, accumulators);
    Value outside = storeCondition;
    if (threads > 1) {
      Value first = v.compare(IntCompare::eq, lane, v.k(lane, 0));
      storeCondition = rowExists ? v.andI(first, rowExists) : first;
    }
    emitter.emitBlock(stage.finish, *this);
    storeCondition = outside;
  }

  int64_t columnsPerStep() const {
    return static_cast<int64_t>(threads) * vectorWidth;
  }

  /// Step number `step`, with all of its columns there.
  Accumulators emitStep(const Stage &stage, const Accumulators &accumulators) {
    emitter.enter(nullptr);
    emitter.setDim(
        kColumnDim,
        {{{laneColumn, 0}}, step * columnsPerStep(), emitter.depth()});
    emitter.emitBlock(stage.body, *this);
    Accumulators result = emitter.emitUpdates(stage, accumulators, vectorWidth);
    emitter.leave();
    return result;
  }

  Accumulators emitLoop(const Stage &stage, int64_t full,
                        const Accumulators &accumulators) {
    Type type = v.i(emitter.indexBits);
    auto loop = scf::ForOp::create(v.b, v.constantInt(type, 0),
                                   v.constantInt(type, full * columnsPerStep()),
                                   v.constantInt(type, columnsPerStep()),
                                   flatten(accumulators));
    OpBuilder::InsertionGuard guard(v.b);
    emitter.enter(loop);
    v.b.setInsertionPointToStart(loop.getBody());
    emitter.setDim(kColumnDim, {{{laneColumn, 0},
                                 {loop.getInductionVar(), emitter.depth()}},
                                0,
                                emitter.depth()});
    emitter.emitBlock(stage.body, *this);
    SmallVector<Value> next = flatten(emitter.emitUpdates(
        stage, unflatten(stage, loop.getRegionIterArgs()), vectorWidth));
    if (!next.empty())
      scf::YieldOp::create(v.b, next);
    emitter.leave();
    return unflatten(stage, loop.getResults());
  }

  /// The last step, in which only the first `partial` lanes have columns. Tiles
  /// that it stores in registers become results.
  Accumulators emitPartialStep(const Stage &stage, int64_t partial,
                               const Accumulators &accumulators) {
    SmallVector<uint32_t> stored;
    for (const StageOp &op : stage.body.ops)
      if (op.opcode == StageOpcode::TileStore && isInRegisters(op.tile) &&
          !llvm::is_contained(stored, op.tile))
        stored.push_back(op.tile);
    SmallVector<Value> otherwise = flatten(accumulators);
    size_t numAccumulators = otherwise.size();
    for (uint32_t tile : stored)
      otherwise.push_back(
          v.constant(program.tiles[tile].type, {}, vectorWidth));
    SmallVector<Type> types(ValueRange(otherwise).getTypes());
    Value condition = v.compare(IntCompare::ult, lane, v.k(lane, partial));
    auto branch =
        scf::IfOp::create(v.b, types, condition, /*addThenBlock=*/true,
                          /*addElseBlock=*/!types.empty());
    {
      OpBuilder::InsertionGuard guard(v.b);
      emitter.enter(branch);
      v.b.setInsertionPointToStart(branch.thenBlock());
      emitter.setDim(
          kColumnDim,
          {{{laneColumn, 0}}, step * columnsPerStep(), emitter.depth()});
      emitter.emitBlock(stage.body, *this);
      SmallVector<Value> results =
          flatten(emitter.emitUpdates(stage, accumulators, vectorWidth));
      for (uint32_t tile : stored)
        results.push_back(tileValues[{tile, step}]);
      scf::YieldOp::create(v.b, results);
      emitter.leave();
      if (!types.empty()) {
        v.b.setInsertionPointToStart(branch.elseBlock());
        scf::YieldOp::create(v.b, otherwise);
      }
    }
    for (auto [index, tile] : llvm::enumerate(stored))
      tileValues[{tile, step}] = branch.getResult(numAccumulators + index);
    return unflatten(stage, branch.getResults().take_front(numAccumulators));
  }

  // Folds across lanes

  const SyncPoint *syncOf(unsigned stage, SyncPlace place) const {
    for (const SyncPoint &point : syncs)
      if (point.stage == stage && point.place == place)
        return &point;
    return nullptr;
  }
  void syncAt(unsigned stage, SyncPlace place) {
    if (syncOf(stage, place))
      NVVM::Barrier0Op::create(v.b);
  }

  void foldAcrossLanes(const Stage &stage, unsigned number,
                       Accumulators accumulators) {
    if (stage.reductions.empty())
      return;
    for (auto [fold, values] : llvm::zip(stage.reductions, accumulators))
      values = emitter.foldLanes(fold, values);
    exchange(stage, number, SyncPlace::Exchange, accumulators);
    if (threads > 32)
      foldWarps(stage, number, accumulators);
    for (auto [fold, values] : llvm::zip(stage.reductions, accumulators))
      for (auto [id, type, value] : llvm::zip(fold.results, fold.types, values))
        emitter.setValue(id, {value, type, 0});
  }

  void exchange(const Stage &stage, unsigned number, SyncPlace place,
                Accumulators &accumulators) {
    if (const SyncPoint *point = syncOf(number, place))
      for (auto [fold, values] : llvm::zip(stage.reductions, accumulators))
        values = foldByShuffles(fold, values, point->lanes);
  }

  /// Combines `lanes` neighbouring lanes; all of them get the result.
  SmallVector<Value> foldByShuffles(const StageReduction &fold,
                                    ArrayRef<Value> values, unsigned lanes) {
    SmallVector<Value> now(values);
    bool ordered = !isCommutative(fold);
    for (unsigned distance = lanes / 2; distance; distance /= 2) {
      SmallVector<Value> other;
      for (Value value : now)
        other.push_back(shuffle(value, distance));
      if (!ordered) {
        now = emitter.emitCombine(fold, now, other);
        continue;
      }
      // Both partners must compute the very same: the lower lane's value is on
      // the left.
      Value isUpper = v.compare(
          IntCompare::ne, v.andI(lane, v.k(lane, distance)), v.k(lane, 0));
      SmallVector<Value> left, right;
      for (auto [mine, theirs] : llvm::zip(now, other)) {
        left.push_back(v.select(isUpper, theirs, mine));
        right.push_back(v.select(isUpper, mine, theirs));
      }
      now = emitter.emitCombine(fold, left, right);
    }
    return now;
  }

  /// Is `combine` one operation for which the order of the sides does not
  /// matter?
  static bool isCommutative(const StageReduction &fold) {
    if (fold.combine.results.size() != 1)
      return false;
    const ScalarOp &op = fold.combine[fold.combine.results[0]];
    if (op.args.size() != 2 ||
        fold.combine[op.args[0]].opcode != ScalarOpcode::Argument ||
        fold.combine[op.args[1]].opcode != ScalarOpcode::Argument)
      return false;
    switch (op.opcode) {
    case ScalarOpcode::Add:
    case ScalarOpcode::Mul:
    case ScalarOpcode::Min:
    case ScalarOpcode::Max:
    case ScalarOpcode::And:
    case ScalarOpcode::Or:
    case ScalarOpcode::Xor:
      return true;
    default:
      return false;
    }
  }

  /// Lanes of this warp that take part in a shuffle: those that exist.
  Value shuffleMask() {
    if (memberMask)
      return memberMask;
    unsigned blockThreads = threads * rows;
    Type i32 = v.i(32);
    if (blockThreads % 32 == 0)
      return memberMask = v.constantInt(i32, -1);
    if (blockThreads < 32)
      return memberMask = v.constantInt(i32, (int64_t(1) << blockThreads) - 1);
    // The last warp is not full: name only the lanes of this row, which always
    // are in one warp.
    Value tid = NVVM::ThreadIdXOp::create(v.b, i32);
    Value first = v.andI(tid, v.k(tid, 31 & ~(threads - 1)));
    return memberMask =
               v.shl(v.constantInt(i32, (int64_t(1) << threads) - 1), first);
  }

  Value shuffle(Value value, unsigned distance) {
    Type type = value.getType(), i32 = v.i(32);
    unsigned bits = type.getIntOrFloatBitWidth();
    if (bits == 64) {
      Value whole = v.bits(value, v.i(64));
      Value low = shuffle(v.resize(whole, 32, false), distance);
      Value high =
          shuffle(v.resize(v.shrU(whole, v.k(whole, 32)), 32, false), distance);
      Value joined = v.resize(high, 64, false);
      joined = v.orI(v.shl(joined, v.k(joined, 32)), v.resize(low, 64, false));
      return v.bits(joined, type);
    }
    if (bits < 32)
      return v.resize(shuffle(v.resize(value, 32, false), distance), bits,
                      false);
    return NVVM::ShflOp::create(
        v.b, type, shuffleMask(), value, v.constantInt(i32, distance),
        v.constantInt(i32, 31), NVVM::ShflKind::bfly, UnitAttr());
  }

  /// The warps of a row that is a whole block: each leaves its partial result
  /// in shared memory, then every warp combines all of them.
  void foldWarps(const Stage &stage, unsigned number,
                 Accumulators &accumulators) {
    unsigned warps = threads / 32;
    Value inWarp = v.andI(lane, v.k(lane, 31)),
          warp = v.shrU(lane, v.k(lane, 5));
    struct Place {
      const PartialPlace *partial;
      Value base, *value;
    };
    SmallVector<Place> places;
    for (const PartialPlace &partial : layout.partials)
      if (partial.stage == number)
        places.push_back({&partial,
                          emitter.offsetPointer(shared, partial.offset),
                          &accumulators[partial.fold][partial.accumulator]});
    auto pointer = [&](const Place &place, Value index) {
      return emitter.gep(place.base, v.memoryType(place.partial->type), index);
    };
    Value isFirst = v.compare(IntCompare::eq, inWarp, v.k(inWarp, 0));
    syncAt(number, SyncPlace::StorePartials);
    auto branch = scf::IfOp::create(v.b, isFirst, /*withElseRegion=*/false);
    {
      OpBuilder::InsertionGuard guard(v.b);
      v.b.setInsertionPointToStart(branch.thenBlock());
      for (const Place &place : places)
        emitter.storeMemory(*place.value, pointer(place, warp),
                            place.partial->type, byteSize(place.partial->type));
    }
    syncAt(number, SyncPlace::LoadPartials);
    Value source = v.andI(inWarp, v.k(inWarp, warps - 1));
    for (const Place &place : places)
      *place.value =
          emitter.loadMemory(pointer(place, source), place.partial->type, 1,
                             byteSize(place.partial->type));
    exchange(stage, number, SyncPlace::Combine, accumulators);
  }

  ValueBuilder &v;
  const StageProgram &program;
  const KernelSchedule &schedule;
  const std::vector<SyncPoint> &syncs;
  BodyEmitter emitter;
  const unsigned vectorWidth, threads, rows;
  const SharedLayout layout;

  Value shared, lane, rowInBlock, laneColumn, tileBase, memberMask;
  Value rowExists;      // null: every row of the grid does
  Value storeCondition; // null: always
  int64_t step = 0;
  llvm::DenseMap<std::pair<uint32_t, int64_t>, Value> tileValues;
};

std::string checkSchedule(const StageProgram &program,
                          const KernelSchedule &schedule) {
  unsigned threads = schedule.threadsPerRow;
  if (!llvm::isPowerOf2_32(threads) ||
      !llvm::isPowerOf2_32(std::max(schedule.vectorWidth, 1u)))
    return "threads per row and vector width must be powers of two";
  if (threads > 32 && schedule.rowsPerBlock != 1)
    return "a row of more than 32 threads must be a block of its own";
  if (schedule.rowsPerBlock < 1 || threads * schedule.rowsPerBlock > 1024)
    return "a block has 1 to 1024 threads, not " +
           std::to_string(threads * schedule.rowsPerBlock);
  int64_t blocks = schedule.gridX, rows = program.rows.value();
  if (blocks < 1 || blocks > INT32_MAX || blocks * schedule.rowsPerBlock < rows)
    return "a grid of " + std::to_string(blocks) + " blocks does not cover " +
           std::to_string(rows) + " rows";
  for (const Stage &stage : program.stages)
    if (stage.columns % std::max(schedule.vectorWidth, 1u))
      return "vectors of " + std::to_string(schedule.vectorWidth) +
             " do not divide " + std::to_string(stage.columns) + " columns";
  for (TileSpace space : schedule.tiles)
    if (space == TileSpace::Register && !schedule.unrollColumns)
      return "a tile in registers needs its columns unrolled";
  return "";
}

std::string checkSyncs(const std::vector<SyncPoint> &syncs) {
  for (const SyncPoint &point : syncs) {
    std::string where = "stage " + std::to_string(point.stage) + ", " +
                        std::string(name(point.place)) + ": ";
    if (point.level != SyncLevel::Warp && point.level != SyncLevel::Block)
      return where + "a sync of level " + std::string(name(point.level)) +
             " has no lowering: a row stays within its block";
    bool isExchange =
        point.place == SyncPlace::Exchange || point.place == SyncPlace::Combine;
    if (isExchange != (point.level == SyncLevel::Warp))
      return where + "a sync of level " + std::string(name(point.level)) +
             " does not belong there";
  }
  return "";
}

} // namespace

OwningOpRef<ModuleOp> lowerToGpu(MLIRContext *context,
                                 const StageProgram &program,
                                 const KernelSchedule &schedule,
                                 const std::vector<SyncPoint> &syncs,
                                 MachineTraits traits, std::string &problem) {
  problem = checkSchedule(program, schedule);
  if (problem.empty())
    problem = checkSyncs(syncs);
  if (!problem.empty())
    return {};
  ValueBuilder v(context, UnknownLoc::get(context), traits);
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(context));
  Type pointer = LLVM::LLVMPointerType::get(context, 1);
  auto function =
      makeKernelFunction(v, *module, program,
                         SmallVector<Type>(program.arguments.size(), pointer));
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(),
                    v.b.getUnitAttr());
  function->setAttr(NVVM::NVVMDialect::getMaxntidAttrName(),
                    v.b.getDenseI32ArrayAttr({static_cast<int32_t>(
                        schedule.threadsPerRow * schedule.rowsPerBlock)}));
  for (auto [index, argument] : llvm::enumerate(program.arguments)) {
    // A read-only argument that nothing aliases is loaded through the read-only
    // path (ld.global.nc).
    function.setArgAttr(index, LLVM::LLVMDialect::getNoAliasAttrName(),
                        v.b.getUnitAttr());
    function.setArgAttr(index, LLVM::LLVMDialect::getAlignAttrName(),
                        v.b.getI64IntegerAttr(argument.alignment));
    function.setArgAttr(index,
                        argument.isOutput
                            ? LLVM::LLVMDialect::getWriteOnlyAttrName()
                            : LLVM::LLVMDialect::getReadonlyAttrName(),
                        v.b.getUnitAttr());
  }
  Block *entry = &function.getBody().front();
  Value shared;
  if (layoutShared(program, schedule).bytes > 0) {
    OpBuilder::InsertionGuard guard(v.b);
    v.b.setInsertionPointToStart(module->getBody());
    auto array = LLVM::LLVMArrayType::get(v.i(8), 0);
    LLVM::GlobalOp::create(v.b, array, /*isConstant=*/false,
                           LLVM::Linkage::External, kSharedSymbol, Attribute(),
                           16, 3);
    v.b.setInsertionPointToStart(entry);
    shared = LLVM::AddressOfOp::create(
        v.b, LLVM::LLVMPointerType::get(context, 3), kSharedSymbol);
  }
  v.startFunction(entry);
  v.b.setInsertionPointToEnd(entry);
  GpuLowering lowering(v, program, schedule, syncs);
  lowering.run(function, shared);
  problem = lowering.body().problem;
  return problem.empty() ? std::move(module) : OwningOpRef<ModuleOp>();
}

} // namespace lockstitch::codegen
