// "It is fast, and then it stops for a while" (rocksdb#9423): writers are slowed down smoothly long
// before they would have to wait, and what held them back, and how long at most, can be read.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "support/database.h"
#include "support/temp_folder.h"
#include "write/write_controller.h"

namespace braid::test {
namespace {

TEST(EvenThroughputTest, TheSlowDownGrowsInSmallStepsAndStaysBelowATenthOfAMillisecond) {
  const Options options;
  uint64_t before = 0;
  for (uint64_t tables = 0; tables < options.compaction.l0_stop; ++tables) {
    const uint64_t delay =
        write::WriteController::DelayNanos(tables, options.compaction.l0_slowdown);
    if (tables < options.compaction.l0_slowdown) {
      EXPECT_EQ(delay, 0u) << tables;
    } else {
      EXPECT_GE(delay, before) << "more tables, less delay at " << tables;
      EXPECT_LE(delay, before == 0 ? 500 : 2 * before) << "a jump at " << tables;
    }
    EXPECT_LT(delay, 100'000u) << tables;
    before = delay;
  }
  EXPECT_GT(before, 10'000u) << "near the stop it holds writers back for good";
}

TEST(EvenThroughputTest, TheLongestStallCanBeRead) {
  TempFolder folder;
  Options options = TinyOptions();
  options.compaction.l0_slowdown = 1;  // each table in L0 delays writes until it is merged
  auto db = OpenOrFail(options, folder.Sub("pool"));
  ASSERT_NE(db, nullptr);
  EXPECT_EQ(db->GetStatistics().longest_stall_micros, 0u);
  for (uint64_t i = 0; i < 1'000'000; ++i) {
    if (i % 1000 == 0 && db->GetStatistics().stalls >= 1000) break;
    BRAID_ASSERT_OK(db->Put(NumberedKey(i), std::string(200, 'v')));
  }
  const Statistics now = db->GetStatistics();
  EXPECT_GE(now.stalls, 1000u);
  EXPECT_GT(now.stall_micros, 0u);
  EXPECT_LE(now.longest_stall_micros, now.stall_micros);
  EXPECT_GE(now.longest_stall_micros, now.stall_micros / now.stalls);
  std::string json;
  ASSERT_TRUE(db->GetProperty("braid.stats.json", &json));
  EXPECT_NE(json.find("\"longest_stall_micros\":"), std::string::npos) << json;
}

TEST(EvenThroughputTest, AWriterThatIsHeldBackIsSeenAndCountedByItsReason) {
  TempFolder folder;
  Options options = TinyOptions();
  options.compaction.l0_slowdown = 1;
  auto db = OpenOrFail(options, folder.Sub("pool"));
  ASSERT_NE(db, nullptr);
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (uint64_t i = 0; !stop.load(); ++i) {
      if (!db->Put(NumberedKey(i % 50'000), std::string(200, 'v')).ok()) return;
    }
  });
  // The gauge shows a moment: it is looked at until one of them shows the writer.
  bool seen = false;
  while (!seen || db->GetStatistics().stalls < 100) {
    const Statistics now = db->GetStatistics();
    ASSERT_LE(now.stalled_writers, 1u);
    EXPECT_EQ(now.stalled_writers == 0, now.stalled_writer_reason == 0);
    seen = seen || now.stalled_writer_reason == 1 + static_cast<uint64_t>(StallReason::kL0);
  }
  stop.store(true);
  writer.join();
  const Statistics end = db->GetStatistics();
  EXPECT_EQ(end.stalled_writers, 0u);
  EXPECT_GT(end.stall_micros_by[static_cast<size_t>(StallReason::kL0)], 0u);
  uint64_t sum = 0;
  for (const uint64_t micros : end.stall_micros_by) sum += micros;
  EXPECT_LE(sum, end.stall_micros);
  EXPECT_LE(end.stall_micros, sum + kStallReasons) << "each was rounded down";
}

}  // namespace
}  // namespace braid::test
