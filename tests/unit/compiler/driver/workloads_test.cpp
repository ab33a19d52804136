// The small workloads through the compiler, without running them: what holds for every model's program.
#include "compiler/codegen/assembler.h"
#include "compiler/driver/compile.h"
#include "compiler/graph/passes/passes.h"
#include "frontends/onnx/importer.h"
#include "runtime/program/artifact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

using namespace lockstitch;

namespace {

const std::filesystem::path kWorkloads =
    std::filesystem::path(LOCKSTITCH_SOURCE_DIR) / "tests/data/workloads";

std::vector<std::filesystem::path> workloads() {
  std::vector<std::filesystem::path> models;
  for (const auto &entry :
       std::filesystem::recursive_directory_iterator(kWorkloads))
    if (entry.path().filename() == "model.onnx")
      models.push_back(entry.path());
  std::sort(models.begin(), models.end());
  return models;
}

/// The imported model, or nothing if it needs operators that are not there yet.
std::optional<PrimitiveGraph> import(const std::filesystem::path &path) {
  Result<OnnxModel> model = readModel(path.string());
  if (!model.ok())
    return std::nullopt;
  Result<PrimitiveGraph> graph = importModel(*model, {});
  if (!graph.ok())
    return std::nullopt;
  return std::move(*graph);
}

PrimitiveGraph imported(const std::string &name) {
  auto graph = import(kWorkloads / "small" / name / "model.onnx");
  EXPECT_TRUE(graph) << name;
  return graph ? std::move(*graph) : PrimitiveGraph();
}

TEST(Workloads, EveryKernelAssemblesWithoutSpills) {
  if (!Assembler::find())
    GTEST_SKIP() << "neither ptxas nor nvJitLink is on this machine: the PTX "
                    "was not assembled";
  size_t kernels = 0;
  for (const auto &path : workloads()) {
    auto graph = import(path);
    if (!graph)
      continue;
    for (const char *target : {"sm_80", "sm_90"}) {
      CompileOptions options;
      options.targets = {target};
      Result<Compilation> compiled = compile(*graph, options);
      ASSERT_TRUE(compiled.ok())
          << path << ": " << compiled.error().messages[0].reason;
      for (const KernelReport &kernel : compiled->targets[0].kernels) {
        EXPECT_GT(kernel.registers, 0) << path << " " << kernel.symbol << ": "
                                       << compiled->targets[0].assembler;
        EXPECT_EQ(kernel.spillBytes, 0) << path << " " << kernel.symbol;
        ++kernels;
      }
    }
  }
  EXPECT_GT(kernels, 100u);
}

std::string bytesOf(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Workloads, TheSameCompileGivesTheSameBytes) {
  for (const char *name :
       {"bert", "llama", "kernels/softmax", "kernels/rotary"}) {
    std::string artifacts[2];
    for (std::string &artifact : artifacts) {
      CompileOptions options;
      options.targets = {"x86-64-v3", "sm_90"};
      options.assemble = false;
      Result<Compilation> compiled = compile(imported(name), options);
      ASSERT_TRUE(compiled.ok());
      std::filesystem::path path =
          std::filesystem::path(::testing::TempDir()) / "same.lsp";
      ASSERT_TRUE(writeArtifact(*compiled->program, path.string()).ok());
      artifact = bytesOf(path);
    }
    EXPECT_GT(artifacts[0].size(), 1000u);
    EXPECT_EQ(artifacts[0] == artifacts[1], true) << name;
  }
}

TEST(Workloads, EqualLayersShareTheirKernels) {
  CompileOptions options;
  Result<Compilation> compiled = compile(imported("transformer"), options);
  ASSERT_TRUE(compiled.ok());
  const TargetProgram &target = compiled->program->targets[0];
  size_t launches = 0;
  for (const Step &step : target.steps)
    launches += step.kind == Step::Kind::Launch;
  EXPECT_LT(target.kernels.size() * 3, launches * 2);
}

// Every node of the model ends as part of a kernel or a library call, as a view, folded, or dead; and nothing is named that the
// model does not have.
TEST(Workloads, EveryNodeEndsSomewhere) {
  for (const auto &path : workloads()) {
    auto graph = import(path);
    if (!graph)
      continue;
    std::set<std::string> all;
    for (const Origin &origin : graph->origins) {
      EXPECT_NE(origin.fate, Origin::Fate::Pending)
          << path << " " << origin.node;
      all.insert(origin.node);
    }
    cleanUp(*graph);
    std::set<std::string> views, dead;
    for (const Origin &origin : graph->origins)
      if (origin.fate != Origin::Fate::Primitive)
        dead.insert(origin.node);
    for (const Primitive &primitive : graph->primitives)
      if (storageRoot(*graph, primitive.result) != primitive.result)
        for (OriginId origin : primitive.origins)
          views.insert(graph->origins[origin].node);
    CompileOptions options;
    options.targets = {"sm_90"};
    options.assemble = false;
    Result<Compilation> compiled = compile(*graph, options);
    ASSERT_TRUE(compiled.ok()) << path;
    std::set<std::string> placed;
    const TargetProgram &target = compiled->program->targets[0];
    for (const auto *steps : {&target.prologue, &target.steps})
      for (const Step &step : *steps)
        placed.insert(step.nodes.begin(), step.nodes.end());
    for (const std::string &node : placed)
      EXPECT_TRUE(all.count(node)) << path << " " << node;
    for (const Origin &origin : graph->origins)
      if (!origin.isConstantNode)
        EXPECT_TRUE(placed.count(origin.node) || views.count(origin.node) ||
                    dead.count(origin.node))
            << path << " " << origin.node << " is nowhere";
  }
}

TEST(Workloads, APrintedPlanIsFollowed) {
  PrimitiveGraph graph = imported("bert");
  CompileOptions options;
  options.emit = {"plan"};
  Result<Compilation> first = compile(graph, options);
  ASSERT_TRUE(first.ok());
  options.plan = first->emitted["plan"];
  options.planFile = "edited.plan";
  Result<Compilation> second = compile(graph, options);
  ASSERT_TRUE(second.ok()) << second.error().messages[0].reason;
  EXPECT_EQ(second->emitted["plan"], options.plan);
  // A plan that names an unknown primitive is refused with file and line.
  options.plan += "kernel \"nobody\"\n";
  Result<Compilation> third = compile(graph, options);
  ASSERT_FALSE(third.ok());
  EXPECT_EQ(third.error().kind, ErrorKind::Refused);
  EXPECT_EQ(third.error().messages[0].where, "edited.plan");
  EXPECT_THAT(third.error().messages[0].reason,
              ::testing::HasSubstr("no primitive 'nobody'"));
}

TEST(Workloads, AnUnknownTargetIsRefused) {
  CompileOptions options;
  options.targets = {"sm_1"};
  Result<Compilation> compiled = compile(imported("kernels/softmax"), options);
  ASSERT_FALSE(compiled.ok());
  EXPECT_EQ(compiled.error().kind, ErrorKind::Refused);
  EXPECT_THAT(compiled.error().messages[0].wayOut,
              ::testing::HasSubstr("sm_90"));
}

} // namespace
