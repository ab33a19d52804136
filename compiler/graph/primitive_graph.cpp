#include "compiler/graph/primitive_graph.h"

#include "compiler/graph/loop.h"

#include <algorithm>

namespace lockstitch {

std::string toString(const TensorType &type) {
  std::string shape = type.shape.empty() ? "" : toString(type.shape);
  return std::string(name(type.element)) + "[" + shape + "]";
}

ConstantData ConstantData::own(std::vector<std::byte> bytes) {
  auto owner = std::make_shared<std::vector<std::byte>>(std::move(bytes));
  return {owner->data(), owner->size(), owner};
}

Reducer Reducer::simple(ScalarOpcode opcode, ElementType type,
                        ElementType resultType) {
  Reducer reducer;
  ElementType accumulator =
      type == ElementType::Bool ? ElementType::Bool : computeType(type);
  reducer.types = {accumulator};
  ScalarConstant neutral;
  auto minimum = [&](bool lowest) {
    if (isFloat(accumulator))
      return ScalarConstant::fromDouble(lowest ? -__builtin_inf()
                                               : __builtin_inf());
    unsigned bits = bitWidth(accumulator);
    if (isSignedInteger(accumulator)) {
      int64_t low = static_cast<int64_t>(~0ull << (bits - 1));
      return ScalarConstant::fromInt(lowest ? low : ~low);
    }
    return ScalarConstant::fromInt(
        lowest ? 0
               : static_cast<int64_t>(bits == 64 ? ~0ull : (1ull << bits) - 1));
  };
  switch (opcode) {
  case ScalarOpcode::Mul:
    neutral = isFloat(accumulator) ? ScalarConstant::fromDouble(1)
                                   : ScalarConstant::fromInt(1);
    break;
  case ScalarOpcode::Max:
    neutral = minimum(true);
    break;
  case ScalarOpcode::Min:
    neutral = minimum(false);
    break;
  case ScalarOpcode::And:
    neutral =
        ScalarConstant::fromInt(accumulator == ElementType::Bool ? 1 : -1);
    break;
  default:
    break;
  }
  reducer.init = {neutral};
  for (ScalarProgram *program : {&reducer.update, &reducer.combine}) {
    ScalarBuilder builder(*program);
    ScalarId left = builder.argument(0, accumulator),
             right = builder.argument(1, accumulator);
    program->results = {builder.op(opcode, {left, right})};
  }
  ScalarBuilder builder(reducer.finish);
  reducer.finish.results = {
      builder.cast(builder.argument(0, accumulator), resultType)};
  return reducer;
}

ValueId PrimitiveGraph::addInput(std::string name, TensorType type) {
  values.push_back(
      {Value::Kind::Input, std::move(type), std::move(name), kNone, {}});
  inputs.push_back(static_cast<ValueId>(values.size() - 1));
  return inputs.back();
}

ValueId PrimitiveGraph::addConstant(std::string name, TensorType type,
                                    ConstantData data) {
  values.push_back({Value::Kind::Constant, std::move(type), std::move(name),
                    kNone, std::move(data)});
  return static_cast<ValueId>(values.size() - 1);
}

ValueId PrimitiveGraph::add(Primitive primitive, TensorType type,
                            std::string valueName) {
  ValueId result = static_cast<ValueId>(values.size());
  values.push_back({Value::Kind::Result,
                    std::move(type),
                    std::move(valueName),
                    static_cast<PrimitiveId>(primitives.size()),
                    {}});
  primitive.result = result;
  primitives.push_back(std::move(primitive));
  return result;
}

std::vector<std::vector<PrimitiveId>> PrimitiveGraph::users() const {
  std::vector<std::vector<PrimitiveId>> users(values.size());
  for (PrimitiveId id = 0; id < primitives.size(); ++id)
    for (ValueId operand : primitives[id].operands)
      if (users[operand].empty() || users[operand].back() != id)
        users[operand].push_back(id);
  return users;
}

bool isReshape(const PrimitiveGraph &graph, const Primitive &primitive) {
  if (primitive.kind != Primitive::Kind::Pull || primitive.operands.size() != 1)
    return false;
  const ScalarProgram &body = primitive.body;
  if (body.results.size() != 1 ||
      body[body.results[0]].opcode != ScalarOpcode::Read)
    return false;
  const ScalarOp &read = body[body.results[0]];
  const TensorType &from = graph.type(primitive.operands[0]),
                   &to = graph.type(primitive.result);
  if (from.element != to.element || !read.args.empty() ||
      !read.map.constraints.empty() || from.elements() != to.elements())
    return false;
  IndexRanges ranges = rangesOf(primitive.domain);
  return linearize(read.map.results, from.shape, ranges) ==
         linearize(IndexMap::identity(primitive.domain.size()).results,
                   to.shape, ranges);
}

ValueId storageRoot(const PrimitiveGraph &graph, ValueId value) {
  if (value < graph.storageRoots.size())
    return graph.storageRoots[value];
  while (graph.values[value].kind == Value::Kind::Result) {
    const Primitive &primitive = graph.primitives[graph.values[value].producer];
    if (!isReshape(graph, primitive))
      break;
    value = primitive.operands[0];
  }
  return value;
}

std::optional<StridedView> asStridedView(const PrimitiveGraph &graph,
                                         const Primitive &primitive) {
  if (primitive.kind != Primitive::Kind::Pull || primitive.operands.size() != 1)
    return std::nullopt;
  const ScalarProgram &body = primitive.body;
  if (body.results.size() != 1 ||
      body[body.results[0]].opcode != ScalarOpcode::Read)
    return std::nullopt;
  const ScalarOp &read = body[body.results[0]];
  const TensorType &from = graph.type(primitive.operands[0]);
  if (from.element != graph.type(primitive.result).element ||
      !read.args.empty() || !read.map.constraints.empty())
    return std::nullopt;
  IndexRanges ranges = rangesOf(primitive.domain);
  LinearForm form =
      toLinearForm(linearize(read.map.results, from.shape, ranges), ranges);
  StridedView view;
  view.offset = form.constant;
  view.strides.resize(primitive.domain.size(), 0);
  for (const auto &[atom, coefficient] : form.terms) {
    if (atom.kind() != IndexExpr::Kind::Dim)
      return std::nullopt;
    view.strides[atom.position()] = coefficient;
  }
  return view;
}

namespace {

/// Checks one scalar program; `arguments` are the types of a region's arguments (empty for a body).
std::optional<std::string>
verifyProgram(const PrimitiveGraph &graph, const Primitive &primitive,
              const ScalarProgram &program,
              const std::vector<ElementType> &arguments, bool isBody) {
  IndexRanges ranges = rangesOf(primitive.domain);
  auto at = [](size_t i) { return "%" + std::to_string(i); };
  for (size_t i = 0; i < program.ops.size(); ++i) {
    const ScalarOp &op = program.ops[i];
    int wanted = arity(op.opcode);
    if (wanted >= 0 && op.args.size() != static_cast<size_t>(wanted))
      return at(i) + " has " + std::to_string(op.args.size()) + " arguments";
    for (ScalarId arg : op.args)
      if (arg >= i)
        return at(i) + " uses a later value";
    switch (op.opcode) {
    case ScalarOpcode::Argument:
      if (isBody || op.operand >= arguments.size() ||
          arguments[op.operand] != op.type)
        return at(i) + " is no argument of this region";
      break;
    case ScalarOpcode::Read: {
      if (!isBody)
        return at(i) + " reads a tensor outside of a body";
      if (op.operand >= primitive.operands.size())
        return at(i) + " reads operand " + std::to_string(op.operand) +
               ", which is not there";
      const TensorType &type = graph.type(primitive.operands[op.operand]);
      if (type.element != op.type ||
          op.map.results.size() != type.shape.size() ||
          op.map.numDims != primitive.domain.size())
        return at(i) + " does not fit operand " + toString(type);
      if (numElements(primitive.domain) == 0)
        break;
      for (size_t d = 0; d < type.shape.size(); ++d) {
        if (op.map.results[d].usesAnyRuntime())
          continue; // the body clamps it
        bool guarded = false;
        for (const IndexConstraint &constraint : op.map.constraints)
          guarded |= simplify(constraint.expr, ranges) ==
                         simplify(op.map.results[d], ranges) &&
                     constraint.lo >= 0 &&
                     constraint.hi < type.shape[d].value();
        if (guarded)
          continue;
        Interval range = rangeOf(op.map.results[d], ranges);
        if (range.low < 0 || range.high >= type.shape[d].value())
          return at(i) + " reads outside of " + toString(type) + " at " +
                 toString(op.map);
      }
      break;
    }
    case ScalarOpcode::Select:
      if (program[op.args[0]].type != ElementType::Bool ||
          program[op.args[1]].type != op.type ||
          program[op.args[2]].type != op.type)
        return at(i) + " selects between different types";
      break;
    case ScalarOpcode::Cast:
    case ScalarOpcode::Constant:
    case ScalarOpcode::Index:
    case ScalarOpcode::InRange:
      break;
    default:
      for (ScalarId arg : op.args)
        if (program[arg].type != program[op.args[0]].type)
          return at(i) + " mixes types";
      if (op.type != ElementType::Bool && op.type != program[op.args[0]].type)
        return at(i) + " changes its type";
      if ((op.type == ElementType::F16 || op.type == ElementType::BF16))
        return at(i) + " does arithmetic in a 16-bit type";
      break;
    }
  }
  for (ScalarId result : program.results)
    if (result >= program.ops.size())
      return "yields a value that is not there";
  return std::nullopt;
}

/// Does the iteration space fit the shape of the result?
std::optional<std::string> verifySpace(const PrimitiveGraph &graph,
                                       const Primitive &primitive) {
  const TensorType &result = graph.type(primitive.result);
  const Shape &domain = primitive.domain;
  switch (primitive.kind) {
  case Primitive::Kind::Pull:
  case Primitive::Kind::Reduce:
    if (primitive.reducedDims > domain.size() ||
        primitive.resultRank() != result.shape.size() ||
        !std::equal(result.shape.begin(), result.shape.end(), domain.begin()))
      return "its domain does not begin with the shape of its result " +
             toString(result);
    break;
  case Primitive::Kind::Scan:
  case Primitive::Kind::Sort: {
    Shape shape = result.shape;
    bool fits = primitive.along < domain.size() &&
                domain.size() == shape.size() && primitive.reducedDims == 0;
    if (fits && primitive.kind == Primitive::Kind::Sort &&
        shape[primitive.along].value() < domain[primitive.along].value())
      shape[primitive.along] = domain[primitive.along]; // only the first ones
    if (!fits || shape != domain)
      return "its domain does not fit its result " + toString(result);
    break;
  }
  case Primitive::Kind::Push:
    if (primitive.reducedDims ||
        primitive.target.numDims != primitive.domain.size() ||
        primitive.target.results.size() != result.shape.size())
      return "its target does not lead from its domain to its result " +
             toString(result);
    break;
  case Primitive::Kind::Library:
  case Primitive::Kind::Loop:
  case Primitive::Kind::Project:
    break;
  }
  return std::nullopt;
}

bool usesRuntimeFrom(const IndexExpr &expr, size_t first) {
  switch (expr.kind()) {
  case IndexExpr::Kind::Constant:
  case IndexExpr::Kind::Dim:
    return false;
  case IndexExpr::Kind::Runtime:
    return expr.position() >= first;
  default:
    return usesRuntimeFrom(expr.lhs(), first) ||
           usesRuntimeFrom(expr.rhs(), first);
  }
}

std::optional<std::string> verifyPush(const PrimitiveGraph &graph,
                                      const Primitive &primitive) {
  const TensorType &result = graph.type(primitive.result);
  const ScalarProgram &body = primitive.body;
  if (primitive.operands.empty() ||
      !(graph.type(primitive.operands[0]) == result))
    return "its operand 0 is no base of type " + toString(result);
  if (body.results.empty())
    return "yields no update";
  for (size_t i = 1; i < body.results.size(); ++i)
    if (body[body.results[i]].type != ElementType::I64)
      return "yields a target that is no i64";
  for (const IndexExpr &expr : primitive.target.results)
    if (usesRuntimeFrom(expr, body.results.size() - 1))
      return "its target uses a value that its body does not yield";
  for (const IndexConstraint &constraint : primitive.target.constraints)
    if (usesRuntimeFrom(constraint.expr, body.results.size() - 1))
      return "its target uses a value that its body does not yield";
  const Reducer &reducer = primitive.reducer;
  if (reducer.types.size() != 1 ||
      (reducer.types[0] != result.element &&
       reducer.types[0] != computeType(result.element)))
    return "a push has one accumulator, an element of its result";
  return std::nullopt;
}

std::optional<std::string> verifyReducer(const PrimitiveGraph &graph,
                                         const Primitive &primitive) {
  const Reducer &reducer = primitive.reducer;
  std::vector<ElementType> updateTypes = reducer.types,
                           combineTypes = reducer.types,
                           finishTypes = reducer.types;
  for (ScalarId id : primitive.body.results)
    updateTypes.push_back(primitive.body[id].type);
  if (primitive.kind == Primitive::Kind::Push)
    updateTypes.resize(2); // the rest of what the body yields says where
  combineTypes.insert(combineTypes.end(), reducer.types.begin(),
                      reducer.types.end());
  if (reducer.init.size() != reducer.types.size() ||
      reducer.update.results.size() != reducer.types.size() ||
      reducer.combine.results.size() != reducer.types.size() ||
      reducer.finish.results.size() != 1)
    return "its reducer's regions do not fit its accumulators";
  for (auto [program, types] : {std::pair{&reducer.update, &updateTypes},
                                std::pair{&reducer.combine, &combineTypes},
                                std::pair{&reducer.finish, &finishTypes}})
    if (auto problem = verifyProgram(graph, primitive, *program, *types, false))
      return "reducer: " + *problem;
  if (reducer.finish[reducer.finish.results[0]].type !=
      graph.type(primitive.result).element)
    return "finishes with another type than its result's";
  return std::nullopt;
}

} // namespace

std::optional<std::string> PrimitiveGraph::verify() const {
  for (PrimitiveId id = 0; id < primitives.size(); ++id) {
    const Primitive &primitive = primitives[id];
    auto wrong = [&](const std::string &what) {
      return primitive.name + ": " + what;
    };
    if (primitive.result >= values.size() ||
        values[primitive.result].producer != id)
      return wrong("its result does not name it as the producer");
    for (ValueId operand : primitive.operands)
      if (operand >= primitive.result)
        return wrong("uses a later value");
    if (primitive.kind == Primitive::Kind::Library)
      continue;
    if (primitive.kind == Primitive::Kind::Loop ||
        primitive.kind == Primitive::Kind::Project) {
      if (auto problem = verifyLoop(*this, primitive))
        return wrong(*problem);
      continue;
    }
    if (auto problem = verifySpace(*this, primitive))
      return wrong(*problem);
    const TensorType &result = type(primitive.result);
    if (auto problem =
            verifyProgram(*this, primitive, primitive.body, {}, true))
      return wrong("body: " + *problem);
    switch (primitive.kind) {
    case Primitive::Kind::Pull:
      if (primitive.reducedDims || primitive.body.results.size() != 1)
        return wrong("a pull yields one value and reduces nothing");
      if (primitive.body[primitive.body.results[0]].type != result.element)
        return wrong("yields another type than its result's");
      break;
    case Primitive::Kind::Sort:
      if (primitive.body.results.size() != 1 ||
          result.element != ElementType::I64)
        return wrong("a sort yields one key and makes positions of type i64");
      break;
    case Primitive::Kind::Push:
      if (auto problem = verifyPush(*this, primitive))
        return wrong(*problem);
      [[fallthrough]];
    case Primitive::Kind::Reduce:
    case Primitive::Kind::Scan:
      if (auto problem = verifyReducer(*this, primitive))
        return wrong(*problem);
      break;
    case Primitive::Kind::Library:
    case Primitive::Kind::Loop:
    case Primitive::Kind::Project:
      break;
    }
  }
  for (ValueId output : outputs)
    if (output >= values.size())
      return "an output is not there";
  return std::nullopt;
}

} // namespace lockstitch
