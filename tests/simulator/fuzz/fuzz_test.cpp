//===- fuzz_test.cpp - ten thousand damaged PTX texts ---------------------===//
//
// Deterministic: mutates the PTX of these tests (bytes, lines, numbers, words
// of other lines) and runs what comes out. Nothing may crash, hang or be
// anything but an error, a finding or a result. bin/simulator_fuzz, built with
// LOCKSTITCH_FUZZ, does the same with coverage to guide it.
//
//===----------------------------------------------------------------------===//
#include "tests/simulator/fuzz/fuzz_target.h"
#include "tests/simulator/support/kernel_setup.h"
#include "tests/simulator/support/mutate.h"
#include "tests/simulator/support/ptxtest.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace lockstitch::simtest {
namespace {

struct Random {
  uint64_t state;
  uint64_t next() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  }
  size_t below(size_t n) { return n ? next() % n : 0; }
};

const std::vector<std::string> &corpus() {
  static const std::vector<std::string> Texts = [] {
    std::vector<std::string> texts;
    std::string root = std::string(LOCKSTITCH_SOURCE_DIR) + "/tests/simulator/";
    std::vector<std::string> mistakes;
    for (const char *folder : {"table", "findings", "counters"})
      for (const ptxtest::Case &c : ptxtest::readCases(root + folder, mistakes))
        texts.push_back(c.text());
    std::string cuda = readFile(root + "cuda/ptx/kernels.ptx");
    for (const char *kernel : {"softmax_vector", "histogram", "product_async",
                               "divergent", "reduce_grid_sync"})
      texts.push_back(extractKernel(cuda, kernel));
    for (const char *name : {"emitted_softmax", "emitted_layer_norm"})
      texts.push_back(readFile(root + "mutation/" + name + ".ptx"));
    return texts;
  }();
  return Texts;
}

std::string damaged(const std::string &original, Random &random) {
  std::string s = original;
  static const char *const Words[] = {"{",
                                      "}",
                                      "(",
                                      ")",
                                      "[",
                                      "]",
                                      ";",
                                      ",",
                                      "@%p1 ",
                                      "%r1",
                                      "%rd1",
                                      ".v4",
                                      ".b64",
                                      ".pred",
                                      "-1",
                                      "0x",
                                      "0f",
                                      "4294967295",
                                      "18446744073709551615",
                                      "\"",
                                      "/*",
                                      "//",
                                      ".reg .b32 %r<4000000000>;",
                                      ".shared .b8 q[4294967295];",
                                      "bra L;",
                                      "L:",
                                      "ret;",
                                      "bar.sync 0;",
                                      "call.uni f;",
                                      "+-2147483648",
                                      ".branchtargets",
                                      ".extern",
                                      ".align 3",
                                      "|",
                                      "!",
                                      "_",
                                      "\0x",
                                      "<",
                                      ">"};
  unsigned times = 1 + (unsigned)random.below(4);
  for (unsigned t = 0; t < times && !s.empty(); ++t) {
    size_t at = random.below(s.size());
    switch (random.below(8)) {
    case 0: // another byte
      s[at] = (char)random.next();
      break;
    case 1: // a word
      s.insert(at, Words[random.below(std::size(Words))]);
      break;
    case 2: // a piece is missing
      s.erase(at, random.below(40));
      break;
    case 3: // the text ends
      s.resize(at);
      break;
    case 4: { // a line of another text
      const std::string &other = corpus()[random.below(corpus().size())];
      size_t from = random.below(other.size());
      from = other.rfind('\n', from);
      from = from == std::string::npos ? 0 : from;
      size_t to = other.find('\n', from + 1);
      s.insert(s.rfind('\n', at) == std::string::npos ? 0 : s.rfind('\n', at),
               other.substr(from, to - from));
      break;
    }
    case 5: { // another digit
      size_t d = s.find_first_of("0123456789", at);
      if (d != std::string::npos)
        s[d] = (char)('0' + random.below(10));
      break;
    }
    case 6: { // a line twice
      size_t from = s.rfind('\n', at), to = s.find('\n', at);
      if (from != std::string::npos && to != std::string::npos)
        s.insert(to, s.substr(from, to - from));
      break;
    }
    case 7: { // two operands change places
      size_t comma = s.find(", ", at);
      if (comma != std::string::npos && comma + 5 < s.size())
        std::swap(s[comma - 1], s[comma + 3]);
      break;
    }
    }
  }
  return s;
}

TEST(Fuzz, TenThousandDamagedTexts) {
  ASSERT_GE(corpus().size(), 250u);
  Random random{88172645463325252ull};
  // The text that is being tried survives a crash.
  std::string path = std::string(LOCKSTITCH_BINARY_DIR) + "/fuzz_last.ptx";
  for (unsigned i = 0; i < 10000; ++i) {
    std::string text = damaged(corpus()[i % corpus().size()], random);
    std::ofstream(path, std::ios::binary) << text;
    runAnyText(text.data(), text.size());
  }
}

TEST(Fuzz, OddTexts) {
  std::vector<std::string> texts = {
      "",
      "\0",
      "\xff\xfe",
      ".",
      "..",
      "@",
      "\"",
      "/*",
      ".version",
      ".target",
      ".entry",
      ".visible .entry k",
      ".visible .entry k(",
      std::string(5000, '{'),
      std::string(5000, '('),
      std::string(1 << 20, ' '),
      "0x",
      "0f",
      ".file",
      ".loc 1 1",
      ".global .b8 x[99999999999999999999];",
      ".global .b64 x = x;",
      ".const .b8 x[] = {",
      ".visible .entry k() { .reg .b32 %r<99999999999>; mov.u32 %r99999999998, "
      "0; }",
      ".visible .entry k() { .local .b8 l[4294967296]; ret; }",
      ".visible .entry k() { .shared .b8 l[4294967296]; ret; }",
      ".visible .entry k() { call.uni k; ret; }",
      ".func f() { call.uni f; ret; } .visible .entry k() { call.uni f; ret; }",
      ".visible .entry k() { L: bra L; }",
      ".visible .entry k() { mov.u32 %r1, %tid.x; }",
      ".visible .entry k() { .reg .b32 %r; mov.u32 %r, {1, 2}; }"};
  for (const std::string &text : texts)
    runAnyText(text.data(), text.size());
  std::string deep = ".visible .entry k() {" + std::string(100000, '{');
  runAnyText(deep.data(), deep.size());
  std::string operands =
      ".visible .entry k() { add.u32 " + std::string(100000, '[') + ";}";
  runAnyText(operands.data(), operands.size());
  std::string negations =
      ".visible .entry k() { not.pred " + std::string(200000, '!') + ";}";
  runAnyText(negations.data(), negations.size());
  std::string pipes = ".visible .entry k() { setp a";
  for (int i = 0; i < 100000; ++i)
    pipes += "|a";
  runAnyText(pipes.data(), pipes.size());
}

/// The seed corpus of the real fuzzer: LOCKSTITCH_WRITE_CORPUS=DIR.
TEST(Fuzz, WritesItsCorpusOnRequest) {
  const char *directory = std::getenv("LOCKSTITCH_WRITE_CORPUS");
  if (!directory)
    GTEST_SKIP() << "LOCKSTITCH_WRITE_CORPUS is not set";
  std::filesystem::create_directories(directory);
  for (size_t i = 0; i < corpus().size(); ++i)
    std::ofstream(std::string(directory) + "/" + std::to_string(i) + ".ptx")
        << corpus()[i];
}

} // namespace
} // namespace lockstitch::simtest
