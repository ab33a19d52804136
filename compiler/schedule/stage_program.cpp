#include "compiler/schedule/stage_program.h"

#include <sstream>
#include <unordered_set>

namespace lockstitch {

bool StageBlock::operator==(const StageBlock &other) const {
  return ops == other.ops;
}

bool StageOp::operator==(const StageOp &other) const {
  if (opcode != other.opcode || result != other.result || type != other.type ||
      args != other.args || scalar != other.scalar ||
      !(constant == other.constant) || !(index == other.index) ||
      guards != other.guards || lo != other.lo || hi != other.hi ||
      argument != other.argument || tile != other.tile)
    return false;
  if (!loop || !other.loop)
    return loop == other.loop;
  return *loop == *other.loop;
}

IndexRanges StageProgram::ranges(int64_t columns) const {
  IndexRanges ranges;
  ranges.dims.push_back({0, std::max<int64_t>(rows.value(), 1) - 1});
  ranges.dims.push_back({0, std::max<int64_t>(columns, 1) - 1});
  for (int64_t trips : loopTrips)
    ranges.dims.push_back({0, std::max<int64_t>(trips, 1) - 1});
  return ranges;
}

namespace {

/// Rewrites `expr` over (r, c, loops) to (r, q, loops, l) with c = q*width + l and simplifies it; `lane` is l's position.
LinearForm splitColumn(const StageProgram &program, const IndexExpr &expr,
                       int64_t columns, unsigned width, unsigned &lane,
                       IndexRanges &ranges) {
  ranges = program.ranges((columns + width - 1) / width);
  lane = static_cast<unsigned>(ranges.dims.size());
  ranges.dims.push_back({0, static_cast<int64_t>(width) - 1});
  std::vector<IndexExpr> dims = {IndexExpr::dim(kRowDim),
                                 IndexExpr::dim(kColumnDim) *
                                         IndexExpr::constant(width) +
                                     IndexExpr::dim(lane)};
  return toLinearForm(substitute(expr, dims), ranges);
}

} // namespace

Access classifyAccess(const StageProgram &program, const IndexExpr &offset,
                      int64_t columns, unsigned width) {
  if (width == 1)
    return {offset.usesDim(kColumnDim) ? AccessKind::Contiguous
                                       : AccessKind::Uniform,
            0, true};
  unsigned lane;
  IndexRanges ranges;
  LinearForm form = splitColumn(program, offset, columns, width, lane, ranges);
  int64_t stride = 0;
  bool aligned = form.constant % width == 0;
  for (const auto &[atom, coefficient] : form.terms) {
    if (atom.kind() == IndexExpr::Kind::Dim && atom.position() == lane) {
      stride = coefficient;
      continue;
    }
    if (atom.usesDim(lane))
      return {AccessKind::Strided, 0, false};
    if (atom.usesAnyRuntime()) // a run-time index may differ from column to column
      return {AccessKind::Strided, 0, false};
    aligned &= coefficient % width == 0;
  }
  if (stride == 0)
    return {AccessKind::Uniform, 0, false};
  if (stride == 1)
    return {AccessKind::Contiguous, 1, aligned};
  return {AccessKind::Strided, stride, false};
}

bool isAligned(const StageProgram &program, uint32_t argument, unsigned width) {
  const StageArgument &entry = program.arguments[argument];
  int64_t bytes = static_cast<int64_t>(width * byteSize(entry.type));
  return entry.alignment % std::min(bytes, kAccessAlignment) == 0;
}

bool isGuardUniform(const StageProgram &program, const IndexConstraint &guard,
                    int64_t columns, unsigned width) {
  if (width == 1)
    return true;
  unsigned lane;
  IndexRanges ranges;
  LinearForm form =
      splitColumn(program, guard.expr, columns, width, lane, ranges);
  int64_t stride = 0;
  bool aligned = form.constant % width == 0;
  for (const auto &[atom, coefficient] : form.terms) {
    if (atom.kind() == IndexExpr::Kind::Dim && atom.position() == lane) {
      stride = coefficient;
      continue;
    }
    if (atom.usesDim(lane) || atom.usesAnyRuntime())
      return false;
    aligned &= coefficient % width == 0;
  }
  if (stride == 0)
    return true;
  return stride == 1 && aligned && guard.lo % width == 0 &&
         (guard.hi + 1) % width == 0;
}

namespace {

class Printer {
public:
  explicit Printer(const StageProgram &program) : program(program) {}

