// The elementary functions against the C library in the next wider type, in
// units in the last place.
#include "execute.h"
#include "kernel_builder.h"

#include <cmath>
#include <cstring>
#include <random>

namespace lockstitch::testing {
namespace {

/// y = opcode(x...) on `count` elements.
StageProgram apply(ScalarOpcode opcode, ElementType type, size_t arity,
                   int64_t count) {
  KernelBuilder k("apply", 1);
  std::vector<uint32_t> inputs;
  for (size_t i = 0; i < arity; ++i)
    inputs.push_back(k.input(type, count));
  uint32_t out = k.output(type, count);
  k.stage(count);
  std::vector<StageValueId> args;
  for (uint32_t input : inputs)
    args.push_back(k.load(input, col()));
  k.store(out, col(), k.op(opcode, type, args));
  return k.program;
}

template <typename T>
constexpr ElementType kType =
    sizeof(T) == 4 ? ElementType::F32 : ElementType::F64;

template <typename T>
std::vector<T> run(ScalarOpcode opcode,
                   const std::vector<std::vector<T>> &inputs,
                   const HostTarget &target) {
  size_t count = inputs[0].size();
  StageProgram program = apply(opcode, kType<T>, inputs.size(), count);
  std::vector<Bytes> buffers;
  for (const std::vector<T> &input : inputs) {
    auto *first = reinterpret_cast<const std::byte *>(input.data());
    buffers.emplace_back(first, first + count * sizeof(T));
  }
  buffers.emplace_back(count * sizeof(T));
  KernelSchedule schedule;
  schedule.vectorWidth = 64 / sizeof(T);
  runOnHost(program, schedule, buffers, target);
  std::vector<T> result(count);
  std::memcpy(result.data(), buffers.back().data(), count * sizeof(T));
  return result;
}

/// Distance of `actual` from `exact` in units of the last place of T at
/// `exact`; huge when one is special and the other is not.
template <typename T, typename Wide> double ulps(T actual, Wide exact) {
  T nearest = static_cast<T>(exact);
  if (std::isnan(exact) || std::isnan(actual))
    return std::isnan(exact) == std::isnan(actual) ? 0 : 1e9;
  if (std::isinf(nearest) || std::isinf(actual))
    return actual == nearest ||
                   std::fabs(exact) >=
                       std::numeric_limits<T>::max() * Wide(0.9999999)
               ? 0
               : 1e9;
  if (nearest == 0 && actual == 0)
    return std::signbit(nearest) == std::signbit(actual) ? 0 : 1e9;
  int exponent;
  std::frexp(exact, &exponent);
  exponent = std::max(exponent, std::numeric_limits<T>::min_exponent);
  Wide unit = std::ldexp(Wide(1), exponent - std::numeric_limits<T>::digits);
  return static_cast<double>(std::fabs(static_cast<Wide>(actual) - exact) /
                             unit);
}

template <typename T> std::vector<T> specials() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> result;
  for (T x : {T(0),
              T(1),
              T(2),
              T(3),
              T(0.5),
              T(1.5),
              T(10),
              Limits::min(),
              Limits::denorm_min(),
              Limits::max(),
              Limits::epsilon(),
              Limits::infinity(),
              Limits::quiet_NaN(),
              T(88.72283),
              T(88.8),
              T(-87.5),
              T(103.9),
              T(104.5),
              T(709.78),
              T(745.1)})
    for (T sign : {T(1), T(-1)})
      result.push_back(sign * x);
  return result;
}

/// Values over [low, high], or over all bit patterns when low == high, and the
/// special ones.
template <typename T>
std::vector<T> sweep(double low, double high, size_t count) {
  std::mt19937_64 random(7);
  std::vector<T> result = specials<T>();
  std::uniform_real_distribution<double> uniform(low, high);
  while (result.size() < count) {
    if (low < high) {
      result.push_back(static_cast<T>(uniform(random)));
      continue;
    }
    uint64_t bits = random();
    T value;
    std::memcpy(&value, &bits, sizeof value);
    result.push_back(value);
  }
  return result;
}

struct Case {
  ScalarOpcode opcode;
  long double (*exact)(long double);
  double low, high, maxUlps32, maxUlps64;
};

template <typename T, typename Wide>
void checkCase(const Case &test, double limit, const HostTarget &target) {
  for (bool everywhere : {false, true}) {
    std::vector<T> x = everywhere ? sweep<T>(0, 0, 200000)
                                  : sweep<T>(test.low, test.high, 200000);
    if (sizeof(T) == 8 &&
        (test.opcode == ScalarOpcode::Sin || test.opcode == ScalarOpcode::Cos))
      for (T &value : x) // documented limit of the reduction in f64
        if (std::fabs(value) > 1e9)
          value = 1;
    std::vector<T> y = run<T>(test.opcode, {x}, target);
    double worst = 0;
    T where = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      double error = ulps<T, long double>(y[i], test.exact(x[i]));
      if (error > worst) {
        worst = error;
        where = x[i];
      }
    }
    ::testing::Test::RecordProperty(std::string(toString(test.opcode)) +
                                        std::to_string(sizeof(T)),
                                    std::to_string(worst));
    EXPECT_LE(worst, limit)
        << toString(test.opcode) << " of " << where << " in " << name(kType<T>)
        << (everywhere ? ", all bit patterns" : "");
  }
}

class MathFunction : public ::testing::TestWithParam<Case> {};

TEST_P(MathFunction, F32IsAccurate) {
  checkCase<float, long double>(GetParam(), GetParam().maxUlps32, hostTarget());
}
TEST_P(MathFunction, F64IsAccurate) {
  checkCase<double, long double>(GetParam(), GetParam().maxUlps64,
                                 hostTarget());
}

