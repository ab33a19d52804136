#include "compiler/driver/compile.h"
#include "tools/lockstitch/counters_text.h"
#include "tools/lockstitch/report.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace lockstitch::tool {
namespace {

using nlohmann::json;

std::vector<std::string> keysOf(const json &object) {
  std::vector<std::string> keys;
  for (const auto &[key, value] : object.items())
    keys.push_back(key);
  return keys;
}

json jsonOf(const Report &report) { return json::parse(toJson(report)); }

/// Two launches of one kernel, a product with a bias, and a copy.
Program program(const std::string &target) {
  Program program;
  program.model = "m";
  program.explorer = "none";
  program.totalNodes = 9;
  program.optionsHash = 1;
  program.planHash = 0xabc;
  TensorInfo constant;
  constant.shape = {10};
  program.constantInfos = {constant};
  TargetProgram made;
  made.target = target;
  made.arenaBytes = 512;
  made.floorKernels = 1;
  KernelCode code;
  code.symbol = "k";
  code.hash = 77;
  code.grid = {4, 1, 1};
  code.block = {64, 1, 1};
  code.sharedBytes = 128;
  made.kernels = {code};
  for (const char *name : {"first", "second"}) {
    Step step;
    step.name = name;
    step.nodes = {name};
    step.schemes = {"warp"};
    step.bytesRead = 100;
    step.bytesWritten = 10;
    made.steps.push_back(step);
  }
  Step product;
  product.kind = Step::Kind::Library;
  product.name = "product";
  product.library.matmul.hasC = true;
  product.library.matmul.c.strides = {0, 1};
  product.bytesRead = 1000;
  product.bytesWritten = 1;
  made.steps.insert(made.steps.begin() + 1, product);
  Step copy;
  copy.kind = Step::Kind::Copy;
  copy.name = "copy";
  copy.bytesRead = copy.bytesWritten = 5;
  made.steps.push_back(copy);
  made.prologue = {made.steps[0]};
  program.targets = {made};
  return program;
}

TEST(Report, EveryKeyIsThereWhenNothingIsKnown) {
  json report = jsonOf(Report());
  EXPECT_THAT(keysOf(report),
              ::testing::IsSupersetOf(
                  {"report", "lockstitch", "options", "plan", "model", "target",
                   "device", "explorer", "error", "kernels", "library_calls",
                   "host_steps", "totals", "compile_cpu_seconds", "run_seconds",
                   "checks"}));
  EXPECT_EQ(report["report"], 1);
  EXPECT_TRUE(report["error"].is_null());
  EXPECT_THAT(keysOf(report["totals"]),
              ::testing::UnorderedElementsAre(
                  "nodes", "kernels", "launches", "distinct_kernels",
                  "floor_kernels", "library_calls", "kernel_bytes",
                  "library_bytes", "arena_bytes", "constant_bytes"));
  EXPECT_TRUE(report["totals"]["kernels"].is_null());
  EXPECT_THAT(keysOf(report["compile_cpu_seconds"]),
              ::testing::UnorderedElementsAre("total", "import", "graph",
                                              "plan", "schedule", "codegen_ptx",
                                              "codegen_host", "link"));
  EXPECT_EQ(report["run_seconds"]["runs"], 0);
  EXPECT_TRUE(report["run_seconds"]["median"].is_null());
  EXPECT_FALSE(report.contains("decisions"));
}

TEST(Report, KernelsCopiesAndLibraryCallsOfAProgram) {
  Report report;
  Program made = program("host");
  addProgram(report, made, made.targets[0]);
  json found = jsonOf(report);
  ASSERT_EQ(found["kernels"].size(), 3u);
  EXPECT_EQ(found["kernels"][0]["name"], "first");
  EXPECT_EQ(found["kernels"][0]["code"], found["kernels"][1]["code"]);
  EXPECT_TRUE(found["kernels"][0]["grid"].is_null());
  EXPECT_TRUE(found["kernels"][0]["counters"].is_null());
  EXPECT_EQ(found["kernels"][2]["name"], "copy");
  ASSERT_EQ(found["library_calls"].size(), 1u);
  EXPECT_EQ(found["library_calls"][0]["kind"], "matmul");
  EXPECT_EQ(found["library_calls"][0]["epilogue"], json::array({"bias"}));
  EXPECT_EQ(found["totals"]["kernels"], 3);
  EXPECT_EQ(found["totals"]["launches"], 3);
  EXPECT_EQ(found["totals"]["distinct_kernels"], 2);
  EXPECT_EQ(found["totals"]["kernel_bytes"], 230);
  EXPECT_EQ(found["totals"]["library_bytes"], 1001);
  EXPECT_EQ(found["totals"]["constant_bytes"], 40);
  EXPECT_EQ(found["totals"]["nodes"], 9);
  EXPECT_EQ(found["plan"], "0000000000000abc");
  EXPECT_EQ(found["prologue_kernels"].size(), 1u);
  EXPECT_EQ(found["prologue_kernels"][0]["launches"], 0);
}

TEST(Report, InALoopLaunchesAndCallsCountItsTrips) {
  Report report;
  Program made = program("host");
  TargetProgram &target = made.targets[0];
  Step outer, inner; // first, product; then 5 times: second, and 3 times copy
  outer.kind = inner.kind = Step::Kind::Loop;
  outer.name = "outer";
  outer.trips = 5;
  inner.trips = 3;
  inner.steps = {target.steps[1], target.steps[3]};
  outer.steps = {target.steps[2], inner};
  target.steps = {target.steps[0], target.steps[1], outer};
  addProgram(report, made, target);
  RunStatistics run, prologue;
  run.steps.resize(countSteps(target.steps));
  ASSERT_EQ(run.steps.size(), 7u);
  run.steps[3].counters = LaunchCounters{.barriers = 9}; // second
  addStatistics(report, target, run, prologue);
  json found = jsonOf(report);
  ASSERT_EQ(found["kernels"].size(), 3u); // a loop is none
  EXPECT_EQ(found["kernels"][0]["launches"], 1);
  EXPECT_EQ(found["kernels"][1]["launches"], 5);
  EXPECT_EQ(found["kernels"][1]["counters"]["barriers"], 9);
  EXPECT_EQ(found["kernels"][2]["launches"], 15);
  ASSERT_EQ(found["library_calls"].size(), 2u);
  EXPECT_EQ(found["library_calls"][0]["calls"], 1);
  EXPECT_EQ(found["library_calls"][1]["calls"], 15);
  EXPECT_EQ(found["totals"]["kernels"], 3);
  EXPECT_EQ(found["totals"]["launches"], 21);
  EXPECT_EQ(found["totals"]["kernel_bytes"], 110 + 5 * 110 + 15 * 10);
  EXPECT_EQ(found["totals"]["library_bytes"], 16 * 1001);
}

TEST(Report, LaunchShapesAndCompilerFiguresOfAGpuTarget) {
  Report report;
  auto made = std::make_shared<Program>(program("sm_90"));
  Compilation compilation;
  compilation.program = made;
  TargetReport target;
  target.target = "sm_90";
  target.kernels.resize(2);
  target.kernels[1].registers = 40;
  target.kernels[1].spillBytes = 0;
  target.kernels[1].waves = 0.5;
  target.kernels[1].smsBusy = 66;
  target.kernels[1].estimatedMicroseconds = 2.5;
  compilation.targets = {target};
  compilation.seconds.plan = 0.25;
  addProgram(report, *made, made->targets[0]);
  addCompilation(report, compilation, made->targets[0]);
  json found = jsonOf(report);
  EXPECT_EQ(found["kernels"][0]["grid"], json::array({4, 1, 1}));
  EXPECT_EQ(found["kernels"][0]["block"], json::array({64, 1, 1}));
  EXPECT_EQ(found["kernels"][0]["shared_bytes"], 128);
  EXPECT_TRUE(found["kernels"][0]["registers"].is_null());
  EXPECT_EQ(found["kernels"][1]["registers"], 40);
  EXPECT_EQ(found["kernels"][1]["spill_bytes"], 0);
  EXPECT_EQ(found["kernels"][1]["sms_busy"], 66);
  EXPECT_EQ(found["kernels"][1]["estimated_us"], 2.5);
  EXPECT_TRUE(found["kernels"][2]["waves"].is_null()); // the copy
  EXPECT_EQ(found["compile_cpu_seconds"]["plan"], 0.25);
}

TEST(Report, CountersAndFindingsBelongToTheirKernel) {
  Report report;
  Program made = program("sm_90");
  addProgram(report, made, made.targets[0]);
  RunStatistics run;
  run.steps.resize(made.targets[0].steps.size());
  run.steps[2].counters = LaunchCounters{
      .threadInstructions = 5}; // after the library call: the second kernel
  Finding finding;
  finding.kind = "race";
  finding.message = "two writes";
  finding.ptxLine = 12;
  finding.nodes = {"second"};
  run.steps[2].findings = {finding};
  addStatistics(report, made.targets[0], run, {});
  addStatistics(report, made.targets[0], run,
                {}); // a second run finds the same
  json found = jsonOf(report);
  EXPECT_TRUE(found["kernels"][0]["counters"].is_null());
  EXPECT_EQ(found["kernels"][1]["counters"]["thread_instructions"], 5);
  ASSERT_EQ(found["kernels"][1]["findings"].size(), 1u);
  EXPECT_THAT(keysOf(found["kernels"][1]["findings"][0]),
              ::testing::UnorderedElementsAre(
                  "kind", "message", "ptx_line", "source", "block", "thread",
                  "address", "arg", "offset", "tensor", "nodes"));
  EXPECT_TRUE(found["kernels"][1]["findings"][0]["source"].is_null());
  EXPECT_EQ(numFindings(report), 1u);
  Status status = findingsStatus(report);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind, ErrorKind::CheckFailed);
  EXPECT_EQ(status.error().messages[0].where, "kernel second, PTX line 12");
}

