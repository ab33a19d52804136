#include "compiler/schedule/instance_graph.h"

#include "compiler/graph/hash.h"

#include <algorithm>
#include <bit>

namespace lockstitch {

InstanceGraph::InstanceGraph(const PrimitiveGraph &graph,
                             const KernelSpec &spec,
                             const StageOptions &options, int64_t rows)
    : rows(rows), graph(graph), spec(spec), options(options),
      position(graph.primitives.size(), -1),
      cooperative(graph.primitives.size(), false) {
  for (size_t i = 0; i < spec.members.size(); ++i)
    position[spec.members[i]] = static_cast<int>(i);
}

IndexRanges InstanceGraph::ranges(int64_t columns) const {
  StageProgram program;
  program.rows = rows;
  program.loopTrips = loopTrips;
  return program.ranges(columns);
}

IndexMap InstanceGraph::rowMap(const Shape &shape) const {
  IndexMap row;
  row.numDims = 2;
  row.results = {IndexExpr::dim(kRowDim)};
  return compose(IndexMap::delinearize(shape), row, ranges(1));
}

Dependence InstanceGraph::dependenceOf(const IndexExpr &expr) const {
  switch (expr.kind()) {
  case IndexExpr::Kind::Constant:
    return {};
  case IndexExpr::Kind::Dim:
    if (expr.position() == kRowDim)
      return {};
    if (expr.position() == kColumnDim)
      return {true, 0};
    return {false, 1ull << (expr.position() - kFirstLoopDim)};
  case IndexExpr::Kind::Runtime:
    return runtimeVariables[expr.position()].dependence;
  default:
    return dependenceOf(expr.lhs()) | dependenceOf(expr.rhs());
  }
}

Dependence InstanceGraph::dependenceOf(const IndexMap &map) const {
  Dependence dependence;
  for (const IndexExpr &result : map.results)
    dependence = dependence | dependenceOf(result);
  for (const IndexConstraint &constraint : map.constraints)
    dependence = dependence | dependenceOf(constraint.expr);
  return dependence;
}

InstanceId InstanceGraph::refuse(bool byProfit, std::string reason,
                                 Figures figures, PrimitiveId about) {
  if (refusal.reason.empty())
    refusal = {byProfit,
               about == kNone ? std::move(reason)
                              : nodeOf(graph, about) + " " + reason,
               std::move(figures), about};
  return kNone;
}

InstanceId InstanceGraph::find(uint64_t key, const Instance &like) const {
  auto [first, last] = table.equal_range(key);
  for (auto at = first; at != last; ++at) {
    const Instance &other = instances[at->second];
    if (other.kind == like.kind && other.value == like.value &&
        other.primitive == like.primitive && other.map == like.map &&
        other.offset == like.offset && other.guards == like.guards &&
        (!like.dependence.column || other.columns == like.columns))
      return at->second;
  }
  return kNone;
}

InstanceId InstanceGraph::add(uint64_t key, Instance instance) {
  if (instances.size() >= options.maxInstances)
    return refuse(
        false,
        "its values are read at more than " +
            std::to_string(options.maxInstances) +
            " places; computing them anew at each would multiply the work",
        {{Figure::Places, static_cast<double>(instances.size() + 1)},
         {Figure::PlacesLimit, static_cast<double>(options.maxInstances)}});
  InstanceId id = static_cast<InstanceId>(instances.size());
  instances.push_back(std::move(instance));
  table.emplace(key, id);
  return id;
}

InstanceId InstanceGraph::load(ValueId value, const IndexMap &map,
                               int64_t columns, int level) {
  Instance instance;
  instance.kind = Instance::Kind::Load;
  instance.value = storageRoot(graph, value);
  instance.offset =
      linearize(map.results, graph.type(value).shape, ranges(columns));
  instance.guards = map.constraints;
  instance.dependence = dependenceOf(map);
  instance.columns = columns;
  instance.level = level;
  instance.readsMemory = true;
  uint64_t key = combineHash(instance.value, instance.offset.hash());
  if (InstanceId found = find(key, instance); found != kNone)
    return found;
  return add(key, std::move(instance));
}

InstanceId InstanceGraph::get(ValueId value, const IndexMap &map,
                              int64_t columns, int level) {
  PrimitiveId primitive = graph.values[value].producer;
  if (!isMember(primitive))
    return load(value, map, columns, level);
  switch (graph.primitives[primitive].kind) {
  case Primitive::Kind::Reduce:
    return reduction(primitive, map, columns, level);
  case Primitive::Kind::Scan:
    return scanned(primitive, map);
  case Primitive::Kind::Library:
  case Primitive::Kind::Push:
  case Primitive::Kind::Sort:
  case Primitive::Kind::Loop:
  case Primitive::Kind::Project:
    return refuse(false,
                  "is a " +
                      std::string(toString(graph.primitives[primitive].kind)) +
                      ", which has no stage of its own",
                  {}, primitive);
  case Primitive::Kind::Pull:
    break;
  }

  Instance instance;
  instance.kind = Instance::Kind::Pull;
  instance.value = value;
  instance.primitive = primitive;
  instance.map = map;
  instance.dependence = dependenceOf(map);
  instance.columns = columns;
  instance.level = level;
  uint64_t key = combineHash(combineHash(value, map.hash()), 1);
  if (InstanceId found = find(key, instance); found != kNone)
    return known(found);
  if (!checkRecompute(instance, graph.primitives[primitive]))
    return kNone;
  InstanceId id = add(key, std::move(instance));
  return id != kNone && readOperands(id) ? id : kNone;
}

/// How often a value with this dependence is computed: it stands in the innermost loop that it depends on, and that loop runs
/// as often as whatever it is nested in, also where the value does not depend on that.
double InstanceGraph::evaluationsOf(const Dependence &dependence,
                                    int64_t columns) const {
  double evaluations =
      static_cast<double>(rows) * (dependence.column ? columns : 1);
  for (size_t i = 0; i < loopExecutions.size(); ++i)
    if (dependence.loops >> i & 1)
      evaluations = std::max(evaluations, loopExecutions[i]);
  return evaluations;
}

/// Is this instance evaluated much more often than its primitive has elements, and dear?
bool InstanceGraph::checkRecompute(const Instance &instance,
                                   const Primitive &primitive) {
  int64_t elements =
      std::max<int64_t>(graph.type(primitive.result).elements(), 1);
  double evaluations = evaluationsOf(instance.dependence, instance.columns);
  if (evaluations <= 4.0 * static_cast<double>(elements))
    return true;
  for (const ScalarOp &op : primitive.body.ops)
    if (isTranscendental(op.opcode)) {
      refuse(true,
             "would be computed " +
                 std::to_string(static_cast<int64_t>(evaluations)) +
                 " times for its " + std::to_string(elements) + " elements",
             {{Figure::RecomputeFactor,
               evaluations / static_cast<double>(elements)}},
             graph.values[primitive.result].producer);
      return false;
    }
  return true;
}

InstanceId InstanceGraph::reduction(PrimitiveId id, const IndexMap &map,
                                    int64_t columns, int level) {
  const Primitive &primitive = graph.primitives[id];
  Shape reduced(primitive.domain.begin() + primitive.resultRank(),
                primitive.domain.end());
  int64_t extent = numElements(reduced);
  Shape result(primitive.domain.begin(),
               primitive.domain.begin() + primitive.resultRank());

  if (cooperative[id]) {
    IndexMap own = rowMap(result);
    IndexMap plain = map;
    plain.constraints
        .clear(); // a guard only says that the value is not wanted elsewhere
    if (plain.results == own.results) {
      Instance instance;
      instance.kind = Instance::Kind::RowResult;
      instance.value = primitive.result;
      instance.primitive = id;
      uint64_t key = combineHash(id, 2);
      if (InstanceId found = find(key, instance); found != kNone)
        return found;
      Instance body;
      body.kind = Instance::Kind::RowBody;
      body.primitive = id;
      body.columns = extent;
      body.trips = extent;
      body.map = own;
      body.dependence.column = true;
      IndexMap column;
      column.numDims = 2;
      column.results = {IndexExpr::dim(kColumnDim)};
      for (const IndexExpr &coordinate :
           compose(IndexMap::delinearize(reduced), column, ranges(extent))
               .results)
        body.map.results.push_back(coordinate);
      InstanceId bodyId = add(combineHash(id, 3), std::move(body));
      if (bodyId == kNone || !readOperands(bodyId))
        return kNone;
      instance.body = bodyId;
      instance.level = instances[bodyId].level + 1;
      instance.readsMemory = true;
      return add(key, std::move(instance));
    }
    return refuse(
        false,
        "is needed at " +
            toString(map.results.empty() ? IndexExpr() : map.results[0]) +
            (map.results.size() > 1 ? ", ..." : "") +
            ", which is another row than the one that this block reduces",
        {}, id);
  }

  // In one lane, as a loop. That must not repeat the reduction for elements that share it.
  Dependence dependence = dependenceOf(map);
  double evaluations = evaluationsOf(dependence, columns);
  int64_t elements = std::max<int64_t>(numElements(result), 1);
  if (evaluations > static_cast<double>(elements) && extent > 1)
    return refuse(false,
                  "folds " + std::to_string(extent) +
                      " elements and would be repeated " +
                      std::to_string(static_cast<int64_t>(evaluations)) +
                      " times for its " + std::to_string(elements) + " results",
                  {{Figure::RecomputeFactor,
                    evaluations / static_cast<double>(elements)}},
                  id);
  Instance instance;
  instance.kind = Instance::Kind::Loop;
  instance.value = primitive.result;
  instance.primitive = id;
  instance.dependence = dependence;
  instance.columns = columns;
  instance.level = level;
  instance.trips = extent;
  instance.readsMemory = true;
  instance.map = map;
  uint64_t key = combineHash(combineHash(id, map.hash()), 4);
  // The loop's own dimension is not part of the identity: look before it is allocated.
  auto [first, last] = table.equal_range(key);
  for (auto at = first; at != last; ++at) {
    const Instance &other = instances[at->second];
    if (other.kind == Instance::Kind::Loop && other.primitive == id &&
        std::equal(map.results.begin(), map.results.end(),
                   other.map.results.begin()) &&
        (!dependence.column || other.columns == columns))
      return known(at->second);
  }
  if (loopTrips.size() >= 60)
    return refuse(false, "it would hold more than 60 loops",
                  {{Figure::Loops, static_cast<double>(loopTrips.size() + 1)},
                   {Figure::LoopsLimit, 60}});
  instance.loopDim = kFirstLoopDim + static_cast<unsigned>(loopTrips.size());
  loopTrips.push_back(extent);
  loopExecutions.push_back(evaluations * static_cast<double>(extent));
  IndexMap loop;
  loop.numDims = instance.loopDim + 1;
  loop.results = {IndexExpr::dim(instance.loopDim)};
  for (const IndexExpr &coordinate :
       compose(IndexMap::delinearize(reduced), loop, ranges(columns)).results)
    instance.map.results.push_back(coordinate);
  InstanceId added = add(key, std::move(instance));
  return added != kNone && readOperands(added) ? added : kNone;
}

InstanceId InstanceGraph::makeScan(PrimitiveId id, int64_t columns) {
  const Primitive &primitive = graph.primitives[id];
  Shape lines = primitive.domain;
  lines.erase(lines.begin() + primitive.along);
  Instance instance;
  instance.kind = Instance::Kind::Scan;
  instance.value = primitive.result;
  instance.primitive = id;
  instance.columns = columns;
  instance.trips = primitive.domain[primitive.along].value();
  instance.loopDim = kFirstLoopDim + static_cast<unsigned>(loopTrips.size());
  // A line of one element is walked like any other: with the range 0 .. 0 its loop would vanish from every map.
  loopTrips.push_back(std::max<int64_t>(instance.trips, 2));
  IndexMap linear;
  linear.numDims = instance.loopDim + 1;
  linear.results = {IndexExpr::dim(kRowDim) * IndexExpr::constant(columns) +
                    IndexExpr::dim(kColumnDim)};
  instance.map = compose(IndexMap::delinearize(lines), linear, ranges(columns));
  instance.map.results.insert(instance.map.results.begin() + primitive.along,
                              IndexExpr::dim(instance.loopDim));
  instance.dependence = dependenceOf(instance.map);
  instance.readsMemory = true;
  scan = add(combineHash(id, 5), std::move(instance));
  return scan != kNone && readOperands(scan) ? scan : kNone;
}

/// The member scan is there where its own loop is, nowhere else.
InstanceId InstanceGraph::scanned(PrimitiveId id, const IndexMap &map) {
  if (scan == kNone || instances[scan].primitive != id)
    return refuse(false, "scans, which this kernel's lanes do not", {}, id);
  if (map.results != instances[scan].map.results)
    return refuse(false,
                  "is needed at another element than the one that a lane has "
                  "just scanned",
                  {}, id);
  return known(scan);
}

bool InstanceGraph::readOperands(InstanceId id) {
  // `instances` grows in here: copy what is needed.
  const PrimitiveId primitiveId = instances[id].primitive;
  const Primitive &primitive = graph.primitives[primitiveId];
  const IndexMap map = instances[id].map;
  const int64_t columns = instances[id].columns;
  Dependence inside = dependenceOf(map);
  if (instances[id].trips == 0 && instances[id].kind != Instance::Kind::Pull)
    return true; // an empty reduction reads nothing
  std::vector<int> levels(primitive.body.ops.size(), instances[id].level);
  int level = instances[id].level;
  bool readsMemory = instances[id].readsMemory;
  for (ScalarId i = 0; i < primitive.body.ops.size(); ++i) {
    const ScalarOp &op = primitive.body.ops[i];
    for (ScalarId arg : op.args)
      levels[i] = std::max(levels[i], levels[arg]);
    if (op.opcode != ScalarOpcode::Read)
      continue;
    IndexMap local = op.map;
    if (!op.args.empty()) {
      std::vector<IndexExpr> globals;
      std::vector<unsigned> ids;
      for (ScalarId arg : op.args) {
        ids.push_back(static_cast<unsigned>(runtimeVariables.size()));
        globals.push_back(IndexExpr::runtime(ids.back()));
        runtimeVariables.push_back({id, arg, inside});
      }
      for (IndexExpr &result : local.results)
        result = substitute(result, {}, globals);
      for (IndexConstraint &constraint : local.constraints)
        constraint.expr = substitute(constraint.expr, {}, globals);
      instances[id].runtimes[i] = std::move(ids);
    }
    IndexMap composed = compose(local, map, ranges(columns));
    InstanceId operand =
        get(primitive.operands[op.operand], composed, columns, levels[i]);
    if (operand == kNone) {
      instances[id].failed = true;
      return false;
    }
    instances[id].reads[i] = operand;
    levels[i] = std::max(levels[i], instances[operand].level);
    level = std::max(level, levels[i]);
    readsMemory |= instances[operand].readsMemory;
  }
  instances[id].level = level;
  instances[id].levels = std::move(levels);
  instances[id].readsMemory = readsMemory;
  return true;
}

} // namespace lockstitch
