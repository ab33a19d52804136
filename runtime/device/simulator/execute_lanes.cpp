//===- execute_lanes.cpp - memory accesses lane by lane -------------------===//
//
// The way for addresses without a pattern, for strong accesses in kernels that
// order by flags, for spinning warps, and for whatever deserves a finding.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/simulator/execute_memory.h"
#include "runtime/device/simulator/flags.h"

#include <algorithm>

namespace lockstitch::simulator {

namespace {

std::string bytesText(unsigned bytes) {
  return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
}

void watch(Warp &w, const char *host, unsigned bytes) {
  for (unsigned i = 0; i < bytes; i += 8) {
    WatchedWord word{host + i, 0, (uint8_t)std::min(8u, bytes - i)};
    std::memcpy(&word.value, word.host, word.bytes);
    if (w.watched.size() < 4096)
      w.watched.push_back(word);
  }
}

template <class F> void forLanes(uint32_t mask, F f) {
  for (; mask; mask &= mask - 1)
    f((unsigned)__builtin_ctz(mask));
}

} // namespace

StateSpace splitGeneric(const Warp &w, uint64_t *addresses, uint32_t mask,
                        uint32_t &rest) {
  auto window = [&](uint64_t a) {
    uint64_t base = a & ~(WindowSize - 1);
    return base == SharedWindow || base == LocalWindow ? base : 0;
  };
  uint64_t base = window(addresses[__builtin_ctz(mask)]);
  rest = 0;
  forLanes(mask, [&](unsigned i) {
    if (window(addresses[i]) != base)
      rest |= 1u << i;
    else if (base)
      addresses[i] -= base;
  });
  return base == SharedWindow  ? StateSpace::Shared
         : base == LocalWindow ? StateSpace::Local
                               : StateSpace::Global;
}

unsigned countSectors(const uint64_t *addresses, uint32_t mask,
                      unsigned bytes) {
  uint64_t sectors[64];
  unsigned n = 0;
  uint64_t previous = ~uint64_t(0);
  bool sorted = true;
  forLanes(mask, [&](unsigned i) {
    for (uint64_t s = addresses[i] >> 5; s <= (addresses[i] + bytes - 1) >> 5;
         ++s) {
      if (s == previous || n == 64)
        continue;
      sorted &= n == 0 || s > previous;
      sectors[n++] = previous = s;
    }
  });
  if (sorted)
    return n;
  std::sort(sectors, sectors + n);
  return (unsigned)(std::unique(sectors, sectors + n) - sectors);
}

void countWavefronts(Warp &w, const Op &op, const uint64_t *addresses,
                     uint32_t mask, unsigned bytes) {
  // 4 bytes a lane: the warp at once; 8: halves; 16 and more: quarters. In a
  // phase, a bank serves one 4-byte word at a time, to any number of lanes.
  unsigned perPhase = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8;
  unsigned waves = 0, ideal = 0;
  for (unsigned first = 0; first < 32; first += perPhase) {
    uint64_t words[32 * 8];
    unsigned n = 0;
    for (unsigned i = first; i < first + perPhase; ++i)
      if (mask >> i & 1)
        for (uint64_t a = addresses[i] >> 2;
             a <= (addresses[i] + bytes - 1) >> 2 && n < 256; ++a)
          words[n++] = a;
    if (n == 0)
      continue;
    std::sort(words, words + n);
    n = (unsigned)(std::unique(words, words + n) - words);
    unsigned perBank[32] = {}, most = 0;
    for (unsigned i = 0; i < n; ++i)
      most = std::max(most, ++perBank[words[i] & 31]);
    waves += most;
    ideal += (n + 31) / 32;
  }
  Worker &worker = *w.worker;
  worker.counters.sharedWavefronts += waves;
  worker.counters.sharedConflicts += waves - ideal;
  worker.accesses[op.access].wavefronts += waves;
  worker.accesses[op.access].conflicts += waves - ideal;
}

ShadowPage &globalPage(Warp &w, Allocation &allocation, uint64_t address) {
  return *allocation.page((address >> 12) - (allocation.base >> 12));
}

Allocation *checkGlobalLane(Warp &w, const Op &op, unsigned lane,
                            uint64_t address, unsigned bytes, bool reads,
                            bool writes) {
  Worker &worker = *w.worker;
  LaunchState &launch = *worker.launch;
  Allocation *&cached = worker.lastAllocation[op.access].allocation;
  if (!cached || !cached->contains(address, bytes))
    cached = launch.memory->find(address);
  auto flag = [&](FindingKind kind, std::string message) {
    describeAddress(w, op, report(w, op, kind, lane, std::move(message)),
                    address);
  };
  const char *what = reads ? "a read of " : "a write of ";
  if (!cached || !cached->contains(address, bytes)) {
    cached = nullptr;
    flag(FindingKind::OutOfBounds,
         what + bytesText(bytes) + " outside of every allocation");
    return nullptr;
  }
  Allocation *allocation = cached;
  if (launch.checks) {
    // The tensors that the address may have been derived from.
    const LaunchState::Range *hit = nullptr, *candidate = nullptr;
    for (uint64_t bits = op.memory->arguments; bits; bits &= bits - 1) {
      size_t index = (size_t)__builtin_ctzll(bits);
      if (index >= launch.ranges.size() || !launch.ranges[index].present) {
        hit = nullptr;
        candidate = nullptr;
        break;
      }
      const LaunchState::Range &r = launch.ranges[index];
      candidate = &r;
      if (address >= r.address && bytes <= r.bytes &&
          address - r.address <= r.bytes - bytes)
        hit = &r;
    }
    if (candidate && !hit) {
      flag(FindingKind::OutOfBounds, what + bytesText(bytes) +
                                         " outside of tensor '" +
                                         candidate->name + "'");
      return nullptr;
    }
    if (writes && (allocation->readOnly || (hit && hit->readOnly))) {
      flag(FindingKind::ReadOnly, "a write to read-only memory");
      return nullptr;
    }
  }
  if (address % bytes) {
    flag(FindingKind::Misaligned, what + bytesText(bytes) +
                                      " at an address that is no multiple of " +
                                      std::to_string(bytes));
    return nullptr;
  }
  uint64_t offset = address - allocation->base;
  if (launch.checks && reads && !allocation->isInitialised(offset, bytes)) {
    uint64_t at = allocation->firstUninitialised(offset, bytes);
    describeAddress(w, op,
                    report(w, op, FindingKind::Uninitialised, lane,
                           "a read of memory that nobody has written"),
                    allocation->base + at);
    // Said once, not again by every reader.
  }
  return allocation;
}

void slowGlobal(Warp &w, const Op &op, const uint64_t *addresses, uint32_t mask,
                bool isLoad, unsigned bytes, LaneData &data) {
  LaunchState &launch = *w.worker->launch;
  const MemoryAccess &m = *op.memory;
  uint32_t id = launch.checks ? accessId(w, op, op.access) : 0;
  bool order = launch.program->mayOrder && m.scope != Scope::Weak;
  forLanes(mask, [&](unsigned i) {
    uint64_t address = addresses[i];
    Allocation *a = checkGlobalLane(w, op, i, address, bytes, isLoad, !isLoad);
    if (!a) {
      if (isLoad)
        std::memset(data.bytes[i], 0, bytes);
      return;
    }
    uint64_t offset = address - a->base;
    char *host = a->host + offset;
    if (isLoad && order) {
      readFlag(w, m, address, false);
      id = launch.checks ? accessId(w, op, op.access) : 0;
    }
    if (!isLoad && order) {
      ++w.clock;
      id = launch.checks ? accessId(w, op, op.access) : 0;
    }
    ShadowPage *page = launch.checks ? &globalPage(w, *a, address) : nullptr;
    {
      PageLock lock(page, launch.multithreaded);
      if (page) {
        openPage(w, *page);
        if (bytes < 4)
          page->refine(bytes == 1 ? 0 : 1);
        CellAccess access{&op, id, i, address};
        uint32_t in = (uint32_t)(address & 4095);
        if (isLoad) {
          readCells(w, access, *page, in, bytes);
        } else {
          access.sameValue = std::memcmp(host, data.bytes[i], bytes) == 0;
          writeCells(w, access, *page, in, bytes);
        }
      }
      if (isLoad) {
        if (w.spin.recording)
          watch(w, host, bytes);
        std::memcpy(data.bytes[i], host, bytes);
      } else {
        if (std::memcmp(host, data.bytes[i], bytes) != 0)
          ++w.effects;
        std::memcpy(host, data.bytes[i], bytes);
      }
    }
    if (!isLoad) {
      if (!a->isInitialised(offset, bytes))
        ++w.effects;
      a->setInitialised(offset, bytes, true);
      if (order)
        writeFlag(w, m, address, false);
    }
  });
  // Const memory has a cache of its own and no sectors.
  if (m.space == StateSpace::Const)
    return;
  unsigned sectors = countSectors(addresses, mask, bytes);
  uint64_t total = (uint64_t)__builtin_popcount(mask) * bytes;
  Worker &worker = *w.worker;
  worker.accesses[op.access].sectors += sectors;
  worker.accesses[op.access].ideal += (total + 31) / 32;
  Counters &c = worker.counters;
  if (isLoad) {
    ++c.globalLoads;
    c.sectorsRead += sectors;
    c.bytesRequestedRead += total;
  } else {
    ++c.globalStores;
    c.sectorsWritten += sectors;
    c.bytesRequestedWritten += total;
  }
}

bool checkSharedLane(Warp &w, const Op &op, unsigned lane, uint64_t address,
                     unsigned bytes, bool reads, bool writes) {
  Allocation &shared = w.block->shared;
  auto flag = [&](FindingKind kind, std::string message) {
    if (Finding *f = report(w, op, kind, lane, std::move(message))) {
      f->address = address;
      f->offset = (int64_t)address;
      f->tensor = "shared memory";
    }
    return false;
  };
  const char *what = reads ? "a read of " : "a write of ";
  if (!shared.contains(address, bytes))
    return flag(FindingKind::OutOfBounds,
                what + bytesText(bytes) + " outside of the block's " +
                    std::to_string(shared.size) + " bytes of shared memory");
  if (address % bytes)
    return flag(FindingKind::Misaligned,
                what + bytesText(bytes) +
                    " at an address that is no multiple of " +
                    std::to_string(bytes));
  if (w.worker->launch->checks && reads &&
      !shared.isInitialised(address, bytes))
    flag(FindingKind::Uninitialised,
         "a read of shared memory that nobody has written");
  return true;
}

/// Many lanes that read a few words, such as the partial results of the block's
/// warps: each word is checked once. False, and nothing done, where that is not
/// what happens or where there is something to report.
static bool readFewWords(Warp &w, const Op &op, const uint64_t *addresses,
                         uint32_t mask, LaneData &data) {
  constexpr unsigned Most = 8;
  LaunchState &launch = *w.worker->launch;
  Allocation &shared = w.block->shared;
  ShadowPage &page = w.block->sharedShadow;
  uint64_t words[Most];
  uint32_t readers[Most];
  unsigned n = 0;
  for (uint32_t left = mask; left; left &= left - 1) {
    unsigned i = (unsigned)__builtin_ctz(left), k = 0;
    while (k < n && words[k] != addresses[i])
      ++k;
    if (k == n) {
      if (n == Most)
        return false;
      words[n] = addresses[i];
      readers[n++] = 0;
    }
    readers[k] |= 1u << i;
  }
  for (unsigned k = 0; k < n; ++k) {
    if (!shared.contains(words[k], 4) || words[k] % 4)
      return false;
    if (!launch.checks)
      continue;
    if (!shared.isInitialised(words[k], 4))
      return false;
    for (uint64_t a = words[k]; a < words[k] + 4; a += 1u << page.shift) {
      uint32_t writer = page.writers[a >> page.shift];
      if (writer != 0 && !isOrdered(w, ManyLanes, writer))
        return false;
    }
  }
  unsigned perBank[32] = {}, most = 0;
  for (unsigned k = 0; k < n; ++k) {
    most = std::max(most, ++perBank[words[k] >> 2 & 31]);
    if (launch.checks) {
      bool alone = (readers[k] & (readers[k] - 1)) == 0;
      CellAccess access{&op, accessId(w, op, op.access),
                        alone ? (unsigned)__builtin_ctz(readers[k]) : ManyLanes,
                        words[k]};
      readCells(w, access, page, (uint32_t)words[k], 4);
    }
    uint32_t value;
    std::memcpy(&value, shared.host + words[k], 4);
    for (uint32_t left = readers[k]; left; left &= left - 1)
      std::memcpy(data.bytes[__builtin_ctz(left)], &value, 4);
  }
  Worker &worker = *w.worker;
  ++worker.counters.sharedLoads;
  worker.counters.sharedWavefronts += most;
  worker.counters.sharedConflicts += most - 1;
  worker.accesses[op.access].wavefronts += most;
  worker.accesses[op.access].conflicts += most - 1;
  return true;
}

void slowShared(Warp &w, const Op &op, const uint64_t *addresses, uint32_t mask,
                bool isLoad, unsigned bytes, LaneData &data) {
  LaunchState &launch = *w.worker->launch;
  Block &block = *w.block;
  const MemoryAccess &m = *op.memory;
  bool order = launch.program->mayOrder && m.scope != Scope::Weak;
  ShadowPage &page = block.sharedShadow;
  if (isLoad && bytes == 4 && !order && !w.spin.recording &&
      readFewWords(w, op, addresses, mask, data))
    return;
  if (launch.checks && bytes < 4)
    page.refine(bytes == 1 ? 0 : 1);
  forLanes(mask, [&](unsigned i) {
    uint64_t address = addresses[i];
    if (!checkSharedLane(w, op, i, address, bytes, isLoad, !isLoad)) {
      if (isLoad)
        std::memset(data.bytes[i], 0, bytes);
      return;
    }
    char *host = block.shared.host + address;
    if (isLoad && order)
      readFlag(w, m, address, true);
    if (!isLoad && order)
      ++w.clock;
    if (launch.checks) {
      CellAccess access{&op, accessId(w, op, op.access), i, address};
      if (isLoad) {
        readCells(w, access, page, (uint32_t)address, bytes);
      } else {
        access.sameValue = std::memcmp(host, data.bytes[i], bytes) == 0;
        writeCells(w, access, page, (uint32_t)address, bytes);
      }
    }
    if (isLoad) {
      if (w.spin.recording)
        watch(w, host, bytes);
      std::memcpy(data.bytes[i], host, bytes);
    } else {
      if (std::memcmp(host, data.bytes[i], bytes) != 0 ||
          !block.shared.isInitialised(address, bytes))
        ++w.effects;
      std::memcpy(host, data.bytes[i], bytes);
      block.shared.setInitialised(address, bytes, true);
      if (order)
        writeFlag(w, m, address, true);
    }
  });
  if (isLoad)
    ++w.worker->counters.sharedLoads;
  else
    ++w.worker->counters.sharedStores;
  countWavefronts(w, op, addresses, mask, bytes);
}

void slowLocal(Warp &w, const Op &op, const uint64_t *addresses, uint32_t mask,
               bool isLoad, unsigned bytes, LaneData &data) {
  Block &block = *w.block;
  LaunchState &launch = *w.worker->launch;
  uint64_t size = launch.program->localBytes;
  uint64_t interleaved[32] = {};
  forLanes(mask, [&](unsigned i) {
    uint64_t address = addresses[i];
    auto flag = [&](FindingKind kind, const char *message) {
      if (Finding *f = report(w, op, kind, i, message)) {
        f->address = address;
        f->offset = (int64_t)address;
        f->tensor = "local memory";
      }
    };
    // Local memory is interleaved by words among the lanes.
    interleaved[i] = (address / 4 * 32 + i) * 4;
    bool outside = address > size || bytes > size - address;
    if (outside || address % bytes) {
      flag(outside ? FindingKind::OutOfBounds : FindingKind::Misaligned,
           outside ? "an access outside of the thread's local memory"
                   : "a misaligned access to local memory");
      if (isLoad)
        std::memset(data.bytes[i], 0, bytes);
      return;
    }
    size_t at = ((size_t)w.id * 32 + i) * size + address;
    if (isLoad) {
      // Not checked for initialisation: compilers copy structures with their
      // padding.
      std::memcpy(data.bytes[i], block.local.data() + at, bytes);
    } else {
      if (std::memcmp(block.local.data() + at, data.bytes[i], bytes) != 0)
        ++w.effects;
      std::memcpy(block.local.data() + at, data.bytes[i], bytes);
    }
  });
  unsigned sectors = countSectors(interleaved, mask, std::min(bytes, 4u));
  if (bytes > 4)
    sectors *= bytes / 4;
  if (isLoad)
    w.worker->counters.localSectorsRead += sectors;
  else
    w.worker->counters.localSectorsWritten += sectors;
  w.worker->accesses[op.access].sectors += sectors;
}

} // namespace lockstitch::simulator
