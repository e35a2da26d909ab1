#include "compaction/lookup_filler.h"

#include <gtest/gtest.h>

#include <string>

#include "base/epoch.h"
#include "support/store_parts.h"

namespace braid::compaction {
namespace {

using State = index::LookupResult::State;

class LookupFillerTest : public ::testing::Test {
 protected:
  LookupFillerTest() : parts_([](Options* options) { options->cache.lookup_bytes = 256u << 10; }) {
    for (int i = 0; i < 1000; ++i) parts_.Put("key" + std::to_string(i), "value");
    parts_.Flush();
    parts_.Merge();
  }

  State Ask(std::string_view key) const {
    const base::EpochGuard guard;
    return parts_.lookup_cache->Find({key, base::Hash64(key)}, parts_.reader.ViewOfNow()).state;
  }
  bool Step() { return test::StoreParts::Worked(parts_.lookup_filler.Step()); }
  /// As a bulk load does with the table that it shows.
  void StartAnew(uint64_t table_id) {
    parts_.lookup_filler.StartAnew(parts_.versions.Lock(), table_id);
  }

  test::StoreParts parts_;
};

TEST_F(LookupFillerTest, WhatNoFlushHasFilledComesFromTheLastLevel) {
  StartAnew(0);
  EXPECT_EQ(Ask("key7"), State::kAbsent);
  while (Step()) {
  }
  EXPECT_TRUE(parts_.lookup_cache->knows_all());
  for (int i = 0; i < 1000; i += 111) EXPECT_NE(Ask("key" + std::to_string(i)), State::kNowhere);
  EXPECT_EQ(Ask("key7"), State::kFound);
  int nowhere = 0;
  for (int i = 0; i < 100; ++i) nowhere += Ask("none" + std::to_string(i)) == State::kNowhere;
  EXPECT_GT(nowhere, 90) << "the cache knows of most keys that they are in no table";
}

TEST_F(LookupFillerTest, ItWaitsForTablesThatNoFlushHasFilled) {
  parts_.Put("key7", "newer");
  parts_.Flush();
  StartAnew(parts_.state().version->l0().front()->id());
  EXPECT_FALSE(Step()) << "the table in L0 may have newer versions";
  EXPECT_FALSE(parts_.lookup_cache->knows_all());
  parts_.Merge();
  while (Step()) {
  }
  EXPECT_TRUE(parts_.lookup_cache->knows_all());
  EXPECT_EQ(parts_.Get("key7"), "newer");
}

TEST_F(LookupFillerTest, WhatWasFoundBeforeABulkLoadIsOfNoUseAfterIt) {
  StartAnew(0);
  EXPECT_TRUE(Step());
  EXPECT_TRUE(parts_.lookup_cache->knows_all());
  StartAnew(0);
  EXPECT_FALSE(parts_.lookup_cache->knows_all());
  EXPECT_EQ(Ask("key7"), State::kAbsent);
}

TEST(NoLookupFillerTest, WithoutACacheThereIsNothingToDo) {
  test::StoreParts parts;
  ASSERT_EQ(parts.lookup_cache, nullptr);
  EXPECT_FALSE(test::StoreParts::Worked(parts.lookup_filler.Step()));
  parts.lookup_filler.StartAnew(parts.versions.Lock(), 7);
}

}  // namespace
}  // namespace braid::compaction
