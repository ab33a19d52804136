// Decodes TensorProto: raw, typed or external data, in place where possible.
// Internal to the reader.
#ifndef LOCKSTITCH_FRONTENDS_ONNX_TENSOR_DECODER_H
#define LOCKSTITCH_FRONTENDS_ONNX_TENSOR_DECODER_H

#include "frontends/onnx/mapped_file.h"
#include "frontends/onnx/model.h"
#include "frontends/onnx/wire.h"

#include <map>

namespace lockstitch::onnx {

/// What all messages of one file share.
struct DecodeContext {
  WireError error;
  std::shared_ptr<const void> owner; // of the file's bytes
  std::string folder; // of the model, for external data; empty: external data
                      // is refused
  std::map<std::string, std::shared_ptr<const MappedFile>> externalFiles;
};

void decodeTensor(Bytes message, Tensor &tensor, DecodeContext &context);

/// Finds `location` below `folder`, and `length` bytes at `offset` of it. Sets
/// `problem` if that leaves the folder, is not there, or is too short.
ConstantData openExternalData(DecodeContext &context,
                              const std::map<std::string, std::string> &entries,
                              std::string &problem);

} // namespace lockstitch::onnx

#endif // LOCKSTITCH_FRONTENDS_ONNX_TENSOR_DECODER_H
