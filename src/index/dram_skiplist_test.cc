// Tests of DramSkipList by one thread, against std::map. Several threads:
// tests/concurrency/dram_map_stress_test.cc.
#include "index/dram_skiplist.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/ordered_map.h"

namespace braid::index {
namespace {

using ListHarness = Harness<DramSkipList>;

class DramSkipListKinds : public testing::TestWithParam<Kind> {};

TEST_P(DramSkipListKinds, BehavesLikeAnOrderedMap) {
  BehavesLikeAnOrderedMap<DramSkipList>(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Keys, DramSkipListKinds, testing::ValuesIn(kKinds),
                         [](const auto& kind) { return std::string(kind.param.name); });

TEST(DramSkipListTest, AnEmptyListFindsNothingAndIsSmall) {
  DramSkipList list;
  uint64_t refs[4];
  EXPECT_EQ(list.Find("a"), 0u);
  EXPECT_EQ(list.FindFloor("a"), 0u);
  EXPECT_EQ(list.ScanForward("", true, refs, 4), 0u);
  EXPECT_EQ(list.ScanBackward("a", true, refs, 4), 0u);
  EXPECT_EQ(list.ScanFromStart(refs, 4), 0u);
  EXPECT_EQ(list.ScanFromEnd(refs, 4), 0u);
  EXPECT_FALSE(list.EraseIf("a", [](uint64_t) { return true; }));
  EXPECT_EQ(list.size(), 0u);
  EXPECT_LT(list.reserved_bytes(), 1500u);
  EXPECT_LE(list.memory_bytes(), list.reserved_bytes());
}

TEST(DramSkipListTest, TheEmptyKeyIsTheFirst) {
  ListHarness harness;
  for (int i = 0; i < 500; ++i) harness.Put(Decimal(static_cast<uint64_t>(i), 5), 0);
  harness.Put("", 1);
  harness.CheckReads("");
  uint64_t ref = 0;
  ASSERT_EQ(harness.tree().ScanFromStart(&ref, 1), 1u);
  EXPECT_EQ(EntryOf(ref).key, "");
  harness.CheckAll();
}

TEST(DramSkipListTest, KeysThatDifferOnlyInTrailingZerosStayApart) {
  ListHarness harness;
  for (size_t zeros = 0; zeros < 200; ++zeros) {
    harness.Put("a" + std::string(zeros, '\0'), zeros);
    harness.Put("b" + std::string(199 - zeros, '\0'), zeros);
  }
  for (size_t zeros = 0; zeros < 201; ++zeros) harness.CheckReads("a" + std::string(zeros, '\0'));
  harness.CheckAll();
}

TEST(DramSkipListTest, ErasedStretchesAreSkippedBothWaysAndFilledAgain) {
  ListHarness harness;
  for (uint64_t i = 0; i < 5000; ++i) harness.Put(BigEndian(i), i);
  for (uint64_t i = 10; i < 4990; ++i) harness.Erase(BigEndian(i), true);
  harness.CheckReads(BigEndian(2000));
  harness.CheckReads(BigEndian(9));
  harness.CheckReads(BigEndian(4990));
  harness.CheckAll();
  const size_t bytes = harness.tree().memory_bytes();
  for (uint64_t i = 10; i < 4990; ++i) harness.Put(BigEndian(i), i);
  harness.CheckAll();
  EXPECT_EQ(harness.tree().memory_bytes(), bytes) << "an erased key has kept its node";
}

TEST(DramSkipListTest, NodesTakeAboutFortyBytesMoreThanTheirKey) {
  ListHarness harness;
  constexpr uint64_t kKeys = 100000;
  for (uint64_t i = 0; i < kKeys; ++i) harness.Put(BigEndian(Mix64(i)), i);
  // 24 bytes, 4/3 links, and the key.
  EXPECT_LT(harness.tree().memory_bytes(), kKeys * 44);
  EXPECT_GT(harness.tree().memory_bytes(), kKeys * 42);
}

TEST(DramSkipListTest, AbandonedInsertsGiveTheirMemoryBack) {
  ListHarness harness;
  harness.Put("a", 1);
  const size_t bytes = harness.tree().memory_bytes();
  for (int i = 0; i < 100; ++i) harness.Abandon("b");
  EXPECT_EQ(harness.tree().memory_bytes(), bytes);
}

TEST(DramSkipListTest, CommitMayThrowAndChangesNothing) {
  ListHarness harness;
  harness.Put("a", 1);
  EXPECT_THROW(harness.tree().Upsert("b", [](uint64_t) -> uint64_t { throw 1; }), int);
  EXPECT_THROW(harness.tree().Upsert("a", [](uint64_t) -> uint64_t { throw 1; }), int);
  EXPECT_EQ(harness.tree().Find("b"), 0u);
  harness.Put("b", 2);  // would wait forever if the gap were still locked
  harness.Put("a", 3);
  harness.CheckAll();
}

}  // namespace
}  // namespace braid::index
