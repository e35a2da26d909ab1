#include "bench/harness/keys.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

namespace braid::bench {
namespace {

TEST(PermutationTest, VisitsEveryNumberExactlyOnceForAllSmallCounts) {
  for (uint64_t count = 1; count <= 600; ++count) {
    const Permutation permutation(count, count * 31);
    std::vector<bool> seen(count);
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t number = permutation(i);
      ASSERT_LT(number, count);
      ASSERT_FALSE(seen[number]) << "count " << count << " repeats " << number;
      seen[number] = true;
    }
  }
}

TEST(PermutationTest, VisitsEveryNumberExactlyOnceForALargeCount) {
  constexpr uint64_t kCount = 1'000'003;
  const Permutation permutation(kCount, 5);
  std::vector<bool> seen(kCount);
  for (uint64_t i = 0; i < kCount; ++i) {
    const uint64_t number = permutation(i);
    ASSERT_LT(number, kCount);
    ASSERT_FALSE(seen[number]);
    seen[number] = true;
  }
}

TEST(PermutationTest, NeighboursLandFarApart) {
  constexpr uint64_t kCount = 100'000;
  const Permutation permutation(kCount, 1);
  double distance = 0;
  int ascending = 0;
  for (uint64_t i = 1; i < kCount; ++i) {
    const auto a = static_cast<double>(permutation(i - 1));
    const auto b = static_cast<double>(permutation(i));
    distance += std::abs(a - b);
    ascending += b > a;
  }
  // A random order has a mean distance of a third and ascends half the time.
  EXPECT_NEAR(distance / kCount, kCount / 3.0, kCount * 0.02);
  EXPECT_NEAR(ascending, kCount / 2.0, kCount * 0.02);
}

TEST(PermutationTest, DifferentSeedsGiveDifferentOrders) {
  const Permutation a(1000, 1), b(1000, 2);
  int equal = 0;
  for (uint64_t i = 0; i < 1000; ++i) equal += a(i) == b(i);
  EXPECT_LT(equal, 20);
}

TEST(KeyMakerTest, PlainKeysOfAllSizesKeepTheOrderOfTheirNumbers) {
  for (const size_t size : {4, 7, 8, 9, 15, 16, 17, 40}) {
    const KeyMaker maker(size, false);
    KeyBuffer buffer(maker);
    std::string last;
    for (const uint64_t number : {0u, 1u, 9u, 10u, 255u, 256u, 65'535u, 65'536u, 99'999'999u}) {
      const std::string key(buffer.Key(number));
      ASSERT_EQ(key.size(), size);
      ASSERT_LT(last, key) << "size " << size << ", number " << number;
      last = key;
    }
  }
}

TEST(KeyMakerTest, SixteenByteKeysAreDecimalsAndEightByteKeysAreBigEndian) {
  const KeyMaker decimal(16, false), binary(8, false);
  KeyBuffer decimal_key(decimal), binary_key(binary);
  EXPECT_EQ(decimal_key.Key(123'456), "0000000000123456");
  EXPECT_EQ(binary_key.Key(0x0102030405060708), "\x01\x02\x03\x04\x05\x06\x07\x08");
}

TEST(KeyMakerTest, HashedKeysAreDistinctAndSpreadOverTheSpace) {
  for (const size_t size : {4, 8, 16, 24}) {
    const KeyMaker maker(size, true);
    KeyBuffer buffer(maker);
    std::set<std::string> keys;
    std::set<char> first_bytes;
    for (uint64_t i = 0; i < 50'000; ++i) {
      const std::string key(buffer.Key(i));
      ASSERT_EQ(key.size(), size);
      first_bytes.insert(key[0]);
      ASSERT_TRUE(keys.insert(key).second) << "size " << size << " repeats number " << i;
    }
    EXPECT_GE(first_bytes.size(), size >= 16 ? 9u : 250u);
  }
}

TEST(KeyMakerTest, AMissingKeySortsBetweenItsNumberAndTheNext) {
  for (const size_t size : {8, 16, 20}) {
    const KeyMaker maker(size, false);
    KeyBuffer buffer(maker);
    for (const uint64_t number : {0u, 9u, 255u, 123'456u}) {
      const std::string key(buffer.Key(number));
      const std::string missing(buffer.MissingKey(number));
      EXPECT_LT(key, missing);
      EXPECT_LT(missing, std::string(buffer.Key(number + 1)));
    }
  }
}

TEST(KeyMakerTest, CapacityIsWhatFitsIntoTheBytes) {
  EXPECT_EQ(KeyMaker(1, false).capacity(), 255u);
  EXPECT_EQ(KeyMaker(16, false).capacity(), 10'000'000'000'000'000u);
  EXPECT_LT(KeyMaker(16, true).capacity(), uint64_t{1} << 53);
}

TEST(PrintableKeyTest, ShowsTextAsItIsAndOtherBytesInHexadecimal) {
  EXPECT_EQ(PrintableKey("00012"), "'00012'");
  EXPECT_EQ(PrintableKey(std::string_view("\x00\xFF", 2)), "0x00ff");
}

}  // namespace
}  // namespace braid::bench
