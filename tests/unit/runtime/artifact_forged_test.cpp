// Files that lie although all their checksums hold.
#include "tests/unit/runtime/artifact_fixture.h"

#include "runtime/program/bind.h"
#include "runtime/program/file_bytes.h"
#include "runtime/program/manifest.pb.h"
#include "runtime/program/validate.h"

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

TEST_F(ForgedArtifactTest, SignedNonsenseOfOpenSizesNeverCrashes) {
  ASSERT_TRUE(writeArtifact(openProgram(), path).ok());
  const std::string good = bytesOf(path);
  uint64_t length = readNumber(good, 24);
  const char letters[] = "n0123456789+-*() ,\"floordivmodmaxceil";
  std::mt19937 random(2);
  int refused = 0, bound = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = good;
    for (int n = 1 + static_cast<int>(random() % 3); n > 0; --n)
      bytes[64 + random() % length] =
          random() % 2 ? static_cast<char>(random())
                       : letters[random() % (sizeof letters - 1)];
    sign(bytes);
    put(bytes);
    auto program = readArtifact(path);
    refused += !program.ok();
    if (!program.ok())
      continue;
    std::vector<std::vector<int64_t>> shapes = {{8, 16}};
    auto values = bindSymbols(**program, shapes);
    if (!values.ok())
      continue;
    auto made = instantiate(**program, *values);
    bound += made.ok() && validate(*made).ok();
  }
  EXPECT_GT(refused, 500);
  EXPECT_GT(bound, 100);
}

/// An artifact whose constant "w" refers to a file beside it.
struct ForgedReferenceTest : ForgedArtifactTest {
  ForgedReferenceTest() : weights(folder + "/weights.bin") {
    std::ofstream(weights, std::ios::binary) << std::string(1000, 'w');
    auto file = FileBytes::open(weights).file;
    Program program;
    program.constantInfos = {{"w", ElementType::F32, {100}}};
    program.constants = {{file->bytes().subspan(300, 400), file, nullptr}};
    EXPECT_TRUE(writeArtifact(program, path, WeightStorage::Refer).ok());
  }
  std::string weights;
};

TEST_F(ForgedReferenceTest, IsReadWhereItLies) {
  EXPECT_EQ(readAll(), "");
  EXPECT_LT(std::filesystem::file_size(path), 400u);
  auto read = readArtifact(path);
  ASSERT_TRUE(read.ok()) << text(read);
  auto place = findInFiles((*read)->constants[0].bytes);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->offset, 300u);
  EXPECT_EQ((*read)->constants[0].bytes.size(), 400u);
  auto parts = listParts(path, true);
  ASSERT_TRUE(parts.ok()) << text(parts);
  ASSERT_EQ(parts->size(), 3u);
  EXPECT_EQ(parts->back().what, "constant 'w'");
  EXPECT_EQ(parts->back().file, "weights.bin");
  EXPECT_EQ(parts->back().offset, 300u);
  EXPECT_EQ(parts->back().bytes, 400u);
  EXPECT_EQ(parts->back().verified, Verified::Good);
}

TEST_F(ForgedReferenceTest, SmallConstantsAndOwnMemoryAreEmbedded) {
  auto file = FileBytes::open(weights).file;
  Program program;
  program.constantInfos = {{"small", ElementType::F32, {63}},
                           {"own", ElementType::F32, {100}}};
  program.constants = {{file->bytes().subspan(0, 252), file, nullptr},
                       blobOf(std::vector<float>(100))};
  ASSERT_TRUE(writeArtifact(program, path, WeightStorage::Refer).ok());
  std::string referring = bytesOf(path);
  ASSERT_TRUE(writeArtifact(program, path).ok());
  EXPECT_EQ(referring, bytesOf(path));
}

