// Several databases of a process on one budget of memory and one set of threads: what each has,
// what a close gives back, what is refused, and whose end comes first.
#include "braid/shared_resources.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support/child_process.h"
#include "support/database.h"
#include "support/temp_folder.h"

namespace braid::test {
namespace {

constexpr uint64_t kMiB = 1 << 20;

std::shared_ptr<SharedResources> Resources(uint64_t bytes, uint32_t threads = 3) {
  auto made =
      SharedResources::Create({.memory_budget_bytes = bytes, .background_threads = threads});
  EXPECT_TRUE(IsOk(made.status()));
  return made.ok() ? std::move(made).value() : nullptr;
}

class SharedResourcesTest : public ::testing::Test {
 protected:
  Options With(const std::shared_ptr<SharedResources>& resources) {
    Options options = TinyOptions();
    options.resources = resources;
    return options;
  }
  std::unique_ptr<DB> Open(const Options& options, int number) {
    return OpenOrFail(options, folder_.Sub("pool" + std::to_string(number)));
  }
  static void Fill(DB* db, uint64_t records, uint64_t from = 0) {
    for (uint64_t i = 0; i < records; ++i) {
      BRAID_ASSERT_OK(db->Put(NumberedKey((from + i) * 7919 % 1'000'003), "value"));
    }
  }
  /// For ten seconds at most.
  template <class Condition>
  static bool Await(const Condition& condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
  }

