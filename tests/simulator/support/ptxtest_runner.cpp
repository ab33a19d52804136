//===- ptxtest_runner.cpp - cases on the simulator ------------------------===//
//
// A snippet becomes a kernel in which thread i loads the i-th value of every
// input into the register of that name, runs the snippet and stores the output
// registers. A whole kernel gets its arguments as they are listed. Each case
// runs under several seeds and numbers of host threads; values and findings
// must be as expected under each.
//
//===----------------------------------------------------------------------===//
#include "tests/simulator/support/ptxtest.h"

#include "runtime/device/simulator/simulator.h"

#include <cstring>
#include <iterator>
#include <sstream>

namespace lockstitch::ptxtest {

using namespace simulator;

namespace {

const char *registerType(const Type &type) {
  if (type.kind == Type::Kind::Predicate)
    return ".pred";
  switch (type.bytes) {
  case 1:
  case 2:
    return ".b16";
  case 4:
    return ".b32";
  default:
    return ".b64";
  }
}

std::string memoryType(const Type &type) {
  if (type.kind == Type::Kind::Predicate)
    return "u8";
  if (type.bytes == 1)
    return type.kind == Type::Kind::Signed ? "s8" : "u8";
  return "b" + std::to_string(8 * type.bytes);
}

std::string lineOf(const std::string &text, uint32_t line) {
  size_t begin = 0;
  for (uint32_t i = 1; i < line && begin != std::string::npos; ++i) {
    begin = text.find('\n', begin);
    if (begin != std::string::npos)
      ++begin;
  }
  if (begin == std::string::npos)
    return "";
  return text.substr(begin, text.find('\n', begin) - begin);
}

std::string show(uint64_t bits, const Type &type) {
  char text[64];
  std::snprintf(text, sizeof text, "0x%0*llx", (int)(2 * type.bytes),
                (unsigned long long)bits);
  std::string s = text;
  if (type.kind == Type::Kind::Float) {
    float f;
    uint32_t u = (uint32_t)bits;
    std::memcpy(&f, &u, 4);
    std::snprintf(text, sizeof text, " (%.9g)", (double)f);
    s += text;
  } else if (type.kind == Type::Kind::Double) {
    double d;
    std::memcpy(&d, &bits, 8);
    std::snprintf(text, sizeof text, " (%.17g)", d);
    s += text;
  }
  return s;
}

bool isNaN(uint64_t bits, const Type &type) {
  switch (type.kind) {
  case Type::Kind::Half:
    return (bits & 0x7FFF) > 0x7C00;
  case Type::Kind::BFloat:
    return (bits & 0x7FFF) > 0x7F80;
  case Type::Kind::Float:
    return (bits & 0x7FFFFFFF) > 0x7F800000;
  case Type::Kind::Double:
    return (bits & ~(1ull << 63)) > 0x7FF0000000000000ull;
  default:
    return false;
  }
}

/// Distance in units of the last place, for floating types.
uint64_t distance(uint64_t a, uint64_t b, const Type &type) {
  uint64_t sign = 1ull << (8 * type.bytes - 1);
  auto order = [&](uint64_t x) {
    return x & sign ? (int64_t)(sign - (x & ~sign)) : (int64_t)(sign + x);
  };
  int64_t d = order(a) - order(b);
  return (uint64_t)(d < 0 ? -d : d);
}

/// A counter by the name of its field, or `class.Float32` and the like.
bool counter(const Counters &c, const std::string &name, uint64_t &value) {
  struct Field {
    const char *name;
    uint64_t Counters::*field;
  };
#define FIELD(F)                                                               \
  {                                                                            \
    #F, &Counters::F                                                           \
  }
  static const Field Fields[] = {FIELD(threadInstructions),
                                 FIELD(warpInstructions),
                                 FIELD(divergentBranches),
                                 FIELD(branches),
                                 FIELD(globalLoads),
                                 FIELD(globalStores),
                                 FIELD(sectorsRead),
                                 FIELD(sectorsWritten),
                                 FIELD(bytesRequestedRead),
                                 FIELD(bytesRequestedWritten),
                                 FIELD(uniqueBytesRead),
                                 FIELD(uniqueBytesWritten),
                                 FIELD(localSectorsRead),
                                 FIELD(localSectorsWritten),
                                 FIELD(sharedLoads),
                                 FIELD(sharedStores),
                                 FIELD(sharedWavefronts),
                                 FIELD(sharedConflicts),
                                 FIELD(barriers),
                                 FIELD(shuffles),
                                 FIELD(atomics),
                                 FIELD(atomicCollisions)};
#undef FIELD
  for (const Field &f : Fields)
    if (name == f.name) {
      value = c.*f.field;
      return true;
    }
  static const char *const Classes[] = {
      "Integer",    "Logic",   "Float32",   "Float64", "Half",   "Special",
      "Conversion", "Control", "Parameter", "Global",  "Shared", "Local",
      "Atomic",     "Barrier", "Shuffle",   "Matrix"};
  for (size_t i = 0; i < std::size(Classes); ++i)
    if (name == std::string("class.") + Classes[i]) {
      value = c.warpByClass[i];
      return true;
    }
  return false;
}

struct Run {
  const Case &test;
  std::string text;
  std::shared_ptr<const Module> module;
  std::string kernel;
  std::ostringstream out;

