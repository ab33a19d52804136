// Loops through the whole compiler: executed on the host and on the simulator they give the reference evaluator's bits, and
// their values lie where nothing needs to be copied.
#include "compiler/driver/compile.h"
#include "compiler/graph/evaluate.h"
#include "runtime/program/artifact.h"
#include "tests/unit/compiler/driver/run_program.h"
#include "tests/unit/compiler/loop_graphs.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>

using namespace lockstitch;
using namespace lockstitch::testing;

namespace {

std::vector<HostTensor> inputsOf(const PrimitiveGraph &graph) {
  std::vector<HostTensor> inputs;
  for (ValueId input : graph.inputs) {
    HostTensor tensor{graph.type(input), {}};
    tensor.bytes.resize(tensor.type.bytes());
    for (int64_t i = 0; i < tensor.type.elements(); ++i) {
      float value = static_cast<float>((i * 7 + input * 3) % 11) / 8 - 0.5f;
      std::memcpy(tensor.bytes.data() + i * 4, &value, 4);
    }
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

Ran run(std::shared_ptr<const Program> program,
        const std::vector<HostTensor> &inputs, DeviceKind device) {
  SessionOptions options;
  options.device = device;
  options.threads = 2;
  return runProgram(std::move(program), inputs, options);
}

std::shared_ptr<const Program>
compiled(const std::string &text,
         Explorer explorer = Explorer::FusionStitching) {
  CompileOptions options;
  options.targets = {"host", "sm_90"};
  options.explorer = explorer;
  options.verify = true;
  options.assemble = false;
  auto made = compile(parsed(text), options);
  EXPECT_TRUE(made.ok()) << made.error().messages[0].reason;
  return made->program;
}

/// `text` on both devices, planned and not, and from an artifact: the evaluator's bits each time.
void check(const std::string &text) {
  PrimitiveGraph graph = parsed(text);
  std::vector<HostTensor> inputs = inputsOf(graph);
  auto want = evaluateGraph(graph, inputs);
  ASSERT_TRUE(want.ok());
  for (Explorer explorer : {Explorer::FusionStitching, Explorer::None}) {
    auto program = compiled(text, explorer);
    for (DeviceKind device : {DeviceKind::Host, DeviceKind::Simulator}) {
      Ran ran = run(program, inputs, device);
      ASSERT_EQ(ran.outputs.size(), want->size());
      for (size_t i = 0; i < want->size(); ++i)
        EXPECT_EQ(ran.outputs[i], (*want)[i].bytes) << "output " << i << " of\n"
                                                    << text;
    }
  }
}

TEST(ExecuteLoops, HistoriesFromEitherEnd) {
  for (const char *direction : {"+", "-"})
    for (const char *shape : {"1", "5", "16", "33", "3x31", "4x64"})
      check(history(direction, shape, "6"));
}

TEST(ExecuteLoops, TwoSlots) {
  for (const char *trips : {"2", "3", "10"}) // the result lies in either
    check(fibonacci(trips));
}

TEST(ExecuteLoops, Nested) { check(nested()); }

/// A history whose initial value is computed by a kernel, `twice`: and read by another one after the loop.
std::string computedInitial(bool twice, const std::string &direction = "+",
                            const std::string &shape = "2x8") {
  std::string text = history(direction, shape, "4");
  auto replace = [&](const std::string &from, const std::string &to) {
    size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
  };
  std::string dims = shape.find('x') == std::string::npos ? "(d0)" : "(d0, d1)";
  replace("%2 = loop \"L/0\" bool[0] (%0, %1)",
          "%2 = pull \"before\" f32[" + shape + "] (%0) over " + shape +
              "\n  %0 = read f32 #0 at " + dims + " -> " + dims +
              "\n  %1 = neg f32 %0\n  yield %1\n%3 = loop \"L/0\" bool[0] "
              "(%2, %1)");
  replace("%3 = project \"L/1\" f32[" + shape + "] (%2)",
          "%4 = project \"L/1\" f32[" + shape + "] (%3)");
  replace("%4 = project \"L/2\" f32[4x" + shape + "] (%2)",
          "%5 = project \"L/2\" f32[4x" + shape + "] (%3)");
  replace("output \"last\" %3\noutput \"all\" %4",
          twice ? binary("6", "behind", "sub", "4", "2", shape) +
                      "output \"last\" %6\noutput \"all\" %5"
                : "output \"last\" %4\noutput \"all\" %5");
  return text;
}

int copies(const std::vector<Step> &steps) {
  int count = 0;
  forEachStep(steps, [&](const Step &step, int64_t) {
    count += step.kind == Step::Kind::Copy;
  });
  return count;
}

TEST(ExecuteLoops, AnInitialValueIsMadeInItsPlace) {
  for (bool twice : {false, true})
    for (const char *direction : {"+", "-"})
      for (const char *shape : {"2x8", "5"})
        check(computedInitial(twice, direction, shape));
  // 64 bytes: the slot before the first slice is aligned. 20 bytes: it is not, so the value is copied there; so it is when
  // somebody else reads it later.
  EXPECT_EQ(copies(compiled(computedInitial(false))->targets[0].steps), 0);
  EXPECT_EQ(copies(compiled(computedInitial(true))->targets[0].steps), 1);
  EXPECT_EQ(
      copies(compiled(computedInitial(false, "+", "5"))->targets[0].steps), 1);
  EXPECT_EQ(
      copies(compiled(computedInitial(false, "-", "2x8"))->targets[0].steps),
      0);
}

TEST(ExecuteLoops, StepsAreNestedAndMove) {
  auto program = compiled(history("+", "5", "6"));
  for (const TargetProgram &target : program->targets) {
    ASSERT_EQ(target.steps.size(), 2u); // the initial value, the loop
    const Step &loop = target.steps[1];
    EXPECT_EQ(loop.kind, Step::Kind::Loop);
    EXPECT_EQ(loop.trips, 6);
    ASSERT_EQ(loop.steps.size(), 1u);
    for (const BufferRef &ref : loop.steps[0].args) {
      ASSERT_EQ(ref.trips.size(), 1u);
      EXPECT_EQ(ref.bytes, 20);
      EXPECT_EQ(ref.trips[0], (TripStride{0, 20, 0, 0}));
    }
    EXPECT_EQ(target.floorKernels, 1);
  }
  auto two = compiled(fibonacci());
  const Step &loop = two->targets[0].steps.back();
  ASSERT_EQ(loop.steps.size(), 2u); // a + b; and a = b, which is copied
  EXPECT_EQ(loop.steps[1].kind, Step::Kind::Copy);
  for (const BufferRef &ref : loop.steps[0].args)
    EXPECT_EQ(ref.trips[0].period, 2);
}

TEST(ExecuteLoops, StatisticsCountAllTrips) {
  auto program = compiled(history("+", "4x64", "6"));
  std::vector<HostTensor> inputs = inputsOf(parsed(history("+", "4x64", "6")));
  RunStatistics statistics =
      run(program, inputs, DeviceKind::Simulator).statistics;
  ASSERT_EQ(statistics.steps.size(), 3u); // initial value, loop, kernel
  ASSERT_TRUE(statistics.steps[2].counters);
  // In each trip 1 KiB of state and 1 KiB of x are read, 1 KiB is written.
  EXPECT_EQ(statistics.steps[2].counters->sectorsRead, 6 * 2 * 1024 / 32);
  EXPECT_EQ(statistics.steps[2].counters->sectorsWritten, 6 * 1024 / 32);
}

TEST(ExecuteLoops, AnArtifactGivesTheSameBits) {
  for (const std::string &text :
       {history("-"), fibonacci(), nested(), computedInitial(true)}) {
    auto program = compiled(text);
    std::string file = ::testing::TempDir() + "loops.lsp";
    ASSERT_TRUE(writeArtifact(*program, file).ok());
    auto back = readArtifact(file);
    ASSERT_TRUE(back.ok()) << back.error().messages[0].reason;
    std::vector<HostTensor> inputs = inputsOf(parsed(text));
    for (DeviceKind device : {DeviceKind::Host, DeviceKind::Simulator})
      EXPECT_EQ(run(program, inputs, device).outputs,
                run(*back, inputs, device).outputs);
  }
}

TEST(ExecuteLoops, EqualKernelsOfBodyAndSurroundingsAreCompiledOnce) {
  // v * c and then, in a loop, v * c: one kernel.
  std::string text =
      "graph \"g\"\n%0 = input \"v\" f32[8]\n%1 = input \"c\" f32[8]\n" +
      binary("2", "before", "mul", "0", "1", "8") +
      "%3 = loop \"L/0\" bool[0] (%2, %1) trips 3 carried 1 from \"L\"\n  "
      "graph \"body\"\n  %0 = input \"v\" f32[8]\n  %1 = input \"c\" f32[8]\n" +
      binary("2", "L/b/0", "mul", "0", "1", "8") +
      "  output \"\" %2\n  end\n%4 = project \"L/1\" f32[8] (%3) result 0 from "
      "\"L\"\noutput \"v\" %4\n";
  check(text);
  EXPECT_EQ(compiled(text)->targets[0].kernels.size(), 1u);
}

} // namespace
