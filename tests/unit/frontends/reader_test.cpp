// The reader against files written by another implementation of the format, and
// against damaged ones.
#include "frontends/onnx/mapped_file.h"
#include "frontends/onnx/reader.h"
#include "model_maker.h"

#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <unistd.h>

using namespace lockstitch;
using namespace lockstitch::test;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

lockstitch::onnx::Bytes view(const std::string &bytes) {
  return {reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()};
}

Result<lockstitch::onnx::Model> readBytes(const std::string &bytes) {
  auto data = std::make_shared<std::string>(bytes);
  return lockstitch::onnx::readModelBytes(view(*data), data, "");
}

std::string reasonOf(const std::string &path) {
  auto model = readModel(path);
  if (model.ok()) {
    ADD_FAILURE() << path << " should have been refused";
    return {};
  }
  EXPECT_EQ(model.error().kind, ErrorKind::Refused);
  EXPECT_EQ(model.error().messages[0].where, path);
  EXPECT_FALSE(model.error().messages[0].wayOut.empty());
  return model.error().messages[0].reason;
}

ModelMaker smallModel() {
  ModelMaker maker(17);
  maker.proto.set_producer_name("maker");
  maker.input("x", ElementType::F32, {"batch", 3, ""}).output("y");
  maker.initializer("w", f32({3, 1}, {1, 2, 3}));
  maker.node("Mul", {"x", "w"}, {"m"}, {}, "scale");
  maker.node("Clip", {"m", "", "w"}, {"y"},
             {{"axis", int64_t(-2)},
              {"alpha", 0.5},
              {"mode", std::string("m")},
              {"ints", std::vector<int64_t>{1, -1}}});
  return maker;
}

} // namespace

TEST(Reader, YieldsWhatTheFileSays) {
  ModelMaker maker = smallModel();
  ::onnx::StringStringEntryProto &entry = *maker.proto.add_metadata_props();
  entry.set_key("k");
  entry.set_value("v");
  auto model = readBytes(maker.bytes());
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(model->irVersion, 8);
  EXPECT_EQ(model->producer, "maker");
  EXPECT_EQ(model->opsets.at(""), 17);
  EXPECT_EQ(model->metadata.at("k"), "v");
  const lockstitch::onnx::Graph &graph = model->graph;
  ASSERT_EQ(graph.inputs.size(), 1u);
  ASSERT_EQ(graph.inputs[0].shape->size(), 3u);
  EXPECT_EQ((*graph.inputs[0].shape)[0].symbol, "batch");
  EXPECT_EQ((*graph.inputs[0].shape)[1].value, 3);
  EXPECT_TRUE(!(*graph.inputs[0].shape)[2].value &&
              (*graph.inputs[0].shape)[2].symbol.empty());
  ASSERT_EQ(graph.nodes.size(), 2u);
  EXPECT_EQ(graph.nodes[0].name, "scale");
  EXPECT_THAT(graph.nodes[1].inputs, ElementsAre("m", "", "w"));
  EXPECT_EQ(graph.nodes[1].attribute("axis")->i, -2);
  EXPECT_EQ(graph.nodes[1].attribute("alpha")->f, 0.5f);
  EXPECT_EQ(graph.nodes[1].attribute("mode")->s, "m");
  EXPECT_THAT(graph.nodes[1].attribute("ints")->ints, ElementsAre(1, -1));
  EXPECT_EQ(graph.nodes[1].attribute("none"), nullptr);
}

TEST(Reader, WeightsStayInTheFile) {
  std::string bytes = smallModel().bytes();
  auto data = std::make_shared<std::string>(bytes);
  auto model = lockstitch::onnx::readModelBytes(view(*data), data, "");
  ASSERT_TRUE(model.ok());
  const ConstantData &weights = model->graph.initializers[0].data;
  auto *begin = reinterpret_cast<const std::byte *>(data->data());
  EXPECT_TRUE(weights.data >= begin &&
              weights.data + weights.bytes <= begin + data->size());
  EXPECT_EQ(weights.owner.get(), data.get());
}

