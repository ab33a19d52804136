// Random loops: a random graph as the body, each of its inputs carried, sliced or captured; next values and what is collected are
// any values of the body, inputs and twice the same included. What goes in and comes out passes through kernels, or does not.
#ifndef LOCKSTITCH_TESTS_UNIT_COMPILER_RANDOM_LOOP_H
#define LOCKSTITCH_TESTS_UNIT_COMPILER_RANDOM_LOOP_H

#include "compiler/graph/loop.h"
#include "tests/unit/compiler/random_graph.h"

#include <algorithm>

namespace lockstitch::testing {

/// `depth`: loops inside of the loop.
inline PrimitiveGraph randomLoop(uint32_t seed, unsigned depth = 0) {
  std::mt19937 random(seed * 7919 + depth);
  auto pick = [&](auto bound) {
    return static_cast<unsigned>(random() % bound);
  };
  GraphMaker body;
  body.graph = depth ? randomLoop(seed + 1, depth - 1)
                     : randomGraph(seed, 2 + pick(10u), pick(3u) == 0);
  body.graph.outputs.clear();
  body.graph.outputNames.clear();
  std::string prefix = "b" + std::to_string(depth) + "/";
  for (Primitive &primitive : body.graph.primitives)
    primitive.name = prefix + primitive.name;
  for (Origin &origin : body.graph.origins)
    origin.node = prefix + origin.node;
  std::vector<ValueId> readable; // no tokens
  for (ValueId value = 0; value < body.graph.values.size(); ++value)
    if (body.graph.type(value).element == ElementType::F32)
      readable.push_back(value);

  auto loop = std::make_shared<Loop>();
  loop->trips = 1 + pick(4u);
  std::vector<ValueId> inputs[3], nexts; // carried, sliced, captured
  std::vector<ValueId> bodyInputs = body.graph.inputs;
  for (ValueId input : bodyInputs) {
    unsigned role = pick(3u);
    if (role == 0) {
      std::vector<ValueId> fitting;
      for (ValueId value : readable)
        if (body.graph.type(value) == body.graph.type(input))
          fitting.push_back(value);
      ValueId next = fitting[pick(fitting.size())];
      // Bounded, so that what the devices round differently does not grow.
      nexts.push_back(pick(4u) ? body.map(ScalarOpcode::Tanh, {next}) : input);
    } else if (role == 1) {
      loop->slices.push_back(pick(2u));
    }
    inputs[role].push_back(input);
  }
  std::vector<ValueId> collected;
  for (unsigned i = 0, count = pick(3u) + nexts.empty(); i < count; ++i)
    collected.push_back(!nexts.empty() && pick(2u)
                            ? nexts[pick(nexts.size())]
                            : readable[pick(readable.size())]);
  for (size_t i = 0; i < collected.size(); ++i)
    loop->collected.push_back(pick(2u));
  loop->carried = static_cast<uint32_t>(nexts.size());

  GraphMaker maker;
  Primitive primitive;
  primitive.kind = Primitive::Kind::Loop;
  primitive.name = "loop" + std::to_string(depth);
  primitive.origins = {0};
  maker.graph.origins = {{"loop", "", false, Origin::Fate::Primitive}};
  body.graph.inputs.clear();
  for (unsigned role = 0; role < 3; ++role)
    for (ValueId input : inputs[role]) {
      TensorType type = body.graph.type(input);
      if (role == 1)
        type = stacked(loop->trips, type);
      ValueId operand = maker.input(type.shape);
      if (pick(2u))
        operand = maker.map(ScalarOpcode::Neg, {operand});
      if (role == 2 && inputs[role].size() > 1 && pick(4u) == 0)
        operand = primitive.operands.empty() || // the same operand twice
                          maker.graph.type(primitive.operands.back()) != type
                      ? operand
                      : primitive.operands.back();
      primitive.operands.push_back(operand);
      body.graph.inputs.push_back(input);
    }
  body.graph.outputs = nexts;
  body.graph.outputs.insert(body.graph.outputs.end(), collected.begin(),
                            collected.end());
  body.graph.outputNames.resize(body.graph.outputs.size());
  body.graph.name = "body";
  loop->body = std::move(body.graph);
  size_t results = loop->numResults();
  std::vector<TensorType> types;
  for (size_t i = 0; i < results; ++i)
    types.push_back(loop->resultType(i));
  std::vector<ValueId> operands = primitive.operands;
  primitive.loop = std::move(loop);
  ValueId token = maker.graph.add(std::move(primitive), tokenType());
  for (uint32_t i = 0; i < results; ++i) {
    if (pick(6u) == 0 && i + 1 < results)
      continue; // nobody reads it
    Primitive project;
    project.kind = Primitive::Kind::Project;
    project.name = "result" + std::to_string(depth) + "." + std::to_string(i);
    project.origins = {0};
    project.operands = {token};
    project.projection = i;
    ValueId value = maker.graph.add(std::move(project), types[i]);
    if (unsigned how = pick(3u); how != 0)
      maker.output(maker.map(ScalarOpcode::Neg, {value}));
    else
      maker.output(value);
    if (pick(4u) == 0)
      maker.output(value);
  }
  // Somebody reads an operand of the loop after it.
  if (pick(2u))
    maker.output(
        maker.map(ScalarOpcode::Abs, {operands[pick(operands.size())]}));
  maker.graph.name = "loop" + std::to_string(seed);
  return std::move(maker.graph);
}

} // namespace lockstitch::testing

#endif // LOCKSTITCH_TESTS_UNIT_COMPILER_RANDOM_LOOP_H
