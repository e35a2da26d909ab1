// Entries on their way to the tier: what merges, deletes and views do while a run is being written.
#include "compaction/tier_filler.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/store_parts.h"
#include "tier/memory_store.h"
#include "tier/open_store.h"

namespace braid::compaction {
namespace {

constexpr const char* kPath = "memory:filler";
constexpr uint64_t kStays = 16 << 10;  // of live bytes; a run is of a quarter

std::string KeyAt(int i) { return "key" + std::to_string(1000 + i); }
std::string Value(int i, char c) { return std::to_string(i) + std::string(200, c); }

/// Somebody waits for all work; the pass for deletes has been.
constexpr Occasion kRound = {
    .at_rest = true, .awaited = true, .in_round = true, .may_begin = false, .merged = 0};

/// Tasks wait for DoNext.
class HeldTasks final : public SideTasks {
 public:
  uint64_t Add(std::function<void()> task) override {
    tasks_.push_back(std::move(task));
    return tasks_.size();
  }
  bool HasEnded(uint64_t number) override { return number <= done_; }
  void Await(uint64_t number) override {
    while (done_ < number) DoNext();
  }
  void DoNext() {
    ASSERT_LT(done_, tasks_.size());
    tasks_[done_]();
    ++done_;
  }
  size_t waiting() const { return tasks_.size() - done_; }

 private:
  std::vector<std::function<void()>> tasks_;
  size_t done_ = 0;
};

class TierFillerTest : public ::testing::Test {
 protected:
  static constexpr int kKeys = 200;  // three times what is to stay

  void SetUp() override {
    tier::SetPoolBytes(kStays);
    tier::OpenRequest request;
    request.path = kPath;
    request.may_create = true;
    Result<std::unique_ptr<tier::Store>> store = tier::OpenStore(request);
    ASSERT_TRUE(store.ok()) << store.status().ToString();
    parts_.emplace(
        [](Options* options) {
          options->log.kind = LogKind::kIndexUnified;
          options->tier.path = kPath;
          options->pool.max_bytes = 16 << 20;
        },
        std::move(store).value());
    filler().SetSideTasks(&tasks_);
  }
  void TearDown() override {
    parts_.reset();
    tier::SetPoolBytes(0);
  }

  test::StoreParts& parts() { return *parts_; }
  TierFiller& filler() { return parts().tier_filler; }
  void PutAll(char c) {
    for (int i = 0; i < kKeys; ++i) parts().Put(KeyAt(i), Value(i, c));
    MergeAll();
  }
  void MergeAll() {
    parts().Flush();
    parts().Merge();
  }
  bool Step(const Occasion& occasion = {}) {
    return test::StoreParts::Worked(filler().Step(occasion));
  }
  /// Begins to write as much as may be under way at a time.
  void BeginRuns() {
    ASSERT_TRUE(Step());
    ASSERT_TRUE(Step());
    ASSERT_FALSE(Step()) << "two are under way";
    ASSERT_EQ(tasks_.waiting(), 2u);
    ASSERT_TRUE(filler().IsWriting());
    ASSERT_FALSE(filler().Presses());
  }
  /// Until what is to stay is reached.
  void FinishAll() {
    for (int steps = 0; Step(kRound); ++steps) ASSERT_LT(steps, 1000);
    EXPECT_LE(parts().usage.KnownLive(), kStays);
  }
  void ExpectAll(char c, int but = -1) {
    for (int i = 0; i < kKeys; ++i) {
      EXPECT_EQ(parts().Get(KeyAt(i)), i == but ? "-" : Value(i, c)) << KeyAt(i);
    }
    const VerifyReport report = parts().Verify();
    EXPECT_TRUE(report.problems.empty()) << report.problems.front();
  }
  uint64_t TierRecords() { return parts().tier->store().sizes().records; }
  /// Of a key: chunks go in the order in which they were written.
  static constexpr int kOfFirstRun = 0;

