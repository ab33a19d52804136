#include "runtime/program/program.h"

#include <cstring>
#include <new>

namespace lockstitch {

ContentCheck::~ContentCheck() = default;

Blob Blob::own(std::vector<std::byte> bytes) {
  constexpr size_t alignment = 64;
  if (reinterpret_cast<uintptr_t>(bytes.data()) % alignment == 0) {
    auto owner =
        std::make_shared<const std::vector<std::byte>>(std::move(bytes));
    return {std::span<const std::byte>(*owner), owner, nullptr};
  }
  auto *memory = static_cast<std::byte *>(
      ::operator new(bytes.size(), std::align_val_t(alignment)));
  std::memcpy(memory, bytes.data(), bytes.size());
  std::shared_ptr<const void> owner(memory, [](std::byte *owned) {
    ::operator delete(owned, std::align_val_t(alignment));
  });
  return {{memory, bytes.size()}, owner, nullptr};
}

int64_t TensorInfo::elements() const {
  int64_t product = 1;
  for (const Dim &extent : shape)
    product *= extent.value();
  return product;
}

int64_t TensorInfo::bytes() const {
  return elements() * static_cast<int64_t>(byteSize(type));
}

std::vector<int64_t> TensorInfo::extents() const {
  std::vector<int64_t> all;
  for (const Dim &extent : shape)
    all.push_back(extent.value());
  return all;
}

const TargetProgram *Program::find(std::string_view target) const {
  for (const TargetProgram &program : targets)
    if (program.target == target)
      return &program;
  return nullptr;
}

std::vector<CountedStep> flatten(const std::vector<Step> &steps) {
  std::vector<CountedStep> flat;
  forEachStep(steps, [&](const Step &step, int64_t trips) {
    flat.push_back({&step, trips});
  });
  return flat;
}

size_t countSteps(const std::vector<Step> &steps) {
  size_t count = 0;
  forEachStep(steps, [&](const Step &, int64_t) { ++count; });
  return count;
}

} // namespace lockstitch
