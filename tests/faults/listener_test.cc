// An EventListener is told of the error that ends writes, once, and of waits in a full pool.
#include <atomic>
#include <mutex>

#include "fake_clock.h"
#include "injector.h"
#include "support/database.h"
#include "support/temp_folder.h"

namespace braid::test {
namespace {

class Recorder final : public EventListener {
 public:
  void OnStall(const Stall& stall) noexcept override {
    ++stalls;
    stalled_nanos += stall.nanos;
  }
  void OnBackgroundError(const Status& status) noexcept override {
    const std::lock_guard lock(mutex_);
    errors_.push_back(status);
  }
  std::vector<Status> errors() const {
    const std::lock_guard lock(mutex_);
    return errors_;
  }
  std::atomic<uint64_t> stalls{0};
  std::atomic<uint64_t> stalled_nanos{0};

 private:
  mutable std::mutex mutex_;
  std::vector<Status> errors_;
};

class ListenerFaultTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    options_ = TinyOptions();
    options_.background_threads = GetParam();
    options_.listener = recorder_;
  }
  void TearDown() override {
    Inject({});
    steady_step = 0;
  }
  void Open() {
    db_ = OpenOrFail(options_, folder_.Sub("pool"));
    ASSERT_NE(db_, nullptr);
  }

  TempFolder folder_;
  std::shared_ptr<Recorder> recorder_ = std::make_shared<Recorder>();
  Options options_;
  std::unique_ptr<DB> db_;
};
INSTANTIATE_TEST_SUITE_P(Threads, ListenerFaultTest, ::testing::Bool(), [](const auto& threads) {
  return std::string(threads.param ? "Background" : "Inline");
});

/// After `first`, the error that has ended the writes, all others get it, and the listener has it
/// once.
void ExpectToldOnce(DB* db, const Recorder& recorder, const Status& first) {
  EXPECT_TRUE(HasCode(first, Status::Code::kIOError));
  for (int i = 0; i < 3; ++i) {
    const Status again = db->Put("later", "value");
    EXPECT_EQ(again.code(), first.code()) << again.ToString();
    EXPECT_EQ(again.message(), first.message());
  }
  const std::vector<Status> errors = recorder.errors();
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].code(), first.code());
  EXPECT_EQ(errors[0].message(), first.message());
}

TEST_P(ListenerFaultTest, IsToldOnceOfASyncThatFailed) {
  Open();
  BRAID_ASSERT_OK(db_->Put("before", "value"));
  EXPECT_TRUE(recorder_->errors().empty());
  Inject({.call = Call::kSync, .at = 1, .lasting = false, .error = EIO});
  WriteOptions sync;
  sync.sync = true;
  Status failed;
  {
    const Armed armed;
    failed = db_->Put(sync, "key", "value");
  }
  EXPECT_TRUE(HasFailed());
  ExpectToldOnce(db_.get(), *recorder_, failed);
  EXPECT_EQ(GetText(db_.get(), "before"), "value");
  EXPECT_FALSE(db_->Close().ok());
  db_.reset();
  Open();
  EXPECT_EQ(GetText(db_.get(), "before"), "value");
  BRAID_EXPECT_OK(db_->Put("later", "value"));
  EXPECT_EQ(recorder_->errors().size(), 1u) << "the open database has no error";
}

TEST_P(ListenerFaultTest, IsToldOnceOfAFlushThatFailed) {
  Open();
  BRAID_ASSERT_OK(db_->Put("before", "value"));
  Inject({.call = Call::kSync, .at = 1, .lasting = true, .error = EIO});
  Status failed;
  {
    const Armed armed;
    failed = db_->Flush();
  }
  EXPECT_TRUE(HasFailed());
  ExpectToldOnce(db_.get(), *recorder_, failed);
  EXPECT_EQ(GetText(db_.get(), "before"), "value");
}

TEST_P(ListenerFaultTest, IsToldOfNoErrorWhenAPoolIsFull) {
  options_.pool.max_bytes = 2ull << 20;
  Open();
  // Two looks at the clock make the length of a stall: each is one that is told of.
  steady_step = 1'000'000;
  Status status;
  uint64_t puts = 0;
  for (; status.ok() && puts < 100'000; ++puts) {
    status = db_->Put(NumberedKey(puts), std::string(900, 'v'));
  }
  ASSERT_TRUE(HasCode(status, Status::Code::kOutOfSpace));
  EXPECT_TRUE(recorder_->errors().empty()) << "there may be room again";
  // The write that was refused has waited for room, and that is a stall.
  const Statistics full = db_->GetStatistics();
  EXPECT_GT(full.stalls, 0u);
  EXPECT_GT(full.stall_micros, 0u);
  EXPECT_GE(full.longest_stall_micros, 1000u);
  EXPECT_EQ(recorder_->stalls.load(), full.stalls);
  EXPECT_EQ(recorder_->stalled_nanos.load() / 1000, full.stall_micros);
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(HasCode(db_->Put("more", std::string(900, 'v')), Status::Code::kOutOfSpace));
  }
  const Statistics later = db_->GetStatistics();
  EXPECT_GE(later.stalls, full.stalls + 20) << "each of them has waited";
  EXPECT_EQ(recorder_->stalls.load(), later.stalls);
}

}  // namespace
}  // namespace braid::test
