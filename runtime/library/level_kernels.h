// The inner kernels of products and convolutions, compiled once per CPU level
// from one source (level_kernels.cpp) and chosen at run time. Everything is
// single-threaded and works on *compute types*: f32 (for f32, f16, bf16), f64,
// u32 (for integers of up to 32 bits: wrap-around makes sign and width
// irrelevant until the result is stored) and u64.
#ifndef LOCKSTITCH_RUNTIME_LIBRARY_LEVEL_KERNELS_H
#define LOCKSTITCH_RUNTIME_LIBRARY_LEVEL_KERNELS_H

#include "runtime/program/element_type.h"

#include <cstdint>

namespace lockstitch::library {

/// c = alpha * a * b, or c += alpha * a * b. Strides in elements, not negative;
/// c's elements do not overlap. f32: of each matrix at least one stride is 1;
/// the other types: the column stride of each is 1.
template <typename T> struct GemmTask {
  int64_t m = 0, n = 0, k = 0;
  const T *a = nullptr;
  int64_t aRow = 0, aColumn = 0;
  const T *b = nullptr;
  int64_t bRow = 0, bColumn = 0;
  T *c = nullptr;
  int64_t cRow = 0, cColumn = 0;
  T alpha = 1;
  bool accumulate = false;
};

/// A strided matrix in its storage type.
struct StoredMatrix {
  ElementType type = ElementType::F32;
  const void *data = nullptr; // element (0, 0)
  int64_t rowStride = 0, columnStride = 0;
};

/// Input positions in one dimension that `out` outputs reach, pads included.
static inline int64_t paddedExtent(int64_t out, int64_t kernel, int64_t stride,
                                   int64_t dilation) {
  return (out - 1) * stride + (kernel - 1) * dilation + 1;
}

/// One channel's worth of a direct convolution: result[out] = init + sum over
/// taps of filter[tap] * input[in(out, tap)], always with three spatial
/// dimensions (leading ones 1).
template <typename T> struct DirectConvTask {
  const T *input = nullptr, *filter = nullptr;
  T *result = nullptr;
  T init = 0;
  int64_t in[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, out[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1}, pad[3] = {0, 0, 0};
};

/// column[(channel, tap), j] = input[channel, position of output first + j at
/// the tap], 0 outside. Same geometry as above; `input` has `channels` planes;
/// `column` is row-major with `count` columns.
template <typename T> struct Im2ColTask {
  DirectConvTask<T> geometry; // filter, result and init unused
  int64_t channels = 0, first = 0, count = 0;
  T *column = nullptr;
};

template <typename T> struct TypedKernels {
  void (*gemm)(const GemmTask<T> &);
  /// `padded` is scratch of the product of paddedExtent() elements.
  void (*directConv)(const DirectConvTask<T> &, T *padded);
  void (*im2col)(const Im2ColTask<T> &);
  /// Rows [0, rows) x [0, columns) of `source`, converted, to row-major
  /// `target`.
  void (*load)(const StoredMatrix &source, int64_t rows, int64_t columns,
               T *target);
  /// target = scale * source, both strided, in the compute type: the beta * C
  /// that a product is added to.
  void (*scaled)(const StoredMatrix &source, T scale, int64_t rows,
                 int64_t columns, T *target, int64_t rowStride,
                 int64_t columnStride);
  /// target = (storage type)(source + scale * addend); source row-major; addend
  /// may have null data (then nothing is added). With `relu` max(., 0) of it.
  void (*store)(const T *source, const StoredMatrix &addend, T scale,
                int64_t rows, int64_t columns, void *target, ElementType type,
                int64_t rowStride, int64_t columnStride, bool relu);
  /// target = max(target, 0), NaN kept; floats only.
  void (*relu)(T *target, int64_t rows, int64_t columns, int64_t rowStride,
               int64_t columnStride);
};

struct LevelKernels {
  const char *name; // "x86-64-v3"
  TypedKernels<float> f32;
  TypedKernels<double> f64;
  TypedKernels<uint32_t> u32;
  TypedKernels<uint64_t> u64;
};

/// The best that this CPU runs; `level` 1 to 4 asks for that or the next lower
/// one that is built (tests, measurements).
const LevelKernels &levelKernels(int level = 4);

} // namespace lockstitch::library

#endif // LOCKSTITCH_RUNTIME_LIBRARY_LEVEL_KERNELS_H
