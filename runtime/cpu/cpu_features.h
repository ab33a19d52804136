// What instruction sets this CPU has, in LLVM's names, and whether an object
// that was compiled for some of them may run here.
#ifndef LOCKSTITCH_RUNTIME_CPU_CPU_FEATURES_H
#define LOCKSTITCH_RUNTIME_CPU_CPU_FEATURES_H

#include "runtime/program/status.h"

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstitch {

/// A set of CPU features, under LLVM's names ("avx2", "sse4.1").
class CpuFeatures {
public:
  /// This machine's: what the CPU has and the operating system has switched on.
  static const CpuFeatures &host();
  /// Exactly what x86-64-v`level` (1 to 4) promises.
  static CpuFeatures x86Level(int level);
  explicit CpuFeatures(std::set<std::string, std::less<>> names)
      : names(std::move(names)) {}

  bool has(std::string_view feature) const {
    return names.find(feature) != names.end();
  }
  /// The highest x86-64 level whose features are all there: 1 to 4; 0 on
  /// another architecture.
  int x86Level() const;

private:
  std::set<std::string, std::less<>> names;
};

/// The number N of "x86-64-vN" (1 for "x86-64"); 0 for anything else.
int parseX86Level(std::string_view target);

/// Whether code that needs `features` (LLVM's names, a leading "+" is ignored)
/// and was compiled for the CPU or level `requiredCpu` may run on `cpu`.
/// Refused with what is missing, what this CPU has, and how to compile for it.
/// A feature that is not known here counts as missing.
Status checkCpu(std::string_view target, std::string_view requiredCpu,
                std::span<const std::string> features,
                const CpuFeatures &cpu = CpuFeatures::host());

} // namespace lockstitch

#endif // LOCKSTITCH_RUNTIME_CPU_CPU_FEATURES_H
