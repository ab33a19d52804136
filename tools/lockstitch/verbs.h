// The verbs. Each does its work, prints its results on standard output (nothing
// but the report with --json) and leaves what it found in `report`, also when
// it fails. An Error's kind is the exit status.
#ifndef LOCKSTITCH_TOOLS_LOCKSTITCH_VERBS_H
#define LOCKSTITCH_TOOLS_LOCKSTITCH_VERBS_H

#include "tools/lockstitch/options.h"
#include "tools/lockstitch/report.h"

namespace lockstitch::tool {

Status run(const RunVerb &options, Report &report);
Status compileAheadOfTime(const CompileVerb &options, Report &report);
Status inspect(const InspectVerb &options, Report &report);
Status explain(const ExplainVerb &options, Report &report);
Status simulate(const SimulateVerb &options, Report &report);

/// Finds out what the options of a device mean here: the device (auto resolved)
/// and the target that it will run, checked against each other before anything
/// is compiled. Errors: as the device's.
struct ChosenDevice {
  std::string device; // host, simulator, cuda
  std::string target;
};
Result<ChosenDevice> chooseDevice(const DeviceChoice &options);

/// "5 kernels, 2 library calls for 40 nodes".
std::string totalsText(const Report &report);

} // namespace lockstitch::tool

#endif // LOCKSTITCH_TOOLS_LOCKSTITCH_VERBS_H
