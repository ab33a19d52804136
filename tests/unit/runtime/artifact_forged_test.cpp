// Files that lie although all their checksums hold.
#include "tests/unit/runtime/artifact_fixture.h"

#include "runtime/program/manifest.pb.h"

#include <cstring>
#include <functional>
#include <random>

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace lockstitch;
using namespace lockstitch::testing;
using ::testing::HasSubstr;
using ::testing::StartsWith;

namespace {

struct ForgedArtifactTest : ArtifactTest {};

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
std::string
withManifest(const std::string &bytes,
             const std::function<void(manifest::Manifest &)> &change) {
  uint64_t length = readNumber(bytes, 24);
  manifest::Manifest manifest;
  EXPECT_TRUE(manifest.ParseFromString(bytes.substr(64, length)));
  change(manifest);
  std::string text = manifest.SerializeAsString(), padded = text;
  padded.resize((padded.size() + 63) / 64 * 64);
  std::string result =
      bytes.substr(0, 64) + padded + bytes.substr(64 + (length + 63) / 64 * 64);
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

TEST_F(ForgedArtifactTest, SizesAndOffsetsThatLieAreRefused) {
  ASSERT_TRUE(writeArtifact(everything(), path).ok());
  const std::string good = bytesOf(path);
  const Lie lies[] = {
      {"section offset", [](auto &m) { m.mutable_sections(1)->set_offset(1); },
       "sections do not fit into the file"},
      {"section far away",
       [](auto &m) { m.mutable_sections(0)->set_bytes(~uint64_t{0}); },
       "sections do not fit into the file"},
      {"section missing", [](auto &m) { m.mutable_sections()->RemoveLast(); },
       "sections do not fill the file"},
      {"no such section",
       [](auto &m) { m.mutable_targets(0)->set_code_section(99); },
       "there is no section 99"},
      {"element type", [](auto &m) { m.mutable_inputs(0)->set_type(13); },
       "unknown element type 13"},
      {"kind",
       [](auto &m) { m.mutable_targets(0)->mutable_steps(0)->set_kind(7); },
       "unknown kind of step 7"},
      {"memory",
       [](auto &m) {
         m.mutable_targets(0)->mutable_steps(0)->mutable_args(0)->set_space(5);
       },
       "unknown memory 5"},
      {"grid",
       [](auto &m) { m.mutable_targets(0)->mutable_kernels(0)->add_grid(1); },
       "launch shape without three extents"},
      {"two calls",
       [](auto &m) { m.mutable_targets(0)->mutable_steps(2)->mutable_conv(); },
       "a library step that is not one call"},
      {"shape",
       [](auto &m) { m.mutable_inputs(0)->set_shape(0, int64_t{1} << 62); },
       "input 'x' has an impossible shape"},
      {"constant size",
       [](auto &m) { m.mutable_constants(0)->mutable_info()->set_shape(0, 4); },
       "constant 'bias' has 192 bytes"},
      {"kernel index",
       [](auto &m) { m.mutable_targets(0)->mutable_steps(0)->set_kernel(9); },
       "there is no kernel 9"},
      {"argument range",
       [](auto &m) {
         m.mutable_targets(0)->mutable_steps(0)->mutable_args(2)->set_offset(
             int64_t{1} << 62);
       },
       "outside its memory"},
      {"argument index",
       [](auto &m) {
         m.mutable_targets(0)->mutable_steps(0)->mutable_args(0)->set_index(3);
       },
       "no such memory: input 3"},
      {"argument size",
       [](auto &m) {
         m.mutable_targets(0)
             ->mutable_kernels(0)
             ->mutable_arguments(0)
             ->set_elements(1000);
       },
       "argument 0 needs 4000 bytes"},
      {"argument count",
       [](auto &m) {
         m.mutable_targets(0)->mutable_steps(0)->mutable_args()->RemoveLast();
       },
       "has 2 arguments instead of 3"},
      {"strides",
       [](auto &m) {
         m.mutable_targets(0)->mutable_steps(2)->mutable_matmul()->set_m(
             int64_t{1} << 40);
       },
       "argument 0 needs"},
      {"overflow",
       [](auto &m) {
         m.mutable_targets(0)->mutable_steps(2)->mutable_matmul()->set_m(
             INT64_MAX);
       },
       "contradict each other or overflow"},
      {"group",
       [](auto &m) {
         m.mutable_targets(0)->mutable_steps(3)->mutable_conv()->set_group(0);
       },
       "contradict each other or overflow"},
      {"arena", [](auto &m) { m.mutable_targets(0)->set_arena_bytes(-1); },
       "negative memory size"},
      {"small arena", [](auto &m) { m.mutable_targets(0)->set_arena_bytes(8); },
       "outside its memory of 8 bytes"},
      {"block",
       [](auto &m) {
         m.mutable_targets(1)->mutable_kernels(0)->set_block(0, 4096);
       },
       "impossible launch shape"},
      {"rows per task",
       [](auto &m) {
         m.mutable_targets(0)->mutable_kernels(0)->set_rows_per_task(0);
       },
       "impossible launch shape"},
      {"writes an input",
       [](auto &m) {
         *m.mutable_targets(0)->mutable_steps(0)->mutable_args(2) =
             m.targets(0).steps(0).args(0);
       },
       "writes input 0"},
      {"writes a constant",
       [](auto &m) {
         *m.mutable_targets(0)->mutable_steps(0)->mutable_args(2) =
             m.targets(0).steps(0).args(1);
       },
       "writes constant 0"},
      {"reads what is not there",
       [](auto &m) {
         m.mutable_targets(0)->mutable_steps()->SwapElements(0, 1);
       },
       "reads bytes that no earlier step has written: arena 0"},
      {"output from nowhere",
       [](auto &m) {
         m.mutable_targets(0)->mutable_steps()->DeleteSubrange(
             1, m.targets(0).steps_size() - 1);
       },
       "output 'y': reads bytes that no earlier step has written: output 0"},
      {"prologue reads an input",
       [](auto &m) {
         m.mutable_targets(0)->mutable_prologue(0)->mutable_args(0)->set_space(
             0);
       },
       "the prologue reads an input"},
      {"prologue writes a given constant",
       [](auto &m) {
         m.mutable_targets(0)->mutable_prologue(0)->mutable_args(1)->set_index(
             0);
       },
       "the prologue writes constant 0"},
      {"outputs",
       [](auto &m) {
         *m.mutable_targets(0)->add_outputs() = m.targets(0).outputs(0);
       },
       "places 2 outputs of 1"},
      {"output size",
       [](auto &m) { m.mutable_targets(0)->mutable_outputs(0)->set_bytes(8); },
       "has 192 bytes, but is"},
      {"copy",
       [](auto &m) {
         m.mutable_targets(0)->mutable_steps(4)->mutable_args(0)->set_bytes(8);
       },
       "copies between ranges of different sizes"},
  };
  for (const Lie &lie : lies) {
    put(withManifest(good, lie.change));
    EXPECT_THAT(readAll(), ::testing::AllOf(
                               StartsWith("the artifact contradicts itself: "),
                               HasSubstr(lie.message)))
        << lie.name;
  }
  put(withManifest(good, [](manifest::Manifest &) {}));
  EXPECT_EQ(readAll(), "") << "the change itself must not be what is refused";
}

TEST_F(ForgedArtifactTest, HeaderSizesThatLieAreRefused) {
  ASSERT_TRUE(writeArtifact(everything(), path).ok());
  const std::string good = bytesOf(path);
  for (uint64_t lie : {uint64_t{1}, uint64_t{good.size()}, uint64_t{1} << 40,
                       ~uint64_t{0}, ~uint64_t{63}}) {
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

TEST_F(ForgedArtifactTest, SignedNonsenseNeverCrashes) {
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
