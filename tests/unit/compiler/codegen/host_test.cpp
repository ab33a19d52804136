// Kernels of every shape, as host code, against the interpreter.
#include "execute.h"
#include "sample_kernels.h"

#include "compiler/graph/evaluate_scalar.h"

#include <cmath>
#include <cstring>

namespace lockstitch::testing {
namespace {

/// f32 sums in another order than the interpreter's; half an ulp of f16 and
/// bf16 where that decides a rounding.
constexpr Tolerance kSums{2e-3, 2e-4};

TEST(HostKernel, SampleKernelsAreRight) {
  for (const StageProgram &program : sampleKernels()) {
    SCOPED_TRACE(program.name);
    bool exact = program.name.find("softmax") == std::string::npos &&
                 program.name.find("layer_norm") == std::string::npos &&
                 program.name.find("welford") == std::string::npos &&
                 program.name.find("reduce_add_f") == std::string::npos;
    checkOnHost(program, {1, 4, 8, 16}, exact ? Tolerance{} : kSums);
  }
}

TEST(HostKernel, OddSizes) {
  for (int64_t columns : {1, 2, 3, 31, 33, 777}) {
    checkOnHost(elementwise(4, columns), {1, 8, 16});
    checkOnHost(softmax(2, columns), {1, 8, 16}, kSums);
    checkOnHost(argmax(2, columns), {8, 16});
    checkOnHost(gatherRows(4, columns, 3), {8, 16});
    checkOnHost(gatherColumns(4, columns, 3), {8, 16});
    checkOnHost(transpose(4, columns), {8, 16});
    checkOnHost(positions(4, columns), {8, 16});
    checkOnHost(masked(4, columns), {8, 16});
    checkOnHost(repeat(4, columns, 5), {8, 16});
    checkOnHost(pad(3, columns, 3, 1), {8, 16});
    checkOnHost(manyTiles(3, columns), {8, 16});
  }
}

/// Inputs for which conversions and integer operations go wrong first.
std::vector<Bytes> edgeCases(const StageProgram &program) {
  std::vector<Bytes> buffers = makeBuffers(program);
  for (size_t i = 0; i < program.arguments.size(); ++i) {
    const StageArgument &argument = program.arguments[i];
    if (argument.isOutput)
      continue;
    size_t size = byteSize(argument.type);
    std::vector<double> reals = {
        0.0,           -0.0,          0.5,          -0.5,          1.5,
        2.5,           -2.5,          127.5,        128,           255.5,
        256,           -129,          32767.5,      65504,         65519.9,
        65520,         1e-7,          6e-8,         2.9e-8,        3.1e-8,
        -6.1e-5,       2147483647,    2147483648.0, -2147483649.0, 4294967296.0,
        9.3e18,        -9.3e18,       1.9e19,       1e38,          3.4e38,
        3.5e38,        1e300,         1.00390625,   1.01171875,    1.005859375,
        1.00048828125, 1.00146484375, INFINITY,     -INFINITY,     NAN};
    std::vector<int64_t> integers = {0,
                                     1,
                                     -1,
                                     2,
                                     -2,
                                     7,
                                     -7,
                                     63,
                                     64,
                                     127,
                                     128,
                                     -128,
                                     255,
                                     256,
                                     32767,
                                     32768,
                                     -32768,
                                     65535,
                                     65519,
                                     65520,
                                     INT32_MAX,
                                     INT32_MIN,
                                     0xffffffffll,
                                     16777217,
                                     33554435,
                                     INT64_MAX,
                                     INT64_MIN,
                                     -3,
                                     5,
                                     (int64_t(1) << 55) + (int64_t(1) << 47),
                                     9007199254740993};
    std::vector<evaluation::Slot> slots;
    evaluation::Slot slot{};
    if (isFloat(argument.type)) {
      for (double real : reals) {
        slot.real = real;
        slots.push_back(slot);
      }
    } else {
      for (int64_t integer : integers) {
        slot.integer =
            argument.type == ElementType::Bool ? integer & 1 : integer;
        slots.push_back(slot);
      }
    }
    // All pairs of the two inputs.
    for (int64_t at = 0; at < argument.elements.value(); ++at) {
      size_t which = i == 0 ? at % slots.size() : at / slots.size();
      if (which < slots.size())
        evaluation::store(argument.type, slots[which],
                          buffers[i].data() + at * size);
    }
  }
  return buffers;
}

void checkEdgeCases(const StageProgram &program, const HostTarget &target) {
  SCOPED_TRACE(program.name + " for " + target.name);
  std::vector<Bytes> expected = edgeCases(program);
  interpret(program, expected);
  std::vector<Bytes> actual = edgeCases(program);
  KernelSchedule schedule;
  schedule.vectorWidth = 8;
  runOnHost(program, schedule, actual, target);
  expectEqual(program, actual, expected, {}, target.name);
}

class EveryType : public ::testing::TestWithParam<int> {
protected:
  ElementType type() const { return static_cast<ElementType>(GetParam()); }
};

TEST_P(EveryType, CastsAreExact) {
  for (const char *level : {"host", "x86-64-v2", "x86-64-v3"})
    checkEdgeCases(castToAll(type(), 333), *HostTarget::resolve(level));
}

TEST_P(EveryType, OperationsAreExact) {
  for (const char *level : {"host", "x86-64-v2", "x86-64-v3"})
    checkEdgeCases(everyOperation(type(), 1700), *HostTarget::resolve(level));
}

/// f64 cannot hold 2^55 + 2^47 + 1, and rounding by way of it would lose the 1
/// that decides. (The reference does.)
TEST(HostKernel, LongIntegersAreRoundedOnceToBfloat16) {
  KernelBuilder k("round_once", 1);
  uint32_t in = k.input(ElementType::I64, 4),
           out = k.output(ElementType::BF16, 4);
  k.stage(4);
  k.store(out, col(), k.cast(k.load(in, col()), ElementType::BF16));
  int64_t big = int64_t(1) << 55, half = int64_t(1) << 47;
  int64_t values[] = {big + half, big + half + 1, -big - half, -big - half - 1};
  uint16_t expected[] = {0x5b00, 0x5b01, 0xdb00, 0xdb01};
  std::vector<Bytes> buffers = makeBuffers(k.program);
  std::memcpy(buffers[in].data(), values, sizeof values);
  KernelSchedule schedule;
  schedule.vectorWidth = 4;
  runOnHost(k.program, schedule, buffers);
  for (int i = 0; i < 4; ++i) {
    uint16_t bits;
    std::memcpy(&bits, buffers[out].data() + 2 * i, 2);
    EXPECT_EQ(bits, expected[i]) << values[i];
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryType, ::testing::Range(0, kNumElementTypes),
                         [](const auto &info) {
                           return std::string(
                               name(static_cast<ElementType>(info.param)));
                         });

} // namespace
} // namespace lockstitch::testing
