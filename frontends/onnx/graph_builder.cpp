#include "frontends/onnx/graph_builder.h"

#include "compiler/graph/evaluate_scalar.h"
#include "compiler/graph/uniform_constant.h"

#include <algorithm>

namespace lockstitch::onnx {

Shape toShape(const Extents &extents) {
  return Shape(extents.begin(), extents.end());
}

Extents toExtents(const Shape &shape) {
  Extents extents;
  for (const Dim &dim : shape)
    extents.push_back(dim.value());
  return extents;
}

std::vector<IndexExpr> identityAt(unsigned rank) {
  return IndexMap::identity(rank).results;
}

std::vector<IndexExpr> broadcastAt(const Shape &from, unsigned toRank) {
  std::vector<IndexExpr> at;
  for (size_t i = 0; i < from.size(); ++i)
    at.push_back(from[i].value() == 1
                     ? IndexExpr::constant(0)
                     : IndexExpr::dim(toRank - from.size() + i));
  return at;
}

// --- GraphBuilder

namespace {
constexpr int64_t kFoldElements = 64;
constexpr int64_t kFoldIntegerBytes = 64 << 10;
constexpr int64_t kAlwaysFoldBytes = 1 << 20;
constexpr int64_t kFoldWork = 1 << 20; // elements of the domain
constexpr size_t kSmallConstantBytes = 512;
constexpr int kFoldDepth =
    100; // primitives in a row, when a value is asked for
} // namespace

void GraphBuilder::setOrigin(OriginId origin) { currentOrigin = origin; }

void GraphBuilder::startWithin(const GraphBuilder &outer) {
  graph.origins = outer.graph.origins;
  currentOrigin = outer.currentOrigin;
  primitivesOf = outer.primitivesOf;
}

/// Is it computed by its body alone?
static bool canBeFolded(const Primitive &primitive) {
  return primitive.kind != Primitive::Kind::Library &&
         primitive.kind != Primitive::Kind::Loop &&
         primitive.kind != Primitive::Kind::Project;
}

bool GraphBuilder::isWorthFolding(const Primitive &primitive,
                                  const TensorType &type, bool always) const {
  if (!canBeFolded(primitive))
    return false;
  for (ValueId operand : primitive.operands)
    if (!isConstant(operand))
      return false;
  if (numElements(primitive.domain) > kFoldWork)
    return false;
  if (always && type.bytes() <= kAlwaysFoldBytes)
    return true;
  return isFloat(type.element) ? type.elements() <= kFoldElements
                               : type.bytes() <= kFoldIntegerBytes;
}

ValueId GraphBuilder::add(Primitive primitive, TensorType type,
                          bool alwaysFold) {
  if (isWorthFolding(primitive, type, alwaysFold)) {
    std::vector<OperandView> operands;
    for (ValueId operand : primitive.operands)
      operands.push_back({graph.type(operand),
                          {graph.values[operand].constant.data,
                           graph.values[operand].constant.bytes}});
    auto bytes = evaluatePrimitive(primitive, type, operands);
    if (!bytes.ok())
      throw Refusal{
          "internal: folding failed: " + bytes.error().messages[0].reason, {}};
    return constant(type, std::move(*bytes));
  }
  primitive.name = graph.origins[currentOrigin].node + "/" +
                   std::to_string((*primitivesOf)[currentOrigin]++);
  primitive.origins = {currentOrigin};
  primitiveDependsOnInputs.push_back(
      std::any_of(primitive.operands.begin(), primitive.operands.end(),
                  [&](ValueId operand) { return dependsOnInputs(operand); }));
  return graph.add(std::move(primitive), std::move(type));
}

ValueId GraphBuilder::constant(const TensorType &type,
                               std::vector<std::byte> bytes) {
  if (bytes.size() > kSmallConstantBytes)
    return graph.addConstant({}, type, ConstantData::own(std::move(bytes)));
  auto [it, isNew] = smallConstants.try_emplace({toString(type), bytes}, kNone);
  if (isNew)
    it->second =
        graph.addConstant({}, type, ConstantData::own(std::move(bytes)));
  return it->second;
}

ValueId GraphBuilder::constantInts(const std::vector<int64_t> &values,
                                   Extents extents) {
  auto *begin = reinterpret_cast<const std::byte *>(values.data());
  return constant({ElementType::I64, toShape(extents)},
                  {begin, begin + values.size() * sizeof(int64_t)});
}

ValueId GraphBuilder::reshapedConstant(ValueId constant, const Extents &to) {
  const Value &value = graph.values[constant];
  return graph.addConstant(value.name, {value.type.element, toShape(to)},
                           ConstantData(value.constant));
}

bool GraphBuilder::dependsOnInputs(ValueId value) const {
  const Value &info = graph.values[value];
  return info.kind == Value::Kind::Input ||
         (info.kind == Value::Kind::Result &&
          primitiveDependsOnInputs[info.producer]);
}

std::optional<OperandView> GraphBuilder::constantBytes(ValueId value) {
  return constantBytes(value, 0);
}

std::optional<OperandView> GraphBuilder::constantBytes(ValueId value,
                                                       int depth) {
  const Value &info = graph.values[value];
  if (info.kind == Value::Kind::Constant)
    return OperandView{info.type, {info.constant.data, info.constant.bytes}};
  if (dependsOnInputs(value) || depth > kFoldDepth)
    return std::nullopt;
  if (auto it = evaluated.find(value); it != evaluated.end())
    return OperandView{info.type, it->second};
  const Primitive &primitive = graph.primitives[info.producer];
  if (!canBeFolded(primitive) || numElements(primitive.domain) > kFoldWork)
    return std::nullopt;
  std::vector<OperandView> operands;
  for (ValueId operand : primitive.operands) {
    auto bytes = constantBytes(operand, depth + 1);
    if (!bytes)
      return std::nullopt;
    operands.push_back(*bytes);
  }
  auto bytes = evaluatePrimitive(primitive, info.type, operands);
  if (!bytes.ok())
    throw Refusal{
        "internal: folding failed: " + bytes.error().messages[0].reason, {}};
  std::vector<std::byte> &kept = evaluated[value] = std::move(*bytes);
  return OperandView{info.type, kept};
}

std::optional<std::vector<int64_t>> GraphBuilder::constantInts(ValueId value) {
  if (isFloat(element(value)))
    return std::nullopt;
  auto bytes = constantBytes(value);
  if (!bytes)
    return std::nullopt;
  std::vector<int64_t> ints(bytes->type.elements());
  size_t width = byteSize(bytes->type.element);
  for (size_t i = 0; i < ints.size(); ++i)
    ints[i] =
        evaluation::load(bytes->type.element, bytes->bytes.data() + i * width)
            .integer;
  return ints;
}

std::optional<std::vector<double>> GraphBuilder::constantReals(ValueId value) {
  auto bytes = constantBytes(value);
  if (!bytes)
    return std::nullopt;
  std::vector<double> reals(bytes->type.elements());
  size_t width = byteSize(bytes->type.element);
  for (size_t i = 0; i < reals.size(); ++i) {
    evaluation::Slot slot =
        evaluation::load(bytes->type.element, bytes->bytes.data() + i * width);
    reals[i] = isFloat(bytes->type.element) ? slot.real
                                            : static_cast<double>(slot.integer);
  }
  return reals;
}

std::optional<ScalarConstant> GraphBuilder::splat(ValueId value) {
  const Value &info = graph.values[value];
  if (info.kind == Value::Kind::Constant)
    return uniformValue(info);
  if (info.kind == Value::Kind::Input)
    return std::nullopt;
  const Primitive &primitive = graph.primitives[info.producer];
  if (primitive.kind != Primitive::Kind::Pull)
    return std::nullopt;
  const ScalarOp &result = primitive.body[primitive.body.results[0]];
  return result.opcode == ScalarOpcode::Constant
             ? std::optional(result.constant)
             : std::nullopt;
}

// --- BodyBuilder

BodyBuilder::BodyBuilder(GraphBuilder &graph, Shape domain)
    : b(primitive.body), graph(graph), domainRanges(rangesOf(domain)) {
  primitive.domain = std::move(domain);
}

ScalarId BodyBuilder::read(ValueId value, std::vector<IndexExpr> at,
                           std::vector<IndexConstraint> constraints,
                           std::vector<ScalarId> runtimes) {
  const TensorType &type = graph.type(value);
  if (constraints.empty())
    if (std::optional<ScalarConstant> constant = graph.splat(value))
      return isFloat(type.element)
                 ? b.constant(type.element, constant->real)
                 : b.constantInt(type.element, constant->integer);
  auto it =
      std::find(primitive.operands.begin(), primitive.operands.end(), value);
  uint32_t operand = it - primitive.operands.begin();
  if (it == primitive.operands.end())
    primitive.operands.push_back(value);
  IndexMap map;
  map.numDims = rank();
  for (const IndexExpr &expr : at)
    map.results.push_back(simplify(expr, domainRanges));
  for (IndexConstraint &constraint : constraints) {
    constraint.expr = simplify(constraint.expr, domainRanges);
    Interval range = rangeOf(constraint.expr, domainRanges);
    if (range.low < constraint.lo || range.high > constraint.hi)
      map.constraints.push_back(std::move(constraint));
  }
  return b.read(operand, type.element, std::move(map), std::move(runtimes));
}

ScalarId BodyBuilder::readWide(ValueId value, std::vector<IndexExpr> at,
                               std::vector<IndexConstraint> constraints,
                               std::vector<ScalarId> runtimes) {
  ScalarId id =
      read(value, std::move(at), std::move(constraints), std::move(runtimes));
  return b.cast(id, computeType(b.type(id)));
}

ScalarId BodyBuilder::readBroadcast(ValueId value, unsigned rank) {
  return readWide(value, broadcastAt(graph.type(value).shape, rank));
}

/// Drops operations that no result needs, and operands that are read no more.
static void prune(Primitive &primitive) {
  ScalarProgram &body = primitive.body;
  std::vector<bool> isUsed(body.ops.size(), false),
      isRead(primitive.operands.size(), false);
  for (ScalarId result : body.results)
    isUsed[result] = true;
  for (size_t i = body.ops.size(); i-- > 0;) {
    if (!isUsed[i])
      continue;
    for (ScalarId arg : body.ops[i].args)
      isUsed[arg] = true;
    if (body.ops[i].opcode == ScalarOpcode::Read)
      isRead[body.ops[i].operand] = true;
  }
  if (primitive.kind == Primitive::Kind::Push)
    isRead[0] = true; // its base
  std::vector<uint32_t> newOperand(primitive.operands.size());
  std::vector<ValueId> operands;
  for (size_t i = 0; i < isRead.size(); ++i)
    if (isRead[i])
      newOperand[i] = operands.size(),
      operands.push_back(primitive.operands[i]);
  std::vector<ScalarId> newId(body.ops.size());
  std::vector<ScalarOp> ops;
  for (size_t i = 0; i < body.ops.size(); ++i) {
    if (!isUsed[i])
      continue;
    newId[i] = ops.size();
    ops.push_back(std::move(body.ops[i]));
    for (ScalarId &arg : ops.back().args)
      arg = newId[arg];
    if (ops.back().opcode == ScalarOpcode::Read)
      ops.back().operand = newOperand[ops.back().operand];
  }
  for (ScalarId &result : body.results)
    result = newId[result];
  body.ops = std::move(ops);
  primitive.operands = std::move(operands);
}

ValueId BodyBuilder::pull(ScalarId result, ElementType element,
                          bool alwaysFold) {
  primitive.kind = Primitive::Kind::Pull;
  primitive.body.results = {b.cast(result, element)};
  prune(primitive);
  TensorType type{element, primitive.domain};
  return graph.add(std::move(primitive), std::move(type), alwaysFold);
}

ValueId BodyBuilder::reduce(std::vector<ScalarId> values, unsigned reducedDims,
                            Reducer reducer, ElementType element) {
  primitive.kind = Primitive::Kind::Reduce;
  primitive.reducedDims = reducedDims;
  primitive.body.results = std::move(values);
  prune(primitive);
  primitive.reducer = std::move(reducer);
  TensorType type{element, Shape(primitive.domain.begin(),
                                 primitive.domain.end() - reducedDims)};
  return graph.add(std::move(primitive), std::move(type));
}

ValueId BodyBuilder::scan(std::vector<ScalarId> values, unsigned along,
                          Reducer reducer, ElementType element) {
  primitive.kind = Primitive::Kind::Scan;
  primitive.along = along;
  primitive.body.results = std::move(values);
  prune(primitive);
  primitive.reducer = std::move(reducer);
  TensorType type{element, primitive.domain};
  return graph.add(std::move(primitive), std::move(type));
}

ValueId BodyBuilder::push(ValueId base, ScalarId update, IndexMap target,
                          std::vector<ScalarId> runtimes, Reducer reducer) {
  primitive.kind = Primitive::Kind::Push;
  primitive.body.results = {b.cast(update, reducer.types[0])};
  primitive.body.results.insert(primitive.body.results.end(), runtimes.begin(),
                                runtimes.end());
  // The base is operand 0, which the body may read as well.
  for (ScalarOp &op : primitive.body.ops)
    if (op.opcode == ScalarOpcode::Read)
      ++op.operand;
  primitive.operands.insert(primitive.operands.begin(), base);
  prune(primitive);
  primitive.target = std::move(target);
  primitive.reducer = std::move(reducer);
  TensorType type = graph.type(base);
  return graph.add(std::move(primitive), std::move(type));
}

ValueId BodyBuilder::sort(ScalarId key, unsigned along, bool descending,
                          int64_t count) {
  primitive.kind = Primitive::Kind::Sort;
  primitive.along = along;
  primitive.descending = descending;
  primitive.body.results = {key};
  prune(primitive);
  TensorType type{ElementType::I64, primitive.domain};
  type.shape[along] = count;
  return graph.add(std::move(primitive), std::move(type));
}

} // namespace lockstitch::onnx
