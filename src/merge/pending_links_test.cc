#include "merge/pending_links.h"

#include <gtest/gtest.h>

#include <unordered_map>

#include "base/random.h"

namespace braid::merge {
namespace {

TEST(PendingLinksTest, IsTheMapThatItStandsFor) {
  Random random(42);
  PendingLinks links;
  for (int batch = 0; batch < 20; ++batch) {
    std::unordered_map<uint64_t, uint64_t> expected;
    const uint64_t sets = random.Uniform(30'000);
    for (uint64_t i = 0; i < sets; ++i) {
      const uint64_t offset = 8 * random.Uniform(20'000);
      EXPECT_EQ(links.Find(offset) != nullptr, expected.contains(offset));
      links.Set(offset, i);
      expected[offset] = i;
    }
    for (uint64_t offset = 0; offset < 8 * 20'000; offset += 8) {
      const uint64_t* found = links.Find(offset);
      const auto known = expected.find(offset);
      ASSERT_EQ(found != nullptr, known != expected.end());
      if (found != nullptr) {
        ASSERT_EQ(*found, known->second);
      }
    }
    links.Clear();
  }
}

TEST(PendingLinksTest, ForgetsEachBatchWhenItsCounterComesRound) {
  PendingLinks links;
  links.Set(64, 1);
  for (int batch = 0; batch < 200'000; ++batch) {
    links.Clear();
    ASSERT_EQ(links.Find(64), nullptr);
  }
}

TEST(PendingLinksTest, KeepsTheLastValueOfALinkAtTheFarEndOfAPool) {
  PendingLinks links;
  const uint64_t last = (1ull << 48) - 8;
  links.Set(last, 1);
  links.Set(last, 2);
  ASSERT_NE(links.Find(last), nullptr);
  EXPECT_EQ(*links.Find(last), 2u);
  EXPECT_EQ(links.Find(last - 8), nullptr);
}

}  // namespace
}  // namespace braid::merge
