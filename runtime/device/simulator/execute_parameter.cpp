//===- execute_parameter.cpp - .param space -------------------------------===//
#include "runtime/device/simulator/execute_memory.h"
#include "runtime/device/simulator/handlers.h"

#include <algorithm>

namespace lockstitch::simulator {

namespace {

void put(Warp &w, const MemoryAccess &m, unsigned v, unsigned lane,
         uint64_t value) {
  Slot slot = m.slots[v];
  if (slot == NoSlot)
    return;
  unsigned bits = 8 * m.elementBytes;
  if (m.isSigned && bits < 64 && (value >> (bits - 1) & 1))
    value |= ~uint64_t(0) << bits;
  if (m.wide[v])
    w.dst<uint64_t>(slot)[lane] = value;
  else
    w.dst<uint32_t>(slot)[lane] =
        (uint32_t)(m.registerBits[v] == 16 ? value & 0xFFFF : value);
}

/// The address of one lane in its parameter space; flags what is outside.
bool locate(const Op &o, Warp &w, unsigned lane, uint64_t size,
            uint64_t &address) {
  const MemoryAccess &m = *o.memory;
  address = (uint64_t)o.imm;
  if (m.hasBase)
    address +=
        m.wideAddress ? w.src<uint64_t>(o.a)[lane] : w.src<uint32_t>(o.a)[lane];
  if (address >> 32 == ParamWindow >> 32)
    address -= ParamWindow;
  unsigned bytes = m.elementBytes * m.count;
  bool outside = address > size || bytes > size - address;
  if (!outside && address % m.elementBytes == 0)
    return true;
  if (Finding *f = report(
          w, o, outside ? FindingKind::OutOfBounds : FindingKind::Misaligned,
          lane, "a bad access to parameters")) {
    f->address = address;
    f->offset = (int64_t)address;
  }
  return false;
}

void kernelParameter(const Op &o, Warp &w) {
  const MemoryAccess &m = *o.memory;
  const std::vector<uint8_t> &parameters = w.worker->launch->parameters;
  if (!m.hasBase && m.count == 1 && w.mask == ~0u) {
    // The usual one: a value for all; the decoder has checked its place.
    uint64_t value = 0;
    std::memcpy(&value, parameters.data() + o.imm, m.elementBytes);
    if (m.slots[0] == NoSlot)
      return;
    put(w, m, 0, 0, value);
    if (m.wide[0])
      std::fill_n(w.dst<uint64_t>(m.slots[0]), 32,
                  *w.dst<uint64_t>(m.slots[0]));
    else
      std::fill_n(w.dst<uint32_t>(m.slots[0]), 32,
                  *w.dst<uint32_t>(m.slots[0]));
    return;
  }
  for (uint32_t left = w.mask; left; left &= left - 1) {
    unsigned i = (unsigned)__builtin_ctz(left);
    uint64_t address;
    bool ok = locate(o, w, i, parameters.size(), address);
    for (unsigned v = 0; v < m.count; ++v) {
      uint64_t value = 0;
      if (ok)
        std::memcpy(&value, parameters.data() + address + v * m.elementBytes,
                    m.elementBytes);
      put(w, m, v, i, value);
    }
  }
}

template <bool IsLoad> void threadParameter(const Op &o, Warp &w) {
  const MemoryAccess &m = *o.memory;
  uint64_t size = w.worker->launch->program->threadParamBytes;
  for (uint32_t left = w.mask; left; left &= left - 1) {
    unsigned i = (unsigned)__builtin_ctz(left);
    uint64_t address;
    if (!locate(o, w, i, size, address))
      continue;
    char *area =
        w.block->threadParams.data() + ((size_t)w.id * 32 + i) * size + address;
    for (unsigned v = 0; v < m.count; ++v) {
      uint64_t value = 0;
      if constexpr (IsLoad) {
        std::memcpy(&value, area + v * m.elementBytes, m.elementBytes);
        put(w, m, v, i, value);
      } else {
        value = m.wide[v] ? w.src<uint64_t>(m.slots[v])[i]
                          : w.src<uint32_t>(m.slots[v])[i];
        std::memcpy(area + v * m.elementBytes, &value, m.elementBytes);
      }
    }
  }
}

} // namespace

Handler kernelParameterHandler() { return kernelParameter; }
Handler threadParameterHandler(bool isLoad) {
  return isLoad ? threadParameter<true> : threadParameter<false>;
}

void copyParameters(Warp &w, const std::vector<ParameterCopy> &copies) {
  uint64_t size = w.worker->launch->program->threadParamBytes;
  for (const ParameterCopy &copy : copies)
    for (uint32_t left = w.mask; left; left &= left - 1) {
      unsigned i = (unsigned)__builtin_ctz(left);
      char *area =
          w.block->threadParams.data() + ((size_t)w.id * 32 + i) * size;
      std::memcpy(area + copy.to, area + copy.from, copy.bytes);
    }
}

} // namespace lockstitch::simulator
