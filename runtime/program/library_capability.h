// What the libraries of each kind of target take: which products and convolutions, and which epilogues. The compiler asks
// before it plans; nothing is matched by an operator's name.
#ifndef LOCKSTITCH_RUNTIME_PROGRAM_LIBRARY_CAPABILITY_H
#define LOCKSTITCH_RUNTIME_PROGRAM_LIBRARY_CAPABILITY_H

#include "runtime/program/library_call.h"

#include <optional>
#include <string>
#include <string_view>

namespace lockstitch {

/// The libraries of one kind of target.
///   Host   Eigen, oneDNN and loops of ours (runtime/library)
///   Cuda   cuBLASLt and cuDNN
enum class LibraryFamily : uint8_t { Host, Cuda };

/// The family that serves `target` ("host", "x86-64-v3", "sm_90").
LibraryFamily libraryFamilyOf(std::string_view target);

/// Why no library of the family computes `call`, its epilogue aside; nothing if one does.
std::optional<std::string> callRefusal(const LibraryCall &call,
                                       LibraryFamily family);

/// Why no library of the family takes the epilogue of `call` (its addend and its activation); nothing if one does, or if
/// there is no epilogue.
std::optional<std::string> epilogueRefusal(const LibraryCall &call,
                                           LibraryFamily family);

} // namespace lockstitch

#endif // LOCKSTITCH_RUNTIME_PROGRAM_LIBRARY_CAPABILITY_H
