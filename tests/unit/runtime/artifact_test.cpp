#include "runtime/program/artifact.h"
#include "runtime/session/session.h"
#include "tests/unit/runtime/test_programs.h"

#include "runtime/program/manifest.pb.h"

#include <gmock/gmock.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace lockstitch;
using namespace lockstitch::testing;
using ::testing::HasSubstr;
using ::testing::StartsWith;

namespace {

/// A folder of this test's own.
struct ArtifactTest : ::testing::Test {
  ArtifactTest() {
    folder = ::testing::TempDir() + "artifact_" + std::to_string(getpid()) + "_" +
             ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directory(folder);
    path = folder + "/a.lsp";
  }
  ~ArtifactTest() override { std::filesystem::remove_all(folder); }

  static std::string bytesOf(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  /// In place where there is a file: truncating and writing again makes file systems flush, thousands of times.
  void put(const std::string &bytes) {
    bool there = std::filesystem::exists(path);
    std::fstream(path, std::ios::binary | std::ios::out | (there ? std::ios::in : std::ios::trunc)) << bytes;
    if (there && std::filesystem::file_size(path) != bytes.size())
      std::filesystem::resize_file(path, bytes.size());
  }

  /// Reads the file at `path` and verifies all of it: "" if it was taken, else the messages.
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
Program everything() {
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
  host.code = blobOf(std::vector<char>(777, 'c')); // not the real one: files in this test are read over and over
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
  product.args = {input(0, 192), constant(0, 192), constant(0, 192), arena(0, 24)};
  host.steps.push_back(product);
  Step conv;
  conv.kind = Step::Kind::Library;
  conv.library.kind = LibraryCall::Kind::Conv;
  conv.library.conv = {ElementType::F32, 1, 2, 4, 2, {3, 5}, {1, 2}, {3, 4}, {1, 1}, {1, 2}, {0, 1}, {0, 0}, true};
  conv.args = {input(0, 192), constant(0, 192), constant(0, 192), arena(0, 192)};
  host.steps.push_back(conv);
  Step copy;
  copy.kind = Step::Kind::Copy;
  copy.args = {arena(0, 24), {BufferRef::Space::Workspace, 0, 8, 24}};
  host.steps.push_back(copy);
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

void expectEqual(const Blob &a, const Blob &b) {
  ASSERT_EQ(a.bytes.size(), b.bytes.size());
  EXPECT_TRUE(std::equal(a.bytes.begin(), a.bytes.end(), b.bytes.begin()));
}

void expectEqual(const std::vector<Step> &a, const std::vector<Step> &b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].kind, b[i].kind);
    EXPECT_EQ(a[i].name, b[i].name);
    EXPECT_EQ(a[i].nodes, b[i].nodes);
    EXPECT_EQ(a[i].schemes, b[i].schemes);
    EXPECT_EQ(a[i].lineNodes, b[i].lineNodes);
    EXPECT_EQ(a[i].kernel, b[i].kernel);
    EXPECT_EQ(a[i].library, b[i].library);
    EXPECT_EQ(a[i].args, b[i].args);
    EXPECT_EQ(a[i].argNames, b[i].argNames);
    EXPECT_EQ(a[i].bytesRead, b[i].bytesRead);
    EXPECT_EQ(a[i].bytesWritten, b[i].bytesWritten);
    EXPECT_EQ(a[i].estimatedMicroseconds, b[i].estimatedMicroseconds);
  }
}

TEST_F(ArtifactTest, KeepsEverything) {
  Program before = everything();
  Status written = writeArtifact(before, path);
  ASSERT_TRUE(written.ok()) << text(written);
  EXPECT_TRUE(looksLikeArtifact(path));
  auto read = readArtifact(path);
  ASSERT_TRUE(read.ok()) << text(read);
  const Program &after = **read;
  EXPECT_EQ(after.model, before.model);
  EXPECT_EQ(after.compilerVersion, before.compilerVersion);
  EXPECT_EQ(after.optionsHash, before.optionsHash);
  EXPECT_EQ(after.planHash, before.planHash);
  EXPECT_EQ(after.explorer, before.explorer);
  EXPECT_EQ(after.totalNodes, before.totalNodes);
  EXPECT_EQ(after.inputs, before.inputs);
  EXPECT_EQ(after.outputs, before.outputs);
  EXPECT_EQ(after.constantInfos, before.constantInfos);
  ASSERT_EQ(after.constants.size(), before.constants.size());
  for (size_t i = 0; i < after.constants.size(); ++i)
    expectEqual(after.constants[i], before.constants[i]);
  ASSERT_EQ(after.targets.size(), before.targets.size());
  for (size_t i = 0; i < after.targets.size(); ++i) {
    const TargetProgram &a = after.targets[i], &b = before.targets[i];
    EXPECT_EQ(a.target, b.target);
    EXPECT_EQ(a.requiredCpu, b.requiredCpu);
    EXPECT_EQ(a.requiredFeatures, b.requiredFeatures);
    EXPECT_EQ(a.kernels, b.kernels);
    expectEqual(a.prologue, b.prologue);
    expectEqual(a.steps, b.steps);
    EXPECT_EQ(a.outputs, b.outputs);
    EXPECT_EQ(a.arenaBytes, b.arenaBytes);
    EXPECT_EQ(a.workspaceBytes, b.workspaceBytes);
    EXPECT_EQ(a.floorKernels, b.floorKernels);
    expectEqual(a.code, b.code);
    expectEqual(a.cubin, b.cubin);
  }
  EXPECT_EQ(readAll(), "");
}

TEST_F(ArtifactTest, EqualProgramsGiveEqualBytes) {
  ASSERT_TRUE(writeArtifact(everything(), path).ok());
  ASSERT_TRUE(writeArtifact(everything(), folder + "/b.lsp").ok());
  EXPECT_EQ(bytesOf(path), bytesOf(folder + "/b.lsp"));
  // Also by way of the file itself.
  ASSERT_TRUE(writeArtifact(**readArtifact(path), folder + "/c.lsp").ok());
  EXPECT_EQ(bytesOf(path), bytesOf(folder + "/c.lsp"));
}

TEST_F(ArtifactTest, LeavesOneFileWithUsualRights) {
  ASSERT_TRUE(writeArtifact(everything(), path).ok());
  ASSERT_TRUE(writeArtifact(everything(), path).ok()); // over the first
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()), 1);
  auto rights = std::filesystem::status(path).permissions();
  EXPECT_NE(rights & std::filesystem::perms::owner_read, std::filesystem::perms::none);
}

