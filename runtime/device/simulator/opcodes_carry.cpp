//===- opcodes_carry.cpp - add, sub and mad with carry --------------------===//
//
// The carry flag CC.CF is one bit per lane of Warp::carry. `sub.cc` writes the
// borrow, which `subc` subtracts.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/simulator/opcode_table.h"

namespace lockstitch::simulator {

namespace {

constexpr InstructionClass Kind = InstructionClass::Integer;

enum Form { Add, Sub, MadLo, MadHi };

template <class T, Form F, bool ReadsCarry, bool WritesCarry> struct CarryOp {
  using Types = std::conditional_t<F == Add || F == Sub, std::tuple<T, T, T>,
                                   std::tuple<T, T, T, T>>;
  static LS_INLINE void run(const Op &o, Warp &w) {
    using Wide =
        std::conditional_t<sizeof(T) == 4, uint64_t, unsigned __int128>;
    using SignedWide = std::conditional_t<sizeof(T) == 4, int64_t, __int128>;
    T *d = w.dst<T>(o.d);
    const T *a = w.src<T>(o.a), *b = w.src<T>(o.b);
    const T *c = F == MadLo || F == MadHi ? w.src<T>(o.c) : nullptr;
    uint32_t carry = w.carry, out = 0;
    for (unsigned i = 0; i < 32; ++i) {
      T in = ReadsCarry ? (T)(carry >> i & 1) : 0;
      Wide sum;
      if constexpr (F == Sub) {
        sum = (Wide)a[i] - b[i] - in;
      } else if constexpr (F == Add) {
        sum = (Wide)a[i] + b[i] + in;
      } else {
        T product;
        if constexpr (F == MadLo)
          product = (T)(a[i] * b[i]);
        else if (o.mode) // signed
          product = (T)(((SignedWide)(std::make_signed_t<T>)a[i] *
                         (SignedWide)(std::make_signed_t<T>)b[i]) >>
                        (8 * sizeof(T)));
        else
          product = (T)(((Wide)a[i] * b[i]) >> (8 * sizeof(T)));
        sum = (Wide)product + c[i] + in;
      }
      out |= (uint32_t)(sum >> (8 * sizeof(T)) & 1) << i;
      if (w.mask >> i & 1)
        d[i] = (T)sum;
    }
    if (WritesCarry)
      w.carry = (w.carry & ~w.mask) | (out & w.mask);
  }
};

template <class T> void addCarry(OpcodeTable &t, const std::string &bits) {
  for (const char *sign : {"u", "s"}) {
    std::string type = sign + bits;
    uint8_t isSigned = sign[0] == 's';
    auto add = [&]<class H>(const std::string &name, H *) {
      t.add(name + "." + type, OpcodeTable::entry<H>(Kind, isSigned));
    };
    add("add.cc", (CarryOp<T, Add, false, true> *)nullptr);
    add("addc", (CarryOp<T, Add, true, false> *)nullptr);
    add("addc.cc", (CarryOp<T, Add, true, true> *)nullptr);
    add("sub.cc", (CarryOp<T, Sub, false, true> *)nullptr);
    add("subc", (CarryOp<T, Sub, true, false> *)nullptr);
    add("subc.cc", (CarryOp<T, Sub, true, true> *)nullptr);
    add("mad.lo.cc", (CarryOp<T, MadLo, false, true> *)nullptr);
    add("mad.hi.cc", (CarryOp<T, MadHi, false, true> *)nullptr);
    add("madc.lo", (CarryOp<T, MadLo, true, false> *)nullptr);
    add("madc.hi", (CarryOp<T, MadHi, true, false> *)nullptr);
    add("madc.lo.cc", (CarryOp<T, MadLo, true, true> *)nullptr);
    add("madc.hi.cc", (CarryOp<T, MadHi, true, true> *)nullptr);
  }
}

} // namespace

void addCarryOpcodes(OpcodeTable &t) {
  addCarry<uint32_t>(t, "32");
  addCarry<uint64_t>(t, "64");
}

} // namespace lockstitch::simulator
