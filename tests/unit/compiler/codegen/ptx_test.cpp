// PTX of every kind of kernel: its text, and the assembler's opinion of it
// where there is one.
#include "compiler/codegen/assembler.h"
#include "execute.h"
#include "sample_kernels.h"

#include <gmock/gmock.h>

#include <bit>

namespace lockstitch::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

KernelSchedule gpuSchedule(const StageProgram &program, unsigned width,
                           unsigned threads, unsigned rows, bool unroll) {
  KernelSchedule schedule;
  schedule.vectorWidth = width;
  schedule.threadsPerRow = threads;
  schedule.rowsPerBlock = rows;
  schedule.unrollColumns = unroll;
  schedule.gridX = (program.rows.value() + rows - 1) / rows;
  placeTiles(program, /*isGpu=*/true, schedule);
  return schedule;
}

/// A schedule that suits `program`: few steps per thread.
KernelSchedule plainSchedule(const StageProgram &program, unsigned width) {
  int64_t longest = 1;
  for (const Stage &stage : program.stages)
    longest = std::max(longest, stage.columns);
  unsigned threads = std::min<unsigned>(
      std::bit_ceil(static_cast<unsigned>((longest + width - 1) / width)), 256);
  return gpuSchedule(program, width, threads, threads > 32 ? 1 : 128 / threads,
                     true);
}

std::string ptxOf(const StageProgram &program, const KernelSchedule &schedule,
                  unsigned sm = 90) {
  Result<GpuKernel> kernel = generator().emitPtx(program, schedule, {sm});
  EXPECT_TRUE(kernel.ok()) << program.name << ": "
                           << kernel.error().messages[0].reason;
  return kernel.ok() ? kernel->ptx : "";
}

size_t count(const std::string &text, const std::string &what) {
  size_t result = 0;
  for (size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + 1))
    ++result;
  return result;
}

TEST(Ptx, VectorAccessesAreWideAndReadOnly) {
  StageProgram program = elementwise(8, 1024);
  std::string ptx = ptxOf(program, gpuSchedule(program, 4, 256, 1, true));
  EXPECT_EQ(count(ptx, "ld.global.nc.v4.b32"), 2u) << ptx;
  EXPECT_EQ(count(ptx, "st.global.v4.b32"), 1u);
  EXPECT_EQ(count(ptx, "ld.global.nc.b32"), 1u); // the row's factor
  EXPECT_THAT(ptx, HasSubstr(".maxntid 256"));
  EXPECT_THAT(ptx, HasSubstr(".visible .entry elementwise_f32_8x1024("));
}

TEST(Ptx, LinesNamePrimitives) {
  StageProgram program = elementwise(8, 1024);
  std::string ptx = ptxOf(program, gpuSchedule(program, 4, 256, 1, true));
  EXPECT_THAT(ptx, HasSubstr(".file\t1 \"primitives\""));
  EXPECT_THAT(ptx, ContainsRegex(".loc\t1 3 0\n\tadd.rn.f32"));
  EXPECT_THAT(ptx, Not(HasSubstr(".section")));
  EXPECT_THAT(ptx, Not(HasSubstr("debug")));
}

TEST(Ptx, NothingIsContracted) {
  std::string ptx = ptxOf(elementwise(8, 1024),
                          gpuSchedule(elementwise(8, 1024), 4, 256, 1, true));
  EXPECT_THAT(ptx, HasSubstr("mul.rn.f32"));
  EXPECT_THAT(ptx, Not(HasSubstr("fma")));
}

TEST(Ptx, DivisionAndRootAreCorrectlyRounded) {
  StageProgram program = layerNorm(4, 256);
  std::string ptx = ptxOf(program, plainSchedule(program, 4));
  EXPECT_THAT(ptx, HasSubstr("div.rn.f32"));
  EXPECT_THAT(ptx, HasSubstr("sqrt.rn.f32"));
  EXPECT_THAT(ptx, Not(HasSubstr("approx")));
}

TEST(Ptx, OneBarrierPerStageWithReductions) {
  StageProgram program =
      layerNorm(4, 1024); // two reductions in the first stage
  EXPECT_EQ(
      count(ptxOf(program, gpuSchedule(program, 4, 256, 1, true)), "bar.sync"),
      1u);
  program = softmax(4, 1024);
  EXPECT_EQ(
      count(ptxOf(program, gpuSchedule(program, 4, 256, 1, true)), "bar.sync"),
      2u);
  EXPECT_EQ(
      count(ptxOf(program, gpuSchedule(program, 4, 32, 4, true)), "bar.sync"),
      0u);
}

