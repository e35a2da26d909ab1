// Bulk loads beside everything else: a load is seen whole or not at all, never by a snapshot of
// before, and nothing that was acknowledged is lost to it.
#include <array>

#include "concurrency.h"
#include "support/records.h"

namespace braid::test {
namespace {

constexpr uint64_t kLoaded = 200;  // keys of each load
constexpr uint64_t kShared = 8;    // of these, also written by puts
constexpr uint64_t kLoadRounds = kThreadSanitizer ? 20 : 60;

std::string LoadedKey(uint64_t n) { return "load" + NumberedKey(n); }
std::string SharedKey(uint64_t n) { return "shared" + NumberedKey(n); }

class IngestStressTest : public DesignStressTest {
 protected:
  void Choose(Options* options) const override { options->log.shards = 4; }

  /// Rounds of loads; the value of each key is the round.
  void Load(uint64_t rounds, bool sorted) {
    for (uint64_t round = 1; round <= rounds && !failure_.failed(); ++round) {
      Model records;
      const std::string value = std::to_string(round);
      for (uint64_t i = 0; i < kLoaded; ++i) records[LoadedKey(i)] = value;
      for (uint64_t i = 0; i < kShared; ++i) records[SharedKey(i)] = "load " + value;
      PairSource source(records);
      IngestOptions options;
      options.sorted = sorted;
      IngestReport report;
      begun_.store(round);
      if (round % 8 == 5) {  // one that fails
        source.FailAt(kLoaded / 2, Status::Aborted("no more"));
        if (db_->Ingest(&source, options, &report).code() != Status::Code::kAborted) {
          failure_.Report("a load whose source failed did not say so");
        }
        continue;
      }
      if (!failure_.Check(db_->Ingest(&source, options, &report), "ingest")) break;
      done_.store(round);
    }
    loads_.store(false);
  }

  /// Of a snapshot, an iterator, and gets: all loaded keys are of one round.
  void ReadLoads(uint64_t reader) {
    Random random(DeriveSeed(700 + reader));
    while (loads_.load() && !failure_.failed()) {
      const uint64_t least = done_.load();
      const auto snapshot = db_->GetSnapshot();
      ReadOptions options;
      options.snapshot = snapshot.get();
      const uint64_t first = RoundOf(options, random.Below(kLoaded));
      const std::unique_ptr<Iterator> it = db_->NewIterator(options);
      for (it->Seek("load"); it->Valid() && it->key().starts_with("load"); it->Next()) {
        if (std::string(it->value()) != std::to_string(first)) {
          failure_.Report("a snapshot shows round " + std::to_string(first) + " and round " +
                          std::string(it->value()));
        }
      }
      failure_.Check(it->status(), "scan");
      const uint64_t again = RoundOf(options, random.Below(kLoaded));
      if (again != first) failure_.Report("a snapshot has changed");
      if (first < least) {
        failure_.Report("a load that was done is not there: round " + std::to_string(least) +
                        ", seen " + std::to_string(first));
      }
    }
  }

  /// Nothing but a look at two keys of many snapshots.
  void WatchSnapshots() {
    while (loads_.load() && !failure_.failed()) {
      const auto snapshot = db_->GetSnapshot();
      ReadOptions options;
      options.snapshot = snapshot.get();
      const uint64_t before = RoundOf(options, 0);
      for (int i = 0; i < 4; ++i) {
        if (RoundOf(options, kLoaded - 1) != before) {
          return failure_.Report("a snapshot has changed between two gets");
        }
      }
    }
  }