TEST(Report, FindingsOfThePrologueCount) {
  Report report;
  Program made = program("sm_90");
  addProgram(report, made, made.targets[0]);
  RunStatistics prologue;
  prologue.steps.resize(1);
  prologue.steps[0].findings.resize(1);
  addStatistics(report, made.targets[0], {}, prologue);
  EXPECT_EQ(numFindings(report), 1u);
  EXPECT_FALSE(findingsStatus(report).ok());
}

TEST(CountersText, BytesAgainstTheFloor) {
  Report report;
  KernelEntry kernel;
  kernel.name = "k";
  kernel.bytesRead = 96;
  kernel.bytesWritten = 32;
  kernel.counters = LaunchCounters{
      .warpInstructions = 9, .sectorsRead = 6, .sectorsWritten = 2};
  report.kernels = {kernel, KernelEntry{}}; // one without counters
  EXPECT_EQ(countersText(report),
            "kernel  floor  moved  ratio  warp instructions  conflicts  "
            "barriers  shuffles  findings\n"
            "k       128 B  256 B      2                  9          0         "
            "0         0         0\n"
            "all     128 B  256 B      2\n");
  EXPECT_EQ(countersText(Report()), "");
}

TEST(CountersText, Findings) {
  Report report;
  KernelEntry kernel;
  kernel.name = "k";
  Finding finding;
  finding.kind = "race";
  finding.message = "two writes";
  finding.ptxLine = 12;
  finding.sourceFile = "f.cu";
  finding.sourceLine = 3;
  finding.thread = {1, 2, 3};
  finding.argument = 1;
  finding.offset = 8;
  finding.tensor = "y";
  finding.nodes = {"n"};
  kernel.findings = {finding};
  report.kernels = {kernel};
  EXPECT_EQ(findingsText(report),
            "race: two writes\n  in k, PTX line 12, f.cu:3, block (0,0,0), "
            "thread (1,2,3)\n"
            "  at byte 8 of y (argument 1)\n  nodes: n\n");
  EXPECT_EQ(findingsText(Report()), "");
}

