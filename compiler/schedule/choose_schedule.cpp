#include "compiler/schedule/choose_schedule.h"

#include "compiler/schedule/candidates.h"
#include "compiler/schedule/stage_walk.h"

#include <cmath>

namespace lockstitch {
namespace {

constexpr double kClearlyBetter = 0.9; // of the rule's estimate
constexpr size_t kRunnersUp = 3;

StageOptions firstOptions(const ScheduleTarget &target) {
  StageOptions options;
  options.loopRows = target.isGpu ? StageOptions::LoopRows::Vector
                                  : StageOptions::LoopRows::Run;
  return options;
}

std::string microseconds(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g us", value);
  return text;
}

/// A candidate with the program it belongs to.
struct Scored {
  size_t variant, order;
  ScheduleCandidate candidate;
};

class Chooser {
public:
  Chooser(const PrimitiveGraph &graph, const KernelSpec &spec,
          const ScheduleTarget &target, const SchedulePin &pin)
      : graph(graph), spec(spec), target(target), pin(pin) {}

  std::variant<ScheduleChoice, Refusal> run() {
    if (auto refusal = buildVariants())
      return *refusal;
    std::vector<Scored> fitting, misfits;
    for (size_t i = 0; i < variants.size(); ++i)
      addCandidates(i, fitting, misfits);
    if (fitting.empty()) {
      refuse({false, "no schedule fits what is asked for"});
      return firstRefusal;
    }
    size_t best = 0;
    const ScheduleCandidate &first = fitting[0].candidate;
    double limit =
        first.score.estimate.microseconds * (first.isRule ? kClearlyBetter : 1);
    for (size_t i = 1; i < fitting.size(); ++i) {
      ScheduleCandidate &other = fitting[i].candidate;
      if (other.score.estimate.microseconds >= limit)
        continue;
      if (std::string more = first.isRule ? whatIsMore(first, other) : "";
          !more.empty()) {
        other.lost = more;
        continue;
      }
      best = i;
      limit = other.score.estimate.microseconds;
    }
    ScheduleChoice choice;
    Scored chosen = std::move(fitting[best]);
    fitting.erase(fitting.begin() + static_cast<std::ptrdiff_t>(best));
    choice.kernel.program = std::move(variants[chosen.variant].program);
    choice.kernel.options = variants[chosen.variant].options;
    choice.kernel.schedule = chosen.candidate.schedule;
    choice.chosen = std::move(chosen.candidate);
    std::sort(fitting.begin(), fitting.end(),
              [](const Scored &a, const Scored &b) {
                double left = a.candidate.score.estimate.microseconds,
                       right = b.candidate.score.estimate.microseconds;
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

  /// The programs that the kernel can be: with tiles and without; a loop kernel with narrower vectors too.
  std::optional<Refusal> buildVariants() {
    StageOptions options = firstOptions(target);
    auto add = [&]() -> std::optional<Refusal> {
      auto built = buildStages(graph, spec, options);
      if (auto *refusal = std::get_if<Refusal>(&built))
        return *refusal;
      variants.push_back({options, std::move(std::get<StageProgram>(built))});
      return std::nullopt;
    };
    if (auto refusal = add())
      return refusal;
    if (!target.isGpu)
      return std::nullopt;
    if (!variants[0].program.tiles.empty()) {
      options.tiles = false;
      (void)add(); // it need not build: then it is no candidate
    } else if (!hasReductions(variants[0].program)) {
      // Narrower vectors are more threads: for outputs that are too small to fill the machine, or on request.
      bool small = variants[0].program.rows < target.multiprocessors * 256;
      for (int64_t bytes : {8, 4}) {
        options.vectorBytes = bytes;
        if (small || pin.vectorWidth)
          (void)add();
      }
    }
    return std::nullopt;
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

  /// What `other` has more of than the rule's schedule, bytes or instructions: then a better estimate is not believed.
  static std::string whatIsMore(const ScheduleCandidate &rule,
                                const ScheduleCandidate &other) {
    std::string times =
        microseconds(other.score.estimate.microseconds) + " to " +
        microseconds(rule.score.estimate.microseconds) + " of the rule's, but ";
    auto bytes = [](const ScheduleCandidate &candidate) {
      return candidate.score.shape.bytesRead +
             candidate.score.shape.bytesWritten;
    };
    if (bytes(other) > bytes(rule))
      return times + "it moves " + std::to_string(bytes(other)) + " bytes to " +
             std::to_string(bytes(rule));
    auto instructions = [](const ScheduleCandidate &candidate) {
      return candidate.score.shape.instructionsPerThread *
             static_cast<double>(candidate.score.shape.blocks *
                                 candidate.score.shape.block.threads);
    };
    double ratio = instructions(other) / instructions(rule);
    if (ratio <= 1)
      return "";
    char text[64];
    std::snprintf(text, sizeof text, "it executes %.2f times its instructions",
                  ratio);
    return times + text;
  }

  static std::string whyLost(const ScheduleCandidate &chosen,
                             const ScheduleCandidate &other) {
    double mine = other.score.estimate.microseconds,
           best = chosen.score.estimate.microseconds;
    if (!std::isfinite(mine))
      return "a multiprocessor holds no block of it";
    std::string times = microseconds(mine) + " to " + microseconds(best);
    if (mine == best)
      return "estimated alike; the first is taken";
    if (mine < best)
      return times + ": less than 10 % below the rule's";
    return times + ", bound by " +
           std::string(name(other.score.estimate.bound));
  }

  const PrimitiveGraph &graph;
  const KernelSpec &spec;
  const ScheduleTarget &target;
  const SchedulePin &pin;
  std::vector<Variant> variants;
  Refusal firstRefusal;
};

/// What a kernel is called and which tensors it is given differs from launch to launch.
StageProgram withoutNames(StageProgram program) {
  program.name.clear();
  for (StageArgument &argument : program.arguments)
    argument.value = kNone;
  return program;
}

uint64_t hashText(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (unsigned char c : text)
    hash = (hash ^ c) * 0x100000001b3ull;
  return hash;
}

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
  return Chooser(graph, spec, target, pin).run();
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
  auto chosen = chooseSchedule(graph, spec, target, pin);
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
