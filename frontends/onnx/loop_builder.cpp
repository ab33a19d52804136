#include "frontends/onnx/loop_builder.h"

#include "compiler/graph/loop.h"

#include <algorithm>

namespace lockstitch::onnx {

LoopBuilder::LoopBuilder(GraphBuilder &outer) : outer(outer) {
  body.startWithin(outer);
  body.graph.name = "body";
}

ValueId LoopBuilder::input(ValueId operand, TensorType type) {
  return body.graph.addInput(outer.graph.values[operand].name, std::move(type));
}

ValueId LoopBuilder::carry(ValueId initial) {
  carried.push_back({initial, input(initial, outer.type(initial))});
  return carried.back().inside;
}

ValueId LoopBuilder::slice(ValueId operand, bool reversed) {
  TensorType type = outer.type(operand);
  type.shape.erase(type.shape.begin());
  sliced.push_back({operand, input(operand, std::move(type)), kNone, reversed});
  return sliced.back().inside;
}

ValueId LoopBuilder::capture(ValueId operand) {
  auto [it, isNew] = known.try_emplace(operand, kNone);
  if (!isNew)
    return it->second;
  const Value &value = outer.graph.values[operand];
  // What depends on constants only may steer shapes in the body, too.
  std::optional<OperandView> bytes;
  if (value.kind != Value::Kind::Constant && !isFloat(value.type.element))
    bytes = outer.constantBytes(operand);
  if (value.kind == Value::Kind::Constant)
    it->second = body.graph.addConstant(value.name, value.type,
                                        ConstantData(value.constant));
  else if (bytes)
    it->second =
        body.constant(value.type, {bytes->bytes.begin(), bytes->bytes.end()});
  else {
    it->second = input(operand, value.type);
    captured.push_back({operand, it->second});
  }
  return it->second;
}

ValueId LoopBuilder::trip() {
  sliced.push_back(
      {kNone, body.graph.addInput("trip", {ElementType::I64, {}})});
  return sliced.back().inside;
}

void LoopBuilder::setNext(ValueId carriedValue, ValueId next) {
  for (Port &port : carried)
    if (port.inside == carriedValue)
      port.next = next;
}

void LoopBuilder::collect(ValueId value, bool reversed) {
  collected.push_back({value, reversed});
}

std::vector<ValueId> LoopBuilder::finish(int64_t trips) {
  auto loop = std::make_shared<Loop>();
  loop->trips = trips;
  loop->carried = static_cast<uint32_t>(carried.size());
  Primitive primitive;
  primitive.kind = Primitive::Kind::Loop;
  PrimitiveGraph &graph = body.graph;
  graph.inputs.clear();
  for (Port &port : sliced)
    if (port.outside == kNone) {
      BodyBuilder numbers(outer, {Dim(trips)});
      port.outside =
          numbers.pull(numbers.b.index(IndexExpr::dim(0)), ElementType::I64);
    }
  for (const std::vector<Port> *ports : {&carried, &sliced, &captured})
    for (const Port &port : *ports) {
      primitive.operands.push_back(port.outside);
      graph.inputs.push_back(port.inside);
    }
  for (const Port &port : sliced)
    loop->slices.push_back(port.reversed);
  for (const Port &port : carried)
    graph.outputs.push_back(port.next);
  for (auto [value, reversed] : collected) {
    graph.outputs.push_back(value);
    loop->collected.push_back(reversed);
  }
  graph.outputNames.resize(graph.outputs.size());

  // The body keeps the origins that it has; the loop has them all.
  std::vector<OriginId> origins = {outer.origin()}, newId(graph.origins.size());
  std::vector<Origin> kept;
  std::vector<bool> isKept(graph.origins.size(), false);
  for (Primitive &inner : graph.primitives)
    for (OriginId &origin : inner.origins) {
      if (!isKept[origin]) {
        isKept[origin] = true;
        newId[origin] = static_cast<OriginId>(kept.size());
        kept.push_back(graph.origins[origin]);
        kept.back().fate = Origin::Fate::Primitive;
        if (origin != outer.origin())
          origins.push_back(origin);
      }
      origin = newId[origin];
    }
  graph.origins = std::move(kept);
  loop->body = std::move(graph);

  std::vector<TensorType> types;
  for (size_t i = 0; i < loop->numResults(); ++i)
    types.push_back(loop->resultType(i));
  primitive.loop = std::move(loop);
  ValueId token = outer.add(std::move(primitive), tokenType());
  PrimitiveGraph &around = outer.graph;
  around.primitives[around.values[token].producer].origins = std::move(origins);
  std::vector<ValueId> results;
  for (uint32_t i = 0; i < types.size(); ++i) {
    Primitive project;
    project.kind = Primitive::Kind::Project;
    project.operands = {token};
    project.projection = i;
    results.push_back(outer.add(std::move(project), std::move(types[i])));
  }
  return results;
}

} // namespace lockstitch::onnx
