//===- ptx_test.h - run a PTX text in a test --------------------*- C++ -*-===//
//
//   Ptx run(header() + R"(.visible .entry k(.param .u64 a) { ... })");
//   auto x = run.input<float>({1, 2, 3});
//   auto y = run.output<float>(3);
//   run.launch("k", {x, y}, {.grid = 1, .block = 32});
//   EXPECT_EQ(run.read<float>(y), ...);
//   EXPECT_TRUE(run.result.findings.empty());
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/simulator/simulator.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lockstitch::simulator::testing {

inline std::string header(const char *target = "sm_90") {
  return std::string(".version 8.7\n.target ") + target +
         "\n.address_size 64\n";
}

/// A kernel of pointers p0, p1 ... with a body; registers of every type are
/// declared: %p, %h (b16), %r (b32), %f (f32), %d (b64), %g (f64). Register
/// %d<i> holds pointer i; %r0 is the thread's number in the block, %d20 its
/// byte offset 4 * %r0.
inline std::string kernel(unsigned pointers, const std::string &body,
                          const std::string &module = {}) {
  std::string text = header() + module + ".visible .entry k(";
  for (unsigned i = 0; i < pointers; ++i)
    text += (i ? ", " : "") + std::string(".param .u64 p") + std::to_string(i);
  text += ")\n{\n.reg .pred %p<20>;\n.reg .b16 %h<40>;\n.reg .b32 %r<60>;\n"
          ".reg .f32 %f<40>;\n.reg .b64 %d<60>;\n.reg .f64 %g<20>;\n";
  for (unsigned i = 0; i < pointers; ++i)
    text += "ld.param.u64 %d" + std::to_string(i) + ", [p" + std::to_string(i) +
            "];\n";
  text += "mov.u32 %r0, %tid.x;\nmul.wide.u32 %d20, %r0, 4;\n";
  return text + body + "\nret;\n}\n";
}

struct Buffer {
  uint64_t address = 0;
  uint64_t bytes = 0;
  bool readOnly = false;
  std::string name;
};

struct Shape {
  uint32_t grid = 1;
  uint32_t block = 32;
  uint32_t shared = 0;
};

class Ptx {
public:
  explicit Ptx(std::string text) {
    module = Module::parse(std::move(text), parseError);
    if (!module)
      ADD_FAILURE() << "line " << parseError.line << ": " << parseError.message;
  }

  template <class T> Buffer input(const std::vector<T> &values) {
    Buffer b = output<T>(values.size());
    memory.write(b.address, values.data(), b.bytes);
    b.readOnly = true;
    return b;
  }
  template <class T> Buffer inout(const std::vector<T> &values) {
    Buffer b = input(values);
    b.readOnly = false;
    return b;
  }
  template <class T> Buffer output(size_t count) {
    Buffer b;
    b.bytes = count * sizeof(T);
    b.name = "buffer" + std::to_string(buffers++);
    b.address = memory.allocate(b.bytes, b.name);
    return b;
  }
  template <class T> std::vector<T> read(const Buffer &b) {
    std::vector<T> values(b.bytes / sizeof(T));
    memory.read(b.address, values.data(), b.bytes);
    return values;
  }
  static Argument argument(const Buffer &b) {
    return Argument::buffer({b.name, b.address, b.bytes, b.readOnly});
  }

  LaunchResult &launch(const std::string &kernel,
                       const std::vector<Argument> &arguments, Shape shape) {
    config.grid[0] = shape.grid;
    config.block[0] = shape.block;
    config.sharedBytes = shape.shared;
    result = simulator::launch(*module, kernel, memory, arguments, config);
    EXPECT_EQ(result.error.message, "") << "line " << result.error.line;
    return result;
  }
  LaunchResult &launch(const std::string &kernel,
                       const std::vector<Buffer> &given, Shape shape) {
    std::vector<Argument> arguments;
    for (const Buffer &b : given)
      arguments.push_back(argument(b));
    return launch(kernel, arguments, shape);
  }

  bool has(FindingKind kind) const {
    for (const Finding &f : result.findings)
      if (f.kind == kind)
        return true;
    return false;
  }
  void expectClean() const {
    for (const Finding &f : result.findings)
      ADD_FAILURE() << f.toText("k");
  }

  std::shared_ptr<const Module> module;
  Diagnostic parseError;
  Memory memory;
  LaunchConfig config;
  LaunchResult result;
  unsigned buffers = 0;
};

/// Runs a body with one warp: element i of the inputs and of the output belongs
/// to lane i. Pointers: the inputs in order, then the output.
template <class Out, class In>
std::vector<Out> runLanes(const std::string &body,
                          const std::vector<std::vector<In>> &inputs,
                          size_t outputs = 32, unsigned lanes = 32) {
  Ptx run(kernel((unsigned)inputs.size() + 1, body));
  std::vector<Buffer> buffers;
  for (const auto &values : inputs)
    buffers.push_back(run.input(values));
  Buffer out = run.output<Out>(outputs);
  buffers.push_back(out);
  run.launch("k", buffers, {1, lanes});
  run.expectClean();
  return run.read<Out>(out);
}

} // namespace lockstitch::simulator::testing
