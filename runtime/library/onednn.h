// oneDNN behind one file. Every call here is computed by the calling thread
// alone: oneDNN's own pool (OpenMP) never starts, because two pools would spin
// against each other; matmul.cpp and conv.cpp cut the work instead.
#ifndef LOCKSTITCH_RUNTIME_LIBRARY_ONEDNN_H
#define LOCKSTITCH_RUNTIME_LIBRARY_ONEDNN_H

#include "runtime/library/level_kernels.h"

namespace lockstitch::library {

/// Whether oneDNN was found when this was built.
bool haveOneDnn();

/// As TypedKernels<float>::gemm, with oneDNN's sgemm. Each matrix has a stride
/// of 1 and another that is at least the extent (oneDnnTakes). False when
/// oneDNN failed.
bool oneDnnGemm(const GemmTask<float> &task);

/// Whether oneDNN can express the strides of a rows x columns matrix.
bool oneDnnTakes(int64_t rows, int64_t columns, int64_t rowStride,
                 int64_t columnStride);

} // namespace lockstitch::library

#endif // LOCKSTITCH_RUNTIME_LIBRARY_ONEDNN_H
