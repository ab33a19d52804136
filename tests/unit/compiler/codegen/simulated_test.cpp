// The PTX of every kind of kernel, executed on the simulator with all of its
// checks: right values, no finding, and the very bits of the host's code where
// the order of operations is the same.
#include "execute.h"
#include "sample_kernels.h"

#include <bit>
#include <cstring>
#include <random>

namespace lockstitch::testing {
namespace {

/// Runs `program` on the simulator and reads its outputs back into `buffers`.
void runOnSimulator(const StageProgram &program, const KernelSchedule &schedule,
                    std::vector<Bytes> &buffers, unsigned sm, uint64_t seed) {
  Result<GpuKernel> kernel = generator().emitPtx(program, schedule, {sm});
  ASSERT_TRUE(kernel.ok()) << kernel.error().messages[0].reason;
  for (const simulator::Finding &finding :
       launchOnSimulator(program, *kernel, buffers, seed))
    ADD_FAILURE() << finding.toText(program.name) << "\n" << kernel->ptx;
}

/// Does the value of `program` depend on the order of a sum, or on how well a
/// function is approximated?
bool isExact(const StageProgram &program) {
  for (const char *inexact :
       {"softmax", "layer_norm", "welford", "reduce_add_f"})
    if (program.name.find(inexact) != std::string::npos)
      return false;
  return true;
}

void check(const StageProgram &program, const KernelSchedule &schedule,
           unsigned sm, uint64_t seed = 0) {
  std::string what = "sm_" + std::to_string(sm) + ", " + toString(schedule);
  SCOPED_TRACE(program.name + " " + what);
  std::vector<Bytes> expected = makeBuffers(program),
                     actual = makeBuffers(program);
  interpret(program, expected);
  runOnSimulator(program, schedule, actual, sm, seed);
  expectEqual(program, actual, expected,
              isExact(program) ? Tolerance{} : Tolerance{2e-3, 2e-4}, what);
}

int64_t longestStage(const StageProgram &program) {
  int64_t longest = 1;
  for (const Stage &stage : program.stages)
    longest = std::max(longest, stage.columns);
  return longest;
}

bool takesVectors(const StageProgram &program, unsigned width) {
  return std::all_of(
      program.stages.begin(), program.stages.end(),
      [&](const Stage &stage) { return stage.columns % width == 0; });
}

/// Lanes per row; the rest of the schedule is varied inside.
class Simulated : public ::testing::TestWithParam<unsigned> {};

TEST_P(Simulated, SampleKernelsAreRightAndClean) {
  unsigned threads = GetParam();
  std::vector<StageProgram> programs = sampleKernels();
  for (int64_t columns : {1, 31, 33, 777}) {
    programs.push_back(softmax(5, columns));
    programs.push_back(argmax(5, columns));
    programs.push_back(welford(5, columns));
    programs.push_back(layerNorm(5, columns, ElementType::F16));
    programs.push_back(manyTiles(3, columns));
  }
  unsigned turn = 0;
  for (const StageProgram &program : programs)
    for (bool unroll : {true, false}) {
      // Every program in both forms of the loop; vectors, rows of a block,
      // architecture and order of warps take turns.
      ++turn;
      KernelSchedule schedule;
      schedule.vectorWidth = turn % 3 && takesVectors(program, 4) ? 4 : 1;
      schedule.threadsPerRow = threads;
      schedule.rowsPerBlock = threads > 32 ? 1 : 1 + turn % 4;
      schedule.unrollColumns = unroll;
      schedule.gridX = ceilDiv(program.rows, schedule.rowsPerBlock).value();
      schedule.wideIndex = turn % 5 == 0;
      placeTiles(program, /*isGpu=*/true, schedule);
      int64_t steps = longestStage(program) / (schedule.vectorWidth * threads);
      if (steps > (unroll ? 8 : 128))
        continue;
      check(program, schedule,
            turn % 7 == 0 ? 70
            : turn % 2    ? 80
                          : 90,
            turn % 4);
    }
}

INSTANTIATE_TEST_SUITE_P(All, Simulated,
                         ::testing::Values(1u, 2u, 4u, 8u, 16u, 32u, 64u, 128u,
                                           256u, 512u, 1024u),
                         [](const auto &info) {
                           return std::to_string(info.param) + "threads";
                         });

KernelSchedule onePerThread(const StageProgram &program, unsigned width) {
  KernelSchedule schedule;
  schedule.vectorWidth = width;
  schedule.threadsPerRow = 256;
  schedule.unrollColumns = false;
  schedule.gridX = program.rows.value();
  placeTiles(program, /*isGpu=*/true, schedule);
  return schedule;
}

class SimulatedType : public ::testing::TestWithParam<int> {
protected:
  ElementType type() const { return static_cast<ElementType>(GetParam()); }
};

TEST_P(SimulatedType, CastsAreExact) {
  check(castToAll(type(), 512), onePerThread(castToAll(type(), 512), 4), 80);
}

TEST_P(SimulatedType, CastsAreExactWithNewerInstructions) {
  check(castToAll(type(), 512), onePerThread(castToAll(type(), 512), 4), 90);
}

TEST_P(SimulatedType, OperationsAreExact) {
  StageProgram program = everyOperation(type(), 512);
  check(program, onePerThread(program, 4), 90);
  check(program, onePerThread(program, 1), 70);
}

INSTANTIATE_TEST_SUITE_P(All, SimulatedType,
                         ::testing::Range(0, kNumElementTypes),
                         [](const auto &info) {
                           return std::string(
                               name(static_cast<ElementType>(info.param)));
                         });

/// The elementary functions give the same bits on the host and as PTX.
class SimulatedFunction
    : public ::testing::TestWithParam<std::tuple<ScalarOpcode, ElementType>> {};

TEST_P(SimulatedFunction, HasTheHostsBits) {
  auto [opcode, type] = GetParam();
  constexpr int64_t count = 4096;
  KernelBuilder k("function", 1);
  bool binary = arity(opcode) == 2;
  uint32_t x = k.input(type, count), y = k.input(type, count),
           out = k.output(type, count);
  k.stage(count);
  std::vector<StageValueId> args = {k.load(x, col())};
  if (binary)
    args.push_back(k.load(y, col()));
  k.store(out, col(), k.op(opcode, type, args));
  std::vector<Bytes> onHost = makeBuffers(k.program);
  std::mt19937_64 random(17);
  size_t size = byteSize(type);
  for (uint32_t input : {x, y})
    for (int64_t i = 0; i < count; i += 2) { // every other one any bit pattern
      uint64_t bits = random();
      std::memcpy(onHost[input].data() + i * size, &bits, size);
    }
  std::vector<Bytes> simulated = onHost;
  KernelSchedule schedule = onePerThread(k.program, 4);
  runOnHost(k.program, schedule, onHost);
  runOnSimulator(k.program, schedule, simulated, 80, 0);
  expectEqual(k.program, simulated, onHost, {}, std::string(toString(opcode)));
}

INSTANTIATE_TEST_SUITE_P(
    All, SimulatedFunction,
    ::testing::Combine(::testing::Values(ScalarOpcode::Exp, ScalarOpcode::Log,
                                         ScalarOpcode::Sin, ScalarOpcode::Cos,
                                         ScalarOpcode::Tanh, ScalarOpcode::Erf,
                                         ScalarOpcode::Pow, ScalarOpcode::Rem),
                       ::testing::Values(ElementType::F32, ElementType::F64)),
    [](const auto &info) {
      return std::string(toString(std::get<0>(info.param))) + "_" +
             std::string(name(std::get<1>(info.param)));
    });

/// A grid has at least one block, also when there is no row for it.
TEST(SimulatedOrder, NoRows) {
  StageProgram program = softmax(0, 64);
  KernelSchedule schedule = onePerThread(program, 1);
  schedule.gridX = 1;
  std::vector<Bytes> buffers = makeBuffers(program);
  runOnSimulator(program, schedule, buffers, 90, 0);
}

/// A softmax whose row is one vector is computed in the same order on both
/// targets: the same bits.
TEST(SimulatedOrder, SameOrderSameBits) {
  StageProgram program = softmax(7, 4);
  KernelSchedule schedule;
  schedule.vectorWidth = 4;
  schedule.threadsPerRow = 1;
  schedule.rowsPerBlock = 4;
  schedule.gridX = 2;
  placeTiles(program, /*isGpu=*/true, schedule);
  std::vector<Bytes> onHost = makeBuffers(program),
                     simulated = makeBuffers(program);
  runOnHost(program, schedule, onHost);
  runOnSimulator(program, schedule, simulated, 90, 0);
  expectEqual(program, simulated, onHost, {}, "simulator");
}

} // namespace
} // namespace lockstitch::testing
