//===- memory.cpp - simulated device memory -------------------------------===//
#include "runtime/device/simulator/memory.h"
#include "runtime/device/simulator/race_shadow.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace lockstitch::simulator {

namespace {
constexpr uint64_t FirstBase = uint64_t(0x10) << 32;
constexpr uint64_t Gap = 8192;
constexpr unsigned char Poison = 0xCB; // a large negative float, a wild index
} // namespace

Allocation::Allocation() = default;
Allocation::~Allocation() {
  for (uint64_t i = 0; i < numPages; ++i)
    delete pages[i].load(std::memory_order_relaxed);
}

ShadowPage *Allocation::page(uint64_t index) {
  ShadowPage *page = pages[index].load(std::memory_order_acquire);
  if (page)
    return page;
  ShadowPage *made = new ShadowPage;
  if (pages[index].compare_exchange_strong(page, made,
                                           std::memory_order_acq_rel))
    return made;
  delete made; // another worker was faster
  return page;
}

void Allocation::setInitialised(uint64_t offset, uint64_t bytes, bool value) {
  if (allInitialised || bytes == 0)
    return;
  // Workers set bits of neighbouring bytes at the same time.
  auto apply = [&](uint64_t word, uint64_t bits) {
    uint64_t now = __atomic_load_n(&initialised[word], __ATOMIC_RELAXED);
    if (((value ? ~now : now) & bits) == 0)
      return; // as it should be already: no locked instruction
    if (bits == ~uint64_t(0))
      __atomic_store_n(&initialised[word], value ? bits : 0, __ATOMIC_RELAXED);
    else if (value)
      __atomic_fetch_or(&initialised[word], bits, __ATOMIC_RELAXED);
    else
      __atomic_fetch_and(&initialised[word], ~bits, __ATOMIC_RELAXED);
  };
  uint64_t last = offset + bytes - 1;
  uint64_t first = offset >> 6, end = last >> 6;
  uint64_t head = ~uint64_t(0) << (offset & 63);
  uint64_t tail = ~uint64_t(0) >> (63 - (last & 63));
  if (first == end)
    return apply(first, head & tail);
  apply(first, head);
  for (uint64_t w = first + 1; w < end; ++w)
    __atomic_store_n(&initialised[w], value ? ~uint64_t(0) : 0,
                     __ATOMIC_RELAXED);
  apply(end, tail);
}

bool Allocation::isInitialised(uint64_t offset, uint64_t bytes) const {
  if (allInitialised || bytes == 0)
    return true;
  auto word = [&](uint64_t w) {
    return __atomic_load_n(&initialised[w], __ATOMIC_RELAXED);
  };
  uint64_t last = offset + bytes - 1;
  uint64_t first = offset >> 6, end = last >> 6;
  uint64_t head = ~uint64_t(0) << (offset & 63);
  uint64_t tail = ~uint64_t(0) >> (63 - (last & 63));
  if (first == end)
    return (word(first) & head & tail) == (head & tail);
  if ((word(first) & head) != head || (word(end) & tail) != tail)
    return false;
  for (uint64_t w = first + 1; w < end; ++w)
    if (~word(w))
      return false;
  return true;
}

uint64_t Allocation::firstUninitialised(uint64_t offset, uint64_t bytes) const {
  for (uint64_t i = offset; i < offset + bytes; ++i)
    if (!(initialised[i >> 6] >> (i & 63) & 1))
      return i;
  return offset;
}

Memory::Memory()
    : NextBase(FirstBase + 256), Table(std::make_unique<AccessTable>()) {}
Memory::~Memory() = default;

uint64_t Memory::place(std::unique_ptr<Allocation> allocation) {
  uint64_t base = NextBase;
  allocation->base = base;
  // The next multiple of 512, a gap, and 256 more: never better aligned.
  NextBase = ((base + allocation->size + 511) & ~uint64_t(511)) + Gap + 256;
  allocation->numPages =
      ((allocation->size + (base & 4095)) >> Allocation::PageShift) + 1;
  allocation->pages.reset(
      new std::atomic<ShadowPage *>[allocation->numPages]());
  BytesAllocated += allocation->size;
  Allocations.push_back(std::move(allocation));
  return base;
}

