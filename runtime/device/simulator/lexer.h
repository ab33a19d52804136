//===- lexer.h - PTX tokens -------------------------------------*- C++ -*-===//
#pragma once

#include <cstdint>
#include <string_view>

namespace lockstitch::simulator {

enum class TokenKind : uint8_t {
  End,
  Identifier, // names, registers, opcodes without their modifiers
  Directive,  // .foo, as one token, also where it is an opcode's modifier
  Integer,
  Float32,
  Float64,
  String,
  Punctuation, // one character; `::` never stands alone
  Invalid
};

struct Token {
  TokenKind kind = TokenKind::End;
  std::string_view text;
  uint64_t bits = 0; // value of a number
  uint32_t line = 1;
  bool spaceBefore = false;
  bool is(char c) const {
    return kind == TokenKind::Punctuation && text[0] == c;
  }
};

/// Splits PTX text into tokens. Comments and preprocessor-like `#` lines are
/// skipped; lines count from 1.
class Lexer {
public:
  explicit Lexer(std::string_view text) : Text(text) {}
  Token next();

private:
  void skipBlanks(bool &sawSpace);
  Token number();

  std::string_view Text;
  size_t Position = 0;
  uint32_t Line = 1;
};

} // namespace lockstitch::simulator
