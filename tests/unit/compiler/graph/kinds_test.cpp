// Scans, pushes and sorts: their text, what verify() says of wrong ones, what they compute, and that the passes that
// rewrite pushes and sorts compute the same.
#include "compiler/graph/evaluate.h"
#include "compiler/graph/passes/passes.h"
#include "tests/unit/compiler/random_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

using namespace lockstitch;
using namespace lockstitch::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

template <typename T>
HostTensor tensor(ElementType type, Shape shape, std::vector<T> values) {
  HostTensor made{{type, std::move(shape)}, {}};
  made.bytes.resize(values.size() * sizeof(T));
  std::memcpy(made.bytes.data(), values.data(), made.bytes.size());
  return made;
}
HostTensor f32(Shape shape, std::vector<float> values) {
  return tensor<float>(ElementType::F32, std::move(shape), std::move(values));
}

template <typename T>
std::vector<T> results(const PrimitiveGraph &graph,
                       std::vector<HostTensor> inputs) {
  EXPECT_EQ(graph.verify().value_or(""), "");
  auto outputs = evaluateGraph(graph, inputs);
  if (!outputs.ok()) {
    ADD_FAILURE() << outputs.error().messages[0].reason;
    return {};
  }
  std::vector<T> values((*outputs)[0].bytes.size() / sizeof(T));
  std::memcpy(values.data(), (*outputs)[0].bytes.data(),
              values.size() * sizeof(T));
  return values;
}

PrimitiveGraph lowered(PrimitiveGraph graph) {
  cleanUp(graph);
  for (const Primitive &primitive : graph.primitives)
    EXPECT_TRUE(primitive.kind != Primitive::Kind::Push &&
                primitive.kind != Primitive::Kind::Sort)
        << primitive.name;
  return graph;
}

/// As evaluated, and as evaluated after the passes.
template <typename T>
std::vector<T> both(const PrimitiveGraph &graph,
                    std::vector<HostTensor> inputs) {
  std::vector<T> direct = results<T>(graph, inputs),
                 rewritten = results<T>(lowered(graph), inputs);
  EXPECT_EQ(direct.size(), rewritten.size());
  for (size_t i = 0; i < direct.size() && i < rewritten.size(); ++i)
    EXPECT_EQ(std::memcmp(&direct[i], &rewritten[i], sizeof(T)), 0)
        << "element " << i << ": " << direct[i] << ", after the passes "
        << rewritten[i];
  return direct;
}

TEST(Scan, FoldsAlongAnyDimension) {
  for (unsigned along : {0u, 1u}) {
    GraphMaker maker;
    maker.output(maker.scan(ScalarOpcode::Add, maker.input({2, 3}), along));
    std::vector<float> got =
        results<float>(maker.graph, {f32({2, 3}, {1, 2, 3, 4, 5, 6})});
    if (along == 0)
      EXPECT_THAT(got, ElementsAre(1, 2, 3, 5, 7, 9));
    else
      EXPECT_THAT(got, ElementsAre(1, 3, 6, 4, 9, 15));
  }
}

TEST(Scan, OfNothingIsNothing) {
  GraphMaker maker;
  maker.output(maker.scan(ScalarOpcode::Add, maker.input({2, 0}), 1));
  EXPECT_THAT(results<float>(maker.graph, {f32({2, 0}, {})}), ElementsAre());
}

TEST(Push, TheLastUpdateWins) {
  GraphMaker maker;
  maker.output(
      maker.scatter(maker.input({4}), maker.input({3}), maker.input({3}), 0));
  EXPECT_THAT(both<float>(maker.graph,
                          {f32({4}, {1, 2, 3, 4}), f32({3}, {0.6f, 0.3f, 0.6f}),
                           f32({3}, {10, 20, 30})}),
              ElementsAre(1, 20, 30, 4));
}

TEST(Push, UpdatesThatFallOutsideDoNothing) {
  GraphMaker maker;
  maker.output(
      maker.scatter(maker.input({4}), maker.input({3}), maker.input({3}), 0));
  EXPECT_THAT(both<float>(maker.graph,
                          {f32({4}, {1, 2, 3, 4}), f32({3}, {1, 1e9f, 0.25f}),
                           f32({3}, {10, 20, 30})}),
              ElementsAre(1, 30, 3, 4));
}

