// Steps of kind Loop: execution, statistics, and the checks of a program that has them.
#include "runtime/program/validate.h"
#include "runtime/session/session.h"
#include "tests/unit/runtime/test_programs.h"

#include <gmock/gmock.h>

#include <vector>

using namespace lockstitch;
using namespace lockstitch::testing;
using ::testing::HasSubstr;

namespace {

constexpr int64_t kBytes = 64; // one row of 16 floats

BufferRef moving(BufferRef ref, TripStride stride) {
  ref.trips.push_back(stride);
  return ref;
}

/// s = bias; in trip t: s = s + x[t] in two slots, y[trips-1-t] = 2 * s.
Program running(int64_t trips) {
  Program program = addAndDouble(1);
  program.inputs = {{"x", ElementType::F32, {trips, 16}}};
  program.outputs = {{"y", ElementType::F32, {trips, 16}}};
  TargetProgram &target = program.targets[0];
  target.arenaBytes = 512;
  Step add = target.steps[0], twice = target.steps[1], copy, loop;
  add.args = {moving(input(0, kBytes), {0, kBytes}),
              moving(arena(0, kBytes), {0, 256, 0, 2}),
              moving(arena(0, kBytes), {0, 256, 1, 2})};
  twice.args = {moving(arena(0, kBytes), {0, 256, 1, 2}),
                moving(output(0, kBytes), {0, -kBytes})};
  twice.args[1].offset = (trips - 1) * kBytes;
  copy.kind = Step::Kind::Copy;
  copy.args = {constant(0, kBytes), arena(0, kBytes)};
  loop.kind = Step::Kind::Loop;
  loop.name = "loop";
  loop.trips = trips;
  loop.steps = {add, twice};
  target.steps = {copy, loop};
  return program;
}

void expectRight(Program program, int64_t trips) {
  auto session = Session::create(std::make_shared<Program>(std::move(program)),
                                 {.device = DeviceKind::Host, .threads = 2});
  ASSERT_TRUE(session.ok()) << text(session);
  auto context = (*session)->createContext();
  ASSERT_TRUE(context.ok()) << text(context);
  std::vector<float> x(trips * 16), y(trips * 16, -1);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(i % 5);
  TensorView in{ElementType::F32, {trips, 16}, x.data()};
  MutableTensorView out{ElementType::F32, {trips, 16}, y.data()};
  for (int run = 0; run < 2; ++run) {
    Status status = (*context)->run({&in, 1}, {&out, 1});
    ASSERT_TRUE(status.ok()) << text(status);
    for (int64_t j = 0; j < 16; ++j) {
      float sum = static_cast<float>(j % 7);
      for (int64_t t = 0; t < trips; ++t) {
        sum += x[t * 16 + j];
        ASSERT_EQ(y[(trips - 1 - t) * 16 + j], 2 * sum) << t << " " << j;
      }
    }
  }
  const RunStatistics &statistics = (*context)->statistics();
  ASSERT_EQ(statistics.steps.size(), 4u); // copy, loop, add, twice
  EXPECT_GE(statistics.steps[1].microseconds,
            statistics.steps[2].microseconds +
                statistics.steps[3].microseconds);
}

TEST(LoopSteps, MoveWithTheTrips) {
  for (int64_t trips : {1, 2, 5, 100})
    expectRight(running(trips), trips);
}

TEST(LoopSteps, ALoopInALoop) {
  // The trips of `running`, as 3 times 4.
  Program program = running(12);
  Step &outer = program.targets[0].steps[1], inner = outer;
  outer.trips = 3;
  inner.trips = 4;
  for (Step &step : inner.steps)
    for (BufferRef &ref : step.args) {
      TripStride stride = ref.trips[0];
      ref.trips = {stride, stride};
      ref.trips[1].depth = 1;
      ref.trips[0].bytes *= 4;
      if (stride.period)
        ref.trips.erase(ref.trips.begin()); // 4 trips leave the parity alone
    }
  outer.steps = {inner};
  program.targets[0].steps[1].name = "outer";
  auto session = Session::create(std::make_shared<Program>(program),
                                 {.device = DeviceKind::Host});
  ASSERT_TRUE(session.ok()) << text(session);
  auto context = (*session)->createContext();
  std::vector<float> x(12 * 16, 1), y(12 * 16);
  TensorView in{ElementType::F32, {12, 16}, x.data()};
  MutableTensorView out{ElementType::F32, {12, 16}, y.data()};
  ASSERT_TRUE((*context)->run({&in, 1}, {&out, 1}).ok());
  for (int64_t t = 0; t < 12; ++t)
    EXPECT_EQ(y[(11 - t) * 16], 2.f * static_cast<float>(t + 1));
  EXPECT_EQ((*context)->statistics().steps.size(), 5u);
}

std::string whyNot(const Program &program) { return text(validate(program)); }

TEST(LoopSteps, EveryTripIsChecked) {
  EXPECT_EQ(whyNot(running(3)), "");
  struct {
    const char *reason;
    void (*forge)(Step &loop);
  } cases[] = {
      {"in some trip outside its memory of 192 bytes: input 0 [0, +64)",
       [](Step &loop) { loop.steps[0].args[0].trips[0].bytes = 128; }},
      {"in some trip outside its memory of 192 bytes: output 0 [0, +64)",
       [](Step &loop) { loop.steps[1].args[1].offset = 0; }},
      {"in some trip outside its memory of 512 bytes: arena 0 [0, +64)",
       [](Step &loop) { loop.steps[0].args[2].trips[0].period = 3; }},
      {"reads bytes that no earlier step has written: arena 0 [256, +64)",
       [](Step &loop) { loop.steps[0].args[1].trips[0].phase = 1; }},
      {"moves with a loop that is not there",
       [](Step &loop) { loop.steps[0].args[0].trips[0].depth = 1; }},
      {"moves with a loop that is not there",
       [](Step &loop) { loop.steps[0].args[1].trips[0].phase = -1; }},
      {"moves with a loop that is not there",
       [](Step &loop) { loop.steps[0].args[1].trips[0].period = -2; }},
      {"makes an impossible number of trips",
       [](Step &loop) { loop.trips = 0; }},
      {"makes an impossible number of trips",
       [](Step &loop) { loop.trips = int64_t{1} << 41; }},
      {"is a loop with arguments",
       [](Step &loop) { loop.args = {arena(0, 1)}; }},
      {"has steps but is no loop",
       [](Step &loop) { loop.steps[0].steps = {loop.steps[1]}; }},
  };
  for (const auto &test : cases) {
    Program program = running(3);
    test.forge(program.targets[0].steps[1]);
    EXPECT_THAT(whyNot(program), HasSubstr(test.reason));
  }
  // Outside of a loop nothing moves.
  Program program = addAndDouble(1);
  program.targets[0].steps[0].args[0].trips = {{0, 64}};
  EXPECT_THAT(whyNot(program),
              HasSubstr("moves with a loop that is not there"));
}

TEST(LoopSteps, NestsHaveABound) {
  Program program = running(1);
  Step loop = program.targets[0].steps[1];
  for (int i = 0; i < 40; ++i) {
    Step outer = loop;
    outer.steps = {loop};
    loop = outer;
  }
  program.targets[0].steps[1] = loop;
  EXPECT_THAT(whyNot(program),
              HasSubstr("makes an impossible number of trips"));
}

TEST(LoopSteps, LongLoopsAreCheckedByTheirFirstAndLastTrips) {
  Program program = running(int64_t{1} << 20);
  EXPECT_EQ(whyNot(program), "");
  // A gap between what two trips write: the output is not all there.
  program.targets[0].steps[1].steps[1].args[1].trips[0].bytes = -32;
  program.targets[0].steps[1].steps[1].args[1].offset = 32 << 20;
  EXPECT_THAT(whyNot(program), HasSubstr("output 'y'"));
}

} // namespace
