// exp, log, sin, cos, tanh, erf and pow for f32 and f64, and fmod and integer
// powers, from basic operations only: the same sequence on every target, so
// that host, simulator and GPU agree bit for bit, and no library is called.
//
// Each is range reduction and a polynomial (math_coefficients.h, fitted by
// fit_polynomials.py):
//
//   exp   x = n*ln2 + r, |r| <= ln2/2 (Cody-Waite in two parts);  2^n by two
//   multiplications, so that subnormal and
//         overflowing results come out right
//   log   x = 2^e * m, sqrt(1/2) <= m < sqrt(2);  e*ln2 in two parts
//   sin   x = n*pi/2 + r (three parts; beyond kLargeAngle Payne-Hanek, under a
//   branch that is rarely taken) tanh  odd polynomial near 0, else 1 -
//   2/(exp(2|x|) + 1) erf   odd polynomial up to 1, else 1 - exp(P(|x|)) with P
//   = log(erfc) pow   exp(y * log|x|): f32 in f64, f64 with the logarithm as a
//   sum of two doubles
//
// Largest errors seen by math_functions_test (ulp): f32 exp 1, log 1, sin and
// cos 1.5, tanh 2, erf 1.7, pow 0.51; f64 exp, log 1, sin, cos 1.6 up to |x| =
// 1e9 (beyond, accuracy is lost: there is no Payne-Hanek for f64), tanh 2, erf
// 2, pow 2 while |y*log x| < 16, growing to 16 at the ends of the range.
//
// Integers of a float are taken with the "magic number": x + 1.5*2^23 has
// round(x) in its last bits. Unlike a conversion it is defined for every x, NaN
// included, whose result then is NaN by arithmetic alone.
#include "compiler/codegen/math_coefficients.h"
#include "compiler/codegen/value_builder.h"

using namespace mlir;

