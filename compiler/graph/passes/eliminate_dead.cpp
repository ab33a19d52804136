#include "compiler/graph/passes/passes.h"

#include <algorithm>

namespace lockstitch {

void eliminateDead(PrimitiveGraph &graph) {
  std::vector<bool> needed(graph.values.size(), false);
  for (ValueId output : graph.outputs)
    needed[output] = true;
  for (size_t i = graph.primitives.size(); i-- > 0;)
    if (needed[graph.primitives[i].result])
      for (ValueId operand : graph.primitives[i].operands)
        needed[operand] = true;
  for (ValueId input : graph.inputs)
    needed[input] =
        true; // an input that nothing reads is an input all the same

  std::vector<Value> values;
  std::vector<Primitive> primitives;
  std::vector<ValueId> map(graph.values.size(), kNone);
  for (ValueId value = 0; value < graph.values.size(); ++value)
    if (needed[value] && graph.values[value].kind != Value::Kind::Result) {
      map[value] = static_cast<ValueId>(values.size());
      values.push_back(std::move(graph.values[value]));
    }
  for (Primitive &primitive : graph.primitives) {
    if (!needed[primitive.result])
      continue;
    for (ValueId &operand : primitive.operands)
      operand = map[operand];
    Value value = std::move(graph.values[primitive.result]);
    map[primitive.result] = static_cast<ValueId>(values.size());
    primitive.result = map[primitive.result];
    value.producer = static_cast<PrimitiveId>(primitives.size());
    values.push_back(std::move(value));
    primitives.push_back(std::move(primitive));
  }
  for (ValueId &input : graph.inputs)
    input = map[input];
  for (ValueId &output : graph.outputs)
    output = map[output];

  // A node that lost its last primitive here was not needed.
  std::vector<bool> alive(graph.origins.size(), false);
  for (const Primitive &primitive : primitives)
    for (OriginId origin : primitive.origins)
      alive[origin] = true;
  for (OriginId origin = 0; origin < graph.origins.size(); ++origin)
    if (!alive[origin] && graph.origins[origin].fate == Origin::Fate::Primitive)
      graph.origins[origin].fate = Origin::Fate::Dead;
  graph.values = std::move(values);
  graph.primitives = std::move(primitives);
  graph.storageRoots.clear();
  graph.alignments.clear();
}

void cleanUpBody(PrimitiveGraph &graph) {
  inlineConstants(graph);
  eliminateCommonPrimitives(graph);
  eliminateDead(graph);
  if (std::any_of(graph.primitives.begin(), graph.primitives.end(),
                  [](const Primitive &primitive) {
                    return primitive.kind == Primitive::Kind::Loop;
                  })) {
    simplifyLoops(graph);
    // What came out of the loops may be there already.
    inlineConstants(graph);
    eliminateCommonPrimitives(graph);
    eliminateDead(graph);
  }
  absorbViews(graph);
  eliminateDead(graph);
  lowerPushes(graph);
  lowerSorts(graph);
  eliminateCommonPrimitives(graph);
  eliminateDead(graph);
}

void cleanUp(PrimitiveGraph &graph) {
  cleanUpBody(graph);
  computeStorageRoots(graph);
}

} // namespace lockstitch
