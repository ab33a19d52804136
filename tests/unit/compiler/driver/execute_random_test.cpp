// Random graphs through the whole compiler, executed on the host and on the simulator, against the reference
// evaluator: stitched, with every primitive alone, and without libraries.
#include "compiler/driver/compile.h"
#include "compiler/graph/evaluate.h"
#include "tests/unit/compiler/driver/run_program.h"
#include "tests/unit/compiler/random_graph.h"
#include "tests/unit/compiler/random_loop.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

using namespace lockstitch;
using namespace lockstitch::testing;

namespace {

std::vector<HostTensor> randomInputs(const PrimitiveGraph &graph,
                                     uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<HostTensor> inputs;
  for (ValueId input : graph.inputs) {
    HostTensor tensor{graph.type(input), {}};
    tensor.bytes.resize(tensor.type.bytes());
    for (int64_t i = 0; i < tensor.type.elements(); ++i) {
      float value = uniform(random);
      std::memcpy(tensor.bytes.data() + i * 4, &value, 4);
    }
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

std::vector<std::vector<float>> run(std::shared_ptr<const Program> program,
                                    const std::vector<HostTensor> &inputs,
                                    DeviceKind device, int threads,
                                    uint64_t seed) {
  SessionOptions options;
  options.device = device;
  options.threads = threads;
  options.seed = seed;
  std::vector<std::vector<float>> outputs;
  for (const auto &bytes : runProgram(program, inputs, options).outputs) {
    outputs.emplace_back(bytes.size() / sizeof(float));
    std::memcpy(outputs.back().data(), bytes.data(), bytes.size());
  }
  return outputs;
}

void expectClose(const std::vector<HostTensor> &want,
                 const std::vector<std::vector<float>> &got) {
  ASSERT_EQ(want.size(), got.size());
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(want[i].type.elements(), static_cast<int64_t>(got[i].size()));
    double scale =
        1; // the inputs' magnitude: a small result may be the difference of values of that size
    std::vector<float> values(got[i].size());
    std::memcpy(values.data(), want[i].bytes.data(), want[i].bytes.size());
    for (float value : values)
      if (std::isfinite(value))
        scale = std::max<double>(scale, std::fabs(value));
    for (size_t j = 0; j < values.size(); ++j) {
      if (values[j] == got[i][j] ||
          (std::isnan(values[j]) && std::isnan(got[i][j])))
        continue;
      ASSERT_LE(std::fabs(static_cast<double>(values[j]) - got[i][j]),
                1e-5 * std::fabs(values[j]) + 1e-5 * scale)
          << "output " << i << " element " << j;
    }
  }
}

PrimitiveGraph plainGraph(uint32_t seed) {
  return randomGraph(seed, 4 + seed % 25);
}
PrimitiveGraph loopGraph(uint32_t seed) { return randomLoop(seed, seed % 3); }

void check(uint32_t first, uint32_t last, DeviceKind device,
           const std::string &target,
           PrimitiveGraph (*make)(uint32_t) = plainGraph) {
  for (uint32_t seed = first; seed < last; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    PrimitiveGraph graph = make(seed);
    ASSERT_EQ(graph.verify().value_or(""), "");
    std::vector<HostTensor> inputs = randomInputs(graph, seed);
    auto want = evaluateGraph(graph, inputs);
    ASSERT_TRUE(want.ok());
    struct Way {
      Explorer explorer;
      bool libraryCalls;
    };
    for (Way way :
         {Way{Explorer::FusionStitching, true}, Way{Explorer::Xla, true},
          Way{Explorer::None, true}, Way{Explorer::FusionStitching, false}}) {
      CompileOptions options;
      options.targets = {target};
      options.explorer = way.explorer;
      options.libraryCalls = way.libraryCalls;
      options.verify = true;
      auto compiled = compile(graph, options);
      ASSERT_TRUE(compiled.ok()) << compiled.error().messages[0].reason;
      expectClose(*want,
                  run(compiled->program, inputs, device, 1 + seed % 2, seed));
      if (::testing::Test::HasFailure())
        return;
    }
  }
}

// Loops, loops in them, and in those.
TEST(ExecuteRandom, LoopsOnTheHost) {
  check(0, 60, DeviceKind::Host, "host", loopGraph);
}
TEST(ExecuteRandom, LoopsOnTheSimulator) {
  check(150, 190, DeviceKind::Simulator, "sm_90", loopGraph);
}

TEST(ExecuteRandom, Host) { check(0, 60, DeviceKind::Host, "host"); }
TEST(ExecuteRandom, HostWithNarrowVectors) {
  check(60, 80, DeviceKind::Host, "x86-64-v2");
}

// The very PTX that a GPU would get, with every check of the simulator on and another order of warps and blocks each time.
TEST(ExecuteRandom, Simulator) {
  check(80, 140, DeviceKind::Simulator, "sm_90");
}
TEST(ExecuteRandom, SimulatorOldGpu) {
  check(140, 160, DeviceKind::Simulator, "sm_70");
}

/// Does a value depend on the order in which a sum is added up?
bool hasSums(const PrimitiveGraph &graph) {
  for (const Primitive &primitive : graph.primitives)
    for (const ScalarOp &op : primitive.reducer.update.ops)
      if (op.opcode == ScalarOpcode::Add)
        return true;
  return false;
}

// Where no sum is reordered, host and GPU give the same bits: every elementary function is the same sequence of correctly
// rounded operations on both.
TEST(ExecuteRandom, HostAndSimulatorAgreeBitForBit) {
  int compared = 0;
  for (uint32_t seed = 200; compared < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    PrimitiveGraph graph = randomGraph(seed, 4 + seed % 25, /*products=*/false);
    if (hasSums(graph))
      continue;
    ++compared;
    std::vector<HostTensor> inputs = randomInputs(graph, seed);
    CompileOptions options;
    options.targets = {"host", "sm_90", "x86-64-v2"};
    options.assemble = false;
    auto compiled = compile(graph, options);
    ASSERT_TRUE(compiled.ok());
    auto host = run(compiled->program, inputs, DeviceKind::Host, 2, 0);
    auto simulator =
        run(compiled->program, inputs, DeviceKind::Simulator, 1, seed);
    for (size_t i = 0; i < host.size(); ++i)
      ASSERT_EQ(
          std::memcmp(host[i].data(), simulator[i].data(), host[i].size() * 4),
          0)
          << "output " << i;
  }
}

} // namespace
