// Buffers. A tensor's bytes lie where its storage root's lie; a root is
//   placed by the level around it, or an output    written straight to where it belongs
//   a constant              used in place, never copied
//   made by the prologue    a computed constant, kept for the life of the program
//   anything else           a piece of the arena, from the step that writes it to the last that reads it
//
// A loop has a part of the arena for what one trip needs, and buffers of its own (loop.h says which values lie in which):
//
//   two slots   | slot 0 | slot 1 |         trip t reads slot t % 2, writes the other
//   history     | initial | 0 | 1 | .. |    trip t reads the slice before the one that it writes; from 0 on it is the result
//               | 0 | 1 | .. | initial |    the same from the last slice on
//
// The initial value is made in its slot by whoever makes it, if nothing else needs it; else it is copied there.
#include "compiler/driver/level_builder.h"

#include "compiler/graph/loop.h"
#include "compiler/planner/library_epilogue.h"
#include "compiler/planner/traffic.h"

#include <algorithm>

namespace lockstitch {
namespace {

BufferRef moved(BufferRef place, int64_t offset) {
  place.offset = place.offset + offset;
  return place;
}

/// The part of `place` that trip t has: slice t, or slice trips-1-t.
BufferRef sliceOf(BufferRef place, uint32_t depth, int64_t trips, int64_t bytes,
                  bool reversed) {
  if (reversed)
    place.offset = place.offset + (trips - 1) * bytes;
  place.bytes = bytes;
  if (bytes)
    place.trips.push_back({depth, reversed ? -bytes : bytes, 0, 0});
  return place;
}

BufferRef slotOf(BufferRef place, uint32_t depth, int64_t bytes,
                 int64_t phase) {
  place.trips.push_back({depth, alignedToArena(bytes), phase, 2});
  place.bytes = bytes;
  return place;
}

} // namespace

struct LevelBuilder::LoopState {
  LoopState(const Primitive &primitive, size_t step)
      : primitive(primitive), loop(*primitive.loop), placement(placeLoop(loop)),
        step(step) {}

  const Primitive &primitive;
  const Loop &loop;
  const LoopPlacement placement;
  const size_t step; // of the plan
  std::unique_ptr<LevelBuilder> body;
  std::vector<std::vector<ValueId>> results; // values that project each
  /// Interval of each result's buffer; kNone where it lies elsewhere: outside of the arena, or in a history.
  std::vector<uint32_t> interval;
  std::vector<bool> isInitialInPlace; // per carried value
  uint32_t scratch = kNone;           // interval of the body's part

  int64_t trips() const { return loop.trips.value(); }
  int64_t bytes(size_t result) const {
    return loop.body.type(loop.body.outputs[result]).bytes();
  }
  /// Does a collected result have the initial value of a carried one beside it?
  bool isHistory(size_t result) const {
    return result >= loop.carried &&
           std::find(placement.history.begin(), placement.history.end(),
                     result - loop.carried) != placement.history.end();
  }
  bool isReversed(size_t result) const {
    return loop.collected[result - loop.carried];
  }
  /// Where the result begins in its buffer.
  int64_t begin(size_t result) const {
    return isHistory(result) && !isReversed(result)
               ? alignedToArena(bytes(result))
               : 0;
  }
  /// Where the initial value of a carried value lies in its buffer.
  int64_t initial(size_t carried) const {
    uint32_t history = placement.history[carried];
    if (history == kNone)
      return 0;
    size_t result = loop.carried + history;
    return begin(result) +
           (isReversed(result) ? trips() * bytes(result) : -bytes(result));
  }
  /// The result that has the buffer in which a carried value lies.
  size_t holder(size_t carried) const {
    uint32_t history = placement.history[carried];
    return history == kNone ? carried : loop.carried + history;
  }
  int64_t bufferBytes(size_t result) const {
    if (result < loop.carried)
      return 2 * alignedToArena(bytes(result));
    return begin(result) + trips() * bytes(result) +
           (isHistory(result) && isReversed(result) ? bytes(result) : 0);
  }
};

LevelBuilder::LevelBuilder(ProgramBuilder &builder, const PrimitiveGraph &graph,
                           const std::vector<PlanStep> &steps,
                           const std::vector<PlannedLaunch> &launches,
                           size_t &cursor, uint32_t depth)
    : builder(builder), graph(graph), steps(steps), depth(depth),
      arguments(steps.size()), launchOf(steps.size(), nullptr),
      callOf(steps.size()), loopOf(steps.size()), position(steps.size(), -1) {
  int64_t count = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    const PlanStep &step = steps[i];
    if (!step.prologue)
      position[i] = count++;
    for (ValueId output : step.outputs) {
      if (step.prologue)
        place[output] = builder.constant(graph, output);
      else
        firstStep[output] = lastStep[output] = position[i];
    }
    const Primitive &first = graph.primitives[step.members[0]];
    if (step.kind == PlanStep::Kind::Kernel) {
      launchOf[i] = &launches[cursor++];
      arguments[i] = launchOf[i]->arguments;
      continue;
    }
    if (step.kind == PlanStep::Kind::Library) {
      auto built = buildLibraryStep(graph, step.members, step.outputs[0]);
      if (auto *refusal = std::get_if<Refusal>(&built)) {
        problem = Error::internal("library call", refusal->reason);
        continue;
      }
      auto &library = std::get<LibraryStep>(built);
      arguments[i] = std::move(library.operands);
      arguments[i].push_back(library.result);
      callOf[i] = std::move(library.call);
      continue;
    }
    for (ValueId operand : first.operands)
      arguments[i].push_back(storageRoot(graph, operand));
    auto state = std::make_shared<LoopState>(first, i);
    state->body = std::make_unique<LevelBuilder>(
        builder, state->loop.body, step.body, launches, cursor, depth + 1);
    state->results.resize(state->loop.numResults());
    for (PrimitiveId member : step.members)
      if (graph.primitives[member].kind == Primitive::Kind::Project) {
        uint32_t number = graph.primitives[member].projection;
        ValueId value = graph.primitives[member].result;
        state->results[number].push_back(value);
        if (number < state->loop.carried || state->isHistory(number))
          slotted.insert(value);
      }
    loopOf[i] = std::move(state);
  }
}

