//===- lexer.cpp - PTX tokens ---------------------------------------------===//
#include "runtime/device/simulator/lexer.h"

#include <cstdlib>
#include <cstring>
#include <string>

namespace lockstitch::simulator {

static bool isNameStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         c == '$' || c == '%';
}
static bool isDigit(char c) { return c >= '0' && c <= '9'; }
static bool isNamePart(char c) { return isNameStart(c) || isDigit(c); }
static int hexValue(char c) {
  if (isDigit(c))
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return -1;
}

void Lexer::skipBlanks(bool &sawSpace) {
  while (Position < Text.size()) {
    char c = Text[Position];
    if (c == '\n') {
      ++Line;
      ++Position;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      ++Position;
    } else if (c == '/' && Position + 1 < Text.size() &&
               Text[Position + 1] == '/') {
      while (Position < Text.size() && Text[Position] != '\n')
        ++Position;
    } else if (c == '/' && Position + 1 < Text.size() &&
               Text[Position + 1] == '*') {
      Position += 2;
      while (Position < Text.size() &&
             !(Text[Position] == '*' && Position + 1 < Text.size() &&
               Text[Position + 1] == '/')) {
        if (Text[Position] == '\n')
          ++Line;
        ++Position;
      }
      Position = Position + 2 < Text.size() ? Position + 2 : Text.size();
    } else {
      return;
    }
    sawSpace = true;
  }
}

Token Lexer::number() {
  Token token;
  token.line = Line;
  size_t start = Position;
  auto rest = [&](size_t i) { return i < Text.size() ? Text[i] : '\0'; };
  auto finish = [&](TokenKind kind, size_t end) {
    token.kind = kind;
    token.text = Text.substr(start, end - start);
    Position = end;
    return token;
  };
  char marker = rest(start + 1);
  if (rest(start) == '0' &&
      (marker == 'f' || marker == 'F' || marker == 'd' || marker == 'D')) {
    bool isDouble = marker == 'd' || marker == 'D';
    size_t digits = isDouble ? 16 : 8;
    size_t i = start + 2;
    for (; i < start + 2 + digits && hexValue(rest(i)) >= 0; ++i)
      token.bits = token.bits << 4 | (uint64_t)hexValue(rest(i));
    if (i == start + 2 + digits)
      return finish(isDouble ? TokenKind::Float64 : TokenKind::Float32, i);
    return finish(TokenKind::Invalid, i);
  }
  unsigned base = 10;
  size_t i = start;
  if (rest(start) == '0' && (marker == 'x' || marker == 'X'))
    base = 16, i += 2;
  else if (rest(start) == '0' && (marker == 'b' || marker == 'B'))
    base = 2, i += 2;
  else if (rest(start) == '0' && isDigit(marker))
    base = 8, i += 1;
  size_t first = i;
  for (; hexValue(rest(i)) >= 0 && (unsigned)hexValue(rest(i)) < base; ++i)
    token.bits = token.bits * base + (unsigned)hexValue(rest(i));
  if (i == first && base != 8)
    return finish(TokenKind::Invalid, i > start ? i : start + 1);
  if (base == 10 && ((rest(i) == '.' && isDigit(rest(i + 1))) ||
                     rest(i) == 'e' || rest(i) == 'E')) {
    // A decimal floating literal is a double by the PTX manual.
    size_t end = i;
    if (rest(end) == '.')
      for (++end; isDigit(rest(end));)
        ++end;
    if (rest(end) == 'e' || rest(end) == 'E') {
      ++end;
      if (rest(end) == '+' || rest(end) == '-')
        ++end;
      while (isDigit(rest(end)))
        ++end;
    }
    std::string copy(Text.substr(start, end - start));
    double value = std::strtod(copy.c_str(), nullptr);
    std::memcpy(&token.bits, &value, sizeof value);
    return finish(TokenKind::Float64, end);
  }
  if (rest(i) == 'U' || rest(i) == 'u')
    ++i;
  return finish(TokenKind::Integer, i);
}

Token Lexer::next() {
  Token token;
  skipBlanks(token.spaceBefore);
  token.line = Line;
  if (Position >= Text.size())
    return token;
  size_t start = Position;
  char c = Text[Position];
  if (isDigit(c)) {
    bool space = token.spaceBefore;
    token = number();
    token.spaceBefore = space;
    return token;
  }
  auto take = [&](TokenKind kind) {
    token.kind = kind;
    token.text = Text.substr(start, Position - start);
    return token;
  };
  if (isNameStart(c)) {
    // A lone % is no name, but the parser says so better than the lexer.
    while (Position < Text.size() && isNamePart(Text[Position]))
      ++Position;
    return take(TokenKind::Identifier);
  }
  if (c == '.' && Position + 1 < Text.size() &&
      isNamePart(Text[Position + 1])) {
    ++Position;
    while (Position < Text.size()) {
      if (isNamePart(Text[Position]))
        ++Position;
      else if (Text.substr(Position, 2) == "::" && Position + 2 < Text.size() &&
               isNamePart(Text[Position + 2]))
        Position += 2;
      else
        break;
    }
    return take(TokenKind::Directive);
  }
  if (c == '"') {
    ++Position;
    while (Position < Text.size() && Text[Position] != '"' &&
           Text[Position] != '\n')
      Position += Text[Position] == '\\' && Position + 1 < Text.size() ? 2 : 1;
    if (Position > Text.size())
      Position = Text.size();
    if (Position < Text.size() && Text[Position] == '"') {
      ++Position;
      return take(TokenKind::String);
    }
    return take(TokenKind::Invalid);
  }
  ++Position;
  return take(TokenKind::Punctuation);
}

} // namespace lockstitch::simulator
