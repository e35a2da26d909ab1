// The stores "local" and "delegated" against an ordered map, and behind the harness, which checks
// every value that it reads.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "bench/engines/engines.h"
#include "bench/harness/runner.h"
#include "src/base/random.h"
#include "support/temp_folder.h"

namespace braid::bench {
namespace {

using Model = std::map<std::string, std::string, std::less<>>;

uint64_t FieldOf(KvEngine* engine, std::string_view name) {
  for (const EngineField& field : engine->Fields()) {
    if (field.name == name) return field.value;
  }
  ADD_FAILURE() << "no field " << name;
  return 0;
}

struct Case {
  const char* engine;
  uint32_t regions;
};

class RegionalEngineTest : public testing::TestWithParam<Case> {
 protected:
  void Open(const std::vector<std::string>& more = {}) {
    engine_ = MakeEngine(GetParam().engine);
    ASSERT_NE(engine_, nullptr);
    EngineConfig config;
    config.directory = folder_.Sub("db");
    config.settings = {"pool.regions=" + std::to_string(GetParam().regions), "memtable.bytes=256K",
                       "pool.initial_bytes=8M"};
    config.settings.insert(config.settings.end(), more.begin(), more.end());
    const Status s = engine_->Open(config);
    ASSERT_TRUE(s.ok()) << s.ToString();
  }
  bool local() const { return std::string_view(GetParam().engine) == "local"; }

  void ExpectEqual(const Model& model) {
    const std::unique_ptr<KvSession> session = engine_->NewSession();
    Model found;
    std::string last;
    ASSERT_TRUE(session
                    ->Scan({},
                           [&](std::string_view key, std::string_view value) {
                             EXPECT_LT(last, key);
                             last = key;
                             found.emplace(key, value);
                             return true;
                           })
                    .ok());
    EXPECT_EQ(found, model);
    std::vector<std::string> backward;
    ASSERT_TRUE(session
                    ->Scan({std::nullopt, true},
                           [&](std::string_view key, std::string_view) {
                             backward.emplace_back(key);
                             return true;
                           })
                    .ok());
    ASSERT_EQ(backward.size(), model.size());
    EXPECT_TRUE(std::equal(backward.rbegin(), backward.rend(), model.begin(),
                           [](const std::string& a, const auto& b) { return a == b.first; }));
    std::string value;
    for (const auto& [key, expected] : model) {
      ASSERT_TRUE(session->Get(key, &value).ok()) << key;
      EXPECT_EQ(value, expected);
    }
  }

