// Node IDs, and the lists of what is in a model. Internal to the importer.
#ifndef LOCKSTITCH_FRONTENDS_ONNX_MODEL_LISTING_H
#define LOCKSTITCH_FRONTENDS_ONNX_MODEL_LISTING_H

#include "frontends/onnx/importer.h"

#include <functional>

namespace lockstitch::onnx {

/// Calls `visit` for every node of the outer graph and of all bodies, in file
/// order, a body right after its node. `id` and `alias` are as OnnxNodeInfo
/// says.
void forEachNode(
    const Model &model,
    const std::function<void(const Node &node, const std::string &id,
                             const std::string &alias)> &visit);

/// Lists inputs, outputs, nodes and constants.
OnnxModel listModel(std::shared_ptr<const Model> file, const std::string &path);

/// Why there is no rule for this node, or nothing. A call of one of the model's
/// functions is looked into by the caller.
std::optional<std::string> missingRule(const Node &node, int64_t opset);

/// The function of the model that `node` calls, or null.
const Function *findFunction(const Model &model, const Node &node);

} // namespace lockstitch::onnx

#endif // LOCKSTITCH_FRONTENDS_ONNX_MODEL_LISTING_H
