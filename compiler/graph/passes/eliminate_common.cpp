#include "compiler/graph/hash.h"
#include "compiler/graph/passes/passes.h"

#include <algorithm>
#include <unordered_map>

namespace lockstitch {
namespace {

uint64_t hashOf(const Primitive &primitive) {
  uint64_t hash =
      combineHash(static_cast<uint64_t>(primitive.kind), primitive.reducedDims);
  for (ValueId operand : primitive.operands)
    hash = combineHash(hash, operand);
  for (const Dim &dim : primitive.domain)
    hash = combineHash(hash, static_cast<uint64_t>(dim.value()));
  for (const ScalarOp &op : primitive.body.ops)
    hash = combineHash(combineHash(hash, static_cast<uint64_t>(op.opcode)),
                       op.map.hash());
  return hash;
}

bool same(const PrimitiveGraph &graph, const Primitive &a, const Primitive &b) {
  return a.kind == b.kind && a.operands == b.operands && a.domain == b.domain &&
         a.reducedDims == b.reducedDims && a.along == b.along &&
         a.descending == b.descending && a.target == b.target &&
         graph.type(a.result) == graph.type(b.result) && a.body == b.body &&
         a.reducer == b.reducer && a.call == b.call && a.loop == b.loop &&
         a.projection == b.projection;
}

} // namespace

void eliminateCommonPrimitives(PrimitiveGraph &graph) {
  std::vector<ValueId> replacement(graph.values.size());
  for (ValueId value = 0; value < replacement.size(); ++value)
    replacement[value] = value;
  std::unordered_multimap<uint64_t, PrimitiveId> known;
  for (PrimitiveId id = 0; id < graph.primitives.size(); ++id) {
    Primitive &primitive = graph.primitives[id];
    for (ValueId &operand : primitive.operands)
      operand = replacement[operand];
    uint64_t hash = hashOf(primitive);
    bool found = false;
    auto [first, last] = known.equal_range(hash);
    for (auto at = first; at != last && !found; ++at) {
      Primitive &twin = graph.primitives[at->second];
      if (!same(graph, twin, primitive))
        continue;
      for (OriginId origin : primitive.origins)
        if (std::find(twin.origins.begin(), twin.origins.end(), origin) ==
            twin.origins.end())
          twin.origins.push_back(origin);
      replacement[primitive.result] = twin.result;
      found = true;
    }
    if (!found)
      known.emplace(hash, id);
  }
  for (ValueId &output : graph.outputs)
    output = replacement[output];
}

} // namespace lockstitch
