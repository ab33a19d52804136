// The artifact, `.lsp`: a Program on disk.
//
//    0  header, 64 bytes, little-endian
//         0  magic "\x89LSP\r\n\x1a\n": no text file begins so, and a
//            transfer in text mode breaks it
//         8  u32 version: 1, or the one that a reader must know: 2 with open
//            sizes or references to files of weights
//        12  u32 zero
//        16  u64 bytes of the file
//        24  u64 bytes of the manifest
//        32  u64 checksum of the manifest and the zeros behind it
//        40  u64 zero, u64 zero
//        56  u64 checksum of the 56 bytes before
//   64  manifest: Protobuf, manifest.proto; then zeros up to a multiple of
//       kSectionAlignment
//       sections: constants and code, each followed by zeros up to the next
//       multiple of kSectionAlignment
//
// Checksums are XXH3 (64 bits). Every byte of the file is covered by one of
// them. Header, manifest and the arithmetic of all sections are checked on
// reading; a section's checksum when its Blob is verified, so that code and
// weights that are not used are not read. The file is mapped: constants stay in
// place, and whoever holds a Blob holds the mapping.
#ifndef LOCKSTITCH_RUNTIME_PROGRAM_ARTIFACT_H
#define LOCKSTITCH_RUNTIME_PROGRAM_ARTIFACT_H

#include "runtime/program/program.h"
#include "runtime/program/status.h"

#include <memory>
#include <string>

namespace lockstitch {

inline constexpr uint32_t kFormatVersion = 2;
inline constexpr uint64_t kSectionAlignment = 64;

/// What becomes of constants whose bytes lie in an open file (the model, its
/// external data), as the importer leaves them.
enum class WeightStorage : uint8_t {
  Embed, // sections of the artifact, which needs no other file
  /// From kReferredBytes on: the file's path from the artifact's folder, its
  /// size, the constant's place and checksum. Loading copies those that are not
  /// aligned. Constants that the importer computed are embedded.
  Refer,
};
inline constexpr size_t kReferredBytes = 256;

/// Writes `program` to `path`: to a file beside it first, which then takes its
/// name, so that nobody ever sees half an artifact. Equal programs give equal
/// bytes. Errors: refused (the folder or file cannot be written, no space),
/// internal (a program that contradicts itself or a checksum of a Blob that
/// does not hold).
Status writeArtifact(const Program &program, const std::string &path,
                     WeightStorage weights = WeightStorage::Embed);

/// Maps and checks the file, see above. Errors (refused): no such file, not an
/// artifact, truncated, damaged, written by a newer version, contradicting
/// itself; a file of weights that it refers to is not there, or has another
/// size. The files must not be changed in place while the program lives
/// (replacing them is fine); see file_bytes.h for what happens then.
Result<std::shared_ptr<const Program>> readArtifact(const std::string &path);

enum class Verified : uint8_t { No, Good, Bad };

/// A stretch of bytes with a checksum of its own.
struct ArtifactPart {
  std::string what; // "manifest", "constant 'w'", "code of host"
  std::string file; // of weights, as the artifact names it; "": the artifact
  uint64_t offset = 0, bytes = 0; // in that file; without the zeros behind them
  uint64_t checksum = 0;          // XXH3, 64 bits
  Verified verified = Verified::No;
};
/// Header, manifest (always verified), sections and referred constants, in the
/// order of the file. Errors: as readArtifact's.
Result<std::vector<ArtifactPart>> listParts(const std::string &path,
                                            bool verify);

/// Whether the file begins like an artifact: how the tools tell it from a
/// model.
bool looksLikeArtifact(const std::string &path);

/// Verifies every Blob of a program, used or not.
Status verifyContents(const Program &program);

} // namespace lockstitch

#endif // LOCKSTITCH_RUNTIME_PROGRAM_ARTIFACT_H
