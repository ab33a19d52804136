// Running a program: the library's public face for whoever embeds it.
//
//   auto program = readArtifact("model.lsp");
//   SessionOptions options{.device = DeviceKind::Host, .threads = 2};
//   auto session = Session::create(*program, options);
//   auto context = (*session)->createContext();
//   (*context)->run(inputs, outputs);
//
// A Session is immutable once made and may be shared by any number of threads;
// each thread (or each request in flight) has an ExecutionContext of its own:
// an arena and a workspace. The names, types and shapes that a program takes
// are Program::inputs and Program::outputs.
#ifndef LOCKSTITCH_RUNTIME_SESSION_SESSION_H
#define LOCKSTITCH_RUNTIME_SESSION_SESSION_H

#include "runtime/device/device.h"
#include "runtime/program/program.h"
#include "runtime/program/status.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace lockstitch {

/// A dense row-major tensor of the caller's, in host memory. `data` needs no
/// alignment (an input that is not 64-byte aligned is copied first, an output
/// written through a copy: aligned ones are faster) and may be null when there
/// are no elements.
struct TensorView {
  ElementType type = ElementType::F32;
  std::vector<int64_t> shape;
  const void *data = nullptr;
};

struct MutableTensorView {
  ElementType type = ElementType::F32;
  std::vector<int64_t> shape;
  void *data = nullptr;
};

struct SessionOptions {
  DeviceKind device = DeviceKind::Auto;
  /// Which of the program's targets; empty: the best that the device takes
  /// (host, then the highest CPU level; sm_90 or else the first sm_* on the
  /// simulator).
  std::string target = {};
  int threads = 0;                           // as DeviceOptions
  int64_t memoryCap = 0;                     // as DeviceOptions
  std::shared_ptr<Allocator> allocator = {}; // as DeviceOptions
  std::string objectFolder = {};             // as DeviceOptions
  uint64_t seed = 0;                         // as DeviceOptions
  int ordinal = 0;                           // as DeviceOptions
};

struct RunOptions {
  Stream stream = {};
  /// Return when the work is on the stream; ExecutionContext::wait() returns
  /// when the outputs are there. Until then inputs and outputs stay the
  /// caller's to keep. (The host and the simulator are done on return.)
  bool asynchronous = false;
};

class ExecutionContext {
public:
  virtual ~ExecutionContext();
  /// One inference. Inputs and outputs in the order of Program::inputs and
  /// Program::outputs; element types and shapes must be those. Where the program
  /// leaves sizes open, the shapes of the inputs give its symbols values
  /// (bindSymbols); memory of the context grows with the sizes. Outputs must not
  /// overlap inputs or each other. Returns when the outputs are there, unless
  /// the options say asynchronous; then more runs may follow on the stream. Not to
  /// be called from two threads at once on one context. Errors: refused (count,
  /// type, shape, null data; the message has the shapes that the program
  /// takes); device failed.
  virtual Status run(std::span<const TensorView> inputs,
                     std::span<const MutableTensorView> outputs,
                     const RunOptions &options = {}) = 0;
  /// Waits for all runs so far; at once if there was none. Errors of
  /// asynchronous work (device failed) appear here at the latest.
  virtual Status wait() = 0;
  /// Of the last run, once it was waited for; steps beside target().steps.
  virtual const RunStatistics &statistics() const = 0;
};

class Session {
public:
  virtual ~Session();
  /// Loads one target of the program on a device and runs its prologue.
  /// Errors: refused (no target for the device, an object for a CPU that this
  /// is not, a device that is not there: each with the way out), device failed
  /// (memory), internal (a program that contradicts itself).
  static Result<std::shared_ptr<const Session>>
  create(std::shared_ptr<const Program> program, const SessionOptions &options);

  virtual Result<std::unique_ptr<ExecutionContext>> createContext() const = 0;
  virtual const Program &program() const = 0;
  virtual const TargetProgram &target() const = 0;
  virtual DeviceKind device() const = 0;
  virtual std::string description() const = 0;
  /// Of the prologue; beside target().prologue.
  virtual const RunStatistics &prologueStatistics() const = 0;
};

/// "x f32[2x3]"; "x f32[]" for a scalar; an open size by its symbols' numbers
/// (bind.h has the form with names).
std::string describe(const TensorInfo &info);

} // namespace lockstitch

#endif // LOCKSTITCH_RUNTIME_SESSION_SESSION_H
