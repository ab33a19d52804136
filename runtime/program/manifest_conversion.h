// Program <-> manifest.proto, field by field.
#ifndef LOCKSTITCH_RUNTIME_PROGRAM_MANIFEST_CONVERSION_H
#define LOCKSTITCH_RUNTIME_PROGRAM_MANIFEST_CONVERSION_H

#include "runtime/program/program.h"

#include "runtime/program/manifest.pb.h"

#include <functional>

namespace lockstitch {

/// Everything but the sections; `section(blob)` gives the number to write for a
/// blob (0 for none).
manifest::Manifest
toManifest(const Program &program,
           const std::function<uint32_t(const Blob &)> &section);

/// The reverse; `blob(number)` gives the bytes behind a section's number.
/// Enumerations are checked, nothing else (validate() does the rest). Returns
/// an empty string, or what is wrong.
std::string fromManifest(const manifest::Manifest &manifest,
                         const std::function<bool(uint32_t, Blob &)> &blob,
                         Program &program);

} // namespace lockstitch

#endif // LOCKSTITCH_RUNTIME_PROGRAM_MANIFEST_CONVERSION_H
