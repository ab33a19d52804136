// The meaning of elementwise operators and activations, by values worked out by
// hand or with NumPy. Every case also runs folded.
#include "model_maker.h"

#include <cmath>
#include <gmock/gmock.h>

using namespace lockstitch;
using namespace lockstitch::test;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::NanSensitiveDoubleEq;
using testing::Pointwise;

namespace {

constexpr double kNaN = NAN, kInf = HUGE_VAL;

std::vector<double> values(const std::string &op, int64_t opset,
                           const std::vector<HostTensor> &inputs,
                           Attributes attributes = {}) {
  std::vector<HostTensor> outputs = runNode(op, opset, inputs, attributes);
  return outputs.empty() ? std::vector<double>() : valuesOf(outputs[0]);
}

std::vector<double> unary(const std::string &op, std::vector<double> x,
                          Attributes attributes = {}, int64_t opset = 18) {
  return values(op, opset, {f32({static_cast<int64_t>(x.size())}, x)},
                attributes);
}

testing::Matcher<std::vector<double>> near(std::vector<double> want,
                                           double tolerance = 1e-6) {
  std::vector<testing::Matcher<double>> each;
  for (double w : want)
    each.push_back(std::isfinite(w)
                       ? testing::Matcher<double>(DoubleNear(
                             w, tolerance * std::fmax(1, std::fabs(w))))
                       : testing::Matcher<double>(NanSensitiveDoubleEq(w)));
  return testing::ElementsAreArray(each);
}

} // namespace

TEST(Elementwise, BroadcastsBothSides) {
  EXPECT_THAT(values("Add", 13, {f32({2, 1}, {1, 2}), f32({3}, {10, 20, 30})}),
              ElementsAre(11, 21, 31, 12, 22, 32));
  EXPECT_THAT(values("Mul", 13, {f32({}, {2}), f32({2, 2}, {1, 2, 3, 4})}),
              ElementsAre(2, 4, 6, 8));
  EXPECT_THAT(values("Add", 13, {f32({0, 1}, {}), f32({3}, {1, 2, 3})}),
              ElementsAre());
  EXPECT_EQ(
      toString(
          runNode("Add", 13, {f32({0, 1}, {}), f32({3}, {1, 2, 3})})[0].type),
      "f32[0x3]");
}

TEST(Elementwise, RefusesWhatDoesNotFit) {
  EXPECT_THAT(refusalOf("Add", 13,
                        {f32({3, 5}, std::vector<double>(15)),
                         f32({4, 5}, std::vector<double>(20))}),
              HasSubstr("node: Add-13 (f32[3x5], f32[4x5]): the shapes [3,5] "
                        "and [4,5] do not broadcast"));
  EXPECT_THAT(refusalOf("Add", 13, {f32({}, {1}), i64({}, {1})}),
              HasSubstr("its inputs have different types: f32 and i64"));
  EXPECT_THAT(refusalOf("Exp", 13, {i64({}, {1})}),
              HasSubstr("should be of a floating-point type, not i64"));
  EXPECT_THAT(refusalOf("Add", 13, {f32({}, {1})}),
              HasSubstr("input 1 is missing"));
}

