// Reductions, normalisations, pools and products, by values worked out by hand
// or with NumPy.
#include "model_maker.h"

#include <cmath>
#include <gmock/gmock.h>

using namespace lockstitch;
using namespace lockstitch::test;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::NanSensitiveDoubleEq;

namespace {

using Ints = std::vector<int64_t>;
constexpr double kNaN = NAN, kInf = HUGE_VAL;

testing::Matcher<std::vector<double>> near(std::vector<double> want,
                                           double tolerance = 2e-6) {
  std::vector<testing::Matcher<double>> each;
  for (double w : want)
    each.push_back(std::isfinite(w)
                       ? testing::Matcher<double>(DoubleNear(
                             w, tolerance * std::fmax(1, std::fabs(w))))
                       : testing::Matcher<double>(NanSensitiveDoubleEq(w)));
  return testing::ElementsAreArray(each);
}

std::vector<double> values(const std::string &op, int64_t opset,
                           const std::vector<HostTensor> &inputs,
                           Attributes attributes = {},
                           std::vector<size_t> constants = {}) {
  std::vector<HostTensor> outputs =
      runNode(op, opset, inputs, attributes, 1, constants);
  return outputs.empty() ? std::vector<double>() : valuesOf(outputs[0]);
}

std::string shape(const std::string &op, int64_t opset,
                  const std::vector<HostTensor> &inputs,
                  Attributes attributes = {},
                  std::vector<size_t> constants = {}) {
  std::vector<HostTensor> outputs =
      runNode(op, opset, inputs, attributes, 1, constants);
  return outputs.empty() ? "" : toString(outputs[0].type);
}

HostTensor ramp(std::vector<int64_t> shape, double step = 1) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  std::vector<double> all;
  for (int64_t i = 0; i < count; ++i)
    all.push_back(static_cast<double>(i) * step);
  return f32(shape, all);
}

} // namespace

// --- Reductions

TEST(Reduce, AxesInEveryForm) {
  HostTensor x = ramp({2, 3});
  EXPECT_THAT(values("ReduceSum", 11, {x}, {{"axes", Ints{1}}}),
              ElementsAre(3, 12));
  EXPECT_EQ(shape("ReduceSum", 11, {x}, {{"axes", Ints{1}}}), "f32[2x1]");
  EXPECT_EQ(shape("ReduceSum", 11, {x},
                  {{"axes", Ints{-1}}, {"keepdims", int64_t(0)}}),
            "f32[2]");
  EXPECT_THAT(values("ReduceSum", 13, {x, ints({0})}, {}, {1}),
              ElementsAre(3, 5, 7));
  EXPECT_THAT(values("ReduceMean", 18, {x, ints({0})}, {}, {1}),
              ElementsAre(1.5, 2.5, 3.5));
  EXPECT_THAT(values("ReduceMean", 17, {x}, {{"axes", Ints{0, 1}}}),
              ElementsAre(2.5));
  EXPECT_EQ(shape("ReduceMean", 17, {x}), "f32[1x1]");
  EXPECT_EQ(shape("ReduceMean", 17, {x}, {{"keepdims", int64_t(0)}}), "f32[]");
  EXPECT_THAT(values("ReduceSum", 13, {x, ints({})}, {}, {1}),
              ElementsAre(15)); // empty: all
  EXPECT_THAT(values("ReduceSum", 13, {ramp({})}), ElementsAre(0));
  EXPECT_THAT(refusalOf("ReduceSum", 11, {x}, {{"axes", Ints{2}}}),
              HasSubstr("axis 2 is not possible for a tensor of rank 2"));
  EXPECT_THAT(refusalOf("ReduceSum", 11, {x}, {{"axes", Ints{0, -2}}}),
              HasSubstr("an axis is named twice"));
}

