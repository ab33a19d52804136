// The borders of a program: its inputs, outputs and constants. What lies between them is in level_builder.cpp.
#include "compiler/driver/program_builder.h"

#include "compiler/driver/level_builder.h"

#include <algorithm>

namespace lockstitch {

ProgramBuilder::ProgramBuilder(const PrimitiveGraph &graph) : graph(graph) {
  auto info = [&](ValueId value, const std::string &name) {
    TensorInfo tensor;
    tensor.name = name;
    tensor.type = graph.type(value).element;
    tensor.shape = graph.type(value).shape;
    return tensor;
  };
  program.model = graph.name;
  for (ValueId input : graph.inputs)
    program.inputs.push_back(info(input, graph.values[input].name));
  for (size_t i = 0; i < graph.outputs.size(); ++i)
    program.outputs.push_back(info(graph.outputs[i], graph.outputNames[i]));
  program.totalNodes = std::count_if(
      graph.origins.begin(), graph.origins.end(),
      [](const Origin &origin) { return !origin.isConstantNode; });
}

BufferRef ProgramBuilder::constant(const PrimitiveGraph &graph, ValueId root) {
  const Value &value = graph.values[root];
  bool hasBytes =
      value.kind == Value::Kind::Constant && value.constant.bytes != 0;
  std::pair<const void *, size_t> key =
      hasBytes ? std::pair<const void *, size_t>{value.constant.data,
                                                 value.constant.bytes}
               : std::pair<const void *, size_t>{&graph, root};
  auto [at, isNew] = constants.try_emplace(
      key, static_cast<uint32_t>(program.constants.size()));
  if (isNew) {
    TensorInfo info;
    info.name = value.name.empty() && value.producer != kNone
                    ? graph.primitives[value.producer].name
                    : value.name;
    info.type = value.type.element;
    info.shape = value.type.shape;
    program.constantInfos.push_back(std::move(info));
    // Without bytes: the prologue computes it.
    Blob blob;
    if (value.kind == Value::Kind::Constant)
      blob = {{value.constant.data, value.constant.bytes},
              value.constant.owner};
    program.constants.push_back(std::move(blob));
  }
  return {BufferRef::Space::Constant, at->second, 0, value.type.bytes()};
}

Status ProgramBuilder::addTarget(const Plan &plan,
                                 const std::vector<PlannedLaunch> &launches,
                                 TargetProgram target) {
  size_t cursor = 0;
  LevelBuilder level(*this, graph, plan.steps, launches, cursor, 0);
  for (uint32_t i = 0; i < graph.inputs.size(); ++i)
    level.setPlace(graph.inputs[i], {BufferRef::Space::Input, i, 0,
                                     graph.type(graph.inputs[i]).bytes()});
  std::set<ValueId> placed;
  for (uint32_t i = 0; i < graph.outputs.size(); ++i) {
    ValueId root = storageRoot(graph, graph.outputs[i]);
    if (level.liesInSlots(root))
      level.keep(root);
    else if (level.isMadeHere(root) && placed.insert(root).second)
      level.setPlace(
          root, {BufferRef::Space::Output, i, 0, graph.type(root).bytes()});
  }
  if (Status status = level.measure(); !status.ok())
    return status;
  target.arenaBytes = level.arenaBytes();
  level.emit(0, target.steps, target.prologue);

  // Outputs that are inputs, constants, results of a loop that lie in its slots, or the same as an earlier output are copied
  // by the runtime.
  for (uint32_t i = 0; i < graph.outputs.size(); ++i) {
    target.outputs.push_back(
        level.buffer(storageRoot(graph, graph.outputs[i])));
    target.outputs.back().bytes = graph.type(graph.outputs[i]).bytes();
  }
  target.floorKernels = floorKernels(graph, plan);
  program.targets.push_back(std::move(target));
  return {};
}

} // namespace lockstitch
