//===- execute_test.cpp - what instructions compute -----------------------===//
//
// Expected values are worked out from the PTX manual.
//
//===----------------------------------------------------------------------===//
#include "tests/unit/simulator/ptx_test.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace lockstitch::simulator::testing {
namespace {

using u32 = uint32_t;
using u64 = uint64_t;

/// One value per lane from a u32 input to a u32 output.
std::vector<u32> u32Lanes(const std::string &body,
                          std::vector<std::vector<u32>> inputs) {
  for (auto &in : inputs)
    in.resize(32, in.empty() ? 0 : in.back());
  std::string text = "add.s64 %d30, %d0, %d20;\nld.global.u32 %r1, [%d30];\n";
  unsigned n = (unsigned)inputs.size();
  for (unsigned i = 1; i < n; ++i)
    text += "add.s64 %d30, %d" + std::to_string(i) +
            ", %d20;\nld.global.u32 %r" + std::to_string(i + 1) + ", [%d30];\n";
  text += body + "\nadd.s64 %d31, %d" + std::to_string(n) +
          ", %d20;\nst.global.u32 [%d31], %r9;\n";
  return runLanes<u32, u32>(text, inputs);
}
u32 one(const std::string &body, std::vector<u32> operands) {
  std::vector<std::vector<u32>> inputs;
  for (u32 x : operands)
    inputs.push_back({x});
  return u32Lanes(body, inputs)[0];
}
u32 bits(float f) {
  u32 u;
  std::memcpy(&u, &f, 4);
  return u;
}
u32 floatOp(const std::string &op, std::vector<float> operands) {
  std::vector<u32> in;
  std::string text, args;
  for (size_t i = 0; i < operands.size(); ++i) {
    in.push_back(bits(operands[i]));
    text += "mov.b32 %f" + std::to_string(i + 1) + ", %r" +
            std::to_string(i + 1) + ";\n";
    args += ", %f" + std::to_string(i + 1);
  }
  return one(text + op + " %f9" + args + ";\nmov.b32 %r9, %f9;", in);
}

TEST(Integer, WrapsAndSaturates) {
  EXPECT_EQ(one("add.u32 %r9, %r1, %r2;", {0xFFFFFFFF, 2}), 1u);
  EXPECT_EQ(one("add.sat.s32 %r9, %r1, %r2;", {0x7FFFFFFF, 2}), 0x7FFFFFFFu);
  EXPECT_EQ(one("sub.sat.s32 %r9, %r1, %r2;", {0x80000000, 2}), 0x80000000u);
  EXPECT_EQ(one("mul.hi.u32 %r9, %r1, %r2;", {0xFFFFFFFF, 0xFFFFFFFF}),
            0xFFFFFFFEu);
  EXPECT_EQ(one("mul.hi.s32 %r9, %r1, %r2;", {0xFFFFFFFF, 0xFFFFFFFF}), 0u);
  EXPECT_EQ(one("mad.lo.s32 %r9, %r1, %r2, %r1;", {7, 9}), 70u);
  EXPECT_EQ(one("mul24.lo.u32 %r9, %r1, %r2;", {0x01000003, 5}), 15u);
  EXPECT_EQ(one("sad.s32 %r9, %r1, %r2, %r1;", {3, 0xFFFFFFFE}), 8u);
  EXPECT_EQ(one("abs.s32 %r9, %r1;", {0x80000000}), 0x80000000u);
  EXPECT_EQ(one("min.s32 %r9, %r1, %r2;", {0xFFFFFFFF, 1}), 0xFFFFFFFFu);
  EXPECT_EQ(one("min.u32 %r9, %r1, %r2;", {0xFFFFFFFF, 1}), 1u);
}

TEST(Integer, Divides) {
  EXPECT_EQ(one("div.s32 %r9, %r1, %r2;", {(u32)-7, 2}), (u32)-3);
  EXPECT_EQ(one("rem.s32 %r9, %r1, %r2;", {(u32)-7, 2}), (u32)-1);
  EXPECT_EQ(one("div.u32 %r9, %r1, %r2;", {7, 2}), 3u);
  EXPECT_EQ(one("rem.u32 %r9, %r1, %r2;", {7, 4}), 3u);
}

TEST(Integer, CarryChains) {
  // 64-bit sum and difference in halves.
  EXPECT_EQ(
      one("add.cc.u32 %r8, %r1, %r2; addc.u32 %r9, %r1, 5;", {0xFFFFFFFF, 1}),
      5u);
  EXPECT_EQ(one("sub.cc.u32 %r8, %r1, %r2; subc.u32 %r9, %r2, 0;", {1, 2}), 1u);
  EXPECT_EQ(one("mad.lo.cc.u32 %r8, %r1, %r2, %r1; madc.hi.u32 %r9, %r1, "
                "%r2, 0;",
                {0xFFFFFFFF, 0xFFFFFFFF}),
            0xFFFFFFFFu); // (2^32-1)^2 + 2^32-1 = (2^32-1) * 2^32
}

TEST(Bits, FieldsAndShifts) {
  EXPECT_EQ(one("bfe.u32 %r9, %r1, 4, 8;", {0x12345678}), 0x67u);
  EXPECT_EQ(one("bfe.s32 %r9, %r1, 4, 8;", {0x00000F80}), 0xFFFFFFF8u);
  EXPECT_EQ(one("bfe.s32 %r9, %r1, 28, 8;", {0x90000000}), 0xFFFFFFF9u);
  EXPECT_EQ(one("bfi.b32 %r9, %r1, %r2, 8, 4;", {0xA, 0xFFFFFFFF}),
            0xFFFFFAFFu);
  EXPECT_EQ(one("shl.b32 %r9, %r1, %r2;", {1, 32}), 0u);
  EXPECT_EQ(one("shr.s32 %r9, %r1, %r2;", {0x80000000, 99}), 0xFFFFFFFFu);
  EXPECT_EQ(one("shf.l.wrap.b32 %r9, %r1, %r2, 36;", {0xF0000000, 0x1}), 0x1Fu);
  EXPECT_EQ(one("shf.r.clamp.b32 %r9, %r1, %r2, 40;", {1, 2}), 2u);
  EXPECT_EQ(one("prmt.b32 %r9, %r1, %r2, 0x5410;", {0x11112222, 0x33334444}),
            0x44442222u);
  EXPECT_EQ(one("prmt.b32 %r9, %r1, %r2, 0x8080;", {0x00000080, 0}),
            0xFF80FF80u);
  EXPECT_EQ(one("lop3.b32 %r9, %r1, %r2, 0xF0F0F0F0, 0x96;",
                {0xFF00FF00, 0x0FF00FF0}),
            0xFF00FF00u ^ 0x0FF00FF0u ^ 0xF0F0F0F0u);
  EXPECT_EQ(one("popc.b32 %r9, %r1;", {0xF0F0}), 8u);
  EXPECT_EQ(one("clz.b32 %r9, %r1;", {0}), 32u);
  EXPECT_EQ(one("brev.b32 %r9, %r1;", {1}), 0x80000000u);
  EXPECT_EQ(one("bfind.u32 %r9, %r1;", {0}), 0xFFFFFFFFu);
  EXPECT_EQ(one("bfind.s32 %r9, %r1;", {(u32)-3}), 1u);
  EXPECT_EQ(one("bfind.shiftamt.u32 %r9, %r1;", {1}), 31u);
}

TEST(Integer, DotProducts) {
  EXPECT_EQ(one("dp4a.s32.s32 %r9, %r1, %r2, %r1;", {0x01020304, 0xFF010101}),
            0x01020304u + (u32)(-1 + 2 + 3 + 4));
  EXPECT_EQ(one("dp4a.u32.u32 %r9, %r1, %r2, 0;", {0xFF000000, 0xFF000000}),
            255u * 255u);
  EXPECT_EQ(one("dp2a.lo.s32.s32 %r9, %r1, %r2, 0;", {0xFFFF0002, 0x0304}),
            (u32)(2 * 4 - 3));
}

TEST(Integer, NarrowTypesAreExtendedOnLoad) {
  // 0x80 as a signed byte is -128.
  EXPECT_EQ(one("ld.global.s8 %r9, [%d0];", {0x80}), 0xFFFFFF80u);
  EXPECT_EQ(one("ld.global.u8 %r9, [%d0];", {0x180}), 0x80u);
  EXPECT_EQ(one("ld.global.s8 %h1, [%d0]; cvt.u32.u16 %r9, %h1;", {0x80}),
            0xFF80u);
  EXPECT_EQ(one("cvt.u16.u32 %h1, %r1; add.s16 %h1, %h1, 1; cvt.s32.s16 "
                "%r9, %h1;",
                {0x7FFF}),
            0xFFFF8000u);
}

TEST(Float, RoundsInEachMode) {
  float tiny = std::ldexp(1.0f, -30);
  EXPECT_EQ(floatOp("add.rn.f32", {1, tiny}), bits(1));
  EXPECT_EQ(floatOp("add.rp.f32", {1, tiny}), bits(1) + 1);
  EXPECT_EQ(floatOp("add.rz.f32", {1, -tiny}), bits(1) - 1);
  EXPECT_EQ(floatOp("add.rm.f32", {1, -tiny}), bits(1) - 1);
  EXPECT_EQ(floatOp("fma.rm.f32", {-1, tiny, 1}), bits(1) - 1);
  EXPECT_EQ(floatOp("div.rp.f32", {1, 3}), 0x3EAAAAABu);
  EXPECT_EQ(floatOp("div.rz.f32", {1, 3}), 0x3EAAAAAAu);
  EXPECT_EQ(floatOp("sqrt.rn.f32", {2}), bits(std::sqrt(2.0f)));
}

TEST(Float, FlushesAndSaturatesOnlyWhenAsked) {
  float denormal = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(floatOp("add.f32", {denormal, 0}), 1u);
  EXPECT_EQ(floatOp("add.ftz.f32", {denormal, 0}), 0u);
  EXPECT_EQ(floatOp("mul.ftz.f32", {-denormal, 1}), 0x80000000u);
  EXPECT_EQ(floatOp("add.sat.f32", {3, 4}), bits(1));
  EXPECT_EQ(floatOp("add.sat.f32", {NAN, 4}), 0u);
}

TEST(Float, MinimumAndMaximum) {
  EXPECT_EQ(floatOp("min.f32", {NAN, 4}), bits(4));
  EXPECT_EQ(floatOp("min.NaN.f32", {NAN, 4}), 0x7FFFFFFFu);
  EXPECT_EQ(floatOp("min.f32", {0.0f, -0.0f}), bits(-0.0f));
  EXPECT_EQ(floatOp("max.f32", {-0.0f, 0.0f}), bits(0.0f));
  EXPECT_EQ(floatOp("max.f32", {1, 2, 3}), bits(3));
  EXPECT_EQ(floatOp("copysign.f32", {-1, 2}), bits(-2));
}

TEST(Float, ApproximationsAreCorrectlyRounded) {
  EXPECT_EQ(floatOp("ex2.approx.f32", {0.5f}), bits(std::sqrt(2.0f)));
  EXPECT_EQ(floatOp("ex2.approx.f32", {-INFINITY}), 0u);
  EXPECT_EQ(floatOp("ex2.approx.f32", {-148.5f}), 1u);
  EXPECT_EQ(floatOp("ex2.approx.ftz.f32", {-130.0f}), 0u);
  EXPECT_EQ(floatOp("lg2.approx.f32", {8}), bits(3));
  EXPECT_EQ(floatOp("lg2.approx.f32", {0}), 0xFF800000u);
  EXPECT_EQ(floatOp("rsqrt.approx.f32", {4}), bits(0.5f));
  EXPECT_EQ(floatOp("rcp.approx.f32", {3}), bits(1.0f / 3));
  EXPECT_EQ(floatOp("sin.approx.f32", {0}), 0u);
  EXPECT_EQ(floatOp("tanh.approx.f32", {INFINITY}), bits(1));
  for (float x : {0.1f, 1.7f, 3.25f, 100.5f}) {
    EXPECT_EQ(floatOp("ex2.approx.f32", {x}),
              bits((float)std::exp2((double)x)));
    EXPECT_EQ(floatOp("lg2.approx.f32", {x}),
              bits((float)std::log2((double)x)));
  }
}

TEST(Float, PerturbationMovesApproximations) {
  Ptx run(kernel(1, "mov.f32 %f1, 0f40000000; rcp.approx.f32 %f2, %f1;"
                    "add.s64 %d1, %d0, %d20; st.global.f32 [%d1], %f2;"));
  Buffer y = run.output<u32>(32);
  run.config.perturbation = Perturbation::Up;
  run.launch("k", {y}, {});
  EXPECT_EQ(run.read<u32>(y)[0], bits(0.5f) + 1);
  run.config.perturbation = Perturbation::Down;
  run.launch("k", {y}, {});
  EXPECT_EQ(run.read<u32>(y)[0], bits(0.5f) - 1);
}

TEST(Convert, FloatToInteger) {
  auto to = [](const char *op, float f) {
    return one("mov.b32 %f1, %r1; " + std::string(op) + " %r9, %f1;",
               {bits(f)});
  };
  EXPECT_EQ(to("cvt.rzi.s32.f32", -1.9f), (u32)-1);
  EXPECT_EQ(to("cvt.rni.s32.f32", 2.5f), 2u);
  EXPECT_EQ(to("cvt.rmi.s32.f32", -1.1f), (u32)-2);
  EXPECT_EQ(to("cvt.rpi.s32.f32", 1.1f), 2u);
  EXPECT_EQ(to("cvt.rzi.s32.f32", 3e9f), 0x7FFFFFFFu);
  EXPECT_EQ(to("cvt.rzi.s32.f32", -3e9f), 0x80000000u);
  EXPECT_EQ(to("cvt.rzi.u32.f32", -5.0f), 0u);
  EXPECT_EQ(to("cvt.rzi.u32.f32", NAN), 0u);
  EXPECT_EQ(to("cvt.rzi.u8.f32", 300.0f), 255u);
  EXPECT_EQ(to("cvt.rzi.s8.f32", -300.0f), 0xFFFFFF80u);
}

TEST(Convert, IntegerToFloatAndBetweenIntegers) {
  EXPECT_EQ(one("cvt.rn.f32.s32 %f1, %r1; mov.b32 %r9, %f1;", {(u32)-3}),
            bits(-3));
  EXPECT_EQ(one("cvt.rn.f32.u32 %f1, %r1; mov.b32 %r9, %f1;", {0xFFFFFFFF}),
            bits(4294967296.0f));
  EXPECT_EQ(one("cvt.rz.f32.u32 %f1, %r1; mov.b32 %r9, %f1;", {0xFFFFFFFF}),
            bits(4294967296.0f) - 1);
  EXPECT_EQ(one("cvt.sat.s8.s32 %r9, %r1;", {1000}), 127u);
  EXPECT_EQ(one("cvt.s32.s8 %r9, %r1;", {0x1FF}), 0xFFFFFFFFu);
  EXPECT_EQ(one("cvt.u64.u32 %d9, %r1; cvt.u32.u64 %r9, %d9;", {77}), 77u);
  EXPECT_EQ(floatOp("cvt.rni.f32.f32", {2.5f}), bits(2));
  EXPECT_EQ(floatOp("cvt.sat.f32.f32", {2.5f}), bits(1));
  EXPECT_EQ(floatOp("cvt.rna.tf32.f32", {1.0f + 0x1p-11f}),
            bits(1.0f + 0x1p-10f));
}

TEST(Half, Arithmetic) {
  auto h = [](const std::string &op, u32 a, u32 b, u32 c = 0) {
    return one("cvt.u16.u32 %h1, %r1; cvt.u16.u32 %h2, %r2; cvt.u16.u32 %h3, "
               "%r3; " +
                   op + " cvt.u32.u16 %r9, %h9;",
               {a, b, c});
  };
  EXPECT_EQ(h("add.f16 %h9, %h1, %h2;", 0x3C00, 0x4000), 0x4200u); // 1+2
  EXPECT_EQ(h("mul.f16 %h9, %h1, %h2;", 0x7BFF, 0x4000), 0x7C00u); // inf
  // 2^-24 * 1 + 2^-25-ish: the sum of a product that f32 alone rounds twice.
  EXPECT_EQ(h("fma.rn.f16 %h9, %h1, %h2, %h3;", 0x3C01, 0x3C01, 0x0001),
            0x3C02u);
  EXPECT_EQ(h("fma.rn.relu.f16 %h9, %h1, %h2, %h3;", 0xBC00, 0x3C00, 0), 0u);
  EXPECT_EQ(h("neg.f16 %h9, %h1;", 0x3C00, 0), 0xBC00u);
  EXPECT_EQ(h("add.bf16 %h9, %h1, %h2;", 0x3F80, 0x4000), 0x4040u);
  EXPECT_EQ(h("fma.rn.bf16 %h9, %h1, %h2, %h3;", 0x3F80, 0x4000, 0x3F80),
            0x4040u);
  EXPECT_EQ(h("max.f16 %h9, %h1, %h2;", 0x7E00, 0x3C00), 0x3C00u);
  EXPECT_EQ(one("add.f16x2 %r9, %r1, %r2;", {0x3C004000, 0x3C003C00}),
            0x40004200u);
  EXPECT_EQ(one("fma.rn.bf16x2 %r9, %r1, %r2, %r3;",
                {0x3F804000, 0x40004000, 0x3F803F80}),
            0x404040A0u);
}

TEST(Half, Conversions) {
  auto half = [](float f) {
    return one("mov.b32 %f1, %r1; cvt.rn.f16.f32 %h1, %f1; cvt.u32.u16 %r9, "
               "%h1;",
               {bits(f)});
  };
  EXPECT_EQ(half(1.0f), 0x3C00u);
  EXPECT_EQ(half(65504.0f), 0x7BFFu);
  EXPECT_EQ(half(65520.0f), 0x7C00u);
  EXPECT_EQ(half(65519.9f), 0x7BFFu);
  EXPECT_EQ(half(0x1p-24f), 0x0001u);
  EXPECT_EQ(half(0x1p-25f), 0x0000u);
  EXPECT_EQ(half(0x1.8p-25f), 0x0001u);
  EXPECT_EQ(half(NAN), 0x7FFFu);
  EXPECT_EQ(one("cvt.u16.u32 %h1, %r1; cvt.f32.f16 %f1, %h1; mov.b32 %r9, "
                "%f1;",
                {0x0001}),
            bits(0x1p-24f));
  EXPECT_EQ(one("mov.b32 %f1, %r1; mov.b32 %f2, %r2; cvt.rn.bf16x2.f32 %r9, "
                "%f1, %f2;",
                {bits(1.0f), bits(2.0f)}),
            0x3F804000u);
  EXPECT_EQ(one("mov.b32 %f1, %r1; cvt.rn.bf16.f32 %h1, %f1; cvt.u32.u16 "
                "%r9, %h1;",
                {0x3F808000}),
            0x3F80u); // a tie to even
  EXPECT_EQ(one("mov.b32 %f1, %r1; cvt.rz.f16.f32 %h1, %f1; cvt.u32.u16 %r9, "
                "%h1;",
                {bits(70000.0f)}),
            0x7BFFu);
}

TEST(Double, Arithmetic) {
  auto d = [](const std::string &body) {
    return runLanes<double, u32>(
        body + " mul.wide.u32 %d21, %r0, 8; add.s64 %d22, %d0, %d21; "
               "st.global.f64 [%d22], %g9;",
        {})[0];
  };
  EXPECT_EQ(d("mov.f64 %g1, 0d3FF0000000000000; fma.rn.f64 %g9, %g1, "
              "0d4000000000000000, %g1;"),
            3.0);
  EXPECT_EQ(d("mov.f64 %g1, 0d4008000000000000; div.rn.f64 %g9, "
              "0d3FF0000000000000, %g1;"),
            1.0 / 3.0);
  EXPECT_EQ(d("mov.f64 %g1, 0dBFF8000000000000; cvt.rzi.s64.f64 %d5, %g1; "
              "cvt.rn.f64.s64 %g9, %d5;"),
            -1.0);
}

TEST(Predicate, ComparesCombinesAndSelects) {
  EXPECT_EQ(
      one("setp.lt.s32 %p1, %r1, %r2; selp.b32 %r9, 1, 2, %p1;", {(u32)-1, 0}),
      1u);
  EXPECT_EQ(
      one("setp.lo.u32 %p1, %r1, %r2; selp.b32 %r9, 1, 2, %p1;", {(u32)-1, 0}),
      2u);
  EXPECT_EQ(
      one("setp.eq.u32 %p1|%p2, %r1, %r2; selp.b32 %r9, 1, 2, %p2;", {3, 3}),
      2u);
  EXPECT_EQ(one("setp.eq.u32 %p1, %r1, 3; setp.ne.and.u32 %p2, %r2, 9, !%p1; "
                "selp.b32 %r9, 1, 2, %p2;",
                {3, 3}),
            2u);
  EXPECT_EQ(one("mov.b32 %f1, %r1; setp.ltu.f32 %p1, %f1, 0f00000000; "
                "selp.b32 %r9, 1, 2, !%p1;",
                {0x7FC00000}),
            2u);
  EXPECT_EQ(one("set.gt.u32.s32 %r9, %r1, %r2;", {5, 4}), 0xFFFFFFFFu);
  EXPECT_EQ(one("set.gt.f32.s32 %f1, %r1, %r2; mov.b32 %r9, %f1;", {5, 4}),
            bits(1));
  EXPECT_EQ(one("mov.u32 %r9, 5; setp.eq.u32 %p1, %r1, 0; @!%p1 mov.u32 %r9, "
                "6;",
                {1}),
            6u);
  EXPECT_EQ(one("mov.b32 %f1, %r1; testp.subnormal.f32 %p1, %f1; selp.b32 "
                "%r9, 1, 0, %p1;",
                {1}),
            1u);
}

TEST(Move, PacksAndUnpacks) {
  EXPECT_EQ(
      one("mov.b32 {%h1, %h2}, %r1; mov.b32 %r9, {%h2, %h1};", {0x12345678}),
      0x56781234u);
  EXPECT_EQ(one("mov.b64 %d9, {%r1, %r2}; mov.b64 {_, %r9}, %d9;", {1, 2}), 2u);
  EXPECT_EQ(one("mov.b64 %d9, {%r1, %r2}; mov.b64 {%h1, %h2, %h3, %h4}, %d9; "
                "cvt.u32.u16 %r9, %h3;",
                {1, 0x70002}),
            2u);
}

TEST(Control, DivergenceMeetsAgain) {
  // Lanes loop a different number of times, then all vote.
  std::vector<u32> in(32);
  for (u32 i = 0; i < 32; ++i)
    in[i] = i % 7;
  auto out = u32Lanes("mov.u32 %r8, 0;\nL: setp.ge.u32 %p1, %r8, %r1;\n"
                      "@%p1 bra E;\nadd.u32 %r8, %r8, 1;\nbra L;\nE:\n"
                      "setp.eq.u32 %p2, %r8, %r1;\n"
                      "vote.sync.ballot.b32 %r9, %p2, 0xFFFFFFFF;",
                      {in});
  EXPECT_EQ(out, std::vector<u32>(32, ~0u));
}

TEST(Control, BranchTables) {
  std::vector<u32> in(32);
  for (u32 i = 0; i < 32; ++i)
    in[i] = i % 3;
  auto out = u32Lanes("brx.idx %r1, T;\nT: .branchtargets A, B, C;\n"
                      "A: mov.u32 %r9, 10; bra E;\nB: mov.u32 %r9, 11; bra "
                      "E;\nC: mov.u32 %r9, 12;\nE:",
                      {in});
  for (u32 i = 0; i < 32; ++i)
    EXPECT_EQ(out[i], 10 + i % 3);
}

TEST(Control, CallsPassAndReturnValues) {
  std::string text =
      kernel(1,
             "{ .param .b32 a; .param .b32 r;\nst.param.b32 [a], %r0;\n"
             "call.uni (r), square, (a);\nld.param.b32 %r9, [r]; }\n"
             "add.s64 %d31, %d0, %d20; st.global.u32 [%d31], %r9;",
             ".func (.param .b32 out) square(.param .b32 x) {\n"
             ".reg .b32 %r<4>;\n.reg .pred %p;\nld.param.b32 %r1, [x];\n"
             "mul.lo.s32 %r2, %r1, %r1;\nsetp.gt.u32 %p, %r1, 16;\n"
             "@%p bra BIG;\nst.param.b32 [out], %r2;\nret;\nBIG:\n"
             "st.param.b32 [out], 7;\nret;\n}\n");
  Ptx run(text);
  Buffer y = run.output<u32>(32);
  run.launch("k", {y}, {});
  run.expectClean();
  auto out = run.read<u32>(y);
  for (u32 i = 0; i < 32; ++i)
    EXPECT_EQ(out[i], i > 16 ? 7 : i * i);
}

TEST(Memory, VectorsLocalConstantAndGenericAccess) {
  std::string text = kernel(
      2,
      ".local .align 8 .b8 depot[16];\n"
      "shl.b32 %r1, %r0, 4; cvt.u64.u32 %d3, %r1; add.s64 %d4, %d0, %d3;\n"
      "ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%d4];\n"
      "mov.u64 %d5, depot; cvta.local.u64 %d6, %d5;\n"
      "st.local.v2.u32 [%d5], {%r2, %r3}; st.u32 [%d6+8], %r4;\n"
      "ld.u32 %r6, [%d6+4]; ld.local.u32 %r7, [%d5+8];\n"
      "add.u32 %r8, %r6, %r7; ld.const.u32 %r9, [table+4];\n"
      "add.u32 %r8, %r8, %r9; add.s64 %d7, %d1, %d20; st.u32 [%d7], %r8;",
      ".const .align 4 .u32 table[2] = {100, 200};\n");
  Ptx run(text);
  std::vector<u32> in(128);
  for (u32 i = 0; i < 128; ++i)
    in[i] = i;
  Buffer x = run.input(in), y = run.output<u32>(32);
  run.launch("k", {x, y}, {});
  run.expectClean();
  auto out = run.read<u32>(y);
  for (u32 i = 0; i < 32; ++i)
    EXPECT_EQ(out[i], 4 * i + 1 + 4 * i + 2 + 200);
}

TEST(Memory, AtomicsReturnTheOldValue) {
  Ptx run(kernel(2, "atom.global.add.u32 %r1, [%d0], 2;\n"
                    "red.global.max.s32 [%d0+4], %r0;\n"
                    "atom.global.inc.u32 %r2, [%d0+8], 9;\n"
                    "atom.global.cas.b32 %r3, [%d0+12], 0, %r0;\n"
                    "atom.global.add.f32 %f1, [%d0+16], 0f3F000000;\n"
                    "add.s64 %d3, %d1, %d20; st.global.u32 [%d3], %r1;"));
  Buffer c = run.inout<u32>({10, 0, 0, 0, 0}), y = run.output<u32>(32);
  run.launch("k", {c, y}, {});
  run.expectClean();
  auto counter = run.read<u32>(c);
  EXPECT_EQ(counter[0], 74u);
  EXPECT_EQ(counter[1], 31u);
  EXPECT_EQ(counter[2], 32u % 10);
  EXPECT_EQ(counter[3], 1u); // lane 0 swaps 0 for 0, lane 1 for 1
  EXPECT_EQ(counter[4], bits(16.0f));
  EXPECT_EQ(run.read<u32>(y)[3], 16u);
  EXPECT_EQ(run.result.counters.atomics, 5u);
  EXPECT_EQ(run.result.counters.atomicCollisions, 5u * 31);
}

TEST(Warp, ShufflesAndVotes) {
  std::vector<u32> in(32);
  for (u32 i = 0; i < 32; ++i)
    in[i] = 100 + i;
  auto up = u32Lanes("shfl.sync.up.b32 %r9|%p1, %r1, 1, 0, -1;\n"
                     "@!%p1 mov.u32 %r9, 0;",
                     {in});
  EXPECT_EQ(up[0], 0u);
  EXPECT_EQ(up[5], 104u);
  auto down = u32Lanes("shfl.sync.down.b32 %r9, %r1, 2, 0x1f, -1;", {in});
  EXPECT_EQ(down[29], 131u);
  EXPECT_EQ(down[30], 130u);
  auto bfly = u32Lanes("shfl.sync.bfly.b32 %r9, %r1, 16, 0x1f, -1;", {in});
  EXPECT_EQ(bfly[3], 119u);
  auto index = u32Lanes("shfl.sync.idx.b32 %r9, %r1, 2, 0x181f, -1;", {in});
  EXPECT_EQ(index[13], 110u); // lane 2 of a segment of eight
  auto any = u32Lanes("setp.eq.u32 %p1, %r1, 103; vote.sync.any.pred %p2, "
                      "%p1, -1; selp.b32 %r9, 1, 0, %p2;",
                      {in});
  EXPECT_EQ(any, std::vector<u32>(32, 1));
  auto match = u32Lanes("and.b32 %r2, %r1, 1; match.any.sync.b32 %r9, %r2, "
                        "-1;",
                        {in});
  EXPECT_EQ(match[0], 0x55555555u);
  auto redux = u32Lanes("redux.sync.max.u32 %r9, %r1, -1;", {in});
  EXPECT_EQ(redux[0], 131u);
  auto elected =
      u32Lanes("elect.sync _|%p1, -1; selp.b32 %r9, 1, 0, %p1;", {in});
  EXPECT_EQ(elected[0], 1u);
  EXPECT_EQ(elected[1], 0u);
}

TEST(Warp, SpecialRegisters) {
  EXPECT_EQ(one("mov.u32 %r9, %ntid.x;", {0}), 32u);
  EXPECT_EQ(one("mov.u32 %r9, %nctaid.x;", {0}), 1u);
  EXPECT_EQ(one("mov.u32 %r9, WARP_SZ;", {0}), 32u);
  EXPECT_EQ(u32Lanes("mov.u32 %r9, %lanemask_lt;", {{0}})[5], 31u);
  EXPECT_EQ(u32Lanes("mov.u32 %r9, %laneid;", {{0}})[31], 31u);
  EXPECT_EQ(one("activemask.b32 %r9;", {0}), ~0u);
}

TEST(Barrier, ReducesOverTheBlock) {
  Ptx run(kernel(1, "setp.lt.u32 %p1, %r0, 40;\n"
                    "bar.red.popc.u32 %r1, 0, %p1;\n"
                    "bar.red.and.pred %p2, 0, %p1;\n"
                    "bar.red.or.pred %p3, 0, !%p1;\n"
                    "selp.b32 %r2, 1000, 0, %p2; selp.b32 %r3, 100, 0, %p3;\n"
                    "add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3;\n"
                    "add.s64 %d3, %d0, %d20; st.global.u32 [%d3], %r1;"));
  Buffer y = run.output<u32>(64);
  run.launch("k", {y}, {1, 64});
  run.expectClean();
  EXPECT_EQ(run.read<u32>(y), std::vector<u32>(64, 140));
}

TEST(Async, CopiesArriveAtTheWait) {
  Ptx run(kernel(2, ".shared .align 16 .b8 s[512];\n"
                    "shl.b32 %r1, %r0, 4; cvt.u64.u32 %d3, %r1;\n"
                    "add.s64 %d4, %d0, %d3; mov.u32 %r2, s;\n"
                    "add.u32 %r3, %r2, %r1;\n"
                    "cp.async.cg.shared.global [%r3], [%d4], 16;\n"
                    "cp.async.commit_group;\ncp.async.wait_group 0;\n"
                    "bar.sync 0;\nxor.b32 %r4, %r1, 16;\n"
                    "add.u32 %r4, %r4, %r2; ld.shared.u32 %r5, [%r4+4];\n"
                    "add.s64 %d5, %d1, %d20; st.global.u32 [%d5], %r5;"));
  std::vector<u32> in(128);
  for (u32 i = 0; i < 128; ++i)
    in[i] = i;
  Buffer x = run.input(in), y = run.output<u32>(32);
  run.launch("k", {x, y}, {});
  run.expectClean();
  auto out = run.read<u32>(y);
  for (u32 i = 0; i < 32; ++i)
    EXPECT_EQ(out[i], 4 * (i ^ 1) + 1);
}

TEST(Matrix, M16n8k16Halves) {
  // A[i][k] = (i == k), B[k][j] = k * 8 + j: D = B + C.
  std::string body =
      "shr.u32 %r1, %r0, 2; and.b32 %r2, %r0, 3; shl.b32 %r2, %r2, 1;\n"
      // a0: (g, 2t) (g, 2t+1); one where the column equals the row
      "setp.eq.u32 %p1, %r1, %r2; selp.b32 %r10, 0x3C00, 0, %p1;\n"
      "add.u32 %r3, %r2, 1; setp.eq.u32 %p2, %r1, %r3;\n"
      "selp.b32 %r11, 0x3C000000, 0, %p2; or.b32 %r10, %r10, %r11;\n"
      // b0: rows 2t, 2t+1 of column g; b1: rows + 8
      "shl.b32 %r4, %r2, 3; add.u32 %r4, %r4, %r1; cvt.rn.f16.u32 %h1, %r4;\n"
      "add.u32 %r5, %r4, 8; cvt.rn.f16.u32 %h2, %r5; mov.b32 %r12, {%h1,%h2};\n"
      "add.u32 %r5, %r4, 64; cvt.rn.f16.u32 %h1, %r5;\n"
      "add.u32 %r5, %r4, 72; cvt.rn.f16.u32 %h2, %r5; mov.b32 %r13, "
      "{%h1,%h2};\n"
      "mov.f32 %f1, 0f3F800000;\n"
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f2,%f3,%f4,%f5}, "
      "{%r10,0,0,%r10}, {%r12,%r13}, {%f1,%f1,%f1,%f1};\n"
      "shl.b32 %r6, %r1, 5; shl.b32 %r7, %r2, 2; add.u32 %r6, %r6, %r7;\n"
      "cvt.u64.u32 %d3, %r6; add.s64 %d3, %d3, %d0;\n"
      "st.global.v2.f32 [%d3], {%f2,%f3}; st.global.v2.f32 [%d3+256], "
      "{%f4,%f5};";
  Ptx run(kernel(1, body));
  Buffer y = run.output<float>(128);
  run.launch("k", {y}, {});
  run.expectClean();
  auto out = run.read<float>(y);
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 8; ++j)
      EXPECT_EQ(out[i * 8 + j], 1.0f + (float)(i * 8 + j)) << i << "," << j;
}

TEST(Packed, F32x2) {
  EXPECT_EQ(one("mov.b64 %d9, {%r1, %r2}; fma.rn.f32x2 %d9, %d9, %d9, %d9; "
                "mov.b64 {_, %r9}, %d9;",
                {bits(2), bits(3)}),
            bits(12));
}

} // namespace
} // namespace lockstitch::simulator::testing
