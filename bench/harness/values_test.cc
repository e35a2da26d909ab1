#include "bench/harness/values.h"

#include <gtest/gtest.h>

#include <string>

namespace braid::bench {
namespace {

constexpr VersionRange kAny;
const size_t kSizes[] = {0, 1, 7, 8, 9, 15, 16, 17, 100, 1024, 100'000};

std::string MakeValue(const ValueMaker& maker, std::string_view key, uint32_t version) {
  std::string value(maker.size(), '?');
  maker.Make(key, version, value.data());
  return value;
}

TEST(ValueMakerTest, AcceptsWhatItMadeForAllSizes) {
  for (const size_t size : kSizes) {
    const ValueMaker maker(size);
    for (const uint32_t version : {0u, 1u, 77u, ~0u}) {
      const std::string value = MakeValue(maker, "0000000000000042", version);
      EXPECT_TRUE(maker.Check("0000000000000042", value, kAny, true)) << size;
    }
  }
}

TEST(ValueMakerTest, AThoroughCheckCatchesEveryFlippedBit) {
  for (const size_t size : {7, 8, 9, 16, 17, 100}) {
    const ValueMaker maker(size);
    const std::string value = MakeValue(maker, "key", 3);
    for (size_t byte = 0; byte < size; ++byte) {
      for (int bit = 0; bit < 8; ++bit) {
        std::string damaged = value;
        damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << bit));
        EXPECT_FALSE(maker.Check("key", damaged, {0, 10}, true))
            << "size " << size << ", byte " << byte << ", bit " << bit;
      }
    }
  }
}

TEST(ValueMakerTest, AQuickCheckCatchesAFlippedByteInTheFirstAndLastEight) {
  const ValueMaker maker(100);
  const std::string value = MakeValue(maker, "key", 3);
  for (size_t byte = 0; byte < 100; ++byte) {
    std::string damaged = value;
    damaged[byte] = static_cast<char>(damaged[byte] ^ 0x40);
    const bool seen = byte < 8 || byte >= 92;
    EXPECT_EQ(maker.Check("key", damaged, {0, 10}, false), !seen) << byte;
  }
}

TEST(ValueMakerTest, RefusesTheValueOfAnotherKeyAndAnotherLength) {
  for (const size_t size : {4, 8, 100}) {
    const ValueMaker maker(size);
    const std::string value = MakeValue(maker, "0000000000000001", 1);
    EXPECT_FALSE(maker.Check("0000000000000002", value, kAny, false)) << size;
    EXPECT_FALSE(maker.Check("0000000000000001", value + "x", kAny, false)) << size;
    EXPECT_FALSE(maker.Check("0000000000000001", value.substr(1), kAny, false)) << size;
  }
}

TEST(ValueMakerTest, RefusesGenerationsOutsideTheRange) {
  const ValueMaker maker(100);
  const std::string value = MakeValue(maker, "key", 5);
  EXPECT_TRUE(maker.Check("key", value, {5, 5}, true));
  EXPECT_FALSE(maker.Check("key", value, {6, 9}, true));
  EXPECT_FALSE(maker.Check("key", value, {1, 4}, true));
  EXPECT_NE(maker.Explain("key", value, {6, 9}).find("generation 5"), std::string::npos);
}

TEST(ValueMakerTest, ExplainsWhereAValueIsDamaged) {
  const ValueMaker maker(100);
  std::string value = MakeValue(maker, "key", 5);
  value[50] = static_cast<char>(value[50] ^ 1);
  EXPECT_NE(maker.Explain("key", value, kAny).find("byte 50"), std::string::npos);
  EXPECT_NE(maker.Explain("other", value, kAny).find("another key"), std::string::npos);
  EXPECT_NE(maker.Explain("key", "short", kAny).find("5 bytes instead of 100"), std::string::npos);
}

TEST(ValueMakerTest, GenerationsOfOneKeyDiffer) {
  const ValueMaker maker(32);
  EXPECT_NE(MakeValue(maker, "key", 1), MakeValue(maker, "key", 2));
}

}  // namespace
}  // namespace braid::bench