TEST(Reduce, NoopKeepsTheElementwisePart) {
  HostTensor x = f32({2}, {-2, 3});
  Attributes noop = {{"noop_with_empty_axes", int64_t(1)}};
  EXPECT_THAT(values("ReduceSum", 18, {x}, noop), ElementsAre(-2, 3));
  EXPECT_THAT(values("ReduceSumSquare", 18, {x, ints({})}, noop, {1}),
              ElementsAre(4, 9));
  EXPECT_THAT(values("ReduceL1", 18, {x, absent()}, noop), ElementsAre(2, 3));
  EXPECT_THAT(values("ReduceL2", 18, {x}, noop), ElementsAre(2, 3));
  EXPECT_THAT(values("ReduceMean", 18, {x}, noop), ElementsAre(-2, 3));
  EXPECT_THAT(values("ReduceLogSum", 18, {f32({1}, {1})}, noop),
              ElementsAre(0));
}

TEST(Reduce, EveryKind) {
  HostTensor x = f32({2, 2}, {1, -2, 3, 4});
  auto all = [&](const std::string &op) {
    return values(op, 13, {x}, {{"axes", Ints{1}}});
  };
  EXPECT_THAT(all("ReduceMax"), ElementsAre(1, 4));
  EXPECT_THAT(all("ReduceMin"), ElementsAre(-2, 3));
  EXPECT_THAT(all("ReduceProd"), ElementsAre(-2, 12));
  EXPECT_THAT(all("ReduceL1"), ElementsAre(3, 7));
  EXPECT_THAT(all("ReduceL2"), near({std::sqrt(5), 5}));
  EXPECT_THAT(all("ReduceSumSquare"), ElementsAre(5, 25));
  EXPECT_THAT(all("ReduceLogSum"), near({kNaN, std::log(7)}));
  EXPECT_THAT(all("ReduceLogSumExp"),
              near({std::log(std::exp(1) + std::exp(-2)),
                    std::log(std::exp(3) + std::exp(4))}));
}

TEST(Reduce, LogSumExpAtTheEndsOfTheRange) {
  auto row = [&](std::vector<double> x) {
    return values("ReduceLogSumExp", 13,
                  {f32({1, static_cast<int64_t>(x.size())}, x)},
                  {{"axes", Ints{1}}, {"keepdims", int64_t(0)}});
  };
  EXPECT_THAT(row({1000, 1000}), near({1000 + std::log(2)}));
  EXPECT_THAT(row({-kInf, -kInf}), near({-kInf}));
  EXPECT_THAT(row({kInf, 1}), near({kInf}));
  EXPECT_THAT(row({kNaN, 1}), near({kNaN}));
}

TEST(Reduce, EmptyGivesTheNeutralElement) {
  HostTensor none = f32({2, 0}, {});
  auto over = [&](const std::string &op) {
    return values(op, 13, {none}, {{"axes", Ints{1}}});
  };
  EXPECT_THAT(values("ReduceSum", 11, {none}, {{"axes", Ints{1}}}),
              ElementsAre(0, 0));
  EXPECT_THAT(over("ReduceProd"), ElementsAre(1, 1));
  EXPECT_THAT(over("ReduceMax"), ElementsAre(-kInf, -kInf));
  EXPECT_THAT(over("ReduceMin"), ElementsAre(kInf, kInf));
  EXPECT_THAT(over("ReduceMean"), near({kNaN, kNaN}));
  EXPECT_THAT(over("ReduceLogSum"), near({-kInf, -kInf}));
  EXPECT_THAT(over("ReduceLogSumExp"), near({-kInf, -kInf}));
  EXPECT_THAT(values("ReduceMax", 13, {tensor(ElementType::I32, {0}, {})}),
              ElementsAre(-2147483648.0));
  EXPECT_THAT(values("ReduceMin", 13, {tensor(ElementType::U8, {0}, {})}),
              ElementsAre(255));
  EXPECT_EQ(shape("ReduceMax", 13, {f32({0, 3}, {})}, {{"axes", Ints{1}}}),
            "f32[0x1]");
}

