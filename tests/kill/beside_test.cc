// Processes that read beside a process that writes, while both are killed: a reader shows a state
// that was, whole and no older than its open, or says that it was taken back.
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <new>
#include <optional>
#include <thread>

#include "kill_options.h"
#include "support/groups.h"
#include "support/temp_folder.h"

namespace braid::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kReaders = 3;

struct Shared {
  GroupNumbers numbers;
  std::atomic<uint32_t> stop;
  std::atomic<uint32_t> writer_opens;  // most readers wait: alone in the pool they keep it out
  std::atomic<uint64_t> opens;
  std::atomic<uint64_t> scans;
  std::atomic<uint64_t> taken_back;
  std::atomic<uint64_t> busy;
  std::atomic<uint64_t> left;  // readers that ended without a close
  std::atomic<uint64_t> closes;
  std::atomic<uint64_t> tier_entries;  // as a writer saw them last
  std::atomic<uint32_t> failed;
  char message[2000];
};

/// What is read and written.
struct Place {
  std::string design;
  std::string pool;
  std::string tier;  // empty: there is none

  Options OptionsFor(uint64_t seed) const {
    Options options = KillOptions(seed);
    options.design = design;
    if (!tier.empty()) AddKillTier(seed, tier, &options);
    return options;
  }
};

class Reader {
 public:
  Reader(Shared* shared, Place place, uint64_t seed)
      : shared_(shared), place_(std::move(place)), random_(seed) {}

  int Run() {
    while (shared_->stop.load() == 0) {
      if (!Visit()) return 1;
    }
    return 0;
  }

