// The small languages of option values: NAME=1,2,3 and the like.
#include "compiler/driver/compile.h"
#include "tools/lockstitch/options.h"
#include "tools/lockstitch/text.h"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace lockstitch::tool {
namespace {

std::vector<std::string> splitAtCommas(const std::string &text) {
  std::vector<std::string> parts(1);
  for (char c : text)
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

} // namespace

Result<std::pair<std::string, std::string>>
splitAtLast(const std::string &text, const std::string &option) {
  size_t at = text.rfind('=');
  if (at == std::string::npos || at == 0)
    return Error::refused(option, "'" + text + "' has not the form NAME=VALUE",
                          "see --help for an example");
  return std::pair(text.substr(0, at), text.substr(at + 1));
}

Result<int64_t> parseInteger(const std::string &text,
                             const std::string &where) {
  int64_t value = 0;
  auto [end, code] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || code == std::errc::invalid_argument ||
      end != text.data() + text.size())
    return Error::refused(where, "'" + text + "' is not a whole number", "");
  if (code == std::errc::result_out_of_range)
    return Error::refused(where, "'" + text + "' is too large", "");
  return value;
}

Result<std::vector<int64_t>> parseShape(const std::string &text,
                                        const std::string &where) {
  std::vector<int64_t> shape;
  if (text.empty())
    return shape;
  for (const std::string &part : splitAtCommas(text)) {
    Result<int64_t> extent = parseInteger(part, where);
    if (!extent.ok() || *extent < 0)
      return Error::refused(where, "'" + text + "' is not a shape",
                            "give numbers with commas between: 1,3,48,320");
    shape.push_back(*extent);
  }
  return shape;
}

Result<std::map<std::string, std::vector<int64_t>>>
parseShapes(const std::vector<std::string> &texts) {
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const std::string &text : texts) {
    Result<std::pair<std::string, std::string>> parts =
        splitAtLast(text, "--shape");
    if (!parts.ok())
      return parts.error();
    Result<std::vector<int64_t>> shape =
        parseShape(parts->second, "--shape " + parts->first);
    if (!shape.ok())
      return shape.error();
    if (!shapes.emplace(parts->first, *shape).second)
      return Error::refused("--shape " + parts->first, "is given twice",
                            "give each input's shape once");
  }
  return shapes;
}

Result<std::map<std::string, int64_t>>
parseDims(const std::vector<std::string> &texts) {
  std::map<std::string, int64_t> dims;
  for (const std::string &text : texts) {
    Result<std::pair<std::string, std::string>> parts =
        splitAtLast(text, "--dim");
    if (!parts.ok())
      return parts.error();
    Result<int64_t> value =
        parseInteger(parts->second, "--dim " + parts->first);
    if (!value.ok())
      return value.error();
    if (!dims.emplace(parts->first, *value).second)
      return Error::refused("--dim " + parts->first, "is given twice",
                            "give each dimension once");
  }
  return dims;
}

Result<std::map<std::string, std::string>>
parseEmit(const std::vector<std::string> &texts) {
  std::map<std::string, std::string> emit;
  for (const std::string &text : texts) {
    size_t at = text.find('=');
    std::string stage = text.substr(0, at);
    if (std::find(std::begin(kEmitStages), std::end(kEmitStages), stage) ==
        std::end(kEmitStages))
      return Error::refused("--emit", "there is no stage '" + stage + "'",
                            "stages are: " + join({std::begin(kEmitStages),
                                                   std::end(kEmitStages)}));
    if (at == std::string::npos || at + 1 == text.size())
      return Error::refused("--emit " + stage, "no file is named",
                            "give --emit " + stage + "=FILE, or --emit " +
                                stage + "=- for standard output");
    std::string file = text.substr(at + 1);
    if (file == "-" && emitsToOutput(emit))
      return Error::refused("--emit " + stage,
                            "another stage goes to standard output already",
                            "write one of them to a file");
    if (!emit.emplace(stage, file).second)
      return Error::refused("--emit " + stage, "is given twice",
                            "give each stage once");
  }
  return emit;
}

bool emitsToOutput(const std::map<std::string, std::string> &emit) {
  return std::any_of(emit.begin(), emit.end(),
                     [](const auto &entry) { return entry.second == "-"; });
}

Result<std::vector<int64_t>> parseExtents(const std::string &text,
                                          const std::string &option) {
  std::vector<int64_t> extents;
  for (const std::string &part : splitAtCommas(text)) {
    Result<int64_t> extent = parseInteger(part, option);
    if (!extent.ok() || *extent < 1 || *extent > INT32_MAX)
      return Error::refused(option, "'" + text + "' is not X[,Y[,Z]]",
                            "give one to three numbers from 1 to 2147483647");
    extents.push_back(*extent);
  }
  if (extents.size() > 3)
    return Error::refused(option, "'" + text + "' has more than three numbers",
                          "give X[,Y[,Z]]");
  extents.resize(3, 1);
  return extents;
}

} // namespace lockstitch::tool
