//===- sync_order.cpp - order between blocks ------------------------------===//
#include "runtime/device/simulator/sync_order.h"

#include <algorithm>

namespace lockstitch::simulator {

void Knowledge::add(uint32_t log, uint32_t position) {
  auto it = std::lower_bound(
      items.begin(), items.end(), log,
      [](const Item &item, uint32_t key) { return item.log < key; });
  if (it != items.end() && it->log == log)
    it->position = std::max(it->position, position);
  else
    items.insert(it, {log, position});
}

void Knowledge::join(const Knowledge &other) {
  if (items.empty()) {
    items = other.items;
    return;
  }
  for (const Item &item : other.items)
    add(item.log, item.position);
}

void SyncOrder::addEntry(Log &log, uint32_t self, uint32_t block,
                         const std::vector<uint32_t> *clocks,
                         const Knowledge *knowledge) {
  ++log.length;
  if (!clocks)
    return;
  log.byBlock[block].push_back({log.length, *clocks});
  if (!knowledge)
    return;
  // What the writer knew of this very log is older than its entry.
  Knowledge passed;
  if (!log.passed.empty())
    passed = log.passed.back().second;
  bool isNew = false;
  for (const Knowledge::Item &item : knowledge->items) {
    if (item.log == self)
      continue;
    auto it = std::find_if(
        passed.items.begin(), passed.items.end(),
        [&](const Knowledge::Item &k) { return k.log == item.log; });
    if (it != passed.items.end() && it->position >= item.position)
      continue;
    passed.add(item.log, item.position);
    isNew = true;
  }
  if (isNew)
    log.passed.push_back({log.length, std::move(passed)});
}

void SyncOrder::write(uint64_t word, uint32_t block,
                      const std::vector<uint32_t> *clocks,
                      const Knowledge *knowledge) {
  uint32_t id = (uint32_t)Logs.size();
  Logs.emplace_back();
  Current[word] = id;
  addEntry(Logs.back(), id, block, clocks, knowledge);
}

void SyncOrder::append(uint64_t word, uint32_t block,
                       const std::vector<uint32_t> *clocks,
                       const Knowledge *knowledge) {
  auto it = Current.find(word);
  if (it == Current.end())
    return write(word, block, clocks, knowledge);
  addEntry(Logs[it->second], it->second, block, clocks, knowledge);
}

void SyncOrder::observe(uint64_t word, Knowledge &into) const {
  auto it = Current.find(word);
  if (it == Current.end() || !Logs[it->second].length)
    return;
  const Log &log = Logs[it->second];
  into.add(it->second, log.length);
  if (!log.passed.empty())
    into.join(log.passed.back().second);
}

bool SyncOrder::knows(uint32_t logId, uint32_t position, uint32_t block,
                      uint32_t warp, uint32_t clock) const {
  const Log &log = Logs[logId];
  if (auto it = log.byBlock.find(block); it != log.byBlock.end()) {
    const std::vector<Entry> &entries = it->second;
    auto last = std::partition_point(
        entries.begin(), entries.end(),
        [&](const Entry &e) { return e.position <= position; });
    if (last != entries.begin()) {
      const Entry &entry = *std::prev(last);
      if (warp < entry.clocks.size() && entry.clocks[warp] >= clock)
        return true;
    }
  }
  return false;
}

bool SyncOrder::knows(const Knowledge &knowledge, uint32_t block,
                      uint32_t warp, uint32_t clock) const {
  // Recent logs first: chains of grid barriers pass the newest knowledge on.
  for (size_t i = knowledge.items.size(); i-- > 0;)
    if (knows(knowledge.items[i].log, knowledge.items[i].position, block, warp,
              clock))
      return true;
  return false;
}

void SyncOrder::reset() {
  Current.clear();
  Logs.clear();
}

} // namespace lockstitch::simulator
