// Both sides of the file "readers", each with a mapping of its own, step by step.
#include "media/reader_slots.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <memory>
#include <thread>

#include "media/file_media.h"
#include "support/temp_folder.h"

namespace braid::media {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ReaderSlotsTest : public ::testing::Test {
 protected:
  ReaderSlotsTest() : pool_(folder_.Sub("pool")) { ::alarm(120); }
  ~ReaderSlotsTest() override { ::alarm(0); }

  /// A process that writes: it has the lock, and answers as the test says.
  void StartWriter() {
    Result<std::unique_ptr<Media>> media = OpenFileMedia(pool_, {}, true);
    ASSERT_TRUE(media.ok()) << media.status().ToString();
    media_ = std::move(media).value();
    std::shared_ptr<ReadersFile> file = media_->AnswerReaders();
    ASSERT_NE(file, nullptr);
    writer_ = WriterSlots(std::move(file));
  }
  /// Asks in another thread, since the answer comes from here.
  void Ask(milliseconds patience = seconds(60)) {
    reader_.reset();
    asked_ = Status::OK();
    has_answer_ = false;
    asking_ = std::thread([this, patience] {
      auto slot = ReaderSlot::Ask(pool_, ReaderSlot::Clock::now() + patience);
      asked_ = slot.status();
      if (slot.ok()) reader_ = std::move(slot).value();
      has_answer_ = true;
    });
  }
  void AwaitAsker() {
    while (!writer_.HasNewAskers() || !writer_.NoteAskers()) {
      std::this_thread::sleep_for(milliseconds(1));
    }
  }
  void Granted(uint64_t tables = 7, uint64_t sequence = 70) {
    Ask();
    AwaitAsker();
    writer_.GrantNoted(tables, sequence);
    asking_.join();
    ASSERT_NE(reader_, nullptr) << asked_.ToString();
  }

