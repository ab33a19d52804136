// Shared by matmul.cpp and conv.cpp: who computes a product of matrices, and
// small helpers.
#ifndef LOCKSTITCH_RUNTIME_LIBRARY_IMPLEMENTATION_H
#define LOCKSTITCH_RUNTIME_LIBRARY_IMPLEMENTATION_H

#include "runtime/library/level_kernels.h"
#include "runtime/library/library.h"

#include <type_traits>

namespace lockstitch::library {

template <typename T>
const TypedKernels<T> &typed(const LevelKernels &kernels) {
  if constexpr (std::is_same_v<T, float>)
    return kernels.f32;
  else if constexpr (std::is_same_v<T, double>)
    return kernels.f64;
  else if constexpr (std::is_same_v<T, uint32_t>)
    return kernels.u32;
  else
    return kernels.u64;
}

/// Whether the type is computed in itself, so that its buffers can be used
/// without a conversion.
inline bool isComputeType(ElementType type) {
  return type == ElementType::F32 || type == ElementType::F64 ||
         byteSize(type) >= 4;
}

inline int64_t alignedBytes(int64_t bytes) { return (bytes + 63) / 64 * 64; }

/// Work below which another thread is not worth waking, in multiply-adds.
inline constexpr int64_t kTaskFloor = 100'000;

std::shared_ptr<const PreparedCall>
prepareMatMul(const MatMulCall &call, Activation activation,
              const LibraryOptions &options);
std::shared_ptr<const PreparedCall> prepareConv(const ConvCall &call,
                                                Activation activation,
                                                const LibraryOptions &options);

/// The measured choice (docs/library_calls.md): whether an m x n tile of an f32
/// product is given to oneDNN.
bool preferOneDnn(int64_t m, int64_t n);

} // namespace lockstitch::library

#endif // LOCKSTITCH_RUNTIME_LIBRARY_IMPLEMENTATION_H
