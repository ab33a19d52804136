//===- decode_memory.cpp - ld, st, atom, cp.async, ldmatrix ---------------===//
#include "runtime/device/simulator/decode.h"
#include "runtime/device/simulator/handlers.h"

#include <algorithm>

namespace lockstitch::simulator {

namespace {
bool isSignedType(ScalarType type) {
  return type == ScalarType::S8 || type == ScalarType::S16 ||
         type == ScalarType::S32 || type == ScalarType::S64;
}
bool startsWith(std::string_view s, std::string_view prefix) {
  return s.substr(0, prefix.size()) == prefix;
}

} // namespace

/// Everything between the mnemonic and the type.
bool Decoder::memoryModifiers(MemoryAccess &access) {
  bool strong = false, blockScope = false;
  for (size_t i = 1; i + 1 < Parts.size(); ++i) {
    std::string_view m = Parts[i];
    if (m == "global")
      access.space = StateSpace::Global;
    else if (m == "shared" || m == "shared::cta")
      access.space = StateSpace::Shared;
    else if (m == "local")
      access.space = StateSpace::Local;
    else if (m == "const")
      access.space = StateSpace::Const;
    else if (m == "param" || m == "param::entry" || m == "param::func")
      access.space = StateSpace::Param;
    else if (m == "v2" || m == "v4" || m == "v8")
      access.count = (uint8_t)(m[1] - '0');
    else if (m == "volatile" || m == "relaxed" || m == "mmio")
      strong = true;
    else if (m == "acquire")
      strong = access.acquire = true;
    else if (m == "release")
      strong = access.release = true;
    else if (m == "acq_rel")
      strong = access.acquire = access.release = true;
    else if (m == "cta")
      blockScope = true;
    else if (m == "nc")
      access.nonCoherent = true;
    else if (m == "gpu" || m == "sys" || m == "cluster" || m == "weak" ||
             m == "ca" || m == "cg" || m == "cs" || m == "lu" || m == "cv" ||
             m == "wb" || m == "wt" || startsWith(m, "L1::") ||
             startsWith(m, "L2::") || startsWith(m, "level::"))
      continue;
    else
      return unknown();
  }
  if (strong)
    access.scope = blockScope ? Scope::Block : Scope::Device;
  return true;
}

/// The registers that a load fills or a store takes its values from.
bool Decoder::accessValues(const Operand &o, MemoryAccess &access) {
  size_t n = o.kind == Operand::Kind::Vector ? o.elements.size() : 1;
  if (n != access.count)
    return badOperands();
  ScalarType type = typeAt(0);
  for (size_t i = 0; i < n; ++i) {
    const Operand &e = o.kind == Operand::Kind::Vector ? o.elements[i] : o;
    if (access.isLoad && e.kind == Operand::Kind::Sink) {
      access.slots[i] = NoSlot;
      continue;
    }
    if (e.kind == Operand::Kind::Register) {
      ScalarType have;
      if (!registerSlot(e, access.slots[i], have))
        return badOperands();
      if (have == ScalarType::Pred || byteSize(have) < access.elementBytes)
        return fail("register '" + std::string(e.name) +
                    "' is too narrow for '" + std::string(Now->opcode) + "'");
      access.wide[i] = byteSize(have) == 8;
      access.registerBits[i] = (uint8_t)(8 * byteSize(have));
      continue;
    }
    if (access.isLoad)
      return badOperands();
    OperandType want = type == ScalarType::F32    ? OperandType::Float32
                       : type == ScalarType::F64  ? OperandType::Float64
                       : access.elementBytes == 8 ? OperandType::Bits64
                                                  : OperandType::Bits32;
    if (!source(e, want, access.slots[i]))
      return false;
    access.wide[i] = access.elementBytes == 8;
    access.registerBits[i] = access.wide[i] ? 64 : 32;
  }
  return true;
}

static void setAddress(Op &op, MemoryAccess &access, Slot base, bool wide,
                       int64_t offset) {
  access.hasBase = base != NoSlot;
  access.wideAddress = wide;
  op.a = base;
  op.imm = offset;
}

bool Decoder::parameterAccess(bool isLoad, const Address &where,
                              const MemoryAccess &shape) {
  bool kernel = where.known ? where.isKernelParameter : Here->isKernel;
  if (kernel && !isLoad)
    return fail("parameters of a kernel cannot be written");
  Op &op =
      emit(kernel ? kernelParameterHandler() : threadParameterHandler(isLoad),
           InstructionClass::Parameter);
  MemoryAccess &access = addAccess(op);
  uint32_t index = access.index;
  access = shape;
  access.index = index;
  access.space = StateSpace::Param;
  int64_t offset = where.offset;
  if (!kernel && !where.known)
    offset -= ThreadParamBase;
  setAddress(op, access, where.base, where.wide, offset);
  if (where.known) {
    uint64_t size = (uint64_t)access.elementBytes * access.count;
    uint64_t limit = kernel ? P->parameterBytes : P->threadParamBytes;
    if (offset < 0 || (uint64_t)offset + size > limit ||
        (uint64_t)offset % access.elementBytes)
      return fail("parameter access is out of bounds or misaligned");
    if (kernel)
      for (size_t i = 0; i < P->parameters.size() && i < 63; ++i)
        if (P->parameters[i].offset == offset && size == 8)
          access.arguments = uint64_t(1) << i;
  }
  return true;
}

bool Decoder::load() {
  MemoryAccess access;
  if (Parts.size() < 2 || !memoryModifiers(access))
    return Error ? false : unknown();
  ScalarType type = typeAt(0);
  access.elementBytes = (uint8_t)byteSize(type);
  access.isSigned = isSignedType(type);
  if (Parts[0] == "ldu")
    access.nonCoherent = true;
  // A third operand is a cache policy.
  if (access.elementBytes == 0 || access.elementBytes > 8 ||
      access.elementBytes * access.count > 32 || operands() < 2 ||
      operands() > 3)
    return access.elementBytes > 8 || access.elementBytes == 0 ? unknown()
                                                               : badOperands();
  Address where;
  if (!accessValues(operand(0), access) || !address(operand(1), where))
    return false;
  if (access.space == StateSpace::Param)
    return parameterAccess(true, where, access);
  if (where.known && where.space == StateSpace::Param)
    return fail("a parameter needs ld.param");
  if (access.space == StateSpace::Generic && where.space != StateSpace::Generic)
    access.space = where.space;
  InstructionClass kind =
      access.space == StateSpace::Shared  ? InstructionClass::Shared
      : access.space == StateSpace::Local ? InstructionClass::Local
      : access.space == StateSpace::Const ? InstructionClass::Parameter
                                          : InstructionClass::Global;
  Op &op = emit(memoryHandler(true, access.elementBytes, access.count), kind);
  uint32_t index = (uint32_t)P->accesses.size();
  op.access = index;
  access.index = index;
  setAddress(op, access, where.base, where.wide, where.offset);
  P->accesses.push_back(access);
  return true;
}

bool Decoder::store() {
  MemoryAccess access;
  access.isLoad = false;
  if (Parts.size() < 2 || !memoryModifiers(access))
    return Error ? false : unknown();
  ScalarType type = typeAt(0);
  access.elementBytes = (uint8_t)byteSize(type);
  if (access.elementBytes == 0 || access.elementBytes > 8)
    return unknown();
  if (access.elementBytes * access.count > 32 || operands() < 2 ||
      operands() > 3)
    return badOperands();
  Address where;
  if (!address(operand(0), where) || !accessValues(operand(1), access))
    return false;
  if (access.space == StateSpace::Param)
    return parameterAccess(false, where, access);
  if (access.space == StateSpace::Generic && where.space != StateSpace::Generic)
    access.space = where.space;
  if (access.space == StateSpace::Const || access.space == StateSpace::Param)
    return fail("this space cannot be written");
  InstructionClass kind =
      access.space == StateSpace::Shared  ? InstructionClass::Shared
      : access.space == StateSpace::Local ? InstructionClass::Local
                                          : InstructionClass::Global;
  Op &op = emit(memoryHandler(false, access.elementBytes, access.count), kind);
  uint32_t index = (uint32_t)P->accesses.size();
  op.access = index;
  access.index = index;
  setAddress(op, access, where.base, where.wide, where.offset);
  P->accesses.push_back(access);
  return true;
}

/// atom{.sem}{.scope}{.space}.op{.level}{.vec}.type d, [a], b {, c}
/// red has no destination.
bool Decoder::atomic() {
  bool isRed = Parts[0] == "red";
  if (Parts.size() < 3)
    return unknown();
  static constexpr std::string_view Operations[] = {
      "add", "and", "cas", "dec", "exch", "inc", "max", "min", "or", "xor"};
  MemoryAccess access;
  access.isLoad = false;
  access.scope = Scope::Device;
  std::string_view operation;
  for (size_t i = 1; i + 1 < Parts.size(); ++i) {
    std::string_view m = Parts[i];
    if (std::find(std::begin(Operations), std::end(Operations), m) !=
        std::end(Operations))
      operation = m;
    else if (m == "global")
      access.space = StateSpace::Global;
    else if (m == "shared" || m == "shared::cta")
      access.space = StateSpace::Shared;
    else if (m == "cta")
      access.scope = Scope::Block;
    else if (m == "acquire")
      access.acquire = true;
    else if (m == "release")
      access.release = true;
    else if (m == "acq_rel")
      access.acquire = access.release = true;
    else if (m == "v2" || m == "v4" || m == "v8")
      access.count = (uint8_t)(m[1] - '0');
    else if (m != "relaxed" && m != "gpu" && m != "sys" && m != "cluster" &&
             m != "noftz" && !startsWith(m, "L2::"))
      return unknown();
  }
  ScalarType type = typeAt(0);
  Handler handler = atomicHandler(operation, type);
  if (!handler || (isRed && (operation == "cas" || operation == "exch")))
    return unknown();
  access.elementBytes = (uint8_t)byteSize(type);
  if (access.elementBytes * access.count > 16)
    return unknown();
  size_t firstValue = isRed ? 1 : 2;
  bool isCas = operation == "cas";
  // A further operand is a cache policy.
  if (operands() < firstValue + 1 + isCas)
    return badOperands();
  Address where;
  if (!address(operand(isRed ? 0 : 1), where))
    return false;
  if (access.space == StateSpace::Generic && where.space != StateSpace::Generic)
    access.space = where.space;
  OperandType want = type == ScalarType::F32    ? OperandType::Float32
                     : type == ScalarType::F64  ? OperandType::Float64
                     : access.elementBytes == 8 ? OperandType::Bits64
                     : access.elementBytes == 2 ? OperandType::Bits16
                                                : OperandType::Bits32;
  // Operands: up to four destinations in access.slots[0..3], sources in [4..7];
  // the third operand of cas in f.
  const Operand &values = operand(firstValue);
  size_t n = values.kind == Operand::Kind::Vector ? values.elements.size() : 1;
  if (n != access.count || n > 4)
    return badOperands();
  for (size_t i = 0; i < 8; ++i)
    access.slots[i] = NoSlot;
  for (size_t i = 0; i < n; ++i) {
    const Operand &v =
        values.kind == Operand::Kind::Vector ? values.elements[i] : values;
    if (!source(v, want, access.slots[4 + i]))
      return false;
    if (!isRed && operand(0).kind != Operand::Kind::Sink) {
      const Operand &to = operand(0);
      if (n > 1 &&
          (to.kind != Operand::Kind::Vector || to.elements.size() != n))
        return badOperands();
      if (!destination(n > 1 ? to.elements[i] : to, want, access.slots[i]))
        return false;
    }
  }
  Slot compare = NoSlot;
  if (isCas && !source(operand(3), want, compare))
    return false;
  Op &op = emit(handler, InstructionClass::Atomic);
  op.access = (uint32_t)P->accesses.size();
  access.index = op.access;
  op.f = compare;
  op.flags = isRed;
  setAddress(op, access, where.base, where.wide, where.offset);
  P->accesses.push_back(access);
  return true;
}

/// cp.async.{ca,cg}.shared.global{hints} [dst], [src], size{, srcSize}{,
/// policy} cp.async.commit_group, .wait_group n, .wait_all
bool Decoder::asyncCopy() {
  if (Parts.size() < 3 || Parts[1] != "async")
    return unknown();
  constexpr InstructionClass Wait = InstructionClass::Barrier;
  P->usesAsyncCopies = true;
  if (Parts[2] == "commit_group" && Parts.size() == 3) {
    emit(asyncCommitHandler(), Wait);
    return operands() == 0 ? true : badOperands();
  }
  if (Parts[2] == "wait_all" && Parts.size() == 3) {
    emit(asyncWaitHandler(), Wait).imm = -1;
    return operands() == 0 ? true : badOperands();
  }
  if (Parts[2] == "wait_group" && Parts.size() == 3) {
    if (operands() != 1 || operand(0).kind != Operand::Kind::Integer ||
        operand(0).bits > 1000)
      return badOperands();
    emit(asyncWaitHandler(), Wait).imm = (int64_t)operand(0).bits;
    return true;
  }
  if ((Parts[2] != "ca" && Parts[2] != "cg") || Parts.size() < 5 ||
      (Parts[3] != "shared" && Parts[3] != "shared::cta") ||
      Parts[4] != "global")
    return unknown();
  if (operands() < 3 || operand(2).kind != Operand::Kind::Integer)
    return badOperands();
  uint64_t size = operand(2).bits;
  if (size != 16 && (Parts[2] == "cg" || (size != 4 && size != 8)))
    return badOperands();
  Address to, from;
  if (!address(operand(0), to) || !address(operand(1), from))
    return false;
  Slot sourceSize = NoSlot;
  bool ignore = false, negated = false;
  bool policy = std::any_of(Parts.begin(), Parts.end(),
                            [](auto m) { return m == "L2::cache_hint"; });
  if (operands() > 3 && !(policy && operands() == 4)) {
    const Operand &o = operand(3);
    if (o.kind == Operand::Kind::Register &&
        Here->function->registers[o.reg].type == ScalarType::Pred) {
      ignore = true;
      if (!predicateSource(o, sourceSize, negated))
        return false;
    } else if (!source(o, OperandType::Bits32, sourceSize)) {
      return false;
    }
  }
  Slot toBase = to.base, fromBase = from.base;
  Op &op = emit(asyncCopyHandler(), InstructionClass::Global);
  // The source is an access of its own; the target travels in b and c.
  MemoryAccess access;
  access.space = StateSpace::Global;
  access.elementBytes = (uint8_t)size;
  access.index = op.access = (uint32_t)P->accesses.size();
  access.slots[0] = NoSlot;
  setAddress(op, access, fromBase, from.wide, from.offset);
  P->accesses.push_back(access);
  op.b = toBase;
  op.flags =
      (uint16_t)((to.wide ? 1 : 0) | (ignore ? 2 : 0) | (negated ? 4 : 0));
  op.c = sourceSize;
  op.target = (uint32_t)to.offset;
  MemoryAccess shared;
  shared.space = StateSpace::Shared;
  shared.isLoad = false;
  shared.elementBytes = (uint8_t)size;
  shared.index = (uint32_t)P->accesses.size();
  shared.slots[0] = NoSlot;
  shared.hasBase = toBase != NoSlot;
  shared.wideAddress = to.wide;
  P->accesses.push_back(shared); // op.access + 1
  return true;
}

/// ldmatrix.sync.aligned.m8n8.x{1,2,4}{.trans}{.shared}.b16 r, [p]
bool Decoder::loadMatrix() {
  if (Parts.size() < 6 || Parts[1] != "sync" || Parts[2] != "aligned" ||
      Parts[3] != "m8n8" || Parts.back() != "b16" || operands() != 2)
    return unknown();
  unsigned count = Parts[4] == "x1"   ? 1
                   : Parts[4] == "x2" ? 2
                   : Parts[4] == "x4" ? 4
                                      : 0;
  bool trans = false;
  for (size_t i = 5; i + 1 < Parts.size(); ++i) {
    if (Parts[i] == "trans")
      trans = true;
    else if (Parts[i] != "shared" && Parts[i] != "shared::cta")
      return unknown();
  }
  const Operand &o = operand(0);
  size_t n = o.kind == Operand::Kind::Vector ? o.elements.size() : 1;
  if (count == 0 || n != count)
    return count ? badOperands() : unknown();
  MemoryAccess access;
  access.space = StateSpace::Shared;
  access.elementBytes = 16; // one row of eight values per lane
  access.count = 1;
  for (size_t i = 0; i < n; ++i)
    if (!destination(o.kind == Operand::Kind::Vector ? o.elements[i] : o,
                     OperandType::Bits32, access.slots[i]))
      return false;
  for (size_t i = n; i < 8; ++i)
    access.slots[i] = NoSlot;
  Address where;
  if (!address(operand(1), where))
    return false;
  Op &op = emit(loadMatrixHandler(), InstructionClass::Shared);
  op.control = Control::Convergent;
  op.mode = (uint8_t)count;
  op.flags = trans;
  op.access = (uint32_t)P->accesses.size();
  access.index = op.access;
  setAddress(op, access, where.base, where.wide, where.offset);
  P->accesses.push_back(access);
  return true;
}

} // namespace lockstitch::simulator
