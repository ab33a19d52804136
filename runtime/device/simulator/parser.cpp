//===- parser.cpp - PTX text -> ParsedModule ------------------------------===//
//
// A hand-written recursive-descent parser with one token of look-ahead. It
// takes what LLVM and nvcc emit: nested `{ }` scopes with their own registers
// and labels (call sequences, inline assembly), parameterised register
// declarations, initialisers with addresses, debug sections (skipped), `.loc`
// and `.file`.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/simulator/parser.h"
#include "runtime/device/simulator/parser_impl.h"

#include <algorithm>
#include <cstring>

namespace lockstitch::simulator {

unsigned byteSize(ScalarType type) {
  switch (type) {
  case ScalarType::None:
  case ScalarType::Pred:
    return 0;
  case ScalarType::B8:
  case ScalarType::U8:
  case ScalarType::S8:
    return 1;
  case ScalarType::B16:
  case ScalarType::U16:
  case ScalarType::S16:
  case ScalarType::F16:
  case ScalarType::BF16:
    return 2;
  case ScalarType::B64:
  case ScalarType::U64:
  case ScalarType::S64:
  case ScalarType::F64:
  case ScalarType::F32x2:
    return 8;
  case ScalarType::B128:
    return 16;
  default:
    return 4;
  }
}

ScalarType scalarTypeOf(std::string_view name) {
  struct Entry {
    std::string_view name;
    ScalarType type;
  };
  static constexpr Entry Table[] = {
      {"b8", ScalarType::B8},         {"b16", ScalarType::B16},
      {"b32", ScalarType::B32},       {"b64", ScalarType::B64},
      {"b128", ScalarType::B128},     {"bf16", ScalarType::BF16},
      {"bf16x2", ScalarType::BF16x2}, {"f16", ScalarType::F16},
      {"f16x2", ScalarType::F16x2},   {"f32", ScalarType::F32},
      {"f32x2", ScalarType::F32x2},   {"f64", ScalarType::F64},
      {"pred", ScalarType::Pred},     {"s16", ScalarType::S16},
      {"s32", ScalarType::S32},       {"s64", ScalarType::S64},
      {"s8", ScalarType::S8},         {"tf32", ScalarType::TF32},
      {"u16", ScalarType::U16},       {"u32", ScalarType::U32},
      {"u64", ScalarType::U64},       {"u8", ScalarType::U8}};
  for (const Entry &entry : Table)
    if (entry.name == name)
      return entry.type;
  return ScalarType::None;
}

bool Parser::integer(uint64_t &value) {
  bool minus = accept('-');
  if (Now.kind != TokenKind::Integer)
    return unexpected("an integer");
  value = minus ? 0 - Now.bits : Now.bits;
  advance();
  return true;
}

bool Parser::run() {
  while (Now.kind != TokenKind::End)
    if (!topLevel())
      return false;
  return true;
}

bool Parser::skipSection() {
  // `.section .debug_x { ... }` holds data directives and labels only.
  advance();
  if (Now.kind == TokenKind::Directive || Now.kind == TokenKind::Identifier)
    advance();
  if (!expect('{'))
    return false;
  for (unsigned depth = 1; depth;) {
    if (Now.kind == TokenKind::End)
      return unexpected("'}'");
    if (Now.is('{'))
      ++depth;
    if (Now.is('}'))
      --depth;
    advance();
  }
  return true;
}

bool Parser::fileDirective() {
  advance();
  uint64_t number = 0;
  if (!integer(number))
    return false;
  if (Now.kind != TokenKind::String)
    return unexpected("a file name");
  std::string name(Now.text.substr(1, Now.text.size() - 2));
  advance();
  // Either a modification time and a size, or a directory and a name.
  if (Now.kind == TokenKind::String) {
    name += "/" + std::string(Now.text.substr(1, Now.text.size() - 2));
    advance();
  }
  while (accept(',')) {
    if (Now.kind != TokenKind::Integer)
      return unexpected("an integer");
    advance();
  }
  M.files[(uint32_t)number] = name;
  return true;
}

bool Parser::locDirective() {
  advance();
  uint64_t file, line, column;
  if (!integer(file) || !integer(line) || !integer(column))
    return false;
  LocFile = (uint32_t)file;
  LocLine = (uint32_t)line;
  // `, function_name L {+ 3}, inlined_at F L C`: the innermost place is what
  // a reader of a finding looks for, the rest is skipped.
  while (accept(',')) {
    if (Now.kind != TokenKind::Identifier)
      return unexpected("function_name or inlined_at");
    bool inlined = Now.text == "inlined_at";
    advance();
    if (inlined) {
      if (!integer(file) || !integer(line) || !integer(column))
        return false;
    } else {
      if (Now.kind == TokenKind::Directive || Now.kind == TokenKind::Identifier)
        advance();
      if (accept('+') && !integer(column))
        return false;
    }
  }
  return true;
}

bool Parser::topLevel() {
  if (accept(';'))
    return true;
  if (Now.kind != TokenKind::Directive)
    return unexpected("a directive");
  std::string_view text = Now.text;
  if (text == ".version") {
    advance();
    // 8.7 is a number to the lexer.
    if (Now.kind != TokenKind::Float64 && Now.kind != TokenKind::Integer)
      return unexpected("a version");
    M.version = Now.text;
    advance();
    return true;
  }
  if (text == ".target") {
    advance();
    if (Now.kind != TokenKind::Identifier)
      return unexpected("a target");
    M.target = Now.text;
    advance();
    while (accept(',')) {
      if (Now.kind != TokenKind::Identifier)
        return unexpected("a target option");
      advance();
    }
    return true;
  }
  if (text == ".address_size") {
    uint32_t line = Now.line;
    advance();
    uint64_t bits = 0;
    if (!integer(bits))
      return false;
    if (bits == 64)
      return true;
    fail("only .address_size 64 is supported");
    Error.line = line; // what follows was read already
    return false;
  }
  if (text == ".file")
    return fileDirective();
  if (text == ".loc")
    return locDirective();
  if (text == ".section")
    return skipSection();
  if (text == ".pragma") {
    while (!Now.is(';') && Now.kind != TokenKind::End)
      advance();
    return expect(';');
  }
  if (text == ".alias") {
    advance();
    std::string_view alias = Now.text;
    advance();
    if (!expect(','))
      return false;
    M.aliases[alias] = Now.text;
    advance();
    return expect(';');
  }
  bool isExtern = false;
  while (isDirective(".visible") || isDirective(".extern") ||
         isDirective(".weak") || isDirective(".common")) {
    isExtern |= Now.text == ".extern";
    advance();
  }
  if (isDirective(".entry"))
    return function(true);
  if (isDirective(".func"))
    return function(false);
  StateSpace space;
  if (isDirective(".global"))
    space = StateSpace::Global;
  else if (isDirective(".const"))
    space = StateSpace::Const;
  else if (isDirective(".shared"))
    space = StateSpace::Shared;
  else if (Now.kind == TokenKind::Directive)
    return fail("unsupported directive '" + std::string(Now.text) + "'");
  else
    return unexpected("a directive");
  do {
    Variable v;
    v.isExtern = isExtern;
    if (!variable(v, space))
      return false;
    M.variables.push_back(std::move(v));
  } while (false);
  return expect(';');
}

bool Parser::variable(Variable &v, StateSpace space) {
  v.line = Now.line;
  v.space = space;
  advance(); // the space
  uint64_t vectorSize = 1;
  bool explicitAlign = false;
  while (Now.kind == TokenKind::Directive) {
    std::string_view word = Now.text.substr(1);
    if (word == "align") {
      advance();
      uint64_t align = 0;
      if (!integer(align))
        return false;
      if (align == 0 || align > 65536 || (align & (align - 1)))
        return fail("alignment must be a power of two");
      v.align = (uint32_t)align;
      explicitAlign = true;
      continue;
    }
    if (word == "ptr") { // `.ptr .global .align 4`: an attribute of a pointer
      advance();
      while (isDirective(".global") || isDirective(".shared") ||
             isDirective(".local") || isDirective(".const"))
        advance();
      if (isDirective(".align")) {
        advance();
        uint64_t ignored;
        if (!integer(ignored))
          return false;
      }
      continue;
    }
    if (word == "attribute") {
      advance();
      if (!expect('('))
        return false;
      while (!Now.is(')') && Now.kind != TokenKind::End)
        advance();
      if (!expect(')'))
        return false;
      continue;
    }
    if (word == "v2" || word == "v4" || word == "v8") {
      vectorSize = word[1] - '0';
    } else if (ScalarType type = scalarTypeOf(word); type != ScalarType::None) {
      v.type = type;
    } else {
      return fail("unsupported qualifier '" + std::string(Now.text) +
                  "' of a variable");
    }
    advance();
  }
  if (v.type == ScalarType::None)
    return unexpected("a type");
  if (Now.kind != TokenKind::Identifier)
    return unexpected("a name");
  v.name = Now.text;
  advance();
  uint64_t element = byteSize(v.type) * vectorSize;
  if (!explicitAlign)
    v.align = (uint32_t)(element ? element : 1);
  uint64_t count = 1;
  while (accept('[')) {
    if (accept(']')) {
      v.isUnsized = true;
      count = 0;
      continue;
    }
    uint64_t extent;
    if (!integer(extent) || !expect(']'))
      return false;
    if (extent && count > MaxVariableBytes / extent)
      return fail("variable '" + std::string(v.name) + "' is too large");
    count *= extent;
  }
  if (element && count > MaxVariableBytes / element)
    return fail("variable '" + std::string(v.name) + "' is too large");
  v.bytes = element * count;
  if (accept('=')) {
    v.isInitialised = true;
    uint64_t position = 0;
    if (!initialiser(v, 0, position))
      return false;
    if (v.isUnsized)
      v.bytes = position;
    if (position > v.bytes)
      return fail("too many initialisers for '" + std::string(v.name) + "'");
  }
  return true;
}

bool Parser::initialiser(Variable &v, unsigned depth, uint64_t &position) {
  if (depth > MaxNesting)
    return fail("initialiser is nested too deeply");
  if (accept('{')) {
    if (accept('}'))
      return true;
    do {
      if (!initialiser(v, depth + 1, position))
        return false;
    } while (accept(','));
    return expect('}');
  }
  unsigned size = byteSize(v.type);
  if (v.data.size() > (1u << 26) || size == 0)
    return fail("initialiser is too long");
  uint64_t bits = 0;
  unsigned mask = 0; // 0xFF(symbol): one byte of an address
  bool minus = accept('-');
  if (Now.kind == TokenKind::Integer || Now.kind == TokenKind::Float32 ||
      Now.kind == TokenKind::Float64) {
    Token token = Now;
    bits = Now.bits;
    advance();
    if (Now.is('(') && token.kind == TokenKind::Integer) {
      // 0xFF00(symbol) selects a byte of the symbol's address: the number of
      // zero bits below says which one.
      mask = 1;
    } else {
      if (token.kind == TokenKind::Float64 && size == 4) {
        double d;
        std::memcpy(&d, &bits, 8);
        float f = (float)d;
        uint32_t word;
        std::memcpy(&word, &f, 4);
        bits = word;
      }
      if (minus)
        bits = token.kind == TokenKind::Integer ? 0 - bits
               : token.kind == TokenKind::Float32 || size == 4
                   ? bits ^ 0x80000000u
                   : bits ^ (uint64_t(1) << 63);
    }
  }
  if (mask)
    return fail("byte-masked addresses in initialisers are not supported");
  if (Now.kind == TokenKind::Identifier) {
    bool generic = Now.text == "generic";
    std::string_view symbol = Now.text;
    advance();
    if (generic && accept('(')) {
      symbol = Now.text;
      advance();
      if (!expect(')'))
        return false;
    }
    uint64_t addend = 0;
    if (Now.is('+') || Now.is('-')) {
      bool negative = Now.is('-');
      advance();
      if (!integer(addend))
        return false;
      if (negative)
        addend = 0 - addend;
    }
    if (size != 8)
      return fail("an address needs eight bytes");
    v.fixups.push_back({position, symbol, (int64_t)addend, size});
    bits = 0;
  } else if (Now.kind == TokenKind::Invalid || Now.kind == TokenKind::String ||
             Now.kind == TokenKind::Directive) {
    return unexpected("an initialiser");
  }
  v.data.resize(position + size);
  std::memcpy(v.data.data() + position, &bits, size);
  position += size;
  return true;
}

std::unique_ptr<ParsedModule> parseModule(std::string text,
                                          Diagnostic &diagnostic) {
  auto module = std::make_unique<ParsedModule>();
  module->text = std::move(text);
  Parser parser(*module, diagnostic);
  if (!parser.run())
    return nullptr;
  return module;
}

} // namespace lockstitch::simulator
