#include "compiler/planner/plan.h"

#include "compiler/graph/loop.h"
#include "compiler/planner/library_epilogue.h"

#include <algorithm>
#include <queue>
#include <sstream>
#include <unordered_map>

namespace lockstitch {

namespace {

int64_t countKernels(const std::vector<PlanStep> &steps) {
  int64_t count = 0;
  for (const PlanStep &step : steps)
    count += (step.kind == PlanStep::Kind::Kernel && !step.prologue) +
             countKernels(step.body);
  return count;
}

} // namespace

int64_t Plan::numKernels() const { return countKernels(steps); }

PlanStep::Kind stepKind(const Primitive &primitive) {
  switch (primitive.kind) {
  case Primitive::Kind::Library:
    return PlanStep::Kind::Library;
  case Primitive::Kind::Loop:
  case Primitive::Kind::Project:
    return PlanStep::Kind::Loop;
  default:
    return PlanStep::Kind::Kernel;
  }
}

namespace {

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

static int64_t floorOf(const PrimitiveGraph &graph,
                       const std::vector<PlanStep> &steps) {
  std::vector<int64_t> depth(graph.values.size(), 0);
  std::vector<bool> hasWork;
  std::vector<bool> isPrologue(graph.primitives.size(), false),
      inEpilogue(graph.primitives.size(), false);
  int64_t inBodies = 0;
  for (const PlanStep &step : steps) {
    for (PrimitiveId member : step.members) {
      isPrologue[member] = isPrologue[member] || step.prologue;
      inEpilogue[member] = step.kind == PlanStep::Kind::Library;
    }
    if (step.kind == PlanStep::Kind::Loop)
      inBodies +=
          floorOf(graph.primitives[step.members[0]].loop->body, step.body);
  }
  for (PrimitiveId id = 0; id < graph.primitives.size(); ++id) {
    const Primitive &primitive = graph.primitives[id];
    int64_t at = 0;
    for (ValueId operand : primitive.operands)
      at = std::max(at, depth[operand]);
    bool isCall = primitive.kind == Primitive::Kind::Library ||
                  primitive.kind == Primitive::Kind::Loop;
    depth[primitive.result] = at + isCall;
    if (stepKind(primitive) != PlanStep::Kind::Kernel || isPrologue[id] ||
        inEpilogue[id] ||
        storageRoot(graph, primitive.result) != primitive.result ||
        graph.type(primitive.result).elements() == 0)
      continue;
    if (hasWork.size() <= static_cast<size_t>(at))
      hasWork.resize(at + 1, false);
    hasWork[at] = true;
  }
  return std::count(hasWork.begin(), hasWork.end(), true) + inBodies;
}

int64_t floorKernels(const PrimitiveGraph &graph, const Plan &plan) {
  return floorOf(graph, plan.steps);
}

static void print(std::ostringstream &out, const PrimitiveGraph &graph,
                  const std::vector<PlanStep> &steps,
                  const std::string &indent) {
  static const char *const kinds[] = {"kernel", "library", "loop"};
  for (const PlanStep &step : steps) {
    out << indent << kinds[static_cast<int>(step.kind)]
        << (step.prologue ? " once" : "");
    for (PrimitiveId member : step.members)
      out << " \"" << graph.primitives[member].name << "\"";
    out << "\n";
    if (step.kind != PlanStep::Kind::Loop)
      continue;
    print(out, graph.primitives[step.members[0]].loop->body, step.body,
          indent + "  ");
    out << indent << "end\n";
  }
}

std::string toString(const PrimitiveGraph &graph, const Plan &plan) {
  std::ostringstream out;
  print(out, graph, plan.steps, "");
  return out.str();
}

/// Reads the steps of one graph, up to the `end` of a body or the end of the text.
static bool parseSteps(std::istringstream &lines, int &number, bool isBody,
                       const PrimitiveGraph &graph,
                       std::vector<PlanStep> &steps, std::string &error) {
  std::unordered_map<std::string, PrimitiveId> byName;
  for (PrimitiveId id = 0; id < graph.primitives.size(); ++id)
    byName[graph.primitives[id].name] = id;
  std::vector<int> lineOf(graph.primitives.size(), 0);
  std::string line;
  bool hasEnded = false;
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
    if (isBody && word == "end") {
      hasEnded = true;
      break;
    }
    if (word == "schedule") {
      if (steps.empty() || steps.back().kind != PlanStep::Kind::Kernel)
        return fail("a schedule stands below its kernel");
      PlanStep &above = steps.back();
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
    else if (word == "loop")
      step.kind = PlanStep::Kind::Loop;
    else
      return fail("expected 'kernel', 'library', 'loop' or 'schedule', got '" +
                  word + "'");
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
      static const char *const kinds[] = {"no library call", "a library call",
                                          "a loop"};
      PlanStep::Kind kind = stepKind(graph.primitives[found->second]);
      // Behind a library call, its epilogue.
      PlanStep::Kind expected =
          step.kind == PlanStep::Kind::Library && !step.members.empty()
              ? PlanStep::Kind::Kernel
              : step.kind;
      if (kind != expected)
        return fail("'" + name + "' is " + kinds[static_cast<int>(kind)]);
      step.members.push_back(found->second);
      open = rest.find('"', close + 1);
    }
    if (step.members.empty())
      return fail("names no primitive");
    std::sort(step.members.begin(), step.members.end());
    if (step.kind == PlanStep::Kind::Loop) {
      PrimitiveId loop = step.members[0];
      for (PrimitiveId member : step.members) {
        const Primitive &primitive = graph.primitives[member];
        if (member == loop
                ? primitive.kind != Primitive::Kind::Loop
                : primitive.kind != Primitive::Kind::Project ||
                      graph.values[primitive.operands[0]].producer != loop)
          return fail("a loop step is one loop and its own results");
      }
      if (!parseSteps(lines, number, true, graph.primitives[loop].loop->body,
                      step.body, error))
        return false;
    }
    steps.push_back(std::move(step));
  }
  if (isBody && !hasEnded)
    return fail("the body of a loop lacks its 'end'");
  for (PrimitiveId id = 0; id < graph.primitives.size(); ++id)
    if (!lineOf[id] && storageRoot(graph, graph.primitives[id].result) ==
                           graph.primitives[id].result) {
      error = "the plan lacks '" + graph.primitives[id].name + "'";
      return false;
    }
  // The results of a loop are made by its step.
  for (PrimitiveId id = 0; id < graph.primitives.size(); ++id) {
    const Primitive &primitive = graph.primitives[id];
    if (primitive.kind != Primitive::Kind::Project)
      continue;
    PrimitiveId loop = graph.values[primitive.operands[0]].producer;
    if (lineOf[id] != lineOf[loop]) {
      error = "'" + primitive.name + "' is not in the line of its loop '" +
              graph.primitives[loop].name + "'";
      return false;
    }
  }
  if (!orderSteps(graph, steps)) {
    error = "the plan has a cycle: two kernels each need a result of the other";
    return false;
  }
  findOutputs(graph, steps);
  for (const PlanStep &step : steps) {
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

bool parsePlan(std::string_view text, const PrimitiveGraph &graph, Plan &plan,
               std::string &error) {
  plan = {};
  int number = 0;
  std::istringstream lines{std::string(text)};
  return parseSteps(lines, number, false, graph, plan.steps, error);
}

} // namespace lockstitch
