// CUDA kernels that nvcc compiles to PTX, and the simulator runs: code that
// Lockstitch did not emit, in the styles that people write. The PTX is checked
// in under ptx/ (regenerate: see ../README.md), the C++ references are in
// ../cuda_test.cpp.
#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math_constants.h>

namespace cg = cooperative_groups;

// --- softmax, one row per block or warp --------------------------------------

// Classic: tree reductions in shared memory.
extern "C" __global__ void softmax_shared(const float *x, float *y, int n) {
  extern __shared__ float s[];
  int t = threadIdx.x;
  x += (size_t)blockIdx.x * n;
  y += (size_t)blockIdx.x * n;
  float m = -CUDART_INF_F;
  for (int i = t; i < n; i += blockDim.x)
    m = fmaxf(m, x[i]);
  s[t] = m;
  __syncthreads();
  for (int k = blockDim.x / 2; k > 0; k /= 2) {
    if (t < k)
      s[t] = fmaxf(s[t], s[t + k]);
    __syncthreads();
  }
  m = s[0];
  __syncthreads();
  float sum = 0;
  for (int i = t; i < n; i += blockDim.x)
    sum += __expf(x[i] - m);
  s[t] = sum;
  __syncthreads();
  for (int k = blockDim.x / 2; k > 0; k /= 2) {
    if (t < k)
      s[t] += s[t + k];
    __syncthreads();
  }
  sum = s[0];
  for (int i = t; i < n; i += blockDim.x)
    y[i] = __expf(x[i] - m) / sum;
}

__device__ float warp_max(float v) {
  for (int k = 16; k; k /= 2)
    v = fmaxf(v, __shfl_xor_sync(~0u, v, k));
  return v;
}
__device__ float warp_sum(float v) {
  for (int k = 16; k; k /= 2)
    v += __shfl_xor_sync(~0u, v, k);
  return v;
}

// One warp per row, shuffles, accurate expf.
extern "C" __global__ void softmax_warp(const float *__restrict__ x,
                                        float *__restrict__ y, int rows,
                                        int n) {
  int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  int lane = threadIdx.x % 32;
  if (row >= rows)
    return;
  x += (size_t)row * n;
  y += (size_t)row * n;
  float m = -CUDART_INF_F, sum = 0;
  for (int i = lane; i < n; i += 32)
    m = fmaxf(m, x[i]);
  m = warp_max(m);
  for (int i = lane; i < n; i += 32)
    sum += expf(x[i] - m);
  sum = warp_sum(sum);
  for (int i = lane; i < n; i += 32)
    y[i] = expf(x[i] - m) / sum;
}

// One block per row, values kept in registers, vectors of four, one pass.
extern "C" __global__ void softmax_vector(const float4 *__restrict__ x,
                                          float4 *__restrict__ y) {
  __shared__ float part[2][8];
  int t = threadIdx.x, warp = t / 32;
  float4 v = x[blockIdx.x * blockDim.x + t];
  float m = warp_max(fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));
  if (t % 32 == 0)
    part[0][warp] = m;
  __syncthreads();
  m = part[0][0];
  for (int i = 1; i < blockDim.x / 32; ++i)
    m = fmaxf(m, part[0][i]);
  v.x = exp2f((v.x - m) * 1.44269504f);
  v.y = exp2f((v.y - m) * 1.44269504f);
  v.z = exp2f((v.z - m) * 1.44269504f);
  v.w = exp2f((v.w - m) * 1.44269504f);
  float sum = warp_sum((v.x + v.y) + (v.z + v.w));
  if (t % 32 == 0)
    part[1][warp] = sum;
  __syncthreads();
  sum = part[1][0];
  for (int i = 1; i < blockDim.x / 32; ++i)
    sum += part[1][i];
  float r = 1.0f / sum;
  y[blockIdx.x * blockDim.x + t] =
      make_float4(v.x * r, v.y * r, v.z * r, v.w * r);
}