TEST(Reduce, TypesAndNaN) {
  EXPECT_THAT(values("ReduceMax", 13, {f32({3}, {1, kNaN, 2})}), near({kNaN}));
  EXPECT_THAT(
      values("ReduceSum", 13, {tensor(ElementType::I8, {2}, {100, 100})}),
      ElementsAre(-56));
  EXPECT_THAT(values("ReduceSum", 13, {i64({2}, {0x1p53, 1})}),
              ElementsAre(0x1p53 + 1));
  EXPECT_THAT(values("ReduceMean", 13, {i64({2}, {3, 4})}), ElementsAre(3));
  EXPECT_THAT(values("ReduceMax", 20, {tensor(ElementType::Bool, {2}, {0, 1})}),
              ElementsAre(1));
  EXPECT_THAT(values("ReduceMin", 20, {tensor(ElementType::Bool, {2}, {0, 1})}),
              ElementsAre(0));
  EXPECT_THAT(values("ReduceL2", 13, {i64({2}, {3, 4})}), ElementsAre(5));
  // f16 accumulates wide: 3000 ones are 3000, not 2048.
  EXPECT_THAT(
      values("ReduceSum", 13,
             {tensor(ElementType::F16, {3000}, std::vector<double>(3000, 1))}),
      ElementsAre(3000));
}

TEST(Reduce, ArgMaxAndArgMin) {
  HostTensor x = f32({2, 3}, {1, 3, 3, 2, 0, 0});
  EXPECT_THAT(values("ArgMax", 13, {x}, {{"axis", int64_t(1)}}),
              ElementsAre(1, 0));
  EXPECT_THAT(values("ArgMax", 13, {x},
                     {{"axis", int64_t(1)}, {"select_last_index", int64_t(1)}}),
              ElementsAre(2, 0));
  EXPECT_THAT(values("ArgMin", 13, {x},
                     {{"axis", int64_t(-1)}, {"keepdims", int64_t(0)}}),
              ElementsAre(0, 1));
  EXPECT_THAT(values("ArgMax", 13, {x}), ElementsAre(1, 0, 0));
  EXPECT_THAT(values("ArgMax", 13, {f32({3}, {1, kNaN, kNaN})}),
              ElementsAre(1)); // the first NaN
  EXPECT_THAT(values("ArgMin", 13, {f32({2}, {kInf, kInf})}), ElementsAre(0));
  EXPECT_THAT(refusalOf("ArgMax", 13, {f32({0}, {})}),
              HasSubstr("nothing to search along a dimension of 0"));
  EXPECT_THAT(refusalOf("ArgMax", 13, {f32({}, {1})}),
              HasSubstr("a scalar has no axis"));
}

// --- Normalisations

TEST(Softmax, AxesByOpset) {
  double e = std::exp(1);
  HostTensor x = f32({1, 2, 2}, {0, 1, 0, 1});
  std::vector<double> row = {1 / (1 + e), e / (1 + e)},
                      flat = {row[0] / 2, row[1] / 2};
  EXPECT_THAT(values("Softmax", 13, {x}),
              near({row[0], row[1], row[0], row[1]}));
  EXPECT_THAT(values("Softmax", 13, {x}, {{"axis", int64_t(1)}}),
              near({0.5, 0.5, 0.5, 0.5}));
  EXPECT_THAT(
      values("Softmax", 11, {x}),
      near({flat[0], flat[1], flat[0], flat[1]})); // flattened from axis 1
  EXPECT_THAT(values("Softmax", 11, {x}, {{"axis", int64_t(2)}}),
              near({row[0], row[1], row[0], row[1]}));
  EXPECT_THAT(values("LogSoftmax", 13, {x}),
              near({std::log(row[0]), std::log(row[1]), std::log(row[0]),
                    std::log(row[1])}));
  EXPECT_THAT(values("Softmax", 13, {f32({}, {3})}), ElementsAre(1));
  EXPECT_EQ(shape("Softmax", 13, {f32({2, 0}, {})}), "f32[2x0]");
  EXPECT_THAT(refusalOf("Softmax", 13, {i64({2}, {1, 2})}),
              HasSubstr("should be of a floating-point type"));
}

