// InstanceGraph: which values a kernel needs, each *at which map* of the kernel's space (row r, column c, loops).
//
// One primitive may be needed at several maps (an element and its mirrored neighbour, a row and a broadcast): each is an
// instance, made once. The walk starts at the kernel's outputs and at the bodies of its cooperative reductions, composing
// index maps on the way up; it stops at values of other kernels (loads) and at cooperative reductions of the same row.
#ifndef LOCKSTITCH_COMPILER_SCHEDULE_INSTANCE_GRAPH_H
#define LOCKSTITCH_COMPILER_SCHEDULE_INSTANCE_GRAPH_H

#include "compiler/schedule/build_stages.h"

#include <unordered_map>

namespace lockstitch {

using InstanceId = uint32_t;

/// What an instance's value varies with.
struct Dependence {
  bool column = false;
  uint64_t loops = 0; // bit i: loop dimension kFirstLoopDim + i
  Dependence operator|(const Dependence &other) const {
    return {column || other.column, loops | other.loops};
  }
};

struct Instance {
  enum class Kind : uint8_t {
    Load,      // element of another kernel's value, an input or a constant
    Pull,      // a member's body
    RowResult, // a cooperative reduction of this row
    RowBody,   // what a cooperative reduction folds: its body at (row, column)
    Loop,      // a member reduction evaluated in one lane, as a loop
    Scan,      // the member scan at the element that its loop has just folded
  };
  Kind kind = Kind::Load;
  ValueId value = kNone;         // Load: the storage root
  PrimitiveId primitive = kNone; // all but Load
  IndexMap
      map; // kernel space -> the primitive's domain (Loop: with the loop as the reduced dimensions; Scan: as `along`)
  IndexExpr offset;                    // Load: linear element offset
  std::vector<IndexConstraint> guards; // Load
  int64_t columns = 1; // of the space it lives in, if it depends on the column
  Dependence dependence; // of the value (Loop: outside of the loop)
  int level =
      0; // how many cooperative reductions must have ended before it can be computed
  std::vector<int>
      levels; // the same of each operation of the body: an index may be known before other operands are
  std::unordered_map<ScalarId, InstanceId>
      reads; // of the body's Read operations
  std::unordered_map<ScalarId, std::vector<unsigned>>
      runtimes; // of the body's Read operations: global run-time variables
  unsigned loopDim = 0;     // Loop, Scan
  int64_t trips = 0;        // Loop, Scan, RowBody: extent of the reduction
  InstanceId body = kNone;  // RowResult: its RowBody
  bool readsMemory = false; // does computing it take a load?
  bool failed =
      false; // something that it reads can't be had; met again, it is refused again
};

/// A run-time variable of an index: scalar `scalar` of instance `instance`'s body.
struct RuntimeVariable {
  InstanceId instance;
  ScalarId scalar;
  Dependence dependence;
};

class InstanceGraph {
public:
  InstanceGraph(const PrimitiveGraph &graph, const KernelSpec &spec,
                const StageOptions &options, int64_t rows);

  /// Declares `primitive` cooperative: its reduction runs across the columns of a row; row r is element r of its result.
  void makeCooperative(PrimitiveId primitive) { cooperative[primitive] = true; }
  /// Makes the scan that the kernel's lanes walk: row r and column c are the line r*columns + c of `primitive`'s domain, a
  /// loop over the other dimension its elements. kNone as for get().
  InstanceId makeScan(PrimitiveId primitive, int64_t columns);
  bool isCooperative(PrimitiveId primitive) const {
    return cooperative[primitive];
  }
  bool isMember(PrimitiveId primitive) const {
    return primitive != kNone && position[primitive] >= 0;
  }
  int memberPosition(PrimitiveId primitive) const {
    return position[primitive];
  }

  /// The instance of `value` at `map` (kernel space -> coordinates of the value) in a space of `columns` columns; kNone when
  /// it can't be had, with `refusal` set.
  InstanceId get(ValueId value, const IndexMap &map, int64_t columns,
                 int level = 0);
  /// The row-level map of a value: row r is its element r.
  IndexMap rowMap(const Shape &shape) const;
  IndexRanges ranges(int64_t columns) const;

  std::vector<Instance> instances;
  std::vector<RuntimeVariable> runtimeVariables;
  std::vector<int64_t> loopTrips;
  std::vector<double>
      loopExecutions; // of each loop's body, in the whole kernel
  Refusal refusal;
  const int64_t rows;

private:
  InstanceId load(ValueId value, const IndexMap &map, int64_t columns,
                  int level);
  InstanceId reduction(PrimitiveId primitive, const IndexMap &map,
                       int64_t columns, int level);
  InstanceId scanned(PrimitiveId primitive, const IndexMap &map);
  InstanceId add(uint64_t key, Instance instance);
  InstanceId find(uint64_t key, const Instance &like) const;
  bool readOperands(InstanceId id);
  InstanceId known(InstanceId id) {
    return instances[id].failed
               ? refuse(false,
                        "one of its values can't be computed in this space")
               : id;
  }
  Dependence dependenceOf(const IndexExpr &expr) const;
  Dependence dependenceOf(const IndexMap &map) const;
  int levelOf(const IndexExpr &expr) const;
  double evaluationsOf(const Dependence &dependence, int64_t columns) const;
  bool checkRecompute(const Instance &instance, const Primitive &primitive);
  /// `about`: the primitive that `reason` is the predicate of.
  InstanceId refuse(bool byProfit, std::string reason, Figures figures = {},
                    PrimitiveId about = kNone);

  const PrimitiveGraph &graph;
  const KernelSpec &spec;
  const StageOptions &options;
  std::vector<int> position; // of each primitive in the spec; -1
  std::vector<bool> cooperative;
  InstanceId scan = kNone;
  std::unordered_multimap<uint64_t, InstanceId> table;
};

} // namespace lockstitch

#endif // LOCKSTITCH_COMPILER_SCHEDULE_INSTANCE_GRAPH_H
