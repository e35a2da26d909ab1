// A database that is opened while another handle writes: what a revocation does to it in each
// phase, and what the writer does when readers do not let go. The writer is the test, where a phase
// must be held.
#include "db/concurrent_reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "format/manifest.h"
#include "media/file_media.h"
#include "support/database.h"
#include "support/temp_folder.h"

namespace braid {
namespace {

using media::ReaderSlot;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::HasCode;

class ConcurrentReaderTest : public ::testing::Test {
 protected:
  ConcurrentReaderTest() : path_(folder_.Sub("pool")), options_(test::TinyOptions()) {
    ::alarm(600);
    concurrent_reader_patience = seconds(3600);  // the alarm ends what is not answered
  }
  ~ConcurrentReaderTest() override {
    concurrent_reader_patience = default_patience_;
    ::alarm(0);
  }
  /// Opens to read until the refusal says why: a writer that is slow to answer is no reason yet.
  Status ReasonOfRefusal() {
    concurrent_reader_patience = default_patience_;
    for (;;) {
      const Status status = DB::Open(ReadOnly(), path_).status();
      if (status.ToString().find("does not answer") == std::string::npos) return status;
    }
  }

  Options ReadOnly() const {
    Options options = options_;
    options.read_only = true;
    return options;
  }
  /// A pool with one key, closed.
  void MakePool() {
    const auto db = test::OpenOrFail(options_, path_);
    ASSERT_NE(db, nullptr);
    BRAID_ASSERT_OK(db->Put("key", "value"));
    BRAID_ASSERT_OK(db->Close());
  }
  /// The test writes to the pool from here on.
  void StartWriter() {
    Result<std::unique_ptr<media::Media>> media = media::OpenFileMedia(path_, {}, false);
    ASSERT_TRUE(media.ok()) << media.status().ToString();
    media_ = std::move(media).value();
    writer_ = media::WriterSlots(media_->AnswerReaders());
  }
  void OpenBeside() {
    opening_ = std::thread([this] {
      auto opened = DB::Open(ReadOnly(), path_);
      opened_ = opened.status();
      if (opened.ok()) reader_ = std::move(opened).value();
      is_opened_ = true;
    });
  }
  /// Or the end of the open.
  void AwaitAsker() {
    while (!is_opened_ && (!writer_.HasNewAskers() || !writer_.NoteAskers())) {
      std::this_thread::sleep_for(milliseconds(1));
    }
  }
  /// All tables of the closed pool.
  void Grant() { writer_.GrantNoted(format::kMaxId - 1, format::kMaxSequence); }

  const seconds default_patience_ = concurrent_reader_patience;

