#include "compiler/schedule/stage_emitter.h"

#include <algorithm>
#include <bit>
#include <set>

namespace lockstitch {
namespace {
/// Key of "the value of scalar `scalar` of instance `id`"; the all-ones scalar is the instance's result.
constexpr ScalarId kResult = UINT32_MAX;
uint64_t key(InstanceId id, ScalarId scalar) {
  return static_cast<uint64_t>(id) << 32 | scalar;
}
} // namespace

StageEmitter::StageEmitter(const PrimitiveGraph &graph, const KernelSpec &spec,
                           const StageOptions &options,
                           const InstanceGraph &instances)
    : graph(graph), spec(spec), options(options), instances(instances) {}

StageProgram StageEmitter::run(const std::vector<Output> &outputs,
                               const std::vector<InstanceId> &reductions) {
  program.name = spec.name;
  program.rows = instances.rows;
  program.loopTrips = instances.loopTrips;
  program.numLoopDims = static_cast<unsigned>(instances.loopTrips.size());
  planStages(outputs, reductions);
  for (current = 0; current < program.stages.size(); ++current) {
    const StageKey &stage = stageKeys[current];
    for (InstanceId id : reductions) {
      const Instance &body = instances.instances[instances.instances[id].body];
      if (body.level == stage.level && body.columns == stage.columns)
        emitReduction(id, current);
    }
    // Column values first: a row value of this stage's finish block must not be found while its body is written.
    for (bool rowLevel : {false, true})
      for (const Output &output : outputs) {
        int level = instances.instances[output.instance].level;
        bool here =
            rowLevel ? lastStageOfLevel[std::max(level - 1, 0)] ==
                           static_cast<int>(current)
                     : level == stage.level && output.columns == stage.columns;
        if (output.rowLevel != rowLevel || !here)
          continue;
        Scope finish = finishScope(level);
        Scope &scope = rowLevel ? finish : bodyScopes[current];
        store(output, scope);
      }
  }
  assignSlots();
  return std::move(program);
}

void StageEmitter::store(const Output &output, Scope &scope) {
  StageOp op;
  op.opcode = StageOpcode::Store;
  op.type = graph.type(output.value).element;
  op.args = {result(output.instance, scope)};
  op.argument = argument(output.value, true);
  op.index = output.offset;
  append(*scope.block, std::move(op));
}

StageProgram StageEmitter::runScan(const std::vector<Output> &outputs,
                                   InstanceId scan) {
  const Instance &instance = instances.instances[scan];
  const Primitive &primitive = graph.primitives[instance.primitive];
  program.name = spec.name;
  program.rows = instances.rows;
  program.loopTrips = instances.loopTrips;
  program.numLoopDims = static_cast<unsigned>(instances.loopTrips.size());
  program.loopTrips[instance.loopDim - kFirstLoopDim] = instance.trips;
  stageKeys = {{0, instance.columns}};
  lastStageOfLevel = {0};
  program.stages.resize(1);
  program.stages[0].columns = instance.columns;
  bodyScopes.resize(1);
  bodyScopes[0].parent = &rowScope;
  bodyScopes[0].block = &program.stages[0].body;

  auto loop = std::make_shared<StageLoop>();
  loop->loopDim = instance.loopDim;
  loop->trips = instance.trips;
  Scope inner, trip;
  inner.parent = &bodyScopes[0];
  inner.block = &loop->body;
  inner.loopDim = instance.loopDim;
  loop->reduction = foldOf(scan, inner);
  for (size_t i = 0; i < primitive.reducer.types.size(); ++i) {
    loop->running.push_back(program.numValues++);
    loop->reduction.results.push_back(program.numValues++);
  }
  trip.parent = &inner;
  trip.block = &loop->trip;
  trip.loopDim = instance.loopDim;
  trip.values[key(scan, kResult)] =
      region(primitive.reducer.finish, loop->running, 0, loop->trip,
             originOf(instance.primitive));
  for (const Output &output : outputs)
    store(output, trip);
  StageOp op;
  op.opcode = StageOpcode::Loop;
  op.type = primitive.reducer.types[0];
  op.result = loop->reduction.results[0];
  op.origin = originOf(instance.primitive);
  op.loop = std::move(loop);
  append(*bodyScopes[0].block, std::move(op));
  return std::move(program);
}

/// The fold of a reduction or scan, whose body is evaluated in `inner`; without results.
StageReduction StageEmitter::foldOf(InstanceId id, Scope &inner) {
  PrimitiveId primitiveId = instances.instances[id].primitive;
  const Primitive &primitive = graph.primitives[primitiveId];
  StageReduction fold;
  fold.types = primitive.reducer.types;
  fold.init = primitive.reducer.init;
  fold.update = primitive.reducer.update;
  fold.combine = primitive.reducer.combine;
  fold.origin = originOf(primitiveId);
  for (ScalarId yielded : primitive.body.results)
    fold.values.push_back(scalar(id, yielded, inner));
  return fold;
}

/// Tiles of one size whose lives do not overlap share a slot. A slot may be read and then written in one stage: a column's
/// lane reads before it writes, because the store stands at the end of the body.
void StageEmitter::assignSlots() {
  struct Slot {
    int end;
    size_t bytes;
    int64_t columns;
  };
  std::vector<Slot> slots;
  std::vector<uint32_t> order(program.tiles.size());
  for (uint32_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return tileLife[a].first != tileLife[b].first
               ? tileLife[a].first < tileLife[b].first
               : a < b;
  });
  for (uint32_t tile : order) {
    StageTile &entry = program.tiles[tile];
    uint32_t slot = 0;
    while (slot < slots.size() && (slots[slot].end > tileLife[tile].first ||
                                   slots[slot].bytes != byteSize(entry.type) ||
                                   slots[slot].columns != entry.columns))
      ++slot;
    if (slot == slots.size())
      slots.push_back({0, byteSize(entry.type), entry.columns});
    slots[slot].end = tileLife[tile].second;
    entry.slot = slot;
  }
}

