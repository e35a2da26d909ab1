// Transactions of many threads beside other writes: none is lost, none is done by half, and what
// each has read was true when it was written.
#include <array>

#include "concurrency.h"

namespace braid::test {
namespace {

constexpr uint64_t kAccounts = 6;
constexpr uint64_t kThreads = 4;
constexpr int64_t kStart = 1000;

class TransactionStressTest : public DesignStressTest {
 protected:
  void Choose(Options* options) const override { options->log.shards = 4; }

  static std::string Account(uint64_t i) { return "account/" + std::to_string(i); }

  int64_t Number(const Status& status, const std::string& value) {
    if (!failure_.Check(status, "read")) return 0;
    return std::stoll(value);
  }

  /// The body of a transaction, again and again until it commits.
  template <class Body>
  void Run(Body&& body) {
    while (!failure_.failed()) {
      auto begun = db_->BeginTransaction();
      if (!failure_.Check(begun.status(), "begin")) return;
      body(begun->get());
      const Status s = (*begun)->Commit();
      if (s.IsBusy()) {
        busy_.fetch_add(1);
        continue;
      }
      failure_.Check(s, "commit");
      return;
    }
  }

  void Transfer(uint64_t thread, Random* random) {
    const uint64_t from = random->Below(kAccounts);
    const uint64_t to = (from + 1 + random->Below(kAccounts - 1)) % kAccounts;
    const auto amount = static_cast<int64_t>(random->Below(50));
    Run([&](Transaction* transaction) {
      std::string value;
      Status s = transaction->GetForUpdate(Account(from), &value);
      const int64_t left = Number(s, value) - amount;
      s = transaction->GetForUpdate(Account(to), &value);
      const int64_t there = Number(s, value) + amount;
      const std::string done = "done/" + std::to_string(thread);
      s = transaction->Get(done, &value);
      const int64_t count = s.IsNotFound() ? 0 : Number(s, value);
      failure_.Check(transaction->Put(Account(from), std::to_string(left)), "put");
      failure_.Check(transaction->Put(Account(to), std::to_string(there)), "put");
      failure_.Check(transaction->Put(done, std::to_string(count + 1)), "put");
    });
  }

  /// Adds one to an account, without a transaction.
  void Deposit(Random* random) {
    const std::string account = Account(random->Below(kAccounts));
    while (!failure_.failed()) {
      std::string value;
      const Status s = db_->Get(account, &value);
      const int64_t now = Number(s, value);
      Result<bool> swapped = db_->CompareAndSwap(account, value, std::to_string(now + 1));
      if (!failure_.Check(swapped.status(), "compare and swap") || *swapped) return;
    }
  }

  /// What all accounts hold together, as `snapshot` sees it.
  int64_t Sum(const Snapshot* snapshot) {
    ReadOptions options;
    options.snapshot = snapshot;
    options.lower_bound = "account/";
    options.upper_bound = "account0";
    int64_t sum = 0;
    for (const auto& [key, value] : ScanForward(db_.get(), options)) sum += std::stoll(value);
    return sum;
  }

  std::atomic<uint64_t> busy_{0};
};
INSTANTIATE_TEST_SUITE_P(Designs, TransactionStressTest,
                         ::testing::Values("braid", "listdb", "zipperdb", "novelsm", "tlsm"));

TEST_P(TransactionStressTest, TransfersKeepTheSumOfAllAccounts) {
  const uint64_t transfers = Sized(20'000, 400'000) / (kThreadSanitizer ? 4 : 1);
  for (uint64_t i = 0; i < kAccounts; ++i) {
    BRAID_ASSERT_OK(db_->Put(Account(i), std::to_string(kStart)));
  }
  std::atomic<bool> running{true};
  std::vector<std::thread> threads;
  for (uint64_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      Random random(DeriveSeed(500 + thread));
      for (uint64_t i = 0; i < transfers && !failure_.failed(); ++i) Transfer(thread, &random);
    });
  }
  std::thread reader([&] {
    while (running.load() && !failure_.failed()) {
      const int64_t sum = Sum(db_->GetSnapshot().get());
      if (sum != kStart * static_cast<int64_t>(kAccounts)) {
        failure_.Report("the sum is " + std::to_string(sum));
      }
    }
  });
  for (std::thread& thread : threads) thread.join();
  running.store(false);
  reader.join();
  EXPECT_FALSE(failure_.failed()) << failure_.text() << "\n" << ReplayLine();
  EXPECT_EQ(Sum(nullptr), kStart * static_cast<int64_t>(kAccounts)) << ReplayLine();
  for (uint64_t thread = 0; thread < kThreads; ++thread) {
    EXPECT_EQ(GetText(db_.get(), "done/" + std::to_string(thread)), std::to_string(transfers));
  }
  EXPECT_GT(busy_.load(), 0u) << "they never met: the test shows nothing";
  ExpectVerified(db_.get());
}

