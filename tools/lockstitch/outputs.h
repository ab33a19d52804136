// What is done with a run's outputs: a summary for people, files for programs.
#ifndef LOCKSTITCH_TOOLS_LOCKSTITCH_OUTPUTS_H
#define LOCKSTITCH_TOOLS_LOCKSTITCH_OUTPUTS_H

#include "tools/lockstitch/array.h"

namespace lockstitch::tool {

/// Memory for outputs of these types and shapes. Error (device failed): there
/// is not enough.
Result<std::vector<Array>> makeOutputs(const std::vector<TensorInfo> &infos);

/// One line per output: name, type, shape, range and mean, the first values.
std::string summarise(const std::vector<TensorInfo> &infos,
                      const std::vector<Array> &outputs);

/// Writes `0.npy`, `1.npy` ... (`N.pb` for types that NumPy lacks) and
/// `outputs.json`, a list of
/// {"name", "type", "shape", "file"} in the order of the model's outputs.
/// Errors (refused): a file cannot be written.
Status saveOutputs(const std::string &folder,
                   const std::vector<TensorInfo> &infos,
                   const std::vector<Array> &outputs);

/// The content of outputs.json.
std::string outputsJson(const std::vector<TensorInfo> &infos,
                        const std::vector<std::string> &files);

} // namespace lockstitch::tool

#endif // LOCKSTITCH_TOOLS_LOCKSTITCH_OUTPUTS_H
