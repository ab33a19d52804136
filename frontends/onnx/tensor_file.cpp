#include "frontends/onnx/tensor_file.h"

#include "frontends/onnx/mapped_file.h"
#include "frontends/onnx/reader.h"

#include <charconv>
#include <cstdio>
#include <cstring>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

namespace lockstitch {

using namespace onnx;

namespace {

struct NumpyName {
  ElementType type;
  std::string_view code; // after the byte order
};
constexpr NumpyName kNumpyNames[] = {
    {ElementType::Bool, "b1"}, {ElementType::I8, "i1"},
    {ElementType::U8, "u1"},   {ElementType::I16, "i2"},
    {ElementType::U16, "u2"},  {ElementType::I32, "i4"},
    {ElementType::U32, "u4"},  {ElementType::I64, "i8"},
    {ElementType::U64, "u8"},  {ElementType::F16, "f2"},
    {ElementType::F32, "f4"},  {ElementType::F64, "f8"},
};

/// The text after `key` in the header, which is the display of a Python dict.
std::string_view entry(std::string_view header, std::string_view key) {
  for (char quote : {'\'', '"'}) {
    std::string name = quote + std::string(key) + quote;
    size_t at = header.find(name);
    if (at == std::string_view::npos)
      continue;
    at = header.find(':', at + name.size());
    if (at == std::string_view::npos)
      return {};
    at = header.find_first_not_of(' ', at + 1);
    return at == std::string_view::npos ? std::string_view()
                                        : header.substr(at);
  }
  return {};
}

Result<HostTensor> parseNumpy(Bytes file, const std::string &path) {
  auto damaged = [&](const std::string &what) {
    return Error::refused(path,
                          "the NumPy file is damaged or truncated: " + what,
                          "write it again with numpy.save");
  };
  if (file.size() < 10)
    return damaged("it ends within its header");
  size_t headerAt = file[6] == 1 ? 10 : 12, headerSize = file[8] | file[9] << 8;
  if (file[6] < 1 || file[6] > 3)
    return Error::refused(path,
                          "NumPy's file format version " +
                              std::to_string(file[6]) + " is not known",
                          "write it with numpy.save");
  if (file.size() < headerAt)
    return damaged("it ends within its header");
  if (file[6] != 1)
    headerSize |= static_cast<size_t>(file[10]) << 16 |
                  static_cast<size_t>(file[11]) << 24;
  if (file.size() - headerAt < headerSize)
    return damaged("it ends within its header");
  std::string_view header(
      reinterpret_cast<const char *>(file.data()) + headerAt, headerSize);

  std::string_view descr = entry(header, "descr"),
                   order = entry(header, "fortran_order"),
                   shape = entry(header, "shape");
  if (descr.empty() || order.empty() || !shape.starts_with('('))
    return damaged("its header does not say type, order and shape");
  if (descr[0] != '\'' && descr[0] != '"')
    return Error::refused(path, "structured NumPy types are not supported",
                          "store a plain array");
  descr = descr.substr(1, descr.find(descr[0], 1) - 1);
  std::optional<ElementType> element;
  for (const NumpyName &name : kNumpyNames)
    if (descr.size() == 3 && descr.substr(1) == name.code)
      element = name.type;
  if (!element)
    return Error::refused(
        path, "the NumPy type '" + std::string(descr) + "' is not supported",
        "convert the array, or give a TensorProto (.pb)");
  if (descr[0] == '>' && byteSize(*element) > 1)
    return Error::refused(
        path, "the array is big-endian",
        "convert it: array.astype(array.dtype.newbyteorder('<'))");

  HostTensor tensor;
  tensor.type.element = *element;
  shape = shape.substr(1, shape.find(')') - 1);
  uint64_t count = 1;
  while (true) {
    size_t digit = shape.find_first_of("0123456789");
    if (digit == std::string_view::npos)
      break;
    int64_t extent = 0;
    auto [end, error] = std::from_chars(shape.data() + digit,
                                        shape.data() + shape.size(), extent);
    if (error != std::errc() ||
        (extent &&
         __builtin_mul_overflow(count, static_cast<uint64_t>(extent), &count)))
      return damaged("its shape is not possible");
    if (extent == 0)
      count = 0;
    tensor.type.shape.push_back(extent);
    shape = shape.substr(end - shape.data());
  }
  size_t width = byteSize(*element),
         available = file.size() - headerAt - headerSize;
  if (count > available / width)
    return damaged("it should have " + std::to_string(count) + " elements of " +
                   std::to_string(width) + " bytes, but has only " +
                   std::to_string(available) + " bytes");
  auto *data =
      reinterpret_cast<const std::byte *>(file.data() + headerAt + headerSize);
  tensor.bytes.assign(data, data + count * width);
  if (order.starts_with("True") && tensor.type.shape.size() > 1) {
    // Column-major: the first index moves fastest.
    size_t rank = tensor.type.shape.size();
    std::vector<int64_t> at(rank, 0);
    for (uint64_t i = 0; i < count; ++i) {
      uint64_t from = 0;
      for (size_t d = rank; d-- > 0;)
        from = from * tensor.type.shape[d].value() + at[d];
      std::memcpy(tensor.bytes.data() + i * width, data + from * width, width);
      for (size_t d = rank; d-- > 0 && ++at[d] == tensor.type.shape[d].value();)
        at[d] = 0;
    }
  }
  if (*element == ElementType::Bool)
    for (std::byte &b : tensor.bytes)
      b = b == std::byte{0} ? std::byte{0} : std::byte{1};
  return tensor;
}

Status writeBytes(const std::string &path, std::string_view head,
                  std::span<const std::byte> bytes) {
  std::FILE *file = std::fopen(path.c_str(), "wb");
  if (!file)
    return Error::refused(path, std::string("the file cannot be written: ") +
                                    std::strerror(errno));
  bool ok = std::fwrite(head.data(), 1, head.size(), file) == head.size() &&
            (bytes.empty() ||
             std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size());
  ok &= std::fclose(file) == 0;
  if (!ok)
    return Error::refused(
        path, std::string("the file cannot be written completely: ") +
                  std::strerror(errno));
  return {};
}

} // namespace

bool hasNumpyType(ElementType type) { return type != ElementType::BF16; }

Result<HostTensor> readTensorFile(const std::string &path) {
  auto file = MappedFile::open(path, "tensor (.npy or .pb)");
  if (!file.ok())
    return file.error();
  Bytes bytes = (*file)->bytes();
  if (bytes.size() >= 6 && std::memcmp(bytes.data(), "\x93NUMPY", 6) == 0)
    return parseNumpy(bytes, path);
  auto tensor = readTensorBytes(bytes, *file, path);
  if (!tensor.ok())
    return tensor.error();
  std::optional<ElementType> element = elementType(tensor->dataType);
  if (!element)
    return Error::refused(
        path,
        tensor->dataType == 0
            ? std::string("this is neither a NumPy array nor an ONNX tensor")
            : "its element type " + dataTypeName(tensor->dataType) +
                  " is not supported",
        "give a NumPy array (.npy) or a TensorProto (.pb)");
  HostTensor result;
  result.type.element = *element;
  result.type.shape = Shape(tensor->dims.begin(), tensor->dims.end());
  result.bytes.assign(tensor->data.data,
                      tensor->data.data + tensor->data.bytes);
  return result;
}

Status writeNumpyFile(const std::string &path, const TensorType &type,
                      std::span<const std::byte> bytes) {
  std::string_view code;
  for (const NumpyName &name : kNumpyNames)
    if (name.type == type.element)
      code = name.code;
  if (code.empty())
    return Error::refused(
        path, "NumPy's format has no type " + std::string(name(type.element)),
        "write a .pb file");
  std::string shape;
  for (const Dim &dim : type.shape)
    shape += std::to_string(dim.value()) + ", ";
  if (type.shape.size() > 1)
    shape.resize(shape.size() - 2);
  else if (!shape.empty())
    shape.resize(shape.size() - 1);
  std::string header = "{'descr': '" +
                       std::string(byteSize(type.element) > 1 ? "<" : "|") +
                       std::string(code) +
                       "', 'fortran_order': False, 'shape': (" + shape + "), }";
  while ((10 + header.size() + 1) % 64)
    header += ' ';
  header += '\n';
  std::string head("\x93NUMPY\x01\x00", 8);
  head += static_cast<char>(header.size() & 0xff);
  head += static_cast<char>(header.size() >> 8);
  return writeBytes(path, head + header, bytes);
}

Status writeTensorProtoFile(const std::string &path, const std::string &name,
                            const TensorType &type,
                            std::span<const std::byte> bytes) {
  std::string head;
  {
    google::protobuf::io::StringOutputStream sink(&head);
    google::protobuf::io::CodedOutputStream out(&sink);
    auto tag = [&](uint32_t field, uint32_t wireType) {
      out.WriteTag(field << 3 | wireType);
    };
    for (const Dim &dim : type.shape) {
      tag(1, 0);
      out.WriteVarint64(static_cast<uint64_t>(dim.value()));
    }
    tag(2, 0);
    out.WriteVarint32(static_cast<uint32_t>(dataType(type.element)));
    if (!name.empty()) {
      tag(8, 2);
      out.WriteVarint32(name.size());
      out.WriteString(name);
    }
    tag(9, 2);
    out.WriteVarint64(bytes.size());
  }
  return writeBytes(path, head, bytes);
}

} // namespace lockstitch
