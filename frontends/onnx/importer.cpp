// Lowers a model node by node, in file order.
//
//   1. The inputs get concrete types (input_shapes.cpp).
//   2. Nodes that no output needs are left out: they are Dead, and need not be
//   supported.
//   3. Each node that is left is lowered by its rule. Values are looked up by
//   name, outwards through the scopes of bodies.
//      Where an operand could not be made (an open dimension, a refused node),
//      the node is only checked for its rule, so that one run reports
//      everything that is unsupported.
//   4. Primitives that nothing uses any more (because shapes were folded) are
//   dropped, and every node gets its fate.
//
// Calls of the model's own functions are lowered in place; their primitives
// belong to the calling node. Nodes with bodies are in control_flow.cpp.
#include "frontends/onnx/model_importer.h"

#include "frontends/onnx/input_shapes.h"
#include "frontends/onnx/model_listing.h"
#include "frontends/onnx/rules.h"

namespace lockstitch::onnx {

namespace {

void collectNames(const Graph &graph, std::set<std::string> &names) {
  for (const Node &node : graph.nodes) {
    names.insert(node.inputs.begin(), node.inputs.end());
    for (const Attribute &attribute : node.attributes)
      for (const auto &body : attribute.graphs)
        collectNames(*body, names);
  }
  for (const ValueInfo &output : graph.outputs)
    names.insert(output.name);
}

/// The names that a node reads: its inputs, and whatever its bodies may
/// capture.
std::set<std::string> namesRead(const Node &node) {
  std::set<std::string> names(node.inputs.begin(), node.inputs.end());
  for (const Attribute &attribute : node.attributes)
    for (const auto &body : attribute.graphs)
      collectNames(*body, names);
  names.erase("");
  return names;
}

/// Copies of `nodes` in which attributes that refer to the enclosing function's
/// are replaced by `arguments`.
std::vector<Node>
bindAttributes(const std::vector<Node> &nodes,
               const std::map<std::string, const Attribute *> &arguments) {
  std::vector<Node> bound = nodes;
  for (Node &node : bound) {
    std::vector<Attribute> attributes;
    for (Attribute &attribute : node.attributes) {
      if (!attribute.reference.empty()) {
        auto argument = arguments.find(attribute.reference);
        if (argument == arguments.end())
          continue; // not given and without a default: absent
        Attribute copy = *argument->second;
        copy.name = attribute.name;
        attributes.push_back(std::move(copy));
        continue;
      }
      for (auto &body : attribute.graphs) {
        Graph copy = *body;
        copy.nodes = bindAttributes(body->nodes, arguments);
        body = std::make_shared<const Graph>(std::move(copy));
      }
      attributes.push_back(std::move(attribute));
    }
    node.attributes = std::move(attributes);
  }
  return bound;
}

} // namespace

Result<PrimitiveGraph> ModelImporter::run() {
  PrimitiveGraph &graph = root.graph;
  graph.name = model.name;
  forEachNode(*model.file, [&](const Node &node, const std::string &id,
                               const std::string &) {
    originOf[&node] = graph.origins.size();
    graph.origins.push_back({id, node.opType,
                             node.domain.empty() && node.opType == "Constant",
                             Origin::Fate::Dead});
  });

  Scope scope;
  scope.builder = &root;
  std::vector<std::optional<TensorType>> types =
      resolveInputs(model, options, graph.symbols, messages);
  for (size_t i = 0; i < types.size(); ++i)
    scope.values[model.inputs[i].name] =
        types[i] ? addInput(model.inputs[i].name, *types[i]) : kNone;
  const Graph &top = model.file->graph;
  enterInitializers(top, scope);
  std::set<std::string> wanted;
  for (const ValueInfo &output : top.outputs)
    wanted.insert(output.name);
  lowerNodes(top.nodes, scope, wanted, model.file->opsets, std::nullopt);
  for (const ValueInfo &output : top.outputs) {
    std::optional<ValueId> value = lookup(output.name, scope);
    if (!value)
      messages.push_back({"", "output '" + output.name + "'",
                          "nothing in the model computes it", ""});
    graph.outputs.push_back(value.value_or(kNone));
    graph.outputNames.push_back(output.name);
  }
  if (top.outputs.empty())
    messages.push_back({"", model.path, "the model has no outputs", ""});
  if (!messages.empty())
    return Error{ErrorKind::Refused, std::move(messages)};
  dropUnused();
  if (auto problem = graph.verify())
    return Error::internal(model.path,
                           "the imported graph is not valid: " + *problem);
  return std::move(graph);
}

/// The value that nodes read: the input itself, or a constant where its value
/// is known.
ValueId ModelImporter::addInput(const std::string &name,
                                const TensorType &type) {
  ValueId input = root.graph.addInput(name, type);
  auto known = options.values.find(name);
  if (known == options.values.end())
    return input;
  if (!(known->second.type == type)) {
    messages.push_back({"", "input '" + name + "'",
                        "the known value is " + toString(known->second.type) +
                            ", not " + toString(type),
                        ""});
    return kNone;
  }
  return root.graph.addConstant(name, type,
                                ConstantData::own(known->second.bytes));
}

void ModelImporter::enterInitializers(const Graph &graph, Scope &scope) {
  for (const Tensor &tensor : graph.initializers)
    scope.tensors[tensor.name] = &tensor;
  for (const std::string &name : graph.sparseInitializers)
    if (!name.empty())
      sparse.insert(name);
}

std::optional<ValueId> ModelImporter::lookup(const std::string &name,
                                             Scope &scope) {
  if (auto it = scope.values.find(name); it != scope.values.end())
    return it->second;
  if (auto it = scope.tensors.find(name); it != scope.tensors.end())
    return scope.values[name] = makeConstant(*it->second, *scope.builder);
  if (scope.parent) {
    std::optional<ValueId> value = lookup(name, *scope.parent);
    if (value && *value != kNone && scope.loop)
      scope.values[name] = *value = scope.loop->capture(*value);
    return value;
  }
  if (sparse.count(name)) {
    messages.push_back({"", "initialiser '" + name + "'",
                        "sparse initialisers are not supported",
                        "store it as a dense tensor"});
    return scope.values[name] = kNone;
  }
  return std::nullopt;
}

ValueId ModelImporter::makeConstant(const Tensor &tensor,
                                    GraphBuilder &builder) {
  std::optional<ElementType> element = elementType(tensor.dataType);
  std::string problem = tensor.problem;
  if (problem.empty() && !element)
    problem = "its element type " + dataTypeName(tensor.dataType) +
              " is not supported";
  if (!problem.empty()) {
    messages.push_back({"", "initialiser '" + tensor.name + "'", problem, ""});
    return kNone;
  }
  return builder.graph.addConstant(
      tensor.name, {*element, toShape(tensor.dims)}, ConstantData(tensor.data));
}

void ModelImporter::lowerNodes(const std::vector<Node> &nodes, Scope &scope,
                               std::set<std::string> wanted,
                               const Opsets &opsets,
                               std::optional<OriginId> caller) {
  std::vector<bool> isLive(nodes.size(), false);
  for (size_t i = nodes.size(); i-- > 0;) {
    for (const std::string &output : nodes[i].outputs)
      isLive[i] = isLive[i] || (!output.empty() && wanted.count(output));
    if (isLive[i])
      wanted.merge(namesRead(nodes[i]));
  }
  for (size_t i = 0; i < nodes.size(); ++i)
    if (isLive[i])
      lowerNode(nodes[i], scope, wanted, opsets,
                caller ? *caller : originOf.at(&nodes[i]), caller.has_value());
}

void ModelImporter::lowerNode(const Node &node, Scope &scope,
                              const std::set<std::string> &used,
                              const Opsets &opsets, OriginId origin,
                              bool inFunction) {
  auto found = opsets.find(node.domain);
  int64_t opset = found == opsets.end() ? 0 : found->second;
  GraphBuilder &builder = *scope.builder;
  builder.setOrigin(origin);
  root.graph.origins[origin].fate =
      Origin::Fate::Folded; // until a primitive of it is seen

  std::vector<ValueId> operands;
  bool allKnown = true;
  for (const std::string &name : node.inputs) {
    if (name.empty()) {
      operands.push_back(kNone);
      continue;
    }
    std::optional<ValueId> value = lookup(name, scope);
    if (!value)
      report(node, opset, origin, inFunction, builder, {},
             "its input '" + name + "' is not computed by anything before it",
             "sort the nodes, or check the name");
    operands.push_back(value.value_or(kNone));
    allKnown &= operands.back() != kNone;
  }
  for (const std::string &output : node.outputs)
    if (!output.empty())
      scope.values[output] = kNone;

  const Function *function = findFunction(*model.file, node);
  if (!function)
    if (auto missing = missingRule(node, opset)) {
      report(node, opset, origin, inFunction, builder, operands, *missing,
             "lockstitch inspect lists every operator with its support");
      return;
    }
  try {
    if (function)
      return callFunction(node, *function, operands, scope, origin);
    if (!allKnown)
      return;
    if (isControlFlow(node)) {
      lowerControlFlow(
          {node, opset, operands, scope, used, opsets, origin, inFunction});
      builder.setOrigin(origin);
      return;
    }
    NodeContext context(builder, node, opset, operands);
    context.used = &used;
    findRule(node.domain, node.opType, opset)->lower(context);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      ValueId value = context.outputs()[i];
      if (value == kNone && context.wantsOutput(i))
        context.refuse("its output " + std::to_string(i) + " ('" +
                       node.outputs[i] + "') is not supported");
      if (!node.outputs[i].empty() && value != kNone)
        define(node.outputs[i], value, scope);
    }
  } catch (const Refusal &refusal) {
    report(node, opset, origin, inFunction, builder, operands, refusal.reason,
           refusal.wayOut);
  }
}

