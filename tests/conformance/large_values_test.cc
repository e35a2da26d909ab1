// Large values on their way into the pool: nobody waits for the copy of another's.
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "conformance.h"
#include "support/child_process.h"
#include "support/records.h"

namespace braid::test {
namespace {

constexpr size_t kPage = 4096;

/// A value whose last page stops the thread that first reads it, until it is let on.
class StoppingValue {
 public:
  explicit StoppingValue(size_t bytes) : bytes_(bytes / kPage * kPage) {
    start_ = static_cast<char*>(
        ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    std::memset(start_, 'v', bytes_);
    gate_ = start_ + bytes_ - kPage;
    ::sem_init(&stopped_, 0, 0);
    ::sem_init(&let_on_, 0, 0);
    struct sigaction action {};
    action.sa_sigaction = OnFault;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    ::sigaction(SIGSEGV, &action, nullptr);
    ::mprotect(gate_, kPage, PROT_NONE);
  }
  Slice slice() const { return {start_, bytes_}; }
  /// Waits until a thread has come to the last page.
  static void AwaitReader() {
    while (::sem_wait(&stopped_) != 0) {
    }
  }
  static void LetOn() { ::sem_post(&let_on_); }

 private:
  static void OnFault(int, siginfo_t* info, void*) {
    const char* at = static_cast<const char*>(info->si_addr);
    if (at < gate_ || at >= gate_ + kPage) ::_exit(99);
    ::sem_post(&stopped_);
    while (::sem_wait(&let_on_) != 0) {
    }
    ::mprotect(gate_, kPage, PROT_READ);
  }

  static inline char* gate_ = nullptr;
  static inline sem_t stopped_;
  static inline sem_t let_on_;
  const size_t bytes_;
  char* start_;
};

class LargeValueTest : public ConformanceTest {
 protected:
  /// Runs `body` in a child of its own, where a wait that never ends ends the test.
  void InChild(const std::function<std::string(DB*, StoppingValue*)>& body) {
    db_.reset();
    const ChildOutcome outcome = RunInChild(60, [&](int fd) {
      db_ = OpenOrFail(options_, path_);
      if (db_ == nullptr) return 1;
      StoppingValue value(4u << 20);
      const std::string problem = body(db_.get(), &value);
      SayTo(fd, problem);
      db_.reset();
      return problem.empty() ? 0 : 2;
    });
    EXPECT_EQ(outcome.exit_code, 0) << outcome.ToString();
  }
  /// What goes wrong when others use the store: batches, reads, a flush, which waits for readers.
  static std::string UseStore(DB* db) {
    for (int i = 0; i < 100; ++i) {
      WriteBatch batch;
      batch.Put("first" + NumberedKey(static_cast<uint64_t>(i)), "1");
      batch.Put("second" + NumberedKey(static_cast<uint64_t>(i)), "2");
      if (Status s = db->Write(batch); !s.ok()) return "write: " + s.ToString();
      if (Status s = db->Put("single", "3"); !s.ok()) return "put: " + s.ToString();
    }
    if (Status s = db->Compact(); !s.ok()) return "compact: " + s.ToString();
    VerifyReport report;
    if (Status s = db->Verify(&report); !s.ok()) return "verify: " + s.ToString();
    return {};
  }
};
INSTANTIATE_TEST_SUITE_P(Designs, LargeValueTest,
                         ::testing::ValuesIn(StoringSetups(&Capabilities::atomic_batches)),
                         SetupName);

TEST_P(LargeValueTest, BatchesAndFlushesGoOnWhileAPutIsCopied) {
  InChild([](DB* db, StoppingValue* value) -> std::string {
    Status put;
    std::thread writer([&] { put = db->Put("large", value->slice()); });
    StoppingValue::AwaitReader();
    std::string problem = UseStore(db);
    std::string found;
    if (problem.empty() && !db->Get("large", &found).IsNotFound()) problem = "it is there already";
    StoppingValue::LetOn();
    writer.join();
    if (!problem.empty()) return problem;
    if (!put.ok()) return put.ToString();
    if (Status s = db->Get("large", &found); !s.ok()) return s.ToString();
    if (found != value->slice()) return "another value";
    VerifyReport report;
    return db->Verify(&report).ok() ? "" : report.problems.front();
  });
}

TEST_P(LargeValueTest, BatchesAndFlushesGoOnWhileAConditionalPutIsCopied) {
  if (!Has(&Capabilities::compare_and_swap)) GTEST_SKIP() << "the design has none";
  InChild([](DB* db, StoppingValue* value) -> std::string {
    std::optional<Result<bool>> stored;
    std::thread writer([&] { stored.emplace(db->PutIfAbsent("large", value->slice())); });
    StoppingValue::AwaitReader();
    std::string problem = UseStore(db);
    // It looks again when it has copied.
    if (Status s = db->Put("large", "of another"); !s.ok()) problem = s.ToString();
    StoppingValue::LetOn();
    writer.join();
    if (!problem.empty()) return problem;
    if (!stored->ok()) return stored->status().ToString();
    if (**stored) return "it was put over another's";
    VerifyReport report;  // nothing of it is left
    return db->Verify(&report).ok() ? "" : report.problems.front();
  });
}

TEST_P(LargeValueTest, CloseWaitsForAPutThatIsCopied) {
  InChild([this](DB* db, StoppingValue* value) -> std::string {
    Status put;
    std::thread writer([&] { put = db->Put("large", value->slice()); });
    StoppingValue::AwaitReader();
    Status close;
    std::atomic<bool> has_closed{false};
    std::thread closer([&] {
      close = db->Close();
      has_closed.store(true);
    });
    while (!db->Delete("other").IsClosed()) {
    }
    const bool too_early = has_closed.load();
    StoppingValue::LetOn();
    writer.join();
    closer.join();
    if (too_early) return "the pool was let go of under the put";
    if (!close.ok()) return close.ToString();
    db_ = OpenOrFail(options_, path_);
    if (db_ == nullptr) return "it can't be opened again";
    std::string found;
    const Status get = db_->Get("large", &found);
    if (put.ok() != get.ok()) return put.ToString() + ", but found: " + get.ToString();
    VerifyReport report;
    return db_->Verify(&report).ok() ? "" : report.problems.front();
  });
}

/// A pool at its limit, half of which is free, in holes of two chunks.
class RoomTest : public ConformanceTest {
 protected:
  static constexpr uint64_t kChunk = 16u << 10;

