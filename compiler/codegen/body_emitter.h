// BodyEmitter: turns the blocks of a StageProgram into operations, for either
// target and any vector width.
//
// The drivers (gpu_lowering.cpp, host_lowering.cpp) say where the row, the
// columns and the tiles are; the emitter does the rest. Two ideas carry it:
//
//   *Varying or uniform.* With V lanes, a value that is the same in all of them
//   stays a scalar and is spread only where it meets a varying one. Which is
//   which is known before anything is emitted (analyse()).
//
//   *Depth.* Every value has the depth of the scope that defines it: 0 the
//   kernel, then the row loop, the column loop, sequential loops. An operation
//   or a part of an index is emitted in the scope of its deepest operand,
//   before the loop that we are in, and remembered there. So everything that
//   depends on the row alone leaves the loops by construction.
#ifndef LOCKSTITCH_COMPILER_CODEGEN_BODY_EMITTER_H
#define LOCKSTITCH_COMPILER_CODEGEN_BODY_EMITTER_H

#include "compiler/codegen/value_builder.h"
#include "compiler/schedule/stage_program.h"

#include <optional>
#include <unordered_map>

namespace lockstitch::codegen {

/// A value of the kernel as emitted: a scalar, or one vector of lanes.
struct LaneValue {
  Value value;
  ElementType type = ElementType::F32;
  unsigned depth = 0;
};

/// The accumulators of every reduction of a stage.
using Accumulators = llvm::SmallVector<llvm::SmallVector<Value>>;
/// As the operands of a loop or branch, and back.
llvm::SmallVector<Value> flatten(const Accumulators &accumulators);
Accumulators unflatten(const Stage &stage, mlir::ValueRange values);

/// What differs between the places where a body may stand.
class BodyContext {
public:
  virtual ~BodyContext() = default;
  virtual Value loadTile(uint32_t tile) = 0;
  virtual void storeTile(uint32_t tile, Value value) = 0;
  /// Runs `emitStores`, which makes stores to arguments, under whatever
  /// condition they have here.
  virtual void store(llvm::function_ref<void()> emitStores) { emitStores(); }
};

class BodyEmitter {
public:
  /// `indexBits`: 32 or 64, of scalar index arithmetic; every offset fits.
  BodyEmitter(ValueBuilder &v, const StageProgram &program, unsigned indexBits);

  // Set-up by the drivers
  void setArgumentPointers(llvm::ArrayRef<Value> pointers) {
    arguments.assign(pointers.begin(), pointers.end());
  }
  /// From now on a column step covers `width` columns of a stage with `columns`
  /// columns.
  void startColumns(const Stage &stage, unsigned width);
  /// Enters a scope; `region` is the operation in whose region it lies, null if
  /// it is more of the same block.
  void enter(mlir::Operation *region);
  void leave();
  unsigned depth() const { return scopes.size() - 1; }
  /// A dimension is the sum of `parts`, each with the depth where it is known,
  /// and a constant. As a whole it belongs to the scope of `depth`: in an
  /// unrolled loop over columns all parts are known outside, but the constant
  /// is this iteration's.
  struct DimValue {
    llvm::SmallVector<std::pair<Value, unsigned>, 2> parts;
    int64_t offset = 0;
    unsigned depth = 0;
  };
  void setDim(unsigned position, DimValue value);
  void setValue(StageValueId id, LaneValue value) { values[id] = value; }

  // Emission at the builder's insertion point
  void emitBlock(const StageBlock &block, BodyContext &context);
  /// One step of a fold: accumulators after `update` with the values of this
  /// column. `width` lanes in every accumulator.
  llvm::SmallVector<Value> emitUpdate(const StageReduction &fold,
                                      llvm::ArrayRef<Value> accumulators,
                                      unsigned width);
  /// The same for all reductions of a stage.
  Accumulators emitUpdates(const Stage &stage, const Accumulators &accumulators,
                           unsigned width);
  llvm::SmallVector<Value> emitCombine(const StageReduction &fold,
                                       llvm::ArrayRef<Value> left,
                                       llvm::ArrayRef<Value> right);
  /// Neutral accumulators of `width` lanes.
  llvm::SmallVector<Value> initial(const StageReduction &fold, unsigned width);
  /// Folds the lanes of each accumulator: halves are combined until one lane is
  /// left.
  llvm::SmallVector<Value> foldLanes(const StageReduction &fold,
                                     llvm::ArrayRef<Value> accumulators);

  // Memory, also for the drivers' tiles
  /// `pointer` + `bytes`.
  Value offsetPointer(Value pointer, int64_t bytes);
  Value gep(Value pointer, Type element, Value index);
  /// Loads `width` elements of `type` in one access of `alignment` bytes; Bool
  /// becomes i1.
  Value loadMemory(Value pointer, ElementType type, unsigned width,
                   int64_t alignment);
  void storeMemory(Value value, Value pointer, ElementType type,
                   int64_t alignment);
  /// The column (the first of a vector) as one scalar of `indexBits` bits.
  Value column() { return scalarIndex(IndexExpr::dim(kColumnDim), indexBits); }

