#include "media/sparse_table.h"

#include <gtest/gtest.h>

#include <atomic>

namespace braid::media {
namespace {

TEST(SparseTableTest, TakesNoMemoryForWhatIsNotTouched) {
  // 4 TiB: more than the machine has, so that an ordinary allocation fails.
  constexpr uint64_t kCount = uint64_t{1} << 39;
  SparseTable<std::atomic<uint64_t>> table;
  EXPECT_FALSE(table.ok());
  ASSERT_TRUE(table.Allocate(kCount));
  EXPECT_EQ(table[0].load(), 0u);
  table[kCount - 1].store(7);
  EXPECT_EQ(table[kCount - 1].load(), 7u);
  EXPECT_EQ(table[kCount / 2].load(), 0u);
}

TEST(SparseTableTest, IsZeroAgainAfterASecondAllocation) {
  for (const uint64_t count : {uint64_t{10}, uint64_t{1} << 20}) {
    SparseTable<std::atomic<uint64_t>> table(count);
    ASSERT_TRUE(table.ok());
    table[count - 1].store(7);
    ASSERT_TRUE(table.Allocate(count));
    EXPECT_EQ(table[count - 1].load(), 0u);
  }
}

TEST(SparseTableTest, KeepsToTheAlignmentOfItsEntries) {
  struct alignas(64) Line {
    uint64_t number;
  };
  for (const uint64_t count : {uint64_t{1}, uint64_t{100}, uint64_t{1} << 20}) {
    const SparseTable<Line> table(count);
    ASSERT_TRUE(table.ok());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(&table[0]) % alignof(Line), 0u);
    EXPECT_EQ(table[0].number, 0u);
    EXPECT_EQ(table[count - 1].number, 0u);
  }
}

TEST(SparseTableTest, SaysThatThereIsNoAddressSpace) {
  SparseTable<std::atomic<uint64_t>> table(uint64_t{1} << 60);
  EXPECT_FALSE(table.ok());
}

}  // namespace
}  // namespace braid::media
