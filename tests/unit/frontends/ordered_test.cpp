// Operators in which order counts: scans, sorts and scatters, by values worked out by hand or with NumPy.
#include "model_maker.h"

#include <cmath>
#include <gmock/gmock.h>

using namespace lockstitch;
using namespace lockstitch::test;
using testing::DoubleEq;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::NanSensitiveDoubleEq;

namespace {

std::vector<double> values(const std::string &op, int64_t opset,
                           const std::vector<HostTensor> &inputs,
                           Attributes attributes = {},
                           std::vector<size_t> constants = {1}) {
  std::vector<HostTensor> outputs =
      runNode(op, opset, inputs, attributes, 1, constants);
  return outputs.empty() ? std::vector<double>() : valuesOf(outputs[0]);
}

/// Values and indices of a TopK.
std::pair<std::vector<double>, std::vector<double>>
topK(const HostTensor &x, int64_t k, Attributes attributes = {},
     int64_t opset = 11) {
  std::vector<HostTensor> outputs =
      runNode("TopK", opset, {x, ints({k})}, attributes, 2, {1});
  if (outputs.size() != 2)
    return {};
  return {valuesOf(outputs[0]), valuesOf(outputs[1])};
}

const HostTensor kMatrix = f32({2, 3}, {1, 2, 3, 4, 5, 6});

HostTensor axis(int64_t value) { return i64({}, {double(value)}); }

} // namespace

TEST(CumSum, AlongEachAxis) {
  EXPECT_THAT(values("CumSum", 11, {kMatrix, axis(0)}),
              ElementsAre(1, 2, 3, 5, 7, 9));
  EXPECT_THAT(values("CumSum", 14, {kMatrix, axis(-1)}),
              ElementsAre(1, 3, 6, 4, 9, 15));
}

TEST(CumSum, ExclusiveAndReverse) {
  HostTensor x = f32({4}, {1, 2, 3, 4});
  auto run = [&](int64_t exclusive, int64_t reverse) {
    return values("CumSum", 14, {x, axis(0)},
                  {{"exclusive", exclusive}, {"reverse", reverse}});
  };
  EXPECT_THAT(run(1, 0), ElementsAre(0, 1, 3, 6));
  EXPECT_THAT(run(0, 1), ElementsAre(10, 9, 7, 4));
  EXPECT_THAT(run(1, 1), ElementsAre(9, 7, 4, 0));
  // What is shifted out is not read: its NaN is nowhere.
  EXPECT_THAT(values("CumSum", 14, {f32({2}, {1, NAN}), axis(0)},
                     {{"exclusive", int64_t(1)}}),
              ElementsAre(0, 1));
}

TEST(CumSum, SmallExtents) {
  EXPECT_THAT(values("CumSum", 14, {f32({1}, {5}), axis(0)},
                     {{"exclusive", int64_t(1)}, {"reverse", int64_t(1)}}),
              ElementsAre(0));
  EXPECT_THAT(values("CumSum", 14, {f32({0, 2}, {}), axis(0)}), ElementsAre());
}

TEST(CumSum, IntegersWrapAround) {
  EXPECT_THAT(values("CumSum", 14,
                     {tensor(ElementType::I32, {2}, {2147483647, 1}), axis(0)}),
              ElementsAre(2147483647, -2147483648.0));
}

TEST(CumProd, IsAProduct) {
  EXPECT_THAT(values("CumProd", 26, {f32({4}, {2, 3, -1, 4}), axis(0)}),
              ElementsAre(2, 6, -6, -24));
  EXPECT_THAT(values("CumProd", 26, {f32({3}, {2, 3, 4}), axis(0)},
                     {{"exclusive", int64_t(1)}, {"reverse", int64_t(1)}}),
              ElementsAre(12, 4, 1));
}

TEST(CumSum, Refusals) {
  EXPECT_THAT(refusalOf("CumSum", 14, {kMatrix, ints({0, 1})}, {}, 1, {1}),
              HasSubstr("its axis should be one number"));
  EXPECT_THAT(refusalOf("CumSum", 14, {kMatrix, axis(2)}, {}, 1, {1}),
              HasSubstr("axis 2 is not possible"));
  EXPECT_THAT(refusalOf("CumSum", 14, {kMatrix, axis(0)}),
              HasSubstr("known while compiling"));
  EXPECT_THAT(refusalOf("CumSum", 14,
                        {tensor(ElementType::Bool, {2}, {1, 0}), axis(0)}, {},
                        1, {1}),
              HasSubstr("bools have no sum"));
  EXPECT_THAT(refusalOf("CumProd", 26,
                        {tensor(ElementType::Bool, {2}, {1, 0}), axis(0)}, {},
                        1, {1}),
              HasSubstr("bools have no product"));
}

