#include "runtime/memory/allocator.h"

#include <cstdlib>
#include <string>
#include <utility>

namespace lockstitch {
namespace {

class SystemAllocator final : public Allocator {
public:
  void *allocate(int64_t bytes, size_t alignment) override {
    size_t rounded =
        (static_cast<size_t>(bytes) + alignment - 1) / alignment * alignment;
    return std::aligned_alloc(alignment, rounded);
  }
  void deallocate(void *memory, int64_t) override { std::free(memory); }
};

} // namespace

Allocator::~Allocator() = default;

std::shared_ptr<Allocator> systemAllocator() {
  return std::make_shared<SystemAllocator>();
}

Memory &Memory::operator=(Memory &&other) noexcept {
  std::swap(begin, other.begin);
  std::swap(size, other.size);
  std::swap(taken, other.taken);
  std::swap(budget, other.budget);
  return *this;
}

Memory::~Memory() {
  if (!budget)
    return;
  budget->allocator->deallocate(begin, taken);
  budget->used -= taken;
}

MemoryBudget::MemoryBudget(int64_t cap, std::shared_ptr<Allocator> allocator)
    : limit(cap),
      allocator(allocator ? std::move(allocator) : systemAllocator()) {}

std::shared_ptr<MemoryBudget>
MemoryBudget::create(int64_t cap, std::shared_ptr<Allocator> allocator) {
  return std::shared_ptr<MemoryBudget>(
      new MemoryBudget(cap, std::move(allocator)));
}

Result<Memory> MemoryBudget::allocate(int64_t bytes, std::string_view what) {
  std::string where = "memory for " + std::string(what);
  if (bytes < 0 || bytes > (int64_t{1} << 62))
    return Error::device(where, "a size of " + std::to_string(bytes) +
                                    " bytes is out of range");
  int64_t taken = std::max<int64_t>(bytes, 1);
  int64_t before = used.fetch_add(taken);
  if (limit > 0 && before + taken > limit) {
    used -= taken;
    return Error::device(where,
                         std::to_string(bytes) +
                             " bytes are needed, but of the memory cap of " +
                             std::to_string(limit) + " bytes " +
                             std::to_string(before) + " are in use",
                         "raise the memory cap, or use fewer execution "
                         "contexts or a smaller batch");
  }
  void *address = allocator->allocate(taken, kMemoryAlignment);
  if (!address) {
    used -= taken;
    return Error::device(where,
                         "out of memory: " + std::to_string(bytes) +
                             " bytes could not be allocated",
                         "free memory, or use a smaller batch");
  }
  for (int64_t seen = most.load(), now = before + taken;
       seen < now && !most.compare_exchange_weak(seen, now);)
    ;
  Memory memory;
  memory.begin = static_cast<std::byte *>(address);
  memory.size = bytes;
  memory.taken = taken;
  memory.budget = shared_from_this();
  return memory;
}

} // namespace lockstitch
