#include "level/memory_budget.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "base/resources.h"
#include "memtable/dram_memtable.h"
#include "support/test_pool.h"

namespace braid::level {
namespace {

class BudgetOfAStoreTest : public ::testing::Test {
 protected:
  BudgetOfAStoreTest() {
    options_.log.kind = LogKind::kIndexUnified;
    options_.memtable.kind = MemTableKind::kBTree;
    options_.memtable.bytes = 1u << 20;
    options_.memtable.max_immutable = 2;
  }
  MemoryBudget Of(uint64_t bytes) {
    options_.memory_budget_bytes = bytes;
    return {options_, pool_.get(), nullptr, *base::JoinBudget(options_, 0)};
  }
  std::shared_ptr<memtable::MemTable> NewMemTable() {
    return std::make_shared<memtable::DramMemTable>(
        memtable::MemTable::Store{pool_.get(), &sequence_, &stalls_}, 2, 1, options_);
  }

  Options options_;
  test::TestPool pool_;
  std::atomic<uint64_t> sequence_{0};
  base::Stalls stalls_;
};

TEST_F(BudgetOfAStoreTest, TheGoalLeavesSomeForTheNextLook) {
  EXPECT_EQ(Of(1u << 30).Goal(), (1u << 30) - (32u << 20)) << "no more than 32 MiB of a large one";
  EXPECT_EQ(Of(64u << 20).Goal(), 56u << 20) << "an eighth";
  EXPECT_EQ(Of(16u << 20).Goal(), 12u << 20) << "4 MiB at least";
  EXPECT_EQ(Of(8u << 20).Goal(), 6u << 20) << "but a quarter at most";
}

TEST_F(BudgetOfAStoreTest, WhatUsersOfThePoolTakeCounts) {
  const MemoryBudget budget = Of(1u << 30);
  const uint64_t before = budget.Used();
  base::MemoryCharge charge(&pool_->memory_users());
  charge.Set(12345);
  EXPECT_EQ(budget.Used(), before + 12345);
  EXPECT_FALSE(budget.IsShort());
  charge.Set(1u << 30);
  EXPECT_TRUE(budget.IsShort());
}

TEST_F(BudgetOfAStoreTest, MemTablesThatMayComeAreCountedWhereTheBudgetIsSmall) {
  ReadState state;
  state.active = NewMemTable();
  const MemoryBudget large = Of(1u << 30);
  EXPECT_EQ(large.ToCome(state), large.Used()) << "their logs are full first";
  const MemoryBudget small = Of(6u << 20);
  const uint64_t taken = state.active->memory_bytes();
  // Three of them, a sixth of the budget together.
  EXPECT_NEAR(static_cast<double>(small.ToCome(state)),
              static_cast<double>(small.Used() - taken + (1u << 20)), 3.0);
}

TEST_F(BudgetOfAStoreTest, TheLimitIsTheShareOfTheMoment) {
  const auto shared = std::make_shared<base::SharedBudget>(64u << 20);
  const MemoryBudget budget(options_, pool_.get(), nullptr, *shared->Join(0));
  EXPECT_EQ(budget.Goal(), 56u << 20);
  {
    const auto other = *shared->Join(59u << 20);
    std::this_thread::sleep_for(std::chrono::milliseconds(15));
    budget.Look(true);
    EXPECT_NEAR(static_cast<double>(budget.bytes()), 4.0 * (1u << 20), 1u << 15);
    EXPECT_EQ(budget.Goal(), budget.bytes() - budget.bytes() / 4);
    base::MemoryCharge charge(&pool_->memory_users());
    charge.Set(5u << 20);
    EXPECT_TRUE(budget.IsShort());
    EXPECT_EQ(shared->usage().bytes, budget.Used());
  }
  EXPECT_EQ(budget.Goal(), 56u << 20) << "it has all again";
}

TEST_F(BudgetOfAStoreTest, AnEmptyMemTableIsNotFull) {
  EXPECT_FALSE(Of(1u << 30).IsFull(*NewMemTable()));
  EXPECT_FALSE(Of(2u << 20).IsFull(*NewMemTable()));
}

}  // namespace
}  // namespace braid::level
