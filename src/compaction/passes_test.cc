// Passes over L1: reclustering it, and dropping what views have kept; and collections.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "compaction/collector.h"
#include "compaction/kept_dropper.h"
#include "compaction/reclusterer.h"
#include "support/store_parts.h"

namespace braid::compaction {
namespace {

std::string Key(int i) { return "key" + std::to_string(1'000'000 + i); }

/// Keys in any order, in some tables.
void Fill(test::StoreParts* parts, int keys) {
  std::vector<int> order(static_cast<size_t>(keys));
  for (int i = 0; i < keys; ++i) order[static_cast<size_t>(i)] = i;
  std::shuffle(order.begin(), order.end(), std::mt19937(7));
  for (int i = 0; i < keys; ++i) {
    parts->Put(Key(order[static_cast<size_t>(i)]), "value");
    if (i % (keys / 4) == keys / 4 - 1) {
      parts->Flush();
      parts->Merge();
    }
  }
}

TEST(ReclustererTest, WhatIsScatteredIsBroughtIntoTheOrderOfKeys) {
  test::StoreParts parts([](Options* options) {
    options->compaction.recluster_share = 0.25;
    options->log.kind = LogKind::kIndexUnified;  // or the flush would bring the order
  });
  Fill(&parts, 8000);
  EXPECT_FALSE(parts.Worked(parts.reclusterer.Step({.merged = 8000}))) << "somebody writes";
  uint64_t steps = 0;
  while (parts.Worked(parts.reclusterer.Step(
      {.at_rest = true, .awaited = true, .may_begin = steps == 0, .merged = 8000}))) {
    ++steps;
  }
  EXPECT_GT(steps, 1u) << "a part each";
  EXPECT_EQ(parts.reclusterer.passes(), 1u);
  EXPECT_GT(parts.reclusterer.reclustered_entries(), 6000u);
  parts.Reclaim();
  // Nothing has changed since, so another pass is not due.
  EXPECT_FALSE(parts.Worked(parts.reclusterer.Step({.at_rest = true, .merged = 8000})));
  for (int i = 0; i < 8000; i += 97) EXPECT_EQ(parts.Get(Key(i)), "value");
  parts.Verify();
}

/// What a pass moves of an L1 that `runs` flushes have made, each of every `runs`th key.
uint64_t MovedOfRuns(int runs) {
  test::StoreParts parts([](Options* options) {
    options->compaction.recluster_share = 0.25;
    options->log.kind = LogKind::kBySize;
  });
  for (int run = 0; run < runs; ++run) {
    for (int i = run; i < 4000; i += runs) parts.Put(Key(i), std::string(100, 'v'));
    parts.Flush();
    parts.Merge();
  }
  bool begins = true;
  while (parts.Worked(parts.reclusterer.Step({.at_rest = true,
                                              .awaited = true,
                                              .may_begin = std::exchange(begins, false),
                                              .merged = 4000}))) {
  }
  parts.Verify();
  return parts.reclusterer.reclustered_entries();
}

TEST(ReclustererTest, AFewSortedRunsAreReadAsFastAsOne) {
  EXPECT_EQ(MovedOfRuns(1), 0u);
  EXPECT_EQ(MovedOfRuns(12), 0u);
}

TEST(ReclustererTest, ManySortedRunsAreRewritten) { EXPECT_GT(MovedOfRuns(40), 3000u); }

TEST(KeptDropperTest, WhatASnapshotKeptGoesWhenItIsGone) {
  test::StoreParts parts;
  Fill(&parts, 1000);
  std::shared_ptr<const Snapshot> snapshot = parts.reader.GetSnapshot();
  Fill(&parts, 1000);
  EXPECT_EQ(parts.l1_entries(), 2000u);
  while (parts.Worked(parts.indexes.BuildStep())) {
  }
  EXPECT_FALSE(parts.Worked(parts.dropper.Step({}))) << "the view needs them";
  snapshot.reset();
  bool may_begin = true;
  while (parts.Worked(parts.dropper.Step({.in_round = true, .may_begin = may_begin}))) {
    may_begin = false;
  }
  EXPECT_EQ(parts.dropper.passes(), 1u);
  EXPECT_EQ(parts.l1_entries(), 1000u);
  EXPECT_EQ(parts.Get(Key(5)), "value");
  parts.Verify();
}

TEST(CollectorTest, ChunksThatAreMostlyGarbageAreCopiedTogether) {
  test::StoreParts parts;
  Fill(&parts, 8000);
  // All but every eighth key.
  for (int i = 0; i < 8000; ++i) {
    if (i % 8 != 0) parts.Delete(Key(i));
    if (i % 2000 == 1999) {
      parts.Flush();
      parts.Merge();
    }
  }
  parts.accounts.RetireEmptyChunks();
  parts.Reclaim();
  const uint64_t before = parts.pool->used_chunks();
  int steps = 0;
  while (steps < 100 && parts.Worked(parts.collector.Step(parts.Asked()))) {
    ++steps;
    parts.Reclaim();
  }
  EXPECT_GT(steps, 0);
  EXPECT_LT(steps, 100) << "it comes to an end";
  EXPECT_LT(parts.pool->used_chunks(), before / 2);
  EXPECT_EQ(parts.l1_entries(), 1000u);
  EXPECT_EQ(parts.Get(Key(16)), "value");
  EXPECT_EQ(parts.Get(Key(17)), "-");
  parts.Verify();
}

}  // namespace
}  // namespace braid::compaction