// Half in, half out, online maximum and sum.
extern "C" __global__ void softmax_half(const __half2 *x, __half2 *y, int n2) {
  __shared__ float ms[32], ss[32];
  int t = threadIdx.x;
  x += (size_t)blockIdx.x * n2;
  y += (size_t)blockIdx.x * n2;
  float m = -CUDART_INF_F, s = 0;
  for (int i = t; i < n2; i += blockDim.x) {
    float2 v = __half22float2(x[i]);
    float now = fmaxf(m, fmaxf(v.x, v.y));
    s = s * __expf(m - now) + __expf(v.x - now) + __expf(v.y - now);
    m = now;
  }
  for (int k = 16; k; k /= 2) {
    float om = __shfl_xor_sync(~0u, m, k), os = __shfl_xor_sync(~0u, s, k);
    float now = fmaxf(m, om);
    s = s * __expf(m - now) + os * __expf(om - now);
    m = now;
  }
  if (t % 32 == 0) {
    ms[t / 32] = m;
    ss[t / 32] = s;
  }
  __syncthreads();
  int warps = blockDim.x / 32;
  m = ms[0];
  s = ss[0];
  for (int i = 1; i < warps; ++i) {
    float now = fmaxf(m, ms[i]);
    s = s * __expf(m - now) + ss[i] * __expf(ms[i] - now);
    m = now;
  }
  for (int i = t; i < n2; i += blockDim.x) {
    float2 v = __half22float2(x[i]);
    y[i] = __floats2half2_rn(__expf(v.x - m) / s, __expf(v.y - m) / s);
  }
}

// --- reductions ---------------------------------------------------------------

extern "C" __global__ void reduce_shared(const int *x, int *y, int n) {
  __shared__ int s[256];
  int t = threadIdx.x, sum = 0;
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x)
    sum += x[i];
  s[t] = sum;
  __syncthreads();
  for (int k = 128; k >= 32; k /= 2) {
    if (t < k)
      s[t] += s[t + k];
    __syncthreads();
  }
  if (t < 32) {
    // The last warp, with warp synchronisation instead of barriers.
    int v = s[t];
    for (int k = 16; k; k /= 2) {
      if (t + k < 32)
        v += s[t + k];
      __syncwarp();
      s[t] = v;
      __syncwarp();
    }
    if (t == 0)
      y[blockIdx.x] = v;
  }
}

extern "C" __global__ void reduce_atomic(const float *x, float *y, int n) {
  float v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x)
    v += x[i];
  v = warp_sum(v);
  if (threadIdx.x % 32 == 0)
    atomicAdd(y, v);
}

extern "C" __global__ void reduce_redux(const unsigned *x, unsigned *y) {
  unsigned v = x[blockIdx.x * blockDim.x + threadIdx.x];
  unsigned sum = __reduce_add_sync(~0u, v), top = __reduce_max_sync(~0u, v);
  if (threadIdx.x % 32 == 0) {
    atomicAdd(y, sum);
    atomicMax(y + 1, top);
  }
}

// The CUDA programming guide's example for __threadfence().
__device__ unsigned blocks_done = 0;
extern "C" __global__ void reduce_last_block(const float *x, unsigned n,
                                             volatile float *partial,
                                             float *y) {
  __shared__ bool last;
  __shared__ float s[8];
  float v = 0;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x)
    v += x[i];
  v = warp_sum(v);
  if (threadIdx.x % 32 == 0)
    s[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x == 0) {
    float sum = 0;
    for (int i = 0; i < blockDim.x / 32; ++i)
      sum += s[i];
    partial[blockIdx.x] = sum;
    __threadfence();
    last = atomicInc(&blocks_done, gridDim.x) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float sum = 0;
    for (unsigned i = 0; i < gridDim.x; ++i)
      sum += partial[i];
    *y = sum;
    blocks_done = 0;
  }
}

// Grid-wide synchronisation of a cooperative launch, in two phases.
extern "C" __global__ void reduce_grid_sync(const float *x, float *partial,
                                            float *y, int n) {
  cg::grid_group grid = cg::this_grid();
  __shared__ float s[8];
  int t = threadIdx.x;
  float v = 0;
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x)
    v += x[i];
  v = warp_sum(v);
  if (t % 32 == 0)
    s[t / 32] = v;
  __syncthreads();
  if (t == 0) {
    float sum = 0;
    for (int i = 0; i < blockDim.x / 32; ++i)
      sum += s[i];
    partial[blockIdx.x] = sum;
  }
  grid.sync();
  float total = 0;
  for (int i = 0; i < gridDim.x; ++i)
    total += partial[i];
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x)
    y[i] = x[i] / total;
}

// --- LayerNorm ----------------------------------------------------------------