 private:
  bool Fail(const std::string& text) {
    if (shared_->failed.exchange(1) == 0) {
      std::strncpy(shared_->message, text.c_str(), sizeof shared_->message - 1);
    }
    return false;
  }
  /// Opens the pool and reads it some times. False: a failure.
  bool Visit() {
    while (shared_->writer_opens.load() != 0 && shared_->stop.load() == 0 && !random_.OneIn(20)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    const LeastNumbers least = AcknowledgedNow(shared_->numbers);
    Options options = place_.OptionsFor(random_.Next() >> 1);
    options.read_only = true;
    Result<std::unique_ptr<DB>> opened = DB::Open(options, place_.pool);
    if (!opened.ok()) {
      if (!opened.status().IsBusy() && !opened.status().IsNotFound()) {
        return Fail("open: " + opened.status().ToString());
      }
      shared_->busy.fetch_add(1);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return true;
    }
    shared_->opens.fetch_add(1);
    DB* db = opened.value().get();
    std::optional<Pairs> first;
    for (uint64_t scans = random_.Between(1, 12); scans > 0; --scans) {
      Pairs found;
      const Status scanned = ScanGroups(db, random_.OneIn(2), &found);
      if (scanned.IsTryAgain()) {
        shared_->taken_back.fetch_add(1);
        return true;
      }
      if (!scanned.ok()) return Fail("scan: " + scanned.ToString());
      if (const std::string fault = FaultOfGroups(found, least, shared_->numbers); !fault.empty()) {
        return Fail(fault);
      }
      if (!first) first = found;
      if (*first != found) return Fail("two scans of one handle differ");
      shared_->scans.fetch_add(1);
      if (const Status got = GetOne(db, found); !got.ok()) {
        return got.IsTryAgain() || Fail("get: " + got.ToString());
      }
      if (random_.OneIn(40)) {
        shared_->left.fetch_add(1);
        ::_exit(3);  // the parent starts another one
      }
      std::this_thread::sleep_for(std::chrono::microseconds(random_.Below(3000)));
    }
    if (random_.OneIn(3) && !opened.value()->Close().ok()) return Fail("close");
    return true;
  }

  Status GetOne(DB* db, const Pairs& found) {
    if (found.empty()) return Status::OK();
    const auto& [key, value] = found[random_.Below(found.size())];
    std::string got;
    if (Status s = db->Get(key, &got); !s.ok()) return s;
    return got == value ? Status::OK() : Status::Corruption("another value than the scan's");
  }

  Shared* shared_;
  const Place place_;
  Random random_;
};

/// Writes until it is killed.
int Write(Shared* shared, const Place& place, uint64_t seed) {
  Random random(seed);
  Options options = place.OptionsFor(seed);
  options.background_threads = true;
  const auto fail = [&](const Status& status) {
    if (shared->failed.exchange(1) == 0) {
      std::strncpy(shared->message, ("writer: " + status.ToString()).c_str(),
                   sizeof shared->message - 1);
    }
    return 1;
  };
  for (;;) {
    // Readers that have it open alone are in the way, as ever; those of the last writer are not.
    shared->writer_opens.store(1);
    Result<std::unique_ptr<DB>> opened = Status::Busy("");
    while (opened.status().IsBusy()) opened = DB::Open(options, place.pool);
    if (!opened.ok()) return fail(opened.status());
    shared->writer_opens.store(0);
    while (!random.OneIn(1500)) {
      const auto group = static_cast<uint32_t>(random.Below(kGroups));
      const uint64_t number = shared->numbers.sent[group].load() + 1;
      const WriteBatch batch = GroupBatch(group, number);
      shared->numbers.sent[group].store(number);
      if (const Status s = opened.value()->Write(batch); !s.ok()) return fail(s);
      shared->numbers.acknowledged[group].store(number);
      if (random.OneIn(400)) {
        const Status s = random.OneIn(2) ? opened.value()->Compact() : opened.value()->Flush();
        if (!s.ok()) return fail(s);
        shared->tier_entries.store(opened.value()->GetStatistics().tier_entries);
      }
      if (random.OneIn(50)) {
        std::this_thread::sleep_for(std::chrono::microseconds(random.Below(10'000)));
      }
    }
    if (const Status s = opened.value()->Close(); !s.ok()) return fail(s);
    shared->closes.fetch_add(1);
  }
}

pid_t Start(const std::function<int()>& body) {
  std::fflush(stdout);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::alarm(600);
    ::_exit(body());
  }
  return pid;
}

/// A design; with "_tier" behind its name over RocksDB, which nearly all entries go to, whose
/// compactions remove what readers have open, and which is killed with the writer.
class BesideTest : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Designs, BesideTest,
                         ::testing::Values("braid", "listdb", "zipperdb", "novelsm", "tlsm",
                                           "braid_tier", "zipperdb_tier", "tlsm_tier"),
                         [](const auto& tested) { return tested.param; });

TEST_P(BesideTest, ReadersBesideAWriterSeeWholeStatesThoughAllAreKilled) {
  TempFolder folder;
  Place place{GetParam(), folder.Sub("pool"), ""};
  if (const size_t at = place.design.find("_tier"); at != std::string::npos) {
#if !defined(BRAID_HAVE_ROCKSDB_TIER)
    GTEST_SKIP() << "built without RocksDB";
#endif
    place.design.resize(at);
    place.tier = folder.Sub("tier");
  }
  auto* shared = new (::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Shared();
  Random random(DeriveSeed(521));
  SCOPED_TRACE(ReplayLine());
  std::vector<pid_t> readers(kReaders, 0);
  const auto start_reader = [&](pid_t* pid) {
    const uint64_t seed = random.Next();
    *pid = Start([&] { return Reader(shared, place, seed).Run(); });
  };
  for (pid_t& pid : readers) start_reader(&pid);
  const WorkBudget budget(Sized(25, 2'000));
  uint64_t rounds = 0;
  const auto saw_all = [&] {
    return (shared->scans.load() > 0 && shared->taken_back.load() > 0 &&
            (place.tier.empty() || shared->tier_entries.load() > 0)) ||
           rounds >= 400;
  };
  for (; !(budget.Spent(rounds) && saw_all()) && shared->failed.load() == 0; ++rounds) {
    const uint64_t seed = random.Next() >> 1;
    const pid_t writer = Start([&] { return Write(shared, place, seed); });
    const auto end = Clock::now() + std::chrono::milliseconds(random.Between(50, 500));
    while (Clock::now() < end && shared->failed.load() == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      pid_t& one = readers[random.Below(kReaders)];
      if (random.OneIn(20)) ::kill(one, SIGKILL);
      int status = 0;
      if (::waitpid(one, &status, WNOHANG) == one) start_reader(&one);
    }
    ::kill(writer, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(writer, &status, 0), writer);
    // What was in flight came to count or not: the next one of the group has a higher number.
  }
  shared->stop.store(1);
  for (const pid_t pid : readers) {
    int status = 0;
    EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  }
  std::printf(
      "[ beside   ] %llu writers killed, %llu closes, %llu opens, %llu scans, %llu taken back, "
      "%llu busy, %llu left\n",
      static_cast<unsigned long long>(rounds),
      static_cast<unsigned long long>(shared->closes.load()),
      static_cast<unsigned long long>(shared->opens.load()),
      static_cast<unsigned long long>(shared->scans.load()),
      static_cast<unsigned long long>(shared->taken_back.load()),
      static_cast<unsigned long long>(shared->busy.load()),
      static_cast<unsigned long long>(shared->left.load()));
  EXPECT_EQ(shared->failed.load(), 0u) << shared->message;
  EXPECT_GT(shared->scans.load(), 0u);
  EXPECT_GT(shared->taken_back.load(), 0u);
  const std::unique_ptr<DB> db = OpenOrFail(place.OptionsFor(1), place.pool);
  ASSERT_NE(db, nullptr);
  ExpectVerified(db.get());
  EXPECT_EQ(db->GetStatistics().tier_entries > 0, !place.tier.empty());
  tier::SetPoolBytes(0);
  ::munmap(shared, sizeof(Shared));
}

}  // namespace
}  // namespace braid::test
