// LevelBuilder: the buffers and steps of one graph: the model's, or the body of a loop.
#ifndef LOCKSTITCH_COMPILER_DRIVER_LEVEL_BUILDER_H
#define LOCKSTITCH_COMPILER_DRIVER_LEVEL_BUILDER_H

#include "compiler/driver/program_builder.h"
#include "runtime/program/arena_plan.h"

#include <set>
#include <unordered_map>

namespace lockstitch {

class LevelBuilder {
public:
  /// `cursor`: the first of `launches` that belongs to this level; moved behind its last.
  LevelBuilder(ProgramBuilder &builder, const PrimitiveGraph &graph,
               const std::vector<PlanStep> &steps,
               const std::vector<PlannedLaunch> &launches, size_t &cursor,
               uint32_t depth);

  /// Gives a value of the graph, a storage root, a place outside of this level's part of the arena. Before measure().
  void setPlace(ValueId root, BufferRef place);
  /// Keeps a value until the last step of this level.
  void keep(ValueId root) { kept.insert(root); }
  bool isMadeHere(ValueId root) const { return firstStep.count(root); }
  /// Is it a result of a loop that has to lie in the arena, beside what the trips before it made?
  bool liesInSlots(ValueId root) const { return slotted.count(root); }

  /// Plans this level's part of the arena, which arenaBytes() is the size of.
  Status measure();
  int64_t arenaBytes() const { return arena.totalBytes; }
  /// Appends the steps of this level; its part of the arena begins at `base`. Those that run once go to `prologue`.
  void emit(int64_t base, std::vector<Step> &to, std::vector<Step> &prologue);
  /// After emit().
  BufferRef buffer(ValueId root);
  std::string nameOf(ValueId value) const;

private:
  /// A loop of this level, while it is built.
  struct LoopState;

  void measureLoop(LoopState &loop);
  void emitLoop(LoopState &loop, int64_t base, std::vector<Step> &to,
                std::vector<Step> &prologue);
  Step makeStep(size_t index);
  std::vector<std::string>
  nodesOf(const std::vector<PrimitiveId> &members) const;

  ProgramBuilder &builder;
  const PrimitiveGraph &graph;
  const std::vector<PlanStep> &steps;
  const uint32_t depth;                         // loops around this level
  std::unordered_map<ValueId, BufferRef> place; // by storage root
  std::set<ValueId> kept, slotted;
  std::unordered_map<ValueId, int64_t> firstStep,
      lastStep; // of storage roots, counted without the prologue
  std::vector<std::vector<ValueId>> arguments;    // of every step, as roots
  std::vector<const PlannedLaunch *> launchOf;    // of every step
  std::vector<LibraryCall> callOf;                // of every step
  Status problem;                                 // found by the constructor
  std::vector<std::shared_ptr<LoopState>> loopOf; // of every step
  std::vector<int64_t> position; // of every step, without the prologue
  std::vector<LiveInterval> intervals;
  std::vector<ValueId> inArena; // beside intervals; kNone: of a loop
  ArenaPlan arena;
};

} // namespace lockstitch

#endif // LOCKSTITCH_COMPILER_DRIVER_LEVEL_BUILDER_H
