// Pushes as pulls: each element of the result looks for the updates that land on it.
//
// The target says which dimensions of the updates go straight through to a dimension of the result (target coordinate t is
// domain coordinate d, or that plus a constant): those coordinates an element knows. Over the others (R) it must look at every update:
//
//   last wins (assign)   position[S] = max over R of (lands here ? row-major position in R : -1)          a Reduce
//                        result = position < 0 ? base : update at that position                           a Pull
//   else (add, max ...)  folded = fold over R of (lands here ? update : neutral)                           a Reduce
//                        result = combine(base, folded)                                                    a Pull
//
// Where R is one dimension d, and a target coordinate is d plus something that depends on the other dimensions only (a cache
// that is written from an index on), perhaps modulo the extent, that is solved for d: no Reduce either.
//
// S are the dimensions of the result that decide whether an update lands: all of a ScatterElements, only the indexed ones of
// a ScatterND, whose slices go straight through. Where R is empty no Reduce is needed. The order of the updates is that of
// the fold: row-major, so that the result does not depend on the target. It is right for every index tensor, and its
// cost is elements(S) * elements(R): fine for writes of a few rows or along one axis, quadratic for large tables.
#include "compiler/graph/passes/body_copy.h"
#include "compiler/graph/passes/passes.h"

namespace lockstitch {
namespace {

using Op = ScalarOpcode;

class PushLowering {
public:
  PushLowering(PrimitiveGraph &graph, const Primitive &push)
      : graph(graph), push(push), type(graph.type(push.result)),
        through(type.shape.size(), kNone), source(push.domain.size(), kNone),
        offset(type.shape.size(), 0) {}

  void run() {
    if (numElements(push.domain) == 0)
      return copyBase();
    analyse();
    if (lastWins())
      return assign();
    PrimitiveMaker last;
    last.primitive.domain = type.shape;
    ScalarId base = last.b.cast(readBase(last), push.reducer.types[0]), result;
    if (looped.empty() || solved) {
      auto [hit, update] = onlyUpdate(last);
      result = last.b.select(hit, combined(last, base, update), base);
    } else {
      ValueId folded = foldUpdates();
      result =
          combined(last, base,
                   last.read(graph, folded,
                             IndexMap::identity(type.shape.size()).results));
    }
    finish(last, result);
  }

private:
  bool lastWins() const {
    const ScalarProgram &update = push.reducer.update;
    const ScalarOp &result = update[update.results[0]];
    return result.opcode == Op::Argument && result.operand == 1;
  }

  void analyse() {
    IndexRanges ranges = rangesOf(push.domain);
    for (size_t t = 0; t < type.shape.size(); ++t) {
      LinearForm at = toLinearForm(push.target.results[t], ranges);
      if (at.terms.size() != 1 || at.terms[0].second != 1 ||
          at.terms[0].first.kind() != IndexExpr::Kind::Dim)
        continue;
      unsigned d = at.terms[0].first.position();
      if (source[d] != kNone)
        continue;
      through[t] = d;
      source[d] = static_cast<uint32_t>(t);
      offset[t] = at.constant;
    }
    for (uint32_t d = 0; d < push.domain.size(); ++d)
      if (source[d] == kNone && push.domain[d].value() != 1)
        looped.push_back(d);
    solve();
  }

  std::vector<uint32_t> allDims() const {
    std::vector<uint32_t> all;
    for (uint32_t t = 0; t < type.shape.size(); ++t)
      all.push_back(t);
    return all;
  }

  /// By dimension of the domain: does it enter into the run-time variables of the target?
  std::vector<bool> dimsOfRuntimes() const {
    std::vector<bool> used(push.domain.size(), false);
    auto use = [&](const IndexExpr &expr) {
      for (unsigned d = 0; d < used.size(); ++d)
        used[d] = used[d] || expr.usesDim(d);
    };
    std::vector<bool> needed(push.body.ops.size(), false);
    for (size_t i = 1; i < push.body.results.size(); ++i)
      needed[push.body.results[i]] = true;
    for (size_t i = push.body.ops.size(); i-- > 0;) {
      if (!needed[i])
        continue;
      const ScalarOp &op = push.body.ops[i];
      for (ScalarId arg : op.args)
        needed[arg] = true;
      use(op.index);
      for (const IndexExpr &expr : op.map.results)
        use(expr);
      for (const IndexConstraint &constraint : op.map.constraints)
        use(constraint.expr);
    }
    return used;
  }

