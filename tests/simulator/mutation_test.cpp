//===- mutation_test.cpp - are faults found? ------------------------------===//
//
// Takes kernels that Lockstitch emitted, that nvcc compiled and that a person
// wrote, makes every mutant of mutate.h of each, none chosen, and runs it. A
// mutant is caught when it is refused, when there is a finding, or when an
// output differs, under one of a few seeds.
//
// Those that nothing catches are listed in mutation_survivors.txt with the
// reason: `equivalent` ones change nothing that may be observed, `missed` ones
// do. The test fails when less than 95 % of the observable mutants are caught,
// or when the list is not exactly what survives.
//
//===----------------------------------------------------------------------===//
#include "tests/simulator/support/cuda_kernels.h"
#include "tests/simulator/support/mutate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <iostream>
#include <map>
#include <mutex>
#include <numeric>
#include <set>
#include <sstream>
#include <thread>

namespace lockstitch::simtest {
namespace {

const std::string Root =
    std::string(LOCKSTITCH_SOURCE_DIR) + "/tests/simulator/";
constexpr unsigned Seeds = 4;

struct Target {
  std::string name; // file and kernel
  std::string text;
  Setup setup;
};

std::vector<Target> targets() {
  std::vector<Target> list;
  auto add = [&](const char *origin, const std::string &file,
                 const Setup &setup) {
    list.push_back({std::string(origin) + "/" + setup.kernel,
                    extractKernel(readFile(Root + file), setup.kernel), setup});
    // None of these kernels depends on an order: bit for bit.
    for (Buffer &b : list.back().setup.arguments)
      b.floatKind = 0;
  };
  auto named = [&](const char *name) { list.back().name = name; };

  // Emitted by Lockstitch (see README.md for the models).
  add("emitted", "mutation/emitted_softmax.ptx",
      Setup("k0_softmax", 6, 128)
          .constant("x", numbers(1800, 1))
          .out<float>("y", 1800));
  named("emitted/softmax");
  list.back().setup.shared = 32;
  add("emitted", "mutation/emitted_softmax_1024.ptx",
      Setup("k0_softmax", 4, 256)
          .constant("x", numbers(4096, 2))
          .out<float>("y", 4096));
  named("emitted/softmax_1024");
  list.back().setup.shared = 64;
  add("emitted", "mutation/emitted_layer_norm.ptx",
      Setup("k0_ln", 6, 64)
          .constant("x", numbers(1200, 3))
          .constant("scale", numbers(200, 4))
          .constant("bias", numbers(200, 5))
          .out<float>("y", 1200));
  named("emitted/layer_norm");
  list.back().setup.shared = 32;
  add("emitted", "mutation/emitted_transpose.ptx",
      Setup("k0_r", 7, 256)
          .constant("x", numbers(3150, 6))
          .out<float>("y", 3150));
  named("emitted/transpose");
  add("emitted", "mutation/emitted_reduce.ptx",
      Setup("k0_rs", 3, 1024)
          .constant("x", numbers(12000, 7))
          .out<float>("y", 3));
  named("emitted/reduce");
  list.back().setup.shared = 128;

  // Compiled by nvcc.
  for (const CudaKernel &k : cudaKernels())
    for (const char *wanted :
         {"softmax_shared", "softmax_vector", "softmax_half", "layer_norm",
          "transpose_padded", "histogram", "reduce_last_block",
          "reduce_grid_sync", "product_async", "reduce_shared"})
      if (k.setup.kernel == wanted)
        add("nvcc", "cuda/ptx/kernels.ptx", k.setup);

  // Written by hand.
  const char *Hand = "mutation/handwritten.ptx";
  add("hand", Hand,
      Setup("hand_softmax", 3, 64)
          .constant("x", numbers(192, 8))
          .out<float>("y", 192));
  Setup transpose("hand_transpose", 3, 16);
  transpose.block[1] = 16;
  transpose.grid[1] = 2;
  add("hand", Hand,
      transpose.constant("x", numbers(29 * 37, 9))
          .out<float>("y", 29 * 37)
          .scalar(29)
          .scalar(37));
  std::vector<uint8_t> letters(300);
  for (size_t i = 0; i < letters.size(); ++i)
    letters[i] = (uint8_t)(i * 7 % 16);
  add("hand", Hand,
      Setup("hand_histogram", 5, 64)
          .constant("x", letters)
          .inout("bins", std::vector<uint32_t>(16))
          .scalar(300));
  std::vector<uint32_t> counted(320);
  std::iota(counted.begin(), counted.end(), 1000);
  add("hand", Hand,
      Setup("hand_last_block", 5, 64)
          .constant("x", counted)
          .out<uint32_t>("partial", 5)
          .in("counter", std::vector<uint32_t>{0})
          .out<uint32_t>("y", 1));
  Setup grid("hand_grid", 4, 64);
  grid.cooperative = true;
  add("hand", Hand,
      grid.out<uint32_t>("data", 256)
          .in("counter", std::vector<uint32_t>{0})
          .out<uint32_t>("y", 256));
  counted.resize(512);
  std::iota(counted.begin(), counted.end(), 1);
  add("hand", Hand,
      Setup("hand_async", 2, 64)
          .constant("x", counted)
          .out<uint32_t>("y", 128));
  return list;
}

struct Verdict {
  std::string how; // refused, a kind of finding, values; empty: survived
};

Verdict judge(const Setup &setup, const Mutant &mutant,
              const std::vector<std::vector<uint8_t>> &right) {
  Diagnostic why;
  auto module = Module::parse(mutant.text, why);
  if (!module)
    return {"refused"};
  for (unsigned seed = 0; seed < Seeds; ++seed) {
    Options options = mutant.options;
    options.seed = seed;
    options.budget = 100000;
    Outcome outcome = run(*module, setup, options);
    if (outcome.result.error)
      return {"refused"};
    if (!outcome.result.findings.empty())
      return {name(outcome.result.findings[0].kind)};
    size_t next = 0;
    for (const Buffer &b : setup.arguments)
      if (b.isOutput) {
        if (!same(b, right[next], outcome.outputs[next]))
          return {"values"};
        ++next;
      }
  }
  return {};
}

std::string key(const Target &target, const Mutant &mutant) {
  return target.name + " " + mutant.kind + " " + std::to_string(mutant.number) +
         " " + mutant.what;
}

/// `equivalent|missed KEY # reason`
std::map<std::string, std::pair<bool, std::string>> survivorsFile() {
  std::map<std::string, std::pair<bool, std::string>> out;
  std::istringstream in(readFile(Root + "mutation_survivors.txt"));
  std::string line;
  while (std::getline(in, line)) {
    if (line.empty() || line[0] == '#')
      continue;
    size_t space = line.find(' '), hash = line.rfind(" # ");
    std::string verdict = line.substr(0, space);
    EXPECT_TRUE(verdict == "equivalent" || verdict == "missed") << line;
    EXPECT_TRUE(hash != std::string::npos && hash + 3 < line.size())
        << "no reason: " << line;
    if (hash == std::string::npos)
      continue;
    out[line.substr(space + 1, hash - space - 1)] = {verdict == "equivalent",
                                                     line.substr(hash + 3)};
  }
  return out;
}

TEST(Mutation, ObservableFaultsAreCaught) {
  auto listed = survivorsFile();
  std::map<std::string, std::map<std::string, unsigned>> table;
  std::map<std::string, unsigned> hows;
  std::vector<std::string> survivors;
  unsigned total = 0, caught = 0, equivalent = 0;
  for (const Target &target : targets()) {
    Diagnostic why;
    auto module = Module::parse(target.text, why);
    ASSERT_TRUE(module) << target.name << ": line " << why.line << ": "
                        << why.message;
    Outcome original = run(*module, target.setup);
    ASSERT_FALSE(original.result.error)
        << target.name << ": " << original.result.error.message;
    for (const Finding &f : original.result.findings)
      ADD_FAILURE() << target.name
                    << " is not clean: " << f.toText(target.setup.kernel);
    std::vector<Mutant> mutants = mutantsOf(target.text, target.setup);
    ASSERT_GE(mutants.size(), 5u) << target.name;
    std::vector<Verdict> verdicts(mutants.size());
    std::atomic<size_t> next{0};
    auto work = [&] {
      for (size_t i; (i = next++) < mutants.size();)
        verdicts[i] = judge(target.setup, mutants[i], original.outputs);
    };
    std::thread other(work);
    work();
    other.join();
    for (size_t i = 0; i < mutants.size(); ++i) {
      ++total;
      auto &row = table[target.name];
      ++row[mutants[i].kind];
      if (!verdicts[i].how.empty()) {
        ++caught;
        ++row[mutants[i].kind + " caught"];
        ++hows[verdicts[i].how];
        continue;
      }
      std::string id = key(target, mutants[i]);
      survivors.push_back(id);
      auto it = listed.find(id);
      if (it == listed.end())
        ADD_FAILURE() << "a new survivor: " << id;
      else if (it->second.first) {
        ++equivalent;
        ++row[mutants[i].kind + " equivalent"];
      }
    }
  }
  std::set<std::string> now(survivors.begin(), survivors.end());
  for (const auto &[id, entry] : listed)
    EXPECT_TRUE(now.count(id))
        << "listed in mutation_survivors.txt, but caught or gone: " << id;

  std::ofstream file(std::string(LOCKSTITCH_BINARY_DIR) +
                     "/mutation_survivors.txt");
  for (const std::string &id : survivors) {
    auto it = listed.find(id);
    file << (it == listed.end() || !it->second.first ? "missed "
                                                     : "equivalent ")
         << id << " # " << (it == listed.end() ? "" : it->second.second)
         << "\n";
  }
  static const char *const Kinds[] = {"barrier", "index", "predicate",
                                      "shrink"};
  std::cout << "caught / observable (equivalent) of each kind\n";
  for (auto &[name, row] : table) {
    std::cout << "  " << name
              << std::string(28 - std::min<size_t>(27, name.size()), ' ');
    for (const char *kind : Kinds) {
      std::string k = kind;
      std::cout << "  " << kind << " " << row[k + " caught"] << "/"
                << row[k] - row[k + " equivalent"] << " ("
                << row[k + " equivalent"] << ")";
    }
    std::cout << "\n";
  }
  std::cout << "by:";
  for (auto &[how, n] : hows)
    std::cout << " " << how << " " << n;
  unsigned observable = total - equivalent;
  std::cout << "\n"
            << total << " mutants, " << equivalent << " equivalent, " << caught
            << " of " << observable
            << " observable ones caught: " << 100.0 * caught / observable
            << " %\n";
  EXPECT_GE(caught, observable * 0.95);
  EXPECT_GE(total, 300u);
}

/// The values of the emitted and hand-written kernels, against C++.
TEST(Mutation, OriginalsAreRight) {
  for (const Target &target : targets()) {
    Diagnostic why;
    auto module = Module::parse(target.text, why);
    ASSERT_TRUE(module);
    for (unsigned seed = 0; seed < 20; ++seed) {
      Options options;
      options.seed = seed;
      Outcome outcome = run(*module, target.setup, options);
      for (const Finding &f : outcome.result.findings)
        ADD_FAILURE() << target.name << ", seed " << seed << ": "
                      << f.toText(target.setup.kernel);
      if (target.name.find("softmax") != std::string::npos &&
          target.name.rfind("nvcc", 0) != 0) {
        auto *y = reinterpret_cast<const float *>(outcome.outputs[0].data());
        auto *x = reinterpret_cast<const float *>(
            target.setup.arguments[0].content.data());
        size_t n = outcome.outputs[0].size() / 4 / target.setup.grid[0];
        for (size_t r = 0; r < target.setup.grid[0]; ++r) {
          double sum = 0, top = -1e30;
          for (size_t i = 0; i < n; ++i)
            top = std::max(top, (double)x[r * n + i]);
          for (size_t i = 0; i < n; ++i)
            sum += std::exp(x[r * n + i] - top);
          for (size_t i = 0; i < n; ++i)
            ASSERT_NEAR(y[r * n + i], std::exp(x[r * n + i] - top) / sum, 3e-7)
                << target.name;
        }
      }
      auto words = [&](size_t i) {
        std::vector<uint32_t> w(outcome.outputs[i].size() / 4);
        std::memcpy(w.data(), outcome.outputs[i].data(), 4 * w.size());
        return w;
      };
      if (target.name == "hand/hand_last_block") {
        EXPECT_EQ(words(1)[0], 320u * 1000 + 320 * 319 / 2);
      } else if (target.name == "hand/hand_grid") {
        for (uint32_t i = 0; i < 256; ++i)
          ASSERT_EQ(words(1)[i], (255 - i) * (255 - i));
      } else if (target.name == "hand/hand_async") {
        for (uint32_t b = 0; b < 2; ++b)
          for (uint32_t i = 0; i < 64; ++i) {
            uint32_t sum = 0;
            for (uint32_t tile = 0; tile < 4; ++tile)
              sum += b * 256 + tile * 64 + 63 - i + 1;
            ASSERT_EQ(words(0)[b * 64 + i], sum);
          }
      } else if (target.name == "hand/hand_transpose") {
        auto x = numbers(29 * 37, 9);
        auto *y = reinterpret_cast<const float *>(outcome.outputs[0].data());
        for (size_t r = 0; r < 29; ++r)
          for (size_t c = 0; c < 37; ++c)
            ASSERT_EQ(y[c * 29 + r], x[r * 37 + c]);
      } else if (target.name == "hand/hand_histogram") {
        std::vector<uint32_t> bins(16);
        for (size_t i = 0; i < 300; ++i)
          ++bins[i * 7 % 16];
        EXPECT_EQ(words(0), bins);
      }
    }
  }
}

} // namespace
} // namespace lockstitch::simtest
