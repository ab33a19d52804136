// Views, slices, concatenation, padding, gathers, constants: where an element
// comes from.
#include "model_maker.h"

#include <gmock/gmock.h>

using namespace lockstitch;
using namespace lockstitch::test;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

using Ints = std::vector<int64_t>;

HostTensor ramp(std::vector<int64_t> shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<double>(i));
  return f32(shape, values);
}

/// "f32[2x3]: 0 1 2 3 4 5"
std::string text(const std::vector<HostTensor> &outputs) {
  std::string all;
  for (const HostTensor &tensor : outputs) {
    all += (all.empty() ? "" : "; ") + toString(tensor.type) + ":";
    for (double value : valuesOf(tensor)) {
      std::string number = std::to_string(value);
      number.erase(number.find_last_not_of('0') + 1);
      if (number.back() == '.')
        number.pop_back();
      all += " " + number;
    }
  }
  return all;
}

/// Runs with all inputs but the first as initialisers.
std::string run(const std::string &op, int64_t opset,
                const std::vector<HostTensor> &inputs,
                Attributes attributes = {}, size_t numOutputs = 1) {
  std::vector<size_t> constants;
  for (size_t i = 1; i < inputs.size(); ++i)
    constants.push_back(i);
  return text(runNode(op, opset, inputs, attributes, numOutputs, constants));
}

std::string refused(const std::string &op, int64_t opset,
                    const std::vector<HostTensor> &inputs,
                    Attributes attributes = {}, size_t numOutputs = 1) {
  std::vector<size_t> constants;
  for (size_t i = 1; i < inputs.size(); ++i)
    constants.push_back(i);
  return refusalOf(op, opset, inputs, attributes, numOutputs, constants);
}

} // namespace

TEST(Reshape, CopiesAndInfers) {
  EXPECT_EQ(run("Reshape", 13, {ramp({2, 3}), ints({3, 2})}),
            "f32[3x2]: 0 1 2 3 4 5");
  EXPECT_EQ(run("Reshape", 13, {ramp({2, 3}), ints({0, -1, 1})}),
            "f32[2x3x1]: 0 1 2 3 4 5");
  EXPECT_EQ(run("Reshape", 13, {ramp({1}), ints({})}), "f32[]: 0");
  EXPECT_EQ(run("Reshape", 14, {ramp({0, 3}), ints({3, 0})},
                {{"allowzero", int64_t(1)}}),
            "f32[3x0]:");
  EXPECT_EQ(run("Reshape", 14, {ramp({0, 3}), ints({0, 3})}), "f32[0x3]:");
  EXPECT_EQ(run("Reshape", 4, {ramp({2, 2})}, {{"shape", Ints{4}}}),
            "f32[4]: 0 1 2 3");
}

TEST(Reshape, Refusals) {
  EXPECT_THAT(refused("Reshape", 13, {ramp({2, 3}), ints({4, 2})}),
              HasSubstr("a tensor of [2,3] cannot have the shape [4,2]"));
  EXPECT_THAT(refused("Reshape", 13, {ramp({2, 3}), ints({4, -1})}),
              HasSubstr("a tensor of [2,3] cannot have the shape [4,-1]"));
  EXPECT_THAT(refused("Reshape", 13, {ramp({2, 3}), ints({-1, -1})}),
              HasSubstr("the shape [-1,-1] is not possible"));
  EXPECT_THAT(refused("Reshape", 13, {ramp({6}), ints({6, 0})}),
              HasSubstr("copies dimension 1, which [6] does not have"));
  EXPECT_THAT(refused("Reshape", 4, {ramp({6})}),
              HasSubstr("does not say which shape to give"));
  EXPECT_THAT(refusalOf("Reshape", 13, {ramp({6}), ints({6})}),
              HasSubstr("shape (input 1) is computed from the model's inputs; "
                        "it steers a shape"));
  EXPECT_THAT(refused("Reshape", 13, {ramp({6}), f32({1}, {6})}),
              HasSubstr("shape (input 1) should be integers, not f32[1]"));
}

