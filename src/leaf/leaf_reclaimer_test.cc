// What is retired and when it is given back.
#include "leaf/leaf_reclaimer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <unordered_set>

#include "support/leaf_parts.h"

namespace braid::leaf {
namespace {

using format::ChunkKind;
using std::chrono::milliseconds;

class LeafReclaimerTest : public ::testing::Test {
 protected:
  void Retire(uint64_t entry) {
    LeafReclaimer::RetiredEntry retired = reclaimer().PrepareToRetire(entry);
    reclaimer().Retire(entry, &retired);
  }
  LeafReclaimer& reclaimer() { return parts_.reclaimer; }

  test::LeafParts parts_;
  const std::string large_ = std::string(20000, 'v');  // two chunks
};

TEST_F(LeafReclaimerTest, ALargeValueWaitsUntilItIsGivenBack) {
  const uint64_t entry = parts_.NewEntry("key", large_);
  const uint64_t extent = parts_.pool->ExtentOf(entry);
  EXPECT_TRUE(reclaimer().RetiredExtents().empty());
  EXPECT_FALSE(reclaimer().Reclaim(false)) << "all of it counts";
  Retire(entry);
  EXPECT_EQ(reclaimer().RetiredExtents(), std::unordered_set<uint64_t>{extent});
  EXPECT_EQ(reclaimer().times(), 0u);
  EXPECT_EQ(parts_.ChunksOf(ChunkKind::kExtentHead), 1u);
  EXPECT_TRUE(reclaimer().Reclaim(false));
  EXPECT_EQ(reclaimer().times(), 1u);
  EXPECT_EQ(parts_.ChunksOf(ChunkKind::kExtentHead), 0u);
  EXPECT_EQ(parts_.ChunksOf(ChunkKind::kExtentBody), 0u);
  EXPECT_TRUE(reclaimer().RetiredExtents().empty());
}

TEST_F(LeafReclaimerTest, AChunkThatIsBeingFilledIsGivenBackOnRequestOnly) {
  Retire(parts_.NewEntry("key", "value"));
  EXPECT_FALSE(reclaimer().Reclaim(false));
  EXPECT_EQ(parts_.ChunksOf(ChunkKind::kLog), 1u);
  EXPECT_TRUE(reclaimer().Reclaim(true));
  EXPECT_EQ(parts_.ChunksOf(ChunkKind::kLog), 0u);
  EXPECT_EQ(reclaimer().chunks_given_back(), 1u);
}

TEST_F(LeafReclaimerTest, ARetiredEntryIsMarkedAndCountsNoLonger) {
  const uint64_t first = parts_.NewEntry("first", "value");
  const uint64_t other = parts_.NewEntry("other", "value");
  Retire(first);
  const auto* left = parts_.pool->As<format::EntryHeader>(other);
  EXPECT_EQ(parts_.pool->As<format::EntryHeader>(first)->state(), format::kStateObsolete);
  EXPECT_EQ(left->state(), format::kStateLive);
  EXPECT_EQ(parts_.usage.Live(parts_.pool->ChunkOf(other)), static_cast<int64_t>(left->size()));
  EXPECT_FALSE(reclaimer().Reclaim(true)) << "the chunk holds an entry that counts";
}

TEST_F(LeafReclaimerTest, NothingIsReusedThatAReaderMayBeAt) {
  Retire(parts_.NewEntry("key", large_));
  std::promise<void> inside;
  std::promise<void> leave;
  std::thread reader([&] {
    const base::EpochGuard guard;
    inside.set_value();
    leave.get_future().wait();
  });
  inside.get_future().wait();
  auto given_back = std::async(std::launch::async, [&] { return reclaimer().Reclaim(false); });
  EXPECT_EQ(given_back.wait_for(milliseconds(50)), std::future_status::timeout);
  EXPECT_EQ(parts_.ChunksOf(ChunkKind::kExtentHead), 1u);
  leave.set_value();
  EXPECT_TRUE(given_back.get());
  EXPECT_EQ(parts_.ChunksOf(ChunkKind::kExtentHead), 0u);
  reader.join();
}

TEST_F(LeafReclaimerTest, NothingIsGivenBackWhileItIsHeld) {
  Retire(parts_.NewEntry("key", large_));
  base::MutexHold held = reclaimer().Hold();
  auto given_back = std::async(std::launch::async, [&] { return reclaimer().Reclaim(false); });
  EXPECT_EQ(given_back.wait_for(milliseconds(50)), std::future_status::timeout);
  EXPECT_EQ(reclaimer().RetiredExtents().size(), 1u);
  held.unlock();
  EXPECT_TRUE(given_back.get());
}

TEST_F(LeafReclaimerTest, ItIsDueWhenAShareOfThePoolCountsNoLonger) {
  const std::string value(4000, 'v');
  const uint64_t share = parts_.pool->pool_bytes() / 32;
  for (uint64_t retired = 0; retired + 5000 < share; retired += 5000) {
    Retire(parts_.NewEntry("key", value));
    EXPECT_FALSE(reclaimer().IsDue());
  }
  for (uint64_t i = 0; i < share / 4000 / 4 + 2; ++i) Retire(parts_.NewEntry("key", value));
  EXPECT_TRUE(reclaimer().IsDue());
  EXPECT_TRUE(reclaimer().Reclaim(false));
  EXPECT_FALSE(reclaimer().IsDue()) << "the count begins at nothing again";
}

}  // namespace
}  // namespace braid::leaf
