#include "compiler/driver/kernel_set.h"

#include "compiler/graph/hash.h"

#include <cctype>

namespace lockstitch {

uint32_t KernelSet::add(ScheduleChoice choice, const std::string &label) {
  ScheduledKernel &kernel = choice.kernel;
  kernel.program = withoutNames(std::move(kernel.program));
  uint64_t hash =
      hashText(toString(kernel.schedule), hashText(toString(kernel.program)));
  auto [first, last] = byHash.equal_range(hash);
  for (auto at = first; at != last; ++at) {
    DistinctKernel &known = distinct[at->second];
    kernel.program.name = known.program.name;
    if (known.schedule == kernel.schedule && known.program == kernel.program)
      return at->second;
  }
  uint32_t index = static_cast<uint32_t>(distinct.size());
  std::string symbol = "k" + std::to_string(index) + "_";
  for (char c : label.substr(0, 48))
    symbol += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  kernel.program.name = symbol;
  distinct.push_back({std::move(kernel.program), kernel.schedule, hash,
                      std::move(choice.chosen), std::move(choice.runnersUp)});
  byHash.emplace(hash, index);
  return index;
}

} // namespace lockstitch
