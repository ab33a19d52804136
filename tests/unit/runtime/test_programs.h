// Small programs for the tests of the runtime, put together by hand around the
// kernels of kernels.c.
#ifndef LOCKSTITCH_TESTS_UNIT_RUNTIME_TEST_PROGRAMS_H
#define LOCKSTITCH_TESTS_UNIT_RUNTIME_TEST_PROGRAMS_H

#include "runtime/program/program.h"
#include "runtime/program/status.h"

#include <string>
#include <vector>

namespace lockstitch::testing {

/// The shared object built from kernels.c.
Blob kernelsObject();

template <typename T> Blob blobOf(const std::vector<T> &values) {
  auto *bytes = reinterpret_cast<const std::byte *>(values.data());
  return Blob::own({bytes, bytes + values.size() * sizeof(T)});
}

BufferRef input(uint32_t index, int64_t bytes);
BufferRef output(uint32_t index, int64_t bytes);
BufferRef constant(uint32_t index, int64_t bytes);
BufferRef arena(int64_t offset, int64_t bytes);
BufferRef workspace(int64_t bytes);

/// x f32[rows x 16] -> y = 2 * (x + bias), one step over the arena; bias is
/// constant 0.
Program addAndDouble(int64_t rows);

/// Without inputs; its output is how often this context has run, counted in the
/// first element of a workspace of that size.
Program countRuns(Dim workspaceBytes);

/// x f32[n x 16] -> y = 4 * x, over the arena, with a scratch row that grows
/// with n (the kernel needs 64 bytes of it); n in [1, 1024], a multiple of 4.
Program openProgram();

/// All messages of an error, "where: reason (way out)" joined by newlines; ""
/// for success.
std::string text(const Error &error);
inline std::string text(const Status &status) {
  return status.ok() ? "" : text(status.error());
}
template <typename T> std::string text(const Result<T> &result) {
  return result.ok() ? "" : text(result.error());
}

} // namespace lockstitch::testing

#endif // LOCKSTITCH_TESTS_UNIT_RUNTIME_TEST_PROGRAMS_H
