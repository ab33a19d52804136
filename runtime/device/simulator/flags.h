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
/// A strong read, write or atomic update of a word. \p isShared: the address is
/// an offset in the block's shared memory.
void readFlag(Warp &w, const MemoryAccess &m, uint64_t address, bool isShared);
void writeFlag(Warp &w, const MemoryAccess &m, uint64_t address, bool isShared);
void updateFlag(Warp &w, const MemoryAccess &m, uint64_t address,
                bool isShared, bool resultUsed);

} // namespace lockstitch::simulator