  bool once(uint64_t seed, unsigned threads, std::vector<unsigned> &seen);
  bool compare(const Data &expected, const std::vector<uint8_t> &bytes,
               const std::string &where);
};

bool Run::compare(const Data &expected, const std::vector<uint8_t> &bytes,
                  const std::string &where) {
  unsigned shown = 0;
  for (size_t i = 0; i < expected.values.size(); ++i) {
    const Value &v = expected.values[i];
    if (v.any)
      continue;
    uint64_t got = 0;
    std::memcpy(&got, bytes.data() + i * expected.type.bytes,
                expected.type.bytes);
    bool same = v.anyNaN ? isNaN(got, expected.type)
                : expected.ulps && !isNaN(got, expected.type)
                    ? distance(got, v.bits, expected.type) <= expected.ulps
                    : got == v.bits;
    if (same)
      continue;
    if (shown++ == 0)
      out << where << ": " << expected.name << " differs\n";
    if (shown > 6)
      break;
    out << "  [" << i << "] is " << show(got, expected.type) << ", must be "
        << (v.anyNaN ? "a NaN" : show(v.bits, expected.type));
    if (!test.code.empty())
      for (const Data &in : test.inputs)
        out << "; " << in.name << " = " << show(in.values[i].bits, in.type);
    out << "\n";
  }
  return shown == 0;
}

bool Run::once(uint64_t seed, unsigned threads, std::vector<unsigned> &seen) {
  std::string where = "seed " + std::to_string(seed) + ", " +
                      std::to_string(threads) + " host threads";
  Memory memory;
  std::vector<Argument> arguments;
  struct Buffer {
    const Data *data;
    uint64_t address;
  };
  std::vector<Buffer> buffers;
  auto make = [&](const Data &d, bool fill) {
    uint64_t bytes = d.values.size() * d.type.bytes;
    uint64_t base =
        memory.allocate(d.arenaBytes ? d.arenaBytes : bytes, d.name);
    uint64_t address = base + d.arenaOffset;
    if (d.arenaBytes) {
      // Other tensors of the arena: initialised, so that only the tensor's
      // own limits stop an access.
      std::vector<uint8_t> zeros(d.arenaBytes);
      memory.write(base, zeros.data(), zeros.size());
      memory.markUninitialised(address, bytes);
    }
    if (fill)
      for (size_t i = 0; i < d.values.size(); ++i)
        if (!d.values[i].any)
          memory.write(address + i * d.type.bytes, &d.values[i].bits,
                       d.type.bytes);
    buffers.push_back({&d, address});
    TensorRange range;
    range.name = d.name;
    range.address = address;
    range.bytes = bytes;
    range.readOnly = d.readOnly;
    arguments.push_back(Argument::buffer(range));
  };
  bool snippet = !test.code.empty();
  for (const Data &d : test.inputs) {
    if (snippet || d.isBuffer)
      make(d, true);
    else {
      Argument a;
      a.bytes.resize(d.type.bytes);
      std::memcpy(a.bytes.data(), &d.values[0].bits, d.type.bytes);
      arguments.push_back(a);
    }
  }
  if (snippet)
    for (const Data &d : test.outputs)
      make(d, false);

  LaunchConfig config;
  std::memcpy(config.grid, test.grid, sizeof config.grid);
  std::memcpy(config.block, test.block, sizeof config.block);
  config.sharedBytes = test.shared;
  config.cooperative = test.cooperative;
  config.seed = seed;
  config.threads = threads;
  if (test.budget)
    config.budget = test.budget;
  if (test.perturb == "up")
    config.perturbation = Perturbation::Up;
  else if (test.perturb == "down")
    config.perturbation = Perturbation::Down;
  else if (test.perturb == "random")
    config.perturbation = Perturbation::Random;
  LaunchResult result = launch(*module, kernel, memory, arguments, config);
  if (result.error) {
    if (!test.error.empty() &&
        result.error.message.find(test.error) != std::string::npos &&
        lineOf(text, result.error.line).find(test.errorAt) != std::string::npos)
      return true;
    out << where << ": refused at line " << result.error.line << ": "
        << result.error.message << "\n";
    return false;
  }
  if (!test.error.empty()) {
    out << where << ": must be refused with '" << test.error << "'\n";
    return false;
  }

  bool ok = true;
  std::vector<unsigned> here(test.findings.size());
  for (const Finding &f : result.findings) {
    std::string line = lineOf(text, f.ptxLine);
    auto place = [](const uint32_t *p) {
      return std::to_string(p[0]) + "," + std::to_string(p[1]) + "," +
             std::to_string(p[2]);
    };
    bool known = false;
    for (size_t i = 0; i < test.findings.size(); ++i) {
      const Expectation &e = test.findings[i];
      if (e.kind != simulator::name(f.kind) ||
          line.find(e.at) == std::string::npos ||
          f.message.find(e.message) == std::string::npos ||
          (!e.block.empty() && e.block != place(f.block)) ||
          (!e.thread.empty() && e.thread != place(f.thread)) ||
          (!e.tensor.empty() && e.tensor != f.tensor) ||
          (e.offset >= 0 && e.offset != f.offset) ||
          (!e.source.empty() &&
           e.source != f.sourceFile + ":" + std::to_string(f.sourceLine)))
        continue;
      known = true;
      ++here[i];
    }
    if (!known) {
      ok = false;
      out << where << ": unexpected " << f.toText(kernel) << "\n  tensor '"
          << f.tensor << "' offset " << f.offset << " block " << place(f.block)
          << " thread " << place(f.thread) << "\n  line " << f.ptxLine << ": "
          << line << "\n";
    }
  }
  for (size_t i = 0; i < here.size(); ++i) {
    seen[i] += here[i];
    if (!here[i] && test.findings[i].how == Expectation::How::Always) {
      ok = false;
      out << where << ": no finding '" << test.findings[i].kind << "' at '"
          << test.findings[i].at << "'\n";
    }
  }
  for (const auto &[key, expected] : test.counters) {
    uint64_t got = 0;
    if (!counter(result.counters, key, got)) {
      ok = false;
      out << "no counter '" << key << "'\n";
    } else if (got != expected) {
      ok = false;
      out << where << ": " << key << " is " << got << ", must be " << expected
          << "\n";
    }
  }
  for (const Data &d : test.outputs)
    for (const Buffer &b : buffers) {
      if (snippet ? b.data != &d : b.data->name != d.name)
        continue;
      std::vector<uint8_t> bytes(d.values.size() * d.type.bytes);
      memory.read(b.address, bytes.data(), bytes.size());
      ok &= compare(d, bytes, where);
    }
  return ok;
}

} // namespace

std::string Case::text() const {
  std::ostringstream o;
  if (ptx.find(".version") == std::string::npos)
    o << ".version " << version << "\n.target " << target
      << "\n.address_size 64\n";
  o << module << "\n";
  if (code.empty()) {
    o << ptx;
    return o.str();
  }
  o << ".visible .entry test(";
  for (size_t i = 0; i < inputs.size() + outputs.size(); ++i)
    o << (i ? ", " : "") << ".param .u64 _arg" << i;
  o << ")\n{\n"
       "  .reg .pred %p<16>;\n  .reg .b16 %h<32>;\n  .reg .b32 %r<64>;\n"
       "  .reg .b64 %rd<64>;\n  .reg .b32 %_t, %_n;\n  .reg .b64 %_a, %_o;\n"
       "  .reg .b16 %_h;\n";
  for (const std::vector<Data> *list : {&inputs, &outputs})
    for (const Data &d : *list)
      o << "  .reg " << registerType(d.type) << " " << d.name << ";\n";
  o << "  mov.u32 %_t, %tid.x;\n";
  size_t n = 0;
  auto address = [&](const Data &d) {
    o << "  ld.param.u64 %_a, [_arg" << n++ << "];\n  mul.wide.u32 %_o, %_t, "
      << d.type.bytes << ";\n  add.s64 %_a, %_a, %_o;\n";
  };
  for (const Data &d : inputs) {
    address(d);
    if (d.type.kind == Type::Kind::Predicate)
      o << "  ld.global.u8 %_h, [%_a];\n  setp.ne.u16 " << d.name
        << ", %_h, 0;\n";
    else
      o << "  ld.global." << memoryType(d.type) << " " << d.name
        << ", [%_a];\n";
  }
  o << "  // The snippet.\n" << code << "  // Results.\n";
  for (const Data &d : outputs) {
    address(d);
    if (d.type.kind == Type::Kind::Predicate)
      o << "  selp.u16 %_h, 1, 0, " << d.name
        << ";\n  st.global.u8 [%_a], %_h;\n";
    else
      o << "  st.global." << memoryType(d.type) << " [%_a], " << d.name
        << ";\n";
  }
  o << "  ret;\n}\n";
  return o.str();
}

std::string run(const Case &test) {
  Run r{test, test.text(), nullptr, {}, {}};
  Diagnostic why;
  r.module = Module::parse(r.text, why);
  bool expected =
      !test.error.empty() &&
      why.message.find(test.error) != std::string::npos &&
      lineOf(r.text, why.line).find(test.errorAt) != std::string::npos;
  if (!r.module)
    return expected
               ? ""
               : "does not parse: line " + std::to_string(why.line) + ": " +
                     why.message + "\n  " + lineOf(r.text, why.line) + "\n";
  r.kernel = test.kernel;
  if (r.kernel.empty()) {
    if (r.module->kernels().size() != 1)
      return "which kernel?";
    r.kernel = r.module->kernels()[0].name;
  }
  std::vector<unsigned> seen(test.findings.size());
  bool ok = true;
  for (uint32_t seed = 0; seed < test.seeds && ok; ++seed)
    ok &= r.once(seed, 1 + seed % 3, seen);
  for (size_t i = 0; i < seen.size() && ok; ++i)
    if (!seen[i] && test.findings[i].how == Expectation::How::Sometimes) {
      ok = false;
      r.out << "no seed gave a finding '" << test.findings[i].kind << "'\n";
    }
  return ok ? "" : r.out.str();
}

} // namespace lockstitch::ptxtest
