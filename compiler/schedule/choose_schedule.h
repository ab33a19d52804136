// Chooses how a kernel runs on a target: vector width, threads per row, rows per block, tiles or recomputation.
//
//   stage programs (tiles kept | recomputed) -> candidates -> resources -> score -> the best
//
// The rule's schedule (candidates.h) comes first. Another takes its place only if it is estimated 10 % faster, or as fast with
// 20 % fewer instructions; and if it has no more of anything, bytes, instructions or idle multiprocessors. Left alone, the cost model, which ranks
// lanes, waves and busy multiprocessors but does not see a dependence, took more threads with less to do each for small kernels,
// which the simulator counts at up to three times the instructions and twice the sectors. Of the best the first in the order
// of the candidates is taken, so the choice is the same on every run.
#ifndef LOCKSTITCH_COMPILER_SCHEDULE_CHOOSE_SCHEDULE_H
#define LOCKSTITCH_COMPILER_SCHEDULE_CHOOSE_SCHEDULE_H

#include "compiler/schedule/build_stages.h"
#include "compiler/schedule/score_schedule.h"

#include <unordered_map>

namespace lockstitch {

/// A schedule that was looked at.
struct ScheduleCandidate {
  KernelSchedule schedule;
  bool tilesKept = true; // else values are computed again in every stage
  bool isRule = false;   // by the rule
  ScheduleScore score;   // of one that fits
  std::string lost;      // why it was not taken; empty for the chosen one
};

/// A kernel as it will be generated.
struct ScheduledKernel {
  StageProgram program;
  KernelSchedule schedule;
  StageOptions options; // of the program
};

/// ... and what else it might have been.
struct ScheduleChoice {
  ScheduledKernel kernel;
  ScheduleCandidate chosen;
  std::vector<ScheduleCandidate> runnersUp; // at most 3, best first
};

/// The stage program and the first schedule that fits: the rule's with tiles, else the rule's without. What the planner asks,
/// hundreds of times. A refusal says which resource is short.
std::variant<ScheduledKernel, Refusal>
scheduleKernel(const PrimitiveGraph &graph, const KernelSpec &spec,
               const ScheduleTarget &target);

/// Enumerates and scores all candidates. `pin`: what a person asks for; refused where that does not fit.
std::variant<ScheduleChoice, Refusal>
chooseSchedule(const PrimitiveGraph &graph, const KernelSpec &spec,
               const ScheduleTarget &target, const SchedulePin &pin = {});

/// chooseSchedule() for the kernels of a plan: equal stage programs get one choice.
class ScheduleMemory {
public:
  ScheduleMemory(const PrimitiveGraph &graph, const ScheduleTarget &target)
      : graph(graph), target(target) {}

  std::variant<ScheduleChoice, Refusal> choose(const KernelSpec &spec,
                                               const SchedulePin &pin);
  size_t numDistinct() const { return known.size(); }

private:
  struct Entry {
    StageProgram first; // by the rule, without names and values
    SchedulePin pin;
    ScheduleChoice choice;
  };
  const PrimitiveGraph &graph;
  const ScheduleTarget &target;
  std::unordered_multimap<uint64_t, Entry> known;
};

/// The composition schemes of a kernel as the paper names them: "thread" (values stay in one lane), "warp" (rows
/// within a warp), "block" (rows across a block).
std::vector<std::string> schemesOf(const StageProgram &program,
                                   const KernelSchedule &schedule);

} // namespace lockstitch

#endif // LOCKSTITCH_COMPILER_SCHEDULE_CHOOSE_SCHEDULE_H
