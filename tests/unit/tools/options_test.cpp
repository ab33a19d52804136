#include "tools/lockstitch/messages.h"
#include "tools/lockstitch/options.h"

#include <gmock/gmock.h>

namespace lockstitch::tool {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<Invocation> parse(std::vector<const char *> arguments) {
  arguments.insert(arguments.begin(), "lockstitch");
  return parseCommandLine(static_cast<int>(arguments.size()), arguments.data());
}

template <typename Verb> Verb parsed(std::vector<const char *> arguments) {
  Result<Invocation> invocation = parse(std::move(arguments));
  if (!invocation.ok()) {
    ADD_FAILURE() << toText(invocation.error(), false);
    return {};
  }
  EXPECT_TRUE(std::holds_alternative<Verb>(*invocation));
  return std::get<Verb>(*invocation);
}

TEST(Options, RepeatedOptionsDoNotEatTheModel) {
  RunVerb verb = parsed<RunVerb>({"run", "--input", "a=1.npy", "--input",
                                  "b=2.npy", "model.onnx", "--dim", "n=3"});
  EXPECT_EQ(verb.model.model, "model.onnx");
  EXPECT_THAT(verb.model.inputs, ElementsAre("a=1.npy", "b=2.npy"));
  EXPECT_THAT(verb.model.dims, ElementsAre("n=3"));
}

TEST(Options, DefaultsOfRun) {
  RunVerb verb = parsed<RunVerb>({"run", "m"});
  EXPECT_EQ(verb.device.device, "auto");
  EXPECT_FALSE(verb.device.target);
  EXPECT_FALSE(verb.random);
  EXPECT_FALSE(verb.plan.explorer);
  EXPECT_EQ(verb.repeat, 1);
  EXPECT_EQ(verb.threads, 0);
}

TEST(Options, EverythingOfRun) {
  RunVerb verb = parsed<RunVerb>({"run",      "m",
                                  "--device", "simulator",
                                  "--target", "sm_80",
                                  "--check",  "--data-set",
                                  "d",        "--rtol",
                                  "0.5",      "--atol",
                                  "1e-3",     "--atol-rms",
                                  "2",        "--random",
                                  "7",        "--threads",
                                  "2",        "--repeat",
                                  "3",        "--explorer",
                                  "none",     "--report",
                                  "r",        "--save-outputs",
                                  "o"});
  EXPECT_EQ(verb.device.target, "sm_80");
  EXPECT_TRUE(verb.check.check);
  EXPECT_EQ(verb.check.rtol, 0.5);
  EXPECT_EQ(verb.check.atol, 1e-3);
  EXPECT_EQ(verb.check.atolRms, 2);
  EXPECT_EQ(verb.random, 7u);
  EXPECT_EQ(verb.threads, 2);
  EXPECT_EQ(verb.repeat, 3);
  EXPECT_EQ(verb.plan.explorer, "none");
  EXPECT_EQ(verb.common.report, "r");
  EXPECT_EQ(verb.saveOutputs, "o");
}

TEST(Options, TargetsOfCompileAreAList) {
  CompileVerb verb = parsed<CompileVerb>(
      {"compile", "m", "-o", "f", "--target", "host", "--target", "sm_90"});
  EXPECT_THAT(verb.targets, ElementsAre("host", "sm_90"));
}

TEST(Options, BetweenTakesTwo) {
  ExplainVerb verb =
      parsed<ExplainVerb>({"explain", "--between", "a", "b", "m"});
  EXPECT_THAT(verb.between, ElementsAre("a", "b"));
  EXPECT_EQ(verb.model.model, "m");
}

TEST(Options, ArgumentsOfSimulateKeepTheirOrderAndSigns) {
  SimulateVerb verb =
      parsed<SimulateVerb>({"simulate", "f", "k", "--arg", "i32=-1", "--arg",
                            "f32[4]", "--grid", "2,3", "--cooperative"});
  EXPECT_THAT(verb.args, ElementsAre("i32=-1", "f32[4]"));
  EXPECT_EQ(verb.grid, "2,3");
  EXPECT_TRUE(verb.cooperative);
}

TEST(Options, HelpIsNoError) {
  EXPECT_THAT(parsed<HelpText>({"--help"}).text, HasSubstr("simulate"));
  EXPECT_THAT(parsed<HelpText>({"run", "--help"}).text,
              HasSubstr("--atol-rms"));
  EXPECT_THAT(parsed<HelpText>({"--version"}).text, HasSubstr("lockstitch "));
}

TEST(Options, ReportIsFoundInAWrongCommandLine) {
  auto find = [](std::vector<const char *> arguments) {
    arguments.insert(arguments.begin(), "lockstitch");
    return findOption(static_cast<int>(arguments.size()), arguments.data(),
                      "--report", "");
  };
  EXPECT_EQ(find({"run", "--frob", "--report", "r.json"}), "r.json");
  EXPECT_EQ(find({"run", "--report=r.json"}), "r.json");
  EXPECT_EQ(find({"run", "--report"}), "");
  EXPECT_EQ(find({"run", "--report", "--json"}), "");
  EXPECT_EQ(find({"run", "--", "--report", "x"}), "");
}

TEST(OptionValues, Shapes) {
  EXPECT_THAT(*parseShape("1,3,48", ""), ElementsAre(1, 3, 48));
  EXPECT_THAT(*parseShape("0", ""), ElementsAre(0));
  EXPECT_TRUE(parseShape("", "")->empty());
  for (const char *wrong :
       {"1,", ",", "1,-2", "a", "1 2", "1,99999999999999999999"})
    EXPECT_FALSE(parseShape(wrong, "").ok()) << wrong;
}

TEST(OptionValues, NamesMayHaveEqualsSigns) {
  auto shapes = parseShapes({"a=b=2,3", "s="});
  ASSERT_TRUE(shapes.ok());
  EXPECT_THAT(shapes->at("a=b"), ElementsAre(2, 3));
  EXPECT_TRUE(shapes->at("s").empty());
}

TEST(OptionValues, Extents) {
  EXPECT_THAT(*parseExtents("4", ""), ElementsAre(4, 1, 1));
  EXPECT_THAT(*parseExtents("4,5,6", ""), ElementsAre(4, 5, 6));
  for (const char *wrong : {"", "0", "1,0", "1,2,3,4", "-1", "2147483648"})
    EXPECT_FALSE(parseExtents(wrong, "").ok()) << wrong;
}

TEST(OptionValues, Emit) {
  auto emit = parseEmit({"plan=a=b", "ptx=-"});
  ASSERT_TRUE(emit.ok());
  EXPECT_EQ(emit->at("plan"), "a=b");
  EXPECT_TRUE(emitsToOutput(*emit));
  EXPECT_FALSE(emitsToOutput(*parseEmit({"plan=p"})));
}

TEST(Messages, TextOfAnError) {
  Error error{ErrorKind::Refused,
              {{"MatMul#3", "m.onnx", "is odd", "make it even"},
               {"", "--dim n", "is gone", ""},
               {"Add#0", "", "no", ""}}};
  EXPECT_EQ(toText(error, false),
            "error: MatMul#3 (m.onnx): is odd\n  -> make it even\nerror: --dim "
            "n: is gone\nerror: Add#0: no\n");
  EXPECT_THAT(toText(error, true), HasSubstr("\x1b[1;31merror:\x1b[0m "));
  error.kind = ErrorKind::DeviceFailed;
  EXPECT_THAT(toText(error, false), HasSubstr("device error: "));
}

} // namespace
} // namespace lockstitch::tool
