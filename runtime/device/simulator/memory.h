//===- memory.h - simulated device memory -----------------------*- C++ -*-===//
//
// Global memory of the simulated device. Addresses are the simulator's own
// and the same in every run; a base is aligned to 256 bytes and never better,
// and allocations lie at least a page apart, so that a kernel that relies on
// luck is found out. Beside the bytes lie one init bit per byte and, page by
// page and only where a launch touches them, the cells of the race checker.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/simulator/diagnostic.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace lockstitch::simulator {

struct ShadowPage;
class AccessTable;

/// One allocation. Public so that the executor can keep pointers to it; users
/// go through Memory.
struct Allocation {
  static constexpr unsigned PageShift = 12;

  Allocation();
  ~Allocation();

  uint64_t base = 0;
  uint64_t size = 0;
  char *host = nullptr;
  std::string name;
  bool readOnly = false;
  bool allInitialised = false;                        // no bits are kept
  std::vector<uint64_t> initialised;                  // one bit per byte
  std::unique_ptr<std::atomic<ShadowPage *>[]> pages; // made when touched
  uint64_t numPages = 0;
  std::unique_ptr<char[]> storage; // unless adopted

  bool contains(uint64_t address, uint64_t bytes) const {
    return address >= base && bytes <= size && address - base <= size - bytes;
  }
  void setInitialised(uint64_t offset, uint64_t bytes, bool value);
  bool isInitialised(uint64_t offset, uint64_t bytes) const;
  /// Offset of the first byte in the range that is not initialised.
  uint64_t firstUninitialised(uint64_t offset, uint64_t bytes) const;
  ShadowPage *page(uint64_t index);
};

class Memory {
public:
  Memory();
  ~Memory();
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;

  /// Uninitialised device memory, filled with a poison pattern; returns its
  /// address, or 0 when the host has no such memory. A size of 0 gives a valid
  /// address with no byte behind it.
  uint64_t allocate(uint64_t bytes, std::string name = {});

  /// Makes \p bytes of host memory visible to kernels without a copy; they
  /// count as initialised. The caller keeps the memory alive.
  uint64_t adopt(void *host, uint64_t bytes, std::string name = {},
                 bool readOnly = false);

  /// False where no allocation starts at \p address.
  bool free(uint64_t address);

  bool write(uint64_t address, const void *data, uint64_t bytes);
  bool read(uint64_t address, void *data, uint64_t bytes) const;

  /// For whoever works on the memory from outside, such as library calls on
  /// the host: the bytes themselves, or null where the range does not lie
  /// within one allocation. Call markInitialised() for what was written.
  void *hostPointer(uint64_t address, uint64_t bytes);

  bool markInitialised(uint64_t address, uint64_t bytes);
  /// The content is now meaningless, as when a slice of an arena gets its next
  /// tensor: reading it before it is written is a finding.
  bool markUninitialised(uint64_t address, uint64_t bytes);
  bool setReadOnly(uint64_t address, bool readOnly);

  uint64_t bytesAllocated() const { return BytesAllocated; }

  // For the executor.
  Allocation *find(uint64_t address) const;
  /// The last allocation that starts at or below \p address.
  Allocation *findBelow(uint64_t address) const;
  std::mutex &launchMutex() { return LaunchMutex; }
  AccessTable &accessTable() { return *Table; } // kept between launches
  uint32_t nextLaunch() { return ++Launches; }
  /// Addresses of the variables of the modules that ran here, by module.
  std::unordered_map<uint64_t, std::unordered_map<std::string, uint64_t>>
      moduleVariables;

private:
  uint64_t place(std::unique_ptr<Allocation> allocation);

  std::vector<std::unique_ptr<Allocation>> Allocations; // by address
  uint64_t NextBase;
  uint64_t BytesAllocated = 0;
  std::mutex LaunchMutex;
  std::unique_ptr<AccessTable> Table;
  uint32_t Launches = 0;
};

} // namespace lockstitch::simulator
