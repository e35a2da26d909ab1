// The cache of the tier's records: what stays, what goes, and that nothing outdated is shown.
#include "tier/record_cache.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "base/checksum.h"
#include "support/database.h"
#include "support/environment.h"

namespace braid::tier {
namespace {

using test::NumberedKey;

class RecordCacheTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kBytes = 256 << 10;

  static Found RecordOf(std::string_view value, uint64_t sequence = 1) {
    std::string record;
    AppendRecord(sequence, false, 7, value, &record);
    Found found;
    EXPECT_TRUE(found.Take(std::move(record)));
    return found;
  }
  static index::LookupKey KeyOf(std::string_view key) { return {key, base::Hash64(key)}; }
  void Offer(std::string_view key, std::string_view value) {
    cache_.Offer(KeyOf(key), RecordOf(value), moves_, moves_.load());
  }
  std::string Find(std::string_view key) {
    Found found;
    if (!cache_.Find(KeyOf(key), &found)) return "(none)";
    EXPECT_EQ(found.result().state, index::LookupResult::State::kFound);
    return std::string(found.bytes().substr(sizeof(RecordHead)));
  }

  std::atomic<uint64_t> moves_{0};
  RecordCache cache_{kBytes};
};

TEST_F(RecordCacheTest, ShowsWhatWasLookedUp) {
  EXPECT_EQ(Find("a"), "(none)");
  Offer("a", "one");
  Offer("b", "");
  EXPECT_EQ(Find("a"), "one");
  EXPECT_EQ(Find("b"), "");
  EXPECT_EQ(Find("ab"), "(none)");
  Offer("a", "again");
  EXPECT_EQ(Find("a"), "one") << "there is one version of a key";
  cache_.Forget(KeyOf("a"));
  cache_.Forget(KeyOf("never there"));
  EXPECT_EQ(Find("a"), "(none)");
  EXPECT_EQ(Find("b"), "");
}

TEST_F(RecordCacheTest, KeepsDeletesAndNumbers) {
  std::string record;
  AppendRecord(42, true, 7, {}, &record);
  Found gone;
  ASSERT_TRUE(gone.Take(std::move(record)));
  cache_.Offer(KeyOf("gone"), gone, moves_, 0);
  cache_.Offer(KeyOf("there"), RecordOf("value", 43), moves_, 0);
  Found found;
  ASSERT_TRUE(cache_.Find(KeyOf("gone"), &found));
  EXPECT_EQ(found.result().state, index::LookupResult::State::kDeleted);
  EXPECT_EQ(found.result().sequence, 42u);
  ASSERT_TRUE(cache_.Find(KeyOf("there"), &found));
  EXPECT_EQ(found.result().state, index::LookupResult::State::kFound);
  EXPECT_EQ(found.result().sequence, 43u);
}

// A run may have brought a newer version after it was looked up.
TEST_F(RecordCacheTest, WhatWasLookedUpBeforeAMoveIsNotKept) {
  const uint64_t seen = moves_.load();
  const Found old = RecordOf("old");
  moves_.fetch_add(1);
  cache_.Forget(KeyOf("key"));
  cache_.Offer(KeyOf("key"), old, moves_, seen);
  EXPECT_EQ(Find("key"), "(none)");
}

TEST_F(RecordCacheTest, KeepsToItsLimit) {
  for (uint64_t n = 0; n < 3000; ++n) {
    Offer(NumberedKey(n), std::string(n % 700, static_cast<char>('a' + n % 26)));
    ASSERT_LE(cache_.used_bytes(), kBytes);
  }
  EXPECT_GT(cache_.used_bytes(), kBytes * 3 / 4);
  uint64_t kept = 0;
  for (uint64_t n = 0; n < 3000; ++n) {
    const std::string found = Find(NumberedKey(n));
    if (found == "(none)") continue;
    ++kept;
    EXPECT_EQ(found, std::string(n % 700, static_cast<char>('a' + n % 26)));
  }
  EXPECT_GT(kept, 300u);
  cache_.SetLimit(kBytes / 2);
  EXPECT_LE(cache_.used_bytes(), kBytes / 2);
  EXPECT_GT(cache_.used_bytes(), kBytes / 4);
  cache_.SetLimit(0);
  EXPECT_EQ(cache_.used_bytes(), 0u);
  Offer("key", "value");
  EXPECT_EQ(Find("key"), "(none)");
  cache_.SetLimit(kBytes);
  Offer("key", "value");
  EXPECT_EQ(Find("key"), "value");
}

/// How many records there are that are read most, and their size: with small ones several share a
/// bucket.
struct Hot {
  uint64_t records;
  uint64_t bytes;
};

class WhatIsReadMostTest : public RecordCacheTest, public ::testing::WithParamInterface<Hot> {
 protected:
  /// As a get does it: it looks here, and offers what it has found elsewhere.
  bool Get(uint64_t n) {
    const bool is_here = Find(NumberedKey(n)) != "(none)";
    if (!is_here) Offer(NumberedKey(n), std::string(GetParam().bytes, 'v'));
    return is_here;
  }
  uint64_t GetAll(uint64_t first) {
    uint64_t found = 0;
    for (uint64_t n = first; n < first + GetParam().records; ++n) found += Get(n) ? 1 : 0;
    return found;
  }
};

TEST_P(WhatIsReadMostTest, Stays) {
  const uint64_t hot = GetParam().records;
  uint64_t found = 0;
  for (uint64_t round = 0; round < 20; ++round) {
    found = GetAll(0);
    for (uint64_t n = 0; n < 5 * hot; ++n) Get(100'000 + round * 5 * hot + n);  // once each
  }
  EXPECT_GT(found, hot * 9 / 10);
  // What is read no more gives way in time.
  for (uint64_t round = 0; round < 200; ++round) {
    found = GetAll(1'000'000);
    for (uint64_t n = 0; n < hot; ++n) Get(2'000'000 + round * hot + n);
  }
  EXPECT_GT(found, hot * 9 / 10);
}
INSTANTIATE_TEST_SUITE_P(Records, WhatIsReadMostTest,
                         ::testing::Values(Hot{200, 400}, Hot{500, 100}),
                         [](const auto& hot) { return std::to_string(hot.param.bytes); });

TEST_F(RecordCacheTest, ALargeRecordDoesNotPushOutTheOthers) {
  Offer("small", "value");
  Offer("large", std::string(kBytes / 2, 'l'));
  EXPECT_EQ(Find("large"), "(none)");
  EXPECT_EQ(Find("small"), "value");
}

TEST_F(RecordCacheTest, OfFewBytesIsOfNoUse) {
  for (const uint64_t bytes : {0, 1, 100}) {
    RecordCache tiny(bytes);
    tiny.Offer(KeyOf("key"), RecordOf("value"), moves_, 0);
    Found found;
    EXPECT_FALSE(tiny.Find(KeyOf("key"), &found));
    EXPECT_EQ(tiny.used_bytes(), 0u);
  }
}

TEST_F(RecordCacheTest, ManyThreadsReadAndForget) {
  RecordCache cache(4 << 20);       // of several shards
  std::atomic<uint64_t> newest{1};  // version of all keys, in the tier
  std::atomic<uint64_t> moved{1};   // the newest one that the pool has no more
  std::atomic<bool> stop{false};
  constexpr uint64_t kKeys = 500;
  const auto read = [&](uint64_t first) {
    Found found;
    for (uint64_t n = first; !stop.load(); ++n) {
      const std::string key = NumberedKey(n % kKeys);
      const uint64_t least = moved.load();
      if (cache.Find(KeyOf(key), &found)) {
        EXPECT_GE(found.result().sequence, least) << key;
      } else {
        const uint64_t seen = moves_.load();
        cache.Offer(KeyOf(key), RecordOf("value", newest.load()), moves_, seen);
      }
    }
  };
  std::thread one(read, 0);
  std::thread two(read, kKeys / 2);
  for (uint64_t round = 0; round < test::Sized(200, 20'000); ++round) {
    newest.fetch_add(1);
    // As Tier::BeginMove does it.
    moves_.fetch_add(1);
    for (uint64_t n = 0; n < kKeys; ++n) {
      const std::string key = NumberedKey(n);
      cache.Forget(KeyOf(key));
    }
    moved.store(newest.load());
  }
  stop.store(true);
  one.join();
  two.join();
}

}  // namespace
}  // namespace braid::tier
