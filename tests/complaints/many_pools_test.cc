// "A database a tenant, and the process is busy doing nothing": many small pools are open at a
// time, each with its background threads; when nobody uses them they take next to no processor
// time, and the first write wakes what it needs.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <thread>
#include <vector>

#include "base/futex.h"
#include "support/database.h"
#include "support/forbidden_call.h"
#include "support/processor_time.h"
#include "support/temp_folder.h"

namespace braid::test {
namespace {

/// Whether the process comes to rest: some while in which it takes less than `share` of a
/// processor. It is looked for until there is one, or for a minute.
bool ComesToRest(double share) {
  constexpr auto kWhile = std::chrono::milliseconds(500);
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (std::chrono::steady_clock::now() < end) {
    const auto begin = std::chrono::steady_clock::now();
    const double before = ProcessorSeconds();
    std::this_thread::sleep_for(kWhile);
    const double taken = ProcessorSeconds() - before;
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    if (taken < share * passed.count()) return true;
  }
  return false;
}

/// How often a thread of the process has begun to wait.
long Switches() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nvcsw;
}

size_t Threads() {
  size_t count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    (void)task;
    ++count;
  }
  return count;
}

TEST(ManyPoolsTest, ThatNobodyUsesTakeHardlyAnyProcessorTime) {
  constexpr uint64_t kWritten = 10;  // of them, in the end
  const uint64_t count = std::max(Sized(200, 1000), 2 * kWritten);
  const size_t threads_before = Threads();
  TempFolder folder;
  Options options = TinyOptions();
  std::vector<std::unique_ptr<DB>> pools;
  for (uint64_t i = 0; i < count; ++i) {
    pools.push_back(OpenOrFail(options, folder.Sub("pool-" + std::to_string(i))));
    ASSERT_NE(pools.back(), nullptr) << "of " << count << " pools number " << i;
    for (uint64_t n = 0; n < 100; ++n) {
      BRAID_ASSERT_OK(pools.back()->Put(NumberedKey(n), std::string(100, 'v')));
    }
  }
  // For all of them together: two or a processor each for flushes, merges and space, and one for a
  // hundred pools that tells when a process wants to read.
  EXPECT_LE(Threads() - threads_before,
            3 * std::max(2u, std::thread::hardware_concurrency()) + count / 100 + 1);
  // A hundredth of a processor for two hundred of them.
  EXPECT_TRUE(ComesToRest(0.00005 * static_cast<double>(count) + 0.005));
  // Nothing wakes them, either: not even a look for processes that want to read.
  if (KnowsCall(base::kFutexWaitv)) {
    const long before = Switches();
    std::this_thread::sleep_for(std::chrono::seconds(1));
    EXPECT_LT(Switches() - before, static_cast<long>(count / 2));
  }
  // From their sleep: seals, flushes, merges, growth and a wait for all of it.
  for (uint64_t i = 0; i < count; i += count / kWritten) {
    DB& db = *pools[i];
    for (uint64_t n = 0; n < 2000; ++n) {
      BRAID_ASSERT_OK(db.Put(NumberedKey(n), std::string(500, 'w')));
    }
    BRAID_ASSERT_OK(db.Compact());
    EXPECT_EQ(db.GetStatistics().l1_entries, 2000u);
    EXPECT_EQ(GetText(&db, NumberedKey(77)), std::string(500, 'w'));
  }
  for (auto& db : pools) BRAID_EXPECT_OK(db->Close());
  EXPECT_EQ(Threads(), threads_before);
}

TEST(ManyPoolsTest, OneThatSleptAnswersAFlushAtOnce) {
  TempFolder folder;
  const auto db = OpenOrFail(TinyOptions(), folder.Sub("pool"));
  ASSERT_NE(db, nullptr);
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(ComesToRest(0.002));
    BRAID_ASSERT_OK(db->Put("key", std::to_string(round)));
    BRAID_ASSERT_OK(db->Flush());
    ASSERT_TRUE(ComesToRest(0.002));
    BRAID_ASSERT_OK(db->Compact());
    EXPECT_EQ(db->GetStatistics().l1_entries, 1u);
  }
}

}  // namespace
}  // namespace braid::test