void LevelBuilder::setPlace(ValueId root, BufferRef to) {
  place[root] = std::move(to);
}

Status LevelBuilder::measure() {
  if (!problem.ok())
    return problem;
  int64_t end = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (position[i] < 0)
      continue;
    end = position[i] + 1;
    for (ValueId root : arguments[i])
      if (auto last = lastStep.find(root); last != lastStep.end())
        last->second = std::max(last->second, position[i]);
  }
  for (ValueId root : kept)
    if (auto last = lastStep.find(root); last != lastStep.end())
      last->second = end;

  for (const auto &loop : loopOf) {
    if (!loop)
      continue;
    // Addresses come later, when the arena is laid out; that there is one is enough now.
    for (ValueId input : loop->loop.body.inputs)
      loop->body->setPlace(input, {});
    for (size_t i = 0; i < loop->loop.body.outputs.size(); ++i) {
      ValueId root = storageRoot(loop->loop.body, loop->loop.body.outputs[i]);
      if (loop->placement.direct[i])
        loop->body->setPlace(root, {});
      else
        loop->body->keep(root);
    }
    if (Status status = loop->body->measure(); !status.ok())
      return status;
    // Which initial values are made where the loop wants them?
    const std::vector<ValueId> &operands = arguments[loop->step];
    for (size_t i = 0; i < loop->loop.carried; ++i) {
      ValueId root = operands[i];
      auto first = firstStep.find(root);
      bool inPlace = first != firstStep.end() && !place.count(root) &&
                     !kept.count(root) && !slotted.count(root) &&
                     lastStep[root] == position[loop->step] &&
                     std::count(operands.begin(), operands.end(), root) == 1 &&
                     graph.type(root).bytes() == loop->bytes(i) &&
                     loop->initial(i) % kTensorAlignment == 0 &&
                     graph.primitives[graph.values[root].producer].kind !=
                         Primitive::Kind::Project;
      loop->isInitialInPlace.push_back(inPlace);
      if (inPlace)
        place[root] = {}; // as above
    }
  }

  // The arena, in the order in which values are made.
  for (size_t i = 0; i < steps.size(); ++i) {
    if (loopOf[i]) {
      measureLoop(*loopOf[i]);
      continue;
    }
    for (ValueId output : steps[i].outputs)
      if (!place.count(output)) {
        intervals.push_back(
            {firstStep[output], lastStep[output], graph.type(output).bytes()});
        inArena.push_back(output);
      }
  }
  Result<ArenaPlan> plan = planArena(intervals);
  if (!plan.ok())
    return plan.error();
  arena = std::move(*plan);
  return {};
}

