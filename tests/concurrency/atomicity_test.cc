// Batches are seen whole or not at all, by snapshots, by iterators and by plain gets.
#include <array>

#include "concurrency.h"

namespace braid::test {
namespace {

class AtomicityTest : public ConcurrencyTest {
 protected:
  static constexpr size_t kKeys = 12;

  /// Keys of a group lie far apart, so that they live in different places of every structure.
  static std::string Key(size_t group, size_t k) {
    return std::string(1, static_cast<char>('a' + k * 2)) + "/group" + std::to_string(group);
  }
  static std::string ValueOf(uint64_t tag, size_t k) {
    std::string value = std::to_string(tag) + ".";
    value.resize(value.size() + (tag + k) * 13 % 90, 'x');
    return value;
  }
  static uint64_t TagIn(Slice value) {
    return std::strtoull(std::string(value.substr(0, 24)).c_str(), nullptr, 10);
  }

  /// Writes batches of all keys of `group`, tagged first, first + step, ...; every fifth deletes.
  void WriteGroup(size_t group, uint64_t first, uint64_t step, uint64_t batches) {
    for (uint64_t i = 0; i < batches && !failure_.failed(); ++i) {
      const uint64_t tag = first + i * step;
      WriteBatch batch;
      for (size_t k = 0; k < kKeys; ++k) {
        if (i % 5 == 4) {
          batch.Delete(Key(group, k));
        } else {
          batch.Put(Key(group, k), ValueOf(tag, k));
        }
      }
      failure_.Check(db_->Write(batch), "write");
    }
  }

  /// All tags of a group at one snapshot; 0 for a missing key.
  std::array<uint64_t, kKeys> TagsAtSnapshot(size_t group, Random* random) {
    std::array<uint64_t, kKeys> tags{};
    ReadOptions options;
    std::shared_ptr<const Snapshot> snapshot;
    if (random->OneIn(2)) {
      snapshot = db_->GetSnapshot();
      options.snapshot = snapshot.get();
    }
    if (snapshot != nullptr && random->OneIn(2)) {
      std::string value;
      for (size_t k = 0; k < kKeys; ++k) {
        const Status status = db_->Get(options, Key(group, k), &value);
        if (status.ok()) tags[k] = TagIn(value);
        if (!status.ok() && !status.IsNotFound()) failure_.Check(status, "get");
      }
      return tags;
    }
    const bool forward = random->OneIn(2);
    const auto it = db_->NewIterator(options);
    for (forward ? it->SeekToFirst() : it->SeekToLast(); it->Valid();
         forward ? it->Next() : it->Prev()) {
      const size_t k = static_cast<size_t>(it->key()[0] - 'a') / 2;
      if (it->key() == Key(group, k)) tags[k] = TagIn(it->value());
    }
    failure_.Check(it->status(), "scan");
    return tags;
  }

  void CheckWhole(size_t group, Random* random) {
    const std::array<uint64_t, kKeys> tags = TagsAtSnapshot(group, random);
    for (const uint64_t tag : tags) {
      if (tag == tags[0]) continue;
      std::string text = "half a batch of group " + std::to_string(group) + ":";
      for (const uint64_t t : tags) text += " " + std::to_string(t);
      failure_.Report(text);
      return;
    }
  }

  /// Tags of a group with one writer only grow: a later get must not see an older one.
  void CheckGetsInSequence(size_t group, Random* random) {
    uint64_t newest = 0;
    size_t newest_key = 0;
    std::string value;
    for (int i = 0; i < 6; ++i) {
      const size_t k = random->Below(kKeys);
      const Status status = db_->Get(Key(group, k), &value);
      if (status.IsNotFound()) continue;
      if (!failure_.Check(status, "get")) return;
      const uint64_t tag = TagIn(value);
      if (tag < newest) {
        failure_.Report("gets in sequence saw tag " + std::to_string(newest) + " at key " +
                        std::to_string(newest_key) + ", then " + std::to_string(tag) + " at key " +
                        std::to_string(k));
      }
      newest = tag;
      newest_key = k;
    }
  }

