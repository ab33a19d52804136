// The key of a kernel's structure, number by number:
//
//   for each member: its class, then per operand 2*position of the member that makes it, or 2*number + 1 of the tensor from outside
//   (by storage root, numbered as they are met; a new one is followed by the class of its type
//   and its alignment), then the positions of the members whose results others need, with their alignments
//
// A member's class stands for its kind, space, body and types. Operands of a member that are views of other members' results
// go through those members, so nothing of the graph beyond this enters into buildStages().
#include "compiler/planner/kernel_verdict.h"

#include "compiler/graph/hash.h"
#include "compiler/schedule/kernel_cost.h"

#include <algorithm>

namespace lockstitch {

uint32_t KernelVerdicts::classOf(PrimitiveId id) {
  if (classes.empty())
    classes.assign(graph.primitives.size(), kNone);
  if (classes[id] != kNone)
    return classes[id];
  const Primitive &primitive = graph.primitives[id];
  Class wanted{primitive, {}};
  wanted.primitive.name.clear();
  wanted.primitive.origins.clear();
  wanted.primitive.operands.clear();
  wanted.primitive.result = kNone;
  for (ValueId operand : primitive.operands)
    wanted.types.push_back(graph.type(operand));
  wanted.types.push_back(graph.type(primitive.result));
  uint64_t hash = static_cast<uint64_t>(primitive.kind);
  auto mix = [&](uint64_t value) { hash = combineHash(hash, value); };
  mix(primitive.domain.size());
  mix(primitive.reducedDims);
  for (const ScalarOp &op : primitive.body.ops) {
    mix(static_cast<uint64_t>(op.opcode));
    mix(static_cast<uint64_t>(op.type));
    mix(op.map.hash());
  }
  auto [first, last] = classByHash.equal_range(hash);
  for (auto at = first; at != last; ++at)
    if (distinct[at->second].primitive == wanted.primitive &&
        distinct[at->second].types == wanted.types)
      return classes[id] = at->second;
  uint32_t made = static_cast<uint32_t>(distinct.size());
  distinct.push_back(std::move(wanted));
  classByHash.emplace(hash, made);
  return classes[id] = made;
}

uint32_t KernelVerdicts::classOf(const TensorType &type) {
  return typeClasses
      .emplace(toString(type), static_cast<uint32_t>(typeClasses.size()))
      .first->second;
}

KernelVerdicts::Key
KernelVerdicts::keyOf(const std::vector<PrimitiveId> &members,
                      const std::vector<ValueId> &outputs) {
  Key key;
  std::vector<ValueId> outside;
  auto position = [&](PrimitiveId id) {
    auto at = std::lower_bound(members.begin(), members.end(), id);
    return at != members.end() && *at == id
               ? static_cast<uint32_t>(at - members.begin())
               : kNone;
  };
  for (PrimitiveId member : members) {
    key.push_back(classOf(member));
    for (ValueId operand : graph.primitives[member].operands) {
      PrimitiveId producer = graph.values[operand].producer;
      if (uint32_t at = producer == kNone ? kNone : position(producer);
          at != kNone) {
        key.push_back(2 * at);
        continue;
      }
      ValueId root = storageRoot(graph, operand);
      auto met = std::find(outside.begin(), outside.end(), root);
      key.push_back(2 * static_cast<uint32_t>(met - outside.begin()) + 1);
      if (met == outside.end()) {
        outside.push_back(root);
        key.push_back(classOf(graph.type(root)));
        key.push_back(static_cast<uint32_t>(alignmentOf(graph, root)));
      }
    }
  }
  for (ValueId output : outputs) {
    key.push_back(position(graph.values[output].producer));
    key.push_back(static_cast<uint32_t>(alignmentOf(graph, output)));
  }
  return key;
}

KernelVerdict KernelVerdicts::judge(const std::vector<PrimitiveId> &members,
                                    const std::vector<ValueId> &outputs) const {
  KernelVerdict verdict;
  verdict.traffic = trafficOf(graph, members, outputs);
  auto scheduled = scheduleKernel(graph, {"kernel", members, outputs}, target);
  if (auto *refusal = std::get_if<Refusal>(&scheduled)) {
    verdict.refusal = std::move(*refusal);
    return verdict;
  }
  const ScheduledKernel &kernel = std::get<ScheduledKernel>(scheduled);
  verdict.rows = kernel.program.rows.value();
  verdict.blocks = kernel.schedule.gridX;
  for (const Stage &stage : kernel.program.stages) {
    verdict.longestColumns = std::max(verdict.longestColumns, stage.columns);
    verdict.hasReduction |= !stage.reductions.empty();
  }
  verdict.microseconds =
      cost::estimate(deviceOf(target),
                     launchShape(kernel.program, kernel.schedule, target.isGpu,
                                 verdict.traffic.read, verdict.traffic.written))
          .microseconds;
  return verdict;
}

KernelVerdict KernelVerdicts::of(const std::vector<PrimitiveId> &members,
                                 const std::vector<ValueId> &outputs) {
  auto [at, isNew] = known.try_emplace(keyOf(members, outputs));
  Remembered &entry = at->second;
  if (isNew) {
    entry.verdict = judge(members, outputs);
    if (entry.verdict.refusal && entry.verdict.refusal->about != kNone)
      entry.about = 1 + (std::lower_bound(members.begin(), members.end(),
                                          entry.verdict.refusal->about) -
                         members.begin());
    return entry.verdict;
  }
  ++remembered;
  KernelVerdict verdict = entry.verdict;
  if (entry.about) {
    Refusal &refusal = *verdict.refusal;
    std::string then = nodeOf(graph, refusal.about);
    refusal.about = members[entry.about - 1];
    refusal.reason =
        nodeOf(graph, refusal.about) + refusal.reason.substr(then.size());
  }
  return verdict;
}

} // namespace lockstitch
