// The oracle: interprets a stage program one scalar at a time, columns in
// order.
#ifndef LOCKSTITCH_TESTS_CODEGEN_REFERENCE_H
#define LOCKSTITCH_TESTS_CODEGEN_REFERENCE_H

#include "compiler/schedule/stage_program.h"

#include <cstddef>
#include <vector>

namespace lockstitch::testing {

using Bytes = std::vector<std::byte>;

/// Executes `program` on `buffers`, one per argument; outputs are written in
/// place. Every access is checked.
void interpret(const StageProgram &program, std::vector<Bytes> &buffers);

} // namespace lockstitch::testing

#endif // LOCKSTITCH_TESTS_CODEGEN_REFERENCE_H
