//===- flags.h - release and acquire by a warp ------------------*- C++ -*-===//
//
// The warp's side of sync_order.h. Knowledge is kept per warp: what one lane
// acquires, its whole warp knows. That can hide a race between lanes of one
// warp around a flag, and never invents one.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/simulator/warp.h"

namespace lockstitch::simulator {

/// A fence: what came before may be released, what was seen is acquired.
void fenceFlags(Warp &w, Scope scope);
/// A strong read or write of a word. The caller advances the warp's clock
/// before a write, so that the write alone has the clock that is released with
/// it. \p isShared: the address is an offset in the block's shared memory.
void readFlag(Warp &w, const MemoryAccess &m, uint64_t address, bool isShared);
void writeFlag(Warp &w, const MemoryAccess &m, uint64_t address, bool isShared);
/// The two halves of an atomic update: what it may acquire, before; what it
/// releases, after, unless it changed nothing (a compare-and-swap that failed).
void readForUpdate(Warp &w, const MemoryAccess &m, uint64_t address,
                   bool isShared);
void updateFlag(Warp &w, const MemoryAccess &m, uint64_t address,
                bool isShared);

} // namespace lockstitch::simulator
