// Compiled once per CPU level, with LOCKSTITCH_LEVEL (an identifier) and
// LOCKSTITCH_LEVEL_NAME (a string) defined.
//
// Everything in this file must end up in a name of its own per level: if an
// inline function of Eigen or of the standard library were emitted here under
// its usual name, the linker might keep the copy with AVX-512 for the whole
// program. Hence `Eigen` itself is renamed, our code has internal linkage, and
// a test looks at the symbols of the objects.
#define LOCKSTITCH_JOIN2(a, b) a##b
#define LOCKSTITCH_JOIN(a, b) LOCKSTITCH_JOIN2(a, b)
#define Eigen LOCKSTITCH_JOIN(LockstitchEigen_, LOCKSTITCH_LEVEL)
#define EIGEN_DONT_PARALLELIZE
#define EIGEN_NO_IO
#include <Eigen/Core>

#include "runtime/library/level_kernels.h"
#include "runtime/program/float16.h"

#include <cstring>
#include <type_traits>
#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace lockstitch::library {
namespace {

template <typename T, int A, int B> void gemmOrdered(const GemmTask<T> &t) {
  using MatrixA = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, A>;
  using MatrixB = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, B>;
  using MatrixC =
      Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using Stride = Eigen::OuterStride<>;
  Eigen::Map<const MatrixA, 0, Stride> a(
      t.a, t.m, t.k, Stride(A == Eigen::RowMajor ? t.aRow : t.aColumn));
  Eigen::Map<const MatrixB, 0, Stride> b(
      t.b, t.k, t.n, Stride(B == Eigen::RowMajor ? t.bRow : t.bColumn));
  Eigen::Map<MatrixC, 0, Stride> c(t.c, t.m, t.n, Stride(t.cRow));
  if (!t.accumulate)
    c.setZero();
  c.noalias() += (t.alpha * a) * b;
}

/// f32 in every layout, f64 row-major; the compiler's time for Eigen's products
/// is what the whole build waits for.
void gemm(const GemmTask<float> &task) {
  GemmTask<float> t = task;
  if (t.cColumn != 1) { // column-major result: compute its transpose
    auto swap = [](auto &x, auto &y) {
      auto z = x;
      x = y;
      y = z;
    };
    swap(t.m, t.n);
    swap(t.a, t.b);
    swap(t.aRow, t.bColumn);
    swap(t.aColumn, t.bRow);
    swap(t.cRow, t.cColumn);
  }
  constexpr int row = Eigen::RowMajor, column = Eigen::ColMajor;
  if (t.aColumn == 1)
    t.bColumn == 1 ? gemmOrdered<float, row, row>(t)
                   : gemmOrdered<float, row, column>(t);
  else
    t.bColumn == 1 ? gemmOrdered<float, column, row>(t)
                   : gemmOrdered<float, column, column>(t);
}

void gemm(const GemmTask<double> &t) {
  gemmOrdered<double, Eigen::RowMajor, Eigen::RowMajor>(t);
}

/// Integers are rare in products: a plain loop over rows of b, which becomes
/// vector code.
template <typename T> void gemm(const GemmTask<T> &t) {
  for (int64_t i = 0; i < t.m; ++i) {
    T *to = t.c + i * t.cRow;
    if (!t.accumulate)
      for (int64_t j = 0; j < t.n; ++j)
        to[j] = 0;
    for (int64_t k = 0; k < t.k; ++k) {
      const T factor = t.alpha * t.a[i * t.aRow + k], *from = t.b + k * t.bRow;
      for (int64_t j = 0; j < t.n; ++j)
        to[j] += factor * from[j];
    }
  }
}

/// The positions `o` in [0, out) whose input position o * stride + shift lies
/// in [0, in): [begin, end).
void validRange(int64_t in, int64_t out, int64_t stride, int64_t shift,
                int64_t &begin, int64_t &end) {
  begin = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
  end = shift >= in ? 0 : (in - shift + stride - 1) / stride;
  if (end > out)
    end = out;
  if (begin > end)
    begin = end;
}

/// `Block` neighbouring outputs of a row, in registers while the taps go by.
/// `from`: the first tap of the first output.
template <typename T, int Block, int Stride>
void convBlock(const DirectConvTask<T> &t, const T *from, T *to) {
  const int64_t step = Stride ? Stride : t.stride[2];
  T sum[Block];
  for (int j = 0; j < Block; ++j)
    sum[j] = t.init;
  const T *tap = t.filter;
  for (int64_t k0 = 0; k0 < t.kernel[0]; ++k0)
    for (int64_t k1 = 0; k1 < t.kernel[1]; ++k1) {
      const T *line =
          from + (k0 * t.dilation[0] * t.in[1] + k1 * t.dilation[1]) * t.in[2];
      for (int64_t k2 = 0; k2 < t.kernel[2]; ++k2, ++tap) {
        const T value = *tap, *source = line + k2 * t.dilation[2];
        for (int j = 0; j < Block; ++j)
          sum[j] += value * source[j * step];
      }
    }
  for (int j = 0; j < Block; ++j)
    to[j] = sum[j];
}

/// A row of outputs; the last block overlaps the one before it.
template <typename T, int Block, int Stride>
void convRow(const DirectConvTask<T> &t, const T *from, T *to) {
  const int64_t step = Stride ? Stride : t.stride[2], count = t.out[2];
  for (int64_t o = 0; o < count; o += Block) {
    int64_t at = o + Block <= count ? o : count - Block;
    convBlock<T, Block, Stride>(t, from + at * step, to + at);
  }
}

template <typename T, int Block, int Stride>
void convPlane(const DirectConvTask<T> &t) {
  for (int64_t o0 = 0; o0 < t.out[0]; ++o0)
    for (int64_t o1 = 0; o1 < t.out[1]; ++o1)
      convRow<T, Block, Stride>(
          t,
          t.input + (o0 * t.stride[0] * t.in[1] + o1 * t.stride[1]) * t.in[2],
          t.result + (o0 * t.out[1] + o1) * t.out[2]);
}

template <typename T, int Stride> void convStrided(const DirectConvTask<T> &t) {
  if (t.out[2] >= 32)
    convPlane<T, 32, Stride>(t);
  else if (t.out[2] >= 16)
    convPlane<T, 16, Stride>(t);
  else if (t.out[2] >= 8)
    convPlane<T, 8, Stride>(t);
  else if (t.out[2] >= 4)
    convPlane<T, 4, Stride>(t);
  else
    convPlane<T, 1, Stride>(t);
}

template <typename T>
void directConv(const DirectConvTask<T> &task, T *padded) {
  DirectConvTask<T> t = task;
  int64_t extent[3];
  bool inside = true;
  for (int d = 0; d < 3; ++d) {
    extent[d] = paddedExtent(t.out[d], t.kernel[d], t.stride[d], t.dilation[d]);
    inside &= t.pad[d] == 0 && extent[d] <= t.in[d];
  }
  if (!inside) { // the part of the plane that outputs reach, with its zeros
    for (int64_t i0 = 0; i0 < extent[0]; ++i0)
      for (int64_t i1 = 0; i1 < extent[1]; ++i1) {
        T *row = padded + (i0 * extent[1] + i1) * extent[2];
        int64_t from0 = i0 - t.pad[0], from1 = i1 - t.pad[1], begin = 0,
                end = 0;
        if (from0 >= 0 && from0 < t.in[0] && from1 >= 0 && from1 < t.in[1]) {
          begin = t.pad[2] < extent[2] ? t.pad[2] : extent[2];
          end = t.pad[2] + t.in[2] < extent[2] ? t.pad[2] + t.in[2] : extent[2];
        }
        for (int64_t i = 0; i < begin; ++i)
          row[i] = T(0);
        if (begin < end)
          std::memcpy(row + begin,
                      task.input + (from0 * t.in[1] + from1) * t.in[2] + begin -
                          t.pad[2],
                      (end - begin) * sizeof(T));
        for (int64_t i = end; i < extent[2]; ++i)
          row[i] = T(0);
      }
    t.input = padded;
    for (int d = 0; d < 3; ++d)
      t.in[d] = extent[d];
  }
  if (t.stride[2] == 1)
    convStrided<T, 1>(t);
  else if (t.stride[2] == 2)
    convStrided<T, 2>(t);
  else
    convStrided<T, 0>(t);
}

/// One line of outputs (same o0, o1; o2 in [from, from + count)) of one row of
/// the column matrix.
template <typename T>
void im2colLine(const DirectConvTask<T> &g, const T *plane,
                const int64_t (&k)[3], int64_t o0, int64_t o1, int64_t from,
                int64_t count, T *target) {
  int64_t i0 = o0 * g.stride[0] + k[0] * g.dilation[0] - g.pad[0];
  int64_t i1 = o1 * g.stride[1] + k[1] * g.dilation[1] - g.pad[1];
  int64_t shift = k[2] * g.dilation[2] - g.pad[2], begin = 0, end = 0;
  if (i0 >= 0 && i0 < g.in[0] && i1 >= 0 && i1 < g.in[1])
    validRange(g.in[2], g.out[2], g.stride[2], shift, begin, end);
  auto clamp = [&](int64_t position) {
    return position < from           ? from
           : position > from + count ? from + count
                                     : position;
  };
  begin = clamp(begin);
  end = clamp(end);
  const T *line =
      plane + (i0 * g.in[1] + i1) * g.in[2]; // only used where begin < end
  for (int64_t o = from; o < begin; ++o)
    target[o - from] = T(0);
  if (g.stride[2] == 1) {
    if (begin < end)
      std::memcpy(target + (begin - from), line + begin + shift,
                  (end - begin) * sizeof(T));
  } else {
    for (int64_t o = begin; o < end; ++o)
      target[o - from] = line[o * g.stride[2] + shift];
  }
  for (int64_t o = end; o < from + count; ++o)
    target[o - from] = T(0);
}

template <typename T> void im2col(const Im2ColTask<T> &t) {
  const DirectConvTask<T> &g = t.geometry;
  T *target = t.column;
  for (int64_t channel = 0; channel < t.channels; ++channel) {
    const T *plane = g.input + channel * g.in[0] * g.in[1] * g.in[2];
    int64_t k[3];
    for (k[0] = 0; k[0] < g.kernel[0]; ++k[0])
      for (k[1] = 0; k[1] < g.kernel[1]; ++k[1])
        for (k[2] = 0; k[2] < g.kernel[2]; ++k[2])
          for (int64_t done = 0; done < t.count;) {
            int64_t position = t.first + done, o2 = position % g.out[2],
                    line = position / g.out[2];
            int64_t count =
                g.out[2] - o2 < t.count - done ? g.out[2] - o2 : t.count - done;
            im2colLine(g, plane, k, line / g.out[1], line % g.out[1], o2, count,
                       target);
            target += count;
            done += count;
          }
  }
}

// --- Conversions between storage and compute types ---

struct Half {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};

template <typename T, typename S> T decode(S value) {
  if constexpr (std::is_same_v<S, Half>) {
#if defined(__F16C__)
    return _cvtsh_ss(value.bits);
#else
    return halfToFloat(value.bits);
#endif
  } else if constexpr (std::is_same_v<S, BFloat16>) {
    uint32_t bits = static_cast<uint32_t>(value.bits) << 16;
    float result;
    __builtin_memcpy(&result, &bits, sizeof result);
    return result;
  } else {
    return static_cast<T>(value);
  }
}

template <typename S, typename T> S encode(T value) {
  if constexpr (std::is_same_v<S, Half>) {
#if defined(__F16C__)
    return {static_cast<uint16_t>(_cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT))};
#else
    return {floatToHalf(value)};
#endif
  } else if constexpr (std::is_same_v<S, BFloat16>) {
    uint32_t bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    bool nan = (bits & 0x7fffffff) > 0x7f800000;
    uint16_t rounded =
        static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
    return {nan ? uint16_t{0x7fff} : rounded};
  } else {
    return static_cast<S>(value);
  }
}