TEST(Reader, TypedDataOfEveryType) {
  struct Case {
    ElementType type;
    std::vector<double> values;
  };
  const Case cases[] = {
      {ElementType::Bool, {0, 1, 1}},
      {ElementType::I8, {-128, 0, 127}},
      {ElementType::U8, {0, 200, 255}},
      {ElementType::I16, {-300, 0, 300}},
      {ElementType::U16, {0, 1, 65535}},
      {ElementType::I32, {-70000, 0, 70000}},
      {ElementType::U32, {0, 1, 4e9}},
      {ElementType::I64, {-5e9, 0, 5e9}},
      {ElementType::U64, {0, 1, 0x1p63}},
      {ElementType::F16, {-1.5, 0, 65504}},
      {ElementType::BF16, {-1.5, 0, 256}},
      {ElementType::F32, {-1.5, 0, 0.1f}},
      {ElementType::F64, {-1.5, 0, 0.1}},
  };
  for (const Case &c : cases) {
    HostTensor want = tensor(c.type, {3}, c.values);
    ::onnx::TensorProto proto;
    proto.set_data_type(lockstitch::onnx::dataType(c.type));
    proto.add_dims(3);
    size_t width = byteSize(c.type);
    for (int i = 0; i < 3; ++i) {
      uint64_t bits = 0;
      std::memcpy(&bits, want.bytes.data() + i * width, width);
      if (c.type == ElementType::F32)
        proto.add_float_data(static_cast<float>(c.values[i]));
      else if (c.type == ElementType::F64)
        proto.add_double_data(c.values[i]);
      else if (c.type == ElementType::I64)
        proto.add_int64_data(static_cast<int64_t>(bits));
      else if (c.type == ElementType::U64 || c.type == ElementType::U32)
        proto.add_uint64_data(bits);
      else if (isFloat(c.type)) // the bits
        proto.add_int32_data(static_cast<int32_t>(bits));
      else
        proto.add_int32_data(static_cast<int32_t>(c.values[i]));
    }
    std::string bytes = proto.SerializeAsString();
    auto got = lockstitch::onnx::readTensorBytes(view(bytes), nullptr, "t");
    ASSERT_TRUE(got.ok()) << name(c.type) << textOf(got.error());
    EXPECT_EQ(got->dataType, lockstitch::onnx::dataType(c.type));
    EXPECT_EQ(std::vector<std::byte>(got->data.data,
                                     got->data.data + got->data.bytes),
              want.bytes)
        << name(c.type);
  }
}

TEST(Reader, UnpackedListsAndSplitOnesAreTheSame) {
  // dims 2 and 3 unpacked; float_data: one packed run of four, then two single
  // ones.
  std::string bytes;
  auto raw = [&](std::initializer_list<int> list) {
    for (int b : list)
      bytes += static_cast<char>(b);
  };
  auto number = [&](float value) {
    bytes.append(reinterpret_cast<const char *>(&value), 4);
  };
  raw({0x08, 2, 0x08, 3, 0x10, 1, 0x22, 16});
  for (float v : {1.f, 2.f, 3.f, 4.f})
    number(v);
  for (float v : {5.f, 6.f}) {
    raw({0x25});
    number(v);
  }
  auto got = lockstitch::onnx::readTensorBytes(view(bytes), nullptr, "t");
  ASSERT_TRUE(got.ok()) << textOf(got.error());
  EXPECT_THAT(got->dims, ElementsAre(2, 3));
  HostTensor want = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(
      std::vector<std::byte>(got->data.data, got->data.data + got->data.bytes),
      want.bytes);
}

TEST(Reader, BoolsAreZeroOrOne) {
  HostTensor odd = tensor(ElementType::Bool, {3}, {0, 1, 1});
  odd.bytes[2] = std::byte{7};
  ::onnx::TensorProto proto;
  setTensor(proto, odd);
  std::string bytes = proto.SerializeAsString();
  auto got = lockstitch::onnx::readTensorBytes(view(bytes), nullptr, "t");
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got->data.data[2], std::byte{1});
}

