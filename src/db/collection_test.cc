// Tests that collection ends where it can't gain a chunk.

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>

#include "braid/db.h"

namespace braid {
namespace {

TEST(CollectionTest, EndsWhenLargeEntriesLeaveEveryChunkSparse) {
  const char* base = std::getenv("BRAID_TMP");
  std::string path = std::string(base != nullptr ? base : "/tmp") + "/braid-collection-XXXXXX";
  ASSERT_NE(::mkdtemp(path.data()), nullptr);
  Options options;
  options.create_if_missing = true;
  options.background_threads = false;
  options.pool.chunk_bytes = 4 << 10;
  options.pool.initial_bytes = 256 << 10;
  options.compaction.gc_live_ratio = 0.9;
  ::alarm(60);
  {
    Result<std::unique_ptr<DB>> db = DB::Open(options, path);
    ASSERT_TRUE(db.ok()) << db.status().ToString();
    // Two fit a chunk, and fill two thirds of it.
    for (int i = 0; i < 20; ++i) {
      ASSERT_TRUE((*db)->Put("key" + std::to_string(i), std::string(1400, 'v')).ok());
    }
    ASSERT_TRUE((*db)->Compact().ok());
    VerifyReport report;
    EXPECT_TRUE((*db)->Verify(&report).ok());
    EXPECT_EQ(report.live_entries, 20u);
  }
  ::alarm(0);
  std::filesystem::remove_all(path);
}

}  // namespace
}  // namespace braid
