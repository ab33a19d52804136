// Epilogues of library calls: what the contract can say, what each library takes, and what the plan makes of it.
#include "compiler/graph/passes/passes.h"
#include "compiler/planner/explore.h"
#include "compiler/planner/library_epilogue.h"
#include "tests/unit/compiler/graph_maker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace lockstitch;
using namespace lockstitch::testing;

namespace {

using Op = ScalarOpcode;

/// Cleans `graph` up and plans it; the library steps, in order.
std::vector<LibraryStep> librarySteps(PrimitiveGraph &graph, Plan &plan,
                                      LibraryFamily libraries) {
  cleanUp(graph);
  EXPECT_EQ(graph.verify().value_or(""), "");
  PlannerOptions options;
  options.libraries = libraries;
  options.target.isGpu = libraries == LibraryFamily::Cuda;
  Result<Plan> made = explore(graph, options);
  EXPECT_TRUE(made.ok());
  plan = *made;
  std::vector<LibraryStep> steps;
  for (const PlanStep &step : plan.steps)
    if (step.kind == PlanStep::Kind::Library) {
      auto built = buildLibraryStep(graph, step.members, step.outputs[0]);
      EXPECT_TRUE(std::holds_alternative<LibraryStep>(built));
      steps.push_back(std::get<LibraryStep>(built));
    }
  return steps;
}

/// The reason why the first product and its reader stay apart.
std::string reasonOf(const PrimitiveGraph &graph, const Plan &plan) {
  for (const Decision &decision : plan.decisions)
    if (graph.primitives[decision.a].kind == Primitive::Kind::Library &&
        !decision.merged)
      return decision.reason;
  return "";
}

class Epilogue : public ::testing::TestWithParam<LibraryFamily> {};

INSTANTIATE_TEST_SUITE_P(Everywhere, Epilogue,
                         ::testing::Values(LibraryFamily::Host,
                                           LibraryFamily::Cuda));

TEST_P(Epilogue, ARowIsABias) {
  GraphMaker maker;
  ValueId product = maker.matmul(maker.input({3, 5, 8}), maker.input({8, 6}));
  maker.output(maker.map(Op::Add, {product, maker.input({6})}));
  Plan plan;
  auto steps = librarySteps(maker.graph, plan, GetParam());
  EXPECT_EQ(plan.numKernels(), 0);
  EXPECT_EQ(floorKernels(maker.graph, plan), 0);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_TRUE(steps[0].call.matmul.hasC);
  EXPECT_EQ(steps[0].call.matmul.c, (StridedView{0, {0, 1}}));
  EXPECT_EQ(maker.graph.values[steps[0].operands.back()].name, "in2");
  EXPECT_EQ(steps[0].result, maker.graph.outputs[0]);
}

TEST_P(Epilogue, AResidualOnEitherSideIsAMatrix) {
  GraphMaker maker;
  ValueId product = maker.matmul(maker.input({15, 8}), maker.input({8, 6}));
  maker.output(maker.map(Op::Add, {maker.input({15, 6}), product}));
  Plan plan;
  auto steps = librarySteps(maker.graph, plan, GetParam());
  EXPECT_EQ(plan.numKernels(), 0);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].call.matmul.c, (StridedView{0, {6, 1}}));
  EXPECT_EQ(maker.graph.values[steps[0].operands.back()].name, "in2");
}

TEST_P(Epilogue, AReshapeBetweenThemChangesNothing) {
  GraphMaker maker;
  ValueId product = maker.matmul(maker.input({15, 8}), maker.input({8, 6}));
  ValueId heads = maker.reshape(product, {3, 5, 2, 3});
  maker.output(maker.map(Op::Add, {heads, maker.input({2, 3})}));
  Plan plan;
  auto steps = librarySteps(maker.graph, plan, GetParam());
  EXPECT_EQ(plan.numKernels(), 0);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].call.matmul.c, (StridedView{0, {0, 1}}));
}

TEST_P(Epilogue, AValuePerRowIsAnAddendOnTheHostOnly) {
  GraphMaker maker;
  ValueId product = maker.matmul(maker.input({15, 8}), maker.input({8, 6}));
  maker.output(maker.map(Op::Add, {product, maker.input({15, 1})}));
  Plan plan;
  librarySteps(maker.graph, plan, GetParam());
  bool host = GetParam() == LibraryFamily::Host;
  EXPECT_EQ(plan.numKernels(), host ? 0 : 1);
  if (!host)
    EXPECT_EQ(reasonOf(maker.graph, plan),
              "the library adds one value per column, or a matrix whose rows "
              "do not overlap");
}

