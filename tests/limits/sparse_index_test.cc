// A small memory budget makes the index over L1 sparse. It becomes dense again where there is room
// for it, and is not made dense and given up by turns.
#include <gtest/gtest.h>
#include <unistd.h>

#include <string_view>

#include "support/child_process.h"
#include "support/database.h"
#include "support/temp_folder.h"

namespace braid::test {
namespace {

Options SmallBudget(uint64_t budget) {
  Options options = TinyOptions();
  options.background_threads = false;
  options.pool.initial_bytes = 16u << 20;
  options.memory_budget_bytes = budget;
  options.cache.lookup_bytes = 0;  // all of it for the index
  return options;
}

Status PutKeys(DB* db, uint64_t from, uint64_t to) {
  Status s;
  for (uint64_t i = from; i < to && s.ok(); ++i)
    s = db->Put(NumberedKey(i * 7919 % 1'000'003), "v");
  return s;
}

TEST(SparseIndexTest, IsNotMadeDenseAndGivenUpByTurns) {
  constexpr int kMostTimes = 20;
  for (uint64_t budget = 1u << 20; budget <= 2u << 20; budget += 512u << 10) {
    SCOPED_TRACE("budget " + std::to_string(budget));
    TempFolder folder;
    const ChildOutcome outcome = RunInChild(300, [&](int say) {
      int times = 0;
      Options options = SmallBudget(budget);
      // Without threads a store that is never done would never come back: it ends here.
      options.logger = [&](std::string_view line) {
        if (line.find("now covers") == line.npos || ++times < kMostTimes) return;
        SayTo(say, "given up " + std::to_string(times) + " times");
        ::_exit(3);
      };
      const auto db = OpenOrFail(options, folder.Sub("pool"));
      if (db == nullptr) return 1;
      for (uint64_t keys = 10'000; keys <= 60'000; keys += 10'000) {
        if (!PutKeys(db.get(), keys - 10'000, keys).ok() || !db->Compact().ok()) return 2;
      }
      return 0;
    });
    EXPECT_EQ(outcome.exit_code, 0) << outcome.ToString();
  }
}

TEST(SparseIndexTest, BecomesDenseAgainWhenTheKeysHaveGone) {
  TempFolder folder;
  const auto db = OpenOrFail(SmallBudget(2u << 20), folder.Sub("pool"));
  ASSERT_NE(db, nullptr);
  BRAID_ASSERT_OK(PutKeys(db.get(), 0, 150'000));
  BRAID_ASSERT_OK(db->Compact());
  const Statistics sparse = db->GetStatistics();
  ASSERT_EQ(sparse.l1_entries, 150'000u);
  ASSERT_LT(sparse.index_entries, sparse.l1_entries / 2) << "the budget is too large for this test";
  for (uint64_t i = 5'000; i < 150'000; ++i) {
    BRAID_ASSERT_OK(db->Delete(NumberedKey(i * 7919 % 1'000'003)));
  }
  BRAID_ASSERT_OK(db->Compact());
  BRAID_ASSERT_OK(db->Compact());  // what was given up has been freed
  const Statistics dense = db->GetStatistics();
  EXPECT_EQ(dense.l1_entries, 5'000u);
  EXPECT_EQ(dense.index_entries, 5'000u);
  EXPECT_EQ(dense.index_complete, 1u);
  EXPECT_EQ(GetText(db.get(), NumberedKey(4'999ull * 7919 % 1'000'003)), "v");
}

}  // namespace
}  // namespace braid::test
