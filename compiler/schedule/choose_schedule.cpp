// The choice of a mapping.
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
#include "compiler/schedule/choose_schedule.h"

#include "compiler/schedule/memory_layout.h"

#include <algorithm>
#include <bit>

namespace lockstitch {
namespace {

constexpr int64_t kMaxUnrolledChunks = 8;
constexpr int64_t kThreadsWanted =
    132 * 1024; // half of the threads that an H100 holds
constexpr int64_t kElementsPerTask = 16 * 1024;

struct AccessSummary {
  int64_t contiguousBytes = 0; // per row, that V-wide accesses could serve
  int64_t stridedBytes =
      0; // per row, that walk through memory with the column but not contiguously
  int64_t rowContiguousBytes =
      0;             // of the strided ones: neighbours along the row dimension
  size_t widest = 1; // element bytes of contiguous accesses
};

template <typename Visit> void forEachOp(const StageBlock &block, Visit visit) {
  for (const StageOp &op : block.ops) {
    visit(op);
    if (op.loop)
      forEachOp(op.loop->body, visit);
  }
}

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

AccessSummary summarize(const StageProgram &program, unsigned width) {
  AccessSummary summary;
  for (const Stage &stage : program.stages)
    forEachOp(stage.body, [&](const StageOp &op) {
      if (op.opcode != StageOpcode::Load && op.opcode != StageOpcode::Store)
        return;
      if (!op.index.usesDim(kColumnDim) && !op.index.usesAnyRuntime())
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
  if (program.rows > limit)
    return true;
  for (const StageArgument &argument : program.arguments)
    if (argument.elements > limit)
      return true;
  for (const Stage &stage : program.stages)
    if (program.rows * stage.columns > limit)
      return true;
  return false;
}

bool hasReductions(const StageProgram &program) {
  return std::any_of(
      program.stages.begin(), program.stages.end(),
      [](const Stage &stage) { return !stage.reductions.empty(); });
}

std::variant<KernelSchedule, Refusal> chooseGpu(const StageProgram &program,
                                                const ScheduleTarget &target) {
  KernelSchedule schedule;
  schedule.wideIndex = needsWideIndex(program);
  int64_t rows = std::max<int64_t>(program.rows, 1);
  auto finish = [&]() -> std::variant<KernelSchedule, Refusal> {
    schedule.gridX = (rows + schedule.rowsPerBlock - 1) / schedule.rowsPerBlock;
    if (schedule.gridX > (1ll << 31) - 1)
      return Refusal{
          false,
          "its grid of " + std::to_string(schedule.gridX) +
              " blocks exceeds 2^31-1",
          {{Figure::Blocks, static_cast<double>(schedule.gridX)},
           {Figure::BlocksLimit, static_cast<double>((1ll << 31) - 1)}}};
    return schedule;
  };
  int64_t longest = 1;
  for (const Stage &stage : program.stages)
    longest = std::max(longest, stage.columns);

  if (!hasReductions(program)) {
    schedule.vectorWidth = static_cast<unsigned>(longest);
    schedule.threadsPerRow = 1;
    schedule.rowsPerBlock = static_cast<unsigned>(
        std::clamp<int64_t>(std::bit_ceil<uint64_t>(rows), 32, 256));
    placeTiles(program, true, schedule);
    return finish();
  }

  AccessSummary scalar = summarize(program, 2);
  bool byRows =
      scalar.rowContiguousBytes > scalar.contiguousBytes && program.rows >= 32;
  unsigned width =
      byRows ? 1
             : static_cast<unsigned>(std::max<size_t>(16 / scalar.widest, 1));
  if (scalar.contiguousBytes < scalar.stridedBytes)
    width = 1;
  for (; width > 1; width /= 2) {
    bool fits = true;
    for (const Stage &stage : program.stages)
      fits &= stage.columns % width == 0;
    // Every contiguous access must be aligned to the vector: else it would be done element by element.
    for (const Stage &stage : program.stages)
      forEachOp(stage.body, [&](const StageOp &op) {
        if (op.opcode != StageOpcode::Load && op.opcode != StageOpcode::Store)
          return;
        Access access = classifyAccess(program, op.index, stage.columns, width);
        fits &= access.kind != AccessKind::Contiguous || access.aligned;
      });
    if (fits)
      break;
  }
  schedule.vectorWidth = std::max(width, 1u);
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
  int64_t chunksPerThread = (chunks + threads - 1) / threads;
  schedule.unrollColumns = chunksPerThread <= kMaxUnrolledChunks;
  placeTiles(program, true, schedule);
  schedule.sharedBytes = layoutShared(program, schedule).bytes;
  if (schedule.sharedBytes > target.sharedBytesPerBlock)
    return Refusal{
        false,
        "a block would need " + std::to_string(schedule.sharedBytes) +
            " bytes of shared memory of " +
            std::to_string(target.sharedBytesPerBlock),
        {{Figure::SharedBytes, static_cast<double>(schedule.sharedBytes)},
         {Figure::SharedBytesLimit,
          static_cast<double>(target.sharedBytesPerBlock)}}};
  return finish();
}

KernelSchedule chooseHost(const StageProgram &program,
                          const ScheduleTarget &target) {
  KernelSchedule schedule;
  schedule.wideIndex = needsWideIndex(program);
  int64_t longest = 1, total = 0;
  for (const Stage &stage : program.stages) {
    longest = std::max(longest, stage.columns);
    int64_t weight = 1;
    forEachOp(stage.body, [&](const StageOp &op) {
      if (op.loop)
        weight += op.loop->trips;
    });
    total += stage.columns * weight;
  }
  // Lanes of four bytes: the widest that a CPU's registers hold, but no wider than a row.
  int64_t width = target.vectorBytes / 4;
  schedule.vectorWidth = static_cast<unsigned>(
      std::min<int64_t>(width, std::bit_floor<uint64_t>(longest)));
  schedule.rowsPerTask =
      std::clamp<int64_t>(kElementsPerTask / std::max<int64_t>(total, 1), 1,
                          std::max<int64_t>(program.rows, 1));
  placeTiles(program, false, schedule);
  return schedule;
}

} // namespace

std::variant<ScheduledKernel, Refusal>
scheduleKernel(const PrimitiveGraph &graph, const KernelSpec &spec,
               const ScheduleTarget &target) {
  StageOptions options;
  options.loopRows = target.isGpu ? StageOptions::LoopRows::Vector
                                  : StageOptions::LoopRows::Run;
  Refusal last;
  for (bool tiles : {true, false}) {
    options.tiles = tiles;
    auto built = buildStages(graph, spec, options);
    if (auto *refusal = std::get_if<Refusal>(&built))
      return *refusal;
    StageProgram &program = std::get<StageProgram>(built);
    if (!target.isGpu) {
      KernelSchedule schedule = chooseHost(program, target);
      return ScheduledKernel{std::move(program), schedule};
    }
    auto chosen = chooseGpu(program, target);
    if (auto *schedule = std::get_if<KernelSchedule>(&chosen))
      // One thread per row keeps no tile in shared memory: it would be strided across the warp.
      if (!tiles || schedule->threadsPerRow > 1 || schedule->unrollColumns ||
          program.tiles.empty())
        return ScheduledKernel{std::move(program), *schedule};
    if (auto *refusal = std::get_if<Refusal>(&chosen))
      last = *refusal;
  }
  return last;
}

std::vector<std::string> schemesOf(const StageProgram &program,
                                   const KernelSchedule &schedule) {
  if (!hasReductions(program) || schedule.threadsPerRow == 1)
    return {"thread"};
  if (schedule.threadsPerRow <= 32)
    return {"thread", "warp"};
  return {"thread", "block"};
}

} // namespace lockstitch