  ValueBuilder &v;
  const StageProgram &program;
  const unsigned indexBits;
  /// First thing that could not be emitted; empty if all is well.
  std::string problem;

private:
  /// How a Load or Store reaches memory under the current width.
  struct AccessPlan {
    Access access;
    bool varies = false;       // the offset differs between lanes
    bool guardsUniform = true; // one test of the guards serves all lanes
    bool valueVaries() const {
      return (varies && access.kind != AccessKind::Uniform) || !guardsUniform;
    }
  };
  struct IndexKey {
    IndexExpr expr;
    unsigned bits;
    unsigned width;
    bool operator==(const IndexKey &) const = default;
  };
  struct IndexKeyHash {
    size_t operator()(const IndexKey &key) const {
      return key.expr.hash() * 1099511628211ull + key.bits * 2 + key.width;
    }
  };
  struct PointerKey {
    uint32_t argument;
    IndexExpr expr;
    bool operator==(const PointerKey &) const = default;
  };
  struct PointerKeyHash {
    size_t operator()(const PointerKey &key) const {
      return key.expr.hash() * 1099511628211ull + key.argument;
    }
  };
  struct Scope {
    mlir::Operation *inner =
        nullptr; // operation in whose region the next scope lies
    std::unordered_map<IndexKey, Value, IndexKeyHash> indices;
    std::unordered_map<PointerKey, Value, PointerKeyHash> pointers;
    llvm::DenseMap<const StageOp *, LaneValue> ops;
  };
  struct Term {
    IndexExpr atom;
    int64_t coefficient;
  };
  struct Sum {
    llvm::SmallVector<Term> terms;
    int64_t constant = 0;
  };
  struct Address {
    Value pointer;
    int64_t bytes = 0; // to be added
  };
  /// The part of a sum that is known at `depth`.
  struct Contribution {
    unsigned depth;
    IndexExpr expr;
    Value value;
  };

  // index_emitter.cpp
  static void collect(const IndexExpr &expr, int64_t factor, Sum &sum);
  unsigned depthOf(const IndexExpr &expr);
  bool varies(const IndexExpr &expr);
  bool neverNegative(const Sum &sum);
  /// The parts of `sum`, outermost first; adds the constants of dimensions to
  /// sum.constant.
  llvm::SmallVector<Contribution> contributions(Sum &sum, unsigned bits);
  Value scalarIndex(const IndexExpr &expr, unsigned bits);
  Value vectorIndex(const IndexExpr &expr, unsigned bits);
  Value atomValue(const IndexExpr &atom, unsigned bits, bool vector);
  Value divMod(const IndexExpr &atom, unsigned bits, bool vector);
  /// `expr` in `bits` bits, a scalar or a vector of lanes as it needs.
  Value index(const IndexExpr &expr, unsigned bits) {
    return varies(expr) ? vectorIndex(expr, bits) : scalarIndex(expr, bits);
  }
  Value inRange(const IndexExpr &expr, int64_t lo, int64_t hi, bool uniform);
  unsigned bitsFor(const IndexExpr &expr);
  Address address(uint32_t argument, const IndexExpr &offset);
  Access classify(const IndexExpr &offset);
  IndexExpr withUniformRuntimes(const IndexExpr &expr);

  // body_emitter.cpp
  void analyse(const StageBlock &block);
  AccessPlan planAccess(const StageOp &op);
  unsigned depthOf(const StageOp &op);
  void emitOp(const StageOp &op, BodyContext &context);
  LaneValue emitScalar(const StageOp &op);
  void emitLoop(const StageOp &op, BodyContext &context);
  llvm::SmallVector<Value> emitProgram(const ScalarProgram &code,
                                       llvm::ArrayRef<Value> args);
  void setOrigin(PrimitiveId origin);
  /// Moves the insertion point into the scope of `depth` while the result
  /// lives.
  std::optional<mlir::OpBuilder::InsertionGuard> at(unsigned depth);

  // memory_emitter.cpp
  LaneValue emitLoad(const StageOp &op);
  Value emitUniformLoad(const StageOp &op);
  Value emitVectorLoad(const StageOp &op, const AccessPlan &plan);
  void emitStore(const StageOp &op, BodyContext &context);
  Value guardsHold(const StageOp &op, bool uniform);
  Value loadIf(Value condition, ElementType type, unsigned width,
               llvm::function_ref<Value()> load);
  llvm::SmallVector<Value> lanePointers(const StageOp &op,
                                        const AccessPlan &plan, Value mask);

  llvm::SmallVector<Value> arguments;
  std::vector<Scope> scopes;
  std::vector<std::optional<DimValue>> dims;
  std::vector<LaneValue> values;
  std::vector<bool> varying;
  llvm::DenseMap<const StageOp *, AccessPlan> plans;
  int64_t columns = 1;
  unsigned width = 1;
  IndexRanges ranges;
};

} // namespace lockstitch::codegen

#endif // LOCKSTITCH_COMPILER_CODEGEN_BODY_EMITTER_H
