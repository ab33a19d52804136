// ONNX model -> primitive graph. The only place that knows what an ONNX
// operator means.
//
// readModel() maps the file and says what is in it, whether or not it can be
// compiled. importModel() fixes every shape, checks the whole model, and lowers
// each node by the rule of its operator and opset (rules.h). Everything that is
// wrong is reported at once.
#ifndef LOCKSTITCH_FRONTENDS_ONNX_IMPORTER_H
#define LOCKSTITCH_FRONTENDS_ONNX_IMPORTER_H

#include "compiler/graph/evaluate.h"
#include "compiler/graph/primitive_graph.h"
#include "frontends/onnx/model.h"
#include "runtime/program/status.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lockstitch {

/// An input or output as the model declares it.
struct OnnxTensorInfo {
  std::string name;
  std::optional<ElementType> element; // nothing: a type that Lockstitch lacks
  std::string elementName;            // "f32", "string", "sequence" ...
  std::optional<std::vector<onnx::DeclaredDim>> shape; // nothing: not declared
};

/// A node of the file, in the outer graph or in a body.
struct OnnxNodeInfo {
  std::string id;    // its name where that is not empty and unique, else
                     // "OpType#i"; in a body after "PARENT/ATTRIBUTE/"
  std::string alias; // the "OpType#i" form, accepted for every node
  std::string opType, domain;
  int64_t opset = 0; // that the model imports for the domain; 0: none
  bool isConstant = false;
  std::vector<std::string> inputs, outputs; // value names
};

/// A model file, mapped and listed.
struct OnnxModel {
  std::string path, name;
  std::shared_ptr<const onnx::Model> file;
  std::vector<OnnxTensorInfo> inputs; // without initialisers
  std::vector<OnnxTensorInfo> outputs;
  std::vector<OnnxNodeInfo> nodes; // bodies follow the node that holds them
  int64_t constants = 0;           // initialisers and Constant nodes
  int64_t constantBytes = 0;

  /// The node that `text` names by its id or by its alias.
  const OnnxNodeInfo *findNode(const std::string &text) const;
};

/// Refused with a message for each of: no file, a directory, an empty file,
/// another kind of file, a truncated or damaged one.
Result<OnnxModel> readModel(const std::string &path);
/// The same for bytes in memory.
Result<OnnxModel> readModel(std::span<const uint8_t> bytes,
                            std::shared_ptr<const void> owner,
                            const std::string &path);

/// What the model leaves open.
struct ImportOptions {
  std::map<std::string, std::vector<int64_t>>
      shapes; // by input: from --shape, or of the tensors that are given
  std::map<std::string, int64_t> dims; // by symbol: from --dim
  /// Inputs whose values are known, by name; the model is specialised on them,
  /// so that they may steer shapes (axes, sizes, starts). They stay inputs of
  /// the graph, but it is right for these values only.
  std::map<std::string, HostTensor> values;
};

/// The model as primitives, or every reason why not.
Result<PrimitiveGraph> importModel(const OnnxModel &model,
                                   const ImportOptions &options);

/// One operator of a model.
struct OperatorSupport {
  std::string opType, domain;
  int64_t opset = 0;
  bool supported = false;
  std::string reason;             // why not
  std::vector<std::string> nodes; // IDs
};

/// Every operator that the model uses (bodies included), by name, with its
/// support. Says what can be said without shapes.
std::vector<OperatorSupport> checkSupport(const OnnxModel &model);

} // namespace lockstitch

#endif // LOCKSTITCH_FRONTENDS_ONNX_IMPORTER_H
