/* Kernels by hand, in the host ABI of runtime/program/program.h; built into a
 * shared object without externals. */
#include <stdint.h>

#define KERNEL __attribute__((visibility("default")))
typedef int64_t i64;
enum { kColumns = 16 };

/* out[r, c] = a[r, c] + b[r, c]; by way of the scratch row, so that shared
 * scratch would show */
KERNEL void add_rows(void *const *args, i64 begin, i64 end, void *scratch) {
  const float *a = args[0], *b = args[1];
  float *out = args[2], *row = scratch;
  for (i64 r = begin; r < end; ++r) {
    for (i64 c = 0; c < kColumns; ++c)
      row[c] = a[r * kColumns + c] + b[r * kColumns + c];
    for (i64 c = 0; c < kColumns; ++c)
      out[r * kColumns + c] = row[c];
  }
}

/* out = 2 * in, elementwise, kColumns per row */
KERNEL void twice(void *const *args, i64 begin, i64 end, void *scratch) {
  const float *in = args[0];
  float *out = args[1];
  for (i64 i = begin * kColumns; i < end * kColumns; ++i)
    out[i] = 2 * in[i];
}

/* The workspace counts the runs; out[0] = count. */
KERNEL void count_runs(void *const *args, i64 begin, i64 end, void *scratch) {
  int32_t *workspace = args[0], *out = args[1];
  out[0] = ++workspace[0];
}

/* out[r] = 1 if scratch, a and b are 64-byte aligned */
KERNEL void alignment(void *const *args, i64 begin, i64 end, void *scratch) {
  int32_t *out = args[2];
  uintptr_t bits = (uintptr_t)args[0] | (uintptr_t)args[1] | (uintptr_t)scratch;
  for (i64 r = begin; r < end; ++r)
    out[r] = bits % 64 == 0;
}
