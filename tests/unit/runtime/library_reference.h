// Products and convolutions as plain loops in long double or wide integers:
// what the libraries are compared with.
#ifndef LOCKSTITCH_TESTS_UNIT_RUNTIME_LIBRARY_REFERENCE_H
#define LOCKSTITCH_TESTS_UNIT_RUNTIME_LIBRARY_REFERENCE_H

#include "runtime/library/library.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lockstitch::testing {

/// A buffer of elements of one type. Values are small integers and halves, so
/// that every sum in these tests is exact in the accumulator and results can be
/// compared bit for bit; `fraction` values are arbitrary ones, compared with a
/// tolerance.
struct Buffer {
  ElementType type = ElementType::F32;
  std::vector<std::byte> bytes;
  Buffer(ElementType type, int64_t elements);
  void fill(uint32_t seed, bool fraction = false);
  /// NaN or a large value everywhere: what a result is before it is written.
  void poison();
  double at(int64_t index) const; // integers up to 2^53
  uint64_t integerAt(int64_t index) const;
  void setInteger(int64_t index, uint64_t value);
  void set(int64_t index, double value);
};

/// Buffers for the operands of a call, filled, and one for the result,
/// poisoned; runs the call with this many threads and returns "" if all
/// elements of the result are right and none between them was touched, else the
/// first difference.
std::string checkCall(const LibraryCall &call, const LibraryOptions &options,
                      int threads, uint32_t seed, bool fraction);

/// The same with exact values on every backend, several numbers of threads, and
/// (f32, f64) with fractions too.
void checkEverywhere(const LibraryCall &call, uint32_t seed);

} // namespace lockstitch::testing

#endif // LOCKSTITCH_TESTS_UNIT_RUNTIME_LIBRARY_REFERENCE_H
