//===- opcode_table.cpp - spelling -> handler -----------------------------===//
#include "runtime/device/simulator/opcode_table.h"

#include <cassert>

namespace lockstitch::simulator {

Handler select(const HandlerPair &pair) {
#if LS_HAVE_WIDE
  static const bool HasWide =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
      __builtin_cpu_supports("f16c") && __builtin_cpu_supports("lzcnt") &&
      __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("movbe");
  return HasWide ? pair.wide : pair.baseline;
#else
  return pair.baseline;
#endif
}

const OpcodeTable &OpcodeTable::get() {
  static const OpcodeTable Table;
  return Table;
}

void OpcodeTable::add(std::string spelling, OpcodeEntry entry) {
  [[maybe_unused]] bool isNew =
      Entries.emplace(std::move(spelling), entry).second;
  assert(isNew && "two meanings for one spelling");
}

OpcodeTable::OpcodeTable() {
  Entries.reserve(4096);
  addIntegerOpcodes(*this);
  addCarryOpcodes(*this);
  addBitOpcodes(*this);
  addCompareOpcodes(*this);
  addFloatOpcodes(*this);
  addDoubleOpcodes(*this);
  addHalfOpcodes(*this);
  addApproximateOpcodes(*this);
}

} // namespace lockstitch::simulator
