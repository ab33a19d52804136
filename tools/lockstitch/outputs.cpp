#include "tools/lockstitch/outputs.h"

#include "tools/lockstitch/messages.h"
#include "tools/lockstitch/text.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace lockstitch::tool {
namespace {

constexpr int64_t kShownValues = 4;

std::string valueText(const Array &array, int64_t index) {
  if (isFloat(array.type))
    return number(elementAsDouble(array, index));
  int64_t value = elementAsInteger(array, index);
  return array.type == ElementType::U64
             ? std::to_string(static_cast<uint64_t>(value))
             : std::to_string(value);
}

std::string summary(const Array &array) {
  int64_t n = array.elements(), special = 0;
  if (n == 0)
    return "empty";
  double low = INFINITY, high = -INFINITY, sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    double value = elementAsDouble(array, i);
    if (!std::isfinite(value)) {
      ++special;
      continue;
    }
    low = std::min(low, value);
    high = std::max(high, value);
    sum += value;
  }
  std::string text;
  if (special < n)
    text = "min " + number(low) + " max " + number(high) + " mean " +
           number(sum / static_cast<double>(n - special));
  if (special > 0)
    text += (text.empty() ? "" : " ") + std::to_string(special) + " not finite";
  std::vector<std::string> first;
  for (int64_t i = 0; i < std::min(n, kShownValues); ++i)
    first.push_back(valueText(array, i));
  return text + "  [" + join(first, " ") + (n > kShownValues ? " ...]" : "]");
}

} // namespace

Result<std::vector<Array>> makeOutputs(const std::vector<TensorInfo> &infos) {
  std::vector<Array> outputs;
  for (const TensorInfo &info : infos) {
    Array array{info.type, info.extents(), {}};
    try {
      array.bytes.resize(info.bytes());
    } catch (const std::bad_alloc &) {
      return Error::device("output '" + info.name + "'",
                           "out of memory: " + byteCount(info.bytes()) +
                               " could not be allocated",
                           "free memory, or use a smaller batch");
    }
    outputs.push_back(std::move(array));
  }
  return outputs;
}

std::string summarise(const std::vector<TensorInfo> &infos,
                      const std::vector<Array> &outputs) {
  Table table({"output", "type", "shape", "values"});
  for (size_t i = 0; i < outputs.size(); ++i)
    table.add({infos[i].name, std::string(lockstitch::name(outputs[i].type)),
               "[" + shapeText(outputs[i].shape) + "]", summary(outputs[i])});
  return table.text("");
}

Status saveOutputs(const std::string &folder,
                   const std::vector<TensorInfo> &infos,
                   const std::vector<Array> &outputs) {
  if (Status status = makeFolder(folder, "--save-outputs"); !status.ok())
    return status;
  std::vector<std::string> files;
  for (size_t i = 0; i < outputs.size(); ++i) {
    Result<std::string> file =
        writeArray(folder, std::to_string(i), infos[i].name, outputs[i]);
    if (!file.ok())
      return file.error();
    files.push_back(*file);
  }
  return writeFile((std::filesystem::path(folder) / "outputs.json").string(),
                   outputsJson(infos, files), "--save-outputs");
}

} // namespace lockstitch::tool
