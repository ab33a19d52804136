#include "tools/lockstitch/needs.h"

#include <algorithm>

namespace lockstitch::tool {
namespace {

struct Release {
  const char *ptx, *cuda;
};

constexpr Release kReleases[] = {
    {"6.0", "9.0"},  {"6.1", "9.1"},  {"6.2", "9.2"},  {"6.3", "10.0"},
    {"6.4", "10.1"}, {"6.5", "10.2"}, {"7.0", "11.0"}, {"7.1", "11.1"},
    {"7.2", "11.2"}, {"7.3", "11.3"}, {"7.4", "11.4"}, {"7.5", "11.5"},
    {"7.6", "11.6"}, {"7.7", "11.7"}, {"7.8", "11.8"}, {"8.0", "12.0"},
    {"8.1", "12.1"}, {"8.2", "12.2"}, {"8.3", "12.3"}, {"8.4", "12.4"},
    {"8.5", "12.5"}, {"8.6", "12.7"}, {"8.7", "12.8"}, {"8.8", "12.9"},
    {"9.0", "13.0"}};

} // namespace

std::optional<std::string> driverFor(std::string_view ptx) {
  size_t at = ptx.find(".version");
  if (at == std::string_view::npos)
    return std::nullopt;
  size_t begin = ptx.find_first_of("0123456789", at);
  if (begin == std::string_view::npos)
    return std::nullopt;
  std::string version(
      ptx.substr(begin, ptx.find_first_not_of("0123456789.", begin) - begin));
  for (const Release &release : kReleases)
    if (version == release.ptx)
      return std::string("CUDA ") + release.cuda;
  return "PTX ISA " + version;
}

std::optional<std::string> computeCapability(std::string_view target) {
  if (!target.starts_with("sm_") || target.size() < 5)
    return std::nullopt;
  std::string digits(target.substr(3));
  return digits.substr(0, digits.size() - 1) + "." + digits.back();
}

ListedTarget listTarget(const TargetProgram &target) {
  ListedTarget listed;
  listed.target = target.target;
  listed.kernels = static_cast<int64_t>(target.kernels.size());
  bool matmul = false, conv = false;
  for (const std::vector<Step> *steps : {&target.steps, &target.prologue})
    for (const auto &[counted, trips] : flatten(*steps)) {
      const Step &step = *counted;
      if (step.kind == Step::Kind::Loop)
        continue;
      if (step.kind != Step::Kind::Library) {
        listed.launches += steps == &target.steps;
        continue;
      }
      listed.libraryCalls += steps == &target.steps;
      (step.library.kind == LibraryCall::Kind::MatMul ? matmul : conv) = true;
    }
  listed.prologueSteps = static_cast<int64_t>(target.prologue.size());
  if (target.arenaBytes.isConstant())
    listed.arenaBytes = target.arenaBytes.value();
  if (target.workspaceBytes.isConstant())
    listed.workspaceBytes = target.workspaceBytes.value();
  listed.codeBytes = static_cast<int64_t>(target.code.bytes.size());
  listed.cubinBytes = static_cast<int64_t>(target.cubin.bytes.size());
  listed.computeCapability = computeCapability(target.target);
  if (listed.computeCapability) {
    std::string_view ptx(
        reinterpret_cast<const char *>(target.code.bytes.data()),
        target.code.bytes.size());
    listed.driver = driverFor(ptx);
    // No grid waits for all its blocks, so one SM will do.
    listed.sms = 1;
    if (matmul)
      listed.libraries.push_back("a library of products");
    if (conv)
      listed.libraries.push_back("a library of convolutions");
  } else {
    listed.cpu =
        target.requiredCpu.empty() ? target.target : target.requiredCpu;
    listed.cpuFeatures = target.requiredFeatures;
  }
  return listed;
}

} // namespace lockstitch::tool
