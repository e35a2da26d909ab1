// Crashes at every fence of a commit of the manifest, whose tables lie in its extension as well,
// and of its way from format version 1: the next open finds the manifest as it was or as it was to
// be.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "level/manifest.h"
#include "sim/sim_media.h"
#include "support/version1.h"

namespace braid::crash {
namespace {

constexpr uint64_t kAreaBytes = 2u << 20;
constexpr uint64_t kChunkBytes = 64u << 10;
constexpr size_t kTables = format::kTablesInRecord + 20;

class ManifestCrashTest : public ::testing::Test {
 protected:
  using Check = std::function<void(const format::ManifestState&, const format::PoolHeader&)>;

  ManifestCrashTest() {
    options_.pool.chunk_bytes = kChunkBytes;
    options_.pool.initial_bytes = kAreaBytes / 2;
    options_.design = "braid";
  }

  std::unique_ptr<pool::PmemPool> Open(sim::SimPersist* sim, const std::string& boot_id) {
    auto pool =
        pool::PmemPool::Open(std::make_unique<sim::SimMedia>(sim, boot_id), options_,
                             [](pool::PmemPool* fresh) { return level::Manifest(fresh).Create(); });
    EXPECT_TRUE(pool.ok()) << pool.status().ToString();
    return pool.ok() ? std::move(*pool) : nullptr;
  }
  /// From here on what is stored may be lost.
  void Track() {
    durable_.set_segments(memory_.segments());
    std::memcpy(durable_.base(), memory_.base(), kAreaBytes);
    sim_.Start(sim::SimPersist::HashOf(memory_));
    sim_.set_tracking(true);
  }
  /// Calls `check` with what an open finds in each image of each crash point of `work`.
  void OnEachCrash(const std::function<void()>& work, const Check& check) {
    sim_.set_on_point([&](sim::PointKind) {
      const sim::WritebackUnits units = sim_.Units();
      const sim::ImagePlan plan(units.counts(), {.exhaustive = 64, .sampled = 64}, ++points_);
      std::vector<uint32_t> choice;
      for (uint64_t image = 0; image < plan.size(); ++image) {
        plan.Choose(image, &choice);
        durable_.PushFrame();
        sim_.MakeImage(units.LinePrefixes(choice, image % 2 == 0 ? 0 : image));
        LookAt(check);
        durable_.PopFrame();
      }
    });
    work();
    sim_.Acknowledge();
    sim_.set_on_point({});
  }

  void CommitInTheExtension();

  Options options_;
  sim::SimArea memory_{kAreaBytes};
  sim::SimArea durable_{kAreaBytes};
  sim::SimPersist sim_{&memory_, &durable_, 1};
  uint64_t points_ = 0;
  uint64_t images_ = 0;
  uint64_t magics_[2] = {0, 0};  // of the copies that the crash has left

