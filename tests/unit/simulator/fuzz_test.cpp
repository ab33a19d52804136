//===- fuzz_test.cpp - broken texts neither crash nor hang ----------------===//
//
// Texts are damaged at random, deterministically: characters changed, tokens
// swapped, lines dropped and doubled. What still parses is run with a small
// budget. There is nothing to expect but to come back.
//
//===----------------------------------------------------------------------===//
#include "tests/unit/simulator/ptx_test.h"

#include <random>

namespace lockstitch::simulator::testing {
namespace {

std::vector<std::string> seeds() {
  return {kernel(2, ".shared .align 16 .b8 s[512];\nmov.u32 %r1, s;\n"
                    "mad.lo.u32 %r2, %r0, 4, %r1;\nadd.s64 %d5, %d0, %d20;\n"
                    "ld.global.nc.f32 %f1, [%d5];\nst.shared.f32 [%r2], %f1;\n"
                    "bar.sync 0;\nxor.b32 %r3, %r0, 1;\n"
                    "mad.lo.u32 %r3, %r3, 4, %r1;\nld.shared.f32 %f2, [%r3];\n"
                    "setp.lt.f32 %p1, %f1, %f2;\n@%p1 bra L;\n"
                    "fma.rn.f32 %f1, %f1, %f2, 0f3F800000;\nL:\n"
                    "shfl.sync.bfly.b32 %r4, %r0, 1, 31, -1;\n"
                    "ex2.approx.ftz.f32 %f3, %f1;\nadd.s64 %d6, %d1, %d20;\n"
                    "st.global.f32 [%d6], %f3;\nred.global.add.u32 [%d0], 1;"),
          kernel(2,
                 ".local .align 8 .b8 l[16];\nmov.u64 %d5, l;\n"
                 "cvta.local.u64 %d6, %d5;\nst.u32 [%d6+4], %r0;\n"
                 "{ .param .b32 a; .param .b32 r;\nst.param.b32 [a], %r0;\n"
                 "call.uni (r), f, (a);\nld.param.b32 %r9, [r]; }\n"
                 "mov.u32 %r8, 0;\nLOOP: add.u32 %r8, %r8, 1;\n"
                 "setp.lt.u32 %p1, %r8, 5;\n@%p1 bra LOOP;\n"
                 "mov.b64 {%r1, %r2}, %d0;\nmov.b32 {%h1, %h2}, %r1;\n"
                 "fma.rn.f16 %h3, %h1, %h2, %h1;\n"
                 "cvt.rn.f16x2.f32 %r3, %f1, %f2;\n"
                 "vote.sync.ballot.b32 %r4, %p1, -1;\n"
                 "atom.global.cas.b32 %r5, [%d1], 0, %r0;\n"
                 "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%d0+16];\n"
                 "membar.gl;\nbar.warp.sync -1;",
                 ".global .align 4 .u32 g[4] = {1, 2, 3, 4};\n"
                 ".func (.param .b32 o) f(.param .b32 x) {\n.reg .b32 %r<4>;\n"
                 "ld.param.b32 %r1, [x];\nst.param.b32 [o], %r1;\nret;\n}\n"),
          kernel(1,
                 "brx.idx %r0, T;\nT: .branchtargets A, B;\nA: bar.sync 1, "
                 "64;\nB: mov.u64 %d3, g; ld.volatile.global.u32 %r1, [%d3];\n"
                 "setp.eq.u32 %p1, %r1, 0;\n@%p1 bra B;\ntrap;",
                 ".global .u32 g;\n")};
}

void tryText(const std::string &text) {
  Diagnostic d;
  auto module = Module::parse(text, d);
  if (!module) {
    EXPECT_NE(d.message, "");
    return;
  }
  for (const KernelInfo &info : module->kernels()) {
    Memory memory;
    std::vector<Argument> arguments;
    for (const ParameterInfo &p : info.parameters) {
      Argument a;
      a.bytes.resize(p.bytes);
      uint64_t address = memory.allocate(256);
      memory.markInitialised(address, 256);
      if (p.bytes == 8)
        a = Argument::pointer(address);
      arguments.push_back(a);
    }
    LaunchConfig config;
    config.grid[0] = 2;
    config.block[0] = 48;
    config.budget = 20000;
    launch(*module, info.name, memory, arguments, config);
  }
}

TEST(Fuzz, DamagedTexts) {
  std::mt19937 random(12345);
  auto pick = [&](size_t n) { return (size_t)(random() % n); };
  const std::string alphabet = "%.,;:{}[]()@!+-|0x9fdURrp \n\"_$<>=&";
  for (const std::string &original : seeds()) {
    tryText(original);
    for (int round = 0; round < 600; ++round) {
      std::string text = original;
      for (size_t k = 1 + pick(4); k-- > 0;) {
        size_t at = pick(text.size());
        size_t line = text.rfind('\n', at);
        line = line == std::string::npos ? 0 : line + 1;
        size_t end = text.find('\n', at);
        end = end == std::string::npos ? text.size() : end + 1;
        switch (pick(6)) {
        case 0:
          text[at] = alphabet[pick(alphabet.size())];
          break;
        case 1:
          text.erase(at, 1 + pick(5));
          break;
        case 2:
          text.insert(at, 1, alphabet[pick(alphabet.size())]);
          break;
        case 3:
          text.erase(line, end - line);
          break;
        case 4:
          text.insert(line, text.substr(line, end - line));
          break;
        case 5: { // another number
          size_t digit = text.find_first_of("0123456789", at);
          if (digit != std::string::npos)
            text[digit] = (char)('0' + pick(10));
          break;
        }
        }
        if (text.empty())
          text = " ";
      }
      tryText(text);
    }
  }
}

TEST(Fuzz, TruncatedTexts) {
  for (const std::string &original : seeds())
    for (size_t n = 0; n < original.size(); n += 7)
      tryText(original.substr(0, n));
}

} // namespace
} // namespace lockstitch::simulator::testing
