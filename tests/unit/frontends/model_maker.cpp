#include "model_maker.h"

#include "compiler/graph/evaluate_scalar.h"
#include "frontends/onnx/model.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace lockstitch::test {

HostTensor tensor(ElementType type, std::vector<int64_t> shape,
                  std::vector<double> values) {
  HostTensor result;
  result.type = {type, Shape(shape.begin(), shape.end())};
  size_t width = byteSize(type);
  result.bytes.resize(values.size() * width);
  EXPECT_EQ(static_cast<int64_t>(values.size()), result.type.elements())
      << "a test's tensor does not fit its shape";
  for (size_t i = 0; i < values.size(); ++i) {
    evaluation::Slot slot;
    if (isFloat(type))
      slot.real = values[i];
    else
      slot.integer =
          values[i] >= 0x1p63
              ? static_cast<int64_t>(static_cast<uint64_t>(values[i]))
              : static_cast<int64_t>(values[i]);
    evaluation::store(type, slot, result.bytes.data() + i * width);
  }
  return result;
}

HostTensor f32(std::vector<int64_t> shape, std::vector<double> values) {
  return tensor(ElementType::F32, shape, values);
}
HostTensor i64(std::vector<int64_t> shape, std::vector<double> values) {
  return tensor(ElementType::I64, shape, values);
}
HostTensor ints(const std::vector<int64_t> &values) {
  auto *begin = reinterpret_cast<const std::byte *>(values.data());
  return {{ElementType::I64, {Dim(static_cast<int64_t>(values.size()))}},
          {begin, begin + values.size() * sizeof(int64_t)}};
}

HostTensor absent() { return {{ElementType::F64, {Dim(0)}}, {}}; }

static bool isAbsent(const HostTensor &tensor) {
  return tensor.type == absent().type;
}

std::vector<double> valuesOf(const HostTensor &tensor) {
  ElementType type = tensor.type.element;
  std::vector<double> values;
  for (size_t i = 0; i < tensor.bytes.size(); i += byteSize(type)) {
    evaluation::Slot slot = evaluation::load(type, tensor.bytes.data() + i);
    values.push_back(
        isFloat(type) ? slot.real
        : type == ElementType::U64
            ? static_cast<double>(static_cast<uint64_t>(slot.integer))
            : static_cast<double>(slot.integer));
  }
  return values;
}

void setTensor(::onnx::TensorProto &proto, const HostTensor &value) {
  proto.set_data_type(onnx::dataType(value.type.element));
  for (const Dim &dim : value.type.shape)
    proto.add_dims(dim.value());
  proto.set_raw_data(value.bytes.data(), value.bytes.size());
}

void setAttribute(::onnx::AttributeProto &proto, const std::string &name,
                  const AttributeValue &value) {
  proto.set_name(name);
  if (auto *i = std::get_if<int64_t>(&value)) {
    proto.set_type(::onnx::AttributeProto::INT);
    proto.set_i(*i);
  } else if (auto *f = std::get_if<double>(&value)) {
    proto.set_type(::onnx::AttributeProto::FLOAT);
    proto.set_f(static_cast<float>(*f));
  } else if (auto *s = std::get_if<std::string>(&value)) {
    proto.set_type(::onnx::AttributeProto::STRING);
    proto.set_s(*s);
  } else if (auto *ints = std::get_if<std::vector<int64_t>>(&value)) {
    proto.set_type(::onnx::AttributeProto::INTS);
    for (int64_t i : *ints)
      proto.add_ints(i);
  } else {
    proto.set_type(::onnx::AttributeProto::TENSOR);
    setTensor(*proto.mutable_t(), std::get<HostTensor>(value));
  }
}

ModelMaker::ModelMaker(int64_t opset) {
  proto.set_ir_version(8);
  proto.mutable_graph()->set_name("test");
  proto.add_opset_import()->set_version(opset);
}

ModelMaker &
ModelMaker::input(const std::string &name, ElementType type,
                  std::vector<std::variant<int64_t, std::string>> dims) {
  ::onnx::ValueInfoProto &info = *proto.mutable_graph()->add_input();
  info.set_name(name);
  auto &tensorType = *info.mutable_type()->mutable_tensor_type();
  tensorType.set_elem_type(onnx::dataType(type));
  tensorType.mutable_shape();
  for (const auto &dim : dims) {
    auto &made = *tensorType.mutable_shape()->add_dim();
    if (auto *value = std::get_if<int64_t>(&dim))
      made.set_dim_value(*value);
    else if (!std::get<std::string>(dim).empty())
      made.set_dim_param(std::get<std::string>(dim));
  }
  return *this;
}

ModelMaker &ModelMaker::initializer(const std::string &name,
                                    const HostTensor &value) {
  ::onnx::TensorProto &made = *proto.mutable_graph()->add_initializer();
  setTensor(made, value);
  made.set_name(name);
  return *this;
}

ModelMaker &ModelMaker::output(const std::string &name, ElementType type) {
  ::onnx::ValueInfoProto &info = *proto.mutable_graph()->add_output();
  info.set_name(name);
  info.mutable_type()->mutable_tensor_type()->set_elem_type(
      onnx::dataType(type));
  return *this;
}

