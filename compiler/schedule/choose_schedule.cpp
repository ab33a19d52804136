#include "compiler/schedule/choose_schedule.h"

#include "compiler/graph/hash.h"
#include "compiler/schedule/candidates.h"
#include "compiler/schedule/stage_walk.h"

#include <cmath>

namespace lockstitch {
namespace {

constexpr double kClearlyBetter = 0.9; // of the rule's estimate
constexpr double kClearlyFewer = 0.8;  // of the rule's instructions
constexpr double kAsFast = 1.01;       // of the rule's estimate
constexpr size_t kRunnersUp = 3;

StageOptions firstOptions(const ScheduleTarget &target) {
  StageOptions options;
  options.loopRows = target.isGpu ? StageOptions::LoopRows::Vector
                                  : StageOptions::LoopRows::Run;
  options.alignment = target.isGpu;
  return options;
}

std::string decimal(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}
std::string microseconds(double value) { return decimal(value) + " us"; }

double timeOf(const ScheduleCandidate &candidate) {
  return candidate.score.estimate.microseconds;
}

int64_t bytesOf(const ScheduleCandidate &candidate) {
  return candidate.score.shape.bytesRead + candidate.score.shape.bytesWritten;
}

/// Of all threads.
double instructionsOf(const ScheduleCandidate &candidate) {
  return candidate.score.shape.instructionsPerThread *
         static_cast<double>(candidate.score.shape.blocks *
                             candidate.score.shape.block.threads);
}

/// A candidate with the program it belongs to.
struct Scored {
  size_t variant, order;
  ScheduleCandidate candidate;
};

class Chooser {
public:
  /// `first`: the kernel's program under firstOptions(target).
  Chooser(const PrimitiveGraph &graph, const KernelSpec &spec,
          const ScheduleTarget &target, const SchedulePin &pin,
          StageProgram first)
      : graph(graph), spec(spec), target(target), pin(pin) {
    variants.push_back({firstOptions(target), std::move(first)});
  }

  std::variant<ScheduleChoice, Refusal> run() {
    addVariants();
    std::vector<Scored> fitting, misfits;
    for (size_t i = 0; i < variants.size(); ++i)
      addCandidates(i, fitting, misfits);
    if (fitting.empty()) {
      refuse({false, "no schedule fits what is asked for"});
      return firstRefusal;
    }
    size_t best = pickBest(fitting);
    ScheduleChoice choice;
    Scored chosen = std::move(fitting[best]);
    fitting.erase(fitting.begin() + static_cast<std::ptrdiff_t>(best));
    choice.kernel.program = std::move(variants[chosen.variant].program);
    choice.kernel.options = variants[chosen.variant].options;
    choice.kernel.schedule = chosen.candidate.schedule;
    choice.chosen = std::move(chosen.candidate);
    std::sort(fitting.begin(), fitting.end(),
              [](const Scored &a, const Scored &b) {
                double left = timeOf(a.candidate), right = timeOf(b.candidate);
                return left != right ? left < right : a.order < b.order;
              });
    for (std::vector<Scored> *list : {&fitting, &misfits})
      for (Scored &scored : *list) {
        if (choice.runnersUp.size() == kRunnersUp)
          break;
        if (scored.candidate.lost.empty())
          scored.candidate.lost = whyLost(choice.chosen, scored.candidate);
        choice.runnersUp.push_back(std::move(scored.candidate));
      }
    return choice;
  }

private:
  struct Variant {
    StageOptions options;
    StageProgram program;
  };

  /// What the kernel can be besides: without tiles; a loop kernel with narrower vectors on request. One that does not build is
  /// no candidate.
  void addVariants() {
    if (!target.isGpu)
      return;
    StageOptions options = variants[0].options;
    auto add = [&] {
      auto built = buildStages(graph, spec, options);
      if (auto *program = std::get_if<StageProgram>(&built))
        variants.push_back({options, std::move(*program)});
    };
    if (!variants[0].program.tiles.empty()) {
      options.tiles = false;
      add();
    } else if (!hasReductions(variants[0].program) && pin.vectorWidth) {
      for (int64_t bytes : {8, 4}) {
        options.vectorBytes = bytes;
        add();
      }
    }
  }

