// The explorer of this version is greedy: it starts with every primitive alone and merges along edges, producers before
// consumers, as long as the union is convex, builds as one kernel (schedule/, the full legality check) and pays. Then it
// merges siblings that read one value. It repeats both until nothing changes; the order is that of the graph, so the plan
// is the same on every run. What is left beside a library call goes into its epilogue where it can (absorb_epilogues.h).
//
//   producer --> consumer      saves the launch, the write and the read of the value between them
//   x --> a, x --> b           saves a launch and one read of x
//
// FusionStitching's explorer (top-k candidate patterns per vertex, beam search) takes its place behind the same type.
#include "compiler/planner/explore.h"
#include "compiler/planner/absorb_epilogues.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

namespace lockstitch {
namespace {

using GroupId = uint32_t;

class GreedyExplorer {
public:
  GreedyExplorer(const PrimitiveGraph &graph, const PlannerOptions &options)
      : graph(graph), options(options), users(graph.users()) {}

  Result<Plan> run() {
    findPrologue();
    groupOf.resize(graph.primitives.size());
    groups.resize(graph.primitives.size());
    rank.resize(graph.primitives.size());
    visited.resize(graph.primitives.size(), 0);
    for (PrimitiveId id = 0; id < graph.primitives.size(); ++id) {
      groupOf[id] = id;
      groups[id] = {id};
    }
    if (options.explorer != Explorer::None)
      for (bool changed = true; changed;) {
        changed = mergeAlongEdges();
        changed |= mergeSiblings();
      }
    return collect();
  }

private:
  bool isReshapeOnly(PrimitiveId id) const {
    return storageRoot(graph, graph.primitives[id].result) !=
           graph.primitives[id].result;
  }

  void findPrologue() {
    isPrologue.assign(graph.primitives.size(), false);
    for (PrimitiveId id = 0; id < graph.primitives.size(); ++id) {
      const Primitive &primitive = graph.primitives[id];
      bool constant = true;
      for (ValueId operand : primitive.operands) {
        const Value &value = graph.values[operand];
        constant &=
            value.kind == Value::Kind::Constant ||
            (value.kind == Value::Kind::Result && isPrologue[value.producer]);
      }
      isPrologue[id] = constant;
    }
  }

  bool mergeAlongEdges() {
    bool changed = false;
    for (PrimitiveId consumer = 0; consumer < graph.primitives.size();
         ++consumer)
      for (ValueId operand : graph.primitives[consumer].operands)
        if (PrimitiveId producer = graph.values[operand].producer;
            producer != kNone)
          changed |= tryMerge(producer, consumer);
    return changed;
  }

  bool mergeSiblings() {
    bool changed = false;
    for (ValueId value = 0; value < graph.values.size(); ++value) {
      if (graph.values[value].kind == Value::Kind::Constant)
        continue; // sharing a weight is no reason to wait for each other
      const auto &readers = users[value];
      for (size_t i = 0; i + 1 < readers.size(); ++i)
        for (size_t j = i + 1; j < readers.size() && j < i + 9; ++j)
          if (sameSpace(readers[i], readers[j]))
            changed |= tryMerge(readers[i], readers[j]);
    }
    return changed;
  }

  /// Siblings are merged only where they walk through the shared value alike.
  bool sameSpace(PrimitiveId a, PrimitiveId b) const {
    const Primitive &left = graph.primitives[a], &right = graph.primitives[b];
    return left.kind == right.kind && left.domain == right.domain &&
           left.reducedDims == right.reducedDims;
  }