TEST_P(TransactionStressTest, NothingIsLostBesideCompareAndSwap) {
  const uint64_t rounds = Sized(15'000, 300'000) / (kThreadSanitizer ? 4 : 1);
  for (uint64_t i = 0; i < kAccounts; ++i) {
    BRAID_ASSERT_OK(db_->Put(Account(i), std::to_string(kStart)));
  }
  std::vector<std::thread> threads;
  for (uint64_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      Random random(DeriveSeed(600 + thread));
      for (uint64_t i = 0; i < rounds && !failure_.failed(); ++i) {
        if (thread % 2 == 0) {
          Transfer(thread, &random);
        } else {
          Deposit(&random);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(failure_.failed()) << failure_.text() << "\n" << ReplayLine();
  EXPECT_EQ(Sum(nullptr),
            kStart * static_cast<int64_t>(kAccounts) + static_cast<int64_t>(rounds * kThreads / 2))
      << ReplayLine();
  ExpectVerified(db_.get());
}

// Two flags of which one is always up: each thread takes its own down only when it sees the other
// up, and writes nothing else.
TEST_P(TransactionStressTest, WhatWasReadForUpdateIsStillTrueAtTheCommit) {
  const uint64_t rounds = Sized(20'000, 400'000) / (kThreadSanitizer ? 4 : 1);
  BRAID_ASSERT_OK(db_->Put("flag/0", "up"));
  BRAID_ASSERT_OK(db_->Put("flag/1", "up"));
  std::array<std::atomic<uint64_t>, 2> taken_down{};
  std::atomic<bool> running{true};
  std::vector<std::thread> threads;
  for (const uint64_t own : {0, 1}) {
    threads.emplace_back([&, own] {
      const std::string mine = "flag/" + std::to_string(own);
      const std::string other = "flag/" + std::to_string(1 - own);
      for (uint64_t i = 0; i < rounds && !failure_.failed(); ++i) {
        Run([&](Transaction* transaction) {
          std::string theirs, ours;
          failure_.Check(transaction->GetForUpdate(other, &theirs), "get");
          failure_.Check(transaction->Get(mine, &ours), "get");
          const bool down = theirs == "up" && ours == "up";
          if (down) taken_down[own].fetch_add(1);
          failure_.Check(transaction->Put(mine, down ? "down" : "up"), "put");
        });
      }
    });
  }
  std::thread reader([&] {
    while (running.load() && !failure_.failed()) {
      const auto snapshot = db_->GetSnapshot();
      if (GetText(db_.get(), "flag/0", snapshot.get()) == "down" &&
          GetText(db_.get(), "flag/1", snapshot.get()) == "down") {
        failure_.Report("both flags are down");
      }
    }
  });
  for (std::thread& thread : threads) thread.join();
  running.store(false);
  reader.join();
  EXPECT_FALSE(failure_.failed()) << failure_.text() << "\n" << ReplayLine();
  EXPECT_GT(taken_down[0].load() + taken_down[1].load(), 0u);
  ExpectVerified(db_.get());
}

}  // namespace
}  // namespace braid::test