TEST_F(ArtifactTest, SectionsAreAlignedAndInPlace) {
  ASSERT_TRUE(writeArtifact(everything(), path).ok());
  auto read = readArtifact(path);
  ASSERT_TRUE(read.ok());
  for (const Blob &constant : (*read)->constants)
    EXPECT_EQ(reinterpret_cast<uintptr_t>(constant.bytes.data()) % 64, 0u);
}

TEST_F(ArtifactTest, BlobsKeepTheMapping) {
  ASSERT_TRUE(writeArtifact(everything(), path).ok());
  Blob blob;
  {
    auto read = readArtifact(path);
    blob = (*read)->constants[2];
  }
  EXPECT_TRUE(blob.verify().ok());
  EXPECT_EQ(static_cast<int>(blob.bytes[64]), 9);
}

TEST_F(ArtifactTest, RunsLikeTheProgramItWas) {
  ASSERT_TRUE(writeArtifact(addAndDouble(5), path).ok());
  auto program = readArtifact(path);
  ASSERT_TRUE(program.ok());
  auto session = Session::create(*program, {.device = DeviceKind::Host, .threads = 1});
  ASSERT_TRUE(session.ok()) << text(session);
  auto context = (*session)->createContext();
  std::vector<float> x(80, 2.0f), y(80);
  TensorView in{ElementType::F32, {5, 16}, x.data()};
  MutableTensorView out{ElementType::F32, {5, 16}, y.data()};
  ASSERT_TRUE((*context)->run({&in, 1}, {&out, 1}).ok());
  for (int i = 0; i < 80; ++i)
    EXPECT_EQ(y[i], 2 * (2 + static_cast<float>(i % 7)));
}

TEST_F(ArtifactTest, EveryFlippedByteIsRefused) {
  ASSERT_TRUE(writeArtifact(everything(), path).ok());
  const std::string good = bytesOf(path);
  for (unsigned flip : {0x01u, 0x80u, 0xffu})
    for (size_t i = 0; i < good.size(); ++i) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ flip);
      put(bad);
      ASSERT_NE(readAll(), "") << "byte " << i << " of " << good.size() << " xor " << flip;
    }
}

