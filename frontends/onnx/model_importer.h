// The importer's inside: scopes of names, and the lowering of nodes, functions
// and bodies.
#ifndef LOCKSTITCH_FRONTENDS_ONNX_MODEL_IMPORTER_H
#define LOCKSTITCH_FRONTENDS_ONNX_MODEL_IMPORTER_H

#include "frontends/onnx/importer.h"
#include "frontends/onnx/loop_builder.h"
#include "frontends/onnx/node_context.h"

#include <set>
#include <unordered_map>

namespace lockstitch::onnx {

/// Names of values in one graph. A value that could not be made is kNone.
struct Scope {
  /// Where names are looked up that are not here.
  Scope *parent = nullptr;
  /// Of the graph that the values belong to.
  GraphBuilder *builder = nullptr;
  /// The loop whose body this is; values of the parent are captured by it.
  LoopBuilder *loop = nullptr;
  std::unordered_map<std::string, ValueId> values = {};
  std::unordered_map<std::string, const Tensor *> tensors =
      {}; // initialisers: become constants when they are first used
};

using Opsets = std::map<std::string, int64_t>;

/// A node while it is lowered, and what it means where it stands.
struct NodePlace {
  const Node &node;
  int64_t opset;
  const std::vector<ValueId> &operands;
  Scope &scope;
  const std::set<std::string> &used; // names that something reads
  const Opsets &opsets;
  OriginId origin;
  /// In a function of the model; then all primitives belong to `origin`.
  bool inFunction;
};

/// Are its bodies lowered by the importer itself (If, Loop, Scan)?
bool isControlFlow(const Node &node);

class ModelImporter {
public:
  ModelImporter(const OnnxModel &model, const ImportOptions &options)
      : model(model), options(options) {}

  Result<PrimitiveGraph> run();

private:
  ValueId addInput(const std::string &name, const TensorType &type);
  void enterInitializers(const Graph &graph, Scope &scope);
  /// Nothing: the name is not defined. kNone: its value could not be made,
  /// which has been reported.
  std::optional<ValueId> lookup(const std::string &name, Scope &scope);
  ValueId makeConstant(const Tensor &tensor, GraphBuilder &builder);

  /// Lowers those of `nodes` that `wanted` needs. `caller`: the node to which
  /// all primitives belong (in a function).
  void lowerNodes(const std::vector<Node> &nodes, Scope &scope,
                  std::set<std::string> wanted, const Opsets &opsets,
                  std::optional<OriginId> caller);
  void lowerNode(const Node &node, Scope &scope,
                 const std::set<std::string> &used, const Opsets &opsets,
                 OriginId origin, bool inFunction);
  void callFunction(const Node &node, const Function &function,
                    const std::vector<ValueId> &operands, Scope &scope,
                    OriginId origin);
  void define(const std::string &name, ValueId value, Scope &scope);
  void report(const Node &node, int64_t opset, OriginId origin, bool inFunction,
              const GraphBuilder &builder, const std::vector<ValueId> &operands,
              std::string reason, std::string wayOut);
  void dropUnused();

  // Nodes with bodies: control_flow.cpp. They throw Refusal.
  void lowerControlFlow(const NodePlace &at);
  void lowerIf(const NodePlace &at);
  void lowerLoop(const NodePlace &at);
  void lowerScan(const NodePlace &at);
  /// Scan's loop: final states, then what it collects, each with the trips in
  /// its first dimension. Nothing where the body could not be lowered.
  std::optional<std::vector<ValueId>>
  scan(const NodePlace &at, const Graph &body, Scope &scope,
       const std::vector<ValueId> &states, const std::vector<ValueId> &inputs,
       const std::vector<int64_t> &inputDirections,
       const std::vector<int64_t> &outputDirections, int64_t trips);
  /// Lowers `body` in `scope`; the values of its outputs, kNone where it is
  /// not `wanted` or could not be made.
  std::vector<ValueId> lowerBody(const NodePlace &at, const Graph &body,
                                 Scope &scope, const std::vector<bool> &wanted);
  bool isUsed(const NodePlace &at, size_t output) const;

  const OnnxModel &model;
  const ImportOptions &options;
  GraphBuilder root;
  std::unordered_map<const Node *, OriginId> originOf;
  std::set<std::string> sparse;
  std::vector<ErrorMessage> messages;
  int functionDepth = 0;
};

} // namespace lockstitch::onnx

#endif // LOCKSTITCH_FRONTENDS_ONNX_MODEL_IMPORTER_H
