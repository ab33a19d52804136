// The pipeline:
//
//   clean up        once      compiler/graph/passes
//   plan            per target  compiler/planner
//   schedule        per kernel  compiler/schedule
//   code            per distinct kernel  compiler/codegen
//   link, buffers   per target  link_target.cpp, program_builder.cpp
#include "compiler/driver/compile.h"

#include "compiler/driver/code_target.h"
#include "compiler/driver/cpu_timer.h"
#include "compiler/driver/kernel_set.h"
#include "compiler/driver/program_builder.h"
#include "compiler/graph/hash.h"
#include "compiler/graph/loop.h"
#include "compiler/graph/passes/passes.h"
#include "compiler/planner/explore.h"
#include "compiler/schedule/kernel_cost.h"
#include "compiler/schedule/place_syncs.h"

#include <algorithm>

namespace lockstitch {
namespace {

Result<Plan> makePlan(const PrimitiveGraph &graph,
                      const CompileOptions &options,
                      const ScheduleTarget &target, LibraryFamily libraries) {
  if (!options.plan.empty()) {
    Plan plan;
    std::string error;
    if (!parsePlan(options.plan, graph, plan, error))
      return Error::refused(
          options.planFile.empty() ? "plan" : options.planFile, error,
          "compare with the plan that `--emit plan=-` prints for this model");
    return plan;
  }
  PlannerOptions planner;
  planner.explorer = options.explorer;
  planner.target = target;
  planner.libraries = libraries;
  return explore(graph, planner);
}

/// Clean-up, and what no library of every target takes made into reductions: one graph serves all of them.
void prepareGraph(PrimitiveGraph &graph, const CompileOptions &options) {
  cleanUp(graph);
  lowerLibraryCalls(graph, [&](const LibraryCall &call) {
    return options.libraryCalls &&
           std::none_of(options.targets.begin(), options.targets.end(),
                        [&](const std::string &target) {
                          return callRefusal(call, libraryFamilyOf(target));
                        });
  });
}

class Compiler {
public:
  Compiler(PrimitiveGraph graph, const CompileOptions &options)
      : graph(std::move(graph)), options(options) {}

  Result<Compilation> run() {
    if (Status status = cleanGraph(); !status.ok())
      return status.error();
    ProgramBuilder builder(graph);
    builder.program.compilerVersion = compilerVersion();
    builder.program.explorer = name(options.explorer);
    uint64_t optionsHash = hashText(builder.program.explorer);
    for (const std::string &target : options.targets)
      optionsHash = hashText(target, optionsHash);
    if (!options.libraryCalls)
      optionsHash = hashText("no libraries", optionsHash);
    builder.program.optionsHash = optionsHash;
    for (const std::string &name : options.targets) {
      bool first = builder.program.targets.empty();
      if (Status status = compileTarget(name, first, builder); !status.ok())
        return status.error();
    }
    compilation.program = builder.finish();
    return std::move(compilation);
  }

private:
  Status cleanGraph() {
    CpuTimer timer(compilation.seconds.graph);
    if (options.emit.count("graph"))
      compilation.emitted["graph"] = toString(graph);
    prepareGraph(graph, options);
    if (auto problem = graph.verify())
      return Error::internal("graph", *problem);
    for (const Origin &origin : graph.origins)
      if (!origin.note.empty() && origin.fate == Origin::Fate::Primitive)
        compilation.notes.push_back({origin.node, origin.note});
    if (options.emit.count("primitives"))
      compilation.emitted["primitives"] = toString(graph);
    return {};
  }

  Status compileTarget(const std::string &name, bool first,
                       ProgramBuilder &builder) {
    Result<std::unique_ptr<CodeTarget>> code =
        CodeTarget::create(name, options, first);
    if (!code.ok())
      return code.error();
    CodeTarget &target = **code;
    Plan plan;
    {
      CpuTimer timer(compilation.seconds.plan);
      Result<Plan> made = makePlan(graph, options, target.scheduleTarget(),
                                   libraryFamilyOf(name));
      if (!made.ok())
        return made.error();
      plan = std::move(*made);
    }
    std::string planText = toString(graph, plan);
    builder.program.planHash = hashText(planText, builder.program.planHash);
    if (first && options.emit.count("plan"))
      compilation.emitted["plan"] = planText;

    KernelSet kernels;
    std::vector<PlannedLaunch> launches;
    {
      CpuTimer timer(compilation.seconds.schedule);
      if (Status status = scheduleAll(
              graph, plan.steps, target.scheduleTarget(), kernels, launches);
          !status.ok())
        return status;
    }
    if (first)
      emitTexts(kernels, target.scheduleTarget().isGpu);

    TargetProgram program;
    TargetReport report;
    report.target = name;
    if (Status status = target.generate(kernels, program, report, compilation);
        !status.ok())
      return status;
    std::vector<bool> seen(kernels.kernels().size(), false);
    size_t launch = 0;
    reportLaunches(plan.steps, launches, launch, target.kernelReports(), seen,
                   report);
    reportDecisions(graph, plan.steps, plan.decisions, report);
    compilation.targets.push_back(std::move(report));
    if (Status status = builder.addTarget(plan, launches, std::move(program));
        !status.ok())
      return status;
    estimateLaunches(builder.program.targets.back(), compilation.targets.back(),
                     kernels, target.scheduleTarget());
    return {};
  }

