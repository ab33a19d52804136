// .npy and .pb files: every element type there and back, and what is refused.
#include "frontends/onnx/tensor_file.h"
#include "model_maker.h"

#include <fstream>
#include <gmock/gmock.h>

using namespace lockstitch;
using namespace lockstitch::test;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

std::string npy(const std::string &header, const std::string &data,
                char version = 1) {
  std::string file = std::string("\x93NUMPY") + version + '\0';
  file += static_cast<char>(header.size() & 255);
  file += static_cast<char>(header.size() >> 8);
  if (version > 1)
    file += std::string(2, '\0');
  return writeFile("a.npy", file + header + data);
}

std::string bytesOf(const HostTensor &tensor) {
  return {reinterpret_cast<const char *>(tensor.bytes.data()),
          tensor.bytes.size()};
}

std::string reasonOf(const std::string &path) {
  auto tensor = readTensorFile(path);
  if (tensor.ok()) {
    ADD_FAILURE() << "this should have been refused";
    return {};
  }
  EXPECT_EQ(tensor.error().kind, ErrorKind::Refused);
  return tensor.error().messages[0].reason;
}

} // namespace

TEST(TensorFile, EveryTypeThereAndBack) {
  for (int i = 0; i < kNumElementTypes; ++i) {
    auto type = static_cast<ElementType>(i);
    for (const HostTensor &want :
         {tensor(type, {2, 3}, {0, 1, 1, 0, 1, 0}), tensor(type, {}, {1}),
          tensor(type, {0, 4}, {}), tensor(type, {1}, {1})}) {
      std::string path = testFolder() + "/t";
      if (hasNumpyType(type)) {
        ASSERT_TRUE(writeNumpyFile(path, want.type, want.bytes).ok());
        auto got = readTensorFile(path);
        ASSERT_TRUE(got.ok()) << textOf(got.error());
        EXPECT_EQ(toString(got->type), toString(want.type));
        EXPECT_EQ(got->bytes, want.bytes);
      }
      ASSERT_TRUE(
          writeTensorProtoFile(path, "name", want.type, want.bytes).ok());
      auto got = readTensorFile(path);
      ASSERT_TRUE(got.ok()) << textOf(got.error());
      EXPECT_EQ(toString(got->type), toString(want.type));
      EXPECT_EQ(got->bytes, want.bytes);
    }
  }
}

TEST(TensorFile, ProtoIsReadByOnnxItself) {
  HostTensor want = tensor(ElementType::BF16, {2}, {1, -2});
  std::string path = testFolder() + "/t.pb";
  ASSERT_TRUE(writeTensorProtoFile(path, "x", want.type, want.bytes).ok());
  std::ifstream file(path, std::ios::binary);
  ::onnx::TensorProto proto;
  ASSERT_TRUE(proto.ParseFromIstream(&file));
  EXPECT_EQ(proto.name(), "x");
  EXPECT_EQ(proto.data_type(), ::onnx::TensorProto::BFLOAT16);
  EXPECT_EQ(proto.raw_data(), bytesOf(want));
}

TEST(TensorFile, NumpyHeaderIsAligned) {
  HostTensor t = f32({3}, {1, 2, 3});
  std::string path = testFolder() + "/t.npy";
  ASSERT_TRUE(writeNumpyFile(path, t.type, t.bytes).ok());
  std::ifstream file(path, std::ios::binary);
  std::string content((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ((content.size() - t.bytes.size()) % 64, 0u);
  EXPECT_THAT(
      content,
      HasSubstr("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }"));
}

TEST(TensorFile, FortranOrderIsTurnedRound) {
  // The columns of [[1,2,3],[4,5,6]] one after the other.
  auto got = readTensorFile(
      npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }\n",
          bytesOf(f32({6}, {1, 4, 2, 5, 3, 6}))));
  ASSERT_TRUE(got.ok()) << textOf(got.error());
  EXPECT_THAT(valuesOf(*got), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(TensorFile, NumpyVersionTwo) {
  auto got = readTensorFile(
      npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }\n",
          bytesOf(f32({1}, {7})), 2));
  ASSERT_TRUE(got.ok()) << textOf(got.error());
  EXPECT_THAT(valuesOf(*got), ElementsAre(7));
}

TEST(TensorFile, Refusals) {
  EXPECT_EQ(reasonOf(testFolder() + "/none.npy"), "no such file");
  EXPECT_EQ(reasonOf(testFolder()), "this is a directory, not a file");
  EXPECT_EQ(reasonOf(writeFile("e.npy", "")), "the file is empty");
  EXPECT_THAT(reasonOf(writeFile("s.npy", "\x93NUMPY")),
              HasSubstr("it ends within its header"));
  EXPECT_THAT(
      reasonOf(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }",
                   "1234")),
      HasSubstr("should have 4 elements of 4 bytes, but has only 4 bytes"));
  EXPECT_THAT(
      reasonOf(npy("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }",
                   "1234")),
      HasSubstr("big-endian"));
  EXPECT_THAT(
      reasonOf(npy("{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }",
                   "12345678")),
      HasSubstr("the NumPy type '<c8' is not supported"));
  EXPECT_THAT(
      reasonOf(npy(
          "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }",
          "1234")),
      HasSubstr("structured NumPy types"));
  EXPECT_THAT(reasonOf(npy("{}", "")),
              HasSubstr("does not say type, order and shape"));
  EXPECT_THAT(reasonOf(npy("{'descr': '<f4', 'fortran_order': False, 'shape': "
                           "(9999999999, 9999999999), }",
                           "")),
              HasSubstr("its shape is not possible"));
  EXPECT_THAT(reasonOf(npy("{}", "", 9)), HasSubstr("version 9 is not known"));
  EXPECT_THAT(reasonOf(writeFile("t.pb", "once upon a time")),
              HasSubstr("not an ONNX tensor, or it is damaged"));
  ::onnx::TensorProto strings;
  strings.set_data_type(::onnx::TensorProto::STRING);
  EXPECT_THAT(reasonOf(writeFile("t.pb", strings.SerializeAsString())),
              HasSubstr("element type string is not supported"));
  ::onnx::TensorProto empty;
  empty.set_name("x");
  EXPECT_THAT(reasonOf(writeFile("t.pb", empty.SerializeAsString())),
              HasSubstr("cannot be used: its element type undefined"));
  ::onnx::TensorProto wrong;
  setTensor(wrong, f32({2}, {1, 2}));
  wrong.add_dims(5);
  EXPECT_THAT(reasonOf(writeFile("t.pb", wrong.SerializeAsString())),
              HasSubstr("needs 40 bytes, but it has 8"));
  HostTensor bf16 = tensor(ElementType::BF16, {1}, {1});
  Status status =
      writeNumpyFile(testFolder() + "/t.npy", bf16.type, bf16.bytes);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().messages[0].reason, HasSubstr("no type bf16"));
  Status noFolder = writeNumpyFile("/no/such/folder/t.npy", f32({}, {1}).type,
                                   f32({}, {1}).bytes);
  ASSERT_FALSE(noFolder.ok());
  EXPECT_THAT(noFolder.error().messages[0].reason,
              HasSubstr("cannot be written"));
}
