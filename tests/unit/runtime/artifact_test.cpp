#include "tests/unit/runtime/artifact_fixture.h"

#include "runtime/session/session.h"

using namespace lockstitch;
using namespace lockstitch::testing;
using ::testing::HasSubstr;
using ::testing::StartsWith;

namespace {

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
    EXPECT_EQ(a[i].trips, b[i].trips);
    expectEqual(a[i].steps, b[i].steps);
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
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder),
                          std::filesystem::directory_iterator()),
            1);
  auto rights = std::filesystem::status(path).permissions();
  EXPECT_NE(rights & std::filesystem::perms::owner_read,
            std::filesystem::perms::none);
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
  auto session =
      Session::create(*program, {.device = DeviceKind::Host, .threads = 1});
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
      ASSERT_NE(readAll(), "")
          << "byte " << i << " of " << good.size() << " xor " << flip;
    }
}

TEST_F(ArtifactTest, EveryTruncationIsRefused) {
  ASSERT_TRUE(writeArtifact(everything(), path).ok());
  const std::string good = bytesOf(path);
  for (size_t length = 0; length < good.size(); ++length) {
    put(good.substr(0, length));
    ASSERT_THAT(readAll(),
                HasSubstr(length ? "the artifact is truncated: "
                                 : "not an artifact: the file is empty"))
        << length;
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
            "the artifact is damaged: the checksum of section 5 does not hold "
            "(compile the model again, or fetch the file again)");
}

TEST_F(ArtifactTest, SessionChecksWhatItLoads) {
  ASSERT_TRUE(writeArtifact(addAndDouble(5), path).ok());
  std::string bytes = bytesOf(path);
  bytes[bytes.size() - 100] ^= 1; // in the code
  put(bytes);
  auto session = Session::create(*readArtifact(path),
                                 {.device = DeviceKind::Host, .threads = 1});
  EXPECT_THAT(text(session),
              HasSubstr("the artifact is damaged: the checksum of section 2"));
}

// --- One test per message ---

TEST_F(ArtifactTest, NoFile) {
  EXPECT_EQ(readAll(), "the artifact cannot be read: No such file or directory "
                       "(name a .lsp file that is there and may be read)");
  EXPECT_FALSE(looksLikeArtifact(path));
}

TEST_F(ArtifactTest, AFolder) {
  path = folder;
  EXPECT_EQ(readAll(), "not an artifact: not a regular file (give a .lsp file "
                       "that lockstitch compile wrote)");
}

TEST_F(ArtifactTest, SomeOtherFile) {
  put("\x89PNG\r\n\x1a\n and then a picture, long enough to hold a header");
  EXPECT_EQ(readAll(), "not an artifact: it does not begin like one (give a "
                       ".lsp file that lockstitch compile wrote)");
  EXPECT_FALSE(looksLikeArtifact(path));
}

TEST_F(ArtifactTest, NewerVersion) {
  ASSERT_TRUE(writeArtifact(everything(), path).ok());
  std::string bytes = bytesOf(path);
  bytes[8] = kFormatVersion + 1;
  put(bytes);
  EXPECT_EQ(readAll(), "the artifact has format version 3; this lockstitch "
                       "reads versions up to 2 (use a newer lockstitch, or "
                       "compile the model again with this one)");
}

TEST_F(ArtifactTest, BytesBehindTheEnd) {
  ASSERT_TRUE(writeArtifact(everything(), path).ok());
  put(bytesOf(path) + "more");
  EXPECT_THAT(readAll(),
              StartsWith("the artifact is damaged: 4 bytes follow its end"));
}

TEST_F(ArtifactTest, DamagedHeader) {
  ASSERT_TRUE(writeArtifact(everything(), path).ok());
  std::string bytes = bytesOf(path);
  bytes[20] ^= 1;
  put(bytes);
  EXPECT_THAT(
      readAll(),
      StartsWith(
          "the artifact is damaged: the checksum of its header does not hold"));
}

TEST_F(ArtifactTest, DamagedManifest) {
  ASSERT_TRUE(writeArtifact(everything(), path).ok());
  std::string bytes = bytesOf(path);
  bytes[70] ^= 1;
  put(bytes);
  EXPECT_THAT(readAll(), StartsWith("the artifact is damaged: the checksum of "
                                    "its manifest does not hold"));
}

TEST_F(ArtifactTest, CannotBeWritten) {
  EXPECT_EQ(text(writeArtifact(everything(), folder + "/no/a.lsp")),
            folder + "/no/a.lsp: the artifact cannot be written: No such file "
                     "or directory (name a file in a folder that exists, "
                     "can be written and has space)");
}

TEST_F(ArtifactTest, ContradictoryProgramIsNotWritten) {
  Program program = everything();
  program.constants.pop_back();
  EXPECT_THAT(text(writeArtifact(program, path)),
              HasSubstr("it has 3 constants but describes 4"));
  EXPECT_FALSE(std::filesystem::exists(path));
}

} // namespace
