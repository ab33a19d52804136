// Makes small ONNX models for tests, with the classes that Debian's libonnx
// generated from ONNX's own schema: so the reader is tested against another
// implementation of the format.
#ifndef LOCKSTITCH_TESTS_UNIT_FRONTENDS_MODEL_MAKER_H
#define LOCKSTITCH_TESTS_UNIT_FRONTENDS_MODEL_MAKER_H

#include "compiler/graph/evaluate.h"
#include "frontends/onnx/importer.h"

#include <onnx/onnx_pb.h>

#include <string>
#include <variant>
#include <vector>

namespace lockstitch::test {

/// A host tensor of `type`; `values` are converted to it.
HostTensor tensor(ElementType type, std::vector<int64_t> shape,
                  std::vector<double> values);
HostTensor f32(std::vector<int64_t> shape, std::vector<double> values);
HostTensor i64(std::vector<int64_t> shape, std::vector<double> values);
/// A vector of exactly these integers.
HostTensor ints(const std::vector<int64_t> &values);
/// Its elements as doubles.
std::vector<double> valuesOf(const HostTensor &tensor);

using AttributeValue = std::variant<int64_t, double, std::string,
                                    std::vector<int64_t>, HostTensor>;
struct NamedAttribute {
  std::string name;
  AttributeValue value;
};
using Attributes = std::vector<NamedAttribute>;

/// A model under construction. `proto` may be changed at will.
class ModelMaker {
public:
  ::onnx::ModelProto proto;

  explicit ModelMaker(int64_t opset = 17);
  /// A dimension that is no number is a symbol; "" leaves it open without a
  /// name.
  ModelMaker &input(const std::string &name, ElementType type,
                    std::vector<std::variant<int64_t, std::string>> dims);
  ModelMaker &initializer(const std::string &name, const HostTensor &value);
  ModelMaker &output(const std::string &name,
                     ElementType type = ElementType::F32);
  ::onnx::NodeProto &node(const std::string &op,
                          std::vector<std::string> inputs,
                          std::vector<std::string> outputs,
                          Attributes attributes = {},
                          const std::string &name = {});

  std::string bytes() const { return proto.SerializeAsString(); }
  Result<OnnxModel> read() const;
  Result<PrimitiveGraph> import(const ImportOptions &options = {}) const;
};

void setTensor(::onnx::TensorProto &proto, const HostTensor &value);
void setAttribute(::onnx::AttributeProto &proto, const std::string &name,
                  const AttributeValue &value);

/// Runs a model of one node on `inputs` (an empty shape with no bytes and type
/// f64: an absent optional input, "") and returns its outputs. Does it three
/// times: with all inputs given at run time where that is possible, with all of
/// them as initialisers so that everything is folded, and from the text form of
/// the graph. All must agree to the bit. Inputs listed in `constants` are
/// initialisers every time.
std::vector<HostTensor> runNode(const std::string &op, int64_t opset,
                                const std::vector<HostTensor> &inputs,
                                Attributes attributes = {},
                                size_t numOutputs = 1,
                                std::vector<size_t> constants = {});
/// The stand-in for an absent input.
HostTensor absent();
/// The text of the refusal that this node leads to: "node: where: reason; way
/// out" of all messages; fails the test if there is none.
std::string refusalOf(const std::string &op, int64_t opset,
                      const std::vector<HostTensor> &inputs,
                      Attributes attributes = {}, size_t numOutputs = 1,
                      std::vector<size_t> constants = {});
std::string textOf(const Error &error);

/// A file of the test with these bytes; in a folder of its own per test,
/// removed by no one but the next run.
std::string writeFile(const std::string &name, const std::string &bytes);
std::string testFolder();

} // namespace lockstitch::test

#endif // LOCKSTITCH_TESTS_UNIT_FRONTENDS_MODEL_MAKER_H
