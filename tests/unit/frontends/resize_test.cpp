// Resize, Upsample, Einsum and ReverseSequence: by hand, and what is refused. Their numbers in all forms are those of
// tests/conformance.
#include "model_maker.h"

#include <cmath>
#include <gmock/gmock.h>

using namespace lockstitch;
using namespace lockstitch::test;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

HostTensor reals(std::vector<double> values) {
  return f32({static_cast<int64_t>(values.size())}, values);
}

/// Resizes with constant scales.
std::vector<double> scaled(const HostTensor &x, std::vector<double> scales,
                           Attributes attributes, int64_t opset = 13) {
  std::vector<HostTensor> outputs = runNode(
      "Resize", opset, {x, absent(), reals(scales)}, attributes, 1, {2});
  return outputs.empty() ? std::vector<double>() : valuesOf(outputs[0]);
}

std::string refusedResize(std::vector<HostTensor> inputs,
                          Attributes attributes = {}, int64_t opset = 18) {
  std::vector<size_t> constants;
  for (size_t i = 1; i < inputs.size(); ++i)
    constants.push_back(i);
  return refusalOf("Resize", opset, inputs, attributes, 1, constants);
}

const HostTensor kRow = f32({1, 1, 4}, {1, 2, 3, 4});

} // namespace

TEST(Resize, NearestLinearAndCubic) {
  EXPECT_THAT(scaled(kRow, {1, 1, 2},
                     {{"coordinate_transformation_mode", "asymmetric"},
                      {"nearest_mode", "floor"}}),
              ElementsAre(1, 1, 2, 2, 3, 3, 4, 4));
  EXPECT_THAT(scaled(kRow, {1, 1, 2}, {{"mode", "linear"}}),
              ElementsAre(1, 1.25, 1.75, 2.25, 2.75, 3.25, 3.75, 4));
  EXPECT_THAT(scaled(kRow, {1, 1, 0.5}, {{"mode", "linear"}}),
              ElementsAre(1.5, 3.5));
  EXPECT_THAT(scaled(kRow, {1, 1, 1}, {{"mode", "cubic"}}),
              ElementsAre(1, 2, 3, 4));
}

TEST(Resize, AWholeFactorIsAnIndexExpression) {
  ModelMaker maker(13);
  maker.input("x", ElementType::F32, {1, 3, 5, 7});
  maker.initializer("scales", reals({1, 1, 2, 3}));
  maker.node("Resize", {"x", "", "scales"}, {"y"},
             {{"coordinate_transformation_mode", "asymmetric"},
              {"nearest_mode", "floor"}});
  maker.output("y");
  auto graph = maker.import();
  ASSERT_TRUE(graph.ok());
  ASSERT_EQ(graph->primitives.size(), 1u);
  EXPECT_EQ(graph->primitives[0].operands.size(), 1u);
  EXPECT_EQ(toString(graph->primitives[0].body.ops[0].map),
            "(d0, d1, d2, d3) -> (0, d1, d2 floordiv 2, d3 floordiv 3)");
}

TEST(Resize, CubicOverThreeAxesIsDoneAxisByAxis) {
  ModelMaker maker(13);
  maker.input("x", ElementType::F32, {1, 2, 3, 4, 5});
  maker.initializer("scales", reals({1, 1, 2, 2, 2}));
  maker.node("Resize", {"x", "", "scales"}, {"y"}, {{"mode", "cubic"}});
  maker.output("y");
  auto graph = maker.import();
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph->primitives.size(), 3u);
}

TEST(Resize, Refusals) {
  HostTensor none = absent();
  EXPECT_THAT(refusedResize({kRow, none, none, none}),
              HasSubstr("it should have either scales or sizes"));
  EXPECT_THAT(refusedResize({kRow, none, reals({1, 2})}),
              HasSubstr("it should have 3 scales, not 2"));
  EXPECT_THAT(refusedResize({kRow, none, none, ints({1, 2})}),
              HasSubstr("it should have 3 sizes, not 2"));
  EXPECT_THAT(refusedResize({kRow, none, none, ints({1, 1, -2})}),
              HasSubstr("a dimension of 4 cannot be resized to -2"));
  EXPECT_THAT(
      refusedResize({kRow, none, reals({1, 1, 2})}, {{"mode", "lanczos"}}),
      HasSubstr("attribute 'mode' should be nearest, linear or cubic, "
                "not 'lanczos'"));
  EXPECT_THAT(
      refusedResize({kRow, none, reals({1, 1, 2})},
                    {{"coordinate_transformation_mode", "centre"}}),
      HasSubstr("attribute 'coordinate_transformation_mode' should be"));
  EXPECT_THAT(
      refusedResize({kRow, none, reals({1, 1, 2})}, {{"nearest_mode", "odd"}}),
      HasSubstr("attribute 'nearest_mode' should be"));
  EXPECT_THAT(refusedResize({kRow, none, none, ints({1, 1, 2})},
                            {{"keep_aspect_ratio_policy", "crop"}}),
              HasSubstr("attribute 'keep_aspect_ratio_policy' should be"));
  EXPECT_THAT(refusedResize({kRow, none, reals({1, 1, 0.5})},
                            {{"mode", "linear"}, {"antialias", int64_t(1)}}),
              HasSubstr("shrinking with antialias is not supported"));
  EXPECT_THAT(refusedResize({i64({1, 1, 2}, {1, 2}), none, reals({1, 1, 2})},
                            {{"mode", "linear"}}),
              HasSubstr("i64 can only be resized to the nearest"));
  EXPECT_THAT(
      refusedResize({kRow, none, reals({1, 1, 2})},
                    {{"coordinate_transformation_mode", "tf_crop_and_resize"}}),
      HasSubstr("its region of interest should have 6 numbers"));
  EXPECT_THAT(refusalOf("Resize", 13, {kRow, none, reals({1, 1, 2})}, {}, 1),
              HasSubstr("must be known while compiling"));
}