TEST(EpilogueRefusals, WhatComesOnTopStaysAKernelWithTheReason) {
  struct Case {
    const char *reason;
    std::function<void(GraphMaker &, ValueId product)> build;
  };
  const Case cases[] = {
      {"its epilogue is more than an addend and max(x, 0)",
       [](GraphMaker &m, ValueId p) {
         m.output(m.map(Op::Tanh, {m.map(Op::Add, {p, m.input({6})})}));
       }},
      {"its epilogue moves elements",
       [](GraphMaker &m, ValueId p) {
         ValueId turned = m.slice(p, 0, 14, 15, -1);
         m.output(m.map(Op::Add, {turned, m.input({15, 6})}));
       }},
      {"what is added is not a strided view over the product's result",
       [](GraphMaker &m, ValueId p) {
         ValueId split = m.reshape(p, {3, 5, 6});
         m.output(m.map(Op::Add, {split, m.input({5, 6})}));
       }},
      {"its epilogue is more than an addend and max(x, 0)",
       [](GraphMaker &m, ValueId p) {
         m.output(m.map(Op::Add,
                        {m.map(Op::Add, {p, m.input({6})}), m.input({15, 6})}));
       }},
      {"is not elementwise",
       [](GraphMaker &m, ValueId p) { m.output(m.reduce(Op::Add, p, {1})); }},
  };
  for (const Case &test : cases) {
    SCOPED_TRACE(test.reason);
    GraphMaker maker;
    test.build(maker, maker.matmul(maker.input({15, 8}), maker.input({8, 6})));
    Plan plan;
    librarySteps(maker.graph, plan, LibraryFamily::Host);
    EXPECT_EQ(plan.numKernels(), 1);
    EXPECT_THAT(reasonOf(maker.graph, plan), ::testing::HasSubstr(test.reason));
  }
}

TEST(EpilogueRefusals, AProductThatOthersReadIsWritten) {
  GraphMaker maker;
  ValueId product = maker.matmul(maker.input({15, 8}), maker.input({8, 6}));
  maker.output(maker.map(Op::Add, {product, maker.input({6})}));
  maker.output(product);
  Plan plan;
  librarySteps(maker.graph, plan, LibraryFamily::Host);
  EXPECT_EQ(plan.numKernels(), 1);
}

/// max(x + b, 0), as an importer makes it.
ValueId relu(GraphMaker &maker, ValueId x) {
  std::vector<std::byte> zero(4);
  ValueId constant = maker.graph.addConstant(
      "zero", {ElementType::F32, {}}, ConstantData::own(std::move(zero)));
  return maker.map(Op::Max, {x, constant});
}

TEST_P(Epilogue, ReluIsTakenWhereNaNStaysNaN) {
  for (bool bias : {false, true}) {
    GraphMaker maker;
    ValueId product = maker.matmul(maker.input({15, 8}), maker.input({8, 6}));
    if (bias)
      product = maker.map(Op::Add, {product, maker.input({6})});
    maker.output(relu(maker, product));
    Plan plan;
    auto steps = librarySteps(maker.graph, plan, GetParam());
    ASSERT_EQ(steps.size(), 1u);
    if (GetParam() == LibraryFamily::Host) {
      EXPECT_EQ(plan.numKernels(), 0);
      EXPECT_EQ(steps[0].call.activation, Activation::Relu);
      EXPECT_EQ(steps[0].call.matmul.hasC, bias);
    } else {
      EXPECT_EQ(plan.numKernels(), 1);
      EXPECT_EQ(reasonOf(maker.graph, plan),
                "the library's max(x, 0) does not promise to keep NaN");
    }
  }
}

TEST(EpilogueCapability, NarrowTypesAndIntegers) {
  LibraryCall call;
  call.matmul.type = ElementType::F16;
  call.matmul.m = call.matmul.n = call.matmul.k = 4;
  call.matmul.hasC = true;
  call.matmul.c.strides = {0, 1};
  for (LibraryFamily family : {LibraryFamily::Host, LibraryFamily::Cuda})
    EXPECT_EQ(epilogueRefusal(call, family).value_or(""),
              "the library would add before the product is rounded to f16");
  call.matmul.type = ElementType::I32;
  EXPECT_FALSE(epilogueRefusal(call, LibraryFamily::Host));
  EXPECT_FALSE(callRefusal(call, LibraryFamily::Host));
  EXPECT_EQ(callRefusal(call, LibraryFamily::Cuda).value_or(""),
            "no library multiplies i32");
}

TEST(EpilogueText, APlanWithEpiloguesRoundTripsAndIsChecked) {
  GraphMaker maker;
  ValueId product = maker.matmul(maker.input({15, 8}), maker.input({8, 6}));
  maker.output(maker.map(Op::Add, {product, maker.input({6})}));
  maker.output(maker.map(Op::Tanh, {maker.graph.outputs[0]}));
  Plan plan, back;
  librarySteps(maker.graph, plan, LibraryFamily::Host);
  std::string error;
  ASSERT_TRUE(parsePlan(toString(maker.graph, plan), maker.graph, back, error))
      << error;
  EXPECT_EQ(back.steps, plan.steps);
  EXPECT_FALSE(
      parsePlan("library \"p0\" \"p1\" \"p2\"", maker.graph, back, error));
  EXPECT_EQ(error, "line 1: an epilogue leaves one result; others read 2 of "
                   "this one");
  EXPECT_FALSE(parsePlan("kernel \"p1\"\nlibrary \"p0\" \"p2\"", maker.graph,
                         back, error));
  EXPECT_THAT(error, ::testing::HasSubstr("cycle"));
  EXPECT_FALSE(parsePlan("library \"p1\" \"p0\"", maker.graph, back, error));
  EXPECT_EQ(error, "line 1: 'p1' is no library call");
}

} // namespace
