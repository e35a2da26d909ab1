// Iterators: both directions, switches between them, bounds, many tables.
#include "conformance.h"

#include <algorithm>
#include <optional>

namespace braid::test {
namespace {

class IteratorTest : public ConformanceTest {
 protected:
  /// Keys over the merged table, L0 tables and the memtable, with overwrites and deletes.
  void FillLevels() {
    Fill(0, 600, 40, "old");
    BRAID_ASSERT_OK(db_->Compact());
    for (uint64_t i = 0; i < 600; i += 7) ASSERT_NO_FATAL_FAILURE(Delete(NumberedKey(i)));
    for (uint64_t i = 3; i < 600; i += 5) ASSERT_NO_FATAL_FAILURE(Put(NumberedKey(i), "mid"));
    BRAID_ASSERT_OK(db_->Flush());
    for (uint64_t i = 0; i < 600; i += 14) ASSERT_NO_FATAL_FAILURE(Put(NumberedKey(i), "back"));
    for (uint64_t i = 1; i < 600; i += 11) ASSERT_NO_FATAL_FAILURE(Delete(NumberedKey(i)));
    Fill(600, 20, 40, "tail");
  }

  /// What Seek(target) must show with the bounds given: an index into `pairs`, or none.
  static std::optional<size_t> SeekIndex(const Pairs& pairs, const std::string& target,
                                         const ReadOptions& bounds) {
    for (size_t i = 0; i < pairs.size(); ++i) {
      if (bounds.lower_bound && pairs[i].first < *bounds.lower_bound) continue;
      if (bounds.upper_bound && pairs[i].first >= *bounds.upper_bound) return std::nullopt;
      if (pairs[i].first >= target) return i;
    }
    return std::nullopt;
  }
  static std::optional<size_t> SeekForPrevIndex(const Pairs& pairs, const std::string& target,
                                                const ReadOptions& bounds) {
    for (size_t i = pairs.size(); i-- > 0;) {
      if (bounds.upper_bound && pairs[i].first >= *bounds.upper_bound) continue;
      if (bounds.lower_bound && pairs[i].first < *bounds.lower_bound) return std::nullopt;
      if (pairs[i].first <= target) return i;
    }
    return std::nullopt;
  }
  static void ExpectAt(const Iterator& it, const Pairs& pairs, std::optional<size_t> index,
                       const std::string& what) {
    BRAID_ASSERT_OK(it.status());
    ASSERT_EQ(it.Valid(), index.has_value()) << what;
    if (!index) return;
    ASSERT_EQ(it.key(), pairs[*index].first) << what;
    ASSERT_EQ(it.value(), pairs[*index].second) << what;
  }
  Pairs ModelPairs() const { return {model_.begin(), model_.end()}; }
};
INSTANTIATE_TEST_SUITE_P(Designs, IteratorTest, ::testing::ValuesIn(StoringSetups()), SetupName);

TEST_P(IteratorTest, StartsInvalidAndWithoutError) {
  Put("k", "v");
  const auto it = db_->NewIterator({});
  ASSERT_NE(it, nullptr);
  EXPECT_FALSE(it->Valid());
  BRAID_EXPECT_OK(it->status());
}

TEST_P(IteratorTest, EmptyDatabaseHasNoPosition) {
  const auto it = db_->NewIterator({});
  it->SeekToFirst();
  EXPECT_FALSE(it->Valid());
  it->SeekToLast();
  EXPECT_FALSE(it->Valid());
  it->Seek("k");
  EXPECT_FALSE(it->Valid());
  it->SeekForPrev("k");
  EXPECT_FALSE(it->Valid());
  BRAID_EXPECT_OK(it->status());
}

TEST_P(IteratorTest, ScansBothWaysOverAllTables) {
  FillLevels();
  ExpectContent(db_.get(), model_);
}

TEST_P(IteratorTest, SeekFindsTheFirstKeyNotBefore) {
  FillLevels();
  const Pairs pairs = ModelPairs();
  const auto it = db_->NewIterator({});
  for (uint64_t i = 0; i < 625; ++i) {
    for (const std::string& target : {NumberedKey(i), NumberedKey(i) + "x"}) {
      it->Seek(target);
      ExpectAt(*it, pairs, SeekIndex(pairs, target, {}), "Seek " + target);
      if (HasFatalFailure()) return;
      it->SeekForPrev(target);
      ExpectAt(*it, pairs, SeekForPrevIndex(pairs, target, {}), "SeekForPrev " + target);
      if (HasFatalFailure()) return;
    }
  }
  for (const std::string& target : {std::string(), std::string("a"), std::string("zzz")}) {
    it->Seek(target);
    ExpectAt(*it, pairs, SeekIndex(pairs, target, {}), "Seek " + target);
    it->SeekForPrev(target);
    ExpectAt(*it, pairs, SeekForPrevIndex(pairs, target, {}), "SeekForPrev " + target);
  }
}

TEST_P(IteratorTest, DirectionMayChangeAtEveryStep) {
  FillLevels();
  const Pairs pairs = ModelPairs();
  Random random(DeriveSeed(11));
  SCOPED_TRACE(ReplayLine());
  const auto it = db_->NewIterator({});
  it->SeekToFirst();
  std::optional<size_t> at = 0;
  for (int step = 0; step < 20000; ++step) {
    if (!at) {
      at = static_cast<size_t>(random.Below(pairs.size()));
      it->Seek(pairs[*at].first);
    } else if (random.OneIn(2)) {
      it->Next();
      at = *at + 1 < pairs.size() ? std::optional<size_t>(*at + 1) : std::nullopt;
    } else {
      it->Prev();
      at = *at > 0 ? std::optional<size_t>(*at - 1) : std::nullopt;
    }
    ExpectAt(*it, pairs, at, "step " + std::to_string(step));
    if (HasFatalFailure()) return;
  }
}

TEST_P(IteratorTest, LongRunsForwardThenBackwardMeetTheSameKeys) {
  FillLevels();
  const Pairs pairs = ModelPairs();
  const auto it = db_->NewIterator({});
  it->SeekToFirst();
  for (size_t i = 0; i + 1 < pairs.size(); ++i) it->Next();
  for (size_t i = pairs.size(); i-- > 0;) {
    ExpectAt(*it, pairs, i, "on the way back at " + std::to_string(i));
    if (HasFatalFailure()) return;
    it->Prev();
  }
  EXPECT_FALSE(it->Valid());
}

TEST_P(IteratorTest, ASpentIteratorMaySeekAgain) {
  Put("a", "1");
  Put("b", "2");
  const auto it = db_->NewIterator({});
  it->SeekToLast();
  it->Next();
  EXPECT_FALSE(it->Valid());
  BRAID_EXPECT_OK(it->status());
  it->SeekToFirst();
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->key(), "a");
  it->Prev();
  EXPECT_FALSE(it->Valid());
  it->SeekForPrev("zzz");
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->key(), "b");
}

