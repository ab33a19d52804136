// Where the lanes of a row must wait for each other, and why. Code generation puts a barrier or an exchange where this says,
// and nowhere else.
//
// Two accesses of one byte of memory that lanes share, at least one of them a write, by different lanes, are a *hazard*: a
// barrier must lie between them. The accesses of a row are walked in the order in which every lane makes them; a barrier is put
// before a group of accesses as soon as one of it is in hazard with an access since the last barrier. That is the latest
// place, and so the fewest barriers. In a loop over rows the walk goes around once more: what the end of a row reads, the
// beginning of the next may not overwrite.
//
// Hazards come from partial results only: what the warps of a row hand each other. A tile needs no barrier, wherever it lives:
// a column is read by the lane that wrote it. Values within a warp are exchanged by shuffles, which wait for the lanes that
// they name.
#ifndef LOCKSTITCH_COMPILER_SCHEDULE_PLACE_SYNCS_H
#define LOCKSTITCH_COMPILER_SCHEDULE_PLACE_SYNCS_H

#include "compiler/schedule/memory_layout.h"

namespace lockstitch {

/// Who waits for whom. Nothing yields BlockGroup and Grid in this version: no schedule spreads a row over blocks.
enum class SyncLevel : uint8_t { Warp, Block, BlockGroup, Grid };

/// "warp", "block", "block_group", "grid".
std::string_view name(SyncLevel level);

/// Places within a stage, in their order.
enum class SyncPlace : uint8_t {
  Body,     // before the columns
  Exchange, // after the columns: the lanes of a warp combine their accumulators
  StorePartials, // before the warps' results are stored
  LoadPartials,  // before all of them are loaded
  Combine,       // the lanes of each warp combine the warps' results
};

/// "body", "exchange", "store_partials", "load_partials", "combine".
std::string_view name(SyncPlace place);

struct SyncPoint {
  unsigned stage = 0;
  SyncPlace place = SyncPlace::Body;
  SyncLevel level = SyncLevel::Block;
  unsigned lanes = 0; // Warp: neighbouring lanes that combine, a power of two
  std::string reason;
  bool operator==(const SyncPoint &) const = default;
};

/// One access of memory that the lanes of a block share.
struct SharedAccess {
  unsigned stage = 0;
  SyncPlace place = SyncPlace::Body; // accesses of one place have no order
  int64_t begin = 0, end = 0;        // bytes
  bool isWrite = false;
  bool isOwn = false; // each lane accesses only bytes that no other lane does
  std::string what;   // "partial 0 of stage 1"
  std::string who;    // "lane 0 of each of 4 warps"
};

/// The fewest barriers that separate all hazards of `accesses` (in order). `loop`: the sequence is repeated.
std::vector<SyncPoint>
separateHazards(const std::vector<SharedAccess> &accesses, bool loop);

/// All sync points of a GPU kernel, ordered by stage and place.
std::vector<SyncPoint> placeSyncs(const StageProgram &program,
                                  const KernelSchedule &schedule);

/// One line per point, and one per tile that needs none:
///
///   syncs of k0: 1 row of 128 threads in a block
///     stage 0 exchange: warp of 32 lanes, fold of f32
///     stage 0 load_partials: block, partial 0 of stage 0: written by lane 0 of each of 4 warps, read by every lane
///     stage 0 combine: warp of 4 lanes, the warps' results of f32
///     tile 0 in register: none, a column is read by the lane that wrote it
std::string syncsToString(const StageProgram &program,
                          const KernelSchedule &schedule,
                          const std::vector<SyncPoint> &syncs);

} // namespace lockstitch

#endif // LOCKSTITCH_COMPILER_SCHEDULE_PLACE_SYNCS_H