  /// Puts to a key that is loaded as well: it never shows what is older than the last thing done.
  void WriteShared(uint64_t writer) {
    const std::string key = SharedKey(writer);
    const std::string own = OwnKey(writer);
    for (uint64_t n = 1; loads_.load() && !failure_.failed(); ++n) {
      const uint64_t done = done_.load();
      const std::string value = "put " + std::to_string(n);
      if (!failure_.Check(db_->Put(key, value), "put")) return;
      const std::string got = GetText(db_.get(), key);
      const uint64_t begun = begun_.load();
      bool allowed = got == value;
      for (uint64_t round = done; round <= begun && !allowed; ++round) {
        allowed = got == "load " + std::to_string(round);
      }
      if (!allowed) failure_.Report("after " + value + ": " + got);
      WriteBatch batch;
      batch.Put(own + "a", value);
      batch.Put(own + "b", value);
      if (!failure_.Check(db_->Write(batch), "batch")) return;
      if (GetText(db_.get(), own + "b") != value) failure_.Report("a batch is lost");
      if (n % 64 == 0) failure_.Check(n % 256 == 0 ? db_->Compact() : db_->Flush(), "flush");
    }
  }

  void Count() {
    for (uint64_t n = 0; loads_.load() && !failure_.failed(); ++n) {
      const std::optional<std::string> before =
          n == 0 ? std::nullopt : std::optional(std::to_string(n));
      Result<bool> swapped = db_->CompareAndSwap(
          WriteOptions{}, "counter", before ? std::optional<Slice>(*before) : std::nullopt,
          std::to_string(n + 1));
      if (!failure_.Check(swapped.status(), "compare and swap")) return;
      if (!*swapped) failure_.Report("the counter was not " + std::to_string(n));
    }
  }

  void Verify() {
    while (loads_.load() && !failure_.failed()) {
      VerifyReport report;
      failure_.Check(db_->Verify(&report), "verify");
    }
  }

  uint64_t RoundOf(const ReadOptions& options, uint64_t n) {
    std::string value;
    const Status s = db_->Get(options, LoadedKey(n), &value);
    if (s.IsNotFound()) return 0;
    return failure_.Check(s, "get") ? std::stoull(value) : 0;
  }
  static std::string OwnKey(uint64_t writer) { return "own" + std::to_string(writer); }

  void Run(bool sorted) {
    std::vector<std::thread> threads;
    // Not one by one: g++ 12 warns of the growth of the vector, wrongly.
    const std::vector<std::function<void()>> tasks = {[&] { Load(kLoadRounds, sorted); },
                                                      [&] { ReadLoads(0); },
                                                      [&] { WatchSnapshots(); },
                                                      [&] { WriteShared(0); },
                                                      [&] { WriteShared(1); },
                                                      [&] { Count(); },
                                                      [&] { Verify(); }};
    for (const auto& task : tasks) threads.emplace_back(task);
    for (std::thread& thread : threads) thread.join();
    EXPECT_FALSE(failure_.failed()) << failure_.text();
    ExpectVerified(db_.get());
    for (uint64_t i = 0; i < kLoaded; ++i) {
      ASSERT_EQ(GetText(db_.get(), LoadedKey(i)), std::to_string(done_.load())) << i;
    }
    BRAID_EXPECT_OK(db_->Close());
  }

