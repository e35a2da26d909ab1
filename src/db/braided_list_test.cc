// Tests of braided lists: what their layers link after flushes, merges, collections and rebuilds,
// that searches of every region find everything, and what damage to strands gives.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <map>

#include "base/random.h"
#include "braid/db.h"
#include "level/level_check.h"
#include "level/manifest.h"
#include "log/log_reader.h"
#include "media/file_media.h"
#include "pool/pool.h"

namespace braid {
namespace {

namespace fs = std::filesystem;

thread_local uint32_t region_of_this_thread = 0;

class BraidedListTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  BraidedListTest() {
    const char* base = std::getenv("BRAID_TMP");
    path_ = std::string(base != nullptr ? base : "/tmp") + "/braid-braided-XXXXXX";
    if (::mkdtemp(path_.data()) == nullptr) std::abort();
    options_.background_threads = false;
    options_.pool.chunk_bytes = 4 << 10;
    options_.pool.initial_bytes = 512 << 10;
    options_.pool.regions = GetParam();
    options_.log.shards = 4;
    options_.memtable.bytes = 16 << 10;
    options_.compaction.batch_entries = 32;
    options_.memory_budget_bytes = 1 << 20;
    media::SetRegionRule([](uint32_t) { return region_of_this_thread; });
  }
  ~BraidedListTest() override {
    media::SetRegionRule(nullptr);
    std::error_code error;
    fs::remove_all(path_, error);
  }

  std::unique_ptr<DB> Open() {
    Result<std::unique_ptr<DB>> db = DB::Open(options_, path_ + "/pool");
    EXPECT_TRUE(db.ok()) << db.status().ToString();
    return db.ok() ? std::move(*db) : nullptr;
  }
  /// The pool below a database that is closed.
  std::unique_ptr<pool::PmemPool> OpenPool() {
    auto media = media::OpenFileMedia(path_ + "/pool", options_.pool, false);
    EXPECT_TRUE(media.ok()) << media.status().ToString();
    auto pool = pool::PmemPool::Open(std::move(*media), options_, {});
    EXPECT_TRUE(pool.ok()) << pool.status().ToString();
    return std::move(*pool);
  }
  static std::string Key(uint64_t number) {
    return "key" + std::to_string(1'000'000 + number).substr(1);
  }
  /// Overwrites and deletes from all regions, so that the versions of a key lie in several.
  void Churn(DB* db, uint64_t writes, uint64_t seed) {
    Random random(seed);
    for (uint64_t i = 0; i < writes; ++i) {
      region_of_this_thread = static_cast<uint32_t>(random.Uniform(GetParam()));
      const std::string key = Key(random.Uniform(700));
      if (random.OneIn(5)) {
        ASSERT_TRUE(db->Delete(key).ok());
        model_.erase(key);
      } else {
        const std::string value = "value" + std::to_string(seed) + "," + std::to_string(i);
        ASSERT_TRUE(db->Put(key, value).ok());
        model_[key] = value;
      }
    }
  }
  void ExpectContent(DB* db) {
    for (uint32_t region = 0; region < GetParam(); ++region) {
      region_of_this_thread = region;
      for (uint64_t number = 0; number < 700; ++number) {
        std::string value;
        const Status s = db->Get(Key(number), &value);
        const auto expected = model_.find(Key(number));
        ASSERT_EQ(s.ok(), expected != model_.end()) << Key(number) << ": " << s.ToString();
        if (s.ok()) {
          ASSERT_EQ(value, expected->second);
        }
      }
      std::unique_ptr<Iterator> it = db->NewIterator({});
      auto expected = model_.rbegin();
      for (it->SeekToLast(); it->Valid(); it->Prev(), ++expected) {
        ASSERT_TRUE(expected != model_.rend());
        ASSERT_EQ(it->key(), expected->first);
      }
      EXPECT_TRUE(it->status().ok());
      EXPECT_TRUE(expected == model_.rend());
    }
  }

