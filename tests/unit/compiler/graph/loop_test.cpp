// Loops in the primitive graph: text, invariants, values, where values lie, and the passes.
#include "compiler/graph/evaluate.h"
#include "compiler/graph/passes/passes.h"
#include "tests/unit/compiler/loop_graphs.h"

#include <gmock/gmock.h>

#include <cstring>

using namespace lockstitch;
using namespace lockstitch::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

HostTensor floats(Shape shape, std::vector<float> values) {
  HostTensor tensor{{ElementType::F32, std::move(shape)}, {}};
  tensor.bytes.resize(values.size() * sizeof(float));
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

std::vector<float> numbersOf(const HostTensor &tensor) {
  std::vector<float> values(tensor.bytes.size() / sizeof(float));
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

std::vector<std::vector<float>>
evaluated(const PrimitiveGraph &graph, const std::vector<HostTensor> &inputs) {
  EXPECT_EQ(graph.verify().value_or(""), "");
  auto outputs = evaluateGraph(graph, inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.error().messages[0].reason;
  std::vector<std::vector<float>> values;
  for (const HostTensor &output : *outputs)
    values.push_back(numbersOf(output));
  return values;
}

const Primitive *findLoop(const PrimitiveGraph &graph) {
  for (const Primitive &primitive : graph.primitives)
    if (primitive.kind == Primitive::Kind::Loop)
      return &primitive;
  return nullptr;
}

TEST(LoopText, RoundTrips) {
  for (const std::string &text :
       {history("-"), fibonacci(), nested(), history("+", "2x3", "7")}) {
    PrimitiveGraph graph = parsed(text);
    EXPECT_EQ(graph.verify().value_or(""), "");
    std::string printed = toString(graph);
    EXPECT_EQ(toString(parsed(printed)), printed);
  }
}

TEST(LoopText, ErrorsNameTheLine) {
  std::string start = "graph \"g\"\n%0 = input \"v\" f32[3]\n";
  struct {
    std::string text, error;
  } cases[] = {
      {start + "%1 = loop \"L\" bool[0] (%0) carried 1",
       "line 3: expected trips N carried N"},
      {start + "%1 = loop \"L\" bool[0] (%0) trips 2 carried 0 slices x",
       "line 3: expected a + or - for each slice"},
      {start + "%1 = loop \"L\" bool[0] (%0) trips 2 carried 1\n  %0 = input "
               "\"v\" f32[3]\n",
       "expected end"},
      {start + "%1 = project \"L/1\" f32[3] (%0)", "line 3: expected result N"},
      {start + "%1 = jump \"L\" f32[3] (%0)",
       "line 3: expected input, constant, pull, reduce, library, scan, push, "
       "sort, loop or project"},
  };
  for (const auto &test : cases) {
    PrimitiveGraph graph;
    std::string error;
    EXPECT_FALSE(parsePrimitiveGraph(test.text, graph, error)) << test.text;
    EXPECT_THAT(error, HasSubstr(test.error));
  }
}

/// `text` with the first `from` replaced.
std::string replaced(std::string text, const std::string &from,
                     const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(LoopVerify, SaysWhatIsWrong) {
  struct {
    std::string text, problem;
  } cases[] = {
      {replaced(history(), "trips 4", "trips 0"), "makes no trips"},
      {replaced(history(), "trips 4", "trips 5"), "operand 1 is f32[4x5], not "
                                                  "f32[5x5]"},
      {replaced(history(), "bool[0]", "bool[1]"), "yields more than a token"},
      {replaced(history(), "carried 1", "carried 2"),
       "its body's inputs and outputs do not fit"},
      {replaced(fibonacci(), "  output \"\" %1\n", ""),
       "its body's inputs and outputs do not fit"},
      {replaced(history(), "f32[5] (%2) result 0", "f32[6] (%2) result 0"),
       "is f32[6], but the loop's result is f32[5]"},
      {replaced(history(), "result 1", "result 7"), "projects result 7 of 2"},
      {replaced(history(), "(%2) result 0", "(%0) result 0"),
       "projects what is no loop"},
      {replaced(history(), "#1 at (d0) -> (d0)", "#1 at (d0) -> (d0 + 1)"),
       "body: L/b/0: body: %1 reads outside"},
  };
  for (const auto &test : cases)
    EXPECT_THAT(parsed(test.text).verify().value_or("nothing"),
                HasSubstr(test.problem));
  PrimitiveGraph graph = parsed(history());
  graph.primitives[0].loop = nullptr;
  EXPECT_THAT(graph.verify().value_or(""), HasSubstr("has no body"));
  graph = parsed(history());
  auto loop = std::make_shared<Loop>(*graph.primitives[0].loop);
  loop->body.values[2].type.shape = {6};
  graph.primitives[0].loop = loop;
  EXPECT_THAT(graph.verify().value_or(""),
              HasSubstr("carried value 0 changes from f32[5] to f32[6]"));
  loop = std::make_shared<Loop>(*loop);
  loop->body.outputs[0] = 99;
  graph.primitives[0].loop = loop;
  EXPECT_THAT(graph.verify().value_or(""),
              HasSubstr("an output of its body is not there"));
}

TEST(LoopEvaluate, SlicesAndResultsFromEitherEnd) {
  std::vector<HostTensor> inputs = {floats({1}, {100}),
                                    floats({3, 1}, {1, 20, 5})};
  EXPECT_THAT(evaluated(parsed(history("+", "1", "3")), {inputs[0], inputs[1]}),
              ElementsAre(ElementsAre(126), ElementsAre(101, 121, 126)));
  EXPECT_THAT(evaluated(parsed(history("-", "1", "3")), inputs),
              ElementsAre(ElementsAre(126), ElementsAre(126, 125, 105)));
}

TEST(LoopEvaluate, CarriedValuesMoveTogether) {
  std::vector<HostTensor> inputs = {floats({3}, {0, 1, 2}),
                                    floats({3}, {1, 1, 1})};
  EXPECT_THAT(evaluated(parsed(fibonacci()), inputs),
              ElementsAre(ElementsAre(5, 8, 11), ElementsAre(8, 13, 18)));
}

TEST(LoopEvaluate, APrimitiveOfALoopHasNoValueAlone) {
  PrimitiveGraph graph = parsed(history());
  auto result = evaluatePrimitive(graph.primitives[0], tokenType(), {});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().messages[0].reason,
            "a loop is evaluated with its graph only");
}

TEST(LoopPlacement, AHistoryWhereTheNextValueIsCollected) {
  PrimitiveGraph graph = parsed(history());
  LoopPlacement placement = placeLoop(*graph.primitives[0].loop);
  EXPECT_THAT(placement.history, ElementsAre(0u));
  EXPECT_THAT(placement.direct, ElementsAre(true, true));
}

TEST(LoopPlacement, WhatNoKernelOfTheBodyMakesIsCopied) {
  PrimitiveGraph graph = parsed(fibonacci());
  LoopPlacement placement = placeLoop(*graph.primitives[0].loop);
  EXPECT_THAT(placement.history, ElementsAre(kNone, kNone));
  EXPECT_THAT(placement.direct, ElementsAre(false, true));
  graph = parsed(nested());
  placement = placeLoop(*graph.primitives[0].loop);
  EXPECT_THAT(placement.direct, ElementsAre(false, false)); // an inner loop's
}

TEST(LoopPlacement, SlicesAreAsAlignedAsTheirSize) {
  for (auto [shape, alignment] : {std::pair{"5", 4}, {"4", 16}, {"2x8", 64}}) {
    PrimitiveGraph graph = parsed(history("+", shape));
    computeStorageRoots(graph);
    const Primitive &loop = *findLoop(graph);
    const PrimitiveGraph &body = loop.loop->body;
    EXPECT_EQ(alignmentOf(body, body.inputs[0]), alignment) << shape;
    EXPECT_EQ(alignmentOf(body, body.inputs[1]), alignment) << shape;
    EXPECT_EQ(alignmentOf(body, body.outputs[0]), alignment) << shape;
    EXPECT_EQ(alignmentOf(graph, graph.outputs[1]), kTensorAlignment);
    EXPECT_EQ(alignmentOf(graph, graph.inputs[1]), kTensorAlignment);
  }
  // In two slots nothing is a slice of anything.
  PrimitiveGraph graph = parsed(fibonacci());
  computeStorageRoots(graph);
  const PrimitiveGraph &body = findLoop(graph)->loop->body;
  EXPECT_EQ(alignmentOf(body, body.outputs[1]), kTensorAlignment);
}

std::vector<std::vector<float>> cleanedUp(PrimitiveGraph &graph,
                                          const std::vector<HostTensor> &in) {
  auto before = evaluated(graph, in);
  cleanUp(graph);
  auto after = evaluated(graph, in);
  EXPECT_EQ(before, after);
  return after;
}

TEST(SimplifyLoops, WhatNothingReadsIsNotCollected) {
  PrimitiveGraph graph = parsed(history());
  graph.outputs.pop_back(); // "all"
  graph.outputNames.pop_back();
  cleanedUp(graph, {floats({5}, {1, 2, 3, 4, 5}),
                    floats({4, 5}, std::vector<float>(20, 2))});
  const Loop &loop = *findLoop(graph)->loop;
  EXPECT_EQ(loop.carried, 1u);
  EXPECT_TRUE(loop.collected.empty());
  EXPECT_THAT(placeLoop(loop).history, ElementsAre(kNone));
}

/// v = v + (a product of captured c and k) + k; k never changes, u feeds only itself.
std::string wasteful() {
  return "graph \"wasteful\"\n%0 = input \"v\" f32[2x2]\n%1 = input \"u\" "
         "f32[2x2]\n%2 = input \"k\" f32[2x2]\n%3 = input \"c\" f32[2x2]\n%4 "
         "= constant \"w\" f32[2x2] {1, 2, 3, 4}\n%5 = loop \"L/0\" bool[0] "
         "(%0, %1, %2, %3, %4) trips 3 carried 3 from \"L\"\n  graph \"body\"\n"
         "  %0 = input \"v\" f32[2x2]\n  %1 = input \"u\" f32[2x2]\n  %2 = "
         "input \"k\" f32[2x2]\n  %3 = input \"c\" f32[2x2]\n  %4 = input "
         "\"w\" f32[2x2]\n  %5 = library \"L/b/0\" f32[2x2] (%3, %2) from "
         "\"product\" : matmul f32 batch  m 2 n 2 k 2 a 0;2,1 b 0;2,1 result "
         "0;2,1 alpha 1 beta 0\n" +
         binary("6", "L/b/1", "add", "0", "5", "2x2", "sum") +
         binary("7", "L/b/2", "mul", "6", "4", "2x2", "sum") +
         binary("8", "L/b/3", "add", "1", "7", "2x2", "lost") +
         "  output \"\" %7\n  output \"\" %8\n  output \"\" %2\n  end\n%6 = "
         "project \"L/1\" f32[2x2] (%5) result 0 from \"L\"\n%7 = project "
         "\"L/2\" f32[2x2] (%5) result 2 from \"L\"\noutput \"v\" %6\noutput "
         "\"k\" %7\n";
}

TEST(SimplifyLoops, CarriesWhatChangesAndComputesOnceWhatDoesNot) {
  PrimitiveGraph graph = parsed(wasteful());
  cleanedUp(graph,
            {floats({2, 2}, {1, 2, 3, 4}), floats({2, 2}, {9, 9, 9, 9}),
             floats({2, 2}, {1, 0, 2, 1}), floats({2, 2}, {0, 1, 1, 0})});
  const Primitive &primitive = *findLoop(graph);
  const Loop &loop = *primitive.loop;
  EXPECT_EQ(loop.carried, 1u);                // neither k, nor u
  EXPECT_EQ(primitive.operands.size(), 2u);   // v, and the product
  ASSERT_EQ(loop.body.primitives.size(), 2u); // sum, product with w
  for (const Primitive &inner : loop.body.primitives)
    EXPECT_EQ(inner.kind, Primitive::Kind::Pull);
  EXPECT_EQ(graph.primitives[0].kind, Primitive::Kind::Library);
  EXPECT_EQ(graph.outputs[1], graph.inputs[2]); // k itself
  // Origins: the loop has the nodes that are still in its body.
  std::vector<std::string> nodes;
  for (OriginId origin : primitive.origins)
    nodes.push_back(graph.origins[origin].node);
  EXPECT_THAT(nodes, ElementsAre("L", "sum"));
  ASSERT_EQ(graph.primitives[0].origins.size(), 1u);
  EXPECT_EQ(graph.origins[graph.primitives[0].origins[0]].node, "product");
}

TEST(SimplifyLoops, ABroadcastStaysInTheBody) {
  // v + expand(c): as a tensor it would be read in every trip.
  PrimitiveGraph graph = parsed(
      "graph \"g\"\n%0 = input \"v\" f32[4x3]\n%1 = input \"c\" f32[3]\n%2 = "
      "loop \"L/0\" bool[0] (%0, %1) trips 3 carried 1 from \"L\"\n  graph "
      "\"body\"\n  %0 = input \"v\" f32[4x3]\n  %1 = input \"c\" f32[3]\n  %2 "
      "= pull \"L/b/0\" f32[4x3] (%1) over 4x3 from \"L\"\n    %0 = read f32 "
      "#0 at (d0, d1) -> (d1)\n    yield %0\n" +
      binary("3", "L/b/1", "add", "0", "2", "4x3") +
      "  output \"\" %3\n  end\n%3 = project \"L/1\" f32[4x3] (%2) result 0 "
      "from \"L\"\noutput \"v\" %3\n");
  cleanedUp(graph, {floats({4, 3}, std::vector<float>(12, 1)),
                    floats({3}, {1, 2, 3})});
  EXPECT_EQ(graph.primitives.size(), 2u); // the loop and its result
  EXPECT_EQ(findLoop(graph)->loop->body.primitives.size(), 2u);
}

TEST(SimplifyLoops, OneTripIsNoLoop) {
  PrimitiveGraph graph = parsed(history("-", "2x3", "1"));
  cleanedUp(graph, {floats({2, 3}, {1, 2, 3, 4, 5, 6}),
                    floats({1, 2, 3}, {6, 5, 4, 3, 2, 1})});
  EXPECT_EQ(findLoop(graph), nullptr);
  EXPECT_EQ(graph.outputs.size(), 2u);
}

TEST(SimplifyLoops, BodiesOfBodiesAreCleanedUp) {
  PrimitiveGraph graph = parsed(nested());
  cleanedUp(graph, {floats({6}, {1, 2, 3, 4, 5, 6}),
                    floats({6}, {.5f, .25f, 1, 2, .5f, 0})});
  const Loop &outer = *findLoop(graph)->loop;
  ASSERT_NE(findLoop(outer.body), nullptr);
  EXPECT_EQ(findLoop(outer.body)->loop->body.primitives.size(), 3u);
}

} // namespace
