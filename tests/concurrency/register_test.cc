// Keys as registers with one writer each: what readers may see of counters that only grow.
#include <array>

#include "concurrency.h"

namespace braid::test {
namespace {

class RegisterTest : public ConcurrencyTest {
 protected:
  static constexpr size_t kKeys = 16;
  static constexpr size_t kWriters = 3;

  static std::string Key(size_t k) { return "register" + std::to_string(k); }
  static std::string ValueOf(uint64_t n) {
    std::string value = std::to_string(n) + ".";
    value.resize(value.size() + n * 37 % 150, 'x');
    return value;
  }
  static uint64_t NumberIn(Slice value) {
    return std::strtoull(std::string(value.substr(0, 24)).c_str(), nullptr, 10);
  }

  void WriteCounters(size_t writer, uint64_t operations, uint64_t seed) {
    Random random(seed);
    for (uint64_t i = 0; i < operations && !failure_.failed(); ++i) {
      const size_t k = writer + kWriters * random.Below((kKeys - writer - 1) / kWriters + 1);
      const uint64_t n = begun_[k].load(std::memory_order_relaxed) + 1;
      begun_[k].store(n, std::memory_order_seq_cst);
      if (!failure_.Check(db_->Put(Key(k), ValueOf(n)), "put")) return;
      acknowledged_[k].store(n, std::memory_order_seq_cst);
    }
  }

  /// A value is judged by what was acknowledged before the read and begun after it.
  void Judge(size_t k, uint64_t seen, uint64_t before, uint64_t* last, const char* how) {
    const uint64_t after = begun_[k].load(std::memory_order_seq_cst);
    if (seen < before) {
      failure_.Report(std::string(how) + " of key " + std::to_string(k) + " saw " +
                      std::to_string(seen) + " after " + std::to_string(before) +
                      " had been acknowledged");
    } else if (seen > after) {
      failure_.Report(std::string(how) + " of key " + std::to_string(k) + " saw " +
                      std::to_string(seen) + ", of which no put had begun; newest " +
                      std::to_string(after));
    } else if (seen < *last) {
      failure_.Report(std::string(how) + " of key " + std::to_string(k) + " went back from " +
                      std::to_string(*last) + " to " + std::to_string(seen));
    }
    *last = seen;
  }

  void ReadCounters(uint64_t seed) {
    Random random(seed);
    std::array<uint64_t, kKeys> last{};
    std::string value;
    while (!stop_.load(std::memory_order_acquire) && !failure_.failed()) {
      if (!random.OneIn(10)) {
        const size_t k = random.Below(kKeys);
        const uint64_t before = acknowledged_[k].load(std::memory_order_seq_cst);
        const Status status = db_->Get(Key(k), &value);
        if (!status.ok() && !status.IsNotFound()) failure_.Check(status, "get");
        Judge(k, status.ok() ? NumberIn(value) : 0, before, &last[k], "get");
        continue;
      }
      ReadAllAtOnce(random.OneIn(2), &last);
    }
  }

  void ReadAllAtOnce(bool forward, std::array<uint64_t, kKeys>* last) {
    std::array<uint64_t, kKeys> before{};
    std::array<uint64_t, kKeys> seen{};
    for (size_t k = 0; k < kKeys; ++k) before[k] = acknowledged_[k].load(std::memory_order_seq_cst);
    const auto it = db_->NewIterator({});
    for (forward ? it->SeekToFirst() : it->SeekToLast(); it->Valid();
         forward ? it->Next() : it->Prev()) {
      const Slice number = it->key().substr(8);
      seen[std::strtoull(std::string(number).c_str(), nullptr, 10)] = NumberIn(it->value());
    }
    failure_.Check(it->status(), "scan");
    for (size_t k = 0; k < kKeys; ++k) Judge(k, seen[k], before[k], &(*last)[k], "scan");
  }

  std::array<std::atomic<uint64_t>, kKeys> begun_{};
  std::array<std::atomic<uint64_t>, kKeys> acknowledged_{};
  std::atomic<bool> stop_{false};
};
INSTANTIATE_TEST_SUITE_P(Threads, RegisterTest, ::testing::Bool(), BackgroundName);

TEST_P(RegisterTest, ReadsNeverGoBackAndSeeWhatWasAcknowledged) {
  const uint64_t operations = Sized(60'000, 5'000'000);
  std::vector<std::thread> readers;
  for (uint64_t i = 0; i < 3; ++i) {
    readers.emplace_back([this, i] { ReadCounters(DeriveSeed(330 + i)); });
  }
  {
    BackgroundMaintenance maintenance(db_.get(), &failure_, DeriveSeed(340));
    std::vector<std::function<void()>> writers;
    for (size_t w = 0; w < kWriters; ++w) {
      writers.push_back(
          [this, w, operations] { WriteCounters(w, operations, DeriveSeed(350 + w)); });
    }
    RunThreads(writers);
  }
  stop_.store(true, std::memory_order_release);
  for (std::thread& reader : readers) reader.join();
  ExpectNoFailure();
  for (size_t k = 0; k < kKeys; ++k) {
    EXPECT_EQ(GetText(db_.get(), Key(k)), ValueOf(acknowledged_[k].load())) << ReplayLine();
  }
  ExpectVerified(db_.get());
}

TEST_P(RegisterTest, AnAcknowledgedWriteIsSeenByEveryOtherThreadAtOnce) {
  // Two threads hand a turn to each other; each must see the other's last write when its turn
  // comes.
  const uint64_t rounds = Sized(20'000, 1'000'000);
  std::atomic<uint64_t> turn{0};
  const auto body = [&](uint64_t me) {
    std::string value;
    for (uint64_t round = me; round < 2 * rounds && !failure_.failed(); round += 2) {
      while (turn.load(std::memory_order_acquire) != round && !failure_.failed()) {
        std::this_thread::yield();
      }
      if (round > 0) {
        const Status status = db_->Get("turn", &value);
        if (!failure_.Check(status, "get")) return;
        if (value != ValueOf(round - 1)) {
          failure_.Report("round " + std::to_string(round) + " saw " + Printable(value));
        }
        const auto it = db_->NewIterator({});
        it->Seek("turn");
        if (!it->Valid() || it->value() != ValueOf(round - 1)) {
          failure_.Report("round " + std::to_string(round) + ": the iterator saw " +
                          (it->Valid() ? Printable(it->value()) : "nothing"));
        }
      }
      failure_.Check(db_->Put("turn", ValueOf(round)), "put");
      turn.store(round + 1, std::memory_order_release);
    }
  };
  BackgroundMaintenance maintenance(db_.get(), &failure_, DeriveSeed(360));
  RunThreads({[&] { body(0); }, [&] { body(1); }});
  maintenance.Stop();
  ExpectNoFailure();
}

}  // namespace
}  // namespace braid::test
