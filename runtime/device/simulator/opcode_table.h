//===- opcode_table.h - spelling -> handler ---------------------*- C++ -*-===//
//
// Arithmetic has one entry per spelling, `fma.rn.ftz.f32` being another
// instruction than `fma.rn.f32`. What is not in the table and is not decoded by
// name (memory, control, conversions, warp and block operations) does not
// exist.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/simulator/lanes.h"

#include <initializer_list>
#include <string>
#include <tuple>
#include <unordered_map>

namespace lockstitch::simulator {

/// What an operand's slot must look like, and how literals become bits.
enum class OperandType : uint8_t {
  None,
  Predicate,
  Bits16,
  Bits32,
  Bits64,
  Float32,
  Float64
};

template <class T> constexpr OperandType operandType() {
  if constexpr (std::is_same_v<T, Predicate>)
    return OperandType::Predicate;
  else if constexpr (std::is_same_v<T, float>)
    return OperandType::Float32;
  else if constexpr (std::is_same_v<T, double>)
    return OperandType::Float64;
  else if constexpr (sizeof(T) == 8)
    return OperandType::Bits64;
  else if constexpr (sizeof(T) == 2)
    return OperandType::Bits16;
  else
    return OperandType::Bits32;
}

struct OpcodeEntry {
  HandlerPair handler;
  InstructionClass kind = InstructionClass::Integer;
  uint8_t mode = 0;
  /// Destination first, then sources in order.
  OperandType operands[5] = {};
  uint8_t count = 0;
};

class OpcodeTable {
public:
  static const OpcodeTable &get();
  const OpcodeEntry *find(std::string_view spelling) const {
    auto it = Entries.find(spelling);
    return it == Entries.end() ? nullptr : &it->second;
  }
  size_t size() const { return Entries.size(); }

  void add(std::string spelling, OpcodeEntry entry);
  /// Adds \p H for `prefix + type` for each of the types.
  template <class H>
  void add(const std::string &prefix, std::initializer_list<const char *> types,
           InstructionClass kind, uint8_t mode = 0) {
    for (const char *type : types)
      add(prefix + type, entry<H>(kind, mode));
  }

  template <class H>
  static OpcodeEntry entry(InstructionClass kind, uint8_t mode = 0) {
    OpcodeEntry e;
    e.handler = handlerPair<H>();
    e.kind = kind;
    e.mode = mode;
    fill(e, (typename H::Types *)nullptr);
    return e;
  }

private:
  OpcodeTable();
  template <class... T> static void fill(OpcodeEntry &e, std::tuple<T...> *) {
    e.count = sizeof...(T);
    unsigned i = 0;
    ((e.operands[i++] = operandType<T>()), ...);
  }
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view s) const {
      return std::hash<std::string_view>()(s);
    }
  };
  std::unordered_map<std::string, OpcodeEntry, Hash, std::equal_to<>> Entries;
};

/// The variant for this CPU.
Handler select(const HandlerPair &pair);

void addIntegerOpcodes(OpcodeTable &table);
void addCarryOpcodes(OpcodeTable &table);
void addBitOpcodes(OpcodeTable &table);
void addCompareOpcodes(OpcodeTable &table);
void addFloatOpcodes(OpcodeTable &table);
void addDoubleOpcodes(OpcodeTable &table);
void addHalfOpcodes(OpcodeTable &table);
void addApproximateOpcodes(OpcodeTable &table);

} // namespace lockstitch::simulator