/// A CPU without fused multiply-add computes the very same.
TEST_P(MathFunction, F32IsTheSameWithoutFma) {
  std::vector<float> x = sweep<float>(GetParam().low, GetParam().high, 20000),
                     all = sweep<float>(0, 0, 20000);
  x.insert(x.end(), all.begin(), all.end());
  std::vector<float> here = run<float>(GetParam().opcode, {x}, hostTarget());
  std::vector<float> plain =
      run<float>(GetParam().opcode, {x}, *HostTarget::resolve("x86-64-v2"));
  for (size_t i = 0; i < x.size(); ++i)
    if (!(std::isnan(here[i]) && std::isnan(plain[i])))
      ASSERT_EQ(std::bit_cast<uint32_t>(here[i]),
                std::bit_cast<uint32_t>(plain[i]))
          << x[i];
}

INSTANTIATE_TEST_SUITE_P(
    All, MathFunction,
    ::testing::Values(Case{ScalarOpcode::Exp, std::exp, -105, 90, 1.01, 1.01},
                      Case{ScalarOpcode::Log, std::log, 0, 10, 1.01, 1.01},
                      Case{ScalarOpcode::Sin, std::sin, -100, 100, 1.6, 1.6},
                      Case{ScalarOpcode::Cos, std::cos, -100, 100, 1.6, 1.6},
                      Case{ScalarOpcode::Tanh, std::tanh, -10, 10, 2.5, 2.5},
                      Case{ScalarOpcode::Erf, std::erf, -4, 4, 1.7, 2.5}),
    [](const auto &info) { return std::string(toString(info.param.opcode)); });

template <typename T> void checkPow(double limit, double nearLimit) {
  std::vector<T> x, y;
  std::vector<T> special = specials<T>();
  for (T a : special)
    for (T b : special) {
      x.push_back(a);
      y.push_back(b);
    }
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> base(0, 4), exponent(-8, 8),
      wide(-80, 80);
  for (int i = 0; i < 100000; ++i) {
    x.push_back(base(random) * (i % 7 ? 1 : -1));
    y.push_back(i % 7 ? i % 2 ? exponent(random) : wide(random)
                      : std::round(exponent(random)));
  }
  std::vector<T> z = run<T>(ScalarOpcode::Pow, {x, y}, hostTarget());
  for (size_t i = 0; i < x.size(); ++i) {
    double error =
        ulps<T, long double>(z[i], std::pow(static_cast<long double>(x[i]),
                                            static_cast<long double>(y[i])));
    bool moderate = std::fabs(y[i] * std::log(std::fabs(x[i]))) < 16;
    ASSERT_LE(error, moderate ? nearLimit : limit)
        << x[i] << " ^ " << y[i] << " = " << z[i];
  }
}

TEST(MathFunctions, PowF32) { checkPow<float>(0.51, 0.51); }
TEST(MathFunctions, PowF64) { checkPow<double>(16, 2); }

template <typename T> void checkRem() {
  std::vector<T> x, y;
  for (T a : specials<T>())
    for (T b : specials<T>()) {
      x.push_back(a);
      y.push_back(b);
    }
  std::mt19937_64 random(5);
  for (int i = 0; i < 20000; ++i) {
    std::uniform_int_distribution<int> exponent(i % 2 ? -4 : -100,
                                                i % 2 ? 30 : 100);
    std::uniform_real_distribution<double> significand(-2, 2);
    x.push_back(std::ldexp(significand(random), exponent(random)));
    y.push_back(std::ldexp(significand(random), exponent(random)));
  }
  std::vector<T> z = run<T>(ScalarOpcode::Rem, {x, y}, hostTarget());
  for (size_t i = 0; i < x.size(); ++i) {
    T expected = std::fmod(x[i], y[i]);
    if (std::isnan(expected))
      ASSERT_TRUE(std::isnan(z[i])) << x[i] << " % " << y[i];
    else
      ASSERT_TRUE(z[i] == expected &&
                  std::signbit(z[i]) == std::signbit(expected))
          << x[i] << " % " << y[i] << " = " << z[i] << ", not " << expected;
  }
}

TEST(MathFunctions, RemIsExactF32) { checkRem<float>(); }
TEST(MathFunctions, RemIsExactF64) { checkRem<double>(); }

TEST(MathFunctions, FmaRoundsOnceWithoutTheInstruction) {
  std::vector<float> x, y, z;
  std::mt19937_64 random(11);
  for (int i = 0; i < 200000; ++i) {
    auto any = [&] {
      return std::bit_cast<float>(static_cast<uint32_t>(random()));
    };
    x.push_back(i % 2 ? any()
                      : std::ldexp(1.0f + (random() % 4096) / 4096.0f, 3));
    y.push_back(i % 2 ? any() : 1.0f + (random() % 8192) / 8192.0f);
    z.push_back(i % 2 ? any()
                      : std::ldexp(1.0f + (random() % 16) / 16.0f,
                                   int(random() % 60) - 30));
  }
  std::vector<float> result = run<float>(ScalarOpcode::Fma, {x, y, z},
                                         *HostTarget::resolve("x86-64-v2"));
  for (size_t i = 0; i < x.size(); ++i) {
    float expected = std::fma(x[i], y[i], z[i]);
    if (!std::isnan(expected) || !std::isnan(result[i]))
      ASSERT_EQ(std::bit_cast<uint32_t>(result[i]),
                std::bit_cast<uint32_t>(expected))
          << x[i] << " * " << y[i] << " + " << z[i];
  }
}

} // namespace
} // namespace lockstitch::testing
