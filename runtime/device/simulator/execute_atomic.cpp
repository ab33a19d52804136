//===- execute_atomic.cpp - atom and red ----------------------------------===//
//
// Lanes update one after the other, lowest lane first. Atomics of one address
// by several lanes of one access count as collisions.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/simulator/execute_memory.h"
#include "runtime/device/simulator/flags.h"
#include "runtime/device/simulator/half.h"
#include "runtime/device/simulator/handlers.h"

#include <algorithm>

namespace lockstitch::simulator {

namespace {

using u64 = uint64_t;
using Update = u64 (*)(u64 old, u64 b, u64 c);

template <class T> u64 addI(u64 old, u64 b, u64) { return (T)(old + b); }
template <class T> u64 minI(u64 old, u64 b, u64) {
  return (std::make_unsigned_t<T>)std::min((T)old, (T)b);
}
template <class T> u64 maxI(u64 old, u64 b, u64) {
  return (std::make_unsigned_t<T>)std::max((T)old, (T)b);
}
u64 andI(u64 old, u64 b, u64) { return old & b; }
u64 orI(u64 old, u64 b, u64) { return old | b; }
u64 xorI(u64 old, u64 b, u64) { return old ^ b; }
u64 exchange(u64, u64 b, u64) { return b; }
u64 compareAndSwap(u64 old, u64 b, u64 c) { return old == b ? c : old; }
u64 increment(u64 old, u64 b, u64) {
  return (uint32_t)old >= (uint32_t)b ? 0 : (uint32_t)old + 1;
}
u64 decrement(u64 old, u64 b, u64) {
  return old == 0 || (uint32_t)old > (uint32_t)b ? (uint32_t)b
                                                 : (uint32_t)old - 1;
}
u64 addF32(u64 old, u64 b, u64) {
  float r = floatOf((uint32_t)old) + floatOf((uint32_t)b);
  return r != r ? 0x7FFFFFFFu : bitsOf(r);
}
// The manual: "atom.add.f32 on global memory flushes subnormal inputs and
// results to sign-preserving zero; whereas atom.add.f32 on shared memory
// supports subnormal inputs and results".
uint32_t flushed(u64 bits) {
  return (uint32_t)bits & (bits & 0x7F800000u ? 0xFFFFFFFFu : 0x80000000u);
}
u64 addF32Flushed(u64 old, u64 b, u64) {
  return flushed(addF32(flushed(old), flushed(b), 0));
}
u64 addF64(u64 old, u64 b, u64) { return bitsOf(doubleOf(old) + doubleOf(b)); }
template <class H> u64 addH(u64 old, u64 b, u64) {
  return narrow<H>(toFloat(H{(uint16_t)old}) + toFloat(H{(uint16_t)b})).bits;
}
template <class H, bool Max> u64 pickH(u64 old, u64 b, u64) {
  float x = toFloat(H{(uint16_t)old}), y = toFloat(H{(uint16_t)b});
  if (x != x)
    return y != y ? 0x7FFF : (uint16_t)b;
  if (y != y)
    return (uint16_t)old;
  bool less = x < y || (x == y && (old >> 15 & 1) > (b >> 15 & 1));
  return (uint16_t)(less != Max ? old : b);
}
template <Update F> u64 both(u64 old, u64 b, u64 c) {
  return F(old & 0xFFFF, b & 0xFFFF, c) |
         F(old >> 16 & 0xFFFF, b >> 16 & 0xFFFF, c) << 16;
}

struct Lanes {
  const Op &op;
  Warp &w;
  const MemoryAccess &m;
  Update update;