  void addCandidates(size_t index, std::vector<Scored> &fitting,
                     std::vector<Scored> &misfits) {
    const Variant &variant = variants[index];
    const StageProgram &program = variant.program;
    bool tilesKept = variant.options.tiles;
    if ((pin.tiles == SchedulePin::Tiles::Kept && !tilesKept) ||
        (pin.tiles == SchedulePin::Tiles::Recomputed && tilesKept &&
         !program.tiles.empty()))
      return;
    bool isLoop = target.isGpu && !hasReductions(program);
    if (isLoop && pin.vectorWidth && pin.vectorWidth != longestStage(program)) {
      refuse({false, "vectors of " + std::to_string(pin.vectorWidth) +
                         " elements do not suit its outputs (16, 8 or 4 bytes "
                         "that divide their elements do)"});
      return;
    }
    ScheduleScorer scorer(program, target);
    KernelSchedule rule = ruleSchedule(program, target);
    for (KernelSchedule &schedule : candidateSchedules(program, target, pin)) {
      if (isLoop && (pin.threadsPerRow > 1))
        schedule.threadsPerRow = pin.threadsPerRow;
      ScheduleCandidate candidate;
      candidate.tilesKept = tilesKept;
      candidate.isRule = schedule == rule && variant.options.vectorBytes ==
                                                 StageOptions().vectorBytes;
      candidate.schedule = std::move(schedule);
      if (auto refusal = checkSchedule(program, target, candidate.schedule)) {
        candidate.lost = "does not fit: " + refusal->reason;
        misfits.push_back({index, misfits.size(), std::move(candidate)});
        refuse(std::move(*refusal));
        continue;
      }
      candidate.score = scorer.score(candidate.schedule);
      fitting.push_back({index, fitting.size(), std::move(candidate)});
    }
  }

  void refuse(Refusal refusal) {
    if (firstRefusal.reason.empty())
      firstRefusal = std::move(refusal);
  }

  /// The position of the best. Marks why faster ones are not believed.
  static size_t pickBest(std::vector<Scored> &fitting) {
    const ScheduleCandidate &first = fitting[0].candidate;
    double rule = timeOf(first);
    // Times are compared in steps of 5 %; then instructions count.
    auto rank = [&](const ScheduleCandidate &candidate) {
      return std::pair{std::isfinite(rule) && rule > 0
                           ? std::round(timeOf(candidate) / (0.05 * rule))
                           : timeOf(candidate),
                       instructionsOf(candidate)};
    };
    size_t best = 0;
    for (size_t i = 1; i < fitting.size(); ++i) {
      ScheduleCandidate &other = fitting[i].candidate;
      if (first.isRule && std::isfinite(rule)) {
        bool faster = timeOf(other) <= rule * kClearlyBetter,
             fewer =
                 timeOf(other) <= rule * kAsFast &&
                 instructionsOf(other) <= instructionsOf(first) * kClearlyFewer;
        if (!faster && !fewer)
          continue;
        other.lost = whatIsMore(first, other);
        if (!other.lost.empty())
          continue;
      }
      if (rank(other) < rank(fitting[best].candidate))
        best = i;
    }
    return best;
  }

  /// What `other` has more of than the rule's schedule, bytes, instructions or idle multiprocessors: then a better estimate is not
  /// believed.
  static std::string whatIsMore(const ScheduleCandidate &rule,
                                const ScheduleCandidate &other) {
    std::string times = microseconds(timeOf(other)) + " to " +
                        microseconds(timeOf(rule)) + " of the rule's, but ";
    if (bytesOf(other) > bytesOf(rule))
      return times + "it moves " + std::to_string(bytesOf(other)) +
             " bytes to " + std::to_string(bytesOf(rule));
    if (int64_t busy = other.score.estimate.smsBusy,
        before = rule.score.estimate.smsBusy;
        busy < before)
      return times + "it keeps " + std::to_string(busy) +
             " multiprocessors busy instead of " + std::to_string(before);
    double ratio = instructionsOf(other) / instructionsOf(rule);
    return ratio <= 1 ? ""
                      : times + "it executes " + decimal(ratio) +
                            " times its instructions";
  }

