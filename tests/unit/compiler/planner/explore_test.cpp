#include "compiler/graph/passes/passes.h"
#include "compiler/planner/explore.h"
#include "compiler/planner/kernel_verdict.h"
#include "tests/unit/compiler/graph_maker.h"
#include "tests/unit/compiler/random_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

using namespace lockstitch;
using namespace lockstitch::testing;

namespace {

Plan planOf(PrimitiveGraph &graph,
            Explorer explorer = Explorer::FusionStitching, bool gpu = true) {
  cleanUp(graph);
  EXPECT_EQ(graph.verify().value_or(""), "");
  PlannerOptions options;
  options.explorer = explorer;
  options.target.isGpu = gpu;
  Result<Plan> plan = explore(graph, options);
  EXPECT_TRUE(plan.ok());
  return *plan;
}

TEST(Explore, SoftmaxIsOneKernelOverAnyAxis) {
  for (unsigned axis : {0u, 1u, 2u}) {
    GraphMaker maker;
    maker.output(maker.softmax(maker.input({6, 10, 40}), axis));
    EXPECT_EQ(planOf(maker.graph).numKernels(), 1) << "axis " << axis;
  }
}

TEST(Explore, WithoutAnExplorerEveryPrimitiveIsAKernel) {
  GraphMaker maker;
  maker.output(maker.softmax(maker.input({6, 40}), 1));
  EXPECT_EQ(planOf(maker.graph, Explorer::None).numKernels(), 5);
}

TEST(Explore, SiblingsOfOneInputShareAPass) {
  GraphMaker maker;
  ValueId x = maker.input({64, 256});
  maker.output(maker.reduce(ScalarOpcode::Add, x, {1}));
  maker.output(maker.reduce(ScalarOpcode::Max, x, {1}));
  EXPECT_EQ(planOf(maker.graph).numKernels(), 1);
}

TEST(Explore, CrossedReductionsStaySeparateWithTheReason) {
  GraphMaker maker;
  ValueId x = maker.input({24, 96});
  ValueId rows = maker.reduce(ScalarOpcode::Add, x, {1}),
          columns = maker.reduce(ScalarOpcode::Add, x, {0});
  maker.output(maker.map(ScalarOpcode::Sub,
                         {maker.map(ScalarOpcode::Sub, {x, rows}), columns}));
  Plan plan = planOf(maker.graph);
  EXPECT_GT(plan.numKernels(), 1);
  bool told = false;
  for (const Decision &decision : plan.decisions)
    told |= !decision.merged && !decision.byProfit && !decision.reason.empty();
  EXPECT_TRUE(told);
}

bool isTold(const Plan &plan, std::string_view reason) {
  for (const Decision &decision : plan.decisions)
    if (!decision.merged && decision.reason.find(reason) != std::string::npos)
      return true;
  return false;
}

TEST(Explore, AScanTakesProducersAndConsumersAlong) {
  GraphMaker maker;
  ValueId sum =
      maker.scan(ScalarOpcode::Add,
                 maker.map(ScalarOpcode::Exp, {maker.input({64, 40})}), 1);
  maker.output(maker.map(ScalarOpcode::Neg, {sum}));
  EXPECT_EQ(planOf(maker.graph).numKernels(), 1);
}

TEST(Explore, AScanOfFewLongLinesStaysAlone) {
  GraphMaker maker;
  ValueId exp = maker.map(ScalarOpcode::Exp, {maker.input({2, 10000})});
  maker.output(maker.scan(ScalarOpcode::Add, exp, 1));
  Plan plan = planOf(maker.graph);
  EXPECT_EQ(plan.numKernels(), 2);
  EXPECT_TRUE(isTold(plan, "its 2 lines of 10000 elements"));
}

TEST(Explore, WhatLanesFoldTogetherNoLaneOfAScanFoldsAlone) {
  GraphMaker maker;
  ValueId p = maker.softmax(maker.input({64, 100}), 1);
  maker.output(maker.scan(ScalarOpcode::Add, p, 1));
  Plan plan = planOf(maker.graph);
  EXPECT_EQ(plan.numKernels(), 2);
  EXPECT_TRUE(isTold(plan, "a lane of the scan would fold 100 elements alone"));
}

TEST(Explore, AProductSeparates) {
  GraphMaker maker;
  ValueId x = maker.map(ScalarOpcode::Exp, {maker.input({8, 16})});
  maker.output(
      maker.map(ScalarOpcode::Tanh, {maker.matmul(x, maker.input({16, 12}))}));
  Plan plan = planOf(maker.graph);
  EXPECT_EQ(plan.numKernels(), 2);
  EXPECT_EQ(plan.steps.size(), 3u);
  EXPECT_EQ(floorKernels(maker.graph, plan), 2);
}

// Two recurrences that run against each other over the same inputs: merging the readers of x1 and those of x2 both ways would
// make each kernel wait for the other.
TEST(Explore, OpposedChainsMakeNoCycle) {
  GraphMaker maker;
  ValueId weights = maker.input({8, 8});
  std::vector<ValueId> x;
  for (int i = 0; i < 4; ++i)
    x.push_back(maker.input({4, 8}));
  ValueId forward = maker.input({4, 8}), backward = maker.input({4, 8});
  for (int i = 0; i < 4; ++i)
    forward =
        maker.matmul(maker.map(ScalarOpcode::Mul, {x[i], forward}), weights);
  for (int i = 4; i-- > 0;)
    backward =
        maker.matmul(maker.map(ScalarOpcode::Mul, {x[i], backward}), weights);
  maker.output(forward);
  maker.output(backward);
  Plan plan = planOf(maker.graph); // checks inside that it is acyclic
  EXPECT_GE(plan.numKernels(), 6);
}

TEST(Explore, DearValuesAreNotRepeated) {
  GraphMaker maker;
  ValueId small = maker.map(ScalarOpcode::Exp, {maker.input({1, 64})});
  maker.output(maker.map(ScalarOpcode::Add, {maker.input({4096, 64}), small}));
  Plan plan = planOf(maker.graph);
  EXPECT_EQ(plan.numKernels(), 2);
  ASSERT_FALSE(plan.decisions.empty());
  EXPECT_TRUE(plan.decisions[0].byProfit);
  EXPECT_THAT(
      plan.decisions[0].reason,
      ::testing::HasSubstr("computed 262144 times for its 64 elements"));
}

double figureOf(const Decision &decision, Figure wanted) {
  for (auto [figure, value] : decision.figures)
    if (figure == wanted)
      return value;
  return -1;
}

TEST(Explore, MergesSayWhatTheySave) {
  GraphMaker maker;
  ValueId x = maker.input({1024, 4096});
  ValueId exp = maker.map(ScalarOpcode::Exp, {x});
  maker.output(maker.map(ScalarOpcode::Tanh, {exp}));
  Plan plan = planOf(maker.graph);
  ASSERT_EQ(plan.decisions.size(), 1u);
  const Decision &decision = plan.decisions[0];
  EXPECT_TRUE(decision.merged);
  EXPECT_EQ(figureOf(decision, Figure::LaunchesSaved), 1);
  EXPECT_EQ(figureOf(decision, Figure::BytesSaved), 2.0 * 1024 * 4096 * 4);
  double a = figureOf(decision, Figure::MicrosecondsOfA),
         b = figureOf(decision, Figure::MicrosecondsOfB),
         both = figureOf(decision, Figure::MicrosecondsTogether);
  EXPECT_GT(a, 0);
  EXPECT_EQ(a, b);
  EXPECT_GT(both, 0);
  EXPECT_LT(both, a + b);
}

TEST(Explore, RefusalsSayWhatIsShort) {
  GraphMaker maker;
  ValueId small = maker.map(ScalarOpcode::Exp, {maker.input({1, 64})});
  maker.output(maker.map(ScalarOpcode::Add, {maker.input({4096, 64}), small}));
  Plan plan = planOf(maker.graph);
  ASSERT_EQ(plan.decisions.size(), 1u);
  EXPECT_EQ(figureOf(plan.decisions[0], Figure::RecomputeFactor), 4096);
  EXPECT_EQ(figureOf(plan.decisions[0], Figure::BytesSaved), 2.0 * 64 * 4);
  EXPECT_GT(figureOf(plan.decisions[0], Figure::MicrosecondsOfB), 0);

  GraphMaker chain;
  ValueId x = chain.input({64});
  for (int i = 0; i < 6; ++i)
    x = chain.map(i % 2 ? ScalarOpcode::Exp : ScalarOpcode::Tanh, {x});
  chain.output(x);
  cleanUp(chain.graph);
  PlannerOptions options;
  options.target.isGpu = true;
  options.maxMembers = 4;
  Result<Plan> limited = explore(chain.graph, options);
  ASSERT_TRUE(limited.ok());
  EXPECT_EQ(limited->numKernels(), 2);
  bool told = false;
  for (const Decision &decision : limited->decisions)
    told |= figureOf(decision, Figure::MembersLimit) == 4 &&
            figureOf(decision, Figure::Members) > 4;
  EXPECT_TRUE(told);
}

// Equal layers are judged once, and a refusal names the node of its own layer.
TEST(Explore, EqualKernelsAreJudgedOnce) {
  GraphMaker maker;
  std::vector<ValueId> smalls;
  for (int layer = 0; layer < 3; ++layer) {
    ValueId small = maker.map(ScalarOpcode::Exp, {maker.input({1, 64})});
    maker.output(
        maker.map(ScalarOpcode::Add, {maker.input({4096, 64}), small}));
    smalls.push_back(small);
  }
  Plan plan = planOf(maker.graph);
  ASSERT_EQ(plan.decisions.size(), 3u);
  for (const Decision &decision : plan.decisions)
    EXPECT_THAT(decision.reason,
                ::testing::StartsWith(maker.graph.primitives[decision.a].name +
                                      " would be computed 262144 times"));
  ScheduleTarget target;
  target.isGpu = true;
  KernelVerdicts verdicts(maker.graph, target);
  for (const Decision &decision : plan.decisions)
    (void)verdicts.of({decision.a},
                      {maker.graph.primitives[decision.a].result});
  EXPECT_EQ(verdicts.numDistinct(), 1u);
  EXPECT_EQ(verdicts.numRemembered(), 2u);
}

TEST(ExploreXla, AReductionEndsItsFusion) {
  GraphMaker maker;
  ValueId x = maker.input({64, 256});
  maker.output(maker.softmax(x, 1));
  PrimitiveGraph &graph = maker.graph;
  Plan plan = planOf(graph, Explorer::Xla);
  // max | sub exp sum | (sub exp again: here its value) div
  EXPECT_EQ(plan.numKernels(), 3) << toString(graph, plan);
  for (const PlanStep &step : plan.steps)
    for (PrimitiveId member : step.members)
      if (graph.primitives[member].kind == Primitive::Kind::Reduce)
        for (PrimitiveId user : step.members)
          for (ValueId operand : graph.primitives[user].operands) {
            EXPECT_NE(graph.values[operand].producer, member);
          }
  bool told = false;
  for (const Decision &decision : plan.decisions)
    told |= decision.reason.starts_with("a reduction ends its fusion");
  EXPECT_TRUE(told);
}

TEST(ExploreXla, ALoneChainOnAReductionJoinsIt) {
  GraphMaker maker;
  ValueId x = maker.input({64, 256});
  maker.output(
      maker.map(ScalarOpcode::Sqrt,
                {maker.map(ScalarOpcode::Abs,
                           {maker.reduce(ScalarOpcode::Add, x, {1})})}));
  EXPECT_EQ(planOf(maker.graph, Explorer::Xla).numKernels(), 1);
}

TEST(ExploreXla, SiblingReductionsOfOneShapeShareAKernelOthersDoNot) {
  GraphMaker maker;
  ValueId x = maker.input({64, 256});
  maker.output(maker.reduce(ScalarOpcode::Add, x, {1}));
  maker.output(maker.reduce(ScalarOpcode::Max, x, {1}));
  maker.output(maker.reduce(ScalarOpcode::Max, x, {0}));
  EXPECT_EQ(planOf(maker.graph, Explorer::Xla).numKernels(), 2);
}

TEST(ExploreXla, OperandsAreLimited) {
  GraphMaker maker;
  ValueId sum = maker.input({64});
  for (int i = 0; i < 120; ++i)
    sum = maker.map(ScalarOpcode::Add, {sum, maker.input({64})});
  maker.output(sum);
  Plan plan = planOf(maker.graph, Explorer::Xla);
  EXPECT_EQ(plan.numKernels(), 2);
  bool told = false;
  for (const Decision &decision : plan.decisions)
    told |= figureOf(decision, Figure::Operands) > 96 &&
            figureOf(decision, Figure::OperandsLimit) == 96;
  EXPECT_TRUE(told);
}

/// Every primitive that makes a tensor is in exactly one step, steps follow what they read, and the order is stable.
void checkPlan(const PrimitiveGraph &graph, const Plan &plan) {
  std::set<PrimitiveId> seen;
  std::set<ValueId> made(graph.inputs.begin(), graph.inputs.end());
  for (ValueId value = 0; value < graph.values.size(); ++value)
    if (graph.values[value].kind == Value::Kind::Constant)
      made.insert(value);
  for (const PlanStep &step : plan.steps) {
    std::set<PrimitiveId> members(step.members.begin(), step.members.end());
    for (PrimitiveId member : step.members) {
      EXPECT_TRUE(seen.insert(member).second) << "in two steps";
      for (ValueId operand : graph.primitives[member].operands)
        if (!members.count(graph.values[operand].producer)) {
          EXPECT_TRUE(made.count(storageRoot(graph, operand)))
              << "reads what is not there yet";
        }
    }
    made.insert(step.outputs.begin(), step.outputs.end());
  }
  for (PrimitiveId id = 0; id < graph.primitives.size(); ++id)
    if (storageRoot(graph, graph.primitives[id].result) ==
        graph.primitives[id].result) {
      EXPECT_TRUE(seen.count(id))
          << graph.primitives[id].name << " is in no step";
    }
  for (ValueId output : graph.outputs)
    EXPECT_TRUE(made.count(storageRoot(graph, output)));
}

TEST(Explore, RandomGraphsArePartitionedInAnExecutableOrder) {
  for (uint32_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    PrimitiveGraph graph = randomGraph(seed, 6 + seed % 40);
    Plan plan = planOf(graph, Explorer::FusionStitching, seed % 2);
    checkPlan(graph, plan);
    PrimitiveGraph again = randomGraph(seed, 6 + seed % 40);
    Plan second = planOf(again, Explorer::FusionStitching, seed % 2);
    EXPECT_EQ(toString(graph, plan), toString(again, second));
    Plan none = planOf(again, Explorer::None, seed % 2);
    EXPECT_LE(plan.numKernels(), none.numKernels());
    Plan xla = planOf(again, Explorer::Xla, seed % 2);
    checkPlan(again, xla);
    EXPECT_LE(xla.numKernels(), none.numKernels());
    if (::testing::Test::HasFailure())
      break;
  }
}

TEST(PlanText, RoundTrips) {
  PrimitiveGraph graph = randomGraph(7, 40);
  Plan plan = planOf(graph), back;
  std::string error;
  ASSERT_TRUE(parsePlan(toString(graph, plan), graph, back, error)) << error;
  EXPECT_EQ(back.steps, plan.steps);
}

TEST(PlanText, ErrorsNameTheLine) {
  GraphMaker maker;
  ValueId x = maker.input({4, 8});
  ValueId exp = maker.map(ScalarOpcode::Exp, {x}),
          sum = maker.matmul(exp, maker.input({8, 8}));
  maker.output(maker.map(ScalarOpcode::Add, {exp, sum}));
  PrimitiveGraph &graph = maker.graph;
  computeStorageRoots(graph);
  struct {
    const char *text, *error;
  } cases[] = {
      {"kernel \"p0\"\nfuse \"p2\"",
       "line 2: expected 'kernel', 'library', 'loop' or 'schedule', got "
       "'fuse'"},
      {"kernel \"p0\" \"p9\"", "line 1: the model has no primitive 'p9'"},
      {"schedule vector 4", "line 1: a schedule stands below its kernel"},
      {"kernel \"p0\"\nlibrary \"p1\"\nschedule vector 4",
       "line 3: a schedule stands below its kernel"},
      {"kernel \"p0\"\nschedule vector 4\nschedule vector 2",
       "line 3: the kernel has a schedule already, in line 2"},
      {"kernel \"p0\"\n  schedule", "line 2: the schedule: asks for nothing"},
      {"kernel \"p0\"\n  schedule vector many",
       "line 2: the schedule: 'vector' needs a whole number"},
      {"kernel \"p0\"\nkernel \"p0\"", "line 2: 'p0' is already in line 1"},
      {"kernel \"p0", "line 1: a name's closing quote is missing"},
      {"kernel", "line 1: names no primitive"},
      {"kernel \"p1\"", "line 1: 'p1' is a library call"},
      {"library \"p0\"", "line 1: 'p0' is no library call"},
      {"kernel \"p0\"\nlibrary \"p1\"", "the plan lacks 'p2'"},
      {"kernel \"p0\" \"p2\"\nlibrary \"p1\"", "the plan has a cycle"},
  };
  for (const auto &test : cases) {
    Plan plan;
    std::string error;
    EXPECT_FALSE(parsePlan(test.text, graph, plan, error)) << test.text;
    EXPECT_THAT(error, ::testing::StartsWith(test.error));
  }
}

} // namespace