  void SetUp() override {
    if (!GetParam().tiny) GTEST_SKIP() << "the sizes are the test's own";
    ConformanceTest::SetUp();
    if (HasFatalFailure()) return;
    BRAID_ASSERT_OK(db_->Close());
    path_ = folder_.Sub("at_its_limit");
    options_.pool.chunk_bytes = kChunk;
    options_.pool.initial_bytes = 4u << 20;
    options_.pool.max_bytes = (4u << 20) * std::max<uint64_t>(options_.pool.regions, 1);
    options_.memtable.bytes = 64u << 10;
    options_.memory_budget_bytes = 64u << 20;
    db_ = OpenOrFail(options_, path_);
    ASSERT_NE(db_, nullptr);
    FillWithHoles();
  }
  static std::string LargeOf(uint64_t i) {
    return std::string(kChunk + kChunk / 2, static_cast<char>('a' + i % 26)) + std::to_string(i);
  }
  void FillWithHoles() {
    Status full;
    for (uint64_t i = 0; full.ok(); ++i) {
      // Small ones beside them: chunks of logs lie in between.
      const bool large = i % 4 == 0;
      std::string value = large ? LargeOf(i) : std::to_string(i) + std::string(1500, 's');
      full = db_->Put(NumberedKey(i), value);
      if (full.ok()) model_[NumberedKey(i)] = std::move(value);
    }
    ASSERT_TRUE(full.IsOutOfSpace()) << full.ToString();
    uint64_t large = 0;
    for (auto it = model_.begin(); it != model_.end();) {
      const bool goes = it->second.size() > kChunk && large++ % 2 == 0;
      if (goes) {
        BRAID_ASSERT_OK(db_->Delete(it->first));
      }
      it = goes ? model_.erase(it) : std::next(it);
    }
    ASSERT_GT(large, 50u);
  }
  /// A twentieth of the pool: half of it is free.
  std::string Wanted() const { return std::string(options_.pool.max_bytes / 20, 'w'); }
};
INSTANTIATE_TEST_SUITE_P(Designs, RoomTest, ::testing::ValuesIn(StoringSetups()), SetupName);

TEST_P(RoomTest, AHalfEmptyPoolAtItsLimitTakesALargeValue) {
  for (const char* name : {"wanted1", "wanted2", "wanted3"}) {
    ASSERT_NO_FATAL_FAILURE(Put(name, Wanted()));
  }
  ExpectContent(db_.get(), model_);
  ExpectVerified(db_.get());
  ASSERT_NO_FATAL_FAILURE(AbandonAndReopen());
  ExpectContent(db_.get(), model_);
  ExpectVerified(db_.get());
  ASSERT_NO_FATAL_FAILURE(Reopen());
  ExpectContent(db_.get(), model_);
}

TEST_P(RoomTest, ALoadOfALargeValueToo) {
  BRAID_NEEDS(ingest);
  BRAID_ASSERT_OK(db_->Flush());
  const Model load{{"wanted1", Wanted()}, {"wanted2", "small"}, {"wanted3", Wanted()}};
  IngestReport report;
  BRAID_ASSERT_OK(IngestSorted(db_.get(), load, &report));
  EXPECT_EQ(report.records, 3u);
  for (const auto& [key, value] : load) model_[key] = value;
  ExpectContent(db_.get(), model_);
  ExpectVerified(db_.get());
  ASSERT_NO_FATAL_FAILURE(AbandonAndReopen());
  ExpectContent(db_.get(), model_);
  ExpectVerified(db_.get());
}

TEST_P(RoomTest, ReadersOfValuesThatMoveSeeThemWhole) {
  std::atomic<bool> stop{false};
  std::string problem;
  std::thread reader([&] {
    std::string found;
    while (!stop.load()) {
      for (const auto& [key, value] : model_) {
        if (Status s = db_->Get(key, &found); !s.ok() || found != value) {
          problem = key + ": " + (s.ok() ? "another value" : s.ToString());
          return;
        }
      }
    }
  });
  const Status put = db_->Put("wanted", Wanted());
  stop.store(true);
  reader.join();
  BRAID_EXPECT_OK(put);
  EXPECT_EQ(problem, "");
}

TEST_P(RoomTest, AWriteThatFindsNoRoomLeavesTheChunksToOthers) {
  // Larger than what is free.
  const Status refused = db_->Put("wanted", std::string(options_.pool.max_bytes / 4 * 3, 'w'));
  ASSERT_TRUE(refused.IsOutOfSpace()) << refused.ToString();
  if (Has(&Capabilities::snapshots)) {
    // What is moved away stays while somebody may look at it.
    const std::unique_ptr<Iterator> view = db_->NewIterator({});
    view->SeekToFirst();
    const Status held = db_->Put("wanted", Wanted());
    ASSERT_TRUE(held.ok() || held.IsOutOfSpace()) << held.ToString();
    if (held.ok()) model_["wanted"] = Wanted();  // there happened to be room
  }
  const uint64_t before = model_.size();
  for (uint64_t i = 1'000'000;; ++i) {
    const std::string value = std::to_string(i) + std::string(1500, 't');
    if (!db_->Put(NumberedKey(i), value).ok()) break;
    model_[NumberedKey(i)] = value;
  }
  EXPECT_GT((model_.size() - before) * 1500, options_.pool.max_bytes / 4);
  // But for the reserve, and not the chunks that were kept for the write: a twentieth.
  const Statistics full = db_->GetStatistics();
  EXPECT_LT(full.pool_bytes - full.pool_used_bytes, full.pool_bytes / 32 + Wanted().size());
  ExpectContent(db_.get(), model_);
  ExpectVerified(db_.get());
}

}  // namespace
}  // namespace braid::test