TEST_F(ForgedReferenceTest, ReferencesThatLieAreRefused) {
  const std::string good = bytesOf(path);
  const Lie lies[] = {
      {"no such file", [](auto &m) { m.mutable_constants(0)->set_file(2); },
       "constant 'w' refers to a file that it does not name"},
      {"a section too", [](auto &m) { m.mutable_constants(0)->set_section(1); },
       "there is no section 1"},
      {"behind the end",
       [](auto &m) { m.mutable_constants(0)->set_file_offset(601); },
       "constant 'w' lies outside of its file"},
      {"far behind the end",
       [](auto &m) { m.mutable_constants(0)->set_file_offset(~uint64_t{0}); },
       "constant 'w' lies outside of its file"},
      {"too large",
       [](auto &m) {
         m.mutable_constants(0)->mutable_info()->set_shape(0, 251);
       },
       "constant 'w' lies outside of its file"},
      {"a negative shape",
       [](auto &m) {
         m.mutable_constants(0)->mutable_info()->set_shape(0, -1);
       },
       "constant 'w' lies outside of its file"},
      {"an open shape",
       [](auto &m) {
         auto &symbol = *m.add_symbols();
         symbol.set_name("n");
         symbol.set_maximum(100);
         symbol.set_divisor(1);
         m.mutable_constants(0)->mutable_info()->add_open_shape("n");
       },
       "constant 'w' has an open shape"},
      {"another size of the file",
       [](auto &m) { m.mutable_weight_files(0)->set_bytes(1001); },
       "is truncated: it has 1000 bytes of 1001"},
      {"another checksum",
       [](auto &m) { m.mutable_constants(0)->set_file_checksum(1); },
       "the checksum of constant 'w' does not hold"},
      {"no path", [](auto &m) { m.mutable_weight_files(0)->set_path(""); },
       "the file with the weights cannot be read"},
  };
  for (const Lie &lie : lies) {
    put(withManifest(good, lie.change));
    EXPECT_THAT(readAll(), HasSubstr(lie.message)) << lie.name;
  }
}

TEST_F(ForgedArtifactTest, OpenSizesThatLieAreRefused) {
  ASSERT_TRUE(writeArtifact(openProgram(), path).ok());
  const std::string good = bytesOf(path);
  const Lie lies[] = {
      {"an expression that is none",
       [](auto &m) { m.mutable_targets(0)->set_open_arena_bytes("n +"); },
       "size 'n +': expected a number, a name or '('"},
      {"an unknown symbol",
       [](auto &m) { m.mutable_targets(0)->set_open_arena_bytes("q"); },
       "there is no symbol 'q'"},
      {"a symbol twice", [](auto &m) { *m.add_symbols() = m.symbols(0); },
       "symbol 'n' is there twice"},
      {"a divisor of zero",
       [](auto &m) { m.mutable_symbols(0)->set_divisor(0); },
       "symbol 'n' has an impossible divisor"},
      {"too many symbols",
       [](auto &m) {
         for (int i = 0; i < 300; ++i)
           m.add_symbols()->set_name(std::to_string(i));
       },
       "more than 256 symbols"},
      {"an equality of nothing",
       [](auto &m) { m.add_equalities()->set_symbol(1); },
       "an equality of a symbol that is not there"},
      {"a contradiction",
       [](auto &m) { m.add_equalities()->set_size("n + 1"); },
       "symbol 'n': n cannot be n + 1"},
      {"a part of a shape",
       [](auto &m) {
         m.mutable_inputs(0)->clear_open_shape();
         m.mutable_inputs(0)->add_open_shape("n");
       },
       "a list of sizes that is not complete"},
      {"a negative grid",
       [](auto &m) {
         m.mutable_targets(0)->mutable_kernels(0)->set_grid(0, -1);
       },
       "has an impossible launch shape"},
  };
  for (const Lie &lie : lies) {
    put(withManifest(good, lie.change));
    EXPECT_THAT(readAll(), HasSubstr(lie.message)) << lie.name;
  }
}

} // namespace
