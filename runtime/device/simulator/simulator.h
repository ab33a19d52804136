//===- simulator.h - run PTX without a GPU ----------------------*- C++ -*-===//
//
// The whole interface of the simulator:
//
//   Diagnostic why;
//   std::shared_ptr<const Module> module = Module::parse(text, why);
//   Memory memory;
//   uint64_t x = memory.allocate(4096, "x");
//   LaunchConfig config; config.grid[0] = 8; config.block[0] = 128;
//   LaunchResult result = launch(*module, "kernel", memory,
//                                {Argument::buffer({"x", x, 4096})}, config);
//
// Nothing here throws or aborts, whatever the text says.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/simulator/diagnostic.h"
#include "runtime/device/simulator/launch.h"
#include "runtime/device/simulator/memory.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lockstitch::simulator {

struct ParameterInfo {
  std::string name;
  uint32_t bytes = 0;
};

struct KernelInfo {
  std::string name;
  uint32_t line = 0;
  std::vector<ParameterInfo> parameters;
};

/// An immutable PTX module. Kernels are decoded at their first launch and kept;
/// a module may be used from several threads.
class Module {
public:
  static std::shared_ptr<const Module> parse(std::string text,
                                             Diagnostic &diagnostic);
  ~Module();

  std::vector<KernelInfo> kernels() const;
  /// The kernel of that mangled name or, where only one has it, plain name.
  /// Empty, with a reason, where there is none.
  std::string findKernel(std::string_view name, Diagnostic &diagnostic) const;
  std::string_view target() const;

  /// Decodes a kernel without running it: tells whether it is supported.
  bool check(const std::string &kernel, Diagnostic &diagnostic) const;

  struct Implementation;
  const Implementation &implementation() const { return *Impl; }

private:
  Module();
  std::unique_ptr<Implementation> Impl;
};

/// Runs a kernel to its end. Launches on one Memory exclude each other.
LaunchResult launch(const Module &module, const std::string &kernel,
                    Memory &memory, const std::vector<Argument> &arguments,
                    const LaunchConfig &config);

} // namespace lockstitch::simulator
