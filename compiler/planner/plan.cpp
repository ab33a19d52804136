#include "compiler/planner/plan.h"
#include "compiler/planner/library_epilogue.h"

#include <algorithm>
#include <queue>
#include <sstream>
#include <unordered_map>

namespace lockstitch {

int64_t Plan::numKernels() const {
  return std::count_if(steps.begin(), steps.end(), [](const PlanStep &step) {
    return step.kind == PlanStep::Kind::Kernel && !step.prologue;
  });
}

namespace {

/// Producing step of every value's storage: reshapes that no kernel holds hand on their operand's.
std::vector<std::vector<uint32_t>>
stepsOfPrimitives(const PrimitiveGraph &graph,
                  const std::vector<PlanStep> &steps) {
  std::vector<std::vector<uint32_t>> owners(graph.primitives.size());
  for (uint32_t step = 0; step < steps.size(); ++step)
    for (PrimitiveId member : steps[step].members)
      owners[member].push_back(step);
  return owners;
}

/// Visits every primitive outside of `step` whose storage `step` reads.
template <typename Visit>
void forEachRead(const PrimitiveGraph &graph, const PlanStep &step,
                 const std::vector<bool> &isMember, Visit visit) {
  for (PrimitiveId member : step.members)
    for (ValueId operand : graph.primitives[member].operands) {
      PrimitiveId producer = graph.values[operand].producer;
      if (producer != kNone && isMember[producer])
        continue;
      visit(storageRoot(graph, operand));
    }
}

} // namespace

void findOutputs(const PrimitiveGraph &graph, std::vector<PlanStep> &steps) {
  std::vector<std::vector<uint32_t>> owners = stepsOfPrimitives(graph, steps);
  std::vector<bool> needed(graph.values.size(), false);
  for (ValueId output : graph.outputs)
    needed[storageRoot(graph, output)] = true;
  std::vector<bool> isMember(graph.primitives.size(), false);
  for (const PlanStep &step : steps) {
    for (PrimitiveId member : step.members)
      isMember[member] = true;
    forEachRead(graph, step, isMember,
                [&](ValueId root) { needed[root] = true; });
    for (PrimitiveId member : step.members)
      isMember[member] = false;
  }
  for (PlanStep &step : steps) {
    step.outputs.clear();
    for (PrimitiveId member : step.members) {
      ValueId result = graph.primitives[member].result;
      if ((step.kind == PlanStep::Kind::Library && step.members.size() == 1) ||
          (needed[result] && storageRoot(graph, result) == result))
        step.outputs.push_back(result);
    }
  }
}

bool orderSteps(const PrimitiveGraph &graph, std::vector<PlanStep> &steps) {
  std::vector<std::vector<uint32_t>> users(steps.size());
  std::vector<uint32_t> waiting(steps.size(), 0);
  std::vector<uint32_t> maker(graph.values.size(), kNone);
  for (uint32_t step = 0; step < steps.size(); ++step)
    for (PrimitiveId member : steps[step].members)
      maker[graph.primitives[member].result] = step;
  std::vector<bool> isMember(graph.primitives.size(), false);
  for (uint32_t step = 0; step < steps.size(); ++step) {
    for (PrimitiveId member : steps[step].members)
      isMember[member] = true;
    forEachRead(graph, steps[step], isMember, [&](ValueId root) {
      if (maker[root] == kNone || maker[root] == step)
        return;
      users[maker[root]].push_back(step);
      ++waiting[step];
    });
    for (PrimitiveId member : steps[step].members)
      isMember[member] = false;
  }
  // Ready steps in the order of their last primitive: close to the order of the model.
  auto later = [&](uint32_t a, uint32_t b) {
    return steps[a].members.back() > steps[b].members.back();
  };
  std::priority_queue<uint32_t, std::vector<uint32_t>, decltype(later)> ready(
      later);
  for (uint32_t step = 0; step < steps.size(); ++step)
    if (!waiting[step])
      ready.push(step);
  std::vector<PlanStep> ordered;
  while (!ready.empty()) {
    uint32_t step = ready.top();
    ready.pop();
    for (uint32_t user : users[step])
      if (--waiting[user] == 0)
        ready.push(user);
    ordered.push_back(steps[step]);
  }
  if (ordered.size() != steps.size())
    return false;
  steps = std::move(ordered);
  return true;
}

int64_t floorKernels(const PrimitiveGraph &graph, const Plan &plan) {
  std::vector<int64_t> depth(graph.values.size(), 0);
  std::vector<bool> hasWork;
  std::vector<bool> isPrologue(graph.primitives.size(), false),
      inEpilogue(graph.primitives.size(), false);
  for (const PlanStep &step : plan.steps)
    for (PrimitiveId member : step.members) {
      isPrologue[member] = isPrologue[member] || step.prologue;
      inEpilogue[member] = step.kind == PlanStep::Kind::Library;
    }
  for (PrimitiveId id = 0; id < graph.primitives.size(); ++id) {
    const Primitive &primitive = graph.primitives[id];
    int64_t at = 0;
    for (ValueId operand : primitive.operands)
      at = std::max(at, depth[operand]);
    bool isLibrary = primitive.kind == Primitive::Kind::Library;
    depth[primitive.result] = at + isLibrary;
    if (isLibrary || isPrologue[id] || inEpilogue[id] ||
        storageRoot(graph, primitive.result) != primitive.result ||
        graph.type(primitive.result).elements() == 0)
      continue;
    if (hasWork.size() <= static_cast<size_t>(at))
      hasWork.resize(at + 1, false);
    hasWork[at] = true;
  }
  return std::count(hasWork.begin(), hasWork.end(), true);
}

std::string toString(const PrimitiveGraph &graph, const Plan &plan) {
  std::ostringstream out;
  for (const PlanStep &step : plan.steps) {
    out << (step.kind == PlanStep::Kind::Kernel ? "kernel" : "library")
        << (step.prologue ? " once" : "");
    for (PrimitiveId member : step.members)
      out << " \"" << graph.primitives[member].name << "\"";
    out << "\n";
  }
  return out.str();
}

bool parsePlan(std::string_view text, const PrimitiveGraph &graph, Plan &plan,
               std::string &error) {
  std::unordered_map<std::string, PrimitiveId> byName;
  for (PrimitiveId id = 0; id < graph.primitives.size(); ++id)
    byName[graph.primitives[id].name] = id;
  std::vector<int> lineOf(graph.primitives.size(), 0);
  plan = {};
  int number = 0;
  std::istringstream lines{std::string(text)};
  std::string line;
  auto fail = [&](const std::string &message) {
    error = "line " + std::to_string(number) + ": " + message;
    return false;
  };
  while (std::getline(lines, line)) {
    ++number;
    size_t at = line.find_first_not_of(" \t\r");
    if (at == std::string::npos || line.compare(at, 2, "//") == 0)
      continue;
    size_t end = line.find_first_of(" \t\r\"", at);
    std::string word =
        line.substr(at, end == std::string::npos ? end : end - at);
    if (word == "schedule") {
      if (plan.steps.empty() ||
          plan.steps.back().kind != PlanStep::Kind::Kernel)
        return fail("a schedule stands below its kernel");
      PlanStep &above = plan.steps.back();
      if (above.pinLine)
        return fail("the kernel has a schedule already, in line " +
                    std::to_string(above.pinLine));
      std::string problem;
      if (!parseSchedulePin(end == std::string::npos
                                ? std::string_view()
                                : std::string_view(line).substr(end),
                            above.pin, problem))
        return fail("the schedule: " + problem);
      above.pinLine = number;
      continue;
    }
    PlanStep step;
    if (word == "kernel")
      step.kind = PlanStep::Kind::Kernel;
    else if (word == "library")
      step.kind = PlanStep::Kind::Library;
    else
      return fail("expected 'kernel', 'library' or 'schedule', got '" + word +
                  "'");
    std::string rest = end == std::string::npos ? "" : line.substr(end);
    if (size_t once = rest.find("once");
        once != std::string::npos && rest.find('"') > once)
      step.prologue = true;
    for (size_t open = rest.find('"'); open != std::string::npos;) {
      size_t close = rest.find('"', open + 1);
      if (close == std::string::npos)
        return fail("a name's closing quote is missing");
      std::string name = rest.substr(open + 1, close - open - 1);
      auto found = byName.find(name);
      if (found == byName.end())
        return fail("the model has no primitive '" + name +
                    "'; `--emit primitives=-` lists them");
      if (lineOf[found->second])
        return fail("'" + name + "' is already in line " +
                    std::to_string(lineOf[found->second]));
      lineOf[found->second] = number;
      bool isLibrary =
          graph.primitives[found->second].kind == Primitive::Kind::Library;
      bool shouldBe =
          step.kind == PlanStep::Kind::Library && step.members.empty();
      if (isLibrary != shouldBe)
        return fail("'" + name + "' is " +
                    (isLibrary ? "a library call" : "no library call"));
      step.members.push_back(found->second);
      open = rest.find('"', close + 1);
    }
    if (step.members.empty())
      return fail("names no primitive");
    std::sort(step.members.begin(), step.members.end());
    plan.steps.push_back(std::move(step));
  }
  for (PrimitiveId id = 0; id < graph.primitives.size(); ++id)
    if (!lineOf[id] && storageRoot(graph, graph.primitives[id].result) ==
                           graph.primitives[id].result) {
      error = "the plan lacks '" + graph.primitives[id].name + "'";
      return false;
    }
  if (!orderSteps(graph, plan.steps)) {
    error = "the plan has a cycle: two kernels each need a result of the other";
    return false;
  }
  findOutputs(graph, plan.steps);
  for (const PlanStep &step : plan.steps) {
    if (step.kind != PlanStep::Kind::Library || step.members.size() == 1)
      continue;
    number = lineOf[step.members[0]];
    if (step.outputs.size() != 1)
      return fail("an epilogue leaves one result; others read " +
                  std::to_string(step.outputs.size()) + " of this one");
    auto built = buildLibraryStep(graph, step.members, step.outputs[0]);
    if (auto *refusal = std::get_if<Refusal>(&built))
      return fail("the library call has no such epilogue: " + refusal->reason);
  }
  return true;
}

} // namespace lockstitch
