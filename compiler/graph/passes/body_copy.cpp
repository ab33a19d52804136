#include "compiler/graph/passes/body_copy.h"

#include <algorithm>

namespace lockstitch {

uint32_t PrimitiveMaker::operand(ValueId value) {
  auto known =
      std::find(primitive.operands.begin(), primitive.operands.end(), value);
  uint32_t position = known - primitive.operands.begin();
  if (known == primitive.operands.end())
    primitive.operands.push_back(value);
  return position;
}

ScalarId PrimitiveMaker::read(const PrimitiveGraph &graph, ValueId value,
                              std::vector<IndexExpr> at,
                              std::vector<ScalarId> runtimes,
                              std::vector<IndexConstraint> constraints) {
  IndexMap map;
  map.numDims = primitive.domain.size();
  map.results = std::move(at);
  map.constraints = std::move(constraints);
  return b.read(operand(value), graph.type(value).element, std::move(map),
                std::move(runtimes));
}

ScalarId PrimitiveMaker::index(const IndexExpr &expr,
                               std::span<const ScalarId> runtimes) {
  using Kind = IndexExpr::Kind;
  if (!expr.usesAnyRuntime())
    return b.index(simplify(expr, rangesOf(primitive.domain)));
  if (expr.kind() == Kind::Runtime)
    return runtimes[expr.position()];
  ScalarId left = index(expr.lhs(), runtimes),
           right = index(expr.rhs(), runtimes);
  switch (expr.kind()) {
  case Kind::Add:
    return b.op(ScalarOpcode::Add, {left, right});
  case Kind::Mul:
    return b.op(ScalarOpcode::Mul, {left, right});
  case Kind::Mod: // the divisor is positive
    return b.op(ScalarOpcode::Mod, {left, right});
  default: { // floordiv: (x - x mod d) / d
    ScalarId rest = b.op(ScalarOpcode::Mod, {left, right});
    return b.op(ScalarOpcode::Div,
                {b.op(ScalarOpcode::Sub, {left, rest}), right});
  }
  }
}

std::vector<ScalarId>
PrimitiveMaker::region(const ScalarProgram &program,
                       std::span<const ScalarId> arguments) {
  std::vector<ScalarId> values;
  for (ScalarOp op : program.ops) {
    if (op.opcode == ScalarOpcode::Argument) {
      values.push_back(arguments[op.operand]);
      continue;
    }
    for (ScalarId &arg : op.args)
      arg = values[arg];
    values.push_back(b.insert(std::move(op)));
  }
  std::vector<ScalarId> results;
  for (ScalarId id : program.results)
    results.push_back(values[id]);
  return results;
}

IndexExpr BodyCopy::moved(const IndexExpr &expr, size_t own) const {
  std::vector<IndexExpr> shifted, runtime;
  for (size_t i = 0; i < runtimes.size(); ++i)
    runtime.push_back(IndexExpr::runtime(own + i));
  for (const IndexExpr &dim : dims)
    shifted.push_back(substitute(dim, {}, runtime));
  return simplify(substitute(expr, shifted), rangesOf(to.primitive.domain));
}

ScalarId BodyCopy::index(const IndexExpr &expr, std::vector<ScalarId> values) {
  IndexExpr there = moved(expr, values.size());
  values.insert(values.end(), runtimes.begin(), runtimes.end());
  return to.index(there, values);
}

ScalarId BodyCopy::copy(ScalarId id) {
  if (copies[id] != kNone)
    return copies[id];
  const ScalarOp &op = from.body[id];
  std::vector<ScalarId> args;
  for (ScalarId arg : op.args)
    args.push_back(copy(arg));
  ScalarId made;
  switch (op.opcode) {
  case ScalarOpcode::Read: {
    std::vector<IndexExpr> at;
    std::vector<IndexConstraint> constraints;
    for (const IndexExpr &expr : op.map.results)
      at.push_back(moved(expr, args.size()));
    for (const IndexConstraint &constraint : op.map.constraints)
      constraints.push_back(
          {moved(constraint.expr, args.size()), constraint.lo, constraint.hi});
    for (const IndexConstraint &bound : bounds)
      if (std::any_of(at.begin(), at.end(), [&](const IndexExpr &expr) {
            for (unsigned d = 0; d < bound.expr.numDimsUsed(); ++d)
              if (bound.expr.usesDim(d) && expr.usesDim(d))
                return true;
            return false;
          }))
        constraints.push_back(bound);
    bool needsRuntimes = false;
    for (const IndexExpr &dim : dims)
      needsRuntimes |= dim.usesAnyRuntime();
    if (needsRuntimes)
      args.insert(args.end(), runtimes.begin(), runtimes.end());
    made = to.read(graph, from.operands[op.operand], std::move(at),
                   std::move(args), std::move(constraints));
    break;
  }
  case ScalarOpcode::Index:
    made = index(op.index, {});
    break;
  case ScalarOpcode::InRange: {
    IndexExpr there = moved(op.index, 0);
    if (!there.usesAnyRuntime()) {
      made = to.b.inRange(there, op.lo, op.hi);
      break;
    }
    ScalarId value = to.index(there, runtimes);
    made =
        to.b.op(ScalarOpcode::And,
                {to.b.op(ScalarOpcode::Ge,
                         {value, to.b.constantInt(ElementType::I64, op.lo)}),
                 to.b.op(ScalarOpcode::Le,
                         {value, to.b.constantInt(ElementType::I64, op.hi)})});
    break;
  }
  default: {
    ScalarOp copied = op;
    copied.args = std::move(args);
    made = to.b.insert(std::move(copied));
    break;
  }
  }
  return copies[id] = made;
}

ValueId addRewritten(PrimitiveGraph &graph, PrimitiveMaker &maker,
                     const Primitive &like, std::string_view suffix,
                     TensorType type) {
  Primitive primitive = std::move(maker.primitive);
  primitive.name = like.name + std::string(suffix);
  primitive.origins = like.origins;
  if (!suffix.empty())
    return graph.add(std::move(primitive), std::move(type));
  graph.primitives.push_back(std::move(primitive));
  return like.result;
}

} // namespace lockstitch
