// A product or convolution as a reduction computes what the call computes: the reference evaluator knows both.
#include "compiler/graph/evaluate.h"
#include "compiler/graph/passes/passes.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

using namespace lockstitch;

namespace {

/// Small whole numbers, so that every sum is exact in whatever order it is made.
HostTensor numbers(const TensorType &type, uint32_t seed) {
  std::mt19937 random(seed);
  HostTensor tensor{type, std::vector<std::byte>(type.bytes())};
  for (int64_t i = 0; i < type.elements(); ++i) {
    int64_t value = static_cast<int64_t>(random() % 9) - 4;
    if (type.element == ElementType::F32) {
      float number = static_cast<float>(value);
      std::memcpy(tensor.bytes.data() + i * 4, &number, 4);
    } else {
      std::memcpy(tensor.bytes.data() + i * 8, &value, 8);
    }
  }
  return tensor;
}

/// y = call(a, b).
PrimitiveGraph graphOf(LibraryCall call, Shape a, Shape b, Shape result) {
  ElementType type = operandType(call);
  PrimitiveGraph graph;
  Primitive primitive;
  primitive.kind = Primitive::Kind::Library;
  primitive.name = "call";
  primitive.origins = {0};
  graph.origins.push_back({"call", "", false, Origin::Fate::Primitive});
  primitive.operands = {graph.addInput("a", {type, a}),
                        graph.addInput("b", {type, b})};
  primitive.call = std::move(call);
  graph.outputs = {graph.add(std::move(primitive), {type, result})};
  graph.outputNames = {"y"};
  return graph;
}

/// Lowered the graph of a call must have no call and the same values.
void check(LibraryCall call, Shape a, Shape b, Shape result) {
  ElementType type = operandType(call);
  PrimitiveGraph graph = graphOf(std::move(call), a, b, std::move(result));
  ASSERT_EQ(graph.verify().value_or(""), "");
  std::vector<HostTensor> inputs = {numbers({type, a}, 1),
                                    numbers({type, b}, 2)};
  auto want = evaluateGraph(graph, inputs);
  ASSERT_TRUE(want.ok());

  lowerLibraryCalls(graph, [](const LibraryCall &) { return false; });
  ASSERT_EQ(graph.verify().value_or(""), "");
  ASSERT_EQ(graph.primitives[0].kind, Primitive::Kind::Reduce);
  auto got = evaluateGraph(graph, inputs);
  ASSERT_TRUE(got.ok());
  EXPECT_EQ((*want)[0].bytes, (*got)[0].bytes);
}

LibraryCall product(ElementType type, std::vector<int64_t> batch, int64_t m,
                    int64_t n, int64_t k, std::vector<int64_t> a,
                    std::vector<int64_t> b, std::vector<int64_t> result) {
  LibraryCall call;
  call.matmul = {.type = type,
                 .batch = std::move(batch),
                 .m = m,
                 .n = n,
                 .k = k,
                 .a = {0, std::move(a)},
                 .b = {0, std::move(b)},
                 .c = {},
                 .result = {0, std::move(result)}};
  return call;
}

TEST(LowerLibraryCalls, Products) {
  for (ElementType type : {ElementType::F32, ElementType::I64}) {
    check(product(type, {}, 5, 7, 3, {3, 1}, {7, 1}, {7, 1}), {5, 3}, {3, 7},
          {5, 7});
    // b is the transpose of what lies in memory.
    check(product(type, {}, 5, 7, 3, {3, 1}, {1, 3}, {7, 1}), {5, 3}, {7, 3},
          {5, 7});
    // Rows of a tensor of rank 3; one row only.
    check(product(type, {}, 6, 4, 3, {3, 1}, {4, 1}, {4, 1}), {2, 3, 3}, {3, 4},
          {2, 3, 4});
    check(product(type, {}, 1, 4, 3, {3, 1}, {4, 1}, {4, 1}), {3}, {3, 4}, {4});
  }
}

TEST(LowerLibraryCalls, HeadsAreReadAndWrittenWhereTheyLie) {
  // q, k [B=2, S=5, H*D=3*4] -> scores [B, H, S, S]; then back into [B, S, H, D].
  check(product(ElementType::F32, {2, 3}, 5, 5, 4, {60, 4, 12, 1},
                {60, 4, 1, 12}, {75, 25, 5, 1}),
        {2, 5, 12}, {2, 5, 12}, {2, 3, 5, 5});
  check(product(ElementType::F32, {2, 3}, 5, 4, 5, {75, 25, 5, 1},
                {60, 4, 12, 1}, {60, 4, 12, 1}),
        {2, 3, 5, 5}, {2, 5, 12}, {2, 5, 3, 4});
  // A batch that b does not have, and alpha.
  LibraryCall call = product(ElementType::F32, {2}, 3, 4, 5, {15, 5, 1},
                             {0, 4, 1}, {12, 4, 1});
  call.matmul.alpha = 2;
  check(call, {2, 3, 5}, {5, 4}, {2, 3, 4});
}

TEST(LowerLibraryCalls, AResultThatIsNoPermutationStaysACall) {
  PrimitiveGraph graph =
      graphOf(product(ElementType::F32, {}, 2, 4, 3, {3, 1}, {4, 1}, {8, 2}),
              {2, 3}, {3, 4}, {4, 4});
  lowerLibraryCalls(graph, [](const LibraryCall &) { return false; });
  EXPECT_EQ(graph.primitives[0].kind, Primitive::Kind::Library);
}

TEST(LowerLibraryCalls, Convolutions) {
  struct Case {
    int64_t group;
    std::vector<int64_t> input, kernel, strides, dilations, begin, end;
  };
  const Case cases[] = {
      {1, {9}, {3}, {1}, {1}, {0}, {0}},
      {1, {7, 8}, {3, 2}, {2, 1}, {1, 2}, {1, 0}, {2, 1}},
      {2, {6, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
      {4, {5, 4}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
      {1, {4, 5, 3}, {2, 2, 2}, {1, 2, 1}, {1, 1, 1}, {0, 1, 0}, {1, 0, 0}},
  };
  for (const Case &test : cases) {
    LibraryCall call;
    call.kind = LibraryCall::Kind::Conv;
    ConvCall &conv = call.conv;
    conv.batch = 2;
    conv.inputChannels = 4;
    conv.outputChannels = 8;
    conv.group = test.group;
    conv.inputSpatial = test.input;
    conv.kernel = test.kernel;
    conv.strides = test.strides;
    conv.dilations = test.dilations;
    conv.padsBegin = test.begin;
    conv.padsEnd = test.end;
    Shape input = {2, 4}, filter = {8, 4 / test.group}, result = {2, 8};
    for (size_t i = 0; i < test.input.size(); ++i) {
      int64_t reach = (test.kernel[i] - 1) * test.dilations[i] + 1;
      conv.outputSpatial.push_back(
          (test.input[i] + test.begin[i] + test.end[i] - reach) /
              test.strides[i] +
          1);
      input.push_back(test.input[i]);
      filter.push_back(test.kernel[i]);
      result.push_back(conv.outputSpatial.back());
    }
    check(call, input, filter, result);
  }
}

} // namespace
