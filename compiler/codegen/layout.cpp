// Where tiles and partial results lie in shared memory and in the host's
// scratch.
#include "compiler/codegen/lowering.h"

namespace lockstitch {
namespace codegen {

SlotLayout layoutSlots(const StageProgram &program, int64_t alignment) {
  SlotLayout layout;
  std::vector<int64_t> sizes;
  for (const StageTile &tile : program.tiles) {
    if (sizes.size() <= tile.slot)
      sizes.resize(tile.slot + 1, 0);
    sizes[tile.slot] =
        std::max(sizes[tile.slot],
                 tile.columns * static_cast<int64_t>(byteSize(tile.type)));
  }
  for (int64_t size : sizes) {
    layout.offsets.push_back(layout.bytes);
    layout.bytes += static_cast<int64_t>(llvm::alignTo(size, alignment));
  }
  return layout;
}

int64_t partialBytes(ElementType type, unsigned warps) {
  return static_cast<int64_t>(llvm::alignTo(warps * byteSize(type), 16));
}

std::optional<std::string> checkSlots(const StageProgram &program) {
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

} // namespace codegen

int64_t gpuSharedBytes(const StageProgram &program,
                       const KernelSchedule &schedule) {
  int64_t bytes =
      schedule.unrollColumns
          ? 0
          : schedule.rowsPerBlock * codegen::layoutSlots(program, 16).bytes;
  if (schedule.threadsPerRow > 32)
    for (const Stage &stage : program.stages)
      for (const StageReduction &fold : stage.reductions)
        for (ElementType type : fold.types)
          bytes += codegen::partialBytes(type, schedule.threadsPerRow / 32);
  return bytes;
}

int64_t hostScratchBytes(const StageProgram &program) {
  return codegen::layoutSlots(program, 64).bytes;
}

} // namespace lockstitch
