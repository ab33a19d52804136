#include "compiler/codegen/value_builder.h"

using namespace mlir;

namespace lockstitch::codegen {

ValueBuilder::ValueBuilder(MLIRContext *context, Location location,
                           MachineTraits traits)
    : b(location, context), traits(traits) {}

void ValueBuilder::startFunction(Block *block) {
  constantBlock = block;
  lastConstant = nullptr;
  constants.clear();
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

Type ValueBuilder::registerType(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return b.getF32Type();
  case ElementType::F64:
    return b.getF64Type();
  default:
    return i(bitWidth(type));
  }
}

Type ValueBuilder::memoryType(ElementType type) {
  return type == ElementType::Bool ? i(8) : registerType(type);
}

Type ValueBuilder::vectorOf(Type element, unsigned width) {
  return width == 1
             ? element
             : Type(VectorType::get({static_cast<int64_t>(width)}, element));
}

unsigned ValueBuilder::widthOf(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? static_cast<unsigned>(vector.getNumElements()) : 1;
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

Value ValueBuilder::constantAttr(TypedAttr attr) {
  Value &known = constants[attr];
  if (known)
    return known;
  OpBuilder::InsertionGuard guard(b);
  if (lastConstant)
    b.setInsertionPointAfter(lastConstant);
  else
    b.setInsertionPointToStart(constantBlock);
  auto constant = arith::ConstantOp::create(b, attr);
  lastConstant = constant;
  return known = constant;
}

Value ValueBuilder::constantInt(Type type, int64_t value) {
  Type element = getElementTypeOrSelf(type);
  APInt bits(64, static_cast<uint64_t>(value), /*isSigned=*/true);
  TypedAttr attr =
      IntegerAttr::get(element, bits.trunc(element.getIntOrFloatBitWidth()));
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, Attribute(attr));
  return constantAttr(attr);
}

Value ValueBuilder::constantFloat(Type type, double value) {
  Type element = getElementTypeOrSelf(type);
  TypedAttr attr = element.isF32()
                       ? b.getF32FloatAttr(static_cast<float>(value))
                       : b.getF64FloatAttr(value);
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, Attribute(attr));
  return constantAttr(attr);
}

/// Bits of `value` as f16 or bf16.
static int64_t sixteenBits(ElementType type, double value) {
  APFloat number(value);
  bool losesInfo;
  number.convert(type == ElementType::F16 ? APFloat::IEEEhalf()
                                          : APFloat::BFloat(),
                 APFloat::rmNearestTiesToEven, &losesInfo);
  return static_cast<int64_t>(number.bitcastToAPInt().getZExtValue());
}

Value ValueBuilder::constant(ElementType type, ScalarConstant value,
                             unsigned width) {
  Type registers = vectorOf(registerType(type), width);
  if (type == ElementType::F16 || type == ElementType::BF16)
    return constantInt(registers, sixteenBits(type, value.real));
  return isFloat(type) ? constantFloat(registers, value.real)
                       : constantInt(registers, value.integer);
}

//===----------------------------------------------------------------------===//
// Lanes
//===----------------------------------------------------------------------===//

Value ValueBuilder::splat(Value value, unsigned width) {
  if (width == 1 || isa<VectorType>(value.getType()))
    return value;
  Type type = vectorOf(value.getType(), width);
  Attribute constant;
  if (matchPattern(value, m_Constant(&constant)))
    return constantAttr(
        DenseElementsAttr::get(cast<VectorType>(type), constant));
  Value poison = make<LLVM::PoisonOp>(type);
  Value first =
      make<LLVM::InsertElementOp>(type, poison, value, constantInt(i(32), 0));
  return make<LLVM::ShuffleVectorOp>(first, poison,
                                     SmallVector<int32_t>(width, 0));
}

Value ValueBuilder::lane(Value vector, unsigned index) {
  if (!isa<VectorType>(vector.getType()))
    return vector;
  return make<LLVM::ExtractElementOp>(vector, constantInt(i(32), index));
}

Value ValueBuilder::fromLanes(ArrayRef<Value> lanes) {
  if (lanes.size() == 1)
    return lanes[0];
  Type type = vectorOf(lanes[0].getType(), lanes.size());
  Value result = make<LLVM::PoisonOp>(type);
  for (auto [index, value] : llvm::enumerate(lanes))
    result = make<LLVM::InsertElementOp>(type, result, value,
                                         constantInt(i(32), index));
  return result;
}

