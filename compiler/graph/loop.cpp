#include "compiler/graph/loop.h"

#include <algorithm>
#include <numeric>

namespace lockstitch {

TensorType tokenType() { return {ElementType::Bool, {0}}; }

TensorType stacked(const Dim &trips, const TensorType &type) {
  TensorType result = type;
  result.shape.insert(result.shape.begin(), trips);
  return result;
}

TensorType Loop::resultType(size_t result) const {
  const TensorType &type = body.type(body.outputs[result]);
  return result < carried ? type : stacked(trips, type);
}

std::vector<bool> constantPrimitives(const PrimitiveGraph &graph) {
  std::vector<bool> constant(graph.primitives.size(), false);
  for (PrimitiveId id = 0; id < graph.primitives.size(); ++id) {
    const auto &operands = graph.primitives[id].operands;
    constant[id] =
        graph.primitives[id].kind != Primitive::Kind::Loop &&
        std::all_of(operands.begin(), operands.end(), [&](ValueId operand) {
          const Value &value = graph.values[operand];
          return value.kind == Value::Kind::Constant ||
                 (value.kind == Value::Kind::Result &&
                  constant[value.producer]);
        });
  }
  return constant;
}

LoopPlacement placeLoop(const Loop &loop) {
  const PrimitiveGraph &body = loop.body;
  LoopPlacement placement;
  placement.history.assign(loop.carried, kNone);
  placement.direct.assign(body.outputs.size(), false);
  std::vector<bool> constant = constantPrimitives(body);
  std::vector<ValueId> roots, claimed;
  for (ValueId output : body.outputs)
    roots.push_back(storageRoot(body, output));
  // A value has one place: the first output that names it gets it.
  for (size_t i = 0; i < roots.size(); ++i) {
    const Value &root = body.values[roots[i]];
    if (root.kind != Value::Kind::Result || constant[root.producer] ||
        body.primitives[root.producer].kind == Primitive::Kind::Project ||
        std::find(claimed.begin(), claimed.end(), roots[i]) != claimed.end())
      continue;
    claimed.push_back(roots[i]);
    placement.direct[i] = true;
    if (i >= loop.carried)
      continue;
    for (size_t j = loop.carried; j < roots.size(); ++j)
      if (roots[j] == roots[i]) {
        placement.history[i] = static_cast<uint32_t>(j - loop.carried);
        placement.direct[j] = true;
        break;
      }
  }
  return placement;
}

std::optional<std::string> verifyLoop(const PrimitiveGraph &graph,
                                      const Primitive &primitive) {
  if (primitive.kind == Primitive::Kind::Project) {
    PrimitiveId producer = primitive.operands.size() == 1
                               ? graph.values[primitive.operands[0]].producer
                               : kNone;
    if (producer == kNone ||
        graph.primitives[producer].kind != Primitive::Kind::Loop)
      return "projects what is no loop";
    const Loop &loop = *graph.primitives[producer].loop;
    if (primitive.projection >= loop.numResults())
      return "projects result " + std::to_string(primitive.projection) +
             " of " + std::to_string(loop.numResults());
    if (graph.type(primitive.result) != loop.resultType(primitive.projection))
      return "is " + toString(graph.type(primitive.result)) +
             ", but the loop's result is " +
             toString(loop.resultType(primitive.projection));
    return std::nullopt;
  }
  if (!primitive.loop)
    return "has no body";
  const Loop &loop = *primitive.loop;
  const PrimitiveGraph &body = loop.body;
  if (!loop.trips.isConstant() || loop.trips.value() < 1)
    return "makes no trips";
  if (graph.type(primitive.result) != tokenType())
    return "yields more than a token";
  if (body.inputs.size() != primitive.operands.size() ||
      body.inputs.size() < loop.carried + loop.slices.size() ||
      body.outputs.size() != loop.numResults())
    return "its body's inputs and outputs do not fit its operands and results";
  for (size_t i = 0; i < body.inputs.size(); ++i) {
    TensorType expected = body.type(body.inputs[i]);
    if (loop.isSliced(i))
      expected = stacked(loop.trips, expected);
    if (graph.type(primitive.operands[i]) != expected)
      return "operand " + std::to_string(i) + " is " +
             toString(graph.type(primitive.operands[i])) + ", not " +
             toString(expected);
  }
  for (size_t i = 0; i < body.outputs.size(); ++i)
    if (body.outputs[i] >= body.values.size())
      return "an output of its body is not there";
  for (size_t i = 0; i < loop.carried; ++i)
    if (body.type(body.outputs[i]) != body.type(body.inputs[i]))
      return "carried value " + std::to_string(i) + " changes from " +
             toString(body.type(body.inputs[i])) + " to " +
             toString(body.type(body.outputs[i]));
  if (auto problem = body.verify())
    return "body: " + *problem;
  return std::nullopt;
}

namespace {

uint8_t alignmentAt(int64_t base, int64_t offset) {
  return static_cast<uint8_t>(std::gcd(base, offset));
}

void findRoots(PrimitiveGraph &graph) {
  graph.storageRoots.clear();
  std::vector<ValueId> roots(graph.values.size());
  for (ValueId value = 0; value < roots.size(); ++value) {
    roots[value] = value;
    if (graph.values[value].kind != Value::Kind::Result)
      continue;
    const Primitive &primitive = graph.primitives[graph.values[value].producer];
    if (isReshape(graph, primitive))
      roots[value] = roots[primitive.operands[0]]; // operands come first
  }
  graph.storageRoots = std::move(roots);
  graph.alignments.assign(graph.values.size(), kTensorAlignment);
}

/// Sets the alignments of a graph whose inputs' are known, and of all bodies.
void computeAlignments(PrimitiveGraph &graph) {
  for (Primitive &primitive : graph.primitives) {
    if (primitive.kind != Primitive::Kind::Loop)
      continue;
    auto loop = std::make_shared<Loop>(*primitive.loop);
    PrimitiveGraph &body = loop->body;
    findRoots(body);
    LoopPlacement placement = placeLoop(*loop);
    for (size_t i = 0; i < primitive.operands.size(); ++i) {
      int64_t base = alignmentOf(graph, primitive.operands[i]);
      int64_t bytes = body.type(body.inputs[i]).bytes();
      uint8_t &alignment = body.alignments[body.inputs[i]];
      if (i < loop->carried)
        alignment = placement.history[i] == kNone
                        ? kTensorAlignment
                        : alignmentAt(kTensorAlignment, bytes);
      else
        alignment = loop->isSliced(i) ? alignmentAt(base, bytes)
                                      : static_cast<uint8_t>(base);
    }
    for (size_t i = 0; i < body.outputs.size(); ++i) {
      bool isSlice = i >= loop->carried || placement.history[i] != kNone;
      if (placement.direct[i] && isSlice)
        body.alignments[storageRoot(body, body.outputs[i])] =
            alignmentAt(kTensorAlignment, body.type(body.outputs[i]).bytes());
    }
    computeAlignments(body);
    primitive.loop = loop;
  }
  // The last value of a history is the last slice of the collected result.
  for (const Primitive &primitive : graph.primitives) {
    if (primitive.kind != Primitive::Kind::Project)
      continue;
    const Loop &loop =
        *graph.primitives[graph.values[primitive.operands[0]].producer].loop;
    if (primitive.projection >= loop.carried)
      continue;
    uint32_t history = placeLoop(loop).history[primitive.projection];
    if (history != kNone && !loop.collected[history])
      graph.alignments[primitive.result] = alignmentAt(
          kTensorAlignment,
          (loop.trips.value() - 1) * graph.type(primitive.result).bytes());
  }
}

} // namespace

void computeStorageRoots(PrimitiveGraph &graph) {
  findRoots(graph);
  computeAlignments(graph);
}

int64_t alignmentOf(const PrimitiveGraph &graph, ValueId value) {
  return graph.alignments.empty() ? kTensorAlignment
                                  : graph.alignments[storageRoot(graph, value)];
}

} // namespace lockstitch
