// ScalarProgram: what is computed for ONE element, as straight-line code over scalars.
//
// It is the body of a primitive, and the update / combine / finish regions of a reduction. One emitter (compiler/codegen)
// turns it into arith/math operations for every target, at any vector width.
//
// Rules of types. Arithmetic is done in Bool, the integers, f32 and f64. A value of type f16 or bf16 may only be read, cast,
// selected, compared or returned: the importer widens operands to f32 and casts the result of every ONNX node back to its
// declared type, so that a tensor declared f16 is rounded where it is defined and every reader sees one value.
#ifndef LOCKSTITCH_COMPILER_GRAPH_SCALAR_PROGRAM_H
#define LOCKSTITCH_COMPILER_GRAPH_SCALAR_PROGRAM_H

#include "compiler/graph/index_map.h"
#include "runtime/program/element_type.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstitch {

/// One entry per scalar operation: enumerator, text name, number of arguments.
#define LOCKSTITCH_SCALAR_OPCODES(X)                                                               \
  /* leaves */                                                                                     \
  X(Argument, "arg",                                                                               \
    0) /* argument `operand` of a region (update, combine, finish) */                              \
  X(Constant, "const", 0) /* `constant` */                                                         \
  X(Index, "index",                                                                                \
    0) /* value of `index` on the iteration space, as an i64 */                                    \
  X(InRange, "in_range", 0) /* Bool: lo <= `index` <= hi */                                        \
  X(Read, "read",                                                                                  \
    -1) /* element of operand `operand` at `map`; args: run-time variables of the map (i64) */     \
  /* types */                                                                                      \
  X(Cast, "cast",                                                                                  \
    1) /* ONNX Cast: float->int truncates and saturates, NaN->0; int->int wraps; ->Bool is x!=0 */ \
  X(Select, "select", 3) /* args[0] ? args[1] : args[2] */                                         \
  /* Bool, and bitwise on integers */                                                              \
  X(Not, "not", 1)                                                                                 \
  X(And, "and", 2)                                                                                 \
  X(Or, "or", 2)                                                                                   \
  X(Xor, "xor", 2)                                                                                 \
  X(ShiftLeft, "shl", 2) /* amount >= width gives 0 */                                             \
  X(ShiftRight, "shr",                                                                             \
    2) /* logical for unsigned, arithmetic for signed; amount >= width gives 0 or -1 */            \
  /* comparisons: Bool result; IEEE: false with NaN, but Ne is true */                             \
  X(Eq, "eq", 2)                                                                                   \
  X(Ne, "ne", 2)                                                                                   \
  X(Lt, "lt", 2)                                                                                   \
  X(Le, "le", 2)                                                                                   \
  X(Gt, "gt", 2)                                                                                   \
  X(Ge, "ge", 2)                                                                                   \
  X(IsNaN, "is_nan", 1)                                                                            \
  X(IsInf, "is_inf", 1)                                                                            \
  /* arithmetic; integers wrap around */                                                           \
  X(Add, "add", 2)                                                                                 \
  X(Sub, "sub", 2)                                                                                 \
  X(Mul, "mul", 2)                                                                                 \
  X(Div, "div",                                                                                    \
    2) /* integers truncate towards zero; x/0 is 0 and INT_MIN/-1 is INT_MIN, never a trap */      \
  X(Rem, "rem", 2) /* sign of the dividend (C's %); x%0 is 0 */                                    \
  X(Mod, "mod", 2) /* sign of the divisor (Python's %); x mod 0 is 0 */                            \
  X(Min, "min", 2) /* NaN if either is NaN; -0 < +0 */                                             \
  X(Max, "max", 2)                                                                                 \
  X(Pow, "pow",                                                                                    \
    2) /* float: as C's pow; integers: by squaring, negative exponent as trunc(base^exp) */        \
  X(Fma, "fma", 3) /* one rounding; floats */                                                      \
  X(Neg, "neg", 1)                                                                                 \
  X(Abs, "abs", 1)                                                                                 \
  X(Sign, "sign", 1)                                                                               \
  X(Floor, "floor", 1)                                                                             \
  X(Ceil, "ceil", 1)                                                                               \
  X(Round, "round", 1) /* half to even */                                                          \
  X(Sqrt, "sqrt", 1)   /* correctly rounded */                                                     \
  X(Exp, "exp", 1)                                                                                 \
  X(Log, "log", 1)                                                                                 \
  X(Sin, "sin", 1)                                                                                 \
  X(Cos, "cos", 1)                                                                                 \
  X(Tanh, "tanh", 1)                                                                               \
  X(Erf, "erf", 1)

