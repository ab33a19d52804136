// Reads ONNX files into plain structs (model.h) without copying weights.
#ifndef LOCKSTITCH_FRONTENDS_ONNX_READER_H
#define LOCKSTITCH_FRONTENDS_ONNX_READER_H

#include "frontends/onnx/model.h"
#include "frontends/onnx/wire.h"
#include "runtime/program/status.h"

#include <string>

namespace lockstitch::onnx {

/// Maps and walks the model at `path`. `raw_data` of tensors, and packed float
/// data, stay in the mapped file; external data files are mapped too. Refused
/// with a message of its own: no such file, a directory, an empty file, a file
/// of another kind (PNG, ZIP ...), a truncated or damaged model. A damaged
/// *tensor* is not an error here: see Tensor::problem.
Result<Model> readModelFile(const std::string &path);

/// The same for bytes in memory; `owner` keeps them alive, `path` is for
/// messages and for external data ("" refuses it).
Result<Model> readModelBytes(Bytes bytes, std::shared_ptr<const void> owner,
                             const std::string &path);

/// Decodes one TensorProto.
Result<Tensor> readTensorBytes(Bytes bytes, std::shared_ptr<const void> owner,
                               const std::string &path);

} // namespace lockstitch::onnx

#endif // LOCKSTITCH_FRONTENDS_ONNX_READER_H
