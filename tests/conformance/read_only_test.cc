// A pool that is opened read-only shows what an open for writing would show, and is not changed by
// that to the byte.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <functional>

#include "conformance.h"
#include "support/child_process.h"
#include "support/folder_state.h"

namespace braid::test {
namespace {

class ReadOnlyTest : public ConformanceTest {
 protected:
  Options ReadOnly() const {
    Options options = options_;
    options.read_only = true;
    return options;
  }
  /// Of all a store does: tables, merged and not, overwritten and deleted keys, a log.
  void Live() {
    Fill(0, 2000, 100);
    BRAID_ASSERT_OK(db_->Compact());
    Fill(500, 700, 120, "second ");
    for (uint64_t i = 0; i < 2000; i += 5) Delete(NumberedKey(i));
    BRAID_ASSERT_OK(db_->Flush());
    Fill(1500, 300, 80, "third ");
    Put("large", std::string(100'000, 'L'));
  }
  /// `work` is done by a process that ends without a close. The model gets it through a store that
  /// keeps nothing.
  void DoAndDie(const std::function<void()>& work) {
    if (db_ != nullptr) CloseDb();
    const ChildOutcome outcome = RunInChild(kSanitizer ? 300 : 60, [&](int) {
      db_ = OpenOrFail(options_, path_);
      if (db_ != nullptr) work();
      return HasFailure() ? 1 : 0;
    });
    ASSERT_EQ(outcome.exit_code, 0) << outcome.ToString();
    Options nothing = TinyOptions();
    nothing.design = "blackhole";
    db_ = OpenOrFail(nothing, folder_.Sub("nothing"));
    ASSERT_NE(db_, nullptr);
    work();
    CloseDb();
  }
  void CloseDb() {
    BRAID_ASSERT_OK(db_->Close());
    db_.reset();
  }
  static void ExpectSameByOtherCalls(DB* reader, const Model& want) {
    std::vector<Slice> keys;
    for (const auto& [key, unused] : want) keys.push_back(key);
    std::vector<std::string> values;
    const std::vector<Status> statuses = reader->MultiGet(keys, &values);
    ASSERT_EQ(statuses.size(), keys.size());
    for (size_t i = 0; i < keys.size(); ++i) {
      BRAID_EXPECT_OK(statuses[i]);
      EXPECT_EQ(values[i], want.at(std::string(keys[i]))) << keys[i];
    }
    if (!want.contains("large")) return;
    PinnedValue large;
    BRAID_EXPECT_OK(reader->GetPinned("large", &large));
    EXPECT_EQ(large.data(), want.at("large"));
  }
  /// Reads everything in every way, and finds the folder as it was.
  void ExpectReadAndUnchanged() {
    const FolderState before = StateOfFolder(path_);
    const std::unique_ptr<DB> reader = OpenOrFail(ReadOnly(), path_);
    ASSERT_NE(reader, nullptr);
    ExpectContent(reader.get(), model_);
    if (const auto snapshot = reader->GetSnapshot(); snapshot->status().ok()) {
      ExpectContent(reader.get(), model_, snapshot.get());
    }
    ExpectSameByOtherCalls(reader.get(), model_);
    ExpectVerified(reader.get());
    const Statistics statistics = reader->GetStatistics();
    EXPECT_LE(statistics.memory_bytes, statistics.memory_budget_bytes);
    std::string text;
    EXPECT_TRUE(reader->GetProperty("braid.stats.json", &text));
    BRAID_EXPECT_OK(reader->Close());
    EXPECT_EQ(FirstDifference(before, StateOfFolder(path_)), "");
  }
};
INSTANTIATE_TEST_SUITE_P(Designs, ReadOnlyTest, ::testing::ValuesIn(StoringSetups()), SetupName);

TEST_P(ReadOnlyTest, AClosedPoolIsReadAndStaysAsItIs) {
  Live();
  CloseDb();
  ExpectReadAndUnchanged();
  db_ = OpenOrFail(options_, path_);
  ASSERT_NE(db_, nullptr);
  EXPECT_EQ(db_->GetStatistics().clean_open, 1u) << "the mark of the clean close is gone";
  ExpectContent(db_.get(), model_);
}

TEST_P(ReadOnlyTest, APoolThatWasNotClosedIsRecoveredInMemoryAlone) {
  ASSERT_NO_FATAL_FAILURE(DoAndDie([this] { Live(); }));
  ExpectReadAndUnchanged();
  ExpectReadAndUnchanged();  // the second reader finds what the first one found
  db_ = OpenOrFail(options_, path_);
  ASSERT_NE(db_, nullptr);
  EXPECT_EQ(db_->GetStatistics().clean_open, 0u);
  ExpectContent(db_.get(), model_);
  ExpectVerified(db_.get());
}

TEST_P(ReadOnlyTest, WhateverAWriterHadDoneWhenItEnded) {
  if (!GetParam().tiny) GTEST_SKIP() << "tables are small where much happens";
  Random random(DeriveSeed(77));
  SCOPED_TRACE(ReplayLine());
  for (uint64_t round = 0; round < 8; ++round) {
    const uint64_t seed = random.Next();
    ASSERT_NO_FATAL_FAILURE(DoAndDie([this, round, seed] {
      Random own(seed);
      Fill(own.Below(800), own.Between(20, 400), 90, "round " + std::to_string(round) + " ");
      if (own.OneIn(3)) Delete(NumberedKey(own.Below(800)));
      if (own.OneIn(4)) {
        BRAID_ASSERT_OK(db_->Flush());
      }
      if (own.OneIn(3)) Put("large" + std::to_string(round), std::string(60'000, 'L'));
    }));
    ExpectReadAndUnchanged();
    if (HasFailure()) return;
  }
}

TEST_P(ReadOnlyTest, AnEmptyPoolIsReadToo) {
  CloseDb();
  ExpectReadAndUnchanged();
}

TEST_P(ReadOnlyTest, WritesAreNotSupportedAndSayWhy) {
  Fill(0, 10, 20);
  CloseDb();
  const std::unique_ptr<DB> reader = OpenOrFail(ReadOnly(), path_);
  ASSERT_NE(reader, nullptr);
  WriteBatch batch;
  batch.Put("b", "v");
  const auto expect_refused = [&](Status::Code code) {
    for (const Status& status :
         {reader->Put("k", "v"), reader->Delete("k"), reader->Write(batch), reader->Flush(),
          reader->Compact(), reader->CompareAndSwap("k", std::nullopt, "v").status(),
          reader->PutIfAbsent({}, "k", "v").status()}) {
      EXPECT_TRUE(HasCode(status, code));
      if (code == Status::Code::kNotSupported) {
        EXPECT_NE(status.message().find("read-only"), std::string::npos) << status.ToString();
      }
    }
  };
  expect_refused(Status::Code::kNotSupported);
  ExpectContent(reader.get(), model_);
  const auto it = reader->NewIterator({});
  it->SeekToFirst();
  EXPECT_TRUE(it->Valid());
  BRAID_ASSERT_OK(reader->Close());
  EXPECT_FALSE(it->Valid());
  EXPECT_TRUE(it->status().IsClosed());
  EXPECT_TRUE(reader->Close().IsClosed());
  expect_refused(Status::Code::kClosed);
}

TEST_P(ReadOnlyTest, AnyNumberReadAtOnceAndNobodyWritesMeanwhile) {
  Fill(0, 300, 60);
  CloseDb();
  const std::unique_ptr<DB> first = OpenOrFail(ReadOnly(), path_);
  const std::unique_ptr<DB> second = OpenOrFail(ReadOnly(), path_);
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  ExpectContent(first.get(), model_);
  ExpectContent(second.get(), model_);
  const auto facts = DB::Inspect(path_);
  ASSERT_TRUE(facts.ok()) << facts.status().ToString();
  EXPECT_TRUE(facts.value().in_use);
  EXPECT_TRUE(facts.value().in_use_for_reading);
  EXPECT_EQ(facts.value().in_use_by_pid, ::getpid());
  for (const Status& status : {DB::Open(options_, path_).status(), DB::Destroy(path_)}) {
    EXPECT_TRUE(HasCode(status, Status::Code::kBusy));
    EXPECT_NE(status.message().find(std::to_string(::getpid())), std::string::npos)
        << status.ToString();
  }
  BRAID_ASSERT_OK(first->Close());
  EXPECT_TRUE(HasCode(DB::Open(options_, path_).status(), Status::Code::kBusy));
  BRAID_ASSERT_OK(second->Close());
  db_ = OpenOrFail(options_, path_);
  ASSERT_NE(db_, nullptr);
  ExpectContent(db_.get(), model_);
  const auto open = DB::Inspect(path_);
  ASSERT_TRUE(open.ok());
  EXPECT_TRUE(open.value().in_use);
  EXPECT_FALSE(open.value().in_use_for_reading);
}

TEST_P(ReadOnlyTest, BesideAWriterThatDoesNotAnswerAReaderIsToldWhatToDo) {
  if (Has(&Capabilities::concurrent_readers) && GetParam().background) GTEST_SKIP();
  Fill(0, 10, 20);
  const Status status = DB::Open(ReadOnly(), path_).status();
  EXPECT_TRUE(HasCode(status, Status::Code::kBusy));
  for (const std::string& word : {std::string("for writing in process"), std::to_string(::getpid()),
                                  std::string("checkpoint")}) {
    EXPECT_NE(status.message().find(word), std::string::npos) << status.ToString();
  }
  Put("after", "v");  // the try has not disturbed the writer
  ExpectContent(db_.get(), model_);
}

TEST_P(ReadOnlyTest, BesideAWriterAReaderSeesTheStateOfItsOpenUntilMergesTakeItBack) {
  BRAID_NEEDS(concurrent_readers);
  if (!GetParam().background) GTEST_SKIP() << "nobody answers";
  Fill(0, 3000, 100);
  // Few tables in L0, however slow merges are: the reader is not to be taken back by what follows.
  BRAID_ASSERT_OK(db_->Compact());
  Fill(1000, 300, 100, "second ");
  Put("large", std::string(100'000, 'L'));
  const std::unique_ptr<DB> reader = OpenOrFail(ReadOnly(), path_);
  ASSERT_NE(reader, nullptr);
  const Model then = model_;
  ExpectContent(reader.get(), then);
  const auto it = reader->NewIterator({});
  it->SeekToFirst();
  ASSERT_TRUE(it->Valid());
  Put("key00000000", "new");
  Delete(NumberedKey(5));
  BRAID_ASSERT_OK(db_->Flush());  // goes on while merges wait
  ExpectContent(reader.get(), then);
  ExpectSameByOtherCalls(reader.get(), then);
  VerifyReport report;
  EXPECT_TRUE(HasCode(reader->Verify(&report), Status::Code::kNotSupported));
  EXPECT_TRUE(HasCode(reader->Put("k", "v"), Status::Code::kNotSupported));

  BRAID_ASSERT_OK(db_->Compact());
  std::string value;
  EXPECT_TRUE(HasCode(reader->Get("key00000000", &value), Status::Code::kTryAgain));
  it->Next();
  EXPECT_FALSE(it->Valid());
  EXPECT_TRUE(HasCode(it->status(), Status::Code::kTryAgain));
  ExpectContent(db_.get(), model_);

  const std::unique_ptr<DB> again = OpenOrFail(ReadOnly(), path_);
  ASSERT_NE(again, nullptr);
  ExpectContent(again.get(), model_);
  // Without a merge the reader goes on when the writer has closed, and another one takes all back.
  CloseDb();
  db_ = OpenOrFail(options_, path_);
  ASSERT_NE(db_, nullptr);
  EXPECT_TRUE(HasCode(again->Get("key00000000", &value), Status::Code::kTryAgain));
  BRAID_EXPECT_OK(again->Close());
  EXPECT_TRUE(again->Get("key00000000", &value).IsClosed());
  ExpectContent(db_.get(), model_);
  ExpectVerified(db_.get());
}

TEST_P(ReadOnlyTest, WithoutItsLockFileAPoolIsLockedAsWell) {
  Fill(0, 100, 60);
  CloseDb();
  ASSERT_EQ(::unlink((path_ + "/lock").c_str()), 0);
  ExpectReadAndUnchanged();
  EXPECT_NE(::access((path_ + "/lock").c_str(), F_OK), 0);
  const std::unique_ptr<DB> reader = OpenOrFail(ReadOnly(), path_);
  ASSERT_NE(reader, nullptr);
  const Status status = DB::Open(options_, path_).status();
  EXPECT_TRUE(HasCode(status, Status::Code::kBusy));
  EXPECT_NE(status.message().find("for reading in process " + std::to_string(::getpid())),
            std::string::npos)
      << status.ToString();
  EXPECT_TRUE(HasCode(DB::Destroy(path_), Status::Code::kBusy));
  ExpectContent(reader.get(), model_);
}

TEST_P(ReadOnlyTest, APoolThatIsNotThereIsNotMade) {
  const std::string missing = folder_.Sub("missing");
  EXPECT_TRUE(HasCode(DB::Open(ReadOnly(), missing).status(), Status::Code::kNotFound));
  EXPECT_NE(::access(missing.c_str(), F_OK), 0);
  ASSERT_EQ(::mkdir(missing.c_str(), 0700), 0);
  EXPECT_TRUE(HasCode(DB::Open(ReadOnly(), missing).status(), Status::Code::kNotFound));
  EXPECT_EQ(StateOfFolder(missing).size(), 1u);
  Options both = ReadOnly();
  both.error_if_exists = true;
  EXPECT_TRUE(HasCode(DB::Open(both, path_).status(), Status::Code::kInvalidArgument));
}

/// What a child says of a pool that it may only read: "" when all is well.
std::string ReadInChild(const Options& options, const std::string& path, const Model& model) {
  Result<std::unique_ptr<DB>> opened = DB::Open(options, path);
  if (!opened.ok()) return "open: " + opened.status().ToString();
  const ::testing::AssertionResult same = SamePairs(ScanForward(opened.value().get()), model);
  if (!same) return same.message();
  VerifyReport report;
  const Status verified = opened.value()->Verify(&report);
  if (!verified.ok()) return "verify: " + verified.ToString();
  const Status closed = opened.value()->Close();
  return closed.ok() ? "" : "close: " + closed.ToString();
}

TEST_P(ReadOnlyTest, FilesThatThisUserMayOnlyReadAreEnough) {
  ASSERT_NO_FATAL_FAILURE(DoAndDie([this] { Live(); }));
  std::filesystem::permissions(folder_.path(), std::filesystem::perms(0755));
  std::filesystem::permissions(path_, std::filesystem::perms(0555));
  for (const auto& entry : std::filesystem::directory_iterator(path_)) {
    std::filesystem::permissions(entry.path(), std::filesystem::perms(0444));
  }
  const FolderState before = StateOfFolder(path_);
  const ChildOutcome outcome = RunInChild(60, [&](int fd) {
    // To root all rights are given.
    if (::getuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) {
      SayTo(fd, "cannot give up the rights of root");
      return 77;
    }
    if (::access(path_.c_str(), R_OK | X_OK) != 0) {
      SayTo(fd, "others can't get into the folder for scratch data");
      return 77;
    }
    const Status writer = DB::Open(options_, path_).status();
    if (!writer.IsIOError()) SayTo(fd, "an open for writing said " + writer.ToString());
    const std::string said = ReadInChild(ReadOnly(), path_, model_);
    SayTo(fd, said);
    return said.empty() && writer.IsIOError() ? 0 : 1;
  });
  std::filesystem::permissions(path_, std::filesystem::perms(0755));
  if (outcome.exit_code == 77) GTEST_SKIP() << outcome.message;
  EXPECT_EQ(outcome.exit_code, 0) << outcome.ToString();
  FolderState after = StateOfFolder(path_);
  after[path_].touched_ns = before.at(path_).touched_ns;  // of the rights given back
  EXPECT_EQ(FirstDifference(before, after), "");
}

/// Makes a mount of `path` on itself that is for reading only, seen by this process alone.
bool MountReadOnly(const std::string& path) {
  if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  const char* const place = path.c_str();
  return ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount(place, place, nullptr, MS_BIND, nullptr) == 0 &&
         ::mount(nullptr, place, nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) == 0;
}

TEST_P(ReadOnlyTest, AMountForReadingIsEnough) {
  ASSERT_NO_FATAL_FAILURE(DoAndDie([this] { Live(); }));
  for (const bool lock_there : {true, false}) {
    if (!lock_there) {
      ASSERT_EQ(::unlink((path_ + "/lock").c_str()), 0);
    }
    const ChildOutcome outcome = RunInChild(60, [&](int fd) {
      if (!MountReadOnly(path_)) return 77;
      const Status writer = DB::Open(options_, path_).status();
      if (!writer.IsIOError()) SayTo(fd, "an open for writing said " + writer.ToString());
      if (writer.message().find("read_only") == std::string::npos) {
        SayTo(fd, "it does not say what to do: " + writer.ToString());
      }
      const std::string said = ReadInChild(ReadOnly(), path_, model_);
      SayTo(fd, said);
      return said.empty() && writer.IsIOError() ? 0 : 1;
    });
    if (outcome.exit_code == 77) GTEST_SKIP() << "this system lets nobody mount";
    EXPECT_EQ(outcome.ToString(), "exit code 0");
  }
}

TEST_P(ReadOnlyTest, AReaderThatIsKilledIsInNobodysWay) {
  Fill(0, 500, 60);
  CloseDb();
  int ready[2];
  ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
  std::fflush(stdout);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(60);
    Result<std::unique_ptr<DB>> reader = DB::Open(ReadOnly(), path_);
    SayTo(ready[1], reader.ok() ? "y" : "n");
    for (;;) ::pause();
  }
  char answer = 0;
  ASSERT_EQ(::read(ready[0], &answer, 1), 1);
  ASSERT_EQ(answer, 'y');
  const Status busy = DB::Open(options_, path_).status();
  EXPECT_TRUE(HasCode(busy, Status::Code::kBusy));
  EXPECT_NE(busy.message().find("process " + std::to_string(child)), std::string::npos)
      << busy.ToString();
  ::kill(child, SIGKILL);
  int ended = 0;
  ASSERT_EQ(::waitpid(child, &ended, 0), child);
  for (const int fd : ready) ::close(fd);
  db_ = OpenOrFail(options_, path_);
  ASSERT_NE(db_, nullptr);
  Put("after", "v");
  ExpectContent(db_.get(), model_);
}

}  // namespace
}  // namespace braid::test
