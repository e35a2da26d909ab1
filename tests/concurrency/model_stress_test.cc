// Threads on the same keys against a model: a key belongs for one step to the thread that holds the
// lock of its stripe, so the model is exact. What a snapshot saw when it was taken is compared long
// after, when the keys have been overwritten, flushed, merged and collected. Counters are moved
// without any lock, by compare-and-swap alone.
#include <array>
#include <map>
#include <optional>

#include "concurrency.h"

namespace braid::test {
namespace {

constexpr uint64_t kStripes = 64;
constexpr uint64_t kKeysOfAStripe = 12;
constexpr uint64_t kCounters = 4;
constexpr size_t kMaxHeld = 3;

/// Number of the write that a key holds; 0 for no such key.
using Stripe = std::array<uint64_t, kKeysOfAStripe>;

std::string KeyOf(uint64_t stripe, uint64_t k) { return NumberedKey(stripe * 100 + k); }

std::string ValueOf(const std::string& key, uint64_t number) {
  std::string value = key + "=" + std::to_string(number) + ".";
  value.resize(value.size() + (number % 197 == 0 ? 20'000 : number * 41 % 300), 'v');
  return value;
}

class ModelStressTest : public ConcurrencyTest {
 protected:
  struct RunStep {
    std::mutex mutex;
    Stripe numbers{};
  };
  /// A snapshot, and what the stripes that its thread had locked held when it was taken.
  struct Held {
    std::shared_ptr<const Snapshot> snapshot;
    std::map<uint64_t, Stripe> stripes;
  };

  static std::string Expected(uint64_t stripe, uint64_t k, uint64_t number) {
    return number == 0 ? "(not found)" : ValueOf(KeyOf(stripe, k), number);
  }

  void Judge(const std::string& what, uint64_t stripe, uint64_t k, const std::string& got,
             uint64_t number) {
    const std::string expected = Expected(stripe, k, number);
    if (got == expected) return;
    failure_.Report(what + " of " + KeyOf(stripe, k) + ": " + Printable(got) + ", expected " +
                    Printable(expected));
  }

  void WriteOne(Random* random, uint64_t stripe, uint64_t k, uint64_t* number) {
    const std::string key = KeyOf(stripe, k);
    WriteOptions options;
    options.sync = random->OneIn(500);
    if (random->OneIn(4)) {
      if (failure_.Check(db_->Delete(options, key), "delete")) *number = 0;
      return;
    }
    const uint64_t next = next_.fetch_add(1, std::memory_order_relaxed);
    if (failure_.Check(db_->Put(options, key, ValueOf(key, next)), "put")) *number = next;
  }

  /// The lock is held, so a swap from the model's value succeeds, and one from another does not.
  void SwapOne(Random* random, uint64_t stripe, uint64_t k, uint64_t* number) {
    const std::string key = KeyOf(stripe, k);
    const uint64_t next = next_.fetch_add(1, std::memory_order_relaxed);
    const std::string content = ValueOf(key, *number);
    const std::string other = random->OneIn(2) ? std::string() : ValueOf(key, next);
    const bool right = random->OneIn(2);
    std::optional<Slice> expected;
    if (right && *number != 0) expected = content;
    if (!right && (*number == 0 || random->OneIn(3))) expected = other;
    const bool by_absence = !expected.has_value() && random->OneIn(2);
    const Result<bool> swapped = by_absence
                                     ? db_->PutIfAbsent(key, ValueOf(key, next))
                                     : db_->CompareAndSwap(key, expected, ValueOf(key, next));
    if (!failure_.Check(swapped.status(), "swap")) return;
    const bool should = expected ? *number != 0 && *expected == content : *number == 0;
    if (swapped.value() != should) {
      failure_.Report("a swap of " + key + " said " + (swapped.value() ? "true" : "false"));
    }
    if (swapped.value()) *number = next;
  }

  /// Updates in several stripes at once, whose locks are taken in order.
  void WriteBatchOver(Random* random) {
    std::map<uint64_t, std::unique_lock<std::mutex>> locks;
    for (uint64_t n = 1 + random->Below(4); n > 0; --n) locks[random->Below(kStripes)];
    for (auto& [stripe, lock] : locks) lock = std::unique_lock(stripes_[stripe].mutex);
    WriteBatch batch;
    std::map<uint64_t, Stripe> after;
    for (const auto& [stripe, lock] : locks) {
      Stripe& numbers = after[stripe] = stripes_[stripe].numbers;
      for (uint64_t n = random->Below(5); n > 0; --n) {
        const uint64_t k = random->Below(kKeysOfAStripe);
        const std::string key = KeyOf(stripe, k);
        numbers[k] = random->OneIn(4) ? 0 : next_.fetch_add(1, std::memory_order_relaxed);
        if (numbers[k] == 0) {
          batch.Delete(key);
        } else {
          batch.Put(key, ValueOf(key, numbers[k]));
        }
      }
    }
    if (!failure_.Check(db_->Write(batch), "batch")) return;
    for (const auto& [stripe, numbers] : after) stripes_[stripe].numbers = numbers;
  }

  /// An iterator over one stripe shows exactly what `numbers` says.
  void ScanStripe(Random* random, uint64_t stripe, const Stripe& numbers,
                  const Snapshot* snapshot) {
    ReadOptions options;
    options.snapshot = snapshot;
    const bool bounded = random->OneIn(2);
    if (bounded) {
      options.lower_bound = KeyOf(stripe, 0);
      options.upper_bound = KeyOf(stripe + 1, 0);
    }
    const auto it = db_->NewIterator(options);
    const bool forward = random->OneIn(2);
    if (forward) {
      bounded ? it->SeekToFirst() : it->Seek(KeyOf(stripe, 0));
    } else {
      bounded ? it->SeekToLast() : it->SeekForPrev(KeyOf(stripe, kKeysOfAStripe - 1));
    }
    for (uint64_t step = 0; step < kKeysOfAStripe; ++step) {
      const uint64_t k = forward ? step : kKeysOfAStripe - 1 - step;
      const bool here = it->Valid() && it->key() == KeyOf(stripe, k);
      Judge(snapshot != nullptr ? "scan at a snapshot" : "scan", stripe, k,
            here ? std::string(it->value()) : "(not found)", numbers[k]);
      if (here) forward ? it->Next() : it->Prev();
    }
    failure_.Check(it->status(), "scan");
  }

  void TakeSnapshot(Random* random, std::vector<Held>* held) {
    std::map<uint64_t, std::unique_lock<std::mutex>> locks;
    for (uint64_t n = 1 + random->Below(3); n > 0; --n) locks[random->Below(kStripes)];
    for (auto& [stripe, lock] : locks) lock = std::unique_lock(stripes_[stripe].mutex);
    Held one;
    one.snapshot = db_->GetSnapshot();
    for (const auto& [stripe, lock] : locks) one.stripes[stripe] = stripes_[stripe].numbers;
    held->push_back(std::move(one));
  }

  void CheckHeld(Random* random, const Held& held) {
    for (const auto& [stripe, numbers] : held.stripes) {
      if (random->OneIn(2)) {
        ScanStripe(random, stripe, numbers, held.snapshot.get());
        continue;
      }
      const uint64_t k = random->Below(kKeysOfAStripe);
      Judge("get at a snapshot", stripe, k,
            GetText(db_.get(), KeyOf(stripe, k), held.snapshot.get()), numbers[k]);
    }
  }

  void MoveCounter(uint64_t counter) {
    const std::string key = "zcounter" + std::to_string(counter);
    std::string value;
    const Status got = db_->Get(key, &value);
    if (!got.ok() && !got.IsNotFound()) failure_.Check(got, "get");
    std::optional<Slice> expected;
    if (got.ok()) expected = value;
    const uint64_t next = std::strtoull(value.c_str(), nullptr, 10) + 1;
    const Result<bool> swapped = db_->CompareAndSwap(key, expected, std::to_string(next));
    if (!failure_.Check(swapped.status(), "swap")) return;
    if (swapped.value()) counted_[counter].fetch_add(1, std::memory_order_relaxed);
  }

  void Step(Random* random, std::vector<Held>* held) {
    const uint64_t dice = random->Below(20);
    if (dice < 2) return WriteBatchOver(random);
    if (dice < 4) return MoveCounter(random->Below(kCounters));
    if (dice < 6) {
      if (held->size() < kMaxHeld) return TakeSnapshot(random, held);
      const size_t at = random->Below(held->size());
      CheckHeld(random, (*held)[at]);
      if (random->OneIn(4)) held->erase(held->begin() + static_cast<std::ptrdiff_t>(at));
      return;
    }
    const uint64_t stripe = random->Below(kStripes);
    const uint64_t k = random->Below(kKeysOfAStripe);
    RunStep& guarded = stripes_[stripe];
    const std::lock_guard lock(guarded.mutex);
    if (dice < 12) return WriteOne(random, stripe, k, &guarded.numbers[k]);
    if (dice < 15) return SwapOne(random, stripe, k, &guarded.numbers[k]);
    if (dice < 17) return ScanStripe(random, stripe, guarded.numbers, nullptr);
    Judge("get", stripe, k, GetText(db_.get(), KeyOf(stripe, k)), guarded.numbers[k]);
  }

  /// Nobody else works on it now: everything must be as the model says.
  void CheckAll() {
    Model model;
    for (uint64_t stripe = 0; stripe < kStripes; ++stripe) {
      for (uint64_t k = 0; k < kKeysOfAStripe; ++k) {
        const uint64_t number = stripes_[stripe].numbers[k];
        if (number != 0) model[KeyOf(stripe, k)] = ValueOf(KeyOf(stripe, k), number);
      }
    }
    for (uint64_t c = 0; c < kCounters; ++c) {
      const uint64_t count = counted_[c].load();
      if (count != 0) model["zcounter" + std::to_string(c)] = std::to_string(count);
    }
    ExpectContent(db_.get(), model);
  }

  std::array<RunStep, kStripes> stripes_;
  std::array<std::atomic<uint64_t>, kCounters> counted_{};
  std::atomic<uint64_t> next_{1};
};
INSTANTIATE_TEST_SUITE_P(Threads, ModelStressTest, ::testing::Bool(), BackgroundName);

TEST_P(ModelStressTest, ThreadsOnTheSameKeysAgreeWithTheModel) {
  const uint64_t threads = NightSize() ? 16 : 4;
  const uint64_t operations = Sized(200'000, 50'000'000, 1'000'000'000) / threads;
  const WorkBudget budget(operations);
  {
    BackgroundMaintenance maintenance(db_.get(), &failure_, DeriveSeed(430));
    std::vector<std::function<void()>> bodies;
    for (uint64_t i = 0; i < threads; ++i) {
      bodies.push_back([this, i, &budget] {
        Random random(DeriveSeed(431 + i));
        std::vector<Held> held;
        for (uint64_t n = 0; !budget.Spent(n) && !failure_.failed(); ++n) Step(&random, &held);
      });
    }
    RunThreads(bodies);
  }
  ExpectNoFailure();
  ExpectVerified(db_.get());
  CheckAll();
  const Statistics statistics = db_->GetStatistics();
  EXPECT_GT(statistics.flushes, 0u);
  EXPECT_GT(statistics.merges, 0u);
  EXPECT_EQ(statistics.snapshots, 0u);
  BRAID_ASSERT_OK(db_->Close());
  db_ = OpenOrFail(options_, folder_.Sub("pool"));
  ASSERT_NE(db_, nullptr);
  CheckAll();
  EXPECT_FALSE(HasFailure()) << ReplayLine();
}

TEST_P(ModelStressTest, SwapsLoseNoStepWhileMemtablesAreSealedAllTheTime) {
  // Values so large that every other one fills the memtable: a swap may read its key in one and
  // find another to write to.
  BRAID_ASSERT_OK(db_->Close());
  options_.memtable.bytes = 16ull << 10;
  db_ = OpenOrFail(options_, folder_.Sub("pool"));
  ASSERT_NE(db_, nullptr);
  const uint64_t threads = NightSize() ? 16 : 4;
  const WorkBudget budget(Sized(40'000, 4'000'000) / threads);
  const auto content = [](uint64_t n) {
    std::string text = std::to_string(n) + ".";
    text.resize(6'000, 's');
    return text;
  };
  std::vector<std::function<void()>> bodies;
  for (uint64_t i = 0; i < threads; ++i) {
    bodies.push_back([&, i] {
      Random random(DeriveSeed(480 + i));
      std::string value;
      for (uint64_t n = 0; !budget.Spent(n) && !failure_.failed(); ++n) {
        const Status got = db_->Get("counter", &value);
        if (!got.ok() && !got.IsNotFound()) failure_.Check(got, "get");
        std::optional<Slice> expected;
        if (got.ok()) expected = value;
        const uint64_t now = got.ok() ? std::strtoull(value.c_str(), nullptr, 10) : 0;
        const Result<bool> swapped = db_->CompareAndSwap("counter", expected, content(now + 1));
        failure_.Check(swapped.status(), "swap");
        if (swapped.ok() && swapped.value()) counted_[0].fetch_add(1);
      }
    });
  }
  RunThreads(bodies);
  ExpectNoFailure();
  EXPECT_EQ(GetText(db_.get(), "counter"), content(counted_[0].load())) << ReplayLine();
  EXPECT_GT(db_->GetStatistics().flushes, counted_[0].load() / 8);
}

}  // namespace
}  // namespace braid::test
