#include "runtime/program/program.h"

namespace lockstitch {

ContentCheck::~ContentCheck() = default;

Blob Blob::own(std::vector<std::byte> bytes) {
  auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  return {std::span<const std::byte>(*owner), owner, nullptr};
}

int64_t TensorInfo::elements() const {
  int64_t product = 1;
  for (int64_t extent : shape)
    product *= extent;
  return product;
}

int64_t TensorInfo::bytes() const { return elements() * static_cast<int64_t>(byteSize(type)); }

const TargetProgram *Program::find(std::string_view target) const {
  for (const TargetProgram &program : targets)
    if (program.target == target)
      return &program;
  return nullptr;
}

} // namespace lockstitch