  test::TempFolder folder_;
  const std::string path_;
  Options options_;
  std::unique_ptr<media::Media> media_;
  media::WriterSlots writer_;
  std::unique_ptr<DB> reader_;
  Status opened_;
  std::thread opening_;
  std::atomic<bool> is_opened_{false};
};

TEST_F(ConcurrentReaderTest, AnOpenThatIsRefusedOrTakenBackAsksAgain) {
  MakePool();
  StartWriter();
  OpenBeside();
  AwaitAsker();
  writer_.RevokeAll();  // while it asks
  // While it maps the pool, or reads the manifest, or when it has just done so.
  for (int micros = 0; micros < 3000 && !is_opened_; micros += 1 + micros / 2) {
    AwaitAsker();
    Grant();
    std::this_thread::sleep_for(std::chrono::microseconds(micros));
    writer_.RevokeAll();
  }
  AwaitAsker();
  Grant();
  opening_.join();
  BRAID_ASSERT_OK(opened_);
  const std::string got = test::GetText(reader_.get(), "key");
  EXPECT_TRUE(got == "value" || got.find("revoked") != std::string::npos) << got;
  while (!writer_.IsQuiet()) std::this_thread::sleep_for(milliseconds(1));
}

TEST_F(ConcurrentReaderTest, AnOpenGoesOnWithoutTheWriterThatEndsWhileItAsks) {
  MakePool();
  StartWriter();
  OpenBeside();
  AwaitAsker();
  media_.reset();
  opening_.join();
  BRAID_ASSERT_OK(opened_);
  EXPECT_EQ(test::GetText(reader_.get(), "key"), "value");
  writer_.RevokeAll();
  EXPECT_EQ(test::GetText(reader_.get(), "key"), "value") << "it has the pool alone";
}

TEST_F(ConcurrentReaderTest, AWriterThatDoesNotAnswerIsWaitedForForAMoment) {
  MakePool();
  StartWriter();
  concurrent_reader_patience = default_patience_;
  const auto begin = std::chrono::steady_clock::now();
  const Status status = DB::Open(ReadOnly(), path_).status();
  EXPECT_TRUE(HasCode(status, Status::Code::kBusy));
  EXPECT_NE(status.ToString().find("does not answer"), std::string::npos) << status.ToString();
  const auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(took, default_patience_);
}

TEST_F(ConcurrentReaderTest, AManifestThatIsJustBeingWrittenIsReadAgain) {
  MakePool();
  StartWriter();
  const int fd = ::open((path_ + "/segment-000000").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  std::string copies[2];
  for (int i = 0; i < 2; ++i) {
    copies[i].resize(sizeof(format::ManifestRecord));
    const auto at = static_cast<off_t>(format::kManifestOffset[i]);
    ASSERT_EQ(::pread(fd, copies[i].data(), copies[i].size(), at),
              static_cast<ssize_t>(copies[i].size()));
    std::string torn = copies[i];
    torn[100] = static_cast<char>(~torn[100]);
    ASSERT_EQ(::pwrite(fd, torn.data(), torn.size(), at), static_cast<ssize_t>(torn.size()));
  }
  OpenBeside();
  AwaitAsker();
  Grant();
  std::this_thread::sleep_for(milliseconds(200));
  const auto at = static_cast<off_t>(format::kManifestOffset[1]);
  ASSERT_EQ(::pwrite(fd, copies[1].data(), copies[1].size(), at),
            static_cast<ssize_t>(copies[1].size()));
  opening_.join();
  BRAID_ASSERT_OK(opened_);
  EXPECT_EQ(test::GetText(reader_.get(), "key"), "value");
  // The reader has changed nothing: the copy that is torn is torn still.
  std::string now(copies[0].size(), 0);
  ASSERT_EQ(::pread(fd, now.data(), now.size(), static_cast<off_t>(format::kManifestOffset[0])),
            static_cast<ssize_t>(now.size()));
  EXPECT_NE(now, copies[0]);
  ::close(fd);
}

TEST_F(ConcurrentReaderTest, WhatIsTakenBackBetweenCallsSaysWhatToDo) {
  MakePool();
  StartWriter();
  OpenBeside();
  AwaitAsker();
  Grant();
  opening_.join();
  BRAID_ASSERT_OK(opened_);
  const auto it = reader_->NewIterator({});
  it->SeekToFirst();
  ASSERT_TRUE(it->Valid());
  writer_.RevokeAll();
  EXPECT_EQ(it->key(), "key");  // what was read before is there still
  EXPECT_EQ(it->value(), "value");
  it->Next();
  EXPECT_FALSE(it->Valid());
  EXPECT_TRUE(HasCode(it->status(), Status::Code::kTryAgain));
  std::string value;
  PinnedValue pinned;
  std::vector<std::string> values;
  const Slice keys[] = {"key", "other"};
  const std::vector<Status> many = reader_->MultiGet(keys, &values);
  for (const Status& status :
       {reader_->Get("key", &value), reader_->GetPinned("key", &pinned), many[0], many[1]}) {
    EXPECT_TRUE(HasCode(status, Status::Code::kTryAgain));
    EXPECT_NE(status.ToString().find("open the pool again"), std::string::npos);
  }
  EXPECT_EQ(values, std::vector<std::string>(2));
  EXPECT_TRUE(reader_->GetProperty("braid.stats", &value)) << "that is of this handle alone";
  BRAID_EXPECT_OK(reader_->Close());
  EXPECT_TRUE(reader_->Get("key", &value).IsClosed());
  EXPECT_TRUE(writer_.IsQuiet());
}

TEST_F(ConcurrentReaderTest, AFullL0IsAReasonNotToWaitWithMerges) {
  options_.compaction.kind = MergeKind::kNone;
  const auto db = test::OpenOrFail(options_, path_);
  ASSERT_NE(db, nullptr);
  for (int i = 0; i < 8; ++i) {
    BRAID_ASSERT_OK(db->Put("key", std::to_string(i)));
    BRAID_ASSERT_OK(db->Flush());
  }
  const Status status = ReasonOfRefusal();
  EXPECT_TRUE(HasCode(status, Status::Code::kBusy));
  EXPECT_NE(status.ToString().find("L0 is nearly full"), std::string::npos) << status.ToString();
  BRAID_EXPECT_OK(db->Put("key", "after"));
}

TEST_F(ConcurrentReaderTest, WithoutBackgroundThreadsNobodyAnswersAndNobodyWaits) {
  options_.background_threads = false;
  const auto db = test::OpenOrFail(options_, path_);
  ASSERT_NE(db, nullptr);
  // It need not wait: the alarm would come before its patience ended.
  const Status status = DB::Open(ReadOnly(), path_).status();
  EXPECT_TRUE(HasCode(status, Status::Code::kBusy));
  EXPECT_NE(status.ToString().find("background threads"), std::string::npos) << status.ToString();
}

TEST_F(ConcurrentReaderTest, MergesWaitForAReaderUntilL0Fills) {
  const auto db = test::OpenOrFail(options_, path_);
  ASSERT_NE(db, nullptr);
  BRAID_ASSERT_OK(db->Put("key", "value"));
  const auto reader = test::OpenOrFail(ReadOnly(), path_);
  ASSERT_NE(reader, nullptr);
  const uint64_t merges = db->GetStatistics().merges;
  // As many tables as may wait: what there is, and one less than half of those that slow down.
  const uint64_t most = options_.compaction.l0_slowdown / 2;
  uint64_t tables = db->GetStatistics().l0_tables;
  for (; tables + 1 < most; ++tables) {
    BRAID_ASSERT_OK(db->Put("key", std::to_string(tables)));
    BRAID_ASSERT_OK(db->Flush());
  }
  std::this_thread::sleep_for(milliseconds(200));
  EXPECT_EQ(db->GetStatistics().merges, merges);
  EXPECT_EQ(test::GetText(reader.get(), "key"), "value");
  // One more, and the writer goes on despite readers.
  BRAID_ASSERT_OK(db->Put("key", "last"));
  BRAID_ASSERT_OK(db->Flush());
  while (db->GetStatistics().merges == merges) std::this_thread::sleep_for(milliseconds(1));
  std::string value;
  EXPECT_TRUE(HasCode(reader->Get("key", &value), Status::Code::kTryAgain));
  EXPECT_EQ(test::GetText(db.get(), "key"), "last");
}

TEST_F(ConcurrentReaderTest, MergesGoOnWhenTheReaderCloses) {
  const auto db = test::OpenOrFail(options_, path_);
  ASSERT_NE(db, nullptr);
  BRAID_ASSERT_OK(db->Put("key", "value"));
  auto reader = test::OpenOrFail(ReadOnly(), path_);
  ASSERT_NE(reader, nullptr);
  const auto it = reader->NewIterator({});
  const uint64_t merges = db->GetStatistics().merges;
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_EQ(db->GetStatistics().merges, merges);
  BRAID_EXPECT_OK(reader->Close());  // its iterator is there still
  while (db->GetStatistics().l0_tables != 0) std::this_thread::sleep_for(milliseconds(1));
  it->SeekToFirst();
  EXPECT_FALSE(it->Valid());
  EXPECT_TRUE(it->status().IsClosed()) << it->status().ToString();
}

TEST_F(ConcurrentReaderTest, WhatACallIsReadingIsNotGivenOutAgainButTheWriterGoesOn) {
  auto db = test::OpenOrFail(options_, path_);
  ASSERT_NE(db, nullptr);
  const auto fill = [&](const std::string& value) {
    for (int i = 0; i < 2000; ++i) BRAID_ASSERT_OK(db->Put("key" + std::to_string(i), value));
  };
  fill(std::string(100, 'a'));
  BRAID_ASSERT_OK(db->Compact());  // logs that flushes have copied are given back before
  auto asked = ReaderSlot::Ask(path_, ReaderSlot::Clock::now() + seconds(60));
  ASSERT_TRUE(asked.ok()) << asked.status().ToString();
  auto call = std::make_unique<ReaderSlot::Call>(asked->get());
  ASSERT_TRUE(call->began());
  const uint64_t before = db->GetStatistics().collected_chunks;
  fill(std::string(100, 'b'));
  BRAID_ASSERT_OK(db->Compact());  // all that the call reads is obsolete now
  EXPECT_FALSE(call->holds());
  EXPECT_EQ(db->GetStatistics().collected_chunks, before);
  // Others may read, and close, meanwhile.
  {
    const auto reader = test::OpenOrFail(ReadOnly(), path_);
    ASSERT_NE(reader, nullptr);
    EXPECT_EQ(test::GetText(reader.get(), "key7"), std::string(100, 'b'));
  }
  BRAID_ASSERT_OK(db->Compact());
  EXPECT_EQ(db->GetStatistics().collected_chunks, before);
  // The next writer, too, gives nothing out before the call has ended.
  BRAID_ASSERT_OK(db->Close());
  const Status busy = DB::Open(options_, path_).status();
  EXPECT_TRUE(HasCode(busy, Status::Code::kBusy));
  EXPECT_NE(busy.ToString().find("hangs in a call"), std::string::npos) << busy.ToString();
  call.reset();
  db = test::OpenOrFail(options_, path_);
  ASSERT_NE(db, nullptr);
  EXPECT_EQ(test::GetText(db.get(), "key7"), std::string(100, 'b'));
  fill(std::string(100, 'c'));
  BRAID_ASSERT_OK(db->Compact());
  EXPECT_GT(db->GetStatistics().collected_chunks, 0u);
}

TEST_F(ConcurrentReaderTest, AFullPoolTakesBackWhatReadersHold) {
  options_.pool.max_bytes = 2ull << 20;
  const auto db = test::OpenOrFail(options_, path_);
  ASSERT_NE(db, nullptr);
  BRAID_ASSERT_OK(db->Put("key", "value"));
  const auto reader = test::OpenOrFail(ReadOnly(), path_);
  ASSERT_NE(reader, nullptr);
  // More than it holds, were nothing given back.
  for (int i = 0; i < 15'000; ++i) {
    BRAID_ASSERT_OK(db->Put("key" + std::to_string(i % 500), std::string(400, 'v')));
  }
  std::string value;
  EXPECT_TRUE(HasCode(reader->Get("key", &value), Status::Code::kTryAgain));
}

}  // namespace
}  // namespace braid
