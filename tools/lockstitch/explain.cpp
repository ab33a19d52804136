// lockstitch explain: the plan and its reasons.
#include "runtime/program/artifact.h"
#include "tools/lockstitch/messages.h"
#include "tools/lockstitch/model_source.h"
#include "tools/lockstitch/questions.h"
#include "tools/lockstitch/text.h"
#include "tools/lockstitch/verbs.h"

#include <algorithm>
#include <set>

namespace lockstitch::tool {
namespace {

constexpr size_t kShownRefusals = 30;

std::string stepsText(const TargetProgram &target, const Report &report) {
  Table table(
      {"#", "step", "kind", "schemes", "read", "written", "estimated", "nodes"},
      {0, 4, 5, 6});
  size_t kernel = 0, library = 0;
  std::vector<CountedStep> steps = flatten(target.steps);
  for (size_t i = 0; i < steps.size(); ++i) {
    const Step &step = *steps[i].step;
    std::string estimated = "-", kind, schemes = "-";
    if (step.kind == Step::Kind::Library) {
      const LibraryEntry &entry = report.libraryCalls[library++];
      kind = entry.kind;
      if (!entry.epilogue.empty())
        kind += "+" + join(entry.epilogue, "+");
    } else if (step.kind == Step::Kind::Loop) {
      kind = "loop of " + count(step.trips, "trip");
    } else {
      const KernelEntry &entry = report.kernels[kernel++];
      kind = step.kind == Step::Kind::Copy ? "copy" : "kernel";
      schemes = entry.schemes.empty() ? "-" : join(entry.schemes, "+");
      if (entry.estimatedMicroseconds)
        estimated = duration(*entry.estimatedMicroseconds * 1e-6);
    }
    if (steps[i].trips > 1)
      kind += " x " + std::to_string(steps[i].trips);
    table.add({std::to_string(i), step.name, kind, schemes,
               byteCount(step.bytesRead), byteCount(step.bytesWritten),
               estimated, joinShort(step.nodes, 8)});
  }
  return table.text("");
}

/// Refused merges of two kernels. Those with a library call, which are many and
/// have one reason, are only counted.
std::string refusalsText(const TargetProgram &target,
                         const std::vector<DecisionEntry> &decisions) {
  std::set<std::string> ofLibraries;
  forEachStep(target.steps, [&](const Step &step, int64_t) {
    if (step.kind == Step::Kind::Library)
      ofLibraries.insert(step.nodes.begin(), step.nodes.end());
  });
  Table table({"not merged", "with", "by", "because"});
  std::set<std::pair<std::string, std::string>> seen;
  size_t left = 0, libraries = 0;
  for (const DecisionEntry &decision : decisions) {
    if (decision.merged || !seen.insert({decision.a, decision.b}).second)
      continue;
    if (ofLibraries.contains(decision.a) || ofLibraries.contains(decision.b)) {
      ++libraries;
      continue;
    }
    if (seen.size() - libraries > kShownRefusals)
      ++left;
    else
      table.add({decision.a, decision.b,
                 decision.byProfit ? "profit" : "legality", decision.reason});
  }
  std::string text;
  if (!table.empty())
    text += "\n" + table.text("");
  if (left)
    text += "and " + std::to_string(left) + " more: --json has all of them\n";
  if (libraries)
    text += "\n" + count(static_cast<int64_t>(libraries), "pair") +
            " not merged because one of the two is a library call\n";
  if (!text.empty())
    text += "ask for a pair with --between A B\n";
  return text;
}

std::vector<DecisionEntry::Number> numbersOf(const Figures &figures) {
  std::vector<DecisionEntry::Number> numbers;
  for (auto [figure, value] : figures)
    numbers.push_back({std::string(key(figure)), value, isWhole(figure)});
  return numbers;
}

/// What is special about the way that nodes are computed; of one node, or of all where `node` is empty.
std::string notesText(const Compilation &compilation, const std::string &node) {
  std::string text;
  for (const auto &[name, note] : compilation.notes)
    if (node.empty() || name == node)
      text += node.empty() ? name + " is " + note + "\n" : "  " + note + "\n";
  return (node.empty() && !text.empty() ? "\n" : "") + text;
}

void addDecisions(Report &report, const Compilation &compilation) {
  report.decisions.emplace();
  for (const TargetReport &target : compilation.targets)
    if (target.target == report.target)
      for (const DecisionReport &decision : target.decisions)
        report.decisions->push_back({decision.a, decision.b, decision.merged,
                                     decision.byProfit, decision.reason,
                                     numbersOf(decision.figures)});
}

/// The ID that `text` means. Error (refused): no such node.
Result<std::string> resolveNode(const OnnxModel &model, const std::string &text,
                                const std::string &option) {
  if (const OnnxNodeInfo *node = model.findNode(text))
    return node->id;
  std::vector<std::string> ids;
  for (const OnnxNodeInfo &node : model.nodes)
    if (!node.isConstant)
      ids.push_back(node.id);
  return Error::refused(option, "the model has no node '" + text + "'",
                        "its nodes: " + joinShort(ids, 12));
}

Status explainArtifact(const ExplainVerb &options, Report &report) {
  if (!options.between.empty())
    return Error::refused("--between",
                          "an artifact has the plan, but not the reasons",
                          "ask the model that it was compiled from");
  auto program = readArtifact(options.model.model);
  if (!program.ok())
    return program.error();
  const TargetProgram *target =
      options.device.target         ? (*program)->find(*options.device.target)
      : (*program)->targets.empty() ? nullptr
                                    : &(*program)->targets.front();
  if (!target) {
    std::vector<std::string> names;
    for (const TargetProgram &known : (*program)->targets)
      names.push_back(known.target);
    return Error::refused("--target " + options.device.target.value_or(""),
                          "the artifact has " + join(names),
                          "choose one of them");
  }
  addProgram(report, **program, *target);
  report.decisions.emplace();
  if (options.common.json)
    return {};
  if (!options.node.empty()) {
    std::string places = placesText(*target, options.node);
    if (places.empty())
      return Error::refused(
          "--node", "no step of the artifact computes '" + options.node + "'",
          "ask the model that it was compiled from");
    printResult(options.node + ":\n" + places);
    return {};
  }
  printResult(*report.model + " for " + target->target + ", planned by " +
              *report.explorer + ": " + totalsText(report) + "\n\n" +
              stepsText(*target, report));
  return {};
}

} // namespace

Status explain(const ExplainVerb &options, Report &report) {
  if (isArtifact(options.model.model))
    return explainArtifact(options, report);
  Result<ChosenDevice> chosen = [&]() -> Result<ChosenDevice> {
    if (options.device
            .target) // any target can be planned for, whatever this machine has
      return ChosenDevice{options.device.device, *options.device.target};
    return chooseDevice(options.device);
  }();
  if (!chosen.ok())
    return chosen.error();
  Result<PreparedModel> prepared = prepareModel(options.model, report);
  if (!prepared.ok())
    return prepared.error();
  std::vector<std::string> asked;
  for (const std::string &text : options.between) {
    auto id = resolveNode(prepared->model, text, "--between");
    if (!id.ok())
      return id.error();
    asked.push_back(*id);
  }
  std::string node;
  if (!options.node.empty()) {
    auto id = resolveNode(prepared->model, options.node, "--node");
    if (!id.ok())
      return id.error();
    node = *id;
  }
  Result<Compilation> compilation =
      compilePrepared(*prepared, options.plan, {chosen->target}, report);
  if (!compilation.ok())
    return compilation.error();
  addDecisions(report, *compilation);
  if (options.common.json)
    return {};

  const TargetProgram &target = *compilation->program->find(chosen->target);
  std::string text;
  if (!node.empty()) {
    text = node + ":\n" + placesText(target, node);
    if (placesText(target, node).empty()) {
      auto fate = fateText(*prepared, chosen->target, node);
      if (!fate.ok())
        return fate.error();
      text += "  " + *fate + "\n";
    }
    text += scheduleText(target, report.kernels, node);
    text += notesText(*compilation, node);
    text += decisionsText(*report.decisions, node);
  }
  if (!asked.empty())
    text += (text.empty() ? "" : "\n") +
            betweenText(target, *report.decisions, asked[0], asked[1]);
  if (text.empty())
    text = *report.model + " for " + *report.target + ", planned by " +
           *report.explorer + ": " + totalsText(report) + "\n\n" +
           stepsText(target, report) + notesText(*compilation, "") +
           refusalsText(target, *report.decisions);
  printResult(text);
  return {};
}

} // namespace lockstitch::tool