  u64 value(Slot slot, unsigned lane) const {
    return m.elementBytes == 8 ? w.src<u64>(slot)[lane]
                               : w.src<uint32_t>(slot)[lane];
  }
  void result(Slot slot, unsigned lane, u64 v) const {
    if (slot == NoSlot)
      return;
    if (m.elementBytes == 8)
      w.dst<u64>(slot)[lane] = v;
    else
      w.dst<uint32_t>(slot)[lane] = (uint32_t)v;
  }
  void apply(unsigned lane, char *host) const {
    for (unsigned v = 0; v < m.count; ++v) {
      char *at = host + v * m.elementBytes;
      u64 old = 0;
      std::memcpy(&old, at, m.elementBytes);
      u64 b = value(m.slots[4 + v], lane);
      u64 c = op.f == NoSlot ? 0 : value(op.f, lane);
      u64 now = update(old, b, c);
      if (std::memcmp(&now, &old, m.elementBytes) != 0) {
        ++w.effects;
      } else if (w.spin.recording && w.watched.size() < 4096) {
        w.watched.push_back({at, old, m.elementBytes});
      }
      std::memcpy(at, &now, m.elementBytes);
      result(m.slots[v], lane, old);
    }
  }
};

void runAtomic(const Op &o, Warp &w, Update update) {
  const MemoryAccess &m = *o.memory;
  LaunchState &launch = *w.worker->launch;
  Lanes lanes{o, w, m, update};
  uint64_t addresses[32];
  computeAddresses(o, w, o.a, m.wideAddress, o.imm, addresses);
  uint32_t all = w.mask;
  unsigned bytes = m.elementBytes * m.count;
  bool resultUsed = false;
  for (unsigned v = 0; v < m.count; ++v)
    resultUsed |= m.slots[v] != NoSlot;
  for (uint32_t todo = all; todo;) {
    StateSpace space = m.space;
    uint32_t rest = 0;
    if (space == StateSpace::Generic)
      space = splitGeneric(w, addresses, todo, rest);
    uint32_t mask = todo & ~rest;
    w.mask = mask;
    bool isShared = space == StateSpace::Shared;
    lanes.update = update == addF32 && !isShared ? addF32Flushed : update;
    uint64_t seen[32];
    unsigned distinct = 0;
    for (uint32_t left = mask; left; left &= left - 1) {
      unsigned i = (unsigned)__builtin_ctz(left);
      uint64_t address = addresses[i];
      if (std::find(seen, seen + distinct, address) == seen + distinct)
        seen[distinct++] = address;
      Allocation *a = nullptr;
      bool ok;
      if (isShared) {
        ok = checkSharedLane(w, o, i, address, bytes, true, true);
        a = &w.block->shared;
      } else if (space == StateSpace::Local) {
        report(w, o, FindingKind::OutOfBounds, i, "an atomic on local memory");
        ok = false;
      } else {
        a = checkGlobalLane(w, o, i, address, bytes, true, true);
        ok = a != nullptr;
      }
      if (!ok) {
        for (unsigned v = 0; v < m.count; ++v)
          lanes.result(m.slots[v], i, 0);
        continue;
      }
      if (launch.program->mayOrder && resultUsed)
        readForUpdate(w, m, address, isShared);
      if (launch.program->mayOrder)
        ++w.clock;
      uint64_t effects = w.effects;
      ShadowPage *page = !launch.checks ? nullptr
                         : isShared     ? &w.block->sharedShadow
                                        : &globalPage(w, *a, address);
      {
        PageLock lock(isShared ? nullptr : page, launch.multithreaded);
        if (page) {
          if (!isShared)
            openPage(w, *page);
          if (bytes < 4)
            page->refine(1);
          CellAccess access{&o, accessId(w, o, o.access), i, address};
          writeCells(w, access, *page,
                     (uint32_t)(isShared ? address : address & 4095), bytes);
        }
        lanes.apply(i, a->host + (address - a->base));
      }
      a->setInitialised(address - a->base, bytes, true);
      bool failed = update == compareAndSwap && effects == w.effects;
      if (launch.program->mayOrder && !failed)
        updateFlag(w, m, address, isShared);
    }
    Counters &c = w.worker->counters;
    ++c.atomics;
    c.atomicCollisions += (unsigned)__builtin_popcount(mask) - distinct;
    if (isShared) {
      countWavefronts(w, o, addresses, mask, bytes);
    } else if (space == StateSpace::Global) {
      unsigned sectors = countSectors(addresses, mask, bytes);
      c.sectorsWritten += sectors;
      if (!(o.flags & 1)) // red reads nothing back
        c.sectorsRead += sectors;
      w.worker->accesses[o.access].sectors += sectors;
    }
    todo = rest;
  }
  w.mask = all;
}

template <Update F> void atomicOp(const Op &o, Warp &w) { runAtomic(o, w, F); }

} // namespace

Handler atomicHandler(std::string_view operation, ScalarType type) {
  struct Entry {
    std::string_view operation;
    ScalarType type;
    Handler handler;
  };
  using T = ScalarType;
  static constexpr Entry Table[] = {
      {"add", T::U32, atomicOp<addI<uint32_t>>},
      {"add", T::S32, atomicOp<addI<uint32_t>>},
      {"add", T::U64, atomicOp<addI<u64>>},
      {"add", T::S64, atomicOp<addI<u64>>},
      {"add", T::F32, atomicOp<addF32>},
      {"add", T::F64, atomicOp<addF64>},
      {"add", T::F16, atomicOp<addH<Half>>},
      {"add", T::BF16, atomicOp<addH<BFloat>>},
      {"add", T::F16x2, atomicOp<both<addH<Half>>>},
      {"add", T::BF16x2, atomicOp<both<addH<BFloat>>>},
      {"min", T::U32, atomicOp<minI<uint32_t>>},
      {"min", T::S32, atomicOp<minI<int32_t>>},
      {"min", T::U64, atomicOp<minI<u64>>},
      {"min", T::S64, atomicOp<minI<int64_t>>},
      {"max", T::U32, atomicOp<maxI<uint32_t>>},
      {"max", T::S32, atomicOp<maxI<int32_t>>},
      {"max", T::U64, atomicOp<maxI<u64>>},
      {"max", T::S64, atomicOp<maxI<int64_t>>},
      {"min", T::F16, atomicOp<pickH<Half, false>>},
      {"max", T::F16, atomicOp<pickH<Half, true>>},
      {"min", T::BF16, atomicOp<pickH<BFloat, false>>},
      {"max", T::BF16, atomicOp<pickH<BFloat, true>>},
      {"min", T::F16x2, atomicOp<both<pickH<Half, false>>>},
      {"max", T::F16x2, atomicOp<both<pickH<Half, true>>>},
      {"min", T::BF16x2, atomicOp<both<pickH<BFloat, false>>>},
      {"max", T::BF16x2, atomicOp<both<pickH<BFloat, true>>>},
      {"inc", T::U32, atomicOp<increment>},
      {"dec", T::U32, atomicOp<decrement>},
      {"and", T::B32, atomicOp<andI>},
      {"and", T::B64, atomicOp<andI>},
      {"or", T::B32, atomicOp<orI>},
      {"or", T::B64, atomicOp<orI>},
      {"xor", T::B32, atomicOp<xorI>},
      {"xor", T::B64, atomicOp<xorI>},
      {"exch", T::B32, atomicOp<exchange>},
      {"exch", T::B64, atomicOp<exchange>},
      {"cas", T::B16, atomicOp<compareAndSwap>},
      {"cas", T::B32, atomicOp<compareAndSwap>},
      {"cas", T::B64, atomicOp<compareAndSwap>}};
  for (const Entry &entry : Table)
    if (entry.operation == operation && entry.type == type)
      return entry.handler;
  return nullptr;
}

} // namespace lockstitch::simulator