TEST(Push, CombinesInOrder) {
  GraphMaker maker;
  Reducer add =
      Reducer::simple(ScalarOpcode::Add, ElementType::F32, ElementType::F32);
  add.init[0].real = -0.0;
  maker.output(maker.scatter(maker.input({2, 2}), maker.input({3, 2}),
                             maker.input({3, 2}), 0, add));
  std::vector<float> got =
      both<float>(maker.graph, {f32({2, 2}, {1, 2, -0.0f, 4}),
                                f32({3, 2}, {0.f, 0.5f, 0.f, 0.5f, 0.f, 0.f}),
                                f32({3, 2}, {1, 2, 3, 4, 5, 6})});
  EXPECT_THAT(got, ElementsAre(10, 8, 0, 10));
  EXPECT_TRUE(std::signbit(got[2])) << "nothing was added to it";
}

TEST(Push, WithoutUpdatesIsItsBase) {
  GraphMaker maker;
  maker.output(
      maker.scatter(maker.input({2}), maker.input({0}), maker.input({0}), 0));
  EXPECT_THAT(
      both<float>(maker.graph, {f32({2}, {1, 2}), f32({0}, {}), f32({0}, {})}),
      ElementsAre(1, 2));
}

TEST(Push, PartsThatGoStraightThroughNeedNoReduction) {
  // A slice is assigned to: rows 1 and 2 of four.
  GraphMaker maker;
  ValueId base = maker.input({4, 2}), updates = maker.input({2, 2});
  ValueId made = maker.scatter(base, updates, updates, 0);
  Primitive &push = maker.graph.primitives[maker.graph.values[made].producer];
  push.target.results[0] = IndexExpr::dim(0) + IndexExpr::constant(1);
  push.body.results.resize(1);
  maker.output(made);
  EXPECT_THAT(both<float>(maker.graph, {f32({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}),
                                        f32({2, 2}, {-1, -2, -3, -4})}),
              ElementsAre(1, 2, -1, -2, -3, -4, 7, 8));
  PrimitiveGraph graph = lowered(maker.graph);
  ASSERT_EQ(graph.primitives.size(), 1u);
  EXPECT_EQ(graph.primitives[0].kind, Primitive::Kind::Pull);
}

TEST(Push, FromAnIndexOnIsSolvedForTheUpdate) {
  for (bool circular : {false, true}) {
    GraphMaker maker;
    ValueId base = maker.input({6}), start = maker.input({1}),
            updates = maker.input({3});
    ValueId made = maker.scatter(base, updates, updates, 0);
    Primitive &push = maker.graph.primitives[maker.graph.values[made].producer];
    push.operands = {base, start, updates};
    for (ScalarOp &op : push.body.ops)
      if (op.opcode == ScalarOpcode::Read && op.operand == 1)
        op.map.results[0] = IndexExpr::constant(0);
    push.target.results[0] = IndexExpr::dim(0) + IndexExpr::runtime(0);
    if (circular)
      push.target.results[0] = mod(push.target.results[0], 6);
    maker.output(made);
    std::vector<float> got =
        both<float>(maker.graph, {f32({6}, {1, 2, 3, 4, 5, 6}),
                                  f32({1}, {0.7f}), f32({3}, {10, 20, 30})});
    if (circular)
      EXPECT_THAT(got, ElementsAre(30, 2, 3, 4, 10, 20));
    else
      EXPECT_THAT(got, ElementsAre(1, 2, 3, 4, 10, 20));
    EXPECT_EQ(lowered(maker.graph).primitives.size(), 1u);
  }
}

TEST(Push, OfRowsComparesOnlyTheirIndices) {
  // Like ScatterND: 3 rows of 5 elements go into a table of 7 rows.
  GraphMaker maker;
  ValueId base = maker.input({7, 5}), rows = maker.input({3, 1}),
          updates = maker.input({3, 5});
  ValueId made = maker.scatter(base, updates, updates, 0);
  Primitive &push = maker.graph.primitives[maker.graph.values[made].producer];
  push.operands = {base, rows, updates};
  for (ScalarOp &op : push.body.ops)
    if (op.opcode == ScalarOpcode::Read) {
      op.operand = op.operand == 1 ? 1 : 2;
      if (op.operand == 1)
        op.map.results[1] = IndexExpr::constant(0);
    }
  maker.output(made);
  ASSERT_EQ(maker.graph.verify().value_or(""), "");
  PrimitiveGraph graph = lowered(maker.graph);
  ASSERT_EQ(graph.primitives.size(), 2u);
  EXPECT_EQ(toString(graph.type(graph.primitives[0].result)), "i64[7]");
  EXPECT_EQ(numElements(graph.primitives[0].domain), 7 * 3);
}

