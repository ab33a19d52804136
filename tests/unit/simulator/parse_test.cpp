//===- parse_test.cpp - what is taken and how the rest is refused ---------===//
#include "tests/unit/simulator/ptx_test.h"

namespace lockstitch::simulator::testing {
namespace {

std::string refusal(const std::string &text, uint32_t *line = nullptr) {
  Diagnostic d;
  auto module = Module::parse(text, d);
  if (module) {
    for (const KernelInfo &k : module->kernels())
      if (!module->check(k.name, d))
        break;
  }
  if (line)
    *line = d.line;
  return d.message;
}

TEST(Parse, UnknownOpcodeNamesItAndTheLine) {
  uint32_t line = 0;
  std::string message = refusal(kernel(0, "frobnicate.f32 %f0, %f1;"), &line);
  EXPECT_NE(message.find("frobnicate.f32"), std::string::npos) << message;
  EXPECT_EQ(line, 14u);
}

TEST(Parse, UnsupportedKernelsDoNotHinderOthers) {
  Diagnostic d;
  auto module = Module::parse(
      header() + ".visible .entry bad() { wgmma.fence.sync.aligned; ret; }\n"
                 ".visible .entry good() { ret; }\n",
      d);
  ASSERT_TRUE(module) << d.message;
  EXPECT_FALSE(module->check("bad", d));
  d = {};
  EXPECT_TRUE(module->check("good", d)) << d.message;
}

TEST(Parse, ForgivesNoBrokenText) {
  for (const char *text :
       {".visible .entry k( {", "{", ".entry k() { add.f32 %f1; }",
        ".entry k() { bra nowhere; }", ".entry k() { @p bra x; x: ret; }",
        ".version", ".entry k() { .reg .b32 %r<5>; mov.b32 %r9, 1; ret; }",
        ".shared .b8 x[99999999999999];", "\"abc", "0f123", ".entry k() { ld",
        ".entry k() { .reg .b32 %r<2>; add.s32 %r0, %r1, {; }",
        ".global .b8 x[2] = {1, 2, 3};"})
    EXPECT_NE(refusal(text), "") << text;
}

TEST(Parse, RegistersOfTheWrongSizeAreRefused) {
  EXPECT_NE(refusal(kernel(0, "add.s32 %r1, %r2, %d1;")), "");
  EXPECT_NE(refusal(kernel(0, "add.s64 %d1, %d2, %r1;")), "");
  EXPECT_NE(refusal(kernel(0, "add.s16 %h1, %h2, %r1;")), "");
  EXPECT_EQ(refusal(kernel(0, "add.s16 %h1, %h2, %h3;")), "");
}

TEST(Parse, TakesScopesSectionsAndDebugInformation) {
  std::string text =
      kernel(0,
             "{ // callseq 0, 0\n.reg .b32 %r0; mov.b32 %r0, 3;\nL: bra.uni "
             "M;\nM:\n}\n{ L: bra.uni M; M: }\n.loc 1 7 3, function_name $L_x, "
             "inlined_at 1 9 2\n.pragma \"nounroll\";",
             ".file 1 \"a/b.cu\"\n") +
      ".section .debug_str { $L_x: .b8 102, 0 }\n";
  EXPECT_EQ(refusal(text), "");
}

TEST(Parse, KernelsAreFoundByPlainName) {
  Diagnostic d;
  auto module =
      Module::parse(header() + ".visible .entry _Z4vaddPf() { ret; }\n"
                               ".visible .entry _ZN2ns4axpyEv() { ret; }\n",
                    d);
  ASSERT_TRUE(module);
  EXPECT_EQ(module->findKernel("vadd", d), "_Z4vaddPf");
  EXPECT_EQ(module->findKernel("axpy", d), "_ZN2ns4axpyEv");
  EXPECT_EQ(module->findKernel("_Z4vaddPf", d), "_Z4vaddPf");
  EXPECT_EQ(module->findKernel("nope", d), "");
  EXPECT_NE(d.message, "");
}

TEST(Parse, RecursionAndIndirectCallsAreRefused) {
  EXPECT_NE(refusal(header() + ".func f() { call.uni f; ret; }\n"
                               ".visible .entry k() { call.uni f; ret; }\n"),
            "");
}

} // namespace
} // namespace lockstitch::simulator::testing
