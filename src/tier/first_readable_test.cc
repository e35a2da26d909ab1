// Behind damage reading goes on soon, and nothing that lies between two damaged places is passed
// that need not be.
#include "tier/first_readable.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "support/database.h"

namespace braid::tier {
namespace {

using test::NumberedKey;

/// Keys of these ranges of numbers, the ends included, can't be read.
using Damage = std::vector<std::pair<uint64_t, uint64_t>>;

/// The number of the first key that is read again.
uint64_t GoesOnAt(const std::string& hidden, uint64_t last, const Damage& damage) {
  const std::string shown = FirstReadable(hidden, NumberedKey(last), [&](const std::string& key) {
    for (const auto& [from, to] : damage) {
      const bool is_behind = from == 0 || key > NumberedKey(from - 1);
      if (is_behind && key <= NumberedKey(to)) return false;
    }
    return true;
  });
  EXPECT_GT(shown, hidden);
  uint64_t n = 0;
  while (NumberedKey(n) < shown) ++n;
  return n;
}

TEST(FirstReadableTest, GoesOnBehindTheDamage) {
  EXPECT_EQ(GoesOnAt(NumberedKey(212), 2999, {{213, 242}}), 243u);
  EXPECT_EQ(GoesOnAt(NumberedKey(212), 2999, {{213, 213}}), 214u);
  EXPECT_EQ(GoesOnAt(NumberedKey(99), 2999, {{100, 2998}}), 2999u);
}

TEST(FirstReadableTest, DamageFarBehindHidesNothingBeforeIt) {
  // The middle of all lies in the second one.
  EXPECT_EQ(GoesOnAt(NumberedKey(212), 2999, {{213, 242}, {1400, 1800}}), 243u);
  EXPECT_EQ(GoesOnAt(NumberedKey(212), 2999, {{213, 242}, {600, 2800}}), 243u);
}

TEST(FirstReadableTest, BehindNoKeyAtAll) {
  // All keys begin with more than eight bytes that are the same.
  EXPECT_EQ(GoesOnAt("", 2999, {{0, 30}, {1500, 1530}}), 31u);
}

TEST(FirstReadableTest, WhereNothingCanBeReadItGoesOnAtTheEnd) {
  EXPECT_EQ(GoesOnAt(NumberedKey(0), 2999, {{1, 2999}}), 2999u);
  EXPECT_EQ(FirstReadable("a", "b", [](const std::string&) { return false; }), "b");
  EXPECT_EQ(FirstReadable("a", std::string("a\0", 2), [](const std::string&) { return false; }),
            std::string("a\0", 2));
}

}  // namespace
}  // namespace braid::tier
