#include "compiler/schedule/memory_layout.h"

#include <algorithm>

namespace lockstitch {
namespace {

constexpr int64_t kSharedAlignment = 16; // of a vector access

int64_t alignUp(int64_t value, int64_t to) {
  return (value + to - 1) / to * to;
}

} // namespace

SlotLayout layoutSlots(const StageProgram &program,
                       const KernelSchedule &schedule, TileSpace space,
                       int64_t alignment) {
  SlotLayout layout;
  for (size_t i = 0; i < program.tiles.size(); ++i) {
    const StageTile &tile = program.tiles[i];
    if (layout.sizes.size() <= tile.slot)
      layout.sizes.resize(tile.slot + 1, 0);
    if (i < schedule.tiles.size() && schedule.tiles[i] == space)
      layout.sizes[tile.slot] =
          std::max(layout.sizes[tile.slot],
                   tile.columns * static_cast<int64_t>(byteSize(tile.type)));
  }
  for (int64_t size : layout.sizes) {
    layout.offsets.push_back(layout.bytes);
    layout.bytes += alignUp(size, alignment);
  }
  return layout;
}

SharedLayout layoutShared(const StageProgram &program,
                          const KernelSchedule &schedule) {
  SharedLayout layout;
  layout.slots =
      layoutSlots(program, schedule, TileSpace::Shared, kSharedAlignment);
  layout.bytes = layout.slots.bytes * schedule.rowsPerBlock;
  if (schedule.threadsPerRow <= 32)
    return layout;
  int64_t warps = schedule.threadsPerRow / 32;
  int64_t setBytes[2] = {0, 0};
  unsigned set = 0;
  std::vector<unsigned> setOf;
  for (unsigned s = 0; s < program.stages.size(); ++s) {
    const Stage &stage = program.stages[s];
    if (stage.reductions.empty())
      continue;
    int64_t at = 0;
    for (unsigned f = 0; f < stage.reductions.size(); ++f)
      for (unsigned a = 0; a < stage.reductions[f].types.size(); ++a) {
        ElementType type = stage.reductions[f].types[a];
        int64_t bytes = warps * static_cast<int64_t>(byteSize(type));
        layout.partials.push_back({s, f, a, type, at, bytes});
        setOf.push_back(set);
        at += alignUp(bytes, kSharedAlignment);
      }
    setBytes[set] = std::max(setBytes[set], at);
    set ^= 1;
  }
  for (size_t i = 0; i < setOf.size(); ++i)
    layout.partials[i].offset += layout.bytes + (setOf[i] ? setBytes[0] : 0);
  layout.bytes += setBytes[0] + setBytes[1];
  return layout;
}

int64_t hostScratchBytes(const StageProgram &program,
                         const KernelSchedule &schedule) {
  return layoutSlots(program, schedule, TileSpace::Scratch, kScratchAlignment)
      .bytes;
}

void placeTiles(const StageProgram &program, bool isGpu,
                KernelSchedule &schedule) {
  schedule.tiles.assign(program.tiles.size(), !isGpu ? TileSpace::Scratch
                                              : schedule.unrollColumns
                                                  ? TileSpace::Register
                                                  : TileSpace::Shared);
}

std::optional<std::string> checkTiles(const StageProgram &program,
                                      const KernelSchedule &schedule) {
  if (schedule.tiles.size() != program.tiles.size())
    return "the schedule has places for " +
           std::to_string(schedule.tiles.size()) + " tiles of " +
           std::to_string(program.tiles.size());
  std::vector<const StageTile *> first;
  for (const StageTile &tile : program.tiles) {
    if (first.size() <= tile.slot)
      first.resize(tile.slot + 1, nullptr);
    const StageTile *&other = first[tile.slot];
    if (!other)
      other = &tile;
    else if (byteSize(other->type) != byteSize(tile.type))
      return "tiles of " + std::string(name(other->type)) + " and " +
             std::string(name(tile.type)) + " share slot " +
             std::to_string(tile.slot);
  }
  return std::nullopt;
}

} // namespace lockstitch
