// A kernel is taken only as a whole: then its launch, the write of the product and the read of it are saved. A part of one
// would save nothing, for the kernel would still read the product's result.
//
//   P = product(a, b)      library          P = product(a, b) + c     library
//   y = P + c              kernel     -->
//   z = norm(y + x) ...    kernel           z = norm(y + x) ...       kernel
//
// No cycle can come of it: nothing but the kernel reads the product, so what the kernel reads besides (c) cannot depend on
// it.
#include "compiler/planner/absorb_epilogues.h"

#include "compiler/planner/library_epilogue.h"

#include <algorithm>

namespace lockstitch {
namespace {

class EpilogueAbsorber {
public:
  EpilogueAbsorber(const PrimitiveGraph &graph, const Partition &partition,
                   LibraryFamily libraries, Plan &plan)
      : graph(graph), partition(partition), libraries(libraries), plan(plan),
        stepOf(graph.primitives.size(), kNone) {
    for (uint32_t i = 0; i < plan.steps.size(); ++i)
      for (PrimitiveId member : plan.steps[i].members)
        stepOf[member] = i;
  }

  void run() {
    for (PlanStep &step : plan.steps)
      if (step.kind == PlanStep::Kind::Kernel && !step.prologue &&
          step.outputs.size() == 1 &&
          graph.type(step.outputs[0]).elements() != 0)
        absorb(step);
    std::erase_if(plan.steps,
                  [](const PlanStep &step) { return step.members.empty(); });
    orderSteps(graph, plan.steps);
    findOutputs(graph, plan.steps);
  }

private:
  void absorb(PlanStep &kernel) {
    for (PrimitiveId member : kernel.members)
      for (ValueId operand : graph.primitives[member].operands) {
        PrimitiveId producer =
            graph.values[storageRoot(graph, operand)].producer;
        if (producer == kNone ||
            graph.primitives[producer].kind != Primitive::Kind::Library ||
            partition.isNeededOutside(graph.primitives[producer].result,
                                      kernel.members))
          continue;
        PlanStep &call = plan.steps[stepOf[producer]];
        if (call.prologue || call.members.size() != 1)
          continue;
        if (tryAbsorb(call, kernel, member))
          return;
      }
  }

  bool tryAbsorb(PlanStep &call, PlanStep &kernel, PrimitiveId reader) {
    std::vector<PrimitiveId> members = call.members;
    members.insert(members.end(), kernel.members.begin(), kernel.members.end());
    auto built = buildLibraryStep(graph, members, kernel.outputs[0]);
    if (auto *refusal = std::get_if<Refusal>(&built)) {
      decide(call.members[0], reader, false, refusal->reason);
      return false;
    }
    const LibraryCall &whole = std::get<LibraryStep>(built).call;
    if (auto reason = epilogueRefusal(whole, libraries)) {
      decide(call.members[0], reader, false, *reason);
      return false;
    }
    int64_t bytes = graph.type(kernel.outputs[0]).bytes();
    decide(call.members[0], reader, true,
           "the library call takes it as its epilogue: saves a launch and " +
               std::to_string(2 * bytes) + " bytes between them",
           {{Figure::LaunchesSaved, 1},
            {Figure::BytesSaved, static_cast<double>(2 * bytes)}});
    for (PrimitiveId member : kernel.members)
      stepOf[member] = stepOf[call.members[0]];
    call.members = std::move(members);
    call.outputs = kernel.outputs;
    kernel.members.clear();
    return true;
  }

  void decide(PrimitiveId a, PrimitiveId b, bool merged, std::string reason,
              Figures figures = {}) {
    for (Decision &decision : plan.decisions)
      if (decision.a == a && decision.b == b) {
        decision.merged = merged;
        decision.byProfit = merged;
        decision.reason = std::move(reason);
        decision.figures = std::move(figures);
        return;
      }
  }

  const PrimitiveGraph &graph;
  const Partition &partition;
  const LibraryFamily libraries;
  Plan &plan;
  std::vector<uint32_t> stepOf;
};

} // namespace

void absorbEpilogues(const PrimitiveGraph &graph, const Partition &partition,
                     LibraryFamily libraries, Plan &plan) {
  EpilogueAbsorber(graph, partition, libraries, plan).run();
}

} // namespace lockstitch
