// Artifacts with open sizes, on the command line.
#include "runtime/program/artifact.h"
#include "tests/unit/runtime/test_programs.h"
#include "tools/lockstitch/options.h"
#include "tools/lockstitch/report.h"
#include "tools/lockstitch/verbs.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include <unistd.h>

using namespace lockstitch;
using namespace lockstitch::testing;
using namespace lockstitch::tool;
using ::testing::HasSubstr;

namespace {

struct OpenArtifactRun : ::testing::Test {
  OpenArtifactRun()
      : path(::testing::TempDir() + "open_tool_" + std::to_string(getpid()) +
             ".lsp") {
    EXPECT_TRUE(writeArtifact(openProgram(), path).ok());
    verb.model.model = path;
    verb.device.device = "host";
    verb.random = 1;
    verb.threads = 1;
  }
  ~OpenArtifactRun() override { std::filesystem::remove(path); }
  std::string path;
  RunVerb verb;
  Report report;
};

TEST_F(OpenArtifactRun, RunsForTheShapeThatIsGiven) {
  for (const char *shape : {"x=4,16", "x=64,16"}) {
    verb.model.shapes = {shape};
    report = {};
    Status status = lockstitch::tool::run(verb, report);
    ASSERT_TRUE(status.ok()) << text(status);
    EXPECT_EQ(report.totals.arenaBytes, shape[2] == '4' ? 512 : 8192);
  }
}

TEST_F(OpenArtifactRun, AsksForTheShape) {
  EXPECT_EQ(
      text(lockstitch::tool::run(verb, report)),
      "input 'x': its shape is open: x f32[n x 16] (give it with --input, "
      "or its shape with --shape x=N,N...)");
}

TEST_F(OpenArtifactRun, SaysWhichShapesItTakes) {
  verb.model.shapes = {"x=7,16"};
  EXPECT_EQ(text(lockstitch::tool::run(verb, report)),
            "symbol 'n': must be a multiple of 4, but is 7 (the program's "
            "inputs are: x f32[n x 16] where 1 <= n <= 1024, n a multiple of "
            "4)");
  verb.model.shapes = {"x=8,15"};
  EXPECT_THAT(text(lockstitch::tool::run(verb, report)),
              HasSubstr("was compiled for x f32[n x 16]"));
}

TEST_F(OpenArtifactRun, InspectShowsTheSizes) {
  InspectVerb inspectVerb;
  inspectVerb.file = path;
  ASSERT_TRUE(lockstitch::tool::inspect(inspectVerb, report).ok());
  EXPECT_THAT(*report.listing->inputs[0].shape,
              ::testing::ElementsAre("n", "16"));
  EXPECT_FALSE(report.listing->targets[0].arenaBytes);
  EXPECT_FALSE(report.totals.arenaBytes);
  EXPECT_THAT(toJson(report), HasSubstr("\"arena_bytes\": null"));
}

} // namespace