  /// Launches of the steps and of the bodies of their loops, in order.
  static void reportLaunches(const std::vector<PlanStep> &steps,
                             const std::vector<PlannedLaunch> &launches,
                             size_t &launch,
                             const std::vector<KernelReport> &known,
                             std::vector<bool> &seen, TargetReport &report) {
    for (const PlanStep &step : steps) {
      reportLaunches(step.body, launches, launch, known, seen, report);
      if (step.kind != PlanStep::Kind::Kernel)
        continue;
      uint32_t kernel = launches[launch++].kernel;
      if (step.prologue)
        continue;
      KernelReport entry = known[kernel];
      if (seen[kernel])
        entry.compileCpuMilliseconds = 0;
      seen[kernel] = true;
      report.kernels.push_back(std::move(entry));
    }
  }

  static void reportDecisions(const PrimitiveGraph &graph,
                              const std::vector<PlanStep> &steps,
                              const std::vector<Decision> &decisions,
                              TargetReport &report) {
    for (const Decision &decision : decisions)
      report.decisions.push_back({nodeOf(graph, decision.a),
                                  nodeOf(graph, decision.b), decision.merged,
                                  decision.byProfit, decision.reason,
                                  decision.figures});
    for (const PlanStep &step : steps)
      if (step.kind == PlanStep::Kind::Loop)
        reportDecisions(graph.primitives[step.members[0]].loop->body, step.body,
                        step.bodyDecisions, report);
  }

  Status scheduleAll(const PrimitiveGraph &graph, std::vector<PlanStep> &steps,
                     const ScheduleTarget &target, KernelSet &kernels,
                     std::vector<PlannedLaunch> &launches) {
    // A step whose outputs are all empty has nothing to do.
    std::erase_if(steps, [&](const PlanStep &step) {
      return step.kind == PlanStep::Kind::Kernel &&
             std::all_of(step.outputs.begin(), step.outputs.end(),
                         [&](ValueId output) {
                           return graph.type(output).elements() == 0;
                         });
    });
    ScheduleMemory memory(graph, target);
    for (PlanStep &step : steps) {
      if (step.kind == PlanStep::Kind::Loop)
        if (Status status =
                scheduleAll(graph.primitives[step.members[0]].loop->body,
                            step.body, target, kernels, launches);
            !status.ok())
          return status;
      if (step.kind != PlanStep::Kind::Kernel)
        continue;
      KernelSpec spec;
      spec.name = "kernel";
      spec.members = step.members;
      for (ValueId output : step.outputs)
        if (graph.type(output).elements() != 0)
          spec.outputs.push_back(output);
      auto scheduled = memory.choose(spec, step.pin);
      if (auto *refusal = std::get_if<Refusal>(&scheduled)) {
        std::string where = nodeOf(graph, step.members.back());
        if (step.pinLine)
          return Error{ErrorKind::Refused,
                       {{where, options.planFile,
                         "line " + std::to_string(step.pinLine) +
                             ": the kernel cannot have this schedule: " +
                             refusal->reason,
                         "compare with what `--emit schedule=-` prints without "
                         "it, or leave the line out"}}};
        if (!options.plan.empty())
          return Error{
              ErrorKind::Refused,
              {{where, options.planFile,
                "this kernel of the plan can't be built: " + refusal->reason,
                "split it"}}};
        return Error{ErrorKind::Internal,
                     {{where, "schedule", refusal->reason, ""}}};
      }
      ScheduleChoice &choice = std::get<ScheduleChoice>(scheduled);
      ScheduledKernel &kernel = choice.kernel;
      if (auto problem = options.verify ? verify(kernel.program) : std::nullopt)
        return Error::internal("stages", *problem);
      PlannedLaunch launch;
      for (const StageArgument &argument : kernel.program.arguments)
        launch.arguments.push_back(argument.value);
      launch.schemes = schemesOf(kernel.program, kernel.schedule);
      launch.kernel =
          kernels.add(std::move(choice), nodeOf(graph, step.members.back()));
      launches.push_back(std::move(launch));
    }
    return {};
  }

