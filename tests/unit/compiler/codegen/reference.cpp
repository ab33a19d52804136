#include "reference.h"

#include "compiler/graph/evaluate_scalar.h"

#include <gtest/gtest.h>

namespace lockstitch::testing {
namespace {

using evaluation::Slot;

class Interpreter {
public:
  Interpreter(const StageProgram &program, std::vector<Bytes> &buffers)
      : program(program), buffers(buffers), values(program.numValues),
        types(program.numValues), dims(kFirstLoopDim + program.numLoopDims),
        runtimes(program.numValues) {
    for (const StageTile &tile : program.tiles)
      tiles.emplace_back(tile.columns);
  }

  void run() {
    for (int64_t r = 0; r < program.rows.value(); ++r) {
      dims[kRowDim] = r;
      for (const Stage &stage : program.stages) {
        std::vector<std::vector<Slot>> accumulators;
        for (const StageReduction &fold : stage.reductions)
          accumulators.push_back(initial(fold));
        for (int64_t c = 0; c < stage.columns; ++c) {
          dims[kColumnDim] = c;
          block(stage.body);
          for (size_t i = 0; i < accumulators.size(); ++i)
            step(stage.reductions[i], accumulators[i]);
        }
        for (size_t i = 0; i < accumulators.size(); ++i)
          publish(stage.reductions[i], accumulators[i]);
        dims[kColumnDim] = 0;
        block(stage.finish);
      }
    }
  }

private:
  void define(StageValueId id, ElementType type, Slot value) {
    values[id] = value;
    types[id] = type;
    runtimes[id] = value.integer;
  }

  std::vector<Slot> initial(const StageReduction &fold) {
    std::vector<Slot> result;
    for (size_t i = 0; i < fold.types.size(); ++i)
      result.push_back(evaluation::constantSlot(fold.types[i], fold.init[i]));
    return result;
  }
  void step(const StageReduction &fold, std::vector<Slot> &accumulators) {
    std::vector<Slot> args = accumulators;
    for (StageValueId value : fold.values)
      args.push_back(values[value]);
    accumulators = region(fold.update, args);
  }
  void publish(const StageReduction &fold,
               const std::vector<Slot> &accumulators) {
    for (size_t i = 0; i < accumulators.size(); ++i)
      define(fold.results[i], fold.types[i], accumulators[i]);
  }

  std::vector<Slot> region(const ScalarProgram &code,
                           const std::vector<Slot> &args) {
    std::vector<Slot> made;
    for (const ScalarOp &op : code.ops) {
      if (op.opcode == ScalarOpcode::Argument) {
        made.push_back(args[op.operand]);
      } else if (op.opcode == ScalarOpcode::Constant) {
        made.push_back(evaluation::constantSlot(op.type, op.constant));
      } else {
        std::vector<const Slot *> operands;
        for (ScalarId arg : op.args)
          operands.push_back(&made[arg]);
        Slot result;
        evaluation::applyOpcode(op.opcode, op.type, code[op.args.back()].type,
                                operands, &result, 1);
        made.push_back(result);
      }
    }
    std::vector<Slot> results;
    for (ScalarId id : code.results)
      results.push_back(made[id]);
    return results;
  }

  std::byte *place(const StageOp &op) {
    int64_t offset = evaluate(op.index, dims, runtimes);
    const StageArgument &argument = program.arguments[op.argument];
    if (offset < 0 || offset >= argument.elements.value()) {
      ADD_FAILURE() << program.name << ": offset " << offset << " of argument "
                    << op.argument;
      offset = 0;
    }
    return buffers[op.argument].data() + offset * byteSize(argument.type);
  }

  void block(const StageBlock &block) {
    for (const StageOp &op : block.ops)
      operation(op);
  }

  void operation(const StageOp &op) {
    int64_t column = dims[kColumnDim];
    switch (op.opcode) {
    case StageOpcode::Load: {
      for (const IndexConstraint &guard : op.guards) {
        int64_t value = evaluate(guard.expr, dims, runtimes);
        if (value < guard.lo || value > guard.hi)
          return define(op.result, op.type,
                        evaluation::constantSlot(op.type, {}));
      }
      return define(op.result, op.type, evaluation::load(op.type, place(op)));
    }
    case StageOpcode::Store:
      return evaluation::store(op.type, values[op.args[0]], place(op));
    case StageOpcode::TileLoad:
      return define(op.result, op.type, tiles[op.tile][column]);
    case StageOpcode::TileStore:
      tiles[op.tile][column] = values[op.args[0]];
      return;
    case StageOpcode::Loop: {
      std::vector<Slot> accumulators = initial(op.loop->reduction);
      for (int64_t k = 0; k < op.loop->trips; ++k) {
        dims[op.loop->loopDim] = k;
        block(op.loop->body);
        step(op.loop->reduction, accumulators);
        for (size_t i = 0; i < op.loop->running.size(); ++i)
          define(op.loop->running[i], op.loop->reduction.types[i],
                 accumulators[i]);
        block(op.loop->trip);
      }
      return publish(op.loop->reduction, accumulators);
    }
    case StageOpcode::Scalar:
      break;
    }
    Slot result{};
    if (op.scalar == ScalarOpcode::Constant) {
      result = evaluation::constantSlot(op.type, op.constant);
    } else if (op.scalar == ScalarOpcode::Index) {
      result.integer = evaluate(op.index, dims, runtimes);
    } else if (op.scalar == ScalarOpcode::InRange) {
      int64_t value = evaluate(op.index, dims, runtimes);
      result.integer = op.lo <= value && value <= op.hi;
    } else {
      std::vector<const Slot *> operands;
      for (StageValueId arg : op.args)
        operands.push_back(&values[arg]);
      evaluation::applyOpcode(op.scalar, op.type, types[op.args.back()],
                              operands, &result, 1);
    }
    define(op.result, op.type, result);
  }

  const StageProgram &program;
  std::vector<Bytes> &buffers;
  std::vector<Slot> values;
  std::vector<ElementType> types;
  std::vector<int64_t> dims, runtimes;
  std::vector<std::vector<Slot>> tiles;
};

} // namespace

void interpret(const StageProgram &program, std::vector<Bytes> &buffers) {
  Interpreter(program, buffers).run();
}

} // namespace lockstitch::testing
