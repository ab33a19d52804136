#include "runtime/memory/allocator.h"
#include "tests/unit/runtime/test_programs.h"

#include <gtest/gtest.h>

using namespace lockstitch;
using namespace lockstitch::testing;

namespace {

TEST(Memory, IsAlignedAndCounted) {
  auto budget = MemoryBudget::create(0, nullptr);
  {
    auto first = budget->allocate(100, "a"), second = budget->allocate(1, "b");
    ASSERT_TRUE(first.ok() && second.ok());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(first->address()) % kMemoryAlignment,
              0u);
    EXPECT_EQ(first->bytes(), 100);
    EXPECT_EQ(budget->inUse(), 101);
  }
  EXPECT_EQ(budget->inUse(), 0);
  EXPECT_EQ(budget->peak(), 101);
}

TEST(Memory, NothingHasAnAddress) {
  auto memory = MemoryBudget::create(0, nullptr)->allocate(0, "nothing");
  ASSERT_TRUE(memory.ok());
  EXPECT_NE(memory->address(), nullptr);
  EXPECT_EQ(memory->bytes(), 0);
}

TEST(Memory, MovesWithItsBudget) {
  auto budget = MemoryBudget::create(0, nullptr);
  Memory kept;
  kept = std::move(*budget->allocate(10, "a"));
  std::weak_ptr<MemoryBudget> watch = budget;
  budget.reset();
  EXPECT_FALSE(watch.expired());
  kept = Memory();
  EXPECT_TRUE(watch.expired());
}

TEST(Memory, StopsAtTheCap) {
  auto budget = MemoryBudget::create(1000, nullptr);
  auto first = budget->allocate(600, "first");
  auto second = budget->allocate(401, "the second");
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().kind, ErrorKind::DeviceFailed);
  EXPECT_EQ(
      text(second),
      "memory for the second: 401 bytes are needed, but of the memory cap of "
      "1000 bytes 600 are in use (raise "
      "the memory cap, or use fewer execution contexts or a smaller batch)");
  EXPECT_TRUE(budget->allocate(400, "third").ok());
  EXPECT_EQ(budget->inUse(), 600);
}

TEST(Memory, RefusesImpossibleSizes) {
  auto budget = MemoryBudget::create(0, nullptr);
  EXPECT_EQ(text(budget->allocate(-1, "x")),
            "memory for x: a size of -1 bytes is out of range");
}

} // namespace
