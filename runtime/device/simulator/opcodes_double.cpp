//===- opcodes_double.cpp - f64 arithmetic --------------------------------===//
#include "runtime/device/simulator/half.h"
#include "runtime/device/simulator/opcode_table.h"
#include "runtime/device/simulator/rounding.h"

namespace lockstitch::simulator {

namespace {

constexpr InstructionClass Kind = InstructionClass::Float64;

// Unlike f32, f64 instructions keep a NaN's payload; hosts do the same.
LS_INLINE double add(double a, double b) { return a + b; }
LS_INLINE double sub(double a, double b) { return a - b; }
LS_INLINE double mul(double a, double b) { return a * b; }
LS_INLINE double fma(double a, double b, double c) {
  return __builtin_fma(a, b, c);
}
LS_INLINE double div(double a, double b) { return a / b; }
LS_INLINE double rcp(double a) { return 1.0 / a; }
LS_INLINE double root(double a) { return __builtin_sqrt(a); }
LS_INLINE double absD(double a) {
  return doubleOf(bitsOf(a) & ~(uint64_t(1) << 63));
}
LS_INLINE double negD(double a) {
  return doubleOf(bitsOf(a) ^ uint64_t(1) << 63);
}
LS_INLINE double copysignD(double a, double b) {
  constexpr uint64_t Sign = uint64_t(1) << 63;
  return doubleOf((bitsOf(a) & Sign) | (bitsOf(b) & ~Sign));
}
template <bool Max> LS_INLINE double minMax(double a, double b) {
  bool less = a < b || (a == b && (bitsOf(a) >> 63) > (bitsOf(b) >> 63));
  double r = less != Max ? a : b;
  r = a != a ? b : r;
  return b != b ? a : r;
}
// Only the upper 32 bits of the input count, and of the result are given.
LS_INLINE double upper(double a) {
  return doubleOf(bitsOf(a) & 0xFFFFFFFF00000000ull);
}
LS_INLINE double flushD(double a) {
  return (bitsOf(a) & 0x7FF0000000000000ull) == 0
             ? doubleOf(bitsOf(a) & 0x8000000000000000ull)
             : a;
}
LS_INLINE double rcpApprox(double a) {
  return flushD(upper(1.0 / flushD(upper(a))));
}
LS_INLINE double rsqrtApproxFtz(double a) {
  return flushD(upper(1.0 / __builtin_sqrt(flushD(upper(a)))));
}
LS_INLINE double rsqrtApprox(double a) { return 1.0 / __builtin_sqrt(a); }

} // namespace

void addDoubleOpcodes(OpcodeTable &t) {
  addRounded<Binary<add, double, double, double>>(t, "add", ".f64", Kind, true);
  addRounded<Binary<sub, double, double, double>>(t, "sub", ".f64", Kind, true);
  addRounded<Binary<mul, double, double, double>>(t, "mul", ".f64", Kind, true);
  addRounded<Ternary<fma, double, double, double, double>>(t, "fma", ".f64",
                                                           Kind, false);
  addRounded<Ternary<fma, double, double, double, double>>(t, "mad", ".f64",
                                                           Kind, false);
  addRounded<Binary<div, double, double, double>>(t, "div", ".f64", Kind,
                                                  false);
  addRounded<Unary<rcp, double, double>>(t, "rcp", ".f64", Kind, false);
  addRounded<Unary<root, double, double>>(t, "sqrt", ".f64", Kind, false);
  t.add<Unary<absD, double, double>>("abs.", {"f64"}, Kind);
  t.add<Unary<negD, double, double>>("neg.", {"f64"}, Kind);
  t.add<Binary<copysignD, double, double, double>>("copysign.", {"f64"}, Kind);
  t.add<Binary<minMax<false>, double, double, double>>("min.", {"f64"}, Kind);
  t.add<Binary<minMax<true>, double, double, double>>("max.", {"f64"}, Kind);
  constexpr InstructionClass Special = InstructionClass::Special;
  t.add<Unary<rcpApprox, double, double>>("rcp.approx.ftz.", {"f64"}, Special);
  t.add<Unary<rsqrtApproxFtz, double, double>>("rsqrt.approx.ftz.", {"f64"},
                                               Special);
  t.add<Unary<rsqrtApprox, double, double>>("rsqrt.approx.", {"f64"}, Special);
}

} // namespace lockstitch::simulator
