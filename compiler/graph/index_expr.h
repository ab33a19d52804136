// IndexExpr: an integer expression over the dimensions of an iteration space, and its simplifier.
//
// How one element of a result is made is written as index maps (index_map.h) built from these. Unlike MLIR's affine
// expressions they know the *range* of every dimension, which is what makes reshape chains disappear:
// (d0*64 + d1) floordiv 64 is d0 only because 0 <= d1 < 64.
#ifndef LOCKSTITCH_COMPILER_GRAPH_INDEX_EXPR_H
#define LOCKSTITCH_COMPILER_GRAPH_INDEX_EXPR_H

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace lockstitch {

/// Inclusive bounds of an integer.
struct Interval {
  int64_t low;
  int64_t high;
  bool contains(const Interval &other) const {
    return low <= other.low && other.high <= high;
  }
};

/// What is known of the variables of an expression: bounds of each dimension and of each run-time variable.
struct IndexRanges {
  std::vector<Interval> dims;
  std::vector<Interval> runtimes;
};

/// An immutable integer expression; cheap to copy, compared by structure.
///
/// Dim(i): coordinate i of the iteration space. Runtime(i): a value computed in the kernel (a gather's index). FloorDiv and
/// Mod round towards minus infinity and have a positive constant right side.
class IndexExpr {
public:
  enum class Kind : uint8_t { Constant, Dim, Runtime, Add, Mul, FloorDiv, Mod };

  IndexExpr() : IndexExpr(constant(0)) {}
  static IndexExpr constant(int64_t value);
  static IndexExpr dim(unsigned position);
  static IndexExpr runtime(unsigned position);

  Kind kind() const;
  /// Value of a Constant.
  int64_t value() const;
  /// Position of a Dim or Runtime.
  unsigned position() const;
  /// Operands of Add, Mul, FloorDiv, Mod.
  IndexExpr lhs() const;
  IndexExpr rhs() const;

  bool isConstant() const { return kind() == Kind::Constant; }
  bool isConstant(int64_t v) const { return isConstant() && value() == v; }
  uint64_t hash() const;
  bool operator==(const IndexExpr &other) const;
  /// A total order by structure, the same on every run.
  bool operator<(const IndexExpr &other) const;

  /// Does it mention dimension `position`?
  bool usesDim(unsigned position) const;
  bool usesAnyRuntime() const;
  /// One more than the largest dimension it mentions; 0 if none.
  unsigned numDimsUsed() const;

private:
  struct Node;
  explicit IndexExpr(std::shared_ptr<const Node> node)
      : node(std::move(node)) {}
  static IndexExpr make(Kind kind, const IndexExpr &lhs, const IndexExpr &rhs);
  friend IndexExpr operator+(const IndexExpr &, const IndexExpr &);
  friend IndexExpr operator*(const IndexExpr &, const IndexExpr &);
  friend IndexExpr floorDiv(const IndexExpr &, int64_t);
  friend IndexExpr mod(const IndexExpr &, int64_t);
  std::shared_ptr<const Node> node;
};

IndexExpr operator+(const IndexExpr &lhs, const IndexExpr &rhs);
IndexExpr operator-(const IndexExpr &lhs, const IndexExpr &rhs);
IndexExpr operator*(const IndexExpr &lhs, const IndexExpr &rhs);
/// `divisor` must be positive.
IndexExpr floorDiv(const IndexExpr &lhs, int64_t divisor);
IndexExpr mod(const IndexExpr &lhs, int64_t divisor);

/// The canonical form: a sum of (coefficient * atom) in structural order, with every div and mod that the ranges decide
/// removed and `k*m*(x floordiv m) + k*(x mod m)` recombined to `k*x`. Two expressions that simplify to the same form are
/// equal on the ranges; the reverse need not hold. Source: the rewrite rules are those of quasi-affine arithmetic with
/// interval bounds, as in XLA's indexing analysis.
IndexExpr simplify(const IndexExpr &expr, const IndexRanges &ranges);

/// Bounds of `expr` by interval arithmetic on its canonical sum. Variables without an entry in `ranges` are unbounded.
Interval rangeOf(const IndexExpr &expr, const IndexRanges &ranges);

/// Replaces Dim(i) by `dims[i]` and Runtime(i) by `runtimes[i]`; variables beyond the spans stay.
IndexExpr substitute(const IndexExpr &expr, std::span<const IndexExpr> dims,
                     std::span<const IndexExpr> runtimes = {});

/// Value for given coordinates.
int64_t evaluate(const IndexExpr &expr, std::span<const int64_t> dims,
                 std::span<const int64_t> runtimes = {});

/// The canonical sum of an expression: constant + sum of coefficient * atom, an atom being a Dim, a Runtime, a FloorDiv, a
/// Mod or a product of variables.
struct LinearForm {
  int64_t constant = 0;
  std::vector<std::pair<IndexExpr, int64_t>>
      terms; // sorted by atom, coefficients not zero
  IndexExpr toExpr() const;
};
LinearForm toLinearForm(const IndexExpr &expr, const IndexRanges &ranges);

/// "d0*64 + d1", "(d0 floordiv 3) mod 5"; Runtime(i) as "s0".
std::string toString(const IndexExpr &expr);
/// The reverse of toString.  Returns false and sets `error` on bad text.
bool parseIndexExpr(std::string_view text, IndexExpr &expr, std::string &error);

} // namespace lockstitch

#endif // LOCKSTITCH_COMPILER_GRAPH_INDEX_EXPR_H
