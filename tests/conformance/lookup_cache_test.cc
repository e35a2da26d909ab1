// The lookup cache in a database: it answers, it is counted, and nothing comes back by it.
#include "conformance.h"
#include "support/records.h"

namespace braid::test {
namespace {

class LookupCacheTest : public ::testing::Test {
 protected:
  void Open(uint64_t lookup_bytes) {
    options_ = TinyOptions();
    options_.background_threads = false;
    options_.cache.lookup_bytes = lookup_bytes;
    if (l0_trigger_ != 0) options_.compaction.l0_trigger = l0_trigger_;
    db_.reset();
    db_ = OpenOrFail(options_, folder_.Sub("pool"));
    ASSERT_NE(db_, nullptr);
  }
  Statistics Now() const { return db_->GetStatistics(); }

  TempFolder folder_;
  Options options_;
  uint32_t l0_trigger_ = 0;  // 0: that of TinyOptions
  std::unique_ptr<DB> db_;
};

TEST_F(LookupCacheTest, AnswersGetsOfFlushedKeysAndCountsInTheMemory) {
  Open(0);
  const uint64_t without = Now().memory_bytes;
  Open(64 << 10);
  EXPECT_EQ(Now().memory_bytes, without + (64 << 10));
  for (uint64_t i = 0; i < 1000; ++i) BRAID_ASSERT_OK(db_->Put(NumberedKey(i), "v"));
  BRAID_ASSERT_OK(db_->Compact());
  const Statistics before = Now();
  EXPECT_GT(before.lookup_cache_entries, 800u);
  for (uint64_t i = 0; i < 1000; ++i) EXPECT_EQ(GetText(db_.get(), NumberedKey(i)), "v");
  const Statistics after = Now();
  EXPECT_GE(after.lookup_cache_hits - before.lookup_cache_hits, before.lookup_cache_entries);
  EXPECT_EQ(after.lookup_cache_hits - before.lookup_cache_hits + after.lookup_cache_misses -
                before.lookup_cache_misses,
            1000u);
}

TEST_F(LookupCacheTest, IsFilledFromL1AfterAnOpen) {
  Open(64 << 10);
  for (uint64_t i = 0; i < 1000; ++i) BRAID_ASSERT_OK(db_->Put(NumberedKey(i), "v"));
  BRAID_ASSERT_OK(db_->Compact());
  const uint64_t filled = Now().lookup_cache_entries;
  Open(64 << 10);
  EXPECT_EQ(Now().lookup_cache_entries, 0u);
  for (uint64_t i = 0; i < 1000; ++i) EXPECT_EQ(GetText(db_.get(), NumberedKey(i)), "v");
  BRAID_ASSERT_OK(db_->Compact());
  EXPECT_EQ(Now().lookup_cache_entries, filled);
  const Statistics before = Now();
  for (uint64_t i = 0; i < 2000; ++i) {
    EXPECT_EQ(GetText(db_.get(), NumberedKey(i)), i < 1000 ? "v" : "(not found)");
  }
  EXPECT_GE(Now().lookup_cache_hits - before.lookup_cache_hits, filled);
  // 8,192 buckets, of which at most 1,000 were used.
  EXPECT_GT(Now().lookup_cache_absences - before.lookup_cache_absences, 700u);
}

TEST_F(LookupCacheTest, TablesThatTheOpenFoundAreNotOverlooked) {
  l0_trigger_ = 8;
  Open(64 << 10);
  for (uint64_t i = 0; i < 100; ++i) BRAID_ASSERT_OK(db_->Put(NumberedKey(i), "old"));
  BRAID_ASSERT_OK(db_->Compact());
  for (uint64_t i = 0; i < 50; ++i) BRAID_ASSERT_OK(db_->Put(NumberedKey(i), "new"));
  for (uint64_t i = 100; i < 150; ++i) BRAID_ASSERT_OK(db_->Put(NumberedKey(i), "new"));
  BRAID_ASSERT_OK(db_->Flush());
  const auto expect_all = [this] {
    for (uint64_t i = 0; i < 200; ++i) {
      const std::string want = i >= 50 && i < 100 ? "old" : (i < 150 ? "new" : "(not found)");
      ASSERT_EQ(GetText(db_.get(), NumberedKey(i)), want) << i;
    }
  };
  Open(64 << 10);
  ASSERT_GT(Now().l0_tables, 0u);
  expect_all();
  // Each flush runs what background work there is.
  for (uint64_t i = 200; i < 210; ++i) {
    BRAID_ASSERT_OK(db_->Put(NumberedKey(i), "v"));
    BRAID_ASSERT_OK(db_->Flush());
    expect_all();
  }
  BRAID_ASSERT_OK(db_->Compact());
  expect_all();
  EXPECT_GT(Now().lookup_cache_entries, 100u);
  EXPECT_GT(Now().lookup_cache_absences, 0u);
}

TEST_F(LookupCacheTest, IsFilledAnewAfterABulkLoad) {
  Open(64 << 10);
  for (uint64_t i = 0; i < 100; ++i) BRAID_ASSERT_OK(db_->Put(NumberedKey(i), "old"));
  BRAID_ASSERT_OK(db_->Compact());
  EXPECT_EQ(GetText(db_.get(), NumberedKey(500)), "(not found)");
  EXPECT_GT(Now().lookup_cache_absences, 0u);
  Pairs records;
  for (uint64_t i = 50; i < 150; ++i) records.emplace_back(NumberedKey(i), "loaded");
  PairSource source(std::move(records));
  BRAID_ASSERT_OK(IngestSorted(db_.get(), &source));
  const auto expect_all = [this] {
    for (uint64_t i = 0; i < 200; ++i) {
      ASSERT_EQ(GetText(db_.get(), NumberedKey(i)),
                i < 50 ? "old" : (i < 150 ? "loaded" : "(not found)"))
          << i;
    }
  };
  expect_all();
  BRAID_ASSERT_OK(db_->Compact());
  const Statistics before = Now();
  expect_all();
  EXPECT_GT(Now().lookup_cache_entries, 100u);
  EXPECT_GT(Now().lookup_cache_absences, before.lookup_cache_absences);
}

TEST_F(LookupCacheTest, CopiesTakeThePlaceOfTheirOriginals) {
  options_ = TinyOptions();
  options_.background_threads = false;
  options_.cache.lookup_bytes = 64 << 10;
  options_.log.kind = LogKind::kIndexUnified;  // or the flush would bring the order
  options_.compaction.recluster_share = 0.01;
  db_ = OpenOrFail(options_, folder_.Sub("reclustered"));
  ASSERT_NE(db_, nullptr);
  constexpr uint64_t kKeys = 997;
  for (uint64_t i = 0; i < kKeys; ++i) {
    BRAID_ASSERT_OK(db_->Put(NumberedKey((i * 577) % kKeys), std::to_string(i)));
  }
  BRAID_ASSERT_OK(db_->Flush());
  const uint64_t filled = Now().lookup_cache_entries;
  EXPECT_GT(filled, 800u);
  BRAID_ASSERT_OK(db_->Compact());
  const Statistics before = Now();
  EXPECT_GT(before.reclustered_entries, 500u);
  EXPECT_EQ(before.lookup_cache_entries, filled);
  for (uint64_t i = 0; i < kKeys; ++i) {
    EXPECT_EQ(GetText(db_.get(), NumberedKey((i * 577) % kKeys)), std::to_string(i));
  }
  EXPECT_GE(Now().lookup_cache_hits - before.lookup_cache_hits, filled);
}

TEST_F(LookupCacheTest, OverwrittenAndDeletedKeysDoNotComeBack) {
  Open(256);
  Model model;
  Random random(DeriveSeed(610));
  for (int round = 0; round < 300; ++round) {
    for (int i = 0; i < 20; ++i) {
      const std::string key = NumberedKey(random.Below(60));
      if (random.OneIn(3)) {
        BRAID_ASSERT_OK(db_->Delete(key));
        model.erase(key);
      } else {
        model[key] = std::to_string(round) + ":" + std::to_string(i);
        BRAID_ASSERT_OK(db_->Put(key, model[key]));
      }
    }
    BRAID_ASSERT_OK(random.OneIn(3) ? db_->Compact() : db_->Flush());
    for (uint64_t i = 0; i < 60; ++i) {
      const std::string key = NumberedKey(i);
      const auto want = model.find(key);
      ASSERT_EQ(GetText(db_.get(), key), want == model.end() ? "(not found)" : want->second);
    }
  }
  EXPECT_GT(Now().lookup_cache_hits, 1000u);
  ExpectVerified(db_.get());
}

TEST_F(LookupCacheTest, SnapshotsSeeTheirVersion) {
  Open(4096);
  BRAID_ASSERT_OK(db_->Put("k", "old"));
  BRAID_ASSERT_OK(db_->Flush());
  const auto snapshot = db_->GetSnapshot();
  BRAID_ASSERT_OK(db_->Put("k", "new"));
  BRAID_ASSERT_OK(db_->Flush());
  EXPECT_EQ(GetText(db_.get(), "k"), "new");
  EXPECT_EQ(GetText(db_.get(), "k", snapshot.get()), "old");
  BRAID_ASSERT_OK(db_->Compact());
  EXPECT_EQ(GetText(db_.get(), "k", snapshot.get()), "old");
}

TEST_F(LookupCacheTest, EntriesThatDieAreForgotten) {
  Open(64 << 10);
  for (uint64_t i = 0; i < 1000; ++i) BRAID_ASSERT_OK(db_->Put(NumberedKey(i), "v"));
  BRAID_ASSERT_OK(db_->Compact());
  EXPECT_GT(Now().lookup_cache_entries, 800u);
  for (uint64_t i = 0; i < 1000; ++i) BRAID_ASSERT_OK(db_->Delete(NumberedKey(i)));
  BRAID_ASSERT_OK(db_->Compact());
  // The puts died with the merge of the deletes, and the deletes at the bottom.
  EXPECT_EQ(Now().l1_entries, 0u);
  EXPECT_EQ(Now().lookup_cache_entries, 0u);
}

TEST_F(LookupCacheTest, MoreThanTheBudgetIsRefused) {
  Options options = TinyOptions();
  options.cache.lookup_bytes = options.memory_budget_bytes + 1;
  const auto opened = DB::Open(options, folder_.Sub("other"));
  EXPECT_TRUE(HasCode(opened.status(), Status::Code::kInvalidArgument));
  EXPECT_NE(opened.status().message().find("cache.lookup_bytes"), std::string_view::npos);
}

}  // namespace
}  // namespace braid::test