Value ValueBuilder::iota(Type element, unsigned width) {
  if (width == 1)
    return constantInt(element, 0);
  SmallVector<Attribute> values;
  for (unsigned index = 0; index < width; ++index)
    values.push_back(IntegerAttr::get(element, index));
  return constantAttr(DenseElementsAttr::get(
      cast<VectorType>(vectorOf(element, width)), values));
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

static arith::IntegerOverflowFlags overflow(bool noSignedWrap) {
  return noSignedWrap ? arith::IntegerOverflowFlags::nsw
                      : arith::IntegerOverflowFlags::none;
}

Value ValueBuilder::add(Value x, Value y, bool noSignedWrap) {
  if (matchPattern(y, m_Zero()))
    return x;
  if (matchPattern(x, m_Zero()))
    return y;
  return make<arith::AddIOp>(x, y, overflow(noSignedWrap));
}
Value ValueBuilder::sub(Value x, Value y) { return make<arith::SubIOp>(x, y); }
Value ValueBuilder::mul(Value x, Value y, bool noSignedWrap) {
  if (matchPattern(y, m_One()))
    return x;
  return make<arith::MulIOp>(x, y, overflow(noSignedWrap));
}
Value ValueBuilder::andI(Value x, Value y) { return make<arith::AndIOp>(x, y); }
Value ValueBuilder::orI(Value x, Value y) { return make<arith::OrIOp>(x, y); }
Value ValueBuilder::xorI(Value x, Value y) { return make<arith::XOrIOp>(x, y); }
Value ValueBuilder::shl(Value x, Value y) { return make<arith::ShLIOp>(x, y); }
Value ValueBuilder::shrS(Value x, Value y) {
  return make<arith::ShRSIOp>(x, y);
}
Value ValueBuilder::shrU(Value x, Value y) {
  return make<arith::ShRUIOp>(x, y);
}
Value ValueBuilder::divS(Value x, Value y) {
  return make<arith::DivSIOp>(x, y);
}
Value ValueBuilder::divU(Value x, Value y) {
  return make<arith::DivUIOp>(x, y);
}
Value ValueBuilder::remS(Value x, Value y) {
  return make<arith::RemSIOp>(x, y);
}
Value ValueBuilder::remU(Value x, Value y) {
  return make<arith::RemUIOp>(x, y);
}
Value ValueBuilder::compare(IntCompare predicate, Value x, Value y) {
  return make<arith::CmpIOp>(predicate, x, y);
}
Value ValueBuilder::notI(Value x) { return xorI(x, k(x, -1)); }

Value ValueBuilder::resize(Value x, unsigned bits, bool isSigned) {
  unsigned from = elementOf(x).getIntOrFloatBitWidth();
  if (from == bits)
    return x;
  Type type = like(x, i(bits));
  if (from > bits)
    return make<arith::TruncIOp>(type, x);
  return isSigned ? make<arith::ExtSIOp>(type, x)
                  : make<arith::ExtUIOp>(type, x);
}

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

Value ValueBuilder::addF(Value x, Value y) { return make<arith::AddFOp>(x, y); }
Value ValueBuilder::subF(Value x, Value y) { return make<arith::SubFOp>(x, y); }
Value ValueBuilder::mulF(Value x, Value y) { return make<arith::MulFOp>(x, y); }
Value ValueBuilder::divF(Value x, Value y) { return make<arith::DivFOp>(x, y); }
Value ValueBuilder::negF(Value x) { return make<arith::NegFOp>(x); }
Value ValueBuilder::absF(Value x) { return make<math::AbsFOp>(x); }
Value ValueBuilder::floor(Value x) { return make<math::FloorOp>(x); }
Value ValueBuilder::ceil(Value x) { return make<math::CeilOp>(x); }
Value ValueBuilder::roundEven(Value x) { return make<math::RoundEvenOp>(x); }
Value ValueBuilder::trunc(Value x) { return make<math::TruncOp>(x); }
Value ValueBuilder::sqrt(Value x) { return make<math::SqrtOp>(x); }
Value ValueBuilder::maximum(Value x, Value y) {
  return make<arith::MaximumFOp>(x, y);
}
Value ValueBuilder::minimum(Value x, Value y) {
  return make<arith::MinimumFOp>(x, y);
}
Value ValueBuilder::copySign(Value magnitude, Value sign) {
  return make<math::CopySignOp>(magnitude, sign);
}
Value ValueBuilder::compare(FloatCompare predicate, Value x, Value y) {
  return make<arith::CmpFOp>(predicate, x, y);
}

Value ValueBuilder::toF64(Value x) {
  return elementOf(x).isF64() ? x
                              : make<arith::ExtFOp>(like(x, b.getF64Type()), x);
}
Value ValueBuilder::toF32(Value x) {
  return elementOf(x).isF32()
             ? x
             : make<arith::TruncFOp>(like(x, b.getF32Type()), x);
}
Value ValueBuilder::intToFloat(Value x, Type element, bool isSigned) {
  Type type = like(x, element);
  return isSigned ? make<arith::SIToFPOp>(type, x)
                  : make<arith::UIToFPOp>(type, x);
}

Value ValueBuilder::fma(Value x, Value y, Value z) {
  if (traits.hasFma)
    return make<math::FmaOp>(x, y, z);
  return elementOf(x).isF32() ? emulatedFmaF32(x, y, z)
                              : emulatedFmaF64(x, y, z);
}

/// The product of two f32 is exact in f64. Their f64 sum with z is then rounded
/// to odd (the last bit is set when the sum is not exact), which makes the
/// second rounding, to f32, the only one that counts. Source: S. Boldo, G.
/// Melquiond, "Emulation of a FMA and correctly rounded sums: proved algorithms
/// using rounding to odd".
Value ValueBuilder::emulatedFmaF32(Value x, Value y, Value z) {
  Value product = mulF(toF64(x), toF64(y)), addend = toF64(z);
  Value sum = addF(product, addend);
  // TwoSum: sum + error == product + addend exactly.
  Value bb = subF(sum, product);
  Value error = addF(subF(product, subF(sum, bb)), subF(addend, bb));
  Type i64 = i(64);
  Value sumBits = bits(sum, i64);
  Value one = k(sumBits, 1), zero = f(error, 0);
  Value isEven = compare(IntCompare::eq, andI(sumBits, one), k(sumBits, 0));
  Value inexact =
      compare(FloatCompare::ONE, error,
              zero); // false for NaN, so infinities stay as they are
  // Towards the error: one step away from zero when it has the sign of the sum,
  // else one step to zero. An even significand that steps either way becomes
  // the odd neighbour.
  Value sameSign =
      compare(IntCompare::sge, xorI(sumBits, bits(error, i64)), k(sumBits, 0));
  Value stepped = select(sameSign, add(sumBits, one), sub(sumBits, one));
  Value odd = select(andI(isEven, inexact), stepped, sumBits);
  return toF32(bits(odd, b.getF64Type()));
}

/// As above with the product as an unevaluated sum of two f64 (Dekker). Right
/// unless the product's low part underflows
/// (|xy| > 2^-968 suffices); x86-64-v2 is the only target that comes here.
Value ValueBuilder::emulatedFmaF64(Value x, Value y, Value z) {
  // Splitting a factor near the largest number would overflow: such factors,
  // and z with them, are scaled.
  Value back = f(x, 1);
  for (Value *factor : {&x, &y}) {
    Value isLarge = compare(FloatCompare::OGT, absF(*factor), f(x, 0x1p900));
    Value down = select(isLarge, f(x, 0x1p-200), f(x, 1));
    *factor = mulF(*factor, down);
    z = mulF(z, down);
    back = mulF(back, select(isLarge, f(x, 0x1p200), f(x, 1)));
  }
  auto split = [&](Value a) {
    Value c = mulF(a, f(a, 134217729.0));
    Value high = subF(c, subF(c, a));
    return std::pair(high, subF(a, high));
  };
  auto twoSum = [&](Value a, Value c) {
    Value sum = addF(a, c);
    Value bb = subF(sum, a);
    return std::pair(sum, addF(subF(a, subF(sum, bb)), subF(c, bb)));
  };
  Value product = mulF(x, y);
  auto [xh, xl] = split(x);
  auto [yh, yl] = split(y);
  Value low =
      addF(addF(subF(mulF(xh, yh), product), mulF(xh, yl)), mulF(xl, yh));
  low = addF(low, mulF(xl, yl));
  auto [th, tl] = twoSum(z, low);
  auto [vh, vl] = twoSum(product, th);
  auto [sum, error] = twoSum(tl, vl);
  Type i64 = i(64);
  Value sumBits = bits(sum, i64), one = k(sumBits, 1);
  Value isEven = compare(IntCompare::eq, andI(sumBits, one), k(sumBits, 0));
  Value inexact = compare(FloatCompare::ONE, error, f(error, 0));
  Value sameSign =
      compare(IntCompare::sge, xorI(sumBits, bits(error, i64)), k(sumBits, 0));
  Value stepped = select(sameSign, add(sumBits, one), sub(sumBits, one));
  Value odd =
      bits(select(andI(isEven, inexact), stepped, sumBits), b.getF64Type());
  Value result = addF(vh, odd);
  // Infinities and NaN make the error terms NaN; a product that is an exact
  // zero keeps IEEE's sign rules.
  Value naive = addF(product, z);
  Value finite = compare(FloatCompare::ORD, subF(result, result), f(result, 0));
  Value exactZero = compare(FloatCompare::OEQ, product, f(product, 0));
  return mulF(select(andI(finite, notI(exactZero)), result, naive), back);
}

//===----------------------------------------------------------------------===//
// Both
//===----------------------------------------------------------------------===//

Value ValueBuilder::select(Value condition, Value ifTrue, Value ifFalse) {
  return make<arith::SelectOp>(condition, ifTrue, ifFalse);
}

Value ValueBuilder::bits(Value x, Type element) {
  Type type = like(x, element);
  return type == x.getType() ? x : make<arith::BitcastOp>(type, x);
}

Value ValueBuilder::call(StringRef intrinsic, Type result,
                         ArrayRef<Value> args) {
  return LLVM::CallIntrinsicOp::create(b, result, b.getStringAttr(intrinsic),
                                       ValueRange(args))
      ->getResult(0);
}

} // namespace lockstitch::codegen
