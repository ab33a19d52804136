// Copies what one primitive computes into the body of another, at other coordinates. For passes that rewrite a primitive
// into others.
#ifndef LOCKSTITCH_COMPILER_GRAPH_PASSES_BODY_COPY_H
#define LOCKSTITCH_COMPILER_GRAPH_PASSES_BODY_COPY_H

#include "compiler/graph/primitive_graph.h"

namespace lockstitch {

/// A primitive while it is made: `b` appends to its body.
struct PrimitiveMaker {
  Primitive primitive;
  ScalarBuilder b{primitive.body};
  PrimitiveMaker() = default;
  PrimitiveMaker(const PrimitiveMaker &) = delete; // `b` refers to the body

  /// Position of `value` among the operands, appended when it is new.
  uint32_t operand(ValueId value);
  /// Element of `value` at `at`, in its own type.
  ScalarId read(const PrimitiveGraph &graph, ValueId value,
                std::vector<IndexExpr> at, std::vector<ScalarId> runtimes = {},
                std::vector<IndexConstraint> constraints = {});
  /// `expr` as an i64, where Runtime(i) is `runtimes[i]`: arithmetic where it holds run-time variables.
  ScalarId index(const IndexExpr &expr, std::span<const ScalarId> runtimes);
  /// Copies a region of a reducer; returns its results.
  std::vector<ScalarId> region(const ScalarProgram &program,
                               std::span<const ScalarId> arguments);
};

/// Copies operations of `from`'s body into `to`, each once. Dimension d of `from` is `dims[d]` in the space of `to`, where
/// Runtime(i) stands for `runtimes[i]`. `bounds` hold wherever the copied body may be evaluated; every read that mentions
/// their dimensions gets them as constraints.
class BodyCopy {
public:
  BodyCopy(const PrimitiveGraph &graph, const Primitive &from,
           PrimitiveMaker &to, std::vector<IndexExpr> dims,
           std::vector<ScalarId> runtimes = {},
           std::vector<IndexConstraint> bounds = {})
      : graph(graph), from(from), to(to), dims(std::move(dims)),
        runtimes(std::move(runtimes)), bounds(std::move(bounds)),
        copies(from.body.ops.size(), kNone) {}

  ScalarId copy(ScalarId id);
  /// `expr`, an expression of `from` whose run-time variables are `values`, as an i64.
  ScalarId index(const IndexExpr &expr, std::vector<ScalarId> values);

private:
  /// `expr` in the space of `to`; `own` run-time variables of its own come first.
  IndexExpr moved(const IndexExpr &expr, size_t own) const;

  const PrimitiveGraph &graph;
  const Primitive &from;
  PrimitiveMaker &to;
  std::vector<IndexExpr> dims;
  std::vector<ScalarId> runtimes;
  std::vector<IndexConstraint> bounds;
  std::vector<ScalarId> copies;
};

/// Replaces every primitive that `rewrite` accepts. It appends what takes its place to the graph and returns true; the
/// last appended primitive makes the old result. Values are out of order afterwards: eliminateDead renumbers them.
template <typename Rewrite>
void rewritePrimitives(PrimitiveGraph &graph, Rewrite rewrite) {
  std::vector<Primitive> old = std::move(graph.primitives);
  graph.primitives.clear();
  for (Primitive &primitive : old) {
    ValueId result = primitive.result;
    if (!rewrite(primitive))
      graph.primitives.push_back(std::move(primitive));
    PrimitiveId last = static_cast<PrimitiveId>(graph.primitives.size() - 1);
    graph.primitives[last].result = result;
    graph.values[result].producer = last;
  }
}

/// Appends `maker`'s primitive with the name and origins of `like`. A helper has a `suffix` to its name and a result of
/// `type`, which is returned; without one it takes the place of `like`.
ValueId addRewritten(PrimitiveGraph &graph, PrimitiveMaker &maker,
                     const Primitive &like, std::string_view suffix,
                     TensorType type);

} // namespace lockstitch

#endif // LOCKSTITCH_COMPILER_GRAPH_PASSES_BODY_COPY_H
