// Array: a dense row-major tensor in host memory, aligned so that the runtime
// uses it in place.
#ifndef LOCKSTITCH_TOOLS_LOCKSTITCH_ARRAY_H
#define LOCKSTITCH_TOOLS_LOCKSTITCH_ARRAY_H

#include "runtime/program/program.h"
#include "runtime/program/status.h"

#include <cstddef>
#include <new>
#include <span>
#include <string>
#include <vector>

namespace lockstitch::tool {

template <typename T> struct AlignedAllocator {
  using value_type = T;
  static constexpr std::align_val_t kAlignment{64};
  AlignedAllocator() = default;
  template <typename U> AlignedAllocator(const AlignedAllocator<U> &) {}
  T *allocate(size_t n) {
    return static_cast<T *>(::operator new(n * sizeof(T), kAlignment));
  }
  void deallocate(T *p, size_t) { ::operator delete(p, kAlignment); }
  bool operator==(const AlignedAllocator &) const { return true; }
};

struct Array {
  ElementType type = ElementType::F32;
  std::vector<int64_t> shape;
  std::vector<std::byte, AlignedAllocator<std::byte>> bytes;

  int64_t elements() const;
};

/// Bytes of `elements` elements; -1 if an extent is negative or the product
/// overflows.
int64_t bytesOf(ElementType type, const std::vector<int64_t> &shape);

/// "f32[2x3]"; "f32[]" for a scalar. As the runtime's messages spell it.
std::string describe(ElementType type, const std::vector<int64_t> &shape);

/// Element `index` as a double (integers beyond 2^53 are rounded).
double elementAsDouble(const Array &array, int64_t index);
/// Element `index` of an integer or bool array, sign- or zero-extended.
int64_t elementAsInteger(const Array &array, int64_t index);

/// The tensor in a `.npy` or ONNX `TensorProto` `.pb` file; which of them, its
/// content says. Errors (refused): no such file, another kind of file, damaged,
/// a type that Lockstitch lacks. `what` begins the place in messages: "input
/// 'x'", "--arg 0".
Result<Array> readArray(const std::string &path, const std::string &what);

/// Writes a `.npy` file, or for types that NumPy lacks (bf16) an ONNX
/// TensorProto. Returns the name of the file: `stem` with ".npy" or ".pb".
/// Errors (refused): the file cannot be written.
Result<std::string> writeArray(const std::string &folder,
                               const std::string &stem, const std::string &name,
                               const Array &array);

} // namespace lockstitch::tool

#endif // LOCKSTITCH_TOOLS_LOCKSTITCH_ARRAY_H
