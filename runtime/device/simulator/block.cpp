//===- block.cpp - runs one block -----------------------------------------===//
#include "runtime/device/simulator/interpreter.h"

#include <cstring>

namespace lockstitch::simulator {

namespace {

constexpr uint64_t Quantum = 50000;
constexpr unsigned char Poison = 0xCB;

template <class L> void fill(char *bank, Slot slot, L value) {
  L *lanes = reinterpret_cast<L *>(bank + (slot & ~1u));
  for (unsigned i = 0; i < 32; ++i)
    lanes[i] = value;
}

uint64_t blockRegister(const Block &block, BlockRegister which) {
  const LaunchState &l = *block.launch;
  const LaunchConfig &c = *l.config;
  switch (which) {
  case BlockRegister::CtaIdX:
    return block.id[0];
  case BlockRegister::CtaIdY:
    return block.id[1];
  case BlockRegister::CtaIdZ:
    return block.id[2];
  case BlockRegister::NtidX:
    return c.block[0];
  case BlockRegister::NtidY:
    return c.block[1];
  case BlockRegister::NtidZ:
    return c.block[2];
  case BlockRegister::NctaIdX:
    return c.grid[0];
  case BlockRegister::NctaIdY:
    return c.grid[1];
  case BlockRegister::NctaIdZ:
    return c.grid[2];
  case BlockRegister::NumWarps:
    return l.warpsPerBlock;
  case BlockRegister::SmId:
    return l.limits ? block.linear % l.limits->multiprocessors : 0;
  case BlockRegister::NumSms:
    return l.limits ? l.limits->multiprocessors : 1;
  case BlockRegister::GridId:
    return 1;
  case BlockRegister::DynamicShared:
    return c.sharedBytes;
  case BlockRegister::TotalShared:
    return l.sharedBytes;
  case BlockRegister::Environment1:
    return l.gridWorkspace >> 32;
  case BlockRegister::Environment2:
    return (uint32_t)l.gridWorkspace;
  case BlockRegister::Zero:
    return 0;
  case BlockRegister::One:
    return 1;
  }
  return 0;
}

uint32_t threadRegister(const Block &block, ThreadRegister which,
                        uint32_t thread) {
  const uint32_t *n = block.launch->config->block;
  uint32_t lane = thread % 32;
  switch (which) {
  case ThreadRegister::TidX:
    return thread % n[0];
  case ThreadRegister::TidY:
    return thread / n[0] % n[1];
  case ThreadRegister::TidZ:
    return thread / n[0] / n[1];
  case ThreadRegister::LaneId:
    return lane;
  case ThreadRegister::WarpId:
    return thread / 32;
  case ThreadRegister::MaskEq:
    return 1u << lane;
  case ThreadRegister::MaskLe:
    return ~0u >> (31 - lane);
  case ThreadRegister::MaskLt:
    return (1u << lane) - 1;
  case ThreadRegister::MaskGe:
    return ~0u << lane;
  case ThreadRegister::MaskGt:
    return lane == 31 ? 0 : ~0u << (lane + 1);
  }
  return 0;
}

/// Everything that stays the same from block to block.
void prepare(Block &block) {
  const LaunchState &launch = *block.launch;
  const Program &p = *launch.program;
  uint32_t warps = launch.warpsPerBlock;
  block.numThreads = launch.config->block[0] * launch.config->block[1] *
                     launch.config->block[2];
  size_t bytes = p.uniformBytes + (size_t)warps * p.warpBytes + 64;
  block.storage.reset(new char[bytes]());
  block.aligned =
      block.storage.get() + (64 - ((uintptr_t)block.storage.get() & 63)) % 64;
  char *uniform = block.aligned;
  for (const UniformConstant &c : p.constants)
    if (c.wide)
      fill<uint64_t>(uniform, c.slot, c.bits);
    else
      fill<uint32_t>(uniform, c.slot, (uint32_t)c.bits);
  for (size_t i = 0; i < p.symbols.size(); ++i)
    if (p.symbols[i].wide)
      fill<uint64_t>(uniform, p.symbols[i].slot, launch.symbolAddresses[i]);
    else
      fill<uint32_t>(uniform, p.symbols[i].slot,
                     (uint32_t)launch.symbolAddresses[i]);
  block.warps.resize(warps);
  for (uint32_t i = 0; i < warps; ++i) {
    Warp &w = block.warps[i];
    w.block = &block;
    w.worker = block.worker;
    w.id = i;
    w.bank[0] = block.aligned + p.uniformBytes + (size_t)i * p.warpBytes;
    w.bank[1] = uniform;
    uint32_t threads = std::min(32u, block.numThreads - i * 32);
    w.initial = threads == 32 ? ~0u : (1u << threads) - 1;
    w.ids.resize(p.accesses.size());
    for (const ThreadRegisterSlot &t : p.threadRegisters)
      for (uint32_t lane = 0; lane < 32; ++lane)
        w.dst<uint32_t>(t.slot)[lane] =
            threadRegister(block, t.which, i * 32 + lane);
  }
  block.order.resize(warps);
  block.floor.resize(warps);
  block.shared.size = launch.sharedBytes;
  block.shared.storage.reset(new char[launch.sharedBytes + 256]);
  block.shared.host =
      block.shared.storage.get() +
      (256 - ((uintptr_t)block.shared.storage.get() & 255)) % 256;
  size_t threads = (size_t)warps * 32;
  block.local.resize(threads * p.localBytes);
  block.threadParams.resize(threads * p.threadParamBytes);
}

uint64_t mix(uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ x >> 27) * 0x94D049BB133111EBull;
  return x ^ x >> 31;
}

} // namespace

