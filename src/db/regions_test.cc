// Tests of pools with several regions: where segments and chunks lie, what is refused, and what a
// creation that was interrupted leaves.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "braid/db.h"
#include "format/layout.h"
#include "media/file_media.h"
#include "pool/pool.h"

namespace braid {
namespace {

namespace fs = std::filesystem;

/// Which region the calling thread belongs to, in these tests.
thread_local uint32_t region_of_writer = 0;

class RegionsTest : public ::testing::Test {
 protected:
  RegionsTest() {
    const char* base = std::getenv("BRAID_TMP");
    folder_ = std::string(base != nullptr ? base : "/tmp") + "/braid-regions-XXXXXX";
    if (::mkdtemp(folder_.data()) == nullptr) std::abort();
    pool_ = folder_ + "/pool";
    options_.background_threads = false;
    options_.pool.chunk_bytes = 4 << 10;
    options_.pool.initial_bytes = 256 << 10;
    options_.pool.regions = 3;
    options_.lists.kind = ListKind::kOblivious;
    options_.log.shards = 6;
    options_.log.kind = LogKind::kIndexUnified;  // entries stay in the region of their writer
    region_of_writer = 0;
    media::SetRegionRule([](uint32_t) { return region_of_writer; });
  }
  ~RegionsTest() override {
    media::SetRegionRule(nullptr);
    std::error_code error;
    fs::remove_all(folder_, error);
  }

  std::unique_ptr<DB> Open() {
    Result<std::unique_ptr<DB>> db = DB::Open(options_, pool_);
    EXPECT_TRUE(db.ok()) << db.status().ToString();
    return db.ok() ? std::move(*db) : nullptr;
  }
  Status OpenError() { return DB::Open(options_, pool_).status(); }
  PoolInfo Inspect() {
    Result<PoolInfo> info = DB::Inspect(pool_, {});
    EXPECT_TRUE(info.ok()) << info.status().ToString();
    return info.ok() ? *info : PoolInfo{};
  }
  std::vector<uint64_t> FreeChunks() {
    std::vector<uint64_t> free;
    for (const RegionInfo& region : Inspect().regions) free.push_back(region.chunks_free);
    return free;
  }
  template <class Change>
  void RewriteHeader(const Change& change) {
    std::fstream file(pool_ + "/segment-000000", std::ios::in | std::ios::out | std::ios::binary);
    for (const uint64_t place : format::kPoolHeaderOffset) {
      format::PoolHeader header{};
      file.seekg(static_cast<std::streamoff>(place));
      file.read(reinterpret_cast<char*>(&header), sizeof header);
      change(&header);
      header.check = format::StructCheck(header, place);
      file.seekp(static_cast<std::streamoff>(place));
      file.write(reinterpret_cast<const char*>(&header), sizeof header);
    }
  }
  void InFolders() { options_.pool.region_paths = {folder_ + "/one", folder_ + "/two"}; }

