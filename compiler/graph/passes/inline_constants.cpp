// Small constants into bodies.
//
// Exporters write every epsilon and every scale as a tensor. A tensor whose elements are all equal is one scalar, whatever
// its shape: as an operation of the body it costs nothing, as an operand it would be an argument and a load of every kernel.
#include "compiler/graph/passes/passes.h"
#include "compiler/graph/uniform_constant.h"

namespace lockstitch {
namespace {

class Rewriter {
public:
  Rewriter(PrimitiveGraph &graph, Primitive &primitive)
      : graph(graph), primitive(primitive) {}

  void run() {
    ScalarProgram program;
    ScalarBuilder builder(program);
    std::vector<ScalarId> map(primitive.body.ops.size());
    auto [operands, newOperand] = keptOperands();
    for (size_t i = 0; i < primitive.body.ops.size(); ++i) {
      ScalarOp op = primitive.body.ops[i];
      for (ScalarId &arg : op.args)
        arg = map[arg];
      if (op.opcode == ScalarOpcode::Read) {
        const Value &value = graph.values[primitive.operands[op.operand]];
        if (op.map.constraints.empty())
          if (auto scalar = uniformValue(value)) {
            ScalarOp constant{.opcode = ScalarOpcode::Constant,
                              .type = op.type};
            constant.constant = *scalar;
            map[i] = builder.insert(std::move(constant));
            continue;
          }
        uint32_t &operand = newOperand[op.operand];
        if (operand == kNone) {
          operand = static_cast<uint32_t>(operands.size());
          operands.push_back(primitive.operands[op.operand]);
        }
        op.operand = operand;
        map[i] = builder.insert(std::move(op));
        continue;
      }
      if (op.opcode == ScalarOpcode::Cast) {
        map[i] = builder.cast(op.args[0], op.type);
        continue;
      }
      map[i] = builder.insert(std::move(op));
    }
    for (ScalarId result : primitive.body.results)
      program.results.push_back(map[result]);
    primitive.body = std::move(program);
    primitive.operands = std::move(operands);
    dropUnused();
  }

private:
  /// Operands that stay whether or not the body reads them, and the new position of each (kNone: not known yet).
  std::pair<std::vector<ValueId>, std::vector<uint32_t>> keptOperands() const {
    std::pair<std::vector<ValueId>, std::vector<uint32_t>> kept;
    kept.second.assign(primitive.operands.size(), kNone);
    if (primitive.kind == Primitive::Kind::Push) { // its base
      kept.first = {primitive.operands[0]};
      kept.second[0] = 0;
    }
    return kept;
  }

  /// Removes operations, and then operands, that nothing uses any more.
  void dropUnused() {
    ScalarProgram &body = primitive.body;
    std::vector<bool> used(body.ops.size(), false);
    for (ScalarId result : body.results)
      used[result] = true;
    for (size_t i = body.ops.size(); i-- > 0;)
      if (used[i])
        for (ScalarId arg : body.ops[i].args)
          used[arg] = true;
    std::vector<ScalarId> map(body.ops.size());
    std::vector<ScalarOp> ops;
    auto [operands, newOperand] = keptOperands();
    for (size_t i = 0; i < body.ops.size(); ++i) {
      if (!used[i])
        continue;
      map[i] = static_cast<ScalarId>(ops.size());
      ScalarOp op = std::move(body.ops[i]);
      for (ScalarId &arg : op.args)
        arg = map[arg];
      if (op.opcode == ScalarOpcode::Read) {
        uint32_t &operand = newOperand[op.operand];
        if (operand == kNone) {
          operand = static_cast<uint32_t>(operands.size());
          operands.push_back(primitive.operands[op.operand]);
        }
        op.operand = operand;
      }
      ops.push_back(std::move(op));
    }
    for (ScalarId &result : body.results)
      result = map[result];
    body.ops = std::move(ops);
    primitive.operands = std::move(operands);
  }

  PrimitiveGraph &graph;
  Primitive &primitive;
};

} // namespace

void inlineConstants(PrimitiveGraph &graph) {
  for (Primitive &primitive : graph.primitives)
    if (primitive.kind != Primitive::Kind::Library &&
        primitive.kind != Primitive::Kind::Loop &&
        primitive.kind != Primitive::Kind::Project)
      Rewriter(graph, primitive).run();
}

} // namespace lockstitch
