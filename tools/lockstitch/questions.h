// Answers to `explain --node` and `explain --between`, from a program and the
// planner's decisions.
#ifndef LOCKSTITCH_TOOLS_LOCKSTITCH_QUESTIONS_H
#define LOCKSTITCH_TOOLS_LOCKSTITCH_QUESTIONS_H

#include "tools/lockstitch/model_source.h"

namespace lockstitch::tool {

/// One line per step that computes `node`; empty if none does.
std::string placesText(const TargetProgram &target, const std::string &node);

/// The schedule of every kernel that computes `node`, and what else it might
/// have been; empty where that is not known. `kernels`: the report's.
std::string scheduleText(const TargetProgram &target,
                         const std::vector<KernelEntry> &kernels,
                         const std::string &node);

/// Why no step computes `node`: folded, dead, a view, a Constant.
Result<std::string> fateText(const PreparedModel &prepared,
                             const std::string &target,
                             const std::string &node);

/// The decisions that `node` takes part in, one line each.
std::string decisionsText(const std::vector<DecisionEntry> &decisions,
                          const std::string &node);

/// Whether `a` and `b` are one kernel, and what keeps them apart: a refused
/// merge of the two, else the refused merges (and library calls) on the
/// shortest way from the step of the one to the step of the other.
std::string betweenText(const TargetProgram &target,
                        const std::vector<DecisionEntry> &decisions,
                        const std::string &a, const std::string &b);

} // namespace lockstitch::tool

#endif // LOCKSTITCH_TOOLS_LOCKSTITCH_QUESTIONS_H