TEST(Views, SqueezeUnsqueezeFlatten) {
  EXPECT_EQ(run("Squeeze", 11, {ramp({1, 2, 1})}, {{"axes", Ints{0, -1}}}),
            "f32[2]: 0 1");
  EXPECT_EQ(run("Squeeze", 13, {ramp({1, 2, 1}), ints({-1})}), "f32[1x2]: 0 1");
  EXPECT_EQ(run("Squeeze", 13, {ramp({1, 2, 1})}), "f32[2]: 0 1");
  EXPECT_THAT(refused("Squeeze", 13, {ramp({1, 2}), ints({1})}),
              HasSubstr("dimension 1 of [1,2] is not 1"));
  EXPECT_EQ(run("Unsqueeze", 11, {ramp({2})}, {{"axes", Ints{0, 2}}}),
            "f32[1x2x1]: 0 1");
  EXPECT_EQ(run("Unsqueeze", 13, {ramp({2}), ints({-1})}), "f32[2x1]: 0 1");
  EXPECT_THAT(refused("Unsqueeze", 13, {ramp({2}), ints({3})}),
              HasSubstr("axis 3 is not possible for a tensor of rank 2"));
  EXPECT_THAT(refused("Unsqueeze", 13, {ramp({2}), ints({0, 0})}),
              HasSubstr("an axis is named twice"));
  EXPECT_THAT(refused("Unsqueeze", 11, {ramp({2})}),
              HasSubstr("does not say which axes to insert"));
  EXPECT_EQ(run("Flatten", 13, {ramp({2, 1, 3})}), "f32[2x3]: 0 1 2 3 4 5");
  EXPECT_EQ(run("Flatten", 13, {ramp({2, 3})}, {{"axis", int64_t(2)}}),
            "f32[6x1]: 0 1 2 3 4 5");
  EXPECT_EQ(run("Flatten", 13, {ramp({})}, {{"axis", int64_t(0)}}),
            "f32[1x1]: 0");
  EXPECT_THAT(refused("Flatten", 13, {ramp({2})}, {{"axis", int64_t(2)}}),
              HasSubstr("axis 2 is not possible"));
}

TEST(Views, TransposeExpandTile) {
  EXPECT_EQ(run("Transpose", 13, {ramp({2, 3})}), "f32[3x2]: 0 3 1 4 2 5");
  EXPECT_EQ(run("Transpose", 13, {ramp({1, 2, 3})}, {{"perm", Ints{2, 0, 1}}}),
            "f32[3x1x2]: 0 3 1 4 2 5");
  EXPECT_THAT(refused("Transpose", 13, {ramp({2, 3})}, {{"perm", Ints{0, 0}}}),
              HasSubstr("perm [0,0] is no permutation"));
  EXPECT_EQ(run("Expand", 13, {ramp({2, 1}), ints({1, 2, 3})}),
            "f32[1x2x3]: 0 0 0 1 1 1");
  EXPECT_EQ(run("Expand", 13, {ramp({2, 2}), ints({1})}),
            "f32[2x2]: 0 1 2 3"); // both ways
  EXPECT_THAT(refused("Expand", 13, {ramp({2}), ints({3})}),
              HasSubstr("a tensor of [2] does not broadcast to [3]"));
  EXPECT_EQ(run("Tile", 13, {ramp({2}), ints({3})}), "f32[6]: 0 1 0 1 0 1");
  EXPECT_EQ(run("Tile", 13, {ramp({1, 2}), ints({2, 1})}), "f32[2x2]: 0 1 0 1");
  EXPECT_EQ(run("Tile", 13, {ramp({2}), ints({0})}), "f32[0]:");
  EXPECT_THAT(refused("Tile", 13, {ramp({2}), ints({1, 1})}),
              HasSubstr("one number per dimension"));
  EXPECT_THAT(refused("Tile", 13, {ramp({2}), ints({-1})}),
              HasSubstr("cannot be repeated -1 times"));
}

