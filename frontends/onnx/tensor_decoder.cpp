// TensorProto holds its elements in one of several places: raw_data (nearly
// always), a typed list (float_data; int32_data for everything that fits into
// 32 bits, also the bits of f16 and bf16; int64_data; double_data; uint64_data;
// string_data), or another file. Raw and packed float/double lists are
// little-endian arrays in the file already, so they are used where they lie;
// only lists of varints are decoded into memory of ours.
#include "frontends/onnx/tensor_decoder.h"

#include <charconv>
#include <cstring>
#include <filesystem>

namespace lockstitch::onnx {
namespace fs = std::filesystem;

namespace {

template <typename T>
std::vector<std::byte> narrowAll(const std::vector<int64_t> &values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) {
    T narrow = static_cast<T>(values[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &narrow, sizeof(T));
  }
  return bytes;
}

ConstantData place(Bytes bytes, const std::shared_ptr<const void> &owner) {
  ConstantData data;
  data.data = reinterpret_cast<const std::byte *>(bytes.data());
  data.bytes = bytes.size();
  data.owner = owner;
  return data;
}

/// Number of bytes that the shape needs; nothing if it overflows or a dimension
/// is negative.
std::optional<uint64_t> bytesNeeded(const std::vector<int64_t> &dims,
                                    uint64_t elementBytes) {
  uint64_t total = elementBytes;
  bool empty = false;
  for (int64_t dim : dims) {
    if (dim < 0)
      return std::nullopt;
    if (dim == 0)
      empty = true;
    else if (__builtin_mul_overflow(total, static_cast<uint64_t>(dim), &total))
      return std::nullopt;
  }
  return empty ? 0 : total;
}

std::string shapeText(const std::vector<int64_t> &dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i)
    text += (i ? "," : "") + std::to_string(dims[i]);
  return text + "]";
}

/// A bool must be 0 or 1 at every kernel's border; files may say otherwise.
void canonicalizeBools(ConstantData &data) {
  bool canonical = true;
  for (size_t i = 0; i < data.bytes && canonical; ++i)
    canonical = data.data[i] <= std::byte{1};
  if (canonical)
    return;
  std::vector<std::byte> bytes(data.data, data.data + data.bytes);
  for (std::byte &b : bytes)
    b = b == std::byte{0} ? std::byte{0} : std::byte{1};
  data = ConstantData::own(std::move(bytes));
}

struct TypedData {
  std::optional<Bytes> raw;
  std::optional<Bytes> fixedInPlace; // one packed field and nothing else
  unsigned fixedFields = 0;
  std::vector<uint8_t> fixed; // float_data or double_data
  std::vector<int64_t> integers;
  bool hasFloats = false, hasDoubles = false, hasInt32 = false,
       hasInt64 = false, hasUInt64 = false;

  void addFixed(const WireField &field, unsigned width, WireError &error) {
    ++fixedFields;
    if (fixedFields == 1 && field.type == WireField::Type::Length &&
        field.bytes.size() % width == 0) {
      fixedInPlace = field.bytes;
      return;
    }
    if (fixedInPlace) {
      fixed.assign(fixedInPlace->begin(), fixedInPlace->end());
      fixedInPlace.reset();
    }
    appendFixed(field, width, fixed, error);
  }
};

void takeTypedData(TypedData &typed, Tensor &tensor,
                   const std::shared_ptr<const void> &owner) {
  auto useFixed = [&](bool present) {
    if (!present)
      return;
    if (typed.fixedInPlace) {
      tensor.data = place(*typed.fixedInPlace, owner);
    } else {
      auto *begin = reinterpret_cast<const std::byte *>(typed.fixed.data());
      tensor.data = ConstantData::own({begin, begin + typed.fixed.size()});
    }
  };
  const std::vector<int64_t> &values = typed.integers;
  switch (tensor.dataType) {
  case kFloat:
    return useFixed(typed.hasFloats);
  case kDouble:
    return useFixed(typed.hasDoubles);
  case kInt32:
    tensor.data = ConstantData::own(narrowAll<int32_t>(values));
    return;
  case kInt16:
  case kUInt16:
  case kFloat16:
  case kBFloat16:
    tensor.data = ConstantData::own(narrowAll<uint16_t>(values));
    return;
  case kInt8:
  case kUInt8:
  case kBool:
    tensor.data = ConstantData::own(narrowAll<uint8_t>(values));
    return;
  case kInt64:
  case kUInt64:
    tensor.data = ConstantData::own(narrowAll<int64_t>(values));
    return;
  case kUInt32:
    tensor.data = ConstantData::own(narrowAll<uint32_t>(values));
    return;
  default:
    return;
  }
}

} // namespace