  std::atomic<bool> loads_{true};
  std::atomic<uint64_t> begun_{0};
  std::atomic<uint64_t> done_{0};
};
INSTANTIATE_TEST_SUITE_P(Designs, IngestStressTest,
                         ::testing::Values("braid", "listdb", "zipperdb", "novelsm", "tlsm"));

TEST_P(IngestStressTest, SortedLoads) { Run(true); }
TEST_P(IngestStressTest, UnsortedLoads) { Run(false); }

TEST_P(IngestStressTest, CloseEndsALoad) {
  PairSource source([] {
    Model records;
    for (uint64_t i = 0; i < 20'000; ++i) records[LoadedKey(i)] = "v";
    return records;
  }());
  std::atomic<bool> begun{false};
  source.Before([&](size_t record) {
    if (record < 100) return;
    begun.store(true);
    // However long it takes until the close has begun.
    std::string value;
    while (!db_->Get("key", &value).IsClosed()) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  });
  std::thread loader(
      [&] { EXPECT_TRUE(HasCode(IngestSorted(db_.get(), &source), Status::Code::kClosed)); });
  while (!begun.load()) std::this_thread::yield();
  BRAID_EXPECT_OK(db_->Close());
  loader.join();
  db_.reset();
  db_ = OpenOrFail(options_, folder_.Sub("pool"));
  ASSERT_NE(db_, nullptr);
  ExpectContent(db_.get(), {});
  ExpectVerified(db_.get());
}

/// Writers in rounds: each key of a pair gets the round as its value, in one batch; a checkpoint
/// shows each pair whole, as a snapshot of its moment would: no round older than those that were
/// done before it began, none newer than those begun before it ended.
TEST_P(IngestStressTest, ACheckpointTakenWhileWritersRunIsASnapshot) {
  constexpr uint64_t kPairs = 64;
  std::array<std::atomic<uint64_t>, kPairs> begun{};
  std::array<std::atomic<uint64_t>, kPairs> done{};
  std::atomic<bool> stop{false};
  Model filler;
  for (uint64_t i = 0; i < 5'000; ++i) filler["filler" + NumberedKey(i)] = std::to_string(i);
  BRAID_ASSERT_OK(IngestSorted(db_.get(), filler));
  const auto pair_key = [](uint64_t n, char which) { return "pair" + NumberedKey(n) + which; };
  const auto write = [&](uint64_t writer) {
    Random random(DeriveSeed(800 + writer));
    while (!stop.load() && !failure_.failed()) {
      const uint64_t n = random.Below(kPairs / 2) * 2 + writer;
      const uint64_t round = begun[n].load() + 1;
      begun[n].store(round);
      WriteBatch batch;
      batch.Put(pair_key(n, 'a'), std::to_string(round));
      batch.Put(pair_key(n, 'b'), std::to_string(round));
      if (!failure_.Check(db_->Write(batch), "batch")) return;
      done[n].store(round);
    }
  };
  const auto ingest = [&] {
    for (uint64_t round = 0; !stop.load() && !failure_.failed(); ++round) {
      Model records;
      for (uint64_t i = 0; i < 50; ++i) records[LoadedKey(i)] = std::to_string(round);
      failure_.Check(IngestSorted(db_.get(), records), "ingest");
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  };
  std::vector<std::thread> threads;
  threads.emplace_back([&] { write(0); });
  threads.emplace_back([&] { write(1); });
  threads.emplace_back(ingest);
  for (int checkpoint = 0; checkpoint < 4; ++checkpoint) {
    std::array<uint64_t, kPairs> least{};
    for (uint64_t n = 0; n < kPairs; ++n) least[n] = done[n].load();
    const std::string target = folder_.Sub("checkpoint" + std::to_string(checkpoint));
    if (!failure_.Check(db_->CreateCheckpoint(target), "checkpoint")) break;
    std::array<uint64_t, kPairs> most{};
    for (uint64_t n = 0; n < kPairs; ++n) most[n] = begun[n].load();
    const std::unique_ptr<DB> copy = OpenOrFail(options_, target);
    ASSERT_NE(copy, nullptr);
    ExpectVerified(copy.get());
    for (uint64_t n = 0; n < kPairs; ++n) {
      const std::string a = GetText(copy.get(), pair_key(n, 'a'));
      EXPECT_EQ(a, GetText(copy.get(), pair_key(n, 'b'))) << n;
      const uint64_t round = a == "(not found)" ? 0 : std::stoull(a);
      EXPECT_GE(round, least[n]) << n;
      EXPECT_LE(round, most[n]) << n;
    }
    const std::string first = GetText(copy.get(), LoadedKey(0));
    for (uint64_t i = 1; i < 50; ++i) EXPECT_EQ(GetText(copy.get(), LoadedKey(i)), first) << i;
    uint64_t found = 0;
    const std::unique_ptr<Iterator> it = copy->NewIterator({});
    for (it->Seek("filler"); it->Valid() && it->key().starts_with("filler"); it->Next()) ++found;
    EXPECT_EQ(found, filler.size());
    BRAID_EXPECT_OK(copy->Close());
  }
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(failure_.failed()) << failure_.text();
}

}  // namespace
}  // namespace braid::test