void startBlock(Block &block, uint32_t linear) {
  LaunchState &launch = *block.launch;
  const Program &p = *launch.program;
  const LaunchConfig &config = *launch.config;
  if (!block.storage)
    prepare(block);
  block.linear = linear;
  block.id[0] = linear % config.grid[0];
  block.id[1] = linear / config.grid[0] % config.grid[1];
  block.id[2] = linear / config.grid[0] / config.grid[1];
  block.serial = ((uint64_t)launch.serial << 32) + linear + 1;
  block.liveThreads = block.numThreads;
  for (const BlockRegisterSlot &r : p.blockRegisters)
    if (r.wide)
      fill<uint64_t>(block.aligned, r.slot, blockRegister(block, r.which));
    else
      fill<uint32_t>(block.aligned, r.slot,
                     (uint32_t)blockRegister(block, r.which));
  std::memset(block.shared.host, Poison, block.shared.size);
  block.shared.initialised.assign((block.shared.size + 63) / 64, 0);
  if (launch.checks)
    block.sharedShadow.reset((uint32_t)block.shared.size, launch.serial);
  std::fill(block.local.begin(), block.local.end(), (char)Poison);
  std::fill(block.threadParams.begin(), block.threadParams.end(), 0);
  for (BlockBarrier &barrier : block.barriers)
    if (barrier.active)
      barrier = BlockBarrier();
  std::fill(block.floor.begin(), block.floor.end(), 0);
  block.epoch = 1;
  block.floorKnowledge.clear();
  if (p.mayOrder)
    for (Release &r : block.floorReleased)
      r = Release();
  for (auto &byPath : block.manyIds)
    for (Block::ManyId &many : byPath)
      many = {};
  for (Warp &w : block.warps) {
    w.live = w.initial;
    w.carry = 0;
    w.fragments.resize(1);
    w.fragments[0] = Fragment();
    w.fragments[0].mask = w.initial;
    w.executed = w.effects = 0;
    w.forced = false;
    w.spin = SpinState();
    w.watched.clear();
    w.parked.clear();
    w.clock = 1;
    w.syncClock = 0;
    w.known.clear();
    w.laneKnown.reset();
    w.acquired.clear();
    w.pending.clear();
    if (p.mayOrder)
      for (Release &r : w.released)
        r = Release();
    w.copies.clear();
    if (p.usesAsyncCopies)
      std::fill(std::begin(w.commits), std::end(w.commits), 0);
    for (auto [slot, bytes] : p.zeroAtEntry)
      std::memset(w.bank[0] + slot, 0, bytes);
    block.order[w.id] = w.id;
  }
  if (config.seed) {
    uint64_t random = mix(config.seed ^ mix(linear + 1));
    for (size_t i = block.order.size(); i > 1; --i) {
      random = mix(random + i);
      std::swap(block.order[i - 1], block.order[random % i]);
    }
  }
}

