// Sizes as text. The parser is recursive descent; as in MLIR's affine maps *,
// floordiv, ceildiv and mod bind equally, from the left.
#include "runtime/program/dim_form.h"

#include <array>
#include <cctype>

namespace lockstitch {
namespace {

constexpr std::array<std::string_view, 5> kWords = {"floordiv", "ceildiv",
                                                    "mod", "min", "max"};
constexpr int kDeepest = 100;
constexpr size_t kLongest = 4096; // bounds how deep atoms nest

bool startsName(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_';
}
bool continuesName(char c) {
  return startsName(c) || std::isdigit(static_cast<unsigned char>(c));
}

std::string nameText(const std::string &name) {
  bool isPlain = !name.empty() && startsName(name[0]);
  for (char c : name)
    isPlain &= continuesName(c);
  for (std::string_view word : kWords)
    isPlain &= name != word;
  if (isPlain)
    return name;
  std::string text = "\"";
  for (char c : name)
    text += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return text + "\"";
}

/// As an operand of floordiv or mod.
std::string grouped(const Dim &dim, const SymbolTable *symbols) {
  const std::vector<DimTerm> &terms = DimForm::termsOf(dim);
  bool isAtom = terms.size() == 1 && terms[0].factors.size() == 1 &&
                terms[0].coefficient == 1 && DimForm::constantOf(dim) == 0;
  std::string text = toString(dim, symbols);
  return dim.isConstant() || isAtom ? text : "(" + text + ")";
}

std::string atomText(const Atom &atom, const SymbolTable *symbols) {
  auto operand = [&](size_t i) { return toString(atom.operands[i], symbols); };
  switch (atom.kind) {
  case Atom::Kind::Symbol:
    return symbols && atom.symbol < symbols->size()
               ? nameText((*symbols)[atom.symbol].name)
               : "s" + std::to_string(atom.symbol);
  case Atom::Kind::FloorDiv: {
    return "(" + grouped(atom.operands[0], symbols) + " floordiv " +
           grouped(atom.operands[1], symbols) + ")";
  }
  case Atom::Kind::Min:
  case Atom::Kind::Max:
    break;
  }
  std::string text = atom.kind == Atom::Kind::Min ? "min(" : "max(";
  for (size_t i = 0; i < atom.operands.size(); ++i)
    text += (i ? ", " : "") + operand(i);
  return text + ")";
}

/// Appends "+ 4*what".
void append(std::string &text, int64_t coefficient, const std::string &what) {
  std::string number = std::to_string(coefficient);
  bool isNegative = coefficient < 0;
  if (!text.empty()) {
    text += isNegative ? " - " : " + ";
    if (isNegative)
      number.erase(0, 1);
  } else if (isNegative && !what.empty() && coefficient == -1) {
    text += "-";
  }
  if (what.empty())
    text += number;
  else
    text += (coefficient == 1 || coefficient == -1 ? "" : number + "*") + what;
}

void appendSum(std::string &text, const Dim &dim, const SymbolTable *symbols) {
  if (std::optional<ModSplit> split = splitMod(dim)) {
    append(text, split->scale,
           "(" + grouped(split->base, symbols) + " mod " +
               std::to_string(split->modulus) + ")");
    appendSum(text, split->rest, symbols);
    return;
  }
  for (const DimTerm &term : DimForm::termsOf(dim)) {
    std::string product;
    for (const AtomPointer &factor : term.factors)
      product += (product.empty() ? "" : "*") + atomText(*factor, symbols);
    append(text, term.coefficient, product);
  }
  if (DimForm::constantOf(dim) != 0 || text.empty())
    append(text, DimForm::constantOf(dim), "");
}

class Parser {
public:
  Parser(std::string_view text, const SymbolTable &symbols)
      : text(text), symbols(symbols) {}