TEST(Views, DepthAndSpace) {
  EXPECT_EQ(run("DepthToSpace", 13, {ramp({1, 4, 1, 2})},
                {{"blocksize", int64_t(2)}}),
            "f32[1x1x2x4]: 0 2 1 3 4 6 5 7");
  EXPECT_EQ(run("SpaceToDepth", 13, {ramp({1, 1, 2, 4})},
                {{"blocksize", int64_t(2)}}),
            "f32[1x4x1x2]: 0 2 1 3 4 6 5 7");
  EXPECT_THAT(refused("DepthToSpace", 13, {ramp({1, 3, 1, 1})},
                      {{"blocksize", int64_t(2)}}),
              HasSubstr("cannot be spread"));
  EXPECT_THAT(refused("SpaceToDepth", 13, {ramp({1, 1, 3, 2})},
                      {{"blocksize", int64_t(2)}}),
              HasSubstr("cannot be gathered"));
}

TEST(Views, IdentityAndDropoutAreTheValueItself) {
  EXPECT_EQ(run("Identity", 13, {ramp({2})}), "f32[2]: 0 1");
  EXPECT_EQ(run("Dropout", 13, {ramp({2}), f32({}, {0.9})}, {}, 2),
            "f32[2]: 0 1; bool[2]: 1 1");
  EXPECT_THAT(
      refused("Dropout", 13,
              {ramp({2}), f32({}, {0.5}), tensor(ElementType::Bool, {}, {1})}),
      HasSubstr("training mode is not supported"));
}

TEST(Slice, StepsAndClamps) {
  HostTensor x = ramp({6});
  EXPECT_EQ(run("Slice", 9, {x}, {{"starts", Ints{1}}, {"ends", Ints{3}}}),
            "f32[2]: 1 2");
  EXPECT_EQ(run("Slice", 13, {x, ints({-2}), ints({1000})}), "f32[2]: 4 5");
  EXPECT_EQ(run("Slice", 13, {x, ints({0}), ints({6}), ints({0}), ints({4})}),
            "f32[2]: 0 4");
  EXPECT_EQ(run("Slice", 13,
                {x, ints({-1}), ints({INT64_MIN}), ints({0}), ints({-2})}),
            "f32[3]: 5 3 1");
  EXPECT_EQ(
      run("Slice", 13, {x, ints({100}), ints({0}), ints({-1}), ints({-1})}),
      "f32[5]: 5 4 3 2 1");
  EXPECT_EQ(run("Slice", 13,
                {x, ints({INT64_MIN}), ints({INT64_MAX}), ints({0}),
                 ints({INT64_MAX})}),
            "f32[1]: 0");
  EXPECT_EQ(run("Slice", 13,
                {x, ints({INT64_MAX}), ints({INT64_MIN}), ints({0}),
                 ints({INT64_MIN})}),
            "f32[1]: 5");
  EXPECT_EQ(run("Slice", 13, {x, ints({4}), ints({2})}), "f32[0]:");
  EXPECT_EQ(run("Slice", 13,
                {ramp({0, 2}), ints({-1}), ints({5}), ints({0}), ints({-1})}),
            "f32[0x2]:");
  EXPECT_EQ(run("Slice", 13, {ramp({2, 3}), ints({1}), ints({3}), ints({-1})}),
            "f32[2x2]: 1 2 4 5");
}

TEST(Slice, Refusals) {
  HostTensor x = ramp({6});
  EXPECT_THAT(
      refused("Slice", 13, {x, ints({0}), ints({6}), ints({0}), ints({0})}),
      HasSubstr("a step is 0"));
  EXPECT_THAT(refused("Slice", 13, {x, ints({0}), ints({6}), ints({2})}),
              HasSubstr("axis 2 is not possible for a tensor of rank 1"));
  EXPECT_THAT(
      refused("Slice", 13, {x, ints({0, 0}), ints({6, 6}), ints({0, 0})}),
      HasSubstr("an axis is named twice"));
  EXPECT_THAT(refused("Slice", 13, {x, ints({0, 0}), ints({6, 6})}),
              HasSubstr("slices more axes than its input has"));
  EXPECT_THAT(refused("Slice", 13, {x, ints({0}), ints({6, 6})}),
              HasSubstr("should have one number per axis"));
}

