#include "frontends/onnx/node_context.h"

#include <algorithm>

namespace lockstitch::onnx {

std::string toString(const Extents &extents) {
  std::string text = "[";
  for (size_t i = 0; i < extents.size(); ++i)
    text += (i ? "," : "") + std::to_string(extents[i]);
  return text + "]";
}

ValueId NodeContext::input(size_t i) const {
  if (!has(i))
    refuse("input " + std::to_string(i) + " is missing");
  return operands[i];
}

const Attribute *NodeContext::attribute(std::string_view name,
                                        Attribute::Kind kind) const {
  const Attribute *found = node.attribute(name);
  if (found && found->kind != kind)
    refuse("attribute '" + std::string(name) + "' is of the wrong kind");
  return found;
}

int64_t NodeContext::attrInt(std::string_view name, int64_t fallback) const {
  const Attribute *found = attribute(name, Attribute::Kind::Int);
  return found ? found->i : fallback;
}

int64_t NodeContext::attrInt(std::string_view name) const {
  const Attribute *found = attribute(name, Attribute::Kind::Int);
  if (!found)
    refuse("attribute '" + std::string(name) + "' is missing");
  return found->i;
}

float NodeContext::attrFloat(std::string_view name, float fallback) const {
  const Attribute *found = attribute(name, Attribute::Kind::Float);
  return found ? found->f : fallback;
}

std::string NodeContext::attrString(std::string_view name,
                                    std::string_view fallback) const {
  const Attribute *found = attribute(name, Attribute::Kind::String);
  return found ? found->s : std::string(fallback);
}

std::optional<std::vector<int64_t>>
NodeContext::attrInts(std::string_view name) const {
  const Attribute *found = attribute(name, Attribute::Kind::Ints);
  return found ? std::optional(found->ints) : std::nullopt;
}

std::vector<int64_t> NodeContext::constantInts(size_t i,
                                               std::string_view what) const {
  ValueId value = input(i);
  if (isFloat(graph.element(value)))
    refuse(std::string(what) + " (input " + std::to_string(i) +
           ") should be integers, not " +
           lockstitch::toString(graph.type(value)));
  auto ints = graph.constantInts(value);
  if (!ints)
    refuse(
        std::string(what) + " (input " + std::to_string(i) +
            ") is computed from the model's inputs; it steers a shape, so it "
            "must be known while compiling",
        "make it a constant of the model");
  return *ints;
}

std::optional<std::vector<int64_t>>
NodeContext::intsFrom(std::string_view name, size_t i,
                      int64_t inputSince) const {
  if (opset < inputSince)
    return attrInts(name);
  return has(i) ? std::optional(constantInts(i, name)) : std::nullopt;
}

int64_t NodeContext::axis(int64_t axis, int64_t rank,
                          std::string_view what) const {
  if (axis < -rank || axis >= rank)
    refuse(std::string(what) + " " + std::to_string(axis) +
           " is not possible for a tensor of rank " + std::to_string(rank));
  return axis < 0 ? axis + rank : axis;
}

std::vector<int64_t> NodeContext::axes(std::vector<int64_t> axes,
                                       int64_t rank) const {
  for (int64_t &value : axes)
    value = axis(value, rank);
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end())
    refuse("an axis is named twice");
  return axes;
}

Extents NodeContext::broadcast(std::span<const ValueId> values) const {
  Extents result;
  for (ValueId value : values) {
    Extents shape = graph.extents(value);
    if (shape.size() > result.size())
      result.insert(result.begin(), shape.size() - result.size(), 1);
    for (size_t i = 0; i < shape.size(); ++i) {
      int64_t &into = result[result.size() - shape.size() + i];
      if (into == 1)
        into = shape[i];
      else if (shape[i] != 1 && shape[i] != into) {
        std::string shapes;
        for (ValueId v : values)
          shapes +=
              (shapes.empty() ? "" : " and ") + toString(graph.extents(v));
        refuse("the shapes " + shapes + " do not broadcast");
      }
    }
  }
  return result;
}

void NodeContext::requireSameType(size_t first, size_t count) const {
  for (size_t i = first + 1; i < first + count; ++i)
    if (has(i) && element(i) != element(first))
      refuse("its inputs have different types: " +
             std::string(lockstitch::name(element(first))) + " and " +
             std::string(lockstitch::name(element(i))));
}

void NodeContext::requireFloat(size_t i) const {
  if (!isFloat(element(i)))
    refuse("input " + std::to_string(i) +
           " should be of a floating-point type, not " +
           std::string(lockstitch::name(element(i))));
}

void NodeContext::setOutput(size_t i, ValueId value) {
  if (i < results.size())
    results[i] = value;
}

ValueId elementwise(const NodeContext &context,
                    std::span<const ValueId> operands, ElementType result,
                    const ElementFunction &make) {
  BodyBuilder body(context.graph, toShape(context.broadcast(operands)));
  std::vector<ScalarId> elements;
  for (ValueId operand : operands)
    elements.push_back(body.readBroadcast(operand));
  return body.pull(make(body.b, elements), result);
}

ValueId reshape(GraphBuilder &graph, ValueId value, const Extents &to) {
  if (graph.extents(value) == to)
    return value;
  if (graph.isConstant(value))
    return graph.reshapedConstant(value, to);
  BodyBuilder body(graph, toShape(to));
  ScalarId element = body.read(
      value, reshapeMap(graph.type(value).shape, toShape(to)).results);
  return body.pull(element, graph.element(value));
}

ValueId transpose(GraphBuilder &graph, ValueId value,
                  const std::vector<int64_t> &permutation) {
  Extents from = graph.extents(value), to;
  bool isIdentity = true;
  std::vector<IndexExpr> at(from.size());
  for (size_t i = 0; i < permutation.size(); ++i) {
    to.push_back(from[permutation[i]]);
    at[permutation[i]] = IndexExpr::dim(i);
    isIdentity &= permutation[i] == static_cast<int64_t>(i);
  }
  if (isIdentity)
    return value;
  BodyBuilder body(graph, toShape(to));
  return body.pull(body.read(value, at), graph.element(value));
}

ValueId expand(GraphBuilder &graph, ValueId value, const Extents &to) {
  if (graph.extents(value) == to)
    return value;
  BodyBuilder body(graph, toShape(to));
  return body.pull(
      body.read(value, broadcastAt(graph.type(value).shape, to.size())),
      graph.element(value));
}

ValueId castTo(GraphBuilder &graph, ValueId value, ElementType to) {
  if (graph.element(value) == to)
    return value;
  BodyBuilder body(graph, graph.type(value).shape);
  return body.pull(body.b.cast(body.read(value, identityAt(body.rank())), to),
                   to);
}

} // namespace lockstitch::onnx
