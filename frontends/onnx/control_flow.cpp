// Nodes with bodies.
//
//   If     A condition that is known: the branch that is taken, in place. Else
//          both branches, and a select between their results, element by
//          element: no primitive can fail, so the branch that is not taken does
//          no harm, it only costs its time.
//   Loop   A Loop primitive with as many trips as the count says. A condition
//          that stays true while compiling costs nothing. One that is computed
//          makes no fewer trips: once it is false, the carried values keep what
//          they have. What is collected then would have a size that data
//          decides, which is refused.
//   Scan   A Loop primitive over the slices of the scan inputs; other axes than
//          the first are transposed before and after it. Scan of opset 8 has a
//          batch as well: a loop around the loop.
#include "frontends/onnx/model_importer.h"

#include "compiler/graph/loop.h"

#include <algorithm>

namespace lockstitch::onnx {

bool isControlFlow(const Node &node) {
  return node.domain.empty() && (node.opType == "If" || node.opType == "Loop" ||
                                 node.opType == "Scan");
}

namespace {

const Graph &bodyOf(const Node &node, std::string_view name, size_t inputs,
                    size_t outputs) {
  const Attribute *attribute = node.attribute(name);
  if (!attribute || attribute->graphs.size() != 1)
    throw Refusal{"it has no graph '" + std::string(name) + "'", {}};
  const Graph &body = *attribute->graphs[0];
  if (body.inputs.size() != inputs || body.outputs.size() < outputs)
    throw Refusal{"its graph '" + std::string(name) + "' has " +
                      std::to_string(body.inputs.size()) + " inputs and " +
                      std::to_string(body.outputs.size()) +
                      " outputs instead of " + std::to_string(inputs) +
                      " and " + std::to_string(outputs),
                  {}};
  return body;
}

/// Element 0 of a tensor of one element, in a body of any rank.
ScalarId readScalar(BodyBuilder &body, GraphBuilder &graph, ValueId value) {
  return body.read(value, std::vector<IndexExpr>(graph.type(value).shape.size(),
                                                 IndexExpr::constant(0)));
}

void requireScalarBool(const GraphBuilder &graph, ValueId value,
                       const char *what) {
  if (graph.element(value) != ElementType::Bool ||
      graph.type(value).elements() != 1)
    throw Refusal{std::string(what) + " is " +
                      lockstitch::toString(graph.type(value)) +
                      ", not one bool",
                  {}};
}

/// condition ? ifTrue : ifFalse, of one type, by one condition for all
/// elements.
ValueId selectAll(GraphBuilder &graph, ValueId condition, ValueId ifTrue,
                  ValueId ifFalse) {
  if (ifTrue == ifFalse)
    return ifTrue;
  BodyBuilder body(graph, graph.type(ifTrue).shape);
  ScalarId chosen = readScalar(body, graph, condition);
  std::vector<IndexExpr> at = identityAt(body.rank());
  return body.pull(
      body.b.select(chosen, body.read(ifTrue, at), body.read(ifFalse, at)),
      graph.element(ifTrue));
}

ValueId trueValue(GraphBuilder &graph) {
  return graph.constant({ElementType::Bool, {}}, {std::byte{1}});
}

/// A scalar as a body declares it: some write it as a tensor of one element.
ValueId asDeclared(GraphBuilder &graph, ValueId scalar, const ValueInfo &info) {
  bool isVector = info.shape && info.shape->size() == 1;
  return isVector ? reshape(graph, scalar, {1}) : scalar;
}

std::optional<bool> knownBool(GraphBuilder &graph, ValueId value) {
  auto ints = graph.constantInts(value);
  return ints && ints->size() == 1 ? std::optional((*ints)[0] != 0)
                                   : std::nullopt;
}

bool allMade(const std::vector<ValueId> &values) {
  return std::find(values.begin(), values.end(), kNone) == values.end();
}

/// Moves dimension `from` to `to`.
ValueId moveAxis(GraphBuilder &graph, ValueId value, int64_t from, int64_t to) {
  if (from == to)
    return value;
  std::vector<int64_t> order;
  for (int64_t i = 0; i < static_cast<int64_t>(graph.extents(value).size());
       ++i)
    if (i != from)
      order.push_back(i);
  order.insert(order.begin() + to, from);
  return transpose(graph, value, order);
}

std::vector<int64_t> listAttribute(const Node &node, std::string_view name,
                                   size_t count) {
  const Attribute *attribute = node.attribute(name);
  std::vector<int64_t> values =
      attribute ? attribute->ints : std::vector<int64_t>(count, 0);
  if (values.size() != count)
    throw Refusal{std::string(name) + " has " + std::to_string(values.size()) +
                      " entries instead of " + std::to_string(count),
                  {}};
  return values;
}

int64_t axisOf(int64_t axis, int64_t rank, std::string_view what) {
  if (axis < -rank || axis >= rank)
    throw Refusal{std::string(what) + " " + std::to_string(axis) +
                      " is not an axis of a tensor of rank " +
                      std::to_string(rank),
                  {}};
  return axis < 0 ? axis + rank : axis;
}

/// Trips that a loop may make; more are refused.
void requireTrips(int64_t trips) {
  if (trips > kMaxTrips)
    throw Refusal{"it makes " + std::to_string(trips) + " trips, more than " +
                      std::to_string(kMaxTrips),
                  "give it a smaller trip count"};
}

/// A carried value must keep its type.
void requireSame(const GraphBuilder &graph, ValueId before, ValueId after,
                 const std::string &name) {
  if (graph.type(before) != graph.type(after))
    throw Refusal{"its carried value '" + name + "' changes from " +
                      lockstitch::toString(graph.type(before)) + " to " +
                      lockstitch::toString(graph.type(after)),
                  "only values that keep their type and shape can be carried"};
}

} // namespace

void ModelImporter::lowerControlFlow(const NodePlace &at) {
  if (at.node.opType == "If")
    return lowerIf(at);
  if (at.node.opType == "Loop")
    return lowerLoop(at);
  lowerScan(at);
}

bool ModelImporter::isUsed(const NodePlace &at, size_t output) const {
  return output < at.node.outputs.size() && !at.node.outputs[output].empty() &&
         at.used.count(at.node.outputs[output]);
}

std::vector<ValueId> ModelImporter::lowerBody(const NodePlace &at,
                                              const Graph &body, Scope &scope,
                                              const std::vector<bool> &wanted) {
  enterInitializers(body, scope);
  std::set<std::string> names;
  for (size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i])
      names.insert(body.outputs[i].name);
  lowerNodes(body.nodes, scope, names, at.opsets,
             at.inFunction ? std::optional(at.origin) : std::nullopt);
  std::vector<ValueId> values(wanted.size(), kNone);
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i])
      continue;
    std::optional<ValueId> value = lookup(body.outputs[i].name, scope);
    if (!value)
      throw Refusal{"nothing computes the output '" + body.outputs[i].name +
                        "' of its body",
                    {}};
    values[i] = *value;
  }
  scope.builder->setOrigin(at.origin);
  return values;
}