  std::string run() {
    out << "kernel " << program.name << " rows " << toString(program.rows)
        << "\n";
    for (size_t i = 0; i < program.arguments.size(); ++i) {
      const StageArgument &argument = program.arguments[i];
      out << "  arg " << i << ": " << (argument.isOutput ? "out " : "in ")
          << name(argument.type) << "[" << toString(argument.elements) << "]";
      if (argument.alignment != kAccessAlignment)
        out << " align " << argument.alignment;
      out << "\n";
    }
    for (size_t i = 0; i < program.tiles.size(); ++i)
      out << "  tile " << i << ": " << name(program.tiles[i].type) << "["
          << program.tiles[i].columns << "] slot " << program.tiles[i].slot
          << "\n";
    for (size_t i = 0; i < program.stages.size(); ++i) {
      const Stage &stage = program.stages[i];
      out << "  stage " << i << " columns " << stage.columns << " {\n";
      block(stage.body, 4);
      for (const StageReduction &fold : stage.reductions)
        reduction(fold, 4, "across columns");
      out << "  }";
      if (!stage.finish.ops.empty()) {
        out << " finish {\n";
        block(stage.finish, 4);
        out << "  }";
      }
      out << "\n";
    }
    return out.str();
  }

private:
  void indent(int depth) { out << std::string(depth, ' '); }

  /// Dimensions by their names in the stage language: r, c, then k0, k1, ...; run-time variables by their values.
  std::string index(const IndexExpr &expr) {
    using Kind = IndexExpr::Kind;
    switch (expr.kind()) {
    case Kind::Constant:
      return std::to_string(expr.value());
    case Kind::Dim:
      return expr.position() == kRowDim ? "r"
             : expr.position() == kColumnDim
                 ? "c"
                 : "k" + std::to_string(expr.position() - kFirstLoopDim);
    case Kind::Runtime:
      return "%" + std::to_string(expr.position());
    case Kind::Add:
      return index(expr.lhs()) + " + " + index(expr.rhs());
    case Kind::Mul:
      return factor(expr.lhs()) + "*" + factor(expr.rhs());
    case Kind::FloorDiv:
      return factor(expr.lhs()) + " floordiv " + factor(expr.rhs());
    case Kind::Mod:
      return factor(expr.lhs()) + " mod " + factor(expr.rhs());
    }
    return "";
  }
  std::string factor(const IndexExpr &expr) {
    bool simple = expr.isConstant() || expr.kind() == IndexExpr::Kind::Dim ||
                  expr.kind() == IndexExpr::Kind::Runtime;
    return simple ? index(expr) : "(" + index(expr) + ")";
  }
  void guards(const StageOp &op) {
    for (size_t i = 0; i < op.guards.size(); ++i)
      out << (i ? ", " : " if ") << index(op.guards[i].expr) << " in "
          << op.guards[i].lo << " .. " << op.guards[i].hi;
  }

  void block(const StageBlock &block, int depth) {
    for (const StageOp &op : block.ops)
      operation(op, depth);
  }

