// The reference evaluator itself: what each scalar operation means at its
// edges, reductions, products.
#include "compiler/graph/evaluate_scalar.h"
#include "model_maker.h"

#include <cmath>
#include <gmock/gmock.h>

using namespace lockstitch;
using namespace lockstitch::test;
using testing::ElementsAre;

namespace {

/// One operation on scalars of `type`, as doubles.
double apply(ScalarOpcode opcode, ElementType type,
             std::vector<double> arguments) {
  Primitive primitive;
  ScalarBuilder b(primitive.body);
  std::vector<ScalarId> args;
  for (double argument : arguments)
    args.push_back(isFloat(type)
                       ? b.constant(type, argument)
                       : b.constantInt(type, static_cast<int64_t>(argument)));
  ScalarId result = b.op(opcode, args);
  primitive.body.results = {result};
  HostTensor value{{b.type(result), {}}, {}};
  auto bytes = evaluatePrimitive(primitive, value.type, {});
  EXPECT_TRUE(bytes.ok());
  value.bytes = *bytes;
  return valuesOf(value)[0];
}

using Op = ScalarOpcode;
using T = ElementType;

} // namespace

TEST(EvaluateScalar, IntegersNeverTrap) {
  EXPECT_EQ(apply(Op::Div, T::I32, {5, 0}), 0);
  EXPECT_EQ(apply(Op::Div, T::I32, {-2147483648.0, -1}), -2147483648.0);
  EXPECT_EQ(apply(Op::Div, T::U8, {200, 3}), 66);
  EXPECT_EQ(apply(Op::Rem, T::I64, {-7, 2}), -1);
  EXPECT_EQ(apply(Op::Rem, T::I64, {-7, 0}), 0);
  EXPECT_EQ(apply(Op::Mod, T::I64, {-7, 2}), 1);
  EXPECT_EQ(apply(Op::Mod, T::I8, {-128, -1}), 0);
  EXPECT_EQ(apply(Op::ShiftLeft, T::U8, {1, 8}), 0);
  EXPECT_EQ(apply(Op::ShiftRight, T::I8, {-2, 100}), -1);
  EXPECT_EQ(apply(Op::ShiftRight, T::U32, {8, 2}), 2);
  EXPECT_EQ(apply(Op::Pow, T::I32, {2, -1}), 0);
  EXPECT_EQ(apply(Op::Pow, T::I32, {-1, -3}), -1);
  EXPECT_EQ(apply(Op::Pow, T::I32, {2, 31}), -2147483648.0); // wraps
  EXPECT_EQ(apply(Op::Abs, T::I8, {-128}), -128);
  EXPECT_EQ(apply(Op::Max, T::U8, {200, 100}), 200);
  EXPECT_EQ(apply(Op::Not, T::Bool, {0}), 1);
  EXPECT_EQ(apply(Op::Not, T::U8, {0}), 255);
}

TEST(EvaluateScalar, LongIntegersAreRoundedToNarrowFloatsOnce) {
  auto toBf16 = [](ElementType from, int64_t value) {
    Primitive primitive;
    ScalarBuilder b(primitive.body);
    primitive.body.results = {b.cast(b.constantInt(from, value), T::BF16)};
    HostTensor result{{T::BF16, {}}, {}};
    auto bytes = evaluatePrimitive(primitive, result.type, {});
    EXPECT_TRUE(bytes.ok());
    result.bytes = *bytes;
    return valuesOf(result)[0];
  };
  // One more than half a step above 2^60; as a double it would be the half.
  int64_t value = (1ll << 60) + (1ll << 52) + 1;
  EXPECT_EQ(toBf16(T::I64, value), std::ldexp(129.0, 53));
  EXPECT_EQ(toBf16(T::I64, -value), -std::ldexp(129.0, 53));
  EXPECT_EQ(toBf16(T::I64, value - 1), std::ldexp(128.0, 53)); // ties to even
  EXPECT_EQ(toBf16(T::U64, INT64_MIN), std::ldexp(1.0, 63));
  EXPECT_EQ(toBf16(T::I64, INT64_MIN), -std::ldexp(1.0, 63));
}

