// Tests of the zipper merge: what becomes of each version, what readers find after each batch, and
// how a merge that was interrupted goes on.
#include "merge/zipper_merge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "merge/copy_merge.h"
#include "support/zipper_parts.h"

namespace braid::merge {
namespace {

using Parts = test::ZipperParts;
using Strings = Parts::Strings;

std::string KeyOf(int i) { return Parts::KeyOf(i); }

/// The tree has the first version of each key of the target, and nothing else.
void ExpectNames(Parts& parts, const index::EntryIndex& tree) {
  std::map<std::string, uint64_t> newest;
  for (const uint64_t place : parts.Places(Parts::kTarget)) {
    newest.emplace(parts.Entry(place)->key(), place);
  }
  EXPECT_EQ(tree.size(), newest.size());
  for (const auto& [key, place] : newest) EXPECT_EQ(tree.Find(key), place) << key;
}

/// By redo records, and link by link.
class ZipperMergeTest : public ::testing::TestWithParam<bool> {
 protected:
  MergeInput Begin() {
    MergeInput input = parts_.Begin();
    input.by_pointers = GetParam();
    return input;
  }
  MergeResult Merge() { return parts_.Run(Begin()); }
  void LinkTarget(const index::LiveViews& views = {}) { parts_.Link(Parts::kTarget, views); }
  void LinkSource(const index::LiveViews& views = {}) { parts_.Link(Parts::kSource, views); }
  /// Before the merge has done anything.
  void ExpectDamage(const MergeInput& input) {
    ZipperMerge merge(parts_.pool.get(), input);
    EXPECT_TRUE(merge.Start().IsCorruption());
  }
  /// The newest version of each key that a reader finds who asks the source, then the target.
  std::map<std::string, std::string> Read() {
    std::map<std::string, std::string> newest;
    for (const uint32_t head : {Parts::kSource, Parts::kTarget}) {
      for (const uint64_t place : parts_.Places(head)) {
        const std::string key(parts_.Entry(place)->key());
        const auto found = newest.find(key);
        if (found == newest.end()) newest[key] = parts_.Describe(place);
      }
    }
    return newest;
  }

