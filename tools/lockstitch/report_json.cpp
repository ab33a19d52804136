// The report, and the list of saved outputs, as JSON. The one user of
// nlohmann-json. Keys are only ever added.
#include "tools/lockstitch/report.h"

#include "tools/lockstitch/outputs.h"
#include "tools/lockstitch/version.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace lockstitch::tool {
namespace {

using Json = nlohmann::ordered_json;

template <typename T> Json orNull(const std::optional<T> &value) {
  return value ? Json(*value) : Json(nullptr);
}
Json orNull(const std::optional<double> &value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}
Json orNull(const std::string &text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

Json toJson(const Error &error) {
  Json messages = Json::array();
  for (const ErrorMessage &message : error.messages)
    messages.push_back({{"node", orNull(message.node)},
                        {"where", orNull(message.where)},
                        {"reason", message.reason},
                        {"way_out", orNull(message.wayOut)}});
  return {{"status", static_cast<int>(error.kind)}, {"messages", messages}};
}

Json toJson(const LaunchCounters &counters) {
  return {{"thread_instructions", counters.threadInstructions},
          {"warp_instructions", counters.warpInstructions},
          {"sectors_read", counters.sectorsRead},
          {"sectors_written", counters.sectorsWritten},
          {"shared_conflicts", counters.sharedConflicts},
          {"barriers", counters.barriers},
          {"shuffles", counters.shuffles},
          {"atomics", counters.atomics}};
}

Json toJson(const Finding &finding) {
  Json source = nullptr;
  if (finding.sourceLine > 0)
    source = {{"file", finding.sourceFile}, {"line", finding.sourceLine}};
  return {
      {"kind", finding.kind},
      {"message", finding.message},
      {"ptx_line", finding.ptxLine > 0 ? Json(finding.ptxLine) : Json(nullptr)},
      {"source", source},
      {"block", finding.block},
      {"thread", finding.thread},
      {"address", finding.address},
      {"arg", orNull(finding.argument)},
      {"offset", orNull(finding.offset)},
      {"tensor", orNull(finding.tensor)},
      {"nodes", finding.nodes}};
}

Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json toJson(const ScheduleReport &entry) {
  return {{"text", entry.text},
          {"by_rule", entry.isRule},
          {"estimated_us", number(entry.microseconds)},
          {"memory_us", number(entry.memoryMicroseconds)},
          {"latency_us", number(entry.latencyMicroseconds)},
          {"issue_us", number(entry.issueMicroseconds)},
          {"bound", entry.bound},
          {"bytes_read", entry.bytesRead},
          {"bytes_written", entry.bytesWritten},
          {"registers", entry.registers},
          {"instructions_per_thread", number(entry.instructionsPerThread)},
          {"lost", orNull(entry.lost)}};
}

Json toJson(const ScheduleEntries &schedule) {
  Json others = Json::array();
  for (const ScheduleReport &entry : schedule.runnersUp)
    others.push_back(toJson(entry));
  return {{"chosen", toJson(schedule.chosen)}, {"runners_up", others}};
}

Json toJson(const KernelEntry &kernel) {
  Json findings = Json::array();
  for (const Finding &finding : kernel.findings)
    findings.push_back(toJson(finding));
  return {
      {"name", kernel.name},
      {"code", orNull(kernel.code)},
      {"nodes", kernel.nodes},
      {"schemes", kernel.schemes},
      {"launches", kernel.launches},
      {"grid", orNull(kernel.grid)},
      {"block", orNull(kernel.block)},
      {"shared_bytes", orNull(kernel.sharedBytes)},
      {"registers", orNull(kernel.registers)},
      {"spill_bytes", orNull(kernel.spillBytes)},
      {"waves", orNull(kernel.waves)},
      {"sms_busy", orNull(kernel.smsBusy)},
      {"bytes_in_flight_per_sm", orNull(kernel.bytesInFlightPerSm)},
      {"bytes_read", orNull(kernel.bytesRead)},
      {"bytes_written", orNull(kernel.bytesWritten)},
      {"estimated_us", orNull(kernel.estimatedMicroseconds)},
      {"compile_cpu_ms", orNull(kernel.compileCpuMilliseconds)},
      {"schedule", kernel.schedule ? toJson(*kernel.schedule) : Json(nullptr)},
      {"counters", kernel.counters ? toJson(*kernel.counters) : Json(nullptr)},
      {"findings", findings}};
}

Json toJson(const std::vector<KernelEntry> &kernels) {
  Json list = Json::array();
  for (const KernelEntry &kernel : kernels)
    list.push_back(toJson(kernel));
  return list;
}

Json toJson(const LibraryEntry &call) {
  return {{"name", call.name},
          {"nodes", call.nodes},
          {"kind", call.kind},
          {"epilogue", call.epilogue},
          {"calls", call.calls},
          {"bytes_read", call.bytesRead},
          {"bytes_written", call.bytesWritten}};
}

Json toJson(const Totals &totals) {
  return {{"nodes", orNull(totals.nodes)},
          {"kernels", orNull(totals.kernels)},
          {"launches", orNull(totals.launches)},
          {"distinct_kernels", orNull(totals.distinctKernels)},
          {"floor_kernels", orNull(totals.floorKernels)},
          {"library_calls", orNull(totals.libraryCalls)},
          {"kernel_bytes", orNull(totals.kernelBytes)},
          {"library_bytes", orNull(totals.libraryBytes)},
          {"arena_bytes", orNull(totals.arenaBytes)},
          {"constant_bytes", orNull(totals.constantBytes)}};
}

Json toJson(const CompileCpuSeconds &seconds) {
  return {{"total", orNull(seconds.total)},
          {"import", orNull(seconds.import)},
          {"graph", orNull(seconds.graph)},
          {"plan", orNull(seconds.plan)},
          {"schedule", orNull(seconds.schedule)},
          {"codegen_ptx", orNull(seconds.codegenPtx)},
          {"codegen_host", orNull(seconds.codegenHost)},
          {"link", orNull(seconds.link)}};
}

Json runSeconds(std::vector<double> seconds) {
  if (seconds.empty())
    return {
        {"min", nullptr}, {"median", nullptr}, {"max", nullptr}, {"runs", 0}};
  std::sort(seconds.begin(), seconds.end());
  size_t n = seconds.size();
  double median =
      n % 2 ? seconds[n / 2] : (seconds[n / 2 - 1] + seconds[n / 2]) / 2;
  return {{"min", seconds.front()},
          {"median", median},
          {"max", seconds.back()},
          {"runs", n}};
}

Json toJson(const CheckEntry &check) {
  return {{"output", check.output},
          {"max_abs", orNull(check.maxAbs)},
          {"max_rel", orNull(check.maxRel)},
          {"ok", check.ok},
          {"reason", orNull(check.reason)}};
}

Json toJson(const DecisionEntry &decision) {
  Json numbers = Json::object();
  for (const DecisionEntry::Number &number : decision.numbers)
    numbers[number.key] = !std::isfinite(number.value) ? Json(nullptr)
                          : number.isWhole
                              ? Json(static_cast<int64_t>(number.value))
                              : Json(number.value);
  return {{"a", decision.a},
          {"b", decision.b},
          {"verdict", decision.merged ? "merged" : "refused"},
          {"by", decision.byProfit ? "profit" : "legality"},
          {"reason", decision.reason},
          {"numbers", numbers}};
}

Json toJson(const ListedTensor &tensor) {
  Json shape = nullptr;
  if (tensor.shape) {
    shape = Json::array();
    for (const std::string &dim : *tensor.shape) {
      bool isNumber =
          !dim.empty() &&
          dim.find_first_not_of("0123456789") == std::string::npos &&
          dim.size() < 19;
      shape.push_back(dim.empty() ? Json(nullptr)
                      : isNumber  ? Json(std::stoll(dim))
                                  : Json(dim));
    }
  }
  return {{"name", tensor.name}, {"type", tensor.type}, {"shape", shape}};
}

Json toJson(const ListedOperator &listed) {
  return {{"op_type", listed.opType},        {"domain", listed.domain},
          {"opset", listed.opset},           {"supported", listed.supported},
          {"reason", orNull(listed.reason)}, {"nodes", listed.nodes}};
}

Json toJson(const ListedTarget &target) {
  return {{"target", target.target},
          {"kernels", target.kernels},
          {"launches", target.launches},
          {"library_calls", target.libraryCalls},
          {"prologue_steps", target.prologueSteps},
          {"arena_bytes", orNull(target.arenaBytes)},
          {"workspace_bytes", orNull(target.workspaceBytes)},
          {"code_bytes", target.codeBytes},
          {"cubin_bytes", target.cubinBytes},
          {"needs",
           {{"cpu", orNull(target.cpu)},
            {"cpu_features", target.cpuFeatures},
            {"driver", orNull(target.driver)},
            {"compute_capability", orNull(target.computeCapability)},
            {"sms", orNull(target.sms)},
            {"libraries", target.libraries}}}};
}

Json toJson(const ListedPart &part) {
  return {{"what", part.what},         {"file", orNull(part.file)},
          {"offset", part.offset},     {"bytes", part.bytes},
          {"checksum", part.checksum}, {"state", part.state}};
}

template <typename T> Json listOf(const std::vector<T> &items) {
  Json list = Json::array();
  for (const T &item : items)
    list.push_back(toJson(item));
  return list;
}

Json toJson(const Listing &listing) {
  return {{"kind", listing.kind},
          {"inputs", listOf(listing.inputs)},
          {"outputs", listOf(listing.outputs)},
          {"opsets", listing.opsets},
          {"operators", listOf(listing.operators)},
          {"constants",
           {{"count", listing.constants}, {"bytes", listing.constantBytes}}},
          {"compiler_version", orNull(listing.compilerVersion)},
          {"targets", listOf(listing.targets)},
          {"sections", listOf(listing.parts)}};
}

} // namespace

/// What a report has for each of several targets.
static Json targetJson(const Report &report) {
  return {{"target", orNull(report.target)},
          {"kernels", toJson(report.kernels)},
          {"library_calls", listOf(report.libraryCalls)},
          {"host_steps", Json::array()},
          {"totals", toJson(report.totals)},
          {"prologue_kernels", toJson(report.prologueKernels)}};
}

std::string toJson(const Report &report) {
  Json json = {{"report", 1},
               {"lockstitch", version()},
               {"options", orNull(report.options)},
               {"plan", orNull(report.plan)},
               {"model", orNull(report.model)},
               {"target", orNull(report.target)},
               {"device", orNull(report.device)},
               {"explorer", orNull(report.explorer)},
               {"error", report.error ? toJson(*report.error) : Json(nullptr)},
               {"kernels", toJson(report.kernels)},
               {"library_calls", listOf(report.libraryCalls)},
               // There is no kind of step for computations outside of kernels
               // and library calls.
               {"host_steps", Json::array()},
               {"totals", toJson(report.totals)},
               {"compile_cpu_seconds", toJson(report.compileCpuSeconds)},
               {"run_seconds", runSeconds(report.runSeconds)},
               {"checks", listOf(report.checks)},
               {"prologue_kernels", toJson(report.prologueKernels)},
               {"targets", Json::array()}};
  for (const Report &target : report.targets)
    json["targets"].push_back(targetJson(target));
  if (report.decisions)
    json["decisions"] = listOf(*report.decisions);
  if (report.listing)
    json["inspect"] = toJson(*report.listing);
  // Names in a model may be any bytes.
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string outputsJson(const std::vector<TensorInfo> &infos,
                        const std::vector<std::string> &files) {
  Json list = Json::array();
  for (size_t i = 0; i < infos.size(); ++i)
    list.push_back({{"name", infos[i].name},
                    {"type", std::string(name(infos[i].type))},
                    {"shape", infos[i].extents()},
                    {"file", files[i]}});
  return list.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace lockstitch::tool
