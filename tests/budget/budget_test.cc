// What operations cost at the seam to persistent memory, in cache lines written back and fences,
// compared with a checked-in table. A regression shows here without a clock. Heights of towers are
// random, so lines have a band; fences are exact but for the few of chunk allocation.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "braid/db.h"
#include "support/temp_folder.h"

namespace braid::test {
namespace {

struct Cost {
  double lines = 0;
  double fences = 0;
};

class BudgetTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Options options;
    options.design = design_;
    options.pool.force_media_class = MediaClass::kCacheLine;
    options.background_threads = false;
    options.log.shards = 1;
    Result<std::unique_ptr<DB>> db = DB::Open(options, folder_.path() + "/pool");
    ASSERT_TRUE(db.ok()) << db.status().ToString();
    db_ = std::move(db).value();
  }

  /// Cost of `run`, divided by `operations`.
  template <class Run>
  Cost CostOf(uint64_t operations, Run&& run) {
    const Statistics before = db_->GetStatistics();
    run();
    const Statistics after = db_->GetStatistics();
    const auto count = static_cast<double>(operations);
    return {static_cast<double>(after.lines_flushed - before.lines_flushed) / count,
            static_cast<double>(after.fences - before.fences) / count};
  }

  static std::string Key(uint64_t i, size_t bytes) {
    std::string key = std::to_string(i * 2654435761u % 1000000007u);
    return key.size() < bytes ? std::string(bytes - key.size(), '0') + key
                              : key.substr(key.size() - bytes);
  }

  Cost Puts(size_t key_bytes, size_t value_bytes) {
    const std::string value(value_bytes, 'v');
    return CostOf(kOperations, [&] {
      for (uint64_t i = 0; i < kOperations; ++i) {
        ASSERT_TRUE(db_->Put(Key(i, key_bytes), value).ok());
      }
    });
  }

  static constexpr uint64_t kOperations = 20000;
  std::string design_ = "braid";
  TempFolder folder_;
  std::unique_ptr<DB> db_;
};

TEST_F(BudgetTest, PutOf8And8TakesOneFenceAndLessThanTwoLines) {
  const Cost cost = Puts(8, 8);
  EXPECT_NEAR(cost.fences, 1.0, 0.01);
  EXPECT_NEAR(cost.lines, 1.75, 0.15);
}

TEST_F(BudgetTest, PutOf16And100TakesOneFenceAndThreeToFourLines) {
  const Cost cost = Puts(16, 100);
  EXPECT_NEAR(cost.fences, 1.0, 0.01);
  EXPECT_NEAR(cost.lines, 3.3, 0.2);
}

TEST_F(BudgetTest, PutOf16And1024TakesOneFence) {
  const Cost cost = Puts(16, 1024);
  EXPECT_NEAR(cost.fences, 1.0, 0.02);
  EXPECT_NEAR(cost.lines, 17.75, 0.5);
}

TEST_F(BudgetTest, PutOfAValueInAnExtentTakesTwoFences) {
  const std::string value(1u << 20, 'v');
  ASSERT_TRUE(db_->Put("first", value).ok());  // opens a chunk
  constexpr uint64_t kLarge = 8;
  const Cost cost = CostOf(kLarge, [&] {
    for (uint64_t i = 0; i < kLarge; ++i) ASSERT_TRUE(db_->Put(Key(i, 16), value).ok());
  });
  EXPECT_EQ(cost.fences, 2.0);
}

TEST_F(BudgetTest, BatchTakesOneFence) {
  const std::string value(100, 'v');
  constexpr uint64_t kBatches = 200;
  const Cost cost = CostOf(kBatches, [&] {
    for (uint64_t b = 0; b < kBatches; ++b) {
      WriteBatch batch;
      for (uint64_t i = 0; i < 100; ++i) batch.Put(Key(b * 100 + i, 16), value);
      ASSERT_TRUE(db_->Write(batch).ok());
    }
  });
  EXPECT_NEAR(cost.fences, 1.0, 0.05);
  EXPECT_NEAR(cost.lines, 330, 20);
}

TEST_F(BudgetTest, ReadsWriteNothing) {
  Puts(16, 100);
  const Cost cost = CostOf(kOperations, [&] {
    std::string value;
    for (uint64_t i = 0; i < kOperations; ++i) {
      ASSERT_TRUE(db_->Get(Key(i, 16), &value).ok());
    }
    const auto it = db_->NewIterator({});
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
    }
  });
  EXPECT_EQ(cost.lines, 0);
  EXPECT_EQ(cost.fences, 0);
}