  test::TempFolder folder_;
  std::unique_ptr<KvEngine> engine_;
};

TEST_P(RegionalEngineTest, BehavesLikeAnOrderedMapOverSeveralSessionsAndOpens) {
  Model model;
  Random random(7);
  for (int opens = 0; opens < 3; ++opens) {
    ASSERT_NO_FATAL_FAILURE(Open());
    std::vector<std::unique_ptr<KvSession>> sessions;
    for (int i = 0; i < 5; ++i) sessions.push_back(engine_->NewSession());
    for (int i = 0; i < 6000; ++i) {
      KvSession& session = *sessions[random.Uniform(sessions.size())];
      const std::string key = "key" + std::to_string(random.Uniform(900));
      const uint64_t what = random.Uniform(10);
      if (what < 5) {
        const std::string text(random.Uniform(60), static_cast<char>('a' + random.Uniform(26)));
        ASSERT_TRUE(session.Put(key, text).ok());
        model[key] = text;
      } else if (what < 7) {
        ASSERT_TRUE(session.Delete(key).ok());
        model.erase(key);
      } else {
        std::string value;
        const Status s = session.Get(key, &value);
        const auto expected = model.find(key);
        ASSERT_EQ(s.ok(), expected != model.end()) << key << ": " << s.ToString();
        ASSERT_EQ(s.IsNotFound(), expected == model.end());
        if (s.ok()) {
          ASSERT_EQ(value, expected->second);
        }
      }
    }
    ExpectEqual(model);
    ASSERT_TRUE(engine_->Settle().ok());
    ExpectEqual(model);
    sessions.clear();
    ASSERT_TRUE(engine_->Close().ok());
  }
}

TEST_P(RegionalEngineTest, ScansBeginWhereTheyAreToldAndEndWhenTheyAreTold) {
  ASSERT_NO_FATAL_FAILURE(Open());
  for (int i = 0; i < 100; ++i) {
    // A session of its own each: the keys of "local" lie in all pools.
    ASSERT_TRUE(engine_->NewSession()->Put(std::to_string(1000 + i), "v").ok());
  }
  std::vector<std::string> keys;
  ASSERT_TRUE(engine_->NewSession()
                  ->Scan({"1040", false},
                         [&](std::string_view key, std::string_view) {
                           keys.emplace_back(key);
                           return keys.size() < 5;
                         })
                  .ok());
  EXPECT_EQ(keys, (std::vector<std::string>{"1040", "1041", "1042", "1043", "1044"}));
  ASSERT_TRUE(engine_->Close().ok());
}

TEST_P(RegionalEngineTest, AReaderNeverSeesAValueThatWasReplacedBeforeItBegan) {
  ASSERT_NO_FATAL_FAILURE(Open());
  constexpr uint64_t kWriters = 6;
  const uint64_t rounds = local() ? 10'000 : 2000;
  // A value is the tick at which its put began. A put that ended before another began may not be
  // seen by a get that began after the end of the other.
  std::atomic<uint64_t> tick{1};
  std::vector<std::atomic<uint64_t>> end_of(2 * kWriters * rounds + 2);
  std::atomic<uint64_t> newest_finished{0};
  std::atomic<uint64_t> writing{kWriters};
  const auto write = [&] {
    const std::unique_ptr<KvSession> session = engine_->NewSession();
    for (uint64_t round = 0; round < rounds; ++round) {
      const uint64_t begin = tick.fetch_add(1);
      EXPECT_TRUE(session->Put("key", std::to_string(begin)).ok());
      end_of[begin] = tick.fetch_add(1);
      uint64_t newest = newest_finished.load();
      while (newest < begin && !newest_finished.compare_exchange_weak(newest, begin)) {
      }
    }
    --writing;
  };
  const auto read = [&] {
    const std::unique_ptr<KvSession> session = engine_->NewSession();
    std::string value;
    while (writing != 0) {
      const uint64_t least = newest_finished;
      const Status s = session->Get("key", &value);
      EXPECT_TRUE(s.ok() || (least == 0 && s.IsNotFound())) << s.ToString();
      if (!s.ok()) continue;
      const uint64_t end = end_of[std::stoull(value)];
      EXPECT_TRUE(end == 0 || end > least) << value << " ended at " << end << ", " << least;
    }
  };
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < kWriters; ++i) threads.emplace_back(write);
  for (int i = 0; i < 2; ++i) threads.emplace_back(read);
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(engine_->Close().ok());
}

TEST_P(RegionalEngineTest, WritersOfOneKeyInAllRegionsLeaveOneOfTheirLastValues) {
  ASSERT_NO_FATAL_FAILURE(Open());
  std::vector<std::thread> threads;
  for (int writer = 0; writer < 6; ++writer) {
    threads.emplace_back([&, writer] {
      const std::unique_ptr<KvSession> session = engine_->NewSession();
      for (int round = 0; round < 1000; ++round) {
        EXPECT_TRUE(session->Put("key", std::to_string(writer) + "/" + std::to_string(round)).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::string> seen;
  for (int i = 0; i < 8; ++i) {
    std::string value;
    ASSERT_TRUE(engine_->NewSession()->Get("key", &value).ok());
    EXPECT_TRUE(value.ends_with("/999")) << value;
    seen.insert(value);
  }
  // Whoever asks gets the same answer.
  EXPECT_EQ(seen.size(), 1u);
  ASSERT_TRUE(engine_->Close().ok());
}

TEST_P(RegionalEngineTest, VisitsOfOtherRegionsAreThoseThatTheSchemeMakes) {
  ASSERT_NO_FATAL_FAILURE(
      Open({"lists.count_visits=true", "cache.index=false", "cache.lookup_bytes=0"}));
  const uint32_t regions = GetParam().regions;
  std::vector<std::unique_ptr<KvSession>> sessions;
  for (uint32_t i = 0; i < regions; ++i) sessions.push_back(engine_->NewSession());
  for (int i = 0; i < 4000; ++i) {
    ASSERT_TRUE(sessions[static_cast<uint32_t>(i) % regions]
                    ->Put("key" + std::to_string(i * 7919 % 4000), "value")
                    .ok());
  }
  ASSERT_TRUE(engine_->Settle().ok());
  std::string value;
  for (int i = 0; i < 4000; ++i) {
    ASSERT_TRUE(sessions[static_cast<uint32_t>(i / 10) % regions]
                    ->Get("key" + std::to_string(i), &value)
                    .ok());
  }
  const uint64_t near =
      FieldOf(engine_.get(), "upper_visits_local") + FieldOf(engine_.get(), "bottom_visits_local");
  const uint64_t far = FieldOf(engine_.get(), "upper_visits_remote") +
                       FieldOf(engine_.get(), "bottom_visits_remote");
  EXPECT_GT(near, 4000u);
  if (local()) {
    EXPECT_NEAR(static_cast<double>(near) * regions, static_cast<double>(near + far),
                static_cast<double>(near + far) * 0.01);
  } else {
    EXPECT_EQ(far, 0u);
    EXPECT_EQ(FieldOf(engine_.get(), "delegated_requests"), 8000u);
    EXPECT_GT(FieldOf(engine_.get(), "queue_wait_nanos"), 8000u);
    EXPECT_GT(FieldOf(engine_.get(), "answer_wait_nanos"), 8000u);
  }
  EXPECT_GE(*engine_->Counters().fences, 4000u);
  sessions.clear();
  ASSERT_TRUE(engine_->Close().ok());
}

TEST_P(RegionalEngineTest, PoolsOfAnotherNumberAreRefused) {
  ASSERT_NO_FATAL_FAILURE(Open());
  ASSERT_TRUE(engine_->Close().ok());
  for (const char* regions : {"2", "3", "4", "9"}) {
    if (regions == std::to_string(GetParam().regions)) continue;
    EngineConfig config;
    config.directory = folder_.Sub("db");
    config.settings = {std::string("pool.regions=") + regions};
    EXPECT_TRUE(engine_->Open(config).IsInvalidArgument());
    ASSERT_TRUE(engine_->Close().ok());
  }
}

TEST_P(RegionalEngineTest, AnswersTheBenchmarksOfTheHarness) {
  engine_ = MakeEngine(GetParam().engine);
  WorkloadOptions workload;
  workload.num = 5'000;
  workload.hash_keys = true;
  workload.threads = 3;
  workload.settings = {"pool.regions=" + std::to_string(GetParam().regions), "memtable.bytes=256K",
                       "pool.initial_bytes=8M"};
  workload.benchmarks = {"fillrandom",  "readrandom", "readmissing", "readseq",
                         "readreverse", "seekrandom", "overwrite",   "ycsb-a",
                         "ycsb-e",      "ycsb-f",     "deleterandom"};
  if (local()) workload.batch_size = 10;
  ASSERT_TRUE(workload.Validate().ok());
  uint64_t done = 0;
  const Status status =
      Runner(*engine_, workload, folder_.Sub("db")).Run([&](const BenchmarkResult& result) {
        done += result.OperationsPerSecond() > 0 ? 1 : 0;
      });
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(done, workload.benchmarks.size());
  // The report asks when the store is closed.
  EXPECT_EQ(engine_->parameters().find(std::to_string(GetParam().regions) + " pools"), 0u);
}

INSTANTIATE_TEST_SUITE_P(Engines, RegionalEngineTest,
                         testing::Values(Case{"local", 2}, Case{"local", 4}, Case{"delegated", 2},
                                         Case{"delegated", 4}),
                         [](const auto& tested) {
                           return std::string(tested.param.engine) +
                                  std::to_string(tested.param.regions);
                         });

TEST(RegionalEnginesTest, AreChosenByNameAndNotRunUnasked) {
  const std::vector<std::string> peers = PeerEngineNames();
  for (const std::string name : {"local", "delegated"}) {
    ASSERT_NE(MakeEngine(name), nullptr);
    EXPECT_EQ(MakeEngine(name)->name(), name);
    EXPECT_EQ(std::count(peers.begin(), peers.end(), name), 0);
  }
  EXPECT_EQ(peers.front(), "braid");
}

TEST(DesignEnginesTest, AreChosenByNameAndNotRunUnasked) {
  const std::vector<std::string> peers = PeerEngineNames();
  const std::vector<std::string> all = EngineNames();
  const std::vector<std::string> designs = DesignEngineNames();
  EXPECT_EQ(std::count(designs.begin(), designs.end(), "listdb"), 1);
  EXPECT_EQ(std::count(designs.begin(), designs.end(), "blackhole"), 0) << "it stores nothing";
  for (const std::string& name : designs) {
    EXPECT_EQ(std::count(peers.begin(), peers.end(), name), 0) << name;
    EXPECT_EQ(std::count(all.begin(), all.end(), name), 1) << name;
    const test::TempFolder folder;
    const std::unique_ptr<KvEngine> engine = MakeEngine(name);
    ASSERT_NE(engine, nullptr);
    EXPECT_EQ(engine->name(), name);
    EngineConfig config;
    config.directory = folder.Sub("db");
    ASSERT_TRUE(engine->Open(config).ok());
    EXPECT_NE(engine->parameters().find("design " + name), std::string::npos);
    EXPECT_TRUE(engine->Close().ok());
  }
}

TEST(RegionalEnginesTest, ADelegatedBatchIsRefusedSinceItCouldNotBeAtomic) {
  const test::TempFolder folder;
  const std::unique_ptr<KvEngine> engine = MakeEngine("delegated");
  EngineConfig config;
  config.directory = folder.Sub("db");
  ASSERT_TRUE(engine->Open(config).ok());
  EXPECT_TRUE(engine->NewSession()->Write({{"a", "1"}, {"b", "2"}}).IsNotSupported());
  EXPECT_TRUE(engine->Close().ok());
}

}  // namespace
}  // namespace braid::bench
