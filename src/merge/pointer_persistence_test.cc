#include "merge/pointer_persistence.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/region_turns.h"
#include "support/store_parts.h"

namespace braid::merge {
namespace {

/// The lists of a merge that stood between two stores when its process died. Made by hand: a run
/// that crashes comes by such a state too seldom.
class SettleInterruptedMergeTest : public ::testing::Test {
 protected:
  explicit SettleInterruptedMergeTest(uint32_t regions = 1)
      : parts_([regions](Options* options) { options->pool.regions = regions; }) {}

  /// A table of "b", which is as low as can be, and a taller "c" in the last region, each in as
  /// many versions as it takes to draw such towers; the newest of both are `b_` and `c_`. L1 holds
  /// "a".
  void SetUp() override {
    parts_.Put("a", "1");
    parts_.Flush();
    parts_.Merge();
    test::TakeRegionsInTurns();
    for (int tries = 0; tries < 1000; ++tries) {
      test::region_of_thread = 0;
      parts_.Put("b", "1");
      test::region_of_thread = parts_.pool->regions() - 1;
      parts_.Delete("c");
      parts_.Flush();
      head_ = parts_.state().version->l0().front()->AsList()->head_offset();
      index::Damage damage;
      b_ = Mutable(Source().First(&damage));
      c_ = Mutable(Source().Next(b_, &damage));
      ASSERT_TRUE(b_ != nullptr && c_ != nullptr && !damage);
      if (b_->height() == 1 && c_->height() > 1) return;
      while (!parts_.state().version->l0().empty()) parts_.Merge();
    }
    FAIL() << "no such towers were drawn";
  }
  void TearDown() override {
    test::region_of_thread.reset();
    media::SetRegionRule(nullptr);
  }

  static format::EntryHeader* Mutable(const format::EntryHeader* entry) {
    return const_cast<format::EntryHeader*>(entry);
  }
  index::SkipList Source() { return {parts_.pool.get(), parts_.pool->As<uint64_t>(head_)}; }
  uint64_t target() const {
    return parts_.state().version->levels.back().back()->AsList()->head_offset();
  }
  /// What a merge that goes on would collect, up to `boundary`; "!" where it would not get there.
  std::vector<std::string> Waiting(uint64_t boundary) {
    std::vector<std::string> keys;
    index::Damage damage;
    for (const auto* entry = Source().First(&damage); entry != nullptr;
         entry = Source().Next(entry, &damage)) {
      if (parts_.pool->OffsetOf(entry) == boundary) return keys;
      keys.emplace_back(entry->key());
    }
    if (boundary != 0) keys.emplace_back("!");
    return keys;
  }

  test::StoreParts parts_;
  uint64_t head_ = 0;  // of the source
  format::EntryHeader* b_ = nullptr;
  format::EntryHeader* c_ = nullptr;
};

TEST_F(SettleInterruptedMergeTest, NothingWasMerged) {
  const Result<uint64_t> boundary = SettleInterruptedMerge(parts_.pool.get(), head_, target());
  ASSERT_TRUE(boundary.ok()) << boundary.status().ToString();
  EXPECT_EQ(*boundary, 0u);
  EXPECT_EQ(Waiting(*boundary), (std::vector<std::string>{"b", "c"}));
}

TEST_F(SettleInterruptedMergeTest, TheOwnLinkOfTheEntryUnderWayEndsTheSource) {
  *c_->state_byte() = format::kStateObsolete;    // merged: a delete with nothing to hide
  b_->links()[0] = format::EntryPtr::End().raw;  // where it is to stand in L1: behind "a"
  const Result<uint64_t> boundary = SettleInterruptedMerge(parts_.pool.get(), head_, target());
  ASSERT_TRUE(boundary.ok()) << boundary.status().ToString();
  EXPECT_EQ(*boundary, parts_.pool->OffsetOf(c_));
  EXPECT_EQ(Waiting(*boundary), std::vector<std::string>{"b"});
}

class SettleMergeOfRegionsTest : public SettleInterruptedMergeTest {
 protected:
  SettleMergeOfRegionsTest() : SettleInterruptedMergeTest(2) {}
};

TEST_F(SettleMergeOfRegionsTest, WhatAnotherStrandAloneLeadsToIsFound) {
  ASSERT_EQ(parts_.pool->strands(), 2u);
  ASSERT_EQ(parts_.pool->StrandOf(parts_.pool->OffsetOf(c_)), 1u);
  *c_->state_byte() = format::kStateObsolete;
  b_->links()[0] = format::EntryPtr::End().raw;
  const Result<uint64_t> boundary = SettleInterruptedMerge(parts_.pool.get(), head_, target());
  ASSERT_TRUE(boundary.ok()) << boundary.status().ToString();
  EXPECT_EQ(*boundary, parts_.pool->OffsetOf(c_));
  EXPECT_EQ(Waiting(*boundary), std::vector<std::string>{"b"});
}

}  // namespace
}  // namespace braid::merge