TEST_P(IteratorTest, BoundsLimitEveryKindOfSeek) {
  FillLevels();
  const Pairs pairs = ModelPairs();
  Random random(DeriveSeed(12));
  SCOPED_TRACE(ReplayLine());
  for (int round = 0; round < 150; ++round) {
    ReadOptions bounds;
    if (!random.OneIn(4)) bounds.lower_bound = NumberedKey(random.Below(640));
    if (!random.OneIn(4)) bounds.upper_bound = NumberedKey(random.Below(640));
    const std::string what = "lower " + bounds.lower_bound.value_or("none") + " upper " +
                             bounds.upper_bound.value_or("none");
    Model inside;
    for (const auto& [key, value] : pairs) {
      if (bounds.lower_bound && key < *bounds.lower_bound) continue;
      if (bounds.upper_bound && key >= *bounds.upper_bound) continue;
      inside[key] = value;
    }
    ASSERT_TRUE(SamePairs(ScanForward(db_.get(), bounds), inside)) << what;
    ASSERT_TRUE(SamePairs(ScanBackward(db_.get(), bounds), inside)) << what;
    const auto it = db_->NewIterator(bounds);
    for (int i = 0; i < 10; ++i) {
      const std::string target = NumberedKey(random.Below(650)) + (random.OneIn(2) ? "x" : "");
      it->Seek(target);
      ExpectAt(*it, pairs, SeekIndex(pairs, target, bounds), "Seek " + target + " " + what);
      it->SeekForPrev(target);
      ExpectAt(*it, pairs, SeekForPrevIndex(pairs, target, bounds),
               "SeekForPrev " + target + " " + what);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(IteratorTest, EmptyAndInvertedRangesShowNothing) {
  Fill(0, 100, 10);
  for (const auto& [lower, upper] : std::vector<std::pair<std::string, std::string>>{
           {NumberedKey(10), NumberedKey(10)},
           {NumberedKey(20), NumberedKey(10)},
           {NumberedKey(10) + "x", NumberedKey(10) + "y"},
           {"zz", "zzz"},
           {"", ""}}) {
    ReadOptions bounds;
    bounds.lower_bound = lower;
    bounds.upper_bound = upper;
    EXPECT_TRUE(ScanForward(db_.get(), bounds).empty()) << lower << " .. " << upper;
    EXPECT_TRUE(ScanBackward(db_.get(), bounds).empty()) << lower << " .. " << upper;
    const auto it = db_->NewIterator(bounds);
    it->Seek(NumberedKey(15));
    EXPECT_FALSE(it->Valid());
    it->SeekForPrev(NumberedKey(15));
    EXPECT_FALSE(it->Valid());
  }
}

TEST_P(IteratorTest, LowerBoundIsShownAndUpperBoundIsNot) {
  Fill(0, 10, 10);
  ReadOptions bounds;
  bounds.lower_bound = NumberedKey(3);
  bounds.upper_bound = NumberedKey(7);
  const Pairs pairs = ScanForward(db_.get(), bounds);
  ASSERT_EQ(pairs.size(), 4u);
  EXPECT_EQ(pairs.front().first, NumberedKey(3));
  EXPECT_EQ(pairs.back().first, NumberedKey(6));
}

TEST_P(IteratorTest, BoundsWorkAsAPrefix) {
  for (const std::string prefix : {"a/", "b/", "b0"}) {
    for (int i = 0; i < 50; ++i) Put(prefix + std::to_string(i), prefix);
  }
  ReadOptions bounds;
  bounds.lower_bound = "b/";
  bounds.upper_bound = "b0";
  const Pairs pairs = ScanForward(db_.get(), bounds);
  EXPECT_EQ(pairs.size(), 50u);
  for (const auto& [key, value] : pairs) EXPECT_EQ(value, "b/");
}

TEST_P(IteratorTest, ShowsTheStateOfItsCreation) {
  BRAID_NEEDS(snapshots);
  Fill(0, 500, 60);
  const Model before = model_;
  const auto it = db_->NewIterator({});
  it->SeekToFirst();
  // Everything changes below the iterator, and the tables it started on are merged away.
  for (uint64_t i = 0; i < 500; i += 2) Delete(NumberedKey(i));
  for (uint64_t i = 1; i < 500; i += 2) Put(NumberedKey(i), "changed");
  Fill(1000, 500, 60);
  BRAID_ASSERT_OK(db_->Compact());
  Pairs seen;
  for (; it->Valid(); it->Next()) seen.emplace_back(it->key(), it->value());
  BRAID_ASSERT_OK(it->status());
  EXPECT_TRUE(SamePairs(seen, before));
  seen.clear();
  for (it->SeekToLast(); it->Valid(); it->Prev()) seen.emplace_back(it->key(), it->value());
  std::reverse(seen.begin(), seen.end());
  EXPECT_TRUE(SamePairs(seen, before));
  ExpectContent(db_.get(), model_);
}

TEST_P(IteratorTest, KeyAndValueStayWhileTheStoreMovesOn) {
  Fill(0, 200, 60);
  const auto it = db_->NewIterator({});
  it->Seek(NumberedKey(77));
  ASSERT_TRUE(it->Valid());
  const Slice key = it->key();
  const Slice value = it->value();
  const std::string key_copy(key);
  const std::string value_copy(value);
  for (int round = 0; round < 4; ++round) {
    Fill(0, 200, 60, "round " + std::to_string(round));
    BRAID_ASSERT_OK(db_->Compact());
  }
  EXPECT_EQ(key, key_copy);
  EXPECT_EQ(value, value_copy);
}

/// Holds for every design, with snapshots or without.
TEST_P(IteratorTest, KeysThatStayAreShownOnceWhateverChangesBesideThem) {
  Random random(DeriveSeed(14));
  SCOPED_TRACE(ReplayLine());
  for (uint64_t i = 0; i < 1000; ++i) Put(NumberedKey(i), "v" + std::to_string(i));
  for (const bool forward : {true, false}) {
    const auto it = db_->NewIterator({});
    std::vector<std::string> even;
    std::string last;
    for (forward ? it->SeekToFirst() : it->SeekToLast(); it->Valid();
         forward ? it->Next() : it->Prev()) {
      const std::string key(it->key());
      if (!last.empty()) {
        ASSERT_TRUE(forward ? key > last : key < last) << key << " after " << last;
      }
      last = key;
      if (key.size() == NumberedKey(0).size() && (key.back() - '0') % 2 == 0) {
        even.push_back(key);
        ASSERT_EQ(it->value(), model_[key]);
      }
      // Leaves and tables are split, emptied and merged around the place where it stands.
      for (int i = 0; i < 8; ++i) {
        const std::string odd = NumberedKey(random.Below(500) * 2 + 1);
        if (random.OneIn(3)) {
          BRAID_ASSERT_OK(db_->Delete(odd));
        } else {
          BRAID_ASSERT_OK(db_->Put(random.OneIn(2) ? odd : odd + "x", "changed"));
        }
      }
      if (random.OneIn(100)) {
        BRAID_ASSERT_OK(db_->Compact());
      }
    }
    BRAID_ASSERT_OK(it->status());
    EXPECT_EQ(even.size(), 500u) << (forward ? "forward" : "backward");
  }
  ExpectVerified(db_.get());
}

TEST_P(IteratorTest, ManyIteratorsAtOnceDoNotDisturbEachOther) {
  BRAID_NEEDS(snapshots);
  std::vector<std::unique_ptr<Iterator>> iterators;
  std::vector<Model> states;
  for (int i = 0; i < 30; ++i) {
    Fill(static_cast<uint64_t>(i) * 10, 30, 30, "generation " + std::to_string(i) + " ");
    if (i % 7 == 3) {
      BRAID_ASSERT_OK(db_->Compact());
    }
    iterators.push_back(db_->NewIterator({}));
    states.push_back(model_);
  }
  for (size_t i = 0; i < iterators.size(); ++i) {
    Pairs seen;
    Iterator* it = iterators[i].get();
    for (it->SeekToFirst(); it->Valid(); it->Next()) seen.emplace_back(it->key(), it->value());
    EXPECT_TRUE(SamePairs(seen, states[i])) << "iterator " << i;
  }
}

TEST_P(IteratorTest, NextAndPrevOnAnInvalidIteratorAreHarmless) {
  Put("k", "v");
  const auto it = db_->NewIterator({});
  it->Next();
  it->Prev();
  EXPECT_FALSE(it->Valid());
  it->SeekToLast();
  it->Next();
  it->Next();
  EXPECT_FALSE(it->Valid());
  it->Prev();
  EXPECT_FALSE(it->Valid());
}

}  // namespace
}  // namespace braid::test
