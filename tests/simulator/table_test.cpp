//===- table_test.cpp - every .ptxtest, one test each ---------------------===//
#include "tests/simulator/support/ptxtest.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

namespace lockstitch::ptxtest {
namespace {

const std::string Root =
    std::string(LOCKSTITCH_SOURCE_DIR) + "/tests/simulator/";

struct Folder {
  std::vector<std::string> mistakes;
  std::vector<Case> cases;
  explicit Folder(const char *name) : cases(readCases(Root + name, mistakes)) {}
};
Folder &table() {
  static Folder Cases("table");
  return Cases;
}
Folder &findings() {
  static Folder Cases("findings");
  return Cases;
}

std::string testName(const ::testing::TestParamInfo<Case> &info) {
  std::string name;
  for (char c : info.param.name)
    name += std::isalnum((unsigned char)c) ? c : '_';
  return name;
}

class Table : public ::testing::TestWithParam<Case> {};
class Findings : public ::testing::TestWithParam<Case> {};

void check(const Case &test) {
  std::string difference = run(test);
  EXPECT_TRUE(difference.empty())
      << test.file << ":" << test.line << ": " << test.rule << "\n"
      << difference;
}
TEST_P(Table, IsRight) { check(GetParam()); }
TEST_P(Findings, AreRight) { check(GetParam()); }

INSTANTIATE_TEST_SUITE_P(All, Table, ::testing::ValuesIn(table().cases),
                         testName);
INSTANTIATE_TEST_SUITE_P(All, Findings, ::testing::ValuesIn(findings().cases),
                         testName);

void reads(const Folder &folder, size_t atLeast) {
  for (const std::string &mistake : folder.mistakes)
    ADD_FAILURE() << mistake;
  EXPECT_GE(folder.cases.size(), atLeast);
}
#ifdef LOCKSTITCH_PTXAS
/// Runs the assembler over these cases; true when it takes them all.
bool assembles(const std::vector<const Case *> &cases,
               const std::string &target, std::string &messages) {
  std::string folder = std::string(LOCKSTITCH_BINARY_DIR) + "/ptxtest";
  std::filesystem::create_directories(folder);
  std::string command =
      std::string(LOCKSTITCH_PTXAS) + " -c -O0 -arch=" + target;
  for (size_t i = 0; i < cases.size(); ++i) {
    std::string text = cases[i]->text();
    // All in one go: the names must differ.
    for (const char *entry : {".entry test(", ".entry k("})
      if (size_t at = text.find(entry); at != std::string::npos)
        text.replace(at + 7, text.find('(', at) - at - 7,
                     "c" + std::to_string(i));
    std::string name = cases[i]->name;
    for (char &c : name)
      c = std::isalnum((unsigned char)c) ? c : '_';
    std::string path = folder + "/" + name + ".ptx";
    std::ofstream(path) << text;
    command += " " + path;
  }
  std::string log = folder + "/log.txt";
  bool ok =
      std::system((command + " -o " + folder + "/out.cubin > " + log + " 2>&1")
                      .c_str()) == 0;
  std::ifstream in(log);
  messages.assign(std::istreambuf_iterator<char>(in), {});
  return ok;
}

/// What is tested is PTX: NVIDIA's assembler takes every text, but for those
/// that say that it does not.
TEST(Assembler, TakesEveryCase) {
  std::map<std::string, std::vector<const Case *>> byTarget;
  for (const Folder *folder : {&table(), &findings()})
    for (const Case &c : folder->cases)
      if (c.assembles)
        byTarget[c.target].push_back(&c);
  std::string messages;
  for (const auto &[target, cases] : byTarget)
    EXPECT_TRUE(assembles(cases, target, messages)) << messages;
}
TEST(Assembler, RefusesWhatIsNoPtx) {
  std::string messages;
  for (const Folder *folder : {&table(), &findings()})
    for (const Case &c : folder->cases)
      if (!c.assembles)
        EXPECT_FALSE(assembles({&c}, c.target, messages)) << c.name;
}
#endif

TEST(Files, TableIsWellFormed) { reads(table(), 150); }
TEST(Files, FindingsAreWellFormed) { reads(findings(), 40); }

} // namespace
} // namespace lockstitch::ptxtest
