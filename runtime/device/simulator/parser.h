//===- parser.h - PTX text -> ParsedModule ----------------------*- C++ -*-===//
#pragma once

#include "runtime/device/simulator/ast.h"
#include "runtime/device/simulator/diagnostic.h"

#include <memory>

namespace lockstitch::simulator {

/// Parses a whole module. On an error returns null and fills \p diagnostic
/// with the first one.
std::unique_ptr<ParsedModule> parseModule(std::string text,
                                          Diagnostic &diagnostic);

} // namespace lockstitch::simulator
