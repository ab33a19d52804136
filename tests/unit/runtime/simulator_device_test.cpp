#include "runtime/session/session.h"
#include "tests/unit/runtime/test_programs.h"

#include <gmock/gmock.h>

#include <algorithm>

using namespace lockstitch;
using namespace lockstitch::testing;
using ::testing::HasSubstr;

namespace {

/// out[i] = in[i + SHIFT] + in[i + SHIFT] for the 256 threads of 2 blocks; line
/// 2 of `.loc` is the load, line 1 the rest.
std::string twicePtx(int shift) {
  return R"(.version 8.0
.target sm_90
.address_size 64
.file 1 "twice.stitch"
.visible .entry twice(.param .u64 in, .param .u64 out)
{
  .reg .b32 %r<6>;
  .reg .b64 %rd<8>;
  .reg .f32 %f<3>;
  .loc 1 1 0
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  cvta.to.global.u64 %rd3, %rd1;
  cvta.to.global.u64 %rd4, %rd2;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  mul.wide.s32 %rd5, %r4, 4;
  add.s64 %rd6, %rd3, %rd5;
  add.s64 %rd7, %rd4, %rd5;
  .loc 1 2 0
  ld.global.f32 %f1, [%rd6+)" +
         std::to_string(4 * shift) + R"(];
  .loc 1 1 0
  add.f32 %f2, %f1, %f1;
  st.global.f32 [%rd7], %f2;
  ret;
}
)";
}

Blob textBlob(const std::string &text) {
  return blobOf(std::vector<char>(text.begin(), text.end()));
}

/// x f32[256] -> y = 4 * x by two launches over the arena, z = x (as 16 x 16) @
/// bias by a library call.
Program program(int shift = 0) {
  Program program;
  program.inputs = {{"x", ElementType::F32, {256}}};
  program.outputs = {{"y", ElementType::F32, {256}},
                     {"z", ElementType::F32, {16, 16}}};
  program.constantInfos = {{"bias", ElementType::F32, {16, 16}}};
  std::vector<float> identity(256);
  for (int i = 0; i < 16; ++i)
    identity[17 * i] = 3;
  program.constants = {blobOf(identity)};
  TargetProgram target;
  target.target = "sm_90";
  target.code = textBlob(twicePtx(shift));
  KernelCode kernel;
  kernel.symbol = "twice";
  kernel.arguments = {{ElementType::F32, 256, false},
                      {ElementType::F32, 256, true}};
  kernel.rows = 2;
  kernel.grid = {2, 1, 1};
  kernel.block = {128, 1, 1};
  target.kernels = {kernel};
  Step first, second, product;
  first.name = "first";
  first.nodes = {"Mul#0"};
  first.lineNodes = {"Mul#0", "Load#0"};
  first.args = {input(0, 1024), arena(1024, 1024)};
  first.argNames = {"x", "half"};
  second = first;
  second.name = "second";
  second.args = {arena(1024, 1024), output(0, 1024)};
  second.argNames = {"half", "y"};
  product.kind = Step::Kind::Library;
  product.name = "product";
  product.library.matmul.m = product.library.matmul.n =
      product.library.matmul.k = 16;
  product.library.matmul.a.strides = product.library.matmul.b.strides =
      product.library.matmul.result.strides = {16, 1};
  product.args = {input(0, 1024), constant(0, 1024), output(1, 1024)};
  target.steps = {first, second, product};
  target.arenaBytes = 4096;
  program.targets = {target};
  return program;
}

struct Ran {
  Status status;
  std::vector<float> y = std::vector<float>(256), z = std::vector<float>(256);
  RunStatistics statistics;
};

Ran run(Program program, int64_t seed = 0, int runs = 1) {
  Ran result;
  SessionOptions options{.device = DeviceKind::Simulator, .threads = 1};
  options.seed = seed;
  auto session = Session::create(
      std::make_shared<const Program>(std::move(program)), options);
  if (!session.ok()) {
    result.status = session.error();
    return result;
  }
  auto context = (*session)->createContext();
  std::vector<float> x(256);
  for (int i = 0; i < 256; ++i)
    x[i] = static_cast<float>(i);
  TensorView in{ElementType::F32, {256}, x.data()};
  MutableTensorView outs[] = {{ElementType::F32, {256}, result.y.data()},
                              {ElementType::F32, {16, 16}, result.z.data()}};
  for (int i = 0; i < runs; ++i)
    result.status = (*context)->run({&in, 1}, outs);
  result.statistics = (*context)->statistics();
  return result;
}

TEST(SimulatorDevice, RunsKernelsAndLibraryCallsOnOneMemory) {
  for (int64_t seed : {0, 1, 2}) {
    Ran ran = run(program(), seed, 2);
    ASSERT_TRUE(ran.status.ok()) << text(ran.status);
    for (int i = 0; i < 256; ++i) {
      EXPECT_EQ(ran.y[i], 4.0f * static_cast<float>(i));
      EXPECT_EQ(ran.z[i], 3.0f * static_cast<float>(i));
    }
    ASSERT_EQ(ran.statistics.steps.size(), 3u);
    for (int step : {0, 1}) {
      ASSERT_TRUE(ran.statistics.steps[step].counters);
      EXPECT_EQ(ran.statistics.steps[step].counters->sectorsRead,
                32); // 1024 bytes
      EXPECT_EQ(ran.statistics.steps[step].counters->sectorsWritten,
                32); // 1024 bytes
      EXPECT_EQ(ran.statistics.steps[step].counters->warpInstructions, 8 * 15);
      EXPECT_TRUE(ran.statistics.steps[step].findings.empty());
    }
    EXPECT_FALSE(ran.statistics.steps[2].counters);
  }
}