TEST(Elementwise, IntegersWrapAndDivideTowardsZero) {
  EXPECT_THAT(values("Add", 14,
                     {tensor(ElementType::U8, {1}, {200}),
                      tensor(ElementType::U8, {1}, {100})}),
              ElementsAre(44));
  EXPECT_THAT(values("Mul", 14,
                     {tensor(ElementType::I8, {1}, {100}),
                      tensor(ElementType::I8, {1}, {3})}),
              ElementsAre(44));
  EXPECT_THAT(values("Div", 14,
                     {tensor(ElementType::I32, {4}, {7, -7, 7, -7}),
                      tensor(ElementType::I32, {4}, {2, 2, -2, -2})}),
              ElementsAre(3, -3, -3, 3));
  EXPECT_THAT(
      values("Mod", 13, {i64({4}, {7, -7, 7, -7}), i64({4}, {3, 3, -3, -3})}),
      ElementsAre(1, 2, -2, -1));
  EXPECT_THAT(values("Mod", 13,
                     {i64({4}, {7, -7, 7, -7}), i64({4}, {3, 3, -3, -3})},
                     {{"fmod", int64_t(1)}}),
              ElementsAre(1, -1, 1, -1));
  EXPECT_THAT(values("Mod", 13, {f32({2}, {5.5, -5.5}), f32({2}, {2, 2})},
                     {{"fmod", int64_t(1)}}),
              ElementsAre(1.5, -1.5));
  EXPECT_THAT(refusalOf("Mod", 13, {f32({}, {1}), f32({}, {1})}),
              HasSubstr("floating-point operands need fmod=1"));
  EXPECT_THAT(values("Neg", 13, {tensor(ElementType::I8, {2}, {-128, 5})}),
              ElementsAre(-128, -5));
  EXPECT_THAT(values("BitShift", 11,
                     {tensor(ElementType::U8, {2}, {129, 3}),
                      tensor(ElementType::U8, {2}, {1, 1})},
                     {{"direction", std::string("RIGHT")}}),
              ElementsAre(64, 1));
  EXPECT_THAT(refusalOf("BitShift", 11,
                        {tensor(ElementType::U8, {}, {1}),
                         tensor(ElementType::U8, {}, {1})}),
              HasSubstr("'direction' should be LEFT or RIGHT, not ''"));
}

