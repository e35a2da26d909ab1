// Named kinds of damage: missing and extra files, other versions, unknown features.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "format/layout.h"
#include "pool_states.h"
#include "support/temp_folder.h"

namespace braid::test {
namespace {

class PoolFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = folder_.Sub("pool");
    pool_ = BuildPool(PoolState::kMixed, path_, DeriveSeed(700));
    ASSERT_FALSE(pool_.image.files.empty());
  }
  Status OpenStatus() {
    Options options = DamageOptions();
    options.create_if_missing = true;
    return DB::Open(options, path_).status();
  }
  /// Changes both copies of the pool header, with a valid checksum.
  void RewriteHeaders(const std::function<void(format::PoolHeader*)>& change) {
    PoolImage image = pool_.image;
    uint64_t changed = 0;
    for (PoolFile& file : image.files) {
      for (const uint64_t offset : format::kPoolHeaderOffset) {
        if (file.bytes.size() < offset + sizeof(format::PoolHeader)) continue;
        format::PoolHeader header;
        std::memcpy(&header, file.bytes.data() + offset, sizeof(header));
        if (header.magic != format::kPoolMagic) continue;
        change(&header);
        header.check = format::StructCheck(header, offset);
        std::memcpy(file.bytes.data() + offset, &header, sizeof(header));
        ++changed;
      }
    }
    ASSERT_GE(changed, 1u) << "no pool header was found where format/layout.h says";
    ASSERT_TRUE(image.WriteTo(path_));
  }
  /// The lock file beside the segments holds no data and may be lost.
  static bool IsSegment(const std::string& name) { return name.starts_with("segment-"); }

  void ExpectSound() {
    ASSERT_TRUE(pool_.image.WriteTo(path_));
    const auto db = OpenOrFail(DamageOptions(), path_);
    ASSERT_NE(db, nullptr);
    ExpectContent(db.get(), pool_.content);
  }

  TempFolder folder_;
  std::string path_;
  BuiltPool pool_;
};

TEST_F(PoolFilesTest, HeaderRewrittenWithoutAChangeStillOpens) {
  // The control: the checksum that these tests write is the one that the store expects.
  RewriteHeaders([](format::PoolHeader*) {});
  const auto db = OpenOrFail(DamageOptions(), path_);
  ASSERT_NE(db, nullptr);
  ExpectContent(db.get(), pool_.content);
}

TEST_F(PoolFilesTest, UnknownIncompatibleFeatureIsRefused) {
  RewriteHeaders([](format::PoolHeader* header) { header->incompat |= 1ull << 40; });
  const Status status = OpenStatus();
  EXPECT_TRUE(HasCode(status, Status::Code::kNotSupported));
  EXPECT_NE(status.message().find("feature"), std::string_view::npos) << status.ToString();
  ExpectSound();
}

TEST_F(PoolFilesTest, UnknownCompatibleFeatureIsIgnored) {
  RewriteHeaders([](format::PoolHeader* header) { header->compat |= 1ull << 40; });
  const auto db = OpenOrFail(DamageOptions(), path_);
  ASSERT_NE(db, nullptr);
  ExpectContent(db.get(), pool_.content);
}

TEST_F(PoolFilesTest, NewerFormatVersionIsRefusedByName) {
  RewriteHeaders([](format::PoolHeader* header) { header->version += 1; });
  const Status status = OpenStatus();
  EXPECT_TRUE(HasCode(status, Status::Code::kNotSupported));
  EXPECT_NE(status.message().find(std::to_string(format::kFormatVersionNumber + 1)),
            std::string_view::npos)
      << status.ToString();
}

TEST_F(PoolFilesTest, OtherByteOrderIsRefused) {
  RewriteHeaders([](format::PoolHeader* header) { header->endian = 0x04030201; });
  const Status status = OpenStatus();
  EXPECT_TRUE(status.IsNotSupported() || status.IsCorruption()) << status.ToString();
  EXPECT_FALSE(status.message().empty());
}

TEST_F(PoolFilesTest, EachMissingFileIsAnErrorAndNothingIsMadeAnew) {
  for (size_t i = 0; i < pool_.image.files.size(); ++i) {
    PoolImage image = pool_.image;
    const std::string name = image.files[i].name;
    if (!IsSegment(name)) continue;
    image.files.erase(image.files.begin() + static_cast<std::ptrdiff_t>(i));
    ASSERT_TRUE(image.WriteTo(path_));
    const auto opened = DB::Open(DamageOptions(), path_);
    EXPECT_FALSE(opened.ok()) << "opened without " << name;
    EXPECT_FALSE(opened.ok() || opened.status().message().empty());
  }
  ExpectSound();
}

TEST_F(PoolFilesTest, AStrayFileDoesNotDisturb) {
  for (const char* name : {"notes.txt", ".hidden", "segment.tmp", "0", "lost+found"}) {
    std::ofstream(path_ + "/" + name) << "not ours";
  }
  const auto db = OpenOrFail(DamageOptions(), path_);
  ASSERT_NE(db, nullptr);
  ExpectContent(db.get(), pool_.content);
  EXPECT_TRUE(std::filesystem::exists(path_ + "/notes.txt"));
}

TEST_F(PoolFilesTest, EmptyAndShortFilesAreErrors) {
  for (size_t i = 0; i < pool_.image.files.size(); ++i) {
    if (!IsSegment(pool_.image.files[i].name)) continue;
    for (const size_t size : {0u, 1u, 79u, 4095u, 4096u, 8192u, 36864u}) {
      PoolImage image = pool_.image;
      if (image.files[i].bytes.size() <= size) continue;
      image.files[i].bytes.resize(size);
      ASSERT_TRUE(image.WriteTo(path_));
      const Status status = OpenStatus();
      EXPECT_FALSE(status.ok()) << image.files[i].name << " cut to " << size;
      EXPECT_FALSE(status.message().empty());
    }
  }
  ExpectSound();
}

TEST_F(PoolFilesTest, AFileGrownByGarbageIsRightOrAnError) {
  PoolImage image = pool_.image;
  for (PoolFile& file : image.files) {
    if (IsSegment(file.name)) file.bytes += Random(DeriveSeed(701)).Bytes(100000);
  }
  ASSERT_TRUE(image.WriteTo(path_));
  const auto opened = DB::Open(DamageOptions(), path_);
  if (!opened.ok()) {
    EXPECT_TRUE(opened.status().IsCorruption() || opened.status().IsIOError())
        << opened.status().ToString();
  } else {
    ExpectContent(opened.value().get(), pool_.content);
  }
}

TEST_F(PoolFilesTest, TwoFilesOfDifferentPoolsAreNotMixed) {
  TempFolder other_folder;
  const BuiltPool other = BuildPool(PoolState::kMixed, other_folder.Sub("pool"), DeriveSeed(702));
  // The last that both have: pools grow in the background, one perhaps further than the other.
  const size_t count = std::min(other.image.files.size(), pool_.image.files.size());
  ASSERT_GE(count, 2u) << "a pool has one segment only";
  PoolImage image = pool_.image;
  PoolFile& swapped = image.files[count - 1];
  ASSERT_EQ(swapped.name, other.image.files[count - 1].name);
  swapped = other.image.files[count - 1];
  ASSERT_TRUE(image.WriteTo(path_));
  const auto opened = DB::Open(DamageOptions(), path_);
  EXPECT_FALSE(opened.ok()) << swapped.name << " of another pool was taken";
}

}  // namespace
}  // namespace braid::test