 private:
  void LookAt(const Check& check) {
    ++images_;
    sim::SimPersist inner(&durable_, nullptr, 1);
    inner.set_tracking(false);
    const auto pool = Open(&inner, "after the crash");
    ASSERT_NE(pool, nullptr);
    const format::PoolHeader header = pool->header();
    for (int copy = 0; copy < 2; ++copy) {
      std::memcpy(&magics_[copy], durable_.base() + format::kManifestOffset[copy],
                  sizeof magics_[copy]);
    }
    level::Manifest manifest(pool.get());
    const Status loaded = manifest.Load();
    ASSERT_TRUE(loaded.ok()) << loaded.ToString();
    check(manifest.record(), header);
  }
};

void ManifestCrashTest::CommitInTheExtension() {
  sim_.set_tracking(false);
  const auto pool = Open(&sim_, "boot");
  ASSERT_NE(pool, nullptr);
  level::Manifest manifest(pool.get());
  ASSERT_TRUE(manifest.Load().ok());
  const auto add = [&](uint64_t id) {
    const Result<uint32_t> head = manifest.TakeHead();
    ASSERT_TRUE(head.ok()) << head.status().ToString();
    manifest.AddTable({id, 0, 0, *head, id, id});
    manifest.record().next_table_id = id + 1;
  };
  while (manifest.record().tables.size() < kTables) add(manifest.record().next_table_id);
  const uint64_t first = manifest.record().next_table_id;
  ASSERT_NE(manifest.record().extension, 0u);
  ASSERT_TRUE(manifest.Commit().ok());
  const size_t before = manifest.record().tables.size();
  Track();
  OnEachCrash(
      [&] {
        add(first);
        ASSERT_TRUE(manifest.Commit().ok());
      },
      [&](const format::ManifestState& found, const format::PoolHeader&) {
        ASSERT_TRUE(found.tables.size() == before || found.tables.size() == before + 1);
        const bool is_new = found.tables.size() == before + 1;
        EXPECT_EQ(found.tables.front().id, is_new ? first : first - 1);
        for (size_t i = 1; i + 1 < found.tables.size(); ++i) {
          EXPECT_EQ(found.tables[i].id, found.tables[i - 1].id - 1);
        }
        EXPECT_EQ(found.tables.back().id, format::kL1Id);
      });
  EXPECT_GT(images_, 20u);
}

TEST_F(ManifestCrashTest, ACommitOfTablesInTheExtensionIsAllOrNothing) { CommitInTheExtension(); }

TEST_F(ManifestCrashTest, SoItIsInThePageCache) {
  sim_.set_media_class(MediaClass::kPage);
  CommitInTheExtension();
}

TEST_F(ManifestCrashTest, AChunkThatItNamesIsInUse) {
  sim_.set_tracking(false);
  const auto pool = Open(&sim_, "boot");
  ASSERT_NE(pool, nullptr);
  level::Manifest manifest(pool.get());
  ASSERT_TRUE(manifest.Load().ok());
  for (const uint64_t id : {7, 8}) {
    const Result<uint32_t> head = manifest.TakeHead();
    ASSERT_TRUE(head.ok()) << head.status().ToString();
    manifest.AddTable({id, 0, 0, *head, id, id});
  }
  manifest.record().next_table_id = 9;
  // A pool is made with chunks for the records of one merge.
  ASSERT_TRUE(manifest.BeginMerge(7, format::kL1Id).ok());
  ASSERT_TRUE(manifest.Commit().ok());
  Track();
  uint64_t begun = 0;
  // Load refuses a manifest whose redo chunks are free: the next one to need a chunk would get
  // them.
  OnEachCrash(
      [&] {
        ASSERT_TRUE(manifest.BeginMerge(8, format::kL1Id).ok());
        ASSERT_TRUE(manifest.Commit().ok());
      },
      [&](const format::ManifestState& found, const format::PoolHeader&) {
        if (found.MergeOf(8) != nullptr) ++begun;
      });
  EXPECT_GT(begun, 0u);
}

TEST_F(ManifestCrashTest, APoolOfVersion1BecomesOneOfVersion2OrStaysWhatItIs) {
  sim_.set_tracking(false);
  format::ManifestState old;
  {
    const auto pool = Open(&sim_, "boot");
    ASSERT_NE(pool, nullptr);
    level::Manifest manifest(pool.get());
    ASSERT_TRUE(manifest.Load().ok());
    manifest.AddTable({7, 0, 0, 1, 3, 3});
    manifest.record().next_table_id = 8;
    ASSERT_TRUE(manifest.BeginMerge(7, format::kL1Id).ok());
    old = manifest.record();
  }
  test::MakeVersion1(memory_.base(), old);
  Track();
  OnEachCrash(
      [&] {
        const auto pool = Open(&sim_, "boot");
        ASSERT_NE(pool, nullptr);
        level::Manifest manifest(pool.get());
        ASSERT_TRUE(manifest.Load().ok());
        EXPECT_EQ(pool->header().version, 2u);
      },
      [&](const format::ManifestState& found, const format::PoolHeader& header) {
        ASSERT_EQ(found.tables.size(), 2u);
        EXPECT_EQ(found.tables[0].id, 7u);
        ASSERT_NE(found.MergeOf(7), nullptr);
        EXPECT_EQ(found.MergeOf(7)->target_id, format::kL1Id);
        EXPECT_EQ(found.MergeOf(7)->redo_chunks[1], old.merges[0].redo_chunks[1]);
        if (header.version != 1) return;
        // Else a program of then would open it, and must find what it can read.
        for (const uint64_t magic : magics_) EXPECT_EQ(magic, format::kManifest1Magic);
      });
  EXPECT_GT(images_, 5u);
}

}  // namespace
}  // namespace braid::crash