TEST(Softmax, Hardmax) {
  HostTensor x = f32({1, 2, 2}, {3, 1, 3, 4});
  EXPECT_THAT(values("Hardmax", 13, {x}), ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(values("Hardmax", 13, {x}, {{"axis", int64_t(1)}}),
              ElementsAre(1, 0, 0, 1)); // the first of equals
  EXPECT_THAT(values("Hardmax", 11, {x}), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(values("Hardmax", 13, {f32({}, {3})}), ElementsAre(1));
}

TEST(Softmax, Infinities) {
  EXPECT_THAT(values("Softmax", 13, {f32({1, 2}, {-kInf, -kInf})}),
              near({kNaN, kNaN}));
  EXPECT_THAT(values("Softmax", 13, {f32({1, 3}, {-kInf, 0, -kInf})}),
              ElementsAre(0, 1, 0));
  EXPECT_THAT(values("Softmax", 13, {f32({1, 2}, {1000, 0})}),
              ElementsAre(1, 0));
  EXPECT_THAT(values("LogSoftmax", 13, {f32({1, 2}, {1000, 0})}),
              ElementsAre(0, -1000));
}

TEST(Softmax, NarrowTypesAreRoundedOnce) {
  std::vector<double> got =
      values("Softmax", 13, {tensor(ElementType::F16, {1, 3}, {0, 1, 2})});
  double sum = 1 + std::exp(1) + std::exp(2);
  EXPECT_THAT(got, near({1 / sum, std::exp(1) / sum, std::exp(2) / sum}, 3e-4));
}

TEST(LayerNorm, AxisScaleBiasAndStatistics) {
  HostTensor x = f32({2, 2}, {1, 3, -2, 2}), scale = f32({2}, {1, 2}),
             bias = f32({2}, {10, 20});
  double a = 1 / std::sqrt(1 + 1e-5), b = 2 / std::sqrt(4 + 1e-5);
  EXPECT_THAT(values("LayerNormalization", 17, {x, scale, bias}),
              near({10 - a, 20 + 2 * a, 10 - b, 20 + 2 * b}));
  EXPECT_THAT(values("LayerNormalization", 17, {x, scale}, {{"epsilon", 0.0}}),
              near({-1, 2, -1, 2}));
  std::vector<HostTensor> all = runNode(
      "LayerNormalization", 17, {x, scale, bias}, {{"epsilon", 0.0}}, 3);
  EXPECT_THAT(valuesOf(all[1]), ElementsAre(2, 0));
  EXPECT_THAT(valuesOf(all[2]), ElementsAre(1, 0.5));
  EXPECT_EQ(toString(all[1].type), "f32[2x1]");
  EXPECT_THAT(values("LayerNormalization", 17,
                     {f32({2, 2}, {1, 1, 3, 3}), f32({2, 1}, {1, 2})},
                     {{"axis", int64_t(0)}, {"epsilon", 0.0}}),
              near({-1, -1, 2, 2}));
  EXPECT_THAT(refusalOf("LayerNormalization", 17, {x, f32({3}, {1, 1, 1})}),
              HasSubstr("do not broadcast"));
  EXPECT_THAT(
      refusalOf("LayerNormalization", 17, {x, f32({2, 1, 2}, {1, 1, 1, 1})}),
      HasSubstr("its input 1 of [2,1,2] does not broadcast to [2,2]"));
}

TEST(LayerNorm, StatisticsOfNarrowTypesAreWide) {
  // Squares of 300 overflow f16.
  std::vector<double> got =
      values("LayerNormalization", 17,
             {tensor(ElementType::F16, {1, 2}, {-300, 300}),
              tensor(ElementType::F16, {2}, {1, 1})});
  EXPECT_THAT(got, ElementsAre(-1, 1));
}

TEST(Normalization, RmsInstanceGroup) {
  EXPECT_THAT(values("RMSNormalization", 23,
                     {f32({1, 2}, {3, 4}), f32({2}, {1, 2})},
                     {{"epsilon", 0.0}}),
              near({3 / std::sqrt(12.5), 8 / std::sqrt(12.5)}));
  HostTensor x = f32({1, 2, 2}, {1, 3, -2, 2}), scale = f32({2}, {1, 2}),
             bias = f32({2}, {10, 20});
  EXPECT_THAT(
      values("InstanceNormalization", 6, {x, scale, bias}, {{"epsilon", 0.0}}),
      near({9, 11, 18, 22}));
  EXPECT_THAT(refusalOf("InstanceNormalization", 6, {x, f32({1}, {1}), bias}),
              HasSubstr("its input 1 should have the shape [2], not [1]"));
  HostTensor y = f32({1, 4, 1}, {1, 3, -2, 2});
  EXPECT_THAT(values("GroupNormalization", 18, {y, scale, bias},
                     {{"num_groups", int64_t(2)}, {"epsilon", 0.0}}),
              near({9, 11, 18, 22}));
  EXPECT_THAT(values("GroupNormalization", 21,
                     {y, f32({4}, {1, 2, 3, 4}), f32({4}, {0, 0, 0, 1})},
                     {{"num_groups", int64_t(2)}, {"epsilon", 0.0}}),
              near({-1, 2, -3, 5}));
  EXPECT_THAT(refusalOf("GroupNormalization", 18, {y, scale, bias},
                        {{"num_groups", int64_t(3)}}),
              HasSubstr("cannot be split into 3 groups"));
}

TEST(Normalization, Batch) {
  HostTensor x = f32({1, 2, 2}, {1, 3, -2, 2}), one = f32({2}, {1, 2}),
             bias = f32({2}, {10, 20}), mean = f32({2}, {1, 0}),
             variance = f32({2}, {4, 16});
  for (int64_t opset : {9, 15})
    EXPECT_THAT(values("BatchNormalization", opset,
                       {x, one, bias, mean, variance},
                       {{"epsilon", 0.0}, {"momentum", 0.5}}),
                near({10, 11, 19, 21}));
  std::vector<HostTensor> trained = runNode(
      "BatchNormalization", 15, {x, one, bias, mean, variance},
      {{"epsilon", 0.0}, {"momentum", 0.5}, {"training_mode", int64_t(1)}}, 3);
  EXPECT_THAT(valuesOf(trained[0]), near({9, 11, 18, 22}));
  EXPECT_THAT(valuesOf(trained[1]),
              near({1.5, 0})); // half the old mean, half the batch's
  EXPECT_THAT(valuesOf(trained[2]), near({2.5, 10})); // population variance
  EXPECT_THAT(
      refusalOf("BatchNormalization", 9, {x, one, bias, mean, variance}, {}, 2),
      HasSubstr("its output 1 ('y1') is not supported"));
}

TEST(Normalization, LpAndMeanVariance) {
  EXPECT_THAT(values("LpNormalization", 22, {f32({2, 2}, {3, 4, 0, 0})}),
              near({0.6, 0.8, 0, 0}));
  EXPECT_THAT(values("LpNormalization", 22, {f32({1, 2}, {-1, 3})},
                     {{"p", int64_t(1)}}),
              near({-0.25, 0.75}));
  EXPECT_THAT(
      refusalOf("LpNormalization", 22, {f32({1}, {1})}, {{"p", int64_t(3)}}),
      HasSubstr("'p' should be 1 or 2, not 3"));
  EXPECT_THAT(values("MeanVarianceNormalization", 13, {f32({2}, {1, 3})},
                     {{"axes", Ints{0}}}),
              near({-1, 1}));
}

// --- Pools

TEST(Pool, Max) {
  HostTensor x = ramp({1, 1, 3, 3});
  EXPECT_THAT(values("MaxPool", 12, {x}, {{"kernel_shape", Ints{2, 2}}}),
              ElementsAre(4, 5, 7, 8));
  EXPECT_THAT(values("MaxPool", 12, {f32({1, 1, 3}, {-1, -2, -3})},
                     {{"kernel_shape", Ints{3}}, {"pads", Ints{1, 1}}}),
              ElementsAre(-1, -1, -2));
  EXPECT_THAT(values("MaxPool", 12, {ramp({1, 1, 5})},
                     {{"kernel_shape", Ints{2}}, {"dilations", Ints{3}}}),
              ElementsAre(3, 4));
  EXPECT_THAT(values("MaxPool", 12,
                     {tensor(ElementType::U8, {1, 1, 3}, {200, 100, 5})},
                     {{"kernel_shape", Ints{2}}}),
              ElementsAre(200, 100));
  EXPECT_THAT(values("GlobalMaxPool", 1, {ramp({1, 2, 2})}), ElementsAre(1, 3));
}

TEST(Pool, CeilModeDropsAWindowThatBeginsInThePadding) {
  EXPECT_THAT(values("MaxPool", 12, {ramp({1, 1, 5})},
                     {{"kernel_shape", Ints{2}},
                      {"strides", Ints{2}},
                      {"ceil_mode", int64_t(1)}}),
              ElementsAre(1, 3, 4));
  EXPECT_EQ(shape("MaxPool", 12, {ramp({1, 1, 2})},
                  {{"kernel_shape", Ints{1}},
                   {"strides", Ints{2}},
                   {"ceil_mode", int64_t(1)}}),
            "f32[1x1x1]");
}

TEST(Pool, AverageAndItsDivisor) {
  HostTensor x = f32({1, 1, 3}, {3, 6, 9});
  EXPECT_THAT(values("AveragePool", 11, {x}, {{"kernel_shape", Ints{2}}}),
              ElementsAre(4.5, 7.5));
  EXPECT_THAT(values("AveragePool", 11, {x},
                     {{"kernel_shape", Ints{3}}, {"pads", Ints{1, 1}}}),
              ElementsAre(4.5, 6, 7.5));
  EXPECT_THAT(values("AveragePool", 11, {x},
                     {{"kernel_shape", Ints{3}},
                      {"pads", Ints{1, 1}},
                      {"count_include_pad", int64_t(1)}}),
              ElementsAre(3, 6, 5));
  EXPECT_THAT(values("AveragePool", 19, {x},
                     {{"kernel_shape", Ints{2}},
                      {"strides", Ints{2}},
                      {"ceil_mode", int64_t(1)}}),
              ElementsAre(4.5, 9));
  EXPECT_THAT(values("AveragePool", 19, {x},
                     {{"kernel_shape", Ints{2}},
                      {"strides", Ints{2}},
                      {"ceil_mode", int64_t(1)},
                      {"count_include_pad", int64_t(1)}}),
              ElementsAre(4.5, 9)); // what ceil_mode adds never counts
  EXPECT_THAT(values("AveragePool", 11, {x},
                     {{"kernel_shape", Ints{2}},
                      {"auto_pad", std::string("SAME_UPPER")}}),
              ElementsAre(4.5, 7.5, 9));
  EXPECT_THAT(values("AveragePool", 11, {x},
                     {{"kernel_shape", Ints{2}},
                      {"auto_pad", std::string("SAME_LOWER")}}),
              ElementsAre(3, 4.5, 7.5));
  EXPECT_THAT(values("GlobalAveragePool", 1, {f32({1, 2, 2}, {1, 2, 3, 5})}),
              ElementsAre(1.5, 4));
}

TEST(Pool, Refusals) {
  HostTensor x = ramp({1, 1, 3});
  EXPECT_THAT(refusalOf("MaxPool", 12, {x}),
              HasSubstr("attribute 'kernel_shape' is missing"));
  EXPECT_THAT(refusalOf("MaxPool", 12, {x}, {{"kernel_shape", Ints{2, 2}}}),
              HasSubstr("its kernel [2,2] does not fit an input of [1,1,3]"));
  EXPECT_THAT(refusalOf("MaxPool", 12, {x}, {{"kernel_shape", Ints{4}}}),
              HasSubstr("a window of 4 does not fit a dimension of 3"));
  EXPECT_THAT(refusalOf("MaxPool", 12, {x},
                        {{"kernel_shape", Ints{2}}, {"strides", Ints{0}}}),
              HasSubstr("should be positive"));
  EXPECT_THAT(refusalOf("MaxPool", 12, {x},
                        {{"kernel_shape", Ints{2}}, {"strides", Ints{1, 1}}}),
              HasSubstr("'strides' should have 1 numbers"));
  EXPECT_THAT(refusalOf("MaxPool", 12, {x},
                        {{"kernel_shape", Ints{2}}, {"pads", Ints{-1, 0}}}),
              HasSubstr("negative pads"));
  EXPECT_THAT(
      refusalOf("MaxPool", 12, {x},
                {{"kernel_shape", Ints{2}}, {"auto_pad", std::string("odd")}}),
      HasSubstr("not 'odd'"));
  EXPECT_THAT(
      refusalOf("MaxPool", 12, {ramp({1, 1})}, {{"kernel_shape", Ints{}}}),
      HasSubstr("should be [N, C, spatial...]"));
  EXPECT_THAT(refusalOf("GlobalMaxPool", 1, {ramp({1})}),
              HasSubstr("should be [N, C, spatial...]"));
}

// --- Products

TEST(MatMul, EveryRank) {
  EXPECT_THAT(values("MatMul", 13, {ramp({2, 3}), ramp({3, 2})}),
              ElementsAre(10, 13, 28, 40));
  EXPECT_THAT(values("MatMul", 13, {ramp({3}), ramp({3})}), ElementsAre(5));
  EXPECT_EQ(shape("MatMul", 13, {ramp({3}), ramp({3})}), "f32[]");
  EXPECT_THAT(values("MatMul", 13, {ramp({3}), ramp({3, 2})}),
              ElementsAre(10, 13));
  EXPECT_THAT(values("MatMul", 13, {ramp({2, 3}), ramp({3})}),
              ElementsAre(5, 14));
  EXPECT_THAT(values("MatMul", 13, {ramp({2, 1, 2}), ramp({2, 1})}),
              ElementsAre(1, 3)); // one right side
  EXPECT_THAT(values("MatMul", 13, {ramp({1, 2}), ramp({2, 2, 1})}),
              ElementsAre(1, 3)); // one left side
  EXPECT_THAT(values("MatMul", 13, {ramp({2, 1, 1, 1}), ramp({3, 1, 1})}),
              ElementsAre(0, 0, 0, 0, 1, 2)); // both broadcast
  EXPECT_EQ(shape("MatMul", 13, {ramp({2, 1, 1, 1}), ramp({3, 1, 1})}),
            "f32[2x3x1x1]");
  EXPECT_THAT(values("MatMul", 13, {ramp({2, 2, 3}), ramp({3})}),
              ElementsAre(5, 14, 23, 32));
  EXPECT_THAT(values("MatMul", 13, {f32({2, 0}, {}), f32({0, 2}, {})}),
              ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(shape("MatMul", 13, {f32({0, 2}, {}), ramp({2, 3})}), "f32[0x3]");
  EXPECT_THAT(values("MatMul", 13,
                     {tensor(ElementType::I32, {1, 2}, {65536, 1}),
                      tensor(ElementType::I32, {2, 1}, {65536, 7})}),
              ElementsAre(7));
}

TEST(MatMul, Refusals) {
  EXPECT_THAT(
      refusalOf("MatMul", 13, {ramp({2, 3}), ramp({2, 3})}),
      HasSubstr("the shapes [2,3] and [2,3] cannot be multiplied: 3 is not 2"));
  EXPECT_THAT(refusalOf("MatMul", 13, {ramp({}), ramp({2})}),
              HasSubstr("a scalar cannot be multiplied as a matrix"));
  EXPECT_THAT(
      refusalOf("MatMul", 13, {ramp({2, 1, 1}), ramp({3, 1, 1})}),
      HasSubstr(
          "the batch dimensions of [2,1,1] and [3,1,1] do not broadcast"));
}

TEST(MatMul, RowsOfABatchAreOneProduct) {
  ModelMaker maker(17);
  maker.input("x", ElementType::F32, {4, 5, 6})
      .input("w", ElementType::F32, {6, 7})
      .output("y");
  maker.node("MatMul", {"x", "w"}, {"y"});
  auto graph = maker.import();
  ASSERT_TRUE(graph.ok());
  const MatMulCall &call = graph->primitives[0].call.matmul;
  EXPECT_TRUE(call.batch.empty());
  EXPECT_EQ(call.m, 20);
}

TEST(Gemm, TransposesScalesAndC) {
  HostTensor a = ramp({2, 3}), b = ramp({3, 2});
  EXPECT_THAT(values("Gemm", 13, {a, b}), ElementsAre(10, 13, 28, 40));
  EXPECT_THAT(values("Gemm", 13, {ramp({3, 2}), b}, {{"transA", int64_t(1)}}),
              ElementsAre(20, 26, 26, 35));
  EXPECT_THAT(values("Gemm", 13, {a, ramp({2, 3})}, {{"transB", int64_t(1)}}),
              ElementsAre(5, 14, 14, 50));
  EXPECT_THAT(values("Gemm", 13, {a, b, f32({2}, {1, 2})},
                     {{"alpha", 2.0}, {"beta", 10.0}}),
              ElementsAre(30, 46, 66, 100));
  EXPECT_THAT(values("Gemm", 13, {a, b, f32({2, 1}, {1, 2})}),
              ElementsAre(11, 14, 30, 42));
  EXPECT_THAT(values("Gemm", 13, {a, b, f32({}, {1})}, {{"beta", 0.0}}),
              ElementsAre(10, 13, 28, 40));
  EXPECT_THAT(refusalOf("Gemm", 13, {a, b, f32({3}, {1, 2, 3})}),
              HasSubstr("do not broadcast"));
  EXPECT_THAT(refusalOf("Gemm", 13, {a, b, f32({1, 1, 1}, {1})}),
              HasSubstr("its C, f32[1x1x1], does not broadcast to [2,2]"));
  EXPECT_THAT(refusalOf("Gemm", 13, {a, a}),
              HasSubstr("the shapes [2,3] and [2,3] cannot be multiplied"));
  EXPECT_THAT(refusalOf("Gemm", 13, {ramp({2}), a}),
              HasSubstr("its operands should be matrices"));
}

TEST(Gemm, ItsCIsAPrimitiveOfItsOwn) {
  ModelMaker maker(17);
  maker.input("a", ElementType::F32, {2, 3})
      .input("b", ElementType::F32, {3, 2})
      .input("c", ElementType::F32, {2})
      .output("y");
  maker.node("Gemm", {"a", "b", "c"}, {"y"});
  auto graph = maker.import();
  ASSERT_TRUE(graph.ok());
  ASSERT_EQ(graph->primitives.size(), 2u);
  EXPECT_EQ(graph->primitives[0].kind, Primitive::Kind::Library);
  EXPECT_EQ(graph->primitives[1].kind, Primitive::Kind::Pull);
}

TEST(Conv, OneToThreeDimensions) {
  EXPECT_THAT(values("Conv", 11, {ramp({1, 1, 4}), f32({1, 1, 2}, {1, 10})}),
              ElementsAre(10, 21, 32));
  EXPECT_THAT(values("Conv", 11,
                     {ramp({1, 1, 3, 3}), f32({1, 1, 2, 2}, {1, 1, 1, 1}),
                      f32({1}, {100})}),
              ElementsAre(108, 112, 120, 124));
  EXPECT_THAT(values("Conv", 11,
                     {ramp({1, 1, 2, 2, 2}),
                      f32({1, 1, 2, 2, 2}, std::vector<double>(8, 1))}),
              ElementsAre(28));
  EXPECT_THAT(values("Conv", 11, {ramp({1, 2, 2}), f32({2, 1, 1}, {1, 10})},
                     {{"group", int64_t(2)}}),
              ElementsAre(0, 1, 20, 30));
  EXPECT_THAT(
      values(
          "Conv", 11, {ramp({1, 1, 5}), f32({1, 1, 2}, {1, 1})},
          {{"strides", Ints{2}}, {"dilations", Ints{2}}, {"pads", Ints{1, 1}}}),
      ElementsAre(1, 4, 3));
  EXPECT_THAT(values("Conv", 11, {ramp({1, 1, 3}), f32({1, 1, 2}, {1, 1})},
                     {{"auto_pad", std::string("SAME_UPPER")}}),
              ElementsAre(1, 3, 2));
  EXPECT_EQ(shape("Conv", 11, {f32({0, 1, 3}, {}), f32({1, 1, 2}, {1, 1})}),
            "f32[0x1x2]");
}

TEST(Conv, Refusals) {
  EXPECT_THAT(
      refusalOf("Conv", 11, {ramp({1, 1}), ramp({1, 1})}),
      HasSubstr("one to three dimensions are supported, not [1,1] with [1,1]"));
  EXPECT_THAT(
      refusalOf("Conv", 11, {ramp({1, 3, 4}), ramp({1, 1, 2})}),
      HasSubstr(
          "a filter of [1,1,2] in 1 groups does not fit an input of [1,3,4]"));
  EXPECT_THAT(refusalOf("Conv", 11, {ramp({1, 1, 4}), ramp({1, 1, 2})},
                        {{"kernel_shape", Ints{3}}}),
              HasSubstr("kernel_shape [3] does not fit"));
  EXPECT_THAT(
      refusalOf("Conv", 11, {ramp({1, 1, 4}), ramp({1, 1, 2}), ramp({2})}),
      HasSubstr("its bias should have the shape [1], not [2]"));
}