/// Calls use(S*) with the storage type behind `type`; only those that belong to
/// the compute type T.
template <typename T, typename Use>
void withStorage(ElementType type, Use use) {
  if constexpr (std::is_same_v<T, float>) {
    if (type == ElementType::F32)
      use(static_cast<float *>(nullptr));
    else if (type == ElementType::F16)
      use(static_cast<Half *>(nullptr));
    else if (type == ElementType::BF16)
      use(static_cast<BFloat16 *>(nullptr));
  } else if constexpr (std::is_same_v<T, double>) {
    use(static_cast<double *>(nullptr));
  } else if constexpr (std::is_same_v<T, uint32_t>) {
    if (type == ElementType::I8)
      use(static_cast<int8_t *>(nullptr));
    else if (type == ElementType::U8)
      use(static_cast<uint8_t *>(nullptr));
    else if (type == ElementType::I16)
      use(static_cast<int16_t *>(nullptr));
    else if (type == ElementType::U16)
      use(static_cast<uint16_t *>(nullptr));
    else
      use(static_cast<uint32_t *>(nullptr));
  } else {
    use(static_cast<uint64_t *>(nullptr));
  }
}

template <typename T>
void load(const StoredMatrix &source, int64_t rows, int64_t columns,
          T *target) {
  withStorage<T>(source.type, [&]<typename S>(S *) {
    const S *data = static_cast<const S *>(source.data);
    if (source.columnStride == 1) {
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j)
          target[i * columns + j] = decode<T>(data[i * source.rowStride + j]);
      return;
    }
    // Tiles of 16 x 16: with a large column stride each line of the cache is
    // used for several rows.
    for (int64_t i0 = 0; i0 < rows; i0 += 16)
      for (int64_t j0 = 0; j0 < columns; j0 += 16)
        for (int64_t i = i0; i < i0 + 16 && i < rows; ++i)
          for (int64_t j = j0; j < j0 + 16 && j < columns; ++j)
            target[i * columns + j] =
                decode<T>(data[i * source.rowStride + j * source.columnStride]);
  });
}

