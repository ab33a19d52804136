// Where a run's inputs come from: --input, --data-set, --random.
//
//   readGivenInputs    the files, by input; they also fix the shapes that the
//   model leaves open (compile) completeInputs     checks them against what the
//   program takes and fills the rest, or refuses all that is missing at once
#ifndef LOCKSTITCH_TOOLS_LOCKSTITCH_INPUTS_H
#define LOCKSTITCH_TOOLS_LOCKSTITCH_INPUTS_H

#include "tools/lockstitch/array.h"
#include "tools/lockstitch/options.h"

#include <map>

namespace lockstitch::tool {

/// An input as the model or the artifact declares it.
struct InputDeclaration {
  std::string name;
  std::optional<ElementType> type; // nothing: one that Lockstitch lacks
  std::string text;                // "x f32[batch,3]"
};

/// The inputs that `options` give, by the index of the declaration. A 16-bit
/// integer `.npy` serves as bf16, which NumPy lacks. Errors (refused): an
/// unknown name (the message has the names), an input given twice, a file that
/// cannot be read, another element type than declared, more files in the data
/// set than inputs.
Result<std::map<size_t, Array>>
readGivenInputs(const std::vector<InputDeclaration> &declared,
                const ModelOptions &options);

/// Refuses if an input is missing and there is no --random: each of them with
/// the way out.
Status checkNoneMissing(const std::vector<InputDeclaration> &declared,
                        const std::map<size_t, Array> &given, bool random);

/// The program's inputs in order. `artifact` is the file's name if the shapes
/// were fixed there, else "". Errors (refused): shapes that are not the
/// program's (the message has those), missing ones as above.
Result<std::vector<Array>> completeInputs(const std::vector<TensorInfo> &wanted,
                                          std::map<size_t, Array> given,
                                          std::optional<uint64_t> random,
                                          const std::string &artifact);

/// The files `PREFIX_0.pb`, `PREFIX_1.pb` ... of a data set, as far as they go
/// without a gap. Error (refused): there is no such folder.
Result<std::vector<std::string>> listDataSet(const std::string &folder,
                                             const std::string &prefix);

/// Values for `info`, the same for the same seed and index: floats normal with
/// a deviation of 0.5; i32 and i64, which may be indices, and bool 0 or 1;
/// other integers 0 to 9.
Array randomArray(const TensorInfo &info, uint64_t seed, size_t index);

} // namespace lockstitch::tool

#endif // LOCKSTITCH_TOOLS_LOCKSTITCH_INPUTS_H
