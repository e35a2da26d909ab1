// What an open after a crash does to be fast again: replays logs in key order by several threads,
// and indexes L1 and the tables that it finds in L0. Steps are counted, not time.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <thread>

#include "braid/db.h"

namespace braid {
namespace {

using Model = std::map<std::string, std::string>;

class ReopenSpeedTest : public ::testing::Test {
 protected:
  ReopenSpeedTest() {
    const char* base = std::getenv("BRAID_TMP");
    path_ = std::string(base != nullptr ? base : "/tmp") + "/braid-reopen-XXXXXX";
    EXPECT_NE(::mkdtemp(path_.data()), nullptr);
    options_.pool.chunk_bytes = 16 << 10;
    options_.pool.initial_bytes = 16 << 20;
    options_.memtable.bytes = 128 << 10;
    options_.log.shards = 4;
    options_.compaction.l0_trigger = 32;  // L0 stays until Compact
    options_.compaction.l0_slowdown = 40;
    options_.lists.count_visits = true;
    options_.background_threads = false;  // until the crash, so that a copy of the files is one
  }
  ~ReopenSpeedTest() override {
    db_.reset();
    std::filesystem::remove_all(path_);
  }
  void Open() {
    db_.reset();
    Result<std::unique_ptr<DB>> db = DB::Open(options_, path_);
    ASSERT_TRUE(db.ok()) << db.status().ToString();
    db_ = std::move(db).value();
  }
  /// What a process that died now would have left.
  void Crash() {
    std::filesystem::copy(path_, path_ + "-left");
    db_.reset();
    std::filesystem::remove_all(path_);
    std::filesystem::rename(path_ + "-left", path_);
    options_.background_threads = true;
    Open();
    options_.background_threads = false;
    EXPECT_EQ(db_->GetStatistics().clean_open, 0u);
  }
  /// Each call writes from a thread, and so to a shard, of its own.
  void PutFromAnotherThread(const std::string& key, const std::string& value) {
    std::thread([&] { EXPECT_TRUE(db_->Put(key, value).ok()); }).join();
    model_[key] = value;
  }
  void Put(int first, int last, int step, const std::string& value) {
    for (int i = first; i < last; i += step) {
      const std::string key = "key" + std::to_string(i);
      ASSERT_TRUE(db_->Put(key, value).ok());
      model_[key] = value;
    }
  }
  void AwaitIndexes() {
    while (db_->GetStatistics().index_complete == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  uint64_t Visits() {
    const Statistics s = db_->GetStatistics();
    return s.upper_visits_local + s.upper_visits_remote + s.bottom_visits_local +
           s.bottom_visits_remote;
  }
  void ExpectModel() {
    std::string value;
    for (const auto& [key, expected] : model_) {
      const Status found = db_->Get(key, &value);
      ASSERT_TRUE(found.ok()) << key << ": " << found.ToString();
      ASSERT_EQ(value, expected) << key;
    }
    const auto it = db_->NewIterator({});
    auto at = model_.begin();
    for (it->SeekToFirst(); it->Valid(); it->Next(), ++at) {
      ASSERT_NE(at, model_.end());
      ASSERT_EQ(it->key(), at->first);
      ASSERT_EQ(it->value(), at->second);
    }
    EXPECT_EQ(at, model_.end());
    VerifyReport report;
    EXPECT_TRUE(db_->Verify(&report).ok());
    for (const std::string& problem : report.problems) ADD_FAILURE() << problem;
  }

  std::string path_;
  Options options_;
  std::unique_ptr<DB> db_;
  Model model_;
};

TEST_F(ReopenSpeedTest, TablesOfL0AreIndexedToo) {
  Open();
  Put(0, 20'000, 1, "first");
  ASSERT_TRUE(db_->Compact().ok());
  std::vector<std::shared_ptr<const Snapshot>> snapshots;
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 100; ++i) {  // more versions than lie between two tall towers
      Put(777, 778, 1, "hot" + std::to_string(round) + "," + std::to_string(i));
      snapshots.push_back(db_->GetSnapshot());
    }
    Put(round, 20'000, 7, "round" + std::to_string(round));
    for (int i = round; i < 20'000; i += 501) {
      ASSERT_TRUE(db_->Delete("key" + std::to_string(i)).ok());
      model_.erase("key" + std::to_string(i));
    }
    ASSERT_TRUE(db_->Flush().ok());
  }
  snapshots.clear();
  Crash();
  AwaitIndexes();
  EXPECT_GE(db_->GetStatistics().l0_tables, 5u);
  EXPECT_EQ(db_->GetStatistics().index_entries, 20'000u);
  std::string value;
  for (const auto& [key, expected] : model_) {
    ASSERT_TRUE(db_->Get(key, &value).ok()) << key;
    ASSERT_EQ(value, expected) << key;
  }
  EXPECT_EQ(Visits(), 0u) << "a get went through a list";
  ExpectModel();
  ASSERT_TRUE(db_->Compact().ok());
  ExpectModel();
}

TEST_F(ReopenSpeedTest, WithoutRoomInTheBudgetTablesOfL0StayWithoutIndex) {
  options_.memory_budget_bytes = 2 << 20;
  options_.memtable.bytes = 1 << 20;
  Open();
  Put(0, 60'000, 1, "first");
  ASSERT_TRUE(db_->Compact().ok());
  Put(0, 60'000, 1, "second");
  ASSERT_TRUE(db_->Flush().ok());
  Crash();
  AwaitIndexes();
  EXPECT_LE(db_->GetStatistics().memory_bytes, options_.memory_budget_bytes);
  ExpectModel();
}

TEST_F(ReopenSpeedTest, ManyThreadsReplayWhatManyShardsHold) {
  options_.memtable.bytes = 64 << 20;  // all of it stays in the log
  const auto keys = std::vector<std::function<std::string(int)>>{
      [](int i) { return std::to_string(i * 7919 % 5000); },         // of any length
      [](int i) { return "a-common-prefix-" + std::to_string(i); },  // the heads lie behind it
      // Heads that say nothing: keys are divided by their hash.
      [](int i) { return std::string(i == 0 ? "x" : "") + "000000000000" + std::to_string(i); },
      [](int i) { return std::string(static_cast<size_t>(i % 40), '\0'); },
  };
  for (const auto& key_of : keys) {
    Open();
    auto clear = db_->NewIterator({});
    for (clear->SeekToFirst(); clear->Valid(); clear->Next()) {
      ASSERT_TRUE(db_->Delete(clear->key()).ok());
    }
    clear.reset();
    model_.clear();
    ASSERT_TRUE(db_->Compact().ok());
    for (int i = 0; i < 2500; ++i) {
      PutFromAnotherThread(key_of(i % 1700), std::string(100, 'v') + std::to_string(i));
    }
    Crash();
    EXPECT_EQ(db_->GetStatistics().recovered_entries, 2500u);
    ExpectModel();
    ASSERT_TRUE(db_->Close().ok());
    db_.reset();
  }
}

}  // namespace
}  // namespace braid
