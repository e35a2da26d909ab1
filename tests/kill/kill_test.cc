// A process that writes is killed with SIGKILL again and again; the pool must hold every
// acknowledged write, and of those in flight the old or the new content.
#include <signal.h>
#include <sys/wait.h>

#include <chrono>

#include "kill_cycles.h"
#include "kill_options.h"
#include "writer.h"

namespace braid::test {
namespace {

using Clock = std::chrono::steady_clock;

void Report(KillCycles* run) {
  const KillCounts& kills = run->kills();
  const auto number = [](uint64_t n) { return static_cast<unsigned long long>(n); };
  std::printf(
      "[ kill     ] %llu writes acknowledged, %llu of them swaps; in flight at the kill: %llu old, "
      "%llu new\n"
      "[ kill     ] %llu pools were opened for reading first, %llu were repaired\n"
      "[ kill     ] %llu kills: %llu in open, %llu in recovery, %llu in a merge, %llu in growth, "
      "%llu in a flush; the first four are %llu%%\n",
      number(run->writes()), number(run->swaps()), number(run->resolved_old()),
      number(run->resolved_new()), number(run->read_only()), number(run->repaired()),
      number(kills.all), number(kills.open), number(kills.recovery), number(kills.merge),
      number(kills.growth), number(kills.flush), number(kills.aimed() * 100 / kills.all));
}

void RunCycles(Medium medium, uint64_t cycles, uint64_t seed) {
  KillCycles run(medium, seed);
  const WorkBudget budget(cycles);
  uint64_t done = 0;
  for (; !budget.Spent(done) && !::testing::Test::HasFailure(); ++done) run.Cycle(done);
  Report(&run);
  if (::testing::Test::HasFailure()) return;
  EXPECT_GT(run.writes(), 0u);
  EXPECT_GT(run.swaps(), 0u);
  if (done < 16) return;  // sanitizer builds: too few to ask for each kind
  const KillCounts& kills = run.kills();
  EXPECT_GE(kills.aimed() * 4, kills.all) << "too few kills in open, recovery, merges and growth";
  EXPECT_GT(run.read_only(), 0u);
  EXPECT_GT(run.repaired(), 0u);
  EXPECT_GT(kills.open, 0u);
  EXPECT_GT(kills.recovery, 0u);
  EXPECT_GT(kills.merge, 0u);
  EXPECT_GT(kills.growth, 0u);
}

TEST(KillTest, AcknowledgedWritesSurviveKillsInMemory) {
  RunCycles(Medium::kMemory, Sized(200, 20'000, 100'000), DeriveSeed(501));
}

TEST(KillTest, AcknowledgedWritesSurviveKillsOnAFile) {
  RunCycles(Medium::kFile, Sized(20, 2'000, 10'000), DeriveSeed(502));
}

/// Runs of a tier are written, taken in and left behind half done. A key that is in both, or in
/// neither, shows as a pair too many or too few.
TEST(KillTest, AcknowledgedWritesSurviveKillsOverATier) {
#if !defined(BRAID_HAVE_ROCKSDB_TIER)
  GTEST_SKIP() << "built without RocksDB";
#endif
  KillCycles run(Medium::kMemory, DeriveSeed(503), true);
  const WorkBudget budget(Sized(24, 4'000, 20'000));
  for (uint64_t done = 0; !budget.Spent(done) && !::testing::Test::HasFailure(); ++done) {
    run.Cycle(done);
  }
  Report(&run);
  std::printf("[ kill     ] %llu entries found in tiers\n",
              static_cast<unsigned long long>(run.tier_entries()));
  EXPECT_GT(run.writes(), 0u);
  EXPECT_GT(run.tier_entries(), 100u);
  EXPECT_GT(run.of_tiers(), 0u);
}

TEST(KillTest, OpenAfterAKillHoldsAMillionRecords) {
  const uint64_t records = Sized(1'000'000, 10'000'000);
  TempFolder folder;
  const pid_t pid = Spawn({kLoaderArgument, folder.Sub("pool"), std::to_string(records)});
  ASSERT_GT(pid, 0);
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "status " << status;
  const auto start = Clock::now();
  const std::unique_ptr<DB> db = OpenOrFail(Options{}, folder.Sub("pool"));
  ASSERT_NE(db, nullptr);
  ASSERT_EQ(GetText(db.get(), LoadedKey(records / 2)), LoadedValue(records / 2));
  const auto micros =
      std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start).count();
  const Statistics statistics = db->GetStatistics();
  EXPECT_EQ(statistics.clean_open, 0u);
  std::printf(
      "[ open     ] %llu records, killed: open and first read in %lld us, %llu entries "
      "replayed\n",
      static_cast<unsigned long long>(records), static_cast<long long>(micros),
      static_cast<unsigned long long>(statistics.recovered_entries));
  ::testing::Test::RecordProperty("records", std::to_string(records));
  ::testing::Test::RecordProperty("open_and_first_read_micros", std::to_string(micros));
  ::testing::Test::RecordProperty("recovered_entries",
                                  std::to_string(statistics.recovered_entries));
  for (uint64_t i = 0; i < records; i += 7) {
    ASSERT_EQ(GetText(db.get(), LoadedKey(i)), LoadedValue(i)) << "record " << i;
  }
  EXPECT_EQ(ScanForward(db.get()).size(), records);
}

}  // namespace
}  // namespace braid::test
