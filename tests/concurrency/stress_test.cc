// Everything at once, mostly for ThreadSanitizer and AddressSanitizer: every call of the API from
// several threads on the same keys, and the life of handles beyond the database.
#include <optional>

#include "concurrency.h"

namespace braid::test {
namespace {

class StressTest : public ConcurrencyTest {
 protected:
  static std::string Key(uint64_t n) { return NumberedKey(n % 700); }

  /// A value names its key, so that a reader of any version can tell that it is this key's.
  static std::string ValueOf(const std::string& key, Random* random) {
    std::string value = key + "=";
    value.resize(value.size() + (random->OneIn(200) ? 20000 : random->Below(200)), 'v');
    return value;
  }
  void CheckPair(Slice key, Slice value) {
    if (value.substr(0, key.size()) != key || value[key.size()] != '=') {
      failure_.Report("key " + Printable(key) + " has the value " + Printable(value));
    }
  }

  void WriteAnything(Random* random) {
    const std::string key = Key(random->Next());
    switch (random->Below(6)) {
      case 0:
        failure_.Check(db_->Delete(key), "delete");
        break;
      case 2:
        failure_.Check(db_->PutIfAbsent(key, ValueOf(key, random)).status(), "put if absent");
        break;
      case 3: {
        std::string value;
        const Status got = db_->Get(key, &value);
        std::optional<Slice> expected;
        if (got.ok()) expected = value;
        failure_.Check(db_->CompareAndSwap(key, expected, ValueOf(key, random)).status(), "swap");
        break;
      }
      case 1: {
        WriteBatch batch;
        for (uint64_t i = random->Below(12); i > 0; --i) {
          const std::string one = Key(random->Next());
          if (random->OneIn(3)) {
            batch.Delete(one);
          } else {
            batch.Put(one, ValueOf(one, random));
          }
        }
        failure_.Check(db_->Write(batch), "write");
        break;
      }
      default: {
        WriteOptions options;
        options.sync = random->OneIn(100);
        failure_.Check(db_->Put(options, key, ValueOf(key, random)), "put");
        break;
      }
    }
  }

  void ReadAnything(Random* random) {
    const std::string key = Key(random->Next());
    if (!random->OneIn(6)) {
      std::string value;
      const Status status = db_->Get(key, &value);
      if (status.ok()) CheckPair(key, value);
      if (!status.ok() && !status.IsNotFound()) failure_.Check(status, "get");
      return;
    }
    ReadOptions options;
    std::shared_ptr<const Snapshot> snapshot;
    if (random->OneIn(2)) {
      snapshot = db_->GetSnapshot();
      options.snapshot = snapshot.get();
    }
    const auto it = db_->NewIterator(options);
    it->Seek(key);
    for (uint64_t steps = random->Below(60); steps > 0 && it->Valid(); --steps) {
      CheckPair(it->key(), it->value());
      if (random->OneIn(5)) {
        it->Prev();
      } else {
        it->Next();
      }
    }
    failure_.Check(it->status(), "scan");
    if (snapshot != nullptr) CheckRepeatable(options, key);
  }

  /// Calls of every kind until one says Closed; any other error is a failure.
  void RunUntilClosed(Random* random) {
    const auto snapshot = db_->GetSnapshot();
    const auto it = db_->NewIterator({});
    it->SeekToFirst();
    while (!failure_.failed()) {
      const std::string key = Key(random->Next());
      std::string value;
      Status status;
      switch (random->Below(6)) {
        case 0:
          status = db_->Put(key, ValueOf(key, random));
          break;
        case 4:
          status = db_->CompareAndSwap(key, std::nullopt, ValueOf(key, random)).status();
          break;
        case 1:
          status = db_->Get(key, &value);
          break;
        case 2: {
          ReadOptions options;
          options.snapshot = snapshot.get();
          status = db_->Get(options, key, &value);
          break;
        }
        case 3:
          status = db_->NewIterator({})->status();
          break;
        default:
          if (it->Valid()) {
            it->Next();
          } else {
            it->SeekToFirst();
          }
          status = it->status();
          break;
      }
      if (status.IsClosed()) return;
      if (!status.ok() && !status.IsNotFound()) failure_.Check(status, "call beside Close");
    }
  }

  /// Two reads at a snapshot give the same.
  void CheckRepeatable(const ReadOptions& options, const std::string& key) {
    std::string first;
    std::string second;
    const Status one = db_->Get(options, key, &first);
    std::this_thread::yield();
    const Status two = db_->Get(options, key, &second);
    if (one.code() != two.code() || first != second) {
      failure_.Report("two reads of " + key + " at one snapshot differ: " + one.ToString() + " " +
                      Printable(first) + ", " + two.ToString() + " " + Printable(second));
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Threads, StressTest, ::testing::Bool(), BackgroundName);

TEST_P(StressTest, EveryCallFromManyThreads) {
  const uint64_t operations = Sized(60'000, 10'000'000);
  std::atomic<bool> stop{false};
  std::thread watcher([&] {
    std::string text;
    while (!stop.load(std::memory_order_acquire) && !failure_.failed()) {
      (void)db_->GetStatistics();
      (void)db_->GetProperty("braid.stats.json", &text);
      VerifyReport report;
      failure_.Check(db_->Verify(&report), "verify beside writers");
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  {
    BackgroundMaintenance maintenance(db_.get(), &failure_, DeriveSeed(400));
    std::vector<std::function<void()>> bodies;
    for (uint64_t i = 0; i < 5; ++i) {
      bodies.push_back([this, i, operations] {
        Random random(DeriveSeed(401 + i));
        for (uint64_t n = 0; n < operations / 5 && !failure_.failed(); ++n) {
          if (random.OneIn(i < 3 ? 3 : 20)) {
            ReadAnything(&random);
          } else if (i < 3) {
            WriteAnything(&random);
          } else {
            ReadAnything(&random);
          }
        }
      });
    }
    RunThreads(bodies);
  }
  stop.store(true, std::memory_order_release);
  watcher.join();
  ExpectNoFailure();
  ExpectVerified(db_.get());
  const Pairs before = ScanForward(db_.get());
  BRAID_ASSERT_OK(db_->Close());
  db_ = OpenOrFail(options_, folder_.Sub("pool"));
  ASSERT_NE(db_, nullptr);
  EXPECT_EQ(ScanForward(db_.get()), before) << ReplayLine();
}

TEST_P(StressTest, CloseBesideReadersAndWritersGivesClosedAndNoCrash) {
  const uint64_t rounds = Sized(40, 2000);
  for (uint64_t round = 0; round < rounds && !failure_.failed(); ++round) {
    std::vector<std::thread> threads;
    SpinBarrier start(5);
    for (uint64_t i = 0; i < 4; ++i) {
      threads.emplace_back([this, i, round, &start] {
        Random random(DeriveSeed(410 + i + round * 10));
        start.Wait();
        RunUntilClosed(&random);
      });
    }
    start.Wait();
    Random delay(DeriveSeed(419 + round));
    std::this_thread::sleep_for(std::chrono::microseconds(delay.Below(4000)));
    BRAID_EXPECT_OK(db_->Close());
    for (std::thread& thread : threads) thread.join();
    db_ = OpenOrFail(options_, folder_.Sub("pool"));
    ASSERT_NE(db_, nullptr);
    for (const auto& [key, value] : ScanForward(db_.get())) CheckPair(key, value);
  }
  ExpectNoFailure();
}

}  // namespace
}  // namespace braid::test
