// A medium that stops answering under a load or store: the process lives, and every call says so.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "support/child_process.h"
#include "support/database.h"
#include "support/temp_folder.h"

namespace braid::test {
namespace {

constexpr uint64_t kKeys = 2000;

std::string ValueOf(uint64_t i) { return "value of " + std::to_string(i) + std::string(200, 'v'); }

std::string Segment(const std::string& pool, int index = 0) {
  char name[32];
  std::snprintf(name, sizeof name, "/segment-%06d", index);
  return pool + name;
}

/// What another process would do to the file.
void Truncate(const std::string& file, off_t bytes) {
  ASSERT_EQ(::truncate(file.c_str(), bytes), 0) << std::strerror(errno);
}

void CutIfThere(const std::string& file) {
  if (::access(file.c_str(), F_OK) == 0) Truncate(file, 0);
}

bool IsMediumError(const Status& status) {
  return status.IsIOError() && status.message().find("segment-00000") != std::string_view::npos &&
         status.message().find("+0x") != std::string_view::npos &&
         status.message().find("SIGBUS") != std::string_view::npos;
}

void* Handler() {
  struct sigaction now {};
  ::sigaction(SIGBUS, nullptr, &now);
  return reinterpret_cast<void*>(now.sa_sigaction);
}

class SigbusTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    ::alarm(300);
    options_ = TinyOptions();
    options_.background_threads = GetParam();
    options_.pool.initial_bytes = 4ull << 20;
    db_ = OpenOrFail(options_, pool());
    ASSERT_NE(db_, nullptr);
    for (uint64_t i = 0; i < kKeys; ++i) BRAID_ASSERT_OK(db_->Put(NumberedKey(i), ValueOf(i)));
  }
  void TearDown() override { ::alarm(0); }

  std::string pool() const { return folder_.Sub("pool"); }
  void CutTheOthers() {
    for (int segment = 1; segment < 9; ++segment) CutIfThere(Segment(pool(), segment));
  }

  /// Once a call has met the lost pages, every call must say so.
  void ExpectAllCallsSaySo() {
    std::string value;
    EXPECT_TRUE(IsMediumError(db_->Get(NumberedKey(1), &value)));
    EXPECT_TRUE(IsMediumError(db_->Get("not there", &value))) << "a miss proves nothing now";
    EXPECT_TRUE(IsMediumError(db_->Put("k", "v")));
    EXPECT_TRUE(IsMediumError(db_->Delete("k")));
    WriteBatch batch;
    batch.Put("a", "1");
    batch.Put("b", "2");
    EXPECT_TRUE(IsMediumError(db_->Write(batch)));
    EXPECT_TRUE(IsMediumError(db_->Flush()));
    EXPECT_TRUE(IsMediumError(db_->Compact()));
    VerifyReport report;
    EXPECT_TRUE(IsMediumError(db_->Verify(&report)));
    const std::unique_ptr<Iterator> it = db_->NewIterator({});
    it->SeekToFirst();
    EXPECT_FALSE(it->Valid());
    EXPECT_TRUE(IsMediumError(it->status()));
    (void)db_->GetStatistics();
    EXPECT_TRUE(IsMediumError(db_->Close()));
    EXPECT_TRUE(db_->Get(NumberedKey(1), &value).IsClosed());
  }

  TempFolder folder_;
  Options options_;
  std::unique_ptr<DB> db_;
};
INSTANTIATE_TEST_SUITE_P(Faults, SigbusTest, ::testing::Bool(), [](const auto& threads) {
  return std::string(threads.param ? "Threads" : "Inline");
});

TEST_P(SigbusTest, GetsAfterATruncationAreRightOrAnErrorAndNeverAMiss) {
  Truncate(Segment(pool()), 64 << 10);
  bool failed = false;
  for (uint64_t i = 0; i < kKeys; ++i) {
    std::string value;
    const Status status = db_->Get(NumberedKey(i), &value);
    if (status.ok() && !failed) {
      ASSERT_EQ(value, ValueOf(i));
      continue;
    }
    failed = true;
    ASSERT_TRUE(IsMediumError(status)) << i << ": " << status.ToString();
  }
  EXPECT_TRUE(failed);
  ExpectAllCallsSaySo();
}

TEST_P(SigbusTest, AScanStopsWithAnErrorAndShowsNothingWrong) {
  const std::unique_ptr<Iterator> it = db_->NewIterator({});
  it->SeekToFirst();
  ASSERT_TRUE(it->Valid());
  Truncate(Segment(pool()), 0);
  uint64_t shown = 0;
  while (it->Valid()) {
    // What the slices point to may be gone; status() says so after they were read.
    const std::string key(it->key());
    const std::string value(it->value());
    ASSERT_TRUE(!it->status().ok() || value == ValueOf(shown)) << key;
    ++shown;
    it->Next();
  }
  EXPECT_LT(shown, kKeys);
  EXPECT_TRUE(IsMediumError(it->status())) << it->status().ToString();
  ExpectAllCallsSaySo();
}

