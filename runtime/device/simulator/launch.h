//===- launch.h - how to launch a kernel, and what comes back ---*- C++ -*-===//
#pragma once

#include "runtime/device/simulator/counters.h"
#include "runtime/device/simulator/diagnostic.h"
#include "runtime/device/simulator/target_limits.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace lockstitch::simulator {

enum class FindingKind : uint8_t {
  OutOfBounds,
  Misaligned,
  Uninitialised,
  Race,
  Barrier,
  Shuffle,
  Deadlock,
  ReadOnly,
  Limit,
  Trap
};
/// The spelling of the report: `out-of-bounds`, `misaligned` ...
const char *name(FindingKind kind);

/// One kind of fault at one PTX line: the first place where it shows (by block
/// and thread, not by time) and how often it does.
struct Finding {
  FindingKind kind = FindingKind::Trap;
  std::string message;
  uint32_t ptxLine = 0;
  std::string sourceFile; // from `.loc`; empty without
  uint32_t sourceLine = 0;
  uint32_t block[3] = {0, 0, 0};
  uint32_t thread[3] = {0, 0, 0};
  uint64_t address = 0;
  int32_t argument = -1; // whose tensor or buffer; -1: not known
  int64_t offset = 0;    // from the start of that tensor or allocation
  std::string tensor;
  uint64_t occurrences = 1;

  std::string toText(const std::string &kernel) const;
};

/// What a kernel's pointer argument points to. Accesses through the argument
/// must stay inside.
struct TensorRange {
  std::string name;
  uint64_t address = 0;
  uint64_t bytes = 0;
  bool readOnly = false;
};

struct Argument {
  std::vector<uint8_t> bytes; // as declared by the kernel
  bool hasTensor = false;
  TensorRange tensor;

  template <class T> static Argument scalar(const T &value) {
    Argument argument;
    argument.bytes.resize(sizeof(T));
    std::memcpy(argument.bytes.data(), &value, sizeof(T));
    return argument;
  }
  static Argument pointer(uint64_t address) { return scalar(address); }
  static Argument buffer(TensorRange range) {
    Argument argument = scalar(range.address);
    argument.hasTensor = true;
    argument.tensor = std::move(range);
    return argument;
  }
};

/// Approximate instructions (ex2.approx and the like) give the correctly
/// rounded value; the other modes move each result within its documented error.
enum class Perturbation : uint8_t { None, Up, Down, Random };

struct LaunchConfig {
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  uint32_t sharedBytes = 0; // dynamic
  bool cooperative = false; // all blocks are resident at once
  /// 0: blocks and warps in ascending order, else a permutation of both.
  uint64_t seed = 0;
  /// Host threads; 0: one per core. Kernels whose blocks may talk to each other
  /// always run on one, so that their results do not vary.
  unsigned threads = 1;
  /// Warp instructions after which one warp counts as hanging.
  uint64_t budget = uint64_t(1) << 28;
  Perturbation perturbation = Perturbation::None;
  /// For counting alone: run only up to this many blocks of each class (first,
  /// inner and last along each axis) and scale the counters. 0: every block.
  uint32_t sampleBlocksPerClass = 0;
  bool checks = true;   // findings; off: only accesses outside are caught
  bool perLine = false; // fill LaunchResult::lines
  const TargetLimits *target = nullptr; // null: of the module's `.target`
  uint32_t registersPerThread = 0;      // 0: estimated from the PTX
};

struct LaunchResult {
  /// Set where the launch could not start: unknown kernel, unsupported
  /// instruction, wrong arguments. Nothing else is filled then.
  Diagnostic error;
  std::vector<Finding> findings; // by line, then kind
  Counters counters;
  std::vector<LineCounters> lines;
  bool sampled = false;
  uint64_t blocksRun = 0;
  /// False where the table of accesses overflowed: races may be missing.
  bool raceCheckComplete = true;
  uint32_t registersPerThread = 0;
  uint32_t sharedBytes = 0; // static and dynamic
  Occupancy occupancy;

  bool ok() const { return !error && findings.empty(); }
};

} // namespace lockstitch::simulator
