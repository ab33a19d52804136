#include "tools/lockstitch/counters_text.h"

#include "tools/lockstitch/text.h"

namespace lockstitch::tool {
namespace {

constexpr int64_t kSectorBytes = 32;

std::string ratio(int64_t moved, int64_t floor) {
  return floor > 0
             ? number(static_cast<double>(moved) / static_cast<double>(floor))
             : "-";
}

std::string triple(const std::array<int64_t, 3> &values) {
  return "(" + std::to_string(values[0]) + "," + std::to_string(values[1]) +
         "," + std::to_string(values[2]) + ")";
}

} // namespace

std::string countersText(const Report &report) {
  Table table({"kernel", "floor", "moved", "ratio", "warp instructions",
               "conflicts", "barriers", "shuffles", "findings"},
              {1, 2, 3, 4, 5, 6, 7, 8});
  int64_t allFloor = 0, allMoved = 0;
  for (const KernelEntry &kernel : report.kernels) {
    if (!kernel.counters)
      continue;
    const LaunchCounters &counters = *kernel.counters;
    int64_t floor =
        kernel.bytesRead.value_or(0) + kernel.bytesWritten.value_or(0);
    int64_t moved =
        (counters.sectorsRead + counters.sectorsWritten) * kSectorBytes;
    allFloor += floor;
    allMoved += moved;
    table.add({kernel.name, byteCount(floor), byteCount(moved),
               ratio(moved, floor), std::to_string(counters.warpInstructions),
               std::to_string(counters.sharedConflicts),
               std::to_string(counters.barriers),
               std::to_string(counters.shuffles),
               std::to_string(kernel.findings.size())});
  }
  if (table.empty())
    return "";
  table.add({"all", byteCount(allFloor), byteCount(allMoved),
             ratio(allMoved, allFloor)});
  return table.text("");
}

std::string findingsText(const Report &report) {
  std::string text;
  for (const std::vector<KernelEntry> *kernels :
       {&report.kernels, &report.prologueKernels})
    for (const KernelEntry &kernel : *kernels)
      for (const Finding &finding : kernel.findings) {
        text += finding.kind + ": " + finding.message + "\n  in " +
                kernel.name + ", PTX line " + std::to_string(finding.ptxLine);
        if (finding.sourceLine > 0)
          text += ", " + finding.sourceFile + ":" +
                  std::to_string(finding.sourceLine);
        text += ", block " + triple(finding.block) + ", thread " +
                triple(finding.thread) + "\n";
        if (finding.argument)
          text += "  at byte " + std::to_string(finding.offset.value_or(0)) +
                  " of " + finding.tensor + " (argument " +
                  std::to_string(*finding.argument) + ")\n";
        if (!finding.nodes.empty())
          text += "  nodes: " + joinShort(finding.nodes, 8) + "\n";
      }
  return text;
}

} // namespace lockstitch::tool
