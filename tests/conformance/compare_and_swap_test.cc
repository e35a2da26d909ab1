// CompareAndSwap and PutIfAbsent: what they store, what they refuse, and that they are one step.
#include <atomic>
#include <thread>

#include "conformance.h"

namespace braid::test {
namespace {

class CompareAndSwapTest : public ConformanceTest {
 protected:
  /// "yes", "no", or the error.
  static std::string Text(const Result<bool>& result) {
    if (!result.ok()) return result.status().ToString();
    return result.value() ? "yes" : "no";
  }
  std::string Swap(Slice key, std::optional<Slice> expected, Slice desired) {
    return Text(db_->CompareAndSwap(key, expected, desired));
  }
  std::string PutNew(Slice key, Slice value) { return Text(db_->PutIfAbsent(key, value)); }
};
INSTANTIATE_TEST_SUITE_P(Designs, CompareAndSwapTest,
                         ::testing::ValuesIn(StoringSetups(&Capabilities::compare_and_swap)),
                         SetupName);

TEST_P(CompareAndSwapTest, StoresOnlyWhenTheValueIsTheExpectedOne) {
  Put("key", "one");
  EXPECT_EQ(Swap("key", "two", "three"), "no");
  EXPECT_EQ(GetText(db_.get(), "key"), "one");
  EXPECT_EQ(Swap("key", "on", "three"), "no");
  EXPECT_EQ(Swap("key", "one.", "three"), "no");
  EXPECT_EQ(Swap("key", std::nullopt, "three"), "no");
  EXPECT_EQ(Swap("key", "one", "three"), "yes");
  EXPECT_EQ(GetText(db_.get(), "key"), "three");
  EXPECT_EQ(Swap("key", "one", "four"), "no");
  EXPECT_EQ(Swap("key", "three", "three"), "yes");
  EXPECT_EQ(GetText(db_.get(), "key"), "three");
}

TEST_P(CompareAndSwapTest, NoSuchKeyIsNotAnEmptyValue) {
  EXPECT_EQ(Swap("key", "", "one"), "no");
  EXPECT_EQ(GetText(db_.get(), "key"), "(not found)");
  EXPECT_EQ(Swap("key", std::nullopt, ""), "yes");
  EXPECT_EQ(GetText(db_.get(), "key"), "");
  EXPECT_EQ(Swap("key", std::nullopt, "two"), "no");
  EXPECT_EQ(Swap("key", "", "two"), "yes");
  EXPECT_EQ(Swap("", std::nullopt, "the empty key"), "yes");
  EXPECT_EQ(GetText(db_.get(), ""), "the empty key");
}

TEST_P(CompareAndSwapTest, PutIfAbsentStoresOnce) {
  EXPECT_EQ(PutNew("key", "one"), "yes");
  EXPECT_EQ(PutNew("key", "two"), "no");
  EXPECT_EQ(GetText(db_.get(), "key"), "one");
  Delete("key");
  EXPECT_EQ(PutNew("key", "three"), "yes");
  EXPECT_EQ(GetText(db_.get(), "key"), "three");
}

TEST_P(CompareAndSwapTest, ComparesWithWhateverTableHoldsTheKey) {
  // The key, and its delete, in the memtable, in an L0 table, in L1, and in a pool opened again.
  const auto move = [&](int step) {
    const Status moved = step == 1 ? db_->Flush() : step == 2 ? db_->Compact() : Status::OK();
    BRAID_ASSERT_OK(moved);
    if (step == 3) Reopen();
    if (step == 4) AbandonAndReopen();
  };
  for (int step = 0; step < 5; ++step) {
    const std::string key = "key" + std::to_string(step);
    ASSERT_EQ(PutNew(key, "one"), "yes") << step;
    ASSERT_NO_FATAL_FAILURE(move(step));
    EXPECT_EQ(PutNew(key, "two"), "no") << step;
    EXPECT_EQ(Swap(key, "two", "three"), "no") << step;
    EXPECT_EQ(Swap(key, "one", "three"), "yes") << step;
    EXPECT_EQ(Swap(key, "one", "four"), "no") << step;
    BRAID_ASSERT_OK(db_->Delete(key));
    ASSERT_NO_FATAL_FAILURE(move(step));
    EXPECT_EQ(Swap(key, "three", "four"), "no") << step;
    EXPECT_EQ(Swap(key, std::nullopt, "five"), "yes") << step;
    ASSERT_NO_FATAL_FAILURE(move(step));
    EXPECT_EQ(GetText(db_.get(), key), "five") << step;
  }
  ExpectVerified(db_.get());
}

TEST_P(CompareAndSwapTest, SeesTheLastUpdateOfABatch) {
  BRAID_NEEDS(atomic_batches);
  WriteBatch batch;
  batch.Put("key", "one");
  batch.Put("key", "two");
  batch.Put("gone", "one");
  batch.Delete("gone");
  BRAID_ASSERT_OK(db_->Write(batch));
  EXPECT_EQ(Swap("key", "one", "three"), "no");
  EXPECT_EQ(Swap("key", "two", "three"), "yes");
  EXPECT_EQ(Swap("gone", "one", "three"), "no");
  EXPECT_EQ(PutNew("gone", "three"), "yes");
}

TEST_P(CompareAndSwapTest, ComparesAndStoresLargeValues) {
  std::string large(100'000, 'a');
  for (size_t i = 0; i < large.size(); i += 3) large[i] = static_cast<char>('a' + i % 26);
  std::string other = large;
  other.back() = '!';
  ASSERT_EQ(PutNew("key", large), "yes");
  EXPECT_EQ(Swap("key", other, "small"), "no");
  EXPECT_EQ(Swap("key", large, other), "yes");
  EXPECT_EQ(GetText(db_.get(), "key"), other);
  EXPECT_EQ(Swap("key", other, "small"), "yes");
  EXPECT_EQ(GetText(db_.get(), "key"), "small");
}

TEST_P(CompareAndSwapTest, SnapshotsAndIteratorsFromBeforeDoNotSeeIt) {
  BRAID_NEEDS(snapshots);
  Put("key", "one");
  const auto snapshot = db_->GetSnapshot();
  const auto it = db_->NewIterator({});
  ASSERT_EQ(Swap("key", "one", "two"), "yes");
  ASSERT_EQ(PutNew("new", "three"), "yes");
  EXPECT_EQ(GetText(db_.get(), "key", snapshot.get()), "one");
  EXPECT_EQ(GetText(db_.get(), "new", snapshot.get()), "(not found)");
  it->SeekToFirst();
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->value(), "one");
  it->Next();
  EXPECT_FALSE(it->Valid());
}

TEST_P(CompareAndSwapTest, WhatItStoredIsThereAfterReopening) {
  ASSERT_EQ(PutNew("a", "one"), "yes");
  ASSERT_EQ(Swap("a", "one", "two"), "yes");
  ASSERT_EQ(PutNew("b", "three"), "yes");
  AbandonAndReopen();
  ExpectContent(db_.get(), {{"a", "two"}, {"b", "three"}});
}

TEST_P(CompareAndSwapTest, RefusesWhatPutRefuses) {
  const std::string long_key(kMaxKeyBytes + 1, 'k');
  EXPECT_TRUE(
      HasCode(db_->CompareAndSwap(long_key, "a", "b").status(), Status::Code::kInvalidArgument));
  EXPECT_TRUE(HasCode(db_->PutIfAbsent(long_key, "b").status(), Status::Code::kInvalidArgument));
  BRAID_ASSERT_OK(db_->Close());
  EXPECT_TRUE(HasCode(db_->CompareAndSwap("a", "a", "b").status(), Status::Code::kClosed));
  EXPECT_TRUE(HasCode(db_->PutIfAbsent("a", "b").status(), Status::Code::kClosed));
}

TEST_P(CompareAndSwapTest, WritesNothingWhenItRefuses) {
  Put("key", "one");
  const Statistics before = db_->GetStatistics();
  ASSERT_EQ(Swap("key", "two", "three"), "no");
  ASSERT_EQ(PutNew("key", "three"), "no");
  const Statistics after = db_->GetStatistics();
  EXPECT_EQ(after.last_sequence, before.last_sequence);
  EXPECT_EQ(after.puts, before.puts);
  EXPECT_EQ(after.bytes_put, before.bytes_put);
  if (!GetParam().background) {
    EXPECT_EQ(after.fences, before.fences);
    EXPECT_EQ(after.lines_flushed, before.lines_flushed);
  }
}

TEST_P(CompareAndSwapTest, CountersOfManyThreadsLoseNoStep) {
  // Each thread adds to shared counters by read and swap; the sum must be what they added.
  constexpr uint64_t kCounters = 3;
  constexpr uint64_t kThreads = 4;
  const uint64_t steps = Sized(6'000, 300'000);
  for (uint64_t c = 0; c < kCounters; ++c) ASSERT_EQ(PutNew(NumberedKey(c), "0"), "yes");
  std::atomic<bool> failed{false};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      Random random(DeriveSeed(600 + t));
      for (uint64_t i = 0; i < steps && !failed; ++i) {
        const std::string key = NumberedKey(random.Below(kCounters));
        for (bool done = false; !done && !failed;) {
          std::string value;
          const Status got = db_->Get(key, &value);
          const std::string next = std::to_string(std::strtoull(value.c_str(), nullptr, 10) + 1);
          const Result<bool> swapped = db_->CompareAndSwap(key, value, next);
          failed = failed || !got.ok() || !swapped.ok();
          done = swapped.ok() && swapped.value();
        }
        if (t == 0 && i % 500 == 0) failed = failed || !db_->Flush().ok();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_FALSE(failed) << ReplayLine();
  uint64_t sum = 0;
  for (uint64_t c = 0; c < kCounters; ++c) {
    sum += std::strtoull(GetText(db_.get(), NumberedKey(c)).c_str(), nullptr, 10);
  }
  EXPECT_EQ(sum, kThreads * steps) << ReplayLine();
}

TEST_P(CompareAndSwapTest, OneOfManyThreadsPutsAnAbsentKey) {
  constexpr uint64_t kThreads = 4;
  const uint64_t keys = Sized(6'000, 300'000);
  std::vector<std::atomic<uint32_t>> winners(keys);
  std::atomic<bool> failed{false};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t k = 0; k < keys && !failed; ++k) {
        const Result<bool> put = db_->PutIfAbsent(NumberedKey(k), std::to_string(t));
        if (!put.ok()) failed = true;
        if (put.ok() && put.value()) winners[k].fetch_add(1 + (static_cast<uint32_t>(t) << 8));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_FALSE(failed);
  for (uint64_t k = 0; k < keys; ++k) {
    ASSERT_EQ(winners[k].load() & 0xFF, 1u) << k;
    ASSERT_EQ(GetText(db_.get(), NumberedKey(k)), std::to_string(winners[k].load() >> 8)) << k;
  }
}

TEST(CompareAndSwapWithoutSupportTest, ADesignThatStoresNothingSaysSo) {
  TempFolder folder;
  Options options = TinyOptions();
  options.design = "blackhole";
  const std::unique_ptr<DB> db = OpenOrFail(options, folder.Sub("pool"));
  ASSERT_NE(db, nullptr);
  EXPECT_TRUE(HasCode(db->CompareAndSwap("a", "b", "c").status(), Status::Code::kNotSupported));
  EXPECT_TRUE(HasCode(db->PutIfAbsent("a", "b").status(), Status::Code::kNotSupported));
}

}  // namespace
}  // namespace braid::test
