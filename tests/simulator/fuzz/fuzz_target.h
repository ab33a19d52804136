//===- fuzz_target.h - any bytes as PTX -------------------------*- C++ -*-===//
#pragma once

#include <cstddef>
#include <cstdint>

namespace lockstitch::simtest {

/// Parses, decodes every kernel and runs them with small buffers and a small
/// budget. Must return, whatever the bytes are.
void runAnyText(const char *data, size_t size);

} // namespace lockstitch::simtest