template <typename T>
void scaled(const StoredMatrix &source, T scale, int64_t rows, int64_t columns,
            T *target, int64_t rowStride, int64_t columnStride) {
  const T *data = static_cast<const T *>(source.data);
  for (int64_t i = 0; i < rows; ++i) {
    const T *from = data + i * source.rowStride;
    T *to = target + i * rowStride;
    if (columnStride == 1 && source.columnStride == 1) {
      for (int64_t j = 0; j < columns; ++j)
        to[j] = scale * from[j];
    } else {
      for (int64_t j = 0; j < columns; ++j)
        to[j * columnStride] = scale * from[j * source.columnStride];
    }
  }
}

/// max(x, 0) that keeps NaN and has no -0.
template <typename T> T positive(T x) { return x > 0 ? x : x == x ? T(0) : x; }

template <typename T>
void store(const T *source, const StoredMatrix &addend, T scale, int64_t rows,
           int64_t columns, void *target, ElementType type, int64_t rowStride,
           int64_t columnStride, bool relu) {
  withStorage<T>(type, [&]<typename S>(S *) {
    S *to = static_cast<S *>(target);
    const S *add = static_cast<const S *>(addend.data);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        T value = source[i * columns + j];
        if (add)
          value +=
              scale *
              decode<T>(add[i * addend.rowStride + j * addend.columnStride]);
        to[i * rowStride + j * columnStride] =
            encode<S>(relu ? positive(value) : value);
      }
  });
}

template <typename T>
void relu(T *target, int64_t rows, int64_t columns, int64_t rowStride,
          int64_t columnStride) {
  for (int64_t i = 0; i < rows; ++i) {
    T *row = target + i * rowStride;
    if (columnStride == 1)
      for (int64_t j = 0; j < columns; ++j)
        row[j] = positive(row[j]);
    else
      for (int64_t j = 0; j < columns; ++j)
        row[j * columnStride] = positive(row[j * columnStride]);
  }
}

template <typename T>
constexpr TypedKernels<T> kKernels{
    static_cast<void (*)(const GemmTask<T> &)>(gemm),
    directConv<T>,
    im2col<T>,
    load<T>,
    scaled<T>,
    store<T>,
    relu<T>};

} // namespace

extern const LevelKernels LOCKSTITCH_JOIN(kLevelKernels_, LOCKSTITCH_LEVEL);
const LevelKernels LOCKSTITCH_JOIN(kLevelKernels_, LOCKSTITCH_LEVEL){
    LOCKSTITCH_LEVEL_NAME, kKernels<float>, kKernels<double>,
    kKernels<uint32_t>, kKernels<uint64_t>};

} // namespace lockstitch::library