TEST(Report, MedianOfAnEvenNumberOfRuns) {
  Report report;
  report.runSeconds = {4, 1, 2, 8};
  json found = jsonOf(report)["run_seconds"];
  EXPECT_EQ(found["min"], 1);
  EXPECT_EQ(found["median"], 3);
  EXPECT_EQ(found["max"], 8);
  EXPECT_EQ(found["runs"], 4);
}

TEST(Report, ErrorsKeepEveryMessage) {
  Report report;
  report.error = Error{ErrorKind::DeviceFailed,
                       {{"n", "w", "r", "o"}, {"", "", "r2", ""}}};
  json found = jsonOf(report)["error"];
  EXPECT_EQ(found["status"], 4);
  EXPECT_EQ(
      found["messages"][0],
      (json{{"node", "n"}, {"where", "w"}, {"reason", "r"}, {"way_out", "o"}}));
  EXPECT_EQ(found["messages"][1], (json{{"node", nullptr},
                                        {"where", nullptr},
                                        {"reason", "r2"},
                                        {"way_out", nullptr}}));
}

TEST(Report, WhatJsonLacksIsNull) {
  Report report;
  report.checks = {{"y", INFINITY, NAN, false, "far off"}};
  json found = jsonOf(report)["checks"][0];
  EXPECT_TRUE(found["max_abs"].is_null());
  EXPECT_TRUE(found["max_rel"].is_null());
  EXPECT_EQ(found["ok"], false);
}

TEST(Report, DecisionsOfExplain) {
  Report report;
  report.decisions = {{{"a", "b", false, true, "why"}}};
  EXPECT_EQ(jsonOf(report)["decisions"][0],
            (json{{"a", "a"},
                  {"b", "b"},
                  {"verdict", "refused"},
                  {"by", "profit"},
                  {"reason", "why"},
                  {"numbers", json::object()}}));
}

} // namespace
} // namespace lockstitch::tool
