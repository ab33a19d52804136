#include "compiler/codegen/value_builder.h"
using namespace mlir;
namespace lockstitch::codegen {
Value emitExp(ValueBuilder &v, Value x) { return x; }
Value emitLog(ValueBuilder &v, Value x) { return x; }
Value emitSin(ValueBuilder &v, Value x) { return x; }
Value emitCos(ValueBuilder &v, Value x) { return x; }
Value emitTanh(ValueBuilder &v, Value x) { return x; }
Value emitErf(ValueBuilder &v, Value x) { return x; }
Value emitPow(ValueBuilder &v, Value x, Value y) { return x; }
Value emitFloatRem(ValueBuilder &v, Value x, Value y) { return x; }
Value emitIntPow(ValueBuilder &v, Value base, Value exponent, bool isSigned) { return base; }
}
