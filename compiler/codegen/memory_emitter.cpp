// Loads and stores of BodyEmitter: one vector access where the columns of a
// step are contiguous, one scalar access where they share an element, else one
// per lane. Guards (the border of a Pad, the other parts of a Concat) become
// one test when all lanes agree.
#include "compiler/codegen/body_emitter.h"

using namespace mlir;

namespace lockstitch::codegen {

/// A GPU thread moves at most 16 bytes at once; more would only need a larger
/// alignment.
static constexpr int64_t kMaxGpuAccess = 16;

Value BodyEmitter::gep(Value pointer, Type element, Value index) {
  return LLVM::GEPOp::create(v.b, pointer.getType(), element, pointer,
                             ValueRange{index});
}

Value BodyEmitter::offsetPointer(Value pointer, int64_t bytes) {
  return bytes ? gep(pointer, v.i(8), v.constantInt(v.i(64), bytes)) : pointer;
}

Value BodyEmitter::loadMemory(Value pointer, ElementType type, unsigned lanes,
                              int64_t alignment) {
  Type memory = ValueBuilder::vectorOf(v.memoryType(type), lanes);
  Value value = LLVM::LoadOp::create(v.b, memory, pointer,
                                     static_cast<unsigned>(alignment));
  return type == ElementType::Bool
             ? v.compare(IntCompare::ne, value, v.k(value, 0))
             : value;
}

void BodyEmitter::storeMemory(Value value, Value pointer, ElementType type,
                              int64_t alignment) {
  if (type == ElementType::Bool)
    value = v.resize(value, 8, false);
  LLVM::StoreOp::create(v.b, value, pointer, static_cast<unsigned>(alignment));
}

Value BodyEmitter::guardsHold(const StageOp &op, bool uniform) {
  Value result;
  for (const IndexConstraint &guard : op.guards) {
    Value holds = inRange(guard.expr, guard.lo, guard.hi, uniform);
    if (!uniform)
      holds = v.splat(holds, width);
    result = result ? v.andI(result, holds) : holds;
  }
  return result;
}

Value BodyEmitter::loadIf(Value condition, ElementType type, unsigned lanes,
                          llvm::function_ref<Value()> load) {
  if (!condition || matchPattern(condition, m_One()))
    return load();
  Value zero = v.constant(type, {}, lanes);
  if (matchPattern(condition, m_Zero()))
    return zero;
  auto branch = scf::IfOp::create(v.b, TypeRange{zero.getType()}, condition,
                                  /*addThenBlock=*/true, /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(v.b);
  v.b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(v.b, load());
  v.b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(v.b, zero);
  return branch.getResult(0);
}

LaneValue BodyEmitter::emitLoad(const StageOp &op) {
  // An empty buffer has no element that any guard could admit.
  if (program.arguments[op.argument].elements == Dim(0))
    return {v.constant(op.type, {}), op.type};
  auto plan = plans.find(&op);
  bool vector = plan != plans.end() && width > 1 && plan->second.valueVaries();
  return {vector ? emitVectorLoad(op, plan->second) : emitUniformLoad(op),
          op.type};
}

Value BodyEmitter::emitUniformLoad(const StageOp &op) {
  Address place = address(op.argument, op.index);
  return loadIf(guardsHold(op, true), op.type, 1, [&] {
    return loadMemory(offsetPointer(place.pointer, place.bytes), op.type, 1,
                      byteSize(op.type));
  });
}

/// Pointers of the lanes of an access that is not one vector. Lanes that `mask`
/// (may be null) leaves out get the start of the buffer.
SmallVector<Value> BodyEmitter::lanePointers(const StageOp &op,
                                             const AccessPlan &plan,
                                             Value mask) {
  int64_t size = byteSize(program.arguments[op.argument].type);
  Type element = v.memoryType(program.arguments[op.argument].type);
  SmallVector<Value> result;
  if (plan.access.kind == AccessKind::Uniform ||
      plan.access.kind == AccessKind::Contiguous || plan.access.stride) {
    int64_t stride =
        plan.access.kind == AccessKind::Contiguous ? 1 : plan.access.stride;
    Address place = address(op.argument, op.index);
    for (unsigned lane = 0; lane < width; ++lane)
      result.push_back(
          offsetPointer(place.pointer, place.bytes + lane * stride * size));
  } else {
    Value offsets =
        vectorIndex(op.index, v.traits.isGpu ? indexBits : bitsFor(op.index));
    for (unsigned lane = 0; lane < width; ++lane)
      result.push_back(
          gep(arguments[op.argument], element, v.lane(offsets, lane)));
  }
  if (mask)
    for (unsigned lane = 0; lane < width; ++lane)
      result[lane] =
          v.select(v.lane(mask, lane), result[lane], arguments[op.argument]);
  return result;
}

Value BodyEmitter::emitVectorLoad(const StageOp &op, const AccessPlan &plan) {
  int64_t size = byteSize(op.type);
  bool contiguous = plan.access.kind == AccessKind::Contiguous &&
                    (plan.access.aligned || !v.traits.isGpu);
  if (contiguous && plan.guardsUniform) {
    // Host buffers are only as aligned as their elements; unaligned loads cost
    // nothing there when they happen to be.
    int64_t alignment =
        v.traits.isGpu ? std::min<int64_t>(width * size, kMaxGpuAccess) : size;
    Address place = address(op.argument, op.index);
    return loadIf(guardsHold(op, true), op.type, width, [&] {
      return loadMemory(offsetPointer(place.pointer, place.bytes), op.type,
                        width, alignment);
    });
  }
  SmallVector<Value> lanes;
  if (plan.guardsUniform) {
    SmallVector<Value> pointers = lanePointers(op, plan, {});
    return loadIf(guardsHold(op, true), op.type, width, [&] {
      for (Value pointer : pointers)
        lanes.push_back(loadMemory(pointer, op.type, 1, size));
      return v.fromLanes(lanes);
    });
  }
  Value mask = guardsHold(op, false);
  if (v.traits.isGpu) {
    // A thread whose guard fails must not touch memory: one predicated load per
    // lane.
    SmallVector<Value> pointers = lanePointers(op, plan, {});
    for (unsigned lane = 0; lane < width; ++lane)
      lanes.push_back(loadIf(v.lane(mask, lane), op.type, 1, [&] {
        return loadMemory(pointers[lane], op.type, 1, size);
      }));
    return v.fromLanes(lanes);
  }
  // On the host a branch per lane costs more than a load of the buffer's first
  // element, which is there to be read.
  for (Value pointer : lanePointers(op, plan, mask))
    lanes.push_back(loadMemory(pointer, op.type, 1, size));
  Value loaded = v.fromLanes(lanes);
  return v.select(mask, loaded, v.constant(op.type, {}, width));
}

void BodyEmitter::emitStore(const StageOp &op, BodyContext &context) {
  auto known = plans.find(&op);
  AccessPlan plan = known == plans.end() ? AccessPlan{} : known->second;
  int64_t size = byteSize(op.type);
  Value value = values[op.args[0]].value;
  bool vector = known != plans.end() && width > 1;
  if (!vector) {
    Address place = address(op.argument, op.index);
    Value pointer = offsetPointer(place.pointer, place.bytes);
    return context.store([&] { storeMemory(value, pointer, op.type, size); });
  }
  value = v.splat(value, width);
  if (plan.access.kind == AccessKind::Contiguous &&
      (plan.access.aligned || !v.traits.isGpu)) {
    int64_t alignment =
        v.traits.isGpu ? std::min<int64_t>(width * size, kMaxGpuAccess) : size;
    Address place = address(op.argument, op.index);
    Value pointer = offsetPointer(place.pointer, place.bytes);
    return context.store(
        [&] { storeMemory(value, pointer, op.type, alignment); });
  }
  SmallVector<Value> pointers = lanePointers(op, plan, {});
  context.store([&] {
    for (unsigned lane = 0; lane < width; ++lane)
      storeMemory(v.lane(value, lane), pointers[lane], op.type, size);
  });
}

} // namespace lockstitch::codegen
