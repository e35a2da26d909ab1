// The tier and its caches: a get shows what the tier has, whether from a table or from memory.
#include "tier/tier.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tier/memory_store.h"

namespace braid::tier {
namespace {

constexpr const char* kPath = "memory:tier-test";
constexpr uint64_t kShare = 1 << 20;

class TierTest : public ::testing::Test {
 protected:
  void SetUp() override {
    OpenRequest request;
    request.path = kPath;
    request.may_create = true;
    Result<std::unique_ptr<Store>> store = MemoryDevice::OpenStoreOn(request);
    ASSERT_TRUE(store.ok()) << store.status().ToString();
    tier_ = std::make_unique<Tier>(std::move(store).value(), kShare, &users_);
  }
  /// As the filler does it.
  void Move(std::string_view key, std::string_view value, uint64_t sequence, bool is_delete) {
    const std::vector<RunEntry> run = {{key, value, sequence, is_delete}};
    ASSERT_TRUE(tier_->store().Ingest(run).ok());
    tier_->BeginMove(run);
  }
  std::string Get(std::string_view key, uint64_t newest_seen = index::kLatest) {
    index::ReadView view;
    view.sequence = newest_seen;
    Found found;
    const Status s = tier_->Get({key, base::Hash64(key)}, view, &found);
    if (!s.ok()) return s.ToString();
    using State = index::LookupResult::State;
    if (found.result().state == State::kDeleted) return "(deleted)";
    if (found.result().state != State::kFound) return "(none)";
    return std::string(found.bytes().substr(sizeof(RecordHead)));
  }
  uint64_t Cached() const {
    Statistics statistics;
    tier_->Fill(&statistics);
    return statistics.tier_gets_cached;
  }

  base::MemoryUsers users_;
  MemoryDevice device_{kPath};
  std::unique_ptr<Tier> tier_;
};

TEST_F(TierTest, WhatIsOnItsWayMayBeHeld) {
  const std::vector<RunEntry> first = {{"b", "1", 1, false}, {"d", "2", 2, false}};
  const std::vector<RunEntry> second = {{"c", "3", 3, false}};
  Move("a", "0", 4, false);
  EXPECT_FALSE(tier_->MayHold("b"));
  tier_->SetComing({first, second});
  for (const char* key : {"a", "b", "c", "d"}) EXPECT_TRUE(tier_->MayHold(key)) << key;
  for (const char* key : {"", "aa", "bb", "cc", "e"}) EXPECT_FALSE(tier_->MayHold(key)) << key;
  tier_->SetComing({});
  EXPECT_FALSE(tier_->MayHold("b"));
  EXPECT_TRUE(tier_->MayHold("a"));
}

TEST_F(TierTest, ASecondGetReadsNoTable) {
  Move("key", "value", 5, false);
  EXPECT_EQ(Get("key"), "value");
  EXPECT_EQ(Cached(), 0u);
  EXPECT_EQ(Get("key"), "value");
  EXPECT_EQ(Cached(), 1u);
  EXPECT_EQ(Get("other"), "(none)");
  EXPECT_EQ(Get("other"), "(none)");
  EXPECT_EQ(Cached(), 1u);
}

TEST_F(TierTest, WhatARunReplacesIsForgotten) {
  Move("key", "old", 5, false);
  EXPECT_EQ(Get("key"), "old");
  Move("key", "new", 9, false);
  EXPECT_EQ(Get("key"), "new");
  EXPECT_EQ(Get("key"), "new");
  Move("key", "", 12, true);
  EXPECT_EQ(Get("key"), "(deleted)");
  EXPECT_EQ(Get("key"), "(deleted)");
}

TEST_F(TierTest, AViewThatIsOlderSeesNothingOfTheCacheEither) {
  Move("key", "value", 5, false);
  EXPECT_EQ(Get("key", 4), "(none)");
  EXPECT_EQ(Get("key", 5), "value");
  EXPECT_EQ(Get("key", 4), "(none)");
  EXPECT_EQ(Cached(), 2u);
}

/// Says that it takes as much memory as a test wants.
class StoreOfIndexes final : public Store {
 public:
  explicit StoreOfIndexes(std::unique_ptr<Store> below) : below_(std::move(below)) {}
  const Id& id() const noexcept override { return below_->id(); }
  const Id& pool_id() const noexcept override { return below_->pool_id(); }
  Status Ingest(std::span<const RunEntry> run) override { return below_->Ingest(run); }
  Status Sync() override { return below_->Sync(); }
  uint64_t last_run() const noexcept override { return below_->last_run(); }
  void Settle(uint64_t run) noexcept override { below_->Settle(run); }
  Status Get(std::string_view key, Found* found) const override { return below_->Get(key, found); }
  bool MayHold(std::string_view key) const noexcept override { return below_->MayHold(key); }
  std::unique_ptr<Walk> NewWalk() const override { return below_->NewWalk(); }
  uint64_t newest_sequence() const noexcept override { return below_->newest_sequence(); }
  Sizes sizes() const override { return below_->sizes(); }
  uint64_t memory_bytes() const noexcept override { return takes; }
  Status Verify() const override { return below_->Verify(); }
  Status ForEachReadable(const Take& take, const TellDamage& tell) const override {
    return below_->ForEachReadable(take, tell);
  }

  uint64_t takes = 0;

 private:
  const std::unique_ptr<Store> below_;
};

TEST_F(TierTest, RecordsHaveWhatTheStoreLeaves) {
  OpenRequest request;
  request.path = kPath;
  auto owned = std::make_unique<StoreOfIndexes>(MemoryDevice::OpenStoreOn(request).value());
  StoreOfIndexes& store = *owned;
  tier_.reset();
  EXPECT_EQ(users_.Sum(), 0u);
  tier_ = std::make_unique<Tier>(std::move(owned), kShare, &users_);
  EXPECT_EQ(users_.Sum(), kShare);
  std::vector<std::string> keys;
  for (uint64_t n = 0; n < kShare * 8 / 10 / 1100; ++n)
    keys.push_back("key" + std::to_string(10'000 + n));
  std::vector<RunEntry> run;
  const std::string value(1000, 'v');
  for (const std::string& key : keys) run.push_back({key, value, 1, false});
  ASSERT_TRUE(store.Ingest(run).ok());
  // How many of the keys are in the cache when all were read.
  const auto kept = [&] {
    for (const std::string& key : keys) EXPECT_EQ(Get(key), value);
    const uint64_t before = Cached();
    for (const std::string& key : keys) EXPECT_EQ(Get(key), value);
    return Cached() - before;
  };
  EXPECT_EQ(kept(), keys.size());
  store.takes = kShare / 2;
  for (int n = 0; n < 20; ++n) tier_->BeginMove({});
  EXPECT_EQ(users_.Sum(), kShare);
  const uint64_t half = kept();
  EXPECT_LT(half, keys.size() * 7 / 10);
  EXPECT_GT(half, keys.size() / 10);  // each has just given way to others
  // More than there is for it: others learn of it, and give way.
  store.takes = 2 * kShare;
  for (int n = 0; n < 20; ++n) tier_->BeginMove({});
  EXPECT_EQ(users_.Sum(), 2 * kShare);
  EXPECT_EQ(kept(), 0u);
}

}  // namespace
}  // namespace braid::tier
