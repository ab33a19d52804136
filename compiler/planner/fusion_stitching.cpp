// The explorer of this version is greedy: it starts with every primitive alone and merges along edges, producers before
// consumers, as long as the union is convex, builds as one kernel (schedule/, the full legality check) and pays. Then it
// merges siblings that read one value. It repeats both until nothing changes; the order is that of the graph, so the plan
// is the same on every run. What is left beside a library call goes into its epilogue where it can (absorb_epilogues.h).
//
//   producer --> consumer      saves the launch, the write and the read of the value between them
//   x --> a, x --> b           saves a launch and one read of x
//
// FusionStitching's explorer (top-k candidate patterns per vertex, beam search) takes its place behind the same type.
#include "compiler/planner/absorb_epilogues.h"
#include "compiler/planner/merger.h"

#include <algorithm>

namespace lockstitch {
namespace {

/// A few long rows keep a few blocks busy: work that could spread over the machine must not be pulled in there.
std::optional<Refusal> lossOfParallelism(const PrimitiveGraph &graph,
                                         const Partition &partition,
                                         GroupId left, GroupId right,
                                         const KernelVerdict &verdict) {
  constexpr int64_t fewRows = 32, longRow = 1 << 16;
  if (!verdict.hasReduction || verdict.rows >= fewRows ||
      verdict.longestColumns < longRow)
    return std::nullopt;
  for (GroupId group : {left, right}) {
    bool reduces = false;
    for (PrimitiveId member : partition.members(group))
      reduces |= graph.primitives[member].kind == Primitive::Kind::Reduce;
    if (!reduces)
      return Refusal{true,
                     "its " + std::to_string(verdict.rows) + " rows of " +
                         std::to_string(verdict.longestColumns) +
                         " columns would keep " +
                         std::to_string(verdict.blocks) + " blocks busy",
                     {{Figure::MicrosecondsTogether, verdict.microseconds},
                      {Figure::Blocks, static_cast<double>(verdict.blocks)}}};
  }
  return std::nullopt;
}

/// A scan of a few long lines keeps a few lanes busy: what need not wait for it should not be done there. And along the innermost
/// dimension the lanes of a row fold together, while in a scan each would fold a line alone.
std::optional<Refusal> lossToScan(const PrimitiveGraph &graph,
                                  const Partition &partition, GroupId left,
                                  GroupId right) {
  constexpr int64_t fewLines = 32, longLine = 1 << 12, longFold = 16;
  std::vector<PrimitiveId> members = partition.unionOf(left, right);
  for (PrimitiveId member : members) {
    const Primitive &scan = graph.primitives[member];
    if (scan.kind != Primitive::Kind::Scan)
      continue;
    int64_t trips = scan.domain[scan.along].value(),
            lines = numElements(scan.domain) / std::max<int64_t>(trips, 1);
    bool takesProducer = partition.groupOf(member) == right;
    if (takesProducer && lines < fewLines && trips >= longLine)
      return Refusal{true, "its " + std::to_string(lines) + " lines of " +
                               std::to_string(trips) +
                               " elements keep as many lanes busy"};
    if (scan.along + 1 != scan.domain.size())
      continue;
    for (PrimitiveId other : members) {
      const Primitive &fold = graph.primitives[other];
      int64_t extent = numElements(
          Shape(fold.domain.begin() + fold.resultRank(), fold.domain.end()));
      if (fold.kind == Primitive::Kind::Reduce && extent > longFold)
        return Refusal{true, "a lane of the scan would fold " +
                                 std::to_string(extent) + " elements alone"};
    }
  }
  return std::nullopt;
}

} // namespace

Result<Plan> exploreFusionStitching(const PrimitiveGraph &graph,
                                    const PlannerOptions &options) {
  Merger::Rules rules;
  rules.first = [&](const Partition &partition, GroupId left, GroupId right) {
    return lossToScan(graph, partition, left, right);
  };
  rules.last = [&](const Partition &partition, GroupId left, GroupId right,
                   const KernelVerdict &verdict) {
    return lossOfParallelism(graph, partition, left, right, verdict);
  };
  Merger merger(graph, options, std::move(rules));
  for (bool changed = true; changed;) {
    changed = merger.mergeAlongEdges();
    changed |= merger.mergeSiblings();
  }
  Result<Plan> plan = merger.collect();
  if (plan.ok())
    absorbEpilogues(graph, merger.partition, options.libraries, *plan);
  return plan;
}

} // namespace lockstitch
