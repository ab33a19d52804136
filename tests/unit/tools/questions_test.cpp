#include "tools/lockstitch/questions.h"

#include <gmock/gmock.h>

namespace lockstitch::tool {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// kernel k0 {a b}, library call m, kernel k1 {c d}, kernel k2 {d e}: d is
/// computed twice.
TargetProgram target() {
  TargetProgram made;
  auto add = [&](const std::string &name, std::vector<std::string> nodes,
                 Step::Kind kind = Step::Kind::Launch) {
    Step step;
    step.kind = kind;
    step.name = name;
    step.nodes = std::move(nodes);
    made.steps.push_back(std::move(step));
  };
  add("k0", {"a", "b"});
  add("m", {"product"}, Step::Kind::Library);
  add("k1", {"c", "d"});
  add("k2", {"d", "e"});
  Step once;
  once.name = "table";
  once.nodes = {"constant"};
  made.prologue = {once};
  return made;
}

const std::vector<DecisionEntry> kDecisions = {
    {"a", "b", true, true, "saves bytes"},
    {"b", "product", false, false, "a library call"},
    {"product", "c", false, false, "a library call"},
    {"d", "e", false, true, "too many registers"},
    {"c", "e", false, false, "a cycle"}};

TEST(Questions, PlacesOfANode) {
  EXPECT_EQ(placesText(target(), "a"), "  kernel k0 (step 0) with b\n");
  EXPECT_EQ(placesText(target(), "product"), "  library call m (step 1)\n");
  EXPECT_EQ(placesText(target(), "d"),
            "  kernel k1 (step 2) with c\n  kernel k2 (step 3) with e\n");
  EXPECT_THAT(placesText(target(), "constant"),
              HasSubstr("once when the program is loaded"));
  EXPECT_EQ(placesText(target(), "nobody"), "");
}

TEST(Questions, PlacesInALoop) {
  TargetProgram made = target();
  Step loop;
  loop.kind = Step::Kind::Loop;
  loop.name = "l";
  loop.nodes = {"loop"};
  loop.trips = 4;
  loop.steps = {made.steps[2], made.steps[1]};
  made.steps = {made.steps[0], loop, made.steps[3]};
  EXPECT_EQ(placesText(made, "loop"), "  loop l (step 1)\n");
  EXPECT_EQ(placesText(made, "c"),
            "  kernel k1 (step 2, in a loop: 4 times) with d\n");
  EXPECT_EQ(placesText(made, "e"), "  kernel k2 (step 4) with d\n");
  EXPECT_THAT(betweenText(made, kDecisions, "product", "c"),
              HasSubstr("product is done by a library"));
}

TEST(Questions, DecisionsOfANode) {
  EXPECT_EQ(decisionsText(kDecisions, "e"),
            "  d and e: refused by profit: too many registers\n  c and e: "
            "refused by legality: a cycle\n");
}

TEST(Questions, NumbersOfADecision) {
  std::vector<DecisionEntry> decisions = {
      {"c",
       "e",
       false,
       true,
       "too few blocks",
       {{"launches_saved", 1, true}, {"us_a", 1.52345, false}}}};
  EXPECT_EQ(decisionsText(decisions, "e"),
            "  c and e: refused by profit: too few blocks\n"
            "    launches_saved 1, us_a 1.523\n");
  EXPECT_THAT(betweenText(target(), decisions, "c", "e"),
              HasSubstr("launches_saved 1, us_a 1.523"));
}

TEST(Questions, OneKernel) {
  std::string text = betweenText(target(), kDecisions, "a", "b");
  EXPECT_THAT(text, HasSubstr("a and b are one: kernel k0"));
  EXPECT_THAT(text, HasSubstr("saves bytes"));
}

TEST(Questions, RefusedDirectly) {
  std::string text = betweenText(target(), kDecisions, "c", "e");
  EXPECT_THAT(text, HasSubstr("c is in kernel k1"));
  EXPECT_THAT(text, HasSubstr("a cycle"));
}

TEST(Questions, LibraryCall) {
  EXPECT_THAT(betweenText(target(), kDecisions, "product", "c"),
              HasSubstr("product is done by a library"));
}

TEST(Questions, WhatLiesBetweenWhenNothingWasTried) {
  std::string text = betweenText(target(), kDecisions, "a", "c");
  EXPECT_THAT(
      text, HasSubstr("no merge of the two was tried; what lies between them"));
  EXPECT_THAT(text, HasSubstr("b and product: refused"));
  EXPECT_THAT(text, HasSubstr("product and c: refused"));
  EXPECT_THAT(text, Not(HasSubstr("registers")));
}

TEST(Questions, NothingBetween) {
  EXPECT_THAT(betweenText(target(), {}, "a", "c"),
              HasSubstr("no merge was tried"));
}

TEST(Questions, NodeWithoutAStep) {
  EXPECT_THAT(betweenText(target(), kDecisions, "a", "nobody"),
              HasSubstr("nobody is computed by no step"));
}

} // namespace
} // namespace lockstitch::tool
