// The command line as structs: one per verb, and what they share.
#ifndef LOCKSTITCH_TOOLS_LOCKSTITCH_OPTIONS_H
#define LOCKSTITCH_TOOLS_LOCKSTITCH_OPTIONS_H

#include "runtime/program/status.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace lockstitch::tool {

struct CommonOptions {
  std::string logLevel = "warn";
  std::string colour = "auto";
  std::string report; // file; "": none
  bool json = false;
};

/// A model and what fixes its shapes.
struct ModelOptions {
  std::string model;
  std::vector<std::string> inputs; // NAME=FILE
  std::string dataSet;             // folder
  std::vector<std::string> shapes; // NAME=1,3,48
  std::vector<std::string> dims;   // SYMBOL=N
};

struct PlanOptions {
  std::optional<std::string> explorer; // nothing: the default
  std::string plan;                    // file
  std::string libraries = "auto";
  std::vector<std::string> emit;       // STAGE=FILE
};

struct DeviceChoice {
  std::string device = "auto";
  std::optional<std::string> target; // nothing: the device's default
};

struct CheckOptions {
  bool check = false;
  std::optional<double> rtol, atol;
  double atolRms = 0;
};

struct RunVerb {
  CommonOptions common;
  ModelOptions model;
  PlanOptions plan;
  DeviceChoice device;
  CheckOptions check;
  std::optional<uint64_t> random;
  std::string saveOutputs; // folder
  int threads = 0;
  int64_t repeat = 1;
  uint64_t seed = 0;     // of the simulator's order
  int64_t memoryCap = 0; // bytes
};

struct CompileVerb {
  CommonOptions common;
  ModelOptions model;
  PlanOptions plan;
  std::vector<std::string> targets;
  std::string output;
  std::string weights = "embed"; // or "refer"
};

struct InspectVerb {
  CommonOptions common;
  std::string file;
  bool verify = false;
};

struct ExplainVerb {
  CommonOptions common;
  ModelOptions model;
  PlanOptions plan;
  DeviceChoice device;
  std::string node;
  std::vector<std::string> between; // two, or none
};

struct SimulateVerb {
  CommonOptions common;
  std::string file, kernel;
  std::string grid = "1", block = "1"; // X[,Y[,Z]]
  int64_t sharedBytes = 0;
  bool cooperative = false;
  uint64_t seed = 0;
  std::string saveArgs; // folder
  std::vector<std::string> args;
  int threads = 0;
};

/// Text to print on standard output instead of doing anything: --help,
/// --version.
struct HelpText {
  std::string text;
};

using Invocation = std::variant<HelpText, RunVerb, CompileVerb, InspectVerb,
                                ExplainVerb, SimulateVerb>;

/// What the command line asks for. Errors (refused): whatever is wrong with it.
Result<Invocation> parseCommandLine(int argc, const char *const *argv);

/// The file of --report and the mode of --color, looked for without parsing the
/// rest: a wrong command line gets its report too. "" and "auto" where they are
/// not there.
std::string findOption(int argc, const char *const *argv,
                       const std::string &name, const std::string &otherwise);

/// "NAME=VALUE", split at the last '='. Error (refused): there is none, or the
/// name is empty.
Result<std::pair<std::string, std::string>>
splitAtLast(const std::string &text, const std::string &option);

/// "1,3,48" or "" (a scalar). Error (refused): not a list of numbers.
Result<std::vector<int64_t>> parseShape(const std::string &text,
                                        const std::string &where);
Result<int64_t> parseInteger(const std::string &text, const std::string &where);

/// Parsed --shape and --dim. Errors (refused): form, a name that is given
/// twice.
Result<std::map<std::string, std::vector<int64_t>>>
parseShapes(const std::vector<std::string> &texts);
Result<std::map<std::string, int64_t>>
parseDims(const std::vector<std::string> &texts);

/// Parsed --emit, stage -> file. Errors (refused): no such stage, a stage
/// twice, "-" twice.
Result<std::map<std::string, std::string>>
parseEmit(const std::vector<std::string> &texts);
/// Whether a stage goes to standard output, alone.
bool emitsToOutput(const std::map<std::string, std::string> &emit);

/// Parsed X[,Y[,Z]] of positive numbers. Error (refused): anything else.
Result<std::vector<int64_t>> parseExtents(const std::string &text,
                                          const std::string &option);

} // namespace lockstitch::tool

#endif // LOCKSTITCH_TOOLS_LOCKSTITCH_OPTIONS_H
