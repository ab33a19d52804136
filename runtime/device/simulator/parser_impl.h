//===- parser_impl.h - the parser's state and productions -------*- C++ -*-===//
#pragma once

#include "runtime/device/simulator/lexer.h"
#include "runtime/device/simulator/parser.h"

namespace lockstitch::simulator {

/// No declaration may ask for more: texts come from anywhere.
constexpr uint64_t MaxVariableBytes = uint64_t(1) << 32;
constexpr size_t MaxFunctionItems = 1u << 22;
constexpr unsigned MaxNesting = 64;

class Parser {
public:
  Parser(ParsedModule &module, Diagnostic &diagnostic)
      : M(module), Error(diagnostic), Lex(module.text) {
    advance();
  }
  bool run();

private:
  struct RegisterFamily { // `%r<65>`, or one register when count is 0
    ScalarType type;
    uint64_t count;
  };
  using ScopeNames = std::unordered_map<std::string_view, RegisterFamily>;

  void advance() { Now = Lex.next(); }
  bool fail(const std::string &message) {
    if (!Error) {
      Error.line = Now.line;
      Error.message = message;
    }
    return false;
  }
  bool unexpected(const char *wanted) {
    if (Now.kind == TokenKind::End)
      return fail(std::string("unexpected end of the text, expected ") +
                  wanted);
    return fail("unexpected '" + std::string(Now.text) + "', expected " +
                wanted);
  }
  bool expect(char c) {
    if (!Now.is(c)) {
      char wanted[] = {'\'', c, '\'', 0};
      return unexpected(wanted);
    }
    advance();
    return true;
  }
  bool accept(char c) {
    if (!Now.is(c))
      return false;
    advance();
    return true;
  }
  bool isDirective(std::string_view text) const {
    return Now.kind == TokenKind::Directive && Now.text == text;
  }
  bool integer(uint64_t &value);

  bool topLevel();
  bool skipSection();
  bool fileDirective();
  bool locDirective();
  bool variable(Variable &v, StateSpace space);
  bool initialiser(Variable &v, unsigned depth, uint64_t &position);
  bool function(bool isEntry);
  bool parameters(std::vector<Variable> &list);
  bool performance(Function &f);
  bool body(Function &f);
  bool statement(Function &f);
  bool registers();
  bool instruction(Function &f, bool guarded, Operand guard);
  bool operand(Function &f, Operand &o, unsigned depth = 0);
  bool reference(Function &f, Operand &o);
  bool list(Function &f, Operand &o, char close, unsigned depth);
  bool findRegister(Function &f, std::string_view name, uint32_t &index);

  ParsedModule &M;
  Diagnostic &Error;
  Lexer Lex;
  Token Now;
  uint32_t LocFile = 0, LocLine = 0;
  std::vector<uint32_t> Scopes;
  std::vector<ScopeNames> Families;
  std::unordered_map<std::string, uint32_t> UsedRegisters;
};

} // namespace lockstitch::simulator
