// Tests of merges whose source has entries that newer tables have overwritten.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "merge/zipper_merge.h"
#include "support/zipper_parts.h"

namespace braid::merge {
namespace {

using Parts = test::ZipperParts;
using Strings = Parts::Strings;

class OverwrittenTest : public ::testing::Test {
 protected:
  /// Of what lies behind the source's head, while the memtable stands for newer tables.
  MergeInput Begin() {
    MergeInput input = parts_.Begin();
    input.newer = &newer_;
    return input;
  }
  MergeResult Merge() { return parts_.Run(Begin()); }
  void LinkTarget() { parts_.Link(Parts::kTarget); }
  void LinkSource() { parts_.Link(Parts::kSource, parts_.views); }

  Parts parts_;
  index::NewerVersions newer_{parts_.pool.get(), [this] {
                                return index::NewerVersions::Horizon{
                                    {parts_.memtable->flush_source().entries}, parts_.views};
                              }};
};

TEST_F(OverwrittenTest, WhatIsOverwrittenStaysOutOfTheTarget) {
  for (const char* key : {"a", "b", "c"}) parts_.Put(key, "old");
  LinkTarget();
  const uint64_t gone = parts_.Put("b", "new");
  parts_.Put("d", "new");
  LinkSource();
  parts_.Put("b", "newer");
  const MergeResult merged = Merge();
  EXPECT_EQ(parts_.Merged(), (Strings{"a@1=old", "b@2=old", "c@3=old", "d@5=new"}));
  EXPECT_EQ(merged.obsolete, std::vector<uint64_t>{gone});
  EXPECT_TRUE(parts_.IsObsolete(gone));
  EXPECT_EQ(merged.progress.merged_entries, 2u);
  EXPECT_EQ(merged.progress.entries_delta, 1);
}

TEST_F(OverwrittenTest, AllOfASourceMayBe) {
  parts_.LinkKeys(Parts::kTarget, 50, 2, "old");
  const Strings before = parts_.Merged();
  parts_.LinkKeys(Parts::kSource, 60, 1, "new");
  for (int i = 0; i < 60; ++i) parts_.Put(Parts::KeyOf(i), "newer");
  const MergeResult merged = Merge();
  EXPECT_EQ(parts_.Merged(), before);
  EXPECT_EQ(merged.obsolete.size(), 60u);
  EXPECT_EQ(merged.progress.merged_entries, 60u);
  EXPECT_EQ(merged.progress.entries_delta, 0);
  parts_.ExpectSoundTowers(Parts::kTarget);
}

TEST_F(OverwrittenTest, ADeleteDoesAndMay) {
  parts_.Put("a", "old");
  parts_.Put("b", "old");
  LinkTarget();
  parts_.Put("a", "new");
  parts_.Delete("b");
  LinkSource();
  parts_.Delete("a");
  parts_.Put("b", "newer");
  Merge();
  EXPECT_EQ(parts_.Merged(), (Strings{"a@1=old", "b@2=old"}));
}

TEST_F(OverwrittenTest, WhatAViewSeesIsMerged) {
  parts_.Put("a", "old");
  parts_.Put("b", "old");
  LinkTarget();
  parts_.Put("a", "new");
  parts_.Put("b", "new");
  LinkSource();
  parts_.views = {3};  // the new version of a, and not that of b
  parts_.Put("a", "newer");
  parts_.Put("b", "newer");
  Merge();
  EXPECT_EQ(parts_.Merged(), (Strings{"a@3=new", "b@2=old"}));
}

TEST_F(OverwrittenTest, OfSeveralVersionsAllAreNeededOrNone) {
  LinkTarget();
  parts_.Put("k", "1");
  parts_.Put("k", "2");
  parts_.Put("k", "3");
  parts_.views = {1, 2};
  LinkSource();
  parts_.Put("k", "4");
  Merge();
  EXPECT_EQ(parts_.Merged(), (Strings{"k@3=3", "k@2=2", "k@1=1"}));
}

TEST_F(OverwrittenTest, MoreVersionsThanOneSliceHasGoTogether) {
  LinkTarget();
  index::LiveViews all;
  for (int i = 0; i < 100; ++i) {
    parts_.Put("k", "source");
    all.push_back(parts_.sequence);
  }
  parts_.views = all;
  LinkSource();
  parts_.views = {};
  parts_.Put("k", "newer");
  const MergeResult merged = Merge();
  EXPECT_EQ(parts_.Merged(), Strings{});
  EXPECT_EQ(merged.obsolete.size(), 100u);
}

TEST_F(OverwrittenTest, ATableThatComesMeanwhileCountsWithTheNextLook) {
  LinkTarget();
  parts_.LinkKeys(Parts::kSource, 400, 1, "new");
  MergeInput input = Begin();
  input.batch_entries = 10;
  ZipperMerge merge(parts_.pool.get(), input);
  ASSERT_TRUE(merge.Start().ok());
  ASSERT_TRUE(merge.Step().ok());  // it looks, and nothing is newer
  parts_.NewMemTable();
  for (int i = 0; i < 400; ++i) parts_.Put(Parts::KeyOf(i), "newer");
  for (bool more = true; more;) {
    const Result<bool> step = merge.Step();
    ASSERT_TRUE(step.ok()) << step.status().ToString();
    more = *step;
  }
  EXPECT_EQ(parts_.Merged().size(), 80u) << "eight batches a look";
  EXPECT_EQ(merge.result().obsolete.size(), 320u);
  parts_.ExpectSoundTowers(Parts::kTarget);
}

TEST_F(OverwrittenTest, ReadersOfTheSourceComeToTheTargetAtAnyStep) {
  parts_.LinkKeys(Parts::kTarget, 60, 2, "old");
  parts_.LinkKeys(Parts::kSource, 60, 3, "new");
  for (int i = 0; i < 180; i += 2) parts_.Put(Parts::KeyOf(i), "newer");
  MergeInput input = Begin();
  input.batch_entries = 7;
  ZipperMerge merge(parts_.pool.get(), input);
  ASSERT_TRUE(merge.Start().ok());
  for (bool more = true; more;) {
    const Result<bool> step = merge.Step();
    ASSERT_TRUE(step.ok()) << step.status().ToString();
    more = *step;
    // The odd keys of the source: not overwritten, so each is there, once from either head.
    std::vector<std::string> found;
    for (const uint64_t place : parts_.Places(Parts::kSource)) {
      const std::string text = parts_.Describe(place);
      if (text.ends_with("=new") && !parts_.IsObsolete(place)) found.push_back(text.substr(0, 5));
    }
    for (int i = 3; i < 180; i += 6) {
      EXPECT_EQ(std::count(found.begin(), found.end(), Parts::KeyOf(i)), 1) << i;
    }
  }
}

TEST_F(OverwrittenTest, AMergeThatIsStoppedGoesOnWhereItWas) {
  parts_.LinkKeys(Parts::kTarget, 40, 2, "old");
  parts_.LinkKeys(Parts::kSource, 40, 3, "new");
  for (int i = 0; i < 120; i += 2) parts_.Put(Parts::KeyOf(i), "newer");
  int steps = 0;
  MergeInput input = Begin();
  input.batch_entries = 8;
  input.should_stop = [&steps] { return steps++ == 2; };
  ZipperMerge first(parts_.pool.get(), input);
  ASSERT_TRUE(first.Start().ok());
  ASSERT_TRUE(first.Step().ok());
  ASSERT_TRUE(first.Step().ok());
  EXPECT_EQ(first.Step().status().code(), Status::Code::kAborted);
  const BatchProgress progress = first.result().progress;
  EXPECT_EQ(progress.merged_entries, 16u);
  std::vector<format::RedoUpdate> updates;
  const Result<BatchProgress> newest = RedoLog(parts_.pool.get(), input.merge).Newest(&updates);
  ASSERT_TRUE(newest.ok());
  EXPECT_EQ(newest->merged_entries, 16u);
  input.should_stop = {};
  input.resumed = progress;
  input.source_boundary = progress.boundary;
  const MergeResult rest = parts_.Run(input);
  EXPECT_EQ(rest.progress.merged_entries, 40u);
  EXPECT_EQ(parts_.Merged().size(), 60u) << "40 old ones, 20 odd ones of the source";
  parts_.ExpectSoundTowers(Parts::kTarget);
}

}  // namespace
}  // namespace braid::merge
