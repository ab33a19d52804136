// Evaluates in blocks of coordinates: every operation of a body, and every node
// of an index expression, is done for a whole block before the next one, so
// that the cost of interpreting is paid once per block.
//
// A reduction walks its domain in row-major order (the reduced dimensions are
// the inner ones). Values are folded in runs of 64, and runs are combined like
// the digits of a binary counter: the shape of the tree depends on the length
// only.
#include "compiler/graph/evaluate.h"

#include "compiler/graph/evaluate_library.h"
#include "compiler/graph/evaluate_scalar.h"

#include <algorithm>
#include <cstring>

namespace lockstitch {
namespace {

using evaluation::Slot;
constexpr int64_t kBlock = 512;
constexpr int64_t kRun = 64;

/// Coordinates of a block of the iteration space, one array per dimension.
struct Coordinates {
  size_t count = 0;
  std::vector<std::vector<int64_t>> dims;

  void setLinear(const std::vector<int64_t> &extents, int64_t first, size_t n) {
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
};

using Column = std::vector<int64_t>;

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

/// Runs one program on blocks. Keeps its columns between calls.
class ProgramRunner {
public:
  ProgramRunner(const ScalarProgram &program,
                std::span<const OperandView> operands)
      : program(program), operands(operands), columns(program.ops.size()) {
    for (const OperandView &operand : operands)
      strides.push_back(rowMajorStrides(operand.type.shape));
  }

  /// `arguments[i]` is the column of argument i of a region. False after a read
  /// out of bounds.
  bool run(const Coordinates &at,
           const std::vector<const Slot *> &arguments = {}) {
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
        evaluation::applyOpcode(op.opcode, op.type,
                                program[op.args.back()].type,
                                {args, op.args.size()}, result, at.count);
        break;
      }
      }
    }
    return true;
  }

  const Slot *result(size_t index) const {
    return columns[program.results[index]].data();
  }

private:
  bool read(const ScalarOp &op, const Coordinates &at, Slot *result) {
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
      result[i] =
          admitted[i]
              ? evaluation::load(operand.type.element,
                                 operand.bytes.data() + place[i] * width)
              : zero;
    return true;
  }

  const ScalarProgram &program;
  std::span<const OperandView> operands;
  std::vector<std::vector<int64_t>> strides;
  std::vector<std::vector<Slot>> columns;
};

using Accumulators = std::vector<Slot>;

/// Folds values one by one, or two sets of accumulators, by a region of a
/// reducer.
class Folder {
public:
  explicit Folder(const ScalarProgram &program)
      : program(program), runner(program, {}) {
    one.count = 1;
    // update or combine as one operation on (accumulator, value): the usual
    // case.
    if (program.ops.size() == 3 && program.results.size() == 1 &&
        program[program.results[0]].args.size() == 2) {
      const ScalarOp &op = program[program.results[0]];
      const ScalarOp &a = program[op.args[0]], &b = program[op.args[1]];
      simple = a.opcode == ScalarOpcode::Argument && a.operand == 0 &&
               b.opcode == ScalarOpcode::Argument && b.operand == 1;
    }
  }

