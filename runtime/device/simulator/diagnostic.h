//===- diagnostic.h - why PTX was refused -----------------------*- C++ -*-===//
#pragma once

#include <cstdint>
#include <string>

namespace lockstitch::simulator {

/// The first reason for which a text, a kernel or a launch was refused. Empty
/// message: none.
struct Diagnostic {
  uint32_t line = 0; // of the PTX text, from 1; 0 where no line applies
  std::string message;

  explicit operator bool() const { return !message.empty(); }
};

} // namespace lockstitch::simulator
