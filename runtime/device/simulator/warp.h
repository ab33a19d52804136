//===- warp.h - state of warps, blocks and workers --------------*- C++ -*-===//
//
// A worker is a host thread with its counters; it owns the blocks it runs. A
// block owns its warps, shared and local memory. A warp's lanes form one or
// more fragments: sets of lanes at one place, each with its own call stack.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/simulator/launch.h"
#include "runtime/device/simulator/memory.h"
#include "runtime/device/simulator/program.h"
#include "runtime/device/simulator/race_shadow.h"
#include "runtime/device/simulator/sync_order.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <vector>

namespace lockstitch::simulator {

constexpr unsigned MaxCallDepth = 24;
constexpr unsigned NumBarriers = 16;
constexpr uint64_t SharedWindow = uint64_t(1) << 56;
constexpr uint64_t LocalWindow = uint64_t(2) << 56;
constexpr uint64_t ParamWindow = uint64_t(3) << 56;
constexpr uint64_t WindowSize = uint64_t(1) << 32;

struct Block;
struct Worker;
struct LaunchState;

struct Fragment {
  enum State : uint8_t {
    Ready,
    Converging, // at a convergent op, until the lanes it names are there
    AtBarrier,
    Spinning // until a word it watches changes
  };
  uint32_t pc = 0;
  uint32_t mask = 0;
  State state = Ready;
  uint8_t depth = 0;
  uint8_t barrier = 0;
  uint32_t stack[MaxCallDepth]; // ops of the calls we are in
};

/// What a fence has made ready for release by the next strong write.
struct Release {
  bool valid = false;
  std::vector<uint32_t> clocks;
  Knowledge knowledge;

  void join(const Release &other) {
    if (!other.valid)
      return;
    valid = true;
    clocks.resize(std::max(clocks.size(), other.clocks.size()));
    for (size_t i = 0; i < other.clocks.size(); ++i)
      clocks[i] = std::max(clocks[i], other.clocks[i]);
    knowledge.join(other.knowledge);
  }
};

struct WatchedWord {
  const char *host;
  uint64_t value;
  uint8_t bytes;
};

/// What a fragment that loops without effect looked like one turn before.
struct SpinState {
  uint32_t pc = ~0u;
  uint32_t turns = 0;
  uint64_t effects = 0;
  uint64_t hash = 0;
  bool recording = false;
};

struct AsyncCopy {
  uint32_t lane;
  uint32_t group;  // commit count when it was issued
  uint64_t target; // offset in shared memory
  uint8_t bytes, sourceBytes;
  uint32_t op;
  uint8_t data[16];
};

struct Warp {
  char *bank[2] = {nullptr, nullptr};
  uint32_t mask = 0;  // lanes that execute the current op
  uint32_t carry = 0; // CC.CF of each lane
  Block *block = nullptr;
  Worker *worker = nullptr;
  uint32_t id = 0;
  uint32_t initial = 0; // lanes that exist
  uint32_t live = 0;    // lanes that have not exited
  std::vector<Fragment> fragments;
  uint32_t current = 0;
  uint64_t executed = 0;
  bool forced = false;  // the next convergent op goes on with whoever is there
  uint64_t effects = 0; // anything that others may see
  SpinState spin;
  std::vector<WatchedWord> watched; // of the turn that is being recorded
  std::vector<WatchedWord> parked;  // that the spinning fragments wait for

  // Order (race_shadow.h).
  uint32_t clock = 1;          // of accesses from now on
  uint32_t syncClock = 0;      // accesses up to here are ordered for all lanes
  std::vector<uint32_t> known; // other warps' clocks, or empty
  std::unique_ptr<uint32_t[]> laneKnown; // [lane][other lane], or null
  Knowledge acquired;                    // through flags (sync_order.h)
  Knowledge pending;                     // seen, but not yet acquired
  Release released[2];                   // by fences; [1]: device scope
  struct CachedId {
    uint64_t serial = 0;
    uint32_t clock = 0;
    uint32_t id = 0;
  };
  std::vector<CachedId> ids; // by memory access

  // cp.async
  std::vector<AsyncCopy> copies;
  uint32_t commits[32] = {};

