// Makes primitives for the rules: folds what is constant while it is made,
// keeps names and origins.
#ifndef LOCKSTITCH_FRONTENDS_ONNX_GRAPH_BUILDER_H
#define LOCKSTITCH_FRONTENDS_ONNX_GRAPH_BUILDER_H

#include "compiler/graph/evaluate.h"
#include "compiler/graph/primitive_graph.h"

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace lockstitch::onnx {

using Extents = std::vector<int64_t>;

Shape toShape(const Extents &extents);
Extents toExtents(const Shape &shape);

/// Why a node cannot be lowered. Thrown by rules and their helpers, caught by
/// the importer; it never leaves this library.
struct Refusal {
  std::string reason, wayOut;
};

/// Owns the graph while it is built.
class GraphBuilder {
public:
  PrimitiveGraph graph;

  /// The node whose primitives are made from now on; they are called "NODE/0",
  /// "NODE/1" ...
  void setOrigin(OriginId origin);
  OriginId origin() const { return currentOrigin; }
  /// Makes this the builder of a part of `outer`'s graph: the same origins, and
  /// no name twice.
  void startWithin(const GraphBuilder &outer);

  const TensorType &type(ValueId value) const { return graph.type(value); }
  ElementType element(ValueId value) const { return graph.type(value).element; }
  Extents extents(ValueId value) const {
    return toExtents(graph.type(value).shape);
  }
  bool isConstant(ValueId value) const {
    return graph.values[value].kind == Value::Kind::Constant;
  }

  /// Adds `primitive` with a result of `type`, or a constant in its place where
  /// it is worth folding: all operands are constants, and the result is small
  /// (64 elements; for integers and bools, which make shapes and indices, 64
  /// KiB). With `alwaysFold` the result may be as large as 1 MiB.
  ValueId add(Primitive primitive, TensorType type, bool alwaysFold = false);

  /// A constant with these bytes; equal small ones are made once.
  ValueId constant(const TensorType &type, std::vector<std::byte> bytes);
  ValueId constantInts(const std::vector<int64_t> &values, Extents extents);
  /// The same bytes under another shape.
  ValueId reshapedConstant(ValueId constant, const Extents &to);

  /// The bytes of `value` where it depends on nothing but constants (also where
  /// it was too large to be folded eagerly).
  std::optional<OperandView> constantBytes(ValueId value);
  /// Its elements, where it is constant and of integer or bool type.
  std::optional<std::vector<int64_t>> constantInts(ValueId value);
  /// Its elements as doubles, where it is constant.
  std::optional<std::vector<double>> constantReals(ValueId value);
  /// The one value that all elements of `value` have, where that is known: a
  /// uniform constant, or a primitive that yields a constant.
  std::optional<ScalarConstant> splat(ValueId value);

private:
  bool isWorthFolding(const Primitive &primitive, const TensorType &type,
                      bool always) const;
  bool dependsOnInputs(ValueId value) const;
  std::optional<OperandView> constantBytes(ValueId value, int depth);

  OriginId currentOrigin = 0;
  std::shared_ptr<std::unordered_map<OriginId, unsigned>> primitivesOf =
      std::make_shared<std::unordered_map<OriginId, unsigned>>();
  std::vector<bool> primitiveDependsOnInputs; // by PrimitiveId
  std::map<std::pair<std::string, std::vector<std::byte>>, ValueId>
      smallConstants; // by type and bytes
  std::unordered_map<ValueId, std::vector<std::byte>>
      evaluated; // by constantBytes()
};

/// The body of a primitive while it is made. Reads of splats become constants;
/// operands are listed once.
class BodyBuilder {
public:
  /// `domain`: the result's dimensions, then the reduced ones.
  BodyBuilder(GraphBuilder &graph, Shape domain);

  ScalarBuilder b;

  const IndexRanges &ranges() const { return domainRanges; }
  const Shape &domain() const { return primitive.domain; }
  unsigned rank() const { return primitive.domain.size(); }

  /// Element of `value` at `at` (one expression per dimension of it), in the
  /// value's own type. Where a constraint fails, zero.
  ScalarId read(ValueId value, std::vector<IndexExpr> at,
                std::vector<IndexConstraint> constraints = {},
                std::vector<ScalarId> runtimes = {});
  /// The same in the type of arithmetic: f32 for f16 and bf16.
  ScalarId readWide(ValueId value, std::vector<IndexExpr> at,
                    std::vector<IndexConstraint> constraints = {},
                    std::vector<ScalarId> runtimes = {});
  /// Element of a value that broadcasts to the first `rank` dimensions of the
  /// domain (ONNX's rule: aligned at the right).
  ScalarId readBroadcast(ValueId value, unsigned rank);
  ScalarId readBroadcast(ValueId value) {
    return readBroadcast(value, this->rank());
  }

  /// Ends a Pull whose element is `result`, cast to `element`.
  ValueId pull(ScalarId result, ElementType element, bool alwaysFold = false);
  /// Ends a Reduce of the last `reducedDims` dimensions.
  ValueId reduce(std::vector<ScalarId> values, unsigned reducedDims,
                 Reducer reducer, ElementType element);

  /// Ends a Scan along dimension `along`.
  ValueId scan(std::vector<ScalarId> values, unsigned along, Reducer reducer,
               ElementType element);
  /// Ends a Push of `update` onto `base`; `target` as in Primitive, its run-time
  /// variables being `runtimes` (i64).
  ValueId push(ValueId base, ScalarId update, IndexMap target,
               std::vector<ScalarId> runtimes, Reducer reducer);
  /// Ends a Sort by `key` along dimension `along`; of each line the first
  /// `count` positions.
  ValueId sort(ScalarId key, unsigned along, bool descending, int64_t count);

private:
  GraphBuilder &graph;
  Primitive primitive;
  IndexRanges domainRanges;
};

/// Coordinates d0 .. dn-1.
std::vector<IndexExpr> identityAt(unsigned rank);
/// Where an element of a tensor of `from` lies for coordinates d0 .. of `to`,
/// to which it broadcasts.
std::vector<IndexExpr> broadcastAt(const Shape &from, unsigned toRank);

} // namespace lockstitch::onnx

#endif // LOCKSTITCH_FRONTENDS_ONNX_GRAPH_BUILDER_H