TEST(Split, EvenUnevenAndGiven) {
  EXPECT_EQ(run("Split", 11, {ramp({4})}, {}, 2), "f32[2]: 0 1; f32[2]: 2 3");
  EXPECT_EQ(run("Split", 11, {ramp({4})}, {{"split", Ints{1, 3}}}, 2),
            "f32[1]: 0; f32[3]: 1 2 3");
  EXPECT_EQ(run("Split", 13, {ramp({4}), ints({3, 1})}, {}, 2),
            "f32[3]: 0 1 2; f32[1]: 3");
  EXPECT_EQ(run("Split", 13, {ramp({2, 2})}, {{"axis", int64_t(-1)}}, 2),
            "f32[2x1]: 0 2; f32[2x1]: 1 3");
  EXPECT_EQ(run("Split", 18, {ramp({5})}, {{"num_outputs", int64_t(2)}}, 2),
            "f32[3]: 0 1 2; f32[2]: 3 4");
  EXPECT_EQ(run("Split", 13, {ramp({2}), ints({0, 2})}, {}, 2),
            "f32[0]:; f32[2]: 0 1");
  EXPECT_THAT(refused("Split", 13, {ramp({5})}, {}, 2),
              HasSubstr("a dimension of 5 cannot be split into 2 equal parts"));
  EXPECT_THAT(refused("Split", 13, {ramp({5}), ints({1, 1})}, {}, 2),
              HasSubstr("the parts [1,1] do not make up a dimension of 5"));
  EXPECT_THAT(refused("Split", 13, {ramp({5}), ints({6, -1})}, {}, 2),
              HasSubstr("a part is negative"));
  EXPECT_THAT(
      refused("Split", 18, {ramp({5})}, {{"num_outputs", int64_t(3)}}, 2),
      HasSubstr("it has 2 outputs, but num_outputs is 3"));
}

TEST(Concat, AlongAnyAxis) {
  auto concat = [](const std::vector<HostTensor> &parts, int64_t axis) {
    return text(runNode("Concat", 13, parts, {{"axis", axis}}));
  };
  EXPECT_EQ(concat({ramp({2}), f32({1}, {9}), ramp({3})}, 0),
            "f32[6]: 0 1 9 0 1 2");
  EXPECT_EQ(concat({ramp({2, 1}), ramp({2, 2})}, -1), "f32[2x3]: 0 0 1 1 2 3");
  EXPECT_EQ(concat({ramp({0, 2}), ramp({1, 2})}, 0), "f32[1x2]: 0 1");
  EXPECT_EQ(concat({ramp({0}), ramp({0})}, 0), "f32[0]:");
  EXPECT_EQ(concat({ramp({2}), ramp({2})}, 0),
            "f32[4]: 0 1 0 1"); // the same constant twice when folded
  EXPECT_THAT(
      refusalOf("Concat", 13, {ramp({2, 1}), ramp({3, 1})},
                {{"axis", int64_t(1)}}),
      HasSubstr(
          "a tensor of [3,1] cannot be joined to one of [2,1] along axis 1"));
  EXPECT_THAT(
      refusalOf("Concat", 13, {ramp({}), ramp({})}, {{"axis", int64_t(0)}}),
      HasSubstr("scalars cannot be concatenated"));
  EXPECT_THAT(refusalOf("Concat", 13, {ramp({1}), ramp({1})}),
              HasSubstr("attribute 'axis' is missing"));
}