TEST_F(ArtifactTest, EveryTruncationIsRefused) {
  ASSERT_TRUE(writeArtifact(everything(), path).ok());
  const std::string good = bytesOf(path);
  for (size_t length = 0; length < good.size(); ++length) {
    put(good.substr(0, length));
    ASSERT_THAT(readAll(), HasSubstr(length ? "the artifact is truncated: " : "not an artifact: the file is empty")) << length;
  }
}

TEST_F(ArtifactTest, UnusedDamageIsFoundOnlyWhenUsed) {
  ASSERT_TRUE(writeArtifact(everything(), path).ok());
  std::string bytes = bytesOf(path);
  bytes[bytes.size() - 1] ^= 1; // in the last section, the GPU's code
  put(bytes);
  auto read = readArtifact(path);
  ASSERT_TRUE(read.ok());
  EXPECT_TRUE((*read)->constants[0].verify().ok());
  EXPECT_TRUE((*read)->targets[0].code.verify().ok());
  EXPECT_EQ(strip(text((*read)->targets[1].cubin.verify())),
            "the artifact is damaged: the checksum of section 5 does not hold (compile the model again, or fetch the file again)");
}

TEST_F(ArtifactTest, SessionChecksWhatItLoads) {
  ASSERT_TRUE(writeArtifact(addAndDouble(5), path).ok());
  std::string bytes = bytesOf(path);
  bytes[bytes.size() - 100] ^= 1; // in the code
  put(bytes);
  auto session = Session::create(*readArtifact(path), {.device = DeviceKind::Host, .threads = 1});
  EXPECT_THAT(text(session), HasSubstr("the artifact is damaged: the checksum of section 2"));
}

// --- One test per message ---

TEST_F(ArtifactTest, NoFile) {
  EXPECT_EQ(readAll(), "the artifact cannot be read: No such file or directory (name a .lsp file that is there and may be read)");
  EXPECT_FALSE(looksLikeArtifact(path));
}

TEST_F(ArtifactTest, AFolder) {
  path = folder;
  EXPECT_EQ(readAll(), "not an artifact: not a regular file (give a .lsp file that lockstitch compile wrote)");
}

TEST_F(ArtifactTest, SomeOtherFile) {
  put("\x89PNG\r\n\x1a\n and then a picture, long enough to hold a header");
  EXPECT_EQ(readAll(), "not an artifact: it does not begin like one (give a .lsp file that lockstitch compile wrote)");
  EXPECT_FALSE(looksLikeArtifact(path));
}

TEST_F(ArtifactTest, NewerVersion) {
  ASSERT_TRUE(writeArtifact(everything(), path).ok());
  std::string bytes = bytesOf(path);
  bytes[8] = 2;
  put(bytes);
  EXPECT_EQ(readAll(), "the artifact has format version 2; this lockstitch reads versions up to 1 (use a newer lockstitch, or "
                       "compile the model again with this one)");
}

TEST_F(ArtifactTest, BytesBehindTheEnd) {
  ASSERT_TRUE(writeArtifact(everything(), path).ok());
  put(bytesOf(path) + "more");
  EXPECT_THAT(readAll(), StartsWith("the artifact is damaged: 4 bytes follow its end"));
}

TEST_F(ArtifactTest, DamagedHeader) {
  ASSERT_TRUE(writeArtifact(everything(), path).ok());
  std::string bytes = bytesOf(path);
  bytes[20] ^= 1;
  put(bytes);
  EXPECT_THAT(readAll(), StartsWith("the artifact is damaged: the checksum of its header does not hold"));
}

TEST_F(ArtifactTest, DamagedManifest) {
  ASSERT_TRUE(writeArtifact(everything(), path).ok());
  std::string bytes = bytesOf(path);
  bytes[70] ^= 1;
  put(bytes);
  EXPECT_THAT(readAll(), StartsWith("the artifact is damaged: the checksum of its manifest does not hold"));
}

TEST_F(ArtifactTest, CannotBeWritten) {
  EXPECT_EQ(text(writeArtifact(everything(), folder + "/no/a.lsp")),
            folder + "/no/a.lsp: the artifact cannot be written: No such file or directory (name a file in a folder that exists, "
                     "can be written and has space)");
}

TEST_F(ArtifactTest, ContradictoryProgramIsNotWritten) {
  Program program = everything();
  program.constants.pop_back();
  EXPECT_THAT(text(writeArtifact(program, path)), HasSubstr("it has 3 constants but describes 4"));
  EXPECT_FALSE(std::filesystem::exists(path));
}

// --- Files that lie with the right checksums ---