  Parts parts_;
};

TEST_P(ZipperMergeTest, EntriesOfBothComeInOrder) {
  for (const char* key : {"b", "d", "f"}) parts_.Put(key, "old");
  LinkTarget();
  for (const char* key : {"a", "c", "e", "g"}) parts_.Put(key, "new");
  LinkSource();
  const MergeResult merged = Merge();
  EXPECT_EQ(parts_.Merged(),
            (Strings{"a@4=new", "b@1=old", "c@5=new", "d@2=old", "e@6=new", "f@3=old", "g@7=new"}));
  EXPECT_EQ(merged.progress.merged_entries, 4u);
  EXPECT_EQ(merged.progress.entries_delta, 4);
  EXPECT_TRUE(merged.obsolete.empty());
}

TEST_P(ZipperMergeTest, OnlyLinksChange) {
  const uint64_t b = parts_.Put("b", "1");
  LinkTarget();
  const uint64_t a = parts_.Put("a", "2");
  const uint64_t c = parts_.Put("c", "3");
  LinkSource();
  Merge();
  EXPECT_EQ(parts_.Places(Parts::kTarget), (std::vector<uint64_t>{a, b, c}));
}

TEST_P(ZipperMergeTest, AnEmptyTargetTakesAllOfTheSource) {
  LinkTarget();
  parts_.Put("a", "1");
  parts_.Put("b", "2");
  LinkSource();
  Merge();
  EXPECT_EQ(parts_.Merged(), (Strings{"a@1=1", "b@2=2"}));
}

TEST_P(ZipperMergeTest, TheNewestVersionWins) {
  const uint64_t older = parts_.Put("a", "old");
  parts_.Put("b", "old");
  LinkTarget();
  const uint64_t newer = parts_.Put("a", "new");
  LinkSource();
  const MergeResult merged = Merge();
  EXPECT_EQ(parts_.Merged(), (Strings{"a@3=new", "b@2=old"}));
  EXPECT_TRUE(parts_.IsObsolete(older));
  EXPECT_FALSE(parts_.IsObsolete(newer));
  EXPECT_EQ(merged.obsolete, std::vector<uint64_t>{older});
  EXPECT_EQ(merged.progress.entries_delta, 0);
}

TEST_P(ZipperMergeTest, VersionsStayWithTheViewsThatSeeThem) {
  for (int i = 1; i <= 3; ++i) parts_.Put("k", std::to_string(i));
  parts_.Put("l", "4");
  LinkTarget({1, 2, 3});
  for (int i = 5; i <= 7; ++i) parts_.Put("k", std::to_string(i));
  parts_.Put("l", "8");
  LinkSource({5, 6});
  parts_.views = {2, 5};
  const MergeResult merged = Merge();
  EXPECT_EQ(parts_.Merged(), (Strings{"k@7=7", "k@5=5", "k@2=2", "l@8=8", "l@4=4"}));
  EXPECT_EQ(merged.obsolete.size(), 3u);
  EXPECT_EQ(merged.progress.entries_delta, 5 - 4);
}

TEST_P(ZipperMergeTest, WhatNoViewNeedsAnyMoreGoesWithTheNextMergeOfItsKey) {
  for (int i = 1; i <= 3; ++i) parts_.Put("k", std::to_string(i));
  parts_.Put("l", "4");
  parts_.Put("l", "5");
  LinkTarget({1, 2, 4});
  parts_.Put("k", "6");
  LinkSource();
  parts_.views = {2};
  Merge();
  EXPECT_EQ(parts_.Merged(), (Strings{"k@6=6", "k@2=2", "l@5=5", "l@4=4"}))
      << "nobody has looked at l";
}

TEST_P(ZipperMergeTest, AtTheBottomADeleteGoesWithWhatItHides) {
  parts_.Put("a", "1");
  parts_.Put("b", "2");
  LinkTarget();
  const uint64_t hiding = parts_.Delete("a");
  const uint64_t alone = parts_.Delete("c");
  LinkSource();
  const MergeResult merged = Merge();
  EXPECT_EQ(parts_.Merged(), (Strings{"b@2=2"}));
  EXPECT_TRUE(parts_.IsObsolete(hiding));
  EXPECT_TRUE(parts_.IsObsolete(alone));
  EXPECT_EQ(merged.obsolete.size(), 3u);
  EXPECT_EQ(merged.progress.entries_delta, -1);
  EXPECT_EQ(merged.progress.merged_entries, 2u);
}

TEST_P(ZipperMergeTest, ADeleteStaysAsLongAsAViewSeesWhatItHides) {
  parts_.Put("a", "1");
  parts_.Put("b", "2");
  LinkTarget();
  parts_.Delete("a");
  parts_.Delete("b");
  LinkSource();
  parts_.views = {1};
  Merge();
  EXPECT_EQ(parts_.Merged(), (Strings{"a@3-", "a@1=1"}));
}

TEST_P(ZipperMergeTest, WhereALevelIsBelowDeletesStay) {
  parts_.Put("a", "1");
  parts_.Put("b", "2");
  LinkTarget();
  parts_.Delete("a");
  parts_.Delete("c");
  LinkSource();
  MergeInput input = Begin();
  input.is_bottom = false;
  parts_.Run(input);
  EXPECT_EQ(parts_.Merged(), (Strings{"a@3-", "b@2=2", "c@4-"}));
}

TEST_P(ZipperMergeTest, ADeleteOfTheTargetGivesWayToANewPut) {
  parts_.Put("a", "1");
  parts_.Delete("a");
  LinkTarget({1});
  parts_.Put("a", "3");
  LinkSource();
  parts_.views = {1};
  Merge();
  EXPECT_EQ(parts_.Merged(), (Strings{"a@3=3", "a@1=1"})) << "no view sees the delete";
}

TEST_P(ZipperMergeTest, EveryLayerLeadsThroughWhatIsTallEnough) {
  parts_.LinkKeys(Parts::kTarget, 600, 2, "old");
  for (int i = 0; i < 600; ++i) {
    if (i % 5 == 0) {
      parts_.Delete(KeyOf(3 * i));
    } else {
      parts_.Put(KeyOf(3 * i), "new");
    }
  }
  LinkSource();
  Merge();
  parts_.ExpectSoundTowers(Parts::kTarget);
}

TEST_P(ZipperMergeTest, ReadersMissNothingAtAnyStep) {
  parts_.LinkKeys(Parts::kTarget, 60, 2, "old");
  parts_.LinkKeys(Parts::kSource, 60, 3, "new");
  const auto before = Read();
  EXPECT_EQ(before.size(), 100u);
  MergeInput input = Begin();
  input.batch_entries = 7;
  ZipperMerge merge(parts_.pool.get(), input);
  ASSERT_TRUE(merge.Start().ok());
  for (bool more = true; more;) {
    const Result<bool> step = merge.Step();
    ASSERT_TRUE(step.ok()) << step.status().ToString();
    more = *step;
    EXPECT_EQ(Read(), before);
  }
  EXPECT_EQ(parts_.Merged().size(), 100u);
}

TEST_P(ZipperMergeTest, WhoStandsOnADroppedEntryFindsTheWayBack) {
  for (const char* key : {"a", "b", "c"}) parts_.Put(key, "old");
  LinkTarget();
  const uint64_t newer = parts_.Put("b", "new");
  const uint64_t gone = parts_.Delete("a");
  LinkSource();
  const uint64_t older = parts_.Places(Parts::kTarget).at(1);
  Merge();
  ASSERT_TRUE(parts_.IsObsolete(older));
  ASSERT_TRUE(parts_.IsObsolete(gone));
  index::Damage damage;
  const index::SkipList list = parts_.List(Parts::kTarget);
  EXPECT_EQ(list.Next(parts_.Entry(older), &damage)->key(), "c");
  EXPECT_EQ(parts_.pool->OffsetOf(list.Next(parts_.Entry(gone), &damage)), newer);
  EXPECT_FALSE(damage);
}

TEST_P(ZipperMergeTest, MoreVersionsThanARecordHoldsAreAllKept) {
  index::LiveViews all;
  for (int i = 0; i < 40; ++i) {
    parts_.Put("k", "target");
    all.push_back(parts_.sequence);
  }
  LinkTarget(all);
  for (int i = 0; i < 60; ++i) {
    parts_.Put("k", "source");
    all.push_back(parts_.sequence);
  }
  LinkSource(all);
  parts_.views = all;
  Merge();
  Strings expected;
  for (int i = 100; i > 0; --i) {
    expected.push_back("k@" + std::to_string(i) + (i > 40 ? "=source" : "=target"));
  }
  EXPECT_EQ(parts_.Merged(), expected);
  parts_.ExpectSoundTowers(Parts::kTarget);
}

TEST_P(ZipperMergeTest, TheTreeOverTheTargetNamesTheNewest) {
  for (const int i : {0, 1, 2, 3, 4}) parts_.Put(KeyOf(i), "old");
  const auto tree = index::NewEntryIndex(parts_.pool.get(), MemTableKind::kBTree);
  LinkTarget();
  for (const uint64_t place : parts_.Places(Parts::kTarget)) {
    tree->Upsert(parts_.Entry(place)->key(), [&](uint64_t) { return place; });
  }
  parts_.Put(KeyOf(1), "new");
  parts_.Put(KeyOf(7), "new");
  parts_.Delete(KeyOf(3));
  LinkSource();
  MergeInput input = Begin();
  input.tree = tree.get();
  input.tree_is_complete = true;
  parts_.Run(input);
  EXPECT_EQ(parts_.Merged().size(), 5u);
  ExpectNames(parts_, *tree);
}

// Whatever becomes of the versions of a key that are merged first.
TEST_P(ZipperMergeTest, TheTreeOverTheTargetNamesTheNewestOfManyVersions) {
  for (const bool ends_with_delete : {false, true}) {
    for (const bool is_there : {false, true}) {
      for (const bool all_are_seen : {false, true}) {
        Parts parts;
        const auto tree = index::NewEntryIndex(parts.pool.get(), MemTableKind::kBTree);
        index::LiveViews all;
        parts.Put("j", "target");
        if (is_there) parts.Put("k", "target");
        parts.Put("l", "target");
        parts.Link(Parts::kTarget, {});
        for (const uint64_t place : parts.Places(Parts::kTarget)) {
          tree->Upsert(parts.Entry(place)->key(), [&](uint64_t) { return place; });
        }
        // The last slice of them, which is merged first, has deletes alone.
        for (int i = 0; i < 100; ++i) {
          i < 70 ? parts.Delete("k") : parts.Put("k", "source");
          all.push_back(parts.sequence);
        }
        if (ends_with_delete) parts.Delete("k");
        parts.Put("l", "source");
        parts.Link(Parts::kSource, all);
        if (all_are_seen) parts.views = all;
        MergeInput input = parts.Begin();
        input.by_pointers = GetParam();
        input.tree = tree.get();
        input.tree_is_complete = true;
        parts.Run(input);
        EXPECT_EQ(tree->Find("k") != 0, all_are_seen || !ends_with_delete);
        ExpectNames(parts, *tree);
      }
    }
  }
}

TEST_P(ZipperMergeTest, ATreeOfTallEntriesKeepsThoseAlone) {
  const auto tree = index::NewEntryIndex(parts_.pool.get(), MemTableKind::kBTree);
  const uint64_t tall = parts_.Put("a", "1", 3);
  tree->Upsert("a", [&](uint64_t) { return tall; });
  LinkTarget();
  parts_.Put("a", "2", 1);
  const uint64_t tall_too = parts_.Put("b", "3", 2);
  parts_.Put("c", "4", 1);
  LinkSource();
  MergeInput input = Begin();
  input.tree = tree.get();
  input.tree_min_height = 2;
  parts_.Run(input);
  EXPECT_EQ(tree->Find("a"), 0u) << "the newest is too low";
  EXPECT_EQ(tree->Find("b"), tall_too);
  EXPECT_EQ(tree->size(), 1u);
}

TEST_P(ZipperMergeTest, AMergeThatIsStoppedGoesOnWhereItWas) {
  parts_.LinkKeys(Parts::kTarget, 40, 2, "old");
  parts_.LinkKeys(Parts::kSource, 40, 3, "new");
  const auto expected = Read();
  int steps = 0;
  MergeInput input = Begin();
  input.batch_entries = 8;
  input.should_stop = [&steps] { return steps++ == 2; };
  ZipperMerge first(parts_.pool.get(), input);
  ASSERT_TRUE(first.Start().ok());
  ASSERT_TRUE(first.Step().ok());
  ASSERT_TRUE(first.Step().ok());
  const Result<bool> stopped = first.Step();
  EXPECT_EQ(stopped.status().code(), Status::Code::kAborted);
  BatchProgress progress = first.result().progress;
  EXPECT_EQ(progress.merged_entries, 16u);
  if (GetParam()) {
    const Result<uint64_t> boundary = SettleInterruptedMerge(
        parts_.pool.get(), parts_.Head(Parts::kSource), parts_.Head(Parts::kTarget));
    ASSERT_TRUE(boundary.ok()) << boundary.status().ToString();
    EXPECT_EQ(*boundary, progress.boundary);
  } else {
    std::vector<format::RedoUpdate> updates;
    const Result<BatchProgress> newest = RedoLog(parts_.pool.get(), input.merge).Newest(&updates);
    ASSERT_TRUE(newest.ok());
    EXPECT_EQ(newest->batch, progress.batch);
    EXPECT_EQ(newest->boundary, progress.boundary);
    EXPECT_EQ(newest->merged_entries, progress.merged_entries);
    EXPECT_EQ(newest->entries_delta, progress.entries_delta);
  }
  EXPECT_EQ(Read(), expected);
  input.should_stop = {};
  input.resumed = progress;
  input.source_boundary = progress.boundary;
  const MergeResult rest = parts_.Run(input);
  EXPECT_EQ(rest.progress.merged_entries, 40u);
  EXPECT_GT(rest.progress.batch, progress.batch);
  EXPECT_EQ(parts_.Merged().size(), expected.size());
  EXPECT_EQ(40 + rest.progress.entries_delta, static_cast<int64_t>(expected.size()));
  EXPECT_EQ(Read(), expected);
  parts_.ExpectSoundTowers(Parts::kTarget);
}

TEST_P(ZipperMergeTest, ASourceThatIsACircleIsDamage) {
  LinkTarget();
  const uint64_t a = parts_.Put("a", "1");
  const uint64_t b = parts_.Put("b", "2");
  LinkSource();
  parts_.Entry(b)->links()[0] = parts_.pool->LinkTo(a).raw;
  ExpectDamage(Begin());
}

TEST_P(ZipperMergeTest, ASourceThatEndsInABrokenLinkIsDamage) {
  LinkTarget();
  parts_.Put("a", "1");
  const uint64_t b = parts_.Put("b", "2");
  LinkSource();
  parts_.Entry(b)->links()[0] ^= 8;
  ExpectDamage(Begin());
}

TEST_P(ZipperMergeTest, ABoundaryThatIsNotInTheSourceIsDamage) {
  const uint64_t elsewhere = parts_.Put("a", "1");
  LinkTarget();
  parts_.Put("b", "2");
  LinkSource();
  MergeInput input = Begin();
  input.source_boundary = elsewhere;
  ExpectDamage(input);
}

TEST_P(ZipperMergeTest, ADamagedKeyOfTheTargetIsNotPassed) {
  parts_.Put("a", "1");
  const uint64_t damaged = parts_.Put("c", "2");
  LinkTarget();
  parts_.Put("b", "3");
  LinkSource();
  const index::SkipList source = parts_.List(Parts::kSource);
  index::Damage damage;
  const uint64_t b = parts_.pool->OffsetOf(source.First(&damage));
  *parts_.pool->At(parts_.pool->OffsetOf(parts_.Entry(damaged)->key_data())) ^= 1;
  ZipperMerge merge(parts_.pool.get(), Begin());
  ASSERT_TRUE(merge.Start().ok());
  EXPECT_TRUE(merge.Step().status().IsCorruption());
  EXPECT_EQ(parts_.Entry(b)->links()[0], format::EntryPtr::End().raw) << "nothing was done";
}

/// What is in the target, by the one rule for flushes and merges.
class MergedModel {
 public:
  void Add(const std::string& key, uint64_t sequence, const std::string& value) {
    fresh_[key].insert(fresh_[key].begin(), {sequence, value});
  }
  /// What is new is flushed, and merged.
  void Merge(const index::LiveViews& views) {
    for (auto& [key, versions] : fresh_) {
      std::vector<Version>& all = merged_[key];
      all.insert(all.begin(), versions.begin(), versions.end());
      std::vector<Version> kept;
      uint64_t newer = index::kLatest;
      for (const Version& version : all) {
        if (index::IsVersionNeeded(views, version.first, newer)) kept.push_back(version);
        newer = version.first;
      }
      while (!kept.empty() && kept.back().second.empty()) kept.pop_back();
      all = kept;
    }
    fresh_.clear();
  }
  Strings Entries() const {
    Strings entries;
    for (const auto& [key, versions] : merged_) {
      for (const auto& [sequence, value] : versions) {
        entries.push_back(key + "@" + std::to_string(sequence) +
                          (value.empty() ? "-" : "=" + value));
      }
    }
    return entries;
  }