  bool tryMerge(PrimitiveId a, PrimitiveId b) {
    GroupId left = groupOf[a], right = groupOf[b];
    if (left == right)
      return false;
    const Primitive &from = graph.primitives[a], &to = graph.primitives[b];
    if (from.kind == Primitive::Kind::Library ||
        to.kind == Primitive::Kind::Library)
      return decide(a, b, false, false,
                    "a library call is no part of a kernel");
    if (isPrologue[a] != isPrologue[b])
      return decide(a, b, false, true,
                    "one depends on constants only and runs once");
    if (groups[left].size() + groups[right].size() > options.maxMembers)
      return decide(a, b, false, false,
                    "the kernel would have more than " +
                        std::to_string(options.maxMembers) + " primitives");
    if (std::string path = pathOutside(left, right); !path.empty())
      return decide(a, b, false, false, path);

    uint64_t version =
        static_cast<uint64_t>(versions[left]) << 32 | versions[right];
    uint64_t pair = static_cast<uint64_t>(left) << 32 | right;
    if (auto known = refused.find(pair);
        known != refused.end() && known->second == version)
      return false; // nothing has changed since it was refused
    refused[pair] = version;

    std::vector<PrimitiveId> members;
    std::merge(groups[left].begin(), groups[left].end(), groups[right].begin(),
               groups[right].end(), std::back_inserter(members));
    KernelSpec spec = specOf(members);
    if (spec.outputs.empty()) { // reshapes only
      unite(left, right, std::move(members));
      return decide(a, b, true, false, "views only");
    }
    auto scheduled = scheduleKernel(graph, spec, options.target);
    if (auto *refusal = std::get_if<Refusal>(&scheduled))
      return decide(a, b, false, refusal->byProfit, refusal->reason);
    if (std::string loss = lossOfParallelism(
            left, right, spec, std::get<ScheduledKernel>(scheduled));
        !loss.empty())
      return decide(a, b, false, true, loss);
    unite(left, right, std::move(members));
    return decide(a, b, true, true, savings(a, b));
  }

  std::string savings(PrimitiveId a, PrimitiveId b) const {
    const TensorType &type = graph.type(graph.primitives[a].result);
    for (ValueId operand : graph.primitives[b].operands)
      if (operand == graph.primitives[a].result)
        return "saves a launch and up to " + std::to_string(2 * type.bytes()) +
               " bytes between them";
    return "saves a launch and reading the shared value twice";
  }

  /// A few long rows keep a few blocks busy: work that could spread over the machine must not be pulled in there.
  std::string lossOfParallelism(GroupId left, GroupId right,
                                const KernelSpec &spec,
                                const ScheduledKernel &kernel) const {
    int64_t columns = 1;
    for (const Stage &stage : kernel.program.stages)
      columns = std::max(columns, stage.columns);
    bool hasReduction = false;
    for (const Stage &stage : kernel.program.stages)
      hasReduction |= !stage.reductions.empty();
    if (!hasReduction || kernel.program.rows >= 32 || columns < (1 << 16))
      return "";
    for (GroupId group : {left, right}) {
      bool reduces = false;
      for (PrimitiveId member : groups[group])
        reduces |= graph.primitives[member].kind == Primitive::Kind::Reduce;
      if (!reduces)
        return "its " + std::to_string(kernel.program.rows) + " rows of " +
               std::to_string(columns) + " columns would keep " +
               std::to_string(kernel.schedule.gridX) + " blocks busy";
    }
    return "";
  }

  /// A path from one group to the other through a third would make the kernels wait for each other. Groups are ranked in a
  /// topological order of the *groups*: a path only ever goes to higher ranks. (The order of the primitives says nothing
  /// here: a group may hold an early and a late one.)
  std::string pathOutside(GroupId left, GroupId right) {
    rankGroups();
    GroupId from = rank[left] < rank[right] ? left : right,
            to = from == left ? right : left;
    std::vector<GroupId> stack;
    ++visit;
    auto push = [&](GroupId group) {
      for (PrimitiveId member : groups[group])
        for (PrimitiveId user : users[graph.primitives[member].result]) {
          GroupId next = groupOf[user];
          if (next == group || visited[next] == visit || rank[next] > rank[to])
            continue;
          if (next == to) {
            if (group != from)
              return member;
            continue;
          }
          visited[next] = visit;
          stack.push_back(next);
        }
      return kNone;
    };
    PrimitiveId through = push(from);
    while (through == kNone && !stack.empty()) {
      GroupId group = stack.back();
      stack.pop_back();
      through = push(group);
    }
    if (through == kNone)
      return "";
    return "a path through " + graph.primitives[through].name +
           ", which is in another kernel, would make a cycle";
  }

