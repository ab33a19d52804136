// Loops in a plan: a step of its own with the reason, the body planned like any graph, text and its errors.
#include "compiler/graph/passes/passes.h"
#include "compiler/planner/explore.h"
#include "tests/unit/compiler/loop_graphs.h"

#include <gmock/gmock.h>

using namespace lockstitch;
using namespace lockstitch::testing;
using ::testing::HasSubstr;

namespace {

/// history() with an exponential before and behind the loop.
PrimitiveGraph surrounded() {
  std::string text = history("+", "2x3");
  std::string before =
      "%2 = pull \"before\" f32[2x3] (%0) over 2x3 from \"before\"\n  %0 = "
      "read f32 #0 at (d0, d1) -> (d0, d1)\n  %1 = exp f32 %0\n  yield %1\n";
  auto replace = [&](const std::string &from, const std::string &to) {
    size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
  };
  replace("%2 = loop \"L/0\" bool[0] (%0, %1)",
          before + "%3 = loop \"L/0\" bool[0] (%2, %1)");
  replace("%3 = project \"L/1\" f32[2x3] (%2)",
          "%4 = project \"L/1\" f32[2x3] (%3)");
  replace("%4 = project \"L/2\" f32[4x2x3] (%2)",
          "%5 = project \"L/2\" f32[4x2x3] (%3)");
  replace("output \"last\" %3\noutput \"all\" %4",
          "%6 = pull \"behind\" f32[2x3] (%4) over 2x3 from \"behind\"\n  %0 = "
          "read f32 #0 at (d0, d1) -> (d0, d1)\n  %1 = exp f32 %0\n  yield "
          "%1\noutput \"last\" %6\noutput \"all\" %5");
  return parsed(text);
}

Plan planOf(PrimitiveGraph &graph,
            Explorer explorer = Explorer::FusionStitching) {
  cleanUp(graph);
  EXPECT_EQ(graph.verify().value_or(""), "");
  PlannerOptions options;
  options.explorer = explorer;
  Result<Plan> plan = explore(graph, options);
  EXPECT_TRUE(plan.ok());
  return *plan;
}

TEST(LoopPlan, ALoopIsAStepOfItsOwnWithTheReason) {
  PrimitiveGraph graph = surrounded();
  Plan plan = planOf(graph);
  ASSERT_EQ(plan.steps.size(), 3u);
  EXPECT_EQ(plan.steps[0].kind, PlanStep::Kind::Kernel);
  EXPECT_EQ(plan.steps[1].kind, PlanStep::Kind::Loop);
  EXPECT_EQ(plan.steps[1].members.size(), 3u); // with its two results
  EXPECT_EQ(plan.steps[1].outputs.size(), 2u);
  EXPECT_EQ(plan.steps[2].kind, PlanStep::Kind::Kernel);
  EXPECT_EQ(plan.steps[1].body.size(), 1u);
  EXPECT_EQ(plan.numKernels(), 3);
  EXPECT_EQ(floorKernels(graph, plan), 3); // before, inside, behind
  ASSERT_FALSE(plan.decisions.empty());
  for (const Decision &decision : plan.decisions) {
    EXPECT_FALSE(decision.merged);
    EXPECT_FALSE(decision.byProfit);
    EXPECT_THAT(decision.reason, HasSubstr("a loop is a step of its own"));
  }
}

TEST(LoopPlan, TheBodyIsPlannedByTheSameExplorer) {
  PrimitiveGraph graph = parsed(nested());
  Plan plan = planOf(graph);
  ASSERT_EQ(plan.steps.size(), 1u);
  ASSERT_EQ(plan.steps[0].body.size(), 1u);
  const PlanStep &inner = plan.steps[0].body[0];
  EXPECT_EQ(inner.kind, PlanStep::Kind::Loop);
  ASSERT_EQ(inner.body.size(), 1u); // three primitives, one kernel
  EXPECT_EQ(inner.body[0].members.size(), 3u);
  EXPECT_EQ(inner.bodyDecisions.size(), 2u);
  EXPECT_EQ(plan.numKernels(), 1);
  PrimitiveGraph again = parsed(nested());
  EXPECT_EQ(planOf(again, Explorer::None).numKernels(), 3);
}

TEST(LoopPlan, RoundTripsAsText) {
  for (PrimitiveGraph graph : {surrounded(), parsed(nested())}) {
    Plan plan = planOf(graph), back;
    std::string text = toString(graph, plan), error;
    ASSERT_TRUE(parsePlan(text, graph, back, error)) << error << "\n" << text;
    EXPECT_EQ(toString(graph, back), text);
    for (PlanStep &step : plan.steps)
      step.bodyDecisions.clear(); // reasons are no part of the text
    if (graph.name == "history") {
      EXPECT_EQ(back.steps, plan.steps);
    }
  }
}

TEST(LoopPlan, ErrorsNameTheLine) {
  PrimitiveGraph graph = surrounded();
  cleanUp(graph);
  std::string around = "kernel \"before\"\nkernel \"behind\"\n";
  struct {
    std::string text, error;
  } cases[] = {
      {around + "loop \"L/0\" \"L/1\" \"L/2\"\n  kernel \"L/b/0\"\n",
       "line 4: the body of a loop lacks its 'end'"},
      {around + "loop \"L/0\" \"L/1\" \"L/2\"\nend\n",
       "the plan lacks 'L/b/0'"},
      {around + "loop \"L/0\" \"L/1\"\n  kernel \"L/b/0\"\nend\nloop \"L/2\"\n "
                " kernel \"L/b/0\"\nend\n",
       "line 6: a loop step is one loop and its own results"},
      {around + "loop \"L/0\" \"L/1\" \"before\"\n",
       "line 3: 'before' is already in line 1"},
      {"kernel \"L/0\"\n", "line 1: 'L/0' is a loop"},
      {"kernel \"L/1\"\n", "line 1: 'L/1' is a loop"},
      {"loop \"before\"\n", "line 1: 'before' is no library call"},
      {around + "loop \"L/0\" \"L/1\" \"L/2\"\n  fuse \"L/b/0\"\nend\n",
       "line 4: expected 'kernel', 'library', 'loop' or 'schedule', got "
       "'fuse'"},
  };
  for (const auto &test : cases) {
    Plan plan;
    std::string error;
    EXPECT_FALSE(parsePlan(test.text, graph, plan, error)) << test.text;
    EXPECT_EQ(error.substr(0, test.error.size()), test.error) << test.text;
  }
}

} // namespace
