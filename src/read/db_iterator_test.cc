#include "read/db_iterator.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "support/idle_engine.h"
#include "support/store_parts.h"

namespace braid::read {
namespace {

class DbIteratorTest : public ::testing::Test {
 protected:
  DbIteratorTest() {
    for (const char key : std::string("acegik")) parts_.Put(std::string(1, key), "old");
    parts_.Flush();
    parts_.Merge();
    parts_.Put("c", "new");
    parts_.Delete("e");
    parts_.Flush();
    parts_.Put("d", "memtable");
    parts_.Delete("i");
  }

  std::unique_ptr<Iterator> New(const ReadOptions& options = {}) {
    return parts_.reader.NewIterator(options, owner_);
  }
  static std::string Forwards(Iterator* it) {
    std::string keys;
    for (; it->Valid(); it->Next()) keys += it->key();
    test::StoreParts::ExpectOk(it->status());
    return keys;
  }
  static std::string Backwards(Iterator* it) {
    std::string keys;
    for (; it->Valid(); it->Prev()) keys += it->key();
    test::StoreParts::ExpectOk(it->status());
    return keys;
  }

  test::StoreParts parts_;
  // An iterator keeps its engine alive; any engine will do here.
  const Reader::Owner owner_ = std::make_shared<test::IdleEngine>();
};

TEST_F(DbIteratorTest, AllRunsInOrderWithTheNewestValues) {
  const auto it = New();
  it->SeekToFirst();
  EXPECT_EQ(Forwards(it.get()), "acdgk");
  it->SeekToLast();
  EXPECT_EQ(Backwards(it.get()), "kgdca");
  it->Seek("c");
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->value(), "new");
  it->Next();
  EXPECT_EQ(it->value(), "memtable");
}

TEST_F(DbIteratorTest, ItTurnsRoundAnywhere) {
  const auto it = New();
  it->Seek("e");
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->key(), "g");
  it->Prev();
  EXPECT_EQ(it->key(), "d");
  it->Next();
  EXPECT_EQ(it->key(), "g");
  it->Next();
  it->Next();
  EXPECT_FALSE(it->Valid());
  it->Prev();
  EXPECT_FALSE(it->Valid()) << "a move of an iterator that is not valid does nothing";
  it->SeekForPrev("j");
  EXPECT_EQ(it->key(), "g");
  it->SeekForPrev("g");
  EXPECT_EQ(it->key(), "g");
}

TEST_F(DbIteratorTest, BoundsHoldInBothDirections) {
  ReadOptions options;
  options.lower_bound = "c";
  options.upper_bound = "g";
  const auto it = New(options);
  it->SeekToFirst();
  EXPECT_EQ(Forwards(it.get()), "cd");
  it->SeekToLast();
  EXPECT_EQ(Backwards(it.get()), "dc");
  it->Seek("a");
  EXPECT_EQ(it->key(), "c");
  it->SeekForPrev("z");
  EXPECT_EQ(it->key(), "d");
  it->Seek("g");
  EXPECT_FALSE(it->Valid());
  it->SeekForPrev("b");
  EXPECT_FALSE(it->Valid());
}

TEST_F(DbIteratorTest, ItShowsWhatWasThereWhenItWasMade) {
  const auto it = New();
  const std::shared_ptr<const Snapshot> snapshot = parts_.reader.GetSnapshot();
  parts_.Put("b", "later");
  parts_.Delete("g");
  parts_.Flush();
  parts_.Merge();
  parts_.Merge();
  it->SeekToFirst();
  EXPECT_EQ(Forwards(it.get()), "acdgk");
  ReadOptions options;
  options.snapshot = snapshot.get();
  const auto later = New(options);
  later->SeekToFirst();
  EXPECT_EQ(Forwards(later.get()), "acdgk");
  const auto now = New();
  now->SeekToFirst();
  EXPECT_EQ(Forwards(now.get()), "abcdk");
}

TEST_F(DbIteratorTest, LongRunsAreReadAheadAndTurnedBack) {
  for (int i = 0; i < 500; ++i) parts_.Put("k" + std::to_string(1000 + i), std::to_string(i));
  parts_.Flush();
  parts_.Merge();
  const auto it = New();
  it->Seek("k1000");
  for (int i = 0; i < 100; ++i, it->Next()) ASSERT_EQ(it->value(), std::to_string(i));
  for (int i = 100; i > 0; --i, it->Prev()) ASSERT_EQ(it->value(), std::to_string(i));
  EXPECT_EQ(it->value(), "0");
}

TEST_F(DbIteratorTest, OfAClosedStoreItIsNotValid) {
  const auto it = New();
  it->SeekToFirst();
  ASSERT_TRUE(it->Valid());
  parts_.closed.store(true);
  EXPECT_FALSE(it->Valid());
  EXPECT_TRUE(it->status().IsClosed());
  it->SeekToFirst();
  EXPECT_FALSE(it->Valid());
  EXPECT_FALSE(New()->Valid());
  EXPECT_TRUE(New()->status().IsClosed());
}

TEST_F(DbIteratorTest, ItCountsWhatItHadToPass) {
  for (int i = 0; i < 100; ++i) parts_.Put("x" + std::to_string(i), "");
  for (int i = 0; i < 100; ++i) parts_.Delete("x" + std::to_string(i));
  const auto it = New();
  it->Seek("x");
  EXPECT_FALSE(it->Valid());
  Statistics statistics;
  parts_.reader.Fill(&statistics);
  EXPECT_GE(statistics.passed_entries, 100u);
}

}  // namespace
}  // namespace braid::read
