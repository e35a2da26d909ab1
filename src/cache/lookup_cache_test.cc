// Tests of the lookup cache by itself: what is an answer, what takes a bucket, what is forgotten.
#include "cache/lookup_cache.h"

#include <gtest/gtest.h>

#include <string>

#include "base/checksum.h"
#include "log/index_unified_log.h"
#include "support/test_pool.h"

namespace braid::cache {
namespace {

using index::LookupResult;

class LookupCacheTest : public ::testing::Test {
 protected:
  /// Writes an entry; returns its offset.
  uint64_t Write(std::string_view key, format::EntryOp op = format::EntryOp::kPut) {
    log::PendingEntry pending;
    pending.op = op;
    pending.key = key;
    pending.value = op == format::EntryOp::kPut ? std::string_view("value") : std::string_view();
    pending.key_hash = base::Hash64(key);
    EXPECT_TRUE(log_->Reserve(0, &pending, 1, 1, pool::AllocationClass::kWrite).ok());
    log_->WritePayload(&pending);
    log_->Publish(pending, ++sequence_, format::kFirstOfUnit, 0);
    log_->Commit(0);
    return pending.offset;
  }
  static LookupResult Find(const LookupCache& cache, std::string_view key,
                           uint64_t sequence = index::kLatest) {
    index::ReadView view;
    view.sequence = sequence;
    return cache.Find({key, base::Hash64(key)}, view);
  }
  static bool Misses(const LookupCache& cache, std::string_view key,
                     uint64_t sequence = index::kLatest) {
    return Find(cache, key, sequence).state == LookupResult::State::kAbsent;
  }

