// Equalities. A declared equality is kept either as a *definition*, a symbol
// that every expression may lose in favour of the other side, or only as a rule
// that values are checked against. Definitions never form a circle: a side is
// expanded by the definitions so far before a symbol of it is defined.
#include "runtime/program/dim_form.h"

#include <algorithm>
#include <numeric>

namespace lockstitch {
namespace {

std::string quoted(const Symbol &symbol) { return "'" + symbol.name + "'"; }

std::string rangeText(const DimRange &range) {
  if (range.high == INT64_MAX)
    return "at least " + std::to_string(range.low);
  return "in [" + std::to_string(range.low) + ", " +
         std::to_string(range.high) + "]";
}

/// Least common multiple, or the larger one where that does not fit.
int64_t commonMultiple(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a / std::gcd(a, b), b, &product)
             ? std::max(a, b)
             : product;
}

Error contradiction(const std::string &names, const std::string &reason) {
  return Error::refused(names, reason,
                        "declare sizes equal only where they can be");
}

} // namespace

uint32_t SymbolTable::getOrCreate(std::string_view name) {
  if (auto id = find(name))
    return *id;
  Symbol symbol;
  symbol.name = std::string(name);
  symbols.push_back(std::move(symbol));
  return static_cast<uint32_t>(symbols.size() - 1);
}

std::optional<uint32_t> SymbolTable::find(std::string_view name) const {
  for (size_t i = 0; i < symbols.size(); ++i)
    if (symbols[i].name == name)
      return static_cast<uint32_t>(i);
  return std::nullopt;
}

namespace {

/// `dim` with each defined symbol replaced, until none is left.
Dim expand(Dim dim, const std::vector<SymbolTable::Equality> &equalities,
           size_t numSymbols) {
  // One pass per definition is enough: there is no circle.
  for (size_t pass = 0; pass <= equalities.size(); ++pass) {
    std::vector<Dim> by(numSymbols);
    for (uint32_t i = 0; i < numSymbols; ++i)
      by[i] = Dim::symbol(i);
    for (const SymbolTable::Equality &equality : equalities)
      if (equality.isDefinition)
        by[equality.symbol] = equality.size;
    Dim next = substitute(dim, by);
    if (next == dim)
      break;
    dim = std::move(next);
  }
  return dim;
}

bool mentions(const Dim &dim, uint32_t symbol) {
  std::vector<uint32_t> ids = dim.symbols();
  return std::binary_search(ids.begin(), ids.end(), symbol);
}

/// A symbol of `difference` = 0 that can be written through the others.
std::optional<SymbolTable::Equality> solve(const Dim &difference) {
  int64_t common = 0;
  for (const DimTerm &term : DimForm::termsOf(difference))
    common = std::gcd(common, term.coefficient);
  if (common <= 0 || DimForm::constantOf(difference) % common != 0)
    return std::nullopt;
  for (const DimTerm &term : DimForm::termsOf(difference)) {
    if (term.factors.size() != 1 ||
        term.factors[0]->kind != Atom::Kind::Symbol ||
        std::abs(term.coefficient / common) != 1)
      continue;
    uint32_t id = term.factors[0]->symbol;
    Dim rest;
    for (const DimTerm &other : DimForm::termsOf(difference))
      if (&other != &term) {
        DimForm form;
        form.add(other, 1);
        rest = rest + std::move(form).dim();
      }
    rest = rest + Dim(DimForm::constantOf(difference));
    if (mentions(rest, id))
      continue;
    Dim size = floorDiv(rest, common); // exact
    return SymbolTable::Equality{
        id, term.coefficient > 0 ? Dim(0) - size : size, true};
  }
  return std::nullopt;
}

} // namespace