void ModelImporter::define(const std::string &name, ValueId value,
                           Scope &scope) {
  scope.values[name] = value;
  if (std::string &label = scope.builder->graph.values[value].name;
      label.empty())
    label = name;
}

void ModelImporter::report(const Node &node, int64_t opset, OriginId origin,
                           bool inFunction, const GraphBuilder &builder,
                           const std::vector<ValueId> &operands,
                           std::string reason, std::string wayOut) {
  std::string where = (node.domain.empty() ? "" : node.domain + "::") +
                      node.opType + "-" + std::to_string(opset);
  if (inFunction)
    where += " in the function " + root.graph.origins[origin].opType;
  std::string types;
  for (ValueId operand : operands)
    types += (types.empty() ? "" : ", ") +
             (operand == kNone ? std::string("?")
                               : toString(builder.graph.type(operand)));
  if (!types.empty())
    where += " (" + types + ")";
  messages.push_back({root.graph.origins[origin].node, std::move(where),
                      std::move(reason), std::move(wayOut)});
}

void ModelImporter::callFunction(const Node &node, const Function &function,
                                 const std::vector<ValueId> &operands,
                                 Scope &scope, OriginId origin) {
  if (++functionDepth > 32) {
    --functionDepth;
    throw Refusal{"the model's functions call each other without end", {}};
  }
  std::map<std::string, const Attribute *> arguments;
  for (const Attribute &attribute : function.attributeDefaults)
    arguments[attribute.name] = &attribute;
  for (const Attribute &attribute : node.attributes)
    arguments[attribute.name] = &attribute;
  std::vector<Node> nodes = bindAttributes(function.nodes, arguments);
  Scope inner; // functions see nothing of their caller but their inputs
  inner.builder = scope.builder;
  for (size_t i = 0; i < function.inputs.size(); ++i)
    if (i < operands.size() && !node.inputs[i].empty())
      inner.values[function.inputs[i]] = operands[i];
  // An input that was left out stays absent where the body hands it on.
  for (Node &innerNode : nodes)
    for (std::string &name : innerNode.inputs)
      for (size_t i = 0; i < function.inputs.size(); ++i)
        if (name == function.inputs[i] && !inner.values.count(name))
          name.clear();
  std::set<std::string> wanted(function.outputs.begin(),
                               function.outputs.end());
  lowerNodes(nodes, inner, wanted, function.opsets, origin);
  for (size_t i = 0; i < node.outputs.size() && i < function.outputs.size();
       ++i) {
    std::optional<ValueId> value = lookup(function.outputs[i], inner);
    if (!node.outputs[i].empty() && value && *value != kNone)
      define(node.outputs[i], *value, scope);
  }
  --functionDepth;
}

