//===- fuzz_target.cpp - any bytes as PTX ---------------------------------===//
#include "tests/simulator/fuzz/fuzz_target.h"

#include "runtime/device/simulator/simulator.h"

#include <algorithm>

namespace lockstitch::simtest {

using namespace simulator;

void runAnyText(const char *data, size_t size) {
  Diagnostic why;
  auto module = Module::parse(std::string(data, size), why);
  if (!module)
    return;
  unsigned left = 4;
  for (const KernelInfo &info : module->kernels()) {
    if (left-- == 0)
      return;
    if (!module->check(info.name, why))
      continue;
    Memory memory;
    std::vector<Argument> arguments;
    for (const ParameterInfo &p : info.parameters) {
      if (p.bytes > (1u << 16) || arguments.size() >= 64)
        return;
      if (p.bytes == 8) {
        uint64_t address = memory.allocate(512, p.name);
        uint8_t bytes[512];
        for (unsigned i = 0; i < sizeof bytes; ++i)
          bytes[i] = (uint8_t)(i * 37);
        memory.write(address, bytes, sizeof bytes);
        arguments.push_back(Argument::buffer({p.name, address, 512, false}));
      } else {
        Argument a;
        a.bytes.assign(p.bytes, 3);
        arguments.push_back(a);
      }
    }
    LaunchConfig config;
    config.grid[0] = 2;
    config.block[0] = 40;
    config.sharedBytes = 64;
    config.budget = 2000;
    config.seed = 1;
    launch(*module, info.name, memory, arguments, config);
  }
}

} // namespace lockstitch::simtest
