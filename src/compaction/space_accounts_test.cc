#include "compaction/space_accounts.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "support/store_parts.h"

namespace braid::compaction {
namespace {

std::string NumberedKey(int i) { return "key" + std::to_string(1'000'000 + i); }

TEST(SpaceAccountsTest, WhatDiesIsTakenFromItsChunks) {
  constexpr int kKeys = 2000;
  test::StoreParts parts;
  for (int i = 0; i < kKeys; ++i) parts.Put(NumberedKey(i), "value");
  parts.Flush();
  parts.Merge();
  const int64_t all = parts.accounts.Survey(1.0).live;
  EXPECT_GT(all, kKeys * 20);
  for (int i = 0; i < kKeys; i += 2) parts.Delete(NumberedKey(i));
  parts.Flush();
  parts.Merge();
  const int64_t half = parts.accounts.Survey(1.0).live;
  EXPECT_NEAR(static_cast<double>(half), static_cast<double>(all) / 2,
              static_cast<double>(all) / 10);
  parts.Verify();
}

TEST(SpaceAccountsTest, ChunksWithoutLifeAreGivenBack) {
  constexpr int kKeys = 2000;
  test::StoreParts parts;
  const uint64_t free = parts.pool->free_chunks();
  for (int i = 0; i < kKeys; ++i) parts.Put(NumberedKey(i), "value");
  parts.Flush();
  parts.Merge();
  EXPECT_LT(parts.pool->free_chunks(), free);
  for (int i = 0; i < kKeys; ++i) parts.Delete(NumberedKey(i));
  parts.Flush();
  parts.Merge();
  parts.accounts.RetireEmptyChunks();
  parts.Reclaim();
  // But for the chunk that is being written.
  EXPECT_GE(parts.pool->free_chunks() + 1, free);
  parts.Verify();
}

TEST(SpaceAccountsTest, ChunksThatAreHeldAreNotGivenBack) {
  constexpr int kKeys = 2000;
  test::StoreParts parts;
  for (int i = 0; i < kKeys; ++i) parts.Put(NumberedKey(i), "value");
  parts.Flush();
  parts.Merge();
  const std::vector<uint64_t> held = parts.accounts.Survey(1.0).sparse;
  ASSERT_GT(held.size(), 2u);
  parts.accounts.Hold(held);
  for (int i = 0; i < kKeys; ++i) parts.Delete(NumberedKey(i));
  parts.Flush();
  parts.Merge();
  parts.accounts.RetireEmptyChunks();
  parts.Reclaim();
  const uint64_t before = parts.pool->free_chunks();
  parts.accounts.Release(held);
  parts.accounts.RetireEmptyChunks();
  parts.Reclaim();
  EXPECT_GE(parts.pool->free_chunks(), before + held.size() - 1);
  parts.Verify();
}

TEST(SpaceAccountsTest, AViewKeepsChunksUntilItHasPassed) {
  test::StoreParts parts([](Options* options) { options->log.kind = LogKind::kIndexUnified; });
  for (int i = 0; i < 1000; ++i) parts.Put(NumberedKey(i), "value");
  parts.Flush();
  parts.Merge();
  for (int i = 0; i < 1000; ++i) parts.Put(NumberedKey(i), "another");
  parts.Flush();
  // It needs no older version, but may stand on one.
  std::optional<level::ViewRegistry::Handle> pin =
      parts.reader.RegisterView(&parts.reclaimer.clock());
  const uint64_t before = parts.pool->free_chunks();
  parts.Merge();
  parts.accounts.RetireEmptyChunks();
  parts.Reclaim();
  EXPECT_EQ(parts.pool->free_chunks(), before);
  pin.reset();
  parts.Reclaim();
  EXPECT_GT(parts.pool->free_chunks(), before);
}

}  // namespace
}  // namespace braid::compaction