  template <class T> T *dst(Slot slot) {
    return reinterpret_cast<T *>(bank[0] + slot);
  }
  template <class T> const T *src(Slot slot) const {
    return reinterpret_cast<const T *>(bank[slot & 1] + (slot & ~1u));
  }
};

struct BlockBarrier {
  bool active = false;
  uint32_t expected = 0; // threads; 0: all of the block
  uint32_t arrived = 0;  // threads; whole warps where the op is aligned
  uint32_t waiting = 0;  // threads that wait for it
  uint32_t popc = 0;
  bool andAll = true, orAny = false;
  std::vector<uint32_t> clocks; // joined on arrival, where order is partial
  Knowledge knowledge;
  Release released[2];
};

struct Block {
  Worker *worker = nullptr;
  LaunchState *launch = nullptr;
  uint32_t linear = 0;
  uint32_t id[3] = {0, 0, 0};
  uint32_t numThreads = 0;
  uint32_t liveThreads = 0;
  std::vector<Warp> warps;
  std::vector<uint32_t> order; // of warps, permuted by the seed
  Allocation shared;           // base 0
  ShadowPage sharedShadow;
  std::vector<char> local, threadParams;
  std::array<BlockBarrier, NumBarriers> barriers;
  std::vector<uint32_t> floor; // clocks as of the last whole-block barrier
  uint32_t epoch = 1;          // barrier interval
  Knowledge floorKnowledge;
  Release floorReleased[2];
  struct ManyId {
    uint32_t epoch = 0, id = 0;
  } manyIds[3][2]; // by scope, and for reads through the non-coherent path
  std::unique_ptr<char[]> storage; // registers and uniform bank
  char *aligned = nullptr;
  uint64_t serial = 0; // distinct per block and launch, for caches
};

struct AccessCounters {
  uint64_t sectors = 0, ideal = 0, wavefronts = 0, conflicts = 0;
};
struct OpCount {
  uint64_t issues = 0, lanes = 0;
};
struct AllocationCache {
  Allocation *allocation = nullptr;
};

struct FindingKey {
  uint8_t kind;
  uint32_t op;
  bool operator<(const FindingKey &o) const {
    return op != o.op ? op < o.op : kind < o.kind;
  }
};

struct Worker {
  LaunchState *launch = nullptr;
  Counters counters; // memory part; instructions come from ops
  std::vector<OpCount> ops;
  std::vector<AccessCounters> accesses;
  std::vector<AllocationCache> lastAllocation;
  std::map<FindingKey, Finding> findings;
  std::vector<ShadowPage *> touched;
  uint32_t idNext = 0, idEnd = 0; // of the access table
  std::vector<std::unique_ptr<Block>> pool;
};

struct LaunchState {
  const Program *program = nullptr;
  const ParsedModule *module = nullptr;
  Memory *memory = nullptr;
  const LaunchConfig *config = nullptr;
  const TargetLimits *limits = nullptr;
  std::vector<uint8_t> parameters;
  struct Range {
    uint64_t address, bytes;
    bool readOnly, present;
    std::string name;
    int32_t argument;
  };
  std::vector<Range> ranges;              // by parameter, where declared
  std::vector<uint64_t> pointers;         // by parameter: 8-byte values, or 0
  std::vector<const Range *> accessRange; // by access: the only candidate
  bool checks = true;
  bool multithreaded = false;
  uint32_t serial = 0;
  uint32_t warpsPerBlock = 0;
  uint32_t sharedBytes = 0;
  uint64_t gridWorkspace = 0;            // of a cooperative launch
  std::vector<uint64_t> symbolAddresses; // by Program::symbols
  AccessTable *table = nullptr;
  CodeSets sets;
  SyncOrder order;
  std::atomic<bool> stop{false}; // a trap ends the launch
  std::atomic<uint64_t> nextBlock{0};
};

/// Notes a finding at an op. \p lane chooses the thread; the earliest block and
/// thread survive.
Finding *report(Warp &w, const Op &op, FindingKind kind, unsigned lane,
                std::string message);
/// Adds the address, and the tensor it belongs to, to a finding.
void describeAddress(Warp &w, const Op &op, Finding *finding, uint64_t address);
/// `thread (3,0,0) of block (1,0,0)`
std::string threadName(const LaunchState &launch, uint32_t block, uint32_t warp,
                       uint32_t lane);

} // namespace lockstitch::simulator
