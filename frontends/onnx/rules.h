// The table of rules: one per (domain, operator, range of opsets), in a file of
// its family.
#ifndef LOCKSTITCH_FRONTENDS_ONNX_RULES_H
#define LOCKSTITCH_FRONTENDS_ONNX_RULES_H

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace lockstitch::onnx {

class NodeContext;

inline constexpr int64_t kNewest = INT64_MAX;

/// Lowers nodes of one operator for models that import opset `since` .. `until`
/// of its domain. An opset that is newer than what this project knows takes the
/// newest rule: operators rarely change, and a model is never refused for a
/// number alone.
struct Rule {
  std::string_view op;
  int64_t since, until;
  void (*lower)(NodeContext &);
  std::string_view domain = "";
};

// One function per family, in the file of that name.
std::span<const Rule> elementwiseRules();
std::span<const Rule> activationRules();
std::span<const Rule> constantRules();
std::span<const Rule> einsumRules();
std::span<const Rule> gatherRules();
std::span<const Rule> normalizationRules();
std::span<const Rule> orderedRules();
std::span<const Rule> poolingRules();
std::span<const Rule> productRules();
std::span<const Rule> recurrentRules();
std::span<const Rule> reductionRules();
std::span<const Rule> resizeRules();
std::span<const Rule> scatterRules();
std::span<const Rule> shapeRules();
std::span<const Rule> sliceRules();
std::span<const Rule> transposedRules();
std::span<const Rule> viewRules();

/// The tables of all families.
std::vector<std::span<const Rule>> allRules();

/// The rule for a node, or null. `knownOp` is set when there is a rule for some
/// other opset.
const Rule *findRule(std::string_view domain, std::string_view op,
                     int64_t opset, bool *knownOp = nullptr);

} // namespace lockstitch::onnx

#endif // LOCKSTITCH_FRONTENDS_ONNX_RULES_H