void ModelImporter::lowerIf(const NodePlace &at) {
  GraphBuilder &builder = *at.scope.builder;
  size_t count = at.node.outputs.size();
  const Graph *branches[2] = {&bodyOf(at.node, "else_branch", 0, count),
                              &bodyOf(at.node, "then_branch", 0, count)};
  if (at.operands.empty() || at.operands[0] == kNone)
    throw Refusal{"it has no condition", {}};
  ValueId condition = at.operands[0];
  requireScalarBool(builder, condition, "its condition");
  std::vector<bool> wanted(count);
  for (size_t i = 0; i < count; ++i)
    wanted[i] = isUsed(at, i);
  auto lowerBranch = [&](bool taken) {
    Scope inner;
    inner.parent = &at.scope;
    inner.builder = &builder;
    return lowerBody(at, *branches[taken], inner, wanted);
  };
  std::optional<bool> known = knownBool(builder, condition);
  std::vector<ValueId> results = lowerBranch(known.value_or(true));
  if (!known) {
    std::vector<ValueId> others = lowerBranch(false);
    for (size_t i = 0; i < count; ++i) {
      if (!wanted[i] || results[i] == kNone || others[i] == kNone) {
        results[i] = kNone;
        continue;
      }
      if (builder.type(results[i]) != builder.type(others[i]))
        throw Refusal{
            "its condition is computed from the model's inputs, and its "
            "branches make different types of '" +
                at.node.outputs[i] +
                "': " + lockstitch::toString(builder.type(results[i])) +
                " and " + lockstitch::toString(builder.type(others[i])),
            "make the condition a constant, or let both branches make the "
            "same shape"};
      results[i] = selectAll(builder, condition, results[i], others[i]);
    }
  }
  for (size_t i = 0; i < count; ++i)
    if (wanted[i] && results[i] != kNone)
      define(at.node.outputs[i], results[i], at.scope);
}

