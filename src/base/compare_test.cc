#include "base/compare.h"

#include <gtest/gtest.h>

#include <string>

#include "base/random.h"

namespace braid::base {
namespace {

int Sign(int order) { return order < 0 ? -1 : order > 0 ? 1 : 0; }

TEST(CompareTest, BytesAreOrderedAsStringsAre) {
  Random random(11);
  for (int round = 0; round < 20000; ++round) {
    std::string a;
    std::string b;
    // Few different bytes, so that long common beginnings are common; some above 127.
    for (uint64_t i = random.Uniform(24); i > 0; --i)
      a += static_cast<char>(126 + random.Uniform(3));
    b = a.substr(0, random.Uniform(a.size() + 1));
    for (uint64_t i = random.Uniform(4); i > 0; --i)
      b += static_cast<char>(126 + random.Uniform(3));
    EXPECT_EQ(CompareBytes(a, b), Sign(a.compare(b))) << a << " " << b;
    EXPECT_EQ(CompareBytes(b, a), Sign(b.compare(a))) << a << " " << b;
  }
}

TEST(CompareTest, AWordIsEightBytesWithZerosBehindTheEnd) {
  EXPECT_EQ(WordAt("abcdefghij", 0), 0x6162636465666768u);
  EXPECT_EQ(WordAt("abcdefghij", 8), 0x696A000000000000u);
  EXPECT_EQ(WordAt("abcdefghij", 10), 0u);
  EXPECT_EQ(WordAt("abc", 0), 0x6162630000000000u);
  EXPECT_EQ(WordAt("abc", 1), 0x6263000000000000u);
  EXPECT_EQ(WordAt("", 0), 0u);
}

}  // namespace
}  // namespace braid::base