  void operation(const StageOp &op, int depth) {
    indent(depth);
    if (op.result != kNone && op.opcode != StageOpcode::Loop)
      out << "%" << op.result << " = ";
    switch (op.opcode) {
    case StageOpcode::Load:
      out << "load " << name(op.type) << " arg" << op.argument << "["
          << index(op.index) << "]";
      guards(op);
      break;
    case StageOpcode::Store:
      out << "store " << name(op.type) << " %" << op.args[0] << ", arg"
          << op.argument << "[" << index(op.index) << "]";
      break;
    case StageOpcode::TileLoad:
      out << "tile_load " << name(op.type) << " tile" << op.tile;
      break;
    case StageOpcode::TileStore:
      out << "tile_store " << name(op.type) << " %" << op.args[0] << ", tile"
          << op.tile;
      break;
    case StageOpcode::Loop:
      out << (op.loop->isScan() ? "scan k" : "loop k")
          << op.loop->loopDim - kFirstLoopDim << " < " << op.loop->trips
          << " {\n";
      block(op.loop->body, depth + 2);
      if (op.loop->isScan()) {
        StageReduction running = op.loop->reduction;
        running.results = op.loop->running;
        reduction(running, depth + 2, "so far");
        block(op.loop->trip, depth + 2);
      } else {
        reduction(op.loop->reduction, depth + 2, "in order");
      }
      indent(depth);
      out << "}";
      break;
    case StageOpcode::Scalar:
      scalar(op);
      break;
    }
    if (op.origin != kNone)
      out << "  // line " << op.origin + 1;
    out << "\n";
  }

  void scalar(const StageOp &op) {
    out << toString(op.scalar) << " " << name(op.type);
    if (op.scalar == ScalarOpcode::Constant) {
      char buffer[40];
      std::snprintf(buffer, sizeof buffer, "%.9g", op.constant.real);
      out << " "
          << (isFloat(op.type) ? buffer : std::to_string(op.constant.integer));
    } else if (op.scalar == ScalarOpcode::Index) {
      out << " [" << index(op.index) << "]";
    } else if (op.scalar == ScalarOpcode::InRange) {
      out << " [" << index(op.index) << "] " << op.lo << " .. " << op.hi;
    }
    for (size_t i = 0; i < op.args.size(); ++i)
      out << (i ? ", %" : " %") << op.args[i];
  }

  void reduction(const StageReduction &fold, int depth, const char *how) {
    indent(depth);
    for (size_t i = 0; i < fold.results.size(); ++i)
      out << (i ? ", %" : "%") << fold.results[i];
    out << " = fold " << how << " (";
    for (size_t i = 0; i < fold.values.size(); ++i)
      out << (i ? ", %" : "%") << fold.values[i];
    out << ") with ";
    for (const ScalarOp &op : fold.update.ops)
      if (op.opcode != ScalarOpcode::Argument)
        out << toString(op.opcode) << " ";
    for (size_t i = 0; i < fold.types.size(); ++i) {
      char buffer[40];
      std::snprintf(buffer, sizeof buffer, "%.9g", fold.init[i].real);
      out << (i ? ", " : "from ") << name(fold.types[i]) << " "
          << (isFloat(fold.types[i]) ? buffer
                                     : std::to_string(fold.init[i].integer));
    }
    if (fold.origin != kNone)
      out << "  // line " << fold.origin + 1;
    out << "\n";
  }

  const StageProgram &program;
  std::ostringstream out;
};

/// Checks definitions before uses, and that every unguarded access stays within its buffer.
class Verifier {
public:
  explicit Verifier(const StageProgram &program) : program(program) {}

