// The canonical form is made by the constructors below and never left: terms are
// sorted by their factors, no two have the same, no coefficient is zero. The
// text of sizes is dim_text.cpp's, the table of symbols symbol_table.cpp's.
#include "runtime/program/dim_form.h"

#include <algorithm>
#include <numeric>

namespace lockstitch {

namespace {

int compare(const Atom &a, const Atom &b) {
  if (a.kind != b.kind)
    return a.kind < b.kind ? -1 : 1;
  if (a.symbol != b.symbol)
    return a.symbol < b.symbol ? -1 : 1;
  if (a.operands.size() != b.operands.size())
    return a.operands.size() < b.operands.size() ? -1 : 1;
  for (size_t i = 0; i < a.operands.size(); ++i)
    if (int order = compareDims(a.operands[i], b.operands[i]))
      return order;
  return 0;
}

/// A product comes before each product that is a part of its begin: n*m before
/// n.
int compare(const DimTerm &a, const DimTerm &b) {
  for (size_t i = 0; i < a.factors.size() && i < b.factors.size(); ++i)
    if (a.factors[i] != b.factors[i])
      if (int order = compare(*a.factors[i], *b.factors[i]))
        return order;
  if (a.factors.size() != b.factors.size())
    return a.factors.size() > b.factors.size() ? -1 : 1;
  return 0;
}

bool lessAtom(const AtomPointer &a, const AtomPointer &b) {
  return compare(*a, *b) < 0;
}

int64_t floorOf(int64_t a, int64_t b) { // b > 0
  return a / b - (a % b < 0);
}

const std::vector<DimTerm> kNoTerms;

Dim invalid() {
  DimForm form;
  form.invalid = true;
  return std::move(form).dim();
}

Dim ofAtom(Atom atom) {
  DimForm form;
  form.terms.push_back({{std::make_shared<const Atom>(std::move(atom))}, 1});
  return std::move(form).dim();
}

} // namespace

void Dim::retain(const Node *node) {
  node->references.fetch_add(1, std::memory_order_relaxed);
}

void Dim::release(const Node *node) {
  if (node->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
    delete node;
}

Dim DimForm::dim() && {
  Dim made(constant);
  if (invalid || !terms.empty()) {
    auto *node = new Dim::Node;
    node->invalid = invalid;
    if (invalid)
      made.constant = 0;
    else
      node->terms = std::move(terms);
    made.node = node;
  }
  return made;
}

const std::vector<DimTerm> &DimForm::termsOf(const Dim &dim) {
  return dim.node ? dim.node->terms : kNoTerms;
}

int64_t DimForm::constantOf(const Dim &dim) { return dim.constant; }

DimForm::DimForm(const Dim &dim)
    : constant(dim.constant), terms(termsOf(dim)), invalid(dim.isInvalid()) {}

void DimForm::add(const Dim &dim, int64_t scale) {
  invalid |= dim.isInvalid();
  int64_t scaled;
  invalid |= __builtin_mul_overflow(dim.constant, scale, &scaled) ||
             __builtin_add_overflow(constant, scaled, &constant);
  for (const DimTerm &term : termsOf(dim))
    add(term, scale);
}

void DimForm::add(const DimTerm &term, int64_t scale) {
  int64_t scaled;
  if (__builtin_mul_overflow(term.coefficient, scale, &scaled)) {
    invalid = true;
    return;
  }
  auto place = std::lower_bound(
      terms.begin(), terms.end(), term,
      [](const DimTerm &a, const DimTerm &b) { return compare(a, b) < 0; });
  if (place != terms.end() && compare(*place, term) == 0) {
    invalid |=
        __builtin_add_overflow(place->coefficient, scaled, &place->coefficient);
    if (place->coefficient == 0)
      terms.erase(place);
  } else if (scaled != 0) {
    terms.insert(place, {term.factors, scaled});
  }
}

int compareDims(const Dim &a, const Dim &b) {
  const std::vector<DimTerm> &x = DimForm::termsOf(a), &y = DimForm::termsOf(b);
  for (size_t i = 0; i < x.size() && i < y.size(); ++i) {
    if (int order = compare(x[i], y[i]))
      return order;
    if (x[i].coefficient != y[i].coefficient)
      return x[i].coefficient < y[i].coefficient ? -1 : 1;
  }
  if (x.size() != y.size())
    return x.size() > y.size() ? -1 : 1;
  if (a.isInvalid() != b.isInvalid())
    return a.isInvalid() ? -1 : 1;
  int64_t c = DimForm::constantOf(a), d = DimForm::constantOf(b);
  return c == d ? 0 : c < d ? -1 : 1;
}

bool Dim::sameTerms(const Dim &other) const {
  return node && other.node && compareDims(*this, other) == 0;
}

bool Dim::isInvalid() const { return node && node->invalid; }

bool Dim::isSymbol() const {
  return node && constant == 0 && node->terms.size() == 1 &&
         node->terms[0].coefficient == 1 &&
         node->terms[0].factors.size() == 1 &&
         node->terms[0].factors[0]->kind == Atom::Kind::Symbol;
}

uint32_t Dim::symbol() const {
  assert(isSymbol());
  return node->terms[0].factors[0]->symbol;
}

Dim Dim::symbol(uint32_t id) { return ofAtom({Atom::Kind::Symbol, id, {}}); }

std::vector<uint32_t> Dim::symbols() const {
  std::vector<uint32_t> ids;
  for (const DimTerm &term : DimForm::termsOf(*this))
    for (const AtomPointer &factor : term.factors) {
      if (factor->kind == Atom::Kind::Symbol)
        ids.push_back(factor->symbol);
      for (const Dim &operand : factor->operands)
        for (uint32_t id : operand.symbols())
          ids.push_back(id);
    }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

Dim operator+(const Dim &a, const Dim &b) {
  DimForm form(a);
  form.add(b, 1);
  return std::move(form).dim();
}

Dim operator-(const Dim &a, const Dim &b) {
  DimForm form(a);
  form.add(b, -1);
  return std::move(form).dim();
}

Dim operator*(const Dim &a, const Dim &b) {
  if (a.isInvalid() || b.isInvalid())
    return invalid();
  // Sizes come from files too; products of sums could fill the memory.
  constexpr size_t kMostProducts = 1 << 12;
  if (DimForm::termsOf(a).size() * DimForm::termsOf(b).size() > kMostProducts)
    return invalid();
  DimForm product;
  product.add(a, DimForm::constantOf(b));
  Dim withoutConstant = b - DimForm::constantOf(b);
  product.add(withoutConstant, DimForm::constantOf(a));
  for (const DimTerm &x : DimForm::termsOf(a))
    for (const DimTerm &y : DimForm::termsOf(b)) {
      DimTerm term;
      std::merge(x.factors.begin(), x.factors.end(), y.factors.begin(),
                 y.factors.end(), std::back_inserter(term.factors), lessAtom);
      product.invalid |= __builtin_mul_overflow(x.coefficient, y.coefficient,
                                                &term.coefficient);
      product.add(term, 1);
    }
  return std::move(product).dim();
}

namespace {

/// Takes what is a multiple of `divisor` out of the numerator.
Dim divideByNumber(const Dim &a, int64_t divisor) {
  DimForm out, in;
  out.constant = floorOf(DimForm::constantOf(a), divisor);
  in.constant = DimForm::constantOf(a) - out.constant * divisor;
  int64_t common = divisor;
  for (const DimTerm &term : DimForm::termsOf(a)) {
    int64_t whole = floorOf(term.coefficient, divisor);
    int64_t rest = term.coefficient - whole * divisor;
    out.add({term.factors, 1}, whole);
    in.add({term.factors, 1}, rest);
    common = std::gcd(common, rest);
  }
  if (in.terms.empty())
    return std::move(out).dim();
  for (DimTerm &term : in.terms)
    term.coefficient /= common;
  in.constant = floorOf(in.constant, common);
  divisor /= common;
  // ((x floordiv j) + c) floordiv k is (x + c*j) floordiv (j*k).
  if (in.terms.size() == 1 && in.terms[0].coefficient == 1 &&
      in.terms[0].factors.size() == 1 &&
      in.terms[0].factors[0]->isDivisionByNumber()) {
    const Atom &inner = *in.terms[0].factors[0];
    int64_t j = inner.operands[1].value(), both;
    Dim numerator = inner.operands[0] + Dim(in.constant) * Dim(j);
    if (!__builtin_mul_overflow(j, divisor, &both) && !numerator.isInvalid())
      return std::move(out).dim() + divideByNumber(numerator, both);
  }
  return std::move(out).dim() +
         ofAtom({Atom::Kind::FloorDiv, 0, {std::move(in).dim(), divisor}});
}

/// Quotient of two products, where it is a product again.
std::optional<DimTerm> divideTerm(const DimTerm &a, const DimTerm &b) {
  if (a.coefficient % b.coefficient != 0 ||
      (b.coefficient == -1 && a.coefficient == INT64_MIN) ||
      !std::includes(a.factors.begin(), a.factors.end(), b.factors.begin(),
                     b.factors.end(), lessAtom))
    return std::nullopt;
  DimTerm quotient;
  quotient.coefficient = a.coefficient / b.coefficient;
  std::set_difference(a.factors.begin(), a.factors.end(), b.factors.begin(),
                      b.factors.end(), std::back_inserter(quotient.factors),
                      lessAtom);
  return quotient;
}

} // namespace

Dim floorDiv(const Dim &a, const Dim &divisor) {
  if (a.isInvalid() || divisor.isInvalid())
    return invalid();
  if (divisor.isConstant())
    return divisor.value() > 0 ? divideByNumber(a, divisor.value()) : invalid();
  if (a == Dim(0))
    return a;
  if (a == divisor)
    return 1;
  DimForm out, in;
  const std::vector<DimTerm> &by = DimForm::termsOf(divisor);
  bool isProduct = by.size() == 1 && DimForm::constantOf(divisor) == 0;
  in.constant = DimForm::constantOf(a);
  for (const DimTerm &term : DimForm::termsOf(a)) {
    std::optional<DimTerm> quotient;
    if (isProduct)
      quotient = divideTerm(term, by[0]);
    if (!quotient)
      in.add(term, 1);
    else if (quotient->factors.empty())
      out.add(Dim(quotient->coefficient), 1);
    else
      out.add(*quotient, 1);
  }
  if (in.terms.empty() && in.constant == 0)
    return std::move(out).dim();
  return std::move(out).dim() +
         ofAtom({Atom::Kind::FloorDiv, 0, {std::move(in).dim(), divisor}});
}

Dim ceilDiv(const Dim &a, const Dim &divisor) {
  if (divisor.isConstant() && divisor.value() <= 0)
    return invalid();
  return floorDiv(a + (divisor - 1), divisor);
}

Dim mod(const Dim &a, const Dim &divisor) {
  return a - divisor * floorDiv(a, divisor);
}

Dim alignUp(const Dim &a, int64_t multiple) {
  return ceilDiv(a, multiple) * multiple;
}

namespace {

Dim extreme(Atom::Kind kind, const Dim &a, const Dim &b) {
  if (a.isInvalid() || b.isInvalid())
    return invalid();
  std::vector<Dim> all;
  for (const Dim *dim : {&a, &b}) {
    const std::vector<DimTerm> &terms = DimForm::termsOf(*dim);
    if (terms.size() == 1 && DimForm::constantOf(*dim) == 0 &&
        terms[0].coefficient == 1 && terms[0].factors.size() == 1 &&
        terms[0].factors[0]->kind == kind)
      all.insert(all.end(), terms[0].factors[0]->operands.begin(),
                 terms[0].factors[0]->operands.end());
    else
      all.push_back(*dim);
  }
  // Of two that differ by a number one is never needed.
  std::vector<Dim> kept;
  for (const Dim &dim : all) {
    bool isNeeded = true;
    for (Dim &other : kept) {
      Dim difference = dim - other;
      if (!difference.isConstant())
        continue;
      isNeeded = false;
      if ((kind == Atom::Kind::Min) == (difference.value() < 0))
        other = dim;
      break;
    }
    if (isNeeded)
      kept.push_back(dim);
  }
  if (kept.size() == 1)
    return kept[0];
  std::sort(kept.begin(), kept.end(),
            [](const Dim &x, const Dim &y) { return compareDims(x, y) < 0; });
  return ofAtom({kind, 0, std::move(kept)});
}

} // namespace

Dim min(const Dim &a, const Dim &b) { return extreme(Atom::Kind::Min, a, b); }

Dim max(const Dim &a, const Dim &b) { return extreme(Atom::Kind::Max, a, b); }

namespace {

std::optional<Wide> evaluateWide(const Dim &dim,
                                 std::span<const int64_t> values);

std::optional<Wide> evaluateAtom(const Atom &atom,
                                 std::span<const int64_t> values) {
  if (atom.kind == Atom::Kind::Symbol)
    return atom.symbol < values.size()
               ? std::optional<Wide>(values[atom.symbol])
               : std::nullopt;
  std::optional<Wide> result;
  for (const Dim &operand : atom.operands) {
    std::optional<Wide> value = evaluateWide(operand, values);
    if (!value)
      return std::nullopt;
    if (!result)
      result = value;
    else if (atom.kind == Atom::Kind::Min)
      result = std::min(*result, *value);
    else if (atom.kind == Atom::Kind::Max)
      result = std::max(*result, *value);
    else if (*value <= 0)
      return std::nullopt;
    else
      result = *result / *value - (*result % *value < 0);
  }
  return result;
}

std::optional<Wide> evaluateWide(const Dim &dim,
                                 std::span<const int64_t> values) {
  if (dim.isInvalid())
    return std::nullopt;
  Wide sum = DimForm::constantOf(dim);
  for (const DimTerm &term : DimForm::termsOf(dim)) {
    Wide product = term.coefficient;
    for (const AtomPointer &factor : term.factors) {
      std::optional<Wide> value = evaluateAtom(*factor, values);
      if (!value || __builtin_mul_overflow(product, *value, &product))
        return std::nullopt;
    }
    if (__builtin_add_overflow(sum, product, &sum))
      return std::nullopt;
  }
  return sum;
}

Dim substituteAtom(const Atom &atom, std::span<const Dim> by) {
  if (atom.kind == Atom::Kind::Symbol)
    return atom.symbol < by.size() ? by[atom.symbol] : Dim::symbol(atom.symbol);
  Dim result = substitute(atom.operands[0], by);
  for (size_t i = 1; i < atom.operands.size(); ++i) {
    Dim operand = substitute(atom.operands[i], by);
    result = atom.kind == Atom::Kind::Min   ? min(result, operand)
             : atom.kind == Atom::Kind::Max ? max(result, operand)
                                            : floorDiv(result, operand);
  }
  return result;
}

} // namespace

std::optional<int64_t> evaluate(const Dim &dim,
                                std::span<const int64_t> values) {
  if (dim.isConstant())
    return dim.value();
  std::optional<Wide> value = evaluateWide(dim, values);
  if (!value || *value < INT64_MIN || *value > INT64_MAX)
    return std::nullopt;
  return static_cast<int64_t>(*value);
}

Dim substitute(const Dim &dim, std::span<const Dim> by) {
  if (dim.isConstant() || dim.isInvalid())
    return dim;
  Dim sum = DimForm::constantOf(dim);
  for (const DimTerm &term : DimForm::termsOf(dim)) {
    Dim product = term.coefficient;
    for (const AtomPointer &factor : term.factors)
      product = product * substituteAtom(*factor, by);
    sum = sum + product;
  }
  return sum;
}

std::optional<LinearDim> asLinear(const Dim &dim) {
  const std::vector<DimTerm> &terms = DimForm::termsOf(dim);
  if (terms.size() != 1 || terms[0].factors.size() != 1 ||
      terms[0].factors[0]->kind != Atom::Kind::Symbol)
    return std::nullopt;
  return LinearDim{terms[0].factors[0]->symbol, terms[0].coefficient,
                   DimForm::constantOf(dim)};
}

} // namespace lockstitch
