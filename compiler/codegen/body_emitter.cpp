#include "compiler/codegen/body_emitter.h"

using namespace mlir;

namespace lockstitch::codegen {

BodyEmitter::BodyEmitter(ValueBuilder &v, const StageProgram &program,
                         unsigned indexBits)
    : v(v), program(program), indexBits(indexBits), scopes(1),
      dims(kFirstLoopDim + program.numLoopDims), values(program.numValues),
      varying(program.numValues, false), ranges(program.ranges(1)) {}

//===----------------------------------------------------------------------===//
// Scopes
//===----------------------------------------------------------------------===//

void BodyEmitter::enter(Operation *region) {
  scopes.back().inner = region;
  scopes.emplace_back();
}

void BodyEmitter::leave() {
  scopes.pop_back();
  scopes.back().inner = nullptr;
}

std::optional<OpBuilder::InsertionGuard> BodyEmitter::at(unsigned depth) {
  for (unsigned level = depth; level + 1 < scopes.size(); ++level)
    if (Operation *inner = scopes[level].inner) {
      std::optional<OpBuilder::InsertionGuard> guard(std::in_place, v.b);
      v.b.setInsertionPoint(inner);
      return guard;
    }
  return std::nullopt;
}

void BodyEmitter::setDim(unsigned position, DimValue value) {
  dims[position] = std::move(value);
}

void BodyEmitter::setOrigin(PrimitiveId origin) {
  // Line 0 is DWARF's "no line".
  unsigned line = origin == kNone ? 0 : origin + 1;
  v.b.setLoc(FileLineColLoc::get(v.b.getContext(), "primitives", line, 0));
}

//===----------------------------------------------------------------------===//
// Which values vary between lanes
//===----------------------------------------------------------------------===//

void BodyEmitter::startColumns(const Stage &stage, unsigned newWidth) {
  columns = stage.columns;
  width = newWidth;
  ranges = program.ranges(columns);
  plans.clear();
  analyse(stage.body);
}

BodyEmitter::AccessPlan BodyEmitter::planAccess(const StageOp &op) {
  AccessPlan plan;
  plan.varies = varies(op.index);
  plan.access =
      plan.varies ? classify(op.index) : Access{AccessKind::Uniform, 0, true};
  plan.access.aligned &= isAligned(program, op.argument, width);
  for (const IndexConstraint &guard : op.guards) {
    IndexConstraint known{withUniformRuntimes(guard.expr), guard.lo, guard.hi};
    if (varies(guard.expr) && !isGuardUniform(program, known, columns, width))
      plan.guardsUniform = false;
  }
  return plan;
}

void BodyEmitter::analyse(const StageBlock &block) {
  for (const StageOp &op : block.ops) {
    auto argsVary = [&] {
      return llvm::any_of(op.args,
                          [&](StageValueId arg) { return varying[arg]; });
    };
    switch (op.opcode) {
    case StageOpcode::Scalar:
      varying[op.result] =
          argsVary() || ((op.scalar == ScalarOpcode::Index ||
                          op.scalar == ScalarOpcode::InRange) &&
                         varies(op.index));
      break;
    case StageOpcode::Load:
      plans[&op] = planAccess(op);
      varying[op.result] = width > 1 && plans[&op].valueVaries();
      break;
    case StageOpcode::Store:
      plans[&op] = planAccess(op);
      break;
    case StageOpcode::TileLoad:
      varying[op.result] = width > 1;
      break;
    case StageOpcode::TileStore:
      break;
    case StageOpcode::Loop: {
      analyse(op.loop->body);
      const StageReduction &fold = op.loop->reduction;
      bool varies = llvm::any_of(
          fold.values, [&](StageValueId value) { return varying[value]; });
      for (StageValueId result : fold.results)
        varying[result] = varies;
      for (StageValueId running : op.loop->running)
        varying[running] = varies;
      analyse(op.loop->trip);
      break;
    }
    }
  }
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

unsigned BodyEmitter::depthOf(const StageOp &op) {
  unsigned result = depthOf(op.index);
  for (StageValueId arg : op.args)
    result = std::max(result, values[arg].depth);
  for (const IndexConstraint &guard : op.guards)
    result = std::max(result, depthOf(guard.expr));
  return result;
}

void BodyEmitter::emitBlock(const StageBlock &block, BodyContext &context) {
  for (const StageOp &op : block.ops)
    emitOp(op, context);
}

void BodyEmitter::emitOp(const StageOp &op, BodyContext &context) {
  setOrigin(op.origin);
  switch (op.opcode) {
  case StageOpcode::Scalar:
  case StageOpcode::Load: {
    // Nothing that a kernel reads is ever written by it, and every access is
    // within bounds: loads move as freely as arithmetic does.
    unsigned home = depthOf(op);
    if (LaneValue known = scopes[home].ops.lookup(&op); known.value) {
      values[op.result] = known;
      return;
    }
    auto guard = at(home);
    LaneValue result =
        op.opcode == StageOpcode::Load ? emitLoad(op) : emitScalar(op);
    result.depth = home;
    if (!result.value) {
      problem = "cannot emit " + std::string(toString(op.scalar)) + " on " +
                std::string(name(op.type));
      result.value = v.constant(op.type, {});
    }
    values[op.result] = scopes[home].ops[&op] = result;
    return;
  }
  case StageOpcode::Store:
    return emitStore(op, context);
  case StageOpcode::TileLoad:
    values[op.result] = {context.loadTile(op.tile), op.type, depth()};
    return;
  case StageOpcode::TileStore:
    return context.storeTile(op.tile, v.splat(values[op.args[0]].value, width));
  case StageOpcode::Loop:
    return emitLoop(op, context);
  }
}

LaneValue BodyEmitter::emitScalar(const StageOp &op) {
  switch (op.scalar) {
  case ScalarOpcode::Constant:
    return {v.constant(op.type, op.constant), op.type};
  case ScalarOpcode::Index:
    return {v.resize(index(op.index, bitsFor(op.index)), 64, true), op.type};
  case ScalarOpcode::InRange:
    return {inRange(op.index, op.lo, op.hi, false), op.type};
  default:
    break;
  }
  unsigned lanes = 1;
  for (StageValueId arg : op.args)
    lanes = std::max(lanes, ValueBuilder::widthOf(values[arg].value));
  SmallVector<Value> args;
  SmallVector<ElementType> types;
  for (StageValueId arg : op.args) {
    args.push_back(v.splat(values[arg].value, lanes));
    types.push_back(values[arg].type);
  }
  return {emitScalarOp(v, op.scalar, op.type, args, types), op.type};
}

void BodyEmitter::emitLoop(const StageOp &op, BodyContext &context) {
  const StageLoop &loop = *op.loop;
  const StageReduction &fold = loop.reduction;
  bool varies = llvm::any_of(
      fold.results, [&](StageValueId result) { return varying[result]; });
  unsigned lanes = varies ? width : 1;
  SmallVector<Value> accumulators = initial(fold, lanes);
  auto publish = [&](ValueRange results) {
    for (auto [id, type, value] : llvm::zip(fold.results, fold.types, results))
      values[id] = {value, type, depth()};
  };
  if (loop.trips <= 0)
    return publish(accumulators);
  Type type = v.i(indexBits);
  auto loopOp = scf::ForOp::create(v.b, v.constantInt(type, 0),
                                   v.constantInt(type, loop.trips),
                                   v.constantInt(type, 1), accumulators);
  {
    OpBuilder::InsertionGuard guard(v.b);
    enter(loopOp);
    v.b.setInsertionPointToStart(loopOp.getBody());
    setDim(loop.loopDim, {{{loopOp.getInductionVar(), depth()}}, 0, depth()});
    emitBlock(loop.body, context);
    SmallVector<Value> carried(loopOp.getRegionIterArgs());
    SmallVector<Value> next = emitUpdate(fold, carried, lanes);
    for (size_t i = 0; i < loop.running.size(); ++i)
      values[loop.running[i]] = {next[i], fold.types[i], depth()};
    emitBlock(loop.trip, context);
    scf::YieldOp::create(v.b, next);
    leave();
  }
  publish(loopOp.getResults());
}

//===----------------------------------------------------------------------===//
// Folds
//===----------------------------------------------------------------------===//

SmallVector<Value> BodyEmitter::emitProgram(const ScalarProgram &code,
                                            ArrayRef<Value> args) {
  unsigned lanes = args.empty() ? 1 : ValueBuilder::widthOf(args[0]);
  SmallVector<Value> made;
  for (const ScalarOp &op : code.ops) {
    Value result;
    if (op.opcode == ScalarOpcode::Argument) {
      result = args[op.operand];
    } else if (op.opcode == ScalarOpcode::Constant) {
      result = v.constant(op.type, op.constant, lanes);
    } else {
      SmallVector<Value> operands;
      SmallVector<ElementType> types;
      for (ScalarId arg : op.args) {
        operands.push_back(made[arg]);
        types.push_back(code[arg].type);
      }
      if (!operands.empty())
        result = emitScalarOp(v, op.opcode, op.type, operands, types);
    }
    if (!result) {
      problem =
          "cannot emit " + std::string(toString(op.opcode)) + " in a reduction";
      result = v.constant(op.type, {}, lanes);
    }
    made.push_back(result);
  }
  SmallVector<Value> results;
  for (ScalarId id : code.results)
    results.push_back(made[id]);
  return results;
}

SmallVector<Value> BodyEmitter::initial(const StageReduction &fold,
                                        unsigned lanes) {
  SmallVector<Value> result;
  for (auto [type, init] : llvm::zip(fold.types, fold.init))
    result.push_back(v.constant(type, init, lanes));
  return result;
}

SmallVector<Value> BodyEmitter::emitUpdate(const StageReduction &fold,
                                           ArrayRef<Value> accumulators,
                                           unsigned lanes) {
  setOrigin(fold.origin);
  SmallVector<Value> args(accumulators);
  for (StageValueId value : fold.values)
    args.push_back(v.splat(values[value].value, lanes));
  return emitProgram(fold.update, args);
}

Accumulators BodyEmitter::emitUpdates(const Stage &stage,
                                      const Accumulators &accumulators,
                                      unsigned lanes) {
  Accumulators result;
  for (auto [fold, values] : llvm::zip(stage.reductions, accumulators))
    result.push_back(emitUpdate(fold, values, lanes));
  return result;
}

SmallVector<Value> flatten(const Accumulators &accumulators) {
  SmallVector<Value> result;
  for (const SmallVector<Value> &values : accumulators)
    result.append(values);
  return result;
}

Accumulators unflatten(const Stage &stage, ValueRange values) {
  Accumulators result;
  for (const StageReduction &fold : stage.reductions) {
    result.emplace_back(values.take_front(fold.types.size()));
    values = values.drop_front(fold.types.size());
  }
  return result;
}

SmallVector<Value> BodyEmitter::emitCombine(const StageReduction &fold,
                                            ArrayRef<Value> left,
                                            ArrayRef<Value> right) {
  setOrigin(fold.origin);
  SmallVector<Value> args(left);
  args.append(right.begin(), right.end());
  return emitProgram(fold.combine, args);
}

SmallVector<Value> BodyEmitter::foldLanes(const StageReduction &fold,
                                          ArrayRef<Value> accumulators) {
  SmallVector<Value> now(accumulators);
  setOrigin(fold.origin);
  for (unsigned lanes = ValueBuilder::widthOf(now[0]); lanes > 1; lanes /= 2) {
    SmallVector<Value> left, right;
    for (Value value : now) {
      if (lanes == 2) {
        left.push_back(v.lane(value, 0));
        right.push_back(v.lane(value, 1));
        continue;
      }
      SmallVector<int32_t> low(lanes / 2), high(lanes / 2);
      std::iota(low.begin(), low.end(), 0);
      std::iota(high.begin(), high.end(), lanes / 2);
      left.push_back(LLVM::ShuffleVectorOp::create(v.b, value, value, low));
      right.push_back(LLVM::ShuffleVectorOp::create(v.b, value, value, high));
    }
    now = emitCombine(fold, left, right);
  }
  return now;
}

} // namespace lockstitch::codegen
