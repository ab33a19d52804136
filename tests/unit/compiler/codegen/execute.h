// Executes generated kernels: host objects in this process, PTX on the
// simulator.
#ifndef LOCKSTITCH_TESTS_CODEGEN_EXECUTE_H
#define LOCKSTITCH_TESTS_CODEGEN_EXECUTE_H

#include "compiler/codegen/codegen.h"
#include "reference.h"

#include "runtime/device/simulator/simulator.h"

#include <gtest/gtest.h>

namespace lockstitch::testing {

/// The generator that the tests of one process share; it verifies what it
/// makes.
CodeGenerator &generator();
/// This CPU.
const HostTarget &hostTarget();

/// Buffers for `program`: inputs from a fixed pseudo-random sequence fit for
/// their type, outputs filled with 0xa5.
std::vector<Bytes> makeBuffers(const StageProgram &program, uint32_t seed = 1);

/// Compiles `program` for `target`, links it, loads it, and runs all rows in
/// two calls. Every buffer lies at the end of a page that is followed by an
/// inaccessible one, so that an access past the end is a crash. Tiles lie in
/// scratch memory, whatever the schedule says.
void runOnHost(const StageProgram &program, KernelSchedule schedule,
               std::vector<Bytes> &buffers,
               const HostTarget &target = hostTarget());

/// Runs `kernel`, made of `program`, on the simulator with all checks and reads
/// the outputs back into `buffers`. What it found.
std::vector<simulator::Finding>
launchOnSimulator(const StageProgram &program, const GpuKernel &kernel,
                  std::vector<Bytes> &buffers,
                  uint64_t seed = simulator::LaunchConfig().seed);

struct Tolerance {
  double relative = 0, absolute = 0;
};
/// Expects the output buffers of `program` to agree; NaN agrees with NaN.
void expectEqual(const StageProgram &program, const std::vector<Bytes> &actual,
                 const std::vector<Bytes> &expected, Tolerance tolerance,
                 const std::string &what);

/// Runs `program` on the host with each of `widths` lanes, and compares with
/// the interpreter.
void checkOnHost(const StageProgram &program, std::vector<unsigned> widths,
                 Tolerance tolerance = {});

} // namespace lockstitch::testing

#endif // LOCKSTITCH_TESTS_CODEGEN_EXECUTE_H
