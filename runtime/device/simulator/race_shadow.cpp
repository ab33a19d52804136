//===- race_shadow.cpp - cells and the table of accesses ------------------===//
#include "runtime/device/simulator/race_shadow.h"

#include <algorithm>

namespace lockstitch::simulator {

AccessTable::AccessTable() : Chunks(MaxId >> ChunkBits) {}

AccessTable::~AccessTable() {
  for (auto &chunk : Chunks)
    delete[] chunk.load(std::memory_order_relaxed);
}

uint32_t AccessTable::newChunk() {
  uint32_t chunk = Next.fetch_add(1, std::memory_order_relaxed);
  if (chunk >= Chunks.size()) {
    Next.store((uint32_t)Chunks.size(), std::memory_order_relaxed);
    overflowed = true;
    return 0;
  }
  if (!Chunks[chunk].load(std::memory_order_relaxed))
    Chunks[chunk].store(new AccessRecord[1u << ChunkBits],
                        std::memory_order_release);
  return chunk << ChunkBits;
}

void AccessTable::reset() {
  Next.store(1, std::memory_order_relaxed);
  overflowed = false;
}

void ShadowPage::reset(uint32_t bytesOfPage, uint32_t forLaunch) {
  launch = forLaunch;
  bytes = bytesOfPage;
  shift = 2;
  size_t cells = ((size_t)bytes + 3) / 4;
  writers.assign(cells, 0);
  readers.assign(cells, 0);
}

void ShadowPage::refine(uint8_t newShift) {
  if (newShift >= shift)
    return;
  unsigned times = 1u << (shift - newShift);
  for (std::vector<uint32_t> *cells : {&writers, &readers}) {
    std::vector<uint32_t> finer(cells->size() * times);
    for (size_t i = 0; i < finer.size(); ++i)
      finer[i] = (*cells)[i / times];
    *cells = std::move(finer);
  }
  shift = newShift;
}

} // namespace lockstitch::simulator
