#include "runtime/program/dim.h"

#include <gmock/gmock.h>

#include <random>

using namespace lockstitch;
using ::testing::HasSubstr;

namespace lockstitch {
void PrintTo(const Dim &dim, std::ostream *out) { *out << toString(dim); }
} // namespace lockstitch

namespace {

struct DimTest : ::testing::Test {
  DimTest() {
    for (const char *name : {"n", "m", "k"})
      symbols.getOrCreate(name);
  }
  Dim dim(std::string_view text) {
    Result<Dim> parsed = parseDim(text, symbols);
    EXPECT_TRUE(parsed.ok()) << text;
    return parsed.ok() ? *parsed : Dim(-1);
  }
  std::string canonical(std::string_view text) {
    return toString(dim(text), &symbols);
  }
  std::string whyNot(std::string_view text) {
    Result<Dim> parsed = parseDim(text, symbols);
    EXPECT_FALSE(parsed.ok()) << text;
    return parsed.ok() ? "" : parsed.error().messages[0].reason;
  }
  std::string whyNot(const Status &status) {
    EXPECT_FALSE(status.ok());
    return status.ok() ? ""
                       : status.error().messages[0].where + ": " +
                             status.error().messages[0].reason;
  }
  SymbolTable symbols;
  Dim n = Dim::symbol(0), m = Dim::symbol(1), k = Dim::symbol(2);
};

TEST_F(DimTest, ANumberIsANumber) {
  Dim seven = 7;
  EXPECT_TRUE(seven.isConstant());
  EXPECT_EQ(seven.value(), 7);
  EXPECT_EQ(seven * 3 - 1, Dim(20));
  EXPECT_EQ(floorDiv(Dim(-7), 2), Dim(-4));
  EXPECT_EQ(ceilDiv(Dim(-7), 2), Dim(-3));
  EXPECT_EQ(mod(Dim(-7), 4), Dim(1));
  EXPECT_EQ(min(seven, 3), Dim(3));
  EXPECT_EQ(max(seven, 3), Dim(7));
  EXPECT_EQ(alignUp(Dim(257), 256), Dim(512));
  EXPECT_FALSE(seven.isSymbol());
  EXPECT_TRUE(seven.symbols().empty());
}

TEST_F(DimTest, EqualExpressionsCompareEqual) {
  EXPECT_EQ((n + 1) * (n - 1), n * n - 1);
  EXPECT_EQ((n + m) * (n + m), n * n + m * m + 2 * n * m);
  EXPECT_EQ(n - n, Dim(0));
  EXPECT_EQ(n * 0 + 3, Dim(3));
  EXPECT_EQ(floorDiv(4 * n + m, 4), n + floorDiv(m, 4));
  EXPECT_EQ(floorDiv(6 * n + 4, 4), n + 1 + floorDiv(n, 2));
  EXPECT_EQ(floorDiv(floorDiv(n, 4), 8), floorDiv(n, 32));
  EXPECT_EQ(floorDiv(floorDiv(n, 4) + 3, 8), floorDiv(n + 12, 32));
  EXPECT_EQ(4 * floorDiv(n, 4) + mod(n, 4), n);
  EXPECT_EQ(mod(n + 8, 4), mod(n, 4));
  EXPECT_EQ(ceilDiv(n + 4, 4), ceilDiv(n, 4) + 1);
  EXPECT_EQ(ceilDiv(n, 4), floorDiv(n + 3, 4));
  EXPECT_EQ(floorDiv(n * m * 2, m), 2 * n);
  EXPECT_EQ(floorDiv(n * m + k, m), n + floorDiv(k, m));
  EXPECT_EQ(floorDiv(n + m, n + m), Dim(1));
  EXPECT_EQ(min(n, n + 3), n);
  EXPECT_EQ(max(n, n + 3), n + 3);
  EXPECT_EQ(min(min(n, m), k), min(k, min(m, n)));
  EXPECT_EQ(min(min(n, 5), 3), min(n, 3));
  EXPECT_NE(n, m);
  EXPECT_NE(n, n + 1);
  EXPECT_NE(floorDiv(n, 4), floorDiv(n, 5));
  EXPECT_NE(min(n, m), max(n, m));
}

TEST_F(DimTest, PrintsAndParses) {
  EXPECT_EQ(canonical("m*n*4 + 3 + n floordiv 8"),
            "4*n*m + (n floordiv 8) + 3");
  EXPECT_EQ(canonical("n mod 4"), "(n mod 4)");
  EXPECT_EQ(canonical("(n + 1) mod 4 - 2 * (m mod 8)"),
            "((n + 1) mod 4) - 2*(m mod 8)");
  EXPECT_EQ(canonical("(n floordiv 2) mod 4"), "((n floordiv 2) mod 4)");
  EXPECT_EQ(canonical("n ceildiv 4"), "((n + 3) floordiv 4)");
  EXPECT_EQ(canonical("min(n, 128) * -1 - 2"), "-min(n, 128) - 2");
  EXPECT_EQ(canonical("max(n, m, 3)"), "max(n, m, 3)");
  EXPECT_EQ(canonical("n floordiv (m + 1)"), "(n floordiv (m + 1))");
  EXPECT_EQ(canonical("0"), "0");
  EXPECT_EQ(canonical("-9223372036854775808"), "-9223372036854775808");
  EXPECT_EQ(toString(n + 1), "s0 + 1"); // without a table
}

TEST_F(DimTest, NamesMayBeAnything) {
  for (const char *name :
       {"batch size", "", "a\"b\\", "min", "floordiv", "3d", "past + 1"}) {
    Dim odd = Dim::symbol(symbols.getOrCreate(name)) * 2 + 1;
    EXPECT_EQ(dim(toString(odd, &symbols)), odd) << name;
  }
  EXPECT_EQ(toString(Dim::symbol(*symbols.find("batch size")), &symbols),
            "\"batch size\"");
}

TEST_F(DimTest, RefusesWhatIsNoExpression) {
  EXPECT_EQ(whyNot(""), "expected a number, a name or '(' at character 1");
  EXPECT_EQ(whyNot("n +"), "expected a number, a name or '(' at character 4");
  EXPECT_EQ(whyNot("n m"), "expected an operator at character 3");
  EXPECT_EQ(whyNot("(n"), "expected ')' at character 3");
  EXPECT_EQ(whyNot("min n"), "expected '(' at character 5");
  EXPECT_EQ(whyNot("q"), "there is no symbol 'q' at character 2");
  EXPECT_EQ(whyNot("\"q"), "a name without its closing quote at character 3");
  EXPECT_THAT(whyNot("9223372036854775808"), HasSubstr("more than 64 bits"));
  EXPECT_THAT(whyNot(std::string(200, '(')), HasSubstr("nested too deeply"));
  EXPECT_THAT(whyNot("n floordiv 0"), HasSubstr("not positive"));
  std::string chain = "n";
  while (chain.size() <= 4096)
    chain += " floordiv m";
  EXPECT_THAT(whyNot(chain), HasSubstr("more than 4096 characters"));
  EXPECT_FALSE(dim(chain.substr(0, chain.size() - 300 / 11 * 11)).isInvalid());
  SymbolTable many;
  std::string sum = "x0";
  for (int i = 0; i < 40; ++i) {
    many.getOrCreate("x" + std::to_string(i));
    sum += " + x" + std::to_string(i);
  }
  Result<Dim> product =
      parseDim("(" + sum + ")*(" + sum + ")*(" + sum + ")*(" + sum + ")", many);
  ASSERT_FALSE(product.ok());
  EXPECT_THAT(product.error().messages[0].reason, HasSubstr("too many terms"));
  EXPECT_THAT(whyNot("9223372036854775807 * 2"), HasSubstr("leave 64 bits"));
}

TEST_F(DimTest, NumbersThatLeave64BitsMakeItInvalid) {
  Dim large = INT64_MAX;
  for (const Dim &dim :
       {large + 1, large * 2, large * n + n, (large * n) * 2, floorDiv(n, 0),
        floorDiv(n, -4), ceilDiv(n, 0), large + 1 - large, min(large + 1, n)}) {
    EXPECT_TRUE(dim.isInvalid());
    EXPECT_FALSE(dim.isConstant());
    EXPECT_EQ(toString(dim), "invalid");
    EXPECT_EQ(evaluate(dim, std::vector<int64_t>{1, 1, 1}), std::nullopt);
  }
}

TEST_F(DimTest, EvaluatesWithChecks) {
  std::vector<int64_t> values = {10, 3, INT64_MAX};
  EXPECT_EQ(evaluate(4 * n * m - floorDiv(n, m), values), 117);
  EXPECT_EQ(evaluate(max(n, m) - min(n, m), values), 7);
  EXPECT_EQ(evaluate(k + 1, values), std::nullopt);
  EXPECT_EQ(evaluate(k + n - k, values), 10);
  EXPECT_EQ(evaluate(k * 2 - k, values), INT64_MAX); // fits in the end
  EXPECT_EQ(evaluate(k * k * k, values), std::nullopt);
  EXPECT_EQ(evaluate(floorDiv(n, m - 3), values), std::nullopt);
  EXPECT_EQ(evaluate(floorDiv(n, m - 4), values), std::nullopt);
  EXPECT_EQ(evaluate(Dim::symbol(7), values), std::nullopt);
}

TEST_F(DimTest, SubstitutesAndSolves) {
  std::vector<Dim> by = {m * 4, k};
  EXPECT_EQ(substitute(floorDiv(n, 4) + m, by), m + k);
  EXPECT_EQ(substitute(k, by), k);
  std::optional<LinearDim> linear = asLinear(4 * n + 3);
  ASSERT_TRUE(linear);
  EXPECT_EQ(linear->symbol, 0u);
  EXPECT_EQ(linear->scale, 4);
  EXPECT_EQ(linear->offset, 3);
  for (const Dim &dim : {Dim(3), n * n, n + m, floorDiv(n, 2)})
    EXPECT_FALSE(asLinear(dim)) << toString(dim);
}

TEST_F(DimTest, Ranges) {
  symbols[0].minimum = 1;
  symbols[0].maximum = 100;
  symbols[1].minimum = -3;
  symbols[1].maximum = 5;
  auto range = [&](const Dim &dim) { return rangeOf(dim, symbols); };
  EXPECT_EQ(range(Dim(4)), (DimRange{4, 4}));
  EXPECT_EQ(range(2 * n - 1), (DimRange{1, 199}));
  EXPECT_EQ(range(n * m), (DimRange{-300, 500}));
  EXPECT_EQ(range(mod(n, 8)), (DimRange{0, 7}));
  EXPECT_EQ(range(16 * mod(n + m, 8) + 1), (DimRange{1, 113}));
  EXPECT_EQ(range(mod(floorDiv(n, 2), 4)), (DimRange{0, 3}));
  EXPECT_EQ(range(ceilDiv(n, 8)), (DimRange{1, 12 + 1}));
  EXPECT_EQ(range(min(n, 20)), (DimRange{1, 20}));
  EXPECT_EQ(range(max(n, 20)), (DimRange{20, 100}));
  EXPECT_EQ(range(k), (DimRange{0, INT64_MAX}));
  EXPECT_EQ(range(k - n), (DimRange{-100, INT64_MAX}));
  EXPECT_EQ(range(0 - k * n), (DimRange{INT64_MIN, 0}));
  symbols[2].value = 7;
  EXPECT_EQ(range(k * 2), (DimRange{14, 14}));
}

TEST_F(DimTest, Divisors) {
  symbols[0].divisor = 4;
  EXPECT_EQ(knownDivisor(Dim(12), symbols), 12);
  EXPECT_EQ(knownDivisor(Dim(0), symbols), 0);
  EXPECT_EQ(knownDivisor(6 * n * m, symbols), 24);
  EXPECT_EQ(knownDivisor(n * n + 8, symbols), 8);
  EXPECT_EQ(knownDivisor(n + 6, symbols), 2);
  EXPECT_EQ(knownDivisor(min(n, 6), symbols), 2);
  EXPECT_EQ(knownDivisor(floorDiv(n, 3), symbols), 1);
  EXPECT_EQ(knownDivisor(alignUp(m, 256), symbols), 256);
  symbols[1].value = 10;
  EXPECT_EQ(knownDivisor(m, symbols), 10);
}

// --- The table ---

TEST_F(DimTest, EqualSymbolsShareWhatIsKnown) {
  symbols[0].maximum = 64;
  symbols[0].divisor = 4;
  symbols[1].minimum = 8;
  symbols[1].divisor = 6;
  ASSERT_TRUE(symbols.equate(0, m).ok());
  EXPECT_EQ(symbols[1].maximum, 64);
  EXPECT_EQ(symbols[1].divisor, 12);
  EXPECT_EQ(symbols[0].minimum, 8);
  EXPECT_EQ(symbols.resolve(n - m), Dim(0));
  ASSERT_TRUE(symbols.equate(1, k).ok());
  EXPECT_EQ(symbols.resolve(n), symbols.resolve(k));
  symbols[0].value = 24; // of a defined symbol: known of the others too
  EXPECT_EQ(symbols.resolve(k + 1), Dim(25));
}

TEST_F(DimTest, ASymbolMayEqualAnExpression) {
  ASSERT_TRUE(symbols.equate(1, 2 * n + 1).ok());
  EXPECT_EQ(symbols.resolve(m - 1), 2 * n);
  EXPECT_EQ(symbols[1].minimum, 1);
  ASSERT_TRUE(symbols.equate(1, 4 * k + 1).ok()); // n = 2k
  EXPECT_EQ(symbols.resolve(n), 2 * k);
  EXPECT_EQ(symbols.resolve(m), 4 * k + 1);
  symbols[1].value = 13;
  EXPECT_EQ(symbols.resolve(n * 10 + m), Dim(73));
  EXPECT_TRUE(symbols.check(std::vector<int64_t>{6, 13, 3}).ok());
}

TEST_F(DimTest, AnEqualityThatCannotBeSolvedIsARule) {
  ASSERT_TRUE(symbols.equate(0, n * n - 2).ok()); // n = 2
  EXPECT_EQ(symbols.resolve(n), n);
  EXPECT_TRUE(symbols.check(std::vector<int64_t>{2, 0, 0}).ok());
  EXPECT_EQ(whyNot(symbols.check(std::vector<int64_t>{3, 0, 0})),
            "symbol 'n': must be n*n - 2 = 7, but is 3");
}

TEST_F(DimTest, ContradictionsNameTheSymbols) {
  symbols[0].maximum = 4;
  symbols[1].minimum = 8;
  symbols[1].maximum = 16;
  EXPECT_EQ(whyNot(symbols.equate(0, m)),
            "symbol 'n', 'm': n and m are declared equal, but the first is in "
            "[0, 4], the second in [8, 16]");
  EXPECT_EQ(whyNot(symbols.equate(0, n + 1)), "symbol 'n': n cannot be n + 1");
  symbols[2].minimum = 1;
  symbols[2].divisor = 5;
  EXPECT_EQ(whyNot(symbols.equate(0, k)),
            "symbol 'n', 'k': n and k are declared equal, but there is no "
            "multiple of 5 in [1, 4]");
  symbols[0].value = 3;
  EXPECT_EQ(whyNot(symbols.equate(0, Dim(4))), "symbol 'n': n and 4 are "
                                               "declared equal, but the first "
                                               "is in [3, 3], the second in "
                                               "[4, 4]");
  EXPECT_EQ(whyNot(symbols.equate(0, m * INT64_MAX * 2)),
            "symbol 'n': its size leaves 64 bits");
}

TEST_F(DimTest, ChecksValues) {
  symbols[0].minimum = 1;
  symbols[0].maximum = 1024;
  symbols[0].divisor = 4;
  ASSERT_TRUE(symbols.equate(1, 2 * n).ok());
  symbols[2].value = 9;
  auto check = [&](int64_t a, int64_t b, int64_t c) {
    return whyNot(symbols.check(std::vector<int64_t>{a, b, c}));
  };
  EXPECT_TRUE(symbols.check(std::vector<int64_t>{8, 16, 9}).ok());
  EXPECT_EQ(check(0, 0, 9), "symbol 'n': must be in [1, 1024], but is 0");
  EXPECT_EQ(check(7, 14, 9), "symbol 'n': must be a multiple of 4, but is 7");
  EXPECT_EQ(check(8, 24, 9), "symbol 'm': must be 2*n = 16, but is 24");
  EXPECT_EQ(check(8, 16, 8), "symbol 'k': is 9, not 8");
  EXPECT_EQ(whyNot(symbols.check({})), "symbol 'n': has no value");
  EXPECT_EQ(symbols.rules(), "1 <= n <= 1024, n a multiple of 4, 2 <= m <= "
                             "2048, m a multiple of 8, k = 9, m = 2*n");
}

// --- Random expressions ---

/// An expression as it was written, never simplified.
struct Raw {
  char operation = 'c'; // c s + - * / % ^ (ceilDiv) < (min) > (max)
  int64_t number = 0;
  std::vector<Raw> operands;
};

__extension__ typedef __int128 Wide;

std::optional<Wide> evaluateRaw(const Raw &raw,
                                const std::vector<int64_t> &values) {
  if (raw.operation == 'c')
    return raw.number;
  if (raw.operation == 's')
    return values[raw.number];
  auto a = evaluateRaw(raw.operands[0], values),
       b = evaluateRaw(raw.operands[1], values);
  if (!a || !b)
    return std::nullopt;
  auto floorOf = [](Wide x, Wide y) { return x / y - (x % y < 0); };
  switch (raw.operation) {
  case '+':
    return *a + *b;
  case '-':
    return *a - *b;
  case '*':
    return *a * *b;
  case '<':
    return std::min(*a, *b);
  case '>':
    return std::max(*a, *b);
  }
  if (*b <= 0)
    return std::nullopt;
  if (raw.operation == '/')
    return floorOf(*a, *b);
  if (raw.operation == '^')
    return -floorOf(-*a, *b);
  return *a - *b * floorOf(*a, *b);
}

Dim simplified(const Raw &raw) {
  if (raw.operation == 'c')
    return raw.number;
  if (raw.operation == 's')
    return Dim::symbol(static_cast<uint32_t>(raw.number));
  Dim a = simplified(raw.operands[0]), b = simplified(raw.operands[1]);
  switch (raw.operation) {
  case '+':
    return a + b;
  case '-':
    return a - b;
  case '*':
    return a * b;
  case '/':
    return floorDiv(a, b);
  case '%':
    return mod(a, b);
  case '^':
    return ceilDiv(a, b);
  case '<':
    return min(a, b);
  }
  return max(a, b);
}

Raw randomRaw(std::mt19937_64 &random, int depth) {
  if (depth == 0 || random() % 6 == 0) {
    if (random() % 2)
      return {'s', static_cast<int64_t>(random() % 3), {}};
    return {'c', static_cast<int64_t>(random() % 17) - 4, {}};
  }
  char operation = "+-*/%^<>+/"[random() % 10];
  Raw a = randomRaw(random, depth - 1), b = randomRaw(random, depth - 1);
  if (operation == '/' || operation == '%' || operation == '^')
    if (random() % 4) // mostly by a number
      b = {'c', static_cast<int64_t>(random() % 9) + 1, {}};
  return {operation, 0, {std::move(a), std::move(b)}};
}

TEST_F(DimTest, SimplifiedIsWhatWasWritten) {
  std::mt19937_64 random(20240611);
  int compared = 0;
  for (int round = 0; round < 20000; ++round) {
    Raw raw = randomRaw(random, 1 + static_cast<int>(random() % 5));
    Dim dim = simplified(raw);
    SymbolTable table = symbols;
    std::vector<int64_t> low(3), high(3), divisor(3);
    for (int i = 0; i < 3; ++i) {
      divisor[i] = 1 + static_cast<int64_t>(random() % 4);
      low[i] = static_cast<int64_t>(random() % 20) - 5;
      high[i] = low[i] + 8 + static_cast<int64_t>(random() % 40);
      table[i].minimum = low[i];
      table[i].maximum = high[i];
      table[i].divisor = divisor[i];
    }
    Result<Dim> again = parseDim(toString(dim, &table), table);
    if (!dim.isInvalid()) {
      ASSERT_TRUE(again.ok()) << toString(dim, &table);
      ASSERT_EQ(*again, dim);
    }
    DimRange range = rangeOf(dim, table);
    int64_t divides = knownDivisor(dim, table);
    for (int sample = 0; sample < 6; ++sample) {
      std::vector<int64_t> values(3);
      for (int i = 0; i < 3; ++i) {
        int64_t first =
            (low[i] + 40 + divisor[i] - 1) / divisor[i] * divisor[i];
        while (first - 40 < low[i] || (first - 40) % divisor[i])
          ++first;
        first -= 40;
        values[i] =
            first +
            divisor[i] * static_cast<int64_t>(
                             random() % ((high[i] - first) / divisor[i] + 1));
      }
      std::optional<Wide> expected = evaluateRaw(raw, values);
      if (!expected || *expected < INT64_MIN || *expected > INT64_MAX ||
          dim.isInvalid())
        continue;
      auto value = static_cast<int64_t>(*expected);
      ASSERT_EQ(evaluate(dim, values), value) << toString(dim, &table);
      ASSERT_LE(range.low, value) << toString(dim, &table);
      ASSERT_GE(range.high, value) << toString(dim, &table);
      ASSERT_TRUE(divides == 0 ? value == 0 : value % divides == 0)
          << toString(dim, &table) << " by " << divides;
      std::vector<Dim> numbers(values.begin(), values.end());
      if (Dim put = substitute(dim, numbers); !put.isInvalid())
        ASSERT_EQ(put, Dim(value)) << toString(dim, &table);
      ++compared;
    }
  }
  EXPECT_GT(compared, 60000);
}

TEST_F(DimTest, TheFormDoesNotDependOnTheWay) {
  // Distributed, associated and commuted otherwise: the same.
  std::mt19937_64 random(7);
  for (int round = 0; round < 3000; ++round) {
    Dim a = simplified(randomRaw(random, 2)),
        b = simplified(randomRaw(random, 2)),
        c = simplified(randomRaw(random, 2));
    if (Dim sum = a * b + a * c + b; sum.isInvalid())
      continue;
    ASSERT_EQ(a * (b + c), a * c + b * a);
    ASSERT_EQ((a + b) + c, c + (b + a));
    ASSERT_EQ(min(a, min(b, c)), min(min(c, a), b));
    int64_t number = 1 + static_cast<int64_t>(random() % 9);
    ASSERT_EQ(floorDiv(a * number + b, number), a + floorDiv(b, number));
    ASSERT_EQ(number * floorDiv(a, number) + mod(a, number), a);
    ASSERT_EQ(mod(a + number * b, number), mod(a, number));
  }
}

} // namespace
