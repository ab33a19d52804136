//===- interpreter.h - runs warps and blocks --------------------*- C++ -*-===//
//
// A block runs warp by warp, each until it has to wait or its quantum is used
// up. A warp with lanes at several places runs the fragment of lowest rank
// (analysis.cpp) and looks again wherever a basic block begins.
//
// Waiting. At a convergent op (*.sync) a fragment waits until the lanes of its
// membermask are at the same op. At a barrier it waits for the block. A
// fragment that loops without any effect and comes back to an equal state is
// parked on the words it has read; so a spin wait costs nothing, and when
// every warp waits and no word changes, the launch is deadlocked, exactly.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/simulator/warp.h"

namespace lockstitch::simulator {

enum class BlockState : uint8_t {
  Finished,
  Waiting, // every warp waits for a word that another block may write
  Stopped  // a trap, or the budget is used up
};

/// Makes a block ready: registers, shared memory, barriers.
void startBlock(Block &block, uint32_t linear);
/// Runs it as far as it gets.
BlockState runBlock(Block &block);
/// Wakes the warps of which a watched word has changed; tells whether any warp
/// can go on.
bool wakeBlock(Block &block);
/// Lets lanes that wait for lanes which never come go on without them, with a
/// finding; false where there are none.
bool forceBlock(Block &block);
/// Reports where each warp of a block that can never go on stands.
void reportDeadlock(Block &block);

// Parts of the above, by file.
enum class Stop : uint8_t { Blocked, Exited, Quantum, Trapped };
Stop runWarp(Warp &w, uint64_t quantum);                  // interpreter.cpp
void arriveAtBarrier(Warp &w, Fragment &f, const Op &op); // barrier.cpp
/// Lets the waiting warps of barriers go on that are complete now.
bool releaseBarriers(Block &block);

} // namespace lockstitch::simulator