  std::optional<std::string> run() {
    if (program.loopTrips.size() != program.numLoopDims)
      return "loopTrips has " + std::to_string(program.loopTrips.size()) +
             " entries for " + std::to_string(program.numLoopDims) + " loops";
    for (const Stage &stage : program.stages) {
      columns = stage.columns;
      // What a column defines ends with the stage; row values go on.
      std::unordered_set<StageValueId> rowValues = known;
      block(stage.body, false);
      for (const StageReduction &fold : stage.reductions) {
        reduction(fold);
        rowValues.insert(fold.results.begin(), fold.results.end());
      }
      known = rowValues;
      block(stage.finish, true);
    }
    return problem;
  }

private:
  void use(StageValueId id) {
    if (!known.count(id))
      fail("value %" + std::to_string(id) + " is used before it is defined");
  }
  void define(StageValueId id) {
    if (id >= program.numValues)
      fail("value %" + std::to_string(id) + " is not counted");
    if (!defined.insert(id).second)
      fail("value %" + std::to_string(id) + " is defined twice");
    known.insert(id);
  }
  void indexUses(const IndexExpr &expr) {
    if (expr.kind() == IndexExpr::Kind::Runtime)
      return use(expr.position());
    if (expr.kind() == IndexExpr::Kind::Constant ||
        expr.kind() == IndexExpr::Kind::Dim)
      return;
    indexUses(expr.lhs());
    indexUses(expr.rhs());
  }
  void access(const StageOp &op, bool perRow) {
    if (op.argument >= program.arguments.size())
      return fail("argument " + std::to_string(op.argument) + " is not there");
    const StageArgument &argument = program.arguments[op.argument];
    if ((op.opcode == StageOpcode::Store) != argument.isOutput)
      return fail("arg" + std::to_string(op.argument) +
                  " is accessed against its direction");
    if (perRow && op.index.usesDim(kColumnDim))
      return fail("a row-level access uses the column");
    if (!op.guards.empty() || op.index.usesAnyRuntime())
      return;
    Interval range = rangeOf(op.index, program.ranges(columns));
    if (range.low < 0 || range.high >= argument.elements.value())
      fail("arg" + std::to_string(op.argument) + "[" + toString(op.index) +
           "] leaves its " + toString(argument.elements) + " elements");
  }
  void block(const StageBlock &block, bool perRow) {
    for (const StageOp &op : block.ops) {
      for (StageValueId arg : op.args)
        use(arg);
      indexUses(op.index);
      for (const IndexConstraint &guard : op.guards)
        indexUses(guard.expr);
      switch (op.opcode) {
      case StageOpcode::Load:
      case StageOpcode::Store:
        access(op, perRow);
        break;
      case StageOpcode::TileLoad:
      case StageOpcode::TileStore:
        if (op.tile >= program.tiles.size() ||
            program.tiles[op.tile].columns != columns || perRow)
          fail("tile" + std::to_string(op.tile) + " does not fit its stage");
        break;
      case StageOpcode::Loop: {
        std::unordered_set<StageValueId> outer = known;
        this->block(op.loop->body, perRow);
        for (StageValueId value : op.loop->reduction.values)
          use(value);
        for (StageValueId running : op.loop->running)
          define(running);
        if (op.loop->isScan() &&
            op.loop->running.size() != op.loop->reduction.types.size())
          fail("a scan's accumulators do not fit");
        this->block(op.loop->trip, perRow);
        known = outer;
        for (StageValueId result : op.loop->reduction.results)
          define(result);
        continue;
      }
      case StageOpcode::Scalar:
        break;
      }
      if (op.result != kNone)
        define(op.result);
    }
  }
  void reduction(const StageReduction &fold) {
    for (StageValueId value : fold.values)
      use(value);
    if (fold.results.size() != fold.types.size() ||
        fold.init.size() != fold.types.size())
      fail("a fold's accumulators do not fit");
    for (StageValueId result : fold.results)
      define(result);
  }
  void fail(const std::string &what) {
    if (!problem)
      problem = program.name + ": " + what;
  }

  const StageProgram &program;
  std::optional<std::string> problem;
  std::unordered_set<StageValueId> known, defined;
  int64_t columns = 1;
};

} // namespace

StageProgram withoutNames(StageProgram program) {
  program.name.clear();
  for (StageArgument &argument : program.arguments)
    argument.value = kNone;
  return program;
}

std::string toString(const StageProgram &program) {
  return Printer(program).run();
}

std::optional<std::string> verify(const StageProgram &program) {
  return Verifier(program).run();
}

} // namespace lockstitch
