//===- findings.cpp - findings, and how they read -------------------------===//
#include "runtime/device/simulator/warp.h"

namespace lockstitch::simulator {

const char *name(FindingKind kind) {
  switch (kind) {
  case FindingKind::OutOfBounds:
    return "out-of-bounds";
  case FindingKind::Misaligned:
    return "misaligned";
  case FindingKind::Uninitialised:
    return "uninitialised";
  case FindingKind::Race:
    return "race";
  case FindingKind::Barrier:
    return "barrier";
  case FindingKind::Shuffle:
    return "shuffle";
  case FindingKind::Deadlock:
    return "deadlock";
  case FindingKind::ReadOnly:
    return "read-only";
  case FindingKind::Limit:
    return "limit";
  case FindingKind::Trap:
    return "trap";
  }
  return "";
}

static std::string triple(const uint32_t *v) {
  return "(" + std::to_string(v[0]) + "," + std::to_string(v[1]) + "," +
         std::to_string(v[2]) + ")";
}

std::string Finding::toText(const std::string &kernel) const {
  std::string text =
      std::string(name(kind)) + ": " + message + "\n  in " + kernel;
  if (ptxLine)
    text += ", PTX line " + std::to_string(ptxLine);
  if (sourceLine)
    text += ", " + (sourceFile.empty() ? std::string("source") : sourceFile) +
            ":" + std::to_string(sourceLine);
  text += ", block " + triple(block) + ", thread " + triple(thread);
  if (!tensor.empty())
    text += "\n  at byte " + std::to_string(offset) + " of " + tensor;
  if (argument >= 0)
    text += " (argument " + std::to_string(argument) + ")";
  if (occurrences > 1)
    text += "\n  " + std::to_string(occurrences) + " times in all";
  return text + "\n";
}

static void position(const LaunchConfig &config, uint32_t block,
                     uint32_t thread, uint32_t *blockId, uint32_t *threadId) {
  blockId[0] = block % config.grid[0];
  blockId[1] = block / config.grid[0] % config.grid[1];
  blockId[2] = block / config.grid[0] / config.grid[1];
  threadId[0] = thread % config.block[0];
  threadId[1] = thread / config.block[0] % config.block[1];
  threadId[2] = thread / config.block[0] / config.block[1];
}

std::string threadName(const LaunchState &launch, uint32_t block, uint32_t warp,
                       uint32_t lane) {
  uint32_t b[3], t[3];
  position(*launch.config, block, warp * 32 + lane, b, t);
  return "thread " + triple(t) + " of block " + triple(b);
}

Finding *report(Warp &w, const Op &op, FindingKind kind, unsigned lane,
                std::string message) {
  LaunchState &launch = *w.worker->launch;
  uint32_t index = (uint32_t)(&op - launch.program->ops.data());
  auto [it, isNew] =
      w.worker->findings.try_emplace(FindingKey{(uint8_t)kind, index});
  Finding &f = it->second;
  uint32_t b[3], t[3];
  position(*launch.config, w.block->linear, w.id * 32 + lane, b, t);
  if (!isNew) {
    ++f.occurrences;
    // The first by place stays, so that the order of execution does not show.
    auto key = [](const uint32_t *block, const uint32_t *thread) {
      return std::array<uint32_t, 6>{block[2],  block[1],  block[0],
                                     thread[2], thread[1], thread[0]};
    };
    if (key(b, t) >= key(f.block, f.thread))
      return nullptr;
  }
  const Place &place = launch.program->places[op.source];
  f.kind = kind;
  f.message = std::move(message);
  f.ptxLine = place.line;
  f.sourceLine = place.sourceLine;
  auto file = launch.module->files.find(place.sourceFile);
  f.sourceFile = file == launch.module->files.end() ? "" : file->second;
  std::copy(b, b + 3, f.block);
  std::copy(t, t + 3, f.thread);
  f.address = 0;
  f.argument = -1;
  f.offset = 0;
  f.tensor.clear();
  return &f;
}

void describeAddress(Warp &w, const Op &op, Finding *finding,
                     uint64_t address) {
  if (!finding)
    return;
  LaunchState &launch = *w.worker->launch;
  finding->address = address;
  // The tensor that the address was derived from, else the one it hits, else
  // the allocation below it.
  const LaunchState::Range *best = nullptr;
  uint64_t candidates = op.memory ? op.memory->arguments : 0;
  for (size_t i = 0; i < launch.ranges.size(); ++i) {
    const LaunchState::Range &r = launch.ranges[i];
    if (!r.present)
      continue;
    bool derived = i < 63 && (candidates >> i & 1);
    bool hit = address >= r.address && address - r.address < r.bytes;
    if (derived ? hit || !best : hit && !candidates)
      best = &r;
  }
  if (best) {
    finding->argument = best->argument;
    finding->tensor = best->name;
    finding->offset = (int64_t)(address - best->address);
    return;
  }
  if (candidates && (candidates & (candidates - 1)) == 0)
    finding->argument = (int32_t)__builtin_ctzll(candidates);
  if (const Allocation *a = launch.memory->findBelow(address)) {
    finding->tensor = a->name;
    finding->offset = (int64_t)(address - a->base);
    // An argument that points into this allocation.
    for (size_t i = 0; finding->argument < 0 && i < launch.pointers.size(); ++i)
      if (launch.pointers[i] && a->contains(launch.pointers[i], 0))
        finding->argument = (int32_t)i;
  }
}

} // namespace lockstitch::simulator