uint64_t readNumber(const std::string &bytes, size_t at) {
  uint64_t value;
  std::memcpy(&value, bytes.data() + at, 8);
  return value;
}

void sign(std::string &bytes) {
  size_t span = (readNumber(bytes, 24) + 63) / 64 * 64;
  if (span <= bytes.size() - 64) {
    uint64_t checksum = XXH3_64bits(bytes.data() + 64, span);
    std::memcpy(bytes.data() + 32, &checksum, 8);
  }
  uint64_t checksum = XXH3_64bits(bytes.data(), 56);
  std::memcpy(bytes.data() + 56, &checksum, 8);
}

/// The file with its manifest changed and everything signed again.
std::string withManifest(const std::string &bytes, const std::function<void(manifest::Manifest &)> &change) {
  uint64_t length = readNumber(bytes, 24);
  manifest::Manifest manifest;
  EXPECT_TRUE(manifest.ParseFromString(bytes.substr(64, length)));
  change(manifest);
  std::string text = manifest.SerializeAsString(), padded = text;
  padded.resize((padded.size() + 63) / 64 * 64);
  std::string result = bytes.substr(0, 64) + padded + bytes.substr(64 + (length + 63) / 64 * 64);
  uint64_t manifestBytes = text.size(), fileBytes = result.size();
  std::memcpy(result.data() + 16, &fileBytes, 8);
  std::memcpy(result.data() + 24, &manifestBytes, 8);
  sign(result);
  return result;
}

struct Lie {
  const char *name;
  std::function<void(manifest::Manifest &)> change;
  const char *message;
};