TEST(Pad, Modes) {
  HostTensor x = ramp({4});
  auto pad = [&](const std::string &mode, Ints pads) {
    return run("Pad", 19, {x, ints(pads)}, {{"mode", mode}});
  };
  EXPECT_EQ(pad("constant", {1, 2}), "f32[7]: 0 0 1 2 3 0 0");
  EXPECT_EQ(run("Pad", 19, {x, ints({1, 1}), f32({}, {7})}),
            "f32[6]: 7 0 1 2 3 7");
  EXPECT_EQ(run("Pad", 10, {x}, {{"pads", Ints{1, 0}}, {"value", 2.5}}),
            "f32[5]: 2.5 0 1 2 3");
  EXPECT_EQ(pad("edge", {2, 1}), "f32[7]: 0 0 0 1 2 3 3");
  EXPECT_EQ(pad("reflect", {2, 3}), "f32[9]: 2 1 0 1 2 3 2 1 0");
  EXPECT_EQ(pad("wrap", {2, 1}), "f32[7]: 2 3 0 1 2 3 0");
  EXPECT_EQ(pad("constant", {-1, 1}),
            "f32[4]: 1 2 3 0"); // a negative pad crops
  EXPECT_EQ(pad("edge", {-1, 1}), "f32[4]: 1 2 3 3");
  EXPECT_EQ(pad("constant", {0, 0}), "f32[4]: 0 1 2 3");
  EXPECT_EQ(run("Pad", 19, {ramp({2, 2}), ints({1, 0}), absent(), ints({1})}),
            "f32[2x3]: 0 0 1 0 2 3");
  EXPECT_EQ(run("Pad", 19, {ramp({2, 2}), ints({1, 1, 0, 0})},
                {{"mode", std::string("reflect")}}),
            "f32[3x3]: 3 2 3 1 0 1 3 2 3");
  EXPECT_EQ(run("Pad", 19, {ramp({0}), ints({1, 1}), f32({}, {5})}),
            "f32[2]: 5 5");
  EXPECT_EQ(
      text(runNode("Pad", 19, {x, ints({1, 0}), f32({}, {7})}, {}, 1, {1})),
      "f32[5]: 7 0 1 2 3"); // value at run time
}

TEST(Pad, Refusals) {
  HostTensor x = ramp({4});
  EXPECT_THAT(
      refused("Pad", 19, {x, ints({1, 1})}, {{"mode", std::string("odd")}}),
      HasSubstr("mode 'odd' is not supported"));
  EXPECT_THAT(
      refused("Pad", 19, {x, ints({4, 0})}, {{"mode", std::string("reflect")}}),
      HasSubstr("a dimension of 4 cannot be padded by 4 in mode reflect"));
  EXPECT_THAT(refused("Pad", 19, {x, ints({1})}),
              HasSubstr("pads should have two numbers per axis"));
  EXPECT_THAT(refused("Pad", 19, {x, ints({-5, 0})}),
              HasSubstr("take more than there is of [4]"));
  EXPECT_THAT(refused("Pad", 10, {x}),
              HasSubstr("does not say how much to pad"));
  EXPECT_THAT(refused("Pad", 19, {x, ints({1, 1}), ints({1})}),
              HasSubstr("the value to pad with should be one f32"));
}

TEST(Trilu, BothTriangles) {
  EXPECT_EQ(run("Trilu", 14, {ramp({3, 3})}), "f32[3x3]: 0 1 2 0 4 5 0 0 8");
  EXPECT_EQ(run("Trilu", 14, {ramp({3, 3})}, {{"upper", int64_t(0)}}),
            "f32[3x3]: 0 0 0 3 4 0 6 7 8");
  EXPECT_EQ(run("Trilu", 14, {ramp({2, 3}), i64({}, {1})}),
            "f32[2x3]: 0 1 2 0 0 5");
  EXPECT_THAT(refused("Trilu", 14, {ramp({3})}), HasSubstr("rank 2 or more"));
}

TEST(Gather, RunTimeAndConstantIndices) {
  for (std::vector<size_t> constants :
       {std::vector<size_t>{}, std::vector<size_t>{1}}) {
    auto gather = [&](HostTensor data, HostTensor indices, int64_t axis) {
      return text(runNode("Gather", 13, {data, indices}, {{"axis", axis}}, 1,
                          constants));
    };
    EXPECT_EQ(gather(ramp({3, 2}), ints({2, 0, -1, 0}), 0),
              "f32[4x2]: 4 5 0 1 4 5 0 1");
    EXPECT_EQ(gather(ramp({3, 2}), i64({}, {1}), 0), "f32[2]: 2 3");
    EXPECT_EQ(gather(ramp({2, 3}), i64({1, 2}, {0, 2}), -1),
              "f32[2x1x2]: 0 2 3 5");
    EXPECT_EQ(gather(ramp({3}), tensor(ElementType::I32, {2}, {-3, 2}), 0),
              "f32[2]: 0 2");
    EXPECT_EQ(gather(ramp({3}), ints({}), 0), "f32[0]:");
  }
}

