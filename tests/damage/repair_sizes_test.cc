// Headers, names and files that claim any size: what a repair does costs as much as the bytes that
// are there.
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <functional>

#include "format/layout.h"
#include "pool_states.h"
#include "support/child_process.h"
#include "support/temp_folder.h"

namespace braid::test {
namespace {

constexpr unsigned kSizesSeconds = kSanitizer ? 120 : 30;
constexpr size_t kFindingsOfSmallPool = 2'000;  // the pool has some hundred pages

class RepairSizesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    pool_ = BuildPool(PoolState::kMixed, folder_.Sub("sound"), DeriveSeed(890));
    ASSERT_FALSE(pool_.image.files.empty());
  }

  PoolFile* Segment(const std::string& name = "segment-000000") {
    for (PoolFile& file : pool_.image.files) {
      if (file.name == name) return &file;
    }
    ADD_FAILURE() << "no " << name;
    return nullptr;
  }
  template <class T>
  void Change(uint64_t offset, const std::function<uint64_t(T*)>& change) {
    PoolFile* file = Segment();
    ASSERT_NE(file, nullptr);
    T structure;
    std::memcpy(&structure, file->bytes.data() + offset, sizeof structure);
    const uint64_t place = change(&structure);
    structure.check = format::StructCheck(structure, place);
    std::memcpy(file->bytes.data() + offset, &structure, sizeof structure);
  }

  /// Repairs what `prepare` makes of the files, which must end soon with few findings.
  void ExpectToEnd(const std::function<void(const std::string& path)>& prepare = {}) {
    const std::string path = folder_.Sub("harmed");
    ASSERT_TRUE(pool_.image.WriteTo(path));
    if (prepare) prepare(path);
    if (HasFailure()) return;
    const ChildOutcome outcome = RunInChild(kSizesSeconds, [&](int fd) {
      RepairReport report;
      const Status status = DB::Repair(DamageOptions(), path, folder_.Sub("new"), &report);
      rusage used{};
      ::getrusage(RUSAGE_SELF, &used);
      SayTo(fd, status.ToString() + ", " + std::to_string(report.findings.size()) + " findings, " +
                    std::to_string(used.ru_maxrss) + " KiB");
      const bool small = kSanitizer || used.ru_maxrss < 1 << 20;
      return report.findings.size() <= kFindingsOfSmallPool && small ? 0 : 1;
    });
    EXPECT_EQ(outcome.exit_code, 0) << outcome.ToString();
    std::filesystem::remove_all(folder_.Sub("new"));
  }

  TempFolder folder_;
  BuiltPool pool_;
};

TEST_F(RepairSizesTest, ASegmentThatClaimsAllOfTheAddressSpace) {
  for (const uint64_t bytes : {uint64_t{1} << 34, uint64_t{1} << 45}) {
    Change<format::SegmentHeader>(0, [&](format::SegmentHeader* header) {
      header->segment_bytes = bytes;
      return header->base_offset;
    });
    ExpectToEnd();
  }
}

TEST_F(RepairSizesTest, APlaceFarBehindTheRest) {
  Change<format::SegmentHeader>(0, [&](format::SegmentHeader* header) {
    header->base_offset = uint64_t{1} << 45;
    return header->base_offset;
  });
  ExpectToEnd();
}

TEST_F(RepairSizesTest, MoreSegmentsThanThereCanBe) {
  for (const uint64_t place : format::kPoolHeaderOffset) {
    Change<format::PoolHeader>(place, [&](format::PoolHeader* header) {
      header->segments = ~uint64_t{0};
      return place;
    });
  }
  ExpectToEnd();
}

TEST_F(RepairSizesTest, ASegmentOfTheGreatestNumberInAFileName) {
  PoolFile last = *Segment();
  last.name = "segment-999999";
  std::memset(last.bytes.data(), 0, kPageBytes);
  pool_.image.files.push_back(last);
  ExpectToEnd();
  RepairReport report;
  ASSERT_TRUE(
      IsOk(DB::Repair(DamageOptions(), folder_.Sub("harmed"), folder_.Sub("new"), &report)));
  EXPECT_LT(report.losses(), 4u);
}

TEST_F(RepairSizesTest, FilesThatAreOneHole) {
  for (const off_t bytes : {off_t{1} << 40, off_t{1} << 50}) {
    for (const char* name : {"segment-000000", "segment-000001"}) {
      ExpectToEnd([&](const std::string& path) {
        const std::string file = path + "/" + name;
        const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        ASSERT_GE(fd, 0);
        EXPECT_EQ(::ftruncate(fd, bytes), 0);
        ::close(fd);
      });
    }
  }
}

TEST_F(RepairSizesTest, ChunkHeadersWithoutAPlaceInManyFiles) {
  // Each would be looked for in all of the pool that could be.
  PoolFile lost = *Segment();
  std::memset(lost.bytes.data(), 0, 9 * kPageBytes);
  lost.bytes.resize(16 * kPageBytes);
  format::LogChunkHeader header{};
  header.magic = format::kLogChunkMagic;
  header.check = 1;
  for (uint64_t page = 9; page < 16; ++page) {
    std::memcpy(lost.bytes.data() + page * kPageBytes, &header, sizeof header);
  }
  for (int i = 1; i < 60; ++i) {
    char name[32];
    std::snprintf(name, sizeof name, "segment-%06d", i);
    if (!pool_.image.BytesOf(name).empty()) continue;
    lost.name = name;
    pool_.image.files.push_back(lost);
  }
  ExpectToEnd();
}

}  // namespace
}  // namespace braid::test
