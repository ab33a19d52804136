//===- execute_memory.cpp - ld and st, the fast shapes --------------------===//
#include "runtime/device/simulator/execute_memory.h"
#include "runtime/device/simulator/handlers.h"
#include "runtime/device/simulator/opcode_table.h"

namespace lockstitch::simulator {

namespace {

/// Copies lanes [first, end) between registers and consecutive memory.
template <bool IsLoad, class T, unsigned V>
LS_INLINE void moveConsecutive(const MemoryAccess &m, Warp &w, char *memory,
                               unsigned first, unsigned end) {
  for (unsigned v = 0; v < V; ++v) {
    Slot slot = m.slots[v];
    if (IsLoad && slot == NoSlot)
      continue;
    T *data = reinterpret_cast<T *>(memory) + v;
    if (m.wide[v]) {
      uint64_t *r = const_cast<uint64_t *>(w.src<uint64_t>(slot));
      for (unsigned i = first; i < end; ++i) {
        if constexpr (IsLoad)
          r[i] = m.isSigned ? (uint64_t)(int64_t)(std::make_signed_t<T>)
                                  data[(i - first) * V]
                            : (uint64_t)data[(i - first) * V];
        else
          data[(i - first) * V] = (T)r[i];
      }
    } else if constexpr (sizeof(T) <= 4) {
      uint32_t *r = const_cast<uint32_t *>(w.src<uint32_t>(slot));
      if constexpr (V == 1 && sizeof(T) == 4) {
        if constexpr (IsLoad)
          std::memcpy(r + first, data, (end - first) * 4);
        else
          std::memcpy(data, r + first, (end - first) * 4);
      } else if constexpr (!IsLoad) {
        LS_LANES
        for (unsigned i = first; i < end; ++i)
          data[(i - first) * V] = (T)r[i];
      } else if (sizeof(T) < 4 && m.isSigned) {
        uint32_t keep = m.registerBits[v] == 16 ? 0xFFFF : ~0u;
        for (unsigned i = first; i < end; ++i)
          r[i] =
              (uint32_t)(int32_t)(std::make_signed_t<T>)data[(i - first) * V] &
              keep;
      } else {
        LS_LANES
        for (unsigned i = first; i < end; ++i)
          r[i] = (uint32_t)data[(i - first) * V];
      }
    }
  }
}

template <bool IsLoad, class T, unsigned V>
LS_INLINE void registersToLanes(const MemoryAccess &m, Warp &w, uint32_t mask,
                                LaneData &data) {
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    unsigned i = (unsigned)__builtin_ctz(rest);
    moveConsecutive<IsLoad, T, V>(m, w, (char *)data.bytes[i], i, i + 1);
  }
}

/// Loads of one address by all lanes: one element, spread.
template <class T, unsigned V>
LS_INLINE void spread(const MemoryAccess &m, Warp &w, const char *memory) {
  for (unsigned v = 0; v < V; ++v) {
    Slot slot = m.slots[v];
    if (slot == NoSlot)
      continue;
    T value;
    std::memcpy(&value, memory + v * sizeof(T), sizeof(T));
    if (m.wide[v]) {
      uint64_t x = m.isSigned ? (uint64_t)(int64_t)(std::make_signed_t<T>)value
                              : (uint64_t)value;
      uint64_t *r = w.dst<uint64_t>(slot);
      for (unsigned i = 0; i < 32; ++i)
        r[i] = (w.mask >> i & 1) ? x : r[i];
    } else {
      uint32_t x = m.isSigned ? (uint32_t)(int32_t)(std::make_signed_t<T>)value
                              : (uint32_t)value;
      if (m.registerBits[v] == 16)
        x &= 0xFFFF;
      uint32_t *r = w.dst<uint32_t>(slot);
      for (unsigned i = 0; i < 32; ++i)
        r[i] = (w.mask >> i & 1) ? x : r[i];
    }
  }
}

enum Shape { Scattered, Consecutive, Uniform };

template <unsigned N>
LS_INLINE Shape shapeOf(const uint64_t *addresses, uint32_t mask,
                        unsigned &lanes) {
  uint64_t odd = 0, different = 0, first = addresses[0];
  if (mask == ~0u) {
    lanes = 32;
    LS_LANES
    for (unsigned i = 0; i < 32; ++i) {
      odd |= addresses[i] ^ (first + (uint64_t)i * N);
      different |= addresses[i] ^ first;
    }
  } else {
    lanes = (unsigned)__builtin_popcount(mask);
    bool prefix = (mask & (mask + 1)) == 0;
    first = addresses[__builtin_ctz(mask)];
    LS_LANES
    for (unsigned i = 0; i < 32; ++i) {
      uint64_t active = (mask >> i & 1) ? ~uint64_t(0) : 0;
      odd |= (addresses[i] ^ (first + (uint64_t)i * N)) & active;
      different |= (addresses[i] ^ first) & active;
    }
    if (!prefix)
      odd = 1;
  }
  return odd == 0 ? Consecutive : different == 0 ? Uniform : Scattered;
}

LS_INLINE void countGlobal(Warp &w, const Op &o, bool isLoad, uint64_t sectors,
                           uint64_t bytes) {
  if (o.memory->space == StateSpace::Const)
    return; // has a cache of its own and no sectors
  Worker &worker = *w.worker;
  AccessCounters &line = worker.accesses[o.access];
  line.sectors += sectors;
  line.ideal += (bytes + 31) / 32;
  Counters &c = worker.counters;
  if (isLoad) {
    ++c.globalLoads;
    c.sectorsRead += sectors;
    c.bytesRequestedRead += bytes;
  } else {
    ++c.globalStores;
    c.sectorsWritten += sectors;
    c.bytesRequestedWritten += bytes;
  }
}

/// The allocation, where the whole range may be touched by this op.
LS_INLINE Allocation *allowed(Warp &w, const Op &o, uint64_t address,
                              uint64_t bytes) {
  Worker &worker = *w.worker;
  Allocation *&cached = worker.lastAllocation[o.access].allocation;
  if (!cached || !cached->contains(address, bytes)) {
    cached = worker.launch->memory->find(address);
    if (!cached || !cached->contains(address, bytes))
      return nullptr;
  }
  if (const LaunchState::Range *r = worker.launch->accessRange[o.access])
    if (address < r->address || bytes > r->bytes ||
        address - r->address > r->bytes - bytes)
      return nullptr;
  return cached;
}

template <bool IsLoad, class T, unsigned V>
LS_INLINE bool fastGlobal(const Op &o, Warp &w, const uint64_t *addresses,
                          Shape shape, unsigned lanes) {
  constexpr unsigned N = sizeof(T) * V;
  const MemoryAccess &m = *o.memory;
  unsigned firstLane = (unsigned)__builtin_ctz(w.mask);
  uint64_t low = addresses[firstLane];
  uint64_t bytes = shape == Uniform ? N : (uint64_t)lanes * N;
  LaunchState &launch = *w.worker->launch;
  if (low % N || w.spin.recording ||
      (launch.program->mayOrder && m.scope != Scope::Weak))
    return false;
  Allocation *allocation = allowed(w, o, low, bytes);
  if (!allocation)
    return false;
  uint64_t offset = low - allocation->base;
  char *host = allocation->host + offset;
  if (launch.checks) {
    if constexpr (IsLoad) {
      if (!allocation->isInitialised(offset, bytes))
        return false;
    } else {
      const LaunchState::Range *r = launch.accessRange[o.access];
      if (allocation->readOnly || (r && r->readOnly) || shape == Uniform)
        return false;
    }
    uint32_t id = accessId(w, o, o.access);
    // One page at a time; an element never straddles two.
    uint64_t at = low;
    unsigned lane = 0;
    unsigned todo = shape == Uniform ? 1 : lanes;
    while (lane < todo) {
      uint64_t room = (~at & 4095) + 1;
      unsigned n = (unsigned)std::min<uint64_t>(todo - lane, room / N);
      ShadowPage *page =
          allocation->page((at >> 12) - (allocation->base >> 12));
      {
        PageLock lock(page, launch.multithreaded);
        openPage(w, *page);
        if (N < 4 && page->shift > (N == 1 ? 0 : 1))
          page->refine(N == 1 ? 0 : 1);
        uint32_t in = (uint32_t)(at & 4095);
        if (id != 0) {
          if (shape == Uniform) {
            CellAccess access{&o, id, lanes > 1 ? ManyLanes : firstLane, at};
            readCells(w, access, *page, in, N);
          } else if (!fastCheck(w, id, lane, n, *page, in, N, !IsLoad,
                                m.nonCoherent)) {
            for (unsigned i = 0; i < n; ++i) {
              CellAccess access{&o, id, lane + i, at + i * N};
              if constexpr (IsLoad)
                readCells(w, access, *page, in + i * N, N);
              else
                writeCells(w, access, *page, in + i * N, N);
            }
          }
        }
        char *data = host + (at - low);
        if (IsLoad && shape == Uniform)
          spread<T, V>(m, w, data);
        else if (n == 32)
          moveConsecutive<IsLoad, T, V>(m, w, data, 0, 32);
        else
          moveConsecutive<IsLoad, T, V>(m, w, data, lane, lane + n);
      }
      lane += n;
      at += (uint64_t)n * N;
    }
  } else {
    if constexpr (!IsLoad) {
      if (shape == Uniform)
        return false;
    }
    if (IsLoad && shape == Uniform)
      spread<T, V>(m, w, host);
    else
      moveConsecutive<IsLoad, T, V>(m, w, host, 0, lanes);
  }
  if constexpr (!IsLoad) {
    allocation->setInitialised(offset, bytes, true);
    ++w.effects;
  }
  countGlobal(w, o, IsLoad, ((low + bytes - 1) >> 5) - (low >> 5) + 1,
              (uint64_t)lanes * N);
  return true;
}

template <bool IsLoad, class T, unsigned V>
LS_INLINE bool fastShared(const Op &o, Warp &w, const uint64_t *addresses,
                          Shape shape, unsigned lanes) {
  constexpr unsigned N = sizeof(T) * V;
  const MemoryAccess &m = *o.memory;
  Block &block = *w.block;
  Allocation &shared = block.shared;
  unsigned firstLane = (unsigned)__builtin_ctz(w.mask);
  uint64_t low = addresses[firstLane];
  uint64_t bytes = shape == Uniform ? N : (uint64_t)lanes * N;
  LaunchState &launch = *w.worker->launch;
  if (low % N || w.spin.recording || !shared.contains(low, bytes) ||
      (launch.program->mayOrder && m.scope != Scope::Weak))
    return false;
  if (!IsLoad && shape == Uniform && lanes > 1)
    return false;
  if (launch.checks) {
    if (IsLoad && !shared.isInitialised(low, bytes))
      return false;
    uint32_t id = accessId(w, o, o.access);
    ShadowPage &page = block.sharedShadow;
    if (N < 4 && page.shift > (N == 1 ? 0 : 1))
      page.refine(N == 1 ? 0 : 1);
    if (id != 0) {
      if (shape == Uniform) {
        CellAccess access{&o, id, lanes > 1 ? ManyLanes : firstLane, low};
        if constexpr (IsLoad)
          readCells(w, access, page, (uint32_t)low, N);
        else
          writeCells(w, access, page, (uint32_t)low, N);
      } else if (!fastCheck(w, id, 0, lanes, page, (uint32_t)low, N, !IsLoad)) {
        for (unsigned i = 0; i < lanes; ++i) {
          CellAccess access{&o, id, i, low + i * N};
          if constexpr (IsLoad)
            readCells(w, access, page, (uint32_t)low + i * N, N);
          else
            writeCells(w, access, page, (uint32_t)low + i * N, N);
        }
      }
    }
  }
  char *data = shared.host + low;
  if (IsLoad && shape == Uniform)
    spread<T, V>(m, w, data);
  else if (shape == Uniform)
    moveConsecutive<IsLoad, T, V>(m, w, data, firstLane, firstLane + 1);
  else
    moveConsecutive<IsLoad, T, V>(m, w, data, 0, lanes);
  Worker &worker = *w.worker;
  if constexpr (IsLoad) {
    ++worker.counters.sharedLoads;
  } else {
    shared.setInitialised(low, bytes, true);
    ++worker.counters.sharedStores;
    ++w.effects;
  }
  // Phases of 128 bytes; consecutive and uniform ones are free of conflicts.
  unsigned perPhase = N <= 4 ? 32 : N == 8 ? 16 : 8;
  unsigned waves = (lanes + perPhase - 1) / perPhase;
  if (shape == Uniform)
    waves = 1;
  worker.counters.sharedWavefronts += waves;
  worker.accesses[o.access].wavefronts += waves;
  return true;
}

template <bool IsLoad, class T, unsigned V> struct Access {
  static LS_INLINE void run(const Op &o, Warp &w) {
    constexpr unsigned N = sizeof(T) * V;
    const MemoryAccess &m = *o.memory;
    alignas(64) uint64_t addresses[32];
    computeAddresses(o, w, o.a, m.wideAddress, o.imm, addresses);
    uint32_t all = w.mask;
    uint32_t todo = all;
    while (todo) {
      StateSpace space = m.space;
      uint32_t rest = 0;
      if (space == StateSpace::Generic)
        space = splitGeneric(w, addresses, todo, rest);
      w.mask = todo & ~rest;
      unsigned lanes;
      Shape shape = shapeOf<N>(addresses, w.mask, lanes);
      bool done = false;
      if (shape != Scattered) {
        if (space == StateSpace::Global || space == StateSpace::Const)
          done = fastGlobal<IsLoad, T, V>(o, w, addresses, shape, lanes);
        else if (space == StateSpace::Shared)
          done = fastShared<IsLoad, T, V>(o, w, addresses, shape, lanes);
      }
      if (!done) {
        LaneData data;
        if constexpr (!IsLoad)
          registersToLanes<false, T, V>(m, w, w.mask, data);
        if (space == StateSpace::Shared)
          slowShared(w, o, addresses, w.mask, IsLoad, N, data);
        else if (space == StateSpace::Local)
          slowLocal(w, o, addresses, w.mask, IsLoad, N, data);
        else
          slowGlobal(w, o, addresses, w.mask, IsLoad, N, data);
        if constexpr (IsLoad)
          registersToLanes<true, T, V>(m, w, w.mask, data);
      }
      todo = rest;
    }
    w.mask = all;
  }
};

template <bool IsLoad, class T> HandlerPair byCount(unsigned count) {
  switch (count) {
  case 1:
    return handlerPair<Access<IsLoad, T, 1>>();
  case 2:
    return handlerPair<Access<IsLoad, T, 2>>();
  case 4:
    return handlerPair<Access<IsLoad, T, 4>>();
  case 8:
    if constexpr (sizeof(T) <= 4)
      return handlerPair<Access<IsLoad, T, 8>>();
    break;
  }
  return {};
}

template <bool IsLoad> HandlerPair bySize(unsigned bytes, unsigned count) {
  switch (bytes) {
  case 1:
    return byCount<IsLoad, uint8_t>(count);
  case 2:
    return byCount<IsLoad, uint16_t>(count);
  case 4:
    return byCount<IsLoad, uint32_t>(count);
  case 8:
    return byCount<IsLoad, uint64_t>(count);
  }
  return {};
}

} // namespace

Handler memoryHandler(bool isLoad, unsigned elementBytes, unsigned count) {
  return select(isLoad ? bySize<true>(elementBytes, count)
                       : bySize<false>(elementBytes, count));
}

} // namespace lockstitch::simulator