void StageEmitter::planStages(const std::vector<Output> &outputs,
                              const std::vector<InstanceId> &reductions) {
  std::set<StageKey> keys;
  for (InstanceId id : reductions) {
    const Instance &body = instances.instances[instances.instances[id].body];
    keys.insert({body.level, body.columns});
  }
  bool rowLevelOnly = keys.empty();
  for (const Output &output : outputs) {
    rowLevelOnly &= output.rowLevel;
    if (!output.rowLevel)
      keys.insert({instances.instances[output.instance].level, output.columns});
  }
  if (rowLevelOnly)
    keys.insert({0, 1});
  stageKeys.assign(keys.begin(), keys.end());
  program.stages.resize(stageKeys.size());
  bodyScopes.resize(stageKeys.size());
  lastStageOfLevel.assign(stageKeys.back().level + 1, 0);
  for (size_t i = 0; i < stageKeys.size(); ++i) {
    program.stages[i].columns = stageKeys[i].columns;
    bodyScopes[i].parent = &rowScope;
    bodyScopes[i].block = &program.stages[i].body;
    lastStageOfLevel[stageKeys[i].level] = static_cast<int>(i);
  }
}

void StageEmitter::emitReduction(InstanceId rowResult, unsigned stage) {
  const Instance &instance = instances.instances[rowResult];
  const Primitive &primitive = graph.primitives[instance.primitive];
  Scope &scope = bodyScopes[stage];
  StageReduction fold = foldOf(instance.body, scope);
  for (size_t i = 0; i < fold.types.size(); ++i)
    fold.results.push_back(program.numValues++);
  StageBlock &finish = program.stages[stage].finish;
  StageValueId value =
      region(primitive.reducer.finish, fold.results, 0, finish, fold.origin);
  program.stages[stage].reductions.push_back(std::move(fold));
  rowScope.values[key(rowResult, kResult)] = value;
}

StageValueId StageEmitter::append(StageBlock &block, StageOp op) {
  StageValueId id = op.result;
  block.ops.push_back(std::move(op));
  return id;
}

uint32_t StageEmitter::argument(ValueId value, bool isOutput) {
  if (!isOutput)
    if (auto known = inputArguments.find(value); known != inputArguments.end())
      return known->second;
  const TensorType &type = graph.type(value);
  program.arguments.push_back(
      {type.element, type.elements(), isOutput, value,
       std::min(alignmentOf(graph, value), kAccessAlignment)});
  uint32_t index = static_cast<uint32_t>(program.arguments.size() - 1);
  if (!isOutput)
    inputArguments[value] = index;
  return index;
}

ScalarId StageEmitter::resultScalar(InstanceId id) const {
  const Primitive &primitive =
      graph.primitives[instances.instances[id].primitive];
  return primitive.body.results[0];
}

/// The finish block in which row values of `level` are computed; what is defined there is kept in rowScope.
StageEmitter::Scope StageEmitter::finishScope(int level) {
  Scope scope;
  scope.parent = &rowScope;
  scope.block =
      &program.stages[lastStageOfLevel[std::max(level - 1, 0)]].finish;
  scope.inFinish = true;
  return scope;
}

/// The scope in which something with `dependence` and `level` is computed when `scope` asks for it.
StageEmitter::Scope &StageEmitter::scopeFor(const Dependence &dependence,
                                            int level, Scope &scope,
                                            Scope &rowStorage) {
  if (dependence.loops) {
    Scope *at = &scope;
    while (at->loopDim == 0 ||
           !(dependence.loops >> (at->loopDim - kFirstLoopDim) & 1))
      at = at->parent;
    return *at;
  }
  if (!dependence.column && (level > 0 || scope.inFinish)) {
    rowStorage = finishScope(level);
    return rowStorage;
  }
  return bodyScopes[current];
}