/// Keeps what the outputs need, in order, and gives every node its fate.
void ModelImporter::dropUnused() {
  PrimitiveGraph &graph = root.graph;
  std::vector<bool> needed(graph.values.size(), false),
      keep(graph.primitives.size(), false);
  for (ValueId input : graph.inputs)
    needed[input] = true;
  for (ValueId output : graph.outputs)
    needed[output] = true;
  for (PrimitiveId id = graph.primitives.size(); id-- > 0;) {
    const Primitive &primitive = graph.primitives[id];
    if (!needed[primitive.result])
      continue;
    keep[id] = true;
    for (ValueId operand : primitive.operands)
      needed[operand] = true;
  }
  std::vector<ValueId> newValue(graph.values.size(), kNone);
  std::vector<PrimitiveId> newPrimitive(graph.primitives.size(), kNone);
  std::vector<Value> values;
  std::vector<Primitive> primitives;
  for (PrimitiveId id = 0; id < keep.size(); ++id)
    if (keep[id])
      newPrimitive[id] = primitives.size(),
      primitives.push_back(std::move(graph.primitives[id]));
  for (ValueId id = 0; id < needed.size(); ++id) {
    if (!needed[id])
      continue;
    newValue[id] = values.size();
    values.push_back(std::move(graph.values[id]));
    if (values.back().kind == Value::Kind::Result)
      values.back().producer = newPrimitive[values.back().producer];
  }
  for (Primitive &primitive : primitives) {
    for (ValueId &operand : primitive.operands)
      operand = newValue[operand];
    primitive.result = newValue[primitive.result];
  }
  for (auto *list : {&graph.inputs, &graph.outputs})
    for (ValueId &value : *list)
      value = newValue[value];
  // Nodes whose primitives are all gone were needed by nothing but the
  // folding of shapes.
  for (PrimitiveId id = 0; id < keep.size(); ++id)
    if (!keep[id])
      for (OriginId origin : graph.primitives[id].origins)
        graph.origins[origin].fate = Origin::Fate::Dead;
  for (const Primitive &primitive : primitives)
    for (OriginId origin : primitive.origins)
      graph.origins[origin].fate = Origin::Fate::Primitive;
  graph.values = std::move(values);
  graph.primitives = std::move(primitives);
}

} // namespace lockstitch::onnx

namespace lockstitch {

Result<PrimitiveGraph> importModel(const OnnxModel &model,
                                   const ImportOptions &options) {
  return onnx::ModelImporter(model, options).run();
}

} // namespace lockstitch
