// lockstitch inspect: what is in a model or an artifact. Never executes or
// compiles.
#include "runtime/program/artifact.h"
#include "tools/lockstitch/messages.h"
#include "tools/lockstitch/model_source.h"
#include "tools/lockstitch/needs.h"
#include "tools/lockstitch/text.h"
#include "tools/lockstitch/verbs.h"

namespace lockstitch::tool {
namespace {

ListedTensor listTensor(const OnnxTensorInfo &info) {
  ListedTensor listed{info.name, info.elementName, {}};
  if (info.shape) {
    listed.shape.emplace();
    for (const onnx::DeclaredDim &dim : *info.shape)
      listed.shape->push_back(dim.value ? std::to_string(*dim.value)
                                        : dim.symbol);
  }
  return listed;
}

ListedTensor listTensor(const TensorInfo &info, const SymbolTable &symbols) {
  ListedTensor listed{info.name, std::string(name(info.type)),
                      std::vector<std::string>()};
  for (const Dim &extent : info.shape)
    listed.shape->push_back(toString(extent, &symbols));
  return listed;
}

std::string tensorTable(const std::string &title,
                        const std::vector<ListedTensor> &tensors) {
  Table table({title, "type", "shape"});
  for (const ListedTensor &tensor : tensors) {
    std::vector<std::string> dims;
    if (tensor.shape)
      for (const std::string &dim : *tensor.shape)
        dims.push_back(dim.empty() ? "?" : dim);
    table.add({tensor.name, tensor.type,
               tensor.shape ? "[" + join(dims, ",") + "]" : "not declared"});
  }
  return table.text("") + "\n";
}

Result<Listing> listModel(const std::string &path, Report &report) {
  Result<OnnxModel> model = readModel(path);
  if (!model.ok())
    return model.error();
  Listing listing;
  listing.kind = "model";
  for (const OnnxTensorInfo &input : model->inputs)
    listing.inputs.push_back(listTensor(input));
  for (const OnnxTensorInfo &output : model->outputs)
    listing.outputs.push_back(listTensor(output));
  for (const auto &[domain, version] : model->file->opsets)
    listing.opsets[domain.empty() ? "ai.onnx" : domain] = version;
  for (OperatorSupport &support : checkSupport(*model))
    listing.operators.push_back(
        {support.opType, support.domain.empty() ? "ai.onnx" : support.domain,
         support.opset, support.supported, support.reason,
         std::move(support.nodes)});
  listing.constants = model->constants;
  listing.constantBytes = model->constantBytes;
  int64_t nodes = 0;
  for (const OnnxNodeInfo &node : model->nodes)
    nodes += !node.isConstant;
  report.model = model->name;
  report.totals.nodes = nodes;
  report.totals.constantBytes = model->constantBytes;
  return listing;
}

const char *stateText(Verified verified) {
  switch (verified) {
  case Verified::No:
    break;
  case Verified::Good:
    return "good";
  case Verified::Bad:
    return "bad";
  }
  return "not verified";
}

Status listBytes(const std::string &path, bool verify, Listing &listing) {
  auto parts = listParts(path, verify);
  if (!parts.ok())
    return parts.error();
  for (const ArtifactPart &part : *parts)
    listing.parts.push_back(
        {part.what, part.file, static_cast<int64_t>(part.offset),
         static_cast<int64_t>(part.bytes), hexadecimal(part.checksum),
         stateText(part.verified)});
  return {};
}

Result<Listing> listArtifact(const std::string &path, bool verify,
                             Report &report) {
  auto read = readArtifact(path);
  if (!read.ok())
    return read.error();
  const Program &program = **read;
  Listing listing;
  listing.kind = "artifact";
  listing.compilerVersion = program.compilerVersion;
  for (const TensorInfo &input : program.inputs)
    listing.inputs.push_back(listTensor(input, program.symbols));
  for (const TensorInfo &output : program.outputs)
    listing.outputs.push_back(listTensor(output, program.symbols));
  listing.constants = static_cast<int64_t>(program.constantInfos.size());
  for (const TensorInfo &constant : program.constantInfos)
    listing.constantBytes += constant.bytes();
  for (const TargetProgram &target : program.targets)
    listing.targets.push_back(listTarget(target));
  if (!program.targets.empty())
    addProgram(report, program, program.targets.front());
  if (Status status = listBytes(path, verify, listing); !status.ok())
    return status.error();
  return listing;
}

std::string modelText(const std::string &path, const Report &report) {
  const Listing &listing = *report.listing;
  std::vector<std::string> opsets;
  for (const auto &[domain, version] : listing.opsets)
    opsets.push_back(domain + " " + std::to_string(version));
  std::string text = path + ": ONNX model" +
                     (report.model->empty() ? "" : " '" + *report.model + "'") +
                     ", opset " + join(opsets) + ", " +
                     count(*report.totals.nodes, "node") + ", " +
                     count(listing.constants, "constant") + " of " +
                     byteCount(listing.constantBytes) + "\n\n";
  text += tensorTable("input", listing.inputs) +
          tensorTable("output", listing.outputs);
  Table table({"operator", "opset", "nodes", "support"}, {1, 2});
  int64_t missing = 0;
  for (const ListedOperator &listed : listing.operators) {
    std::string domain = listed.domain == "ai.onnx" ? "" : listed.domain + ".";
    std::string support = "yes";
    if (!listed.supported) {
      missing += static_cast<int64_t>(listed.nodes.size());
      support =
          "no: " + listed.reason + " (" + joinShort(listed.nodes, 8) + ")";
    }
    table.add({domain + listed.opType, std::to_string(listed.opset),
               std::to_string(listed.nodes.size()), support});
  }
  text += table.text("") + "\n";
  return text + (missing == 0 ? std::string("every operator is supported\n")
                              : count(missing, "node") + " not supported\n");
}

std::string targetText(const ListedTarget &target, int64_t constantBytes) {
  std::string text = "target " + target.target + ": " +
                     count(target.kernels, "distinct kernel") + " in " +
                     count(target.launches, "step") + ", " +
                     count(target.libraryCalls, "library call") + ", " +
                     count(target.prologueSteps, "step") +
                     " once when it is loaded\n";
  if (target.arenaBytes && target.workspaceBytes)
    text +=
        "  memory: arena " + byteCount(*target.arenaBytes) + ", workspace " +
        byteCount(*target.workspaceBytes) + ", with the constants " +
        byteCount(*target.arenaBytes + *target.workspaceBytes + constantBytes) +
        "\n";
  else
    text += "  memory: as much as the shapes of the inputs make it\n";
  text += "  code: " + byteCount(target.codeBytes) +
          (isGpuTarget(target.target) ? " PTX" : " shared object");
  if (target.cubinBytes)
    text += ", " + byteCount(target.cubinBytes) + " cubin";
  text += "\n  needs: ";
  std::vector<std::string> needs;
  if (target.cpu)
    needs.push_back("CPU " + *target.cpu);
  if (!target.cpuFeatures.empty())
    needs.push_back("its features " + joinShort(target.cpuFeatures, 12));
  if (target.computeCapability)
    needs.push_back("compute capability " + *target.computeCapability +
                    " or more");
  if (target.driver)
    needs.push_back("driver of " + *target.driver + " or newer");
  if (target.sms)
    needs.push_back("at least " + count(*target.sms, "SM"));
  for (const std::string &library : target.libraries)
    needs.push_back(library);
  return text + join(needs) + "\n";
}

std::string artifactText(const std::string &path, const Report &report) {
  const Listing &listing = *report.listing;
  std::string text = path + ": artifact of '" + report.model.value_or("") +
                     "', made by lockstitch " + listing.compilerVersion +
                     ", planned by " + report.explorer.value_or("?") + ", " +
                     count(listing.constants, "constant") + " of " +
                     byteCount(listing.constantBytes) + "\n\n";
  text += tensorTable("input", listing.inputs) +
          tensorTable("output", listing.outputs);
  for (const ListedTarget &target : listing.targets)
    text += targetText(target, listing.constantBytes);
  std::vector<std::string> header = {"section", "offset", "bytes", "checksum",
                                     "state"};
  Table parts(header, {1, 2});
  for (const ListedPart &part : listing.parts)
    parts.add({part.what + (part.file.empty() ? "" : " in " + part.file),
               std::to_string(part.offset), std::to_string(part.bytes),
               part.checksum, part.state});
  text += "\n" + parts.text("");
  if (report.kernels.empty())
    return text;
  text += "\nkernels of " + *report.target + ":\n";
  Table table({"kernel", "schemes", "read", "written", "nodes"}, {2, 3});
  for (const KernelEntry &kernel : report.kernels)
    table.add({kernel.name, join(kernel.schemes, "+"),
               byteCount(kernel.bytesRead.value_or(0)),
               byteCount(kernel.bytesWritten.value_or(0)),
               joinShort(kernel.nodes, 6)});
  return text + table.text();
}

} // namespace

Status inspect(const InspectVerb &options, Report &report) {
  bool artifact = isArtifact(options.file);
  if (options.verify && !artifact)
    return Error::refused("--verify", "'" + options.file + "' is no artifact",
                          "give it with an .lsp; a model has no checksums");
  Result<Listing> listing =
      artifact ? listArtifact(options.file, options.verify, report)
               : listModel(options.file, report);
  if (!listing.ok())
    return listing.error();
  report.listing = std::move(*listing);
  if (!options.common.json)
    printResult(artifact ? artifactText(options.file, report)
                         : modelText(options.file, report));
  Error damaged{ErrorKind::Refused, {}};
  for (const ListedPart &part : report.listing->parts)
    if (part.state == "bad")
      damaged.messages.push_back(
          {"", part.file.empty() ? options.file : part.file,
           "the checksum of " + part.what + " does not hold",
           "compile the model again, or fetch the file again"});
  if (!damaged.messages.empty())
    return damaged;
  return {};
}

} // namespace lockstitch::tool
