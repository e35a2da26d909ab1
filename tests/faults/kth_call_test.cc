// The k-th call of each kind fails, for every k: no crash, no leak, no hang, an error that says
// what it was; what was acknowledged stays, what was refused did not happen.
#include <dirent.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "scenario.h"
#include "support/temp_folder.h"

namespace braid::test {
namespace {

size_t OpenDescriptors() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

/// Mappings of files below `folder`: a handle that is gone must leave none.
size_t MappingsOf(const std::string& folder) {
  std::ifstream maps("/proc/self/maps");
  size_t count = 0;
  for (std::string line; std::getline(maps, line);) count += line.find(folder) != std::string::npos;
  return count;
}

struct Kind {
  Call call;
  int error;
};
constexpr Kind kKinds[] = {
    {Call::kNew, ENOMEM},    {Call::kMap, ENOMEM},      {Call::kOpen, EMFILE},
    {Call::kOpen, EACCES},   {Call::kAllocate, ENOSPC}, {Call::kAllocate, EDQUOT},
    {Call::kSync, EIO},      {Call::kSync, ENOSPC},     {Call::kRename, EIO},
    {Call::kRename, ENOSPC}, {Call::kWrite, ENOSPC},    {Call::kLock, ENOLCK},
    {Call::kStat, EIO},      {Call::kThread, EAGAIN},
};

class KthCallTest : public ::testing::TestWithParam<size_t> {
 protected:
  void SetUp() override {
    ::alarm(NightSize() ? 3000 : 600);
    options_ = FaultOptions(scenario());
    scenario().prepare(options_, Template(), &prepared_);
    ASSERT_TRUE(prepared_.complaints.empty()) << prepared_.complaints[0];
  }
  void TearDown() override { ::alarm(0); }

  const Scenario& scenario() const { return kScenarios[GetParam()]; }
  std::string Template() const { return folder_.Sub("template"); }

  /// Runs the scenario with this injection on a fresh copy. Returns the number of calls.
  uint64_t RunOnce(const Injection& injection) {
    const std::string pool = folder_.Sub("pool");
    std::filesystem::remove_all(pool);
    if (std::filesystem::exists(Template())) {
      std::filesystem::copy(Template(), pool, std::filesystem::copy_options::recursive);
      std::filesystem::permissions(pool, std::filesystem::perms::owner_all);
    }
    Ledger ledger = prepared_;
    const size_t descriptors = OpenDescriptors();
    Inject(injection);
    scenario().run(options_, pool, &ledger);
    const uint64_t calls = CallsMade();
    const bool failed = HasFailed();
    Inject({});
    EXPECT_EQ(OpenDescriptors(), descriptors) << injection.ToString();
    EXPECT_EQ(MappingsOf(folder_.path()), 0u) << injection.ToString();
    CheckAfterwards(options_, pool, &ledger);
    for (const std::string& complaint : ledger.complaints) {
      ADD_FAILURE() << scenario().name << ", " << injection.ToString() << ": " << complaint;
    }
    return failed ? calls : 0;
  }

  /// Every k until nothing fails any more.
  void RunAll(const Kind& kind, bool lasting) {
    for (uint64_t k = 1;; ++k) {
      const uint64_t calls = RunOnce({kind.call, k, lasting, kind.error});
      if (calls == 0 || HasFailure()) return;
      ++runs_;
    }
  }

  TempFolder folder_;
  Options options_;
  Ledger prepared_;
  uint64_t runs_ = 0;
};

TEST_P(KthCallTest, EveryAllocationMayFail) {
  RunAll({Call::kNew, ENOMEM}, false);
  std::printf("[ runs     ] %llu\n", static_cast<unsigned long long>(runs_));
}

TEST_P(KthCallTest, MemoryMayRunOutForGoodAtEveryAllocation) {
  RunAll({Call::kNew, ENOMEM}, true);
  std::printf("[ runs     ] %llu\n", static_cast<unsigned long long>(runs_));
}

TEST_P(KthCallTest, EverySystemCallMayFail) {
  for (const Kind& kind : kKinds) {
    if (kind.call == Call::kNew) continue;
    for (const bool lasting : {false, true}) {
      RunAll(kind, lasting);
      if (HasFailure()) return;
    }
  }
  std::printf("[ runs     ] %llu\n", static_cast<unsigned long long>(runs_));
}

TEST_P(KthCallTest, WhatASignalInterruptsIsDoneAgain) {
  for (const Call call : {Call::kOpen, Call::kAllocate, Call::kSync, Call::kWrite, Call::kLock}) {
    for (uint64_t k = 1;; ++k) {
      const uint64_t calls = RunOnce({call, k, false, EINTR});
      if (calls == 0 || HasFailure()) break;
      ++runs_;
    }
  }
}

TEST(FaultScenarioTest, WritesComeByFlushMergeGrowthAndLargeValues) {
  for (size_t i = 0; i < kScenarioCount; ++i) {
    const Scenario& scenario = kScenarios[i];
    if (std::string_view(scenario.name).find("Writes") != 0) continue;
    TempFolder folder;
    const Options options = FaultOptions(scenario);
    Ledger ledger;
    scenario.prepare(options, folder.Sub("pool"), &ledger);
    const bool fresh = !std::filesystem::exists(folder.Sub("pool"));
    scenario.run(options, folder.Sub("pool"), &ledger);
    EXPECT_TRUE(ledger.complaints.empty()) << ledger.complaints[0];
    EXPECT_TRUE(ledger.maybe.empty());
    EXPECT_GE(ledger.reached.flushes, 3u) << scenario.name;
    EXPECT_GE(ledger.reached.merges, 3u) << scenario.name;
    EXPECT_TRUE(!fresh || ledger.reached.pool_bytes > options.pool.initial_bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(Faults, KthCallTest, ::testing::Range(size_t{0}, kScenarioCount),
                         [](const auto& scenario) { return kScenarios[scenario.param].name; });

}  // namespace
}  // namespace braid::test
