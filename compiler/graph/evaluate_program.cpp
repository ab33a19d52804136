#include "compiler/graph/evaluate_program.h"

#include <algorithm>

namespace lockstitch::evaluation {

void Coordinates::setLinear(const std::vector<int64_t> &extents, int64_t first,
                            size_t n) {
  count = n;
  dims.resize(extents.size());
  for (auto &dim : dims)
    dim.resize(n);
  for (size_t i = 0; i < n; ++i) {
    int64_t rest = first + static_cast<int64_t>(i);
    for (size_t d = extents.size(); d-- > 0;) {
      dims[d][i] = rest % extents[d];
      rest /= extents[d];
    }
  }
}

Column evaluateIndex(const IndexExpr &expr, const Coordinates &at,
                     const std::vector<const Slot *> &runtimes) {
  switch (expr.kind()) {
  case IndexExpr::Kind::Constant:
    return Column(at.count, expr.value());
  case IndexExpr::Kind::Dim:
    return at.dims[expr.position()];
  case IndexExpr::Kind::Runtime: {
    Column values(at.count);
    for (size_t i = 0; i < at.count; ++i)
      values[i] = runtimes[expr.position()][i].integer;
    return values;
  }
  default:
    break;
  }
  Column left = evaluateIndex(expr.lhs(), at, runtimes);
  if (expr.kind() == IndexExpr::Kind::FloorDiv ||
      expr.kind() == IndexExpr::Kind::Mod) {
    int64_t divisor = expr.rhs().value();
    for (int64_t &value : left) {
      int64_t rest = value % divisor;
      if (rest < 0)
        rest += divisor;
      value =
          expr.kind() == IndexExpr::Kind::Mod ? rest : (value - rest) / divisor;
    }
    return left;
  }
  Column right = evaluateIndex(expr.rhs(), at, runtimes);
  for (size_t i = 0; i < at.count; ++i)
    left[i] = expr.kind() == IndexExpr::Kind::Add ? left[i] + right[i]
                                                  : left[i] * right[i];
  return left;
}

ProgramRunner::ProgramRunner(const ScalarProgram &program,
                             std::span<const OperandView> operands)
    : program(program), operands(operands), columns(program.ops.size()) {
  for (const OperandView &operand : operands)
    strides.push_back(rowMajorStrides(operand.type.shape));
}

bool ProgramRunner::run(const Coordinates &at,
                        const std::vector<const Slot *> &arguments) {
  for (size_t i = 0; i < program.ops.size(); ++i) {
    const ScalarOp &op = program.ops[i];
    columns[i].resize(at.count);
    Slot *result = columns[i].data();
    switch (op.opcode) {
    case ScalarOpcode::Argument:
      std::copy_n(arguments[op.operand], at.count, result);
      break;
    case ScalarOpcode::Constant:
      std::fill_n(result, at.count,
                  evaluation::constantSlot(op.type, op.constant));
      break;
    case ScalarOpcode::Index: {
      Column values = evaluateIndex(op.index, at, {});
      for (size_t j = 0; j < at.count; ++j)
        result[j].integer = values[j];
      break;
    }
    case ScalarOpcode::InRange: {
      Column values = evaluateIndex(op.index, at, {});
      for (size_t j = 0; j < at.count; ++j)
        result[j].integer = op.lo <= values[j] && values[j] <= op.hi;
      break;
    }
    case ScalarOpcode::Read:
      if (!read(op, at, result))
        return false;
      break;
    default: {
      const Slot *args[3];
      for (size_t j = 0; j < op.args.size(); ++j)
        args[j] = columns[op.args[j]].data();
      evaluation::applyOpcode(op.opcode, op.type, program[op.args.back()].type,
                              {args, op.args.size()}, result, at.count);
      break;
    }
    }
  }
  return true;
}

bool ProgramRunner::read(const ScalarOp &op, const Coordinates &at,
                         Slot *result) {
  const OperandView &operand = operands[op.operand];
  size_t width = byteSize(operand.type.element);
  std::vector<const Slot *> runtimes;
  for (ScalarId arg : op.args)
    runtimes.push_back(columns[arg].data());
  std::vector<bool> admitted(at.count, true);
  for (const IndexConstraint &constraint : op.map.constraints) {
    Column values = evaluateIndex(constraint.expr, at, runtimes);
    for (size_t i = 0; i < at.count; ++i)
      if (values[i] < constraint.lo || values[i] > constraint.hi)
        admitted[i] = false;
  }
  Column place(at.count, 0);
  for (size_t d = 0; d < op.map.results.size(); ++d) {
    Column values = evaluateIndex(op.map.results[d], at, runtimes);
    int64_t extent = operand.type.shape[d].value();
    for (size_t i = 0; i < at.count; ++i) {
      if (admitted[i] && (values[i] < 0 || values[i] >= extent))
        return false;
      place[i] += values[i] * strides[op.operand][d];
    }
  }
  Slot zero;
  if (isFloat(op.type))
    zero.real = 0;
  else
    zero.integer = 0;
  for (size_t i = 0; i < at.count; ++i)
    result[i] = admitted[i]
                    ? evaluation::load(operand.type.element,
                                       operand.bytes.data() + place[i] * width)
                    : zero;
  return true;
}

Folder::Folder(const ScalarProgram &program)
    : program(program), runner(program, {}) {
  one.count = 1;
  // update or combine as one operation on (accumulator, value): the usual case.
  if (program.ops.size() == 3 && program.results.size() == 1 &&
      program[program.results[0]].args.size() == 2) {
    const ScalarOp &op = program[program.results[0]];
    const ScalarOp &a = program[op.args[0]], &b = program[op.args[1]];
    simple = a.opcode == ScalarOpcode::Argument && a.operand == 0 &&
             b.opcode == ScalarOpcode::Argument && b.operand == 1;
  }
}

void Folder::fold(std::span<Slot> into, std::span<const Slot> values) {
  if (simple) {
    const ScalarOp &op = program[program.results[0]];
    const Slot *args[2] = {into.data(), values.data()};
    evaluation::applyOpcode(op.opcode, op.type, op.type, args, into.data(), 1);
    return;
  }
  std::vector<const Slot *> arguments;
  for (const Slot &slot : into)
    arguments.push_back(&slot);
  for (const Slot &slot : values)
    arguments.push_back(&slot);
  runner.run(one, arguments);
  for (size_t i = 0; i < into.size(); ++i)
    into[i] = runner.result(i)[0];
}

std::vector<int64_t> extentsOf(const Shape &shape) {
  std::vector<int64_t> extents;
  for (const Dim &dim : shape)
    extents.push_back(dim.value());
  return extents;
}

Error outOfBounds(const Primitive &primitive) {
  return Error::internal(primitive.name,
                         "its body reads outside of an operand");
}

Accumulators neutralOf(const Reducer &reducer) {
  Accumulators neutral(reducer.types.size());
  for (size_t i = 0; i < neutral.size(); ++i)
    neutral[i] = constantSlot(reducer.types[i], reducer.init[i]);
  return neutral;
}

void storeFinished(const Reducer &reducer, const TensorType &type,
                   const std::vector<std::vector<Slot>> &folded,
                   std::vector<std::byte> &result) {
  ProgramRunner finish(reducer.finish, {});
  Coordinates at;
  std::vector<int64_t> extents = extentsOf(type.shape);
  int64_t count = type.elements();
  size_t width = byteSize(type.element);
  for (int64_t first = 0; first < count; first += kBlock) {
    at.setLinear(extents, first, std::min(kBlock, count - first));
    std::vector<const Slot *> arguments;
    for (const std::vector<Slot> &column : folded)
      arguments.push_back(column.data() + first);
    finish.run(at, arguments);
    for (size_t i = 0; i < at.count; ++i)
      store(type.element, finish.result(0)[i],
            result.data() + (first + i) * width);
  }
}

} // namespace lockstitch::evaluation
