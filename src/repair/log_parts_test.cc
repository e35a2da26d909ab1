// Chunks that have lost their headers, and writes that say where they stand.
#include "repair/log_parts.h"

#include <gtest/gtest.h>

#include <deque>

namespace braid::repair {
namespace {

class LogPartsTest : public ::testing::Test {
 protected:
  LogPart Lost() {
    LogPart part;
    part.header = &headers_.emplace_back();
    part.header->table_id = 99;  // whatever is there
    return part;
  }
  LogPart Known(uint64_t table, uint32_t shard, uint32_t ordinal) {
    LogPart part = Lost();
    part.has_header = true;
    part.header->table_id = table;
    part.header->shard = shard;
    part.header->ordinal = ordinal;
    return part;
  }
  static LogPart Of(LogPart part, uint64_t first, bool begins_within, uint64_t last,
                    bool ends_within) {
    part.first = first;
    part.begins_within = begins_within;
    part.last = last;
    part.ends_within = ends_within;
    part.used = 1000 + first;
    return part;
  }

 private:
  std::deque<format::LogChunkHeader> headers_;
};

TEST_F(LogPartsTest, AWriteGoesOnInWhatHasTheNextNumber) {
  std::vector<LogPart> parts = {Of(Known(7, 2, 4), 10, false, 20, true),
                                Of(Lost(), 21, true, 30, true), Of(Lost(), 31, true, 35, false)};
  PlaceParts(&parts);
  for (uint32_t i = 1; i < 3; ++i) {
    ASSERT_TRUE(parts[i].has_header);
    EXPECT_EQ(parts[i].header->table_id, 7u);
    EXPECT_EQ(parts[i].header->shard, 2u);
    EXPECT_EQ(parts[i].header->ordinal, 4 + i);
    EXPECT_EQ(parts[i].header->previous_used, parts[i - 1].used);
    EXPECT_EQ(parts[i].header->within_unit, 1u);
  }
}

TEST_F(LogPartsTest, AWriteBeganInWhatHasTheNumberBefore) {
  std::vector<LogPart> parts = {Of(Lost(), 5, false, 9, true), Of(Lost(), 10, true, 20, true),
                                Of(Known(7, 2, 2), 21, true, 30, false)};
  PlaceParts(&parts);
  ASSERT_TRUE(parts[0].has_header && parts[1].has_header);
  EXPECT_EQ(parts[1].header->ordinal, 1u);
  EXPECT_EQ(parts[0].header->ordinal, 0u);
  EXPECT_EQ(parts[0].header->shard, 2u);
}

TEST_F(LogPartsTest, WithoutAWriteBetweenThemNothingIsKnown) {
  std::vector<LogPart> parts = {
      Of(Known(7, 0, 0), 10, false, 20, false), Of(Lost(), 21, false, 30, false),
      Of(Lost(), 40, true, 50, true),           Of(Known(7, 1, 3), 52, true, 60, false),
      Of(Known(7, 2, 0), 71, true, 80, false),  Of(Lost(), 61, false, 70, true)};
  PlaceParts(&parts);
  EXPECT_FALSE(parts[1].has_header);
  EXPECT_FALSE(parts[2].has_header) << "number 51 is missing";
  EXPECT_FALSE(parts[5].has_header) << "nothing stands before the first chunk of a log";
}

TEST_F(LogPartsTest, ManyBrokenPartsEnd) {
  std::vector<LogPart> parts;
  for (uint64_t i = 0; i < 1000; ++i) parts.push_back(Of(Lost(), i + 1, true, i, true));
  parts.push_back(Of(Known(1, 0, 1), 0, true, ~0ull, true));
  PlaceParts(&parts);
  EXPECT_TRUE(parts[1000].has_header);
}

}  // namespace
}  // namespace braid::repair
