// The tokens of a file: its first bytes without leading white space, then its last bytes without trailing white space, each
// padded to its size; the padding of the end stands before it. Only the first and the last block of a file are read.
//
//   begin  b b b b b b b . . .   (1024)        end  . . . b b b b b b b   (1024)         '.' = padding token, 256
#include "tools/examples/magika_files.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace lockstitch::magika {
namespace {

/// What Python's bytes.strip() takes for white space.
bool isSpace(unsigned char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// Is it UTF-8 as Python's strict decoder sees it: no overlong form, no surrogate, nothing cut off?
bool isUtf8(std::span<const unsigned char> text) {
  for (size_t i = 0; i < text.size();) {
    unsigned char lead = text[i];
    size_t more = lead < 0x80   ? 0
                  : lead < 0xc2 ? 4
                  : lead < 0xe0 ? 1
                  : lead < 0xf0 ? 2
                  : lead < 0xf5 ? 3
                                : 4;
    if (more == 4 || i + more >= text.size())
      return false;
    for (size_t k = 1; k <= more; ++k) {
      unsigned char low = 0x80, high = 0xbf;
      if (k ==
          1) { // the first continuation byte excludes overlong forms, surrogates and what is past U+10FFFF
        low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : low;
        high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : high;
      }
      if (text[i + k] < low || text[i + k] > high)
        return false;
    }
    i += more + 1;
  }
  return true;
}

Reading withoutModel(std::string type) {
  Reading reading;
  reading.answer.type = std::move(type);
  return reading;
}

Reading fewBytes(std::span<const unsigned char> content) {
  return withoutModel(isUtf8(content) ? "txt" : "unknown");
}

/// `first` and `last` are the first and the last min(size, config.blockSize) bytes of a file of `size` bytes.
Reading fromBlocks(const Config &config, std::span<const unsigned char> first,
                   std::span<const unsigned char> last, uint64_t size) {
  if (size == 0)
    return withoutModel("empty");
  if (size < static_cast<uint64_t>(config.minFileSize))
    return fewBytes(first);

  Reading reading;
  reading.needsModel = true;
  reading.tokens.assign(config.tokens(), config.paddingToken);
  auto begin = std::find_if_not(first.begin(), first.end(), isSpace);
  auto begins = std::min<int64_t>(config.beginSize, first.end() - begin);
  std::copy_n(begin, begins, reading.tokens.begin());
  auto end = std::find_if_not(last.rbegin(), last.rend(), isSpace).base();
  auto ends = std::min<int64_t>(config.endSize, end - last.begin());
  std::copy_n(end - ends, ends, reading.tokens.end() - ends);

  // White space alone does not say much about a file either.
  if (reading.tokens[config.minFileSize - 1] == config.paddingToken)
    return fewBytes(first);
  return reading;
}

Result<nlohmann::json> readJson(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  if (!in)
    return Error::refused(
        path, std::string("cannot be opened: ") + std::strerror(errno),
        "`tools/dev demo` fetches the model with its configuration");
  nlohmann::json json =
      nlohmann::json::parse(in, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded())
    return Error::refused(path, "is not JSON");
  return json;
}

} // namespace

Result<Config> readConfig(const std::string &configFile,
                          const std::string &typesFile) {
  Result<nlohmann::json> json = readJson(configFile);
  if (!json.ok())
    return json.error();
  Result<nlohmann::json> types = readJson(typesFile);
  if (!types.ok())
    return types.error();

  Config config;
  const std::string *file = &configFile;
  try {
    config.beginSize = json->at("beg_size").get<int64_t>();
    config.endSize = json->at("end_size").get<int64_t>();
    config.blockSize = json->at("block_size").get<int64_t>();
    config.minFileSize = json->at("min_file_size_for_dl").get<int64_t>();
    config.paddingToken = json->at("padding_token").get<int32_t>();
    config.mediumConfidence =
        json->at("medium_confidence_threshold").get<double>();
    config.labels =
        json->at("target_labels_space").get<std::vector<std::string>>();
    config.thresholds =
        json->at("thresholds").get<std::map<std::string, double>>();
    config.overwrite =
        json->at("overwrite_map").get<std::map<std::string, std::string>>();
    if (json->at("mid_size").get<int64_t>() != 0 ||
        json->at("use_inputs_at_offsets").get<bool>())
      return Error::refused(configFile,
                            "wants bytes from the middle of a file, which this "
                            "program does not read",
                            "use the model standard_v3_3 of magika 1.0.3");
    if (config.minFileSize < 1 || config.minFileSize > config.beginSize ||
        config.beginSize >= config.blockSize || config.endSize < 0 ||
        config.endSize >= config.blockSize || config.labels.empty())
      return Error::refused(configFile, "has sizes that do not fit each other");
    file = &typesFile;
    for (const auto &[name, about] : types->items())
      if (about.at("is_text").get<bool>())
        config.textTypes.insert(name);
  } catch (const nlohmann::json::exception &wrong) {
    return Error::refused(*file, wrong.what(), "use the files of magika 1.0.3");
  }
  return config;
}

Reading readBytes(const Config &config,
                  std::span<const unsigned char> content) {
  size_t block = std::min<size_t>(config.blockSize, content.size());
  return fromBlocks(config, content.first(block), content.last(block),
                    content.size());
}

Result<Reading> readFile(const Config &config, const std::string &path) {
  std::error_code error;
  std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found)
    return Error::refused(path, "there is no such file");
  if (std::filesystem::is_directory(status))
    return withoutModel("directory");
  if (std::filesystem::exists(status) &&
      !std::filesystem::is_regular_file(status))
    return withoutModel(
        "unknown"); // a pipe or a device: reading it could take for ever
  std::ifstream in(path, std::ios::binary);
  uint64_t size = in ? std::filesystem::file_size(path, error) : 0;
  if (!in || error)
    return Error::refused(
        path, "cannot be read: " + (error ? error.message()
                                          : std::string(std::strerror(errno))));

  auto read = [&](uint64_t from, uint64_t count) {
    std::vector<unsigned char> bytes(count);
    in.seekg(static_cast<std::streamoff>(from));
    in.read(reinterpret_cast<char *>(bytes.data()),
            static_cast<std::streamsize>(count));
    bytes.resize(in.gcount()); // a file that shrinks meanwhile
    in.clear();
    return bytes;
  };
  uint64_t block = std::min<uint64_t>(config.blockSize, size);
  std::vector<unsigned char> first = read(0, block),
                             last = read(size - block, block);
  return fromBlocks(config, first, last, size);
}

Answer interpret(const Config &config, std::span<const float> scores,
                 Mode mode) {
  size_t best = std::max_element(scores.begin(), scores.end()) - scores.begin();
  Answer answer;
  answer.modelType = answer.type = config.labels[best];
  answer.score = scores[best];
  if (auto it = config.overwrite.find(answer.modelType);
      it != config.overwrite.end() && it->second != answer.modelType) {
    answer.type = it->second;
    answer.reason = "overwrite map";
  }

  if (mode == Mode::BestGuess)
    return answer;
  double needed = config.mediumConfidence;
  auto own = config.thresholds.find(answer.modelType);
  if (mode == Mode::HighConfidence && own != config.thresholds.end())
    needed = own->second;
  if (!(answer.score >= needed)) {
    // That it is text, or that it is not, the model knows even when it is not sure of the type.
    answer.type = config.textTypes.count(answer.type) ? "txt" : "unknown";
    answer.reason = answer.type == answer.modelType ? "" : "low confidence";
  }
  return answer;
}

} // namespace lockstitch::magika
