// StageEmitter: writes the stage program of an instance graph, scalar operation by scalar operation, each in the outermost
// place where what it depends on is known, each once per place.
//
//   row values, level >= 1   in the finish block of the stage before      (kept for the rest of the row)
//   row values, level 0      in the body of the stage that needs them; for finish blocks, in the first of those
//   column values            in the body of the stage that needs them     (or a tile, when an earlier stage had them)
//   loop values              in the body of the loop
#ifndef LOCKSTITCH_COMPILER_SCHEDULE_STAGE_EMITTER_H
#define LOCKSTITCH_COMPILER_SCHEDULE_STAGE_EMITTER_H

#include "compiler/schedule/instance_graph.h"

#include <map>

namespace lockstitch {

class StageEmitter {
public:
  StageEmitter(const PrimitiveGraph &graph, const KernelSpec &spec,
               const StageOptions &options, const InstanceGraph &instances);

  /// A value to be written: element-level (in a space of `columns` columns) or row-level.
  struct Output {
    ValueId value;
    InstanceId instance;
    IndexExpr offset;
    bool rowLevel;
    int64_t columns;
  };
  /// Builds everything. `reductions` are the RowResult instances.
  StageProgram run(const std::vector<Output> &outputs,
                   const std::vector<InstanceId> &reductions);
  /// The same for a kernel whose lanes walk along the instance `scan`: one stage, in which every output is stored by each
  /// trip of the loop.
  StageProgram runScan(const std::vector<Output> &outputs, InstanceId scan);

private:
  struct Scope {
    Scope *parent = nullptr;
    StageBlock *block = nullptr;
    unsigned loopDim = 0;  // of a loop's scope, else 0
    bool inFinish = false; // in a finish block, or in a loop there
    std::unordered_map<uint64_t, StageValueId> values;
  };
  struct StageKey {
    int level;
    int64_t columns;
    auto operator<=>(const StageKey &) const = default;
  };

  void planStages(const std::vector<Output> &outputs,
                  const std::vector<InstanceId> &reductions);
  void assignSlots();
  void emitReduction(InstanceId rowResult, unsigned stage);
  StageValueId result(InstanceId id, Scope &scope);
  StageValueId scalar(InstanceId id, ScalarId scalar, Scope &scope);
  StageValueId emitScalar(InstanceId id, ScalarId scalar, Scope &scope);
  StageValueId emitLoad(InstanceId id, Scope &scope);
  StageValueId emitLoop(InstanceId id, Scope &scope);
  StageReduction foldOf(InstanceId id, Scope &inner);
  void store(const Output &output, Scope &scope);
  StageValueId tile(InstanceId id, Scope &scope);
  StageValueId region(const ScalarProgram &program,
                      const std::vector<StageValueId> &arguments, size_t which,
                      StageBlock &block, PrimitiveId origin);
  Scope finishScope(int level);
  Scope &scopeFor(const Dependence &dependence, int level, Scope &scope,
                  Scope &rowStorage);
  IndexExpr bindRuntimes(const IndexExpr &expr, Scope &scope);
  StageValueId append(StageBlock &block, StageOp op);
  uint32_t argument(ValueId value, bool isOutput);
  ScalarId resultScalar(InstanceId id) const;
  uint32_t originOf(PrimitiveId primitive) const {
    return static_cast<uint32_t>(instances.memberPosition(primitive));
  }

  const PrimitiveGraph &graph;
  const KernelSpec &spec;
  const StageOptions &options;
  const InstanceGraph &instances;
  StageProgram program;
  std::vector<StageKey> stageKeys;   // beside program.stages
  std::vector<int> lastStageOfLevel; // index of the last stage of each level
  std::vector<Scope> bodyScopes;     // one per stage
  Scope rowScope;                    // row values defined in finish blocks
  unsigned current = 0;              // stage being written
  std::map<ValueId, uint32_t> inputArguments;
  std::unordered_map<InstanceId, uint32_t> tiles; // instance -> tile
  std::vector<std::pair<int, int>>
      tileLife; // first and last stage of each tile
};

} // namespace lockstitch

#endif // LOCKSTITCH_COMPILER_SCHEDULE_STAGE_EMITTER_H
