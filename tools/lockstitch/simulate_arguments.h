// The arguments of `lockstitch simulate`: FILE.npy, f32[4096], i32=7.
#ifndef LOCKSTITCH_TOOLS_LOCKSTITCH_SIMULATE_ARGUMENTS_H
#define LOCKSTITCH_TOOLS_LOCKSTITCH_SIMULATE_ARGUMENTS_H

#include "tools/lockstitch/array.h"

#include <variant>

namespace lockstitch::tool {

/// A buffer with content, from a file.
struct FileArgument {
  std::string path;
};
/// A buffer whose content is not initialised.
struct BufferArgument {
  ElementType type = ElementType::F32;
  std::vector<int64_t> shape;
};
/// Passed by value: the bytes of one element.
struct ScalarArgument {
  ElementType type = ElementType::I32;
  std::vector<uint8_t> bytes;
};
using KernelArgumentText =
    std::variant<FileArgument, BufferArgument, ScalarArgument>;

/// Parses one --arg; `where` is the place in messages ("--arg 2"). What begins
/// with an element type and '[' or '=' is a buffer or a scalar, anything else
/// the name of a file. Errors (refused): a size or a value that is none, or
/// does not fit the type.
Result<KernelArgumentText> parseKernelArgument(const std::string &text,
                                               const std::string &where);

} // namespace lockstitch::tool

#endif // LOCKSTITCH_TOOLS_LOCKSTITCH_SIMULATE_ARGUMENTS_H
