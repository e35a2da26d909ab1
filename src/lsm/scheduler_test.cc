// The order in which a store's work is done, without threads: each call does all of it.
#include "lsm/scheduler.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/resources.h"
#include "braid/event_listener.h"
#include "support/store_parts.h"
#include "support/test_pool.h"

namespace braid::lsm {
namespace {

/// Records its events.
class Notes final : public EventListener {
 public:
  void OnFlush(const Flush& event) noexcept override { flushed.push_back(event.entries); }
  void OnMerge(const Merge& event) noexcept override { merged.push_back(event.entries); }
  std::vector<uint64_t> flushed;
  std::vector<uint64_t> merged;
};

class SchedulerTest : public ::testing::Test {
 protected:
  SchedulerTest() {
    const level::VersionSet::Locked versions = store_.versions.Lock();
    ExpectOk(versions.manifest().Load());
    auto version = std::make_shared<level::Version>();
    version->levels.back() = {
        std::make_shared<level::PmemTable>(store_.pool.get(), versions.record().tables[0], true)};
    ExpectOk(store_.indexes.Begin(*version, false));
    level::ReadState first;
    first.version = std::move(version);
    const uint64_t id = versions.record().next_table_id;
    first.active = store_.NewMemTable(id, nullptr);
    versions.Begin(std::move(first), id + 1);
  }
  ~SchedulerTest() override {
    scheduler_.Stop();
    store_.closed.store(true);
  }

  Options Chosen() {
    return test::StoreParts::Chosen([this](Options* options) {
      options->background_threads = false;
      options->compaction.l0_trigger = 3;
      options->listener = notes_;
    });
  }
  static void ExpectOk(const Status& s) { EXPECT_TRUE(s.ok()) << s.ToString(); }
  void Put(std::string_view key) { ExpectOk(store_.writer.Put({}, key, "value")); }
  void PutAndSeal(std::string_view key) {
    Put(key);
    scheduler_.SwitchMemTable(nullptr);
  }
  size_t l0() const { return store_.versions.Lock().Keep()->version->l0().size(); }
  size_t sealed() const { return store_.versions.Lock().Keep()->immutables.size(); }
  std::string Get(std::string_view key) {
    std::string value;
    const Status s = store_.reader.Get({}, key, &value);
    return s.ok() ? value : s.ToString();
  }

  const std::shared_ptr<Notes> notes_ = std::make_shared<Notes>();
  test::TestPool pool_{[](pool::PmemPool* fresh) { return level::Manifest(fresh).Create(); },
                       Chosen()};
  Scheduler scheduler_{&store_};
  LsmStore store_{Chosen(),    pool_.TakePool(), nullptr, *base::JoinBudget(Chosen(), 0),
                  &scheduler_, &scheduler_};
};

TEST_F(SchedulerTest, WhatIsSealedIsFlushedAndMergedWhenThereIsEnough) {
  PutAndSeal("a");
  EXPECT_EQ(sealed(), 0u);
  EXPECT_EQ(l0(), 1u);
  PutAndSeal("b");
  EXPECT_EQ(l0(), 2u);
  PutAndSeal("c");
  EXPECT_EQ(l0(), 2u) << "three are one too many: the oldest is merged";
  EXPECT_EQ(notes_->flushed, (std::vector<uint64_t>{1, 1, 1}));
  EXPECT_EQ(notes_->merged, (std::vector<uint64_t>{1}));
  for (const char* key : {"a", "b", "c"}) EXPECT_EQ(Get(key), "value");
}

TEST_F(SchedulerTest, AnEmptyMemTableIsNotSealed) {
  scheduler_.SwitchMemTable(nullptr);
  EXPECT_EQ(l0(), 0u);
  const memtable::MemTable* const active = store_.versions.Lock().Keep()->active.get();
  Put("a");
  scheduler_.SwitchMemTable(active + 1);
  EXPECT_EQ(l0(), 0u) << "another one was meant";
}

TEST_F(SchedulerTest, WhoWaitsForAllFindsEverythingMerged) {
  PutAndSeal("a");
  Put("b");
  ExpectOk(scheduler_.WaitUntilIdle(false));
  EXPECT_EQ(l0(), 1u) << "what is active was not asked for";
  scheduler_.SwitchMemTable(nullptr);
  ExpectOk(scheduler_.WaitUntilIdle(true));
  EXPECT_EQ(l0(), 0u);
  EXPECT_EQ(store_.versions.Lock().bottom()->entries(), 2u);
  EXPECT_TRUE(store_.indexes.AllAreMade());
  Statistics statistics;
  scheduler_.Fill(&statistics);
  EXPECT_EQ(statistics.flushes, 2u);
  EXPECT_EQ(statistics.merges, 2u);
  EXPECT_EQ(statistics.merged_entries, 2u);
}

TEST_F(SchedulerTest, WhoHasEnoughDoesNotWaitForTheRest) {
  for (const char* key : {"a", "b"}) PutAndSeal(key);
  ASSERT_EQ(l0(), 2u);
  const std::function<bool()> enough = [this] { return l0() < 2; };
  const Status s = scheduler_.Drain(scheduler_.NewestTable(), {}, &enough);
  EXPECT_EQ(s.code(), Status::Code::kAborted) << s.ToString();
  EXPECT_EQ(l0(), 1u) << "one step was enough";
  ExpectOk(scheduler_.WaitUntilIdle(true));
  EXPECT_EQ(l0(), 0u) << "others wait for all of it";
  for (const char* key : {"a", "b"}) EXPECT_EQ(Get(key), "value");
}

TEST_F(SchedulerTest, AClosePutsAllLogsIntoTables) {
  PutAndSeal("a");
  Put("b");
  scheduler_.Stop();
  ExpectOk(scheduler_.FlushForClose());
  EXPECT_EQ(store_.versions.Lock().Keep()->active->entries(), 0u);
  EXPECT_EQ(l0(), 2u);
  EXPECT_TRUE(store_.versions.Lock().waiting().empty());
  EXPECT_EQ(Get("b"), "value");
}

TEST_F(SchedulerTest, AFailureEndsTheWork) {
  PutAndSeal("a");
  scheduler_.Fail(Status::IOError("the medium is gone"));
  EXPECT_TRUE(scheduler_.WhyNot().IsIOError());
  EXPECT_TRUE(scheduler_.WaitUntilIdle(true).IsIOError());
  EXPECT_TRUE(scheduler_.FlushForClose().IsIOError());
  EXPECT_EQ(Get("a"), "value") << "reads go on";
}

TEST_F(SchedulerTest, MergesThatAreStoppedGoOnLater) {
  store_.stop_merges.store(true);
  for (const char* key : {"a", "b", "c", "d"}) PutAndSeal(key);
  EXPECT_EQ(l0(), 4u);
  store_.stop_merges.store(false);
  scheduler_.LetWork(false);
  EXPECT_EQ(l0(), 2u);
}

}  // namespace
}  // namespace braid::lsm