::onnx::NodeProto &ModelMaker::node(const std::string &op,
                                    std::vector<std::string> inputs,
                                    std::vector<std::string> outputs,
                                    Attributes attributes,
                                    const std::string &name) {
  ::onnx::NodeProto &made = *proto.mutable_graph()->add_node();
  made.set_op_type(op);
  made.set_name(name);
  for (const std::string &input : inputs)
    made.add_input(input);
  for (const std::string &output : outputs)
    made.add_output(output);
  for (const NamedAttribute &attribute : attributes)
    setAttribute(*made.add_attribute(), attribute.name, attribute.value);
  return made;
}

Result<OnnxModel> ModelMaker::read() const {
  auto data = std::make_shared<std::string>(bytes());
  return readModel(
      {reinterpret_cast<const uint8_t *>(data->data()), data->size()}, data,
      "");
}

Result<PrimitiveGraph> ModelMaker::import(const ImportOptions &options) const {
  auto model = read();
  if (!model.ok())
    return model.error();
  return importModel(*model, options);
}

std::string textOf(const Error &error) {
  std::string text;
  for (const ErrorMessage &m : error.messages)
    text += m.node + ": " + m.where + ": " + m.reason + "; " + m.wayOut + "\n";
  return text;
}

namespace {

ModelMaker modelOfNode(const std::string &op, int64_t opset,
                       const std::vector<HostTensor> &inputs,
                       const Attributes &attributes, size_t numOutputs,
                       const std::vector<size_t> &constants, bool allConstant) {
  ModelMaker maker(opset);
  std::vector<std::string> names, outputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (isAbsent(inputs[i])) {
      names.push_back("");
      continue;
    }
    names.push_back("x" + std::to_string(i));
    bool isConstant =
        allConstant ||
        std::find(constants.begin(), constants.end(), i) != constants.end();
    if (isConstant) {
      maker.initializer(names[i], inputs[i]);
      continue;
    }
    std::vector<std::variant<int64_t, std::string>> dims;
    for (const Dim &dim : inputs[i].type.shape)
      dims.push_back(dim.value());
    maker.input(names[i], inputs[i].type.element, dims);
  }
  for (size_t i = 0; i < numOutputs; ++i) {
    outputs.push_back("y" + std::to_string(i));
    maker.output(outputs[i]);
  }
  maker.node(op, names, outputs, attributes, "node");
  return maker;
}

std::vector<HostTensor> evaluate(const PrimitiveGraph &graph,
                                 const std::vector<HostTensor> &inputs,
                                 const std::vector<size_t> &constants,
                                 bool allConstant) {
  std::vector<HostTensor> given;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!allConstant && !isAbsent(inputs[i]) &&
        std::find(constants.begin(), constants.end(), i) == constants.end())
      given.push_back(inputs[i]);
  auto outputs = evaluateGraph(graph, given);
  if (!outputs.ok()) {
    ADD_FAILURE() << textOf(outputs.error());
    return {};
  }
  return *outputs;
}

} // namespace

std::vector<HostTensor> runNode(const std::string &op, int64_t opset,
                                const std::vector<HostTensor> &inputs,
                                Attributes attributes, size_t numOutputs,
                                std::vector<size_t> constants) {
  std::vector<HostTensor> first;
  for (bool allConstant : {false, true}) {
    auto graph = modelOfNode(op, opset, inputs, attributes, numOutputs,
                             constants, allConstant)
                     .import();
    if (!graph.ok()) {
      ADD_FAILURE() << textOf(graph.error());
      return {};
    }
    std::vector<HostTensor> outputs =
        evaluate(*graph, inputs, constants, allConstant);
    if (first.empty()) {
      first = outputs;
      PrimitiveGraph parsed;
      std::string error;
      EXPECT_TRUE(parsePrimitiveGraph(toString(*graph), parsed, error))
          << error << "\n"
          << toString(*graph);
      EXPECT_EQ(toString(parsed), toString(*graph));
    }
    EXPECT_EQ(outputs.size(), first.size());
    for (size_t i = 0; i < outputs.size() && i < first.size(); ++i) {
      EXPECT_EQ(toString(outputs[i].type), toString(first[i].type))
          << "folding gives another type";
      EXPECT_EQ(outputs[i].bytes, first[i].bytes)
          << "folding gives another value";
    }
  }
  return first;
}

std::string refusalOf(const std::string &op, int64_t opset,
                      const std::vector<HostTensor> &inputs,
                      Attributes attributes, size_t numOutputs,
                      std::vector<size_t> constants) {
  auto graph =
      modelOfNode(op, opset, inputs, attributes, numOutputs, constants, false)
          .import();
  if (graph.ok()) {
    ADD_FAILURE() << "this should have been refused";
    return {};
  }
  EXPECT_EQ(graph.error().kind, ErrorKind::Refused);
  return textOf(graph.error());
}

std::string testFolder() {
  const auto *info = ::testing::UnitTest::GetInstance()->current_test_info();
  std::filesystem::path folder =
      std::filesystem::path(LOCKSTITCH_BINARY_DIR) / "test_files" /
      (std::string(info->test_suite_name()) + "." + info->name());
  std::filesystem::create_directories(folder);
  return folder.string();
}

std::string writeFile(const std::string &name, const std::string &bytes) {
  std::string path = testFolder() + "/" + name;
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return path;
}

} // namespace lockstitch::test