namespace lockstitch::codegen {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kLog2E = 1.4426950408889634;
/// Up to here the three-part reduction of an angle is exact enough.
constexpr double kLargeAngle = 100000;

/// The layout of a float type.
struct Format {
  bool isF32;
  unsigned bits, fraction; // of the whole, of the fraction field
  int64_t bias;
  double magic; // 1.5 * 2^fraction
};
constexpr Format kF32{true, 32, 23, 127, 12582912.0};
constexpr Format kF64{false, 64, 52, 1023, 6755399441055744.0};

const Format &formatOf(Value x) {
  return ValueBuilder::elementOf(x).isF32() ? kF32 : kF64;
}

/// coefficients[0] + coefficients[1] * x + ..., by Horner's rule.
Value polynomial(ValueBuilder &v, Value x, ArrayRef<double> coefficients) {
  Value result = v.f(x, coefficients.back());
  for (double coefficient : llvm::reverse(coefficients.drop_back()))
    result = v.fma(result, x, v.f(x, coefficient));
  return result;
}

/// 2^n for integer lanes n with a normal result.
Value powerOfTwo(ValueBuilder &v, Value n, const Format &format, Type element) {
  Value biased = v.add(n, v.k(n, format.bias));
  return v.bits(v.shl(biased, v.k(n, format.fraction)), element);
}

/// round(x) as a float and as an integer, for |x| < 2^(fraction-1).
std::pair<Value, Value> roundToInt(ValueBuilder &v, Value x,
                                   const Format &format) {
  Value shifted = v.addF(x, v.f(x, format.magic));
  Value rounded = v.subF(shifted, v.f(x, format.magic));
  Value bits = v.bits(shifted, v.i(format.bits));
  Value magicBits = v.bits(v.f(x, format.magic), v.i(format.bits));
  return {rounded, v.sub(bits, magicBits)};
}

/// Natural exponential where the result is neither subnormal nor overflows, or
/// with `wide` anywhere in the clamped range.
Value expCore(ValueBuilder &v, Value x, bool wide) {
  const Format &format = formatOf(x);
  Type element = ValueBuilder::elementOf(x);
  auto [n, integer] = roundToInt(v, v.mulF(x, v.f(x, kLog2E)), format);
  // ln2 in two parts, the first short enough for an exact product with n.
  double high = format.isF32 ? 0.693145751953125 : 0.69314718036912381649;
  double low = format.isF32 ? 1.42860676533018704e-6 : 1.9082149292705877e-10;
  Value r = v.fma(n, v.f(x, -high), x);
  r = v.fma(n, v.f(x, -low), r);
  Value p =
      format.isF32 ? polynomial(v, r, kExpF32) : polynomial(v, r, kExpF64);
  Value result = v.addF(v.fma(v.mulF(r, r), p, r), v.f(x, 1));
  if (!wide)
    return v.mulF(result, powerOfTwo(v, integer, format, element));
  Value first = v.shrS(integer, v.k(integer, 1));
  Value second = v.sub(integer, first);
  result = v.mulF(result, powerOfTwo(v, first, format, element));
  return v.mulF(result, powerOfTwo(v, second, format, element));
}

/// x with lanes above `high` or below `low` replaced by these; NaN stays.
Value clamp(ValueBuilder &v, Value x, double low, double high) {
  Value top = v.f(x, high), bottom = v.f(x, low);
  // The same value either way; each target has one instruction for one of the
  // forms.
  if (v.traits.isGpu && v.traits.sm >= 80)
    return v.maximum(v.minimum(x, top), bottom);
  x = v.select(v.compare(FloatCompare::OGT, x, top), top, x);
  return v.select(v.compare(FloatCompare::OLT, x, bottom), bottom, x);
}

/// x > 0 as exponent e (a float) and f = m - 1, with x = 2^e * m.
std::pair<Value, Value> splitExponent(ValueBuilder &v, Value x,
                                      const Format &format) {
  Type element = ValueBuilder::elementOf(x);
  double scale = format.isF32 ? 0x1p23 : 0x1p52,
         least = format.isF32 ? 0x1p-126 : 0x1p-1022;
  Value isSubnormal = v.compare(FloatCompare::OLT, x, v.f(x, least));
  Value normal = v.select(isSubnormal, v.mulF(x, v.f(x, scale)), x);
  Value bits = v.bits(normal, v.i(format.bits));
  Value half =
      v.k(bits, format.isF32 ? 0x3f3504f3 : 0x3fe6a09e667f3bcd); // sqrt(1/2)
  Value shifted = v.sub(bits, half);
  Value exponent = v.shrS(shifted, v.k(bits, format.fraction));
  Value mantissa = v.add(
      v.andI(shifted, v.k(bits, (int64_t(1) << format.fraction) - 1)), half);
  Value e = v.intToFloat(exponent, element, true);
  e = v.subF(e, v.select(isSubnormal, v.f(x, format.fraction), v.f(x, 0)));
  return {e, v.subF(v.bits(mantissa, element), v.f(x, 1))};
}

/// What log gives for x <= 0, infinity and NaN in place of `regular`.
Value logSpecial(ValueBuilder &v, Value x, Value regular) {
  Value zero = v.f(x, 0);
  Value result =
      v.select(v.compare(FloatCompare::OEQ, x, v.f(x, kInfinity)), x, regular);
  result = v.select(v.compare(FloatCompare::OEQ, x, zero), v.f(x, -kInfinity),
                    result);
  return v.select(v.compare(FloatCompare::UGE, x, zero),
                  v.select(v.isNaN(x), x, result), v.f(x, kNaN));
}

/// Is any lane set?
Value anyLane(ValueBuilder &v, Value mask) {
  unsigned width = ValueBuilder::widthOf(mask);
  if (width == 1)
    return mask;
  if (!v.traits.isGpu) {
    Value packed = LLVM::BitcastOp::create(v.b, v.i(width), mask);
    return v.compare(IntCompare::ne, packed, v.k(packed, 0));
  }
  Value any = v.lane(mask, 0);
  for (unsigned lane = 1; lane < width; ++lane)
    any = v.orI(any, v.lane(mask, lane));
  return any;
}

//===----------------------------------------------------------------------===//
// Angles
//===----------------------------------------------------------------------===//

struct ReducedAngle {
  Value quadrant; // modulo 4, in the low bits of an i32
  Value r;        // |r| <= pi/4
};

/// x * 2/pi in fixed point for a finite f32 of any size: a window of 96 bits of
/// 2/pi, chosen by the exponent of x, times the significand. Whole multiples of
/// 4 never enter. Source: M. Payne, R. Hanek, "Radian reduction for
/// trigonometric functions".
ReducedAngle reduceLargeF32(ValueBuilder &v, Value x) {
  Value bits = v.bits(x, v.i(32));
  Value exponent = v.sub(v.andI(v.shrU(bits, v.k(bits, 23)), v.k(bits, 255)),
                         v.k(bits, 150));
  Value significand =
      v.orI(v.andI(bits, v.k(bits, 0x7fffff)), v.k(bits, 0x800000));
  // |x| = significand * 2^exponent. 2/pi is shifted left by `shift`, the rest
  // of the exponent is -7 .. 2.
  Value shift = v.sub(exponent, v.k(bits, 2));
  shift = v.select(v.compare(IntCompare::slt, shift, v.k(bits, 0)),
                   v.k(bits, 0), shift);
  Value rest = v.resize(v.sub(exponent, shift), 64, true);
  Value word = v.shrU(shift, v.k(bits, 5));
  Value inWord = v.resize(v.andI(shift, v.k(bits, 31)), 64, false);
  SmallVector<Value> words;
  for (unsigned i = 0; i < 4; ++i) {
    Value chosen = v.k(bits, kTwoOverPi[i]);
    for (unsigned first = 1; first < 4; ++first)
      chosen = v.select(v.compare(IntCompare::eq, word, v.k(bits, first)),
                        v.k(bits, kTwoOverPi[i + first]), chosen);
    words.push_back(v.resize(chosen, 64, false));
  }
  SmallVector<Value> window;
  for (unsigned i = 0; i < 3; ++i) {
    Value pair = v.orI(v.shl(words[i], v.k(words[i], 32)), words[i + 1]);
    window.push_back(v.shrU(v.shl(pair, inWord), v.k(pair, 32)));
  }
  Value wide = v.resize(significand, 64, false);
  Value high = v.mul(wide, window[0]); // in units of 2^-32
  Value low =
      v.add(v.mul(wide, window[1]),
            v.shrU(v.mul(wide, window[2]), v.k(wide, 32))); // in units of 2^-64
  // Two integer bits and 62 of fraction.
  Value fixed = v.add(v.shl(high, v.add(rest, v.k(wide, 30))),
                      v.shrU(low, v.sub(v.k(wide, 2), rest)));
  Value quadrant =
      v.shrU(v.add(fixed, v.k(wide, int64_t(1) << 61)), v.k(wide, 62));
  Value fraction = v.sub(fixed, v.shl(quadrant, v.k(wide, 62)));
  Value radians = v.intToFloat(fraction, v.b.getF64Type(), true);
  Value r =
      v.toF32(v.mulF(radians, v.f(radians, 1.5707963267948966 * 0x1p-62)));
  Value negative = v.compare(IntCompare::slt, bits, v.k(bits, 0));
  Value n = v.resize(quadrant, 32, false);
  return {v.select(negative, v.sub(v.k(n, 0), n), n),
          v.select(negative, v.negF(r), r)};
}

ReducedAngle reduceAngle(ValueBuilder &v, Value x) {
  const Format &format = formatOf(x);
  auto [n, integer] =
      roundToInt(v, v.mulF(x, v.f(x, 0.63661977236758134)), format);
  const double parts[2][3] = {
      {1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33},
      {1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15}};
  Value r = x;
  for (double part : parts[format.isF32])
    r = v.fma(n, v.f(x, -part), r);
  ReducedAngle result{v.resize(integer, 32, true), r};
  if (!format.isF32)
    return result;
  Value isLarge = v.compare(FloatCompare::OGT, v.absF(x), v.f(x, kLargeAngle));
  auto branch =
      scf::IfOp::create(v.b, TypeRange{result.quadrant.getType(), r.getType()},
                        anyLane(v, isLarge),
                        /*addThenBlock=*/true, /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(v.b);
  v.b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(v.b, ValueRange{result.quadrant, r});
  v.b.setInsertionPointToStart(branch.thenBlock());
  ReducedAngle large = reduceLargeF32(v, x);
  Value isInfinite = v.compare(FloatCompare::OEQ, v.absF(x), v.f(x, kInfinity));
  Value largeR = v.select(isInfinite, v.f(x, kNaN), large.r);
  Value quadrant = v.select(isLarge, large.quadrant, result.quadrant);
  scf::YieldOp::create(v.b, ValueRange{quadrant, v.select(isLarge, largeR, r)});
  return {branch.getResult(0), branch.getResult(1)};
}

/// sin(x + offset * pi/2).
Value sinWithOffset(ValueBuilder &v, Value x, int64_t offset) {
  ReducedAngle angle = reduceAngle(v, x);
  bool isF32 = formatOf(x).isF32;
  Value r = angle.r, z = v.mulF(r, r);
  Value sinP = isF32 ? polynomial(v, z, kSinF32) : polynomial(v, z, kSinF64);
  Value cosP = isF32 ? polynomial(v, z, kCosF32) : polynomial(v, z, kCosF64);
  Value sin = v.fma(v.mulF(r, z), sinP, r);
  // 1 - z/2 + z^2 * P, the small terms first.
  Value tail = v.mulF(v.mulF(z, z), cosP);
  Value half = v.mulF(z, v.f(z, 0.5));
  Value head = v.subF(v.f(z, 1), half);
  Value lost = v.subF(v.subF(v.f(z, 1), head), half);
  Value cos = v.addF(head, v.addF(lost, tail));
  Value q = v.add(angle.quadrant, v.k(angle.quadrant, offset));
  Value isOdd = v.compare(IntCompare::ne, v.andI(q, v.k(q, 1)), v.k(q, 0));
  Value isNegative = v.compare(IntCompare::ne, v.andI(q, v.k(q, 2)), v.k(q, 0));
  Value result = v.select(isOdd, cos, sin);
  return v.select(isNegative, v.negF(result), result);
}

//===----------------------------------------------------------------------===//
// Powers
//===----------------------------------------------------------------------===//

/// A sum of two doubles, the second at most half an ulp of the first.
struct Double2 {
  Value high, low;
};

Double2 quickTwoSum(ValueBuilder &v, Value a, Value b) {
  Value sum = v.addF(a, b);
  return {sum, v.subF(b, v.subF(sum, a))};
}

Double2 twoSum(ValueBuilder &v, Value a, Value b) {
  Value sum = v.addF(a, b);
  Value bb = v.subF(sum, a);
  return {sum, v.addF(v.subF(a, v.subF(sum, bb)), v.subF(b, bb))};
}

Double2 twoProduct(ValueBuilder &v, Value a, Value b) {
  Value product = v.mulF(a, b);
  return {product, v.fma(a, b, v.negF(product))};
}

/// log of f64 x > 0 to about 2^-62 of its value.
Double2 logDouble2(ValueBuilder &v, Value x) {
  auto [e, f] = splitExponent(v, x, kF64);
  // s = f / (2 + f) in two parts; log(1+f) = 2*s + s^3 * P(s^2).
  Double2 denominator = quickTwoSum(v, v.f(x, 2), f);
  Value s = v.divF(f, denominator.high);
  Value rest = v.fma(v.negF(s), denominator.high, f);
  rest = v.fma(v.negF(s), denominator.low, rest);
  Value sLow = v.divF(rest, denominator.high);
  Value z = v.mulF(s, s);
  Value tail = v.mulF(v.mulF(s, z), polynomial(v, z, kLogF64));
  Value two = v.f(x, 2);
  Double2 mantissa = quickTwoSum(v, v.mulF(s, two), tail);
  mantissa.low = v.addF(mantissa.low, v.mulF(sLow, two));
  Double2 exponent{v.mulF(e, v.f(x, 0.69314718036912381649)),
                   v.mulF(e, v.f(x, 1.9082149292705877e-10))};
  Double2 sum = twoSum(v, exponent.high, mantissa.high);
  Double2 low = twoSum(v, exponent.low, mantissa.low);
  sum = quickTwoSum(v, sum.high, v.addF(sum.low, low.high));
  return quickTwoSum(v, sum.high, v.addF(sum.low, low.low));
}

/// |x|^y for f64, the special cases of y = 0 and |x| = 1 left out.
Value powMagnitude(ValueBuilder &v, Value x, Value y) {
  Double2 log = logDouble2(v, x);
  Double2 product = twoProduct(v, y, log.high);
  Value low = v.fma(y, log.low, product.low);
  Value clamped = clamp(v, product.high, -760, 720);
  Value exp = expCore(v, clamped, true);
  // exp(high + low) = exp(high) * (1 + low); where high was clamped or the
  // result is infinite, low does not matter.
  Value counts = v.andI(v.compare(FloatCompare::OEQ, clamped, product.high),
                        v.compare(FloatCompare::OLT, exp, v.f(x, kInfinity)));
  exp = v.select(counts, v.fma(exp, low, exp), exp);
  // log's special values: 0 and infinity.
  Value isZero = v.compare(FloatCompare::OEQ, x, v.f(x, 0));
  Value isInfinite = v.compare(FloatCompare::OEQ, x, v.f(x, kInfinity));
  Value yPositive = v.compare(FloatCompare::OGT, y, v.f(y, 0));
  Value infinity = v.f(x, kInfinity), zero = v.f(x, 0);
  exp = v.select(isZero, v.select(yPositive, zero, infinity), exp);
  exp = v.select(isInfinite, v.select(yPositive, infinity, zero), exp);
  // y infinite: the logarithm's sign decides (|x| = 1 is the caller's).
  Value grows = v.compare(
      IntCompare::eq, v.compare(FloatCompare::OGT, x, v.f(x, 1)), yPositive);
  Value yInfinite = v.compare(FloatCompare::OEQ, v.absF(y), infinity);
  exp = v.select(yInfinite, v.select(grows, infinity, zero), exp);
  return v.select(v.orI(v.isNaN(x), v.isNaN(y)), v.f(x, kNaN), exp);
}

} // namespace

//===----------------------------------------------------------------------===//
// The functions
//===----------------------------------------------------------------------===//

Value emitExp(ValueBuilder &v, Value x) {
  bool isF32 = formatOf(x).isF32;
  // Beyond these the result is infinity or rounds to zero.
  return expCore(v, isF32 ? clamp(v, x, -104, 89) : clamp(v, x, -746, 710),
                 true);
}

Value emitLog(ValueBuilder &v, Value x) {
  const Format &format = formatOf(x);
  auto [e, f] = splitExponent(v, x, format);
  Value result;
  if (format.isF32) {
    Value squared = v.mulF(f, f);
    Value tail = v.mulF(v.mulF(squared, f), polynomial(v, f, kLogF32));
    tail = v.fma(e, v.f(x, 1.42860676533018704e-6), tail);
    tail = v.fma(squared, v.f(x, -0.5), tail);
    result = v.fma(e, v.f(x, 0.693145751953125), v.addF(f, tail));
  } else {
    // As fdlibm: log(1+f) = f - (f^2/2 - s*(f^2/2 + R)), R = s^2 * P(s^2).
    Value s = v.divF(f, v.addF(f, v.f(x, 2)));
    Value z = v.mulF(s, s);
    Value r = v.mulF(z, polynomial(v, z, kLogF64));
    Value half = v.mulF(v.mulF(f, f), v.f(x, 0.5));
    Value small =
        v.fma(e, v.f(x, 1.9082149292705877e-10), v.mulF(s, v.addF(half, r)));
    Value inner = v.subF(v.subF(half, small), f);
    result = v.fma(e, v.f(x, 0.69314718036912381649), v.negF(inner));
  }
  return logSpecial(v, x, result);
}

Value emitSin(ValueBuilder &v, Value x) {
  // The reduction loses the sign of zero.
  return v.select(v.compare(FloatCompare::OEQ, x, v.f(x, 0)), x,
                  sinWithOffset(v, x, 0));
}

Value emitCos(ValueBuilder &v, Value x) { return sinWithOffset(v, x, 1); }

Value emitTanh(ValueBuilder &v, Value x) {
  bool isF32 = formatOf(x).isF32;
  Value magnitude = v.absF(x), z = v.mulF(x, x);
  Value p = isF32 ? polynomial(v, z, kTanhF32) : polynomial(v, z, kTanhF64);
  Value small = v.fma(v.mulF(magnitude, z), p, magnitude);
  Value limit = v.f(x, isF32 ? 10 : 22); // from here on tanh is 1
  Value bounded = v.select(v.compare(FloatCompare::OGT, magnitude, limit),
                           limit, magnitude);
  Value exp = expCore(v, v.addF(bounded, bounded), false);
  Value large = v.subF(v.f(x, 1), v.divF(v.f(x, 2), v.addF(exp, v.f(x, 1))));
  Value isSmall =
      v.compare(FloatCompare::OLT, magnitude, v.f(x, isF32 ? 0.625 : 0.5));
  return v.copySign(v.select(isSmall, small, large), x);
}

Value emitErf(ValueBuilder &v, Value x) {
  bool isF32 = formatOf(x).isF32;
  Value magnitude = v.absF(x), z = v.mulF(x, x);
  Value p = isF32 ? polynomial(v, z, kErfF32) : polynomial(v, z, kErfF64);
  Value small = v.fma(magnitude, p, magnitude);
  Value limit = v.f(x, isF32 ? 4 : 6); // from here on erf is 1
  Value bounded = v.select(v.compare(FloatCompare::OGT, magnitude, limit),
                           limit, magnitude);
  Value u = v.subF(bounded, v.f(x, isF32 ? 2.5 : 3.5));
  Value logErfc =
      isF32 ? polynomial(v, u, kErfcF32) : polynomial(v, u, kErfcF64);
  Value large = v.subF(v.f(x, 1), expCore(v, logErfc, false));
  Value isSmall = v.compare(FloatCompare::OLT, magnitude, v.f(x, 1));
  return v.copySign(v.select(isSmall, small, large), x);
}

Value emitPow(ValueBuilder &v, Value x, Value y) {
  bool isF32 = formatOf(x).isF32;
  Value magnitude = v.absF(x), one = v.f(x, 1), zero = v.f(x, 0);
  Value result;
  if (isF32) {
    Value log = emitLog(v, v.toF64(magnitude));
    Value exponent = v.mulF(v.toF64(y), log);
    result = v.toF32(expCore(v, clamp(v, exponent, -746, 710), true));
  } else {
    result = powMagnitude(v, magnitude, y);
  }
  // |x| = 1: 1 to any power but NaN.
  Value yNumber = v.compare(FloatCompare::ORD, y, y);
  result =
      v.select(v.andI(v.compare(FloatCompare::OEQ, magnitude, one), yNumber),
               one, result);
  // Negative x: the sign of odd powers; no value for powers that are not
  // integers.
  Value isInteger = v.compare(FloatCompare::OEQ, y, v.trunc(y));
  Value halved = v.mulF(y, v.f(y, 0.5));
  Value isOdd =
      v.andI(isInteger, v.compare(FloatCompare::ONE, halved, v.trunc(halved)));
  Value signBit =
      v.compare(IntCompare::slt, v.bits(x, v.i(isF32 ? 32 : 64)),
                v.constantInt(ValueBuilder::like(x, v.i(isF32 ? 32 : 64)), 0));
  result = v.select(v.andI(signBit, isOdd), v.negF(result), result);
  Value finiteNegative =
      v.andI(v.compare(FloatCompare::OLT, x, zero),
             v.compare(FloatCompare::OGT, x, v.f(x, -kInfinity)));
  result = v.select(
      v.andI(finiteNegative, v.compare(FloatCompare::ONE, y, v.trunc(y))),
      v.f(x, kNaN), result);
  // Anything to the power of 0, and 1 to any power, is 1, even with NaN.
  Value isOne = v.orI(v.compare(FloatCompare::OEQ, y, zero),
                      v.compare(FloatCompare::OEQ, x, one));
  return v.select(isOne, one, result);
}

Value emitFloatRem(ValueBuilder &v, Value x, Value y) {
  // Long division in f64, 26 bits of the quotient at a time: r - t*|y| is exact
  // for such a t, as a fused multiply-add.
  bool isF32 = formatOf(x).isF32;
  Value dividend = v.absF(v.toF64(x)), divisor = v.absF(v.toF64(y));
  Value infinity = v.f(dividend, kInfinity), zero = v.f(dividend, 0);
  Value defined = v.andI(v.compare(FloatCompare::OLT, dividend, infinity),
                         v.compare(FloatCompare::OGT, divisor, zero));
  // Lanes without a remainder do not keep the loop going.
  Value start = v.select(defined, dividend, zero);
  auto loop =
      scf::WhileOp::create(v.b, TypeRange{start.getType()}, ValueRange{start});
  {
    OpBuilder::InsertionGuard guard(v.b);
    Block *before = v.b.createBlock(&loop.getBefore(), {}, {start.getType()},
                                    {v.b.getLoc()});
    Value r = before->getArgument(0);
    Value goesOn = anyLane(v, v.compare(FloatCompare::OGE, r, divisor));
    scf::ConditionOp::create(v.b, goesOn, ValueRange{r});
    Block *after = v.b.createBlock(&loop.getAfter(), {}, {start.getType()},
                                   {v.b.getLoc()});
    r = after->getArgument(0);
    Value isLeft = v.compare(FloatCompare::OGE, r, divisor);
    Value d = divisor, q = v.divF(r, d);
    // A quotient beyond f64, up to 2^2098, is approached with a larger divisor
    // first.
    for (int times = 0; times < 2 && !isF32; ++times) {
      d = v.select(v.compare(FloatCompare::OEQ, q, infinity),
                   v.mulF(d, v.f(r, 0x1p1000)), d);
      q = v.divF(r, d);
    }
    Value qBits =
        v.andI(v.bits(q, v.i(64)), v.constantInt(ValueBuilder::like(q, v.i(64)),
                                                 ~((int64_t(1) << 27) - 1)));
    Value t = v.trunc(v.bits(qBits, v.b.getF64Type()));
    Value next = v.fma(v.negF(t), d, r);
    // q may have been rounded up to the next step of its 26 bits: then one step
    // is given back.
    Value exponentBits =
        v.andI(v.bits(t, v.i(64)), v.constantInt(ValueBuilder::like(q, v.i(64)),
                                                 0x7ff0000000000000));
    Value unit =
        v.mulF(v.bits(exponentBits, v.b.getF64Type()), v.f(r, 0x1p-25));
    unit = v.select(v.compare(FloatCompare::OLT, unit, v.f(r, 1)), v.f(r, 1),
                    unit);
    next = v.select(v.compare(FloatCompare::OLT, next, zero),
                    v.fma(unit, d, next), next);
    scf::YieldOp::create(v.b, ValueRange{v.select(isLeft, next, r)});
  }
  Value result = loop.getResult(0);
  // x for an infinite divisor comes out by itself; a NaN, a zero divisor or an
  // infinite dividend gives NaN.
  result = v.select(defined, result, v.f(result, kNaN));
  return v.copySign(isF32 ? v.toF32(result) : result, x);
}

Value emitIntPow(ValueBuilder &v, Value base, Value exponent, bool isSigned) {
  int64_t bits = ValueBuilder::elementOf(base).getIntOrFloatBitWidth();
  Value one = v.k(base, 1), zero = v.k(base, 0);
  Type i32 = v.i(32);
  auto loop = scf::ForOp::create(
      v.b, v.constantInt(i32, 0), v.constantInt(i32, bits),
      v.constantInt(i32, 1), ValueRange{one, base, exponent});
  {
    OpBuilder::InsertionGuard guard(v.b);
    v.b.setInsertionPointToStart(loop.getBody());
    Value result = loop.getRegionIterArg(0), factor = loop.getRegionIterArg(1),
          left = loop.getRegionIterArg(2);
    Value isSet =
        v.compare(IntCompare::ne, v.andI(left, v.k(left, 1)), v.k(left, 0));
    result = v.select(isSet, v.mul(result, factor), result);
    scf::YieldOp::create(v.b, ValueRange{result, v.mul(factor, factor),
                                         v.shrU(left, v.k(left, 1))});
  }
  Value result = loop.getResult(0);
  if (!isSigned)
    return result;
  // A negative exponent: 1/base^n truncates to 0 unless base is 1 or -1.
  Value isOdd = v.compare(IntCompare::ne, v.andI(exponent, v.k(exponent, 1)),
                          v.k(exponent, 0));
  Value ofMinusOne = v.select(isOdd, v.k(base, -1), one);
  Value fraction = v.select(v.compare(IntCompare::eq, base, v.k(base, -1)),
                            ofMinusOne, zero);
  fraction = v.select(v.compare(IntCompare::eq, base, one), one, fraction);
  return v.select(v.compare(IntCompare::slt, exponent, v.k(exponent, 0)),
                  fraction, result);
}

} // namespace lockstitch::codegen
