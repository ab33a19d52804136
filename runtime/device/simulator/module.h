//===- module.h - inside of Module ------------------------------*- C++ -*-===//
#pragma once

#include "runtime/device/simulator/program.h"
#include "runtime/device/simulator/simulator.h"

#include <map>
#include <mutex>

namespace lockstitch::simulator {

struct Module::Implementation {
  std::unique_ptr<ParsedModule> parsed;
  uint64_t id = 0; // distinct in this process

  /// Decodes at first use. Null with a reason where the kernel is refused.
  const Program *program(const std::string &kernel,
                         Diagnostic &diagnostic) const;

  struct Decoded {
    std::unique_ptr<Program> program;
    Diagnostic error;
  };
  mutable std::mutex mutex;
  mutable std::map<std::string, Decoded> decoded;
};

} // namespace lockstitch::simulator
