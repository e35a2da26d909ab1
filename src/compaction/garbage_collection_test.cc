// Copies of entries, where the pool holds what the store never writes.
#include "compaction/garbage_collection.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/checksum.h"
#include "log/index_unified_log.h"
#include "log/log_reader.h"
#include "support/store_parts.h"

namespace braid::compaction {
namespace {

/// A live entry, as another program could make it, whose extent holds `value`.
uint64_t EntryWithExtent(pool::PmemPool* pool, std::string_view value) {
  log::IndexUnifiedLog log(pool, 5, 1, format::ChunkKind::kCollected);
  format::ExtentRef ref{};
  log::PendingEntry pending;
  pending.key = "key";
  pending.key_hash = base::Hash64(pending.key);
  pending.value = {reinterpret_cast<const char*>(&ref), sizeof ref};
  EXPECT_TRUE(log.Reserve(0, &pending, 1, 1, pool::AllocationClass::kWrite).ok());
  const Result<uint64_t> extent =
      pool->AllocateExtent(value.size(), pending.offset, pool::AllocationClass::kWrite);
  EXPECT_TRUE(extent.ok());
  log::WriteToExtent(pool, *extent, value);
  ref = {*extent, value.size(), base::Hash64(value)};
  log.WritePayload(&pending);
  pending.extent = *extent;
  pending.extent_ref = ref;
  log.Publish(pending, 1, format::kFirstOfUnit, 0);
  log.Commit(0);
  EXPECT_TRUE(log::EntryVerifies(*pool, pending.offset));
  return pending.offset;
}

TEST(MoveEntriesTest, AnExtentForAValueThatNeedsNoneIsDamage) {
  test::StoreParts parts;
  const uint64_t entry = EntryWithExtent(parts.pool.get(), "small");
  const std::string header(parts.pool->At(0), 4096);
  const Result<format::TableRecord> copied =
      MoveEntries(parts.pool.get(), &parts.usage, {entry}, 6, 1);
  EXPECT_TRUE(copied.status().IsCorruption()) << copied.status().ToString();
  EXPECT_EQ(header, std::string(parts.pool->At(0), 4096)) << "nothing was written over it";
}

}  // namespace
}  // namespace braid::compaction
