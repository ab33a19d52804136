// Merger: what every explorer does alike. It joins two groups of primitives if nothing speaks against it, remembers why (not),
// and turns the partition that is left into a plan.
#ifndef LOCKSTITCH_COMPILER_PLANNER_MERGER_H
#define LOCKSTITCH_COMPILER_PLANNER_MERGER_H

#include "compiler/planner/explore.h"
#include "compiler/planner/kernel_verdict.h"
#include "compiler/planner/partition.h"

#include <functional>

namespace lockstitch {

class Merger {
public:
  /// What an explorer asks of a merge of two groups besides legality: nothing, or why not. `first` is cheap and comes before
  /// the kernel is built; `last` has the verdict on it. Either may be null.
  struct Rules {
    std::function<std::optional<Refusal>(const Partition &, GroupId, GroupId)>
        first;
    std::function<std::optional<Refusal>(const Partition &, GroupId, GroupId,
                                         const KernelVerdict &)>
        last;
  };

  Merger(const PrimitiveGraph &graph, const PlannerOptions &options,
         Rules rules);

  /// `a` feeds `b`, or both read one value. Was their kernel made one?
  bool tryMerge(PrimitiveId a, PrimitiveId b);
  /// Tries every edge, producers before consumers. Was anything merged?
  bool mergeAlongEdges();
  /// Tries siblings: readers of one value, no constant, that walk through it alike.
  bool mergeSiblings();

  /// Steps and decisions. Error: internal.
  Result<Plan> collect();

  Partition partition;

private:
  bool isViewsOnly(GroupId group) const;
  /// Of a group as it is; nothing for views and library calls.
  const KernelVerdict *verdictOf(GroupId group);
  Figures figuresOf(GroupId left, GroupId right, const Traffic &together);
  bool decide(PrimitiveId a, PrimitiveId b, bool merged, Refusal why);
  void completeFigures(Decision &decision);

  const PrimitiveGraph &graph;
  const PlannerOptions &options;
  const Rules rules;
  KernelVerdicts verdicts;
  struct GroupVerdict {
    uint32_t version;
    KernelVerdict verdict;
  };
  std::unordered_map<GroupId, GroupVerdict> ofGroups;
  std::unordered_map<uint64_t, uint64_t>
      refused; // pair of groups -> their versions then
  std::unordered_map<uint64_t, Decision> decisions;
};

/// The explorers.
Result<Plan> exploreFusionStitching(const PrimitiveGraph &graph,
                                    const PlannerOptions &options);
Result<Plan> exploreXla(const PrimitiveGraph &graph,
                        const PlannerOptions &options);

} // namespace lockstitch

#endif // LOCKSTITCH_COMPILER_PLANNER_MERGER_H
