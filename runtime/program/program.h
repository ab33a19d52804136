// Program: a compiled model, as the compiler makes it and the runtime executes
// it. One TargetProgram per target over shared constants. It is a plain value:
// the artifact (artifact.h) is its form on disk.
//
// Sizes are Dims. The compiler makes numbers of all of them today; a program
// with open sizes is bound to the shapes of its inputs when it runs (bind.h).
#ifndef LOCKSTITCH_RUNTIME_PROGRAM_PROGRAM_H
#define LOCKSTITCH_RUNTIME_PROGRAM_PROGRAM_H

#include "runtime/program/dim.h"
#include "runtime/program/element_type.h"
#include "runtime/program/library_call.h"
#include "runtime/program/status.h"

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace lockstitch {

/// A check of bytes that is put off until somebody needs them: the checksum of
/// an artifact's section.
class ContentCheck {
public:
  virtual ~ContentCheck();
  /// Thread-safe; the work is done once.
  virtual Status verify() const = 0;
};

/// Bytes that somebody keeps alive: a section of a mapped file, a constant of
/// the mapped model, or memory of our own.
struct Blob {
  std::span<const std::byte> bytes = {};
  std::shared_ptr<const void> owner = {};
  std::shared_ptr<const ContentCheck> check = {};
  /// Takes the bytes; they lie 64-byte aligned, so that a kernel can use them
  /// in place.
  static Blob own(std::vector<std::byte> bytes);
  /// To be called before the bytes are relied upon; Session does so for what it
  /// loads.
  Status verify() const { return check ? check->verify() : Status(); }
};

struct TensorInfo {
  std::string name;
  ElementType type = ElementType::F32;
  Shape shape;
  /// Only where the shape is constant.
  int64_t elements() const;
  int64_t bytes() const;
  std::vector<int64_t> extents() const;
  bool operator==(const TensorInfo &) const = default;
};

/// How a range moves with the trips of an enclosing loop: in trip t it lies
/// `bytes` * t further, or, with a period, `bytes` * ((t + phase) % period).
struct TripStride {
  uint32_t depth = 0; // which loop: 0 is the outermost
  int64_t bytes = 0;  // may be negative
  int64_t phase = 0, period = 0;
  bool operator==(const TripStride &) const = default;
  /// Bytes to add to the offset in trip `trip`.
  int64_t at(int64_t trip) const {
    return bytes * (period ? (trip + phase) % period : trip);
  }
};

/// A range of one of the program's memories. Offsets and sizes in bytes. Arena
/// offsets are multiples of 256.
///
/// The arena holds what one run makes and needs: a step reads only what an
/// earlier step of the same run wrote. The workspace belongs to an execution
/// context, is zero at first and keeps its content from run to run (counters of
/// a grid-wide reduction, for example). What the prologue computes is kept in
/// *computed constants* (see Program::constants).
struct BufferRef {
  enum class Space : uint8_t {
    Input = 0,
    Output = 1,
    Constant = 2,
    Arena = 3,
    Workspace = 4
  };
  Space space = Space::Arena;
  uint32_t index = 0; // of the input, output or constant; else 0
  Dim offset = 0;
  Dim bytes = 0;
  /// In the steps of a loop: one entry per loop that moves it.
  std::vector<TripStride> trips = {};
  bool operator==(const BufferRef &) const = default;
};

/// A buffer argument of a kernel, as launched.
struct KernelArgument {
  ElementType type = ElementType::F32;
  Dim elements = 0;
  bool isOutput = false;
  bool operator==(const KernelArgument &) const = default;
};

/// A distinct kernel of a target: equal code is compiled once and launched from
/// many places.
///
/// Host ABI: extern "C" void symbol(void *const *args, int64_t rowBegin,
/// int64_t rowEnd, void *scratch): executes the rows [rowBegin, rowEnd);
/// `scratch` has `scratchBytes` bytes, 64-byte aligned, private to the call.
/// PTX ABI: .entry symbol with one .u64 global pointer per argument.
struct KernelCode {
  std::string symbol;
  uint64_t hash = 0; // of the stage program and schedule
  std::vector<KernelArgument> arguments;
  Dim rows = 0;
  // host
  int64_t rowsPerTask = 1;
  Dim scratchBytes = 0;
  // PTX
  std::array<Dim, 3> grid{1, 1, 1};
  std::array<int64_t, 3> block{1, 1, 1};
  Dim sharedBytes = 0; // dynamic shared memory
  bool operator==(const KernelCode &) const = default;
};

/// One thing that a run does.
struct Step {
  /// Loop: its steps, in order, as often as it makes trips.
  enum class Kind : uint8_t { Launch = 0, Library = 1, Copy = 2, Loop = 3 };
  Kind kind = Kind::Launch;
  std::string name;
  std::vector<std::string> nodes;   // node IDs that it computes
  std::vector<std::string> schemes; // Launch: packing thread warp block grid
  /// Launch: node ID of `.loc` line i+1 ("" if none).
  std::vector<std::string> lineNodes;
  uint32_t kernel = 0;     // Launch: index into TargetProgram::kernels
  LibraryCall library;     // Library
  int64_t trips = 0;       // Loop: at least 1
  std::vector<Step> steps; // Loop
  /// Launch: one per argument. Library: operands, then the result. Copy: from,
  /// to. Loop: none.
  std::vector<BufferRef> args;
  std::vector<std::string> argNames; // name of the tensor behind each argument
  int64_t bytesRead = 0, bytesWritten = 0; // distinct bytes, the plan's view
  double estimatedMicroseconds = 0;
  double compileCpuMilliseconds = 0; // not part of the artifact
};

/// Calls visit(step, trips) for `steps` and those inside of their loops, in
/// order; `trips`: how often a run executes the step.
template <typename Steps, typename Visit>
void forEachStep(Steps &steps, Visit &&visit, int64_t trips = 1) {
  for (auto &step : steps) {
    visit(step, trips);
    forEachStep(step.steps, visit, trips * step.trips);
  }
}

/// Number of `steps` and of all that is in their loops.
size_t countSteps(const std::vector<Step> &steps);

/// A step and how often a run executes it.
struct CountedStep {
  const Step *step;
  int64_t trips;
};
/// All of them, as forEachStep() goes through them.
std::vector<CountedStep> flatten(const std::vector<Step> &steps);

/// Everything that one target needs.
struct TargetProgram {
  std::string target; // "host", "x86-64-v3", "sm_90", ...
  /// Host targets: the level or CPU name whose features the code uses.
  std::string requiredCpu;
  /// Host targets: CPU flags that must be present, LLVM's names ("avx2").
  std::vector<std::string> requiredFeatures;
  std::vector<KernelCode> kernels;
  /// Run once per loaded program, with an arena of its own; it writes computed
  /// constants.
  std::vector<Step> prologue;
  std::vector<Step> steps;
  /// Where each output of the model is found when it is not Space::Output
  /// itself; may be empty.
  std::vector<BufferRef> outputs;
  Dim arenaBytes = 0;
  Dim workspaceBytes = 0; // of Space::Workspace
  int64_t floorKernels = 0;
  /// Host: a shared object; sm_*: PTX text of all kernels in one module.
  Blob code;
  Blob cubin; // sm_*: assembled code, if an assembler was found
};

struct Program {
  std::string model;
  std::string compilerVersion;
  uint64_t optionsHash = 0, planHash = 0;
  std::string explorer;
  int64_t totalNodes = 0; // nodes in the file but Constants
  /// What the sizes of this program may mention. Constants have constant
  /// shapes.
  SymbolTable symbols;
  std::vector<TensorInfo> inputs, outputs, constantInfos;
  /// Beside constantInfos. A blob without bytes whose info has some is a
  /// *computed constant*: the prologue of each target writes it, once per
  /// loaded program; steps read it like any other.
  std::vector<Blob> constants;
  std::vector<TargetProgram> targets;

  const TargetProgram *find(std::string_view target) const;
};

} // namespace lockstitch

#endif // LOCKSTITCH_RUNTIME_PROGRAM_PROGRAM_H
