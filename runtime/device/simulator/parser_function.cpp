//===- parser_function.cpp - functions, statements, operands --------------===//
#include "runtime/device/simulator/parser_impl.h"

#include <algorithm>

namespace lockstitch::simulator {

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
    if (f.body.size() + f.variables.size() + f.labels.size() > MaxFunctionItems)
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

bool Parser::findRegister(Function &f, std::string_view name, uint32_t &index) {
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
    if (auto it = names.find(name); it != names.end() && it->second.count == 0)
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

} // namespace lockstitch::simulator