 private:
  using Version = std::pair<uint64_t, std::string>;  // an empty value is a delete

  std::map<std::string, std::vector<Version>> fresh_;  // newest first
  std::map<std::string, std::vector<Version>> merged_;
};

TEST_P(ZipperMergeTest, AnyMergesComeOutByTheRule) {
  Random random(5);
  MergedModel model;
  LinkTarget();
  const auto tree = index::NewEntryIndex(parts_.pool.get(), MemTableKind::kBTree);
  for (int round = 0; round < 12; ++round) {
    for (int i = 0; i < 150; ++i) {
      const std::string key = KeyOf(static_cast<int>(random.Uniform(60)));
      if (random.OneIn(3)) {
        parts_.Delete(key);
        model.Add(key, parts_.sequence, "");
      } else {
        parts_.Put(key, std::to_string(i));
        model.Add(key, parts_.sequence, std::to_string(i));
      }
      if (random.OneIn(40)) parts_.views.push_back(parts_.sequence);
    }
    while (parts_.views.size() > 4) {
      parts_.views.erase(parts_.views.begin() +
                         static_cast<ptrdiff_t>(random.Uniform(parts_.views.size())));
    }
    LinkSource(parts_.views);
    MergeInput input = Begin();
    input.batch_entries = static_cast<uint32_t>(1 + random.Uniform(40));
    input.tree = tree.get();
    input.tree_is_complete = round % 3 != 0;
    parts_.Run(input);
    model.Merge(parts_.views);
    ASSERT_EQ(parts_.Merged(), model.Entries()) << "round " << round;
    ExpectNames(parts_, *tree);
    parts_.ExpectSoundTowers(Parts::kTarget);
  }
}

INSTANTIATE_TEST_SUITE_P(Persistence, ZipperMergeTest, ::testing::Values(false, true),
                         [](const auto& test) { return test.param ? "Pointer" : "RedoLog"; });

TEST(ZipperBatchTest, AStepIsABatchFromTheTail) {
  Parts parts;
  parts.Link(Parts::kTarget);
  parts.LinkKeys(Parts::kSource, 20, 1, "value");
  const std::vector<uint64_t> source = parts.Places(Parts::kSource);
  MergeInput input = parts.Begin();
  input.batch_entries = 8;
  ZipperMerge merge(parts.pool.get(), input);
  ASSERT_TRUE(merge.Start().ok());
  const struct {
    size_t boundary;
    bool more;
  } steps[] = {{12, true}, {4, true}, {0, false}};
  for (uint64_t batch = 1; batch <= 3; ++batch) {
    const Result<bool> more = merge.Step();
    ASSERT_TRUE(more.ok()) << more.status().ToString();
    const auto& [boundary, goes_on] = steps[batch - 1];
    EXPECT_EQ(*more, goes_on);
    EXPECT_EQ(merge.result().progress.batch, batch);
    EXPECT_EQ(merge.result().progress.boundary, source[boundary]);
    EXPECT_EQ(merge.result().progress.merged_entries, 20 - boundary);
    EXPECT_EQ(parts.Merged().size(), 20 - boundary);
  }
  EXPECT_FALSE(*merge.Step()) << "nothing is left";
}

TEST(ZipperBatchTest, ARangeThatOneRecordDoesNotHoldIsSeveralBatches) {
  Parts parts;
  parts.Link(Parts::kTarget);
  parts.LinkKeys(Parts::kSource, 2000, 1, "value");
  MergeInput input = parts.Begin();
  input.batch_entries = 2000;
  const MergeResult merged = parts.Run(input);
  EXPECT_GT(merged.progress.batch, 2u);
  EXPECT_EQ(merged.progress.merged_entries, 2000u);
  EXPECT_EQ(parts.Merged().size(), 2000u);
  parts.ExpectSoundTowers(Parts::kTarget);
}

TEST(ZipperBatchTest, ABatchDropsNoMoreThanItsRecordHolds) {
  Parts parts;
  index::LiveViews all;
  for (int i = 0; i < 100; ++i) {
    parts.Put("k", "old");
    all.push_back(parts.sequence);
  }
  parts.Link(Parts::kTarget, all);
  parts.Put("k", "new");
  parts.Link(Parts::kSource);
  MergeResult merged = parts.Run();
  const size_t left = parts.Merged().size();
  EXPECT_GT(left, 1u);
  EXPECT_LT(left, 100u);
  EXPECT_EQ(merged.kept.left, left - 1);
  EXPECT_EQ(merged.kept.dropped, 100 - left + 1 - 1) << "one was the newest, and no kept one";
  for (int times = 0; parts.Merged().size() > 1; ++times) {
    ASSERT_LT(times, 20);
    parts.Put("k", "newer");
    parts.Link(Parts::kSource);
    merged = parts.Run();
  }
  EXPECT_EQ(merged.kept.left, 0u);
}

/// The bytes of the pool but those of redo records, as they are.
class PoolBytes {
 public:
  explicit PoolBytes(pool::PmemPool* pool) : pool_(pool), bytes_(pool->At(0), pool->pool_bytes()) {}
  void PutBack() {
    for (uint64_t chunk = 0; chunk < pool_->chunks(); ++chunk) {
      if (pool_->StateOf(chunk).kind() == format::ChunkKind::kRedo) continue;
      const uint64_t offset = pool_->ChunkOffset(chunk);
      std::memcpy(pool_->At(offset), bytes_.data() + offset, pool_->chunk_bytes());
    }
  }

