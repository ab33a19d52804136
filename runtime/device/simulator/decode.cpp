//===- decode.cpp - functions, symbols and operands -----------------------===//
#include "runtime/device/simulator/decode.h"

#include <algorithm>
#include <cstring>

namespace lockstitch::simulator {

namespace {
constexpr uint64_t MaxShared = 1u << 20;
constexpr uint64_t MaxLocal = 512u << 10;
constexpr uint64_t MaxParameters = 32764;
constexpr uint32_t MaxOps = 1u << 21;

uint64_t alignTo(uint64_t value, uint64_t align) {
  return (value + align - 1) / align * align;
}
bool isWide(ScalarType type) { return byteSize(type) == 8; }
} // namespace

bool Decoder::fail(const std::string &message, uint32_t line) {
  if (!Error) {
    Error.line = line ? line : Now ? Now->line : 0;
    Error.message = message;
  }
  return false;
}

Slot Decoder::allocate(bool wide) {
  Slot slot = P->warpBytes;
  P->warpBytes += wide ? LaneBytes64 : LaneBytes32;
  if (wide)
    P->wideSlots.push_back(slot);
  return slot;
}

bool Decoder::registerSlot(const Operand &o, Slot &slot, ScalarType &type) {
  if (o.kind != Operand::Kind::Register)
    return false;
  type = Here->function->registers[o.reg].type;
  if (type == ScalarType::B128)
    return fail("128-bit registers are not supported");
  Slot &known = Here->registers[o.reg];
  if (known == NoSlot)
    known = allocate(isWide(type));
  slot = known;
  return true;
}

static bool fits(ScalarType have, OperandType want) {
  switch (want) {
  case OperandType::Predicate:
    return have == ScalarType::Pred;
  case OperandType::Bits16:
    return byteSize(have) == 2;
  case OperandType::Bits32:
  case OperandType::Float32:
    return byteSize(have) == 4;
  case OperandType::Bits64:
  case OperandType::Float64:
    return byteSize(have) == 8;
  case OperandType::None:
    break;
  }
  return false;
}

bool Decoder::destination(const Operand &o, OperandType type, Slot &slot) {
  bool wide = type == OperandType::Bits64 || type == OperandType::Float64;
  if (o.kind == Operand::Kind::Sink) {
    if (type == OperandType::Predicate) {
      slot = NoSlot;
      return true;
    }
    if (Scratch[wide] == NoSlot)
      Scratch[wide] = allocate(wide);
    slot = Scratch[wide];
    return true;
  }
  ScalarType have;
  if (!registerSlot(o, slot, have))
    return badOperands();
  if (!fits(have, type))
    return fail("register '" + std::string(o.name) +
                "' has the wrong size for '" + std::string(Now->opcode) + "'");
  return true;
}

bool Decoder::source(const Operand &o, OperandType type, Slot &slot) {
  bool wide = type == OperandType::Bits64 || type == OperandType::Float64;
  if (o.negated)
    return badOperands();
  switch (o.kind) {
  case Operand::Kind::Register: {
    ScalarType have;
    if (!registerSlot(o, slot, have))
      return badOperands();
    if (!fits(have, type))
      return fail("register '" + std::string(o.name) +
                  "' has the wrong size for '" + std::string(Now->opcode) +
                  "'");
    return true;
  }
  case Operand::Kind::Integer: {
    uint64_t bits = o.bits;
    if (type == OperandType::Predicate)
      bits = bits ? ~uint64_t(0) : 0;
    if (type == OperandType::Bits16)
      bits &= 0xFFFF;
    if (type == OperandType::Float32) {
      float f = (float)(int64_t)bits;
      bits = std::bit_cast<uint32_t>(f);
    }
    if (type == OperandType::Float64)
      bits = std::bit_cast<uint64_t>((double)(int64_t)bits);
    slot = constant(bits, wide);
    return true;
  }
  case Operand::Kind::Float32: {
    if (type == OperandType::Float64) {
      double d = std::bit_cast<float>((uint32_t)o.bits);
      slot = constant(std::bit_cast<uint64_t>(d), true);
      return true;
    }
    if (type != OperandType::Float32 && type != OperandType::Bits32)
      return badOperands();
    slot = constant(o.bits, false);
    return true;
  }
  case Operand::Kind::Float64: {
    if (type == OperandType::Float32) {
      float f = (float)std::bit_cast<double>(o.bits);
      slot = constant(std::bit_cast<uint32_t>(f), false);
      return true;
    }
    if (!wide)
      return badOperands();
    slot = constant(o.bits, true);
    return true;
  }
  case Operand::Kind::Name: {
    if (type == OperandType::Predicate || type == OperandType::Bits16)
      return badOperands();
    if (specialRegister(o.name, wide, slot))
      return true;
    if (Error)
      return false;
    if (o.name[0] == '%')
      return fail("unknown register '" + std::string(o.name) + "'");
    return symbol(o.name, o.offset, wide, slot);
  }
  default:
    return badOperands();
  }
}

bool Decoder::predicateSource(const Operand &o, Slot &slot, bool &negated) {
  Operand plain = o;
  negated = o.negated;
  plain.negated = false;
  return source(plain, OperandType::Predicate, slot);
}

bool Decoder::address(const Operand &o, Address &result) {
  if (o.kind != Operand::Kind::Address || o.elements.size() != 1)
    return badOperands();
  const Operand &base = o.elements[0];
  result.offset = o.offset;
  if (base.kind == Operand::Kind::Register) {
    ScalarType type;
    if (!registerSlot(base, result.base, type))
      return badOperands();
    if (type == ScalarType::Pred || byteSize(type) < 4)
      return fail("an address needs a register of 32 or 64 bits");
    result.wide = isWide(type);
    return true;
  }
  if (base.kind == Operand::Kind::Integer) {
    result.known = true;
    result.offset += (int64_t)base.bits;
    return true;
  }
  if (base.kind != Operand::Kind::Name)
    return badOperands();
  uint32_t offset = 0;
  const Variable *v =
      findVariable(base.name, Now->scope, offset, result.isKernelParameter);
  if (!v)
    return fail("unknown name '" + std::string(base.name) + "'");
  result.space = v->space;
  if (v->space == StateSpace::Global || v->space == StateSpace::Const) {
    result.wide = true;
    return symbol(base.name, 0, true, result.base);
  }
  result.known = true;
  result.offset += offset;
  return true;
}

Op &Decoder::emit(Handler handler, InstructionClass kind) {
  Op op;
  op.run = handler;
  op.kind = kind;
  op.source = (uint32_t)P->places.size() - 1;
  P->ops.push_back(op);
  return P->ops.back();
}

MemoryAccess &Decoder::addAccess(Op &op) {
  op.access = (uint32_t)P->accesses.size();
  P->accesses.emplace_back();
  P->accesses.back().index = op.access;
  return P->accesses.back();
}

bool Decoder::has(std::string_view modifier) const {
  return std::find(Parts.begin(), Parts.end(), modifier) != Parts.end();
}

ScalarType Decoder::typeAt(size_t fromEnd) const {
  return fromEnd < Parts.size()
             ? scalarTypeOf(Parts[Parts.size() - 1 - fromEnd])
             : ScalarType::None;
}

bool Decoder::findLabel(const Function &f, std::string_view name,
                        uint32_t scope, uint32_t &index) const {
  for (uint32_t s = scope;; s = f.scopeParent[s]) {
    for (const Label &label : f.labels)
      if (label.scope == s && label.name == name) {
        index = label.index;
        return true;
      }
    if (s == 0)
      return false;
  }
}

/// Functions are found depth first; the path detects recursion.
bool Decoder::collect(uint32_t index, uint32_t depth) {
  if (std::find(Path.begin(), Path.end(), index) != Path.end())
    return fail("recursion is not supported ('" +
                    std::string(M.functions[index].name) + "')",
                M.functions[index].line);
  if (depth >= MaxCallDepth)
    return fail("calls are nested too deeply", M.functions[index].line);
  const Function &f = M.functions[index];
  auto [it, isNew] = StateOf.try_emplace(index, (uint32_t)States.size());
  if (isNew) {
    States.emplace_back();
    States.back().function = &f;
    States.back().isKernel = depth == 0;
  } else if (States[it->second].depth >= depth) {
    return true; // its callees are as deep as they get
  }
  States[it->second].depth = depth;
  Path.push_back(index);
  for (const Instruction &in : f.body) {
    if (in.opcode != "call" && in.opcode != "call.uni")
      continue;
    for (const Operand &o : in.operands) {
      if (o.kind != Operand::Kind::Name)
        continue;
      std::string_view name = o.name;
      if (auto alias = M.aliases.find(name); alias != M.aliases.end())
        name = alias->second;
      auto callee = M.functionIndex.find(name);
      if (callee != M.functionIndex.end() &&
          M.functions[callee->second].hasBody &&
          !collect(callee->second, depth + 1))
        return false;
    }
  }
  Path.pop_back();
  return true;
}

/// Places for shared, local and parameter variables.
bool Decoder::layout() {
  uint64_t shared = 0, local = 0, param = 0;
  auto placeShared = [&](const Variable &v) {
    shared = alignTo(shared, v.align);
    uint64_t at = shared;
    shared += v.bytes;
    return at;
  };
  // Of the module's shared variables only the ones that are named here count.
  std::unordered_map<std::string_view, bool> named;
  for (const FunctionState &state : States)
    for (const Instruction &in : state.function->body)
      for (const Operand &o : in.operands) {
        if (o.kind == Operand::Kind::Name)
          named[o.name] = true;
        if (o.kind == Operand::Kind::Address && !o.elements.empty() &&
            o.elements[0].kind == Operand::Kind::Name)
          named[o.elements[0].name] = true;
      }
  std::vector<std::pair<const Variable *, uint32_t *>> dynamic;
  for (const Variable &v : M.variables) {
    if (v.space != StateSpace::Shared || !named.count(v.name))
      continue;
    uint32_t &at = SharedOffsets[v.name];
    if (v.isUnsized || v.bytes == 0)
      dynamic.push_back({&v, &at});
    else
      at = (uint32_t)placeShared(v);
    if (shared > MaxShared)
      return fail("too much shared memory", v.line);
  }
  for (FunctionState &state : States) {
    const Function &f = *state.function;
    state.variableOffsets.assign(f.variables.size(), 0);
    for (size_t i = 0; i < f.variables.size(); ++i) {
      const Variable &v = f.variables[i];
      uint64_t at = 0;
      switch (v.space) {
      case StateSpace::Shared:
        if (v.isUnsized || v.bytes == 0) {
          dynamic.push_back({&v, &state.variableOffsets[i]});
          continue;
        }
        at = placeShared(v);
        break;
      case StateSpace::Local:
        at = alignTo(local, v.align);
        local = at + v.bytes;
        break;
      case StateSpace::Param:
        at = alignTo(param, v.align);
        param = at + v.bytes;
        break;
      default:
        return fail("variables of this space are not supported in functions",
                    v.line);
      }
      if (shared > MaxShared || local > MaxLocal || param > MaxShared)
        return fail("variable '" + std::string(v.name) + "' is too large",
                    v.line);
      state.variableOffsets[i] = (uint32_t)at;
    }
    uint64_t offset = 0;
    for (const Variable &v : f.parameters) {
      uint64_t &where = state.isKernel ? offset : param;
      where = alignTo(where, v.align);
      if (state.isKernel)
        P->parameters.push_back(
            {std::string(v.name), (uint32_t)where, (uint32_t)v.bytes});
      else
        state.parameterOffsets.push_back((uint32_t)where);
      where += v.bytes;
      if (offset > MaxParameters || param > MaxShared)
        return fail("too many parameters", v.line);
    }
    if (state.isKernel)
      P->parameterBytes = (uint32_t)offset;
    for (const Variable &v : f.returns) {
      param = alignTo(param, v.align);
      state.returnOffsets.push_back((uint32_t)param);
      param += v.bytes;
    }
    if (param > MaxShared)
      return fail("too many parameters", f.line);
  }
  // Dynamic shared memory follows the static one, all symbols at one place.
  uint64_t align = 1;
  for (auto &[v, at] : dynamic)
    align = std::max<uint64_t>(align, v->align);
  uint64_t start = alignTo(shared, align);
  for (auto &[v, at] : dynamic)
    *at = (uint32_t)start;
  P->usesDynamicShared = !dynamic.empty();
  P->staticShared = (uint32_t)(dynamic.empty() ? shared : start);
  P->localBytes = (uint32_t)local;
  P->threadParamBytes = (uint32_t)param;
  return true;
}

bool Decoder::decodeFunction(uint32_t index) {
  Here = &States[index];
  const Function &f = *Here->function;
  Here->firstOp = (uint32_t)P->ops.size();
  Here->registers.assign(f.registers.size(), NoSlot);
  OpOf.assign(f.body.size() + 1, 0);
  for (size_t i = 0; i < f.body.size(); ++i) {
    Now = &f.body[i];
    OpOf[i] = (uint32_t)P->ops.size();
    P->places.push_back(
        {Now->line, Now->sourceFile, Now->sourceLine, Now->opcode});
    size_t before = P->ops.size();
    if (before > MaxOps)
      return fail("the kernel is too long");
    if (!instruction())
      return false;
    if (Error)
      return false;
    if (Now->hasGuard) {
      Slot guard;
      ScalarType type;
      if (!registerSlot(Now->guard, guard, type) || type != ScalarType::Pred)
        return fail("the guard is no predicate");
      for (size_t k = before; k < P->ops.size(); ++k) {
        P->ops[k].guard = guard;
        P->ops[k].guardNegated = Now->guard.negated;
      }
    }
  }
  OpOf[f.body.size()] = (uint32_t)P->ops.size();
  // Falling off the end is leaving.
  P->places.push_back({f.body.empty() ? f.line : f.body.back().line, 0, 0,
                       Here->isKernel ? "exit" : "ret"});
  emit(nullptr, InstructionClass::Control).control =
      Here->isKernel ? Control::Exit : Control::Return;
  OpsOf[index] = OpOf;
  Now = nullptr;
  return true;
}

bool Decoder::resolve() {
  for (const Fixup &fixup : Fixups) {
    if (fixup.isCall) {
      P->ops[fixup.op].target = States[fixup.function].firstOp;
      continue;
    }
    uint32_t index = 0;
    const Function &f = *States[fixup.function].function;
    if (!findLabel(f, fixup.label, fixup.scope, index))
      return fail("unknown label '" + std::string(fixup.label) + "'",
                  fixup.line);
    P->ops[fixup.op].target = OpsOf[fixup.function][index];
  }
  return true;
}

std::unique_ptr<Program> Decoder::run(const std::string &kernel) {
  auto it = M.functionIndex.find(kernel);
  if (it == M.functionIndex.end() || !M.functions[it->second].isEntry ||
      !M.functions[it->second].hasBody) {
    fail("no kernel '" + kernel + "' in this module");
    return nullptr;
  }
  P = std::make_unique<Program>();
  P->name = kernel;
  P->target = M.target;
  const Function &f = M.functions[it->second];
  std::copy(f.maxThreads, f.maxThreads + 3, P->maxThreads);
  std::copy(f.requiredThreads, f.requiredThreads + 3, P->requiredThreads);
  if (!collect(it->second, 0) || !layout())
    return nullptr;
  OpsOf.resize(States.size());
  for (uint32_t i = 0; i < States.size(); ++i)
    if (!decodeFunction(i))
      return nullptr;
  if (!resolve())
    return nullptr;
  std::vector<std::pair<uint32_t, uint32_t>> functions;
  for (size_t i = 0; i < States.size(); ++i)
    functions.push_back({States[i].firstOp, i + 1 < States.size()
                                                ? States[i + 1].firstOp
                                                : (uint32_t)P->ops.size()});
  analyse(*P, functions);
  return std::move(P);
}

} // namespace lockstitch::simulator