ConstantData openExternalData(DecodeContext &context,
                              const std::map<std::string, std::string> &entries,
                              std::string &problem) {
  auto entry = [&](const char *key) {
    auto it = entries.find(key);
    return it == entries.end() ? std::string() : it->second;
  };
  std::string location = entry("location");
  if (location.empty()) {
    problem =
        "its data is said to be in another file, but no location is given";
    return {};
  }
  if (context.folder.empty()) {
    problem = "its data is in another file ('" + location +
              "'), which cannot be found for a model that is not a file";
    return {};
  }
  fs::path relative = fs::path(location).lexically_normal();
  if (relative.is_absolute() ||
      (!relative.empty() && *relative.begin() == "..")) {
    problem = "its data is in '" + location +
              "', which is outside of the model's folder";
    return {};
  }
  std::error_code code;
  fs::path folder = fs::canonical(context.folder, code);
  fs::path full = fs::canonical(folder / relative, code);
  if (code) {
    problem =
        "its data is in '" + location + "', which is not beside the model";
    return {};
  }
  fs::path inside = full.lexically_relative(folder); // after all symbolic links
  if (inside.empty() || *inside.begin() == "..") {
    problem = "its data is in '" + location +
              "', a link that leaves the model's folder";
    return {};
  }
  auto [it, isNew] = context.externalFiles.try_emplace(full.string());
  if (isNew) {
    auto file = MappedFile::open(full.string(), "file with the model's data");
    if (file.ok())
      it->second = *file;
    else
      problem = "its data in '" + location +
                "' cannot be used: " + file.error().messages[0].reason;
  }
  if (!it->second) {
    if (problem.empty())
      problem = "its data in '" + location + "' cannot be used";
    return {};
  }
  auto number = [&](const char *key, uint64_t &value) {
    std::string text = entry(key);
    if (text.empty())
      return true;
    auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size())
      return true;
    problem = std::string("the ") + key +
              " of its external data is not a number: '" + text + "'";
    return false;
  };
  uint64_t size = it->second->bytes().size(), offset = 0;
  if (!number("offset", offset))
    return {};
  uint64_t length = offset <= size ? size - offset : 0;
  if (!number("length", length))
    return {};
  if (offset > size || length > size - offset) {
    problem = "its data is bytes " + std::to_string(offset) + " to " +
              std::to_string(offset + length) + " of '" + location +
              "', which has only " + std::to_string(size);
    return {};
  }
  return place(it->second->bytes().subspan(offset, length), it->second);
}

void decodeTensor(Bytes message, Tensor &tensor, DecodeContext &context) {
  WireError &error = context.error;
  WireReader reader(message, error);
  WireField field;
  TypedData typed;
  bool external = false;
  std::map<std::string, std::string> entries;
  while (reader.next(field)) {
    switch (field.number) {
    case 1:
      appendVarints(field, tensor.dims, error);
      break;
    case 2:
      tensor.dataType = static_cast<int32_t>(field.value);
      break;
    case 3:
      tensor.problem = "it is stored in segments, which is not supported";
      break;
    case 4:
      typed.hasFloats = true;
      typed.addFixed(field, 4, error);
      break;
    case 5:
      typed.hasInt32 = true;
      appendVarints(field, typed.integers, error);
      break;
    case 6:
      tensor.strings.push_back(field.asString());
      break;
    case 7:
      typed.hasInt64 = true;
      appendVarints(field, typed.integers, error);
      break;
    case 8:
      tensor.name = field.asString();
      break;
    case 9:
      typed.raw = field.bytes;
      break;
    case 10:
      typed.hasDoubles = true;
      typed.addFixed(field, 8, error);
      break;
    case 11:
      typed.hasUInt64 = true;
      appendVarints(field, typed.integers, error);
      break;
    case 13: {
      WireReader entryReader(field.bytes, error);
      WireField part;
      std::string key, value;
      while (entryReader.next(part))
        (part.number == 1 ? key : value) = part.asString();
      entries[key] = value;
      break;
    }
    case 14:
      external = field.value == 1;
      break;
    default:
      break;
    }
  }
  if (error.failed() || !tensor.problem.empty())
    return;
  std::optional<ElementType> element = elementType(tensor.dataType);
  if (!element) {
    if (tensor.dataType != kString)
      tensor.problem = "its element type " + dataTypeName(tensor.dataType) +
                       " is not supported";
    return;
  }
  if (external) {
    tensor.data = openExternalData(context, entries, tensor.problem);
    if (!tensor.problem.empty())
      return;
  } else if (typed.raw) {
    tensor.data = place(*typed.raw, context.owner);
  } else {
    takeTypedData(typed, tensor, context.owner);
  }
  std::optional<uint64_t> needed = bytesNeeded(tensor.dims, byteSize(*element));
  if (!needed)
    tensor.problem = "its shape " + shapeText(tensor.dims) + " is not possible";
  else if (*needed != tensor.data.bytes)
    tensor.problem = "its shape " + shapeText(tensor.dims) + " of " +
                     dataTypeName(tensor.dataType) + " needs " +
                     std::to_string(*needed) + " bytes, but it has " +
                     std::to_string(tensor.data.bytes);
  else if (*element == ElementType::Bool)
    canonicalizeBools(tensor.data);
}

} // namespace lockstitch::onnx