 private:
  pool::PmemPool* pool_;
  std::string bytes_;
};

TEST(ZipperReplayTest, ABatchThatWasRecordedAndNotMadeIsMadeFromItsRecord) {
  Parts parts;
  parts.LinkKeys(Parts::kTarget, 40, 2, "old");
  for (int i = 0; i < 40; ++i) {
    i % 4 == 0 ? parts.Delete(KeyOf(3 * i)) : parts.Put(KeyOf(3 * i), "new");
  }
  parts.Link(Parts::kSource);
  PoolBytes start(parts.pool.get());
  MergeInput input = parts.Begin();
  input.batch_entries = 10;
  parts.Run(input);
  const Strings expected = parts.Merged();
  for (size_t part = 0; part <= 4; ++part) {
    start.PutBack();
    input.merge = parts.Begin().merge;
    ZipperMerge merge(parts.pool.get(), input);
    ASSERT_TRUE(merge.Start().ok());
    ASSERT_TRUE(merge.Step().ok());
    PoolBytes before(parts.pool.get());
    ASSERT_TRUE(merge.Step().ok());
    before.PutBack();  // a crash, of which some updates came through
    RedoLog redo(parts.pool.get(), input.merge);
    std::vector<format::RedoUpdate> updates;
    const Result<BatchProgress> newest = redo.Newest(&updates);
    ASSERT_TRUE(newest.ok()) << newest.status().ToString();
    ASSERT_EQ(newest->batch, 2u);
    for (size_t i = 0; i < updates.size() * part / 4; ++i) {
      MakeUpdate(parts.pool.get(), updates[i]);
    }
    ASSERT_TRUE(redo.Apply(updates).ok());
    MergeInput rest = input;
    rest.resumed = *newest;
    rest.source_boundary = newest->boundary;
    const MergeResult merged = parts.Run(rest);
    EXPECT_EQ(parts.Merged(), expected) << part;
    EXPECT_EQ(merged.progress.merged_entries, 40u);
    EXPECT_EQ(40 + merged.progress.entries_delta, static_cast<int64_t>(expected.size()));
    parts.ExpectSoundTowers(Parts::kTarget);
  }
}

TEST(ZipperKeptTest, WhatStaysForViewsIsCountedByView) {
  Parts parts;
  for (int i = 1; i <= 3; ++i) parts.Put("k", std::to_string(i));
  parts.Put("l", "4");
  parts.Link(Parts::kTarget, {1, 2});
  parts.Put("k", "5");
  parts.Put("l", "6");
  parts.Put("m", "7");
  parts.Delete("k");
  parts.Link(Parts::kSource, {5});
  parts.views = {2, 5, 7};
  const MergeResult merged = parts.Run();
  EXPECT_EQ(parts.Merged(), (Strings{"k@8-", "k@5=5", "k@2=2", "l@6=6", "l@4=4", "m@7=7"}));
  // The delete waits as long as k@5; that for the view 7, l@4 for the view 5. k@2 was counted
  // before.
  EXPECT_EQ(merged.kept.for_view, (std::vector<uint64_t>{0, 1, 2}));
  EXPECT_EQ(merged.kept.for_none, 0u);
  EXPECT_EQ(merged.kept.dropped, 1u) << "k@1; k@3 was the newest";
}

TEST(ZipperAdoptTest, ALoadBecomesTheEmptyTarget) {
  Parts parts;
  parts.Link(Parts::kTarget);
  const uint64_t entries = parts.LinkKeys(Parts::kSource, 300, 1, "value").entries;
  MergeInput input = parts.Begin();
  input.adopted_heads = {input.source_head};
  input.adopted_entries = entries;
  const MergeResult merged = parts.Run(input);
  EXPECT_EQ(parts.Places(Parts::kTarget), parts.Places(Parts::kSource));
  EXPECT_EQ(merged.progress.entries_delta, 300);
  EXPECT_EQ(merged.progress.merged_entries, 300u);
  EXPECT_EQ(merged.progress.batch, 1u);
  parts.ExpectSoundTowers(Parts::kTarget);
}

TEST(ZipperAdoptTest, ATargetThatHoldsSomethingIsMergedWith) {
  Parts parts;
  parts.Put("a", "old");
  parts.Put("c", "old");
  parts.Link(Parts::kTarget);
  parts.Put("b", "new");
  parts.Put("c", "new");
  const uint64_t entries = parts.Link(Parts::kSource).entries;
  MergeInput input = parts.Begin();
  input.adopted_heads = {input.source_head};
  input.adopted_entries = entries;
  parts.Run(input);
  EXPECT_EQ(parts.Merged(), (Strings{"a@1=old", "b@3=new", "c@4=new"}));
}

TEST(ZipperRegionsTest, UpperLayersStayWithinTheirStrand) {
  Options options = test::PoolOfSmallChunks(256);
  options.pool.regions = 2;
  Parts parts(options);
  ASSERT_EQ(parts.pool->strands(), 2u);
  Random random(9);
  parts.Link(Parts::kTarget);
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 300; ++i) {
      const uint32_t shard = static_cast<uint32_t>(random.Uniform(2));
      const std::string key = KeyOf(static_cast<int>(random.Uniform(200)));
      random.OneIn(4) ? parts.Delete(key, 0, shard) : parts.Put(key, "value", 0, shard);
    }
    parts.views = {parts.sequence - 100};
    parts.Link(Parts::kSource, parts.views);
    parts.Run();
    parts.ExpectSoundTowers(Parts::kTarget);
  }
  EXPECT_GT(parts.Merged().size(), 150u);
}

