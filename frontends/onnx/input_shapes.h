// Fixes the shapes of a model's inputs. Internal to the importer.
#ifndef LOCKSTITCH_FRONTENDS_ONNX_INPUT_SHAPES_H
#define LOCKSTITCH_FRONTENDS_ONNX_INPUT_SHAPES_H

#include "frontends/onnx/importer.h"

namespace lockstitch::onnx {

/// The concrete type of each input of `model`, in order; nothing for one that
/// cannot be fixed, and then a message says why. Sources: the declaration,
/// `options.shapes`, `options.dims`, and symbols that another input's shape
/// gives a value. Symbols are entered into `symbols` with their values.
std::vector<std::optional<TensorType>>
resolveInputs(const OnnxModel &model, const ImportOptions &options,
              SymbolTable &symbols, std::vector<ErrorMessage> &messages);

} // namespace lockstitch::onnx

#endif // LOCKSTITCH_FRONTENDS_ONNX_INPUT_SHAPES_H
