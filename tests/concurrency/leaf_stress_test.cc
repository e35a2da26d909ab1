// The store of leaves under threads: writers that split, empty and unite leaves, readers and scans
// that run through them meanwhile, collection and Verify beside both. Mostly for ThreadSanitizer.
#include <algorithm>
#include <optional>

#include "concurrency.h"

namespace braid::test {
namespace {

class LeafStressTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Options options = TinyOptions();
    options.design = "nvskiplist";
    options.leaf.ranges = 3;
    options.log.shards = 2;
    db_ = OpenOrFail(options, folder_.Sub("pool"));
    ASSERT_NE(db_, nullptr);
  }
  /// A value names its key and a number that grows with each write of its writer.
  static std::string Value(const std::string& key, uint64_t number, Random* random) {
    std::string value = key + "=" + std::to_string(number) + ":";
    value.resize(value.size() + (random->OneIn(300) ? 9000 : random->Below(60)), 'v');
    return value;
  }
  static uint64_t NumberOf(std::string_view key, std::string_view value) {
    if (value.substr(0, key.size()) != key || value[key.size()] != '=') return ~0ull;
    return std::stoull(std::string(value.substr(key.size() + 1, 20)));
  }
  /// Runs `work(thread, random)` in each of `count` threads until the first failure or the end.
  void Run(uint32_t count, const std::function<void(uint32_t, Random*)>& work) {
    std::vector<std::thread> threads;
    for (uint32_t t = 0; t < count; ++t) {
      threads.emplace_back([&, t] {
        SpreadOverProcessors(t);
        Random random(DeriveSeed(70 + t));
        work(t, &random);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  TempFolder folder_;
  std::unique_ptr<DB> db_;
  FirstFailure failure_;
};

TEST_F(LeafStressTest, ReadersSeeEachKeysValuesInTheOrderOfItsWriter) {
  constexpr uint64_t kWriters = 2;
  constexpr uint64_t kSteps = 6000;
  constexpr uint64_t kKeys = 900;
  SCOPED_TRACE(ReplayLine());
  std::atomic<uint32_t> writing{kWriters};
  std::vector<std::map<std::string, std::string>> content(kWriters);
  {
    const BackgroundMaintenance maintenance(db_.get(), &failure_, DeriveSeed(69));
    Run(kWriters + 3, [&](uint32_t t, Random* random) {
      if (t < kWriters) {
        for (uint64_t step = 1; step <= kSteps && !failure_.failed(); ++step) {
          // Now many keys come, now most of them go.
          const std::string key = NumberedKey(random->Below(kKeys) * kWriters + t);
          const bool growing = step / 1500 % 2 == 0;
          if (random->Below(10) < (growing ? 1u : 8u)) {
            failure_.Check(db_->Delete(key), "delete");
            content[t].erase(key);
          } else {
            const std::string value = Value(key, step, random);
            failure_.Check(db_->Put(key, value), "put");
            content[t][key] = value;
          }
        }
        writing.fetch_sub(1);
        return;
      }
      std::map<std::string, uint64_t> seen;
      const auto see = [&](const std::string& key, std::string_view value) {
        const uint64_t number = NumberOf(key, value);
        uint64_t& last = seen[key];
        if (number == ~0ull || number < last) failure_.Report("key " + key + " goes back");
        last = number;
      };
      while (writing.load() != 0 && !failure_.failed()) {
        if (t == kWriters) {
          std::string value;
          const std::string key = NumberedKey(random->Below(kKeys * kWriters));
          const Status got = db_->Get(key, &value);
          if (got.ok()) see(key, value);
          if (!got.ok() && !got.IsNotFound()) failure_.Check(got, "get");
          continue;
        }
        const auto it = db_->NewIterator({});
        const bool forward = t == kWriters + 1;
        std::string last;
        for (forward ? it->SeekToFirst() : it->SeekToLast(); it->Valid();
             forward ? it->Next() : it->Prev()) {
          const std::string key(it->key());
          if (!last.empty() && (forward ? key <= last : key >= last)) {
            failure_.Report("a scan shows " + key + " after " + last);
          }
          see(key, it->value());
          last = key;
        }
        failure_.Check(it->status(), "scan");
        if (random->OneIn(10)) {
          VerifyReport report;
          failure_.Check(db_->Verify(&report), "verify");
        }
      }
    });
  }
  EXPECT_FALSE(failure_.failed()) << failure_.text();
  Model model;
  for (const auto& own : content) model.insert(own.begin(), own.end());
  ExpectContent(db_.get(), model);
  ExpectVerified(db_.get());
}

TEST_F(LeafStressTest, ConditionalPutsOfManyThreadsCountToTheSum) {
  constexpr uint32_t kThreads = 4;
  constexpr uint64_t kSteps = 1500;
  SCOPED_TRACE(ReplayLine());
  Run(kThreads, [&](uint32_t t, Random* random) {
    for (uint64_t step = 0; step < kSteps && !failure_.failed();) {
      const std::string key = "counter" + std::to_string(random->Below(3));
      std::string value;
      const Status got = db_->Get(key, &value);
      std::optional<Slice> expected;
      if (got.ok()) expected = value;
      const std::string next = std::to_string((got.ok() ? std::stoull(value) : 0) + 1);
      const Result<bool> swapped = db_->CompareAndSwap(key, expected, next);
      failure_.Check(swapped.status(), "swap");
      if (swapped.ok() && swapped.value()) ++step;
      // Beside them leaves come and go.
      const std::string other = "counter" + std::to_string(random->Below(3)) + "/" +
                                std::to_string(t) + "/" + std::to_string(random->Below(80));
      failure_.Check(random->OneIn(2) ? db_->Put(other, "x") : db_->Delete(other), "beside");
    }
  });
  EXPECT_FALSE(failure_.failed()) << failure_.text();
  uint64_t sum = 0;
  for (int i = 0; i < 3; ++i) {
    std::string value;
    if (db_->Get("counter" + std::to_string(i), &value).ok()) sum += std::stoull(value);
  }
  EXPECT_EQ(sum, kThreads * kSteps);
  ExpectVerified(db_.get());
}

}  // namespace
}  // namespace braid::test