TEST(TopK, LargestAndSmallest) {
  HostTensor x = f32({2, 4}, {3, 1, 2, 3, -1, 5, 0, 5});
  auto [largest, at] = topK(x, 2);
  EXPECT_THAT(largest, ElementsAre(3, 3, 5, 5));
  EXPECT_THAT(at, ElementsAre(0, 3, 1, 3)); // of equals the first comes first
  auto [smallest, where] = topK(x, 2, {{"largest", int64_t(0)}});
  EXPECT_THAT(smallest, ElementsAre(1, 2, -1, 0));
  EXPECT_THAT(where, ElementsAre(1, 2, 0, 2));
  auto [rows, rowAt] = topK(x, 1, {{"axis", int64_t(0)}});
  EXPECT_THAT(rows, ElementsAre(3, 5, 2, 5));
  EXPECT_THAT(rowAt, ElementsAre(0, 1, 0, 1));
}

TEST(TopK, NaNIsTheLargest) {
  auto [got, at] = topK(f32({4}, {1, NAN, HUGE_VAL, NAN}), 3);
  EXPECT_THAT(got, ElementsAre(NanSensitiveDoubleEq(NAN),
                               NanSensitiveDoubleEq(NAN), DoubleEq(HUGE_VAL)));
  EXPECT_THAT(at, ElementsAre(1, 3, 2));
}

TEST(TopK, OldOpsetsAndNothing) {
  std::vector<HostTensor> old =
      runNode("TopK", 9, {f32({3}, {1, 3, 2})}, {{"k", int64_t(2)}}, 2);
  ASSERT_EQ(old.size(), 2u);
  EXPECT_THAT(valuesOf(old[0]), ElementsAre(3, 2));
  EXPECT_THAT(topK(f32({2, 3}, {1, 2, 3, 4, 5, 6}), 0).second, ElementsAre());
}

TEST(TopK, Refusals) {
  HostTensor x = f32({3}, {1, 2, 3});
  EXPECT_THAT(refusalOf("TopK", 11, {x, ints({4})}, {}, 2, {1}),
              HasSubstr("a dimension of 3 has no 4 elements to choose"));
  EXPECT_THAT(refusalOf("TopK", 11, {x, ints({1, 2})}, {}, 2, {1}),
              HasSubstr("its k should be one number"));
  EXPECT_THAT(refusalOf("TopK", 11, {x, ints({2})}, {}, 2),
              HasSubstr("known while compiling"));
}

TEST(ScatterElements, AlongAnAxis) {
  // The example of ONNX's documentation.
  HostTensor data = f32({3, 3}, {0, 0, 0, 0, 0, 0, 0, 0, 0});
  EXPECT_THAT(values("ScatterElements", 11,
                     {data, i64({2, 3}, {1, 0, 2, 0, 2, 1}),
                      f32({2, 3}, {1.0, 1.1, 1.2, 2.0, 2.1, 2.2})},
                     {}, {}),
              ElementsAre(2, float(1.1), 0, 1, 0, float(2.2), 0, float(2.1),
                          float(1.2)));
  for (std::vector<size_t> constants : {std::vector<size_t>{}, {1}})
    EXPECT_THAT(values("ScatterElements", 13,
                       {f32({1, 5}, {1, 2, 3, 4, 5}), i64({1, 2}, {1, -3}),
                        f32({1, 2}, {1.5, 2.5})},
                       {{"axis", int64_t(1)}}, constants),
                ElementsAre(1, 1.5, 2.5, 4, 5));
  EXPECT_THAT(
      values("Scatter", 9, {f32({3}, {1, 2, 3}), i64({1}, {2}), f32({1}, {7})}),
      ElementsAre(1, 2, 7));
}