bool wakeBlock(Block &block) {
  bool any = false;
  for (Warp &w : block.warps) {
    bool spinning = false, changed = false;
    for (const Fragment &f : w.fragments) {
      spinning |= f.state == Fragment::Spinning;
      any |= f.state == Fragment::Ready;
    }
    if (!spinning)
      continue;
    for (const WatchedWord &word : w.parked)
      changed |= std::memcmp(word.host, &word.value, word.bytes) != 0;
    if (!changed)
      continue;
    for (Fragment &f : w.fragments)
      if (f.state == Fragment::Spinning)
        f.state = Fragment::Ready;
    w.parked.clear();
    any = true;
  }
  return any;
}

BlockState runBlock(Block &block) {
  LaunchState &launch = *block.launch;
  for (;;) {
    bool progress = false, alive = false;
    for (uint32_t index : block.order) {
      Warp &w = block.warps[index];
      if (w.fragments.empty())
        continue;
      if (launch.stop.load(std::memory_order_relaxed))
        return BlockState::Stopped;
      uint64_t before = w.executed;
      Stop stop = runWarp(w, Quantum);
      progress |= w.executed != before || stop == Stop::Exited;
      alive |= stop != Stop::Exited;
      if (stop == Stop::Trapped)
        return BlockState::Stopped;
      if (w.executed > launch.config->budget) {
        const Fragment &f = w.fragments[w.current];
        report(w, launch.program->ops[f.pc], FindingKind::Deadlock,
               (unsigned)__builtin_ctz(f.mask),
               "a warp has used up its budget of " +
                   std::to_string(launch.config->budget) + " instructions");
        launch.stop = true;
        return BlockState::Stopped;
      }
    }
    if (!alive)
      return BlockState::Finished;
    progress |= releaseBarriers(block);
    progress |= wakeBlock(block);
    if (progress)
      continue;
    bool spinning = false;
    for (const Warp &w : block.warps)
      for (const Fragment &f : w.fragments)
        spinning |= f.state == Fragment::Spinning;
    // While someone spins, another block may yet set things right.
    if (spinning || !forceBlock(block))
      return BlockState::Waiting;
  }
}

bool forceBlock(Block &block) {
  for (Warp &w : block.warps)
    for (Fragment &f : w.fragments)
      if (f.state == Fragment::Converging) {
        f.state = Fragment::Ready;
        w.forced = true;
        return true;
      }
  return false;
}

void reportDeadlock(Block &block) {
  const Program &p = *block.launch->program;
  std::string where;
  Warp *first = nullptr;
  uint32_t firstPc = 0, firstMask = 1;
  unsigned listed = 0;
  for (Warp &w : block.warps)
    for (const Fragment &f : w.fragments) {
      if (!first) {
        first = &w;
        firstPc = f.pc;
        firstMask = f.mask;
      }
      if (++listed > 8)
        continue;
      where += (where.empty() ? "" : "; ") + std::string("warp ") +
               std::to_string(w.id) +
               (f.state == Fragment::AtBarrier
                    ? " waits at barrier " + std::to_string(f.barrier)
                    : std::string(" spins")) +
               " at line " + std::to_string(p.places[p.ops[f.pc].source].line);
    }
  if (listed > 8)
    where += "; ...";
  if (first)
    report(*first, p.ops[firstPc], FindingKind::Deadlock,
           (unsigned)__builtin_ctz(firstMask), "nothing can go on: " + where);
}

} // namespace lockstitch::simulator