extern "C" __global__ void layer_norm(const float *__restrict__ x,
                                      const float *__restrict__ gamma,
                                      const float *__restrict__ beta,
                                      float *__restrict__ y, int n,
                                      float epsilon) {
  __shared__ float s[32];
  int t = threadIdx.x;
  x += (size_t)blockIdx.x * n;
  y += (size_t)blockIdx.x * n;
  auto sum_of = [&](float v) {
    v = warp_sum(v);
    __syncthreads();
    if (t % 32 == 0)
      s[t / 32] = v;
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < blockDim.x / 32; ++i)
      sum += s[i];
    return sum;
  };
  float v = 0;
  for (int i = t; i < n; i += blockDim.x)
    v += x[i];
  float mean = sum_of(v) / n;
  v = 0;
  for (int i = t; i < n; i += blockDim.x)
    v += (x[i] - mean) * (x[i] - mean);
  float scale = rsqrtf(sum_of(v) / n + epsilon);
  for (int i = t; i < n; i += blockDim.x)
    y[i] = (x[i] - mean) * scale * gamma[i] + beta[i];
}

// bf16, Welford's update, vectors of two.
extern "C" __global__ void layer_norm_bf16(const __nv_bfloat162 *x,
                                           __nv_bfloat162 *y, int n2) {
  int lane = threadIdx.x;
  x += (size_t)blockIdx.x * n2;
  y += (size_t)blockIdx.x * n2;
  float mean = 0, m2 = 0, count = 0;
  auto take = [&](float v) {
    count += 1;
    float d = v - mean;
    mean += d / count;
    m2 += d * (v - mean);
  };
  for (int i = lane; i < n2; i += 32) {
    float2 v = __bfloat1622float2(x[i]);
    take(v.x);
    take(v.y);
  }
  for (int k = 16; k; k /= 2) {
    float om = __shfl_xor_sync(~0u, mean, k), o2 = __shfl_xor_sync(~0u, m2, k),
          oc = __shfl_xor_sync(~0u, count, k);
    float all = count + oc, d = om - mean;
    mean += d * oc / all;
    m2 += o2 + d * d * count * oc / all;
    count = all;
  }
  float scale = rsqrtf(m2 / count + 1e-5f);
  for (int i = lane; i < n2; i += 32) {
    float2 v = __bfloat1622float2(x[i]);
    y[i] = __floats2bfloat162_rn((v.x - mean) * scale, (v.y - mean) * scale);
  }
}

// --- transposes -----------------------------------------------------------------

extern "C" __global__ void transpose_naive(const float *x, float *y, int rows,
                                           int cols) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  int r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r < rows && c < cols)
    y[c * rows + r] = x[r * cols + c];
}

template <int Pad>
__device__ void transpose_tile(const float *x, float *y, int rows, int cols) {
  __shared__ float tile[32][32 + Pad];
  int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
  for (int k = 0; k < 32; k += 8)
    if (r + k < rows && c < cols)
      tile[threadIdx.y + k][threadIdx.x] = x[(r + k) * cols + c];
  __syncthreads();
  c = blockIdx.y * 32 + threadIdx.x;
  r = blockIdx.x * 32 + threadIdx.y;
  for (int k = 0; k < 32; k += 8)
    if (r + k < cols && c < rows)
      y[(r + k) * rows + c] = tile[threadIdx.x][threadIdx.y + k];
}
extern "C" __global__ void transpose_tiled(const float *x, float *y, int rows,
                                           int cols) {
  transpose_tile<0>(x, y, rows, cols);
}
extern "C" __global__ void transpose_padded(const float *x, float *y, int rows,
                                            int cols) {
  transpose_tile<1>(x, y, rows, cols);
}

// --- histogram --------------------------------------------------------------------

extern "C" __global__ void histogram(const unsigned char *x, unsigned *bins,
                                     int n) {
  __shared__ unsigned s[64];
  for (int i = threadIdx.x; i < 64; i += blockDim.x)
    s[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x)
    atomicAdd(&s[x[i] / 4], 1);
  __syncthreads();
  for (int i = threadIdx.x; i < 64; i += blockDim.x)
    if (s[i])
      atomicAdd(&bins[i], s[i]);
}

// Warp-aggregated counting: match.any, popc, one atomic per group.
extern "C" __global__ void histogram_match(const unsigned char *x,
                                           unsigned *bins, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned active = __ballot_sync(~0u, i < n);
  if (i >= n)
    return;
  int bin = x[i] / 4;
  unsigned same = __match_any_sync(active, bin);
  if (threadIdx.x % 32 == __ffs(same) - 1)
    atomicAdd(&bins[bin], __popc(same));
}

