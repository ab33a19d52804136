#include "compiler/schedule/score_schedule.h"

#include "compiler/schedule/stage_walk.h"

#include <bit>
#include <cmath>

namespace lockstitch {
namespace {

constexpr double kCachedAgain = 1 / 2.5; // of the price of a byte from memory
constexpr double kSectorBytes = 32;
constexpr double kBarrierInstructions = 20; // waiting, as issue slots
constexpr double kThreadInstructions = 20;  // which row, which columns
constexpr double kAddressInstructions = 4;  // of one access
constexpr int64_t kBaseRegisters = 24;

double instructionsOf(ScalarOpcode opcode) {
  if (isTranscendental(opcode))
    return 20;
  switch (opcode) {
  case ScalarOpcode::Constant:
    return 0;
  case ScalarOpcode::Div:
  case ScalarOpcode::Rem:
  case ScalarOpcode::Sqrt:
    return 8;
  default:
    return 1;
  }
}

/// Sectors that one row of `bytes` bytes side by side takes, a fraction where rows share a warp's access.
double sectorsOfRow(double bytes, double elementBytes,
                    const KernelSchedule &schedule) {
  double lanes = std::min(schedule.threadsPerRow, 32u);
  double step = lanes * schedule.vectorWidth * elementBytes; // of a warp
  // Where rows begin within a sector, each access of a part of one touches one sector more.
  double more = std::fmod(bytes, kSectorBytes) == 0 ? 0 : 1;
  if (schedule.threadsPerRow < 32 && bytes <= step) {
    // Several whole rows in one access, one behind the other.
    double rows = std::min<double>(32 / lanes, schedule.rowsPerBlock);
    more = std::fmod(bytes * rows, kSectorBytes) == 0 ? 0 : 1;
    return (bytes * rows / kSectorBytes + more) / rows;
  }
  double accesses = std::ceil(bytes / step);
  return std::max(bytes, std::min(step, kSectorBytes) * accesses) /
             kSectorBytes +
         more * accesses;
}

double log2Of(int64_t value) {
  return std::log2(static_cast<double>(std::max<int64_t>(value, 1)));
}

} // namespace

ScheduleScorer::ScheduleScorer(const StageProgram &program,
                               const ScheduleTarget &target)
    : program(program), target(target) {
  countWork();
}

void ScheduleScorer::countWork() {
  for (const Stage &stage : program.stages) {
    StageWork entry;
    auto count = [](double &instructions) {
      return [&instructions](const StageOp &op, double times) {
        if (op.opcode == StageOpcode::Scalar)
          instructions += times * instructionsOf(op.scalar);
        else if (op.opcode == StageOpcode::Loop)
          instructions += times * 2 * static_cast<double>(op.loop->trips);
      };
    };
    forEachOp(stage.body, count(entry.perElement));
    forEachOp(stage.finish, count(entry.perRow));
    for (const StageReduction &fold : stage.reductions) {
      entry.accumulators += static_cast<int64_t>(fold.types.size());
      entry.perElement += static_cast<double>(fold.update.results.size());
    }
    for (const StageOp &op : stage.body.ops)
      entry.inFlight += op.opcode == StageOpcode::Load;
    work.push_back(entry);
  }
}

const std::vector<ScheduleScorer::StageAccess> &
ScheduleScorer::accesses(unsigned width) {
  auto [at, isNew] = byWidth.try_emplace(width);
  std::vector<StageAccess> &list = at->second;
  if (!isNew)
    return list;
  std::vector<std::pair<uint32_t, const IndexExpr *>> readBefore;
  for (unsigned s = 0; s < program.stages.size(); ++s) {
    const Stage &stage = program.stages[s];
    std::vector<std::pair<uint32_t, const IndexExpr *>> readHere;
    auto add = [&](const StageOp &op, double times) {
      if (!isAccess(op))
        return;
      StageAccess access;
      access.stage = s;
      access.isStore = op.opcode == StageOpcode::Store;
      access.elementBytes = static_cast<int64_t>(byteSize(op.type));
      access.times = times;
      access.perRow = op.index.usesDim(kRowDim) || op.index.usesAnyRuntime();
      access.touchesColumn =
          op.index.usesDim(kColumnDim) || op.index.usesAnyRuntime();
      if (access.touchesColumn) {
        AccessKind kind = classifyAccess(program, op.index, stage.columns,
                                         std::max(width, 2u))
                              .kind;
        access.isContiguous = kind == AccessKind::Contiguous;
        access.touchesColumn = kind != AccessKind::Uniform;
      }
      if (!access.isContiguous)
        access.rowsAreNeighbours =
            isRowContiguous(program, op.index, stage.columns);
      access.isRepeated =
          !access.isStore && std::any_of(readBefore.begin(), readBefore.end(),
                                         [&](const auto &known) {
                                           return known.first == op.argument &&
                                                  *known.second == op.index;
                                         });
      if (!access.isStore)
        readHere.push_back({op.argument, &op.index});
      list.push_back(access);
    };
    forEachOp(stage.body, add);
    auto addRow = [&](const StageOp &op, double times) {
      add(op, times);
      if (isAccess(op))
        list.back().touchesColumn = list.back().isContiguous = false;
    };
    forEachOp(stage.finish, addRow);
    readBefore.insert(readBefore.end(), readHere.begin(), readHere.end());
  }
  return list;
}

ScheduleScore ScheduleScorer::score(const KernelSchedule &schedule) {
  const cost::Device &device = deviceOf(target);
  const double width = schedule.vectorWidth, threads = schedule.threadsPerRow,
               rows = static_cast<double>(
                   std::max<int64_t>(program.rows.value(), 1));
  // Rows past the end are read and computed, not stored.
  const double rowsComputed =
      static_cast<double>(schedule.gridX * schedule.rowsPerBlock);
  // Rows whose lanes share a warp, and so an access.
  const double rowsInWarp =
      std::min<double>(std::max(1.0, 32 / threads), schedule.rowsPerBlock);
  auto steps = [&](unsigned stage) {
    return std::ceil(static_cast<double>(program.stages[stage].columns) /
                     (width * threads));
  };

  // Rows that all resident blocks work on together.
  double blocks = static_cast<double>(std::min<int64_t>(
      schedule.gridX,
      device.multiprocessors *
          (2048 / std::max<int64_t>(
                      schedule.threadsPerRow * schedule.rowsPerBlock, 64))));
  double rowBytes = 0;
  for (const StageAccess &access : accesses(schedule.vectorWidth))
    if (access.perRow && !access.isRepeated)
      rowBytes +=
          access.times * static_cast<double>(access.elementBytes) *
          (access.touchesColumn
               ? static_cast<double>(program.stages[access.stage].columns)
               : 1);
  bool rowsAreCached = blocks * schedule.rowsPerBlock * rowBytes <=
                       static_cast<double>(device.l2Bytes);

  double read = 0, written = 0, instructions = kThreadInstructions;
  for (const StageAccess &access : accesses(schedule.vectorWidth)) {
    double columns =
        access.touchesColumn
            ? static_cast<double>(program.stages[access.stage].columns)
            : 1;
    double bytes = static_cast<double>(access.elementBytes), ofRow;
    if (access.isContiguous)
      ofRow = sectorsOfRow(columns * bytes, bytes, schedule) * kSectorBytes;
    else if (!access.touchesColumn)
      ofRow = bytes;
    else
      ofRow = columns * (access.rowsAreNeighbours
                             ? std::max(bytes, kSectorBytes / rowsInWarp)
                             : kSectorBytes);
    double total = ofRow * access.times *
                   (!access.perRow   ? 1
                    : access.isStore ? rows
                                     : rowsComputed) *
                   (access.isRepeated && rowsAreCached ? kCachedAgain : 1);
    (access.isStore ? written : read) += total;
    double perStep =
        access.isContiguous
            ? std::ceil(width * static_cast<double>(access.elementBytes) / 16)
        : access.touchesColumn ? width
                               : 1;
    instructions += access.times * (perStep + kAddressInstructions) *
                    (access.touchesColumn ? steps(access.stage) : 1);
  }
  bool tilesInShared = false;
  int64_t registers = kBaseRegisters, live = 0;
  for (size_t i = 0; i < program.tiles.size(); ++i) {
    tilesInShared |= schedule.tiles[i] == TileSpace::Shared;
    if (schedule.tiles[i] == TileSpace::Register &&
        program.tiles[i].slot >= static_cast<uint32_t>(live)) {
      // Tiles of one slot do not live at once.
      live = program.tiles[i].slot + 1;
      registers += static_cast<int64_t>(
          std::ceil(static_cast<double>(program.tiles[i].columns) /
                    (width * threads)) *
          width *
          static_cast<double>((byteSize(program.tiles[i].type) + 3) / 4));
    }
  }
  int64_t vectors = 1;
  for (unsigned s = 0; s < program.stages.size(); ++s) {
    const StageWork &entry = work[s];
    instructions +=
        steps(s) * (width * entry.perElement +
                    (schedule.unrollColumns ? 0 : 3) + (tilesInShared ? 2 : 0));
    instructions += entry.perRow;
    if (entry.accumulators) {
      double each = static_cast<double>(entry.accumulators);
      instructions +=
          each * (log2Of(schedule.vectorWidth) +
                  2 * log2Of(std::min(schedule.threadsPerRow, 32u)));
      if (schedule.threadsPerRow > 32)
        instructions += kBarrierInstructions +
                        each * (4 + 2 * log2Of(schedule.threadsPerRow / 32));
    }
    vectors = std::max(vectors, entry.accumulators + entry.inFlight);
  }
  registers += vectors * static_cast<int64_t>(width);

  ScheduleScore score;
  score.shape =
      launchShape(program, schedule, target.isGpu, static_cast<int64_t>(read),
                  static_cast<int64_t>(written),
                  std::min(registers, device.registersPerThread));
  score.shape.instructionsPerThread = instructions;
  score.estimate = cost::estimate(device, score.shape);
  return score;
}

} // namespace lockstitch
