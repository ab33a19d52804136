// Construction, comparison, substitution and evaluation of index expressions; the simplifier is in index_simplify.cpp, the
// text form in index_text.cpp.
#include "compiler/graph/index_expr.h"

#include <algorithm>
#include <cassert>

namespace lockstitch {

struct IndexExpr::Node {
  Kind kind;
  int64_t value = 0; // Constant: the value; Dim, Runtime: the position
  std::shared_ptr<const Node> lhs, rhs;
  uint64_t hash = 0;
  uint64_t dimMask = 0; // bit min(i, 63) set if Dim(i) occurs
  bool hasRuntime = false;
};

namespace {
uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t x = a * 0x9E3779B97F4A7C15ull + b;
  x ^= x >> 32;
  x *= 0xD6E8FEB86659FD93ull;
  return x ^ (x >> 29);
}

int64_t floorDivide(int64_t a, int64_t b) {
  int64_t quotient = a / b;
  return quotient * b > a ? quotient - 1 : quotient;
}
} // namespace

IndexExpr IndexExpr::constant(int64_t value) {
  auto make = [](int64_t v) {
    auto node = std::make_shared<Node>();
    node->kind = Kind::Constant;
    node->value = v;
    node->hash = mix(1, static_cast<uint64_t>(v));
    return std::shared_ptr<const Node>(node);
  };
  static const std::shared_ptr<const Node> zero = make(0), one = make(1);
  return IndexExpr(value == 0 ? zero : value == 1 ? one : make(value));
}

IndexExpr IndexExpr::dim(unsigned position) {
  auto node = std::make_shared<Node>();
  node->kind = Kind::Dim;
  node->value = position;
  node->hash = mix(2, position);
  node->dimMask = 1ull << std::min(position, 63u);
  return IndexExpr(std::move(node));
}

IndexExpr IndexExpr::runtime(unsigned position) {
  auto node = std::make_shared<Node>();
  node->kind = Kind::Runtime;
  node->value = position;
  node->hash = mix(3, position);
  node->hasRuntime = true;
  return IndexExpr(std::move(node));
}

IndexExpr IndexExpr::make(Kind kind, const IndexExpr &lhs,
                          const IndexExpr &rhs) {
  auto node = std::make_shared<Node>();
  node->kind = kind;
  node->lhs = lhs.node;
  node->rhs = rhs.node;
  node->hash =
      mix(mix(4 + static_cast<uint64_t>(kind), lhs.node->hash), rhs.node->hash);
  node->dimMask = lhs.node->dimMask | rhs.node->dimMask;
  node->hasRuntime = lhs.node->hasRuntime || rhs.node->hasRuntime;
  return IndexExpr(std::move(node));
}

IndexExpr::Kind IndexExpr::kind() const { return node->kind; }
int64_t IndexExpr::value() const {
  assert(isConstant());
  return node->value;
}
unsigned IndexExpr::position() const {
  assert(kind() == Kind::Dim || kind() == Kind::Runtime);
  return static_cast<unsigned>(node->value);
}
IndexExpr IndexExpr::lhs() const { return IndexExpr(node->lhs); }
IndexExpr IndexExpr::rhs() const { return IndexExpr(node->rhs); }
uint64_t IndexExpr::hash() const { return node->hash; }
bool IndexExpr::usesAnyRuntime() const { return node->hasRuntime; }

bool IndexExpr::operator==(const IndexExpr &other) const {
  if (node == other.node)
    return true;
  if (node->hash != other.node->hash || node->kind != other.node->kind ||
      node->value != other.node->value)
    return false;
  if (!node->lhs)
    return true;
  return lhs() == other.lhs() && rhs() == other.rhs();
}

bool IndexExpr::operator<(const IndexExpr &other) const {
  if (node == other.node)
    return false;
  if (node->kind != other.node->kind)
    return node->kind < other.node->kind;
  if (!node->lhs)
    return node->value < other.node->value;
  if (!(lhs() == other.lhs()))
    return lhs() < other.lhs();
  return rhs() < other.rhs();
}

bool IndexExpr::usesDim(unsigned position) const {
  if (!(node->dimMask & (1ull << std::min(position, 63u))))
    return false;
  if (position < 63)
    return true;
  if (kind() == Kind::Dim)
    return this->position() == position;
  return node->lhs && (lhs().usesDim(position) || rhs().usesDim(position));
}

