#include "runtime/session/run_steps.h"
#include "runtime/session/clock.h"

namespace lockstitch {
namespace {

constexpr size_t kMostFindings = 1000; // kept of one step

/// Adds what one trip left behind.
void addTo(StepStatistics &sum, StepStatistics &&one) {
  sum.microseconds += one.microseconds;
  if (one.counters) {
    if (!sum.counters)
      sum.counters.emplace();
    *sum.counters += *one.counters;
  }
  for (Finding &finding : one.findings)
    if (sum.findings.size() < kMostFindings)
      sum.findings.push_back(std::move(finding));
}

/// Executes steps, loops as often as they make trips. `steps` are the loaded
/// program's, which the module knows; `sized` are beside them, of `kernels`,
/// with numbers for sizes.
class StepRunner {
public:
  StepRunner(const std::vector<KernelCode> &kernels, const Bindings &bindings,
             Queue &queue, std::vector<StepStatistics> &statistics)
      : kernels(kernels), bindings(bindings), queue(queue),
        statistics(statistics) {}

  /// The statistics of `steps` begin at `first`.
  Status run(const std::vector<Step> &steps, const std::vector<Step> &sized,
             size_t first) {
    for (size_t i = 0; i < steps.size(); ++i) {
      const Step &step = steps[i];
      StepStatistics one;
      Clock::time_point begin = Clock::now();
      Status status = step.kind == Step::Kind::Loop
                          ? runLoop(step, sized[i], first + 1)
                          : runStep(step, sized[i], one);
      one.microseconds = secondsSince(begin) * 1e6;
      addTo(statistics[first], std::move(one));
      if (!status.ok())
        return status;
      first += 1 + countSteps(step.steps);
    }
    return {};
  }

private:
  Status runLoop(const Step &step, const Step &sized, size_t first) {
    trips.push_back(0);
    while (trips.back() < step.trips) {
      if (Status status = run(step.steps, sized.steps, first); !status.ok())
        return status;
      ++trips.back();
    }
    trips.pop_back();
    return {};
  }

  Status runStep(const Step &step, const Step &sized, StepStatistics &one) {
    args.clear();
    for (const BufferRef &ref : sized.args)
      args.push_back(bindings.resolve(ref, trips));
    switch (step.kind) {
    case Step::Kind::Launch:
      return queue.launch(step, kernels[step.kernel], args, one);
    case Step::Kind::Library:
      return queue.callLibrary(step, args, one);
    default:
      return queue.copy(args[1], args[0], sized.args[0].bytes.value());
    }
  }

  const std::vector<KernelCode> &kernels;
  const Bindings &bindings;
  Queue &queue;
  std::vector<StepStatistics> &statistics;
  std::vector<int64_t> trips;
  std::vector<std::byte *> args;
};

} // namespace

Status runSteps(const std::vector<Step> &steps, const std::vector<Step> &sized,
                const std::vector<KernelCode> &kernels,
                const Bindings &bindings, Queue &queue,
                RunStatistics &statistics) {
  statistics.steps.assign(countSteps(steps), {});
  return StepRunner(kernels, bindings, queue, statistics.steps)
      .run(steps, sized, 0);
}

} // namespace lockstitch