TEST(Ptx, SharedMemoryIsDynamic) {
  StageProgram program = softmax(4, 4096);
  KernelSchedule schedule = gpuSchedule(program, 4, 128, 1, false);
  Result<GpuKernel> kernel = generator().emitPtx(program, schedule, {90});
  ASSERT_TRUE(kernel.ok());
  EXPECT_THAT(kernel->ptx,
              HasSubstr(".extern .shared .align 16 .b8 lockstitch_shared[];"));
  EXPECT_THAT(kernel->ptx, HasSubstr("st.shared.v4.b32"));
  EXPECT_EQ(kernel->sharedBytes, 4096 * 4 + 2 * 4 * 4); // two sets of partials
  EXPECT_THAT(ptxOf(program, gpuSchedule(program, 4, 32, 4, true)),
              Not(HasSubstr("shared")));
}

TEST(Ptx, RowWorkLeavesTheLoop) {
  // The loop over columns adds to pointers; the row's offset and the row's
  // factor are computed before it.
  StageProgram program = elementwise(8, 16384);
  std::string ptx = ptxOf(program, gpuSchedule(program, 4, 128, 1, false));
  size_t loop = ptx.find("$L__BB0_1:");
  ASSERT_NE(loop, std::string::npos);
  std::string body = ptx.substr(loop);
  EXPECT_THAT(body, Not(HasSubstr("ctaid")));
  EXPECT_EQ(count(body, "ld.global.nc.b32"), 0u) << body;
  EXPECT_EQ(count(body, "mul.lo"), 0u) << body;
}

TEST(Ptx, WideIndicesHave64Bits) {
  StageProgram program = elementwise(int64_t(1) << 22, 1024);
  KernelSchedule schedule = gpuSchedule(program, 4, 256, 1, true);
  schedule.wideIndex = true;
  EXPECT_THAT(ptxOf(program, schedule),
              Not(HasSubstr("shl.b32 \t%r4, %r2, 10")));
  EXPECT_THAT(ptxOf(program, schedule), HasSubstr("shl.b64"));
}

TEST(Ptx, UnknownArchitectureIsRefused) {
  StageProgram program = elementwise(1, 4);
  Result<GpuKernel> kernel =
      generator().emitPtx(program, plainSchedule(program, 4), {33});
  ASSERT_FALSE(kernel.ok());
  EXPECT_EQ(kernel.error().kind, ErrorKind::Refused);
  EXPECT_THAT(kernel.error().messages[0].where, HasSubstr("sm_33"));
  EXPECT_THAT(kernel.error().messages[0].wayOut, HasSubstr("sm_90"));
}

TEST(Ptx, ModulesAreLinkedIntoOne) {
  StageProgram a = softmax(4, 1024), b = layerNorm(4, 1024);
  std::string first = ptxOf(a, gpuSchedule(a, 4, 128, 1, false)),
              second = ptxOf(b, gpuSchedule(b, 4, 256, 1, true));
  std::string_view modules[] = {first, second};
  Result<std::string> linked = linkPtx(modules);
  ASSERT_TRUE(linked.ok());
  EXPECT_EQ(count(*linked, ".version"), 1u);
  EXPECT_EQ(count(*linked, ".extern .shared"), 1u);
  EXPECT_EQ(count(*linked, ".file"), 1u);
  EXPECT_EQ(count(*linked, ".visible .entry"), 2u);
  std::string other = ptxOf(b, gpuSchedule(b, 4, 256, 1, true), 80);
  std::string_view mixed[] = {first, other};
  Result<std::string> refused = linkPtx(mixed);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().messages[0].reason,
              HasSubstr("different targets"));
  std::string_view twice[] = {first, first};
  refused = linkPtx(twice);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().messages[0].reason,
              HasSubstr("kernel softmax_f32_4x1024 is there twice"));
}

TEST(Ptx, SameInputSameText) {
  StageProgram program = layerNorm(4, 776);
  EXPECT_EQ(ptxOf(program, plainSchedule(program, 4)),
            ptxOf(program, plainSchedule(program, 4)));
}

