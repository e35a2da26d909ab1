#include "base/key_range_set.h"

#include <gtest/gtest.h>

#include <set>

#include "base/random.h"
#include "support/environment.h"

namespace braid::base {
namespace {

std::string Text(const KeyRangeSet& set) {
  std::string text;
  for (const auto& [begin, end] : set.ranges()) text += begin + "-" + end.value_or("") + " ";
  return text;
}

TEST(KeyRangeSetTest, RangesThatTouchBecomeOne) {
  KeyRangeSet set;
  set.Add("d", "f");
  set.Add("a", "b");
  EXPECT_EQ(Text(set), "a-b d-f ");
  set.Add("b", "d");
  EXPECT_EQ(Text(set), "a-f ");
  set.Add("e", std::nullopt);
  EXPECT_EQ(Text(set), "a- ");
  set.Add("", "0");
  EXPECT_EQ(Text(set), "-0 a- ");
}

TEST(KeyRangeSetTest, EmptyAndInvertedRangesAddNothing) {
  KeyRangeSet set;
  set.Add("b", "b");
  set.Add("c", "a");
  EXPECT_TRUE(set.empty());
  EXPECT_FALSE(set.Covers("b"));
}

TEST(KeyRangeSetTest, CoversWhatItsRangesCover) {
  Random random(test::BaseSeed());
  for (int round = 0; round < 300; ++round) {
    KeyRangeSet set;
    std::set<uint64_t> model;
    for (int i = 0; i < 8; ++i) {
      const uint64_t begin = 10 + random.Uniform(60);
      const uint64_t end = 10 + random.Uniform(60);
      const bool is_open = random.OneIn(10);
      const std::string last = std::to_string(end);
      set.Add(std::to_string(begin),
              is_open ? std::nullopt : std::optional<std::string_view>(last));
      for (uint64_t key = begin; is_open ? key < 80 : key < end; ++key) model.insert(key);
      for (uint64_t key = 10; key < 80; ++key) {
        ASSERT_EQ(set.Covers(std::to_string(key)), model.contains(key)) << key << ": " << Text(set);
      }
    }
    std::optional<std::string> before;
    for (const auto& [from, to] : set.ranges()) {
      ASSERT_TRUE(!before || *before < from) << Text(set);
      ASSERT_TRUE(!to || from < *to) << Text(set);
      before = to.value_or("~");
    }
  }
}

}  // namespace
}  // namespace braid::base