  /// Looks for a target coordinate that can be solved for the one looped dimension.
  void solve() {
    if (looped.size() != 1 || !push.target.constraints.empty() ||
        dimsOfRuntimes()[looped[0]])
      return;
    IndexRanges ranges = rangesOf(push.domain);
    for (uint32_t t = 0; t < type.shape.size() && !solved; ++t) {
      if (through[t] != kNone)
        continue;
      IndexExpr at = push.target.results[t];
      bool isCircular = at.kind() == IndexExpr::Kind::Mod;
      if (isCircular) {
        if (at.rhs().value() != type.shape[t].value() ||
            push.domain[looped[0]].value() > type.shape[t].value())
          continue;
        at = at.lhs();
      }
      bool isAlone = false, isElsewhere = false;
      for (const auto &[atom, coefficient] : toLinearForm(at, ranges).terms) {
        bool isIt =
            atom.kind() == IndexExpr::Kind::Dim && atom.position() == looped[0];
        isAlone |= isIt && coefficient == 1;
        isElsewhere |=
            (isIt && coefficient != 1) || (!isIt && atom.usesDim(looped[0]));
      }
      if (isAlone && !isElsewhere)
        solved = Solved{t, at, isCircular};
    }
    for (uint32_t t = 0; t < type.shape.size() && solved; ++t)
      if (through[t] == kNone && t != solved->at &&
          push.target.results[t].usesDim(looped[0]))
        solved.reset(); // two coordinates ask for it
  }

  /// Of a result whose every element can be hit by one update only: is it, and by which?
  std::pair<ScalarId, ScalarId> onlyUpdate(PrimitiveMaker &maker) {
    if (!solved) {
      BodyCopy body = copyInto(maker, allDims(), {});
      ScalarId hit = lands(maker, body, allDims());
      return {hit, body.copy(push.body.results[0])};
    }
    ScalarBuilder &b = maker.b;
    auto integer = [&](int64_t value) {
      return b.constantInt(ElementType::I64, value);
    };
    int64_t extent = push.domain[looped[0]].value();
    BodyCopy first = copyInto(maker, allDims(), integer(0));
    ScalarId hit = lands(maker, first, allDims());
    std::vector<ScalarId> runtimes;
    for (size_t i = 1; i < push.body.results.size(); ++i)
      runtimes.push_back(first.copy(push.body.results[i]));
    ScalarId position =
        b.op(Op::Sub, {b.index(IndexExpr::dim(solved->at)),
                       first.index(solved->expr, std::move(runtimes))});
    if (solved->isCircular)
      position =
          b.op(Op::Mod, {position, integer(type.shape[solved->at].value())});
    hit = b.op(Op::And, {hit, b.op(Op::Ge, {position, integer(0)})});
    hit = b.op(Op::And, {hit, b.op(Op::Lt, {position, integer(extent)})});
    position = b.op(
        Op::Min, {b.op(Op::Max, {position, integer(0)}), integer(extent - 1)});
    BodyCopy body = copyInto(maker, allDims(), position);
    return {hit, body.copy(push.body.results[0])};
  }

  /// The dimensions of the result that decide whether an update lands.
  std::vector<uint32_t> decidingDims() const {
    std::vector<bool> used = dimsOfRuntimes();
    auto use = [&](const IndexExpr &expr) {
      for (unsigned d = 0; d < used.size(); ++d)
        used[d] = used[d] || expr.usesDim(d);
    };
    for (const IndexConstraint &constraint : push.target.constraints)
      use(constraint.expr);
    for (size_t t = 0; t < type.shape.size(); ++t)
      if (through[t] == kNone)
        use(push.target.results[t]);
    std::vector<uint32_t> deciding;
    for (uint32_t t = 0; t < type.shape.size(); ++t)
      if (through[t] == kNone || used[through[t]] || isPart(t))
        deciding.push_back(t);
    return deciding;
  }

  /// Do the updates cover only a part of dimension `t`, which goes straight through?
  bool isPart(uint32_t t) const {
    return through[t] != kNone &&
           (offset[t] > 0 || push.domain[through[t]].value() + offset[t] <
                                 type.shape[t].value());
  }
  /// The domain's coordinate that goes straight through to dimension `t` of the result, which is Dim(position) there.
  IndexExpr coordinate(uint32_t t, unsigned position) const {
    return IndexExpr::dim(position) - IndexExpr::constant(offset[t]);
  }