/// Merges of copies of the target's own entries.
class ZipperCopiesTest : public ::testing::Test {
 protected:
  /// The source becomes a copy of the target.
  void CopyTarget() {
    originals_ = parts_.Places(Parts::kTarget);
    const Result<bool> copied = CopyTable(parts_.pool.get(), &parts_.usage,
                                          parts_.List(Parts::kTarget), 99, Parts::kSource);
    ASSERT_TRUE(copied.ok() && *copied) << copied.status().ToString();
    copies_ = parts_.Places(Parts::kSource);
    ASSERT_EQ(copies_.size(), originals_.size());
    for (size_t i = 0; i < copies_.size(); ++i) moved_.push_back({originals_[i], copies_[i]});
  }
  MergeInput BeginCopies() {
    MergeInput input = parts_.Begin();
    input.copies = true;
    return input;
  }
  /// A table that is merged beside the copies that wait.
  MergeResult MergeOfTable(uint32_t head) {
    MergeInput input = parts_.Begin();
    input.source_head = parts_.List(head).head();
    return parts_.Run(input);
  }

  Parts parts_;
  std::vector<uint64_t> originals_;
  std::vector<uint64_t> copies_;
  std::vector<index::Replacement> moved_;
};

TEST_F(ZipperCopiesTest, ACopyTakesThePlaceOfItsTwin) {
  parts_.Put("a", "1");
  parts_.Put("b", "2");
  parts_.Put("b", "3");
  parts_.Put("c", "4");
  parts_.Delete("c");
  parts_.views = {2, 4};
  parts_.Link(Parts::kTarget, parts_.views);
  const Strings before = parts_.Merged();
  ASSERT_EQ(before.size(), 5u);
  CopyTarget();
  const MergeResult merged = parts_.Run(BeginCopies());
  EXPECT_EQ(parts_.Merged(), before);
  EXPECT_EQ(parts_.Places(Parts::kTarget), copies_);
  for (const uint64_t original : originals_) EXPECT_TRUE(parts_.IsObsolete(original));
  EXPECT_EQ(merged.progress.entries_delta, 0);
  EXPECT_EQ(merged.obsolete.size(), 5u);
  parts_.ExpectSoundTowers(Parts::kTarget);
}