// --- products -------------------------------------------------------------------

// C (16 x 8) += A (16 x K, row) B (K x 8, column), one warp, mma.sync.
extern "C" __global__ void product_mma(const __half *a, const __half *b,
                                       float *c, int k) {
  int lane = threadIdx.x, g = lane / 4, t = lane % 4;
  float d[4] = {0, 0, 0, 0};
  for (int k0 = 0; k0 < k; k0 += 16) {
    auto pair = [](const __half *p) {
      return *reinterpret_cast<const unsigned *>(p);
    };
    unsigned a0 = pair(a + g * k + k0 + 2 * t),
             a1 = pair(a + (g + 8) * k + k0 + 2 * t),
             a2 = pair(a + g * k + k0 + 8 + 2 * t),
             a3 = pair(a + (g + 8) * k + k0 + 8 + 2 * t);
    unsigned b0 = pair(b + g * k + k0 + 2 * t),
             b1 = pair(b + g * k + k0 + 8 + 2 * t);
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  }
  c[g * 8 + 2 * t] = d[0];
  c[g * 8 + 2 * t + 1] = d[1];
  c[(g + 8) * 8 + 2 * t] = d[2];
  c[(g + 8) * 8 + 2 * t + 1] = d[3];
}

// A tiled product with a double-buffered cp.async pipeline (16 x 16 tiles).
extern "C" __global__ void product_async(const float *a, const float *b,
                                         float *c, int n) {
  __shared__ __align__(16) float sa[2][16][16], sb[2][16][16];
  int tx = threadIdx.x, ty = threadIdx.y, t = ty * 16 + tx;
  int row0 = blockIdx.y * 16, col0 = blockIdx.x * 16;
  auto fetch = [&](int stage, int k0) {
    // 64 threads copy 16 bytes each, per tile.
    if (t < 128) {
      int which = t / 64, i = t % 64 / 4, j = t % 4 * 4;
      const float *src = which ? b + (k0 + i) * n + col0 + j
                               : a + (row0 + i) * n + k0 + j;
      float *dst = which ? &sb[stage][i][j] : &sa[stage][i][j];
      unsigned to = (unsigned)__cvta_generic_to_shared(dst);
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to),
                   "l"(src)
                   : "memory");
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  float sum = 0;
  fetch(0, 0);
  for (int k0 = 0, stage = 0; k0 < n; k0 += 16, stage ^= 1) {
    if (k0 + 16 < n) {
      fetch(stage ^ 1, k0 + 16);
      asm volatile("cp.async.wait_group 1;" ::: "memory");
    } else {
      asm volatile("cp.async.wait_group 0;" ::: "memory");
    }
    __syncthreads();
    for (int k = 0; k < 16; ++k)
      sum = fmaf(sa[stage][ty][k], sb[stage][k][tx], sum);
    __syncthreads();
  }
  c[(row0 + ty) * n + col0 + tx] = sum;
}

// --- others -----------------------------------------------------------------------

// Divergence, local arrays, integer division, double precision, a device call.
__device__ __noinline__ double collatz(unsigned n, int *steps) {
  double product = 1;
  int k = 0;
  while (n != 1 && k < 200) {
    n = n % 2 ? 3 * n + 1 : n / 2;
    product = product * 0.5 + n;
    ++k;
  }
  *steps = k;
  return product;
}
extern "C" __global__ void divergent(int *steps, double *product, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int local[4];
  for (int k = 0; k < 4; ++k) {
    int s;
    product[i] = collatz(i + 1 + k, &s);
    local[(i + k) % 4] = s;
  }
  steps[i] = local[0] + 3 * local[1] + 5 * local[2] + 7 * local[3];
}

// Elementary functions of the CUDA library, accurate and fast.
extern "C" __global__ void elementary(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float v = x[i];
  y[i] = expf(v);
  y[i + n] = tanhf(v);
  y[i + 2 * n] = erff(v);
  y[i + 3 * n] = sinf(v);
  y[i + 4 * n] = log1pf(fabsf(v));
  y[i + 5 * n] = powf(fabsf(v) + 0.5f, 1.25f);
  y[i + 6 * n] = v / (1 + __expf(-v));
  y[i + 7 * n] = cbrtf(v);
}
