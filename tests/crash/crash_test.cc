// The crash tests: every workload, every crash point, many images a point
// (docs/internals/crash-simulator.md).
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <optional>
#include <string>

#include "crash/campaign.h"
#include "crash/mutant_table.h"

namespace braid::crash {
namespace {

Counts total;
double total_seconds = 0;
size_t workloads_run = 0;

class CrashTest : public ::testing::TestWithParam<Workload> {};

TEST_P(CrashTest, EveryImageRecovers) {
  Device device;
  if (const std::optional<Position> at = ReplayFromEnvironment()) {
    const std::optional<std::string> failure = ReplayOne(&device, GetParam(), *at);
    if (failure.has_value()) FAIL() << *failure;
    std::printf("[ crash    ] %s: the replayed image is right\n", GetParam().name.c_str());
    return;
  }
  const uint64_t images = ImagesFor(GetParam());
  uint64_t next_seed = FirstSeed();
  const auto begin = std::chrono::steady_clock::now();
  const double seconds = SecondsAWorkload();
  const std::optional<std::string> failure =
      RunWorkload(&device, GetParam(), images, seconds, &next_seed);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  const Counts& counts = device.checker.counts();
  std::printf("[ crash    ] %-16s %s\n", GetParam().name.c_str(),
              Describe(counts, took.count()).c_str());
  total.Add(counts);
  total_seconds += took.count();
  ++workloads_run;
  if (failure.has_value()) FAIL() << *failure;
  if (counts.images >= images) return;
  EXPECT_GE(took.count(), seconds);
  std::printf("[ crash    ] %s: the time is up; BRAID_TEST_SIZE=%s BRAID_SEED=%llu goes on\n",
              GetParam().name.c_str(), Size().name, static_cast<unsigned long long>(next_seed));
}

INSTANTIATE_TEST_SUITE_P(Workloads, CrashTest, ::testing::ValuesIn(AllWorkloads()),
                         [](const auto& param) { return param.param.name; });

/// Prints the sum after the last test.
class Total : public ::testing::Environment {
 public:
  void TearDown() override {
    if (workloads_run < 2) return;
    std::printf("[ crash    ] %-16s %s\n", "all workloads", Describe(total, total_seconds).c_str());
  }
};

const ::testing::Environment* const environment = ::testing::AddGlobalTestEnvironment(new Total);

TEST(MutantTableTest, EveryRowOfTheContractHasTwoMutantsAndEveryKindOfMistakeThree) {
  std::map<std::string, int> parts;
  std::map<std::string, int> mistakes;
  for (const MutantFacts& facts : AllMutants()) {
    ++parts[facts.part];
    ++mistakes[facts.mistake];
    if (facts.workload != nullptr) {
      EXPECT_NE(FindWorkload(facts.workload), nullptr) << facts.workload;
    }
  }
  for (const char* part : {"pool creation",
                           "growth",
                           "chunk allocation",
                           "chunk free",
                           "extent allocation",
                           "extent free",
                           "entry",
                           "batch",
                           "insertion in place",
                           "link flush",
                           "group write-back",
                           "copy flush",
                           "copy merge",
                           "manifest",
                           "merge begin",
                           "redo batch",
                           "concurrent merges",
                           "updates of a batch",
                           "merge end",
                           "collection: copies",
                           "collection: merge",
                           "torn entries",
                           "pool header",
                           "open: dirty",
                           "close: clean",
                           "rebuild"}) {
    EXPECT_GE(parts[part], 2) << part;
  }
  for (const char* mistake : {"flush", "order", "atomic", "leak", "repeat", "creation",
                              "early read", "address", "tower", "revenant", "stale cache",
                              "options", "sequence", "both or neither", "tail", "second crash"}) {
    EXPECT_GE(mistakes[mistake], 3) << mistake;
  }
}

// In a push, of a part of the workloads: another one with each seed.
TEST(CrashDriverTest, ARunIsTheSameEveryTime) {
  const uint64_t part = test::PartOfPush();
  uint64_t number = test::BaseSeed() % part;
  for (const Workload& workload : AllWorkloads()) {
    if (number++ % part != 0) continue;
    uint64_t points[2] = {};
    for (uint64_t& count : points) {
      Device device;
      RunSettings settings;
      // Points are counted, no image is made: the suites make them.
      settings.replay = Position{7, ~0ull, 0, false, {}};
      const std::optional<Failure> failure = RunOnce(&device, workload, 7, settings);
      if (failure.has_value()) FAIL() << workload.name << ": " << failure->what;
      count = device.checker.counts().points;
    }
    EXPECT_GT(points[0], 0u) << workload.name;
    EXPECT_EQ(points[0], points[1]) << workload.name;
  }
}

}  // namespace
}  // namespace braid::crash
