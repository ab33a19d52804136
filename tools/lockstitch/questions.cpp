#include "tools/lockstitch/questions.h"

#include "tools/lockstitch/text.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>

namespace lockstitch::tool {
namespace {

std::vector<size_t> stepsOf(const TargetProgram &target,
                            const std::string &node) {
  std::vector<size_t> found;
  std::vector<CountedStep> steps = flatten(target.steps);
  for (size_t i = 0; i < steps.size(); ++i)
    if (const auto &nodes = steps[i].step->nodes;
        std::find(nodes.begin(), nodes.end(), node) != nodes.end())
      found.push_back(i);
  return found;
}

const char *kindText(const Step &step) {
  switch (step.kind) {
  case Step::Kind::Launch:
    return "kernel";
  case Step::Kind::Library:
    return "library call";
  case Step::Kind::Copy:
    return "copy";
  case Step::Kind::Loop:
    return "loop";
  }
  return "step";
}

std::string stepText(const TargetProgram &target, size_t index) {
  auto [step, trips] = flatten(target.steps)[index];
  return std::string(kindText(*step)) + " " + step->name + " (step " +
         std::to_string(index) +
         (trips > 1 ? ", in a loop: " + std::to_string(trips) + " times" : "") +
         ")";
}

/// "    launches_saved 1, bytes_saved 4096, us_a 1.52": nothing where nothing is
/// known.
std::string numbersLine(const DecisionEntry &decision) {
  std::string text;
  for (const DecisionEntry::Number &number : decision.numbers) {
    char value[32];
    std::snprintf(value, sizeof value, number.isWhole ? "%.0f" : "%.4g",
                  number.value);
    text += (text.empty() ? "    " : ", ") + number.key + " " + value;
  }
  return text.empty() ? text : text + "\n";
}

std::string decisionLine(const DecisionEntry &decision) {
  return "  " + decision.a + " and " + decision.b + ": " +
         (decision.merged ? "merged" : "refused") + " by " +
         (decision.byProfit ? "profit" : "legality") + ": " + decision.reason +
         "\n" + numbersLine(decision);
}

/// The steps between two, over refused merges; each hop with its decision.
struct Hop {
  size_t from;
  const DecisionEntry *decision;
};

std::vector<const DecisionEntry *>
shortestWay(const TargetProgram &target,
            const std::vector<DecisionEntry> &decisions,
            const std::vector<size_t> &from, const std::vector<size_t> &to) {
  std::map<size_t, std::vector<std::pair<size_t, const DecisionEntry *>>> edges;
  for (const DecisionEntry &decision : decisions) {
    if (decision.merged)
      continue;
    for (size_t a : stepsOf(target, decision.a))
      for (size_t b : stepsOf(target, decision.b)) {
        if (a == b)
          continue;
        edges[a].push_back({b, &decision});
        edges[b].push_back({a, &decision});
      }
  }
  std::map<size_t, Hop> reached;
  std::deque<size_t> queue(from.begin(), from.end());
  std::set<size_t> starts(from.begin(), from.end()),
      goals(to.begin(), to.end());
  while (!queue.empty()) {
    size_t at = queue.front();
    queue.pop_front();
    if (goals.contains(at)) {
      std::vector<const DecisionEntry *> way;
      while (!starts.contains(at)) {
        way.push_back(reached.at(at).decision);
        at = reached.at(at).from;
      }
      std::reverse(way.begin(), way.end());
      return way;
    }
    for (auto &[next, decision] : edges[at])
      if (!starts.contains(next) &&
          reached.emplace(next, Hop{at, decision}).second)
        queue.push_back(next);
  }
  return {};
}

} // namespace

std::string placesText(const TargetProgram &target, const std::string &node) {
  std::string text;
  for (size_t i : stepsOf(target, node)) {
    const Step &step = *flatten(target.steps)[i].step;
    text += "  " + stepText(target, i);
    if (step.nodes.size() > 1)
      text += " with " + joinShort(
                             [&] {
                               std::vector<std::string> others;
                               for (const std::string &other : step.nodes)
                                 if (other != node)
                                   others.push_back(other);
                               return others;
                             }(),
                             12);
    text += "\n";
  }
  for (size_t i = 0; i < target.prologue.size(); ++i) {
    const std::vector<std::string> &nodes = target.prologue[i].nodes;
    if (std::find(nodes.begin(), nodes.end(), node) != nodes.end())
      text +=
          "  once when the program is loaded: it depends on constants only (" +
          target.prologue[i].name + ")\n";
  }
  return text;
}

Result<std::string> fateText(const PreparedModel &prepared,
                             const std::string &target,
                             const std::string &node) {
  for (const OnnxNodeInfo &info : prepared.model.nodes)
    if (info.id == node && info.isConstant)
      return std::string("a Constant: its value is data");
  Result<PrimitiveGraph> graph = importModel(prepared.model, prepared.import);
  if (!graph.ok())
    return graph.error();
  CompileOptions options;
  options.targets = {target};
  Result<Planned> planned = planOnly(std::move(*graph), options);
  if (!planned.ok())
    return planned.error();
  for (const Origin &origin : planned->graph.origins) {
    if (origin.node != node)
      continue;
    switch (origin.fate) {
    case Origin::Fate::Folded:
      return std::string("folded while compiling: its value is known");
    case Origin::Fate::Dead:
      return std::string(
          "not computed: nothing that the outputs need depends on it");
    case Origin::Fate::Primitive:
    case Origin::Fate::Pending:
      return std::string("needs no step of its own: a view of its operand, or "
                         "part of another node's computation");
    }
  }
  return std::string("not computed: nothing of it is left after the import");
}

std::string scheduleText(const TargetProgram &target,
                         const std::vector<KernelEntry> &kernels,
                         const std::string &node) {
  std::string text;
  auto line = [](const ScheduleReport &entry) {
    char times[160];
    std::snprintf(times, sizeof times,
                  ": %.4g us (launch and the largest of memory %.3g, latency "
                  "%.3g, issue %.3g)",
                  entry.microseconds, entry.memoryMicroseconds,
                  entry.latencyMicroseconds, entry.issueMicroseconds);
    return entry.text + (entry.microseconds > 0 ? times : "");
  };
  size_t kernel = 0;
  for (const Step &step : target.steps) {
    if (step.kind == Step::Kind::Library)
      continue;
    const KernelEntry &entry = kernels[kernel++];
    if (!entry.schedule || std::find(step.nodes.begin(), step.nodes.end(),
                                     node) == step.nodes.end())
      continue;
    text += "  schedule of " + step.name + ":\n    " +
            line(entry.schedule->chosen) + "\n";
    for (const ScheduleReport &other : entry.schedule->runnersUp)
      text += "    not " + line(other) + "\n      " + other.lost + "\n";
  }
  return text;
}

std::string decisionsText(const std::vector<DecisionEntry> &decisions,
                          const std::string &node) {
  std::string text;
  std::set<std::string> seen;
  for (const DecisionEntry &decision : decisions)
    if (decision.a == node || decision.b == node)
      if (std::string line = decisionLine(decision); seen.insert(line).second)
        text += line;
  return text;
}

std::string betweenText(const TargetProgram &target,
                        const std::vector<DecisionEntry> &decisions,
                        const std::string &a, const std::string &b) {
  std::vector<size_t> placesA = stepsOf(target, a),
                      placesB = stepsOf(target, b);
  for (const auto &[node, places] :
       {std::pair(a, placesA), std::pair(b, placesB)})
    if (places.empty())
      return node + " is computed by no step of the program: --node " + node +
             " says why\n";
  auto isDirect = [&](const DecisionEntry &decision) {
    return (decision.a == a && decision.b == b) ||
           (decision.a == b && decision.b == a);
  };
  std::string reasons;
  for (const DecisionEntry &decision : decisions)
    if (isDirect(decision) &&
        reasons.find(decisionLine(decision)) == std::string::npos)
      reasons += decisionLine(decision);
  for (size_t i : placesA)
    if (std::find(placesB.begin(), placesB.end(), i) != placesB.end())
      return a + " and " + b + " are one: " + stepText(target, i) + "\n" +
             reasons;

  std::string text = a + " is in " + stepText(target, placesA.front()) + ", " +
                     b + " in " + stepText(target, placesB.front()) + "\n";
  for (const auto &[node, places] :
       {std::pair(a, placesA), std::pair(b, placesB)})
    if (flatten(target.steps)[places.front()].step->kind == Step::Kind::Library)
      text +=
          "  " + node + " is done by a library, which takes nothing else in\n";
  if (!reasons.empty())
    return text + reasons;
  std::vector<const DecisionEntry *> way =
      shortestWay(target, decisions, placesA, placesB);
  if (!way.empty())
    text += way.size() == 1
                ? "  their kernels were not merged:\n"
                : "  no merge of the two was tried; what lies between them:\n";
  for (const DecisionEntry *decision : way)
    text += decisionLine(*decision);
  if (way.empty() && text.find("library, which") == std::string::npos)
    text += "  no merge was tried: neither feeds the other and they read "
            "nothing in common\n";
  return text;
}

} // namespace lockstitch::tool