uint64_t Memory::allocate(uint64_t bytes, std::string name) {
  if (bytes > (uint64_t(1) << 46))
    return 0;
  auto allocation = std::make_unique<Allocation>();
  // 256 bytes of slack put the host address where the device address says.
  char *raw = new (std::nothrow) char[bytes + 512];
  if (!raw)
    return 0;
  allocation->storage.reset(raw);
  uint64_t skew = (256 - ((uintptr_t)raw & 255)) & 255;
  allocation->host = raw + skew;
  allocation->size = bytes;
  allocation->name = std::move(name);
  std::memset(allocation->host, Poison, bytes);
  allocation->initialised.assign((bytes + 63) / 64, 0);
  return place(std::move(allocation));
}

uint64_t Memory::adopt(void *host, uint64_t bytes, std::string name,
                       bool readOnly) {
  auto allocation = std::make_unique<Allocation>();
  allocation->host = static_cast<char *>(host);
  allocation->size = bytes;
  allocation->name = std::move(name);
  allocation->readOnly = readOnly;
  allocation->allInitialised = true;
  return place(std::move(allocation));
}

Allocation *Memory::findBelow(uint64_t address) const {
  auto it = std::upper_bound(
      Allocations.begin(), Allocations.end(), address,
      [](uint64_t a, const auto &entry) { return a < entry->base; });
  return it == Allocations.begin() ? nullptr : std::prev(it)->get();
}

Allocation *Memory::find(uint64_t address) const {
  Allocation *candidate = findBelow(address);
  bool inside = candidate && (address - candidate->base < candidate->size ||
                              address == candidate->base);
  return inside ? candidate : nullptr;
}

bool Memory::free(uint64_t address) {
  Allocation *allocation = find(address);
  if (!allocation || allocation->base != address)
    return false;
  BytesAllocated -= allocation->size;
  Allocations.erase(std::find_if(
      Allocations.begin(), Allocations.end(),
      [&](const auto &entry) { return entry.get() == allocation; }));
  return true;
}

void *Memory::hostPointer(uint64_t address, uint64_t bytes) {
  Allocation *allocation = find(address);
  if (!allocation || !allocation->contains(address, bytes))
    return nullptr;
  return allocation->host + (address - allocation->base);
}

bool Memory::write(uint64_t address, const void *data, uint64_t bytes) {
  void *host = hostPointer(address, bytes);
  if (!host)
    return false;
  if (bytes)
    std::memcpy(host, data, bytes);
  return markInitialised(address, bytes);
}

bool Memory::read(uint64_t address, void *data, uint64_t bytes) const {
  Allocation *allocation = find(address);
  if (!allocation || !allocation->contains(address, bytes))
    return false;
  if (bytes)
    std::memcpy(data, allocation->host + (address - allocation->base), bytes);
  return true;
}

bool Memory::markInitialised(uint64_t address, uint64_t bytes) {
  Allocation *allocation = find(address);
  if (!allocation || !allocation->contains(address, bytes))
    return false;
  allocation->setInitialised(address - allocation->base, bytes, true);
  return true;
}

bool Memory::markUninitialised(uint64_t address, uint64_t bytes) {
  Allocation *allocation = find(address);
  if (!allocation || !allocation->contains(address, bytes))
    return false;
  if (allocation->allInitialised) {
    allocation->allInitialised = false;
    allocation->initialised.assign((allocation->size + 63) / 64, ~uint64_t(0));
  }
  allocation->setInitialised(address - allocation->base, bytes, false);
  return true;
}

bool Memory::setReadOnly(uint64_t address, bool readOnly) {
  Allocation *allocation = find(address);
  if (!allocation)
    return false;
  allocation->readOnly = readOnly;
  return true;
}

} // namespace lockstitch::simulator
