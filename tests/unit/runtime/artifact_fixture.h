// What the tests of the artifact share.
#ifndef LOCKSTITCH_TESTS_UNIT_RUNTIME_ARTIFACT_FIXTURE_H
#define LOCKSTITCH_TESTS_UNIT_RUNTIME_ARTIFACT_FIXTURE_H

#include "runtime/program/artifact.h"
#include "tests/unit/runtime/test_programs.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <unistd.h>

namespace lockstitch::testing {

/// A folder of this test's own.
struct ArtifactTest : ::testing::Test {
  ArtifactTest() {
    folder = ::testing::TempDir() + "artifact_" + std::to_string(getpid()) +
             "_" +
             ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directory(folder);
    path = folder + "/a.lsp";
  }
  ~ArtifactTest() override { std::filesystem::remove_all(folder); }

  static std::string bytesOf(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file),
            std::istreambuf_iterator<char>()};
  }
  /// In place where there is a file: truncating and writing again makes file
  /// systems flush, thousands of times.
  void put(const std::string &bytes) {
    bool there = std::filesystem::exists(path);
    std::fstream(path, std::ios::binary | std::ios::out |
                           (there ? std::ios::in : std::ios::trunc))
        << bytes;
    if (there && std::filesystem::file_size(path) != bytes.size())
      std::filesystem::resize_file(path, bytes.size());
  }

  /// Reads the file at `path` and verifies all of it: "" if it was taken, else
  /// the messages.
  std::string readAll() {
    auto program = readArtifact(path);
    if (!program.ok()) {
      EXPECT_EQ(program.error().kind, ErrorKind::Refused);
      return strip(text(program));
    }
    return strip(text(verifyContents(**program)));
  }
  /// Without the path at the front.
  std::string strip(std::string message) {
    if (message.starts_with(path + ": "))
      message.erase(0, path.size() + 2);
    return message;
  }

  std::string folder, path;
};

/// Every field of every message has a value of its own.
inline Program everything() {
  Program program = addAndDouble(3);
  program.compilerVersion = "0.1.0";
  program.optionsHash = 0x123456789abcdef0;
  program.planHash = ~uint64_t{0};
  program.explorer = "none";
  program.totalNodes = 17;
  program.constantInfos.push_back({"empty", ElementType::BF16, {2, 0}});
  program.constants.push_back({});
  program.constantInfos.push_back({"odd", ElementType::U8, {65}});
  program.constants.push_back(blobOf(std::vector<uint8_t>(65, 9)));
  program.constantInfos.push_back({"computed", ElementType::F32, {3, 16}});
  program.constants.push_back({});
  TargetProgram &host = program.targets[0];
  host.code = blobOf(std::vector<char>(
      777, 'c')); // not the real one: files in this test are read over and over
  host.requiredCpu = "x86-64-v3";
  host.requiredFeatures = {"avx2", "fma"};
  host.floorKernels = 2;
  host.workspaceBytes = 64;
  Step prologue = host.steps[1];
  prologue.args = {constant(0, 192), constant(3, 192)};
  prologue.nodes = {"node", "Add#0"};
  prologue.schemes = {"thread"};
  prologue.lineNodes = {"node", ""};
  prologue.bytesRead = 192;
  prologue.bytesWritten = 193;
  prologue.estimatedMicroseconds = 1.25;
  host.prologue = {prologue};
  Step product;
  product.kind = Step::Kind::Library;
  product.name = "product";
  product.library.matmul.batch = {1};
  product.library.matmul.m = 3;
  product.library.matmul.n = 2;
  product.library.matmul.k = 1;
  product.library.matmul.a = {1, {5, 4, 1}};
  product.library.matmul.b = {0, {0, 2, 1}};
  product.library.matmul.c = {0, {0, 0, 1}};
  product.library.matmul.result = {0, {6, 2, 1}};
  product.library.matmul.hasC = true;
  product.library.matmul.alpha = 0.5f;
  product.library.matmul.beta = -2;
  product.args = {input(0, 192), constant(0, 192), constant(0, 192),
                  arena(0, 24)};
  host.steps.push_back(product);
  Step conv;
  conv.kind = Step::Kind::Library;
  conv.library.kind = LibraryCall::Kind::Conv;
  conv.library.conv = {ElementType::F32, 1,      2,      4,      2,
                       {3, 5},           {1, 2}, {3, 4}, {1, 1}, {1, 2},
                       {0, 1},           {0, 0}, true};
  conv.args = {input(0, 192), constant(0, 192), constant(0, 192),
               arena(0, 192)};
  host.steps.push_back(conv);
  Step copy;
  copy.kind = Step::Kind::Copy;
  copy.args = {arena(0, 24), {BufferRef::Space::Workspace, 0, 8, 24}};
  host.steps.push_back(copy);
  Step loop, inner;
  inner = copy;
  inner.args = {arena(0, 24), arena(0, 24)};
  inner.args[0].trips = {{0, 8, 0, 0}};
  inner.args[1].trips = {{0, 24, 1, 2}, {1, -3, 0, 0}};
  inner.args[1].offset = 6;
  loop.kind = Step::Kind::Loop;
  loop.name = "loop";
  loop.nodes = {"node"};
  loop.trips = 3;
  inner.name = "moving copy";
  Step nested = loop;
  nested.steps = {inner};
  loop.steps = {nested, copy};
  host.steps.push_back(loop);
  host.outputs = {output(0, 192)};

  TargetProgram gpu;
  gpu.target = "sm_90";
  KernelCode kernel = host.kernels[0];
  kernel.hash = 42;
  kernel.grid = {2, 3, 4};
  kernel.block = {5, 6, 7};
  kernel.sharedBytes = 1024;
  kernel.rowsPerTask = 3;
  gpu.kernels = {kernel};
  gpu.steps = {host.steps[0]};
  gpu.steps[0].args[2] = output(0, 192);
  gpu.code = blobOf(std::vector<char>(100, 'p'));
  gpu.cubin = blobOf(std::vector<char>(64, 'b'));
  program.targets.push_back(gpu);
  return program;
}

} // namespace lockstitch::testing

#endif // LOCKSTITCH_TESTS_UNIT_RUNTIME_ARTIFACT_FIXTURE_H