  /// Topological order of the groups, smallest first primitive first; made again after a merge.
  void rankGroups() {
    if (!ranksAreStale)
      return;
    ranksAreStale = false;
    std::vector<uint32_t> waiting(groups.size(), 0);
    auto forEachSuccessor = [&](GroupId group, auto visitSuccessor) {
      for (PrimitiveId member : groups[group])
        for (PrimitiveId user : users[graph.primitives[member].result])
          if (groupOf[user] != group)
            visitSuccessor(groupOf[user]);
    };
    for (GroupId group = 0; group < groups.size(); ++group)
      forEachSuccessor(group, [&](GroupId next) { ++waiting[next]; });
    std::vector<GroupId> ready;
    for (GroupId group = 0; group < groups.size(); ++group)
      if (!waiting[group])
        ready.push_back(group);
    for (uint32_t position = 0; position < ready.size(); ++position) {
      rank[ready[position]] = position;
      forEachSuccessor(ready[position], [&](GroupId next) {
        if (--waiting[next] == 0)
          ready.push_back(next);
      });
    }
  }

  KernelSpec specOf(const std::vector<PrimitiveId> &members) const {
    KernelSpec spec;
    spec.name = "kernel";
    spec.members = members;
    auto isMember = [&](PrimitiveId id) {
      return std::binary_search(members.begin(), members.end(), id);
    };
    for (PrimitiveId member : members) {
      ValueId result = graph.primitives[member].result;
      if (storageRoot(graph, result) == result &&
          isNeededOutside(result, isMember))
        spec.outputs.push_back(result);
    }
    return spec;
  }

  /// Does anything outside read `value`, directly or through reshapes?
  bool isNeededOutside(ValueId value,
                       const std::function<bool(PrimitiveId)> &isMember) const {
    if (std::find(graph.outputs.begin(), graph.outputs.end(), value) !=
        graph.outputs.end())
      return true;
    for (PrimitiveId user : users[value]) {
      if (!isMember(user) && !isReshapeOnly(user))
        return true;
      if (isReshapeOnly(user) &&
          isNeededOutside(graph.primitives[user].result, isMember))
        return true;
    }
    return false;
  }

  void unite(GroupId left, GroupId right, std::vector<PrimitiveId> members) {
    for (PrimitiveId member : groups[right])
      groupOf[member] = left;
    groups[left] = std::move(members);
    groups[right].clear();
    ++versions[left];
    ranksAreStale = true;
  }

  bool decide(PrimitiveId a, PrimitiveId b, bool merged, bool byProfit,
              std::string reason) {
    decisions[static_cast<uint64_t>(a) << 32 | b] = {a, b, merged, byProfit,
                                                     std::move(reason)};
    return merged;
  }

  Result<Plan> collect() {
    Plan plan;
    for (const auto &members : groups) {
      if (members.empty())
        continue;
      PlanStep step;
      step.members = members;
      bool isLibrary =
          graph.primitives[members[0]].kind == Primitive::Kind::Library;
      step.kind = isLibrary ? PlanStep::Kind::Library : PlanStep::Kind::Kernel;
      step.prologue = isPrologue[members[0]];
      bool viewsOnly =
          std::all_of(members.begin(), members.end(),
                      [&](PrimitiveId id) { return isReshapeOnly(id); });
      if (!viewsOnly)
        plan.steps.push_back(std::move(step));
    }
    if (!orderSteps(graph, plan.steps))
      return Error::internal("planner", "the plan has a cycle");
    findOutputs(graph, plan.steps);
    for (auto &[pair, decision] : decisions)
      plan.decisions.push_back(std::move(decision));
    std::sort(plan.decisions.begin(), plan.decisions.end(),
              [](const Decision &x, const Decision &y) {
                return std::pair{x.b, x.a} < std::pair{y.b, y.a};
              });
    if (options.explorer == Explorer::FusionStitching)
      absorbEpilogues(graph, options.libraries, plan);
    return plan;
  }

  const PrimitiveGraph &graph;
  const PlannerOptions &options;
  std::vector<std::vector<PrimitiveId>> users;
  std::vector<bool> isPrologue;
  std::vector<GroupId> groupOf;
  std::vector<std::vector<PrimitiveId>> groups;
  std::unordered_map<GroupId, uint32_t> versions;
  std::unordered_map<uint64_t, uint64_t>
      refused; // pair of groups -> their versions then
  std::unordered_map<uint64_t, Decision> decisions;
  std::vector<uint32_t> rank, visited; // by group
  uint32_t visit = 0;
  bool ranksAreStale = true;
};

} // namespace

Result<Plan> explore(const PrimitiveGraph &graph,
                     const PlannerOptions &options) {
  return GreedyExplorer(graph, options).run();
}

} // namespace lockstitch
