// XLA's fusion rules for GPUs, as its open source has them (xla/service/gpu/gpu_fusible.cc, multi_output_fusion.cc), for comparison:
//
//   - Elementwise operations, broadcasts, reshapes, slices, pads, concatenations, transposes and gathers are fused into what reads
//     them.
//   - A reduction ends its fusion. It takes what it reads in; of what reads its result only a chain of elementwise operations on
//     that alone, if nothing else reads it.
//   - Siblings and producer-consumer pairs become one fusion with several outputs if they share a loop: equal shapes, or equal
//     reductions; at most 8 reductions.
//   - At most 96 operands and results. No library call takes an epilogue.
//
// What it leaves out: XLA may put a copy of a cheap producer into each of its consumers; a partition has no copies, so such a
// producer goes into the first consumer that takes it and leaves its value for the others. XLA orders its merges by estimated
// benefit; here they go along the graph, like the other explorer's. And every kernel must be one that our schedule can build.
#include "compiler/planner/merger.h"

#include <algorithm>
#include <set>

namespace lockstitch {
namespace {

constexpr size_t kMaxOperandsAndOutputs = 96, kMaxReductions = 8;

class XlaRules {
public:
  XlaRules(const PrimitiveGraph &graph, const Partition &partition)
      : graph(graph), partition(partition) {}

  std::optional<Refusal> check(GroupId left, GroupId right) const {
    std::vector<PrimitiveId> members = partition.unionOf(left, right);
    std::vector<PrimitiveId> reductions;
    for (PrimitiveId id : members)
      if (graph.primitives[id].kind == Primitive::Kind::Reduce)
        reductions.push_back(id);
    if (reductions.size() > kMaxReductions)
      return Refusal{false, "more than " + std::to_string(kMaxReductions) +
                                " reductions"};
    for (PrimitiveId id : reductions)
      if (auto refusal = checkReduction(id, reductions[0], members))
        return refusal;
    return checkOperands(members);
  }

private:
  bool isMember(const std::vector<PrimitiveId> &members, PrimitiveId id) const {
    return std::binary_search(members.begin(), members.end(), id);
  }

  /// Readers of `value` beyond views.
  void addReaders(ValueId value, std::vector<PrimitiveId> &readers) const {
    for (PrimitiveId user : partition.users(value))
      if (partition.isView(user))
        addReaders(graph.primitives[user].result, readers);
      else
        readers.push_back(user);
  }

  std::optional<Refusal>
  checkReduction(PrimitiveId id, PrimitiveId first,
                 const std::vector<PrimitiveId> &members) const {
    const Primitive &reduction = graph.primitives[id],
                    &other = graph.primitives[first];
    if (reduction.domain != other.domain ||
        reduction.reducedDims != other.reducedDims)
      return Refusal{false, "reductions of different shapes"};
    // Down the chain of what reads the result.
    for (PrimitiveId at = id;;) {
      std::vector<PrimitiveId> readers;
      addReaders(graph.primitives[at].result, readers);
      bool inside =
          std::any_of(readers.begin(), readers.end(), [&](PrimitiveId reader) {
            return isMember(members, reader);
          });
      if (!inside)
        return std::nullopt;
      if (readers.size() > 1)
        return Refusal{false, "a reduction ends its fusion: its result has " +
                                  std::to_string(readers.size()) + " readers"};
      const Primitive &reader = graph.primitives[readers[0]];
      if (reader.kind != Primitive::Kind::Pull || reader.operands.size() != 1 ||
          graph.type(reader.result).elements() !=
              graph.type(reduction.result).elements())
        return Refusal{false, "a reduction ends its fusion"};
      at = readers[0];
    }
  }

  std::optional<Refusal>
  checkOperands(const std::vector<PrimitiveId> &members) const {
    std::set<ValueId> operands;
    for (PrimitiveId id : members)
      for (ValueId operand : graph.primitives[id].operands)
        if (PrimitiveId producer = graph.values[operand].producer;
            producer == kNone || !isMember(members, producer))
          operands.insert(storageRoot(graph, operand));
    size_t count = operands.size() + partition.outputsOf(members).size();
    if (count <= kMaxOperandsAndOutputs)
      return std::nullopt;
    return Refusal{
        false,
        "more than " + std::to_string(kMaxOperandsAndOutputs) +
            " operands and results",
        {{Figure::Operands, static_cast<double>(count)},
         {Figure::OperandsLimit, static_cast<double>(kMaxOperandsAndOutputs)}}};
  }

  const PrimitiveGraph &graph;
  const Partition &partition;
};

} // namespace

Result<Plan> exploreXla(const PrimitiveGraph &graph,
                        const PlannerOptions &options) {
  Merger::Rules rules;
  rules.first = [&](const Partition &partition, GroupId left, GroupId right) {
    return XlaRules(graph, partition).check(left, right);
  };
  Merger merger(graph, options, std::move(rules));
  // Producer-consumer fusion until nothing changes, then fusions with several outputs, as XLA's passes follow each other.
  while (merger.mergeAlongEdges()) {
  }
  while (merger.mergeSiblings()) {
  }
  return merger.collect();
}

} // namespace lockstitch
