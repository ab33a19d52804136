// What surrounds the model `magika` (a file's type from its bytes), as the Python package magika 1.0.3 does it: which bytes of a
// file go into the model, which files are answered without it, and how its scores become an answer. Nothing here knows
// Lockstitch's compiler; magika.cpp joins the two.
#ifndef LOCKSTITCH_TOOLS_EXAMPLES_MAGIKA_FILES_H
#define LOCKSTITCH_TOOLS_EXAMPLES_MAGIKA_FILES_H

#include "runtime/program/status.h"

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace lockstitch::magika {

/// The package's config.min.json, and which types are text from its content_types_kb.min.json.
struct Config {
  int64_t beginSize = 0, endSize = 0; // tokens from the file's begin and end
  int64_t blockSize = 0;              // bytes that are looked at, at either end
  int64_t minFileSize = 0;            // with fewer bytes the model is not asked
  int32_t paddingToken = 0;
  double mediumConfidence = 0;
  std::vector<std::string> labels; // of the model's outputs, in order
  std::map<std::string, double> thresholds;
  std::map<std::string, std::string> overwrite;
  std::set<std::string> textTypes;

  int64_t tokens() const { return beginSize + endSize; }
};

/// Reads both files. Refused when one cannot be read, is not JSON, or lacks an entry.
Result<Config> readConfig(const std::string &configFile,
                          const std::string &typesFile);

/// How sure the model must be before its answer is passed on instead of "txt" or "unknown".
enum class Mode { BestGuess, MediumConfidence, HighConfidence };

struct Answer {
  std::string type;      // the answer
  std::string modelType; // what the model said; "" if it was not asked
  double score = 1;      // of the model's answer, 0 to 1
  std::string
      reason; // why `type` is not `modelType`: "", "overwrite map" or "low confidence"
};

/// Either an answer that needs no model, or the tokens that the model wants.
struct Reading {
  bool needsModel = false;
  Answer answer;               // !needsModel
  std::vector<int32_t> tokens; // needsModel: config.tokens() of them
};

/// Reads what is needed of a file. Refused when there is none, or when it cannot be read. A folder is "directory".
Result<Reading> readFile(const Config &config, const std::string &path);

/// The same for content in memory.
Reading readBytes(const Config &config, std::span<const unsigned char> content);

/// The answer to one row of the model's output, `config.labels.size()` scores.
Answer interpret(const Config &config, std::span<const float> scores,
                 Mode mode);

} // namespace lockstitch::magika

#endif // LOCKSTITCH_TOOLS_EXAMPLES_MAGIKA_FILES_H
