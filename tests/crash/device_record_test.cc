// Crashes at every fence while the header of a pool, and what the devices below it said, are
// written: memory that was shut down dirty since is noticed by the next open, and memory that was
// not is never suspected once an open has ended.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "level/manifest.h"
#include "pool/pool.h"
#include "sim/sim_media.h"

namespace braid::crash {
namespace {

constexpr uint64_t kAreaBytes = 1u << 20;

class DeviceRecordTest : public ::testing::Test {
 protected:
  DeviceRecordTest() {
    options_.pool.chunk_bytes = 64u << 10;
    options_.pool.initial_bytes = kAreaBytes;
    options_.design = "braid";
    sim_.set_tracking(false);
  }

  std::unique_ptr<pool::PmemPool> Open(sim::SimPersist* sim, uint64_t dirty_shutdowns) {
    auto media = std::make_unique<sim::SimMedia>(sim, "boot " + std::to_string(++boots_));
    media->set_dirty_shutdowns(dirty_shutdowns);
    auto pool = pool::PmemPool::Open(std::move(media), options_, [](pool::PmemPool* fresh) {
      return level::Manifest(fresh).Create();
    });
    EXPECT_TRUE(pool.ok()) << pool.status().ToString();
    return pool.ok() ? std::move(*pool) : nullptr;
  }
  /// Opened to write, and from here on what is stored may be lost.
  std::unique_ptr<pool::PmemPool> OpenDirty(uint64_t dirty_shutdowns) {
    auto pool = Open(&sim_, dirty_shutdowns);
    EXPECT_TRUE(pool != nullptr && pool->MarkDirty().ok());
    return pool;
  }
  void Track() {
    durable_.set_segments(memory_.segments());
    std::memcpy(durable_.base(), memory_.base(), kAreaBytes);
    sim_.Start(sim::SimPersist::HashOf(memory_));
    sim_.set_tracking(true);
  }
  /// Calls `check` for each image that a crash of `work` leaves.
  void OnEachCrash(const std::function<void()>& work, const std::function<void()>& check) {
    sim_.set_on_point([&](sim::PointKind) {
      const sim::WritebackUnits units = sim_.Units();
      const sim::ImagePlan plan(units.counts(), {.exhaustive = 256, .sampled = 256}, ++points_);
      std::vector<uint32_t> choice;
      for (uint64_t image = 0; image < plan.size(); ++image) {
        plan.Choose(image, &choice);
        durable_.PushFrame();
        sim_.MakeImage(units.LinePrefixes(choice, image % 2 == 0 ? 0 : image));
        check();
        ++images_;
        durable_.PopFrame();
      }
    });
    work();
    sim_.Acknowledge();
    sim_.set_on_point({});
  }
  /// What an open of the image in `durable_` says, where the devices say so now; `clean`: whether
  /// the pool was closed in order.
  bool IsLossSeen(uint64_t dirty_shutdowns, bool* clean = nullptr) {
    sim::SimPersist inner(&durable_, nullptr, 1);
    inner.set_tracking(false);
    durable_.PushFrame();
    const auto pool = Open(&inner, dirty_shutdowns);
    const bool seen = pool != nullptr && pool->media_loss_possible();
    if (clean != nullptr) *clean = pool != nullptr && pool->was_clean();
    durable_.PopFrame();
    return seen;
  }

  Options options_;
  sim::SimArea memory_{kAreaBytes};
  sim::SimArea durable_{kAreaBytes};
  sim::SimPersist sim_{&memory_, &durable_, 1};
  uint64_t points_ = 0;
  uint64_t images_ = 0;
  int boots_ = 0;
};

TEST_F(DeviceRecordTest, ALossIsSeenAndNoneIsMadeUpWhateverAChangeOfTheHeaderLeaves) {
  const auto pool = OpenDirty(3);
  ASSERT_NE(pool, nullptr);
  Track();
  OnEachCrash([&] { ASSERT_TRUE(pool->RaiseGenerations().ok()); },
              [&] {
                EXPECT_FALSE(IsLossSeen(3));
                EXPECT_TRUE(IsLossSeen(4));
                EXPECT_TRUE(IsLossSeen(2)) << "the pool may have come from another machine";
              });
  EXPECT_GT(images_, 10u);
}

TEST_F(DeviceRecordTest, ALossIsSeenAgainAfterAnOpenThatWasInterrupted) {
  ASSERT_NE(OpenDirty(3), nullptr);
  const auto pool = Open(&sim_, 4);
  ASSERT_NE(pool, nullptr);
  EXPECT_TRUE(pool->media_loss_possible());
  Track();
  OnEachCrash([&] { ASSERT_TRUE(pool->RaiseGenerations().ok()); },
              [&] {
                EXPECT_TRUE(IsLossSeen(4));
                EXPECT_FALSE(IsLossSeen(3));
              });
  // The open ends: from here on 4 is what was.
  OnEachCrash([&] { ASSERT_TRUE(pool->MarkDirty().ok()); }, [&] { EXPECT_TRUE(IsLossSeen(5)); });
  OnEachCrash([&] { ASSERT_TRUE(pool->RaiseGenerations().ok()); },
              [&] {
                EXPECT_FALSE(IsLossSeen(4));
                EXPECT_TRUE(IsLossSeen(5));
              });
}

TEST_F(DeviceRecordTest, APoolThatWasClosedHasLostNothing) {
  const auto pool = OpenDirty(3);
  ASSERT_NE(pool, nullptr);
  Track();
  OnEachCrash([&] { ASSERT_TRUE(pool->MarkClean().ok()); },
              [&] {
                bool clean = false;
                const bool seen = IsLossSeen(4, &clean);
                EXPECT_EQ(seen, !clean);
              });
}

}  // namespace
}  // namespace braid::crash