void LevelBuilder::measureLoop(LoopState &loop) {
  int64_t at = position[loop.step];
  auto add = [&](int64_t first, int64_t last, int64_t bytes) {
    intervals.push_back({first, last, bytes});
    inArena.push_back(kNone);
    return static_cast<uint32_t>(intervals.size() - 1);
  };
  for (size_t i = 0; i < loop.results.size(); ++i) {
    loop.interval.push_back(kNone);
    bool isElsewhere =
        i < loop.loop.carried
            ? loop.holder(i) != i
            : std::any_of(
                  loop.results[i].begin(), loop.results[i].end(),
                  [&](ValueId value) { return place.count(value); });
    if (isElsewhere)
      continue;
    int64_t first = at, last = at;
    auto alive = [&](size_t result) {
      for (ValueId value : loop.results[result])
        if (lastStep.count(value))
          last = std::max(last, lastStep[value]);
    };
    alive(i);
    for (size_t j = 0; j < loop.loop.carried; ++j)
      if (loop.holder(j) == i) {
        alive(j);
        if (loop.isInitialInPlace[j])
          first = std::min(first, firstStep[arguments[loop.step][j]]);
      }
    loop.interval.back() = add(first, last, loop.bufferBytes(i));
  }
  loop.scratch = add(at, at, loop.body->arenaBytes());
}

void LevelBuilder::emit(int64_t base, std::vector<Step> &to,
                        std::vector<Step> &prologue) {
  auto piece = [&](uint32_t interval, int64_t offset, int64_t bytes) {
    return BufferRef{BufferRef::Space::Arena, 0,
                     base + arena.offsets[interval] + offset, bytes};
  };
  for (uint32_t i = 0; i < inArena.size(); ++i)
    if (inArena[i] != kNone)
      place[inArena[i]] = piece(i, 0, intervals[i].bytes);
  for (const auto &loop : loopOf) {
    if (!loop)
      continue;
    for (size_t i = 0; i < loop->results.size(); ++i) {
      int64_t bytes = loop->bytes(i), total = bytes;
      size_t holder = i;
      int64_t offset = 0;
      if (i < loop->loop.carried) {
        holder = loop->holder(i);
        if (holder == i)
          offset = loop->trips() % 2 * alignedToArena(bytes);
        else
          offset = loop->begin(holder) +
                   (loop->isReversed(holder) ? 0 : (loop->trips() - 1) * bytes);
        if (loop->isInitialInPlace[i])
          place[arguments[loop->step][i]] =
              piece(loop->interval[holder], loop->initial(i), bytes);
      } else {
        offset = loop->begin(i);
        total = loop->trips() * bytes;
      }
      if (loop->interval[holder] == kNone) { // a collected result elsewhere
        BufferRef known;
        for (ValueId value : loop->results[i])
          if (auto it = place.find(value); it != place.end())
            known = it->second;
        for (ValueId value : loop->results[i])
          place.try_emplace(value, known);
        continue;
      }
      for (ValueId value : loop->results[i])
        place[value] = piece(loop->interval[holder], offset, total);
    }
  }
  for (size_t i = 0; i < steps.size(); ++i) {
    if (loopOf[i])
      emitLoop(*loopOf[i], base, to, prologue);
    else
      (steps[i].prologue ? prologue : to).push_back(makeStep(i));
  }
}

