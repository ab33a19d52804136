// compile(): from a primitive graph to a program. The pipeline as a table of stages is in compile.cpp.
#ifndef LOCKSTITCH_COMPILER_DRIVER_COMPILE_H
#define LOCKSTITCH_COMPILER_DRIVER_COMPILE_H

#include "compiler/driver/schedule_report.h"
#include "compiler/graph/primitive_graph.h"
#include "compiler/planner/plan.h"
#include "runtime/program/program.h"
#include "runtime/program/status.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace lockstitch {

/// The stages whose output can be kept (`--emit`).
///   graph       the primitive graph as imported        primitives  after clean-up: what the planner sees
///   plan        which primitives become one kernel     schedule    the mapping of every kernel
///   stages      the stage program of every kernel      syncs       where its lanes wait for each other, and why
///   llvm        LLVM IR                                ptx         one module (sm_* targets)
///   cubin       assembled (needs ptxas)                object      the shared object (host targets)
inline constexpr const char *kEmitStages[] = {
    "graph", "primitives", "plan", "schedule", "stages",
    "syncs", "llvm",       "ptx",  "cubin",    "object"};

struct CompileOptions {
  /// "host", "x86-64-v2/3/4", "sm_70" ... "sm_120"; one TargetProgram each, in this order.
  std::vector<std::string> targets = {"host"};
  Explorer explorer = Explorer::FusionStitching;
  /// Leave products and convolutions to libraries; else they are kernels of ours, slow ones.
  bool libraryCalls = true;
  /// A plan to follow, as `--emit plan` prints it; empty: the explorer plans.
  std::string plan;
  std::string planFile; // its name, for messages
  /// Stages to keep in Compilation::emitted; of the first target.
  std::set<std::string> emit;
  /// Assemble PTX when ptxas is found (also done when "cubin" is in `emit`).
  bool assemble = true;
  /// Run the verifiers of every stage (tests do).
  bool verify = false;
};

/// What is known of one launch besides the program; entries beside TargetProgram::steps of kind Launch, in order.
struct KernelReport {
  std::string symbol;
  int64_t registers = -1, spillBytes = -1; // -1: not assembled
  double waves = 0, bytesInFlightPerSm = 0;
  int64_t smsBusy = 0;
  double estimatedMicroseconds = 0;
  double compileCpuMilliseconds =
      0; // of the code; 0 where equal code was made before
  ScheduleReport chosen;
  std::vector<ScheduleReport> runnersUp; // at most 3, best first
};

/// A decision of the planner, by names.
struct DecisionReport {
  std::string a, b; // node IDs
  bool merged = false;
  bool byProfit = false;
  std::string reason;
  Figures figures;
};

struct TargetReport {
  std::string target;
  std::vector<KernelReport> kernels;
  std::vector<DecisionReport> decisions;
  std::string
      assembler; // "ptxas 13.0 (path)" or why there is none; "" for host targets
};

/// CPU seconds of this process per stage.
struct CompileSeconds {
  double graph = 0, plan = 0, schedule = 0, codegenPtx = 0, codegenHost = 0,
         link = 0;
};

struct Compilation {
  std::shared_ptr<const Program> program;
  std::vector<TargetReport> targets; // beside program->targets
  CompileSeconds seconds;
  std::map<std::string, std::string> emitted; // stage -> text or bytes
  /// What is special about the way that some nodes are computed: node ID, text.
  std::vector<std::pair<std::string, std::string>> notes;
};

/// Compiles `graph`, which the importer made. Errors: refused (unknown target, a plan that does not fit: the message has the
/// line), internal.
Result<Compilation> compile(PrimitiveGraph graph,
                            const CompileOptions &options);

/// Only the clean-up and the plan, for `explain` and `inspect`: no code is generated.
struct Planned {
  PrimitiveGraph graph; // cleaned up
  Plan plan;
};
Result<Planned> planOnly(PrimitiveGraph graph, const CompileOptions &options);

/// Version of this compiler, part of every artifact.
const char *compilerVersion();

} // namespace lockstitch

#endif // LOCKSTITCH_COMPILER_DRIVER_COMPILE_H