TEST(Gather, IndicesOutOfRangeReadNothingWild) {
  EXPECT_EQ(text(runNode("Gather", 13, {ramp({3}), ints({1})})), "f32[1]: 1");
  ModelMaker maker(17);
  maker.input("x", ElementType::F32, {3})
      .input("i", ElementType::I64, {4})
      .output("y");
  maker.node("Gather", {"x", "i"}, {"y"});
  auto graph = maker.import();
  ASSERT_TRUE(graph.ok());
  std::vector<HostTensor> inputs = {ramp({3}),
                                    ints({3, -4, INT64_MAX, INT64_MIN})};
  auto outputs = evaluateGraph(*graph, inputs);
  ASSERT_TRUE(outputs.ok()) << "it read outside of the tensor";
}

TEST(Gather, EvenlySpacedConstantsAreViews) {
  ModelMaker maker(17);
  maker.input("x", ElementType::F32, {8, 2})
      .initializer("i", ints({1, 3, 5}))
      .output("y");
  maker.node("Gather", {"x", "i"}, {"y"});
  auto graph = maker.import();
  ASSERT_TRUE(graph.ok());
  ASSERT_EQ(graph->primitives.size(), 1u);
  auto view = asStridedView(*graph, graph->primitives[0]);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->offset, 2);
  EXPECT_THAT(view->strides, ElementsAre(4, 1));
}

TEST(Gather, Refusals) {
  EXPECT_THAT(refused("Gather", 13, {ramp({5}), ints({5})}),
              HasSubstr("index 5 is outside of [-5, 4]"));
  EXPECT_THAT(refused("Gather", 13, {ramp({5}), ints({-6})}),
              HasSubstr("index -6 is outside of [-5, 4]"));
  EXPECT_THAT(refused("Gather", 13, {ramp({}), ints({0})}),
              HasSubstr("a scalar has nothing to gather from"));
  EXPECT_THAT(refused("Gather", 13, {ramp({5}), f32({1}, {0})}),
              HasSubstr("indices should be i32 or i64, not f32"));
  EXPECT_THAT(refusalOf("Gather", 13, {ramp({0}), ints({0})}),
              HasSubstr("nothing to gather along a dimension of 0"));
}

TEST(Gather, ElementsNDAndOneHot) {
  EXPECT_EQ(text(runNode("GatherElements", 13,
                         {ramp({2, 3}), i64({2, 2}, {2, 0, -1, 1})},
                         {{"axis", int64_t(1)}})),
            "f32[2x2]: 2 0 5 4");
  EXPECT_THAT(refusalOf("GatherElements", 13,
                        {ramp({2, 3}), i64({3, 1}, {0, 0, 0})},
                        {{"axis", int64_t(1)}}),
              HasSubstr("indices of [3,1] are larger than data of [2,3]"));
  EXPECT_THAT(refusalOf("GatherElements", 13, {ramp({2, 3}), ints({0})}),
              HasSubstr("should have the same rank"));
  EXPECT_EQ(
      text(runNode("GatherND", 13, {ramp({2, 3}), i64({2, 2}, {0, 1, 1, -1})})),
      "f32[2]: 1 5");
  EXPECT_EQ(text(runNode("GatherND", 13, {ramp({2, 3}), i64({1, 1}, {1})})),
            "f32[1x3]: 3 4 5");
  EXPECT_EQ(text(runNode("GatherND", 13, {ramp({2, 2, 2}), i64({2, 1}, {1, 0})},
                         {{"batch_dims", int64_t(1)}})),
            "f32[2x2]: 2 3 4 5");
  EXPECT_THAT(refusalOf("GatherND", 13, {ramp({2}), i64({1, 2}, {0, 0})}),
              HasSubstr("indices of [1,2] do not fit data of [2]"));
  EXPECT_EQ(
      run("OneHot", 11, {ints({1, -1, 7}), i64({}, {3}), f32({2}, {5, 9})}),
      "f32[3x3]: 5 9 5 5 5 9 5 5 5");
  EXPECT_EQ(run("OneHot", 11, {ints({1, 0}), i64({1}, {2}), f32({2}, {0, 1})},
                {{"axis", int64_t(0)}}),
            "f32[2x2]: 0 1 1 0");
  EXPECT_THAT(
      refusalOf("OneHot", 11, {ints({1}), i64({}, {3}), f32({2}, {0, 1})}),
      HasSubstr("its depth steers a shape"));
}

