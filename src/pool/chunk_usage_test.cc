// The sum of live bytes follows the counts of chunks, whatever order they change in.
#include "pool/chunk_usage.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "support/environment.h"

namespace braid::pool {
namespace {

constexpr uint64_t kChunks = 50;

uint64_t SumOfKnown(const ChunkUsage& usage) {
  uint64_t sum = 0;
  for (uint64_t chunk = 0; chunk < kChunks; ++chunk) {
    if (usage.IsKnown(chunk)) sum += static_cast<uint64_t>(usage.Live(chunk));
  }
  return sum;
}

TEST(ChunkUsageTest, TheSumIsThatOfWhatIsKnown) {
  ChunkUsage usage(kChunks);
  test::Random random(test::DeriveSeed(431));
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t chunk = random.Below(kChunks);
    switch (random.Below(4)) {
      case 0:
        usage.Add(chunk, random.Below(1000));
        break;
      case 1:
        if (usage.Live(chunk) > 0) usage.Remove(chunk, random.Below(100));
        break;
      case 2:
        usage.Set(chunk, ChunkUsage::kUnknown);
        break;
      default:
        usage.Set(chunk, static_cast<int64_t>(random.Below(5000)));
        break;
    }
    // Also where a count is below zero for a moment, as between what two threads do.
    ASSERT_EQ(usage.KnownLive(), SumOfKnown(usage)) << "after " << i << " changes";
  }
}

TEST(ChunkUsageTest, ThreadsShareTheSum) {
  ChunkUsage usage(kChunks);
  usage.Set(0, ChunkUsage::kUnknown);
  constexpr uint64_t kThreads = 4;
  constexpr uint64_t kRounds = 20'000;
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&usage, t] {
      // Two are in the way of the one that counts chunk 0, and what they add there is known or not.
      for (uint64_t i = 0; i < kRounds; ++i) {
        usage.Add(i % kChunks, 10 + t);
        if (i % 2 == 0) usage.Remove(i % kChunks, 10 + t);
        if (t == 0 && i == kRounds / 2) usage.Set(0, 5000);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(usage.KnownLive(), SumOfKnown(usage));
  EXPECT_GT(usage.KnownLive(), 0u);
}

}  // namespace
}  // namespace braid::pool
