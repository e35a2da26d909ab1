// Tests of the two copies of a pool's header: each change is in both, and either will do.
#include "pool/header_copies.h"

#include <gtest/gtest.h>

#include "support/bare_space.h"
#include "support/temp_folder.h"

namespace braid::pool {
namespace {

using format::PoolHeader;

class HeaderCopiesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    space_.AddSegment(4);
    header_.Make(Options());
    ASSERT_TRUE(header_.Write().ok());
  }
  PoolHeader* Copy(int copy) { return space_.As<PoolHeader>(format::kPoolHeaderOffset[copy]); }
  /// What a later open finds.
  PoolHeader ReadAgain() {
    HeaderCopies again(&space_, space_.ops());
    const Status read = again.Read();
    EXPECT_TRUE(read.ok()) << read.ToString();
    place_ = again.place();
    return again.get();
  }

  test::TempFolder folder_;
  test::BareSpace space_{folder_.Sub("pool")};
  HeaderCopies header_{&space_, space_.ops()};
  uint64_t place_ = 0;
};

TEST_F(HeaderCopiesTest, EitherCopyWillDo) {
  ASSERT_TRUE(header_.SetSegments(3).ok());
  for (const int torn : {0, 1}) {
    const PoolHeader whole = *Copy(torn);
    ++Copy(torn)->segments;
    EXPECT_EQ(ReadAgain().segments, 3u);
    EXPECT_EQ(place_, format::kPoolHeaderOffset[1 - torn]);
    *Copy(torn) = whole;
  }
  ++Copy(0)->segments;
  ++Copy(1)->segments;
  HeaderCopies again(&space_, space_.ops());
  EXPECT_TRUE(again.Read().IsCorruption());
}

TEST_F(HeaderCopiesTest, TheNewerCopyCounts) {
  // As a crash between the two leaves them: one copy is of a time before.
  const PoolHeader before = *Copy(0);
  ASSERT_TRUE(header_.SetSegments(2).ok());
  *Copy(0) = before;
  EXPECT_EQ(ReadAgain().segments, 2u);
  EXPECT_EQ(place_, format::kPoolHeaderOffset[1]);
}

TEST_F(HeaderCopiesTest, WhatIsWrittenLaterCountsMore) {
  uint64_t last = ReadAgain().update_count;
  const auto expect_written = [&](const Status& status) {
    EXPECT_TRUE(status.ok()) << status.ToString();
    EXPECT_EQ(ReadAgain().update_count, ++last);
    EXPECT_EQ(Copy(0)->update_count, Copy(1)->update_count);
  };
  expect_written(header_.MarkDirty(format::kIncompatCopies));
  EXPECT_EQ(ReadAgain().clean, 0);
  EXPECT_EQ(ReadAgain().incompat, format::kIncompatCopies);
  expect_written(header_.SetGenerationFloor(1 << 16));
  EXPECT_EQ(ReadAgain().generation_floor, 1u << 16);
  expect_written(header_.MarkClean());
  EXPECT_EQ(ReadAgain().clean, 1);
  expect_written(header_.Require(format::kIncompatCopies));
}

TEST_F(HeaderCopiesTest, WhatIsAnnouncedOnceIsNotWrittenAgain) {
  ASSERT_TRUE(header_.Announce(format::kIncompatPointerMerges).ok());
  ASSERT_TRUE(header_.Announce(format::kIncompatCopies).ok());
  const PoolHeader announced = ReadAgain();
  EXPECT_EQ(announced.incompat, format::kIncompatPointerMerges | format::kIncompatCopies);
  ASSERT_TRUE(header_.Announce(format::kIncompatCopies).ok());
  ASSERT_TRUE(header_.AnnounceFormatVersion().ok());
  EXPECT_EQ(ReadAgain().update_count, announced.update_count);
}

/// What a later open finds of the devices.
std::optional<uint64_t> DirtyShutdownsOf(test::BareSpace* space) {
  HeaderCopies again(space, space->ops());
  const Status read = again.Read();
  EXPECT_TRUE(read.ok()) << read.ToString();
  return again.dirty_shutdowns();
}

TEST_F(HeaderCopiesTest, TheDeviceRecordBelongsToItsCopy) {
  EXPECT_FALSE(DirtyShutdownsOf(&space_).has_value());
  EXPECT_EQ(ReadAgain().compat, 0u);
  header_.SetDirtyShutdowns(5);
  ASSERT_TRUE(header_.MarkDirty(0).ok());
  EXPECT_EQ(DirtyShutdownsOf(&space_), 5u);
  EXPECT_EQ(ReadAgain().compat, format::kCompatDeviceRecord);
  ASSERT_TRUE(header_.SetSegments(2).ok());
  EXPECT_EQ(DirtyShutdownsOf(&space_), 5u) << "each change has it";
  // A crash tears the record of one copy: that of the other counts.
  for (const int torn : {0, 1}) {
    auto* const record = space_.As<format::DeviceRecord>(format::kPoolHeaderOffset[torn] +
                                                         format::kDeviceRecordOffset);
    const format::DeviceRecord whole = *record;
    ++record->dirty_shutdowns;
    EXPECT_EQ(DirtyShutdownsOf(&space_), 5u);
    *record = whole;
  }
  header_.SetDirtyShutdowns(std::nullopt);
  ASSERT_TRUE(header_.MarkClean().ok());
  EXPECT_FALSE(DirtyShutdownsOf(&space_).has_value());
}

TEST_F(HeaderCopiesTest, ARecordThatAnOlderProgramLeftDoesNotCount) {
  header_.SetDirtyShutdowns(5);
  ASSERT_TRUE(header_.MarkDirty(0).ok());
  // It changes both copies, and does not know of the records.
  for (const int copy : {0, 1}) {
    PoolHeader* const header = Copy(copy);
    header->update_count += 2;
    header->check = format::StructCheck(*header, format::kPoolHeaderOffset[copy]);
  }
  EXPECT_FALSE(DirtyShutdownsOf(&space_).has_value());
  EXPECT_EQ(ReadAgain().clean, 0);
}

}  // namespace
}  // namespace braid::pool