  /// Every layer of every table as the medium has it, read without the code under test.
  void ExpectBraided(pool::PmemPool* pool) {
    level::Manifest manifest(pool);
    ASSERT_TRUE(manifest.Load().ok());
    uint64_t entries = 0;
    std::vector<uint64_t> tall(GetParam());
    for (const format::TableRecord& table : manifest.record().tables) {
      const uint64_t head = pool->HeadOffset(table.head);
      std::map<std::pair<uint32_t, uint32_t>, std::vector<uint64_t>> expected;
      const auto walk = [&](uint64_t from, uint32_t layer) {
        std::vector<uint64_t> offsets;
        format::EntryPtr link{pool->As<uint64_t>(from)[layer]};
        while (!link.IsEnd()) {
          EXPECT_TRUE(link.IsValid());
          EXPECT_EQ(link.region(), pool->RegionOf(link.offset()));
          offsets.push_back(link.offset());
          link.raw = pool->As<format::EntryHeader>(link.offset())->links()[layer];
        }
        return offsets;
      };
      for (const uint64_t offset : walk(head, 0)) {
        ++entries;
        for (uint32_t layer = 1; layer < pool->As<format::EntryHeader>(offset)->height(); ++layer) {
          expected[{pool->RegionOf(offset), layer}].push_back(offset);
        }
      }
      for (uint32_t strand = 0; strand < GetParam(); ++strand) {
        for (uint32_t layer = 1; layer < format::kMaxHeight; ++layer) {
          EXPECT_EQ(walk(pool->StrandHead(head, strand), layer), (expected[{strand, layer}]))
              << "strand " << strand << " layer " << layer;
        }
        tall[strand] += expected[{strand, 1}].size();
      }
    }
    EXPECT_GT(entries, 200u);
    for (const uint64_t count : tall) EXPECT_GT(count, 5u) << "nothing to see in this region";
  }

