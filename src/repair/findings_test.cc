// Findings: the files they name, what they cover, and their order.
#include "repair/findings.h"

#include <gtest/gtest.h>

#include "support/pool_of_bytes.h"

namespace braid::repair {
namespace {

constexpr uint64_t kSegment = 2 * format::kPageBytes;

class FindingsTest : public ::testing::Test {
 protected:
  /// Two segments, and a hole of one segment's size between them.
  FindingsTest() : image_(media::PoolImage::OfMemory(bytes_.data(), {kSegment, kSegment})) {
    EXPECT_TRUE(image_->Map({{0, 0}, {1, 2 * kSegment}}, 3 * kSegment).ok());
    findings_ = std::make_unique<Findings>(*image_, std::vector<RepairFinding>{});
  }

  std::vector<char> bytes_ = std::vector<char>(2 * kSegment);
  std::unique_ptr<media::PoolImage> image_;
  std::unique_ptr<Findings> findings_;
};

TEST_F(FindingsTest, EachNamesItsFileAndItsPlaceInTheFile) {
  findings_->Note(2 * kSegment + 40, 8, "word", "it is odd", false);
  findings_->Note(kSegment + 40, 8, "word", "it is nowhere", false);
  const std::vector<RepairFinding> found = findings_->TakeSorted();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].ToString(), "(no file)+0x2028: word: it is nowhere (8 bytes)");
  EXPECT_EQ(found[1].ToString(), "segment-000001+0x28: word: it is odd (8 bytes)");
}

TEST_F(FindingsTest, TheyAreSortedByFileAndOffset) {
  findings_->Note(2 * kSegment, 0, "third", "", false);
  findings_->Note(700, 0, "second", "", false);
  findings_->Note(80, 0, "first", "", true);
  std::vector<std::string> objects;
  for (const RepairFinding& finding : findings_->TakeSorted()) objects.push_back(finding.object);
  EXPECT_EQ(objects, (std::vector<std::string>{"first", "second", "third"}));
  EXPECT_TRUE(findings_->TakeSorted().empty());
}

TEST_F(FindingsTest, OnlyLossesCoverBytesAndAtLeastOne) {
  findings_->Note(100, 50, "entry", "damaged", false);
  findings_->Note(200, 50, "entry", "lost", true);
  findings_->Note(300, 0, "entry", "lost", true);
  const RangeSet lost = findings_->LostRanges();
  EXPECT_FALSE(lost.Meets(100, 50));
  EXPECT_TRUE(lost.Meets(249, 1));
  EXPECT_TRUE(lost.Meets(300, 1));
  EXPECT_FALSE(lost.Meets(301, 1));
}

TEST_F(FindingsTest, AnEntrysKeyIsNamed) {
  test::PoolOfBytes bytes;
  const uint64_t place = test::PoolOfBytes::OffsetOf(test::PoolOfBytes::kFirstChunk);
  findings_->Note(8, 8, "entry", "", true, bytes.SetEntry(place, "the key", "value"));
  findings_->Note(16, 8, "entry", "", true);
  const std::vector<RepairFinding> found = findings_->TakeSorted();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].key, "the key");
  EXPECT_EQ(found[1].key, std::nullopt);
}

}  // namespace
}  // namespace braid::repair