  test::TempFolder folder_;
  const std::string pool_;
  std::unique_ptr<Media> media_;
  WriterSlots writer_;
  std::unique_ptr<ReaderSlot> reader_;
  Status asked_;
  std::atomic<bool> has_answer_{false};
  std::thread asking_;
};

TEST_F(ReaderSlotsTest, AReaderIsToldWhatItMayRead) {
  StartWriter();
  EXPECT_FALSE(writer_.NoteAskers());
  EXPECT_FALSE(writer_.AnyGranted());
  Granted(7, 70);
  EXPECT_EQ(reader_->tables(), 7u);
  EXPECT_EQ(reader_->sequence(), 70u);
  EXPECT_TRUE(writer_.AnyGranted());
  EXPECT_FALSE(writer_.HasNewAskers());
  const ReaderSlot::Call call(reader_.get());
  EXPECT_TRUE(call.began());
  EXPECT_TRUE(call.holds());
}

TEST_F(ReaderSlotsTest, WhoAsksAfterTheFlushIsNotGrantedItsTables) {
  StartWriter();
  Ask();
  while (!writer_.HasNewAskers()) std::this_thread::sleep_for(milliseconds(1));
  writer_.GrantNoted(7, 70);  // nobody was noted
  EXPECT_FALSE(writer_.AnyGranted());
  AwaitAsker();
  EXPECT_TRUE(writer_.AnyNotedWaits());
  writer_.GrantNoted(8, 80);
  asking_.join();
  ASSERT_NE(reader_, nullptr);
  EXPECT_EQ(reader_->tables(), 8u);
  EXPECT_FALSE(writer_.AnyNotedWaits());
}

TEST_F(ReaderSlotsTest, ACallThatARevocationMeetsDoesNotCountAndIsWaitedFor) {
  StartWriter();
  Granted();
  auto call = std::make_unique<ReaderSlot::Call>(reader_.get());
  EXPECT_TRUE(call->holds());
  EXPECT_TRUE(writer_.IsQuiet()) << "of those that are granted nobody waits";
  writer_.RevokeAll();
  EXPECT_FALSE(call->holds());
  EXPECT_FALSE(writer_.IsQuiet());
  {
    const ReaderSlot::Call late(reader_.get());
    EXPECT_FALSE(late.began());
    EXPECT_FALSE(late.holds());
  }
  call.reset();
  EXPECT_TRUE(writer_.IsQuiet());
  EXPECT_FALSE(writer_.AnyGranted());
}

TEST_F(ReaderSlotsTest, ACallUnderWayIsWaitedForThoughItsHandleIsClosed) {
  StartWriter();
  Granted();
  auto call = std::make_unique<ReaderSlot::Call>(reader_.get());
  reader_->Release();
  EXPECT_FALSE(call->holds());
  EXPECT_FALSE(writer_.AnyGranted());
  EXPECT_FALSE(writer_.IsQuiet());
  call.reset();
  EXPECT_TRUE(writer_.IsQuiet());
}

TEST_F(ReaderSlotsTest, AnAnswerThatComesLateIsNotTakenByTheNextReader) {
  StartWriter();
  // With more patience each time, until it has not yet given up when the writer looks.
  bool noted = false;
  for (milliseconds patience(30); !noted; patience *= 2) {
    Ask(patience);
    while (!noted && !has_answer_) {
      noted = writer_.HasNewAskers() && writer_.NoteAskers();
      std::this_thread::sleep_for(milliseconds(1));
    }
    asking_.join();  // it has given up
    ASSERT_TRUE(asked_.IsBusy()) << asked_.ToString();
  }
  EXPECT_FALSE(writer_.AnyNotedWaits());
  Ask();  // takes the same slot
  while (!writer_.HasNewAskers()) std::this_thread::sleep_for(milliseconds(1));
  writer_.GrantNoted(1, 10);  // meant for the first one
  EXPECT_FALSE(writer_.AnyGranted());
  AwaitAsker();
  writer_.GrantNoted(2, 20);
  asking_.join();
  ASSERT_NE(reader_, nullptr);
  EXPECT_EQ(reader_->tables(), 2u);
}

TEST_F(ReaderSlotsTest, WhoWaitsInVainIsToldWhy) {
  StartWriter();
  for (const auto& [what, text] : std::vector<std::pair<GrantWaitsFor, std::string>>{
           {GrantWaitsFor::kWriter, "does not answer"},
           {GrantWaitsFor::kFlush, "flush"},
           {GrantWaitsFor::kMerge, "merge"},
           {GrantWaitsFor::kFullL0, "L0 is nearly full"},
           {GrantWaitsFor::kFailure, "error"}}) {
    writer_.Tell(what);
    Ask(milliseconds(20));
    asking_.join();
    EXPECT_TRUE(asked_.IsBusy());
    EXPECT_NE(asked_.ToString().find(text), std::string::npos) << asked_.ToString();
  }
}

TEST_F(ReaderSlotsTest, WhoseWriterEndsWhileItWaitsIsToldToTryAgain) {
  StartWriter();
  Ask();
  AwaitAsker();
  media_->Unlock();
  asking_.join();
  EXPECT_TRUE(asked_.IsTryAgain()) << asked_.ToString();
  StartWriter();
  Ask();
  AwaitAsker();
  writer_.RevokeAll();  // another writer has come, or this one can't wait
  asking_.join();
  EXPECT_TRUE(asked_.IsTryAgain()) << asked_.ToString();
}

TEST_F(ReaderSlotsTest, AReaderThatWasKilledInACallIsInNobodysWay) {
  StartWriter();
  int ready[2];
  ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    media_.reset();  // its lock would stay with this process
    writer_ = WriterSlots();
    auto slot = ReaderSlot::Ask(pool_, ReaderSlot::Clock::now() + seconds(60));
    if (!slot.ok()) ::_exit(1);
    const ReaderSlot::Call call(slot->get());
    (void)!::write(ready[1], "x", 1);
    for (;;) ::pause();
  }
  AwaitAsker();
  writer_.GrantNoted(7, 70);
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_TRUE(writer_.AnyGranted());
  writer_.RevokeAll();
  EXPECT_FALSE(writer_.IsQuiet());
  // The next writer names it.
  media_.reset();
  const Status busy = OpenFileMedia(pool_, {}, false).status();
  EXPECT_TRUE(busy.IsBusy());
  EXPECT_NE(busy.ToString().find("process " + std::to_string(child)), std::string::npos)
      << busy.ToString();
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(writer_.IsQuiet());
  StartWriter();
  Granted();  // the slot is free, and its count restarts
  writer_.RevokeAll();
  EXPECT_TRUE(writer_.IsQuiet());
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(ReaderSlotsTest, TheNextWriterTakesBackWhatItFinds) {
  StartWriter();
  Granted();
  media_.reset();  // without a word
  EXPECT_TRUE(reader_->granted()) << "nobody stores to the pool";
  StartWriter();
  EXPECT_FALSE(reader_->granted());
  EXPECT_FALSE(writer_.AnyGranted());
}

TEST_F(ReaderSlotsTest, ThereIsRoomForAsManyAsItSays) {
  StartWriter();
  auto others = ReadersFile::Open(pool_);
  ASSERT_TRUE(others.ok());
  for (uint32_t i = 0; i < kReaderSlots; ++i) {
    ASSERT_TRUE((*others)->Lock(i));
    EXPECT_TRUE(ReadersFile::Open(pool_).value()->IsLocked(i));
  }
  Ask();
  asking_.join();
  EXPECT_TRUE(asked_.IsBusy());
  EXPECT_NE(asked_.ToString().find(std::to_string(kReaderSlots)), std::string::npos);
  others->reset();
  Granted();
}

TEST_F(ReaderSlotsTest, WhateverTheFileHoldsHindersNobody) {
  StartWriter();
  for (const int byte : {0xFF, 0xAA, 0x55, 0x02, 0x01, 0x03}) {
    reader_.reset();
    media_.reset();
    writer_ = WriterSlots();
    std::ofstream(pool_ + "/readers", std::ios::binary)
        << std::string(4096, static_cast<char>(byte));
    StartWriter();
    EXPECT_FALSE(writer_.NoteAskers());
    EXPECT_FALSE(writer_.AnyGranted());
    EXPECT_TRUE(writer_.IsQuiet());
    Granted();
    const ReaderSlot::Call call(reader_.get());
    EXPECT_TRUE(call.holds());
    writer_.RevokeAll();
    EXPECT_FALSE(call.holds());
  }
}

TEST_F(ReaderSlotsTest, AFileThatIsNoneIsNobodysPlace) {
  StartWriter();
  media_.reset();
  const std::string path = pool_ + "/readers";
  std::ofstream(path, std::ios::binary) << "short";
  EXPECT_TRUE(ReadersFile::Open(pool_).status().IsNotFound());
  StartWriter();  // makes it whole
  Granted();
  reader_.reset();
  media_.reset();
  for (const auto& make :
       std::vector<std::function<int()>>{[&] { return ::mkdir(path.c_str(), 0700); },
                                         [&] { return ::symlink("/dev/zero", path.c_str()); },
                                         [&] { return ::mkfifo(path.c_str(), 0600); }}) {
    ASSERT_EQ(::remove(path.c_str()), 0);
    ASSERT_EQ(make(), 0);
    Result<std::unique_ptr<Media>> media = OpenFileMedia(pool_, {}, false);
    ASSERT_TRUE(media.ok()) << media.status().ToString();
    EXPECT_EQ((*media)->AnswerReaders(), nullptr);
    EXPECT_TRUE(ReadersFile::Open(pool_).status().IsNotFound());
  }
}

}  // namespace
}  // namespace braid::media
