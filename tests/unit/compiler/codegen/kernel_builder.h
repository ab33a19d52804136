// Builds small stage programs by hand.
#ifndef LOCKSTITCH_TESTS_CODEGEN_KERNEL_BUILDER_H
#define LOCKSTITCH_TESTS_CODEGEN_KERNEL_BUILDER_H

#include "compiler/schedule/stage_program.h"

namespace lockstitch::testing {

inline IndexExpr row() { return IndexExpr::dim(kRowDim); }
inline IndexExpr col() { return IndexExpr::dim(kColumnDim); }
inline IndexExpr num(int64_t value) { return IndexExpr::constant(value); }

/// Appends operations to a block; every one gets the next origin, so that each
/// has a line of its own.
class KernelBuilder {
public:
  KernelBuilder(std::string name, int64_t rows) {
    program.name = std::move(name);
    program.rows = rows;
  }
  uint32_t input(ElementType type, int64_t elements) {
    return argument(type, elements, false);
  }
  uint32_t output(ElementType type, int64_t elements) {
    return argument(type, elements, true);
  }
  uint32_t tile(ElementType type, int64_t columns, uint32_t slot) {
    program.tiles.push_back({type, columns, slot});
    return program.tiles.size() - 1;
  }
  /// Starts a stage; operations go to its body until finish() or loop().
  void stage(int64_t columns) {
    program.stages.emplace_back();
    program.stages.back().columns = columns;
    block = &program.stages.back().body;
  }
  void finish() { block = &program.stages.back().finish; }

  StageValueId load(uint32_t argument, IndexExpr index,
                    std::vector<IndexConstraint> guards = {}) {
    StageOp op = make(StageOpcode::Load, program.arguments[argument].type);
    op.argument = argument;
    op.index = simplify(index, ranges());
    op.guards = std::move(guards);
    return push(std::move(op));
  }
  void store(uint32_t argument, IndexExpr index, StageValueId value) {
    StageOp op = make(StageOpcode::Store, program.arguments[argument].type);
    op.argument = argument;
    op.index = simplify(index, ranges());
    op.args = {value};
    push(std::move(op));
  }
  StageValueId tileLoad(uint32_t tile) {
    StageOp op = make(StageOpcode::TileLoad, program.tiles[tile].type);
    op.tile = tile;
    return push(std::move(op));
  }
  void tileStore(uint32_t tile, StageValueId value) {
    StageOp op = make(StageOpcode::TileStore, program.tiles[tile].type);
    op.tile = tile;
    op.args = {value};
    push(std::move(op));
  }
  StageValueId op(ScalarOpcode opcode, ElementType type,
                  std::vector<StageValueId> args) {
    StageOp op = make(StageOpcode::Scalar, type);
    op.scalar = opcode;
    op.args = std::move(args);
    return push(std::move(op));
  }
  StageValueId constant(ElementType type, double value) {
    StageOp op = make(StageOpcode::Scalar, type);
    op.scalar = ScalarOpcode::Constant;
    op.constant = isFloat(type)
                      ? ScalarConstant::fromDouble(value)
                      : ScalarConstant::fromInt(static_cast<int64_t>(value));
    return push(std::move(op));
  }
  StageValueId index(IndexExpr expr) {
    StageOp op = make(StageOpcode::Scalar, ElementType::I64);
    op.scalar = ScalarOpcode::Index;
    op.index = std::move(expr);
    return push(std::move(op));
  }
  StageValueId inRange(IndexExpr expr, int64_t lo, int64_t hi) {
    StageOp op = make(StageOpcode::Scalar, ElementType::Bool);
    op.scalar = ScalarOpcode::InRange;
    op.index = std::move(expr);
    op.lo = lo;
    op.hi = hi;
    return push(std::move(op));
  }
  StageValueId cast(StageValueId value, ElementType type) {
    return op(ScalarOpcode::Cast, type, {value});
  }

  /// Folds `value` over the columns of the current stage; returns the row
  /// value.
  StageValueId reduce(ScalarOpcode opcode, ElementType type, StageValueId value,
                      double init) {
    StageReduction fold = simple(opcode, type, value, init);
    StageValueId result = fold.results[0];
    program.stages.back().reductions.push_back(std::move(fold));
    return result;
  }
  /// Any fold over the columns.
  void reduce(StageReduction fold) {
    program.stages.back().reductions.push_back(std::move(fold));
  }

  /// A sequential loop; `body` gets its dimension and returns the value to
  /// fold.
  template <typename Body>
  StageValueId loop(int64_t trips, ScalarOpcode opcode, ElementType type,
                    double init, Body body) {
    auto loop = std::make_shared<StageLoop>();
    loop->loopDim = kFirstLoopDim + program.numLoopDims++;
    loop->trips = trips;
    program.loopTrips.push_back(trips);
    StageBlock *outer = block;
    block = &loop->body;
    StageValueId value = body(IndexExpr::dim(loop->loopDim));
    block = outer;
    loop->reduction = simple(opcode, type, value, init);
    StageOp op = make(StageOpcode::Loop, type);
    op.result = loop->reduction.results[0];
    StageValueId result = op.result;
    op.loop = std::move(loop);
    block->ops.push_back(std::move(op));
    return result;
  }

  StageReduction simple(ScalarOpcode opcode, ElementType type,
                        StageValueId value, double init) {
    StageReduction fold;
    fold.values = {value};
    fold.types = {type};
    fold.init = {isFloat(type)
                     ? ScalarConstant::fromDouble(init)
                     : ScalarConstant::fromInt(static_cast<int64_t>(init))};
    for (ScalarProgram *code : {&fold.update, &fold.combine}) {
      ScalarBuilder builder(*code);
      ScalarId left = builder.argument(0, type),
               right = builder.argument(1, type);
      code->results = {builder.op(opcode, {left, right})};
    }
    fold.results = {newValue()};
    fold.origin = nextOrigin++;
    return fold;
  }
  StageValueId newValue() { return program.numValues++; }
  IndexRanges ranges() const {
    return program.ranges(program.stages.back().columns);
  }

  StageProgram program;

private:
  uint32_t argument(ElementType type, int64_t elements, bool isOutput) {
    StageArgument argument;
    argument.type = type;
    argument.elements = elements;
    argument.isOutput = isOutput;
    program.arguments.push_back(argument);
    return program.arguments.size() - 1;
  }
  StageOp make(StageOpcode opcode, ElementType type) {
    StageOp op;
    op.opcode = opcode;
    op.type = type;
    op.origin = nextOrigin++;
    return op;
  }
  StageValueId push(StageOp op) {
    if (op.opcode != StageOpcode::Store && op.opcode != StageOpcode::TileStore)
      op.result = newValue();
    StageValueId result = op.result;
    block->ops.push_back(std::move(op));
    return result;
  }

  StageBlock *block = nullptr;
  PrimitiveId nextOrigin = 0;
};

} // namespace lockstitch::testing

#endif // LOCKSTITCH_TESTS_CODEGEN_KERNEL_BUILDER_H