TEST_F(ArtifactTest, SizesAndOffsetsThatLieAreRefused) {
  ASSERT_TRUE(writeArtifact(everything(), path).ok());
  const std::string good = bytesOf(path);
  const Lie lies[] = {
      {"section offset", [](auto &m) { m.mutable_sections(1)->set_offset(1); }, "sections do not fit into the file"},
      {"section far away", [](auto &m) { m.mutable_sections(0)->set_bytes(~uint64_t{0}); }, "sections do not fit into the file"},
      {"section missing", [](auto &m) { m.mutable_sections()->RemoveLast(); }, "sections do not fill the file"},
      {"no such section", [](auto &m) { m.mutable_targets(0)->set_code_section(99); }, "there is no section 99"},
      {"element type", [](auto &m) { m.mutable_inputs(0)->set_type(13); }, "unknown element type 13"},
      {"kind", [](auto &m) { m.mutable_targets(0)->mutable_steps(0)->set_kind(7); }, "unknown kind of step 7"},
      {"memory", [](auto &m) { m.mutable_targets(0)->mutable_steps(0)->mutable_args(0)->set_space(5); }, "unknown memory 5"},
      {"grid", [](auto &m) { m.mutable_targets(0)->mutable_kernels(0)->add_grid(1); }, "launch shape without three extents"},
      {"two calls", [](auto &m) { m.mutable_targets(0)->mutable_steps(2)->mutable_conv(); }, "a library step that is not one call"},
      {"shape", [](auto &m) { m.mutable_inputs(0)->set_shape(0, int64_t{1} << 62); }, "input 'x' has an impossible shape"},
      {"constant size", [](auto &m) { m.mutable_constants(0)->mutable_info()->set_shape(0, 4); }, "constant 'bias' has 192 bytes"},
      {"kernel index", [](auto &m) { m.mutable_targets(0)->mutable_steps(0)->set_kernel(9); }, "there is no kernel 9"},
      {"argument range",
       [](auto &m) { m.mutable_targets(0)->mutable_steps(0)->mutable_args(2)->set_offset(int64_t{1} << 62); },
       "outside its memory"},
      {"argument index", [](auto &m) { m.mutable_targets(0)->mutable_steps(0)->mutable_args(0)->set_index(3); },
       "no such memory: input 3"},
      {"argument size",
       [](auto &m) { m.mutable_targets(0)->mutable_kernels(0)->mutable_arguments(0)->set_elements(1000); },
       "argument 0 needs 4000 bytes"},
      {"argument count", [](auto &m) { m.mutable_targets(0)->mutable_steps(0)->mutable_args()->RemoveLast(); },
       "has 2 arguments instead of 3"},
      {"strides", [](auto &m) { m.mutable_targets(0)->mutable_steps(2)->mutable_matmul()->set_m(int64_t{1} << 40); },
       "argument 0 needs"},
      {"overflow", [](auto &m) { m.mutable_targets(0)->mutable_steps(2)->mutable_matmul()->set_m(INT64_MAX); },
       "contradict each other or overflow"},
      {"group", [](auto &m) { m.mutable_targets(0)->mutable_steps(3)->mutable_conv()->set_group(0); },
       "contradict each other or overflow"},
      {"arena", [](auto &m) { m.mutable_targets(0)->set_arena_bytes(-1); }, "negative memory size"},
      {"small arena", [](auto &m) { m.mutable_targets(0)->set_arena_bytes(8); }, "outside its memory of 8 bytes"},
      {"block", [](auto &m) { m.mutable_targets(1)->mutable_kernels(0)->set_block(0, 4096); }, "impossible launch shape"},
      {"rows per task", [](auto &m) { m.mutable_targets(0)->mutable_kernels(0)->set_rows_per_task(0); },
       "impossible launch shape"},
      {"writes an input",
       [](auto &m) { *m.mutable_targets(0)->mutable_steps(0)->mutable_args(2) = m.targets(0).steps(0).args(0); },
       "writes input 0"},
      {"writes a constant",
       [](auto &m) { *m.mutable_targets(0)->mutable_steps(0)->mutable_args(2) = m.targets(0).steps(0).args(1); },
       "writes constant 0"},
      {"reads what is not there", [](auto &m) { m.mutable_targets(0)->mutable_steps()->SwapElements(0, 1); },
       "reads bytes that no earlier step has written: arena 0"},
      {"output from nowhere",
       [](auto &m) { m.mutable_targets(0)->mutable_steps()->DeleteSubrange(1, m.targets(0).steps_size() - 1); },
       "output 'y': reads bytes that no earlier step has written: output 0"},
      {"prologue reads an input",
       [](auto &m) { m.mutable_targets(0)->mutable_prologue(0)->mutable_args(0)->set_space(0); },
       "the prologue reads an input"},
      {"prologue writes a given constant",
       [](auto &m) { m.mutable_targets(0)->mutable_prologue(0)->mutable_args(1)->set_index(0); },
       "the prologue writes constant 0"},
      {"outputs", [](auto &m) { *m.mutable_targets(0)->add_outputs() = m.targets(0).outputs(0); }, "places 2 outputs of 1"},
      {"output size", [](auto &m) { m.mutable_targets(0)->mutable_outputs(0)->set_bytes(8); }, "has 192 bytes, but is"},
      {"copy", [](auto &m) { m.mutable_targets(0)->mutable_steps(4)->mutable_args(0)->set_bytes(8); },
       "copies between ranges of different sizes"},
  };
  for (const Lie &lie : lies) {
    put(withManifest(good, lie.change));
    EXPECT_THAT(readAll(), ::testing::AllOf(StartsWith("the artifact contradicts itself: "), HasSubstr(lie.message))) << lie.name;
  }
  put(withManifest(good, [](manifest::Manifest &) {}));
  EXPECT_EQ(readAll(), "") << "the change itself must not be what is refused";
}

TEST_F(ArtifactTest, HeaderSizesThatLieAreRefused) {
  ASSERT_TRUE(writeArtifact(everything(), path).ok());
  const std::string good = bytesOf(path);
  for (uint64_t lie : {uint64_t{1}, uint64_t{good.size()}, uint64_t{1} << 40, ~uint64_t{0}, ~uint64_t{63}}) {
    std::string bytes = good;
    std::memcpy(bytes.data() + 24, &lie, 8);
    sign(bytes);
    put(bytes);
    EXPECT_NE(readAll(), "") << "manifest bytes " << lie;
    bytes = good;
    if (lie == good.size())
      continue;
    std::memcpy(bytes.data() + 16, &lie, 8);
    sign(bytes);
    put(bytes);
    EXPECT_NE(readAll(), "") << "file bytes " << lie;
  }
}

TEST_F(ArtifactTest, SignedNonsenseNeverCrashes) {
  ASSERT_TRUE(writeArtifact(everything(), path).ok());
  const std::string good = bytesOf(path);
  uint64_t length = readNumber(good, 24);
  std::mt19937 random(1);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = good;
    for (int n = 1 + static_cast<int>(random() % 3); n > 0; --n)
      bytes[64 + random() % length] = static_cast<char>(random());
    sign(bytes);
    put(bytes);
    refused += !readAll().empty();
  }
  EXPECT_GT(refused, 1000);
}

} // namespace