TEST_F(BudgetTest, FlushWritesBackLinksOnceAndFencesAConstantNumberOfTimes) {
  Puts(16, 100);
  const Statistics before = db_->GetStatistics();
  ASSERT_TRUE(db_->Flush().ok());
  const Statistics after = db_->GetStatistics();
  // The flush, and the merge into an empty L1 that follows it inline: links of both, and redo
  // records.
  const double lines = static_cast<double>(after.lines_flushed - before.lines_flushed) /
                       static_cast<double>(kOperations);
  EXPECT_LT(lines, 6.0);
  EXPECT_LT(after.fences - before.fences, 60u);
}

/// What a merge takes whose entries go between those that are in L1 already.
class MergeBudgetTest : public ::testing::Test {
 protected:
  Cost Merge(MergePersistence persistence) {
    constexpr uint64_t kEntries = 20000;
    Options options;
    options.pool.force_media_class = MediaClass::kCacheLine;
    options.background_threads = false;
    options.log.shards = 1;
    options.compaction.persistence = persistence;
    const std::string path = folder_.path() + "/" + std::to_string(static_cast<int>(persistence));
    Result<std::unique_ptr<DB>> opened = DB::Open(options, path);
    EXPECT_TRUE(opened.ok()) << opened.status().ToString();
    if (!opened.ok()) return {};
    DB& db = **opened;
    Cost cost;
    for (const bool odd : {true, false}) {
      for (uint64_t i = 0; i < kEntries; ++i) {
        const std::string key = std::to_string(1'000'000 + 2 * i + (odd ? 1 : 0));
        EXPECT_TRUE(db.Put(key, "12345678").ok());
      }
      const Statistics before = db.GetStatistics();
      EXPECT_TRUE(db.Compact().ok());  // the flush takes a few of the fences
      const Statistics after = db.GetStatistics();
      cost = {static_cast<double>(after.lines_flushed - before.lines_flushed) / kEntries,
              static_cast<double>(after.fences - before.fences) / kEntries};
    }
    VerifyReport report;
    EXPECT_TRUE(db.Verify(&report).ok());
    return cost;
  }
  TempFolder folder_;
};

TEST_F(MergeBudgetTest, AMergeByPointersTakesTwoFencesAnEntry) {
  const Cost cost = Merge(MergePersistence::kPointer);
  EXPECT_NEAR(cost.fences, 2.0, 0.02);
  EXPECT_LT(cost.lines, 6.0);
}

TEST_F(MergeBudgetTest, AMergeWithARedoLogTakesTwoFencesABatch) {
  EXPECT_LT(Merge(MergePersistence::kRedoLog).fences, 0.01);
}

/// A store of leaves: an entry, its slot and the bitmap of the leaf, in two steps.
class LeafBudgetTest : public BudgetTest {
 protected:
  LeafBudgetTest() { design_ = "nvskiplist"; }
};

TEST_F(LeafBudgetTest, AnInsertTakesTwoFencesAndItsShareOfSplits) {
  const Cost cost = Puts(8, 8);
  // A split of a leaf with 48 entries: two fences, and the lines of two leaves and a link.
  EXPECT_GE(cost.fences, 2.0);
  EXPECT_LE(cost.fences, 2.12);
  EXPECT_NEAR(cost.lines, 4.2, 0.4);
}

TEST_F(LeafBudgetTest, AnUpdateTakesTwoFences) {
  Puts(16, 100);
  const Cost cost = Puts(16, 100);
  EXPECT_NEAR(cost.fences, 2.0, 0.02);
  // The entry, slot, bitmap, and the mark on the old entry.
  EXPECT_NEAR(cost.lines, 6.0, 0.3);
}

TEST_F(LeafBudgetTest, ADeleteTakesOneFenceAndOneOfAMissingKeyNone) {
  Puts(16, 100);
  Cost cost = CostOf(kOperations / 10, [&] {
    for (uint64_t i = 0; i < kOperations; i += 10) ASSERT_TRUE(db_->Delete(Key(i, 16)).ok());
  });
  EXPECT_NEAR(cost.fences, 1.0, 0.02);
  EXPECT_NEAR(cost.lines, 2.0, 0.1);
  cost = CostOf(kOperations / 10, [&] {
    for (uint64_t i = 0; i < kOperations; i += 10) ASSERT_TRUE(db_->Delete(Key(i, 16)).ok());
  });
  EXPECT_EQ(cost.fences, 0);
  EXPECT_EQ(cost.lines, 0);
}

TEST_F(LeafBudgetTest, ReadsWriteNothing) {
  Puts(16, 100);
  const Cost cost = CostOf(kOperations, [&] {
    std::string value;
    for (uint64_t i = 0; i < kOperations; ++i) ASSERT_TRUE(db_->Get(Key(i, 16), &value).ok());
    const auto it = db_->NewIterator({});
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
    }
  });
  EXPECT_EQ(cost.lines, 0);
  EXPECT_EQ(cost.fences, 0);
}

}  // namespace
}  // namespace braid::test