TEST(Reader, FunctionsBodiesAndOverloads) {
  ModelMaker maker = smallModel();
  ::onnx::FunctionProto &function = *maker.proto.add_functions();
  function.set_name("F");
  function.set_domain("local");
  function.add_input("a");
  function.add_output("b");
  function.add_attribute("alpha");
  function.add_node()->set_op_type("Neg");
  function.add_opset_import()->set_version(13);
  ::onnx::NodeProto &conditional = maker.node("If", {"c"}, {"z"});
  ::onnx::AttributeProto &branch = *conditional.add_attribute();
  branch.set_name("then_branch");
  branch.set_type(::onnx::AttributeProto::GRAPH);
  branch.mutable_g()->add_node()->set_op_type("Abs");
  auto model = readBytes(maker.bytes());
  ASSERT_TRUE(model.ok());
  ASSERT_EQ(model->functions.size(), 1u);
  EXPECT_EQ(model->functions[0].name, "F");
  EXPECT_EQ(model->functions[0].domain, "local");
  EXPECT_EQ(model->functions[0].opsets.at(""), 13);
  EXPECT_THAT(model->functions[0].attributes, ElementsAre("alpha"));
  ASSERT_EQ(model->graph.nodes[2].attribute("then_branch")->graphs.size(), 1u);
  EXPECT_EQ(model->graph.nodes[2]
                .attribute("then_branch")
                ->graphs[0]
                ->nodes[0]
                .opType,
            "Abs");
}

TEST(Reader, TensorsThatDoNotFitTheirShapeAreFoundWhenUsed) {
  ModelMaker maker = smallModel();
  maker.proto.mutable_graph()->mutable_initializer(0)->set_raw_data("abc");
  auto model = readBytes(maker.bytes());
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(model->graph.initializers[0].problem,
            "its shape [3,1] of f32 needs 12 bytes, but it has 3");
}

// --- Files that are no model

TEST(ReaderRefuses, MissingFile) {
  EXPECT_EQ(reasonOf(testFolder() + "/none.onnx"), "no such file");
}
TEST(ReaderRefuses, Directory) {
  EXPECT_EQ(reasonOf(testFolder()), "this is a directory, not a file");
}
TEST(ReaderRefuses, EmptyFile) {
  EXPECT_EQ(reasonOf(writeFile("empty.onnx", "")), "the file is empty");
}

TEST(ReaderRefuses, AFileThatMayNotBeRead) {
  if (geteuid() == 0)
    GTEST_SKIP() << "root may read everything";
  std::string path = writeFile("secret.onnx", "x");
  std::filesystem::permissions(path, std::filesystem::perms::none);
  EXPECT_THAT(reasonOf(path), HasSubstr("cannot be opened: Permission denied"));
}

TEST(ReaderRefuses, ADevice) {
  EXPECT_THAT(reasonOf("/dev/null"), HasSubstr("not a regular file"));
}

TEST(ReaderRefuses, OtherKindsOfFiles) {
  const std::pair<std::string, std::string> kinds[] = {
      {"\x89PNG\r\n\x1a\n rest", "this is a PNG image, not an ONNX model"},
      {"\xff\xd8\xff\xe0 rest", "this is a JPEG image, not an ONNX model"},
      {"PK\x03\x04 rest",
       "this is a ZIP archive (a PyTorch checkpoint?), not an ONNX model"},
      {"\x1f\x8b rest", "this is a gzip archive, not an ONNX model"},
      {"\x89HDF\r\n",
       "this is an HDF5 file (a Keras model?), not an ONNX model"},
      {"\x7f"
       "ELF rest",
       "this is a program, not an ONNX model"},
      {"\x93NUMPY rest", "this is a NumPy array, not an ONNX model"},
      {"version https://git-lfs.github.com/spec/v1\n",
       "this is a Git LFS pointer (the model itself was not fetched), not an "
       "ONNX model"},
      {"<!DOCTYPE html>", "this is a web page, not an ONNX model"},
  };
  for (const auto &[content, reason] : kinds)
    EXPECT_EQ(reasonOf(writeFile("file.onnx", content)), reason);
}

TEST(ReaderRefuses, Text) {
  EXPECT_THAT(
      reasonOf(writeFile("text.onnx", "once upon a time")),
      HasSubstr("this is not an ONNX model, or it is damaged: at byte"));
}

TEST(ReaderRefuses, ModelWithoutGraph) {
  EXPECT_EQ(reasonOf(writeFile("head.onnx", std::string("\x08\x08", 2))),
            "there is no graph in this file, so it is not an ONNX model or it "
            "is truncated");
}

