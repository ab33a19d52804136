// The simplifier of index expressions.
//
// Canonical form: constant + sum of coefficient * atom, sorted. floordiv and mod of a sum are taken apart first:
//   (c*A + R) floordiv c  = A + R floordiv c          what divides is taken out
//   (c*A + R) mod c       = R mod c
//   R floordiv c          = k  if k*c <= R < (k+1)*c  the ranges decide
//   (g*X + r) floordiv c  = (X + r floordiv g) floordiv (c/g)    g the common divisor of the terms and c
//   (g*X + R) floordiv c  = X floordiv (c/g)   if 0 <= R < g and g divides c; likewise (g*X + R) mod c = g*(X mod c/g) + R
//   (x floordiv a) floordiv b = x floordiv (a*b);  (x mod ab) floordiv a = (x floordiv a) mod b;  (x mod ab) mod b = x mod b
// and a sum recombines  k*m*(x floordiv m) + k*(x mod m) = k*x.  Together these undo every chain of reshapes.
#include "compiler/graph/index_expr.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace lockstitch {
namespace {

constexpr int64_t kInfinity = std::numeric_limits<int64_t>::max() / 4;

int64_t clampToInfinity(__int128 value) {
  return value > kInfinity    ? kInfinity
         : value < -kInfinity ? -kInfinity
                              : static_cast<int64_t>(value);
}

int64_t floorDivide(int64_t a, int64_t b) {
  int64_t quotient = a / b;
  return quotient * b > a ? quotient - 1 : quotient;
}

Interval scale(const Interval &interval, int64_t factor) {
  int64_t a = clampToInfinity(static_cast<__int128>(interval.low) * factor);
  int64_t b = clampToInfinity(static_cast<__int128>(interval.high) * factor);
  return factor >= 0 ? Interval{a, b} : Interval{b, a};
}

void addTerm(LinearForm &form, const IndexExpr &atom, int64_t coefficient) {
  if (!coefficient)
    return;
  auto at = std::lower_bound(
      form.terms.begin(), form.terms.end(), atom,
      [](const auto &term, const IndexExpr &key) { return term.first < key; });
  if (at != form.terms.end() && at->first == atom) {
    at->second += coefficient;
    if (!at->second)
      form.terms.erase(at);
    return;
  }
  form.terms.insert(at, {atom, coefficient});
}

void addScaled(LinearForm &form, const LinearForm &other, int64_t factor) {
  form.constant += other.constant * factor;
  for (const auto &[atom, coefficient] : other.terms)
    addTerm(form, atom, coefficient * factor);
}

Interval rangeOfForm(const LinearForm &form, const IndexRanges &ranges);

Interval rangeOfAtom(const IndexExpr &atom, const IndexRanges &ranges) {
  using Kind = IndexExpr::Kind;
  switch (atom.kind()) {
  case Kind::Constant:
    return {atom.value(), atom.value()};
  case Kind::Dim:
    return atom.position() < ranges.dims.size()
               ? ranges.dims[atom.position()]
               : Interval{-kInfinity, kInfinity};
  case Kind::Runtime:
    return atom.position() < ranges.runtimes.size()
               ? ranges.runtimes[atom.position()]
               : Interval{-kInfinity, kInfinity};
  case Kind::FloorDiv: {
    Interval inner = rangeOf(atom.lhs(), ranges);
    int64_t divisor = atom.rhs().value();
    return {
        inner.low <= -kInfinity ? -kInfinity : floorDivide(inner.low, divisor),
        inner.high >= kInfinity ? kInfinity : floorDivide(inner.high, divisor)};
  }
  case Kind::Mod: {
    Interval inner = rangeOf(atom.lhs(), ranges);
    int64_t divisor = atom.rhs().value();
    if (inner.low >= 0 && inner.high < divisor)
      return inner;
    return {0, divisor - 1};
  }
  case Kind::Mul: {
    Interval a = rangeOf(atom.lhs(), ranges), b = rangeOf(atom.rhs(), ranges);
    int64_t corners[] = {
        clampToInfinity(static_cast<__int128>(a.low) * b.low),
        clampToInfinity(static_cast<__int128>(a.low) * b.high),
        clampToInfinity(static_cast<__int128>(a.high) * b.low),
        clampToInfinity(static_cast<__int128>(a.high) * b.high)};
    return {*std::min_element(corners, corners + 4),
            *std::max_element(corners, corners + 4)};
  }
  case Kind::Add:
    return rangeOfForm(toLinearForm(atom, ranges), ranges);
  }
  return {-kInfinity, kInfinity};
}

Interval rangeOfForm(const LinearForm &form, const IndexRanges &ranges) {
  __int128 low = form.constant, high = form.constant;
  for (const auto &[atom, coefficient] : form.terms) {
    Interval term = scale(rangeOfAtom(atom, ranges), coefficient);
    low += term.low;
    high += term.high;
  }
  return {clampToInfinity(low), clampToInfinity(high)};
}

LinearForm single(const IndexExpr &atom) {
  LinearForm form;
  form.terms.push_back({atom, 1});
  return form;
}

bool isSingleAtom(const LinearForm &form, IndexExpr::Kind kind) {
  return !form.constant && form.terms.size() == 1 &&
         form.terms[0].second == 1 && form.terms[0].first.kind() == kind;
}

/// Splits `form` into divisor * quotient + rest, the rest having no term that divides and a constant in [0, divisor).
void splitByDivisor(const LinearForm &form, int64_t divisor,
                    LinearForm &quotient, LinearForm &rest) {
  quotient.constant = floorDivide(form.constant, divisor);
  rest.constant = form.constant - quotient.constant * divisor;
  for (const auto &[atom, coefficient] : form.terms) {
    if (coefficient % divisor == 0)
      addTerm(quotient, atom, coefficient / divisor);
    else
      addTerm(rest, atom, coefficient);
  }
}

int64_t commonDivisor(const LinearForm &form, int64_t with) {
  int64_t divisor = with;
  for (const auto &[atom, coefficient] : form.terms)
    divisor = std::gcd(divisor, coefficient);
  return divisor;
}

/// Finds g > 1 dividing `divisor` such that form = g*high + low with 0 <= low < g; false when there is none.
bool splitSmallRemainder(const LinearForm &form, int64_t divisor,
                         const IndexRanges &ranges, int64_t &g,
                         LinearForm &high, LinearForm &low) {
  for (const auto &[atom, coefficient] : form.terms) {
    g = std::gcd(coefficient, divisor);
    if (g <= 1 || g == divisor)
      continue;
    high = {};
    low = {};
    splitByDivisor(form, g, high, low);
    Interval range = rangeOfForm(low, ranges);
    if (!high.terms.empty() && range.low >= 0 && range.high < g)
      return true;
  }
  return false;
}

LinearForm floorDivForm(const LinearForm &form, int64_t divisor,
                        const IndexRanges &ranges);
LinearForm modForm(const LinearForm &form, int64_t divisor,
                   const IndexRanges &ranges);
void recombine(LinearForm &form, const IndexRanges &ranges);

LinearForm floorDivForm(const LinearForm &form, int64_t divisor,
                        const IndexRanges &ranges) {
  if (divisor == 1)
    return form;
  LinearForm result, rest;
  splitByDivisor(form, divisor, result, rest);
  Interval range = rangeOfForm(rest, ranges);
  if (range.low > -kInfinity && range.high < kInfinity) {
    int64_t low = floorDivide(range.low, divisor);
    if (low == floorDivide(range.high, divisor)) {
      result.constant += low;
      return result;
    }
  }
  if (int64_t g = commonDivisor(rest, divisor); g > 1) {
    LinearForm reduced;
    reduced.constant = floorDivide(rest.constant, g);
    for (const auto &[atom, coefficient] : rest.terms)
      addTerm(reduced, atom, coefficient / g);
    addScaled(result, floorDivForm(reduced, divisor / g, ranges), 1);
    return result;
  }
  int64_t g;
  LinearForm high, low;
  if (splitSmallRemainder(rest, divisor, ranges, g, high, low)) {
    addScaled(result, floorDivForm(high, divisor / g, ranges), 1);
    return result;
  }
  if (isSingleAtom(rest, IndexExpr::Kind::FloorDiv)) {
    const IndexExpr &atom = rest.terms[0].first;
    addScaled(result,
              floorDivForm(toLinearForm(atom.lhs(), ranges),
                           atom.rhs().value() * divisor, ranges),
              1);
    return result;
  }
  if (isSingleAtom(rest, IndexExpr::Kind::Mod) &&
      rest.terms[0].first.rhs().value() % divisor == 0) {
    const IndexExpr &atom = rest.terms[0].first;
    LinearForm inner =
        floorDivForm(toLinearForm(atom.lhs(), ranges), divisor, ranges);
    addScaled(result, modForm(inner, atom.rhs().value() / divisor, ranges), 1);
    return result;
  }
  addTerm(result, floorDiv(rest.toExpr(), divisor), 1);
  return result;
}

LinearForm modForm(const LinearForm &form, int64_t divisor,
                   const IndexRanges &ranges) {
  LinearForm result;
  if (divisor == 1)
    return result;
  LinearForm quotient, rest;
  splitByDivisor(form, divisor, quotient, rest);
  Interval range = rangeOfForm(rest, ranges);
  if (range.low > -kInfinity && range.high < kInfinity) {
    int64_t low = floorDivide(range.low, divisor);
    if (low == floorDivide(range.high, divisor)) {
      result = rest;
      result.constant -= low * divisor;
      return result;
    }
  }
  if (int64_t g = commonDivisor(rest, divisor); g > 1) {
    LinearForm reduced;
    reduced.constant = floorDivide(rest.constant, g);
    for (const auto &[atom, coefficient] : rest.terms)
      addTerm(reduced, atom, coefficient / g);
    result.constant = rest.constant - reduced.constant * g;
    addScaled(result, modForm(reduced, divisor / g, ranges), g);
    return result;
  }
  int64_t g;
  LinearForm high, low;
  if (splitSmallRemainder(rest, divisor, ranges, g, high, low)) {
    result = low;
    addScaled(result, modForm(high, divisor / g, ranges), g);
    return result;
  }
  if (isSingleAtom(rest, IndexExpr::Kind::Mod) &&
      rest.terms[0].first.rhs().value() % divisor == 0)
    return modForm(toLinearForm(rest.terms[0].first.lhs(), ranges), divisor,
                   ranges);
  return single(mod(rest.toExpr(), divisor));
}

/// k*m*(x floordiv m) + k*(x mod m) = k*x, until nothing changes.
void recombine(LinearForm &form, const IndexRanges &ranges) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto &[atom, coefficient] : form.terms) {
      if (atom.kind() != IndexExpr::Kind::Mod)
        continue;
      int64_t m = atom.rhs().value();
      LinearForm x = toLinearForm(atom.lhs(), ranges);
      LinearForm quotient = floorDivForm(x, m, ranges);
      if (quotient.terms.empty())
        continue;
      // Every term of k*m*quotient must be there, at least for its leading div; else the sum would only grow.
      bool present = true;
      bool hasDiv = false;
      for (const auto &[q, qc] : quotient.terms) {
        bool isDiv = q.kind() == IndexExpr::Kind::FloorDiv ||
                     q.kind() == IndexExpr::Kind::Mod;
        hasDiv |= isDiv;
        if (!isDiv)
          continue;
        bool found = false;
        for (const auto &[other, oc] : form.terms)
          found |= other == q && oc == coefficient * m * qc;
        present &= found;
      }
      if (!present || !hasDiv)
        continue;
      int64_t k = coefficient;
      IndexExpr modAtom = atom;
      addTerm(form, modAtom, -k);
      addScaled(form, quotient, -k * m);
      addScaled(form, x, k);
      changed = true;
      break;
    }
  }
}

} // namespace

