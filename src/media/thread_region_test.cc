#include "media/thread_region.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "base/thread_slot.h"

namespace braid::media {
namespace {

TEST(RegionMapTest, OneRegionIsEveryThreads) {
  EXPECT_EQ(RegionMap().OfThread(), 0u);
  EXPECT_EQ(RegionMap().ShardOfThread(5), base::ThreadSlot() % 5);
}

TEST(RegionMapTest, NodesCountWhenEachRegionHasOneOfItsOwn) {
  EXPECT_TRUE(RegionMap(2, {0, 1, kNoNode, kNoNode}).by_node());
  EXPECT_FALSE(RegionMap(2, {0, 0, kNoNode, kNoNode}).by_node());
  EXPECT_FALSE(RegionMap(2, {0, kNoNode, kNoNode, kNoNode}).by_node());
  EXPECT_FALSE(RegionMap(3, {2, 1, 2, kNoNode}).by_node());
  if (ThreadNode() == kNoNode) {
    GTEST_SKIP() << "the system does not say on which node a thread runs";
  }
  std::thread([] {
    // A thread of its own that stays where it is: others may be moved to another node at any time.
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<size_t>(::sched_getcpu()), &one);
    ASSERT_EQ(::pthread_setaffinity_np(::pthread_self(), sizeof one, &one), 0);
    const int here = ThreadNode();
    EXPECT_EQ(RegionMap(2, {here, here + 1, kNoNode, kNoNode}).OfThread(), 0u);
    EXPECT_EQ(RegionMap(2, {here + 1, here, kNoNode, kNoNode}).OfThread(), 1u);
  }).join();
}

TEST(RegionMapTest, ThreadsSpreadOverRegionsAndOverTheShardsOfEach) {
  constexpr uint32_t kRegions = 3;
  constexpr uint32_t kShards = 7;
  const RegionMap map(kRegions, {kNoNode, kNoNode, kNoNode, kNoNode});
  std::set<uint32_t> shards;
  std::mutex mutex;
  std::condition_variable changed;
  size_t arrived = 0;
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < 2 * kShards; ++i) {
    threads.emplace_back([&] {
      const uint32_t shard = map.ShardOfThread(kShards);
      std::unique_lock lock(mutex);
      EXPECT_LT(shard, kShards);
      EXPECT_EQ(shard % kRegions, map.OfThread());
      shards.insert(shard);
      // All live at once, so that no slot is used twice.
      ++arrived;
      changed.notify_all();
      changed.wait(lock, [&] { return arrived == 2 * kShards; });
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(shards.size(), kShards);
}

TEST(RegionMapTest, ARegionWithoutShardSharesThoseOfOthers) {
  SetRegionRule([](uint32_t) { return 3u; });
  const RegionMap map(4, {kNoNode, kNoNode, kNoNode, kNoNode});
  EXPECT_EQ(map.OfThread(), 3u);
  EXPECT_LT(map.ShardOfThread(2), 2u);
  SetRegionRule(nullptr);
}

}  // namespace
}  // namespace braid::media
