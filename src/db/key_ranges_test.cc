// Tests of prefixes and times as ranges of keys.
#include "braid/key_ranges.h"

#include <gtest/gtest.h>

#include <string>

#include "braid/db.h"
#include "support/temp_folder.h"

namespace braid {
namespace {

TEST(KeyRangesTest, TheUpperBoundIsBehindAllKeysOfThePrefix) {
  EXPECT_EQ(PrefixUpperBound("abc"), "abd");
  EXPECT_EQ(PrefixUpperBound(Slice("a\xff\xff", 3)), "b");
  EXPECT_EQ(PrefixUpperBound(Slice("\x7f", 1)), "\x80");
  EXPECT_EQ(PrefixUpperBound(Slice("a\0", 2)), std::string("a\x01", 2));
  EXPECT_FALSE(PrefixUpperBound("").has_value());
  EXPECT_FALSE(PrefixUpperBound("\xff\xff").has_value());
  const ReadOptions bounds = PrefixBounds("ab");
  EXPECT_EQ(bounds.lower_bound, "ab");
  EXPECT_EQ(bounds.upper_bound, "ac");
}

TEST(KeyRangesTest, KeysOfAPrefixLieInTheOrderOfTheirTimes) {
  const uint64_t times[] = {0, 1, 255, 256, 1ull << 32, (1ull << 63) - 1, 1ull << 63, ~0ull};
  std::string last;
  for (const uint64_t time : times) {
    const std::string key = TimeKey("cpu.", time, "host");
    EXPECT_LT(last, key);
    EXPECT_EQ(TimeOfKey("cpu.", key), time);
    last = TimeKey("cpu.", time, "\xff\xff");
  }
  EXPECT_FALSE(TimeOfKey("cpu.", "cpu.1234567").has_value());
  EXPECT_FALSE(TimeOfKey("cpu.", TimeKey("mem.", 1)).has_value());
}

TEST(KeyRangesTest, WhatIsOverGoesAndNothingElse) {
  const test::TempFolder folder;
  auto db = DB::Open({}, folder.Sub("pool"));
  ASSERT_TRUE(db.ok()) << db.status().ToString();
  for (uint64_t time = 0; time < 1000; ++time) {
    ASSERT_TRUE((*db)->Put(TimeKey("cpu.", time, "a"), "1").ok());
    ASSERT_TRUE((*db)->Put(TimeKey("mem.", time), "2").ok());
  }
  ASSERT_TRUE((*db)->Put("cpu.", "no time").ok());
  ASSERT_TRUE((*db)->Put("cpu", "another key").ok());
  uint64_t deleted = 0;
  ASSERT_TRUE(ExpireBefore(db->get(), {}, "cpu.", 400, &deleted).ok());
  EXPECT_EQ(deleted, 400u);
  ASSERT_TRUE(ExpireBefore(db->get(), {}, "cpu.", 400, &deleted).ok());
  EXPECT_EQ(deleted, 0u);
  ASSERT_TRUE(ExpireBefore(db->get(), {}, "cpu.", 0).ok());
  std::string value;
  EXPECT_TRUE((*db)->Get(TimeKey("cpu.", 399, "a"), &value).IsNotFound());
  EXPECT_TRUE((*db)->Get(TimeKey("cpu.", 400, "a"), &value).ok());
  EXPECT_TRUE((*db)->Get(TimeKey("mem.", 0), &value).ok());
  EXPECT_TRUE((*db)->Get("cpu.", &value).ok());
  EXPECT_TRUE((*db)->Get("cpu", &value).ok());
  ASSERT_TRUE((*db)->Close().ok());
  EXPECT_TRUE(ExpireBefore(db->get(), {}, "cpu.", 1000).IsClosed());
}

}  // namespace
}  // namespace braid
