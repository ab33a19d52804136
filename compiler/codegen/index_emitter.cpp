// Index arithmetic of BodyEmitter. An index is a sum of coefficient * atom;
// each partial sum is emitted in the scope where its atoms are known and
// remembered there, so that of `r*768 + k*64 + c` only the last addition stays
// in the inner loop.
//
// Sums and products are computed modulo 2^bits: when the whole fits, no
// intermediate overflow can show. A division does not commute with that, so the
// dividend is computed in as many bits as its own range needs.
#include "compiler/codegen/body_emitter.h"

using namespace mlir;

namespace lockstitch::codegen {

static bool fitsIn32(const Interval &range) {
  return range.low >= INT32_MIN && range.high <= INT32_MAX;
}

void BodyEmitter::collect(const IndexExpr &expr, int64_t factor, Sum &sum) {
  using Kind = IndexExpr::Kind;
  switch (expr.kind()) {
  case Kind::Constant:
    sum.constant += expr.value() * factor;
    return;
  case Kind::Add:
    collect(expr.lhs(), factor, sum);
    collect(expr.rhs(), factor, sum);
    return;
  case Kind::Mul:
    if (expr.rhs().isConstant())
      return collect(expr.lhs(), factor * expr.rhs().value(), sum);
    if (expr.lhs().isConstant())
      return collect(expr.rhs(), factor * expr.lhs().value(), sum);
    break;
  default:
    break;
  }
  sum.terms.push_back({expr, factor});
}

unsigned BodyEmitter::depthOf(const IndexExpr &expr) {
  using Kind = IndexExpr::Kind;
  switch (expr.kind()) {
  case Kind::Constant:
    return 0;
  case Kind::Dim:
    return dims[expr.position()] ? dims[expr.position()]->depth : 0;
  case Kind::Runtime:
    return values[expr.position()].depth;
  default:
    return std::max(depthOf(expr.lhs()), depthOf(expr.rhs()));
  }
}

bool BodyEmitter::varies(const IndexExpr &expr) {
  if (width == 1)
    return false;
  using Kind = IndexExpr::Kind;
  switch (expr.kind()) {
  case Kind::Constant:
    return false;
  case Kind::Dim:
    return expr.position() == kColumnDim;
  case Kind::Runtime:
    return varying[expr.position()];
  default:
    return varies(expr.lhs()) || varies(expr.rhs());
  }
}

bool BodyEmitter::neverNegative(const Sum &sum) {
  return sum.constant >= 0 && llvm::all_of(sum.terms, [&](const Term &term) {
           return term.coefficient > 0 &&
                  (term.atom.kind() == IndexExpr::Kind::Dim ||
                   rangeOf(term.atom, ranges).low >= 0);
         });
}

unsigned BodyEmitter::bitsFor(const IndexExpr &expr) {
  return fitsIn32(rangeOf(expr, ranges)) ? 32 : 64;
}

SmallVector<BodyEmitter::Contribution>
BodyEmitter::contributions(Sum &sum, unsigned bits) {
  // Terms that are never negative and whose sum fits cannot overflow on the way
  // either.
  bool noWrap = bits >= indexBits && neverNegative(sum);
  SmallVector<Contribution> result;
  struct Part {
    Term term;
    Value known; // of a dimension
  };
  std::map<unsigned, SmallVector<Part>> byDepth;
  for (const Term &term : sum.terms) {
    if (term.atom.kind() != IndexExpr::Kind::Dim) {
      byDepth[depthOf(term.atom)].push_back({term, {}});
      continue;
    }
    const DimValue &dim = *dims[term.atom.position()];
    sum.constant += term.coefficient * dim.offset;
    for (const auto &[value, depth] : dim.parts)
      byDepth[depth].push_back({term, value});
  }
  for (const auto &[depth, parts] : byDepth) {
    IndexExpr expr;
    for (const Part &part : parts)
      expr = expr + part.term.atom * IndexExpr::constant(part.term.coefficient);
    // Keyed by the terms; the part of a dimension that a scope knows is the
    // same for as long as the scope lives.
    IndexKey key{expr, bits, 0};
    Value total = scopes[depth].indices.contains(key)
                      ? scopes[depth].indices[key]
                      : Value();
    if (!total) {
      auto guard = at(depth);
      for (const Part &part : parts) {
        Value value = part.known ? v.resize(part.known, bits, true)
                                 : atomValue(part.term.atom, bits, false);
        value = v.mul(value, v.k(value, part.term.coefficient), noWrap);
        total = total ? v.add(total, value, noWrap) : value;
      }
      scopes[depth].indices[key] = total;
    }
    result.push_back({depth, expr, total});
  }
  return result;
}

Value BodyEmitter::scalarIndex(const IndexExpr &expr, unsigned bits) {
  Sum sum;
  collect(expr, 1, sum);
  bool noWrap = bits >= indexBits && neverNegative(sum);
  unsigned home = depthOf(expr);
  IndexKey key{expr, bits, 1};
  if (auto known = scopes[home].indices.find(key);
      known != scopes[home].indices.end())
    return known->second;
  Value total;
  for (const Contribution &part : contributions(sum, bits)) {
    auto guard = at(part.depth);
    total = total ? v.add(total, part.value, noWrap) : part.value;
  }
  auto guard = at(home);
  Value constant = v.constantInt(v.i(bits), sum.constant);
  total = total ? v.add(total, constant, noWrap) : constant;
  return scopes[home].indices[key] = total;
}

Value BodyEmitter::vectorIndex(const IndexExpr &expr, unsigned bits) {
  unsigned home = depthOf(expr);
  IndexKey key{expr, bits, width};
  if (auto known = scopes[home].indices.find(key);
      known != scopes[home].indices.end())
    return known->second;
  auto guard = at(home);
  Sum sum;
  collect(expr, 1, sum);
  IndexExpr uniform = IndexExpr::constant(sum.constant);
  Value total;
  for (const Term &term : sum.terms) {
    if (!varies(term.atom)) {
      uniform = uniform + term.atom * IndexExpr::constant(term.coefficient);
      continue;
    }
    Value value = atomValue(term.atom, bits, true);
    value = v.mul(value, v.k(value, term.coefficient));
    total = total ? v.add(total, value) : value;
  }
  Value base = v.splat(scalarIndex(uniform, bits), width);
  total = total ? v.add(total, base) : base;
  return scopes[home].indices[key] = total;
}

Value BodyEmitter::atomValue(const IndexExpr &atom, unsigned bits,
                             bool vector) {
  using Kind = IndexExpr::Kind;
  switch (atom.kind()) {
  case Kind::Dim:
    if (vector) {
      Value first = v.splat(scalarIndex(atom, bits), width);
      return v.add(first, v.iota(v.i(bits), width));
    }
    return scalarIndex(atom, bits);
  case Kind::Runtime:
    return v.resize(values[atom.position()].value, bits, true);
  case Kind::FloorDiv:
  case Kind::Mod:
    return divMod(atom, bits, vector);
  default: { // a product of variables
    auto side = [&](const IndexExpr &expr) {
      return vector ? v.splat(index(expr, bits), width)
                    : scalarIndex(expr, bits);
    };
    return v.mul(side(atom.lhs()), side(atom.rhs()));
  }
  }
}

Value BodyEmitter::divMod(const IndexExpr &atom, unsigned bits, bool vector) {
  Interval range = rangeOf(atom.lhs(), ranges);
  unsigned dividendBits = fitsIn32(range) ? 32 : 64;
  if (!vector)
    dividendBits = std::max(dividendBits, indexBits);
  Value x = vector ? vectorIndex(atom.lhs(), dividendBits)
                   : scalarIndex(atom.lhs(), dividendBits);
  int64_t divisor = atom.rhs().value();
  bool isDiv = atom.kind() == IndexExpr::Kind::FloorDiv,
       nonNegative = range.low >= 0;
  Value result;
  if (llvm::isPowerOf2_64(divisor)) { // shifts and masks round towards minus
                                      // infinity by themselves
    Value amount = v.k(x, llvm::Log2_64(divisor));
    result = !isDiv        ? v.andI(x, v.k(x, divisor - 1))
             : nonNegative ? v.shrU(x, amount)
                           : v.shrS(x, amount);
  } else if (nonNegative) {
    result = isDiv ? v.divU(x, v.k(x, divisor)) : v.remU(x, v.k(x, divisor));
  } else {
    Value y = v.k(x, divisor), zero = v.k(x, 0);
    Value remainder = v.remS(x, y);
    Value negative = v.compare(IntCompare::slt, remainder, zero);
    result = isDiv ? v.add(v.divS(x, y), v.select(negative, v.k(x, -1), zero))
                   : v.add(remainder, v.select(negative, y, zero));
  }
  return v.resize(result, bits, true);
}

Value BodyEmitter::inRange(const IndexExpr &expr, int64_t lo, int64_t hi,
                           bool uniform) {
  bool vector = !uniform && varies(expr);
  Type truth = v.i(1);
  Interval range = rangeOf(expr, ranges);
  if (hi < lo || range.high < lo || range.low > hi)
    return v.constantInt(truth, 0);
  if (lo <= range.low && range.high <= hi)
    return v.constantInt(truth, 1);
  unsigned bits = fitsIn32(range) && fitsIn32({lo, hi}) ? 32 : 64;
  // lo <= x <= hi as one unsigned comparison. Bounds beyond the range of x are
  // drawn in, so the differences fit.
  lo = std::max(lo, range.low);
  hi = std::min(hi, range.high);
  Value x = vector ? vectorIndex(expr, bits) : scalarIndex(expr, bits);
  return v.compare(IntCompare::ule, v.sub(x, v.k(x, lo)), v.k(x, hi - lo));
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

BodyEmitter::Address BodyEmitter::address(uint32_t argument,
                                          const IndexExpr &offset) {
  ElementType type = program.arguments[argument].type;
  Type element = v.memoryType(type);
  Sum sum;
  collect(offset, 1, sum);
  Value pointer = arguments[argument];
  IndexExpr prefix;
  for (const Contribution &part : contributions(sum, indexBits)) {
    prefix = prefix + part.expr;
    Value &known = scopes[part.depth].pointers[{argument, prefix}];
    if (!known) {
      auto guard = at(part.depth);
      known = gep(pointer, element, part.value);
    }
    pointer = known;
  }
  return {pointer, sum.constant * static_cast<int64_t>(byteSize(type))};
}

IndexExpr BodyEmitter::withUniformRuntimes(const IndexExpr &expr) {
  if (!expr.usesAnyRuntime())
    return expr;
  // A run-time index that all lanes share is like one more dimension of unknown
  // extent.
  constexpr unsigned kFarPosition = 1u << 20;
  std::vector<IndexExpr> replacements;
  for (unsigned i = 0; i < values.size(); ++i)
    replacements.push_back(varying[i] ? IndexExpr::runtime(i)
                                      : IndexExpr::dim(kFarPosition + i));
  return substitute(expr, {}, replacements);
}

Access BodyEmitter::classify(const IndexExpr &offset) {
  return classifyAccess(program, withUniformRuntimes(offset), columns, width);
}

} // namespace lockstitch::codegen