void ModelImporter::lowerLoop(const NodePlace &at) {
  GraphBuilder &builder = *at.scope.builder;
  auto operand = [&](size_t i) {
    return i < at.operands.size() ? at.operands[i] : kNone;
  };
  size_t carried = at.operands.size() < 2 ? 0 : at.operands.size() - 2;
  size_t outputs = std::max(carried, at.node.outputs.size());
  const Graph &graph = bodyOf(at.node, "body", carried + 2, outputs + 1);
  // How many trips at most.
  int64_t most = INT64_MAX;
  if (operand(0) != kNone) {
    auto count = builder.constantInts(operand(0));
    if (!count || count->size() != 1)
      throw Refusal{"its trip count is computed from the model's inputs",
                    "only trip counts that are known while compiling are "
                    "supported: fix the inputs that it depends on"};
    most = std::max<int64_t>((*count)[0], 0);
  }
  std::optional<bool> enters = true;
  if (operand(1) != kNone) {
    requireScalarBool(builder, operand(1), "its condition");
    enters = knownBool(builder, operand(1));
  }

  LoopBuilder loop(builder);
  loop.body.setOrigin(at.origin);
  Scope inner;
  inner.parent = &at.scope;
  inner.builder = &loop.body;
  inner.loop = &loop;
  inner.values[graph.inputs[0].name] =
      asDeclared(loop.body, loop.trip(), graph.inputs[0]);
  // In a trip that counts, the condition is true.
  inner.values[graph.inputs[1].name] =
      asDeclared(loop.body, trueValue(loop.body), graph.inputs[1]);
  std::vector<ValueId> before;
  for (size_t i = 0; i < carried; ++i) {
    if (operand(i + 2) == kNone)
      throw Refusal{"its carried value " + std::to_string(i) +
                        " has no initial value",
                    {}};
    before.push_back(loop.carry(operand(i + 2)));
    inner.values[graph.inputs[i + 2].name] = before.back();
  }
  std::vector<bool> wanted(outputs + 1, true);
  for (size_t i = carried; i < outputs; ++i)
    wanted[i + 1] = isUsed(at, i);
  std::vector<ValueId> after = lowerBody(at, graph, inner, wanted);
  for (size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i] && after[i] == kNone)
      return;
  for (size_t i = 0; i < carried; ++i)
    requireSame(loop.body, before[i], after[i + 1], graph.inputs[i + 2].name);
  requireScalarBool(loop.body, after[0], "the condition that its body makes");

  std::optional<bool> goesOn = knownBool(loop.body, after[0]);
  if (enters == false)
    most = 0;
  else if (goesOn == false)
    most = std::min<int64_t>(most, 1);
  bool collects = std::find(wanted.begin() + 1 + carried, wanted.end(), true) !=
                  wanted.end();
  bool isOpen = most > 0 && (!enters || !goesOn);
  if (isOpen && collects)
    throw Refusal{"its condition is computed from data and it stacks values: "
                  "how many is known only when it has run",
                  "use a condition that stays true, or only its carried "
                  "values"};
  if (most == INT64_MAX)
    throw Refusal{"its condition is computed from data and nothing bounds its "
                  "trips",
                  "give it a constant trip count as the bound"};
  requireTrips(most);

  std::vector<ValueId> results;
  if (most == 0) {
    for (size_t i = 0; i < outputs; ++i) {
      if (i < carried) {
        results.push_back(operand(i + 2));
        continue;
      }
      results.push_back(
          wanted[i + 1]
              ? builder.constant(stacked(0, loop.body.type(after[i + 1])), {})
              : kNone);
    }
  } else {
    // Once the condition is false, nothing changes any more.
    ValueId active = kNone;
    if (most > 1 && !goesOn)
      active = loop.carry(enters ? trueValue(builder)
                                 : reshape(builder, operand(1), {}));
    if (active != kNone) {
      BodyBuilder both(loop.body, {});
      ScalarId still =
          both.b.op(ScalarOpcode::And, {readScalar(both, loop.body, active),
                                        readScalar(both, loop.body, after[0])});
      loop.setNext(active, both.pull(still, ElementType::Bool));
    }
    for (size_t i = 0; i < carried; ++i)
      loop.setNext(before[i],
                   active == kNone
                       ? after[i + 1]
                       : selectAll(loop.body, active, after[i + 1], before[i]));
    for (size_t i = carried; i < outputs; ++i)
      if (wanted[i + 1])
        loop.collect(after[i + 1]);
    std::vector<ValueId> made = loop.finish(most);
    size_t next = carried + (active != kNone);
    for (size_t i = 0; i < outputs; ++i)
      results.push_back(i < carried     ? made[i]
                        : wanted[i + 1] ? made[next++]
                                        : kNone);
    if (!enters && active == kNone)
      for (size_t i = 0; i < carried; ++i)
        results[i] = selectAll(builder, operand(1), results[i], operand(i + 2));
  }
  for (size_t i = 0; i < at.node.outputs.size(); ++i)
    if (isUsed(at, i) && results[i] != kNone)
      define(at.node.outputs[i], results[i], at.scope);
}

