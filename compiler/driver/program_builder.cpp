// Buffers. A tensor's bytes lie where its storage root's lie; a root is
//   an input or a constant    used in place, never copied
//   made by the prologue      a computed constant, kept for the life of the program
//   an output of the model    written straight into the caller's buffer (the first output that names it; others are copied)
//   anything else             a piece of the arena, from the step that writes it to the last that reads it
#include "compiler/driver/program_builder.h"

#include "compiler/planner/library_epilogue.h"
#include "compiler/planner/traffic.h"
#include "runtime/program/arena_plan.h"

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

std::string ProgramBuilder::nameOf(ValueId value) const {
  const Value &entry = graph.values[value];
  if (!entry.name.empty())
    return entry.name;
  return entry.producer == kNone ? "" : graph.primitives[entry.producer].name;
}

BufferRef ProgramBuilder::constant(ValueId root) {
  const Value &value = graph.values[root];
  auto [at, isNew] = constants.try_emplace(
      root, static_cast<uint32_t>(program.constants.size()));
  if (isNew) {
    TensorInfo info;
    info.name = nameOf(root);
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

std::vector<std::string>
ProgramBuilder::nodesOf(const std::vector<PrimitiveId> &members) const {
  std::vector<OriginId> origins;
  for (PrimitiveId member : members)
    origins.insert(origins.end(), graph.primitives[member].origins.begin(),
                   graph.primitives[member].origins.end());
  std::sort(origins.begin(), origins.end());
  origins.erase(std::unique(origins.begin(), origins.end()), origins.end());
  std::vector<std::string> nodes;
  for (OriginId origin : origins)
    if (!graph.origins[origin].isConstantNode)
      nodes.push_back(graph.origins[origin].node);
  return nodes;
}

Status ProgramBuilder::addTarget(const Plan &plan,
                                 const std::vector<PlannedLaunch> &launches,
                                 TargetProgram target) {
  std::unordered_map<ValueId, BufferRef> place; // by storage root
  for (uint32_t i = 0; i < graph.inputs.size(); ++i)
    place[graph.inputs[i]] = {BufferRef::Space::Input, i, 0,
                              graph.type(graph.inputs[i]).bytes()};

  // What is made where.
  std::unordered_map<ValueId, int64_t> firstStep, lastStep;
  int64_t count = 0;
  for (const PlanStep &step : plan.steps) {
    if (step.prologue) {
      for (ValueId output : step.outputs)
        place[output] = constant(output);
      continue;
    }
    for (ValueId output : step.outputs)
      firstStep[output] = lastStep[output] = count;
    ++count;
  }
  for (uint32_t i = 0; i < graph.outputs.size(); ++i) {
    ValueId root = storageRoot(graph, graph.outputs[i]);
    if (firstStep.count(root) && !place.count(root))
      place[root] = {BufferRef::Space::Output, i, 0, graph.type(root).bytes()};
  }

  // Arguments of every step, as roots.
  std::vector<std::vector<ValueId>> arguments(plan.steps.size());
  std::vector<LibraryCall> calls(plan.steps.size());
  size_t launch = 0;
  count = 0;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const PlanStep &step = plan.steps[i];
    if (step.kind == PlanStep::Kind::Kernel) {
      arguments[i] = launches[launch++].arguments;
    } else {
      auto built = buildLibraryStep(graph, step.members, step.outputs[0]);
      if (auto *refusal = std::get_if<Refusal>(&built))
        return Error::internal("library call", refusal->reason);
      auto &library = std::get<LibraryStep>(built);
      arguments[i] = std::move(library.operands);
      arguments[i].push_back(library.result);
      calls[i] = std::move(library.call);
    }
    if (step.prologue)
      continue;
    for (ValueId root : arguments[i])
      if (auto last = lastStep.find(root); last != lastStep.end())
        last->second = std::max(last->second, count);
    ++count;
  }

  // The arena, in the order in which values are made.
  std::vector<LiveInterval> intervals;
  std::vector<ValueId> inArena;
  for (const PlanStep &step : plan.steps)
    for (ValueId output : step.outputs)
      if (!place.count(output)) {
        intervals.push_back(
            {firstStep[output], lastStep[output], graph.type(output).bytes()});
        inArena.push_back(output);
      }
  Result<ArenaPlan> arena = planArena(intervals);
  if (!arena.ok())
    return arena.error();
  for (size_t i = 0; i < inArena.size(); ++i)
    place[inArena[i]] = {BufferRef::Space::Arena, 0, arena->offsets[i],
                         intervals[i].bytes};
  target.arenaBytes = arena->totalBytes;

  auto buffer = [&](ValueId root) -> BufferRef {
    if (auto known = place.find(root); known != place.end())
      return known->second;
    return constant(root);
  };

  launch = 0;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const PlanStep &planned = plan.steps[i];
    Step step;
    step.nodes = nodesOf(planned.members);
    step.name = graph.primitives[planned.members.back()].name;
    if (planned.kind == PlanStep::Kind::Kernel) {
      const PlannedLaunch &entry = launches[launch++];
      step.kind = Step::Kind::Launch;
      step.kernel = entry.kernel;
      step.schemes = entry.schemes;
      for (PrimitiveId member : planned.members) {
        const Primitive &primitive = graph.primitives[member];
        step.lineNodes.push_back(
            primitive.origins.empty()
                ? ""
                : graph.origins[primitive.origins[0]].node);
      }
    } else {
      step.kind = Step::Kind::Library;
      step.library = std::move(calls[i]);
    }
    for (ValueId root : arguments[i]) {
      step.args.push_back(buffer(root));
      step.argNames.push_back(nameOf(root));
    }
    Traffic traffic = trafficOf(graph, planned.members, planned.outputs);
    step.bytesRead = traffic.read;
    step.bytesWritten = traffic.written;
    (planned.prologue ? target.prologue : target.steps)
        .push_back(std::move(step));
  }

  // Outputs that are inputs, constants, or the same as an earlier output are copied by the runtime.
  for (uint32_t i = 0; i < graph.outputs.size(); ++i)
    target.outputs.push_back(buffer(storageRoot(graph, graph.outputs[i])));
  target.floorKernels = floorKernels(graph, plan);
  program.targets.push_back(std::move(target));
  return {};
}

} // namespace lockstitch
