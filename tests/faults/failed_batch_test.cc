// A batch that fails when it is durable already: its sequence numbers are used, though nobody sees
// them. A write that was admitted before, and waits for it, must not draw them again.
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "injector.h"
#include "support/database.h"
#include "support/temp_folder.h"

namespace braid::test {
namespace {

/// Whether the thread sleeps: here, for a lock that another one holds.
bool Sleeps(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string text;
  std::getline(file, text);
  const size_t name_end = text.rfind(") ");
  return name_end != std::string::npos && text[name_end + 2] == 'S';
}

/// So many that the memtable takes memory for some of them.
constexpr uint64_t kUpdates = 400;
std::string KeyOf(uint64_t i) { return NumberedKey(i) + std::string(40, 'k'); }

/// What waits behind the batch.
enum class Waiter : uint8_t { kPut, kBatch };

class FailedBatchTest : public ::testing::TestWithParam<Waiter> {
 protected:
  Status WriteAsWaiter(DB* db) {
    WriteBatch batch;
    batch.Put("waiter", "v");
    batch.Put("waiter2", "v");
    return GetParam() == Waiter::kPut ? db->Put("waiter", "v") : db->Write(batch);
  }

  /// True when allocation number `k` of the batch failed after it was durable.
  bool RunWithFailure(uint64_t k) {
    TempFolder folder;
    Options options = TinyOptions();
    options.background_threads = false;
    options.log.shards = 1;
    options.memtable.bytes = 4 << 20;  // no flush, which may fail as well
    std::unique_ptr<DB> db = OpenOrFail(options, folder.Sub("pool"));
    EXPECT_TRUE(IsOk(db->Put("before", "v")));
    WriteBatch batch;
    for (uint64_t i = 0; i < kUpdates; ++i) batch.Put(KeyOf(i), "batch");
    std::thread waiting;
    std::atomic<pid_t> its{0};
    std::atomic<bool> done{false};
    Status waited;
    const std::function<void()> meanwhile = [&] {
      waiting = std::thread([&] {
        its.store(static_cast<pid_t>(::syscall(SYS_gettid)));
        waited = WriteAsWaiter(db.get());
        done.store(true);
      });
      // Until it waits for a lock of the batch, or has ended where the batch holds none yet.
      while (!done.load() && (its.load() == 0 || !Sleeps(its.load()))) std::this_thread::yield();
    };
    before_failure.store(&meanwhile);
    Inject({Call::kNew, k, false, ENOMEM});
    Status failed;
    {
      const Armed armed;
      failed = db->Write(batch);
    }
    before_failure.store(nullptr);
    const bool injected = HasFailed();
    Inject({});
    if (waiting.joinable()) waiting.join();
    EXPECT_TRUE(injected) << "no allocation of the batch is in reach";
    const bool ended = !db->BackgroundStatus().ok();
    if (ended) {
      EXPECT_TRUE(HasCode(failed, Status::Code::kOutOfMemory));
      EXPECT_TRUE(HasCode(waited, Status::Code::kOutOfMemory)) << "allocation " << k;
      for (uint64_t i = 0; i < kUpdates; ++i) {
        EXPECT_EQ(GetText(db.get(), KeyOf(i)), "(not found)") << "a part of a batch is seen";
      }
      (void)db->Close();
      db = OpenOrFail(options, folder.Sub("pool"));
      uint64_t there = 0;
      for (uint64_t i = 0; i < kUpdates; ++i) {
        there += GetText(db.get(), KeyOf(i)) == "batch" ? 1 : 0;
      }
      EXPECT_EQ(there, kUpdates) << "it was durable, so that the next open finds all of it";
      EXPECT_EQ(GetText(db.get(), "waiter"), "(not found)");
    }
    return ended;
  }
};
std::string NameOfWaiter(const ::testing::TestParamInfo<Waiter>& waiter) {
  constexpr const char* kNames[] = {"Put", "Batch"};
  return kNames[static_cast<size_t>(waiter.param)];
}
INSTANTIATE_TEST_SUITE_P(Faults, FailedBatchTest, ::testing::Values(Waiter::kPut, Waiter::kBatch),
                         NameOfWaiter);

TEST_P(FailedBatchTest, ItsNumbersAreNotDrawnAgainByWhoWaitedForIt) {
  for (uint64_t k = 1; k < 200 && !HasFailure(); ++k) {
    if (RunWithFailure(k)) return;
  }
  ADD_FAILURE() << "no allocation failed behind the commit point of the batch";
}

}  // namespace
}  // namespace braid::test
