// Operators in which the order of the elements along one axis counts: CumSum,
// CumProd (a Scan) and TopK (a Sort).
#include "frontends/onnx/node_context.h"
#include "frontends/onnx/rules.h"

namespace lockstitch::onnx {
namespace {

using Op = ScalarOpcode;

/// What the Scan folds is inclusive and from the first element on. `exclusive`
/// shifts what it reads by one, `reverse` mirrors what it reads and its result.
template <Op opcode> void cumulate(NodeContext &c) {
  std::vector<int64_t> given = c.constantInts(1, "axis");
  if (given.size() != 1)
    c.refuse("its axis should be one number");
  if (c.element(0) == ElementType::Bool)
    c.refuse("bools have no " +
             std::string(opcode == Op::Add ? "sum" : "product"));
  int64_t axis = c.axis(given[0], c.rank(0));
  bool exclusive = c.attrInt("exclusive", 0) != 0,
       reverse = c.attrInt("reverse", 0) != 0;
  int64_t extent = c.extents(0)[axis];
  ElementType type = c.element(0);
  Reducer reducer = Reducer::simple(opcode, type, type);

  BodyBuilder body(c.graph, c.shape(0));
  ScalarBuilder &b = body.b;
  std::vector<IndexExpr> at = identityAt(c.rank(0));
  std::vector<IndexConstraint> constraints;
  IndexExpr position = at[axis];
  if (exclusive)
    at[axis] = position - IndexExpr::constant(1);
  if (reverse)
    at[axis] = IndexExpr::constant(extent - 1) - at[axis];
  if (exclusive)
    constraints.push_back({at[axis], 0, extent - 1});
  ScalarId value = body.readWide(c.input(0), at, constraints);
  if (exclusive) {
    ScalarOp neutral{.opcode = Op::Constant, .type = b.type(value)};
    neutral.constant = reducer.init[0];
    value = b.select(b.inRange(position, 1, extent - 1), value,
                     b.insert(std::move(neutral)));
  }
  ValueId result = body.scan({value}, axis, std::move(reducer), type);
  if (reverse) {
    BodyBuilder mirror(c.graph, c.shape(0));
    at = identityAt(c.rank(0));
    at[axis] = IndexExpr::constant(extent - 1) - at[axis];
    result = mirror.pull(mirror.read(result, at), type);
  }
  c.setOutput(0, result);
}

/// A Sort of the keys, whose first k positions are the indices; the values are
/// a gather of them. A NaN counts as the largest number.
void topK(NodeContext &c) {
  std::vector<int64_t> counts = c.opset < 10
                                    ? std::vector<int64_t>{c.attrInt("k")}
                                    : c.constantInts(1, "k");
  if (counts.size() != 1)
    c.refuse("its k should be one number");
  int64_t axis = c.axis(c.attrInt("axis", -1), c.rank(0)), k = counts[0];
  bool largest = c.opset < 11 || c.attrInt("largest", 1) != 0;
  if (k < 0 || k > c.extents(0)[axis])
    c.refuse("a dimension of " + std::to_string(c.extents(0)[axis]) +
             " has no " + std::to_string(k) + " elements to choose");
  BodyBuilder body(c.graph, c.shape(0));
  ValueId order = body.sort(body.readWide(c.input(0), identityAt(c.rank(0))),
                            axis, largest, k);
  if (c.wantsOutput(0)) {
    BodyBuilder values(c.graph, c.graph.type(order).shape);
    ScalarId position = values.read(order, identityAt(c.rank(0)));
    std::vector<IndexExpr> at = identityAt(c.rank(0));
    at[axis] = IndexExpr::runtime(0);
    c.setOutput(0, values.pull(values.read(c.input(0), at, {}, {position}),
                               c.element(0)));
  }
  if (c.numOutputs() > 1)
    c.setOutput(1, order);
}

constexpr Rule kRules[] = {
    {"CumProd", 26, kNewest, cumulate<Op::Mul>},
    {"CumSum", 11, kNewest, cumulate<Op::Add>},
    {"TopK", 1, kNewest, topK},
};

} // namespace

std::span<const Rule> orderedRules() { return kRules; }

} // namespace lockstitch::onnx
