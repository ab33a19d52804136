// What a rule sees of the node that it lowers.
#ifndef LOCKSTITCH_FRONTENDS_ONNX_NODE_CONTEXT_H
#define LOCKSTITCH_FRONTENDS_ONNX_NODE_CONTEXT_H

#include "frontends/onnx/graph_builder.h"
#include "frontends/onnx/model.h"

#include <functional>
#include <set>

namespace lockstitch::onnx {

/// One node: its operands, attributes and results. Errors are thrown as
/// Refusal; the importer adds where.
class NodeContext {
public:
  NodeContext(GraphBuilder &graph, const Node &node, int64_t opset,
              std::vector<ValueId> operands)
      : graph(graph), node(node), opset(opset), operands(std::move(operands)),
        results(node.outputs.size(), kNone) {}

  GraphBuilder &graph;
  const Node &node;
  const int64_t opset;
  /// Names of the values that something uses; null: all.
  const std::set<std::string> *used = nullptr;

  // Operands. An optional one that is absent is kNone.
  size_t numInputs() const { return operands.size(); }
  bool has(size_t i) const {
    return i < operands.size() && operands[i] != kNone;
  }
  /// Operand `i`; refuses the node when it is absent.
  ValueId input(size_t i) const;
  const TensorType &type(size_t i) const { return graph.type(input(i)); }
  ElementType element(size_t i) const { return type(i).element; }
  const Shape &shape(size_t i) const { return type(i).shape; }
  Extents extents(size_t i) const { return toExtents(shape(i)); }
  int64_t rank(size_t i) const { return static_cast<int64_t>(shape(i).size()); }
  /// All operands.
  const std::vector<ValueId> &inputs() const { return operands; }

  // Attributes; the fallback where absent, a refusal where of another type.
  const Attribute *attribute(std::string_view name, Attribute::Kind kind) const;
  int64_t attrInt(std::string_view name, int64_t fallback) const;
  int64_t attrInt(std::string_view name) const; // required
  float attrFloat(std::string_view name, float fallback) const;
  std::string attrString(std::string_view name,
                         std::string_view fallback) const;
  std::optional<std::vector<int64_t>> attrInts(std::string_view name) const;

  /// The values of an integer operand that must be known while compiling;
  /// `what` names it in the refusal.
  std::vector<int64_t> constantInts(size_t i, std::string_view what) const;
  /// From attribute `name` where the operator has it (`opset` < `inputSince`),
  /// else from operand `i`. Nothing if absent.
  std::optional<std::vector<int64_t>> intsFrom(std::string_view name, size_t i,
                                               int64_t inputSince) const;

  /// Checks an axis and makes it non-negative; valid are -rank .. rank-1.
  int64_t axis(int64_t axis, int64_t rank,
               std::string_view what = "axis") const;
  std::vector<int64_t> axes(std::vector<int64_t> axes,
                            int64_t rank) const; // sorted, unique
  /// The common shape of operands that broadcast together, or a refusal.
  Extents broadcast(std::span<const ValueId> values) const;

  /// Requires that operands `first`.. have the same element type.
  void requireSameType(size_t first, size_t count) const;
  void requireFloat(size_t i) const;

  // Results.
  size_t numOutputs() const { return node.outputs.size(); }
  /// Is output `i` named, and used by anything?
  bool wantsOutput(size_t i) const {
    return i < node.outputs.size() && !node.outputs[i].empty() &&
           (!used || used->count(node.outputs[i]));
  }
  void setOutput(size_t i, ValueId value);
  const std::vector<ValueId> &outputs() const { return results; }

  [[noreturn]] void refuse(std::string reason, std::string wayOut = {}) const {
    throw Refusal{std::move(reason), std::move(wayOut)};
  }

private:
  std::vector<ValueId> operands;
  std::vector<ValueId> results;
};

/// One Pull over the broadcast of `operands`: `make` gets their elements,
/// widened, and returns the element of the result.
using ElementFunction =
    std::function<ScalarId(ScalarBuilder &, std::span<const ScalarId>)>;
ValueId elementwise(const NodeContext &context,
                    std::span<const ValueId> operands, ElementType result,
                    const ElementFunction &make);

// Views, shared by several rules. Each returns its operand where nothing
// changes.
ValueId reshape(GraphBuilder &graph, ValueId value, const Extents &to);
ValueId transpose(GraphBuilder &graph, ValueId value,
                  const std::vector<int64_t> &permutation);
/// `to` must be the broadcast of the value's shape with something.
ValueId expand(GraphBuilder &graph, ValueId value, const Extents &to);
ValueId castTo(GraphBuilder &graph, ValueId value, ElementType to);

/// "[2,3]".
std::string toString(const Extents &extents);

} // namespace lockstitch::onnx

#endif // LOCKSTITCH_FRONTENDS_ONNX_NODE_CONTEXT_H
