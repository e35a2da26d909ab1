#include "compaction/table_indexes.h"

#include <gtest/gtest.h>

#include <string>

#include "support/store_parts.h"

namespace braid::compaction {
namespace {

void FillL1(test::StoreParts* parts, int keys) {
  for (int i = 0; i < keys; ++i) parts->Put("key" + std::to_string(i), "value");
  parts->Flush();
  parts->Merge();
}

void Build(test::StoreParts* parts) {
  while (parts->Worked(parts->indexes.BuildStep())) {
  }
}

TEST(TableIndexesTest, MergesKeepTheIndexOverL1Complete) {
  test::StoreParts parts;
  EXPECT_FALSE(parts.indexes.LackSome()) << "of an empty L1 it is complete";
  FillL1(&parts, 1000);
  EXPECT_FALSE(parts.indexes.LackSome());
  EXPECT_EQ(parts.indexes.tree()->size(), 1000u);
  EXPECT_EQ(parts.versions.Lock().bottom()->tree().get(), parts.indexes.tree());
  EXPECT_EQ(parts.versions.Lock().bottom()->tree_min_height(), 1u);
}

TEST(TableIndexesTest, WhatStartsAnewIsShownWhenItIsComplete) {
  test::StoreParts parts;
  FillL1(&parts, 1000);
  parts.indexes.StartAnew(parts.versions.Lock().bottom().get());
  EXPECT_EQ(parts.versions.Lock().bottom()->tree(), nullptr);
  EXPECT_TRUE(parts.indexes.LackSome());
  EXPECT_FALSE(parts.indexes.kept().has_value());
  EXPECT_EQ(parts.Get("key7"), "value") << "by the list";
  Build(&parts);
  EXPECT_FALSE(parts.indexes.LackSome());
  EXPECT_EQ(parts.indexes.tree()->size(), 1000u);
  EXPECT_TRUE(parts.indexes.kept().has_value());
  EXPECT_EQ(parts.Get("key7"), "value");
}

// As after an old page has come into the place of a newer one: each link is sound. A merge that
// rewrote the list would hide it for good.
TEST(TableIndexesTest, AListThatLacksAnEntryIsFoundByItsCount) {
  test::StoreParts parts;
  FillL1(&parts, 1000);
  EXPECT_TRUE(parts.indexes.IsL1AsRecorded()) << "this session has written it";
  const auto l1 = parts.versions.Lock().bottom();
  index::Damage damage;
  const format::EntryHeader* first = l1->list().First(&damage);
  const format::EntryHeader* second = l1->list().Next(first, &damage);
  ASSERT_NE(second, nullptr);
  const_cast<format::EntryHeader*>(first)->links()[0] = second->links()[0];
  parts.indexes.StartAnew(l1.get());
  const Status built = parts.indexes.BuildStep().status();
  EXPECT_TRUE(built.IsCorruption());
  EXPECT_NE(built.ToString().find("it links 999 entries, the manifest counts 1000"),
            std::string::npos)
      << built.ToString();
}

TEST(TableIndexesTest, WhereMemoryIsShortTheIndexIsSparser) {
  test::StoreParts parts([](Options* options) { options->memory_budget_bytes = 1u << 20; });
  for (int i = 0; i < 4; ++i) {
    for (int n = 0; n < 15'000; ++n) parts.Put("key" + std::to_string(i * 15'000 + n), "v");
    parts.Flush();
    parts.Merge();
    parts.indexes.Fit();
    parts.reclaimer.ReclaimMemory();
    Build(&parts);
  }
  EXPECT_EQ(parts.l1_entries(), 60'000u);
  EXPECT_GT(parts.versions.Lock().bottom()->tree_min_height(), 1u);
  EXPECT_LT(parts.indexes.tree()->size(), 30'000u);
  EXPECT_EQ(parts.Get("key59999"), "v");
  EXPECT_EQ(parts.Get("key60000"), "-");
}

TEST(TableIndexesTest, TheSecondChanceCacheTakesThePlaceOfAnIndex) {
  test::StoreParts parts([](Options* options) { options->cache.second_chance_bytes = 64u << 10; });
  EXPECT_TRUE(parts.indexes.HasCache());
  EXPECT_FALSE(parts.indexes.HasIndexOverL1());
  EXPECT_EQ(parts.indexes.walk_tree(), nullptr);
  EXPECT_FALSE(parts.Worked(parts.indexes.BuildStep())) << "merges fill it";
  FillL1(&parts, 5000);
  EXPECT_GT(parts.indexes.tree()->size(), 100u);
  EXPECT_EQ(parts.Get("key7"), "value");
}

}  // namespace
}  // namespace braid::compaction
