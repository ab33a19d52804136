#include "frontends/onnx/model_listing.h"

#include "frontends/onnx/model_importer.h"
#include "frontends/onnx/reader.h"
#include "frontends/onnx/rules.h"

#include <filesystem>
#include <set>

namespace lockstitch {

using namespace onnx;

namespace onnx {
namespace {

using Visit =
    std::function<void(const Node &, const std::string &, const std::string &)>;

void countNames(const Graph &graph, std::map<std::string, int> &count) {
  for (const Node &node : graph.nodes) {
    ++count[node.name];
    for (const Attribute &attribute : node.attributes)
      for (const auto &body : attribute.graphs)
        countNames(*body, count);
  }
}

void visitGraph(const Graph &graph, const std::string &prefix,
                const std::map<std::string, int> &count, const Visit &visit) {
  std::map<std::string, int> ofType;
  for (const Node &node : graph.nodes) {
    std::string alias =
        prefix + node.opType + "#" + std::to_string(ofType[node.opType]++);
    bool isUnique = !node.name.empty() && count.at(node.name) == 1;
    std::string id = isUnique ? prefix + node.name : alias;
    visit(node, id, alias);
    for (const Attribute &attribute : node.attributes)
      for (size_t i = 0; i < attribute.graphs.size(); ++i) {
        std::string place = attribute.graphs.size() > 1
                                ? attribute.name + "." + std::to_string(i)
                                : attribute.name;
        visitGraph(*attribute.graphs[i], id + "/" + place + "/", count, visit);
      }
  }
}

OnnxTensorInfo describe(const ValueInfo &info) {
  OnnxTensorInfo described;
  described.name = info.name;
  described.shape = info.shape;
  if (info.notATensor.empty()) {
    described.element = elementType(info.dataType);
    described.elementName = dataTypeName(info.dataType);
  } else {
    described.elementName = info.notATensor;
  }
  return described;
}

} // namespace

void forEachNode(const Model &model, const Visit &visit) {
  std::map<std::string, int> count;
  countNames(model.graph, count);
  visitGraph(model.graph, "", count, visit);
}

const Function *findFunction(const Model &model, const Node &node) {
  for (const Function &function : model.functions)
    if (function.name == node.opType && function.domain == node.domain &&
        function.overload == node.overload)
      return &function;
  return nullptr;
}

std::optional<std::string> missingRule(const Node &node, int64_t opset) {
  if (isControlFlow(node) && opset != 0)
    return std::nullopt;
  std::string domain = node.domain.empty() ? "" : node.domain + "::";
  if (opset == 0)
    return "the model uses the operator " + domain + node.opType +
           ", but does not import the operator set '" +
           (node.domain.empty() ? "ai.onnx" : node.domain) + "'";
  bool known = false;
  if (findRule(node.domain, node.opType, opset, &known))
    return std::nullopt;
  if (known)
    return "the operator " + domain + node.opType +
           " is not supported in the form of opset " + std::to_string(opset);
  return "the operator " + domain + node.opType + " is not supported";
}

OnnxModel listModel(std::shared_ptr<const Model> file,
                    const std::string &path) {
  OnnxModel model;
  model.path = path;
  model.name = std::filesystem::path(path).stem().string();
  // Models are often called model.onnx in a folder of their name.
  if (model.name == "model" && std::filesystem::path(path).has_parent_path())
    model.name = std::filesystem::path(path).parent_path().filename().string();
  if (model.name.empty())
    model.name = file->graph.name;
  model.file = file;
  std::set<std::string> initializers;
  for (const Tensor &tensor : file->graph.initializers) {
    initializers.insert(tensor.name);
    ++model.constants;
    model.constantBytes += tensor.data.bytes;
  }
  for (const ValueInfo &input : file->graph.inputs)
    if (!initializers.count(input.name))
      model.inputs.push_back(describe(input));
  for (const ValueInfo &output : file->graph.outputs)
    model.outputs.push_back(describe(output));
  forEachNode(*file, [&](const Node &node, const std::string &id,
                         const std::string &alias) {
    OnnxNodeInfo &info = model.nodes.emplace_back();
    info.id = id;
    info.alias = alias;
    info.opType = node.opType;
    info.domain = node.domain;
    auto opset = file->opsets.find(node.domain);
    info.opset = opset == file->opsets.end() ? 0 : opset->second;
    info.isConstant = node.domain.empty() && node.opType == "Constant";
    info.inputs = node.inputs;
    info.outputs = node.outputs;
    if (!info.isConstant)
      return;
    ++model.constants;
    for (const Attribute &attribute : node.attributes)
      if (attribute.tensor)
        model.constantBytes += attribute.tensor->data.bytes;
  });
  return model;
}

} // namespace onnx

const OnnxNodeInfo *OnnxModel::findNode(const std::string &text) const {
  for (const OnnxNodeInfo &node : nodes)
    if (node.id == text)
      return &node;
  for (const OnnxNodeInfo &node : nodes)
    if (node.alias == text)
      return &node;
  return nullptr;
}

Result<OnnxModel> readModel(const std::string &path) {
  auto file = readModelFile(path);
  if (!file.ok())
    return file.error();
  return listModel(std::make_shared<const Model>(std::move(*file)), path);
}

Result<OnnxModel> readModel(std::span<const uint8_t> bytes,
                            std::shared_ptr<const void> owner,
                            const std::string &path) {
  auto file = readModelBytes(bytes, std::move(owner), path);
  if (!file.ok())
    return file.error();
  return listModel(std::make_shared<const Model>(std::move(*file)), path);
}

std::vector<OperatorSupport> checkSupport(const OnnxModel &model) {
  std::map<std::pair<std::string, std::string>, OperatorSupport> found;
  std::vector<const Node *> nodes;
  forEachNode(*model.file,
              [&](const Node &node, const std::string &, const std::string &) {
                nodes.push_back(&node);
              });
  for (size_t i = 0; i < nodes.size(); ++i) {
    const OnnxNodeInfo &info = model.nodes[i];
    OperatorSupport &support = found[{info.domain, info.opType}];
    support.nodes.push_back(info.id);
    if (support.nodes.size() > 1)
      continue;
    support.opType = info.opType;
    support.domain = info.domain;
    support.opset = info.opset;
    support.supported = true;
    if (const Function *function = findFunction(*model.file, *nodes[i])) {
      for (const Node &inner : function->nodes) {
        auto opset = function->opsets.find(inner.domain);
        std::optional<std::string> missing =
            findFunction(*model.file, inner)
                ? std::nullopt
                : missingRule(inner, opset == function->opsets.end()
                                         ? 0
                                         : opset->second);
        if (missing && support.supported) {
          support.supported = false;
          support.reason = "in the model's function of this name: " + *missing;
        }
      }
    } else if (auto missing = missingRule(*nodes[i], info.opset)) {
      support.supported = false;
      support.reason = *missing;
    }
  }
  std::vector<OperatorSupport> list;
  for (auto &[key, support] : found)
    list.push_back(std::move(support));
  return list;
}

} // namespace lockstitch