unsigned IndexExpr::numDimsUsed() const {
  if (kind() == Kind::Dim)
    return position() + 1;
  if (!node->lhs || !node->dimMask)
    return 0;
  return std::max(lhs().numDimsUsed(), rhs().numDimsUsed());
}

IndexExpr operator+(const IndexExpr &lhs, const IndexExpr &rhs) {
  if (lhs.isConstant() && rhs.isConstant())
    return IndexExpr::constant(lhs.value() + rhs.value());
  if (lhs.isConstant(0))
    return rhs;
  if (rhs.isConstant(0))
    return lhs;
  return IndexExpr::make(IndexExpr::Kind::Add, lhs, rhs);
}

IndexExpr operator-(const IndexExpr &lhs, const IndexExpr &rhs) {
  return lhs + rhs * IndexExpr::constant(-1);
}

IndexExpr operator*(const IndexExpr &lhs, const IndexExpr &rhs) {
  if (lhs.isConstant() && rhs.isConstant())
    return IndexExpr::constant(lhs.value() * rhs.value());
  if (lhs.isConstant(0) || rhs.isConstant(0))
    return IndexExpr::constant(0);
  if (lhs.isConstant(1))
    return rhs;
  if (rhs.isConstant(1))
    return lhs;
  return lhs.isConstant() ? IndexExpr::make(IndexExpr::Kind::Mul, rhs, lhs)
                          : IndexExpr::make(IndexExpr::Kind::Mul, lhs, rhs);
}

IndexExpr floorDiv(const IndexExpr &lhs, int64_t divisor) {
  assert(divisor > 0);
  if (divisor == 1)
    return lhs;
  if (lhs.isConstant())
    return IndexExpr::constant(floorDivide(lhs.value(), divisor));
  return IndexExpr::make(IndexExpr::Kind::FloorDiv, lhs,
                         IndexExpr::constant(divisor));
}

IndexExpr mod(const IndexExpr &lhs, int64_t divisor) {
  assert(divisor > 0);
  if (divisor == 1)
    return IndexExpr::constant(0);
  if (lhs.isConstant())
    return IndexExpr::constant(lhs.value() -
                               floorDivide(lhs.value(), divisor) * divisor);
  return IndexExpr::make(IndexExpr::Kind::Mod, lhs,
                         IndexExpr::constant(divisor));
}

IndexExpr substitute(const IndexExpr &expr, std::span<const IndexExpr> dims,
                     std::span<const IndexExpr> runtimes) {
  using Kind = IndexExpr::Kind;
  switch (expr.kind()) {
  case Kind::Constant:
    return expr;
  case Kind::Dim:
    return expr.position() < dims.size() ? dims[expr.position()] : expr;
  case Kind::Runtime:
    return expr.position() < runtimes.size() ? runtimes[expr.position()] : expr;
  default:
    break;
  }
  IndexExpr lhs = substitute(expr.lhs(), dims, runtimes),
            rhs = substitute(expr.rhs(), dims, runtimes);
  switch (expr.kind()) {
  case Kind::Add:
    return lhs + rhs;
  case Kind::Mul:
    return lhs * rhs;
  case Kind::FloorDiv:
    return floorDiv(lhs, rhs.value());
  default:
    return mod(lhs, rhs.value());
  }
}

int64_t evaluate(const IndexExpr &expr, std::span<const int64_t> dims,
                 std::span<const int64_t> runtimes) {
  using Kind = IndexExpr::Kind;
  switch (expr.kind()) {
  case Kind::Constant:
    return expr.value();
  case Kind::Dim:
    return dims[expr.position()];
  case Kind::Runtime:
    return runtimes[expr.position()];
  case Kind::Add:
    return evaluate(expr.lhs(), dims, runtimes) +
           evaluate(expr.rhs(), dims, runtimes);
  case Kind::Mul:
    return evaluate(expr.lhs(), dims, runtimes) *
           evaluate(expr.rhs(), dims, runtimes);
  case Kind::FloorDiv:
    return floorDivide(evaluate(expr.lhs(), dims, runtimes),
                       expr.rhs().value());
  case Kind::Mod: {
    int64_t value = evaluate(expr.lhs(), dims, runtimes),
            divisor = expr.rhs().value();
    return value - floorDivide(value, divisor) * divisor;
  }
  }
  return 0;
}

} // namespace lockstitch