  void emitTexts(const KernelSet &kernels, bool isGpu) {
    if (options.emit.count("schedule")) {
      std::string &text = compilation.emitted["schedule"];
      for (const DistinctKernel &kernel : kernels.kernels())
        text += kernel.program.name + ": " + toString(kernel.schedule) + "\n";
    }
    if (options.emit.count("stages")) {
      std::string &text = compilation.emitted["stages"];
      for (const DistinctKernel &kernel : kernels.kernels())
        text += toString(kernel.program);
    }
    if (options.emit.count("syncs")) {
      std::string &text = compilation.emitted["syncs"];
      for (const DistinctKernel &kernel : kernels.kernels())
        text += isGpu
                    ? syncsToString(kernel.program, kernel.schedule,
                                    placeSyncs(kernel.program, kernel.schedule))
                    : "syncs of " + kernel.program.name +
                          ": none, one thread takes a row\n";
    }
  }

  /// What the cost model says of every launch, now that its bytes are known.
  static void estimateLaunches(TargetProgram &target, TargetReport &report,
                               const KernelSet &kernels,
                               const ScheduleTarget &scheduleTarget) {
    const cost::Device &device = deviceOf(scheduleTarget);
    size_t launch = 0;
    forEachStep(target.steps, [&](Step &step, int64_t) {
      if (step.kind != Step::Kind::Launch)
        return;
      KernelReport &entry = report.kernels[launch++];
      step.compileCpuMilliseconds = entry.compileCpuMilliseconds;
      const DistinctKernel &kernel = kernels.kernels()[step.kernel];
      cost::KernelShape shape = launchShape(
          kernel.program, kernel.schedule, scheduleTarget.isGpu, step.bytesRead,
          step.bytesWritten, std::max<int64_t>(entry.registers, 0));
      cost::Estimate estimate = cost::estimate(device, shape);
      entry.estimatedMicroseconds = estimate.microseconds;
      entry.waves = estimate.waves;
      entry.smsBusy = estimate.smsBusy;
      entry.bytesInFlightPerSm =
          static_cast<double>(estimate.bytesInFlightPerSm);
      step.estimatedMicroseconds = estimate.microseconds;
      entry.chosen = describe(kernel.chosen);
      for (const ScheduleCandidate &other : kernel.runnersUp)
        entry.runnersUp.push_back(describe(other));
    });
  }

  static ScheduleReport describe(const ScheduleCandidate &candidate) {
    const cost::Estimate &estimate = candidate.score.estimate;
    const cost::KernelShape &shape = candidate.score.shape;
    return {toString(candidate.schedule) +
                (candidate.tilesKept ? "" : ", tiles recomputed"),
            candidate.isRule,
            estimate.microseconds,
            estimate.memoryMicroseconds,
            estimate.latencyMicroseconds,
            estimate.issueMicroseconds,
            std::string(cost::name(estimate.bound)),
            shape.bytesRead,
            shape.bytesWritten,
            shape.block.registersPerThread,
            shape.instructionsPerThread,
            candidate.lost};
  }

  PrimitiveGraph graph;
  const CompileOptions &options;
  Compilation compilation;
};

} // namespace

Result<Compilation> compile(PrimitiveGraph graph,
                            const CompileOptions &options) {
  return Compiler(std::move(graph), options).run();
}

Result<Planned> planOnly(PrimitiveGraph graph, const CompileOptions &options) {
  prepareGraph(graph, options);
  if (auto problem = graph.verify())
    return Error::internal("graph", *problem);
  std::string name = options.targets.empty() ? "host" : options.targets[0];
  Result<ScheduleTarget> target = scheduleTargetOf(name);
  if (!target.ok())
    return target.error();
  Result<Plan> plan = makePlan(graph, options, *target, libraryFamilyOf(name));
  if (!plan.ok())
    return plan.error();
  return Planned{std::move(graph), std::move(*plan)};
}

const char *compilerVersion() { return "0.1.0"; }

} // namespace lockstitch