TEST(Einsum, SumsOfProducts) {
  HostTensor a = f32({2, 2}, {1, 2, 3, 4}), b = f32({2, 2}, {5, 6, 7, 8});
  auto run = [&](const std::string &equation, std::vector<HostTensor> inputs) {
    std::vector<HostTensor> outputs =
        runNode("Einsum", 12, inputs, {{"equation", equation}});
    return outputs.empty() ? std::vector<double>() : valuesOf(outputs[0]);
  };
  EXPECT_THAT(run("ij,jk->ik", {a, b}), ElementsAre(19, 22, 43, 50));
  EXPECT_THAT(run("ij,jk", {a, b}), ElementsAre(19, 22, 43, 50));
  EXPECT_THAT(run("ij,ij->", {a, b}), ElementsAre(70));
  EXPECT_THAT(run("ii->i", {a}), ElementsAre(1, 4));
  EXPECT_THAT(run("ij->ji", {a}), ElementsAre(1, 3, 2, 4));
  EXPECT_THAT(run("...j->...", {a}), ElementsAre(3, 7));
  EXPECT_THAT(run("i,j->ji", {reals({1, 2}), reals({3, 4})}),
              ElementsAre(3, 6, 4, 8));
  EXPECT_THAT(run("bij,bjk->bik",
                  {f32({1, 1, 2}, {1, 2}), f32({2, 2, 1}, {1, 2, 3, 4})}),
              ElementsAre(5, 11)); // an extent of 1 broadcasts
  EXPECT_THAT(run("ij,jk->ik", {f32({2, 0}, {}), f32({0, 2}, {})}),
              ElementsAre(0, 0, 0, 0));
}

TEST(Einsum, Refusals) {
  HostTensor a = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  auto refused = [&](const std::string &equation,
                     std::vector<HostTensor> inputs) {
    return refusalOf("Einsum", 12, inputs, {{"equation", equation}});
  };
  EXPECT_THAT(refused("ij,jk->ik", {a}),
              HasSubstr("its equation 'ij,jk->ik' is for 2 operands, not 1"));
  EXPECT_THAT(refused("ijk->i", {a}),
              HasSubstr("'ijk' of its equation does not fit [2,3]"));
  EXPECT_THAT(refused("i1->i", {a}),
              HasSubstr("has '1' where a letter or an ellipsis should be"));
  EXPECT_THAT(refused("ii->i", {a}), HasSubstr("is both 2 and 3"));
  EXPECT_THAT(refused("ij->ii", {a}), HasSubstr("has a label twice"));
  EXPECT_THAT(refused("ij->ik", {a}), HasSubstr("or one that no operand has"));
  HostTensor flags = tensor(ElementType::Bool, {1}, {1});
  EXPECT_THAT(refused("i,i->i", {flags, flags}),
              HasSubstr("a product of bools is not defined"));
}

TEST(ReverseSequence, TurnsTheFirstOfEach) {
  std::vector<HostTensor> outputs =
      runNode("ReverseSequence", 10,
              {f32({2, 3}, {1, 2, 3, 4, 5, 6}), i64({2}, {2, 3})},
              {{"time_axis", int64_t(1)}, {"batch_axis", int64_t(0)}});
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_THAT(valuesOf(outputs[0]), ElementsAre(2, 1, 3, 6, 5, 4));
  EXPECT_THAT(refusalOf("ReverseSequence", 10,
                        {f32({2, 3}, {1, 2, 3, 4, 5, 6}), i64({2}, {2, 3})}),
              HasSubstr("should be one for each of the 3 sequences"));
}
