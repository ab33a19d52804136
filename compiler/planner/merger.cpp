#include "compiler/planner/merger.h"

#include <algorithm>

namespace lockstitch {
namespace {

constexpr size_t kSiblingsTried = 8; // behind each reader of a value

uint64_t pairOf(uint32_t a, uint32_t b) {
  return static_cast<uint64_t>(a) << 32 | b;
}

std::string savings(const PrimitiveGraph &graph, PrimitiveId a, PrimitiveId b) {
  const TensorType &type = graph.type(graph.primitives[a].result);
  for (ValueId operand : graph.primitives[b].operands)
    if (operand == graph.primitives[a].result)
      return "saves a launch and up to " + std::to_string(2 * type.bytes()) +
             " bytes between them";
  return "saves a launch and reading the shared value twice";
}

} // namespace

Merger::Merger(const PrimitiveGraph &graph, const PlannerOptions &options,
               Rules rules)
    : partition(graph), graph(graph), options(options), rules(std::move(rules)),
      verdicts(graph, options.target) {}

bool Merger::mergeAlongEdges() {
  bool changed = false;
  for (PrimitiveId consumer = 0; consumer < graph.primitives.size(); ++consumer)
    for (ValueId operand : graph.primitives[consumer].operands)
      if (PrimitiveId producer = graph.values[operand].producer;
          producer != kNone)
        changed |= tryMerge(producer, consumer);
  return changed;
}

bool Merger::mergeSiblings() {
  auto walkAlike = [&](PrimitiveId a, PrimitiveId b) {
    const Primitive &left = graph.primitives[a], &right = graph.primitives[b];
    return left.kind == right.kind && left.domain == right.domain &&
           left.reducedDims == right.reducedDims;
  };
  bool changed = false;
  for (ValueId value = 0; value < graph.values.size(); ++value) {
    if (graph.values[value].kind == Value::Kind::Constant)
      continue; // sharing a weight is no reason to wait for each other
    const auto &readers = partition.users(value);
    for (size_t i = 0; i + 1 < readers.size(); ++i)
      for (size_t j = i + 1; j < readers.size() && j <= i + kSiblingsTried; ++j)
        if (walkAlike(readers[i], readers[j]))
          changed |= tryMerge(readers[i], readers[j]);
  }
  return changed;
}

bool Merger::tryMerge(PrimitiveId a, PrimitiveId b) {
  GroupId left = partition.groupOf(a), right = partition.groupOf(b);
  if (left == right)
    return false;
  const Primitive &from = graph.primitives[a], &to = graph.primitives[b];
  if (from.kind == Primitive::Kind::Library ||
      to.kind == Primitive::Kind::Library)
    return decide(a, b, false,
                  {false, "a library call is no part of a kernel"});
  // A kernel that goes through the trips itself, for a body without library calls whose rows do not depend on each other,
  // would be decided here: then the loop is a primitive like any other.
  if (stepKind(from) == PlanStep::Kind::Loop ||
      stepKind(to) == PlanStep::Kind::Loop)
    return decide(a, b, false,
                  {false, "a loop is a step of its own; its body has kernels "
                          "of its own, which are launched in every trip"});
  if (partition.isPrologue(a) != partition.isPrologue(b))
    return decide(a, b, false,
                  {true, "one depends on constants only and runs once"});
  size_t size =
      partition.members(left).size() + partition.members(right).size();
  if (size > options.maxMembers)
    return decide(
        a, b, false,
        {false,
         "the kernel would have more than " +
             std::to_string(options.maxMembers) + " primitives",
         {{Figure::Members, static_cast<double>(size)},
          {Figure::MembersLimit, static_cast<double>(options.maxMembers)}}});
  if (PrimitiveId through = partition.pathOutside(left, right);
      through != kNone)
    return decide(a, b, false,
                  {false, "a path through " + graph.primitives[through].name +
                              ", which is in another kernel, would make a "
                              "cycle"});

  uint64_t &known =
      refused.try_emplace(pairOf(left, right), ~0ull).first->second;
  uint64_t versions = pairOf(partition.version(left), partition.version(right));
  if (known == versions)
    return false; // nothing has changed since it was refused
  known = versions;

  if (rules.first)
    if (auto refusal = rules.first(partition, left, right))
      return decide(a, b, false, std::move(*refusal));
  std::vector<PrimitiveId> members = partition.unionOf(left, right);
  std::vector<ValueId> outputs = partition.outputsOf(members);
  if (outputs.empty()) { // reshapes only
    partition.join(left, right);
    return decide(a, b, true, {false, "views only"});
  }
  KernelVerdict verdict = verdicts.of(members, outputs);
  if (!verdict.refusal && rules.last)
    verdict.refusal = rules.last(partition, left, right, verdict);
  if (verdict.refusal)
    return decide(a, b, false, std::move(*verdict.refusal));
  Refusal why{true, savings(graph, a, b),
              figuresOf(left, right, verdict.traffic)};
  why.figures.set(Figure::MicrosecondsTogether, verdict.microseconds);
  partition.join(left, right);
  ofGroups[left] = {partition.version(left), std::move(verdict)};
  return decide(a, b, true, std::move(why));
}

bool Merger::isViewsOnly(GroupId group) const {
  const auto &members = partition.members(group);
  return std::all_of(members.begin(), members.end(),
                     [&](PrimitiveId id) { return partition.isView(id); });
}

const KernelVerdict *Merger::verdictOf(GroupId group) {
  const std::vector<PrimitiveId> &members = partition.members(group);
  auto at = ofGroups.find(group);
  if (at != ofGroups.end() && at->second.version == partition.version(group))
    return &at->second.verdict;
  if (stepKind(graph.primitives[members[0]]) != PlanStep::Kind::Kernel)
    return nullptr;
  std::vector<ValueId> outputs = partition.outputsOf(members);
  if (outputs.empty())
    return nullptr;
  GroupVerdict &entry = ofGroups[group];
  entry = {partition.version(group), verdicts.of(members, outputs)};
  return &entry.verdict;
}

Figures Merger::figuresOf(GroupId left, GroupId right,
                          const Traffic &together) {
  Figures figures;
  int64_t apart = 0;
  bool both = true;
  for (auto [group, figure] : {std::pair{left, Figure::MicrosecondsOfA},
                               std::pair{right, Figure::MicrosecondsOfB}})
    if (const KernelVerdict *verdict = verdictOf(group)) {
      apart += verdict->traffic.total();
      if (!verdict->refusal)
        figures.set(figure, verdict->microseconds);
    } else
      both = false;
  figures.set(Figure::LaunchesSaved, both ? 1 : 0);
  figures.set(Figure::BytesSaved,
              static_cast<double>(apart - together.total()));
  return figures;
}

bool Merger::decide(PrimitiveId a, PrimitiveId b, bool merged, Refusal why) {
  decisions[pairOf(a, b)] = {a,
                             b,
                             merged,
                             why.byProfit,
                             std::move(why.reason),
                             std::move(why.figures)};
  return merged;
}

/// What a refused merge would save, of the kernels as they are in the end.
void Merger::completeFigures(Decision &decision) {
  GroupId left = partition.groupOf(decision.a),
          right = partition.groupOf(decision.b);
  if (decision.merged || left == right || !verdictOf(left) || !verdictOf(right))
    return;
  std::vector<PrimitiveId> members = partition.unionOf(left, right);
  Figures figures = figuresOf(
      left, right, trafficOf(graph, members, partition.outputsOf(members)));
  figures.add(decision.figures);
  decision.figures = std::move(figures);
}

Result<Plan> Merger::collect() {
  Plan plan;
  for (GroupId group = 0; group < partition.numGroups(); ++group) {
    const std::vector<PrimitiveId> &members = partition.members(group);
    if (members.empty() || isViewsOnly(group))
      continue;
    PlanStep step;
    step.members = members;
    step.kind = stepKind(graph.primitives[members[0]]);
    step.prologue = partition.isPrologue(members[0]);
    plan.steps.push_back(std::move(step));
  }
  if (!orderSteps(graph, plan.steps))
    return Error::internal("planner", "the plan has a cycle");
  findOutputs(graph, plan.steps);
  for (auto &[pair, decision] : decisions) {
    completeFigures(decision);
    plan.decisions.push_back(std::move(decision));
  }
  std::sort(plan.decisions.begin(), plan.decisions.end(),
            [](const Decision &x, const Decision &y) {
              return std::pair{x.b, x.a} < std::pair{y.b, y.a};
            });
  return plan;
}

} // namespace lockstitch
