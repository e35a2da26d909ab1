// What the complete check finds.
#include "leaf/leaf_verifier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/leaf_parts.h"

namespace braid::leaf {
namespace {

using ::testing::Test;

class LeafVerifierTest : public Test {
 protected:
  LeafVerifierTest() {
    for (int i = 0; i < 200; ++i) parts_.Put("key" + std::to_string(i), "value");
    parts_.Put("large", std::string(40000, 'v'));
    parts_.Put("replaced", std::string(40000, 'v'));
    parts_.Put("replaced", "small");
  }
  /// Whether a problem is found that has these words.
  ::testing::AssertionResult Finds(const std::string& words, bool image_served = true) {
    const std::string problems = parts_.Problems(image_served);
    if (problems.find(words) != std::string::npos) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "found: " << problems;
  }

  test::LeafParts parts_;
};

TEST_F(LeafVerifierTest, ASoundStoreHasNoProblemsAndIsCounted) {
  std::vector<double> shares;
  const std::function<void(double)> progress = [&](double share) { shares.push_back(share); };
  VerifyReport report;
  ASSERT_TRUE(LeafVerifier(parts_.ToVerify(true, &progress)).Run(&report).ok());
  EXPECT_TRUE(report.problems.empty());
  EXPECT_EQ(report.entries, 202u);
  EXPECT_EQ(report.live_entries, 202u);
  EXPECT_EQ(report.chunks, parts_.pool->chunks());
  EXPECT_GT(report.bytes, 200u * 5);
  ASSERT_FALSE(shares.empty());
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  EXPECT_EQ(shares.back(), 1.0);
}

TEST_F(LeafVerifierTest, LiveBytesThatAreCountedWrongAreFound) {
  parts_.usage.Add(parts_.pool->ChunkOf(parts_.Find("key7")), 8);
  EXPECT_TRUE(Finds("are accounted for"));
}

TEST_F(LeafVerifierTest, AnEntryThatNoLeafNamesIsFound) {
  parts_.NewEntry("lost", "value");
  EXPECT_TRUE(Finds("it says that it counts, no leaf names it"));
}

TEST_F(LeafVerifierTest, ABitmapThatIsNotTheOneInDramIsFound) {
  LeafNode* node = parts_.list.head()->next.load();
  const uint64_t bitmap = node->bitmap.load();
  node->bitmap.store(bitmap & (bitmap - 1));
  EXPECT_TRUE(Finds("its bitmap is not the one in DRAM"));
  EXPECT_TRUE(Finds("201 entries are in them, 202 are counted"));
  node->bitmap.store(bitmap);
  EXPECT_EQ(parts_.Problems(), "");
}

TEST_F(LeafVerifierTest, ALinkThatLeadsElsewhereIsFound) {
  LeafNode* node = parts_.list.head()->next.load();
  ASSERT_NE(node->next.load(), nullptr);
  *parts_.list.LinkOf(*node) = format::LeafPtr::To(node->offset).raw;
  EXPECT_TRUE(Finds("it does not lead where the index says"));
}

TEST_F(LeafVerifierTest, AnEntryThatSaysItDoesNotCountIsFoundAndSoIsItsExtent) {
  auto* entry = parts_.pool->As<format::EntryHeader>(parts_.Find("large"));
  *entry->state_byte() = format::kStateObsolete;
  EXPECT_TRUE(Finds("a leaf names it, and it says that it does not count"));
  EXPECT_TRUE(Finds("no entry that counts owns it"));
}

TEST_F(LeafVerifierTest, AnImageThatHasServedBelongsToNobody) {
  auto chunk = parts_.pool->AllocateLogChunk({}, format::ChunkKind::kLeafIndex,
                                             pool::AllocationClass::kWrite);
  ASSERT_TRUE(chunk.ok());
  EXPECT_EQ(parts_.Problems(false), "") << "a read-only open keeps it";
  EXPECT_TRUE(Finds("it belongs to nobody"));
}

TEST_F(LeafVerifierTest, ChunksOfNoExtentAreFoundButThoseOfAWriteAreNot) {
  log::PendingEntry pending;
  const std::string value(40000, 'v');
  pending.value = value;
  {
    space::LargeValues::Scope large(&parts_.large_values, {&pending, 1});
    ASSERT_TRUE(large.Copy(0, pool::AllocationClass::kWrite).ok());
    EXPECT_EQ(parts_.Problems(), "");
  }
  ASSERT_TRUE(parts_.pool->ReserveExtent(40000, 0, pool::AllocationClass::kWrite).ok());
  EXPECT_TRUE(Finds("it belongs to no extent"));
}

}  // namespace
}  // namespace braid::leaf
