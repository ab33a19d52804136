// The rule.
//
// GPU, row kernel. V: the widest vector (16 bytes of the widest element accessed contiguously) that divides the columns of
// every stage. Lanes take chunks of V neighbouring columns. Threads per row: a power of two, as many as there are chunks, but
// with up to four chunks per thread (more bytes in flight per thread, fewer barriers) as long as the rows alone fill the
// machine. Up to eight chunks per thread are unrolled: tiles are registers. Longer rows loop, their tiles in shared memory;
// if that is too small the tiles go and values are computed again from memory. When neighbouring *rows* are neighbours in
// memory and neighbouring columns are not, one thread takes a whole row: then a warp's accesses coalesce.
//
// GPU, loop kernel: one thread per vector.
//
// Host: vectors as wide as the CPU's; tasks of at least 16 Ki elements.
#include "compiler/schedule/candidates.h"

#include "compiler/schedule/memory_layout.h"
#include "compiler/schedule/stage_walk.h"

#include <bit>

namespace lockstitch {

bool isRowContiguous(const StageProgram &program, const IndexExpr &offset,
                     int64_t columns) {
  LinearForm form = toLinearForm(offset, program.ranges(columns));
  for (const auto &[atom, coefficient] : form.terms) {
    if (atom.kind() == IndexExpr::Kind::Dim && atom.position() == kRowDim &&
        coefficient == 1)
      return true;
    if (atom.kind() == IndexExpr::Kind::Mod && coefficient == 1 &&
        atom.lhs().kind() == IndexExpr::Kind::Dim &&
        atom.lhs().position() == kRowDim)
      return true;
  }
  return false;
}

namespace {

constexpr int64_t kMaxUnrolledSteps = 8;
constexpr int64_t kMaxPinnedSteps = 64; // unrolled on request
constexpr int64_t kThreadsWanted =
    132 * 1024; // half of the threads that an H100 holds
constexpr int64_t kElementsPerTask = 16 * 1024;
constexpr int64_t kMaxGrid = (1ll << 31) - 1;

struct AccessSummary {
  int64_t contiguousBytes = 0; // per row, that V-wide accesses could serve
  int64_t stridedBytes =
      0; // per row, that walk through memory with the column but not contiguously
  int64_t rowContiguousBytes =
      0;             // of the strided ones: neighbours along the row dimension
  size_t widest = 1; // element bytes of contiguous accesses
};

AccessSummary summarize(const StageProgram &program, unsigned width) {
  AccessSummary summary;
  for (const Stage &stage : program.stages)
    forEachOp(stage.body, [&](const StageOp &op, double) {
      if (!isAccess(op) ||
          (!op.index.usesDim(kColumnDim) && !op.index.usesAnyRuntime()))
        return;
      int64_t bytes = stage.columns * static_cast<int64_t>(byteSize(op.type));
      Access access =
          classifyAccess(program, op.index, stage.columns, std::max(width, 2u));
      if (access.kind == AccessKind::Contiguous) {
        summary.contiguousBytes += bytes;
        summary.widest = std::max(summary.widest, byteSize(op.type));
      } else if (access.kind == AccessKind::Strided) {
        summary.stridedBytes += bytes;
        if (isRowContiguous(program, op.index, stage.columns))
          summary.rowContiguousBytes += bytes;
      }
    });
  return summary;
}

bool needsWideIndex(const StageProgram &program) {
  constexpr int64_t limit = (1ll << 31) - 1;
  int64_t rows = program.rows.value();
  if (rows > limit)
    return true;
  for (const StageArgument &argument : program.arguments)
    if (argument.elements.value() > limit)
      return true;
  for (const Stage &stage : program.stages)
    if (rows * stage.columns > limit)
      return true;
  return false;
}

int64_t stepsOf(const StageProgram &program, const KernelSchedule &schedule) {
  int64_t perStep =
      static_cast<int64_t>(schedule.vectorWidth) * schedule.threadsPerRow;
  return (longestStage(program) + perStep - 1) / perStep;
}

/// The widest vector of which every contiguous access can be made as one.
unsigned ruleWidth(const StageProgram &program, bool &byRows) {
  AccessSummary scalar = summarize(program, 2);
  byRows = scalar.rowContiguousBytes > scalar.contiguousBytes &&
           program.rows.value() >= 32;
  if (byRows || scalar.contiguousBytes < scalar.stridedBytes)
    return 1;
  unsigned width =
      static_cast<unsigned>(std::max<size_t>(16 / scalar.widest, 1));
  for (; width > 1; width /= 2) {
    bool fits = true;
    for (const Stage &stage : program.stages)
      fits &= stage.columns % width == 0;
    // Every contiguous access must be aligned to the vector: else it would be done element by element.
    for (const Stage &stage : program.stages)
      forEachOp(stage.body, [&](const StageOp &op, double) {
        if (!fits || !isAccess(op))
          return;
        Access access = classifyAccess(program, op.index, stage.columns, width);
        fits &= access.kind != AccessKind::Contiguous ||
                (access.aligned && isAligned(program, op.argument, width));
      });
    if (fits)
      break;
  }
  return std::max(width, 1u);
}

KernelSchedule gpuRule(const StageProgram &program,
                       const ScheduleTarget &target) {
  KernelSchedule schedule;
  int64_t rows = std::max<int64_t>(program.rows.value(), 1),
          longest = longestStage(program);
  if (!hasReductions(program)) {
    schedule.vectorWidth = static_cast<unsigned>(longest);
    schedule.rowsPerBlock = static_cast<unsigned>(
        std::clamp<int64_t>(std::bit_ceil<uint64_t>(rows), 32, 256));
    return schedule;
  }
  bool byRows = false;
  schedule.vectorWidth = ruleWidth(program, byRows);
  int64_t chunks = (longest + schedule.vectorWidth - 1) / schedule.vectorWidth;
  int64_t threads = 1;
  if (!byRows) {
    threads = std::min<int64_t>(
        std::bit_ceil<uint64_t>(static_cast<uint64_t>(chunks)),
        target.maxThreadsPerBlock);
    while (threads > 32 && (chunks + threads / 2 - 1) / (threads / 2) <= 4 &&
           rows * threads / 2 >= kThreadsWanted)
      threads /= 2;
  }
  schedule.threadsPerRow = static_cast<unsigned>(threads);
  schedule.rowsPerBlock =
      threads > 32 ? 1
                   : static_cast<unsigned>(std::max<int64_t>(128 / threads, 1));
  while (schedule.rowsPerBlock > 1 && schedule.rowsPerBlock / 2 >= rows &&
         schedule.rowsPerBlock * threads > 32)
    schedule.rowsPerBlock /= 2;
  schedule.unrollColumns = stepsOf(program, schedule) <= kMaxUnrolledSteps;
  return schedule;
}

KernelSchedule hostRule(const StageProgram &program,
                        const ScheduleTarget &target) {
  KernelSchedule schedule;
  int64_t total = 0;
  for (const Stage &stage : program.stages) {
    int64_t weight = 1;
    forEachOp(stage.body, [&](const StageOp &op, double) {
      if (op.loop)
        weight += op.loop->trips;
    });
    total += stage.columns * weight;
  }
  // Lanes of four bytes: the widest that a CPU's registers hold, but no wider than a row.
  int64_t width = target.vectorBytes / 4;
  schedule.vectorWidth = static_cast<unsigned>(std::min<int64_t>(
      width, std::bit_floor<uint64_t>(longestStage(program))));
  schedule.rowsPerTask =
      std::clamp<int64_t>(kElementsPerTask / std::max<int64_t>(total, 1), 1,
                          std::max<int64_t>(program.rows.value(), 1));
  return schedule;
}

Refusal shortOf(std::string reason, Figure asked, int64_t value, Figure limit,
                int64_t most) {
  return {false,
          std::move(reason),
          {{asked, static_cast<double>(value)},
           {limit, static_cast<double>(most)}}};
}

} // namespace

KernelSchedule ruleSchedule(const StageProgram &program,
                            const ScheduleTarget &target) {
  KernelSchedule schedule =
      target.isGpu ? gpuRule(program, target) : hostRule(program, target);
  completeSchedule(program, target, schedule);
  return schedule;
}

void completeSchedule(const StageProgram &program, const ScheduleTarget &target,
                      KernelSchedule &schedule) {
  schedule.wideIndex = needsWideIndex(program);
  placeTiles(program, target.isGpu, schedule);
  if (!target.isGpu)
    return;
  int64_t rows = std::max<int64_t>(program.rows.value(), 1);
  schedule.gridX = (rows + schedule.rowsPerBlock - 1) / schedule.rowsPerBlock;
  schedule.sharedBytes = layoutShared(program, schedule).bytes;
}

std::vector<KernelSchedule> candidateSchedules(const StageProgram &program,
                                               const ScheduleTarget &target,
                                               const SchedulePin &pin) {
  KernelSchedule rule = ruleSchedule(program, target);
  std::vector<KernelSchedule> candidates;
  // Rows past the end are computed all the same: no block much larger than what there is to do.
  auto isWasteful = [&](const KernelSchedule &schedule) {
    int64_t rows = schedule.gridX * schedule.rowsPerBlock;
    return !pin.rowsPerBlock && schedule.rowsPerBlock > rule.rowsPerBlock &&
           rows - program.rows.value() > program.rows.value() / 8;
  };
  auto add = [&](KernelSchedule schedule) {
    if (isWasteful(schedule))
      return;
    if (std::find(candidates.begin(), candidates.end(), schedule) ==
        candidates.end())
      candidates.push_back(std::move(schedule));
  };
  if (!target.isGpu) {
    if (pin.vectorWidth)
      rule.vectorWidth = pin.vectorWidth;
    if (pin.rowsPerTask)
      rule.rowsPerTask = pin.rowsPerTask;
    return {rule};
  }
  if (!hasReductions(program)) {
    std::vector<unsigned> sizes = {rule.rowsPerBlock, 32, 64, 128, 256, 512};
    if (pin.rowsPerBlock)
      sizes = {pin.rowsPerBlock};
    for (unsigned rows : sizes) {
      KernelSchedule schedule = rule;
      schedule.rowsPerBlock = rows;
      completeSchedule(program, target, schedule);
      add(schedule);
    }
    return candidates;
  }
  std::vector<unsigned> widths = {rule.vectorWidth};
  if (rule.vectorWidth > 1)
    widths.push_back(rule.vectorWidth / 2);
  if (pin.vectorWidth)
    widths = {pin.vectorWidth};
  for (unsigned width : widths) {
    int64_t chunks = (longestStage(program) + width - 1) / width;
    unsigned most = static_cast<unsigned>(std::min<int64_t>(
        std::bit_ceil<uint64_t>(chunks), target.maxThreadsPerBlock));
    std::vector<unsigned> threadCounts = {std::min(rule.threadsPerRow, most)};
    for (unsigned more = 2; more <= 4; more *= 2) {
      if (rule.threadsPerRow * more <= most)
        threadCounts.push_back(rule.threadsPerRow * more);
      if (rule.threadsPerRow >= more)
        threadCounts.push_back(rule.threadsPerRow / more);
    }
    if (pin.threadsPerRow)
      threadCounts = {pin.threadsPerRow};
    for (unsigned threads : threadCounts) {
      std::vector<unsigned> rowCounts = {1};
      if (threads <= 32)
        rowCounts = {std::max(128 / threads, 1u), std::max(32 / threads, 1u),
                     256 / threads};
      if (threads == rule.threadsPerRow)
        rowCounts.insert(rowCounts.begin(), rule.rowsPerBlock);
      if (pin.rowsPerBlock)
        rowCounts = {pin.rowsPerBlock};
      for (unsigned rows : rowCounts) {
        KernelSchedule schedule = rule;
        schedule.vectorWidth = width;
        schedule.threadsPerRow = threads;
        schedule.rowsPerBlock = rows;
        schedule.unrollColumns =
            pin.loop == SchedulePin::Loop::Any
                ? stepsOf(program, schedule) <= kMaxUnrolledSteps
                : pin.loop == SchedulePin::Loop::Unrolled;
        completeSchedule(program, target, schedule);
        add(schedule);
      }
    }
  }
  return candidates;
}

std::optional<Refusal> checkSchedule(const StageProgram &program,
                                     const ScheduleTarget &target,
                                     const KernelSchedule &schedule) {
  auto refuse = [](std::string reason) {
    return Refusal{false, std::move(reason)};
  };
  unsigned width = schedule.vectorWidth, threads = schedule.threadsPerRow;
  if (!std::has_single_bit(width) || !std::has_single_bit(threads))
    return refuse("vector and threads per row are powers of two");
  if (!target.isGpu) {
    if (width * 4 > 2 * target.vectorBytes)
      return refuse("vectors of " + std::to_string(width) +
                    " elements are more than twice what this CPU's registers "
                    "hold (" +
                    std::to_string(target.vectorBytes / 4) + " of four bytes)");
    return std::nullopt;
  }
  for (const Stage &stage : program.stages)
    if (stage.columns % width)
      return refuse("vectors of " + std::to_string(width) +
                    " do not divide its " + std::to_string(stage.columns) +
                    " columns");
  if (!hasReductions(program) && threads > 1)
    return refuse("it has no rows to share: threads_per_row is 1");
  if (threads > 32 && schedule.rowsPerBlock != 1)
    return refuse("a row of " + std::to_string(threads) +
                  " threads is a block of its own: rows_per_block is 1");
  if (int64_t block = static_cast<int64_t>(threads) * schedule.rowsPerBlock;
      block > target.maxThreadsPerBlock)
    return refuse("a block would have " + std::to_string(block) +
                  " threads of " + std::to_string(target.maxThreadsPerBlock));
  if (threads == 1 && !schedule.unrollColumns && !program.tiles.empty())
    return refuse("one thread per row keeps no tile in shared memory: it would "
                  "be strided across the warp");
  if (int64_t steps = stepsOf(program, schedule);
      schedule.unrollColumns && steps > kMaxPinnedSteps)
    return refuse("unrolling its " + std::to_string(steps) +
                  " steps is too much; the limit is " +
                  std::to_string(kMaxPinnedSteps));
  if (schedule.gridX > kMaxGrid)
    return shortOf("its grid of " + std::to_string(schedule.gridX) +
                       " blocks exceeds 2^31-1",
                   Figure::Blocks, schedule.gridX, Figure::BlocksLimit,
                   kMaxGrid);
  if (schedule.sharedBytes > target.sharedBytesPerBlock)
    return shortOf("a block would need " +
                       std::to_string(schedule.sharedBytes) +
                       " bytes of shared memory of " +
                       std::to_string(target.sharedBytesPerBlock),
                   Figure::SharedBytes, schedule.sharedBytes,
                   Figure::SharedBytesLimit, target.sharedBytesPerBlock);
  return std::nullopt;
}

} // namespace lockstitch
