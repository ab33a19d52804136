#include "compiler/planner/explore.h"

#include "compiler/planner/merger.h"

namespace lockstitch {

Result<Plan> explore(const PrimitiveGraph &graph,
                     const PlannerOptions &options) {
  switch (options.explorer) {
  case Explorer::FusionStitching:
    return exploreFusionStitching(graph, options);
  case Explorer::Xla:
    return exploreXla(graph, options);
  case Explorer::None:
    break;
  }
  return Merger(graph, options, {}).collect();
}

std::string_view name(Explorer explorer) {
  switch (explorer) {
  case Explorer::FusionStitching:
    return "fusionstitching";
  case Explorer::Xla:
    return "xla";
  case Explorer::None:
    return "none";
  }
  return "";
}

} // namespace lockstitch
