// Sets of bytes: what is in them, to the byte.
#include "repair/range_set.h"

#include <gtest/gtest.h>

namespace braid::repair {
namespace {

TEST(RangeSetTest, ABytesNeighboursAreNotInIt) {
  const RangeSet set({{100, 10}});
  EXPECT_FALSE(set.Meets(99, 1));
  EXPECT_TRUE(set.Meets(99, 2));
  EXPECT_TRUE(set.Meets(109, 1));
  EXPECT_FALSE(set.Meets(110, 1));
  EXPECT_TRUE(set.Meets(0, 1000));
}

TEST(RangeSetTest, RangesMayComeInAnyOrderAndOverlap) {
  const RangeSet set({{300, 10}, {100, 50}, {120, 5}, {150, 10}, {105, 47}});
  EXPECT_EQ(set.size(), 2u);
  EXPECT_TRUE(set.Meets(130, 1));  // behind the end of one that a longer one has around it
  EXPECT_TRUE(set.Meets(159, 1));
  EXPECT_FALSE(set.Meets(160, 140));
  EXPECT_TRUE(set.Meets(160, 141));
}

TEST(RangeSetTest, AnEmptySetMeetsNothing) { EXPECT_FALSE(RangeSet({}).Meets(0, ~uint64_t{0})); }

}  // namespace
}  // namespace braid::repair
