#include "compiler/schedule/place_syncs.h"

#include <algorithm>
#include <set>
#include <sstream>

namespace lockstitch {
namespace {

bool isHazard(const SharedAccess &a, const SharedAccess &b) {
  return (a.isWrite || b.isWrite) && !(a.isOwn && b.isOwn) && a.begin < b.end &&
         b.begin < a.end;
}

std::string describe(const SharedAccess &first, const SharedAccess &then) {
  auto verb = [](const SharedAccess &access) {
    return access.isWrite ? std::string("written") : std::string("read");
  };
  return first.what + ": " + verb(first) + " by " + first.who + ", " +
         (first.what == then.what ? "" : then.what + " in the same bytes ") +
         verb(then) + " by " + then.who;
}

/// Every access of shared memory, in the order of the lowering.
std::vector<SharedAccess> accessesOf(const StageProgram &program,
                                     const KernelSchedule &schedule) {
  SharedLayout layout = layoutShared(program, schedule);
  std::vector<SharedAccess> accesses;
  std::string warps = std::to_string(schedule.threadsPerRow / 32);
  for (unsigned s = 0; s < program.stages.size(); ++s) {
    for (const StageOp &op : program.stages[s].body.ops) {
      if (op.opcode != StageOpcode::TileLoad &&
          op.opcode != StageOpcode::TileStore)
        continue;
      if (schedule.tiles[op.tile] != TileSpace::Shared)
        continue;
      uint32_t slot = program.tiles[op.tile].slot;
      int64_t begin = layout.slots.offsets[slot];
      accesses.push_back({s, SyncPlace::Body, begin,
                          begin + layout.slots.sizes[slot],
                          op.opcode == StageOpcode::TileStore, true,
                          "tile " + std::to_string(op.tile), "its lane"});
    }
    for (bool isWrite : {true, false}) {
      unsigned number = 0;
      for (const PartialPlace &partial : layout.partials) {
        if (partial.stage != s)
          continue;
        accesses.push_back(
            {s, isWrite ? SyncPlace::StorePartials : SyncPlace::LoadPartials,
             partial.offset, partial.offset + partial.bytes, isWrite, false,
             "partial " + std::to_string(number++) + " of stage " +
                 std::to_string(s),
             isWrite ? "lane 0 of each of " + warps + " warps" : "every lane"});
      }
    }
  }
  return accesses;
}

std::string typesOf(const Stage &stage) {
  std::string text;
  for (const StageReduction &fold : stage.reductions)
    for (ElementType type : fold.types)
      text += (text.empty() ? "" : ", ") + std::string(name(type));
  return text;
}

} // namespace

std::string_view name(SyncLevel level) {
  switch (level) {
  case SyncLevel::Warp:
    return "warp";
  case SyncLevel::Block:
    return "block";
  case SyncLevel::BlockGroup:
    return "block_group";
  case SyncLevel::Grid:
    return "grid";
  }
  return "";
}

std::string_view name(SyncPlace place) {
  switch (place) {
  case SyncPlace::Body:
    return "body";
  case SyncPlace::Exchange:
    return "exchange";
  case SyncPlace::StorePartials:
    return "store_partials";
  case SyncPlace::LoadPartials:
    return "load_partials";
  case SyncPlace::Combine:
    return "combine";
  }
  return "";
}

std::vector<SyncPoint>
separateHazards(const std::vector<SharedAccess> &accesses, bool loop) {
  std::vector<SyncPoint> points;
  std::vector<const SharedAccess *> sinceBarrier;
  auto sameGroup = [](const SharedAccess &a, const SharedAccess &b) {
    return a.stage == b.stage && a.place == b.place;
  };
  for (int round = 0; round < (loop ? 2 : 1); ++round)
    for (size_t first = 0, last; first < accesses.size(); first = last) {
      for (last = first + 1; last < accesses.size() &&
                             sameGroup(accesses[first], accesses[last]);)
        ++last;
      bool isThere = std::any_of(
          points.begin(), points.end(), [&](const SyncPoint &point) {
            return point.stage == accesses[first].stage &&
                   point.place == accesses[first].place;
          });
      const SharedAccess *before = nullptr, *after = nullptr;
      for (size_t i = first; i < last && !before; ++i)
        for (const SharedAccess *known : sinceBarrier)
          if (isHazard(*known, accesses[i])) {
            before = known;
            after = &accesses[i];
            break;
          }
      if (before && !isThere) {
        points.push_back(
            {accesses[first].stage, accesses[first].place, SyncLevel::Block, 0,
             describe(*before, *after) + (round ? " of the next row" : "")});
        isThere = true;
      }
      if (isThere)
        sinceBarrier.clear();
      for (size_t i = first; i < last; ++i)
        sinceBarrier.push_back(&accesses[i]);
    }
  std::sort(points.begin(), points.end(),
            [](const SyncPoint &a, const SyncPoint &b) {
              return std::pair{a.stage, a.place} < std::pair{b.stage, b.place};
            });
  return points;
}

std::vector<SyncPoint> placeSyncs(const StageProgram &program,
                                  const KernelSchedule &schedule) {
  // A block takes its rows side by side and none after another: no loop.
  std::vector<SyncPoint> points =
      separateHazards(accessesOf(program, schedule), /*loop=*/false);
  unsigned lanes = std::min(schedule.threadsPerRow, 32u),
           warps = schedule.threadsPerRow / 32;
  for (unsigned s = 0; s < program.stages.size(); ++s) {
    const Stage &stage = program.stages[s];
    if (stage.reductions.empty())
      continue;
    if (lanes > 1)
      points.push_back({s, SyncPlace::Exchange, SyncLevel::Warp, lanes,
                        "fold of " + typesOf(stage)});
    if (warps > 1)
      points.push_back({s, SyncPlace::Combine, SyncLevel::Warp, warps,
                        "the warps' results of " + typesOf(stage)});
  }
  std::sort(points.begin(), points.end(),
            [](const SyncPoint &a, const SyncPoint &b) {
              return std::pair{a.stage, a.place} < std::pair{b.stage, b.place};
            });
  return points;
}

std::string syncsToString(const StageProgram &program,
                          const KernelSchedule &schedule,
                          const std::vector<SyncPoint> &syncs) {
  std::ostringstream out;
  out << "syncs of " << program.name << ": " << schedule.rowsPerBlock
      << (schedule.rowsPerBlock == 1 ? " row of " : " rows of ")
      << schedule.threadsPerRow
      << (schedule.threadsPerRow == 1 ? " thread" : " threads")
      << " in a block\n";
  for (const SyncPoint &point : syncs) {
    out << "  stage " << point.stage << " " << name(point.place) << ": "
        << name(point.level);
    if (point.level == SyncLevel::Warp)
      out << " of " << point.lanes << " lanes";
    out << ", " << point.reason << "\n";
  }
  for (size_t i = 0; i < program.tiles.size(); ++i)
    out << "  tile " << i << " in " << name(schedule.tiles[i])
        << ": none, a column is read by the lane that wrote it\n";
  return out.str();
}

} // namespace lockstitch
