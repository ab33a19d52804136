#include "frontends/onnx/rules.h"

namespace lockstitch::onnx {

std::vector<std::span<const Rule>> allRules() {
  return {activationRules(),  constantRules(),  einsumRules(),
          elementwiseRules(), gatherRules(),    normalizationRules(),
          orderedRules(),     poolingRules(),   productRules(),
          recurrentRules(),   reductionRules(), resizeRules(),
          scatterRules(),     shapeRules(),     sliceRules(),
          transposedRules(),  viewRules()};
}

const Rule *findRule(std::string_view domain, std::string_view op,
                     int64_t opset, bool *knownOp) {
  if (knownOp)
    *knownOp = false;
  static const std::vector<std::span<const Rule>> tables = allRules();
  for (std::span<const Rule> table : tables)
    for (const Rule &rule : table) {
      if (rule.op != op || rule.domain != domain)
        continue;
      if (knownOp)
        *knownOp = true;
      if (rule.since <= opset && opset <= rule.until)
        return &rule;
    }
  return nullptr;
}

} // namespace lockstitch::onnx