enum class ScalarOpcode : uint8_t {
#define X(name, text, arity) name,
  LOCKSTITCH_SCALAR_OPCODES(X)
#undef X
};

std::string_view toString(ScalarOpcode opcode);
std::optional<ScalarOpcode> parseScalarOpcode(std::string_view text);
/// Number of arguments; -1 when it varies.
int arity(ScalarOpcode opcode);
/// Exp, Log, Sin, Cos, Tanh, Erf, Pow: a polynomial and more, some twenty instructions.
bool isTranscendental(ScalarOpcode opcode);

/// A constant of any element type: the double for floats (f16/bf16/f32 values are exact in it), the integer for the rest
/// (u64 by its bits, Bool as 0 or 1).
struct ScalarConstant {
  double real = 0;
  int64_t integer = 0;
  bool operator==(const ScalarConstant &other) const;
  static ScalarConstant fromDouble(double v) { return {v, 0}; }
  static ScalarConstant fromInt(int64_t v) { return {0, v}; }
};

/// Index of an operation within its program, whose value it stands for.
using ScalarId = uint32_t;

struct ScalarOp {
  ScalarOpcode opcode;
  ElementType type; // of the value
  std::vector<ScalarId> args = {};
  ScalarConstant constant = {}; // Constant
  uint32_t operand = 0;   // Read: operand of the primitive; Argument: position
  IndexMap map = {};      // Read
  IndexExpr index = {};   // Index, InRange
  int64_t lo = 0, hi = 0; // InRange
  bool operator==(const ScalarOp &) const = default;
};

/// Straight-line code in single-assignment form; operations refer to earlier ones only.
///
/// Every read is within bounds for every coordinate of the domain that its map's constraints admit; elsewhere it yields zero
/// and nothing is accessed (Pad, Concat: read under constraints, then select with InRange). Never write a clamp of an
/// affine index with run-time variables: constraints keep vector loads and fusion possible. Run-time variables are for
/// indices that come from data (Gather); those are clamped by the body.
struct ScalarProgram {
  std::vector<ScalarOp> ops;
  std::vector<ScalarId> results;

  bool operator==(const ScalarProgram &) const = default;
  const ScalarOp &operator[](ScalarId id) const { return ops[id]; }
};

/// Appends operations to a program; equal operations are made once.
class ScalarBuilder {
public:
  explicit ScalarBuilder(ScalarProgram &program) : program(program) {}

  ScalarId argument(uint32_t position, ElementType type);
  /// `value` is rounded to `type` if that is a float.
  ScalarId constant(ElementType type, double value);
  ScalarId constantInt(ElementType type, int64_t value);
  ScalarId index(const IndexExpr &expr);
  ScalarId inRange(const IndexExpr &expr, int64_t lo, int64_t hi);
  ScalarId read(uint32_t operand, ElementType type, IndexMap map,
                std::vector<ScalarId> runtimes = {});
  /// Nothing is done when the value has the type already.
  ScalarId cast(ScalarId value, ElementType type);
  ScalarId select(ScalarId condition, ScalarId ifTrue, ScalarId ifFalse);
  /// Any opcode without a payload; the result type follows from the arguments (Bool for comparisons).
  ScalarId op(ScalarOpcode opcode, std::vector<ScalarId> args);
  ScalarId insert(ScalarOp op);
  ElementType type(ScalarId id) const { return program.ops[id].type; }

private:
  ScalarProgram &program;
};

/// One line per operation: "%3 = add f32 %1, %2".
std::string toString(const ScalarProgram &program,
                     std::string_view indent = "  ");

} // namespace lockstitch

#endif // LOCKSTITCH_COMPILER_GRAPH_SCALAR_PROGRAM_H