StageValueId StageEmitter::result(InstanceId id, Scope &scope) {
  const Instance &instance = instances.instances[id];
  for (Scope *at = &scope; at; at = at->parent)
    if (auto known = at->values.find(key(id, kResult));
        known != at->values.end())
      return known->second;
  if (instance.dependence.column && !instance.dependence.loops)
    if (StageValueId kept = tile(id, scope); kept != kNone)
      return kept;
  StageValueId value = kNone;
  switch (instance.kind) {
  case Instance::Kind::Load:
    return emitLoad(id, scope);
  case Instance::Kind::Loop:
    return emitLoop(id, scope);
  case Instance::Kind::Pull:
    value = scalar(id, resultScalar(id), scope);
    break;
  case Instance::Kind::RowResult:
  case Instance::Kind::RowBody:
  case Instance::Kind::Scan:
    return kNone; // always known: stages are written in the order of their levels, a scan's trip after its fold
  }
  Scope rowStorage;
  Scope &own = scopeFor(instance.dependence, instance.level, scope, rowStorage);
  (&own == &rowStorage ? rowScope : own).values[key(id, kResult)] = value;
  return value;
}

/// If an earlier stage of the same columns computed the instance, a tile hands it on.
StageValueId StageEmitter::tile(InstanceId id, Scope &scope) {
  const Instance &instance = instances.instances[id];
  if (!options.tiles || !instance.readsMemory)
    return kNone;
  for (unsigned earlier = 0; earlier < current; ++earlier) {
    if (stageKeys[earlier].columns != stageKeys[current].columns)
      continue;
    auto known = bodyScopes[earlier].values.find(key(id, kResult));
    if (known == bodyScopes[earlier].values.end())
      continue;
    ElementType type = graph.type(instance.value).element;
    auto [at, isNew] =
        tiles.try_emplace(id, static_cast<uint32_t>(program.tiles.size()));
    if (isNew) {
      program.tiles.push_back({type, stageKeys[current].columns, 0});
      tileLife.push_back(
          {static_cast<int>(earlier), static_cast<int>(current)});
      StageOp store;
      store.opcode = StageOpcode::TileStore;
      store.type = type;
      store.args = {known->second};
      store.tile = at->second;
      program.stages[earlier].body.ops.push_back(std::move(store));
    }
    tileLife[at->second].second = static_cast<int>(current);
    StageOp load;
    load.opcode = StageOpcode::TileLoad;
    load.type = type;
    load.tile = at->second;
    load.result = program.numValues++;
    if (instance.primitive != kNone)
      load.origin = originOf(instance.primitive);
    StageValueId value = append(*bodyScopes[current].block, std::move(load));
    bodyScopes[current].values[key(id, kResult)] = value;
    return value;
  }
  return kNone;
}

StageValueId StageEmitter::emitLoad(InstanceId id, Scope &scope) {
  const Instance &instance = instances.instances[id];
  Scope rowStorage;
  Scope &own = scopeFor(instance.dependence, instance.level, scope, rowStorage);
  StageOp op;
  op.opcode = StageOpcode::Load;
  op.type = graph.type(instance.value).element;
  op.index = bindRuntimes(instance.offset, own);
  for (const IndexConstraint &guard : instance.guards)
    op.guards.push_back({bindRuntimes(guard.expr, own), guard.lo, guard.hi});
  op.argument = argument(instance.value, false);
  op.result = program.numValues++;
  StageValueId value = append(*own.block, std::move(op));
  (&own == &rowStorage ? rowScope : own).values[key(id, kResult)] = value;
  return value;
}

StageValueId StageEmitter::emitLoop(InstanceId id, Scope &scope) {
  const Instance &instance = instances.instances[id];
  const Primitive &primitive = graph.primitives[instance.primitive];
  Scope rowStorage;
  Scope &own = scopeFor(instance.dependence, instance.level, scope, rowStorage);
  std::vector<StageValueId> accumulators;
  if (instance.trips == 0) { // an empty reduction is its neutral element
    for (size_t i = 0; i < primitive.reducer.types.size(); ++i) {
      StageOp op;
      op.scalar = ScalarOpcode::Constant;
      op.type = primitive.reducer.types[i];
      op.constant = primitive.reducer.init[i];
      op.result = program.numValues++;
      accumulators.push_back(append(*own.block, std::move(op)));
    }
  } else {
    auto loop = std::make_shared<StageLoop>();
    loop->loopDim = instance.loopDim;
    loop->trips = instance.trips;
    Scope inner;
    inner.parent = &own;
    inner.block = &loop->body;
    inner.loopDim = instance.loopDim;
    inner.inFinish = own.inFinish;
    loop->reduction = foldOf(id, inner);
    for (size_t i = 0; i < primitive.reducer.types.size(); ++i)
      accumulators.push_back(program.numValues++);
    loop->reduction.results = accumulators;
    StageOp op;
    op.opcode = StageOpcode::Loop;
    op.type = primitive.reducer.types[0];
    op.result = accumulators[0];
    op.origin = originOf(instance.primitive);
    op.loop = std::move(loop);
    append(*own.block, std::move(op));
  }
  StageValueId value = region(primitive.reducer.finish, accumulators, 0,
                              *own.block, originOf(instance.primitive));
  (&own == &rowStorage ? rowScope : own).values[key(id, kResult)] = value;
  return value;
}