  tier::MemoryDevice device_{kPath};
  HeldTasks tasks_;
  std::optional<test::StoreParts> parts_;
};

TEST_F(TierFillerTest, WhatIsWrittenLeavesThePoolWhenItIsDurable) {
  PutAll('a');
  BeginRuns();
  EXPECT_EQ(parts().l1_entries(), uint64_t{kKeys}) << "nothing has left";
  EXPECT_EQ(TierRecords(), 0u);
  tasks_.DoNext();
  EXPECT_TRUE(filler().Presses()) << "it is to be taken out";
  EXPECT_FALSE(filler().IsWriting());
  const uint64_t written = TierRecords();
  EXPECT_GT(written, 0u);
  ASSERT_TRUE(Step());
  EXPECT_EQ(parts().l1_entries(), kKeys - written);
  ExpectAll('a');
  FinishAll();
  EXPECT_GT(TierRecords(), kKeys / 2u);
  ExpectAll('a');
}

TEST_F(TierFillerTest, ANewerVersionThatComesMeanwhileStays) {
  PutAll('a');
  BeginRuns();
  PutAll('b');
  FinishAll();
  ExpectAll('b');
}

TEST_F(TierFillerTest, ADeleteThatComesMeanwhileHidesWhatIsOnItsWay) {
  PutAll('a');
  BeginRuns();
  parts().Delete(KeyAt(kOfFirstRun));
  MergeAll();
  tasks_.DoNext();
  tier::Found found;
  ASSERT_TRUE(parts().tier->store().Get(KeyAt(kOfFirstRun), &found).ok());
  ASSERT_TRUE(found.result().has_version()) << "the test means a key of the first run";
  ExpectAll('a', kOfFirstRun);
  FinishAll();
  ExpectAll('a', kOfFirstRun);
}

TEST_F(TierFillerTest, ChunksOfARunAreNotReusedWhileItIsWritten) {
  PutAll('a');
  BeginRuns();
  // All of it is garbage now, and its chunks would be the next to be written.
  for (int round = 0; round < 20; ++round) {
    PutAll(static_cast<char>('b' + round));
    parts().accounts.RetireEmptyChunks();
    parts().Reclaim();
  }
  while (tasks_.waiting() != 0) tasks_.DoNext();
  for (int i = 0; i < kKeys; ++i) {
    tier::Found found;
    ASSERT_TRUE(parts().tier->store().Get(KeyAt(i), &found).ok());
    if (!found.result().has_version()) continue;
    EXPECT_EQ(found.bytes().substr(sizeof(tier::RecordHead)), Value(i, 'a')) << KeyAt(i);
  }
  const uint64_t used = parts().pool->used_chunks();
  FinishAll();
  parts().Reclaim();
  EXPECT_LT(parts().pool->used_chunks(), used) << "they are let go";
  ExpectAll('b' + 19);
}

TEST_F(TierFillerTest, AViewThatComesMeanwhileSeesWhatItSaw) {
  PutAll('a');
  BeginRuns();
  const std::shared_ptr<const Snapshot> before = parts().reader.GetSnapshot();
  PutAll('b');
  while (Step(kRound)) {
  }
  ReadOptions as_before;
  as_before.snapshot = before.get();
  for (int i = 0; i < kKeys; ++i) {
    std::string value;
    test::StoreParts::ExpectOk(parts().reader.Get(as_before, KeyAt(i), &value));
    EXPECT_EQ(value, Value(i, 'a')) << KeyAt(i);
  }
  ExpectAll('b');
}

TEST_F(TierFillerTest, WhatWasMovedMeanwhileStays) {
  PutAll('a');
  for (int i = 0; i < kKeys; i += 2) parts().Put(KeyAt(i), Value(i, 'b'));
  MergeAll();  // so that chunks are worth a collection
  BeginRuns();
  while (test::StoreParts::Worked(parts().collector.Step(parts().Asked()))) {
  }
  FinishAll();
  for (int i = 0; i < kKeys; ++i)
    EXPECT_EQ(parts().Get(KeyAt(i)), Value(i, i % 2 == 0 ? 'b' : 'a'));
}

TEST_F(TierFillerTest, AWriteThatFindsNoRoomWaitsForARunOnce) {
  PutAll('a');
  BeginRuns();
  EXPECT_TRUE(filler().GiveMore()) << "room is on its way";
  EXPECT_FALSE(filler().GiveMore()) << "it was not taken out in between";
  FinishAll();
  EXPECT_EQ(filler().GiveMore(), parts().usage.KnownLive() > kStays / 2) << "half may stay";
}

TEST_F(TierFillerTest, AStoreThatEndsMeanwhileHasItInBoth) {
  PutAll('a');
  BeginRuns();
  tasks_.DoNext();
  EXPECT_EQ(parts().l1_entries(), uint64_t{kKeys});
  ExpectAll('a');
}

TEST(SideTasksTest, WithoutAThreadTheyHaveEndedSomeLooksLater) {
  SideTasks tasks;
  int done = 0;
  const uint64_t first = tasks.Add([&] { ++done; });
  const uint64_t second = tasks.Add([&] { ++done; });
  EXPECT_EQ(done, 2);
  EXPECT_FALSE(tasks.HasEnded(first)) << "other steps come in between";
  int looks = 0;
  while (!tasks.HasEnded(first)) ASSERT_LT(++looks, 100);
  EXPECT_FALSE(tasks.HasEnded(second));
  tasks.Await(second);
  EXPECT_TRUE(tasks.HasEnded(second));
}

}  // namespace
}  // namespace braid::compaction
