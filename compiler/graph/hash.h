// Hashes for tables of ours. Not for anything that an adversary writes.
#ifndef LOCKSTITCH_COMPILER_GRAPH_HASH_H
#define LOCKSTITCH_COMPILER_GRAPH_HASH_H

#include <cstdint>
#include <string_view>

namespace lockstitch {

/// Mixes `value` into `seed`; the order of several matters.
inline uint64_t combineHash(uint64_t seed, uint64_t value) {
  return (seed ^ value) * 0x9E3779B97F4A7C15ull + (seed >> 31);
}

/// FNV-1a, 64 bits.
inline uint64_t hashText(std::string_view text,
                         uint64_t seed = 0xcbf29ce484222325ull) {
  for (unsigned char c : text)
    seed = (seed ^ c) * 0x100000001b3ull;
  return seed;
}

} // namespace lockstitch

#endif // LOCKSTITCH_COMPILER_GRAPH_HASH_H
