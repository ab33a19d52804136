// ConvTranspose, Col2Im, CenterCropPad and TensorScatter: by hand, and what is refused. Their numbers in all forms are those of
// tests/conformance.
#include "model_maker.h"

#include <gmock/gmock.h>

using namespace lockstitch;
using namespace lockstitch::test;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

using Ints = std::vector<int64_t>;

std::vector<double> values(const std::string &op, int64_t opset,
                           const std::vector<HostTensor> &inputs,
                           Attributes attributes = {},
                           std::vector<size_t> constants = {}) {
  std::vector<HostTensor> outputs =
      runNode(op, opset, inputs, attributes, 1, constants);
  return outputs.empty() ? std::vector<double>() : valuesOf(outputs[0]);
}

const HostTensor kSignal = f32({1, 1, 3}, {1, 2, 3}),
                 kFilter = f32({1, 1, 2}, {10, 1});

} // namespace

TEST(ConvTranspose, SpreadsEachElement) {
  EXPECT_THAT(values("ConvTranspose", 11, {kSignal, kFilter}),
              ElementsAre(10, 21, 32, 3));
  EXPECT_THAT(
      values("ConvTranspose", 11, {kSignal, kFilter}, {{"strides", Ints{2}}}),
      ElementsAre(10, 1, 20, 2, 30, 3));
  EXPECT_THAT(values("ConvTranspose", 11, {kSignal, kFilter, f32({1}, {100})},
                     {{"strides", Ints{3}}, {"pads", Ints{1, 0}}}),
              ElementsAre(101, 100, 120, 102, 100, 130, 103));
  // Between the elements nothing is read: an infinite weight does no harm.
  EXPECT_THAT(values("ConvTranspose", 11, {kSignal, f32({1, 1, 1}, {HUGE_VAL})},
                     {{"strides", Ints{2}}}),
              ElementsAre(HUGE_VAL, 0, HUGE_VAL, 0, HUGE_VAL));
}

TEST(ConvTranspose, Refusals) {
  auto refused = [&](Attributes attributes, HostTensor filter = kFilter,
                     std::vector<HostTensor> more = {}) {
    std::vector<HostTensor> inputs = {kSignal, filter};
    inputs.insert(inputs.end(), more.begin(), more.end());
    return refusalOf("ConvTranspose", 11, inputs, attributes);
  };
  EXPECT_THAT(refused({}, f32({1, 1}, {1})),
              HasSubstr("a filter of [1,1] does not fit an input of [1,1,3]"));
  EXPECT_THAT(refused({}, f32({2, 1, 1}, {1, 2})),
              HasSubstr("in 1 groups does not fit an input of [1,1,3]"));
  EXPECT_THAT(refused({{"kernel_shape", Ints{3}}}),
              HasSubstr("kernel_shape [3] does not fit a filter of [1,1,2]"));
  EXPECT_THAT(refused({{"auto_pad", "BOTH"}}),
              HasSubstr("attribute 'auto_pad' should be NOTSET"));
  EXPECT_THAT(refused({{"output_shape", Ints{3, 3}}}),
              HasSubstr("attribute 'output_shape' should have 1 numbers"));
  EXPECT_THAT(refused({{"pads", Ints{1}}}),
              HasSubstr("attribute 'pads' should have 2 numbers"));
  EXPECT_THAT(refused({{"strides", Ints{0}}}), HasSubstr("should be positive"));
  EXPECT_THAT(refused({{"pads", Ints{3, 3}}}),
              HasSubstr("its pads leave nothing of a dimension of 4"));
  EXPECT_THAT(refused({}, kFilter, {f32({2}, {1, 2})}),
              HasSubstr("its bias should have the shape [1], not [2]"));
}

TEST(Col2Im, AddsUpBlocks) {
  // Two blocks of two, one element further each: the middle one is in both.
  EXPECT_THAT(values("Col2Im", 18,
                     {f32({1, 2, 2}, {1, 2, 10, 20}), ints({3}), ints({2})}, {},
                     {1, 2}),
              ElementsAre(1, 12, 20));
}

TEST(Col2Im, Refusals) {
  auto refused = [&](std::vector<HostTensor> inputs,
                     Attributes attributes = {}) {
    return refusalOf("Col2Im", 18, inputs, attributes, 1, {1, 2});
  };
  EXPECT_THAT(
      refused({f32({1, 2, 3}, {1, 2, 3, 4, 5, 6}), ints({3}), ints({2})}),
      HasSubstr("there are 2 of 2 elements for each channel"));
  EXPECT_THAT(refused({f32({1, 2, 2}, {1, 2, 3, 4}), ints({3}), ints({2, 1})}),
              HasSubstr("its block [2,1] does not fit an image of [3]"));
  EXPECT_THAT(refused({f32({1, 2, 2}, {1, 2, 3, 4}), ints({3}), ints({2})},
                      {{"strides", Ints{0}}}),
              HasSubstr("should be positive"));
}

TEST(CenterCropPad, KeepsTheMiddle) {
  HostTensor x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(values("CenterCropPad", 18, {x, ints({1, 5})}, {}, {1}),
              ElementsAre(0, 1, 2, 3, 0));
  EXPECT_THAT(
      values("CenterCropPad", 18, {x, ints({2})}, {{"axes", Ints{-1}}}, {1}),
      ElementsAre(1, 2, 4, 5));
}

TEST(CenterCropPad, Refusals) {
  HostTensor x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(refusalOf("CenterCropPad", 18, {x, ints({1})}, {}, 1, {1}),
              HasSubstr("its shape [1] is not for 2 axes"));
  EXPECT_THAT(refusalOf("CenterCropPad", 18, {x, ints({1, -1})}, {}, 1, {1}),
              HasSubstr("the shape [1,-1] is not possible"));
}

TEST(TensorScatter, WritesFromAnIndexOn) {
  HostTensor cache = f32({2, 4, 1}, {1, 2, 3, 4, 5, 6, 7, 8}),
             update = f32({2, 2, 1}, {10, 20, 30, 40}), at = i64({2}, {3, 0});
  EXPECT_THAT(
      values("TensorScatter", 24, {cache, update, at}, {{"mode", "circular"}}),
      ElementsAre(20, 2, 3, 10, 30, 40, 7, 8));
  EXPECT_THAT(values("TensorScatter", 24, {cache, update, i64({2}, {2, 1})}),
              ElementsAre(1, 2, 10, 20, 5, 30, 40, 8));
  EXPECT_THAT(values("TensorScatter", 24, {cache, update}),
              ElementsAre(10, 20, 3, 4, 30, 40, 7, 8));
}

TEST(TensorScatter, Refusals) {
  HostTensor cache = f32({1, 2, 1}, {1, 2}), update = f32({1, 1, 1}, {3});
  EXPECT_THAT(
      refusalOf("TensorScatter", 24, {cache, update}, {{"mode", "spiral"}}),
      HasSubstr("attribute 'mode' should be linear or circular"));
  EXPECT_THAT(refusalOf("TensorScatter", 24, {cache, f32({1, 1, 2}, {3, 4})}),
              HasSubstr("does not fit a cache of [1,2,1] along axis 1"));
  EXPECT_THAT(refusalOf("TensorScatter", 24, {cache, update, i64({2}, {0, 0})}),
              HasSubstr("should be one i64 for each of the 1 sequences"));
}
