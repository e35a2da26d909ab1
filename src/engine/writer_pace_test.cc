#include "engine/writer_pace.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/clock.h"
#include "support/one_processor.h"

namespace braid::engine {
namespace {

constexpr uint64_t kMilli = 1'000'000;

class WriterPaceTest : public ::testing::Test {
 protected:
  WriterPaceTest() {
    pace_.Watch(
        {.by_all = [this] { return reads_.load(); }, .by_thread = [] { return reads_of_thread; }});
  }

  /// Pieces of a millisecond each, with a share of their time on a processor, and so many reads.
  void Work(int pieces, double share, uint64_t reads_a_piece) {
    for (int i = 0; i < pieces; ++i) {
      now_ += kMilli;
      reads_ += reads_a_piece;
      pace_.Count(now_, kMilli, static_cast<uint64_t>(share * static_cast<double>(kMilli)));
    }
  }
  /// Writes of one entry each; returns for how long they were held back.
  uint64_t Write(int entries) {
    const uint64_t before = stalls_.nanos(StallReason::kProcessors);
    for (int i = 0; i < entries; ++i) pace_.Admit();
    return stalls_.nanos(StallReason::kProcessors) - before;
  }

  static thread_local uint64_t reads_of_thread;
  base::Stalls stalls_;
  std::atomic<uint64_t> reads_{0};
  uint64_t now_ = 1000 * kMilli;
  WriterPace pace_{&stalls_};
};

thread_local uint64_t WriterPaceTest::reads_of_thread = 0;

TEST_F(WriterPaceTest, TheLessTimeTheBackgroundGetsTheMoreEachEntryWaits) {
  EXPECT_EQ(WriterPace::NanosAt(1.0), 0u);
  uint32_t before = 0;
  for (int percent = 100; percent >= 0; --percent) {
    const uint32_t nanos = WriterPace::NanosAt(percent / 100.0);
    EXPECT_GE(nanos, before) << percent;
    EXPECT_LE(nanos, WriterPace::kMostNanos) << percent;
    before = nanos;
  }
  EXPECT_EQ(before, WriterPace::kMostNanos);
}

TEST_F(WriterPaceTest, WritersWaitWhereTheBackgroundLacksProcessorsAndOthersRead) {
  Work(100, 0.5, 10);
  EXPECT_EQ(pace_.nanos(), WriterPace::kMostNanos);
  // However slow the machine: the first waits come late, and none is longer than it has to be.
  constexpr int kEntries = 2000;
  const uint64_t begin = NowNanos();
  EXPECT_GT(Write(kEntries), 0u);
  EXPECT_GE(NowNanos() - begin, uint64_t{kEntries} * WriterPace::kMostNanos - 2 * kMilli);
  Work(200, 1.0, 10);
  EXPECT_EQ(pace_.nanos(), 0u) << "it has what it needs";
  EXPECT_EQ(Write(1000), 0u);
}

TEST_F(WriterPaceTest, NobodyWaitsWhereNobodyReads) {
  Work(100, 0.5, 0);
  EXPECT_EQ(pace_.nanos(), 0u);
  Work(100, 0.5, 10);
  EXPECT_NE(pace_.nanos(), 0u);
  Work(100, 0.5, 1);
  EXPECT_EQ(pace_.nanos(), 0u) << "that is next to nothing";
}

TEST_F(WriterPaceTest, NobodyWaitsOnceNothingIsLeftToDo) {
  Work(100, 0.5, 10);
  ASSERT_NE(pace_.nanos(), 0u);
  pace_.End();
  EXPECT_EQ(pace_.nanos(), 0u);
  EXPECT_EQ(Write(1000), 0u);
}

TEST_F(WriterPaceTest, AThreadThatReadsAsWellDoesNotWait) {
  Work(100, 0.5, 10);
  uint64_t waited = 0;
  for (int i = 0; i < 1000; ++i) {
    if (i % 16 == 0) ++reads_of_thread;  // a seek, or sixteen gets
    waited += Write(1);
  }
  EXPECT_EQ(waited, 0u);
  // And another one does, whatever this one reads.
  std::thread other([&] { waited = Write(10'000); });
  other.join();
  EXPECT_GT(waited, 0u);
}

TEST_F(WriterPaceTest, AThreadThatWritesNoFasterDoesNotWait) {
  Work(100, 0.5, 10);
  uint64_t waited = 0;
  for (int i = 0; i < 200; ++i) {
    const uint64_t until = NowNanos() + 2 * WriterPace::kMostNanos;
    while (NowNanos() < until) {
    }
    waited += Write(1);
  }
  EXPECT_EQ(waited, 0u);
}

TEST_F(WriterPaceTest, TheNextWriteWaitsForABatch) {
  Work(100, 0.5, 10);
  pace_.Owe(10'000);
  EXPECT_GE(Write(1), 5 * kMilli);
  pace_.End();
  EXPECT_EQ(Write(1), 0u) << "nothing is left to wait for";
}

TEST_F(WriterPaceTest, ABatchBeyondAllMeasureIsWaitedForInParts) {
  Work(100, 0.5, 10);
  pace_.Owe(~0ull);
  EXPECT_GE(Write(1), 5 * kMilli);
  EXPECT_GE(Write(1), 4 * kMilli) << "and by the next one";
  uint64_t writes = 2;
  while (Write(1) != 0) ++writes;
  EXPECT_LE(writes, 25u) << "but not for good";
}

TEST_F(WriterPaceTest, AStoreThatIsNotWatchedHoldsNobodyBack) {
  WriterPace unwatched(&stalls_);
  unwatched.Begin();
  unwatched.Note();
  unwatched.Count(now_, kMilli, 0);
  EXPECT_EQ(unwatched.nanos(), 0u);
}

TEST_F(WriterPaceTest, APieceThatTookTooLongIsNone) {
  Work(100, 1.0, 10);
  reads_ += 1'000'000;
  now_ += 10'000 * kMilli;
  pace_.Count(now_, 10'000 * kMilli, 0);  // the machine slept
  EXPECT_EQ(pace_.nanos(), 0u);
}

TEST_F(WriterPaceTest, AThreadThatSharesAProcessorLacksIt) {
  const test::OneProcessor one;
  if (!one.is_set()) GTEST_SKIP() << "no thread may choose its processor here";
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop.load()) ++reads_;
  });
  // Slices are some milliseconds; ten seconds are beyond any doubt.
  const uint64_t end = NowNanos() + 10'000 * kMilli;
  pace_.Begin();
  while (pace_.nanos() == 0 && NowNanos() < end) {
    const uint64_t until = NowNanos() + kMilli / 2;
    while (NowNanos() < until) {
    }
    pace_.Note();
  }
  EXPECT_NE(pace_.nanos(), 0u);
  stop.store(true);
  other.join();
}

}  // namespace
}  // namespace braid::engine
