#include "tests/unit/runtime/test_programs.h"

#include <fstream>
#include <iterator>

namespace lockstitch::testing {

Blob kernelsObject() {
  std::ifstream file(LOCKSTITCH_TEST_KERNELS, std::ios::binary);
  std::vector<char> bytes((std::istreambuf_iterator<char>(file)),
                          std::istreambuf_iterator<char>());
  return blobOf(bytes);
}

BufferRef input(uint32_t index, int64_t bytes) {
  return {BufferRef::Space::Input, index, 0, bytes};
}
BufferRef output(uint32_t index, int64_t bytes) {
  return {BufferRef::Space::Output, index, 0, bytes};
}
BufferRef constant(uint32_t index, int64_t bytes) {
  return {BufferRef::Space::Constant, index, 0, bytes};
}
BufferRef arena(int64_t offset, int64_t bytes) {
  return {BufferRef::Space::Arena, 0, offset, bytes};
}
BufferRef workspace(int64_t bytes) {
  return {BufferRef::Space::Workspace, 0, 0, bytes};
}

Program addAndDouble(int64_t rows) {
  int64_t elements = rows * 16, bytes = elements * 4;
  Program program;
  program.model = "add_and_double";
  program.inputs = {{"x", ElementType::F32, {rows, 16}}};
  program.outputs = {{"y", ElementType::F32, {rows, 16}}};
  program.constantInfos = {{"bias", ElementType::F32, {rows, 16}}};
  std::vector<float> bias(elements);
  for (int64_t i = 0; i < elements; ++i)
    bias[i] = static_cast<float>(i % 7);
  program.constants = {blobOf(bias)};
  TargetProgram target;
  target.target = "host";
  target.code = kernelsObject();
  KernelCode add, twice;
  add.symbol = "add_rows";
  add.arguments = {{ElementType::F32, elements, false},
                   {ElementType::F32, elements, false},
                   {ElementType::F32, elements, true}};
  add.rows = rows;
  add.scratchBytes = 64;
  twice.symbol = "twice";
  twice.arguments = {{ElementType::F32, elements, false},
                     {ElementType::F32, elements, true}};
  twice.rows = rows;
  target.kernels = {add, twice};
  Step first, second;
  first.name = "add";
  first.kernel = 0;
  first.args = {input(0, bytes), constant(0, bytes), arena(0, bytes)};
  first.argNames = {"x", "bias", "sum"};
  second.name = "twice";
  second.kernel = 1;
  second.args = {arena(0, bytes), output(0, bytes)};
  second.argNames = {"sum", "y"};
  target.steps = {first, second};
  target.arenaBytes = (bytes + 255) / 256 * 256;
  program.targets = {target};
  return program;
}

Program countRuns(Dim workspaceBytes) {
  Program program;
  program.outputs = {{"count", ElementType::I32, {1}}};
  TargetProgram target;
  target.target = "host";
  target.code = kernelsObject();
  KernelCode kernel;
  kernel.symbol = "count_runs";
  kernel.arguments = {{ElementType::I32, 1, true}, {ElementType::I32, 1, true}};
  kernel.rows = 1;
  target.kernels = {kernel};
  Step step;
  step.args = {workspace(4), output(0, 4)};
  target.steps = {step};
  target.workspaceBytes = std::move(workspaceBytes);
  program.targets = {target};
  return program;
}

Program openProgram() {
  Program program;
  program.model = "open";
  uint32_t id = program.symbols.getOrCreate("n");
  program.symbols[id].minimum = 1;
  program.symbols[id].maximum = 1024;
  program.symbols[id].divisor = 4;
  Dim n = Dim::symbol(id), elements = n * 16, bytes = n * 64;
  program.inputs = {{"x", ElementType::F32, {n, 16}}};
  program.outputs = {{"y", ElementType::F32, {n, 16}}};
  TargetProgram target;
  target.target = "host";
  target.code = kernelsObject();
  KernelCode add, twice;
  add.symbol = "add_rows";
  add.arguments = {{ElementType::F32, elements, false},
                   {ElementType::F32, elements, false},
                   {ElementType::F32, elements, true}};
  add.rows = n;
  add.scratchBytes = n * 16; // 64 at least
  twice.symbol = "twice";
  twice.arguments = {{ElementType::F32, elements, false},
                     {ElementType::F32, elements, true}};
  twice.rows = n;
  target.kernels = {add, twice};
  Dim second = alignUp(bytes, 256); // of the arena
  Step sum, copy, doubled;
  sum.name = "sum";
  sum.kernel = 0;
  sum.args = {{BufferRef::Space::Input, 0, 0, bytes},
              {BufferRef::Space::Input, 0, 0, bytes},
              {BufferRef::Space::Arena, 0, 0, bytes}};
  copy.name = "copy";
  copy.kind = Step::Kind::Copy;
  copy.args = {{BufferRef::Space::Arena, 0, 0, bytes},
               {BufferRef::Space::Arena, 0, second, bytes}};
  doubled.name = "double";
  doubled.kernel = 1;
  doubled.args = {{BufferRef::Space::Arena, 0, second, bytes},
                  {BufferRef::Space::Output, 0, 0, bytes}};
  target.steps = {sum, copy, doubled};
  target.arenaBytes = second * 2;
  program.targets = {target};
  return program;
}

std::string text(const Error &error) {
  std::string all;
  for (const ErrorMessage &message : error.messages) {
    all += all.empty() ? "" : "\n";
    all += message.where + ": " + message.reason +
           (message.wayOut.empty() ? "" : " (" + message.wayOut + ")");
  }
  return all;
}

} // namespace lockstitch::testing
