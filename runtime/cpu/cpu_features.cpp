// A table of our own instead of __builtin_cpu_supports: the names to look up
// come from an artifact at run time, in LLVM's spelling, and the builtin takes
// literals in GCC's.
#include "runtime/cpu/cpu_features.h"

#include <array>
#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace lockstitch {
namespace {

constexpr std::string_view kLevel1[] = {"64bit", "x87", "cmov", "cx8",
                                        "fxsr",  "mmx", "sse",  "sse2"};
constexpr std::string_view kLevel2[] = {"cx16",   "sahf",   "popcnt", "sse3",
                                        "sse4.1", "sse4.2", "ssse3",  "crc32"};
constexpr std::string_view kLevel3[] = {"avx", "avx2",  "bmi",   "bmi2", "f16c",
                                        "fma", "lzcnt", "movbe", "xsave"};
constexpr std::string_view kLevel4[] = {"avx512bw", "avx512cd", "avx512dq",
                                        "avx512f", "avx512vl"};
constexpr std::span<const std::string_view> kLevels[] = {kLevel1, kLevel2,
                                                         kLevel3, kLevel4};

#if defined(__x86_64__)

enum Register : uint8_t { EAX, EBX, ECX, EDX };
/// State that the operating system must save for the feature to be usable.
enum State : uint8_t { None, Ymm, Zmm, Tile };

struct Row {
  std::string_view name;
  uint32_t leaf, subleaf;
  Register reg;
  uint8_t bit;
  State state;
};

// Intel SDM volume 2, CPUID; AMD APM volume 3, appendix E. Hints that are no
// instructions (ermsb, fsrm) need no row.
constexpr Row kRows[] = {
    {"x87", 1, 0, EDX, 0, None},
    {"cx8", 1, 0, EDX, 8, None},
    {"cmov", 1, 0, EDX, 15, None},
    {"mmx", 1, 0, EDX, 23, None},
    {"fxsr", 1, 0, EDX, 24, None},
    {"sse", 1, 0, EDX, 25, None},
    {"sse2", 1, 0, EDX, 26, None},
    {"sse3", 1, 0, ECX, 0, None},
    {"pclmul", 1, 0, ECX, 1, None},
    {"ssse3", 1, 0, ECX, 9, None},
    {"fma", 1, 0, ECX, 12, Ymm},
    {"cx16", 1, 0, ECX, 13, None},
    {"sse4.1", 1, 0, ECX, 19, None},
    {"sse4.2", 1, 0, ECX, 20, None},
    {"crc32", 1, 0, ECX, 20, None},
    {"movbe", 1, 0, ECX, 22, None},
    {"popcnt", 1, 0, ECX, 23, None},
    {"aes", 1, 0, ECX, 25, None},
    {"xsave", 1, 0, ECX, 27, None},
    {"avx", 1, 0, ECX, 28, Ymm},
    {"f16c", 1, 0, ECX, 29, Ymm},
    {"rdrnd", 1, 0, ECX, 30, None},
    {"fsgsbase", 7, 0, EBX, 0, None},
    {"sgx", 7, 0, EBX, 2, None},
    {"bmi", 7, 0, EBX, 3, None},
    {"avx2", 7, 0, EBX, 5, Ymm},
    {"bmi2", 7, 0, EBX, 8, None},
    {"invpcid", 7, 0, EBX, 10, None},
    {"rtm", 7, 0, EBX, 11, None},
    {"avx512f", 7, 0, EBX, 16, Zmm},
    {"avx512dq", 7, 0, EBX, 17, Zmm},
    {"rdseed", 7, 0, EBX, 18, None},
    {"adx", 7, 0, EBX, 19, None},
    {"avx512ifma", 7, 0, EBX, 21, Zmm},
    {"clflushopt", 7, 0, EBX, 23, None},
    {"clwb", 7, 0, EBX, 24, None},
    {"avx512cd", 7, 0, EBX, 28, Zmm},
    {"sha", 7, 0, EBX, 29, None},
    {"avx512bw", 7, 0, EBX, 30, Zmm},
    {"avx512vl", 7, 0, EBX, 31, Zmm},
    {"avx512vbmi", 7, 0, ECX, 1, Zmm},
    {"pku", 7, 0, ECX, 4, None},
    {"waitpkg", 7, 0, ECX, 5, None},
    {"avx512vbmi2", 7, 0, ECX, 6, Zmm},
    {"shstk", 7, 0, ECX, 7, None},
    {"gfni", 7, 0, ECX, 8, None},
    {"vaes", 7, 0, ECX, 9, Ymm},
    {"vpclmulqdq", 7, 0, ECX, 10, Ymm},
    {"avx512vnni", 7, 0, ECX, 11, Zmm},
    {"avx512bitalg", 7, 0, ECX, 12, Zmm},
    {"avx512vpopcntdq", 7, 0, ECX, 14, Zmm},
    {"rdpid", 7, 0, ECX, 22, None},
    {"kl", 7, 0, ECX, 23, None},
    {"cldemote", 7, 0, ECX, 25, None},
    {"movdiri", 7, 0, ECX, 27, None},
    {"movdir64b", 7, 0, ECX, 28, None},
    {"enqcmd", 7, 0, ECX, 29, None},
    {"uintr", 7, 0, EDX, 5, None},
    {"avx512vp2intersect", 7, 0, EDX, 8, Zmm},
    {"serialize", 7, 0, EDX, 14, None},
    {"tsxldtrk", 7, 0, EDX, 16, None},
    {"pconfig", 7, 0, EDX, 18, None},
    {"amx-bf16", 7, 0, EDX, 22, Tile},
    {"avx512fp16", 7, 0, EDX, 23, Zmm},
    {"amx-tile", 7, 0, EDX, 24, Tile},
    {"amx-int8", 7, 0, EDX, 25, Tile},
    {"sha512", 7, 1, EAX, 0, Ymm},
    {"sm3", 7, 1, EAX, 1, Ymm},
    {"sm4", 7, 1, EAX, 2, Ymm},
    {"raoint", 7, 1, EAX, 3, None},
    {"avxvnni", 7, 1, EAX, 4, Ymm},
    {"avx512bf16", 7, 1, EAX, 5, Zmm},
    {"cmpccxadd", 7, 1, EAX, 7, None},
    {"amx-fp16", 7, 1, EAX, 21, Tile},
    {"hreset", 7, 1, EAX, 22, None},
    {"avxifma", 7, 1, EAX, 23, Ymm},
    {"avxvnniint8", 7, 1, EDX, 4, Ymm},
    {"avxneconvert", 7, 1, EDX, 5, Ymm},
    {"amx-complex", 7, 1, EDX, 8, Tile},
    {"avxvnniint16", 7, 1, EDX, 10, Ymm},
    {"prefetchi", 7, 1, EDX, 14, None},
    {"usermsr", 7, 1, EDX, 15, None},
    {"avx10.1", 7, 1, EDX, 19, Zmm},
    {"xsaveopt", 0xd, 1, EAX, 0, None},
    {"xsavec", 0xd, 1, EAX, 1, None},
    {"xsaves", 0xd, 1, EAX, 3, None},
    {"ptwrite", 0x14, 0, EBX, 4, None},
    {"sahf", 0x80000001, 0, ECX, 0, None},
    {"lzcnt", 0x80000001, 0, ECX, 5, None},
    {"sse4a", 0x80000001, 0, ECX, 6, None},
    {"prfchw", 0x80000001, 0, ECX, 8, None},
    {"xop", 0x80000001, 0, ECX, 11, Ymm},
    {"lwp", 0x80000001, 0, ECX, 15, None},
    {"fma4", 0x80000001, 0, ECX, 16, Ymm},
    {"tbm", 0x80000001, 0, ECX, 21, None},
    {"mwaitx", 0x80000001, 0, ECX, 29, None},
    {"64bit", 0x80000001, 0, EDX, 29, None},
    {"clzero", 0x80000008, 0, EBX, 0, None},
    {"rdpru", 0x80000008, 0, EBX, 4, None},
    {"wbnoinvd", 0x80000008, 0, EBX, 9, None},
};

std::set<std::string, std::less<>> detect() {
  auto query = [](uint32_t leaf, uint32_t subleaf) {
    std::array<uint32_t, 4> r{};
    uint32_t highest = __get_cpuid_max(leaf & 0x80000000, nullptr);
    if (highest >= leaf)
      __cpuid_count(leaf, subleaf, r[EAX], r[EBX], r[ECX], r[EDX]);
    return r;
  };
  uint64_t enabled =
      0; // XCR0: the register state that the operating system saves
  if (query(1, 0)[ECX] & (1u << 27)) {
    uint32_t low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    enabled = (static_cast<uint64_t>(high) << 32) | low;
  }
  constexpr uint64_t masks[] = {0, 0x6, 0xe6, 0x60000};
  uint32_t leaf7Subleaves = query(7, 0)[EAX];

  std::set<std::string, std::less<>> found;
  for (const Row &row : kRows) {
    if (row.leaf == 7 && row.subleaf > leaf7Subleaves)
      continue;
    bool usable = (enabled & masks[row.state]) == masks[row.state];
    if (usable && ((query(row.leaf, row.subleaf)[row.reg] >> row.bit) & 1))
      found.emplace(row.name);
  }
  return found;
}

#else

/// Other architectures: no x86 object fits; their own names are an addition
/// here.
std::set<std::string, std::less<>> detect() { return {}; }

#endif

} // namespace

