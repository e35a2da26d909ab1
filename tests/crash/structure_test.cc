// Tests that what Verify demands of chunks, extents and lists is noticed when it is broken, and
// that recovery is repeatable to the byte.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>

#include "crash/bare_database.h"
#include "crash/image_checker.h"
#include "format/entry.h"
#include "format/layout.h"
#include "sim/sim_media.h"

namespace braid::crash {
namespace {

class StructureTest : public ::testing::Test {
 protected:
  void SetUp() override {
    sim_.set_tracking(false);
    db_ = Open();
  }

  std::unique_ptr<DB> Open() {
    Result<std::unique_ptr<DB>> opened =
        OpenBare(options_, std::make_unique<sim::SimMedia>(&sim_, "boot"));
    EXPECT_TRUE(opened.ok()) << opened.status().ToString();
    return opened.ok() ? std::move(*opened) : nullptr;
  }

  void Fill() {
    for (int i = 0; i < 60; ++i) {
      ASSERT_TRUE(db_->Put("key" + std::to_string(i), std::string(50, 'v')).ok());
    }
    ASSERT_TRUE(db_->Put("large", std::string(3 * kBareChunkBytes, 'l')).ok());
    ASSERT_TRUE(db_->Compact().ok());
    ASSERT_TRUE(db_->Put("log", "entry").ok());
    ASSERT_EQ(CheckStructure(db_.get()), "");
  }

  /// All that Verify finds, in one text.
  std::string Problems() {
    VerifyReport report;
    EXPECT_FALSE(db_->Verify(&report).ok());
    std::string text;
    for (const std::string& problem : report.problems) text += problem + "\n";
    return text;
  }

  uint64_t StateAddress(uint64_t chunk) const {
    return format::kFirstStateTableOffset + chunk * sizeof(uint64_t);
  }
  format::ChunkState StateOf(uint64_t chunk) const {
    return {*reinterpret_cast<uint64_t*>(area_.base() + StateAddress(chunk))};
  }
  /// Offset of the first chunk of that kind.
  uint64_t FirstChunk(format::ChunkKind kind) const {
    for (uint64_t chunk = 0; chunk < area_.published_bytes() / kBareChunkBytes; ++chunk) {
      if (StateOf(chunk).kind() == kind) return chunk * kBareChunkBytes;
    }
    ADD_FAILURE() << "no such chunk";
    return 0;
  }

  sim::SimArea area_{8u << 20};
  sim::SimPersist sim_{&area_, nullptr, 1};
  const Options options_ = BareOptions();
  std::unique_ptr<DB> db_;
};

TEST_F(StructureTest, AStateThatDiffersOnTheMediumIsNoticed) {
  Fill();
  const uint64_t chunk = FirstChunk(format::ChunkKind::kFree) / kBareChunkBytes;
  *reinterpret_cast<uint64_t*>(area_.base() + StateAddress(chunk)) =
      format::ChunkState::Make(format::ChunkKind::kLog, 9, chunk).raw;
  EXPECT_NE(Problems().find("state on the medium"), std::string::npos);
}

TEST_F(StructureTest, AnExtentThatNobodyWillFreeIsNoticed) {
  Fill();
  const uint64_t extent = FirstChunk(format::ChunkKind::kExtentHead);
  format::ExtentHeader header;
  std::memcpy(&header, area_.base() + extent, sizeof header);
  auto* owner = reinterpret_cast<format::EntryHeader*>(area_.base() + header.owner);
  *owner->state_byte() = format::kStateObsolete;
  EXPECT_NE(Problems().find("nothing will free it"), std::string::npos);
}

TEST_F(StructureTest, AnExtentWithoutItsChunksIsNoticedAndSoAreItsChunks) {
  Fill();
  const uint64_t extent = FirstChunk(format::ChunkKind::kExtentHead);
  area_.base()[extent + 8] = 2;  // it says that it has two chunks; it has four
  const std::string wrong = Problems();
  EXPECT_NE(wrong.find("check does not match"), std::string::npos) << wrong;
  EXPECT_NE(wrong.find("belongs to no extent"), std::string::npos) << wrong;
}

TEST_F(StructureTest, ASecondRecoveryChangesThePoolHeaderAndNothingElse) {
  Fill();
  ASSERT_TRUE(db_->Put("key1", "again").ok());
  db_.reset();
  db_ = Open();
  area_.PushFrame();
  db_.reset();
  area_.PopFrame();
  area_.PushFrame();
  db_ = Open();
  const std::vector<uint64_t> changed = area_.ChangedLines();
  EXPECT_FALSE(changed.empty());
  for (const uint64_t line : changed) {
    EXPECT_GE(line * media::kLineBytes, format::kPoolHeaderOffset[0]);
    EXPECT_LT(line * media::kLineBytes, format::kManifestOffset[0]);
  }
  db_.reset();
  area_.PopFrame();
}

}  // namespace
}  // namespace braid::crash
