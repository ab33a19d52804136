// What is known of a size before its symbols have values. Sums and products by
// interval arithmetic; x - k * (x floordiv k), which is what a mod is in the
// canonical form, is found again first, because its parts alone say nothing.
#include "runtime/program/dim_form.h"

#include <algorithm>
#include <numeric>

namespace lockstitch {
namespace {

constexpr int64_t kLow = INT64_MIN, kHigh = INT64_MAX; // unbounded

int64_t saturate(Wide value) {
  return value <= kLow    ? kLow
         : value >= kHigh ? kHigh
                          : static_cast<int64_t>(value);
}

bool isBound(int64_t value) { return value != kLow && value != kHigh; }

int64_t times(int64_t a, int64_t b) {
  if (a == 0 || b == 0)
    return 0;
  if (!isBound(a) || !isBound(b))
    return (a < 0) == (b < 0) ? kHigh : kLow;
  return saturate(static_cast<Wide>(a) * b);
}

int64_t plus(int64_t a, int64_t b) {
  if (!isBound(a))
    return a;
  return isBound(b) ? saturate(static_cast<Wide>(a) + b) : b;
}

int64_t dividedBy(int64_t a, int64_t b) { // b > 0
  if (!isBound(a))
    return a;
  if (!isBound(b))
    return a < 0 ? -1 : 0;
  return a / b - (a % b < 0);
}

template <typename Operation>
DimRange corners(const DimRange &a, const DimRange &b, Operation operation) {
  int64_t all[] = {operation(a.low, b.low), operation(a.low, b.high),
                   operation(a.high, b.low), operation(a.high, b.high)};
  return {*std::min_element(all, all + 4), *std::max_element(all, all + 4)};
}

DimRange add(const DimRange &a, const DimRange &b) {
  return {plus(a.low, b.low), plus(a.high, b.high)};
}

DimRange atomRange(const Atom &atom, const SymbolTable &symbols) {
  if (atom.kind == Atom::Kind::Symbol) {
    if (atom.symbol >= symbols.size())
      return {};
    const Symbol &symbol = symbols[atom.symbol];
    return symbol.value ? DimRange{*symbol.value, *symbol.value}
                        : DimRange{symbol.minimum, symbol.maximum};
  }
  DimRange range = rangeOf(atom.operands[0], symbols);
  for (size_t i = 1; i < atom.operands.size(); ++i) {
    DimRange other = rangeOf(atom.operands[i], symbols);
    if (atom.kind == Atom::Kind::Min) {
      range = {std::min(range.low, other.low),
               std::min(range.high, other.high)};
    } else if (atom.kind == Atom::Kind::Max) {
      range = {std::max(range.low, other.low),
               std::max(range.high, other.high)};
    } else {
      other.low = std::max<int64_t>(other.low, 1);
      other.high = std::max(other.high, other.low);
      range = corners(range, other, dividedBy);
    }
  }
  return range;
}

int64_t atomDivisor(const Atom &atom, const SymbolTable &symbols) {
  switch (atom.kind) {
  case Atom::Kind::Symbol:
    if (atom.symbol >= symbols.size())
      return 1;
    if (std::optional<int64_t> value = symbols[atom.symbol].value)
      return *value == INT64_MIN ? 1 : std::abs(*value);
    return std::max<int64_t>(symbols[atom.symbol].divisor, 1);
  case Atom::Kind::FloorDiv:
    return 1;
  case Atom::Kind::Min:
  case Atom::Kind::Max:
    break;
  }
  int64_t common = 0;
  for (const Dim &operand : atom.operands)
    common = std::gcd(common, knownDivisor(operand, symbols));
  return common;
}

const Atom *onlyFactor(const DimTerm &term) {
  return term.factors.size() == 1 ? term.factors[0].get() : nullptr;
}

} // namespace

std::optional<ModSplit> splitMod(const Dim &dim) {
  const std::vector<DimTerm> &terms = DimForm::termsOf(dim);
  for (const DimTerm &term : terms) {
    const Atom *division = onlyFactor(term);
    if (!division || !division->isDivisionByNumber())
      continue;
    const Dim &numerator = division->operands[0];
    int64_t k = division->operands[1].value();
    // The numerator itself, or a smaller division of it.
    std::vector<std::pair<Dim, int64_t>> bases = {{numerator, k}};
    for (const DimTerm &other : terms)
      if (const Atom *inner = onlyFactor(other);
          inner && inner != division && inner->isDivisionByNumber() &&
          inner->operands[0] == numerator &&
          k % inner->operands[1].value() == 0)
        bases.push_back({floorDiv(numerator, inner->operands[1]),
                         k / inner->operands[1].value()});
    for (const auto &[base, modulus] : bases) {
      if (term.coefficient % modulus != 0 || modulus == 1)
        continue;
      int64_t scale = -(term.coefficient / modulus);
      Dim rest =
          dim - Dim(scale) * (base - Dim(modulus) * floorDiv(numerator, k));
      if (!rest.isInvalid() && DimForm::termsOf(rest).size() < terms.size() - 1)
        return ModSplit{base, rest, modulus, scale};
    }
  }
  return std::nullopt;
}

DimRange rangeOf(const Dim &dim, const SymbolTable &symbols) {
  if (dim.isInvalid())
    return {};
  if (std::optional<ModSplit> split = splitMod(dim)) {
    int64_t most = times(split->scale, split->modulus - 1);
    return add({std::min<int64_t>(most, 0), std::max<int64_t>(most, 0)},
               rangeOf(split->rest, symbols));
  }
  DimRange sum{DimForm::constantOf(dim), DimForm::constantOf(dim)};
  for (const DimTerm &term : DimForm::termsOf(dim)) {
    DimRange product{term.coefficient, term.coefficient};
    for (const AtomPointer &factor : term.factors)
      product = corners(product, atomRange(*factor, symbols), times);
    sum = add(sum, product);
  }
  return sum;
}

int64_t knownDivisor(const Dim &dim, const SymbolTable &symbols) {
  if (dim.isInvalid())
    return 1;
  auto magnitude = [](int64_t value) {
    return value == INT64_MIN ? int64_t{1} << 62 : std::abs(value);
  };
  int64_t common = magnitude(DimForm::constantOf(dim));
  for (const DimTerm &term : DimForm::termsOf(dim)) {
    int64_t product = magnitude(term.coefficient);
    for (const AtomPointer &factor : term.factors)
      // Part of a product that is too large still divides it.
      if (int64_t more; !__builtin_mul_overflow(
              product, atomDivisor(*factor, symbols), &more))
        product = more;
    common = std::gcd(common, product);
  }
  return common;
}

} // namespace lockstitch
