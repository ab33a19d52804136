// Tensors as files: NumPy's .npy and ONNX's TensorProto .pb.
#ifndef LOCKSTITCH_FRONTENDS_ONNX_TENSOR_FILE_H
#define LOCKSTITCH_FRONTENDS_ONNX_TENSOR_FILE_H

#include "compiler/graph/evaluate.h"
#include "runtime/program/status.h"

#include <string>

namespace lockstitch {

/// Reads a tensor; the content decides which kind it is, not the name. npy:
/// format versions 1 to 3, little-endian, C or Fortran order. Refused: other
/// files, element types that Lockstitch lacks, big-endian arrays, truncated
/// data.
Result<HostTensor> readTensorFile(const std::string &path);

/// Can NumPy's own format hold it? Everything but bf16.
bool hasNumpyType(ElementType type);

/// Writes `path` as .npy (format version 1, C order). Refuses bf16.
Status writeNumpyFile(const std::string &path, const TensorType &type,
                      std::span<const std::byte> bytes);

/// Writes `path` as a TensorProto with raw data.
Status writeTensorProtoFile(const std::string &path, const std::string &name,
                            const TensorType &type,
                            std::span<const std::byte> bytes);

} // namespace lockstitch

#endif // LOCKSTITCH_FRONTENDS_ONNX_TENSOR_FILE_H
