// Where leaves are cut.
#include "leaf/leaf_split.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace braid::leaf {
namespace {

std::vector<std::string_view> Views(const std::vector<std::string>& keys) {
  return {keys.begin(), keys.end()};
}

/// Both sides have keys, and `low` tells them apart. Returns how many go right.
size_t ExpectACut(const std::vector<std::string>& keys) {
  const LeafCut cut = CutLeaf(Views(keys));
  EXPECT_EQ(cut.right.size(), keys.size());
  size_t right = 0;
  for (size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(keys[i] >= cut.low, cut.right[i]) << keys[i];
    right += cut.right[i] ? 1 : 0;
  }
  EXPECT_GT(right, 0u);
  EXPECT_LT(right, keys.size());
  return right;
}

TEST(LeafCutTest, TheMeanWithoutTheExtremesIsTheCut) {
  // The mean of 10 20 30 40 50 60 is 35; with the 200 that is left out it would be above 50.
  const LeafCut cut = CutLeaf({"\x01", "\x0a", "\x14", "\x1e", "\x28", "\x32", "\x3c", "\xc8"});
  EXPECT_EQ(cut.low, "\x28");
}

TEST(LeafCutTest, ALopsidedMeanGivesWayToTheMiddle) {
  std::vector<std::string> keys;
  for (int i = 0; i < 44; ++i) keys.push_back(std::string(1, '\0') + static_cast<char>(i));
  for (const char high : {'w', 'x', 'y', 'z'}) keys.emplace_back(1, high);
  EXPECT_EQ(ExpectACut(keys), keys.size() / 2);
}

TEST(LeafCutTest, KeysThatDifferBehindTheFirstBytesAreCut) {
  std::vector<std::string> keys;
  for (int i = 0; i < 48; ++i)
    keys.push_back("a long beginning that all keys share/" + std::to_string(i));
  ExpectACut(keys);
  // Nothing but zeros, of any length: as numbers all the same.
  keys.clear();
  for (size_t i = 0; i < 48; ++i) keys.emplace_back(i, '\0');
  ExpectACut(keys);
  ExpectACut({"", std::string(1, '\0')});
  ExpectACut({"b", "a"});
  ExpectACut({"c", "b", "a"});
}

TEST(LeafCutTest, AnyKeysAreCutInto) {
  Random random(7);
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::string> keys;
    const uint64_t alphabet = 1 + random.Uniform(3) * 100;
    while (keys.size() < 2 + random.Uniform(47)) {
      std::string key(random.Uniform(12), '\0');
      for (char& c : key) c = static_cast<char>(random.Uniform(alphabet + 1));
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
    }
    ExpectACut(keys);
    ASSERT_FALSE(HasFailure()) << "round " << round;
  }
}

}  // namespace
}  // namespace braid::leaf
