// Partition: which primitives are together so far, and whether two groups may be joined without a cycle.
//
// Groups are ranked in a topological order of the *groups*: a path only ever goes to higher ranks. (The order of the primitives
// says nothing here: a group may hold an early and a late one.)
#ifndef LOCKSTITCH_COMPILER_PLANNER_PARTITION_H
#define LOCKSTITCH_COMPILER_PLANNER_PARTITION_H

#include "compiler/planner/plan.h"

namespace lockstitch {

using GroupId = uint32_t;

class Partition {
public:
  /// Every primitive of `graph` alone, but a loop with its results.
  explicit Partition(const PrimitiveGraph &graph);

  GroupId groupOf(PrimitiveId id) const { return group[id]; }
  /// In ascending order; empty for a group that was joined to another.
  const std::vector<PrimitiveId> &members(GroupId id) const {
    return groups[id];
  }
  size_t numGroups() const { return groups.size(); }
  /// Changes when something is joined to the group.
  uint32_t version(GroupId id) const { return versions[id]; }
  /// Readers of a value, directly.
  const std::vector<PrimitiveId> &users(ValueId value) const {
    return readers[value];
  }
  /// Does it depend on constants only?
  bool isPrologue(PrimitiveId id) const { return prologue[id]; }
  /// Is it a view of its operand: nothing to compute?
  bool isView(PrimitiveId id) const;

  /// The members of both, sorted.
  std::vector<PrimitiveId> unionOf(GroupId left, GroupId right) const;
  /// Does the caller, or anything but `members` (sorted), read `value`, directly or through views?
  bool isNeededOutside(ValueId value,
                       const std::vector<PrimitiveId> &members) const;
  /// The storage roots of `members` (sorted) that anything outside reads, directly or through views.
  std::vector<ValueId> outputsOf(const std::vector<PrimitiveId> &members) const;
  /// A primitive of a third group on a path from one to the other: joined, the two and that group would wait for each other.
  /// kNone: there is none.
  PrimitiveId pathOutside(GroupId left, GroupId right);
  /// Joins `right` to `left`.
  void join(GroupId left, GroupId right);

private:
  void rankGroups();

  const PrimitiveGraph &graph;
  std::vector<std::vector<PrimitiveId>> readers;
  std::vector<bool> prologue;
  std::vector<GroupId> group;
  std::vector<std::vector<PrimitiveId>> groups;
  std::vector<uint32_t> versions, rank, visited; // by group
  uint32_t visit = 0;
  bool ranksAreStale = true;
};

} // namespace lockstitch

#endif // LOCKSTITCH_COMPILER_PLANNER_PARTITION_H
