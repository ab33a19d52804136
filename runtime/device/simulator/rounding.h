//===- rounding.h - directed rounding of whole handlers ---------*- C++ -*-===//
#pragma once

#include "runtime/device/simulator/opcode_table.h"

#include <cfenv>

namespace lockstitch::simulator {

// Out of line, so that no arithmetic can move across the change of mode.
template <class F>
__attribute__((noinline)) void runApart(const Op &o, Warp &w) {
  F::run(o, w);
}
template <class F>
LS_WIDE __attribute__((noinline)) void runApartWide(const Op &o, Warp &w) {
  F::run(o, w);
}
template <class F, int Mode> void runRounded(const Op &o, Warp &w) {
  std::fesetround(Mode);
  runApart<F>(o, w);
  std::fesetround(FE_TONEAREST);
}
template <class F, int Mode> void runRoundedWide(const Op &o, Warp &w) {
  std::fesetround(Mode);
  runApartWide<F>(o, w);
  std::fesetround(FE_TONEAREST);
}

/// `name + .rn/.rz/.rm/.rp + tail`, and `name + tail` where \p plain.
template <class F>
void addRounded(OpcodeTable &t, const std::string &name,
                const std::string &tail, InstructionClass kind, bool plain) {
  OpcodeEntry e = OpcodeTable::entry<F>(kind);
  t.add(name + ".rn" + tail, e);
  if (plain)
    t.add(name + tail, e);
  e.handler = {runRounded<F, FE_TOWARDZERO>, runRoundedWide<F, FE_TOWARDZERO>};
  t.add(name + ".rz" + tail, e);
  e.handler = {runRounded<F, FE_DOWNWARD>, runRoundedWide<F, FE_DOWNWARD>};
  t.add(name + ".rm" + tail, e);
  e.handler = {runRounded<F, FE_UPWARD>, runRoundedWide<F, FE_UPWARD>};
  t.add(name + ".rp" + tail, e);
}

} // namespace lockstitch::simulator