  std::atomic<bool> stop_{false};
};
INSTANTIATE_TEST_SUITE_P(Threads, AtomicityTest, ::testing::Bool(), BackgroundName);

TEST_P(AtomicityTest, NobodySeesHalfABatch) {
  // Group 0 has one writer, group 1 has two whose batches overwrite each other.
  const uint64_t batches = Sized(8'000, 1'000'000);
  std::vector<std::thread> readers;
  for (uint64_t i = 0; i < 3; ++i) {
    readers.emplace_back([this, i] {
      Random random(DeriveSeed(370 + i));
      while (!stop_.load(std::memory_order_acquire) && !failure_.failed()) {
        CheckWhole(random.Below(2), &random);
        CheckGetsInSequence(0, &random);
      }
    });
  }
  {
    BackgroundMaintenance maintenance(db_.get(), &failure_, DeriveSeed(380));
    RunThreads({[&] { WriteGroup(0, 1, 1, batches); }, [&] { WriteGroup(1, 1, 2, batches); },
                [&] { WriteGroup(1, 2, 2, batches); }});
  }
  stop_.store(true, std::memory_order_release);
  for (std::thread& reader : readers) reader.join();
  ExpectNoFailure();
  ExpectVerified(db_.get());
}

TEST_P(AtomicityTest, NobodySeesTheOverwrittenUpdateOfABatch) {
  // Each batch puts a key twice, or puts and deletes it: only its last update ever existed.
  const uint64_t batches = Sized(20'000, 2'000'000);
  std::vector<std::thread> readers;
  for (uint64_t i = 0; i < 2; ++i) {
    readers.emplace_back([this, i] {
      std::string value;
      while (!stop_.load(std::memory_order_acquire) && !failure_.failed()) {
        for (const char* key : {"twice", "gone"}) {
          const Status status = db_->Get(key, &value);
          if (status.ok() && value.find("overwritten") != std::string::npos) {
            failure_.Report(std::string("get of ") + key + " saw " + Printable(value));
          }
        }
        const auto it = db_->NewIterator({});
        for (i == 0 ? it->SeekToFirst() : it->SeekToLast(); it->Valid();
             i == 0 ? it->Next() : it->Prev()) {
          if (it->value().find("overwritten") == Slice::npos) continue;
          failure_.Report("scan saw " + Printable(it->key()) + " = " + Printable(it->value()));
        }
      }
    });
  }
  {
    BackgroundMaintenance maintenance(db_.get(), &failure_, DeriveSeed(385));
    for (uint64_t n = 0; n < batches && !failure_.failed(); ++n) {
      WriteBatch batch;
      batch.Put("gone", "overwritten " + std::to_string(n));
      batch.Put("twice", "overwritten " + std::to_string(n));
      batch.Put("twice", "last " + std::to_string(n));
      batch.Delete("gone");
      failure_.Check(db_->Write(batch), "write");
    }
  }
  stop_.store(true, std::memory_order_release);
  for (std::thread& reader : readers) reader.join();
  ExpectNoFailure();
}

/// Accounts between which batches move money; a transfer holds the locks of its two accounts.
class BankTest : public ConcurrencyTest {
 protected:
  static constexpr size_t kAccounts = 40;
  static constexpr int64_t kOpening = 1000;

  static std::string Account(size_t n) { return "account" + std::to_string(n); }

  bool Balance(size_t n, int64_t* balance) {
    std::string value;
    if (!failure_.Check(db_->Get(Account(n), &value), "get " + Account(n))) return false;
    *balance = std::strtoll(value.c_str(), nullptr, 10);
    return true;
  }
  void Transfer(Random* random) {
    const size_t from = random->Below(kAccounts);
    const size_t to = (from + 1 + random->Below(kAccounts - 1)) % kAccounts;
    const std::scoped_lock lock(locks_[from], locks_[to]);
    int64_t from_balance = 0;
    int64_t to_balance = 0;
    if (!Balance(from, &from_balance) || !Balance(to, &to_balance)) return;
    const auto amount = static_cast<int64_t>(random->Below(100));
    WriteBatch batch;
    batch.Put(Account(from), std::to_string(from_balance - amount));
    batch.Put(Account(to), std::to_string(to_balance + amount));
    failure_.Check(db_->Write(batch), "transfer");
  }
  void CheckTotal(bool by_iterator) {
    const auto snapshot = db_->GetSnapshot();
    ReadOptions options;
    options.snapshot = snapshot.get();
    int64_t total = 0;
    size_t accounts = 0;
    if (by_iterator) {
      const auto it = db_->NewIterator(options);
      for (it->SeekToFirst(); it->Valid(); it->Next(), ++accounts) {
        total += std::strtoll(std::string(it->value()).c_str(), nullptr, 10);
      }
      failure_.Check(it->status(), "scan");
    } else {
      for (; accounts < kAccounts; ++accounts) {
        std::string value;
        if (!failure_.Check(db_->Get(options, Account(accounts), &value), "get at snapshot"))
          return;
        total += std::strtoll(value.c_str(), nullptr, 10);
      }
    }
    if (accounts != kAccounts || total != kOpening * static_cast<int64_t>(kAccounts)) {
      failure_.Report(std::to_string(accounts) + " accounts hold " + std::to_string(total) +
                      " at sequence " + std::to_string(snapshot->sequence()));
    }
  }

  std::array<std::mutex, kAccounts> locks_;
  std::atomic<bool> stop_{false};
};
INSTANTIATE_TEST_SUITE_P(Threads, BankTest, ::testing::Bool(), BackgroundName);

TEST_P(BankTest, MoneyIsMovedButNeverMadeOrLost) {
  const uint64_t transfers = Sized(30'000, 3'000'000);
  for (size_t n = 0; n < kAccounts; ++n) {
    BRAID_ASSERT_OK(db_->Put(Account(n), std::to_string(kOpening)));
  }
  std::vector<std::thread> readers;
  for (uint64_t i = 0; i < 2; ++i) {
    readers.emplace_back([this, i] {
      while (!stop_.load(std::memory_order_acquire) && !failure_.failed()) CheckTotal(i == 0);
    });
  }
  {
    BackgroundMaintenance maintenance(db_.get(), &failure_, DeriveSeed(390));
    std::vector<std::function<void()>> tellers;
    for (uint64_t i = 0; i < 3; ++i) {
      tellers.push_back([this, i, transfers] {
        Random random(DeriveSeed(391 + i));
        for (uint64_t n = 0; n < transfers && !failure_.failed(); ++n) Transfer(&random);
      });
    }
    RunThreads(tellers);
  }
  stop_.store(true, std::memory_order_release);
  for (std::thread& reader : readers) reader.join();
  ExpectNoFailure();
  db_.reset();
  db_ = OpenOrFail(options_, folder_.Sub("pool"));
  ASSERT_NE(db_, nullptr);
  CheckTotal(true);
  ExpectNoFailure();
}

}  // namespace
}  // namespace braid::test
