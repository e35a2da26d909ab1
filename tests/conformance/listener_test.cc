// EventListener: what it is told agrees with the statistics.
#include <atomic>
#include <chrono>
#include <thread>

#include "conformance.h"

namespace braid::test {
namespace {

class Recorder final : public EventListener {
 public:
  void OnFlush(const Flush& flush) noexcept override {
    std::this_thread::sleep_for(flush_takes.load());
    ++flushes;
    flushed_entries += flush.entries;
  }
  void OnMerge(const Merge& merge) noexcept override {
    ++merges;
    merged_tables += merge.tables;
    merged_entries += merge.entries;
  }
  void OnStall(const Stall& stall) noexcept override {
    ++stalls;
    if (stall.nanos < 1'000'000) ++short_stalls;
  }
  void OnRecovery(const Recovery& recovery) noexcept override {
    ++recoveries;
    clean = recovery.clean;
    replayed = recovery.replayed_entries;
  }
  void OnBackgroundError(const Status&) noexcept override { ++errors; }

  std::atomic<std::chrono::milliseconds> flush_takes{std::chrono::milliseconds(0)};
  std::atomic<uint64_t> flushes{0};
  std::atomic<uint64_t> flushed_entries{0};
  std::atomic<uint64_t> merges{0};
  std::atomic<uint64_t> merged_tables{0};
  std::atomic<uint64_t> merged_entries{0};
  std::atomic<uint64_t> stalls{0};
  std::atomic<uint64_t> short_stalls{0};
  std::atomic<uint64_t> recoveries{0};
  std::atomic<bool> clean{false};
  std::atomic<uint64_t> replayed{0};
  std::atomic<uint64_t> errors{0};
};

class ListenerTest : public ConformanceTest {
 protected:
  /// Opens again, with a new listener.
  void Listen() {
    BRAID_ASSERT_OK(db_->Close());
    db_.reset();
    recorder_ = std::make_shared<Recorder>();
    options_.listener = recorder_;
    db_ = OpenOrFail(options_, path_);
    ASSERT_NE(db_, nullptr);
  }
  std::shared_ptr<Recorder> recorder_;
};
INSTANTIATE_TEST_SUITE_P(Designs, ListenerTest, ::testing::ValuesIn(StoringSetups()), SetupName);

TEST_P(ListenerTest, IsToldOfEveryFlushAndMerge) {
  ASSERT_NO_FATAL_FAILURE(Listen());
  Fill(0, 2000, 100);
  BRAID_ASSERT_OK(db_->Compact());
  const Statistics statistics = db_->GetStatistics();
  EXPECT_EQ(recorder_->flushes.load(), statistics.flushes);
  // Where lists are written anew, that of many of them counts once.
  const bool rewrites =
      options_.design == "tlsm" || options_.compaction.kind == MergeKind::kRewrite;
  EXPECT_EQ(rewrites ? recorder_->merges.load() : recorder_->merged_tables.load(),
            statistics.merges);
  EXPECT_EQ(recorder_->merged_entries.load(), statistics.merged_entries);
  EXPECT_GE(recorder_->flushed_entries.load(), statistics.flushed_entries);
  EXPECT_LE(recorder_->stalls.load(), statistics.stalls);
  EXPECT_EQ(recorder_->short_stalls.load(), 0u);
  EXPECT_EQ(recorder_->errors.load(), 0u);
}

TEST_P(ListenerTest, WhoWaitsForAFlushFindsItCountedAndToldOf) {
  ASSERT_NO_FATAL_FAILURE(Listen());
  recorder_->flush_takes = std::chrono::milliseconds(30);
  for (const bool merges : {false, true}) {
    Fill(0, 20, 100);
    BRAID_ASSERT_OK(merges ? db_->Compact() : db_->Flush());
    EXPECT_EQ(recorder_->flushes.load(), db_->GetStatistics().flushes);
  }
  if (GetParam().kind.design != "nvskiplist") {  // which has no tables
    EXPECT_EQ(recorder_->flushes.load(), 2u);
  }
}

TEST_P(ListenerTest, IsToldHowThePoolWasFound) {
  ASSERT_NO_FATAL_FAILURE(Listen());
  EXPECT_EQ(recorder_->recoveries.load(), 1u);
  EXPECT_TRUE(recorder_->clean.load());
  Fill(0, 50, 20);
  ASSERT_NO_FATAL_FAILURE(Listen());
  EXPECT_EQ(recorder_->recoveries.load(), 1u);
  EXPECT_EQ(recorder_->replayed.load(), db_->GetStatistics().recovered_entries);
}

}  // namespace
}  // namespace braid::test