TEST(SimulatorDevice, FindingsNameTensorAndNode) {
  Ran ran = run(program(1)); // each launch reads one element past its input
  ASSERT_TRUE(ran.status.ok()) << text(ran.status);
  for (int step : {0, 1}) {
    const std::vector<Finding> &findings = ran.statistics.steps[step].findings;
    auto found = std::find_if(
        findings.begin(), findings.end(),
        [](const Finding &finding) { return finding.kind == "out-of-bounds"; });
    ASSERT_NE(found, findings.end());
    EXPECT_EQ(found->tensor, step == 0 ? "x" : "half");
    EXPECT_EQ(found->nodes, std::vector<std::string>{"Load#0"});
    EXPECT_EQ(found->argument, 0);
    EXPECT_EQ(found->offset, 1024);
    EXPECT_EQ(found->sourceLine, 2);
    EXPECT_EQ(found->block[0], 1);
    EXPECT_EQ(found->thread[0], 127);
  }
}

TEST(SimulatorDevice, TheArenaOfTheLastRunIsVoid) {
  // The second launch writes only the first half of what the third reads; in a
  // second run the rest is left from the first.
  Program p = program();
  TargetProgram &target = p.targets[0];
  KernelCode half = target.kernels[0];
  half.grid = {1, 1, 1};
  target.kernels.push_back(half);
  target.steps[0].kernel = 1;
  Step whole = target.steps[0];
  whole.kernel = 0;
  whole.args[1] = arena(1024, 1024);
  target.steps.push_back(
      whole); // after the read: fills the arena for the next run
  Ran ran = run(p, 0, 2);
  ASSERT_TRUE(ran.status.ok()) << text(ran.status);
  bool found = false;
  for (const Finding &finding : ran.statistics.steps[1].findings)
    found |= finding.kind == "uninitialised" && finding.tensor == "half";
  EXPECT_TRUE(found);
}

TEST(SimulatorDevice, ConstantsAreReadOnly) {
  Program p = program();
  Ran ran = run(p);
  ASSERT_TRUE(ran.status.ok());
  // A kernel that writes its input argument: in and out exchanged in the PTX.
  std::string ptx = twicePtx(0);
  size_t at = ptx.find("[in]");
  ptx.replace(at, 4, "[out]");
  ptx.replace(ptx.find("[out]", at + 5), 5, "[in]");
  p.targets[0].code = textBlob(ptx);
  ran = run(p);
  ASSERT_TRUE(ran.status.ok()) << text(ran.status);
  bool found = false;
  for (const Finding &finding : ran.statistics.steps[0].findings)
    found |= finding.kind == "read-only";
  EXPECT_TRUE(found);
}

TEST(SimulatorDevice, TakesOnlyPtx) {
  EXPECT_THAT(
      text(run(addAndDouble(1)).status),
      HasSubstr("device simulator: none of the program's targets (host) runs "
                "on it (compile the model with --target sm_90)\n"
                "target host: has no PTX for the simulator (run it with "
                "--device host, or compile for sm_90 or another sm_* "
                "target)"));
}

TEST(SimulatorDevice, RefusesTextThatIsNoPtx) {
  Program p = program();
  p.targets[0].code = textBlob("this is not PTX");
  EXPECT_THAT(text(run(p).status),
              HasSubstr("the simulator does not take its PTX: "));
}

TEST(SimulatorDevice, RefusesAMissingKernel) {
  Program p = program();
  p.targets[0].kernels[0].symbol = "thrice";
  EXPECT_THAT(text(run(p).status),
              HasSubstr("the simulator does not take kernel 'thrice': "));
}

TEST(SimulatorDevice, StopsAtTheMemoryCap) {
  SessionOptions options{.device = DeviceKind::Simulator, .threads = 1};
  options.memoryCap = 1000;
  auto session =
      Session::create(std::make_shared<const Program>(program()), options);
  ASSERT_TRUE(session.ok()) << text(session);
  EXPECT_EQ(text((*session)->createContext()),
            "memory for the arena: 4096 bytes are needed, but of the memory "
            "cap of 1000 bytes 0 are in use (raise the memory cap, "
            "or use fewer execution contexts or a smaller batch)");
}

TEST(SimulatorDevice, HasNoStreams) {
  auto session =
      Session::create(std::make_shared<const Program>(program()),
                      {.device = DeviceKind::Simulator, .threads = 1});
  auto context = (*session)->createContext();
  std::vector<float> x(256), y(256), z(256);
  TensorView in{ElementType::F32, {256}, x.data()};
  MutableTensorView outs[] = {{ElementType::F32, {256}, y.data()},
                              {ElementType::F32, {16, 16}, z.data()}};
  EXPECT_EQ(text((*context)->run({&in, 1}, outs, {.stream = {&x}})),
            "stream: the simulator has no streams: work runs on the calling "
            "thread (pass no stream)");
}

} // namespace