/// Copies a region's operations (no reads, no indices) into `block`.
StageValueId StageEmitter::region(const ScalarProgram &region,
                                  const std::vector<StageValueId> &arguments,
                                  size_t which, StageBlock &block,
                                  PrimitiveId origin) {
  std::vector<StageValueId> values(region.ops.size());
  for (size_t i = 0; i < region.ops.size(); ++i) {
    const ScalarOp &op = region.ops[i];
    if (op.opcode == ScalarOpcode::Argument) {
      values[i] = arguments[op.operand];
      continue;
    }
    StageOp copy;
    copy.scalar = op.opcode;
    copy.type = op.type;
    copy.constant = op.constant;
    for (ScalarId arg : op.args)
      copy.args.push_back(values[arg]);
    copy.result = program.numValues++;
    copy.origin = origin;
    values[i] = append(block, std::move(copy));
  }
  return values[region.results[which]];
}

StageValueId StageEmitter::scalar(InstanceId id, ScalarId scalarId,
                                  Scope &scope) {
  for (Scope *at = &scope; at; at = at->parent)
    if (auto known = at->values.find(key(id, scalarId));
        known != at->values.end())
      return known->second;
  return emitScalar(id, scalarId, scope);
}

StageValueId StageEmitter::emitScalar(InstanceId id, ScalarId scalarId,
                                      Scope &scope) {
  const Instance &instance = instances.instances[id];
  const Primitive &primitive = graph.primitives[instance.primitive];
  const ScalarOp &op = primitive.body[scalarId];
  Dependence dependence = instance.dependence;
  if (instance.kind == Instance::Kind::Loop)
    dependence.loops |= 1ull << (instance.loopDim - kFirstLoopDim);
  Scope rowStorage;
  Scope &own =
      scopeFor(dependence, instance.levels[scalarId], scope, rowStorage);
  StageValueId value;
  if (op.opcode == ScalarOpcode::Read) {
    value = result(instance.reads.at(scalarId), own);
  } else {
    StageOp emitted;
    emitted.scalar = op.opcode;
    emitted.type = op.type;
    emitted.constant = op.constant;
    emitted.lo = op.lo;
    emitted.hi = op.hi;
    if (op.opcode == ScalarOpcode::Index || op.opcode == ScalarOpcode::InRange)
      emitted.index =
          bindRuntimes(simplify(substitute(op.index, instance.map.results),
                                instances.ranges(instance.columns)),
                       own);
    for (ScalarId arg : op.args)
      emitted.args.push_back(scalar(id, arg, own));
    emitted.result = program.numValues++;
    emitted.origin = originOf(instance.primitive);
    value = append(*own.block, std::move(emitted));
  }
  (&own == &rowStorage ? rowScope : own).values[key(id, scalarId)] = value;
  return value;
}

/// Replaces the instance graph's run-time variables by the values that hold them.
IndexExpr StageEmitter::bindRuntimes(const IndexExpr &expr, Scope &scope) {
  if (!expr.usesAnyRuntime())
    return expr;
  using Kind = IndexExpr::Kind;
  switch (expr.kind()) {
  case Kind::Runtime: {
    const RuntimeVariable &variable =
        instances.runtimeVariables[expr.position()];
    return IndexExpr::runtime(
        scalar(variable.instance, variable.scalar, scope));
  }
  case Kind::Add:
    return bindRuntimes(expr.lhs(), scope) + bindRuntimes(expr.rhs(), scope);
  case Kind::Mul:
    return bindRuntimes(expr.lhs(), scope) * bindRuntimes(expr.rhs(), scope);
  case Kind::FloorDiv:
    return floorDiv(bindRuntimes(expr.lhs(), scope), expr.rhs().value());
  case Kind::Mod:
    return mod(bindRuntimes(expr.lhs(), scope), expr.rhs().value());
  default:
    return expr;
  }
}

} // namespace lockstitch
