// Tests which copy of the pool header is taken, and what is said of files that can't be read.

#include "pool/pool_facts.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <fstream>

#include "support/database.h"
#include "support/temp_folder.h"

namespace braid::pool {
namespace {

TEST(PoolFactsTest, WhatIsNoFileIsNotTakenForATruncatedOne) {
  test::TempFolder folder;
  ASSERT_EQ(::mkdir(folder.Sub("segment-000000").c_str(), 0700), 0);
  const Status status = ReadPoolFacts(folder.path()).status();
  EXPECT_TRUE(test::HasCode(status, Status::Code::kIOError));
  EXPECT_NE(status.message().find("segment-000000"), std::string_view::npos) << status.ToString();
}

TEST(PoolFactsTest, AShortFileIsCalledTruncated) {
  test::TempFolder folder;
  std::ofstream(folder.Sub("segment-000000")) << "short";
  const Status status = ReadPoolFacts(folder.path()).status();
  EXPECT_TRUE(test::HasCode(status, Status::Code::kCorruption));
  EXPECT_NE(status.message().find("truncated"), std::string_view::npos) << status.ToString();
}

using format::PoolHeader;

PoolHeader HeaderOf(uint64_t update_count, int copy) {
  PoolHeader header{};
  header.magic = format::kPoolMagic;
  header.version = format::kFormatVersionNumber;
  header.endian = format::kEndianMark;
  header.update_count = update_count;
  header.chunk_bytes = format::kPageBytes;
  header.check = format::StructCheck(header, format::kPoolHeaderOffset[copy]);
  return header;
}

TEST(ChooseHeaderTest, TheNewerCopyCounts) {
  const PoolHeader copies[2] = {HeaderOf(5, 0), HeaderOf(6, 1)};
  Result<PoolHeader> header = ChooseHeader(copies, "here");
  ASSERT_TRUE(header.ok()) << header.status().ToString();
  EXPECT_EQ(header->update_count, 6u);
}

TEST(ChooseHeaderTest, ATornCopyIsNotTakenHoweverNewItLooks) {
  PoolHeader copies[2] = {HeaderOf(5, 0), HeaderOf(6, 1)};
  copies[1].clean ^= 1;
  Result<PoolHeader> header = ChooseHeader(copies, "here");
  ASSERT_TRUE(header.ok()) << header.status().ToString();
  EXPECT_EQ(header->update_count, 5u);
  copies[0].segments ^= 1;
  EXPECT_TRUE(ChooseHeader(copies, "here").status().IsCorruption());
}

TEST(ChooseHeaderTest, ACopyInThePlaceOfTheOtherIsNotTaken) {
  const PoolHeader copies[2] = {HeaderOf(5, 0), HeaderOf(6, 0)};
  Result<PoolHeader> header = ChooseHeader(copies, "here");
  ASSERT_TRUE(header.ok()) << header.status().ToString();
  EXPECT_EQ(header->update_count, 5u);
}

TEST(ChooseHeaderTest, AFloorThatLeavesNoGenerationsIsDamage) {
  PoolHeader copies[2] = {HeaderOf(5, 0), HeaderOf(6, 1)};
  for (int copy = 0; copy < 2; ++copy) {
    copies[copy].generation_floor = format::kMaxGeneration;
    copies[copy].check = format::StructCheck(copies[copy], format::kPoolHeaderOffset[copy]);
  }
  EXPECT_TRUE(ChooseHeader(copies, "here").status().IsCorruption());
}

}  // namespace
}  // namespace braid::pool