/// Every sample, in both forms of the column loop, through the assembler.
class Assembly : public ::testing::TestWithParam<unsigned> {};

TEST_P(Assembly, AcceptsEverythingWithoutSpills) {
  std::optional<Assembler> assembler = Assembler::find();
  if (!assembler)
    GTEST_SKIP() << "no assembler (ptxas or nvJitLink) was found: this check "
                    "did not run";
  std::vector<std::string> modules;
  for (StageProgram program : sampleKernels())
    for (bool unroll : {true, false}) {
      bool vector =
          std::all_of(program.stages.begin(), program.stages.end(),
                      [](const Stage &s) { return s.columns % 4 == 0; });
      KernelSchedule schedule = plainSchedule(program, vector ? 4 : 1);
      schedule.unrollColumns = unroll;
      placeTiles(program, /*isGpu=*/true, schedule);
      if (!unroll) {
        program.name += "_looped";
        schedule.threadsPerRow = std::min(schedule.threadsPerRow, 64u);
      }
      modules.push_back(ptxOf(program, schedule, GetParam()));
    }
  std::vector<std::string_view> views(modules.begin(), modules.end());
  Result<std::string> linked = linkPtx(views);
  ASSERT_TRUE(linked.ok());
  Result<AssembledCode> code = assembler->assemble(*linked, {GetParam()});
  ASSERT_TRUE(code.ok()) << code.error().messages[0].reason;
  EXPECT_FALSE(code->cubin.empty());
  EXPECT_EQ(code->kernels.size(), modules.size());
  for (const KernelResources &kernel : code->kernels) {
    EXPECT_GT(kernel.registers, 0) << kernel.symbol;
    EXPECT_EQ(kernel.spillStoreBytes + kernel.spillLoadBytes, 0)
        << kernel.symbol;
    EXPECT_EQ(kernel.stackBytes, 0) << kernel.symbol;
  }
}

TEST_P(Assembly, AcceptsEveryOperationAndCast) {
  std::optional<Assembler> assembler = Assembler::find();
  if (!assembler)
    GTEST_SKIP() << "no assembler (ptxas or nvJitLink) was found: this check "
                    "did not run";
  std::vector<std::string> modules;
  for (int type = 0; type < kNumElementTypes; ++type)
    for (const StageProgram &program :
         {castToAll(static_cast<ElementType>(type), 64),
          everyOperation(static_cast<ElementType>(type), 64)})
      modules.push_back(ptxOf(program, plainSchedule(program, 4), GetParam()));
  std::vector<std::string_view> views(modules.begin(), modules.end());
  Result<std::string> linked = linkPtx(views);
  ASSERT_TRUE(linked.ok());
  Result<AssembledCode> code = assembler->assemble(*linked, {GetParam()});
  ASSERT_TRUE(code.ok()) << code.error().messages[0].reason;
}

INSTANTIATE_TEST_SUITE_P(All, Assembly, ::testing::Values(80u, 90u),
                         [](const auto &info) {
                           return "sm_" + std::to_string(info.param);
                         });

TEST(Assembler, UnknownArchitectureIsRefused) {
  std::optional<Assembler> assembler = Assembler::find();
  if (!assembler)
    GTEST_SKIP() << "no assembler (ptxas or nvJitLink) was found: this check "
                    "did not run";
  StageProgram program = elementwise(1, 4);
  Result<AssembledCode> code =
      assembler->assemble(ptxOf(program, plainSchedule(program, 4)), {33});
  ASSERT_FALSE(code.ok());
  EXPECT_EQ(code.error().kind, ErrorKind::Refused);
  EXPECT_THAT(code.error().messages[0].reason,
              HasSubstr("does not know sm_33"));
}

/// What no assembler here knows any more is at least emitted.
TEST(Ptx, EveryArchitectureIsEmitted) {
  StageProgram program = softmax(4, 1024, ElementType::BF16);
  for (unsigned sm : {70u, 75u, 80u, 86u, 89u, 90u, 100u, 120u})
    EXPECT_THAT(ptxOf(program, plainSchedule(program, 4), sm),
                HasSubstr(".target sm_" + std::to_string(sm)));
}

} // namespace
} // namespace lockstitch::testing
