// The example's reading of files and of scores against what the Python package magika 1.0.3 does (tests/data/magika/make.py).
#include "tools/examples/magika_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>

using namespace lockstitch;
using namespace lockstitch::magika;
using nlohmann::json;

namespace {

const std::string kData = LOCKSTITCH_SOURCE_DIR "/tests/data/magika/";

Config config() {
  Result<Config> config =
      readConfig(kData + "config.min.json", kData + "types.json");
  EXPECT_TRUE(config.ok());
  return *config;
}

json expected() {
  std::ifstream in(kData + "expected.json");
  return json::parse(in);
}

std::vector<unsigned char> fromBase64(const std::string &text) {
  const std::string digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<unsigned char> bytes;
  unsigned bits = 0, count = 0;
  for (char c : text) {
    if (c == '=')
      break;
    bits = bits << 6 | static_cast<unsigned>(digits.find(c));
    if ((count += 6) >= 8)
      bytes.push_back(static_cast<unsigned char>(bits >> (count -= 8)));
  }
  return bytes;
}

/// The tokens that the fixture's begin and end stand for.
std::vector<int32_t> tokensOf(const json &entry, const Config &config) {
  std::vector<unsigned char> begin = fromBase64(entry["begin"]),
                             end = fromBase64(entry["end"]);
  std::vector<int32_t> tokens(begin.begin(), begin.end());
  tokens.resize(config.tokens() - end.size(), config.paddingToken);
  tokens.insert(tokens.end(), end.begin(), end.end());
  return tokens;
}

void expectSame(const Reading &reading, const json &entry,
                const Config &config) {
  SCOPED_TRACE(entry["name"].get<std::string>());
  ASSERT_EQ(reading.needsModel, entry.contains("begin"));
  if (reading.needsModel)
    EXPECT_EQ(reading.tokens, tokensOf(entry, config));
  else
    EXPECT_EQ(reading.answer.type, entry["type"].get<std::string>());
}

class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "magika_test_XXXXXX")
            .string();
    path = mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
  std::string write(const std::string &name,
                    std::span<const unsigned char> content) const {
    std::ofstream(path / name, std::ios::binary)
        .write(reinterpret_cast<const char *>(content.data()), content.size());
    return path / name;
  }
  std::string write(const std::string &name, const std::string &content) const {
    return write(
        name, std::span(reinterpret_cast<const unsigned char *>(content.data()),
                        content.size()));
  }
  std::filesystem::path path;
};

TEST(MagikaFiles, ReadsContentAsThePackageDoes) {
  Config c = config();
  json contents = expected()["contents"];
  ASSERT_GE(contents.size(), 20u);
  for (const json &entry : contents)
    expectSame(readBytes(c, fromBase64(entry["content"])), entry, c);
}

TEST(MagikaFiles, ReadsFilesAsItReadsContent) {
  Config c = config();
  TemporaryFolder folder;
  for (const json &entry : expected()["contents"]) {
    Result<Reading> reading =
        readFile(c, folder.write("file", fromBase64(entry["content"])));
    ASSERT_TRUE(reading.ok());
    expectSame(*reading, entry, c);
  }
}

TEST(MagikaFiles, DecidesAsThePackageDoes) {
  Config c = config();
  std::map<std::string, Mode> modes = {
      {"best_guess", Mode::BestGuess},
      {"medium_confidence", Mode::MediumConfidence},
      {"high_confidence", Mode::HighConfidence}};
  std::map<std::string, std::string> reasons = {
      {"none", ""},
      {"low_confidence", "low confidence"},
      {"overwrite_map", "overwrite map"}};
  json decisions = expected()["decisions"];
  ASSERT_GE(decisions.size(), 200u);
  for (const json &entry : decisions) {
    SCOPED_TRACE(entry.dump());
    std::vector<float> scores(c.labels.size(), 0.0f);
    auto label = std::find(c.labels.begin(), c.labels.end(),
                           entry["label"].get<std::string>());
    ASSERT_NE(label, c.labels.end());
    scores[label - c.labels.begin()] = entry["score"].get<float>();
    Answer answer = interpret(c, scores, modes.at(entry["mode"]));
    EXPECT_EQ(answer.type, entry["type"].get<std::string>());
    EXPECT_EQ(answer.modelType, entry["label"].get<std::string>());
    EXPECT_EQ(answer.score, entry["score"].get<double>());
    EXPECT_EQ(answer.reason, reasons.at(entry["reason"]));
  }
}

TEST(MagikaFiles, FolderAndPipeNeedNoModel) {
  Config c = config();
  TemporaryFolder folder;
  Result<Reading> reading = readFile(c, folder.path);
  ASSERT_TRUE(reading.ok());
  EXPECT_FALSE(reading->needsModel);
  EXPECT_EQ(reading->answer.type, "directory");
  reading = readFile(c, "/dev/null");
  ASSERT_TRUE(reading.ok());
  EXPECT_EQ(reading->answer.type, "unknown");
}

TEST(MagikaFiles, MissingFileIsRefused) {
  Result<Reading> reading = readFile(config(), "/does/not/exist");
  ASSERT_FALSE(reading.ok());
  EXPECT_EQ(reading.error().messages[0].where, "/does/not/exist");
  EXPECT_EQ(reading.error().messages[0].reason, "there is no such file");
}

TEST(MagikaFiles, MissingConfigurationSaysHowToGetIt) {
  Result<Config> result = readConfig("/does/not/exist", kData + "types.json");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().messages[0].reason,
            "cannot be opened: No such file or directory");
  EXPECT_THAT(result.error().messages[0].wayOut,
              testing::HasSubstr("tools/dev demo"));
}

TEST(MagikaFiles, ConfigurationThatIsNotJsonIsRefused) {
  TemporaryFolder folder;
  Result<Config> result =
      readConfig(folder.write("c", std::string("{")), kData + "types.json");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().messages[0].reason, "is not JSON");
}

TEST(MagikaFiles, ConfigurationWithoutAnEntryIsRefused) {
  TemporaryFolder folder;
  Result<Config> result =
      readConfig(folder.write("c", std::string("{\"beg_size\": 1024}")),
                 kData + "types.json");
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().messages[0].reason,
              testing::HasSubstr("end_size"));
}

TEST(MagikaFiles, ConfigurationWithWrongSizesIsRefused) {
  TemporaryFolder folder;
  std::ifstream in(kData + "config.min.json");
  json wrong = json::parse(in);
  wrong["beg_size"] = 4096; // not less than a block
  Result<Config> result =
      readConfig(folder.write("c", wrong.dump()), kData + "types.json");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().messages[0].reason,
            "has sizes that do not fit each other");
}

TEST(MagikaFiles, ConfigurationOfAnotherKindOfModelIsRefused) {
  TemporaryFolder folder;
  std::ifstream in(kData + "config.min.json");
  json other = json::parse(in);
  other["mid_size"] = 512;
  Result<Config> result =
      readConfig(folder.write("c", other.dump()), kData + "types.json");
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().messages[0].reason,
              testing::HasSubstr("from the middle of a file"));
}

} // namespace
