// An ONNX model as plain structs: what the file says, nothing interpreted.
// Tensors are places in the mapped file.
#ifndef LOCKSTITCH_FRONTENDS_ONNX_MODEL_H
#define LOCKSTITCH_FRONTENDS_ONNX_MODEL_H

#include "compiler/graph/primitive_graph.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lockstitch::onnx {

/// ONNX's numbers for element types (TensorProto.DataType). Types that
/// Lockstitch lacks stay numbers, so that a model can be inspected and refused
/// by name.
enum DataType : int32_t {
  kUndefined = 0,
  kFloat = 1,
  kUInt8 = 2,
  kInt8 = 3,
  kUInt16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUInt32 = 12,
  kUInt64 = 13,
  kBFloat16 = 16,
};

/// The element type, or nothing for types that Lockstitch lacks.
std::optional<ElementType> elementType(int32_t dataType);
int32_t dataType(ElementType type);
/// "f32", "string", "float8e4m3fn", "type 99".
std::string dataTypeName(int32_t dataType);

struct Tensor {
  std::string name;
  int32_t dataType = 0;
  std::vector<int64_t> dims;
  /// Row-major little-endian elements. Not necessarily aligned to the element's
  /// size.
  ConstantData data;
  std::vector<std::string> strings; // of a string tensor
  /// What is wrong with it (size does not fit the shape, external file missing
  /// ...); empty if nothing. Reported when it is used.
  std::string problem;
};

struct Graph;

struct Attribute {
  enum class Kind : uint8_t {
    Undefined = 0,
    Float = 1,
    Int = 2,
    String = 3,
    Tensor = 4,
    Graph = 5,
    Floats = 6,
    Ints = 7,
    Strings = 8,
    Tensors = 9,
    Graphs = 10,
    SparseTensor = 11,
    SparseTensors = 12,
    Type = 13,
    Types = 14,
  };
  std::string name;
  Kind kind = Kind::Undefined;
  float f = 0;
  int64_t i = 0;
  std::string s;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string> strings;
  std::shared_ptr<const Tensor> tensor;
  std::vector<std::shared_ptr<const Tensor>> tensors;
  std::vector<std::shared_ptr<const Graph>>
      graphs; // one for Graph, several for Graphs
  std::string
      reference; // ref_attr_name: an attribute of the enclosing function
};

struct Node {
  std::string name, opType, domain, overload;
  std::vector<std::string> inputs, outputs;
  std::vector<Attribute> attributes;
  const Attribute *attribute(std::string_view name) const;
};

/// A dimension as declared: a number, a name, or nothing.
struct DeclaredDim {
  std::optional<int64_t> value;
  std::string symbol;
};

struct ValueInfo {
  std::string name;
  int32_t dataType = 0;   // 0: not a tensor or not said
  std::string notATensor; // "sequence", "map", "optional", "sparse tensor"
  std::optional<std::vector<DeclaredDim>>
      shape; // nothing: the rank is not known
};

struct Graph {
  std::string name;
  std::vector<Node> nodes;
  std::vector<Tensor> initializers;
  std::vector<std::string> sparseInitializers; // names
  std::vector<ValueInfo> inputs, outputs, valueInfos;
};

struct Function {
  std::string domain, name, overload;
  std::vector<std::string> inputs, outputs, attributes;
  std::vector<Attribute> attributeDefaults;
  std::vector<Node> nodes;
  std::map<std::string, int64_t> opsets;
};

struct Model {
  int64_t irVersion = 0;
  std::string producer, producerVersion;
  Graph graph;
  std::map<std::string, int64_t> opsets; // by domain; "ai.onnx" is ""
  std::vector<Function> functions;
  std::map<std::string, std::string> metadata;
};

/// "" for "ai.onnx".
std::string canonicalDomain(std::string domain);

} // namespace lockstitch::onnx

#endif // LOCKSTITCH_FRONTENDS_ONNX_MODEL_H