TEST_F(ZipperCopiesTest, ACopyWhoseTwinIsGoneIsLeftOut) {
  parts_.Put("a", "1");
  parts_.Put("b", "2");
  parts_.Put("c", "3");
  parts_.Link(Parts::kTarget);
  CopyTarget();
  parts_.Put("a", "4");
  parts_.Delete("b");
  parts_.Link(Parts::kSource + 1);
  MergeOfTable(Parts::kSource + 1);
  ASSERT_EQ(parts_.Merged(), (Strings{"a@4=4", "c@3=3"}));
  parts_.Run(BeginCopies());
  EXPECT_EQ(parts_.Merged(), (Strings{"a@4=4", "c@3=3"}));
  EXPECT_TRUE(parts_.IsObsolete(copies_[0]));
  EXPECT_TRUE(parts_.IsObsolete(copies_[1]));
  EXPECT_EQ(parts_.Places(Parts::kTarget).at(1), copies_[2]);
}

TEST_F(ZipperCopiesTest, ACopyOfAnOlderVersionStaysBehindTheNewer) {
  parts_.Put("a", "1");
  parts_.Link(Parts::kTarget);
  CopyTarget();
  const uint64_t newer = parts_.Put("a", "2");
  parts_.Link(Parts::kSource + 1);
  parts_.views = {1};
  MergeOfTable(Parts::kSource + 1);
  parts_.Run(BeginCopies());
  EXPECT_EQ(parts_.Merged(), (Strings{"a@2=2", "a@1=1"}));
  EXPECT_EQ(parts_.Places(Parts::kTarget), (std::vector<uint64_t>{newer, copies_[0]}));
}

