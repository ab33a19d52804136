// Runs a compiled program on tensors of the reference evaluator.
#ifndef LOCKSTITCH_TESTS_UNIT_COMPILER_DRIVER_RUN_PROGRAM_H
#define LOCKSTITCH_TESTS_UNIT_COMPILER_DRIVER_RUN_PROGRAM_H

#include "compiler/graph/evaluate.h"
#include "runtime/session/session.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace lockstitch::testing {

struct Ran {
  std::vector<std::vector<std::byte>> outputs;
  RunStatistics statistics; // of the last run
};

/// Twice, for a run must not depend on what the one before left behind. Every error and every finding fails the test; then
/// there are no outputs. Outputs are full of NaNs before.
inline Ran runProgram(std::shared_ptr<const Program> program,
                      const std::vector<HostTensor> &inputs,
                      const SessionOptions &options) {
  auto session = Session::create(program, options);
  if (!session.ok()) {
    ADD_FAILURE() << session.error().messages[0].reason;
    return {};
  }
  auto context = (*session)->createContext();
  if (!context.ok()) {
    ADD_FAILURE() << context.error().messages[0].reason;
    return {};
  }
  std::vector<TensorView> views;
  for (size_t i = 0; i < inputs.size(); ++i)
    views.push_back({inputs[i].type.element, program->inputs[i].extents(),
                     inputs[i].bytes.data()});
  Ran ran;
  for (const TensorInfo &info : program->outputs)
    ran.outputs.emplace_back(info.bytes(), std::byte{0xff});
  std::vector<MutableTensorView> results;
  for (size_t i = 0; i < ran.outputs.size(); ++i)
    results.push_back({program->outputs[i].type, program->outputs[i].extents(),
                       ran.outputs[i].data()});
  for (int i = 0; i < 2; ++i) {
    if (Status status = (*context)->run(views, results); !status.ok()) {
      ADD_FAILURE() << status.error().messages[0].reason;
      return {};
    }
    ran.statistics = (*context)->statistics();
    for (const StepStatistics &step : ran.statistics.steps)
      for (const Finding &finding : step.findings)
        ADD_FAILURE() << finding.kind << ": " << finding.message
                      << " in PTX line " << finding.ptxLine;
  }
  return ran;
}

} // namespace lockstitch::testing

#endif // LOCKSTITCH_TESTS_UNIT_COMPILER_DRIVER_RUN_PROGRAM_H
