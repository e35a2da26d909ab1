// The wB+-tree behind the harness's interface: every value that is read is checked by the harness.
#include <gtest/gtest.h>

#include <string>

#include "bench/engines/engines.h"
#include "bench/harness/runner.h"
#include "support/temp_folder.h"

namespace braid::bench {
namespace {

WorkloadOptions SmallWorkload(size_t key_size, size_t value_size) {
  WorkloadOptions workload;
  workload.num = 20'000;
  workload.key_size = key_size;
  workload.value_size = value_size;
  workload.hash_keys = true;
  workload.threads = 2;
  return workload;
}

TEST(WbTreeEngineTest, AnswersEveryBenchmarkThatHasNoBatches) {
  for (const char* name : {"wbtree", "wbtree-in-place"}) {
    const test::TempFolder folder;
    const std::unique_ptr<KvEngine> engine = MakeEngine(name);
    ASSERT_NE(engine, nullptr);
    WorkloadOptions workload = SmallWorkload(8, 8);
    workload.benchmarks = {"fillrandom",  "readrandom", "readmissing", "readseq",
                           "readreverse", "seekrandom", "overwrite",   "ycsb-a",
                           "ycsb-e",      "ycsb-f",     "deleterandom"};
    uint64_t done = 0;
    const Status status =
        Runner(*engine, workload, folder.Sub("db")).Run([&](const BenchmarkResult& result) {
          done += result.OperationsPerSecond() > 0 ? 1 : 0;
        });
    EXPECT_TRUE(status.ok()) << status.ToString();
    EXPECT_EQ(done, workload.benchmarks.size());
  }
}

TEST(WbTreeEngineTest, RefusesKeysAndValuesOfOtherSizesAndSettingsThatNobodyKnows) {
  for (const auto& [key_size, value_size] : {std::pair<size_t, size_t>{16, 8}, {8, 100}}) {
    const test::TempFolder folder;
    const std::unique_ptr<KvEngine> engine = MakeEngine("wbtree");
    EngineConfig config;
    config.directory = folder.Sub("db");
    config.key_size = key_size;
    config.value_size = value_size;
    EXPECT_TRUE(engine->Open(config).IsInvalidArgument());
    config.key_size = config.value_size = 8;
    config.settings = {"no.such=setting"};
    EXPECT_TRUE(engine->Open(config).IsInvalidArgument());
    config.settings.clear();
    EXPECT_TRUE(engine->Open(config).ok());
    EXPECT_TRUE(engine->Close().ok());
  }
}

TEST(WbTreeEngineTest, IsNotAmongTheStoresThatTakeAnySize) {
  for (const std::string& name : GeneralEngineNames()) {
    EXPECT_EQ(name.find("wbtree"), std::string::npos);
  }
  EXPECT_EQ(GeneralEngineNames().size() + 2, EngineNames().size());
}

}  // namespace
}  // namespace braid::bench
