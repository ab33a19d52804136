// Conversions between element types: ScalarOpcode::Cast. They are ONNX's, and
// the same on every target:
//   float -> integer  truncates, saturates at the ends of the type, NaN gives 0
//   integer -> float  rounds once to nearest even, also into f16 and bf16 (no
//   detour that rounds twice) integer -> integer wraps;  anything -> Bool is x
//   != 0 (NaN is true) f64 -> f16, bf16  rounds once
#include "compiler/codegen/value_builder.h"

using namespace mlir;

namespace lockstitch::codegen {

/// f16 bits to f32, in integers: exponent and mantissa are moved in place and
/// the exponent rebiased by a multiplication with 2^112, which also normalises
/// subnormals; exact.
static Value halfBitsToF32(ValueBuilder &v, Value half) {
  if (v.traits.hasHalfConvert) {
    Value asHalf = v.bits(half, v.b.getF16Type());
    return arith::ExtFOp::create(
        v.b, ValueBuilder::like(half, v.b.getF32Type()), asHalf);
  }
  Value wide = v.resize(half, 32, false);
  Value magnitude = v.shl(v.andI(wide, v.k(wide, 0x7fff)), v.k(wide, 13));
  Value scaled = v.mulF(
      v.bits(magnitude, v.b.getF32Type()),
      v.constantFloat(ValueBuilder::like(wide, v.b.getF32Type()), 0x1p112));
  // Infinity and NaN have the largest exponent, which the multiplication cannot
  // reach.
  Value isSpecial =
      v.compare(IntCompare::uge, magnitude, v.k(magnitude, 0x0f800000));
  Value special = v.orI(magnitude, v.k(magnitude, 0x7f800000));
  Value unsignedBits = v.select(isSpecial, special, v.bits(scaled, v.i(32)));
  Value sign = v.shl(v.andI(wide, v.k(wide, 0x8000)), v.k(wide, 16));
  return v.bits(v.orI(unsignedBits, sign), v.b.getF32Type());
}

/// f32 to f16 bits, to nearest even. In integers: normal results by adding the
/// rounding bias to the bits, subnormal ones by letting an f32 addition align
/// and round.
static Value f32ToHalfBits(ValueBuilder &v, Value x) {
  if (v.traits.hasHalfConvert) {
    Value half = arith::TruncFOp::create(
        v.b, ValueBuilder::like(x, v.b.getF16Type()), x);
    return v.bits(half, v.i(16));
  }
  Value all = v.bits(x, v.i(32));
  Value magnitude = v.andI(all, v.k(all, 0x7fffffff));
  Value sign = v.andI(v.shrU(all, v.k(all, 16)), v.k(all, 0x8000));
  // Normal: rebias the exponent by -112, round at bit 13.
  Value lastBit = v.andI(v.shrU(magnitude, v.k(all, 13)), v.k(all, 1));
  Value normal =
      v.shrU(v.add(v.add(magnitude, v.k(all, static_cast<int32_t>(0xc8000fff))),
                   lastBit),
             v.k(all, 13));
  // Subnormal (|x| < 2^-14): 0.5 + |x| has the wanted bits at the end of its
  // significand.
  Value half = v.constantFloat(ValueBuilder::like(all, v.b.getF32Type()), 0.5);
  Value aligned = v.addF(v.bits(magnitude, v.b.getF32Type()), half);
  Value subnormal = v.sub(v.bits(aligned, v.i(32)), v.k(all, 0x3f000000));
  Value result =
      v.select(v.compare(IntCompare::ult, magnitude, v.k(all, 0x38800000)),
               subnormal, normal);
  // 65520 and above, infinity; then NaN.
  result = v.select(v.compare(IntCompare::uge, magnitude, v.k(all, 0x477ff000)),
                    v.k(all, 0x7c00), result);
  Value nan = v.orI(v.andI(v.shrU(magnitude, v.k(all, 13)), v.k(all, 0x3ff)),
                    v.k(all, 0x7e00));
  result = v.select(v.compare(IntCompare::ugt, magnitude, v.k(all, 0x7f800000)),
                    nan, result);
  return v.resize(v.orI(result, sign), 16, false);
}

static Value bfloatBitsToF32(ValueBuilder &v, Value bfloat) {
  Value wide = v.resize(bfloat, 32, false);
  return v.bits(v.shl(wide, v.k(wide, 16)), v.b.getF32Type());
}

/// f32 to bf16 bits, to nearest even; NaN gives 0x7fff, as the GPU's conversion
/// does.
static Value f32ToBfloatBits(ValueBuilder &v, Value x) {
  if (v.traits.hasBfloatConvert) {
    Value bfloat = arith::TruncFOp::create(
        v.b, ValueBuilder::like(x, v.b.getBF16Type()), x);
    return v.bits(bfloat, v.i(16));
  }
  Value all = v.bits(x, v.i(32));
  Value lastBit = v.andI(v.shrU(all, v.k(all, 16)), v.k(all, 1));
  Value rounded =
      v.shrU(v.add(v.add(all, v.k(all, 0x7fff)), lastBit), v.k(all, 16));
  return v.resize(v.select(v.isNaN(x), v.k(all, 0x7fff), rounded), 16, false);
}

/// f64 to f32 rounded to odd: truncated, with the last bit set when that was
/// not exact. A later rounding to a narrower type then gives what a single one
/// would have given.
static Value f64ToF32Odd(ValueBuilder &v, Value x) {
  Value nearest = v.toF32(x);
  Value back = v.toF64(nearest);
  Value nearestBits = v.bits(nearest, v.i(32));
  Value tooFar = v.compare(FloatCompare::OGT, v.absF(back), v.absF(x));
  Value truncated =
      v.select(tooFar, v.sub(nearestBits, v.k(nearestBits, 1)), nearestBits);
  Value inexact = v.compare(FloatCompare::ONE, back, x);
  Value odd = v.select(inexact, v.orI(truncated, v.k(truncated, 1)), truncated);
  return v.bits(odd, v.b.getF32Type());
}

static Value fromFloat(ValueBuilder &v, Value x, ElementType to) {
  switch (to) {
  case ElementType::Bool:
    return v.compare(FloatCompare::UNE, x, v.f(x, 0));
  case ElementType::F64:
    return v.toF64(x);
  case ElementType::F32:
    return v.toF32(x);
  case ElementType::F16:
    return f32ToHalfBits(
        v, ValueBuilder::elementOf(x).isF64() ? f64ToF32Odd(v, x) : x);
  case ElementType::BF16:
    return f32ToBfloatBits(
        v, ValueBuilder::elementOf(x).isF64() ? f64ToF32Odd(v, x) : x);
  default:
    return v.call(isSignedInteger(to) ? "llvm.fptosi.sat" : "llvm.fptoui.sat",
                  ValueBuilder::like(x, v.i(bitWidth(to))), {x});
  }
}

static Value fromInt(ValueBuilder &v, Value x, ElementType from,
                     ElementType to) {
  bool isSigned = isSignedInteger(from);
  unsigned width = bitWidth(from);
  switch (to) {
  case ElementType::Bool:
    return v.compare(IntCompare::ne, x, v.k(x, 0));
  case ElementType::F64:
    return v.intToFloat(x, v.b.getF64Type(), isSigned);
  case ElementType::F32:
    return v.intToFloat(x, v.b.getF32Type(), isSigned);
  case ElementType::F16:
  case ElementType::BF16: {
    if (width <= 16) // exact in f32
      return fromFloat(v, v.intToFloat(x, v.b.getF32Type(), isSigned), to);
    if (width == 64) {
      // Bits that f64 cannot hold become one sticky bit below everything that
      // decides the rounding; small values, whose low bits count, are exact as
      // they are.
      Value low = v.andI(x, v.k(x, 0xfff));
      Value sticky = v.orI(v.andI(x, v.k(x, ~int64_t(0xfff))),
                           v.select(v.compare(IntCompare::ne, low, v.k(x, 0)),
                                    v.k(x, 0x800), v.k(x, 0)));
      Value high = isSigned ? v.shrS(x, v.k(x, 53)) : v.shrU(x, v.k(x, 53));
      Value fits = v.compare(IntCompare::eq, high, v.k(x, 0));
      if (isSigned)
        fits = v.orI(fits, v.compare(IntCompare::eq, high, v.k(x, -1)));
      x = v.select(fits, x, sticky);
    }
    return fromFloat(v, v.intToFloat(x, v.b.getF64Type(), isSigned), to);
  }
  default:
    return v.resize(x, bitWidth(to), isSigned);
  }
}

Value emitCast(ValueBuilder &v, Value x, ElementType from, ElementType to) {
  if (from == to)
    return x;
  switch (from) {
  case ElementType::F16:
    return fromFloat(v, halfBitsToF32(v, x), to);
  case ElementType::BF16:
    return fromFloat(v, bfloatBitsToF32(v, x), to);
  case ElementType::F32:
  case ElementType::F64:
    return fromFloat(v, x, to);
  case ElementType::Bool:
    if (isFloat(to)) {
      ScalarConstant one = ScalarConstant::fromDouble(1),
                     zero = ScalarConstant::fromDouble(0);
      unsigned width = ValueBuilder::widthOf(x);
      return v.select(x, v.constant(to, one, width),
                      v.constant(to, zero, width));
    }
    return v.resize(x, bitWidth(to), false);
  default:
    return fromInt(v, x, from, to);
  }
}

} // namespace lockstitch::codegen