  std::string folder_;
  std::string pool_;
  Options options_;
};

/// A region of a database that is open, as its entries lie in the file: not through the database.
format::SegmentHeader HeaderOf(const std::string& file) {
  format::SegmentHeader header{};
  std::ifstream in(file, std::ios::binary);
  in.read(reinterpret_cast<char*>(&header), sizeof header);
  return header;
}

TEST_F(RegionsTest, ANewPoolHasASegmentForEachRegion) {
  ASSERT_NE(Open(), nullptr);
  const PoolInfo info = Inspect();
  ASSERT_EQ(info.regions.size(), 3u);
  EXPECT_EQ(info.segments, 3u);
  for (uint32_t i = 0; i < 3; ++i) {
    const format::SegmentHeader header = HeaderOf(pool_ + "/segment-00000" + std::to_string(i));
    EXPECT_EQ(header.region, i);
    EXPECT_EQ(header.regions, 3);
    EXPECT_EQ(info.regions[i].bytes, header.segment_bytes);
    EXPECT_GT(info.regions[i].chunks_free, 4u);
  }
}

TEST_F(RegionsTest, OneRegionChangesNoByteOfAPool) {
  options_.pool.regions = 1;
  ASSERT_NE(Open(), nullptr);
  format::PoolHeader header{};
  std::ifstream in(pool_ + "/segment-000000", std::ios::binary);
  in.seekg(format::kPoolHeaderOffset[0]);
  in.read(reinterpret_cast<char*>(&header), sizeof header);
  EXPECT_EQ(header.incompat, 0u);
  EXPECT_EQ(header.regions, 0);
  EXPECT_EQ(header.list_kind, 0);
  EXPECT_EQ(HeaderOf(pool_ + "/segment-000000").regions, 0);
  EXPECT_EQ(Inspect().segments, 1u);
}

TEST_F(RegionsTest, AWriteTakesChunksOfItsThreadsRegion) {
  std::unique_ptr<DB> db = Open();
  ASSERT_NE(db, nullptr);
  for (const uint32_t region : {2u, 0u, 1u}) {
    const std::vector<uint64_t> before = FreeChunks();
    region_of_writer = region;
    ASSERT_TRUE(db->Put("key" + std::to_string(region), std::string(1000, 'v')).ok());
    std::vector<uint64_t> expected = before;
    --expected[region];
    EXPECT_EQ(FreeChunks(), expected) << "region " << region;
    // A value in an extent lies where its entry does.
    ASSERT_TRUE(db->Put("large" + std::to_string(region), std::string(9000, 'v')).ok());
    expected[region] -= 3;
    EXPECT_EQ(FreeChunks(), expected) << "region " << region;
  }
  EXPECT_EQ(db->GetStatistics().region_fallbacks, 0u);
}

TEST_F(RegionsTest, ARegionThatRunsShortGrowsAlone) {
  std::unique_ptr<DB> db = Open();
  ASSERT_NE(db, nullptr);
  const PoolInfo before = Inspect();
  region_of_writer = 1;
  for (int i = 0; i < 60; ++i) {
    ASSERT_TRUE(db->Put("key" + std::to_string(i), std::string(2000, 'v')).ok());
  }
  const PoolInfo after = Inspect();
  EXPECT_EQ(after.regions[0].bytes, before.regions[0].bytes);
  EXPECT_GT(after.regions[1].bytes, before.regions[1].bytes);
  EXPECT_EQ(after.regions[2].bytes, before.regions[2].bytes);
  EXPECT_EQ(db->GetStatistics().region_fallbacks, 0u);
  ASSERT_TRUE(db->Close().ok());
  db = Open();
  ASSERT_NE(db, nullptr);
  VerifyReport report;
  EXPECT_TRUE(db->Verify(&report).ok());
  EXPECT_EQ(report.live_entries, 60u);
}

TEST_F(RegionsTest, AFullRegionThatCannotGrowIsHelpedByAnother) {
  options_.pool.max_bytes = 256 << 10;
  std::unique_ptr<DB> db = Open();
  ASSERT_NE(db, nullptr);
  const uint64_t own = FreeChunks()[2];
  region_of_writer = 2;
  for (uint64_t i = 0; i < own + 3; ++i) {
    ASSERT_TRUE(db->Put("key" + std::to_string(i), std::string(2000, 'v')).ok()) << i;
  }
  EXPECT_EQ(FreeChunks()[2], 0u);
  EXPECT_EQ(db->GetStatistics().region_fallbacks, 3u);
}

TEST_F(RegionsTest, AnotherNumberOrKindThanThePoolsIsRefused) {
  ASSERT_NE(Open(), nullptr);
  options_.pool.regions = 2;
  Status s = OpenError();
  EXPECT_EQ(s.code(), Status::Code::kInvalidArgument);
  EXPECT_NE(s.message().find("pool.regions=3"), std::string::npos) << s.ToString();
  // What is not said is the pool's.
  options_.pool.regions = 1;
  options_.lists.kind.reset();
  EXPECT_NE(Open(), nullptr);
  options_.lists.kind = ListKind::kBraided;
  s = OpenError();
  EXPECT_EQ(s.code(), Status::Code::kInvalidArgument);
  EXPECT_NE(s.message().find("lists.kind=oblivious"), std::string::npos) << s.ToString();
}

TEST_F(RegionsTest, SegmentsLieInTheFoldersOfTheirRegions) {
  InFolders();
  {
    std::unique_ptr<DB> db = Open();
    ASSERT_NE(db, nullptr);
    for (uint32_t region = 0; region < 3; ++region) {
      region_of_writer = region;
      ASSERT_TRUE(db->Put("key" + std::to_string(region), "value").ok());
    }
  }
  EXPECT_TRUE(fs::exists(pool_ + "/segment-000000"));
  EXPECT_TRUE(fs::exists(folder_ + "/one/segment-000001"));
  EXPECT_TRUE(fs::exists(folder_ + "/two/segment-000002"));
  EXPECT_FALSE(fs::exists(pool_ + "/segment-000001"));
  EXPECT_EQ(Inspect().regions[2].path, fs::canonical(folder_ + "/two").string());
  // Without the option the pool's own file says where they are.
  options_.pool.region_paths.clear();
  options_.pool.regions = 1;
  std::unique_ptr<DB> db = Open();
  ASSERT_NE(db, nullptr);
  std::string value;
  for (const char* key : {"key0", "key1", "key2"}) EXPECT_TRUE(db->Get(key, &value).ok());
  EXPECT_EQ(DB::Destroy(pool_).code(), Status::Code::kBusy);
  db.reset();
  // A repair reads them too.
  RepairReport report;
  Options target = options_;
  ASSERT_TRUE(DB::Repair(target, pool_, folder_ + "/repaired", &report).ok());
  EXPECT_EQ(report.records, 3u);
  EXPECT_EQ(report.losses(), 0u);
  ASSERT_TRUE(DB::Destroy(pool_).ok());
  EXPECT_FALSE(fs::exists(pool_));
  EXPECT_FALSE(fs::exists(folder_ + "/one"));
  EXPECT_FALSE(fs::exists(folder_ + "/two"));
}

TEST_F(RegionsTest, AFolderThatIsMissingIsNamed) {
  InFolders();
  ASSERT_NE(Open(), nullptr);
  fs::rename(folder_ + "/two", folder_ + "/elsewhere");
  Status s = OpenError();
  EXPECT_FALSE(s.ok());
  EXPECT_NE(s.message().find("/two"), std::string::npos) << s.ToString();
  // A repair takes what the others hold, and says what is lost.
  RepairReport report;
  Options target;
  target.pool.initial_bytes = 1 << 20;
  target.pool.chunk_bytes = 4 << 10;
  ASSERT_TRUE(DB::Repair(target, pool_, folder_ + "/repaired", &report).ok());
  EXPECT_GT(report.losses(), 0u);
  EXPECT_TRUE(
      std::any_of(report.findings.begin(), report.findings.end(), [](const RepairFinding& finding) {
        return finding.lost && finding.file.find("/two") != std::string::npos;
      }));
  // A mount point without its device: the folder is there, and empty.
  fs::create_directory(folder_ + "/two");
  s = OpenError();
  EXPECT_NE(s.message().find("/two/region"), std::string::npos) << s.ToString();
  fs::remove(folder_ + "/two");
  // Rewritten, the file leads to the place where it is now.
  std::ofstream(pool_ + "/regions")
      << "region 1 " << folder_ << "/one\nregion 2 " << folder_ << "/elsewhere\n";
  options_.pool.region_paths.clear();
  EXPECT_NE(Open(), nullptr);
  std::ofstream(pool_ + "/regions") << "region 2 " << folder_ << "/one\n";
  s = OpenError();
  EXPECT_EQ(s.code(), Status::Code::kCorruption) << s.ToString();
}

TEST_F(RegionsTest, AFolderBelongsToOnePool) {
  InFolders();
  ASSERT_NE(Open(), nullptr);
  const std::string first = pool_;
  pool_ = folder_ + "/second";
  Status s = OpenError();
  EXPECT_EQ(s.code(), Status::Code::kInvalidArgument);
  EXPECT_NE(s.message().find(first), std::string::npos) << s.ToString();
  // A copy of the pool's own folder neither runs beside the original nor takes its regions along.
  fs::remove_all(pool_);
  fs::copy(first, pool_);
  options_.pool.region_paths.clear();
  {
    pool_ = first;
    std::unique_ptr<DB> db = Open();
    pool_ = folder_ + "/second";
    EXPECT_EQ(OpenError().code(), Status::Code::kBusy);
  }
  EXPECT_EQ(DB::Destroy(pool_).code(), Status::Code::kInvalidArgument);
  EXPECT_TRUE(fs::exists(folder_ + "/one/segment-000001"));
  EXPECT_TRUE(DB::Destroy(first).ok());
}

TEST_F(RegionsTest, FoldersThatHoldSomethingAreRefused) {
  InFolders();
  fs::create_directory(folder_ + "/two");
  std::ofstream(folder_ + "/two/data") << "mine";
  const Status s = OpenError();
  EXPECT_EQ(s.code(), Status::Code::kInvalidArgument);
  EXPECT_NE(s.message().find("data"), std::string::npos) << s.ToString();
  EXPECT_TRUE(fs::exists(folder_ + "/two/data"));
  options_.pool.region_paths[1] = folder_ + "/one";
  EXPECT_EQ(OpenError().code(), Status::Code::kInvalidArgument);
}

TEST_F(RegionsTest, AnInterruptedCreationIsCompletedByTheNextOpen) {
  InFolders();
  ASSERT_NE(Open(), nullptr);
  // As a crash leaves it: the header counts one segment, the next one is published or not.
  for (const bool published : {false, true}) {
    fs::remove(folder_ + "/two/segment-000002");
    if (!published) fs::remove(folder_ + "/one/segment-000001");
    RewriteHeader([](format::PoolHeader* header) {
      header->segments = 1;
      header->clean = 1;
    });
    std::unique_ptr<DB> db = Open();
    ASSERT_NE(db, nullptr);
    EXPECT_EQ(Inspect().segments, 3u);
    VerifyReport report;
    EXPECT_TRUE(db->Verify(&report).ok());
    ASSERT_TRUE(db->Close().ok());
  }
}

TEST_F(RegionsTest, ListsThatThisLibraryDoesNotKnowAreRefused) {
  ASSERT_NE(Open(), nullptr);
  options_.lists.kind.reset();
  RewriteHeader([](format::PoolHeader* header) { header->list_kind = 4; });
  const Status s = OpenError();
  EXPECT_EQ(s.code(), Status::Code::kNotSupported);
  EXPECT_NE(s.message().find("lists of kind 4"), std::string::npos) << s.ToString();
  RewriteHeader([](format::PoolHeader* header) { header->list_kind = 5; });
  EXPECT_EQ(OpenError().code(), Status::Code::kCorruption);
}

TEST_F(RegionsTest, ASegmentOfAnImpossibleRegionIsDamage) {
  ASSERT_NE(Open(), nullptr);
  std::fstream file(pool_ + "/segment-000001", std::ios::in | std::ios::out | std::ios::binary);
  format::SegmentHeader header{};
  file.read(reinterpret_cast<char*>(&header), sizeof header);
  for (const int region : {0, 2, 3}) {
    header.region = static_cast<uint8_t>(region);
    header.check = format::StructCheck(header, header.base_offset);
    file.seekp(0);
    file.write(reinterpret_cast<const char*>(&header), sizeof header);
    file.flush();
    const Status s = OpenError();
    EXPECT_EQ(s.code(), Status::Code::kCorruption) << s.ToString();
    EXPECT_NE(s.message().find("region"), std::string::npos) << s.ToString();
  }
}

}  // namespace
}  // namespace braid