std::optional<std::vector<ValueId>> ModelImporter::scan(
    const NodePlace &at, const Graph &graph, Scope &scope,
    const std::vector<ValueId> &states, const std::vector<ValueId> &inputs,
    const std::vector<int64_t> &inputDirections,
    const std::vector<int64_t> &outputDirections, int64_t trips) {
  LoopBuilder loop(*scope.builder);
  loop.body.setOrigin(at.origin);
  Scope inner;
  inner.parent = &scope;
  inner.builder = &loop.body;
  inner.loop = &loop;
  std::vector<ValueId> before;
  for (size_t i = 0; i < states.size(); ++i) {
    before.push_back(loop.carry(states[i]));
    inner.values[graph.inputs[i].name] = before.back();
  }
  for (size_t i = 0; i < inputs.size(); ++i)
    inner.values[graph.inputs[states.size() + i].name] =
        loop.slice(inputs[i], inputDirections[i] != 0);
  std::vector<ValueId> after = lowerBody(
      at, graph, inner,
      std::vector<bool>(states.size() + outputDirections.size(), true));
  if (!allMade(after))
    return std::nullopt;
  for (size_t i = 0; i < states.size(); ++i) {
    requireSame(loop.body, before[i], after[i], graph.inputs[i].name);
    loop.setNext(before[i], after[i]);
  }
  if (trips == 0) {
    std::vector<ValueId> results = states;
    for (size_t i = states.size(); i < after.size(); ++i)
      results.push_back(
          scope.builder->constant(stacked(0, loop.body.type(after[i])), {}));
    return results;
  }
  for (size_t i = states.size(); i < after.size(); ++i)
    loop.collect(after[i], outputDirections[i - states.size()] != 0);
  return loop.finish(trips);
}

