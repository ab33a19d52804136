#include "tools/lockstitch/check.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>

namespace lockstitch::tool {
namespace {

template <typename T> Array arrayOf(ElementType type, std::vector<T> values) {
  Array array{type, {static_cast<int64_t>(values.size())}, {}};
  array.bytes.resize(values.size() * sizeof(T));
  std::memcpy(array.bytes.data(), values.data(), array.bytes.size());
  return array;
}

CheckEntry compareFloats(std::vector<float> actual, std::vector<float> expected,
                         Tolerance tolerance) {
  return compare("y", arrayOf(ElementType::F32, std::move(actual)),
                 arrayOf(ElementType::F32, std::move(expected)), tolerance);
}

TEST(Check, AbsoluteToleranceIsInclusive) {
  EXPECT_TRUE(compareFloats({0.5f}, {0}, {0, 0.5, 0}).ok);
  EXPECT_FALSE(compareFloats({0.5f}, {0}, {0, 0.49, 0}).ok);
}

TEST(Check, RelativeToleranceIsOfTheExpectedValue) {
  EXPECT_TRUE(compareFloats({3}, {2}, {0.5, 0, 0}).ok);
  EXPECT_FALSE(compareFloats({2}, {3}, {0.33, 0, 0}).ok);
}

TEST(Check, RootMeanSquareSkipsWhatIsNotFinite) {
  // rms of (3, 4) is sqrt(12.5) = 3.5355.
  EXPECT_TRUE(
      compareFloats({3.7f, 4, INFINITY}, {3, 4, INFINITY}, {0, 0, 0.2}).ok);
  EXPECT_FALSE(
      compareFloats({3.72f, 4, INFINITY}, {3, 4, INFINITY}, {0, 0, 0.2}).ok);
}

TEST(Check, NanAndInfinityEqualThemselvesOnly) {
  Tolerance wide{1e30, 1e30, 0};
  EXPECT_TRUE(
      compareFloats({NAN, INFINITY, -INFINITY}, {NAN, INFINITY, -INFINITY}, {})
          .ok);
  EXPECT_FALSE(compareFloats({NAN}, {1}, wide).ok);
  EXPECT_FALSE(compareFloats({1}, {NAN}, wide).ok);
  EXPECT_FALSE(compareFloats({INFINITY}, {-INFINITY}, wide).ok);
  EXPECT_FALSE(compareFloats({3e38f}, {INFINITY}, wide).ok);
}

TEST(Check, ZerosOfBothSignsAreEqual) {
  EXPECT_TRUE(compareFloats({-0.0f}, {0.0f}, {}).ok);
}

TEST(Check, LargestErrorsAreReported) {
  CheckEntry entry = compareFloats({1.5f, 10}, {1, 8}, {1, 1, 0});
  EXPECT_TRUE(entry.ok);
  EXPECT_EQ(entry.maxAbs, 2.0);
  EXPECT_EQ(entry.maxRel, 0.5);
}

TEST(Check, ReasonNamesTheWorstElement) {
  Array actual = arrayOf<float>(ElementType::F32, {0, 1, 0, 5}),
        expected = arrayOf<float>(ElementType::F32, {0, 0, 0, 0});
  actual.shape = expected.shape = {2, 2};
  EXPECT_EQ(compare("y", actual, expected, {}).reason,
            "2 of 4 elements differ, most at [1,1]: 5, expected 0");
}

TEST(Check, IntegersAreExactWhateverTheTolerance) {
  Tolerance wide{1, 100, 0};
  Array a = arrayOf<int64_t>(ElementType::I64, {INT64_MAX}),
        b = arrayOf<int64_t>(ElementType::I64, {INT64_MAX - 1});
  EXPECT_FALSE(compare("y", a, b, wide).ok);
  EXPECT_TRUE(compare("y", a, a, wide).ok);
  EXPECT_EQ(compare("y", a, b, wide).maxAbs, 1.0);
}

TEST(Check, IntegerDifferencesDoNotOverflow) {
  Array a = arrayOf<int64_t>(ElementType::I64, {INT64_MAX}),
        b = arrayOf<int64_t>(ElementType::I64, {INT64_MIN});
  EXPECT_EQ(compare("y", a, b, {}).maxAbs, 0x1p64);
  Array c = arrayOf<uint64_t>(ElementType::U64, {UINT64_MAX}),
        d = arrayOf<uint64_t>(ElementType::U64, {0});
  EXPECT_EQ(compare("y", c, d, {}).maxAbs, 0x1p64);
}

TEST(Check, BoolsAreExact) {
  Array a = arrayOf<uint8_t>(ElementType::Bool, {1, 0}),
        b = arrayOf<uint8_t>(ElementType::Bool, {1, 1});
  EXPECT_TRUE(compare("y", a, a, {}).ok);
  EXPECT_FALSE(compare("y", a, b, {9, 9, 0}).ok);
}

TEST(Check, OtherTypeOrShape) {
  Array a = arrayOf<float>(ElementType::F32, {1, 2}),
        b = arrayOf<int32_t>(ElementType::I32, {1, 2});
  EXPECT_EQ(compare("y", a, b, {}).reason, "is f32[2], expected i32[2]");
  Array c = a;
  c.shape = {2, 1};
  EXPECT_FALSE(compare("y", a, c, {}).ok);
  EXPECT_FALSE(compare("y", a, c, {}).maxAbs.has_value());
}

TEST(Check, NothingToCompareIsRight) {
  Array empty{ElementType::F32, {0, 3}, {}};
  EXPECT_TRUE(compare("y", empty, empty, {}).ok);
}

TEST(Check, DefaultsAreWiderForNarrowerTypes) {
  CheckOptions none;
  EXPECT_EQ(toleranceFor(ElementType::F32, none).rtol, 1e-3);
  EXPECT_EQ(toleranceFor(ElementType::F32, none).atol, 1e-5);
  EXPECT_GT(toleranceFor(ElementType::F16, none).rtol, 1e-3);
  EXPECT_GT(toleranceFor(ElementType::BF16, none).rtol,
            toleranceFor(ElementType::F16, none).rtol);
  CheckOptions given;
  given.rtol = 0;
  given.atolRms = 2;
  EXPECT_EQ(toleranceFor(ElementType::BF16, given).rtol, 0);
  EXPECT_EQ(toleranceFor(ElementType::BF16, given).atol,
            toleranceFor(ElementType::BF16, none).atol);
  EXPECT_EQ(toleranceFor(ElementType::BF16, given).atolRms, 2);
}

} // namespace
} // namespace lockstitch::tool
