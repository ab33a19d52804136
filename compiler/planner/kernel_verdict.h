// What one kernel of given primitives would be: whether it can be built, how it would run, what it would cost.
//
// Layers of a model are alike, so verdicts are kept by structure: two sets of primitives whose bodies, shapes and connections
// are equal, whatever they are called and wherever they stand in the graph, get one verdict.
#ifndef LOCKSTITCH_COMPILER_PLANNER_KERNEL_VERDICT_H
#define LOCKSTITCH_COMPILER_PLANNER_KERNEL_VERDICT_H

#include "compiler/planner/traffic.h"
#include "compiler/schedule/choose_schedule.h"

#include <map>
#include <unordered_map>

namespace lockstitch {

struct KernelVerdict {
  std::optional<Refusal> refusal;
  Traffic traffic;
  // Where it can be built:
  double microseconds = 0; // estimated
  int64_t rows = 0, longestColumns = 0, blocks = 0;
  bool hasReduction = false; // across columns
};

class KernelVerdicts {
public:
  KernelVerdicts(const PrimitiveGraph &graph, const ScheduleTarget &target)
      : graph(graph), target(target) {}

  /// Of `members` (sorted), of which others need `outputs`.
  KernelVerdict of(const std::vector<PrimitiveId> &members,
                   const std::vector<ValueId> &outputs);

  /// Distinct kernels looked at, and questions answered from memory.
  size_t numDistinct() const { return known.size(); }
  size_t numRemembered() const { return remembered; }

private:
  using Key = std::vector<uint32_t>;

  Key keyOf(const std::vector<PrimitiveId> &members,
            const std::vector<ValueId> &outputs);
  uint32_t classOf(PrimitiveId id);
  uint32_t classOf(const TensorType &type);
  KernelVerdict judge(const std::vector<PrimitiveId> &members,
                      const std::vector<ValueId> &outputs) const;

  const PrimitiveGraph &graph;
  const ScheduleTarget &target;
  struct Class {
    Primitive primitive;           // without names and connections
    std::vector<TensorType> types; // of its operands, then of its result
  };
  std::vector<uint32_t> classes; // of primitives; kNone: not known yet
  std::vector<Class> distinct;
  std::unordered_multimap<uint64_t, uint32_t> classByHash;
  std::unordered_map<std::string, uint32_t> typeClasses;
  struct Remembered {
    KernelVerdict verdict;
    size_t about = 0; // position of refusal->about in the members, + 1
  };
  std::map<Key, Remembered> known;
  size_t remembered = 0;
};

} // namespace lockstitch

#endif // LOCKSTITCH_COMPILER_PLANNER_KERNEL_VERDICT_H