TEST(Constants, OfEveryKind) {
  EXPECT_EQ(text(runNode("Constant", 13, {}, {{"value", ramp({2})}})),
            "f32[2]: 0 1");
  EXPECT_EQ(text(runNode("Constant", 13, {}, {{"value_int", int64_t(7)}})),
            "i64[]: 7");
  EXPECT_EQ(text(runNode("Constant", 13, {}, {{"value_ints", Ints{7, 8}}})),
            "i64[2]: 7 8");
  EXPECT_EQ(text(runNode("Constant", 13, {}, {{"value_float", 0.5}})),
            "f32[]: 0.5");
  EXPECT_THAT(refusalOf("Constant", 13, {}), HasSubstr("it has no value"));
  EXPECT_THAT(
      refusalOf("Constant", 13, {}, {{"value_string", std::string("s")}}),
      HasSubstr("strings are not supported"));
  EXPECT_EQ(text(runNode("ConstantOfShape", 9, {ints({2})},
                         {{"value", i64({1}, {5})}}, 1, {0})),
            "i64[2]: 5 5");
  EXPECT_EQ(text(runNode("ConstantOfShape", 9, {ints({})}, {}, 1, {0})),
            "f32[]: 0");
  EXPECT_THAT(refusalOf("ConstantOfShape", 9, {ints({-1})}, {}, 1, {0}),
              HasSubstr("the shape [-1] is not possible"));
}

TEST(Constants, Range) {
  auto range = [](HostTensor a, HostTensor b, HostTensor c) {
    return text(runNode("Range", 11, {a, b, c}, {}, 1, {0, 1, 2}));
  };
  EXPECT_EQ(range(i64({}, {3}), i64({}, {9}), i64({}, {4})), "i64[2]: 3 7");
  EXPECT_EQ(range(i64({}, {3}), i64({}, {-3}), i64({}, {-3})), "i64[2]: 3 0");
  EXPECT_EQ(range(i64({}, {3}), i64({}, {3}), i64({}, {1})), "i64[0]:");
  EXPECT_EQ(range(i64({}, {3}), i64({}, {9}), i64({}, {-1})), "i64[0]:");
  EXPECT_EQ(range(f32({}, {0}), f32({}, {1}), f32({}, {0.25})),
            "f32[4]: 0 0.25 0.5 0.75");
  EXPECT_THAT(refusalOf("Range", 11, {i64({}, {0}), i64({}, {1}), i64({}, {0})},
                        {}, 1, {0, 1, 2}),
              HasSubstr("its delta is 0"));
  EXPECT_THAT(refusalOf("Range", 11, {f32({}, {0}), f32({}, {1}), f32({}, {0})},
                        {}, 1, {0, 1, 2}),
              HasSubstr("no finite number of steps"));
  EXPECT_THAT(
      refusalOf("Range", 11, {f32({}, {0}), f32({}, {1}), f32({}, {1})}),
      HasSubstr("must be known while compiling"));
}

TEST(Constants, ShapeSizeEyeLike) {
  EXPECT_EQ(run("Shape", 13, {ramp({2, 3})}), "i64[2]: 2 3");
  EXPECT_EQ(run("Shape", 15, {ramp({2, 3, 4})},
                {{"start", int64_t(1)}, {"end", int64_t(-1)}}),
            "i64[1]: 3");
  EXPECT_EQ(run("Shape", 15, {ramp({2, 3})}, {{"start", int64_t(5)}}),
            "i64[0]:");
  EXPECT_EQ(run("Size", 13, {ramp({2, 3})}), "i64[]: 6");
  EXPECT_EQ(run("EyeLike", 9, {ramp({2, 3})}, {{"k", int64_t(1)}}),
            "f32[2x3]: 0 1 0 0 0 1");
}
