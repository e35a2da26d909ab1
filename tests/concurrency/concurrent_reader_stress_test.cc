// Handles that read beside a handle that writes, all in this process, each with a mapping of its
// own: what they share is the file "readers", as processes do, and here the thread sanitizer looks
// on. Readers open all the time, and find whole states, no older than their open.
#include <thread>

#include "concurrency.h"
#include "support/groups.h"
#include "tier/memory_store.h"
#include "tier/open_store.h"

namespace braid::test {
namespace {

struct Tally {
  std::atomic<uint64_t> opens{0};
  std::atomic<uint64_t> scans{0};
  std::atomic<uint64_t> taken_back{0};
  std::atomic<uint64_t> busy{0};
};

struct Beside {
  const char* design;
  bool has_tier;
};
void PrintTo(const Beside& beside, std::ostream* out) { *out << beside.design; }

class BesideStressTest : public ::testing::TestWithParam<Beside> {
 protected:
  static constexpr const char* kTier = "memory:beside";

  /// So little may stay that each round of merges is followed by moves.
  BesideStressTest() { tier::SetPoolBytes(4 << 10); }
  ~BesideStressTest() override { tier::SetPoolBytes(0); }

  Options Tiny(bool read_only) const {
    Options options = TinyOptions();
    options.design = GetParam().design;
    options.read_only = read_only;
    if (GetParam().has_tier) {
      options.tier.path = kTier;
      options.pool.max_bytes = 64 << 20;  // no matter: SetPoolBytes
    }
    return options;
  }
  void Write(DB* db, uint32_t first_group, uint64_t seed) {
    Random random(seed);
    while (!stop_.load() && !failure_.failed()) {
      const uint32_t group = first_group + 2 * static_cast<uint32_t>(random.Below(kGroups / 2));
      const uint64_t number = numbers_.sent[group].load() + 1;
      numbers_.sent[group].store(number);
      if (!failure_.Check(db->Write(GroupBatch(group, number)), "write")) return;
      numbers_.acknowledged[group].store(number);
      if (random.OneIn(300) && !failure_.Check(db->Compact(), "compact")) return;
      if (random.OneIn(20)) std::this_thread::sleep_for(std::chrono::milliseconds(random.Below(5)));
    }
  }
  /// Opens, reads with two threads, closes: again and again.
  void Read(uint64_t seed) {
    Random random(seed);
    while (!stop_.load() && !failure_.failed()) {
      const LeastNumbers least = AcknowledgedNow(numbers_);
      auto opened = DB::Open(Tiny(true), folder_.Sub("pool"));
      if (opened.status().IsBusy()) {
        ++tally_.busy;
        continue;
      }
      if (!failure_.Check(opened.status(), "open")) return;
      ++tally_.opens;
      const uint64_t other = random.Next();
      std::thread second([&] { Scan(opened->get(), least, other); });
      Scan(opened->get(), least, random.Next());
      if (random.OneIn(2)) failure_.Check((*opened)->Close(), "close");
      second.join();
    }
  }
  void Scan(DB* db, const LeastNumbers& least, uint64_t seed) {
    Random random(seed);
    for (uint64_t scans = random.Between(1, 6); scans > 0; --scans) {
      Pairs found;
      const Status status = ScanGroups(db, random.OneIn(2), &found);
      if (status.IsClosed()) return;
      if (status.IsTryAgain()) {
        ++tally_.taken_back;
        return;
      }
      if (!failure_.Check(status, "scan")) return;
      if (const std::string fault = FaultOfGroups(found, least, numbers_); !fault.empty()) {
        failure_.Report(fault);
      }
      ++tally_.scans;
    }
  }

  TempFolder folder_;
  tier::MemoryDevice device_{kTier};
  GroupNumbers numbers_{};
  FirstFailure failure_;
  std::atomic<bool> stop_{false};
  Tally tally_;
};
INSTANTIATE_TEST_SUITE_P(Designs, BesideStressTest,
                         ::testing::Values(Beside{"braid", false}, Beside{"listdb", false},
                                           Beside{"zipperdb", false}, Beside{"novelsm", false},
                                           Beside{"tlsm", false}, Beside{"braid", true},
                                           Beside{"zipperdb", true}),
                         [](const auto& tested) {
                           return std::string(tested.param.design) +
                                  (tested.param.has_tier ? "_tier" : "");
                         });

TEST_P(BesideStressTest, ReadersBesideAWriterSeeWholeStates) {
  Random random(DeriveSeed(811));
  SCOPED_TRACE(ReplayLine());
  const std::unique_ptr<DB> db = OpenOrFail(Tiny(false), folder_.Sub("pool"));
  ASSERT_NE(db, nullptr);
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < 2; ++i) {
    threads.emplace_back([&, i, seed = random.Next()] { Write(db.get(), i, seed); });
    threads.emplace_back([&, seed = random.Next()] { Read(seed); });
  }
  // Until there was enough of all there is, however slow the machine.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(120);
  const uint64_t wanted = std::max<uint64_t>(Sized(100, 3000), 20);
  while (!failure_.failed() && std::chrono::steady_clock::now() < end &&
         (tally_.scans < wanted || tally_.taken_back < wanted / 5 ||
          (GetParam().has_tier && db->GetStatistics().tier_moved_entries == 0))) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  stop_.store(true);
  for (std::thread& thread : threads) thread.join();
  std::printf("[ beside   ] %llu opens, %llu scans, %llu taken back, %llu busy\n",
              static_cast<unsigned long long>(tally_.opens),
              static_cast<unsigned long long>(tally_.scans),
              static_cast<unsigned long long>(tally_.taken_back),
              static_cast<unsigned long long>(tally_.busy));
  EXPECT_FALSE(failure_.failed()) << failure_.text();
  EXPECT_GT(tally_.scans, 0u);
  EXPECT_GT(tally_.taken_back, 0u);
  EXPECT_EQ(db->GetStatistics().tier_moved_entries > 0, GetParam().has_tier);
  ExpectVerified(db.get());
}

}  // namespace
}  // namespace braid::test