  Result<Dim> run() {
    if (text.size() > kLongest)
      return Error::refused(
          "size '" + std::string(text.substr(0, 60)) + " ...'",
          "it has more than " + std::to_string(kLongest) + " characters",
          "write a shorter one");
    Dim dim = sum();
    skipSpace();
    if (problem.empty() && at != text.size())
      fail("expected an operator");
    if (problem.empty() && dim.isInvalid())
      problem = "its numbers leave 64 bits, it divides by a number that is not "
                "positive, or it has too many terms";
    if (problem.empty())
      return dim;
    return Error::refused("size '" + std::string(text) + "'", problem,
                          "write numbers, names, + - * floordiv ceildiv mod "
                          "min() max() and parentheses");
  }

private:
  void fail(const std::string &reason) {
    if (problem.empty())
      problem = reason + " at character " + std::to_string(at + 1);
  }
  void skipSpace() {
    while (at < text.size() &&
           std::isspace(static_cast<unsigned char>(text[at])))
      ++at;
  }
  char peek() {
    skipSpace();
    return at < text.size() && problem.empty() ? text[at] : '\0';
  }
  bool take(char c) {
    if (peek() != c)
      return false;
    ++at;
    return true;
  }
  void expect(char c) {
    if (!take(c))
      fail(std::string("expected '") + c + "'");
  }
  bool takeWord(std::string_view word) {
    if (peek() == '\0' || text.substr(at, word.size()) != word ||
        (at + word.size() < text.size() &&
         continuesName(text[at + word.size()])))
      return false;
    at += word.size();
    return true;
  }

  Dim sum() {
    if (++depth > kDeepest) {
      fail("nested too deeply");
      return {};
    }
    Dim result = product();
    while (problem.empty()) {
      if (take('+'))
        result = result + product();
      else if (take('-'))
        result = result - product();
      else
        break;
    }
    --depth;
    return result;
  }

  Dim product() {
    Dim result = unary();
    while (problem.empty()) {
      if (take('*'))
        result = result * unary();
      else if (takeWord("floordiv"))
        result = floorDiv(result, unary());
      else if (takeWord("ceildiv"))
        result = ceilDiv(result, unary());
      else if (takeWord("mod"))
        result = mod(result, unary());
      else
        break;
    }
    return result;
  }

  Dim unary() {
    bool isNegative = false;
    while (take('-'))
      isNegative = !isNegative;
    if (std::isdigit(static_cast<unsigned char>(peek())))
      return number(isNegative);
    Dim value = primary();
    return isNegative ? Dim(0) - value : value;
  }

  Dim number(bool isNegative) {
    Wide value = 0;
    while (at < text.size() &&
           std::isdigit(static_cast<unsigned char>(text[at]))) {
      value = value * 10 + (text[at] - '0');
      if (value > -static_cast<Wide>(INT64_MIN)) {
        fail("a number of more than 64 bits");
        return {};
      }
      ++at;
    }
    if (isNegative)
      value = -value;
    if (value > INT64_MAX) {
      fail("a number of more than 64 bits");
      return {};
    }
    return static_cast<int64_t>(value);
  }

  Dim primary() {
    if (take('(')) {
      Dim value = sum();
      expect(')');
      return value;
    }
    for (bool isMin : {true, false})
      if (takeWord(isMin ? "min" : "max")) {
        expect('(');
        Dim value = sum();
        while (take(','))
          value = isMin ? min(value, sum()) : max(value, sum());
        expect(')');
        return value;
      }
    return name();
  }

  Dim name() {
    std::string found;
    char first = peek();
    if (first == '"') {
      for (++at; at < text.size() && text[at] != '"'; ++at) {
        if (text[at] == '\\' && at + 1 < text.size())
          ++at;
        found += text[at];
      }
      if (at == text.size()) {
        fail("a name without its closing quote");
        return {};
      }
      ++at;
    } else if (startsName(first)) {
      while (at < text.size() && continuesName(text[at]))
        found += text[at++];
    } else {
      fail("expected a number, a name or '('");
      return {};
    }
    if (std::optional<uint32_t> id = symbols.find(found))
      return Dim::symbol(*id);
    fail("there is no symbol '" + found + "'");
    return {};
  }

  std::string_view text;
  const SymbolTable &symbols;
  size_t at = 0;
  int depth = 0;
  std::string problem;
};

} // namespace

std::string toString(const Dim &dim, const SymbolTable *symbols) {
  if (dim.isInvalid())
    return "invalid";
  std::string text;
  appendSum(text, dim, symbols);
  return text;
}

Result<Dim> parseDim(std::string_view text, const SymbolTable &symbols) {
  return Parser(text, symbols).run();
}

} // namespace lockstitch
