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

bool Knowledge::includes(uint32_t log, uint32_t position) const {
  auto it = std::lower_bound(
      items.begin(), items.end(), log,
      [](const Item &item, uint32_t key) { return item.log < key; });
  return it != items.end() && it->log == log && it->position >= position;
}

void Knowledge::join(const Knowledge &other) {
  if (other.items.empty())
    return;
  if (items.empty()) {
    items = other.items;
    return;
  }
  std::vector<Item> both;
  both.reserve(items.size() + other.items.size());
  size_t i = 0, k = 0;
  while (i < items.size() || k < other.items.size()) {
    if (k == other.items.size() ||
        (i < items.size() && items[i].log < other.items[k].log)) {
      both.push_back(items[i++]);
    } else if (i == items.size() || other.items[k].log < items[i].log) {
      both.push_back(other.items[k++]);
    } else {
      both.push_back(
          {items[i].log, std::max(items[i].position, other.items[k].position)});
      ++i, ++k;
    }
  }
  items = std::move(both);
}

void SyncOrder::addEntry(Log &log, uint32_t self, const Writer &writer) {
  ++log.length;
  if (!writer.clocks)
    return;
  log.byBlock[writer.block].push_back(
      {log.length, writer.warp, writer.clock, *writer.clocks});
  // What the writer knew of this very log is older than its entry.
  bool isNew = false;
  for (const Knowledge::Item &item : writer.knowledge->items)
    isNew |= item.log != self &&
             (log.passed.empty() ||
              !log.passed.back().second.includes(item.log, item.position));
  if (!isNew)
    return;
  Knowledge passed = *writer.knowledge;
  if (!log.passed.empty())
    passed.join(log.passed.back().second);
  log.passed.push_back({log.length, std::move(passed)});
}

void SyncOrder::write(uint64_t word, const Writer &writer) {
  uint32_t id = (uint32_t)Logs.size();
  Logs.emplace_back();
  Current[word] = id;
  addEntry(Logs.back(), id, writer);
}

void SyncOrder::append(uint64_t word, const Writer &writer) {
  auto it = Current.find(word);
  if (it == Current.end())
    return write(word, writer);
  addEntry(Logs[it->second], it->second, writer);
}

void SyncOrder::observe(uint64_t word, const Knowledge &known,
                        Knowledge &into) const {
  auto it = Current.find(word);
  if (it == Current.end() || !Logs[it->second].length)
    return;
  const Log &log = Logs[it->second];
  if (known.includes(it->second, log.length) ||
      into.includes(it->second, log.length))
    return; // and with it all that was passed on
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
      for (auto e = entries.begin(); e != last; ++e)
        if (e->warp == warp && e->clock == clock)
          return true;
    }
  }
  return false;
}

bool SyncOrder::knows(const Knowledge &knowledge, uint32_t block, uint32_t warp,
                      uint32_t clock) const {
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