TEST(Elementwise, ComparisonsAndNaN) {
  HostTensor a = f32({4}, {1, 2, kNaN, 3}), b = f32({4}, {2, 2, 1, kNaN});
  EXPECT_THAT(values("Equal", 13, {a, b}), ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(values("Less", 13, {a, b}), ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(values("LessOrEqual", 16, {a, b}), ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(values("Greater", 13, {b, a}), ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(values("GreaterOrEqual", 16, {b, a}), ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(values("IsNaN", 13, {a}), ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(values("Less", 13,
                     {tensor(ElementType::U8, {1}, {200}),
                      tensor(ElementType::U8, {1}, {100})}),
              ElementsAre(0));
}

TEST(Elementwise, Logic) {
  HostTensor a = tensor(ElementType::Bool, {4}, {0, 0, 1, 1}),
             b = tensor(ElementType::Bool, {4}, {0, 1, 0, 1});
  EXPECT_THAT(values("And", 7, {a, b}), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(values("Or", 7, {a, b}), ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(values("Xor", 7, {a, b}), ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(values("Not", 1, {a}), ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(values("BitwiseNot", 18, {tensor(ElementType::U8, {2}, {0, 5})}),
              ElementsAre(255, 250));
}

TEST(Elementwise, VariadicOperators) {
  HostTensor a = f32({2, 1}, {1, 5}), b = f32({2}, {2, 3}), c = f32({}, {2.5});
  EXPECT_THAT(values("Max", 13, {a, b, c}), ElementsAre(2.5, 3, 5, 5));
  EXPECT_THAT(values("Min", 13, {a, b, c}), ElementsAre(1, 1, 2, 2.5));
  EXPECT_THAT(values("Sum", 13, {a, b, c}), ElementsAre(5.5, 6.5, 9.5, 10.5));
  EXPECT_THAT(values("Mean", 13, {a, f32({}, {2})}), ElementsAre(1.5, 3.5));
  EXPECT_THAT(values("Max", 13, {a}), ElementsAre(1, 5));
  EXPECT_THAT(values("Max", 13, {f32({2}, {kNaN, 1}), f32({2}, {1, kNaN})}),
              near({kNaN, kNaN}));
}

TEST(Elementwise, RoundingFunctions) {
  EXPECT_THAT(unary("Round", {0.5, 1.5, -0.5, -2.5, 2.4}),
              ElementsAre(0, 2, 0, -2, 2));
  EXPECT_THAT(unary("Floor", {-1.5, 1.5}), ElementsAre(-2, 1));
  EXPECT_THAT(unary("Ceil", {-1.5, 1.5}), ElementsAre(-1, 2));
  EXPECT_THAT(unary("Sign", {-2, 0, 3}), ElementsAre(-1, 0, 1));
  EXPECT_THAT(unary("Abs", {-2, 3}), ElementsAre(2, 3));
  EXPECT_THAT(unary("Reciprocal", {2, -4}), ElementsAre(0.5, -0.25));
  EXPECT_THAT(unary("Sqrt", {4, -1}), near({2, kNaN}));
}

TEST(Elementwise, TranscendentalFunctions) {
  EXPECT_THAT(unary("Exp", {0, 1, -kInf}), near({1, std::exp(1), 0}));
  EXPECT_THAT(unary("Log", {1, 0, -1}), near({0, -kInf, kNaN}));
  EXPECT_THAT(unary("Sin", {0, 1}), near({0, std::sin(1)}));
  EXPECT_THAT(unary("Cos", {0, 1}), near({1, std::cos(1)}));
  EXPECT_THAT(unary("Tanh", {0, 1}), near({0, std::tanh(1)}));
  EXPECT_THAT(unary("Erf", {0, 1}), near({0, std::erf(1)}));
}

TEST(Elementwise, Pow) {
  EXPECT_THAT(values("Pow", 13, {f32({3}, {2, -2, 0}), f32({3}, {3, 3, 0})}),
              ElementsAre(8, -8, 1));
  for (double exponent : {0.5, -0.5, -1.0, 1.0, 2.0, 3.0, 0.0, 4.0}) {
    std::vector<double> bases = {4, 0, -0.0, -2, kInf, -kInf, kNaN}, want;
    for (double base : bases)
      want.push_back(static_cast<float>(std::pow(base, exponent)));
    std::vector<double> got =
        values("Pow", 13, {f32({7}, bases), f32({}, {exponent})});
    EXPECT_THAT(got, near(want)) << exponent;
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_TRUE(std::isnan(want[i]) ||
                  std::signbit(got[i]) == std::signbit(want[i]))
          << bases[i] << "^" << exponent;
  }
  EXPECT_THAT(values("Pow", 13, {f32({2}, {2, 3}), i64({2}, {10, -1})}),
              near({1024, 1.0 / 3}));
  EXPECT_THAT(values("Pow", 13, {i64({2}, {2, -3}), i64({2}, {62, 3})}),
              ElementsAre(0x1p62, -27));
  EXPECT_THAT(
      values("Pow", 13,
             {tensor(ElementType::I32, {2}, {9, 4}), f32({2}, {0.5, 2})}),
      ElementsAre(3, 16));
}

TEST(Elementwise, Clip) {
  EXPECT_THAT(
      unary("Clip", {-2, 0.5, 2, kNaN}, {{"min", -1.0}, {"max", 1.0}}, 6),
      near({-1, 0.5, 1, kNaN}));
  HostTensor x = f32({3}, {-2, 0.5, 2});
  EXPECT_THAT(values("Clip", 13, {x, f32({}, {-1}), f32({}, {1})}),
              ElementsAre(-1, 0.5, 1));
  EXPECT_THAT(values("Clip", 13, {x, absent(), f32({}, {1})}),
              ElementsAre(-2, 0.5, 1));
  EXPECT_THAT(values("Clip", 13, {x, f32({}, {0})}), ElementsAre(0, 0.5, 2));
  EXPECT_THAT(values("Clip", 13, {x}), ElementsAre(-2, 0.5, 2));
  EXPECT_THAT(values("Clip", 13, {x, f32({}, {1}), f32({}, {-1})}),
              ElementsAre(-1, -1, -1)); // max wins
  EXPECT_THAT(refusalOf("Clip", 13, {x, x}),
              HasSubstr("its bound (input 1) should be a scalar, not [3]"));
}

TEST(Elementwise, Where) {
  HostTensor condition = tensor(ElementType::Bool, {2, 1}, {1, 0});
  EXPECT_THAT(values("Where", 16, {condition, f32({2}, {1, 2}), f32({}, {9})}),
              ElementsAre(1, 2, 9, 9));
  EXPECT_THAT(
      refusalOf("Where", 16, {f32({}, {1}), f32({}, {1}), f32({}, {1})}),
      HasSubstr("its condition should be bool, not f32"));
}

TEST(Elementwise, Cast) {
  auto cast = [](HostTensor from, ElementType to) {
    return values("Cast", 13, {from},
                  {{"to", int64_t(lockstitch::onnx::dataType(to))}});
  };
  HostTensor odd = f32({6}, {1.9, -1.9, 1e20, -1e20, kNaN, 0.4});
  EXPECT_THAT(cast(odd, ElementType::I32),
              ElementsAre(1, -1, 2147483647, -2147483648.0, 0, 0));
  EXPECT_THAT(cast(odd, ElementType::U8), ElementsAre(1, 0, 255, 0, 0, 0));
  EXPECT_THAT(cast(odd, ElementType::Bool), ElementsAre(1, 1, 1, 1, 1, 1));
  EXPECT_THAT(cast(i64({2}, {300, -1}), ElementType::U8),
              ElementsAre(44, 255)); // wraps
  EXPECT_THAT(cast(tensor(ElementType::Bool, {2}, {1, 0}), ElementType::F32),
              ElementsAre(1, 0));
  EXPECT_THAT(cast(f32({3}, {70000, 65519, 0.1}), ElementType::F16),
              ElementsAre(kInf, 65504, 0.0999755859375));
  EXPECT_THAT(cast(tensor(ElementType::F64, {1}, {1.00048828125000001}),
                   ElementType::F16),
              ElementsAre(1));
  EXPECT_THAT(cast(f32({2}, {257, 259}), ElementType::BF16),
              ElementsAre(256, 260)); // ties to even
  EXPECT_THAT(refusalOf("Cast", 13, {f32({}, {1})}, {{"to", int64_t(8)}}),
              HasSubstr("a cast to string is not supported"));
  EXPECT_THAT(refusalOf("Cast", 13, {f32({}, {1})}),
              HasSubstr("attribute 'to' is missing"));
  EXPECT_THAT(values("CastLike", 15, {f32({1}, {2.7}), i64({1}, {0})}),
              ElementsAre(2));
}

TEST(Elementwise, NarrowFloatsAreRoundedAtEachNode) {
  ModelMaker maker(17);
  maker.input("x", ElementType::BF16, {1})
      .initializer("one", tensor(ElementType::BF16, {}, {1}))
      .output("y");
  maker.node("Add", {"x", "one"}, {"a"});
  maker.node("Add", {"a", "one"}, {"b"});
  maker.node("Sub", {"b", "x"}, {"y"});
  auto graph = maker.import();
  ASSERT_TRUE(graph.ok());
  HostTensor input = tensor(ElementType::BF16, {1}, {256});
  auto outputs = evaluateGraph(*graph, {&input, 1});
  ASSERT_TRUE(outputs.ok());
  EXPECT_THAT(valuesOf((*outputs)[0]), ElementsAre(0)); // 256 + 1 is 256, twice
}

TEST(Activations, Values) {
  std::vector<double> x = {-2, -0.5, 0, 1, 3};
  auto apply = [&](auto f) {
    std::vector<double> y;
    for (double v : x)
      y.push_back(f(v));
    return near(y, 1e-6);
  };
  EXPECT_THAT(unary("Relu", x),
              apply([](double v) { return std::fmax(v, 0); }));
  EXPECT_THAT(unary("LeakyRelu", x, {{"alpha", 0.25}}),
              apply([](double v) { return v < 0 ? 0.25 * v : v; }));
  EXPECT_THAT(unary("Elu", x, {{"alpha", 2.0}}),
              apply([](double v) { return v < 0 ? 2 * std::expm1(v) : v; }));
  EXPECT_THAT(unary("Celu", x, {{"alpha", 2.0}}), apply([](double v) {
                return v < 0 ? 2 * std::expm1(v / 2) : v;
              }));
  EXPECT_THAT(unary("Selu", x), apply([](double v) {
                return 1.0507009873554805 *
                       (v < 0 ? 1.6732632423543772 * std::expm1(v) : v);
              }));
  EXPECT_THAT(unary("Sigmoid", x),
              apply([](double v) { return 1 / (1 + std::exp(-v)); }));
  EXPECT_THAT(unary("HardSigmoid", x), apply([](double v) {
                return std::fmin(1, std::fmax(0, 0.2 * v + 0.5));
              }));
  EXPECT_THAT(unary("HardSwish", x), apply([](double v) {
                return v * std::fmin(1, std::fmax(0, v / 6 + 0.5));
              }));
  EXPECT_THAT(unary("Softplus", x),
              apply([](double v) { return std::log1p(std::exp(v)); }));
  EXPECT_THAT(unary("Softsign", x),
              apply([](double v) { return v / (1 + std::fabs(v)); }));
  EXPECT_THAT(unary("Mish", x), apply([](double v) {
                return v * std::tanh(std::log1p(std::exp(v)));
              }));
  EXPECT_THAT(unary("ThresholdedRelu", x, {{"alpha", 0.5}}),
              apply([](double v) { return v > 0.5 ? v : 0; }));
  EXPECT_THAT(unary("Gelu", x, {}, 20), apply([](double v) {
                return 0.5 * v * (1 + std::erf(v / std::sqrt(2)));
              }));
  EXPECT_THAT(unary("Gelu", x, {{"approximate", std::string("tanh")}}, 20),
              apply([](double v) {
                return 0.5 * v *
                       (1 + std::tanh(std::sqrt(2 / M_PI) *
                                      (v + 0.044715 * v * v * v)));
              }));
  EXPECT_THAT(unary("Swish", x, {{"alpha", 2.0}}, 24),
              apply([](double v) { return v / (1 + std::exp(-2 * v)); }));
}

TEST(Activations, Extremes) {
  EXPECT_THAT(unary("Relu", {kNaN, -kInf, kInf}), near({kNaN, 0, kInf}));
  EXPECT_THAT(unary("Sigmoid", {-1000, 1000, kNaN}), near({0, 1, kNaN}));
  EXPECT_THAT(unary("Softplus", {-50, 1000}),
              near({std::exp(-50), 1000}, 1e-7));
  EXPECT_NEAR(unary("Softplus", {-50})[0] / std::exp(-50), 1,
              1e-6); // not lost beside 1
}

TEST(Activations, PReluBroadcastsOneWay) {
  EXPECT_THAT(
      values("PRelu", 16, {f32({2, 2}, {-1, -2, 3, -4}), f32({2}, {0.5, 2})}),
      ElementsAre(-0.5, -4, 3, -8));
  EXPECT_THAT(
      refusalOf("PRelu", 16, {f32({2}, {1, 2}), f32({2, 2}, {1, 2, 3, 4})}),
      HasSubstr("its slope [2,2] does not broadcast to [2]"));
}

TEST(Activations, Refusals) {
  EXPECT_THAT(refusalOf("Gelu", 20, {f32({}, {1})},
                        {{"approximate", std::string("odd")}}),
              HasSubstr("'approximate' should be none or tanh, not 'odd'"));
  EXPECT_THAT(
      refusalOf("LeakyRelu", 16, {f32({}, {1})}, {{"alpha", int64_t(1)}}),
      HasSubstr("attribute 'alpha' is of the wrong kind"));
}
