// Whether a program is consistent in itself: what the runtime relies on when it
// hands addresses to compiled code.
#ifndef LOCKSTITCH_RUNTIME_PROGRAM_VALIDATE_H
#define LOCKSTITCH_RUNTIME_PROGRAM_VALIDATE_H

#include "runtime/program/program.h"
#include "runtime/program/status.h"

namespace lockstitch {

/// Checks shapes and sizes of inputs, outputs and constants, and all targets:
/// indices and ranges within their memory, argument counts and sizes, launch
/// shapes, that every byte that is read was written before (of the arena, the
/// outputs and the computed constants), that inputs and constants are not
/// written, that every output comes from somewhere. Error (internal): the first
/// contradiction, with target and step.
Status validate(const Program &program);

/// Bytes that a tensor of this type and shape takes; -1 if an extent is
/// negative or the product overflows.
int64_t checkedBytes(const TensorInfo &info);

} // namespace lockstitch

#endif // LOCKSTITCH_RUNTIME_PROGRAM_VALIDATE_H