TEST(ScatterElements, Reductions) {
  HostTensor data = f32({3}, {1, 2, 3}), at = i64({3}, {1, 1, -1}),
             updates = f32({3}, {5, 7, -4});
  auto run = [&](const std::string &reduction) {
    return values("ScatterElements", 18, {data, at, updates},
                  {{"reduction", reduction}}, {});
  };
  EXPECT_THAT(run("none"), ElementsAre(1, 7, -4));
  EXPECT_THAT(run("add"), ElementsAre(1, 14, -1));
  EXPECT_THAT(run("mul"), ElementsAre(1, 70, -12));
  EXPECT_THAT(run("min"), ElementsAre(1, 2, -4));
  EXPECT_THAT(run("max"), ElementsAre(1, 7, 3));
}

TEST(ScatterElements, Refusals) {
  HostTensor data = f32({3}, {1, 2, 3}), one = f32({1}, {1});
  auto refused = [&](int64_t opset, std::vector<HostTensor> inputs,
                     Attributes attributes = {}) {
    return refusalOf("ScatterElements", opset, inputs, attributes, 1, {1});
  };
  EXPECT_THAT(refused(13, {data, i64({1}, {3}), one}),
              HasSubstr("index 3 is outside of [-3, 2]"));
  EXPECT_THAT(refused(13, {data, i64({1, 1}, {0}), one}),
              HasSubstr("do not fit: they should have the same rank"));
  EXPECT_THAT(
      refused(13,
              {f32({1, 2}, {1, 2}), i64({2, 1}, {0, 0}), f32({2, 1}, {1, 2})},
              {{"axis", int64_t(1)}}),
      HasSubstr("indices of [2,1] are larger than data of [1,2]"));
  EXPECT_THAT(refused(13, {data, f32({1}, {0}), one}),
              HasSubstr("indices should be i32 or i64, not f32"));
  EXPECT_THAT(refused(13, {data, i64({1}, {0}), i64({1}, {0})}),
              HasSubstr("updates of i64 do not fit data of f32"));
  EXPECT_THAT(refused(16, {data, i64({1}, {0}), one}, {{"reduction", "max"}}),
              HasSubstr("opset 16 has no reduction 'max'"));
  HostTensor flags = tensor(ElementType::Bool, {1}, {1});
  EXPECT_THAT(
      refused(16, {flags, i64({1}, {0}), flags}, {{"reduction", "add"}}),
      HasSubstr("bools have no reduction 'add'"));
}

TEST(ScatterND, PointsAndSlices) {
  HostTensor data = f32({2, 2}, {1, 2, 3, 4});
  for (std::vector<size_t> constants : {std::vector<size_t>{}, {1}}) {
    EXPECT_THAT(values("ScatterND", 11,
                       {data, i64({2, 2}, {0, 1, -1, 0}), f32({2}, {8, 9})}, {},
                       constants),
                ElementsAre(1, 8, 9, 4));
    EXPECT_THAT(values("ScatterND", 13,
                       {data, i64({1, 1}, {1}), f32({1, 2}, {8, 9})}, {},
                       constants),
                ElementsAre(1, 2, 8, 9));
    EXPECT_THAT(values("ScatterND", 18,
                       {data, i64({2, 1}, {1, 1}), f32({2, 2}, {8, 9, 1, 0})},
                       {{"reduction", "add"}}, constants),
                ElementsAre(1, 2, 12, 13));
  }
}

TEST(ScatterND, AssigningToASliceNeedsNoReduction) {
  ModelMaker maker(13);
  maker.input("x", ElementType::F32, {4, 3});
  maker.input("u", ElementType::F32, {2, 3});
  maker.initializer("at", i64({2, 3, 2}, {1, 0, 1, 1, 1, 2, 2, 0, 2, 1, 2, 2}));
  maker.node("ScatterND", {"x", "at", "u"}, {"y"});
  maker.output("y");
  auto graph = maker.import();
  ASSERT_TRUE(graph.ok());
  ASSERT_EQ(graph->primitives.size(), 1u);
  EXPECT_EQ(graph->primitives[0].kind, Primitive::Kind::Push);
  EXPECT_EQ(toString(graph->primitives[0].target), "(d0, d1) -> (d0 + 1, d1)");
}

TEST(ScatterND, Refusals) {
  HostTensor data = f32({2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(refusalOf("ScatterND", 13,
                        {data, i64({1, 3}, {0, 0, 0}), f32({1}, {1})}, {}, 1,
                        {1}),
              HasSubstr("indices of [1,3] do not fit data of [2,2]"));
  EXPECT_THAT(refusalOf("ScatterND", 13,
                        {data, i64({1, 1}, {0}), f32({1}, {1})}, {}, 1, {1}),
              HasSubstr("updates should have the shape [1,2], not [1]"));
}
