//===- counters.h - what a launch did, in exact figures ---------*- C++ -*-===//
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace lockstitch::simulator {

enum class InstructionClass : uint8_t {
  Integer,
  Logic, // moves, selects, bit operations, predicates
  Float32,
  Float64,
  Half,    // f16 and bf16, packed or not
  Special, // approximations: ex2, rcp, rsqrt, sin ...
  Conversion,
  Control,
  Parameter, // ld.param, st.param and constants
  Global,
  Shared,
  Local,
  Atomic,
  Barrier, // of a block or a warp, and fences
  Shuffle, // shuffles, votes, matches, warp reductions
  Matrix,
  Count
};
const char *name(InstructionClass kind);

struct Counters {
  uint64_t threadInstructions = 0; // warp instructions times active lanes
  uint64_t warpInstructions = 0;
  std::array<uint64_t, (size_t)InstructionClass::Count> warpByClass{};
  std::array<uint64_t, (size_t)InstructionClass::Count> threadByClass{};
  uint64_t divergentBranches = 0;
  uint64_t branches = 0;
  // Global memory: 32-byte sectors per warp access, and what they carried.
  uint64_t globalLoads = 0, globalStores = 0; // warp accesses
  uint64_t sectorsRead = 0, sectorsWritten = 0;
  uint64_t bytesRequestedRead = 0, bytesRequestedWritten = 0; // by lanes
  uint64_t uniqueBytesRead = 0, uniqueBytesWritten = 0;       // over the launch
  uint64_t localSectorsRead = 0, localSectorsWritten = 0;
  // Shared memory.
  uint64_t sharedLoads = 0, sharedStores = 0;
  uint64_t sharedWavefronts = 0;
  uint64_t sharedConflicts = 0;  // wavefronts beyond the fewest possible
  uint64_t barriers = 0;         // per warp
  uint64_t shuffles = 0;         // per warp
  uint64_t atomics = 0;          // per warp
  uint64_t atomicCollisions = 0; // lanes that met another lane's address

  /// Active lanes per issued warp instruction, 0 to 32.
  double activeLanes() const {
    return warpInstructions
               ? (double)threadInstructions / (double)warpInstructions
               : 0;
  }
  void add(const Counters &other, uint64_t times = 1);
};

struct LineCounters {
  uint32_t line = 0; // of the PTX text
  std::string opcode;
  uint32_t sourceLine = 0;
  uint64_t warpInstructions = 0;
  uint64_t threadInstructions = 0;
  uint64_t sectors = 0;      // global or local
  uint64_t idealSectors = 0; // bytes of the active lanes / 32, rounded up
  uint64_t wavefronts = 0;   // shared
  uint64_t conflicts = 0;
};

} // namespace lockstitch::simulator
