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
#include "runtime/device/simulator/lexer.h"

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

namespace {

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

bool Parser::parameters(std::vector<Variable> &list) {
  if (!expect('('))
    return false;
  if (accept(')'))
    return true;
  do {
    if (isDirective(".reg"))
      return fail("parameters in registers (.reg) are not supported");
    if (!isDirective(".param"))
      return unexpected(".param");
    Variable v;
    if (!variable(v, StateSpace::Param))
      return false;
    list.push_back(std::move(v));
  } while (accept(','));
  return expect(')');
}

bool Parser::performance(Function &f) {
  while (Now.kind == TokenKind::Directive) {
    std::string_view text = Now.text;
    advance();
    auto triple = [&](uint32_t *out) {
      for (int i = 0; i < 3; ++i) {
        uint64_t value = 0;
        if (!integer(value))
          return false;
        out[i] = (uint32_t)std::min<uint64_t>(value, UINT32_MAX);
        if (!accept(','))
          break;
      }
      for (int i = 0; i < 3; ++i)
        if (!out[i])
          out[i] = 1;
      return true;
    };
    uint64_t value = 0;
    uint32_t ignored[3] = {};
    if (text == ".maxntid") {
      if (!triple(f.maxThreads))
        return false;
    } else if (text == ".reqntid") {
      if (!triple(f.requiredThreads))
        return false;
    } else if (text == ".minnctapersm") {
      if (!integer(value))
        return false;
      f.minBlocksPerSm = (uint32_t)value;
    } else if (text == ".maxnreg") {
      if (!integer(value))
        return false;
      f.maxRegisters = (uint32_t)value;
    } else if (text == ".maxnctapersm" || text == ".maxclusterrank") {
      if (!integer(value))
        return false;
    } else if (text == ".reqnctapercluster" || text == ".explicitcluster" ||
               text == ".blocksareclusters") {
      if (text == ".reqnctapercluster" && Now.kind == TokenKind::Integer) {
        if (!triple(ignored))
          return false;
        if (ignored[0] * ignored[1] * ignored[2] != 1)
          return fail("thread block clusters are not supported");
      }
    } else if (text == ".pragma") {
      while (!Now.is(';') && Now.kind != TokenKind::End)
        advance();
      if (!expect(';'))
        return false;
    } else if (text == ".noreturn") {
    } else {
      return fail("unsupported directive '" + std::string(text) +
                  "' of a function");
    }
  }
  return true;
}

bool Parser::function(bool isEntry) {
  Function f;
  f.isEntry = isEntry;
  f.line = Now.line;
  advance();
  while (isDirective(".attribute")) {
    advance();
    while (!Now.is(')') && Now.kind != TokenKind::End)
      advance();
    if (!expect(')'))
      return false;
  }
  if (!isEntry && Now.is('(') && !parameters(f.returns))
    return false;
  if (Now.kind != TokenKind::Identifier)
    return unexpected("a function's name");
  f.name = Now.text;
  advance();
  if (Now.is('(') && !parameters(f.parameters))
    return false;
  if (!performance(f))
    return false;
  if (!accept(';')) {
    f.hasBody = true;
    if (!body(f))
      return false;
  }
  auto [it, isNew] =
      M.functionIndex.try_emplace(f.name, (uint32_t)M.functions.size());
  if (isNew)
    M.functions.push_back(std::move(f));
  else if (f.hasBody) {
    if (M.functions[it->second].hasBody)
      return fail("function '" + std::string(f.name) + "' is defined twice");
    M.functions[it->second] = std::move(f);
  }
  return true;
}

bool Parser::body(Function &f) {
  if (!expect('{'))
    return false;
  Scopes = {0};
  Families.assign(1, {});
  UsedRegisters.clear();
  f.scopeParent = {0};
  LocFile = LocLine = 0;
  while (!Scopes.empty()) {
    if (Now.kind == TokenKind::End)
      return unexpected("'}'");
    if (f.body.size() + f.variables.size() + f.labels.size() >
        MaxFunctionItems)
      return fail("function '" + std::string(f.name) + "' is too long");
    if (accept('}')) {
      Scopes.pop_back();
      continue;
    }
    if (Now.is('{')) {
      if (Scopes.size() > MaxNesting)
        return fail("scopes are nested too deeply");
      advance();
      f.scopeParent.push_back(Scopes.back());
      Scopes.push_back((uint32_t)f.scopeParent.size() - 1);
      Families.emplace_back();
      continue;
    }
    if (!statement(f))
      return false;
  }
  return true;
}

bool Parser::statement(Function &f) {
  if (accept(';'))
    return true;
  if (Now.kind == TokenKind::Directive) {
    std::string_view text = Now.text;
    if (text == ".loc")
      return locDirective();
    if (text == ".file")
      return fileDirective();
    if (text == ".reg")
      return registers();
    if (text == ".pragma" || text == ".callprototype") {
      while (!Now.is(';') && Now.kind != TokenKind::End)
        advance();
      return expect(';');
    }
    StateSpace space;
    if (text == ".local")
      space = StateSpace::Local;
    else if (text == ".shared")
      space = StateSpace::Shared;
    else if (text == ".param")
      space = StateSpace::Param;
    else if (text == ".global")
      space = StateSpace::Global;
    else if (text == ".const")
      space = StateSpace::Const;
    else
      return fail("unsupported directive '" + std::string(text) + "'");
    Variable v;
    if (!variable(v, space))
      return false;
    v.scope = Scopes.back();
    f.variables.push_back(std::move(v));
    return expect(';');
  }
  Operand guard;
  if (accept('@')) {
    if (accept('!'))
      guard.negated = true;
    if (Now.kind != TokenKind::Identifier)
      return unexpected("a predicate");
    guard.kind = Operand::Kind::Register;
    if (!findRegister(f, Now.text, guard.reg))
      return fail("unknown predicate '" + std::string(Now.text) + "'");
    advance();
    return instruction(f, true, guard);
  }
  if (Now.kind != TokenKind::Identifier)
    return unexpected("an instruction");
  return instruction(f, false, guard);
}

bool Parser::registers() {
  advance();
  while (isDirective(".v2") || isDirective(".v4"))
    return fail("vector registers are not supported");
  ScalarType type = Now.kind == TokenKind::Directive
                        ? scalarTypeOf(Now.text.substr(1))
                        : ScalarType::None;
  if (type == ScalarType::None)
    return unexpected("a register type");
  advance();
  do {
    if (Now.kind != TokenKind::Identifier)
      return unexpected("a register name");
    std::string_view name = Now.text;
    uint64_t count = 0;
    advance();
    if (accept('<')) {
      if (!integer(count) || !expect('>'))
        return false;
      if (count == 0)
        continue;
    }
    Families[Scopes.back()][name] = {type, count};
  } while (accept(','));
  return expect(';');
}

bool Parser::findRegister(Function &f, std::string_view name,
                          uint32_t &index) {
  size_t stem = name.size();
  while (stem > 0 && name[stem - 1] >= '0' && name[stem - 1] <= '9')
    --stem;
  uint64_t number = 0;
  bool hasNumber = stem < name.size() && name.size() - stem < 10 &&
                   (name[stem] != '0' || stem + 1 == name.size());
  for (size_t i = stem; hasNumber && i < name.size(); ++i)
    number = number * 10 + (uint64_t)(name[i] - '0');
  for (size_t s = Scopes.size(); s-- > 0;) {
    const ScopeNames &names = Families[Scopes[s]];
    if (names.empty())
      continue;
    const RegisterFamily *family = nullptr;
    if (auto it = names.find(name);
        it != names.end() && it->second.count == 0)
      family = &it->second;
    else if (hasNumber) {
      auto it2 = names.find(name.substr(0, stem));
      if (it2 != names.end() && number < it2->second.count)
        family = &it2->second;
    }
    if (!family)
      continue;
    std::string key = std::to_string(Scopes[s]) + ":" + std::string(name);
    auto [it, isNew] =
        UsedRegisters.try_emplace(key, (uint32_t)f.registers.size());
    if (isNew)
      f.registers.push_back({name, family->type});
    index = it->second;
    return true;
  }
  return false;
}

bool Parser::instruction(Function &f, bool guarded, Operand guard) {
  if (Now.kind != TokenKind::Identifier)
    return unexpected("an instruction");
  Instruction in;
  in.line = Now.line;
  in.scope = Scopes.back();
  in.sourceFile = LocFile;
  in.sourceLine = LocLine;
  in.hasGuard = guarded;
  in.guard = guard;
  std::string_view first = Now.text;
  advance();
  if (!guarded && Now.is(':')) {
    advance();
    if (isDirective(".branchtargets")) {
      BranchTable table{first, {}, Scopes.back()};
      advance();
      do {
        table.targets.push_back(Now.text);
        advance();
      } while (accept(','));
      f.tables.push_back(std::move(table));
      return expect(';');
    }
    if (isDirective(".callprototype") || isDirective(".calltargets")) {
      while (!Now.is(';') && Now.kind != TokenKind::End)
        advance();
      return expect(';');
    }
    f.labels.push_back({first, Scopes.back(), (uint32_t)f.body.size()});
    return true;
  }
  const char *begin = first.data(), *end = begin + first.size();
  while (Now.kind == TokenKind::Directive && !Now.spaceBefore) {
    end = Now.text.data() + Now.text.size();
    advance();
  }
  in.opcode = std::string_view(begin, (size_t)(end - begin));
  if (!Now.is(';')) {
    do {
      if (in.operands.size() > 64)
        return fail("too many operands");
      Operand o;
      if (!operand(f, o))
        return false;
      in.operands.push_back(std::move(o));
    } while (accept(','));
  }
  if (!expect(';'))
    return false;
  f.body.push_back(std::move(in));
  return true;
}

bool Parser::list(Function &f, Operand &o, char close, unsigned depth) {
  advance();
  if (accept(close))
    return true;
  do {
    if (o.elements.size() > 256)
      return fail("too many operands");
    Operand element;
    if (!operand(f, element, depth + 1))
      return false;
    o.elements.push_back(std::move(element));
  } while (accept(','));
  return expect(close);
}

/// A register, or a name that the decoder resolves.
bool Parser::reference(Function &f, Operand &o) {
  std::string_view name = Now.text;
  if (name == "_") {
    o.kind = Operand::Kind::Sink;
    advance();
    return true;
  }
  if (findRegister(f, name, o.reg)) {
    o.kind = Operand::Kind::Register;
    o.name = name;
    advance();
    return true;
  }
  o.kind = Operand::Kind::Name;
  advance();
  // %tid.x arrives as two tokens.
  if (name[0] == '%' && Now.kind == TokenKind::Directive && !Now.spaceBefore) {
    name = std::string_view(
        name.data(), (size_t)(Now.text.data() + Now.text.size() - name.data()));
    advance();
  }
  o.name = name;
  return true;
}

bool Parser::operand(Function &f, Operand &o, unsigned depth) {
  if (depth > MaxNesting)
    return fail("operands are nested too deeply");
  if (Now.is('{')) {
    o.kind = Operand::Kind::Vector;
    if (!list(f, o, '}', depth))
      return false;
  } else if (Now.is('(')) {
    o.kind = Operand::Kind::List;
    return list(f, o, ')', depth);
  } else if (accept('[')) {
    o.kind = Operand::Kind::Address;
    Operand base;
    if (!operand(f, base, depth + 1))
      return false;
    if (Now.is(','))
      return fail("texture and tensor-map addresses are not supported");
    o.offset = base.offset;
    base.offset = 0;
    o.elements.push_back(std::move(base));
    return expect(']');
  } else if (accept('!')) {
    if (!operand(f, o, depth + 1))
      return false;
    o.negated = !o.negated;
    return true;
  } else if (Now.kind == TokenKind::Identifier) {
    if (!reference(f, o))
      return false;
  } else {
    bool minus = accept('-');
    if (!minus)
      accept('+');
    o.bits = Now.bits;
    if (Now.kind == TokenKind::Integer) {
      o.kind = Operand::Kind::Integer;
      if (minus)
        o.bits = 0 - o.bits;
    } else if (Now.kind == TokenKind::Float32) {
      o.kind = Operand::Kind::Float32;
      if (minus)
        o.bits ^= 0x80000000u;
    } else if (Now.kind == TokenKind::Float64) {
      o.kind = Operand::Kind::Float64;
      if (minus)
        o.bits ^= uint64_t(1) << 63;
    } else {
      return unexpected("an operand");
    }
    advance();
  }
  while (Now.is('+') || Now.is('-')) {
    bool negative = Now.is('-');
    advance();
    uint64_t value;
    if (!integer(value))
      return false;
    o.offset += (int64_t)(negative ? 0 - value : value);
  }
  if (accept('|')) {
    Operand other;
    if (!operand(f, other, depth + 1))
      return false;
    o.second.push_back(std::move(other));
  }
  return true;
}

} // namespace

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