  static std::string whyLost(const ScheduleCandidate &chosen,
                             const ScheduleCandidate &other) {
    if (!std::isfinite(timeOf(other)))
      return "a multiprocessor holds no block of it";
    double ratio = instructionsOf(other) / instructionsOf(chosen);
    std::string times = microseconds(timeOf(other)) + " to " +
                        microseconds(timeOf(chosen)) + ", bound by " +
                        std::string(name(other.score.estimate.bound));
    if (ratio == 1)
      return timeOf(other) == timeOf(chosen)
                 ? "estimated alike; the first is taken"
                 : times;
    return times + "; " + decimal(ratio) + " times the instructions";
  }

  const PrimitiveGraph &graph;
  const KernelSpec &spec;
  const ScheduleTarget &target;
  const SchedulePin &pin;
  std::vector<Variant> variants;
  Refusal firstRefusal;
};

} // namespace

std::variant<ScheduledKernel, Refusal>
scheduleKernel(const PrimitiveGraph &graph, const KernelSpec &spec,
               const ScheduleTarget &target) {
  StageOptions options = firstOptions(target);
  Refusal first;
  for (bool tiles : {true, false}) {
    options.tiles = tiles;
    auto built = buildStages(graph, spec, options);
    if (auto *refusal = std::get_if<Refusal>(&built))
      return *refusal;
    StageProgram &program = std::get<StageProgram>(built);
    KernelSchedule schedule = ruleSchedule(program, target);
    auto refusal = checkSchedule(program, target, schedule);
    if (!refusal)
      return ScheduledKernel{std::move(program), std::move(schedule), options};
    first = std::move(*refusal);
    if (program.tiles.empty())
      break;
  }
  return first;
}

std::variant<ScheduleChoice, Refusal>
chooseSchedule(const PrimitiveGraph &graph, const KernelSpec &spec,
               const ScheduleTarget &target, const SchedulePin &pin) {
  auto built = buildStages(graph, spec, firstOptions(target));
  if (auto *refusal = std::get_if<Refusal>(&built))
    return *refusal;
  return Chooser(graph, spec, target, pin,
                 std::move(std::get<StageProgram>(built)))
      .run();
}

std::variant<ScheduleChoice, Refusal>
ScheduleMemory::choose(const KernelSpec &spec, const SchedulePin &pin) {
  StageOptions options = firstOptions(target);
  auto built = buildStages(graph, spec, options);
  if (auto *refusal = std::get_if<Refusal>(&built))
    return *refusal;
  StageProgram &program = std::get<StageProgram>(built);
  StageProgram first = withoutNames(program);
  uint64_t hash = hashText(toString(first));
  auto [from, to] = known.equal_range(hash);
  for (auto at = from; at != to; ++at) {
    if (!(at->second.pin == pin) || !(at->second.first == first))
      continue;
    ScheduleChoice choice = at->second.choice;
    if (choice.kernel.options == options) {
      choice.kernel.program = std::move(program);
      return choice;
    }
    auto again = buildStages(graph, spec, choice.kernel.options);
    if (auto *refusal = std::get_if<Refusal>(&again))
      return *refusal;
    choice.kernel.program = std::move(std::get<StageProgram>(again));
    return choice;
  }
  auto chosen = Chooser(graph, spec, target, pin, std::move(program)).run();
  if (auto *choice = std::get_if<ScheduleChoice>(&chosen))
    known.emplace(hash, Entry{std::move(first), pin, *choice});
  return chosen;
}

std::vector<std::string> schemesOf(const StageProgram &program,
                                   const KernelSchedule &schedule) {
  if (!hasReductions(program) || schedule.threadsPerRow == 1)
    return {"thread"};
  if (schedule.threadsPerRow <= 32)
    return {"thread", "warp"};
  return {"thread", "block"};
}

} // namespace lockstitch
