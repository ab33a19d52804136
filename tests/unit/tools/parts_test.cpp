// The small parts: numbers as text, random inputs, kernel arguments, needs of a
// target.
#include "runtime/program/float16.h"
#include "tools/lockstitch/inputs.h"
#include "tools/lockstitch/needs.h"
#include "tools/lockstitch/outputs.h"
#include "tools/lockstitch/simulate_arguments.h"
#include "tools/lockstitch/text.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>

namespace lockstitch::tool {
namespace {

TEST(Text, Numbers) {
  EXPECT_EQ(number(0.123456), "0.1235");
  EXPECT_EQ(number(NAN), "nan");
  EXPECT_EQ(number(-INFINITY), "-inf");
  EXPECT_EQ(byteCount(0), "0 B");
  EXPECT_EQ(byteCount(1023), "1023 B");
  EXPECT_EQ(byteCount(1536), "1.5 KiB");
  EXPECT_EQ(byteCount(int64_t(5) << 40), "5.0 TiB");
  EXPECT_EQ(duration(1.25e-5), "12.5 us");
  EXPECT_EQ(duration(0.25), "250.0 ms");
  EXPECT_EQ(duration(61), "61.00 s");
  EXPECT_EQ(count(1, "kernel"), "1 kernel");
  EXPECT_EQ(count(0, "kernel"), "0 kernels");
  EXPECT_EQ(hexadecimal(255), "00000000000000ff");
  EXPECT_EQ(joinShort({"a", "b", "c"}, 2), "a, b and 1 more");
  EXPECT_EQ(joinShort({"a", "b"}, 2), "a, b");
}

TEST(Text, TablesAlign) {
  Table table({"name", "n"}, {1});
  table.add({"a", "100"});
  table.add({"long", "1"});
  EXPECT_EQ(table.text(" "), " name    n\n a     100\n long    1\n");
}

TensorInfo info(ElementType type, std::vector<int64_t> shape) {
  TensorInfo made;
  made.name = "x";
  made.type = type;
  made.shape.assign(shape.begin(), shape.end());
  return made;
}

TEST(Random, FloatsAreNormalWithADeviationOfAHalf) {
  for (ElementType type : {ElementType::F16, ElementType::BF16,
                           ElementType::F32, ElementType::F64}) {
    Array array = randomArray(info(type, {100, 100}), 1, 0);
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < array.elements(); ++i) {
      double value = elementAsDouble(array, i);
      ASSERT_TRUE(std::isfinite(value));
      sum += value;
      squares += value * value;
    }
    EXPECT_NEAR(sum / 1e4, 0, 0.02) << name(type);
    EXPECT_NEAR(std::sqrt(squares / 1e4), 0.5, 0.02) << name(type);
  }
}

TEST(Random, IndicesAndBoolsAreZeroOrOneOtherIntegersOneDigit) {
  for (int i = 0; i < kNumElementTypes; ++i) {
    auto type = static_cast<ElementType>(i);
    if (isFloat(type))
      continue;
    bool narrow = type == ElementType::Bool || type == ElementType::I32 ||
                  type == ElementType::I64;
    Array array = randomArray(info(type, {1000}), 3, 0);
    int64_t low = 99, high = -1;
    for (int64_t at = 0; at < 1000; ++at) {
      low = std::min(low, elementAsInteger(array, at));
      high = std::max(high, elementAsInteger(array, at));
    }
    EXPECT_EQ(low, 0) << name(type);
    EXPECT_EQ(high, narrow ? 1 : 9) << name(type);
  }
}

TEST(Random, SeedAndPlaceDecide) {
  TensorInfo x = info(ElementType::F32, {16});
  EXPECT_EQ(randomArray(x, 1, 0).bytes, randomArray(x, 1, 0).bytes);
  EXPECT_NE(randomArray(x, 1, 0).bytes, randomArray(x, 2, 0).bytes);
  EXPECT_NE(randomArray(x, 1, 0).bytes, randomArray(x, 1, 1).bytes);
}

template <typename T> T valueOf(const std::string &text) {
  Result<KernelArgumentText> parsed = parseKernelArgument(text, "--arg 0");
  T value{};
  if (!parsed.ok() || !std::holds_alternative<ScalarArgument>(*parsed) ||
      std::get<ScalarArgument>(*parsed).bytes.size() != sizeof(T)) {
    ADD_FAILURE() << text;
    return value;
  }
  std::memcpy(&value, std::get<ScalarArgument>(*parsed).bytes.data(),
              sizeof(T));
  return value;
}

TEST(SimulateArguments, ScalarsOfEveryType) {
  EXPECT_EQ(valueOf<int32_t>("i32=-7"), -7);
  EXPECT_EQ(valueOf<uint64_t>("u64=18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(valueOf<int8_t>("i8=-128"), -128);
  EXPECT_EQ(valueOf<int16_t>("i16=300"), 300);
  EXPECT_EQ(valueOf<float>("f32=0.1"), 0.1f);
  EXPECT_EQ(valueOf<double>("f64=-1e300"), -1e300);
  EXPECT_EQ(valueOf<uint16_t>("f16=1.5"), floatToHalf(1.5f));
  EXPECT_EQ(valueOf<uint16_t>("bf16=1.5"), floatToBFloat16(1.5f));
  EXPECT_EQ(valueOf<uint8_t>("bool=true"), 1);
  EXPECT_TRUE(std::isnan(valueOf<float>("f32=nan")));
  EXPECT_EQ(valueOf<float>("f32=-inf"), -INFINITY);
}

TEST(SimulateArguments, Buffers) {
  Result<KernelArgumentText> parsed = parseKernelArgument("bf16[4,8]", "");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(std::get<BufferArgument>(*parsed).type, ElementType::BF16);
  EXPECT_THAT(std::get<BufferArgument>(*parsed).shape,
              ::testing::ElementsAre(4, 8));
  EXPECT_THAT(std::get<BufferArgument>(*parseKernelArgument("u8[0]", "")).shape,
              ::testing::ElementsAre(0));
}

TEST(SimulateArguments, EverythingElseIsAFile) {
  EXPECT_EQ(std::get<FileArgument>(*parseKernelArgument("a=b[1].npy", "")).path,
            "a=b[1].npy");
  EXPECT_EQ(std::get<FileArgument>(*parseKernelArgument("f32.npy", "")).path,
            "f32.npy");
}

TEST(SimulateArguments, Wrong) {
  for (const char *text : {"", "i32=", "i32=1.5", "i32=2147483648", "u8=-1",
                           "bool=2", "f32= 1", "f32=1x", "f32[]", "f32[-1]",
                           "f32[4", "f32[1,]", "f64[4611686018427387904]"})
    EXPECT_FALSE(parseKernelArgument(text, "--arg 0").ok()) << text;
}

TEST(Needs, DriverOfAPtxVersion) {
  EXPECT_EQ(driverFor(".version 7.8\n.target sm_90"), "CUDA 11.8");
  EXPECT_EQ(driverFor("// a comment\n.version 8.6\n"), "CUDA 12.7");
  EXPECT_EQ(driverFor(".version 99.1\n"), "PTX ISA 99.1");
  EXPECT_EQ(driverFor("no version"), std::nullopt);
}

TEST(Needs, ComputeCapability) {
  EXPECT_EQ(computeCapability("sm_90"), "9.0");
  EXPECT_EQ(computeCapability("sm_120"), "12.0");
  EXPECT_EQ(computeCapability("host"), std::nullopt);
}

TEST(Outputs, Summary) {
  Array array{ElementType::F32, {5}, {}};
  std::vector<float> values = {1, -2, NAN, INFINITY, 4};
  array.bytes.resize(20);
  std::memcpy(array.bytes.data(), values.data(), 20);
  std::string text = summarise({info(ElementType::F32, {5})}, {array});
  EXPECT_THAT(text,
              ::testing::HasSubstr(
                  "min -2 max 4 mean 1 2 not finite  [1 -2 nan inf ...]"));
  Array empty{ElementType::I32, {0}, {}};
  EXPECT_THAT(summarise({info(ElementType::I32, {0})}, {empty}),
              ::testing::HasSubstr("empty"));
}

} // namespace
} // namespace lockstitch::tool
