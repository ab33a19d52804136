#include "runtime/library/onednn.h"

#include <algorithm>

#ifdef LOCKSTITCH_HAVE_ONEDNN
#include <oneapi/dnnl/dnnl.h>

// Of libgomp, on which Debian's oneDNN runs; the setting belongs to the calling
// thread.
extern "C" void omp_set_num_threads(int);
#endif

namespace lockstitch::library {

bool oneDnnTakes(int64_t rows, int64_t columns, int64_t rowStride,
                 int64_t columnStride) {
  return (columnStride == 1 && rowStride >= std::max<int64_t>(columns, 1)) ||
         (rowStride == 1 && columnStride >= std::max<int64_t>(rows, 1));
}

#ifdef LOCKSTITCH_HAVE_ONEDNN

bool haveOneDnn() { return true; }

bool oneDnnGemm(const GemmTask<float> &task) {
  thread_local bool single = false;
  if (!single) {
    omp_set_num_threads(1);
    single = true;
  }
  GemmTask<float> t = task;
  auto isRowMajor = [](int64_t rows, int64_t columns, int64_t rowStride,
                       int64_t columnStride) {
    return columnStride == 1 && rowStride >= std::max<int64_t>(columns, 1);
  };
  if (!isRowMajor(t.m, t.n, t.cRow,
                  t.cColumn)) { // column-major result: compute its transpose
    std::swap(t.m, t.n);
    std::swap(t.a, t.b);
    std::swap(t.aRow, t.bColumn);
    std::swap(t.aColumn, t.bRow);
    std::swap(t.cRow, t.cColumn);
  }
  bool aRows = isRowMajor(t.m, t.k, t.aRow, t.aColumn),
       bRows = isRowMajor(t.k, t.n, t.bRow, t.bColumn);
  return dnnl_sgemm(aRows ? 'N' : 'T', bRows ? 'N' : 'T', t.m, t.n, t.k,
                    t.alpha, t.a, aRows ? t.aRow : t.aColumn, t.b,
                    bRows ? t.bRow : t.bColumn, t.accumulate ? 1.0f : 0.0f, t.c,
                    t.cRow) == dnnl_success;
}

#else

bool haveOneDnn() { return false; }
bool oneDnnGemm(const GemmTask<float> &) { return false; }

#endif

} // namespace lockstitch::library