TEST(Sort, IsStableAndPutsNaNAboveAll) {
  for (bool descending : {false, true}) {
    GraphMaker maker;
    maker.output(maker.sort(maker.input({7}), 0, descending, 7));
    std::vector<int64_t> got = both<int64_t>(
        maker.graph, {f32({7}, {1, NAN, -0.0f, 0.0f, INFINITY, NAN, -3})});
    if (descending)
      EXPECT_THAT(got, ElementsAre(1, 5, 4, 0, 2, 3, 6));
    else
      EXPECT_THAT(got, ElementsAre(6, 2, 3, 0, 4, 1, 5));
  }
}

TEST(Sort, KeepsTheFirstOfEachLine) {
  GraphMaker maker;
  maker.output(maker.sort(maker.input({3, 2}, ElementType::U64), 0, true, 2));
  EXPECT_THAT(
      both<int64_t>(maker.graph, {tensor<uint64_t>(ElementType::U64, {3, 2},
                                                   {1, 9, ~0ull, 8, 3, 10})}),
      ElementsAre(1, 2, 2, 0));
}

// Every kind in text and back, and as the passes leave it.
TEST(Kinds, RandomGraphsComeBackFromText) {
  bool seen[3] = {};
  for (uint32_t seed = 500; seed < 620; ++seed) {
    PrimitiveGraph graph = randomGraph(seed, 12);
    ASSERT_EQ(graph.verify().value_or(""), "") << "seed " << seed;
    for (const Primitive &primitive : graph.primitives) {
      seen[0] |= primitive.kind == Primitive::Kind::Scan;
      seen[1] |= primitive.kind == Primitive::Kind::Push;
      seen[2] |= primitive.kind == Primitive::Kind::Sort;
    }
    for (bool clean : {false, true}) {
      if (clean)
        cleanUp(graph);
      ASSERT_EQ(graph.verify().value_or(""), "") << "seed " << seed;
      PrimitiveGraph back;
      std::string error;
      ASSERT_TRUE(parsePrimitiveGraph(toString(graph), back, error)) << error;
      EXPECT_EQ(toString(graph), toString(back));
      ASSERT_EQ(back.verify().value_or(""), "") << "seed " << seed;
      for (size_t i = 0; i < graph.primitives.size(); ++i) {
        EXPECT_EQ(graph.primitives[i].target, back.primitives[i].target);
        EXPECT_EQ(graph.primitives[i].reducer, back.primitives[i].reducer);
      }
    }
  }
  EXPECT_THAT(seen, ElementsAre(true, true, true));
}

std::string problem(const PrimitiveGraph &graph) {
  return graph.verify().value_or("");
}

TEST(Kinds, VerifyNamesWhatIsWrong) {
  GraphMaker scans;
  scans.scan(ScalarOpcode::Add, scans.input({2, 3}), 1);
  scans.graph.primitives[0].along = 2;
  EXPECT_THAT(problem(scans.graph), HasSubstr("p0: its domain does not fit"));

  GraphMaker sorts;
  sorts.sort(sorts.input({2, 3}), 1, false, 3);
  sorts.graph.values[1].type.shape[1] = 4;
  EXPECT_THAT(problem(sorts.graph), HasSubstr("its domain does not fit"));
  sorts.graph.values[1].type = {ElementType::F32, {2, 3}};
  EXPECT_THAT(problem(sorts.graph), HasSubstr("positions of type i64"));

  GraphMaker pushes;
  ValueId x = pushes.input({4});
  pushes.scatter(x, x, x, 0);
  PrimitiveGraph graph = pushes.graph;
  EXPECT_EQ(problem(graph), "");
  graph.primitives[0].target.results[0] = IndexExpr::runtime(1);
  EXPECT_THAT(problem(graph),
              HasSubstr("uses a value that its body does not yield"));
  graph = pushes.graph;
  graph.primitives[0].target.results.clear();
  EXPECT_THAT(problem(graph), HasSubstr("does not lead from its domain"));
  graph = pushes.graph;
  graph.primitives[0].reducer.types = {ElementType::F64};
  EXPECT_THAT(problem(graph), HasSubstr("a push has one accumulator"));
  graph = pushes.graph;
  graph.primitives[0].body.results[1] = 0;
  EXPECT_THAT(problem(graph), HasSubstr("yields a target that is no i64"));
}

TEST(Kinds, TextThatIsNoPrimitiveIsRefused) {
  PrimitiveGraph graph;
  std::string error;
  EXPECT_FALSE(parsePrimitiveGraph("%0 = gather \"x\"", graph, error));
  EXPECT_THAT(error, HasSubstr("expected input, constant, pull, reduce, "
                               "library, scan, push, sort, loop or project"));
}

} // namespace