TEST_P(SigbusTest, AWriteToLostPagesIsNotAcknowledged) {
  Truncate(Segment(pool()), 0);
  CutTheOthers();
  EXPECT_TRUE(IsMediumError(db_->Put("key", "value")));
  ExpectAllCallsSaySo();
}

TEST_P(SigbusTest, ABatchWithALargeValueIsNotAcknowledged) {
  Truncate(Segment(pool()), 0);
  CutTheOthers();
  WriteBatch batch;
  batch.Put("large", std::string(100'000, 'l'));
  batch.Put("small", "s");
  EXPECT_TRUE(IsMediumError(db_->Write(batch)));
  ExpectAllCallsSaySo();
}

TEST_P(SigbusTest, CompactAndVerifyEndWithTheError) {
  Truncate(Segment(pool()), 256 << 10);
  const Status compacted = db_->Compact();
  VerifyReport report;
  const Status verified = db_->Verify(&report);
  EXPECT_TRUE(IsMediumError(verified)) << compacted.ToString() << ", " << verified.ToString();
  ExpectAllCallsSaySo();
}

TEST_P(SigbusTest, ClosingAfterALossLeavesThePoolToBeRecovered) {
  BRAID_ASSERT_OK(db_->Flush());
  struct stat facts {};
  ASSERT_EQ(::stat(Segment(pool()).c_str(), &facts), 0);
  Truncate(Segment(pool()), 64 << 10);
  VerifyReport report;
  const Status verified = db_->Verify(&report);
  EXPECT_TRUE(IsMediumError(verified)) << verified.ToString();
  const Status closed = db_->Close();
  EXPECT_TRUE(IsMediumError(closed)) << closed.ToString();
  Result<PoolInfo> info = DB::Inspect(pool());
  ASSERT_TRUE(info.ok()) << info.status().ToString();
  EXPECT_FALSE(info->clean);
  const Status again = DB::Open(options_, pool()).status();
  EXPECT_TRUE(again.IsCorruption()) << "a file that is too short is refused: " << again.ToString();
}

TEST_P(SigbusTest, ThreadsThatReadAndWriteSeeValuesOrTheErrorAndAllEnd) {
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> wrong{0};
  std::atomic<uint64_t> errors{0};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      Random random(DeriveSeed(t));
      std::string value;
      while (!stop.load()) {
        const uint64_t i = random.Below(kKeys);
        const Status status =
            t == 0 ? db_->Put(NumberedKey(i), ValueOf(i)) : db_->Get(NumberedKey(i), &value);
        if (status.ok()) {
          if (t != 0 && value != ValueOf(i)) ++wrong;
        } else if (IsMediumError(status)) {
          ++errors;
        } else {
          ++wrong;
        }
      }
    });
  }
  threads.emplace_back([&] {
    while (!stop.load()) {
      const std::unique_ptr<Iterator> it = db_->NewIterator({});
      for (it->SeekToFirst(); it->Valid() && !stop.load(); it->Next()) {
      }
      if (!it->status().ok() && !IsMediumError(it->status())) ++wrong;
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  for (int segment = 8; segment >= 0; --segment) {
    CutIfThere(Segment(pool(), segment));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  // The alarm ends a wait in vain.
  while (errors.load() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0u);
  EXPECT_GT(errors.load(), 0u);
  ExpectAllCallsSaySo();
}

TEST_P(SigbusTest, AnotherPoolIsNotConcerned) {
  const auto other = OpenOrFail(options_, folder_.Sub("other"));
  ASSERT_NE(other, nullptr);
  BRAID_ASSERT_OK(other->Put("k", "v"));
  Truncate(Segment(pool()), 0);
  ExpectAllCallsSaySo();
  EXPECT_EQ(GetText(other.get(), "k"), "v");
  BRAID_EXPECT_OK(other->Put("k2", "v2"));
  BRAID_EXPECT_OK(other->Close());
  db_.reset();
}

TEST(SigbusHandlerTest, IsInstalledWhileAPoolIsOpenAndThenTheOldOneIsBack) {
  TempFolder folder;
  void* const before = Handler();
  {
    const auto first = OpenOrFail(TinyOptions(), folder.Sub("a"));
    void* const ours = Handler();
    EXPECT_NE(ours, before);
    const auto second = OpenOrFail(TinyOptions(), folder.Sub("b"));
    EXPECT_EQ(Handler(), ours);
  }
  EXPECT_EQ(Handler(), before);
  Options options = TinyOptions();
  options.pool.catch_sigbus = false;
  const auto without = OpenOrFail(options, folder.Sub("a"));
  EXPECT_EQ(Handler(), before);
}

std::atomic<int> passed_on{0};
void* own_page = nullptr;

TEST(SigbusHandlerTest, SignalsOfOtherAddressesGoToTheHandlerThatWasThere) {
  TempFolder folder;
  const ChildOutcome outcome = RunInChild(60, [&](int fd) {
    struct sigaction mine {};
    mine.sa_flags = SA_SIGINFO;
    mine.sa_sigaction = [](int, siginfo_t* info, void*) {
      ++passed_on;
      if (info->si_addr == own_page) {
        ::mmap(own_page, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
      }
    };
    if (::sigaction(SIGBUS, &mine, nullptr) != 0) return 1;
    Result<std::unique_ptr<DB>> opened = DB::Open(TinyOptions(), folder.Sub("pool"));
    if (!opened.ok()) return 2;
    const int file = ::open(folder.Sub("mine").c_str(), O_RDWR | O_CREAT, 0600);
    if (file < 0 || ::ftruncate(file, 4096) != 0) return 3;
    own_page = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file, 0);
    if (own_page == MAP_FAILED || ::ftruncate(file, 0) != 0) return 4;
    (void)*static_cast<volatile char*>(own_page);
    if (passed_on.load() != 1) return 5;
    ::raise(SIGBUS);
    if (passed_on.load() != 2) return 6;
    if (!opened.value()->Put("k", "v").ok()) return 7;
    opened.value().reset();
    SayTo(fd, "done");
    return Handler() == reinterpret_cast<void*>(mine.sa_sigaction) ? 0 : 8;
  });
  EXPECT_EQ(outcome.exit_code, 0) << outcome.ToString();
}

TEST(SigbusHandlerTest, WithoutAnotherHandlerASignalThatIsNotOursEndsTheProcess) {
  TempFolder folder;
  for (const bool by_access : {true, false}) {
    const ChildOutcome outcome = RunInChild(60, [&](int) {
      ::signal(SIGBUS, SIG_DFL);
      Result<std::unique_ptr<DB>> opened = DB::Open(TinyOptions(), folder.Sub("pool"));
      if (!opened.ok()) return 2;
      if (!by_access) {
        ::raise(SIGBUS);
        return 3;
      }
      const int file = ::open(folder.Sub("mine").c_str(), O_RDWR | O_CREAT, 0600);
      void* const page = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file, 0);
      (void)*static_cast<volatile char*>(page);
      return 3;
    });
    EXPECT_EQ(outcome.signal, SIGBUS) << outcome.ToString();
  }
}

TEST(SigbusHandlerTest, WhoOptsOutGetsTheSignal) {
  TempFolder folder;
  const ChildOutcome outcome = RunInChild(60, [&](int) {
    ::signal(SIGBUS, SIG_DFL);
    Options options = TinyOptions();
    options.pool.catch_sigbus = false;
    options.background_threads = false;
    Result<std::unique_ptr<DB>> opened = DB::Open(options, folder.Sub("pool"));
    if (!opened.ok() || ::truncate(Segment(folder.Sub("pool")).c_str(), 0) != 0) return 2;
    return opened.value()->Put("k", "v").ok() ? 3 : 4;
  });
  EXPECT_EQ(outcome.signal, SIGBUS) << outcome.ToString();
}

TEST(SigbusHandlerTest, AFileThatIsCutDuringTheOpenIsAnError) {
  TempFolder folder;
  Options options = TinyOptions();
  options.background_threads = false;
  {
    const auto db = OpenOrFail(options, folder.Sub("pool"));
    for (uint64_t i = 0; i < 500; ++i) BRAID_ASSERT_OK(db->Put(NumberedKey(i), ValueOf(i)));
  }
  // A hole behind the end can't be made before the size is looked at: cut from the logger, which
  // recovery calls when the segments are mapped.
  const ChildOutcome crashed = RunInChild(60, [&](int) {
    Result<std::unique_ptr<DB>> db = DB::Open(options, folder.Sub("pool"));
    return db.ok() && db.value()->Put("k", "v").ok() ? (::_exit(0), 0) : 1;
  });
  ASSERT_EQ(crashed.exit_code, 0) << crashed.ToString();
  options.verify_on_open = VerifyOnOpen::kFull;
  options.logger = [&](std::string_view) { Truncate(Segment(folder.Sub("pool")), 8192); };
  const Status status = DB::Open(options, folder.Sub("pool")).status();
  EXPECT_TRUE(IsMediumError(status)) << status.ToString();
}

}  // namespace
}  // namespace braid::test