TEST_F(ZipperCopiesTest, MoreVersionsThanARecordHoldsAreAllReplaced) {
  for (int i = 0; i < 80; ++i) {
    parts_.Put("k", "value");
    parts_.views.push_back(parts_.sequence);
  }
  parts_.Link(Parts::kTarget, parts_.views);
  const Strings before = parts_.Merged();
  ASSERT_EQ(before.size(), 80u);
  CopyTarget();
  parts_.Run(BeginCopies());
  EXPECT_EQ(parts_.Merged(), before);
  EXPECT_EQ(parts_.Places(Parts::kTarget), copies_);
  parts_.ExpectSoundTowers(Parts::kTarget);
}

TEST_F(ZipperCopiesTest, OfTwinsTheOneOfTheSourceStays) {
  parts_.Put("a", "1");
  parts_.Put("b", "2");
  parts_.Link(Parts::kTarget);
  CopyTarget();
  parts_.Run();  // as a table whose entries were copied and are in the target, too
  EXPECT_EQ(parts_.Merged(), (Strings{"a@1=1", "b@2=2"}));
  EXPECT_EQ(parts_.Places(Parts::kTarget), copies_);
}

TEST_F(ZipperCopiesTest, RunsGiveWayAsAWhole) {
  parts_.LinkKeys(Parts::kTarget, 300, 1, "value");
  const Strings before = parts_.Merged();
  CopyTarget();
  MergeInput input = BeginCopies();
  input.moved = &moved_;
  const MergeResult merged = parts_.Run(input);
  EXPECT_EQ(parts_.Merged(), before);
  EXPECT_EQ(parts_.Places(Parts::kTarget), copies_);
  EXPECT_FALSE(merged.replaced.empty());
  size_t in_runs = 0;
  for (const auto& [begin, end] : merged.replaced) in_runs += end - begin;
  EXPECT_EQ(in_runs, 300u);
  EXPECT_LT(merged.replaced.size(), 30u) << "of many entries each";
  EXPECT_EQ(merged.progress.merged_entries, 300u);
  for (const uint64_t original : originals_) EXPECT_TRUE(parts_.IsObsolete(original));
  parts_.ExpectSoundTowers(Parts::kTarget);
}