const CpuFeatures &CpuFeatures::host() {
  static const CpuFeatures features(detect());
  return features;
}

CpuFeatures CpuFeatures::x86Level(int level) {
  std::set<std::string, std::less<>> names;
  for (int i = 0; i < level && i < 4; ++i)
    for (std::string_view name : kLevels[i])
      names.emplace(name);
  return CpuFeatures(std::move(names));
}

int CpuFeatures::x86Level() const {
  int level = 0;
  for (std::span<const std::string_view> features : kLevels) {
    for (std::string_view feature : features)
      if (!has(feature))
        return level;
    ++level;
  }
  return level;
}

int parseX86Level(std::string_view target) {
  if (target == "x86-64")
    return 1;
  if (target.size() == 9 && target.starts_with("x86-64-v") &&
      target[8] >= '1' && target[8] <= '4')
    return target[8] - '0';
  return 0;
}

Status checkCpu(std::string_view target, std::string_view requiredCpu,
                std::span<const std::string> features, const CpuFeatures &cpu) {
  std::string missing;
  auto need = [&](std::string_view feature) {
    if (feature.starts_with('+'))
      feature.remove_prefix(1);
    if (!cpu.has(feature) &&
        missing.find(" " + std::string(feature) + ",") == std::string::npos)
      missing += " " + std::string(feature) + ",";
  };
  for (int i = 0, level = parseX86Level(requiredCpu); i < level; ++i)
    for (std::string_view feature : kLevels[i])
      need(feature);
  for (const std::string &feature : features)
    need(feature);
  if (missing.empty())
    return {};
  missing.pop_back();
  int level = cpu.x86Level();
  std::string mine = level ? "x86-64-v" + std::to_string(level)
                           : std::string("not an x86-64 CPU");
  return Error::refused(
      "target " + std::string(target),
      "the object was compiled for " +
          (requiredCpu.empty() ? std::string("another CPU")
                               : std::string(requiredCpu)) +
          "; this CPU (" + mine + ") lacks" + missing,
      level ? "compile the model with --target " + mine +
                  " or a lower level, or with --target host on this machine"
            : "run it on an x86-64 machine");
}

} // namespace lockstitch