  /// A copy of the body in a space whose first dimensions are the dimensions `deciding` of the result. Then come the looped
  /// ones, unless `position` is their row-major position.
  BodyCopy copyInto(PrimitiveMaker &maker,
                    const std::vector<uint32_t> &deciding,
                    std::optional<ScalarId> position) {
    std::vector<IndexExpr> dims(push.domain.size(), IndexExpr::constant(0));
    std::vector<IndexConstraint> bounds;
    for (unsigned i = 0; i < deciding.size(); ++i) {
      uint32_t d = through[deciding[i]];
      if (d == kNone)
        continue;
      dims[d] = coordinate(deciding[i], i);
      if (isPart(deciding[i]))
        bounds.push_back({simplify(dims[d], rangesOf(maker.primitive.domain)),
                          0, push.domain[d].value() - 1});
    }
    Shape loops;
    for (uint32_t d : looped)
      loops.push_back(push.domain[d]);
    IndexMap apart = IndexMap::delinearize(loops);
    IndexExpr runtime = IndexExpr::runtime(0);
    for (unsigned i = 0; i < looped.size(); ++i)
      dims[looped[i]] = position ? substitute(apart.results[i], {&runtime, 1})
                                 : IndexExpr::dim(deciding.size() + i);
    std::vector<ScalarId> runtimes;
    if (position)
      runtimes = {*position};
    return BodyCopy(graph, push, maker, std::move(dims), std::move(runtimes),
                    std::move(bounds));
  }

  /// Does the update at these coordinates land on the element that `deciding` names?
  ScalarId lands(PrimitiveMaker &maker, BodyCopy &body,
                 const std::vector<uint32_t> &deciding) {
    ScalarBuilder &b = maker.b;
    ScalarId result = b.constantInt(ElementType::Bool, 1);
    bool isFirst = true;
    auto require = [&](ScalarId condition) {
      result = isFirst ? condition : b.op(Op::And, {result, condition});
      isFirst = false;
    };
    std::vector<ScalarId> runtimes;
    for (size_t i = 1; i < push.body.results.size(); ++i)
      runtimes.push_back(body.copy(push.body.results[i]));
    for (unsigned i = 0; i < deciding.size(); ++i) {
      uint32_t t = deciding[i];
      if (isPart(t))
        require(b.inRange(
            simplify(coordinate(t, i), rangesOf(maker.primitive.domain)), 0,
            push.domain[through[t]].value() - 1));
      if (through[t] == kNone && !(solved && solved->at == t))
        require(b.op(Op::Eq, {body.index(push.target.results[t], runtimes),
                              b.index(IndexExpr::dim(i))}));
    }
    for (const IndexConstraint &constraint : push.target.constraints) {
      ScalarId value = body.index(constraint.expr, runtimes);
      require(b.op(Op::Ge,
                   {value, b.constantInt(ElementType::I64, constraint.lo)}));
      require(b.op(Op::Le,
                   {value, b.constantInt(ElementType::I64, constraint.hi)}));
    }
    return result;
  }

  ScalarId readBase(PrimitiveMaker &maker) {
    return maker.read(graph, push.operands[0],
                      IndexMap::identity(type.shape.size()).results);
  }
  ScalarId combined(PrimitiveMaker &maker, ScalarId left, ScalarId right) {
    ScalarId arguments[] = {left, right};
    return maker.region(push.reducer.combine, arguments)[0];
  }
  void finish(PrimitiveMaker &maker, ScalarId accumulator) {
    maker.primitive.body.results = {
        maker.region(push.reducer.finish, {&accumulator, 1})[0]};
    addRewritten(graph, maker, push, "", type);
  }
  void copyBase() {
    PrimitiveMaker maker;
    maker.primitive.domain = type.shape;
    maker.primitive.body.results = {readBase(maker)};
    addRewritten(graph, maker, push, "", type);
  }

  Shape spaceOf(const std::vector<uint32_t> &deciding) const {
    Shape space;
    for (uint32_t t : deciding)
      space.push_back(type.shape[t]);
    for (uint32_t d : looped)
      space.push_back(push.domain[d]);
    return space;
  }

