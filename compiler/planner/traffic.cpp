#include "compiler/planner/traffic.h"

#include <algorithm>
#include <unordered_map>

namespace lockstitch {

Traffic trafficOf(const PrimitiveGraph &graph,
                  std::span<const PrimitiveId> members,
                  std::span<const ValueId> outputs) {
  std::unordered_map<ValueId, int64_t> reads;
  auto isMember = [&](PrimitiveId id) {
    return id != kNone &&
           std::binary_search(members.begin(), members.end(), id);
  };
  auto add = [&](ValueId root, int64_t bytes) {
    int64_t &known = reads[root];
    known = std::max(known, std::min(bytes, graph.type(root).bytes()));
  };
  for (PrimitiveId member : members) {
    const Primitive &primitive = graph.primitives[member];
    if (primitive.kind == Primitive::Kind::Library) {
      for (ValueId operand : primitive.operands)
        add(storageRoot(graph, operand),
            graph.type(storageRoot(graph, operand)).bytes());
      continue;
    }
    for (const ScalarOp &op : primitive.body.ops) {
      if (op.opcode != ScalarOpcode::Read ||
          isMember(graph.values[primitive.operands[op.operand]].producer))
        continue;
      // At most one element per point of the space that the map depends on.
      int64_t points = 1;
      for (unsigned d = 0; d < primitive.domain.size(); ++d) {
        bool used = !op.args.empty();
        for (const IndexExpr &result : op.map.results)
          used |= result.usesDim(d);
        if (used)
          points *= primitive.domain[d].value();
      }
      add(storageRoot(graph, primitive.operands[op.operand]),
          points * static_cast<int64_t>(byteSize(op.type)));
    }
  }
  Traffic traffic;
  for (const auto &[root, bytes] : reads)
    traffic.read += bytes;
  traffic.tensorsRead = static_cast<int64_t>(reads.size());
  for (ValueId output : outputs)
    traffic.written += graph.type(output).bytes();
  return traffic;
}

} // namespace lockstitch
