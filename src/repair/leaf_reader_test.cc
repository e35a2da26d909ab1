// The list of leaves of a damaged pool: what it names, and damage to it.
#include "repair/leaf_reader.h"

#include <gtest/gtest.h>

#include "format/leaf.h"
#include "support/pool_of_bytes.h"

namespace braid::repair {
namespace {

using format::Leaf;
using format::LeafPtr;
using test::PoolOfBytes;

class LeafReaderTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kLeaves = PoolOfBytes::kFirstChunk * PoolOfBytes::kChunkBytes;

  LeafReaderTest() { SetLink(format::kLeafHeadOffset, LeafPtr::End()); }

  static uint64_t LeafAt(int i) { return kLeaves + static_cast<uint64_t>(i) * sizeof(Leaf); }
  void SetLink(uint64_t place, LeafPtr link) { *bytes_.As<uint64_t>(place) = link.raw; }
  /// Behind what was the last leaf.
  Leaf* AddLeaf(const std::vector<uint64_t>& entries) {
    const uint64_t place = LeafAt(leaves_++);
    auto* leaf = bytes_.As<Leaf>(place);
    leaf->magic = format::kLeafMagic;
    leaf->generation = 1;
    for (size_t i = 0; i < entries.size(); ++i) {
      const uint64_t slot = place + Leaf::kHeaderBytes + i * sizeof(format::LeafSlot);
      leaf->slots[i] = {format::EntryPtr::To(entries[i]).raw,
                        format::LeafTag::Make(i << 32, slot, leaf->generation).raw};
    }
    leaf->commit =
        format::LeafCommit::Make((1ull << entries.size()) - 1, place, leaf->generation).raw;
    leaf->check = format::LeafHeaderCheck(*leaf, place);
    SetLink(link_, LeafPtr::To(place));
    link_ = place + offsetof(Leaf, next);
    SetLink(link_, LeafPtr::End());
    return leaf;
  }
  bool Read() {
    pool_ = bytes_.Open();
    Findings findings(pool_->image(), {});
    LeafReader leaves(pool_->image(), &findings);
    const bool whole = leaves.ReadAll();
    named_ = leaves.named();
    found_ = test::Describe(findings.TakeSorted());
    return whole;
  }

  PoolOfBytes bytes_;
  int leaves_ = 0;
  uint64_t link_ = format::kLeafHeadOffset;
  std::unique_ptr<DamagedPool> pool_;
  std::vector<uint64_t> named_;
  std::vector<std::string> found_;
};

TEST_F(LeafReaderTest, EntriesOfAllLeavesAreNamedInTheOrderOfPlaces) {
  AddLeaf({0x8000, 0x9000});
  AddLeaf({});
  AddLeaf({0x7000, 0x8800});
  EXPECT_TRUE(Read());
  EXPECT_EQ(named_, (std::vector<uint64_t>{0x7000, 0x8000, 0x8800, 0x9000}));
  EXPECT_TRUE(found_.empty());
}

TEST_F(LeafReaderTest, ASlotWhoseBitIsNotSetNamesNothing) {
  Leaf* leaf = AddLeaf({0x8000, 0x9000});
  leaf->commit = format::LeafCommit::Make(2, LeafAt(0), 1).raw;
  leaf->slots[0] = {1, 1};
  EXPECT_TRUE(Read());
  EXPECT_EQ(named_, std::vector<uint64_t>{0x9000});
}

TEST_F(LeafReaderTest, DamageToAnyPartOfALeafIsNoted) {
  AddLeaf({0x8000});
  Leaf* leaf = AddLeaf({0x9000});
  const std::vector<uint64_t*> words{&leaf->commit, &leaf->check, &leaf->reserved[1],
                                     &leaf->slots[0].entry, &leaf->slots[0].tag};
  for (uint64_t* word : words) {
    *word ^= 1ull << 40;
    EXPECT_FALSE(Read());
    EXPECT_EQ(found_, std::vector<std::string>{"leaf: a check of it does not match"});
    *word ^= 1ull << 40;
  }
  EXPECT_TRUE(Read());
}

TEST_F(LeafReaderTest, ALinkThatIsDamagedOrLeadsOutEndsIt) {
  Leaf* leaf = AddLeaf({0x8000});
  leaf->next ^= 1;
  EXPECT_FALSE(Read());
  EXPECT_EQ(found_, std::vector<std::string>{"link of a leaf: its check does not match"});
  leaf->next = LeafPtr::To(1ull << 40).raw;
  EXPECT_FALSE(Read());
  EXPECT_EQ(found_, std::vector<std::string>{"leaf: a check of it does not match"});
}

TEST_F(LeafReaderTest, ACircleEnds) {
  AddLeaf({0x8000});
  AddLeaf({0x9000})->next = LeafPtr::To(LeafAt(0)).raw;
  EXPECT_FALSE(Read());
  EXPECT_EQ(found_, std::vector<std::string>{"list of leaves: it goes in a circle"});
}

}  // namespace
}  // namespace braid::repair