  std::string path_;
  Options options_;
  std::map<std::string, std::string> model_;
};

INSTANTIATE_TEST_SUITE_P(Regions, BraidedListTest, ::testing::Values(1u, 2u, 4u));

TEST_P(BraidedListTest, EachStrandLinksTheEntriesOfItsRegionAndNoOthers) {
  for (const bool merged : {false, true}) {
    if (!merged) options_.compaction.l0_trigger = 16;
    {
      std::unique_ptr<DB> db = Open();
      ASSERT_NE(db, nullptr);
      ASSERT_NO_FATAL_FAILURE(Churn(db.get(), 3000, merged ? 2 : 1));
      if (merged) {
        ASSERT_TRUE(db->Compact().ok());
      }
      ASSERT_NO_FATAL_FAILURE(ExpectContent(db.get()));
      ASSERT_TRUE(db->Close().ok());
    }
    ExpectBraided(OpenPool().get());
    options_.compaction.l0_trigger = 1;
  }
  std::unique_ptr<DB> db = Open();
  ASSERT_NE(db, nullptr);
  // The lists themselves, not yet any tree over them.
  ASSERT_NO_FATAL_FAILURE(ExpectContent(db.get()));
}

TEST_P(BraidedListTest, ACollectionKeepsCopiesInTheRegionsOfTheirOriginals) {
  options_.compaction.gc_live_ratio = 0.9;
  std::map<std::string, uint32_t> regions;
  {
    std::unique_ptr<DB> db = Open();
    ASSERT_NE(db, nullptr);
    for (uint32_t region = 0; region < GetParam(); ++region) {
      region_of_this_thread = region;
      for (uint64_t i = 0; i < 400; ++i) {
        const std::string key = Key(i * GetParam() + region);
        ASSERT_TRUE(db->Put(key, std::string(100, 'v')).ok());
        regions[key] = region;
      }
    }
    ASSERT_TRUE(db->Compact().ok());
    region_of_this_thread = 0;
    for (const auto& [key, region] : regions) {
      if (base::Hash64(key) % 2 == 0) {
        ASSERT_TRUE(db->Delete(key).ok());
      }
    }
    ASSERT_TRUE(db->Compact().ok());
    ASSERT_TRUE(db->Close().ok());
  }
  const std::unique_ptr<pool::PmemPool> pool = OpenPool();
  std::vector<uint64_t> copies(GetParam());
  for (uint64_t chunk = 0; chunk < pool->chunks(); ++chunk) {
    if (pool->StateOf(chunk).kind() != format::ChunkKind::kCollected) continue;
    log::ForEachEntry(*pool, chunk, [&](uint64_t offset, const format::EntryHeader& entry) {
      EXPECT_EQ(pool->RegionOf(offset), regions[std::string(entry.key())]) << entry.key();
      ++copies[pool->RegionOf(offset)];
    });
  }
  for (const uint64_t count : copies) EXPECT_GT(count, 50u);
  ExpectBraided(pool.get());
}

TEST_P(BraidedListTest, VisitsAreCountedAndUpperOnesAreLocal) {
  options_.lists.count_visits = true;
  uint64_t keys = 0;
  for (const ListKind kind : {ListKind::kBraided, ListKind::kOblivious}) {
    fs::remove_all(path_ + "/pool");
    model_.clear();
    options_.lists.kind = kind;
    {
      std::unique_ptr<DB> db = Open();
      ASSERT_NE(db, nullptr);
      ASSERT_NO_FATAL_FAILURE(Churn(db.get(), 3000, 5));
      ASSERT_TRUE(db->Compact().ok());
      // Found in a tree: nothing to count but that it took no node.
      std::string value;
      const Statistics before = db->GetStatistics();
      ASSERT_TRUE(db->Get(model_.begin()->first, &value).ok());
      EXPECT_EQ(db->GetStatistics().lookup_paths[0], before.lookup_paths[0] + 1);
      ASSERT_TRUE(db->Close().ok());
    }
    std::unique_ptr<DB> db = Open();  // no tree yet over what is merged
    ASSERT_NE(db, nullptr);
    std::string value;
    Random random(6);
    for (const auto& [key, unused] : model_) {
      region_of_this_thread = static_cast<uint32_t>(random.Uniform(GetParam()));
      ASSERT_TRUE(db->Get(key, &value).ok());
    }
    keys = model_.size();
    const Statistics s = db->GetStatistics();
    const uint64_t upper = s.upper_visits_local + s.upper_visits_remote;
    const uint64_t bottom = s.bottom_visits_local + s.bottom_visits_remote;
    EXPECT_GT(upper, keys);
    EXPECT_GE(bottom, keys);
    uint64_t paths = 0;
    uint64_t least = 0;
    uint64_t most = 0;
    for (size_t i = 0; i < s.lookup_paths.size(); ++i) {
      paths += s.lookup_paths[i];
      least += s.lookup_paths[i] * (uint64_t{1} << i >> 1);
      most += s.lookup_paths[i] * ((uint64_t{1} << i) - 1);
    }
    EXPECT_EQ(paths, keys);
    EXPECT_LE(least, upper + bottom);
    EXPECT_GE(most, upper + bottom);
    if (GetParam() == 1) {
      EXPECT_EQ(s.upper_visits_remote + s.bottom_visits_remote, 0u);
    } else if (kind == ListKind::kBraided) {
      EXPECT_EQ(s.upper_visits_remote, 0u);
      EXPECT_GT(s.bottom_visits_remote, 0u);
    } else {
      // Each node lies in the reader's region by chance.
      EXPECT_GT(s.upper_visits_remote * 2 * GetParam(), upper * (GetParam() - 1));
    }
  }
  EXPECT_GT(keys, 300u);
}

TEST_P(BraidedListTest, ALinkThatNamesAnotherRegionIsFoundByVerify) {
  {
    std::unique_ptr<DB> db = Open();
    ASSERT_NE(db, nullptr);
    ASSERT_NO_FATAL_FAILURE(Churn(db.get(), 1000, 3));
    ASSERT_TRUE(db->Compact().ok());
    ASSERT_TRUE(db->Close().ok());
  }
  {
    const std::unique_ptr<pool::PmemPool> pool = OpenPool();
    auto* link = pool->As<uint64_t>(format::kTableHeadsOffset);
    const format::EntryPtr first{*link};
    *link = format::EntryPtr::To(first.offset(), first.region() ^ 1).raw;
  }
  std::unique_ptr<DB> db = Open();
  ASSERT_NE(db, nullptr);
  VerifyReport report;
  const Status s = db->Verify(&report);
  EXPECT_EQ(s.code(), Status::Code::kCorruption);
  EXPECT_NE(s.message().find("region"), std::string::npos) << s.ToString();
}

TEST_P(BraidedListTest, DamageToTheHeadOfAStrandIsSeenByWhoGoesAlongIt) {
  if (GetParam() == 1) GTEST_SKIP() << "there are no heads of strands";
  {
    std::unique_ptr<DB> db = Open();
    ASSERT_NE(db, nullptr);
    ASSERT_NO_FATAL_FAILURE(Churn(db.get(), 1000, 4));
    ASSERT_TRUE(db->Compact().ok());
    ASSERT_TRUE(db->Close().ok());
  }
  const uint32_t last = GetParam() - 1;
  std::string place;
  {
    const std::unique_ptr<pool::PmemPool> pool = OpenPool();
    const uint64_t head = pool->StrandHead(format::kTableHeadsOffset, last);
    pool->As<uint64_t>(head)[1] = 0;
    place = pool->media().Locate(head);
  }
  options_.background_threads = false;
  std::unique_ptr<DB> db = Open();
  ASSERT_NE(db, nullptr);
  std::string value;
  region_of_this_thread = last;
  const Status s = db->Get(model_.begin()->first, &value);
  EXPECT_EQ(s.code(), Status::Code::kCorruption) << s.ToString();
  EXPECT_NE(s.message().find(place), std::string::npos) << s.ToString();
  region_of_this_thread = 0;
  EXPECT_TRUE(db->Get(model_.begin()->first, &value).ok());
  VerifyReport report;
  EXPECT_EQ(db->Verify(&report).code(), Status::Code::kCorruption);
  db.reset();
  // A repair trusts no link, and tells of this one.
  RepairReport repaired;
  ASSERT_TRUE(DB::Repair(options_, path_ + "/pool", path_ + "/repaired", &repaired).ok());
  EXPECT_EQ(repaired.records, model_.size());
  EXPECT_EQ(repaired.losses(), 0u);
  EXPECT_GE(repaired.findings.size(), 1u);
}

}  // namespace
}  // namespace braid
