#include "compiler/graph/index_map.h"

#include <gtest/gtest.h>

#include <random>

using namespace lockstitch;

namespace {

IndexExpr d(unsigned i) { return IndexExpr::dim(i); }
IndexExpr c(int64_t v) { return IndexExpr::constant(v); }

std::string simplified(const IndexExpr &expr, std::vector<Interval> dims) {
  return toString(simplify(expr, IndexRanges{std::move(dims), {}}));
}

TEST(IndexExpr, RangesDecideDivisions) {
  EXPECT_EQ(simplified(floorDiv(d(0) * c(64) + d(1), 64), {{0, 9}, {0, 63}}),
            "d0");
  EXPECT_EQ(simplified(mod(d(0) * c(64) + d(1), 64), {{0, 9}, {0, 63}}), "d1");
  // One more in the range, and the division stays.
  EXPECT_EQ(simplified(floorDiv(d(1), 64), {{0, 9}, {0, 64}}),
            "d1 floordiv 64");
}

TEST(IndexExpr, QuotientAndRemainderRecombine) {
  EXPECT_EQ(simplified(floorDiv(d(0), 7) * c(7) + mod(d(0), 7), {{0, 99}}),
            "d0");
  EXPECT_EQ(
      simplified(floorDiv(d(0), 7) * c(21) + mod(d(0), 7) * c(3), {{0, 99}}),
      "d0*3");
}

TEST(IndexExpr, NegativeNumeratorsRoundDown) {
  EXPECT_EQ(evaluate(floorDiv(d(0), 4), std::vector<int64_t>{-1}), -1);
  EXPECT_EQ(evaluate(mod(d(0), 4), std::vector<int64_t>{-1}), 3);
  EXPECT_EQ(simplified(floorDiv(d(0) - c(5), 8), {{0, 4}}), "-1");
}

TEST(IndexExpr, ADimensionOfExtentOneIsZero) {
  EXPECT_EQ(simplified(d(0) * c(5) + d(1), {{0, 0}, {0, 3}}), "d1");
}

TEST(IndexExpr, VectorLanesFallOutOfDivisions) {
  // (r*64 + 4q + l) floordiv 16 with l in [0, 4) does not depend on l.
  IndexExpr expr = floorDiv(d(0) * c(64) + d(1) * c(4) + d(2), 16);
  EXPECT_EQ(simplified(expr, {{0, 9}, {0, 15}, {0, 3}}),
            "d0*4 + d1 floordiv 4");
}

IndexExpr randomExpr(std::mt19937 &random, int depth) {
  switch (depth == 0 ? random() % 2 : random() % 6) {
  case 0:
    return d(random() % 3);
  case 1:
    return c(static_cast<int64_t>(random() % 21) - 10);
  case 2:
    return randomExpr(random, depth - 1) + randomExpr(random, depth - 1);
  case 3:
    return randomExpr(random, depth - 1) *
           c(static_cast<int64_t>(random() % 13) - 4);
  case 4:
    return floorDiv(randomExpr(random, depth - 1), 1 + random() % 12);
  default:
    return mod(randomExpr(random, depth - 1), 1 + random() % 12);
  }
}

TEST(IndexExpr, SimplifyKeepsEveryValueAndItsRangeHolds) {
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    IndexRanges ranges;
    for (int i = 0; i < 3; ++i) {
      int64_t low = static_cast<int64_t>(random() % 9) - 4;
      ranges.dims.push_back({low, low + static_cast<int64_t>(random() % 20)});
    }
    IndexExpr expr = randomExpr(random, 4);
    IndexExpr simple = simplify(expr, ranges);
    Interval range = rangeOf(expr, ranges);
    for (int sample = 0; sample < 8; ++sample) {
      std::vector<int64_t> at;
      for (const Interval &dim : ranges.dims)
        at.push_back(dim.low +
                     static_cast<int64_t>(random() % (dim.high - dim.low + 1)));
      int64_t value = evaluate(expr, at);
      ASSERT_EQ(evaluate(simple, at), value)
          << toString(expr) << "  =>  " << toString(simple);
      ASSERT_LE(range.low, value) << toString(expr);
      ASSERT_GE(range.high, value) << toString(expr);
    }
  }
}

TEST(IndexExpr, TextRoundTrips) {
  std::mt19937 random(2);
  for (int round = 0; round < 2000; ++round) {
    IndexExpr expr = randomExpr(random, 4), back;
    std::string error;
    ASSERT_TRUE(parseIndexExpr(toString(expr), back, error))
        << toString(expr) << ": " << error;
    for (int sample = 0; sample < 4; ++sample) {
      std::vector<int64_t> at = {static_cast<int64_t>(random() % 50),
                                 static_cast<int64_t>(random() % 50), 3};
      ASSERT_EQ(evaluate(expr, at), evaluate(back, at)) << toString(expr);
    }
  }
}

TEST(IndexExpr, BadTextIsRefused) {
  IndexExpr expr;
  std::string error;
  for (const char *text :
       {"", "d", "d0 +", "(d0", "d0 floordiv 0", "d0 mod d1", "d0 d1"})
    EXPECT_FALSE(parseIndexExpr(text, expr, error)) << text;
}

TEST(IndexMap, ReshapeChainsDisappear) {
  Shape a = {4, 6, 10}, b = {24, 10}, e = {2, 2, 3, 20}, back = {4, 6, 10};
  IndexMap chain = reshapeMap(a, b);
  chain = compose(chain, reshapeMap(b, e), rangesOf(e));
  chain = compose(chain, reshapeMap(e, back), rangesOf(back));
  EXPECT_TRUE(chain.isIdentity()) << toString(chain);
}

TEST(IndexMap, ReshapeMapsAgreeWithLinearOrder) {
  std::mt19937 random(3);
  const std::vector<Shape> shapes = {{24},         {2, 12},   {3, 8},
                                     {4, 6},       {2, 3, 4}, {1, 24, 1},
                                     {2, 2, 2, 3}, {12, 1, 2}};
  for (const Shape &from : shapes)
    for (const Shape &to : shapes) {
      IndexMap map = reshapeMap(from, to);
      auto strides = rowMajorStrides(from), toStrides = rowMajorStrides(to);
      for (int64_t linear = 0; linear < 24; ++linear) {
        std::vector<int64_t> at;
        for (size_t i = 0; i < to.size(); ++i)
          at.push_back(linear / toStrides[i] % to[i].value());
        int64_t got = 0;
        for (size_t i = 0; i < from.size(); ++i)
          got += evaluate(map.results[i], at) * strides[i];
        ASSERT_EQ(got, linear) << toString(map);
      }
    }
}

TEST(IndexMap, ComposeDropsConstraintsThatAlwaysHold) {
  IndexMap outer{1, {d(0) - c(1)}, {{d(0) - c(1), 0, 9}}};
  IndexMap inside{1, {d(0) + c(1)}, {}};
  EXPECT_TRUE(
      compose(outer, inside, IndexRanges{{{0, 9}}, {}}).constraints.empty());
  EXPECT_EQ(
      compose(outer, inside, IndexRanges{{{0, 10}}, {}}).constraints.size(),
      1u);
}

TEST(IndexMap, TextRoundTrips) {
  IndexMap map{
      2, {d(0) - c(1), floorDiv(d(1), 3)}, {{d(0) - c(1), 0, 4}, {d(1), 2, 7}}};
  IndexMap back;
  std::string error;
  ASSERT_TRUE(parseIndexMap(toString(map), back, error)) << error;
  EXPECT_EQ(toString(back), toString(map));
}

} // namespace
