//===- ptxtest.h - PTX programs with the values that they must give -*- C++
//-*-//
//
// A `.ptxtest` file holds cases; docs of the format are in
// tests/simulator/README.md. The reader turns each into a Case, the runner
// launches it on the simulator under several seeds and says what differs.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace lockstitch::ptxtest {

/// An element type of the format: `s32`, `f16`, `pred` ...
struct Type {
  std::string name;
  unsigned bytes = 4;
  enum class Kind { Bits, Signed, Half, BFloat, Float, Double, Predicate };
  Kind kind = Kind::Bits;
};

struct Value {
  uint64_t bits = 0;
  bool any = false;    // `?`: not initialised, or not looked at
  bool anyNaN = false; // `nan`: any NaN will do in an output
};

/// `in %a s32: ...`, `out %d s32: ...`, `arg x f32[64]: ...`, `out x: ...`.
struct Data {
  std::string name;
  Type type;
  uint64_t count = 0; // of `[count]`; 0: a scalar, or as many as the values
  bool isBuffer = false;
  bool readOnly = false;
  uint64_t arenaBytes = 0, arenaOffset = 0; // `arena=1024@256`
  uint32_t ulps = 0;                        // allowed error of an output
  std::vector<Value> values;
  bool fill = false; // a last `...`: the last value repeats
};

struct Expectation {
  enum class How { Always, Sometimes, May };
  How how = How::Always;
  std::string kind; // as in the report
  std::string at;   // part of the PTX line that the finding names
  std::string message, block, thread, tensor, source;
  int64_t offset = -1;
};

struct Case {
  std::string name;
  std::string file;
  uint32_t line = 0;
  std::string rule, from;
  std::string target = "sm_90", version = "8.5";
  std::string module; // module-level declarations
  std::string code;   // a snippet: registers in, registers out ...
  std::string ptx;    // ... or a whole kernel
  std::string kernel; // empty: the only one
  uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  uint32_t shared = 0;
  bool cooperative = false;
  bool assembles = true; // false: `assembler: no`, with a reason in the text
  uint64_t budget = 0;
  uint32_t seeds = 3;
  std::string perturb;
  std::vector<Data> inputs; // or arguments, in order
  std::vector<Data> outputs;
  std::vector<Expectation> findings;
  std::string error, errorAt;
  std::vector<std::pair<std::string, uint64_t>> counters; // `count NAME: N`

  /// The PTX text that is run.
  std::string text() const;
};

/// GoogleTest prints a parameter by this.
inline void PrintTo(const Case &test, std::ostream *out) {
  *out << test.file << ":" << test.line << " " << test.name;
}

/// Reads every `.ptxtest` below \p directory, in order of names. A mistake in
/// a file becomes a case named after it whose error is in \p mistakes.
std::vector<Case> readCases(const std::string &directory,
                            std::vector<std::string> &mistakes);

/// Runs a case; empty when all is as it should be, else what is not.
std::string run(const Case &test);

} // namespace lockstitch::ptxtest
