#include "tools/lockstitch/array.h"

#include "frontends/onnx/tensor_file.h"
#include "runtime/program/float16.h"
#include "runtime/program/validate.h"
#include "tools/lockstitch/text.h"

#include <cstring>
#include <filesystem>

namespace lockstitch::tool {
namespace {

template <typename T> T loadAs(const Array &array, int64_t index) {
  T value;
  std::memcpy(&value, array.bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

} // namespace

int64_t bytesOf(ElementType type, const std::vector<int64_t> &shape) {
  TensorInfo info;
  info.type = type;
  info.shape.assign(shape.begin(), shape.end());
  return checkedBytes(info);
}

int64_t Array::elements() const {
  int64_t n = 1;
  for (int64_t extent : shape)
    n *= extent;
  return n;
}

std::string describe(ElementType type, const std::vector<int64_t> &shape) {
  return std::string(lockstitch::name(type)) + "[" + shapeText(shape) + "]";
}

int64_t elementAsInteger(const Array &array, int64_t index) {
  switch (array.type) {
  case ElementType::Bool:
    return loadAs<uint8_t>(array, index) != 0;
  case ElementType::I8:
    return loadAs<int8_t>(array, index);
  case ElementType::U8:
    return loadAs<uint8_t>(array, index);
  case ElementType::I16:
    return loadAs<int16_t>(array, index);
  case ElementType::U16:
    return loadAs<uint16_t>(array, index);
  case ElementType::I32:
    return loadAs<int32_t>(array, index);
  case ElementType::U32:
    return loadAs<uint32_t>(array, index);
  case ElementType::I64:
  case ElementType::U64:
    return loadAs<int64_t>(array, index);
  default:
    return static_cast<int64_t>(elementAsDouble(array, index));
  }
}

double elementAsDouble(const Array &array, int64_t index) {
  switch (array.type) {
  case ElementType::F16:
    return halfToFloat(loadAs<uint16_t>(array, index));
  case ElementType::BF16:
    return bfloat16ToFloat(loadAs<uint16_t>(array, index));
  case ElementType::F32:
    return loadAs<float>(array, index);
  case ElementType::F64:
    return loadAs<double>(array, index);
  case ElementType::U64:
    return static_cast<double>(loadAs<uint64_t>(array, index));
  default:
    return static_cast<double>(elementAsInteger(array, index));
  }
}

Result<Array> readArray(const std::string &path, const std::string &what) {
  Result<lockstitch::HostTensor> tensor = readTensorFile(path);
  if (!tensor.ok()) {
    Error error = tensor.error();
    for (ErrorMessage &message : error.messages)
      message.where =
          message.where.empty() ? what : what + ", " + message.where;
    return error;
  }
  Array array;
  array.type = tensor->type.element;
  for (const Dim &dim : tensor->type.shape)
    array.shape.push_back(dim.value());
  array.bytes.assign(tensor->bytes.begin(), tensor->bytes.end());
  // One byte, 0 or 1, is what kernels rely on; files may hold any byte.
  if (array.type == ElementType::Bool)
    for (std::byte &byte : array.bytes)
      byte = std::byte(byte != std::byte(0));
  return array;
}

Result<std::string> writeArray(const std::string &folder,
                               const std::string &stem, const std::string &name,
                               const Array &array) {
  TensorType type;
  type.element = array.type;
  type.shape = Shape(array.shape.begin(), array.shape.end());
  std::string file = stem + (hasNumpyType(array.type) ? ".npy" : ".pb");
  std::string path = (std::filesystem::path(folder) / file).string();
  Status status = hasNumpyType(array.type)
                      ? writeNumpyFile(path, type, array.bytes)
                      : writeTensorProtoFile(path, name, type, array.bytes);
  if (!status.ok())
    return status.error();
  return file;
}

} // namespace lockstitch::tool