void ModelImporter::lowerScan(const NodePlace &at) {
  GraphBuilder &builder = *at.scope.builder;
  const Attribute *counted = at.node.attribute("num_scan_inputs");
  bool hasBatch = at.opset < 9;
  std::vector<ValueId> operands = at.operands;
  if (hasBatch && !operands.empty()) {
    if (operands[0] != kNone)
      throw Refusal{"sequence lengths of its own for every batch are not "
                    "supported",
                    "leave sequence_lens out"};
    operands.erase(operands.begin());
  }
  if (!counted || counted->i < 1 ||
      counted->i > static_cast<int64_t>(operands.size()))
    throw Refusal{"num_scan_inputs does not fit its inputs", {}};
  if (!allMade(operands))
    throw Refusal{"one of its inputs is missing", {}};
  size_t scans = counted->i, states = operands.size() - scans;
  const Graph &graph =
      bodyOf(at.node, "body", operands.size(), at.node.outputs.size());
  if (graph.outputs.size() < states)
    throw Refusal{"its body does not make all states", {}};
  size_t collected = graph.outputs.size() - states;
  auto list = [&](std::string_view name, size_t count) {
    return listAttribute(at.node, name, count);
  };
  std::vector<int64_t> inputAxes = hasBatch ? std::vector<int64_t>(scans, 1)
                                            : list("scan_input_axes", scans),
                       outputAxes = hasBatch
                                        ? std::vector<int64_t>(collected, 0)
                                        : list("scan_output_axes", collected),
                       inputDirections = list(
                           hasBatch ? "directions" : "scan_input_directions",
                           scans),
                       outputDirections =
                           hasBatch ? std::vector<int64_t>(collected, 0)
                                    : list("scan_output_directions", collected);
  std::optional<int64_t> trips, batch;
  auto agree = [](std::optional<int64_t> &known, int64_t extent,
                  const char *what) {
    if (known.value_or(extent) != extent)
      throw Refusal{std::string("its inputs have different ") + what + ": " +
                        std::to_string(*known) + " and " +
                        std::to_string(extent),
                    {}};
    known = extent;
  };
  for (size_t i = 0; i < operands.size(); ++i) {
    Extents extents = builder.extents(operands[i]);
    if (hasBatch) {
      if (extents.empty())
        throw Refusal{"a scalar has no batch dimension", {}};
      agree(batch, extents[0], "batch sizes");
    }
    if (i < states)
      continue;
    int64_t axis =
        axisOf(inputAxes[i - states], static_cast<int64_t>(extents.size()),
               "scan_input_axes:");
    agree(trips, extents[axis], "numbers of slices");
    if (!hasBatch)
      operands[i] = moveAxis(builder, operands[i], axis, 0);
  }
  requireTrips(*trips);

  std::vector<ValueId> results;
  if (!hasBatch) {
    auto made =
        scan(at, graph, at.scope, {operands.begin(), operands.begin() + states},
             {operands.begin() + states, operands.end()}, inputDirections,
             outputDirections, *trips);
    if (!made)
      return;
    results = std::move(*made);
    for (size_t i = 0; i < collected; ++i) {
      ValueId &value = results[states + i];
      int64_t rank = static_cast<int64_t>(builder.extents(value).size());
      value = moveAxis(builder, value, 0,
                       axisOf(outputAxes[i], rank, "scan_output_axes:"));
    }
  } else {
    if (*batch == 0)
      throw Refusal{"its batch is empty", {}};
    requireTrips(*batch);
    LoopBuilder loop(builder);
    loop.body.setOrigin(at.origin);
    Scope perBatch;
    perBatch.parent = &at.scope;
    perBatch.builder = &loop.body;
    perBatch.loop = &loop;
    std::vector<ValueId> slices;
    for (ValueId operand : operands)
      slices.push_back(loop.slice(operand));
    auto made =
        scan(at, graph, perBatch, {slices.begin(), slices.begin() + states},
             {slices.begin() + states, slices.end()}, inputDirections,
             outputDirections, *trips);
    if (!made)
      return;
    for (ValueId value : *made)
      loop.collect(value);
    results = loop.finish(*batch);
  }
  for (size_t i = 0; i < at.node.outputs.size(); ++i)
    if (isUsed(at, i))
      define(at.node.outputs[i], results[i], at.scope);
}

} // namespace lockstitch::onnx
