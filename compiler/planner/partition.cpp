#include "compiler/planner/partition.h"

#include "compiler/graph/loop.h"

#include <algorithm>

namespace lockstitch {

Partition::Partition(const PrimitiveGraph &graph)
    : graph(graph), readers(graph.users()), prologue(constantPrimitives(graph)),
      group(graph.primitives.size()), groups(graph.primitives.size()),
      versions(graph.primitives.size(), 0), rank(graph.primitives.size()),
      visited(graph.primitives.size(), 0) {
  for (PrimitiveId id = 0; id < graph.primitives.size(); ++id) {
    group[id] = id;
    groups[id] = {id};
    // A loop and its results are one step.
    if (graph.primitives[id].kind == Primitive::Kind::Project)
      join(group[graph.values[graph.primitives[id].operands[0]].producer], id);
  }
}

bool Partition::isView(PrimitiveId id) const {
  return storageRoot(graph, graph.primitives[id].result) !=
         graph.primitives[id].result;
}

std::vector<PrimitiveId> Partition::unionOf(GroupId left, GroupId right) const {
  std::vector<PrimitiveId> both;
  std::merge(groups[left].begin(), groups[left].end(), groups[right].begin(),
             groups[right].end(), std::back_inserter(both));
  return both;
}

std::vector<ValueId>
Partition::outputsOf(const std::vector<PrimitiveId> &members) const {
  std::vector<ValueId> outputs;
  for (PrimitiveId member : members) {
    ValueId result = graph.primitives[member].result;
    if (storageRoot(graph, result) == result &&
        isNeededOutside(result, members))
      outputs.push_back(result);
  }
  return outputs;
}

bool Partition::isNeededOutside(ValueId value,
                                const std::vector<PrimitiveId> &members) const {
  if (std::find(graph.outputs.begin(), graph.outputs.end(), value) !=
      graph.outputs.end())
    return true;
  for (PrimitiveId user : readers[value]) {
    if (isView(user)) {
      if (isNeededOutside(graph.primitives[user].result, members))
        return true;
    } else if (!std::binary_search(members.begin(), members.end(), user))
      return true;
  }
  return false;
}

PrimitiveId Partition::pathOutside(GroupId left, GroupId right) {
  rankGroups();
  GroupId from = rank[left] < rank[right] ? left : right,
          to = from == left ? right : left;
  std::vector<GroupId> stack;
  ++visit;
  auto push = [&](GroupId at) {
    for (PrimitiveId member : groups[at])
      for (PrimitiveId user : readers[graph.primitives[member].result]) {
        GroupId next = group[user];
        if (next == at || visited[next] == visit || rank[next] > rank[to])
          continue;
        if (next == to) {
          if (at != from)
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
    GroupId at = stack.back();
    stack.pop_back();
    through = push(at);
  }
  return through;
}

/// Topological order of the groups, smallest first primitive first; made again after a merge.
void Partition::rankGroups() {
  if (!ranksAreStale)
    return;
  ranksAreStale = false;
  std::vector<uint32_t> waiting(groups.size(), 0);
  auto forEachSuccessor = [&](GroupId at, auto visitSuccessor) {
    for (PrimitiveId member : groups[at])
      for (PrimitiveId user : readers[graph.primitives[member].result])
        if (group[user] != at)
          visitSuccessor(group[user]);
  };
  for (GroupId at = 0; at < groups.size(); ++at)
    forEachSuccessor(at, [&](GroupId next) { ++waiting[next]; });
  std::vector<GroupId> ready;
  for (GroupId at = 0; at < groups.size(); ++at)
    if (!waiting[at])
      ready.push_back(at);
  for (uint32_t position = 0; position < ready.size(); ++position) {
    rank[ready[position]] = position;
    forEachSuccessor(ready[position], [&](GroupId next) {
      if (--waiting[next] == 0)
        ready.push_back(next);
    });
  }
}

void Partition::join(GroupId left, GroupId right) {
  std::vector<PrimitiveId> both = unionOf(left, right);
  for (PrimitiveId member : groups[right])
    group[member] = left;
  groups[left] = std::move(both);
  groups[right].clear();
  ++versions[left];
  ranksAreStale = true;
}

} // namespace lockstitch