Status SymbolTable::equate(uint32_t id, const Dim &size) {
  Dim left = expand(Dim::symbol(id), declared, symbols.size());
  Dim right = expand(size, declared, symbols.size());
  std::string names = "symbol " + quoted(symbols[id]);
  for (uint32_t other : size.symbols())
    if (other != id)
      names += ", " + quoted(symbols[other]);
  Dim difference = left - right;
  if (right.isInvalid() || difference.isInvalid())
    return contradiction(names, "its size leaves 64 bits");
  if (difference == Dim(0))
    return {};
  if (difference.isConstant())
    return contradiction(names, toString(Dim::symbol(id), this) +
                                    " cannot be " + toString(size, this));
  Equality equality{id, size, false};
  if (left.isSymbol() && !mentions(right, left.symbol()))
    equality = {left.symbol(), right, true};
  else if (right.isSymbol() && !mentions(left, right.symbol()))
    equality = {right.symbol(), left, true};
  else if (auto solved = solve(difference))
    equality = *solved;

  if (equality.isDefinition) {
    Symbol &symbol = symbols[equality.symbol];
    DimRange own{symbol.minimum, symbol.maximum};
    DimRange other = rangeOf(equality.size, *this);
    if (symbol.value)
      own = {*symbol.value, *symbol.value};
    DimRange both{std::max(own.low, other.low), std::min(own.high, other.high)};
    int64_t divisor = commonMultiple(
        std::max<int64_t>(symbol.divisor, 1),
        std::max<int64_t>(knownDivisor(equality.size, *this), 1));
    std::string what = toString(Dim::symbol(equality.symbol), this) + " and " +
                       toString(equality.size, this) +
                       " are declared equal, but ";
    if (both.low > both.high)
      return contradiction(names, what + "the first is " + rangeText(own) +
                                      ", the second " + rangeText(other));
    Wide first =
        static_cast<Wide>(both.low) + (divisor - both.low % divisor) % divisor;
    if (both.low < 0)
      first = static_cast<Wide>(both.low) - both.low % divisor;
    if (first > both.high)
      return contradiction(names, what + "there is no multiple of " +
                                      std::to_string(divisor) + " " +
                                      rangeText(both));
    auto learn = [&](Symbol &to) {
      to.minimum = std::max(to.minimum, both.low);
      to.maximum = std::min(to.maximum, both.high);
      to.divisor = divisor;
    };
    learn(symbol);
    if (equality.size.isSymbol()) {
      Symbol &twin = symbols[equality.size.symbol()];
      learn(twin);
      if (!twin.value)
        twin.value = symbol.value;
      symbol.value = twin.value;
    }
  }
  declared.push_back(std::move(equality));
  return {};
}

Dim SymbolTable::resolve(const Dim &dim) const {
  if (dim.isConstant() || dim.isInvalid())
    return dim;
  if (declared.empty()) {
    bool known = false;
    for (uint32_t id : dim.symbols())
      known |= id < symbols.size() && symbols[id].value.has_value();
    if (!known)
      return dim;
  }
  // Values of defined symbols say something about their definitions too.
  std::vector<Dim> by(symbols.size());
  for (uint32_t i = 0; i < symbols.size(); ++i)
    by[i] = symbols[i].value ? Dim(*symbols[i].value) : Dim::symbol(i);
  for (bool changed = true; changed;) {
    changed = false;
    for (const Equality &equality : declared) {
      std::optional<LinearDim> linear = asLinear(equality.size);
      if (!equality.isDefinition || !by[equality.symbol].isConstant() ||
          !linear || by[linear->symbol].isConstant())
        continue;
      Dim scaled = by[equality.symbol] - linear->offset;
      if (!scaled.isConstant() || scaled.value() % linear->scale != 0)
        continue;
      by[linear->symbol] = scaled.value() / linear->scale;
      changed = true;
    }
  }
  return substitute(expand(substitute(dim, by), declared, symbols.size()), by);
}

Status SymbolTable::check(std::span<const int64_t> values) const {
  for (size_t i = 0; i < symbols.size(); ++i) {
    const Symbol &symbol = symbols[i];
    std::string where = "symbol " + quoted(symbol), reason;
    if (i >= values.size())
      reason = "has no value";
    else if (symbol.value && *symbol.value != values[i])
      reason = "is " + std::to_string(*symbol.value) + ", not " +
               std::to_string(values[i]);
    else if (values[i] < symbol.minimum || values[i] > symbol.maximum)
      reason = "must be " + rangeText({symbol.minimum, symbol.maximum}) +
               ", but is " + std::to_string(values[i]);
    else if (symbol.divisor > 1 && values[i] % symbol.divisor != 0)
      reason = "must be a multiple of " + std::to_string(symbol.divisor) +
               ", but is " + std::to_string(values[i]);
    if (!reason.empty())
      return Error::refused(where, reason);
  }
  for (const Equality &equality : declared)
    if (std::optional<int64_t> size = evaluate(equality.size, values);
        size != values[equality.symbol])
      return Error::refused(
          "symbol " + quoted(symbols[equality.symbol]),
          "must be " + toString(equality.size, this) + " = " +
              (size ? std::to_string(*size) : "more than 64 bits hold") +
              ", but is " + std::to_string(values[equality.symbol]));
  return {};
}

std::string SymbolTable::rules() const {
  std::string text;
  auto add = [&](const std::string &rule) {
    text += (text.empty() ? "" : ", ") + rule;
  };
  for (uint32_t i = 0; i < symbols.size(); ++i) {
    const Symbol &symbol = symbols[i];
    std::string name = toString(Dim::symbol(i), this);
    if (symbol.value) {
      add(name + " = " + std::to_string(*symbol.value));
      continue;
    }
    std::string range = name;
    if (symbol.minimum > 0)
      range = std::to_string(symbol.minimum) + " <= " + range;
    if (symbol.maximum != INT64_MAX)
      range += " <= " + std::to_string(symbol.maximum);
    if (range != name)
      add(range);
    if (symbol.divisor > 1)
      add(name + " a multiple of " + std::to_string(symbol.divisor));
  }
  for (const Equality &equality : declared)
    add(toString(Dim::symbol(equality.symbol), this) + " = " +
        toString(equality.size, this));
  return text;
}

} // namespace lockstitch
