//===- race.cpp - checks of one access against the shadow -----------------===//
//
// See race_shadow.h for the model.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/simulator/race.h"

namespace lockstitch::simulator {

namespace {

constexpr uint32_t LaneMask = (1u << LaneBits) - 1;
constexpr size_t MaxSetSize = 64;
constexpr uint32_t MaxSets = 1u << 22;

AccessTable &table(const Warp &w) { return *w.worker->launch->table; }

/// Order by barriers of the whole block only: then sets collapse exactly.
bool isSimple(const Warp &w) {
  const Program &p = *w.worker->launch->program;
  return !p.hasPartialBarriers && !p.mayOrder;
}

uint32_t takeId(Worker &worker) {
  if (worker.idNext == worker.idEnd) {
    worker.idNext = worker.launch->table->newChunk();
    worker.idEnd = worker.idNext;
    if (worker.idNext == 0)
      return 0;
    worker.idEnd = worker.idNext + (1u << AccessTable::ChunkBits);
  }
  return worker.idNext++;
}

bool isStrong(Scope mine, bool sameBlock, Scope theirs) {
  if (mine == Scope::Weak || theirs == Scope::Weak)
    return false;
  return sameBlock || (mine == Scope::Device && theirs == Scope::Device);
}

/// Both sides are atomic for each other: no race, whatever the order.
bool isStrongPair(const Warp &w, Scope mine, uint32_t code) {
  if (mine == Scope::Weak)
    return false;
  if (code & SetBit) {
    for (uint32_t member : w.worker->launch->sets.sets[code & ~SetBit])
      if (!isStrongPair(w, mine, member))
        return false;
    return true;
  }
  uint32_t id = code >> LaneBits;
  if (id < FirstFreeId)
    return id == OrderedId || (id == GridManyAtomicId && mine == Scope::Device);
  const AccessRecord &record = table(w)[id];
  return isStrong(mine, record.block == w.block->linear, record.scope);
}

/// Adds an access to others that are not ordered with it.
uint32_t merge(Warp &w, const Op &op, uint32_t old, uint32_t code,
               Scope scope) {
  uint32_t id = code >> LaneBits;
  if (!(old & SetBit) && old >> LaneBits == id)
    return id << LaneBits | ManyLanes;
  LaunchState &launch = *w.worker->launch;
  if (isSimple(w)) {
    uint32_t oldId = old >> LaneBits;
    uint32_t gridMany = (scope == Scope::Device ? GridManyAtomicId : GridManyId)
                        << LaneBits;
    if (oldId < FirstFreeId)
      return oldId == OrderedId ? code : old;
    const AccessRecord &record = table(w)[oldId];
    if (record.block != w.block->linear)
      return gridMany;
    bool nonCoherent = record.nonCoherent || op.memory->nonCoherent;
    if (record.kind == AccessRecord::BlockMany &&
        record.nonCoherent == nonCoherent)
      return old;
    if (record.kind != AccessRecord::BlockMany && record.warp == w.id)
      return id << LaneBits | ManyLanes;
    Block::ManyId &many = w.block->manyIds[(unsigned)scope][nonCoherent];
    if (many.epoch != w.block->epoch) {
      many.id = takeId(*w.worker);
      many.epoch = w.block->epoch;
      if (many.id == 0)
        return code;
      AccessRecord &r = table(w)[many.id];
      r.block = w.block->linear;
      r.clock = w.block->epoch;
      r.op = (uint32_t)(&op - launch.program->ops.data());
      r.warp = (uint16_t)w.id;
      r.kind = AccessRecord::BlockMany;
      r.scope = scope;
      r.nonCoherent = nonCoherent;
    }
    return many.id ? many.id << LaneBits : code;
  }
  // Exact sets, as long as they are small.
  auto &sets = launch.sets.sets;
  if (!(old & SetBit)) {
    if (old >> LaneBits < FirstFreeId && old >> LaneBits != OrderedId)
      return old;
    if (sets.size() >= MaxSets) {
      launch.table->overflowed = true;
      return code;
    }
    sets.push_back({old});
    old = SetBit | (uint32_t)(sets.size() - 1);
  }
  std::vector<uint32_t> &set = sets[old & ~SetBit];
  for (uint32_t &member : set)
    if (member >> LaneBits == id) {
      if (member != code)
        member = id << LaneBits | ManyLanes;
      return old;
    }
  if (set.size() >= MaxSetSize)
    return (scope == Scope::Device ? GridManyAtomicId : GridManyId) << LaneBits;
  set.push_back(code);
  return old;
}

void reportRace(Warp &w, const CellAccess &access, uint32_t other,
                const char *mine, const char *theirs) {
  LaunchState &launch = *w.worker->launch;
  unsigned lane = access.lane == ManyLanes
                      ? (unsigned)__builtin_ctz(w.mask ? w.mask : 1)
                      : access.lane;
  std::string message = std::string(mine) + " races with a " + theirs + " by ";
  if (other & SetBit) {
    for (uint32_t member : launch.sets.sets[other & ~SetBit])
      if (!isOrdered(w, access.lane, member)) {
        other = member;
        break;
      }
  }
  uint32_t id = other & SetBit ? 0 : other >> LaneBits;
  if (id >= FirstFreeId) {
    const AccessRecord &record = table(w)[id];
    uint32_t otherLane = other & LaneMask;
    if (record.kind == AccessRecord::BlockMany)
      message += "several threads of this block";
    else if (otherLane >= 32)
      message += "several threads of warp " + std::to_string(record.warp) +
                 (record.block == w.block->linear
                      ? ""
                      : " of block " + std::to_string(record.block));
    else
      message += threadName(launch, record.block, record.warp, otherLane);
    message +=
        " at line " +
        std::to_string(
            launch.program->places[launch.program->ops[record.op].source].line);
    if (record.kind == AccessRecord::Pending)
      message += " (cp.async that was not waited for)";
  } else {
    message += "several blocks";
  }
  Finding *finding =
      report(w, *access.op, FindingKind::Race, lane, std::move(message));
  describeAddress(w, *access.op, finding, access.address);
}

bool isPending(const Warp &w, uint32_t code) {
  return code != 0 && !(code & SetBit) && code >> LaneBits >= FirstFreeId &&
         table(w)[code >> LaneBits].kind == AccessRecord::Pending;
}

} // namespace

uint32_t newAccessId(Warp &w, const Op &op, uint32_t index) {
  Warp::CachedId &cached = w.ids[index];
  cached.serial = w.block->serial;
  cached.clock = w.clock;
  cached.id = takeId(*w.worker);
  if (cached.id == 0)
    return 0;
  AccessRecord &record = table(w)[cached.id];
  record.block = w.block->linear;
  record.clock = w.clock;
  record.op = (uint32_t)(&op - w.worker->launch->program->ops.data());
  record.warp = (uint16_t)w.id;
  record.kind = AccessRecord::Event;
  record.scope = op.memory->scope;
  record.nonCoherent = op.memory->nonCoherent;
  return cached.id;
}

bool isOrdered(const Warp &w, unsigned lane, uint32_t code) {
  const LaunchState &launch = *w.worker->launch;
  const Block &block = *w.block;
  if (code & SetBit) {
    for (uint32_t member : launch.sets.sets[code & ~SetBit])
      if (!isOrdered(w, lane, member))
        return false;
    return true;
  }
  uint32_t id = code >> LaneBits;
  auto knowsFlags = [&](const AccessRecord &r) {
    return launch.program->mayOrder &&
           (launch.order.knows(w.acquired, r.block, r.warp, r.clock) ||
            launch.order.knows(block.floorKnowledge, r.block, r.warp, r.clock));
  };
  if (id < FirstFreeId) {
    if (id == OrderedId)
      return true;
    // Too many to tell apart: whoever has acquired anything gets the benefit
    // of the doubt.
    return launch.program->mayOrder &&
           (!w.acquired.empty() || !block.floorKnowledge.empty());
  }
  const AccessRecord &record = table(w)[id];
  if (record.kind == AccessRecord::Pending)
    return false;
  if (record.block != block.linear)
    return knowsFlags(record);
  if (record.kind == AccessRecord::BlockMany)
    return record.clock < block.epoch;
  if (record.warp != w.id) {
    if (record.clock <= block.floor[record.warp])
      return true;
    if (record.warp < w.known.size() && record.clock <= w.known[record.warp])
      return true;
    return knowsFlags(record);
  }
  uint32_t theirs = code & LaneMask;
  if (theirs == lane && lane < 32)
    return true;
  if (record.clock <= w.syncClock)
    return true;
  if (!w.laneKnown)
    return false;
  for (unsigned mine = 0; mine < 32; ++mine) {
    if (lane < 32 ? mine != lane : !(w.mask >> mine & 1))
      continue;
    for (unsigned other = 0; other < 32; ++other) {
      if (theirs < 32 ? other != theirs : !(w.initial >> other & 1))
        continue;
      if (other != mine && w.laneKnown[mine * 32 + other] < record.clock)
        return false;
    }
  }
  return true;
}

ShadowPage &openPage(Warp &w, ShadowPage &page) {
  LaunchState &launch = *w.worker->launch;
  if (page.launch != launch.serial) {
    page.reset(1u << Allocation::PageShift, launch.serial);
    w.worker->touched.push_back(&page);
  }
  return page;
}

void readCells(Warp &w, const CellAccess &access, ShadowPage &page,
               uint32_t offset, unsigned bytes) {
  if (access.id == 0)
    return;
  uint32_t code = access.id << LaneBits | access.lane;
  Scope scope = access.op->memory->scope;
  uint32_t last = (offset + bytes - 1) >> page.shift;
  for (uint32_t i = offset >> page.shift; i <= last; ++i) {
    uint32_t &writer = page.writers[i], &reader = page.readers[i];
    if (writer != 0) {
      if (access.op->memory->nonCoherent)
        reportRace(w, access, writer, "a read through the non-coherent path",
                   "write");
      else if (!isOrdered(w, access.lane, writer) &&
               !isStrongPair(w, scope, writer))
        reportRace(w, access, writer, "a read", "write");
    }
    if (reader == code || reader == GridManyId << LaneBits)
      continue;
    if (reader == 0 || isOrdered(w, access.lane, reader))
      reader = code;
    else
      reader = merge(w, *access.op, reader, code, scope);
  }
}

void writeCells(Warp &w, const CellAccess &access, ShadowPage &page,
                uint32_t offset, unsigned bytes) {
  if (access.id == 0)
    return;
  uint32_t code = access.id << LaneBits | access.lane;
  Scope scope = access.op->memory->scope;
  bool isAtomic = access.op->kind == InstructionClass::Atomic;
  uint32_t last = (offset + bytes - 1) >> page.shift;
  for (uint32_t i = offset >> page.shift; i <= last; ++i) {
    uint32_t &writer = page.writers[i], &reader = page.readers[i];
    uint32_t result = code;
    if (writer != 0 && writer != code && !isOrdered(w, access.lane, writer)) {
      if (isStrongPair(w, scope, writer)) {
        result = merge(w, *access.op, writer, code, scope);
      } else if (!(access.sameValue && !(writer & SetBit) &&
                   writer >> LaneBits == access.id)) {
        // Lanes of one instruction may write one value to one place.
        reportRace(w, access, writer, isAtomic ? "an atomic" : "a write",
                   "write");
      }
    }
    bool keepReader = false;
    if (reader != 0) {
      bool strong = isStrongPair(w, scope, reader);
      if (!isOrdered(w, access.lane, reader)) {
        if (!strong)
          reportRace(w, access, reader, isAtomic ? "an atomic" : "a write",
                     "read");
        keepReader = strong;
      } else if (!(reader & SetBit) && reader >> LaneBits >= FirstFreeId &&
                 table(w)[reader >> LaneBits].nonCoherent) {
        reportRace(w, access, reader, "a write",
                   "read through the non-coherent path");
      }
    }
    writer = result;
    if (!keepReader)
      reader = reader ? OrderedId << LaneBits : 0;
    if (isAtomic && reader == 0)
      reader = OrderedId << LaneBits; // it read, too
  }
}

void pendingCells(Warp &w, const CellAccess &access, ShadowPage &page,
                  uint32_t offset, unsigned bytes) {
  if (access.id == 0)
    return;
  writeCells(w, access, page, offset, bytes);
  // One pending record per op, warp and interval.
  uint32_t id = takeId(*w.worker);
  if (id == 0)
    return;
  table(w)[id] = table(w)[access.id];
  table(w)[id].kind = AccessRecord::Pending;
  uint32_t last = (offset + bytes - 1) >> page.shift;
  for (uint32_t i = offset >> page.shift; i <= last; ++i)
    page.writers[i] = id << LaneBits | access.lane;
}

void completePendingCells(Warp &w, const CellAccess &access, ShadowPage &page,
                          uint32_t offset, unsigned bytes) {
  uint32_t last = (offset + bytes - 1) >> page.shift;
  for (uint32_t i = offset >> page.shift; i <= last; ++i)
    if (isPending(w, page.writers[i]) &&
        table(w)[page.writers[i] >> LaneBits].warp == w.id &&
        (page.writers[i] & LaneMask) == access.lane)
      page.writers[i] = OrderedId << LaneBits;
  writeCells(w, access, page, offset, bytes);
}

} // namespace lockstitch::simulator
