// Dim: a size as an expression over symbols, and the table of the symbols that
// it may mention. Every type from the importer to the artifact carries Dim
// instead of a plain integer.
//
// A Dim is a constant plus a sum of coefficient * product of atoms; an atom is a
// symbol, a floorDiv, a min or a max. This form is kept at all times, so two
// sizes that are equal by the laws of +, * and division by a constant compare
// equal:
//
//   ceilDiv(a, b)        floorDiv(a + b - 1, b)
//   mod(a, b)            a - b * floorDiv(a, b)
//   floorDiv(4x + y, 4)  x + floorDiv(y, 4), every coefficient reduced modulo 4
//
// A plain number needs no memory of its own and is copied like one.
#ifndef LOCKSTITCH_RUNTIME_PROGRAM_DIM_H
#define LOCKSTITCH_RUNTIME_PROGRAM_DIM_H

#include "runtime/program/status.h"

#include <cassert>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstitch {

class SymbolTable;

/// An immutable size: a number, or an expression over the symbols of a
/// SymbolTable.
///
/// Arithmetic whose numbers leave 64 bits, a division by a number that is not
/// positive, and a product of more than 4096 terms give an *invalid* Dim, which
/// every operation passes on and evaluate() refuses.
class Dim {
public:
  Dim(int64_t value = 0) : constant(value) {}
  static Dim symbol(uint32_t id);

  Dim(const Dim &other) : constant(other.constant), node(other.node) {
    if (node)
      retain(node);
  }
  Dim(Dim &&other) noexcept
      : constant(other.constant), node(std::exchange(other.node, nullptr)) {}
  Dim &operator=(Dim other) noexcept {
    constant = other.constant;
    std::swap(node, other.node);
    return *this;
  }
  ~Dim() {
    if (node)
      release(node);
  }

  bool isConstant() const { return !node; }
  bool isInvalid() const;
  /// The number; only for constant sizes.
  int64_t value() const {
    assert(isConstant() && "a symbolic dimension has no value");
    return constant;
  }
  /// Whether it is one symbol and nothing else.
  bool isSymbol() const;
  /// Id of that symbol.
  uint32_t symbol() const;
  /// Ids of the symbols that it mentions, ascending.
  std::vector<uint32_t> symbols() const;

  bool operator==(const Dim &other) const {
    return constant == other.constant &&
           (node == other.node || sameTerms(other));
  }

  struct Node; // of dim.cpp

private:
  friend struct DimForm;
  static void retain(const Node *node);
  static void release(const Node *node);
  bool sameTerms(const Dim &other) const;

  int64_t constant = 0;
  const Node *node = nullptr; // counted; null: a number
};

using Shape = std::vector<Dim>;

Dim operator+(const Dim &a, const Dim &b);
Dim operator-(const Dim &a, const Dim &b);
Dim operator*(const Dim &a, const Dim &b);
/// Rounded towards minus infinity; the divisor must be positive.
Dim floorDiv(const Dim &a, const Dim &divisor);
/// Rounded towards plus infinity; the divisor must be positive.
Dim ceilDiv(const Dim &a, const Dim &divisor);
/// In [0, divisor); the divisor must be positive.
Dim mod(const Dim &a, const Dim &divisor);
Dim min(const Dim &a, const Dim &b);
Dim max(const Dim &a, const Dim &b);
/// `a` rounded up to a multiple.
Dim alignUp(const Dim &a, int64_t multiple);

/// The value where symbol i is `values[i]`. Nothing: it does not fit in 64
/// bits, a divisor is not positive, or a symbol is beyond the values.
std::optional<int64_t> evaluate(const Dim &dim,
                                std::span<const int64_t> values);

/// Replaces symbol i by `by[i]`; symbols beyond the span stay.
Dim substitute(const Dim &dim, std::span<const Dim> by);

/// `dim` = scale * symbol + offset, where it has that form with a scale that is
/// not zero.
struct LinearDim {
  uint32_t symbol = 0;
  int64_t scale = 1, offset = 0;
};
std::optional<LinearDim> asLinear(const Dim &dim);

/// Inclusive bounds of a size; the ends of int64_t stand for "unbounded".
struct DimRange {
  int64_t low = INT64_MIN, high = INT64_MAX;
  bool operator==(const DimRange &) const = default;
};
/// Bounds by interval arithmetic on the ranges of the symbols.
DimRange rangeOf(const Dim &dim, const SymbolTable &symbols);

/// A number that divides `dim` whatever its symbols are (0 for the number 0,
/// else positive).
int64_t knownDivisor(const Dim &dim, const SymbolTable &symbols);

/// "4*n*m + (n floordiv 8) + 3", "min(n, 128)", "(n mod 4)"; a name that is not
/// an identifier stands in double quotes. Without a table: "s0", "s1" ....
/// "invalid" for an invalid one.
std::string toString(const Dim &dim, const SymbolTable *symbols = nullptr);
/// The reverse of toString: +, -, *, floordiv, ceildiv, mod, min(), max(),
/// parentheses. Errors (refused, where: the text): not an expression, nested
/// deeper than 100, longer than 4096 characters, a name that the table lacks, a
/// number of more than 64 bits, an invalid result.
Result<Dim> parseDim(std::string_view text, const SymbolTable &symbols);

/// A dimension that a model leaves open: its name in the model, what is known
/// of it, and its value once it is given.
struct Symbol {
  std::string name;
  int64_t minimum = 0;
  int64_t maximum = INT64_MAX;
  int64_t divisor = 1; // positive
  std::optional<int64_t> value;
  bool operator==(const Symbol &) const = default;
};

/// The symbols of one model. Equal names are one symbol, as ONNX means them.
class SymbolTable {
public:
  /// The symbol named `name`, made when there is none.
  uint32_t getOrCreate(std::string_view name);
  std::optional<uint32_t> find(std::string_view name) const;
  Symbol &operator[](uint32_t id) { return symbols[id]; }
  const Symbol &operator[](uint32_t id) const { return symbols[id]; }
  size_t size() const { return symbols.size(); }
  bool empty() const { return symbols.empty(); }

  /// Declares that symbol `id` is `size`. What is known of the one is known of
  /// the other from here on. Errors (refused), naming the symbols: ranges that
  /// do not meet, other values, an expression that mentions the symbol itself.
  Status equate(uint32_t id, const Dim &size);
  struct Equality {
    uint32_t symbol = 0;
    Dim size;
    bool isDefinition = false; // resolve() replaces the symbol by the size
    bool operator==(const Equality &) const = default;
  };
  /// In order of their declaration, solved for a symbol where that is possible.
  const std::vector<Equality> &equalities() const { return declared; }

  /// `dim` with every symbol replaced by what it is declared equal to, and by
  /// its value where that is known.
  Dim resolve(const Dim &dim) const;

  /// Whether `values[i]` may be the value of symbol i: range, divisor, value
  /// and equalities. Error (refused): which rule of which symbol does not hold.
  Status check(std::span<const int64_t> values) const;

  /// "1 <= n <= 1024, n a multiple of 4, m = 2*n"; "" if anything goes.
  std::string rules() const;

  bool operator==(const SymbolTable &) const = default;

private:
  std::vector<Symbol> symbols;
  std::vector<Equality> declared;
};

} // namespace lockstitch

#endif // LOCKSTITCH_RUNTIME_PROGRAM_DIM_H