TEST(EvaluateScalar, FloatsAtTheirEdges) {
  EXPECT_TRUE(std::isnan(apply(Op::Max, T::F32, {NAN, 1})));
  EXPECT_TRUE(std::isnan(apply(Op::Min, T::F32, {1, NAN})));
  EXPECT_FALSE(std::signbit(apply(Op::Max, T::F32, {-0.0, 0.0})));
  EXPECT_TRUE(std::signbit(apply(Op::Min, T::F32, {0.0, -0.0})));
  EXPECT_EQ(apply(Op::Round, T::F32, {2.5}), 2);
  EXPECT_EQ(apply(Op::Mod, T::F32, {-5.5, 2}), 0.5);
  EXPECT_EQ(apply(Op::Rem, T::F32, {-5.5, 2}), -1.5);
  EXPECT_EQ(apply(Op::Add, T::F32, {16777216, 1}), 16777216); // in f32
  EXPECT_EQ(apply(Op::Add, T::F64, {16777216, 1}), 16777217);
  EXPECT_EQ(apply(Op::Fma, T::F32, {1 + 0x1p-12, 1 + 0x1p-12, -1}),
            0x1p-11 + 0x1p-24); // one rounding
  EXPECT_EQ(apply(Op::Ne, T::F32, {NAN, NAN}), 1);
  EXPECT_EQ(apply(Op::Le, T::F32, {NAN, 1}), 0);
  EXPECT_EQ(apply(Op::IsInf, T::F32, {-HUGE_VAL}), 1);
}

TEST(EvaluateScalar, ComparesUnsignedAsUnsigned) {
  Primitive primitive;
  ScalarBuilder b(primitive.body);
  primitive.body.results = {
      b.op(Op::Lt, {b.constantInt(T::U64, 1), b.constantInt(T::U64, -1)})};
  auto bytes = evaluatePrimitive(primitive, {T::Bool, {}}, {});
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ((*bytes)[0], std::byte{1});
}

TEST(EvaluatePull, ReadsUnderConstraintsYieldZeroOutside) {
  Primitive primitive;
  primitive.domain = {Dim(4)};
  ScalarBuilder b(primitive.body);
  IndexExpr at = IndexExpr::dim(0) - IndexExpr::constant(1);
  IndexMap map{1, {at}, {{at, 0, 1}}};
  primitive.body.results = {b.read(0, T::F32, map)};
  HostTensor x = f32({2}, {5, 6});
  OperandView operand{x.type, x.bytes};
  HostTensor y{{T::F32, {Dim(4)}}, {}};
  auto bytes = evaluatePrimitive(primitive, y.type, {&operand, 1});
  ASSERT_TRUE(bytes.ok());
  y.bytes = *bytes;
  EXPECT_THAT(valuesOf(y), ElementsAre(0, 5, 6, 0));

  primitive.body = {};
  ScalarBuilder wild(primitive.body);
  map.constraints.clear();
  primitive.body.results = {wild.read(0, T::F32, map)};
  primitive.name = "wild";
  auto refused = evaluatePrimitive(primitive, y.type, {&operand, 1});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::Internal);
  EXPECT_EQ(refused.error().messages[0].where, "wild");
}

TEST(EvaluateReduce, LongSumsStayExactEnough) {
  for (int64_t length : {1, 63, 64, 65, 127, 128, 129, 1000, 100000}) {
    Primitive primitive;
    primitive.kind = Primitive::Kind::Reduce;
    primitive.domain = {Dim(2), Dim(length)};
    primitive.reducedDims = 1;
    ScalarBuilder b(primitive.body);
    primitive.body.results = {b.constant(T::F32, 0.1)};
    primitive.reducer = Reducer::simple(Op::Add, T::F32, T::F32);
    HostTensor y{{T::F32, {Dim(2)}}, {}};
    auto bytes = evaluatePrimitive(primitive, y.type, {});
    ASSERT_TRUE(bytes.ok());
    y.bytes = *bytes;
    double want = static_cast<double>(0.1f) * static_cast<double>(length);
    for (double got : valuesOf(y))
      EXPECT_NEAR(got, want, want * 1e-6) << length;
  }
}

TEST(EvaluateGraph, RefusesOtherInputsThanDeclared) {
  PrimitiveGraph graph;
  graph.outputs = {graph.addInput("x", {T::F32, {Dim(2)}})};
  HostTensor wrong = f32({3}, {1, 2, 3});
  EXPECT_FALSE(evaluateGraph(graph, {&wrong, 1}).ok());
  EXPECT_FALSE(evaluateGraph(graph, {}).ok());
}