  TempFolder folder_;
};

TEST_F(SharedResourcesTest, LimitsThatMakeNoSenseAreRefusedByName) {
  const auto refused = [](uint64_t bytes, uint32_t threads) {
    return SharedResources::Create({.memory_budget_bytes = bytes, .background_threads = threads})
        .status()
        .ToString();
  };
  EXPECT_NE(refused(kMiB - 1, 0).find("memory_budget_bytes of SharedResources"), std::string::npos);
  EXPECT_NE(refused(0, 0).find("1048576"), std::string::npos);
  EXPECT_NE(refused(~uint64_t{0}, 0).find("must be between"), std::string::npos);
  EXPECT_NE(refused(kMiB, 2).find("background_threads of SharedResources"), std::string::npos);
  EXPECT_NE(refused(kMiB, 1025).find("1024"), std::string::npos);
  EXPECT_TRUE(SharedResources::Create({}).ok());
}

TEST_F(SharedResourcesTest, OneMoreThanTheBudgetHasRoomForIsRefusedAndMakesNoPool) {
  const auto resources = Resources(3 * kMiB);
  const Options options = With(resources);
  std::vector<std::unique_ptr<DB>> pools;
  for (int i = 0; i < 3; ++i) pools.push_back(Open(options, i));
  const std::string path = folder_.Sub("refused");
  const Status refused = DB::Open(options, path).status();
  EXPECT_TRUE(HasCode(refused, Status::Code::kInvalidArgument));
  EXPECT_NE(refused.message().find("raise memory_budget_bytes of the SharedResources to"),
            std::string::npos)
      << refused.ToString();
  EXPECT_EQ(resources->Usage().databases, 3u);
  // Those that are there have not noticed; where one leaves there is room.
  for (const auto& pool : pools) Fill(pool.get(), 100);
  pools.pop_back();
  EXPECT_EQ(resources->Usage().databases, 2u);
  EXPECT_NE(OpenOrFail(options, path), nullptr);
  Options cached = options;
  cached.cache.lookup_bytes = 4 * kMiB;
  EXPECT_TRUE(DB::Open(cached, path).status().IsInvalidArgument()) << "more than there is at all";
}

TEST_F(SharedResourcesTest, AnOpenThatFailsGivesItsShareBack) {
  const auto resources = Resources(2 * kMiB);
  const Options options = With(resources);
  const auto first = Open(options, 0);
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(DB::Open(options, folder_.Sub("pool0")).status().IsBusy());
    Options unfit = options;
    unfit.leaf.span = 3;
    EXPECT_TRUE(DB::Open(unfit, folder_.Sub("unfit")).status().IsInvalidArgument());
  }
  EXPECT_EQ(resources->Usage().databases, 1u);
  EXPECT_EQ(first->GetStatistics().memory_budget_bytes, 2 * kMiB);
  EXPECT_NE(Open(options, 1), nullptr);
}

TEST_F(SharedResourcesTest, DatabasesCountInOneBudgetAndGetBackWhatACloseFrees) {
  const auto resources = Resources(64 * kMiB);
  const Options options = With(resources);
  auto one = Open(options, 1);
  auto two = Open(options, 2);
  Fill(one.get(), 20'000);
  Fill(two.get(), 10'000);
  const SharedUsage usage = resources->Usage();
  EXPECT_EQ(usage.memory_budget_bytes, 64 * kMiB);
  EXPECT_EQ(usage.databases, 2u);
  EXPECT_GE(usage.threads, 1u);
  EXPECT_GE(usage.memory_bytes, 30'000u * 8) << "an address a record at least";
  EXPECT_LE(usage.memory_bytes, 64 * kMiB);
  BRAID_ASSERT_OK(one->Compact());
  BRAID_ASSERT_OK(two->Compact());
  EXPECT_TRUE(Await([&] {
    return resources->Usage().memory_bytes ==
           one->GetStatistics().memory_bytes + two->GetStatistics().memory_bytes;
  })) << "at rest the whole is the sum";
  for (DB* const db : {one.get(), two.get()}) {
    const Statistics statistics = db->GetStatistics();
    EXPECT_EQ(statistics.shared_memory_bytes, resources->Usage().memory_bytes);
    EXPECT_EQ(statistics.shared_budget_bytes, 64 * kMiB);
    EXPECT_EQ(statistics.shared_databases, 2u);
  }
  std::string json;
  EXPECT_TRUE(one->GetProperty("braid.stats.json", &json));
  EXPECT_NE(json.find("\"shared_budget_bytes\":67108864"), std::string::npos) << json;
  const uint64_t of_one = one->GetStatistics().memory_bytes;
  BRAID_ASSERT_OK(two->Close());
  EXPECT_EQ(resources->Usage().databases, 1u);
  two.reset();
  EXPECT_TRUE(Await([&] { return resources->Usage().memory_bytes <= of_one; }));
  EXPECT_EQ(one->GetStatistics().memory_budget_bytes, 64 * kMiB);
}

/// The first has taken what there is, and is at rest: those that come after it get their part.
TEST_F(SharedResourcesTest, OneThatHasTakenAllGivesWayToOthers) {
  const uint64_t records = kSanitizer ? 6'000 : 60'000;
  const auto resources = Resources(4 * kMiB);
  const Options options = With(resources);
  const auto first = Open(options, 0);
  Fill(first.get(), records);
  BRAID_ASSERT_OK(first->Compact());
  if (!kSanitizer) {
    EXPECT_GT(first->GetStatistics().memory_bytes, resources->memory_budget_bytes() / 4);
  }
  std::vector<std::unique_ptr<DB>> others;
  for (int i = 1; i <= 3; ++i) others.push_back(Open(options, i));
  std::vector<std::thread> threads;
  for (const auto& other : others) {
    threads.emplace_back([&] { Fill(other.get(), records); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& other : others) BRAID_ASSERT_OK(other->Compact());
  EXPECT_TRUE(Await([&] {
    const SharedUsage now = resources->Usage();
    return now.memory_bytes <= now.memory_budget_bytes;
  })) << resources->Usage().memory_bytes;
  for (const auto& other : others) {
    const Statistics statistics = other->GetStatistics();
    EXPECT_GE(statistics.memory_budget_bytes, resources->memory_budget_bytes() / 5);
    EXPECT_EQ(GetText(other.get(), NumberedKey(7919)), "value");
  }
  EXPECT_EQ(GetText(first.get(), NumberedKey(7919)), "value");
}

TEST_F(SharedResourcesTest, TheyMayBeDroppedBeforeTheirDatabasesAndOutliveThem) {
  auto resources = Resources(16 * kMiB);
  const std::weak_ptr<SharedResources> seen = resources;
  auto db = Open(With(resources), 0);
  resources.reset();
  Fill(db.get(), 5'000);
  BRAID_EXPECT_OK(db->Compact());
  EXPECT_EQ(db->GetStatistics().memory_budget_bytes, 16 * kMiB);
  // What an iterator stands on is counted until it is gone.
  std::unique_ptr<Iterator> iterator = db->NewIterator({});
  iterator->SeekToFirst();
  EXPECT_TRUE(iterator->Valid());
  db.reset();
  EXPECT_FALSE(seen.expired());
  iterator.reset();
  EXPECT_TRUE(Await([&] { return seen.expired(); }));
  const auto others = Resources(16 * kMiB);
  for (int round = 0; round < 3; ++round) Fill(Open(With(others), 1).get(), 500);
  EXPECT_EQ(others->Usage().databases, 0u);
}

TEST_F(SharedResourcesTest, AllDesignsAndWaysToOpenShareThem) {
  const auto resources = Resources(64 * kMiB);
  std::vector<std::unique_ptr<DB>> pools;
  int number = 0;
  for (const char* design : {"braid", "listdb", "zipperdb", "novelsm", "tlsm", "nvskiplist"}) {
    Options options = With(resources);
    options.design = design;
    pools.push_back(Open(options, number++));
    ASSERT_NE(pools.back(), nullptr) << design;
    Fill(pools.back().get(), 1'000);
  }
  Options inline_work = With(resources);
  inline_work.background_threads = false;
  pools.push_back(Open(inline_work, number++));
  Fill(pools.back().get(), 1'000);
  BRAID_ASSERT_OK(pools[0]->Close());
  Options reading = With(resources);
  reading.read_only = true;
  const auto read = Open(reading, 0);
  ASSERT_NE(read, nullptr);
  EXPECT_EQ(GetText(read.get(), NumberedKey(0)), "value");
  EXPECT_EQ(resources->Usage().databases, 7u);
  EXPECT_LE(resources->Usage().threads, 3u + 1);
}

TEST_F(SharedResourcesTest, AChildMakesItsOwn) {
  const auto resources = Resources(16 * kMiB);
  const auto db = Open(With(resources), 0);
  Fill(db.get(), 3'000);
  const ChildOutcome outcome = RunInChild(60, [&](int say) {
    const Status refused = DB::Open(With(resources), folder_.Sub("child")).status();
    if (!refused.IsInvalidArgument() || refused.message().find("forked") == std::string::npos) {
      SayTo(say, refused.ToString());
      return 1;
    }
    if (resources->Usage().databases != 0) return 2;
    if (kThreadSanitizer) return 0;  // which lets such a child have no threads
    auto own = SharedResources::Create({.memory_budget_bytes = 4 * kMiB, .background_threads = 3});
    if (!own.ok()) return 3;
    Options options = With(*own);
    auto opened = DB::Open(options, folder_.Sub("child"));
    if (!opened.ok()) return 4;
    for (uint64_t i = 0; i < 3'000; ++i) {
      if (!(*opened)->Put(NumberedKey(i), "child").ok()) return 5;
    }
    if (!(*opened)->Compact().ok() || (*own)->Usage().databases != 1) return 6;
    return (*opened)->Close().ok() ? 0 : 7;
  });
  EXPECT_EQ(outcome.exit_code, 0) << outcome.ToString();
  Fill(db.get(), 3'000, 3'000);
  BRAID_EXPECT_OK(db->Close());
}

/// The last who holds them in a child, whose threads they have never been.
TEST_F(SharedResourcesTest, AChildMayDropThem) {
  auto resources = Resources(16 * kMiB);
  auto db = Open(With(resources), 0);
  Fill(db.get(), 1'000);
  const ChildOutcome outcome = RunInChild(60, [&](int) {
    db.reset();
    resources.reset();
    return 0;
  });
  EXPECT_EQ(outcome.exit_code, 0) << outcome.ToString();
}

}  // namespace
}  // namespace braid::test