  ValueId addReduce(PrimitiveMaker &maker, ScalarId value, Reducer reducer,
                    std::string_view suffix, ElementType element) {
    Primitive &primitive = maker.primitive;
    primitive.kind = Primitive::Kind::Reduce;
    primitive.reducedDims = looped.size();
    primitive.reducer = std::move(reducer);
    primitive.body.results = {value};
    Shape shape(primitive.domain.begin(),
                primitive.domain.end() - primitive.reducedDims);
    for (OriginId origin : push.origins)
      graph.origins[origin].note =
          "scattered by looking: each of " +
          std::to_string(numElements(shape)) + " places looks through " +
          std::to_string(
              numElements(Shape(primitive.domain.begin() + shape.size(),
                                primitive.domain.end()))) +
          " updates";
    return addRewritten(graph, maker, push, suffix, {element, shape});
  }

  ValueId foldUpdates() {
    PrimitiveMaker maker;
    maker.primitive.domain = spaceOf(allDims());
    BodyCopy body = copyInto(maker, allDims(), {});
    ScalarId hit = lands(maker, body, allDims()),
             update = body.copy(push.body.results[0]);
    Reducer reducer = push.reducer;
    ElementType held = reducer.types[0];
    ScalarOp neutral{.opcode = Op::Constant, .type = held};
    neutral.constant = reducer.init[0];
    ScalarId value =
        maker.b.select(hit, update, maker.b.insert(std::move(neutral)));
    reducer.finish = {};
    ScalarBuilder finish(reducer.finish);
    reducer.finish.results = {finish.argument(0, held)};
    return addReduce(maker, value, std::move(reducer), ".folded", held);
  }

  void assign() {
    PrimitiveMaker last;
    last.primitive.domain = type.shape;
    ScalarId base = readBase(last), hit;
    if (looped.empty() || solved) {
      auto [isHit, update] = onlyUpdate(last);
      return finish(
          last,
          last.b.select(isHit, update, last.b.cast(base, last.b.type(update))));
    }
    std::vector<uint32_t> deciding = decidingDims();
    std::vector<IndexExpr> at;
    for (uint32_t t : deciding)
      at.push_back(IndexExpr::dim(t));
    ScalarId found = last.read(graph, findPositions(deciding), at),
             zero = last.b.constantInt(ElementType::I64, 0);
    hit = last.b.op(Op::Ge, {found, zero});
    BodyCopy body =
        copyInto(last, allDims(), last.b.op(Op::Max, {found, zero}));
    ScalarId update = body.copy(push.body.results[0]);
    finish(last,
           last.b.select(hit, update, last.b.cast(base, last.b.type(update))));
  }

  ValueId findPositions(const std::vector<uint32_t> &deciding) {
    PrimitiveMaker maker;
    maker.primitive.domain = spaceOf(deciding);
    BodyCopy body = copyInto(maker, deciding, {});
    ScalarId hit = lands(maker, body, deciding);
    std::vector<IndexExpr> at;
    Shape loops;
    for (unsigned i = 0; i < looped.size(); ++i) {
      at.push_back(IndexExpr::dim(deciding.size() + i));
      loops.push_back(push.domain[looped[i]]);
    }
    ScalarId position =
        maker.b.index(linearize(at, loops, rangesOf(maker.primitive.domain)));
    ScalarId value = maker.b.select(hit, position,
                                    maker.b.constantInt(ElementType::I64, -1));
    return addReduce(
        maker, value,
        Reducer::simple(Op::Max, ElementType::I64, ElementType::I64),
        ".position", ElementType::I64);
  }

  PrimitiveGraph &graph;
  const Primitive &push;
  const TensorType type;
  std::vector<uint32_t> through; // by dimension of the result: of the domain
  std::vector<uint32_t> source;  // the reverse
  std::vector<int64_t>
      offset; // of those: coordinate t is coordinate d plus this
  std::vector<uint32_t> looped; // R
  struct Solved {
    uint32_t at; // dimension of the result
    IndexExpr expr;
    bool isCircular;
  };
  std::optional<Solved> solved;
};

} // namespace

void lowerPushes(PrimitiveGraph &graph) {
  rewritePrimitives(graph, [&](const Primitive &primitive) {
    if (primitive.kind != Primitive::Kind::Push)
      return false;
    PushLowering(graph, primitive).run();
    return true;
  });
}

} // namespace lockstitch
