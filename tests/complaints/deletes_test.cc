// "After many deletes in a row every seek is slow" (rocksdb#5265, #10300): a seek passes deleted
// keys only until they are merged, and never beyond its bounds. Work is counted: keys that
// iterators passed because they are deleted (Statistics::passed_entries); no clock decides.
#include <gtest/gtest.h>

#include <limits>

#include "support/database.h"
#include "support/store_kind.h"
#include "support/temp_folder.h"

namespace braid::test {
namespace {

/// Every kind of store that has iterators over a log-structured tree, and those without one.
class DeletesTest : public ::testing::TestWithParam<StoreKind> {
 protected:
  void SetUp() override {
    Options options;
    GetParam().ApplyTo(&options);
    db_ = OpenOrFail(options, folder_.Sub("pool"));
    ASSERT_NE(db_, nullptr);
    // Live keys before, behind and in the middle; between them a hundred thousand that go.
    for (uint64_t i = 0; i <= 2 * deleted_; ++i) {
      if (!Lives(i) && i >= deleted_) continue;
      BRAID_ASSERT_OK(db_->Put(NumberedKey(i), "v"));
    }
    for (uint64_t i = 0; i < deleted_; ++i) {
      if (!Lives(i)) {
        BRAID_ASSERT_OK(db_->Delete(NumberedKey(i)));
      }
    }
  }

  bool Lives(uint64_t i) const { return i == 0 || i == deleted_ / 2 || i == 2 * deleted_; }

  /// Deleted keys that `move` passes.
  template <class Move>
  uint64_t PassedBy(Move&& move) {
    const uint64_t before = db_->GetStatistics().passed_entries;
    move();
    return db_->GetStatistics().passed_entries - before;
  }

  const uint64_t deleted_ = GetParam().name == "braid" ? 100'000 : Sized(10'000, 100'000);
  TempFolder folder_;
  std::unique_ptr<DB> db_;
};

INSTANTIATE_TEST_SUITE_P(Stores, DeletesTest, ::testing::ValuesIn(StoreKinds()),
                         [](const auto& store) { return store.param.name; });

TEST_P(DeletesTest, OnceTheyAreMergedASeekPassesNone) {
  BRAID_ASSERT_OK(db_->Compact());
  const auto it = db_->NewIterator({});
  EXPECT_LE(PassedBy([&] {
              it->Seek(NumberedKey(1));
              ASSERT_TRUE(it->Valid());
              EXPECT_EQ(it->key(), NumberedKey(deleted_ / 2));
              it->Next();
              ASSERT_TRUE(it->Valid());
              EXPECT_EQ(it->key(), NumberedKey(2 * deleted_));
              it->Prev();
              it->Prev();
              ASSERT_TRUE(it->Valid());
              EXPECT_EQ(it->key(), NumberedKey(0));
            }),
            8u);
}

TEST_P(DeletesTest, BeforeThatASeekPassesNoneBehindItsBounds) {
  ReadOptions below;
  below.upper_bound = NumberedKey(2);
  const auto first = db_->NewIterator(below);
  EXPECT_LE(PassedBy([&] {
              first->SeekToFirst();
              ASSERT_TRUE(first->Valid());
              EXPECT_EQ(first->key(), NumberedKey(0));
              first->Next();
              EXPECT_FALSE(first->Valid());
              BRAID_EXPECT_OK(first->status());
            }),
            2u);
  ReadOptions above;
  above.lower_bound = NumberedKey(deleted_ - 2);
  const auto last = db_->NewIterator(above);
  EXPECT_LE(PassedBy([&] {
              last->SeekToLast();
              ASSERT_TRUE(last->Valid());
              EXPECT_EQ(last->key(), NumberedKey(2 * deleted_));
              last->Prev();
              EXPECT_FALSE(last->Valid());
              last->SeekForPrev(NumberedKey(2 * deleted_ - 1));
              EXPECT_FALSE(last->Valid());
              BRAID_EXPECT_OK(last->status());
            }),
            4u);
}

TEST_P(DeletesTest, BeforeThatItPassesEachOnceAtMost) {
  const auto it = db_->NewIterator({});
  EXPECT_LE(PassedBy([&] {
              for (it->SeekToFirst(); it->Valid(); it->Next()) {
              }
              BRAID_EXPECT_OK(it->status());
            }),
            deleted_);
}

}  // namespace
}  // namespace braid::test
