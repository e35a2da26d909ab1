#include "lsm/reader_grants.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "support/store_parts.h"

namespace braid::lsm {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A reader of this process, concurrent with the store.
class ReaderGrantsTest : public ::testing::Test {
 protected:
  ReaderGrantsTest() {
    parts_.readers.Begin(media::WriterSlots(parts_.pool->media().AnswerReaders()));
    parts_.Put("a", "1");
    parts_.Flush();
  }
  ~ReaderGrantsTest() override {
    if (asking_.joinable()) asking_.join();
  }

  void Ask() {
    asking_ = std::thread([this] {
      auto slot =
          media::ReaderSlot::Ask(parts_.path(), media::ReaderSlot::Clock::now() + seconds(60));
      if (slot.ok()) reader_ = std::move(slot).value();
    });
    while (!parts_.readers.AnyAsks()) std::this_thread::sleep_for(milliseconds(1));
  }
  /// What the scheduler does for who asks; whether it was granted.
  bool Serve(bool finishing = false) {
    if (parts_.readers.WantSeal()) {
      const uint64_t newest = parts_.state().active->id();
      if (parts_.state().active->entries() != 0) parts_.SwitchMemTable();
      parts_.readers.AwaitFlush(newest);
    }
    if (!parts_.readers.MayGrant(finishing)) return false;
    parts_.readers.Grant();
    parts_.readers.EndRequest();
    asking_.join();
    return true;
  }

  test::StoreParts parts_;
  std::unique_ptr<media::ReaderSlot> reader_;
  std::thread asking_;
};

TEST_F(ReaderGrantsTest, NobodyAsksAndNothingIsHeld) {
  EXPECT_FALSE(parts_.readers.AnyAsks());
  EXPECT_FALSE(parts_.readers.WantSeal());
  EXPECT_FALSE(parts_.readers.Hold(true, 1));
  EXPECT_FALSE(parts_.readers.IsBusy());
}

TEST_F(ReaderGrantsTest, WhatWasWrittenUntilNowIsGrantedOnceItIsFlushed) {
  parts_.Put("b", "2");
  const uint64_t sequence = parts_.sequence.load();
  Ask();
  EXPECT_FALSE(Serve()) << "a memtable waits for its flush";
  EXPECT_TRUE(parts_.readers.IsBusy());
  while (parts_.FlushOldest().state == flush::Flusher::Outcome::State::kFlushed) {
  }
  EXPECT_TRUE(Serve());
  ASSERT_NE(reader_, nullptr);
  EXPECT_GE(reader_->sequence(), sequence);
  EXPECT_EQ(reader_->tables(), parts_.versions.Lock().flushed_table_id());
  EXPECT_TRUE(reader_->granted());
}

TEST_F(ReaderGrantsTest, MergesWaitWhileSomebodyReads) {
  Ask();
  ASSERT_TRUE(Serve());
  EXPECT_TRUE(parts_.readers.Hold(true, 1));
  EXPECT_FALSE(parts_.readers.Hold(true, 1000)) << "L0 is full: the tables are taken back";
  EXPECT_FALSE(reader_->granted());
  EXPECT_TRUE(parts_.readers.IsBusy()) << "until the calls of that time have ended";
  EXPECT_FALSE(parts_.readers.Hold(true, 1));
  EXPECT_FALSE(parts_.readers.IsBusy());
}

TEST_F(ReaderGrantsTest, WhoWaitsForMergesComesFirst) {
  Ask();
  EXPECT_FALSE(Serve(true)) << "it would be taken back at once";
  EXPECT_TRUE(Serve(false));
  EXPECT_FALSE(parts_.readers.Hold(/*may=*/false, 1));
  EXPECT_FALSE(reader_->granted());
}

TEST_F(ReaderGrantsTest, AMergeElsewhereTakesTheTablesBack) {
  Ask();
  ASSERT_TRUE(Serve());
  const uint64_t views = parts_.views->count();
  parts_.readers.Revoke();
  EXPECT_FALSE(reader_->granted());
  EXPECT_FALSE(parts_.readers.Hold(true, 1));
  EXPECT_LT(parts_.views->count(), views + 1);
}

}  // namespace
}  // namespace braid::lsm
