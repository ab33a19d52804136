//===- counters_test.cpp - kernels with counters worked out by hand -------===//
//
// Reads counters/*.ptxtest: small kernels whose `count NAME: N` lines say what
// each counter must be. Each runs under six seeds and with one to three host
// threads; the figures must not move.
//
//===----------------------------------------------------------------------===//
#include "tests/simulator/support/ptxtest.h"

#include <gtest/gtest.h>

namespace lockstitch::ptxtest {
namespace {

struct Folder {
  std::vector<std::string> mistakes;
  std::vector<Case> cases;
  Folder()
      : cases(readCases(std::string(LOCKSTITCH_SOURCE_DIR) +
                            "/tests/simulator/counters",
                        mistakes)) {
    for (Case &c : cases)
      c.seeds = 6;
  }
};
Folder &folder() {
  static Folder Cases;
  return Cases;
}

std::string testName(const ::testing::TestParamInfo<Case> &info) {
  std::string name;
  for (char c : info.param.name)
    name += std::isalnum((unsigned char)c) ? c : '_';
  return name;
}

class CountersOf : public ::testing::TestWithParam<Case> {};

TEST_P(CountersOf, AreExact) {
  const Case &test = GetParam();
  std::string difference = run(test);
  EXPECT_TRUE(difference.empty())
      << test.file << ":" << test.line << ": " << test.rule << "\n"
      << difference;
}
INSTANTIATE_TEST_SUITE_P(All, CountersOf, ::testing::ValuesIn(folder().cases),
                         testName);

TEST(CounterFiles, AreWellFormed) {
  for (const std::string &mistake : folder().mistakes)
    ADD_FAILURE() << mistake;
  EXPECT_GE(folder().cases.size(), 20u);
  for (const Case &c : folder().cases)
    EXPECT_FALSE(c.counters.empty()) << c.name;
}

} // namespace
} // namespace lockstitch::ptxtest