IndexExpr LinearForm::toExpr() const {
  IndexExpr sum = IndexExpr::constant(0);
  for (const auto &[atom, coefficient] : terms)
    sum = sum + atom * IndexExpr::constant(coefficient);
  return sum + IndexExpr::constant(constant);
}

LinearForm toLinearForm(const IndexExpr &expr, const IndexRanges &ranges) {
  using Kind = IndexExpr::Kind;
  LinearForm form;
  switch (expr.kind()) {
  case Kind::Constant:
    form.constant = expr.value();
    return form;
  case Kind::Dim:
  case Kind::Runtime: {
    Interval range = rangeOfAtom(expr, ranges);
    if (range.low == range.high)
      form.constant = range.low;
    else
      addTerm(form, expr, 1);
    return form;
  }
  case Kind::Add: {
    form = toLinearForm(expr.lhs(), ranges);
    addScaled(form, toLinearForm(expr.rhs(), ranges), 1);
    recombine(form, ranges);
    return form;
  }
  case Kind::Mul: {
    LinearForm lhs = toLinearForm(expr.lhs(), ranges),
               rhs = toLinearForm(expr.rhs(), ranges);
    if (rhs.terms.empty()) {
      addScaled(form, lhs, rhs.constant);
      return form;
    }
    if (lhs.terms.empty()) {
      addScaled(form, rhs, lhs.constant);
      return form;
    }
    addTerm(form, lhs.toExpr() * rhs.toExpr(), 1);
    return form;
  }
  case Kind::FloorDiv:
    return floorDivForm(toLinearForm(expr.lhs(), ranges), expr.rhs().value(),
                        ranges);
  case Kind::Mod:
    return modForm(toLinearForm(expr.lhs(), ranges), expr.rhs().value(),
                   ranges);
  }
  return form;
}

IndexExpr simplify(const IndexExpr &expr, const IndexRanges &ranges) {
  return toLinearForm(expr, ranges).toExpr();
}

Interval rangeOf(const IndexExpr &expr, const IndexRanges &ranges) {
  return rangeOfForm(toLinearForm(expr, ranges), ranges);
}

} // namespace lockstitch
