// The text form of index expressions and maps, both ways.
//
//   map  := '(' d0, d1, ... ')' '->' '(' expr, ... ')' [ 'if' expr 'in' number '..' number, ... ]
//   expr := term (('+'|'-') term)* ;  term := factor (('*'|'floordiv'|'mod') factor)* ;  factor := d0 | s0 | number | '(' expr ')'
#include "compiler/graph/index_map.h"

#include <cctype>
#include <charconv>

namespace lockstitch {
namespace {

void print(const IndexExpr &expr, std::string &text, bool nested) {
  using Kind = IndexExpr::Kind;
  switch (expr.kind()) {
  case Kind::Constant:
    text += std::to_string(expr.value());
    return;
  case Kind::Dim:
    text += "d" + std::to_string(expr.position());
    return;
  case Kind::Runtime:
    text += "s" + std::to_string(expr.position());
    return;
  default:
    break;
  }
  if (nested)
    text += "(";
  bool isSum = expr.kind() == Kind::Add;
  print(expr.lhs(), text, !isSum);
  switch (expr.kind()) {
  case Kind::Add:
    text += " + ";
    break;
  case Kind::Mul:
    text += "*";
    break;
  case Kind::FloorDiv:
    text += " floordiv ";
    break;
  default:
    text += " mod ";
    break;
  }
  print(expr.rhs(), text, !isSum || expr.rhs().kind() == Kind::Add);
  if (nested)
    text += ")";
}

class Parser {
public:
  Parser(std::string_view text, std::string &error)
      : text(text), error(error) {}

  bool map(IndexMap &result) {
    if (!expect('('))
      return false;
    skip();
    while (!peek(')')) {
      unsigned position;
      if (!variable('d', position))
        return fail("expected d" + std::to_string(result.numDims));
      if (position != result.numDims)
        return fail("dimensions must be d0, d1, ... in order");
      ++result.numDims;
      if (!peek(')') && !expect(','))
        return false;
    }
    ++at;
    skip();
    if (text.substr(at, 2) != "->")
      return fail("expected '->'");
    at += 2;
    if (!expect('('))
      return false;
    while (!peek(')')) {
      IndexExpr expr;
      if (!sum(expr))
        return false;
      result.results.push_back(expr);
      if (!peek(')') && !expect(','))
        return false;
    }
    ++at;
    for (bool more = word("if"); more;) {
      IndexConstraint constraint;
      if (!sum(constraint.expr))
        return false;
      if (!word("in") || !number(constraint.lo) || !word("..") ||
          !number(constraint.hi))
        return fail("expected 'in LOW .. HIGH'");
      result.constraints.push_back(std::move(constraint));
      more = peek(',');
      at += more;
    }
    return end();
  }

  bool sum(IndexExpr &result) {
    if (!term(result))
      return false;
    for (;;) {
      skip();
      bool plus = at < text.size() && text[at] == '+',
           minus = at < text.size() && text[at] == '-';
      if (!plus && !minus)
        return true;
      ++at;
      IndexExpr rhs;
      if (!term(rhs))
        return false;
      result = plus ? result + rhs : result - rhs;
    }
  }

  bool end() {
    skip();
    return at == text.size() ||
           fail("unexpected text '" + std::string(text.substr(at)) + "'");
  }

private:
  void skip() {
    while (at < text.size() &&
           std::isspace(static_cast<unsigned char>(text[at])))
      ++at;
  }
  bool peek(char c) {
    skip();
    return at < text.size() && text[at] == c;
  }
  bool expect(char c) {
    if (!peek(c))
      return fail(std::string("expected '") + c + "'");
    ++at;
    return true;
  }
  bool fail(std::string message) {
    error = std::move(message);
    return false;
  }
  bool word(std::string_view word) {
    skip();
    if (text.substr(at, word.size()) != word)
      return false;
    at += word.size();
    return true;
  }
  bool number(int64_t &value) {
    skip();
    auto [end, code] =
        std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (code != std::errc())
      return false;
    at = end - text.data();
    return true;
  }
  bool variable(char letter, unsigned &position) {
    skip();
    if (at + 1 >= text.size() || text[at] != letter ||
        !std::isdigit(static_cast<unsigned char>(text[at + 1])))
      return false;
    ++at;
    int64_t value = 0;
    if (!number(value) || value > 1'000'000)
      return false;
    position = static_cast<unsigned>(value);
    return true;
  }
  bool term(IndexExpr &result) {
    if (!factor(result))
      return false;
    for (;;) {
      IndexExpr rhs;
      if (word("*")) {
        if (!factor(rhs))
          return false;
        result = result * rhs;
        continue;
      }
      bool division = word("floordiv");
      if (!division && !word("mod"))
        return true;
      int64_t divisor = 0;
      if (!number(divisor) || divisor <= 0)
        return fail("floordiv and mod need a positive number on the right");
      result = division ? floorDiv(result, divisor) : mod(result, divisor);
    }
  }
  bool factor(IndexExpr &result) {
    if (depth > 200)
      return fail("expression is nested too deeply");
    unsigned position;
    int64_t value;
    if (peek('(')) {
      ++at;
      ++depth;
      if (!sum(result) || !expect(')'))
        return false;
      --depth;
      return true;
    }
    if (variable('d', position)) {
      result = IndexExpr::dim(position);
      return true;
    }
    if (variable('s', position)) {
      result = IndexExpr::runtime(position);
      return true;
    }
    if (number(value)) {
      result = IndexExpr::constant(value);
      return true;
    }
    return fail("expected d<n>, s<n>, a number or '('");
  }

  std::string_view text;
  std::string &error;
  size_t at = 0;
  int depth = 0;
};

} // namespace

std::string toString(const IndexExpr &expr) {
  std::string text;
  print(expr, text, false);
  return text;
}

std::string toString(const IndexMap &map) {
  std::string text = "(";
  for (unsigned i = 0; i < map.numDims; ++i)
    text += (i ? ", d" : "d") + std::to_string(i);
  text += ") -> (";
  for (size_t i = 0; i < map.results.size(); ++i)
    text += (i ? ", " : "") + toString(map.results[i]);
  text += ")";
  for (size_t i = 0; i < map.constraints.size(); ++i)
    text += (i ? ", " : " if ") + toString(map.constraints[i].expr) + " in " +
            std::to_string(map.constraints[i].lo) + " .. " +
            std::to_string(map.constraints[i].hi);
  return text;
}

bool parseIndexExpr(std::string_view text, IndexExpr &expr,
                    std::string &error) {
  Parser parser(text, error);
  return parser.sum(expr) && parser.end();
}

bool parseIndexMap(std::string_view text, IndexMap &map, std::string &error) {
  map = {};
  return Parser(text, error).map(map);
}

} // namespace lockstitch
