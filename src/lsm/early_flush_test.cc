// Tests of flushes of memtables that are not full: when they are due, and that they come.
#include "lsm/early_flush.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "base/epoch.h"
#include "braid/db.h"
#include "support/store_parts.h"
#include "support/temp_folder.h"

namespace braid::lsm {
namespace {

constexpr int kEntries = 12'000;  // of more than 1 MiB in the log

std::string KeyOf(int number) {
  // In an order that is not that of the numbers.
  const std::string digits = std::to_string(1'000'000 + number * 7919LL % 1'000'003);
  return "key" + digits;
}

void Choose(Options* options) {
  options->memtable.bytes = 8 << 20;
  options->pool.initial_bytes = 32 << 20;
}

class EarlyFlushTest : public ::testing::Test {
 protected:
  void Fill(int from, int count, size_t value_bytes = 100) {
    const std::string value(value_bytes, 'v');
    for (int i = from; i < from + count; ++i) parts_.Put(KeyOf(i), value);
  }
  void Scan(int steps = 1'000'000) {
    const base::EpochGuard guard;
    level::MergingIterator it = parts_.reader.MergeOf(parts_.state(), parts_.reader.ViewOfNow());
    it.SeekToFirst();
    for (; it.Valid() && steps > 0; --steps) it.Next();
  }
  bool IsDue(bool is_quiet = false) {
    return IsEarlyFlushDue(parts_.options, parts_.state(), is_quiet);
  }

  test::StoreParts parts_{Choose};
};

TEST_F(EarlyFlushTest, ComesOnceScansHavePassedAllOfItTwice) {
  Fill(0, kEntries);
  EXPECT_FALSE(IsDue());
  Scan();
  EXPECT_FALSE(IsDue());
  Scan(kEntries / 2);
  EXPECT_FALSE(IsDue());
  Scan();
  EXPECT_TRUE(IsDue());
  parts_.SwitchMemTable();
  EXPECT_FALSE(IsDue()) << "of the next one nothing was passed";
}

TEST_F(EarlyFlushTest, ComesWhenNothingIsWrittenAnyMore) {
  Fill(0, kEntries);
  EXPECT_FALSE(IsDue(false));
  EXPECT_TRUE(IsDue(true));
}

TEST_F(EarlyFlushTest, NotOfAFewEntries) {
  Fill(0, kEntries / 3);
  for (int i = 0; i < 3; ++i) Scan();
  EXPECT_FALSE(IsDue());
  EXPECT_FALSE(IsDue(true));
}

TEST_F(EarlyFlushTest, NotWhereAFlushBringsNoOrder) {
  Fill(0, kEntries / 4, 1000);  // as a rule such values stay where they are
  for (int i = 0; i < 3; ++i) Scan();
  EXPECT_FALSE(IsDue());
  EXPECT_FALSE(IsDue(true));
}

TEST_F(EarlyFlushTest, NotWhileTheBackgroundIsBehind) {
  Fill(0, kEntries);
  parts_.Flush();
  Fill(kEntries, kEntries);
  EXPECT_TRUE(IsDue(true)) << "a table may be on its way";
  parts_.SwitchMemTable();
  Fill(2 * kEntries, kEntries);
  EXPECT_FALSE(IsDue(true)) << "a memtable waits for its flush";
  parts_.FlushOldest();
  EXPECT_FALSE(IsDue(true)) << "two tables wait for their merge";
  parts_.Merge();
  EXPECT_TRUE(IsDue(true));
}

TEST_F(EarlyFlushTest, NotOfASmallPartOfAllThereIs) {
  Fill(0, 17 * kEntries);
  parts_.Flush();
  Fill(17 * kEntries, kEntries);
  EXPECT_FALSE(IsDue(true));
  Fill(18 * kEntries, kEntries / 8);
  EXPECT_TRUE(IsDue(true)) << "a sixteenth";
}

class EarlyFlushOfAStoreTest : public ::testing::Test {
 protected:
  EarlyFlushOfAStoreTest() {
    Options options;
    Choose(&options);
    Result<std::unique_ptr<DB>> db = DB::Open(options, folder_.Sub("pool"));
    EXPECT_TRUE(db.ok()) << db.status().ToString();
    db_ = std::move(db).value();
    for (int i = 0; i < kEntries; ++i) {
      EXPECT_TRUE(db_->Put(KeyOf(i), std::string(100, 'v')).ok());
    }
  }
  uint64_t Scan() {
    uint64_t seen = 0;
    const std::unique_ptr<Iterator> it = db_->NewIterator({});
    for (it->SeekToFirst(); it->Valid(); it->Next()) ++seen;
    EXPECT_TRUE(it->status().ok()) << it->status().ToString();
    return seen;
  }
  /// False: not within a long time.
  bool IsFlushed() {
    for (int i = 0; i < 3000; ++i) {
      if (db_->GetStatistics().flushes != 0) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  test::TempFolder folder_;
  std::unique_ptr<DB> db_;
};

TEST_F(EarlyFlushOfAStoreTest, WhatIsScannedIsFlushed) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Scan(), static_cast<uint64_t>(kEntries));
  EXPECT_TRUE(IsFlushed());
  EXPECT_EQ(Scan(), static_cast<uint64_t>(kEntries));
}

TEST_F(EarlyFlushOfAStoreTest, WhatRestsIsFlushed) {
  EXPECT_EQ(db_->GetStatistics().flushes, 0u);
  EXPECT_TRUE(IsFlushed());
  EXPECT_EQ(Scan(), static_cast<uint64_t>(kEntries));
}

}  // namespace
}  // namespace braid::lsm
