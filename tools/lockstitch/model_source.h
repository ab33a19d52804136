// From the options of a verb to a program: what run, compile and explain share.
//
//   prepareModel      reads the model, the given inputs, --shape and --dim
//   compilePrepared   imports and compiles; writes the stages of --emit
#ifndef LOCKSTITCH_TOOLS_LOCKSTITCH_MODEL_SOURCE_H
#define LOCKSTITCH_TOOLS_LOCKSTITCH_MODEL_SOURCE_H

#include "compiler/driver/compile.h"
#include "frontends/onnx/importer.h"
#include "tools/lockstitch/inputs.h"
#include "tools/lockstitch/report.h"

namespace lockstitch::tool {

/// An .lsp by its name or by its content.
bool isArtifact(const std::string &path);

struct PreparedModel {
  OnnxModel model;
  std::vector<InputDeclaration> declared; // beside model.inputs
  std::map<size_t, Array> given;
  ImportOptions import;
  double cpuSeconds = 0; // of reading
};

/// Errors: as readModel, readGivenInputs; a --shape that contradicts the given
/// tensor. Fills in report.model.
Result<PreparedModel> prepareModel(const ModelOptions &options, Report &report);

/// "x f32[batch,3]".
std::string declarationText(const OnnxTensorInfo &info);

/// Imports and compiles for `targets` (at least one), writes the stages of
/// --emit, and fills in report (of the first target). A stage that the first
/// target lacks (ptx of a host target, an object of an sm_* target) is taken
/// from the first of `targets` that has it, else from sm_90 or host.
Result<Compilation> compilePrepared(const PreparedModel &prepared,
                                    const PlanOptions &options,
                                    const std::vector<std::string> &targets,
                                    Report &report);

bool isGpuTarget(const std::string &target);

/// Stages that only GPU targets have; only host targets.
bool isGpuStage(const std::string &stage);
bool isHostStage(const std::string &stage);

/// Writes one stage to its file, or to standard output if that is "-".
Status writeStage(const std::string &stage, const std::string &file,
                  std::string_view content);

/// CPU seconds of this process so far.
double cpuSeconds();

} // namespace lockstitch::tool

#endif // LOCKSTITCH_TOOLS_LOCKSTITCH_MODEL_SOURCE_H