TEST(ReaderRefuses, ModelWithoutOperatorSets) {
  ModelMaker maker = smallModel();
  maker.proto.clear_opset_import();
  EXPECT_EQ(reasonOf(writeFile("m.onnx", maker.bytes())),
            "the model does not say which operator sets it uses, so it is "
            "truncated or damaged");
}

TEST(ReaderRefuses, TruncatedModel) {
  std::string bytes = smallModel().bytes();
  EXPECT_THAT(
      reasonOf(writeFile("cut.onnx", bytes.substr(0, bytes.size() / 2))),
      HasSubstr("the model is truncated: at byte"));
}

TEST(ReaderRefuses, EveryTruncationWithoutACrash) {
  std::string bytes = smallModel().bytes();
  size_t readable = 0;
  for (size_t size = 1; size < bytes.size(); ++size) {
    auto model = readBytes(bytes.substr(0, size));
    readable += model.ok();
    if (!model.ok())
      EXPECT_FALSE(model.error().messages[0].reason.empty());
  }
  EXPECT_EQ(readable, 0u)
      << "the operator sets come last, so no shorter file is a model";
}

TEST(ReaderRefuses, EveryFlippedByteWithoutACrash) {
  std::string bytes = smallModel().bytes();
  for (size_t at = 0; at < bytes.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ 1 << bit);
      auto data = std::make_shared<std::string>(damaged);
      auto model = readModel(view(*data), data, "");
      if (!model.ok())
        continue;
      checkSupport(*model);
      ImportOptions options;
      options.shapes["x"] = {2, 3, 4};
      (void)importModel(*model, options); // refused or not, but it returns
    }
}

TEST(ReaderRefuses, MessagesNestedWithoutEnd) {
  // graph { node { attribute { g { node { ... } } } } }
  std::string inner;
  for (int i = 0; i < 200; ++i)
    for (char tag : {0x32, 0x2a, 0x0a}) {
      std::string length;
      for (size_t n = inner.size(); true; n >>= 7) {
        length += static_cast<char>(n >= 128 ? (n & 127) | 128 : n);
        if (n < 128)
          break;
      }
      inner = std::string(1, tag) + length + inner;
    }
  ModelMaker maker = smallModel();
  std::string bytes = std::string("\x08\x08", 2);
  std::string length;
  for (size_t n = inner.size(); true; n >>= 7) {
    length += static_cast<char>(n >= 128 ? (n & 127) | 128 : n);
    if (n < 128)
      break;
  }
  auto model = readBytes(bytes + "\x3a" + length + inner);
  ASSERT_FALSE(model.ok());
  EXPECT_THAT(model.error().messages[0].reason,
              HasSubstr("nested deeper than 100"));
}

TEST(ReaderRefuses, GroupsAndFieldZero) {
  auto group = readBytes(std::string("\x08\x08\x0b\x0c", 4));
  ASSERT_FALSE(group.ok());
  EXPECT_THAT(group.error().messages[0].reason, HasSubstr("wire type 3"));
  auto zero = readBytes(std::string("\x08\x08\x00\x01", 4));
  ASSERT_FALSE(zero.ok());
  EXPECT_THAT(zero.error().messages[0].reason, HasSubstr("no valid field"));
}

// --- Data in other files

namespace {

std::string modelWithExternalData(const std::string &location,
                                  const std::string &offset,
                                  const std::string &length) {
  ModelMaker maker;
  maker.input("x", ElementType::F32, {2}).output("y");
  maker.initializer("w", f32({2}, {0, 0}));
  ::onnx::TensorProto &tensor =
      *maker.proto.mutable_graph()->mutable_initializer(0);
  tensor.clear_raw_data();
  tensor.set_data_location(::onnx::TensorProto::EXTERNAL);
  auto entry = [&](const std::string &key, const std::string &value) {
    if (value.empty())
      return;
    auto &added = *tensor.add_external_data();
    added.set_key(key);
    added.set_value(value);
  };
  entry("location", location);
  entry("offset", offset);
  entry("length", length);
  maker.node("Add", {"x", "w"}, {"y"});
  return writeFile("model.onnx", maker.bytes());
}

std::string problemOf(const std::string &location,
                      const std::string &offset = "",
                      const std::string &length = "") {
  auto model = lockstitch::onnx::readModelFile(
      modelWithExternalData(location, offset, length));
  EXPECT_TRUE(model.ok());
  return model.ok() ? model->graph.initializers[0].problem : "";
}

} // namespace