TEST_F(ZipperCopiesTest, ARunEndsWhereTheTargetHasChanged) {
  parts_.LinkKeys(Parts::kTarget, 100, 1, "value");
  CopyTarget();
  parts_.Put(KeyOf(30), "newer");
  parts_.Put(KeyOf(50) + "a", "between");
  parts_.Delete(KeyOf(70));
  parts_.Link(Parts::kSource + 1);
  MergeOfTable(Parts::kSource + 1);
  const Strings before = parts_.Merged();
  ASSERT_EQ(before.size(), 100u);
  MergeInput input = BeginCopies();
  input.moved = &moved_;
  parts_.Run(input);
  EXPECT_EQ(parts_.Merged(), before);
  parts_.ExpectSoundTowers(Parts::kTarget);
  EXPECT_TRUE(parts_.IsObsolete(copies_[30]));
  EXPECT_TRUE(parts_.IsObsolete(copies_[70]));
  EXPECT_FALSE(parts_.IsObsolete(copies_[31]));
}

/// Merges of nothing, which look once more at keys of the target.
class ZipperRevisitTest : public ::testing::Test {
 protected:
  MergeResult Revisit(std::vector<uint64_t> newest) {
    parts_.Link(Parts::kSource);
    MergeInput input = parts_.Begin();
    input.copies = true;
    input.revisited = &newest;
    return parts_.Run(input);
  }

  Parts parts_;
};

TEST_F(ZipperRevisitTest, WhatNoViewNeedsAnyMoreGoes) {
  parts_.Put("a", "1");
  parts_.Put("a", "2");
  const uint64_t a = parts_.Put("a", "3");
  parts_.Put("b", "4");
  parts_.Put("b", "5");
  parts_.Put("c", "6");
  const uint64_t c = parts_.Delete("c");
  parts_.Link(Parts::kTarget, {1, 2, 4, 6});
  ASSERT_EQ(parts_.Merged().size(), 7u);
  parts_.views = {2};
  const MergeResult merged = Revisit({a, c});
  EXPECT_EQ(parts_.Merged(), (Strings{"a@3=3", "a@2=2", "b@5=5", "b@4=4"}))
      << "b was not looked at";
  EXPECT_EQ(merged.obsolete.size(), 3u);
  EXPECT_EQ(merged.progress.entries_delta, -3);
  EXPECT_EQ(merged.progress.merged_entries, 0u);
  EXPECT_EQ(merged.progress.boundary, 0u) << "the source has nothing that could be merged";
}

TEST_F(ZipperRevisitTest, WhatViewsNeedStays) {
  parts_.Put("a", "1");
  const uint64_t a = parts_.Delete("a");
  parts_.Link(Parts::kTarget, {1});
  parts_.views = {1};
  Revisit({a});
  EXPECT_EQ(parts_.Merged(), (Strings{"a@2-", "a@1=1"}));
}

}  // namespace
}  // namespace braid::merge