  test::TestPool pool_;
  std::unique_ptr<log::IndexUnifiedLog> log_ =
      std::make_unique<log::IndexUnifiedLog>(pool_.get(), 1, 1);
  uint64_t sequence_ = 0;
};

TEST_F(LookupCacheTest, AnswersWithWhatWasFilledAndCountsHitsAndMisses) {
  LookupCache cache(pool_.get(), 1 << 12);
  ASSERT_TRUE(cache.ok());
  EXPECT_EQ(cache.memory_bytes(), 1u << 12);
  EXPECT_TRUE(Misses(cache, "a"));
  const uint64_t put = Write("a");
  const uint64_t removed = Write("b", format::EntryOp::kDelete);
  cache.Fill(base::Hash64("a"), put);
  cache.Fill(base::Hash64("b"), removed);
  EXPECT_EQ(Find(cache, "a").state, LookupResult::State::kFound);
  EXPECT_EQ(Find(cache, "a").value.offset(), put);
  EXPECT_EQ(Find(cache, "b").state, LookupResult::State::kDeleted);
  EXPECT_TRUE(Misses(cache, "c"));
  EXPECT_EQ(cache.entries(), 2u);
  EXPECT_EQ(cache.hits(), 3u);
  EXPECT_EQ(cache.misses(), 2u);
}

TEST_F(LookupCacheTest, TheNewcomerTakesTheBucket) {
  LookupCache cache(pool_.get(), 1);  // one bucket
  const uint64_t first = Write("a");
  const uint64_t second = Write("b");
  cache.Fill(base::Hash64("a"), first);
  cache.Fill(base::Hash64("b"), second);
  EXPECT_TRUE(Misses(cache, "a"));
  EXPECT_EQ(Find(cache, "b").value.offset(), second);
  EXPECT_EQ(cache.entries(), 1u);
  // Only what names the entry is cleared.
  cache.Forget(base::Hash64("a"), first);
  EXPECT_EQ(Find(cache, "b").value.offset(), second);
  cache.Forget(base::Hash64("b"), second);
  EXPECT_TRUE(Misses(cache, "b"));
  EXPECT_EQ(cache.entries(), 0u);
}

TEST_F(LookupCacheTest, WhatIsFoundTakesOnlyABucketThatNeverWasUsed) {
  LookupCache cache(pool_.get(), 1);  // one bucket
  const uint64_t older = Write("a");
  const uint64_t newer = Write("a");
  const uint64_t other = Write("b");
  cache.Fill(base::Hash64("a"), newer);
  cache.FillFound(base::Hash64("a"), older);
  EXPECT_EQ(Find(cache, "a").value.offset(), newer);
  // Another key takes the bucket and is forgotten: nothing tells any more that "a" was there.
  cache.Fill(base::Hash64("b"), other);
  cache.Forget(base::Hash64("b"), other);
  cache.FillFound(base::Hash64("a"), older);
  EXPECT_TRUE(Misses(cache, "a"));
  EXPECT_EQ(cache.entries(), 0u);
  cache.Clear();
  cache.FillFound(base::Hash64("a"), newer);
  EXPECT_EQ(Find(cache, "a").value.offset(), newer);
  EXPECT_EQ(cache.entries(), 1u);
}

TEST_F(LookupCacheTest, KnowsWhatIsNowhereOnceAllKeysAreFilled) {
  LookupCache cache(pool_.get(), 1 << 16);
  cache.FillFound(base::Hash64("a"), Write("a"));
  EXPECT_EQ(Find(cache, "b").state, LookupResult::State::kAbsent);
  cache.KnowAll();
  EXPECT_EQ(Find(cache, "b").state, LookupResult::State::kNowhere);
  EXPECT_EQ(Find(cache, "a").state, LookupResult::State::kFound);
  EXPECT_EQ(cache.absences(), 1u);
  EXPECT_EQ(cache.misses(), 1u);
  // A bucket that was used says nothing.
  const uint64_t put = Write("c");
  cache.Fill(base::Hash64("c"), put);
  cache.Forget(base::Hash64("c"), put);
  EXPECT_EQ(Find(cache, "c").state, LookupResult::State::kAbsent);
  cache.Clear();
  EXPECT_FALSE(cache.knows_all());
  EXPECT_EQ(Find(cache, "b").state, LookupResult::State::kAbsent);
  EXPECT_EQ(Find(cache, "a").state, LookupResult::State::kAbsent);
}

TEST_F(LookupCacheTest, AFingerprintIsNoKey) {
  // Two keys whose hashes have the same low 16 bits; in a table of one bucket only their keys
  // differ.
  const std::string key = "a";
  std::string other;
  for (int i = 0; other.empty(); ++i) {
    const std::string candidate = "k" + std::to_string(i);
    if ((base::Hash64(candidate) & 0xFFFF) == (base::Hash64(key) & 0xFFFF)) other = candidate;
  }
  LookupCache cache(pool_.get(), 1);
  cache.Fill(base::Hash64(key), Write(key));
  EXPECT_TRUE(Misses(cache, other));
  EXPECT_FALSE(Misses(cache, key));
}

TEST_F(LookupCacheTest, WhatTheViewDoesNotSeeIsNoAnswer) {
  LookupCache cache(pool_.get(), 1 << 12);
  Write("other");
  const uint64_t entry = Write("a");
  cache.Fill(base::Hash64("a"), entry);
  EXPECT_TRUE(Misses(cache, "a", sequence_ - 1));
  EXPECT_FALSE(Misses(cache, "a", sequence_));
}

TEST_F(LookupCacheTest, ObsoleteOrDamagedEntriesAndPlacesThatHoldNoneAreNoAnswers) {
  LookupCache cache(pool_.get(), 1 << 12);
  const uint64_t obsolete = Write("obsolete");
  cache.Fill(base::Hash64("obsolete"), obsolete);
  pool_->ops().StoreByte(pool_->As<format::EntryHeader>(obsolete)->state_byte(),
                         format::kStateObsolete);
  EXPECT_TRUE(Misses(cache, "obsolete"));
  const uint64_t damaged = Write("damaged");
  cache.Fill(base::Hash64("damaged"), damaged);
  pool_->As<format::EntryHeader>(damaged)->sequence_and_op ^= 0x100;
  EXPECT_TRUE(Misses(cache, "damaged"));
  // Where no chunk of entries is, and beyond the pool.
  cache.Fill(base::Hash64("x"), 4096);
  cache.Fill(base::Hash64("y"), pool_->pool_bytes() + 4096);
  EXPECT_TRUE(Misses(cache, "x"));
  EXPECT_TRUE(Misses(cache, "y"));
}

}  // namespace
}  // namespace braid::cache