TEST(ExternalData, IsMapped) {
  HostTensor weights = f32({2}, {10, 20});
  std::string content =
      "head" +
      std::string(reinterpret_cast<const char *>(weights.bytes.data()), 8) +
      "tail";
  writeFile("weights.bin", content);
  auto model = readModel(modelWithExternalData("weights.bin", "4", "8"));
  ASSERT_TRUE(model.ok());
  auto graph = importModel(*model, {});
  ASSERT_TRUE(graph.ok()) << textOf(graph.error());
  HostTensor input = f32({2}, {1, 2});
  auto outputs = evaluateGraph(*graph, {&input, 1});
  ASSERT_TRUE(outputs.ok());
  EXPECT_THAT(valuesOf((*outputs)[0]), ElementsAre(11, 22));
}

TEST(ExternalData, IsRefusedOutsideOfTheFolder) {
  EXPECT_THAT(problemOf("../weights.bin"),
              HasSubstr("outside of the model's folder"));
  EXPECT_THAT(problemOf("a/../../weights.bin"),
              HasSubstr("outside of the model's folder"));
  EXPECT_THAT(problemOf("/etc/passwd"),
              HasSubstr("outside of the model's folder"));
  std::filesystem::remove(testFolder() + "/link");
  std::filesystem::create_symlink("/etc/passwd", testFolder() + "/link");
  EXPECT_THAT(problemOf("link"),
              HasSubstr("a link that leaves the model's folder"));
}

TEST(ExternalData, IsRefusedWhereItIsNotThere) {
  EXPECT_THAT(problemOf("none.bin"), HasSubstr("not beside the model"));
  EXPECT_THAT(problemOf(""), HasSubstr("no location is given"));
  writeFile("short.bin", "1234");
  EXPECT_THAT(problemOf("short.bin", "0", "8"),
              HasSubstr("bytes 0 to 8 of 'short.bin', which has only 4"));
  EXPECT_THAT(problemOf("short.bin", "9"), HasSubstr("which has only 4"));
  EXPECT_THAT(problemOf("short.bin", "0", "18446744073709551615"),
              HasSubstr("which has only 4"));
  EXPECT_THAT(problemOf("short.bin", "zero"),
              HasSubstr("offset of its external data is not a number: 'zero'"));
  EXPECT_THAT(problemOf("short.bin", "0", "4"),
              HasSubstr("needs 8 bytes, but it has 4"));
}

TEST(Reader, ModelsOfMoreThanTwoGigabytes) {
  // A sparse file: the weights are a hole of 2.5 GB, of which nothing is read.
  const uint64_t kHole = 2'500'000'000;
  auto varint = [](uint64_t n) {
    std::string text;
    for (; n >= 128; n >>= 7)
      text += static_cast<char>((n & 127) | 128);
    return text + static_cast<char>(n);
  };
  std::string tensorHead = "\x08" + varint(kHole / 4) +
                           std::string("\x10\x01\x42\x01w\x4a", 6) +
                           varint(kHole);
  std::string graphHead =
      "\x2a" + varint(tensorHead.size() + kHole) + tensorHead;
  std::string tail = std::string("\x12\x04tail", 6); // the graph's name
  std::string head = std::string("\x08\x08\x3a", 3) +
                     varint(graphHead.size() + kHole + tail.size()) + graphHead;
  std::string path = writeFile("big.onnx", head);
  ASSERT_EQ(truncate(path.c_str(), static_cast<off_t>(head.size() + kHole)), 0);
  std::ofstream(path, std::ios::binary | std::ios::app)
      << tail << std::string("\x42\x02\x10\x11", 4);
  auto model = lockstitch::onnx::readModelFile(path);
  ASSERT_TRUE(model.ok()) << textOf(model.error());
  EXPECT_EQ(model->graph.name, "tail");
  EXPECT_EQ(model->graph.initializers[0].data.bytes, kHole);
  EXPECT_EQ(model->graph.initializers[0].problem, "");
  std::filesystem::remove(path);
}
