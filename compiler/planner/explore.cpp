#include "compiler/planner/explore.h"

#include "compiler/graph/loop.h"
#include "compiler/planner/merger.h"

namespace lockstitch {

static Result<Plan> exploreGraph(const PrimitiveGraph &graph,
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

Result<Plan> explore(const PrimitiveGraph &graph,
                     const PlannerOptions &options) {
  Result<Plan> plan = exploreGraph(graph, options);
  if (!plan.ok())
    return plan;
  for (PlanStep &step : plan->steps) {
    if (step.kind != PlanStep::Kind::Loop)
      continue;
    Result<Plan> body =
        explore(graph.primitives[step.members[0]].loop->body, options);
    if (!body.ok())
      return body;
    step.body = std::move(body->steps);
    step.bodyDecisions = std::move(body->decisions);
  }
  return plan;
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
