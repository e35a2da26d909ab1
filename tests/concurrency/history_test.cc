// Many short concurrent histories; each must be linearizable.
#include "history_run.h"

namespace braid::test {
namespace {

class HistoryTest : public ConcurrencyTest {};
INSTANTIATE_TEST_SUITE_P(Threads, HistoryTest, ::testing::Bool(), BackgroundName);

TEST_P(HistoryTest, ShortHistoriesAreLinearizable) {
  // 200,000 operations over four numbers of threads and both kinds of background work.
  const std::array<uint32_t, 4> numbers = {4, 8, 12, 16};
  for (const uint32_t threads : numbers) {
    const WorkBudget budget(Sized(25'000, 6'250'000, 125'000'000), numbers.size());
    HistoryRun run(db_.get(), &failure_, threads, budget, DeriveSeed(310 + threads));
    {
      BackgroundMaintenance maintenance(db_.get(), &failure_, DeriveSeed(320 + threads));
      std::vector<std::function<void()>> bodies;
      for (uint32_t i = 0; i < threads; ++i) bodies.push_back([&run, i] { run.Thread(i); });
      RunThreads(bodies);
    }
    ExpectNoFailure();
    if (HasFailure()) return;
    std::printf(
        "[ history  ] %u threads: %llu operations, %llu overlap, %llu swapped, %llu refused\n",
        threads, static_cast<unsigned long long>(run.performed()),
        static_cast<unsigned long long>(run.overlapping()),
        static_cast<unsigned long long>(run.swapped()),
        static_cast<unsigned long long>(run.refused()));
    EXPECT_TRUE(budget.Spent(run.performed()));
    EXPECT_GT(run.overlapping(), 0u) << "no two operations ever overlapped";
    EXPECT_GT(run.swapped(), 0u);
    EXPECT_GT(run.refused(), 0u);
  }
  const Statistics statistics = db_->GetStatistics();
  EXPECT_GT(statistics.flushes, 0u);
  EXPECT_GT(statistics.merges, 0u);
  EXPECT_GT(statistics.collected_chunks, 0u);
}

}  // namespace
}  // namespace braid::test
