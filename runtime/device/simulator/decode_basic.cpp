//===- decode_basic.cpp - arithmetic, moves, conversions ------------------===//
#include "runtime/device/simulator/decode.h"
#include "runtime/device/simulator/handlers.h"

#include <algorithm>

namespace lockstitch::simulator {

bool Decoder::instruction() {
  Parts.clear();
  std::string_view rest = Now->opcode;
  while (!rest.empty()) {
    size_t dot = rest.find('.');
    Parts.push_back(rest.substr(0, dot));
    rest = dot == std::string_view::npos ? std::string_view()
                                         : rest.substr(dot + 1);
  }
  if (Parts.empty())
    return unknown();
  // Sorted by mnemonic; everything else is an entry of the opcode table.
  struct Entry {
    std::string_view mnemonic;
    bool (Decoder::*decode)();
  };
  static constexpr Entry Entries[] = {{"activemask", &Decoder::activeMask},
                                      {"atom", &Decoder::atomic},
                                      {"bar", &Decoder::barrier},
                                      {"barrier", &Decoder::barrier},
                                      {"bra", &Decoder::branch},
                                      {"brkpt", &Decoder::trap},
                                      {"brx", &Decoder::branchIndexed},
                                      {"call", &Decoder::call},
                                      {"cp", &Decoder::asyncCopy},
                                      {"createpolicy", &Decoder::createPolicy},
                                      {"cvt", &Decoder::convert},
                                      {"cvta", &Decoder::cvta},
                                      {"elect", &Decoder::elect},
                                      {"exit", &Decoder::leave},
                                      {"fence", &Decoder::fence},
                                      {"griddepcontrol", &Decoder::nothing},
                                      {"isspacep", &Decoder::isSpace},
                                      {"ld", &Decoder::load},
                                      {"ldmatrix", &Decoder::loadMatrix},
                                      {"ldu", &Decoder::load},
                                      {"lop3", &Decoder::lop3},
                                      {"match", &Decoder::match},
                                      {"membar", &Decoder::fence},
                                      {"mma", &Decoder::matrix},
                                      {"mov", &Decoder::move},
                                      {"nanosleep", &Decoder::nothing},
                                      {"pmevent", &Decoder::nothing},
                                      {"prefetch", &Decoder::nothing},
                                      {"prefetchu", &Decoder::nothing},
                                      {"red", &Decoder::atomic},
                                      {"redux", &Decoder::redux},
                                      {"ret", &Decoder::leave},
                                      {"set", &Decoder::compare},
                                      {"setp", &Decoder::compare},
                                      {"shfl", &Decoder::shuffle},
                                      {"st", &Decoder::store},
                                      {"trap", &Decoder::trap},
                                      {"vote", &Decoder::vote}};
  for (const Entry &entry : Entries)
    if (entry.mnemonic == Parts[0])
      return (this->*entry.decode)();
  return tableEntry();
}

/// Arithmetic: the whole spelling is looked up.
bool Decoder::tableEntry() {
  std::string spelling(Now->opcode);
  // A third source makes another operation of min and max.
  if ((Parts[0] == "min" || Parts[0] == "max") && operands() == 4)
    spelling.insert(3, "3");
  const OpcodeEntry *entry = OpcodeTable::get().find(spelling);
  if (!entry)
    return unknown();
  if (operands() != entry->count)
    return badOperands();
  Slot slots[5] = {NoSlot, NoSlot, NoSlot, NoSlot, NoSlot};
  if (!destination(operand(0), entry->operands[0], slots[0]))
    return false;
  bool swap = false;
  for (size_t i = 1; i < entry->count; ++i) {
    if (entry->operands[i] == OperandType::Predicate && operand(i).negated) {
      // selp d, a, b, !p is selp d, b, a, p.
      if (Parts[0] != "selp")
        return badOperands();
      bool negated;
      if (!predicateSource(operand(i), slots[i], negated))
        return false;
      swap = true;
      continue;
    }
    if (!source(operand(i), entry->operands[i], slots[i]))
      return false;
  }
  if (swap)
    std::swap(slots[1], slots[2]);
  if (slots[0] == NoSlot)
    slots[0] = allocate(false); // a predicate sink
  Op &op = emit(select(entry->handler), entry->kind);
  op.d = slots[0];
  op.a = slots[1];
  op.b = slots[2];
  op.c = slots[3];
  op.f = slots[4];
  op.mode = entry->mode;
  return true;
}

bool Decoder::compare() {
  const OpcodeEntry *entry = OpcodeTable::get().find(Now->opcode);
  if (!entry)
    return unknown();
  bool isSetp = Parts[0] == "setp";
  size_t wanted = entry->mode ? 4 : 3;
  if (operands() != wanted)
    return badOperands();
  Slot d, e = NoSlot, a, b, c = NoSlot;
  bool negated = false;
  if (!destination(operand(0), entry->operands[0], d) ||
      !source(operand(1), entry->operands[1], a) ||
      !source(operand(2), entry->operands[2], b))
    return false;
  if (!operand(0).second.empty() &&
      (!isSetp ||
       !destination(operand(0).second[0], OperandType::Predicate, e)))
    return Error ? false : badOperands();
  if (entry->mode && !predicateSource(operand(3), c, negated))
    return false;
  Op &op = emit(select(entry->handler), entry->kind);
  op.d = d;
  op.e = e;
  op.a = a;
  op.b = b;
  op.c = c;
  op.mode = entry->mode;
  op.flags = negated;
  return true;
}

bool Decoder::lop3() {
  const OpcodeEntry *entry = OpcodeTable::get().find(Now->opcode);
  if (!entry)
    return unknown();
  if (operands() != 5 || operand(4).kind != Operand::Kind::Integer)
    return badOperands();
  Slot d, s[3];
  if (!destination(operand(0), OperandType::Bits32, d))
    return false;
  for (size_t i = 0; i < 3; ++i)
    if (!source(operand(i + 1), OperandType::Bits32, s[i]))
      return false;
  Op &op = emit(select(entry->handler), entry->kind);
  op.d = d;
  op.a = s[0];
  op.b = s[1];
  op.c = s[2];
  op.imm = (int64_t)(operand(4).bits & 0xFF);
  return true;
}

/// mov takes a few forms that are no plain copy: packing, unpacking, clocks.
bool Decoder::move() {
  if (operands() != 2 || Parts.size() != 2)
    return Parts.size() == 2 ? badOperands() : unknown();
  ScalarType type = typeAt(0);
  unsigned bits = 8 * byteSize(type);
  const Operand &to = operand(0), &from = operand(1);
  constexpr InstructionClass Kind = InstructionClass::Logic;
  auto partType = [&](unsigned part, OperandType &result) {
    result = part == 16   ? OperandType::Bits16
             : part == 32 ? OperandType::Bits32
                          : OperandType::None;
    return result != OperandType::None;
  };
  OperandType whole = bits == 32   ? OperandType::Bits32
                      : bits == 64 ? OperandType::Bits64
                                   : OperandType::None;
  OperandType part;
  if (from.kind == Operand::Kind::Vector) {
    size_t n = from.elements.size();
    if (n < 2 || n > 4 || whole == OperandType::None || bits % n ||
        !partType(bits / (unsigned)n, part))
      return badOperands();
    Slot d;
    std::vector<Slot> parts(n);
    if (!destination(to, whole, d))
      return false;
    for (size_t i = 0; i < n; ++i)
      if (!source(from.elements[i], part, parts[i]))
        return false;
    Op &op = emit(packHandler((unsigned)n, bits / (unsigned)n), Kind);
    op.d = d;
    op.list = (uint32_t)P->lists.size();
    op.imm = 0; // destinations in the list
    P->lists.push_back(std::move(parts));
    return true;
  }
  if (to.kind == Operand::Kind::Vector) {
    size_t n = to.elements.size();
    if (n < 2 || n > 4 || whole == OperandType::None || bits % n ||
        !partType(bits / (unsigned)n, part))
      return badOperands();
    Slot a;
    std::vector<Slot> parts(n, NoSlot);
    if (!source(from, whole, a))
      return false;
    for (size_t i = 0; i < n; ++i)
      if (to.elements[i].kind != Operand::Kind::Sink &&
          !destination(to.elements[i], part, parts[i]))
        return false;
    Op &op = emit(unpackHandler((unsigned)n, bits / (unsigned)n), Kind);
    op.a = a;
    op.list = (uint32_t)P->lists.size();
    op.imm = (int64_t)n;
    P->lists.push_back(std::move(parts));
    return true;
  }
  if (from.kind == Operand::Kind::Name) {
    struct Clock {
      std::string_view name;
      uint8_t mode;
      bool wide;
    };
    static constexpr Clock Clocks[] = {
        {"%clock", 0, false},          {"%clock64", 1, true},
        {"%clock_hi", 2, false},       {"%globaltimer", 1, true},
        {"%globaltimer_lo", 0, false}, {"%globaltimer_hi", 2, false}};
    for (const Clock &clock : Clocks)
      if (clock.name == from.name) {
        Slot d;
        if (!destination(
                to, clock.wide ? OperandType::Bits64 : OperandType::Bits32, d))
          return false;
        Op &op = emit(clockHandler(), Kind);
        op.d = d;
        op.mode = clock.mode;
        return true;
      }
  }
  return tableEntry();
}

bool Decoder::convert() {
  if (Parts.size() < 3)
    return unknown();
  ScalarType from = typeAt(0), to = typeAt(1);
  size_t first = Parts[0].size();
  size_t last = (size_t)(Parts[Parts.size() - 2].data() - Now->opcode.data());
  std::string_view modifiers = Now->opcode.substr(first, last - 1 - first);
  uint8_t mode = 0;
  if (operands() < 2 || operands() > 3)
    return badOperands();
  unsigned sources = (unsigned)operands() - 1;
  Handler handler = from == ScalarType::None || to == ScalarType::None
                        ? nullptr
                        : convertHandler(modifiers, to, from, sources, mode);
  if (!handler)
    return unknown();
  // Registers may be wider than the type; the value is then extended, by its
  // sign where the type has one, or truncated.
  auto slotFor = [&](const Operand &o, ScalarType type, bool isDestination,
                     Slot &slot, unsigned &registerBytes) {
    registerBytes = byteSize(type) < 2 ? 2 : byteSize(type);
    if (o.kind == Operand::Kind::Register) {
      ScalarType have;
      if (!registerSlot(o, slot, have))
        return badOperands();
      registerBytes = byteSize(have);
      if (registerBytes < byteSize(type) || have == ScalarType::Pred)
        return fail("register '" + std::string(o.name) +
                    "' is too narrow for '" + std::string(Now->opcode) + "'");
      return true;
    }
    if (isDestination)
      return badOperands();
    bool isFloat = type == ScalarType::F32, isDouble = type == ScalarType::F64;
    return source(o,
                  isFloat               ? OperandType::Float32
                  : isDouble            ? OperandType::Float64
                  : byteSize(type) == 8 ? OperandType::Bits64
                  : byteSize(type) == 4 ? OperandType::Bits32
                                        : OperandType::Bits16,
                  slot);
  };
  Slot d, a, b = NoSlot;
  unsigned dBytes, aBytes, bBytes;
  if (!slotFor(operand(0), to, true, d, dBytes) ||
      !slotFor(operand(1), from, false, a, aBytes) ||
      (sources == 2 && !slotFor(operand(2), from, false, b, bBytes)))
    return false;
  if ((dBytes == 8) != (byteSize(to) == 8) && dBytes == 8) {
    // A narrow result in a 64-bit register: convert, then extend.
    Slot narrow = allocate(false);
    Op &op = emit(handler, InstructionClass::Conversion);
    op.d = narrow, op.a = a, op.b = b, op.mode = mode, op.flags = 4;
    bool isSigned =
        to == ScalarType::S8 || to == ScalarType::S16 || to == ScalarType::S32;
    uint8_t ignored;
    Op &extend =
        emit(convertHandler("", isSigned ? ScalarType::S64 : ScalarType::U64,
                            isSigned ? ScalarType::S32 : ScalarType::U32, 1,
                            ignored),
             InstructionClass::Conversion);
    extend.d = d, extend.a = narrow;
    return true;
  }
  if (aBytes == 8 && byteSize(from) < 8) {
    Slot narrow = allocate(false);
    uint8_t ignored;
    Op &cut =
        emit(convertHandler("", ScalarType::U32, ScalarType::U64, 1, ignored),
             InstructionClass::Conversion);
    cut.d = narrow, cut.a = a;
    a = narrow;
  }
  Op &op = emit(handler, InstructionClass::Conversion);
  op.d = d;
  op.a = a;
  op.b = b;
  op.mode = mode;
  op.flags = dBytes == 4 && byteSize(to) < 4 ? 4 : 0; // extend to 32 bits
  return true;
}

static bool spaceOf(std::string_view name, StateSpace &space) {
  if (name == "global")
    space = StateSpace::Global;
  else if (name == "shared" || name == "shared::cta" ||
           name == "shared::cluster")
    space = StateSpace::Shared;
  else if (name == "local")
    space = StateSpace::Local;
  else if (name == "const")
    space = StateSpace::Const;
  else if (name == "param" || name == "param::entry")
    space = StateSpace::Param;
  else
    return false;
  return true;
}

bool Decoder::cvta() {
  bool to = Parts.size() == 4 && Parts[1] == "to";
  StateSpace space;
  if ((Parts.size() != 3 && !to) || operands() != 2 ||
      !spaceOf(Parts[to ? 2 : 1], space))
    return unknown();
  if (byteSize(typeAt(0)) != 8)
    return fail("only 64-bit generic addresses are supported");
  Slot d, a;
  if (!destination(operand(0), OperandType::Bits64, d) ||
      !source(operand(1), OperandType::Bits64, a))
    return false;
  Op &op = emit(cvtaHandler(), InstructionClass::Integer);
  op.d = d;
  op.a = a;
  op.mode = (uint8_t)space;
  op.flags = to;
  return true;
}

bool Decoder::isSpace() {
  StateSpace space;
  if (Parts.size() != 2 || operands() != 2 || !spaceOf(Parts[1], space))
    return unknown();
  Slot d, a;
  if (!destination(operand(0), OperandType::Predicate, d) ||
      !source(operand(1), OperandType::Bits64, a))
    return false;
  Op &op = emit(isSpaceHandler(), InstructionClass::Logic);
  op.d = d;
  op.a = a;
  op.mode = (uint8_t)space;
  return true;
}

/// Hints and waits that change nothing that can be observed here.
bool Decoder::nothing() {
  emit(nothingHandler(), InstructionClass::Control);
  return true;
}

bool Decoder::createPolicy() {
  Slot d;
  if (operands() < 1 || !destination(operand(0), OperandType::Bits64, d))
    return Error ? false : badOperands();
  emit(broadcastZeroHandler(true), InstructionClass::Logic).d = d;
  return true;
}

bool Decoder::matrix() {
  // mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 d, a, b, c;
  if (Parts.size() != 10 || Parts[1] != "sync" || Parts[2] != "aligned" ||
      Parts[4] != "row" || Parts[5] != "col")
    return unknown();
  unsigned counts[4] = {};
  Handler handler = matrixHandler(Parts[3], typeAt(3), typeAt(2), typeAt(1),
                                  typeAt(0), counts);
  if (!handler)
    return unknown();
  if (operands() != 4)
    return badOperands();
  // D and C hold f32 (one value) or f16x2 per register, A and B packed bits.
  std::vector<Slot> slots;
  for (unsigned i = 0; i < 4; ++i) {
    const Operand &o = operand(i);
    size_t n = o.kind == Operand::Kind::Vector ? o.elements.size() : 1;
    if (n != counts[i])
      return badOperands();
    for (size_t k = 0; k < n; ++k) {
      const Operand &e = o.kind == Operand::Kind::Vector ? o.elements[k] : o;
      Slot slot;
      if (!(i == 0 ? destination(e, OperandType::Bits32, slot)
                   : source(e, OperandType::Bits32, slot)))
        return false;
      slots.push_back(slot);
    }
  }
  Op &op = emit(handler, InstructionClass::Matrix);
  op.control = Control::Convergent; // the whole warp, without a mask operand
  op.list = (uint32_t)P->lists.size();
  op.imm = counts[0];
  P->lists.push_back(std::move(slots));
  return true;
}

} // namespace lockstitch::simulator
