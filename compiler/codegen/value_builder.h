// ValueBuilder: makes arith/math operations on values that are scalars or 1-D
// vectors of lanes; the two need no distinction in the code that uses it. f16
// and bf16 values are carried as their 16 bits (i16): arithmetic is never done
// in them, and neither target's conversions can then touch a value behind our
// back.
#ifndef LOCKSTITCH_COMPILER_CODEGEN_VALUE_BUILDER_H
#define LOCKSTITCH_COMPILER_CODEGEN_VALUE_BUILDER_H

#include "compiler/codegen/mlir_pch.h"
#include "compiler/graph/scalar_program.h"

namespace lockstitch::codegen {

using mlir::Location;
using mlir::Type;
using mlir::Value;
using FloatCompare = mlir::arith::CmpFPredicate;
using IntCompare = mlir::arith::CmpIPredicate;

/// What the emitter may ask of the machine. Where something is missing it is
/// expanded so that the value is the same.
struct MachineTraits {
  bool isGpu = false;
  unsigned sm = 0;               // GPU
  bool hasFma = false;           // fused multiply-add in hardware
  bool hasHalfConvert = false;   // f16 <-> f32 in hardware, correctly rounded
  bool hasBfloatConvert = false; // f32 -> bf16 in hardware, correctly rounded
};

class ValueBuilder {
public:
  ValueBuilder(mlir::MLIRContext *context, Location location,
               MachineTraits traits);

  mlir::ImplicitLocOpBuilder b;
  const MachineTraits traits;

  /// Constants are made once, at the start of `block`.
  void startFunction(mlir::Block *block);

  // Types
  /// Type of a value of `type` in a register: Bool is i1, f16 and bf16 are i16.
  Type registerType(ElementType type);
  /// Type of an element of `type` in memory: Bool is i8.
  Type memoryType(ElementType type);
  Type i(unsigned bits) { return b.getIntegerType(bits); }
  static Type vectorOf(Type element, unsigned width);
  static unsigned widthOf(Type type);
  static unsigned widthOf(Value value) { return widthOf(value.getType()); }
  static Type elementOf(Value value) {
    return mlir::getElementTypeOrSelf(value.getType());
  }
  /// `element` in as many lanes as `like` has.
  static Type like(Value like, Type element) {
    return vectorOf(element, widthOf(like));
  }

  // Constants
  Value constantInt(Type type,
                    int64_t value); // scalar or vector type; value wraps
  Value constantFloat(Type type, double value);
  Value constant(ElementType type, ScalarConstant value, unsigned width = 1);
  /// Constants of the type of `x`.
  Value k(Value x, int64_t value) { return constantInt(x.getType(), value); }
  Value f(Value x, double value) { return constantFloat(x.getType(), value); }

  // Lanes
  Value splat(Value value, unsigned width);
  Value lane(Value vector, unsigned index);
  Value fromLanes(llvm::ArrayRef<Value> lanes);
  /// <0, 1, ..., width-1>; 0 for width 1.
  Value iota(Type element, unsigned width);

  // Integers
  Value add(Value x, Value y, bool noSignedWrap = false);
  Value sub(Value x, Value y);
  Value mul(Value x, Value y, bool noSignedWrap = false);
  Value andI(Value x, Value y);
  Value orI(Value x, Value y);
  Value xorI(Value x, Value y);
  Value shl(Value x, Value y);
  Value shrS(Value x, Value y);
  Value shrU(Value x, Value y);
  Value divS(Value x, Value y);
  Value divU(Value x, Value y);
  Value remS(Value x, Value y);
  Value remU(Value x, Value y);
  Value compare(IntCompare predicate, Value x, Value y);
  Value notI(Value x);
  /// To an integer type of `bits` bits: truncated, or extended as told.
  Value resize(Value x, unsigned bits, bool isSigned);

  // Floats
  Value addF(Value x, Value y);
  Value subF(Value x, Value y);
  Value mulF(Value x, Value y);
  Value divF(Value x, Value y);
  Value negF(Value x);
  Value absF(Value x);
  Value fma(Value x, Value y, Value z);
  Value floor(Value x);
  Value ceil(Value x);
  Value roundEven(Value x);
  Value trunc(Value x);
  Value sqrt(Value x);
  Value maximum(Value x, Value y);
  Value minimum(Value x, Value y);
  Value copySign(Value magnitude, Value sign);
  Value compare(FloatCompare predicate, Value x, Value y);
  Value isNaN(Value x) { return compare(FloatCompare::UNO, x, x); }
  Value toF64(Value x);
  Value toF32(Value x); // from f64, rounded to nearest
  /// Nearest float of `element` to a signed or unsigned integer.
  Value intToFloat(Value x, Type element, bool isSigned);

  // Both
  Value select(Value condition, Value ifTrue, Value ifFalse);
  /// Reinterprets the bits of every lane.
  Value bits(Value x, Type element);
  Value call(llvm::StringRef intrinsic, Type result,
             llvm::ArrayRef<Value> args);

private:
  template <typename Op, typename... Args> Value make(Args &&...args) {
    return Op::create(b, std::forward<Args>(args)...)->getResult(0);
  }
  Value constantAttr(mlir::TypedAttr attr);
  Value emulatedFmaF32(Value x, Value y, Value z);
  Value emulatedFmaF64(Value x, Value y, Value z);

  mlir::Block *constantBlock = nullptr;
  mlir::Operation *lastConstant = nullptr;
  llvm::DenseMap<mlir::Attribute, Value> constants;
};

/// The value of `x`, an element of type `from`, as one of type `to`: the rules
/// of ScalarOpcode::Cast.
Value emitCast(ValueBuilder &v, Value x, ElementType from, ElementType to);

/// One operation of a ScalarProgram but Argument, Constant, Index, InRange and
/// Read. `args` have `argTypes` and equal widths; the result is of type `type`.
Value emitScalarOp(ValueBuilder &v, ScalarOpcode opcode, ElementType type,
                   llvm::ArrayRef<Value> args,
                   llvm::ArrayRef<ElementType> argTypes);

/// Elementary functions on f32 or f64 values; see math_functions.cpp for their
/// errors.
Value emitExp(ValueBuilder &v, Value x);
Value emitLog(ValueBuilder &v, Value x);
Value emitSin(ValueBuilder &v, Value x);
Value emitCos(ValueBuilder &v, Value x);
Value emitTanh(ValueBuilder &v, Value x);
Value emitErf(ValueBuilder &v, Value x);
Value emitPow(ValueBuilder &v, Value x, Value y);
/// C's fmod.
Value emitFloatRem(ValueBuilder &v, Value x, Value y);
/// base^exponent by squaring, wrapping; a negative exponent gives
/// trunc(base^exponent).
Value emitIntPow(ValueBuilder &v, Value base, Value exponent, bool isSigned);

} // namespace lockstitch::codegen

#endif // LOCKSTITCH_COMPILER_CODEGEN_VALUE_BUILDER_H
