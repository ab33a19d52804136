#include "tests/unit/runtime/library_reference.h"
#include "tests/unit/runtime/test_programs.h"

#include <gmock/gmock.h>

#include <random>

using namespace lockstitch;
using namespace lockstitch::testing;

namespace {

struct Shape {
  int64_t batch = 1, in = 1, out = 1, group = 1;
  std::vector<int64_t> spatial, kernel;
  std::vector<int64_t> strides = {}, dilations = {}, begin = {}, end = {};
};

LibraryCall conv(ElementType type, Shape shape, bool bias) {
  LibraryCall call;
  call.kind = LibraryCall::Kind::Conv;
  ConvCall &c = call.conv;
  size_t rank = shape.spatial.size();
  auto orAll = [&](const std::vector<int64_t> &list, int64_t value) {
    return list.empty() ? std::vector<int64_t>(rank, value) : list;
  };
  c.type = type;
  c.batch = shape.batch;
  c.inputChannels = shape.in;
  c.outputChannels = shape.out;
  c.group = shape.group;
  c.inputSpatial = shape.spatial;
  c.kernel = shape.kernel;
  c.strides = orAll(shape.strides, 1);
  c.dilations = orAll(shape.dilations, 1);
  c.padsBegin = orAll(shape.begin, 0);
  c.padsEnd = orAll(shape.end, 0);
  for (size_t i = 0; i < rank; ++i)
    c.outputSpatial.push_back((c.inputSpatial[i] + c.padsBegin[i] +
                               c.padsEnd[i] -
                               (c.kernel[i] - 1) * c.dilations[i] - 1) /
                                  c.strides[i] +
                              1);
  c.hasBias = bias;
  return call;
}

TEST(LibraryConv, OneToThreeDimensions) {
  for (ElementType type :
       {ElementType::F32, ElementType::F64, ElementType::F16, ElementType::BF16,
        ElementType::I8, ElementType::U8, ElementType::I32, ElementType::I64})
    for (bool bias : {false, true}) {
      checkEverywhere(conv(type, {2, 3, 4, 1, {11}, {3}}, bias), 1);
      checkEverywhere(conv(type, {2, 3, 4, 1, {7, 9}, {3, 2}}, bias), 2);
      checkEverywhere(conv(type, {1, 2, 3, 1, {5, 4, 6}, {2, 3, 2}}, bias), 3);
    }
}

TEST(LibraryConv, StridesDilationsAndPads) {
  for (int64_t stride : {1, 2, 3})
    for (int64_t dilation : {1, 2})
      for (auto [begin, end] : {std::pair<int64_t, int64_t>{0, 0},
                                {1, 1},
                                {2, 0},
                                {0, 3},
                                {4, 4}}) {
        checkEverywhere(conv(ElementType::F32,
                             {2,
                              3,
                              5,
                              1,
                              {9, 13},
                              {3, 3},
                              {stride, 1},
                              {1, dilation},
                              {begin, end},
                              {end, begin}},
                             true),
                        1);
        checkEverywhere(conv(ElementType::F32,
                             {1,
                              4,
                              4,
                              4,
                              {9, 13},
                              {3, 3},
                              {stride, stride},
                              {dilation, dilation},
                              {begin, begin},
                              {end, end}},
                             true),
                        2);
      }
}

TEST(LibraryConv, GroupsAndDepthwise) {
  checkEverywhere(conv(ElementType::F32, {2, 6, 4, 2, {8, 8}, {3, 3}}, true),
                  1);
  checkEverywhere(conv(ElementType::F32,
                       {2, 6, 6, 6, {8, 8}, {3, 3}, {}, {}, {1, 1}, {1, 1}},
                       true),
                  2);
  checkEverywhere(conv(ElementType::F32, {2, 3, 6, 3, {8, 8}, {3, 3}}, false),
                  3); // two filters per channel
  checkEverywhere(
      conv(ElementType::F16, {2, 5, 5, 5, {17}, {5}, {2}, {}, {2}, {2}}, true),
      4);
  checkEverywhere(conv(ElementType::F32, {1, 4, 4, 4, {6, 6}, {1, 1}}, true),
                  5); // depthwise 1x1
}

TEST(LibraryConv, PointwiseIsAProduct) {
  LibraryCall call = conv(ElementType::F32, {2, 7, 9, 1, {5, 6}, {1, 1}}, true);
  checkEverywhere(call, 1);
  EXPECT_THAT((*prepareLibraryCall(call, "test"))->implementation(),
              ::testing::HasSubstr("product"));
  checkEverywhere(
      conv(ElementType::F32, {2, 7, 9, 1, {5, 6}, {1, 1}, {2, 2}}, true),
      2); // strided: not
  checkEverywhere(conv(ElementType::F32,
                       {2, 7, 9, 1, {5, 6}, {1, 1}, {}, {}, {1, 1}, {1, 1}},
                       true),
                  3); // padded: not
}

TEST(LibraryConv, LargerThanOneTile) {
  checkEverywhere(conv(ElementType::F32,
                       {1, 32, 56, 1, {26, 27}, {3, 3}, {}, {}, {1, 1}, {1, 1}},
                       true),
                  1);
  checkEverywhere(
      conv(ElementType::F32, {1, 200, 300, 1, {5, 7}, {3, 3}}, true), 2);
  checkEverywhere(
      conv(ElementType::F32, {2, 64, 80, 1, {30, 50}, {1, 1}}, false), 3);
}

TEST(LibraryConv, KernelLargerThanTheInput) {
  checkEverywhere(
      conv(ElementType::F32, {1, 2, 2, 1, {3}, {7}, {}, {}, {2}, {2}}, false),
      1);
  checkEverywhere(
      conv(ElementType::F32, {1, 2, 2, 2, {3}, {7}, {}, {}, {6}, {6}}, false),
      2);
}

TEST(LibraryConv, EmptySizes) {
  checkEverywhere(conv(ElementType::F32, {0, 2, 2, 1, {3}, {2}}, true), 1);
  LibraryCall call = conv(ElementType::F32, {1, 2, 2, 1, {3}, {2}}, true);
  call.conv.inputChannels = 0; // the bias alone
  checkEverywhere(call, 2);
  call = conv(ElementType::F32, {1, 2, 2, 1, {3}, {2}}, true);
  call.conv.outputSpatial = {0};
  checkEverywhere(call, 3);
}

TEST(LibraryConv, RandomShapes) {
  std::mt19937 random(7);
  auto upTo = [&](int most) {
    return 1 + static_cast<int64_t>(random() % most);
  };
  constexpr ElementType types[] = {ElementType::F32, ElementType::F16,
                                   ElementType::BF16, ElementType::I16,
                                   ElementType::F64};
  for (int i = 0; i < 150; ++i) {
    Shape shape;
    size_t rank = upTo(3);
    shape.group = upTo(3);
    shape.batch = upTo(2);
    shape.in = shape.group * upTo(4);
    shape.out = shape.group * upTo(4);
    for (size_t d = 0; d < rank; ++d) {
      shape.kernel.push_back(upTo(3));
      shape.dilations.push_back(upTo(2));
      shape.strides.push_back(upTo(3));
      shape.begin.push_back(static_cast<int64_t>(random() % 3));
      shape.end.push_back(static_cast<int64_t>(random() % 3));
      shape.spatial.push_back(5 + static_cast<int64_t>(random() % 7));
    }
    LibraryCall call = conv(types[random() % 5], shape, random() % 2);
    EXPECT_EQ(checkCall(call, {LibraryOptions::Backend::Best, 4}, 2, i, false),
              "")
        << i;
    EXPECT_EQ(checkCall(call,
                        {LibraryOptions::Backend::Eigen,
                         1 + static_cast<int>(random() % 4)},
                        1, i, false),
              "")
        << i;
  }
}

// --- One test per message ---

std::string refusal(const LibraryCall &call) {
  return text(prepareLibraryCall(call, "step"));
}
LibraryCall good() {
  return conv(ElementType::F32, {1, 2, 2, 1, {5, 5}, {3, 3}}, false);
}

TEST(LibraryConv, RefusesBool) {
  LibraryCall call = good();
  call.conv.type = ElementType::Bool;
  EXPECT_EQ(
      refusal(call),
      "library call step: a convolution of bool tensors is not a library call");
}

TEST(LibraryConv, RefusesFourDimensions) {
  EXPECT_EQ(refusal(conv(ElementType::F32,
                         {1, 1, 1, 1, {2, 2, 2, 2}, {1, 1, 1, 1}}, false)),
            "library call step: a convolution of 4 spatial dimensions (1 to 3 "
            "are possible)");
}

TEST(LibraryConv, RefusesAttributesOfDifferentLengths) {
  LibraryCall call = good();
  call.conv.padsEnd.pop_back();
  EXPECT_EQ(
      refusal(call),
      "library call step: the convolution's attributes have different lengths");
}

TEST(LibraryConv, RefusesContradictions) {
  LibraryCall call = good();
  call.conv.group = 3;
  EXPECT_EQ(refusal(call), "library call step: the convolution's sizes "
                           "contradict each other or overflow (operand 0)");
}

TEST(LibraryConv, RefusesStridesOfZero) {
  LibraryCall call = good();
  call.conv.strides[1] = 0;
  EXPECT_EQ(refusal(call),
            "library call step: a convolution's strides, dilations and kernel "
            "extents must be positive, its pads "
            "not negative");
}

TEST(LibraryConv, RefusesAnOutputTooLarge) {
  LibraryCall call = good();
  call.conv.outputSpatial[0] = 4;
  EXPECT_EQ(refusal(call), "library call step: the convolution's output is "
                           "larger than its input allows (dimension 0)");
}

TEST(LibraryConv, RefusesWhatNoMemoryHolds) {
  LibraryCall call = good();
  call.conv.padsBegin =
      call.conv.padsEnd = {int64_t{1} << 39, int64_t{1} << 39};
  call.conv.outputSpatial = {1, 1};
  call.conv.dilations = {int64_t{1} << 38, int64_t{1} << 38};
  EXPECT_EQ(refusal(call), "library call step: the convolution is too large");
}

TEST(LibraryConv, ReluAfterTheBias) {
  uint32_t seed = 50;
  for (ElementType type :
       {ElementType::F32, ElementType::F64, ElementType::F16})
    for (bool bias : {false, true})
      for (Shape shape : {Shape{2, 3, 4, 1, {7, 9}, {3, 2}},
                          Shape{1, 8, 40, 1, {9, 9}, {1, 1}},
                          Shape{2, 6, 6, 6, {8, 7}, {3, 3}}}) {
        LibraryCall call = conv(type, shape, bias);
        call.activation = Activation::Relu;
        checkEverywhere(call, ++seed);
      }
}

} // namespace
