// What lists above hide, and what is emptied together.
#include "compaction/entry_owners.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "support/store_parts.h"

namespace braid::compaction {
namespace {

using test::StoreParts;

class EntryOwnersTest : public ::testing::Test {
 protected:
  EntryOwnersTest()
      : parts_([](Options* options) {
          options->compaction.kind = MergeKind::kRewrite;
          options->compaction.recluster_share = 0.0;
          options->log.kind = LogKind::kWriteAhead;
          options->cache.index = false;
          options->levels.growth = 10;
          options->levels.per_group = 1;
          options->levels.count = 4;
          options->levels.l1_bytes = 4 << 10;
          options->levels.list_bytes = 1024;
          options->levels.reference_bytes = 32;
        }) {}

  static std::string Key(uint64_t i) { return "key" + std::to_string(10'000 + i); }
  /// Every `step`th key of 400, in a table of L0.
  void Fill(uint64_t first, uint64_t step, char tag) {
    for (uint64_t i = first; i < 400; i += step) parts_.Put(Key(i), std::string(100, tag));
    parts_.Flush();
  }
  void StepFrom(uint32_t level) {
    Merger::Merged merged{.tables = 0};
    ASSERT_TRUE(StoreParts::Worked(parts_.rewriter.Step(level, true, &merged)));
    parts_.Reclaim();
  }
  std::shared_ptr<const level::Version> version() const { return parts_.state().version; }

  StoreParts parts_;
};

TEST_F(EntryOwnersTest, WhatIsAboveIsTheSameOneKeyAfterAnother) {
  Fill(0, 1, 'a');
  StepFrom(0);
  StepFrom(1);
  StepFrom(2);
  Fill(0, 3, 'b');
  StepFrom(0);
  StepFrom(1);
  Fill(1, 5, 'c');
  StepFrom(0);
  Fill(2, 7, 'd');
  Fill(0, 11, 'e');
  ASSERT_EQ(version()->levels[0].size(), 2u);
  std::vector<std::shared_ptr<level::PmemTable>> l0;
  for (const auto& table : version()->levels[0]) l0.push_back(level::ListOf(table));
  const HiddenEntries hidden(parts_.pool.get(), version(), l0);
  std::set<uint64_t> numbers;
  for (uint32_t level = 1; level < version()->levels.size(); ++level) {
    HiddenEntries::Above above(hidden, level);
    for (uint64_t i = 0; i < 405; i += level) {  // some are passed over, and some are in none
      const uint64_t newest = hidden.NewestAbove(level, Key(i));
      ASSERT_EQ(above.Newest(Key(i)), newest) << level << " " << i;
      numbers.insert(newest);
    }
  }
  EXPECT_GT(numbers.size(), 100u);
}

TEST_F(EntryOwnersTest, ListsAreRewrittenForManyChunksAtOnce) {
  // Values of each table lie in chunks of their own, and most lists refer to each of them.
  for (int round = 0; round < 6; ++round) {
    Fill(static_cast<uint64_t>(round), 6, 'a');
    StepFrom(0);
  }
  const EntryOwners lists_of(parts_.pool.get(), version());
  std::vector<uint64_t> chunks;
  for (uint64_t chunk = 0; chunk < parts_.pool->chunks(); ++chunk) {
    if (parts_.usage.IsKnown(chunk) && parts_.usage.Live(chunk) > 0) chunks.push_back(chunk);
  }
  ASSERT_GE(chunks.size(), 6u);
  std::vector<uint64_t> unmovable;
  const auto few = lists_of.Choose(chunks, parts_.usage, 1, &unmovable);
  EXPECT_EQ(few.chunks.size(), 1u);
  const auto many = lists_of.Choose(chunks, parts_.usage, ~0ull, &unmovable);
  EXPECT_EQ(many.chunks.size(), std::min(chunks.size(), EntryOwners::kMostEmptied));
  EXPECT_GE(many.owners.size(), few.owners.size());
  EXPECT_TRUE(unmovable.empty());
  const auto some = lists_of.Choose(chunks, parts_.usage, parts_.usage.KnownLive() / 2, &unmovable);
  EXPECT_LE(some.chunks.size(), many.chunks.size());
}

}  // namespace
}  // namespace braid::compaction