  void fold(Accumulators &into, std::span<const Slot> values) {
    if (simple) {
      const ScalarOp &op = program[program.results[0]];
      const Slot *args[2] = {into.data(), values.data()};
      evaluation::applyOpcode(op.opcode, op.type, op.type, args, into.data(),
                              1);
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

private:
  const ScalarProgram &program;
  ProgramRunner runner;
  Coordinates one;
  bool simple = false;
};

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

Status evaluatePull(const Primitive &primitive, const TensorType &type,
                    std::span<const OperandView> operands,
                    std::vector<std::byte> &result) {
  ProgramRunner body(primitive.body, operands);
  Coordinates at;
  std::vector<int64_t> extents = extentsOf(primitive.domain);
  int64_t total = numElements(primitive.domain);
  size_t width = byteSize(type.element);
  for (int64_t first = 0; first < total; first += kBlock) {
    at.setLinear(extents, first, std::min(kBlock, total - first));
    if (!body.run(at))
      return outOfBounds(primitive);
    const Slot *values = body.result(0);
    for (size_t i = 0; i < at.count; ++i)
      evaluation::store(type.element, values[i],
                        result.data() + (first + i) * width);
  }
  return {};
}

Status evaluateReduce(const Primitive &primitive, const TensorType &type,
                      std::span<const OperandView> operands,
                      std::vector<std::byte> &result) {
  const Reducer &reducer = primitive.reducer;
  size_t numAccumulators = reducer.types.size(),
         numValues = primitive.body.results.size();
  Accumulators neutral(numAccumulators);
  for (size_t i = 0; i < numAccumulators; ++i)
    neutral[i] = evaluation::constantSlot(reducer.types[i], reducer.init[i]);

  ProgramRunner body(primitive.body, operands);
  Folder update(reducer.update), combine(reducer.combine);
  std::vector<int64_t> extents = extentsOf(primitive.domain);
  int64_t total = numElements(primitive.domain), outputs = type.elements();
  int64_t length = outputs ? total / outputs : 0;

  // folded[i][o]: accumulator i of output o, before `finish`.
  std::vector<std::vector<Slot>> folded(numAccumulators,
                                        std::vector<Slot>(outputs));
  for (int64_t o = 0; o < outputs && length == 0; ++o)
    for (size_t i = 0; i < numAccumulators; ++i)
      folded[i][o] = neutral[i];

  std::vector<Accumulators>
      tree; // tree[l]: 2^l runs, where bit l of `runs` is set
  Accumulators current = neutral;
  int64_t runs = 0, step = 0, output = 0;
  auto endRun = [&] {
    size_t level = 0;
    for (; runs >> level & 1; ++level) {
      Accumulators left = tree[level];
      combine.fold(left, current);
      current = std::move(left);
    }
    if (tree.size() <= level)
      tree.resize(level + 1);
    tree[level] = std::move(current);
    current = neutral;
    ++runs;
  };
  auto endOutput = [&] {
    Accumulators sum;
    for (size_t level = 0; level < tree.size(); ++level) {
      if (!(runs >> level & 1))
        continue;
      Accumulators left = tree[level];
      if (!sum.empty())
        combine.fold(left, sum);
      sum = std::move(left);
    }
    for (size_t i = 0; i < numAccumulators; ++i)
      folded[i][output] = sum[i];
    ++output;
    runs = step = 0;
    tree.clear();
  };

  Coordinates at;
  std::vector<Slot> values(numValues);
  for (int64_t first = 0; first < total; first += kBlock) {
    at.setLinear(extents, first, std::min(kBlock, total - first));
    if (!body.run(at))
      return outOfBounds(primitive);
    for (size_t i = 0; i < at.count; ++i) {
      for (size_t v = 0; v < numValues; ++v)
        values[v] = body.result(v)[i];
      update.fold(current, values);
      ++step;
      if (step % kRun == 0 || step == length)
        endRun();
      if (step == length)
        endOutput();
    }
  }

  ProgramRunner finish(reducer.finish, {});
  std::vector<int64_t> resultExtents = extentsOf(type.shape);
  size_t width = byteSize(type.element);
  for (int64_t first = 0; first < outputs; first += kBlock) {
    at.setLinear(resultExtents, first, std::min(kBlock, outputs - first));
    std::vector<const Slot *> arguments;
    for (const std::vector<Slot> &column : folded)
      arguments.push_back(column.data() + first);
    finish.run(at, arguments);
    for (size_t i = 0; i < at.count; ++i)
      evaluation::store(type.element, finish.result(0)[i],
                        result.data() + (first + i) * width);
  }
  return {};
}

} // namespace

Result<std::vector<std::byte>>
evaluatePrimitive(const Primitive &primitive, const TensorType &resultType,
                  std::span<const OperandView> operands) {
  std::vector<std::byte> result(resultType.bytes());
  Status status;
  switch (primitive.kind) {
  case Primitive::Kind::Pull:
    status = evaluatePull(primitive, resultType, operands, result);
    break;
  case Primitive::Kind::Reduce:
    status = evaluateReduce(primitive, resultType, operands, result);
    break;
  case Primitive::Kind::Library:
    evaluation::evaluateLibraryCall(primitive.call, operands, result);
    break;
  }
  if (!status.ok())
    return status.error();
  return result;
}

Result<std::vector<HostTensor>>
evaluateGraph(const PrimitiveGraph &graph, std::span<const HostTensor> inputs) {
  std::vector<std::vector<std::byte>> results(graph.values.size());
  std::vector<std::span<const std::byte>> bytes(graph.values.size());
  std::vector<uint32_t> usesLeft(graph.values.size(), 0);
  for (const Primitive &primitive : graph.primitives)
    for (ValueId operand : primitive.operands)
      ++usesLeft[operand];
  for (ValueId output : graph.outputs)
    ++usesLeft[output];

  if (inputs.size() != graph.inputs.size())
    return Error::internal(graph.name,
                           "has " + std::to_string(graph.inputs.size()) +
                               " inputs, not " + std::to_string(inputs.size()));
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!(inputs[i].type == graph.type(graph.inputs[i])))
      return Error::internal(graph.values[graph.inputs[i]].name,
                             "is " + toString(graph.type(graph.inputs[i])) +
                                 ", not " + toString(inputs[i].type));
    bytes[graph.inputs[i]] = inputs[i].bytes;
  }
  for (ValueId id = 0; id < graph.values.size(); ++id)
    if (graph.values[id].kind == Value::Kind::Constant)
      bytes[id] = {graph.values[id].constant.data,
                   graph.values[id].constant.bytes};

  for (const Primitive &primitive : graph.primitives) {
    std::vector<OperandView> operands;
    for (ValueId operand : primitive.operands)
      operands.push_back({graph.type(operand), bytes[operand]});
    auto result =
        evaluatePrimitive(primitive, graph.type(primitive.result), operands);
    if (!result.ok())
      return result.error();
    results[primitive.result] = std::move(*result);
    bytes[primitive.result] = results[primitive.result];
    for (ValueId operand : primitive.operands)
      if (!--usesLeft[operand])
        results[operand] = {};
  }
  std::vector<HostTensor> outputs;
  for (ValueId output : graph.outputs)
    outputs.push_back(
        {graph.type(output), {bytes[output].begin(), bytes[output].end()}});
  return outputs;
}

} // namespace lockstitch
