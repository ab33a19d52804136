// The example of docs/simulator.md: sums of the rows of a matrix, one block per
// row. The second kernel lacks a barrier.
template <bool Barrier>
__device__ void sums(const float *x, float *y, int n) {
  __shared__ float part[8];
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    sum += x[blockIdx.x * n + i];
  for (int k = 16; k; k /= 2)
    sum += __shfl_xor_sync(~0u, sum, k);
  if (threadIdx.x % 32 == 0)
    part[threadIdx.x / 32] = sum;
  if (Barrier)
    __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 1; i < blockDim.x / 32; ++i)
      sum += part[i];
    y[blockIdx.x] = sum;
  }
}

extern "C" __global__ void row_sums(const float *x, float *y, int n) {
  sums<true>(x, y, n);
}
extern "C" __global__ void row_sums_wrong(const float *x, float *y, int n) {
  sums<false>(x, y, n);
}
