//===- sync_order.h - order between blocks ----------------------*- C++ -*-===//
//
// Release and acquire through words of memory. Each word that a strong write
// (volatile, relaxed, release, atomic) touched has a log: a write starts a new
// log, an atomic read-modify-write appends to it. An entry says what its writer
// released: the clocks of the warps of its block that it knew, and the
// knowledge it had of other logs. To know a log up to a position is to know
// all of its entries up to there; so a warp's knowledge of a thousand blocks
// that met at one counter is a single pair {log, position}.
//
// Who releases: st.release, red/atom with .release or .acq_rel, and every
// strong write after a fence of the same warp. Who acquires: ld.acquire,
// atom.acquire/.acq_rel, a fence after a strong read and, as the CUDA guide's
// last-block example relies on it, an atomic whose result is used right after a
// fence of the same thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace lockstitch::simulator {

/// Pairs of log and position, sorted by log.
struct Knowledge {
  struct Item {
    uint32_t log, position;
  };
  std::vector<Item> items;

  void add(uint32_t log, uint32_t position);
  bool includes(uint32_t log, uint32_t position) const;
  void join(const Knowledge &other);
  bool empty() const { return items.empty(); }
  void clear() { items.clear(); }
};

class SyncOrder {
public:
  /// Who writes a word, and what that releases: nothing when clocks is null.
  /// The write itself has a clock of its own, and is known with the rest.
  struct Writer {
    uint32_t block, warp, clock;
    const std::vector<uint32_t> *clocks;
    const Knowledge *knowledge;
  };
  /// A write that starts a new log for the word.
  void write(uint64_t word, const Writer &writer);
  /// A read-modify-write continues the log.
  void append(uint64_t word, const Writer &writer);
  /// What a strong read of the word may acquire, beyond \p known.
  void observe(uint64_t word, const Knowledge &known, Knowledge &into) const;
  /// Whether accesses of that warp up to \p clock are known.
  bool knows(const Knowledge &knowledge, uint32_t block, uint32_t warp,
             uint32_t clock) const;
  void reset();

private:
  struct Entry {
    uint32_t position, warp, clock;
    std::vector<uint32_t> clocks;
  };
  struct Log {
    uint32_t length = 0;
    std::unordered_map<uint32_t, std::vector<Entry>> byBlock;
    // Knowledge that entries passed on, cumulative: valid from a position on.
    std::vector<std::pair<uint32_t, Knowledge>> passed;
  };
  bool knows(uint32_t log, uint32_t position, uint32_t block, uint32_t warp,
             uint32_t clock) const;
  void addEntry(Log &log, uint32_t self, const Writer &writer);

  std::unordered_map<uint64_t, uint32_t> Current; // word -> log
  std::vector<Log> Logs;
};

} // namespace lockstitch::simulator
