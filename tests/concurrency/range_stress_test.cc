// Deletes of a range beside writes to it: each write comes before the whole delete or after it.
#include <algorithm>
#include <array>

#include "concurrency.h"

namespace braid::test {
namespace {

constexpr uint64_t kRangeKeys = 40;
constexpr uint64_t kKinds = 3;
constexpr uint64_t kDeletes = kThreadSanitizer ? 100 : 300;
/// Rounds of each writer, so that a busy machine does not delete before anybody writes.
constexpr uint64_t kRangeRounds = kThreadSanitizer ? 15 : 40;

class RangeStressTest : public DesignStressTest {
 protected:
  void Choose(Options* options) const override { options->log.shards = 4; }

  /// Writes the keys in order, again and again, in the way of `kind`.
  void WriteRounds(uint64_t kind) {
    const std::string prefix = "w" + std::to_string(kind) + "/";
    for (uint64_t round = 1; running_.load() && !failure_.failed(); ++round) {
      rounds_[kind].store(round);
      const std::string value = std::to_string(round);
      for (uint64_t i = 0; i < kRangeKeys; ++i) {
        const std::string key = prefix + NumberedKey(i);
        switch (kind) {
          case 0:
            failure_.Check(db_->Put(key, value), "put");
            break;
          case 1: {
            WriteBatch batch;
            batch.Put(key, value);
            batch.Put("outside" + key, value);
            failure_.Check(db_->Write(batch), "write");
            break;
          }
          default: {
            std::string now;
            const Status s = db_->Get(key, &now);
            const std::optional<Slice> expected = s.ok() ? std::optional<Slice>(now) : std::nullopt;
            Result<bool> swapped = db_->CompareAndSwap(key, expected, value);
            failure_.Check(swapped.status(), "compare and swap");
            if (swapped.ok() && !*swapped) --i;  // deleted in between: once more
          }
        }
      }
    }
  }

  uint64_t LeastRounds() const {
    uint64_t least = ~0ull;
    for (const std::atomic<uint64_t>& rounds : rounds_) least = std::min(least, rounds.load());
    return least;
  }

  void CheckSnapshots() {
    while (running_.load() && !failure_.failed()) {
      const auto snapshot = db_->GetSnapshot();
      ReadOptions options;
      options.snapshot = snapshot.get();
      const std::unique_ptr<Iterator> it = db_->NewIterator(options);
      for (uint64_t kind = 0; kind < kKinds; ++kind) {
        const std::string prefix = "w" + std::to_string(kind) + "/";
        bool gap = false;
        uint64_t before = ~0ull;
        it->Seek(prefix);
        for (uint64_t i = 0; i < kRangeKeys; ++i) {
          const bool there = it->Valid() && it->key() == prefix + NumberedKey(i);
          const uint64_t round = there ? std::stoull(std::string(it->value())) : 0;
          // What one round has written is contiguous, and what it has not come to yet is of the
          // round before, or deleted.
          if (there && (gap ? round >= before : round > before)) {
            failure_.Report(prefix + NumberedKey(i) + " is of round " + std::to_string(round) +
                            (gap ? ", behind a gap; before that: " : "; before that: ") +
                            std::to_string(before));
          }
          if (there) gap = false;
          if (there) before = round;
          if (!there && before != ~0ull) gap = true;
          if (there) it->Next();
        }
      }
    }
  }

  std::array<std::atomic<uint64_t>, kKinds> rounds_{};
};
INSTANTIATE_TEST_SUITE_P(Designs, RangeStressTest,
                         ::testing::Values("braid", "listdb", "zipperdb", "novelsm", "tlsm"));

TEST_P(RangeStressTest, EveryWriteComesBeforeOrAfterTheWholeDelete) {
  std::vector<std::thread> threads;
  for (uint64_t kind = 0; kind < kKinds; ++kind) {
    threads.emplace_back([this, kind] { WriteRounds(kind); });
  }
  threads.emplace_back([this] { CheckSnapshots(); });
  // So that a delete takes long enough to be met by writers.
  WriteBatch filler;
  for (uint64_t i = 0; i < 1000; ++i) filler.Put("w9/" + NumberedKey(i), "filler");
  for (uint64_t i = 0; (i < kDeletes || LeastRounds() < kRangeRounds) && !failure_.failed(); ++i) {
    if (i % 4 == 0) failure_.Check(db_->Write(filler), "filler");
    failure_.Check(db_->DeleteRange("w", Slice("x")), "delete of the range");
  }
  running_.store(false);
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(failure_.failed()) << failure_.text();
  BRAID_EXPECT_OK(db_->DeleteRange("w", Slice("x")));
  const std::unique_ptr<Iterator> it = db_->NewIterator({});
  it->Seek("w");
  EXPECT_FALSE(it->Valid()) << it->key();
  ExpectVerified(db_.get());
}

/// A batch that deletes a range and fills it again is seen whole, however it is read.
TEST_P(RangeStressTest, ABatchWithARangeIsSeenWhole) {
  constexpr uint64_t kKeys = 200;
  const auto fill = [&](uint64_t round) {
    WriteBatch batch;
    batch.DeleteRange("r/", "r0");
    // Never the same keys as in the round before.
    for (uint64_t i = 0; i < kKeys; ++i) {
      batch.Put("r/" + NumberedKey(2 * i + round % 2), std::to_string(round));
    }
    failure_.Check(db_->Write(batch), "batch with a range");
  };
  fill(0);
  std::vector<std::thread> threads;
  for (const bool at_snapshot : {true, false}) {
    threads.emplace_back([&, at_snapshot] {
      while (running_.load() && !failure_.failed()) {
        const auto snapshot = db_->GetSnapshot();
        ReadOptions options;
        if (at_snapshot) options.snapshot = snapshot.get();
        const std::unique_ptr<Iterator> it = db_->NewIterator(options);
        uint64_t seen = 0;
        std::string round;
        for (it->Seek("r/"); it->Valid() && it->key() < Slice("r0"); it->Next(), ++seen) {
          if (seen == 0) round = it->value();
          if (it->value() != round) {
            failure_.Report("values of two rounds: " + std::to_string(seen) + " of " + round +
                            ", then " + std::string(it->key()) + " of " + std::string(it->value()) +
                            (at_snapshot ? " at a snapshot" : ""));
          }
        }
        failure_.Check(it->status(), "scan");
        if (seen != kKeys) failure_.Report(std::to_string(seen) + " keys of a round");
      }
    });
  }
  // Whose puts are gone with the next batch, or stand behind it: never between.
  threads.emplace_back([&] {
    while (running_.load() && !failure_.failed()) {
      failure_.Check(db_->Put("s", "beside it"), "put");
      failure_.Check(db_->DeleteRange("s", Slice("t")), "delete of another range");
    }
  });
  for (uint64_t round = 1; round < kDeletes && !failure_.failed(); ++round) {
    fill(round);
    if (round % 50 == 0) failure_.Check(db_->Compact(), "compact");
  }
  running_.store(false);
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(failure_.failed()) << failure_.text();
  ExpectVerified(db_.get());
}

}  // namespace
}  // namespace braid::test
