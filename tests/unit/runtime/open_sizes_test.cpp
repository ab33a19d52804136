// Programs with open sizes: one kernel, many shapes.
#include "runtime/program/artifact.h"
#include "runtime/program/bind.h"
#include "runtime/program/validate.h"
#include "runtime/session/session.h"
#include "tests/unit/runtime/test_programs.h"

#include <gmock/gmock.h>

#include <cstring>
#include <filesystem>
#include <thread>

#include <unistd.h>

using namespace lockstitch;
using namespace lockstitch::testing;
using ::testing::HasSubstr;

namespace {

std::shared_ptr<const Session> open(Program program, int64_t cap = 0) {
  auto session = Session::create(
      std::make_shared<const Program>(std::move(program)),
      {.device = DeviceKind::Host, .threads = 2, .memoryCap = cap});
  EXPECT_TRUE(session.ok()) << text(session);
  return session.ok() ? *session : nullptr;
}

/// Runs openProgram on n rows, `offset` bytes off the alignment.
void expectRight(ExecutionContext &context, int64_t n, size_t offset = 0) {
  std::vector<std::byte> x(n * 64 + 64), y(n * 64 + 64);
  for (int64_t i = 0; i < n * 16; ++i) {
    auto value = static_cast<float>(i % 101);
    std::memcpy(x.data() + offset + i * 4, &value, 4);
  }
  TensorView in{ElementType::F32, {n, 16}, x.data() + offset};
  MutableTensorView out{ElementType::F32, {n, 16}, y.data() + offset};
  Status status = context.run({&in, 1}, {&out, 1});
  ASSERT_TRUE(status.ok()) << text(status);
  for (int64_t i = 0; i < n * 16; ++i) {
    float value;
    std::memcpy(&value, y.data() + offset + i * 4, 4);
    ASSERT_EQ(value, 4 * static_cast<float>(i % 101)) << i << " of " << n;
  }
}

std::string refusal(const Session &session, std::vector<int64_t> inShape,
                    std::vector<int64_t> outShape) {
  auto context = session.createContext();
  EXPECT_TRUE(context.ok()) << text(context);
  std::vector<float> memory(1 << 16);
  TensorView in{ElementType::F32, std::move(inShape), memory.data()};
  MutableTensorView out{ElementType::F32, std::move(outShape),
                        memory.data() + (1 << 15)};
  return text((*context)->run({&in, 1}, {&out, 1}));
}

TEST(OpenSizes, OneKernelRunsAtManySizes) {
  auto session = open(openProgram());
  auto context = session->createContext();
  ASSERT_TRUE(context.ok()) << text(context);
  for (int64_t n : {4, 1024, 8, 8, 100, 4, 512, 1000})
    expectRight(**context, n);
  for (int64_t n : {4, 1024, 8})
    expectRight(**context, n, 4); // by way of staging memory that grows
}

TEST(OpenSizes, MoreSizesThanAreKept) {
  auto session = open(openProgram());
  auto context = session->createContext();
  for (int round = 0; round < 2; ++round)
    for (int64_t n = 4; n <= 400; n += 4)
      expectRight(**context, n);
}

TEST(OpenSizes, ContextsRunDifferentSizesAtTheSameTime) {
  auto session = open(openProgram());
  std::vector<std::thread> users;
  for (int user = 0; user < 4; ++user)
    users.emplace_back([&, user] {
      auto context = session->createContext();
      for (int64_t run = 0; run < 20; ++run)
        expectRight(**context, 4 * (1 + (run * 37 + user) % 200));
    });
  for (std::thread &user : users)
    user.join();
}

TEST(OpenSizes, AKnownValueMakesThemNumbersWhenItIsLoaded) {
  Program program = openProgram();
  program.symbols[0].value = 12;
  auto session = open(std::move(program));
  EXPECT_EQ(session->program().inputs[0].extents(),
            (std::vector<int64_t>{12, 16}));
  EXPECT_EQ(session->target().arenaBytes.value(), 2 * 768);
  auto context = session->createContext();
  expectRight(**context, 12);
  EXPECT_THAT(refusal(*session, {8, 16}, {8, 16}),
              HasSubstr("was compiled for x f32[12x16], got f32[8x16]"));
}

TEST(OpenSizes, WorkspaceOfAnotherSizeStartsAtZero) {
  SymbolTable symbols;
  Dim n = Dim::symbol(symbols.getOrCreate("n"));
  Program program = countRuns(n * 4);
  program.symbols = symbols;
  program.inputs = {{"x", ElementType::F32, {n}}};
  auto session = open(std::move(program));
  auto context = session->createContext();
  std::vector<float> x(8);
  std::vector<int32_t> counts;
  for (int64_t size : {2, 2, 3, 3, 2}) {
    int32_t count = 0;
    TensorView in{ElementType::F32, {size}, x.data()};
    MutableTensorView out{ElementType::I32, {1}, &count};
    Status status = (*context)->run({&in, 1}, {&out, 1});
    ASSERT_TRUE(status.ok()) << text(status);
    counts.push_back(count);
  }
  EXPECT_THAT(counts, ::testing::ElementsAre(1, 2, 1, 2, 1));
}

TEST(OpenSizes, LinearDimensionsAndEqualitiesGiveValues) {
  Program program;
  SymbolTable &symbols = program.symbols;
  Dim n = Dim::symbol(symbols.getOrCreate("n")),
      m = Dim::symbol(symbols.getOrCreate("m"));
  ASSERT_TRUE(symbols.equate(1, n * n + 1).ok());
  program.inputs = {{"x", ElementType::F32, {4 * n + 2}},
                    {"y", ElementType::F32, {m, n + m}}};
  auto bind = [&](std::vector<std::vector<int64_t>> shapes) {
    return bindSymbols(program, shapes);
  };
  auto values = bind({{14}, {10, 13}});
  ASSERT_TRUE(values.ok()) << text(values);
  EXPECT_THAT(*values, ::testing::ElementsAre(3, 10));
  std::string takes = " (the program's inputs are: x f32[4*n + 2], y f32[m x n "
                      "+ m] where 1 <= m, m = n*n + 1)";
  EXPECT_EQ(text(bind({{15}, {10, 13}})),
            "input 'x': the program takes x f32[4*n + 2], where n = 3, got "
            "[15]" +
                takes);
  EXPECT_EQ(text(bind({{14}, {10, 14}})),
            "input 'y': the program takes y f32[m x n + m], where n = 3, m = "
            "10, got [10x14]" +
                takes);
  program.inputs.pop_back();
  EXPECT_EQ(text(bind({{15}})),
            "input 'x': no 'n' makes 4*n + 2 = 15 (the program's inputs are: x "
            "f32[4*n + 2] where 1 <= m, m = n*n + 1)");
  program.inputs.push_back({"y", ElementType::F32, {m, n + m}});
  EXPECT_EQ(text(bind({{14}})), "inputs: the program has 2, got 1" + takes);
  EXPECT_EQ(text(bind({{14, 1}, {10, 13}})),
            "input 'x': the program takes x f32[4*n + 2], got [14x1]" + takes);
}

// --- One test per message ---

constexpr const char *kTakes = " (the program's inputs are: x f32[n x 16] "
                               "where 1 <= n <= 1024, n a multiple of 4)";

TEST(OpenSizesRefuse, AnotherDivisor) {
  auto session = open(openProgram());
  EXPECT_EQ(refusal(*session, {7, 16}, {7, 16}),
            std::string("symbol 'n': must be a multiple of 4, but is 7") +
                kTakes);
}

TEST(OpenSizesRefuse, BeyondTheRange) {
  auto session = open(openProgram());
  EXPECT_EQ(refusal(*session, {1028, 16}, {1028, 16}),
            std::string("symbol 'n': must be in [1, 1024], but is 1028") +
                kTakes);
}

TEST(OpenSizesRefuse, AnotherFixedExtent) {
  auto session = open(openProgram());
  EXPECT_EQ(refusal(*session, {8, 15}, {8, 16}),
            std::string("input 'x': the program takes x f32[n x 16], got "
                        "[8x15]") +
                kTakes);
}

TEST(OpenSizesRefuse, AnOutputOfAnotherSize) {
  auto session = open(openProgram());
  EXPECT_EQ(refusal(*session, {8, 16}, {4, 16}),
            "output 'y': the program was compiled for y f32[8x16], got "
            "f32[4x16] (the program's outputs are: y f32[8x16])");
}

TEST(OpenSizesRefuse, ASymbolThatNoInputGives) {
  Program program = openProgram();
  program.symbols.getOrCreate("free");
  auto session = open(std::move(program));
  EXPECT_THAT(refusal(*session, {8, 16}, {8, 16}),
              HasSubstr("symbol 'free': has no value: the shapes of the inputs "
                        "do not give one"));
}

TEST(OpenSizesRefuse, ASizeBeyond64Bits) {
  Program program = openProgram();
  Dim n = Dim::symbol(0);
  program.targets[0].arenaBytes = n * n * n * n * n * n * n * n;
  auto session = open(std::move(program));
  EXPECT_EQ(refusal(*session, {1024, 16}, {1024, 16}),
            "size n*n*n*n*n*n*n*n: does not fit in 64 bits for these inputs "
            "(give smaller inputs)");
}

TEST(OpenSizesRefuse, SizesThatContradictEachOtherWhenBound) {
  Program program = openProgram();
  program.targets[0].arenaBytes = 4096; // enough for n <= 32
  auto session = open(std::move(program));
  auto context = session->createContext();
  expectRight(**context, 32);
  EXPECT_THAT(refusal(*session, {36, 16}, {36, 16}),
              HasSubstr("outside its memory of 4096 bytes"));
}

TEST(OpenSizesRefuse, AMemoryCap) {
  auto session = open(openProgram(), 64 * 1024);
  auto context = session->createContext();
  expectRight(**context, 8);
  EXPECT_THAT(refusal(*session, {1024, 16}, {1024, 16}),
              HasSubstr("of the memory cap of"));
  expectRight(**context, 8); // and goes on
}

TEST(OpenSizesRefuse, AnOpenPrologue) {
  Program program = openProgram();
  TargetProgram &target = program.targets[0];
  Step step = target.steps[1];
  target.prologue = {step};
  EXPECT_EQ(
      text(Session::create(std::make_shared<const Program>(std::move(program)),
                           {.device = DeviceKind::Host, .threads = 1})),
      "target host: its prologue has the open size 64*n, but runs before "
      "there are inputs (compile the model again with --dim for the "
      "symbols of that size)");
}

TEST(OpenSizesRefuse, WhatIsWrongWhateverTheSizes) {
  auto whyNot = [](auto change) {
    Program program = openProgram();
    change(program);
    return text(validate(program));
  };
  EXPECT_EQ(whyNot([](Program &) {}), "");
  EXPECT_THAT(
      whyNot([](Program &p) { p.targets[0].arenaBytes = Dim::symbol(5); }),
      HasSubstr("mentions a symbol that is not there"));
  EXPECT_THAT(whyNot([](Program &p) {
                p.targets[0].arenaBytes = Dim::symbol(0) * INT64_MAX * 2;
              }),
              HasSubstr("leaves 64 bits"));
  EXPECT_THAT(whyNot([](Program &p) {
                p.constantInfos = {{"c", ElementType::F32, {Dim::symbol(0)}}};
                p.constants.push_back({});
              }),
              HasSubstr("constant 'c' has an impossible shape"));
  EXPECT_THAT(whyNot([](Program &p) { p.targets[0].steps[0].args.pop_back(); }),
              HasSubstr("has 2 arguments instead of 3"));
  EXPECT_THAT(whyNot([](Program &p) {
                p.targets[0].steps[0].args[2].space = BufferRef::Space::Input;
              }),
              HasSubstr("writes input 0"));
}

// --- On disk ---

struct OpenArtifact : ::testing::Test {
  OpenArtifact()
      : path(::testing::TempDir() + "open_" + std::to_string(getpid()) +
             ".lsp") {}
  ~OpenArtifact() override { std::filesystem::remove(path); }
  std::string path;
};

TEST_F(OpenArtifact, KeepsSymbolsAndSizes) {
  Program before = openProgram();
  ASSERT_TRUE(before.symbols
                  .equate(before.symbols.getOrCreate("twice the \"n\""),
                          Dim::symbol(0) * 2)
                  .ok());
  before.symbols[before.symbols.getOrCreate("known")].value = 5;
  before.targets[0].kernels[0].grid = {ceilDiv(Dim::symbol(0), 8), 2, 3};
  before.targets[0].kernels[0].sharedBytes = Dim::symbol(0) * 3;
  before.targets[0].workspaceBytes = Dim::symbol(0) + 7;
  Status written = writeArtifact(before, path);
  ASSERT_TRUE(written.ok()) << text(written);
  auto read = readArtifact(path);
  ASSERT_TRUE(read.ok()) << text(read);
  EXPECT_EQ((*read)->symbols, before.symbols);
  EXPECT_EQ((*read)->inputs, before.inputs);
  EXPECT_EQ((*read)->outputs, before.outputs);
  const TargetProgram &a = (*read)->targets[0], &b = before.targets[0];
  EXPECT_EQ(a.kernels, b.kernels);
  EXPECT_EQ(a.arenaBytes, b.arenaBytes);
  EXPECT_EQ(a.workspaceBytes, b.workspaceBytes);
  for (size_t i = 0; i < b.steps.size(); ++i)
    EXPECT_EQ(a.steps[i].args, b.steps[i].args);
}

TEST_F(OpenArtifact, RunsFromDisk) {
  ASSERT_TRUE(writeArtifact(openProgram(), path).ok());
  auto read = readArtifact(path);
  ASSERT_TRUE(read.ok()) << text(read);
  auto session = open(**read);
  auto context = session->createContext();
  for (int64_t n : {4, 256, 64})
    expectRight(**context, n);
}

/// A reader that knows only numbers must not take it for a program of zeros.
TEST_F(OpenArtifact, HasAVersionOfItsOwn) {
  auto version = [&](const Program &program) {
    EXPECT_TRUE(writeArtifact(program, path).ok());
    std::FILE *file = std::fopen(path.c_str(), "rb");
    uint32_t words[3] = {};
    EXPECT_EQ(std::fread(words, 4, 3, file), 3u);
    std::fclose(file);
    return words[2];
  };
  EXPECT_EQ(version(openProgram()), 2u);
  EXPECT_EQ(version(addAndDouble(3)), 1u);
}

} // namespace