void LevelBuilder::emitLoop(LoopState &state, int64_t base,
                            std::vector<Step> &to,
                            std::vector<Step> &prologue) {
  const Loop &loop = state.loop;
  const PrimitiveGraph &bodyGraph = loop.body;
  LevelBuilder &body = *state.body;
  const std::vector<ValueId> &operands = arguments[state.step];
  std::string node = state.primitive.origins.empty()
                         ? ""
                         : graph.origins[state.primitive.origins[0]].node;
  auto bufferOf = [&](size_t result) {
    return BufferRef{BufferRef::Space::Arena, 0,
                     base + arena.offsets[state.interval[result]], 0};
  };
  auto copy = [&](const char *what, BufferRef from, BufferRef into,
                  std::string fromName, std::string intoName) {
    Step step;
    step.kind = Step::Kind::Copy;
    step.name = state.primitive.name + what;
    if (!node.empty())
      step.nodes = {node};
    step.bytesRead = step.bytesWritten = from.bytes.value();
    step.args = {std::move(from), std::move(into)};
    step.argNames = {std::move(fromName), std::move(intoName)};
    return step;
  };

  // Where the body finds its inputs and leaves its outputs.
  std::vector<BufferRef> targets;
  for (size_t i = 0; i < loop.numResults(); ++i) {
    int64_t bytes = state.bytes(i);
    if (i >= loop.carried) {
      BufferRef whole = state.interval[i] == kNone
                            ? place.at(state.results[i].front())
                            : moved(bufferOf(i), state.begin(i));
      targets.push_back(
          sliceOf(whole, depth, state.trips(), bytes, state.isReversed(i)));
      continue;
    }
    size_t holder = state.holder(i);
    BufferRef first = moved(bufferOf(holder), state.initial(i));
    first.bytes = bytes;
    BufferRef read;
    if (holder == i) {
      read = slotOf(bufferOf(i), depth, bytes, 0);
      targets.push_back(slotOf(bufferOf(i), depth, bytes, 1));
    } else {
      read = first;
      if (bytes)
        read.trips.push_back(
            {depth, state.isReversed(holder) ? -bytes : bytes, 0, 0});
      targets.push_back(sliceOf(moved(bufferOf(holder), state.begin(holder)),
                                depth, state.trips(), bytes,
                                state.isReversed(holder)));
    }
    body.setPlace(bodyGraph.inputs[i], read);
    if (!state.isInitialInPlace[i] && bytes) {
      BufferRef from = buffer(operands[i]);
      from.bytes = bytes;
      to.push_back(copy(".initial", from, first, nameOf(operands[i]),
                        body.nameOf(bodyGraph.inputs[i])));
    }
  }
  for (size_t i = loop.carried; i < operands.size(); ++i) {
    ValueId input = bodyGraph.inputs[i];
    BufferRef whole = buffer(operands[i]);
    if (loop.isSliced(i))
      whole =
          sliceOf(whole, depth, state.trips(), bodyGraph.type(input).bytes(),
                  loop.slices[i - loop.carried]);
    body.setPlace(input, whole);
  }
  for (size_t i = 0; i < targets.size(); ++i)
    if (state.placement.direct[i])
      body.setPlace(storageRoot(bodyGraph, bodyGraph.outputs[i]), targets[i]);

  Step step;
  step.kind = Step::Kind::Loop;
  step.name = state.primitive.name;
  if (!node.empty())
    step.nodes = {node};
  step.trips = state.trips();
  body.emit(base + arena.offsets[state.scratch], step.steps, prologue);
  for (size_t i = 0; i < targets.size(); ++i) {
    if (state.placement.direct[i] || state.bytes(i) == 0)
      continue;
    ValueId root = storageRoot(bodyGraph, bodyGraph.outputs[i]);
    BufferRef from = body.buffer(root);
    from.bytes = state.bytes(i);
    step.steps.push_back(copy(i < loop.carried ? ".next" : ".collect", from,
                              targets[i], body.nameOf(root),
                              body.nameOf(bodyGraph.outputs[i])));
  }
  to.push_back(std::move(step));
}

Step LevelBuilder::makeStep(size_t index) {
  const PlanStep &planned = steps[index];
  Step step;
  step.nodes = nodesOf(planned.members);
  step.name = graph.primitives[planned.members.back()].name;
  if (const PlannedLaunch *launch = launchOf[index]) {
    step.kind = Step::Kind::Launch;
    step.kernel = launch->kernel;
    step.schemes = launch->schemes;
    for (PrimitiveId member : planned.members) {
      const Primitive &primitive = graph.primitives[member];
      step.lineNodes.push_back(primitive.origins.empty()
                                   ? ""
                                   : graph.origins[primitive.origins[0]].node);
    }
  } else {
    step.kind = Step::Kind::Library;
    step.library = callOf[index];
  }
  for (ValueId root : arguments[index]) {
    step.args.push_back(buffer(root));
    step.argNames.push_back(nameOf(root));
  }
  Traffic traffic = trafficOf(graph, planned.members, planned.outputs);
  step.bytesRead = traffic.read;
  step.bytesWritten = traffic.written;
  return step;
}

BufferRef LevelBuilder::buffer(ValueId root) {
  if (auto known = place.find(root); known != place.end())
    return known->second;
  return builder.constant(graph, root);
}

std::string LevelBuilder::nameOf(ValueId value) const {
  const Value &entry = graph.values[value];
  if (!entry.name.empty())
    return entry.name;
  return entry.producer == kNone ? "" : graph.primitives[entry.producer].name;
}

std::vector<std::string>
LevelBuilder::nodesOf(const std::vector<PrimitiveId> &members) const {
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

} // namespace lockstitch
