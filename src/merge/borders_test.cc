// Tests of borders: what they are, and what becomes of one that was left behind.
#include "merge/borders.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/zipper_parts.h"

namespace braid::merge {
namespace {

using Parts = test::ZipperParts;
using Strings = Parts::Strings;

class BordersTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kTableId = 99;

  Result<format::TableRecord> Write(const std::vector<std::string>& keys) {
    return WriteBorders(parts_.pool.get(), &parts_.usage, keys, kTableId, Parts::kSource);
  }
  /// Puts borders into the target.
  void Bring(const std::vector<std::string>& keys) {
    const Result<format::TableRecord> written = Write(keys);
    ASSERT_TRUE(written.ok()) << written.status().ToString();
    MergeInput input = parts_.Begin();
    input.copies = true;
    input.brings_borders = true;
    input.is_bottom = false;
    parts_.Run(input);
  }
  uint64_t BorderOf(std::string_view key) {
    index::Damage damage;
    const format::EntryHeader* border = FindBorder(parts_.List(Parts::kTarget), key, &damage);
    EXPECT_FALSE(damage);
    return border == nullptr ? 0 : parts_.pool->OffsetOf(border);
  }

  Parts parts_;
};

TEST_F(BordersTest, ATableOfBordersHasOneAKey) {
  const Result<format::TableRecord> written = Write({"a", "c", "e"});
  ASSERT_TRUE(written.ok()) << written.status().ToString();
  EXPECT_EQ(written->id, kTableId);
  EXPECT_EQ(written->head, Parts::kSource);
  EXPECT_EQ(written->entries, 3u);
  EXPECT_EQ(written->flags, format::kTableOfCopies);
  EXPECT_EQ(parts_.Entries(Parts::kSource), (Strings{"a@0-", "c@0-", "e@0-"}));
  for (const uint64_t place : parts_.Places(Parts::kSource)) {
    EXPECT_TRUE(IsBorder(*parts_.Entry(place)));
    EXPECT_EQ(parts_.Entry(place)->height(), format::kMaxHeight) << "no link crosses it";
    EXPECT_TRUE(log::EntryVerifies(*parts_.pool, place));
  }
  parts_.ExpectSoundTowers(Parts::kSource);
}

TEST_F(BordersTest, AWriteIsNoBorder) {
  EXPECT_FALSE(IsBorder(*parts_.Entry(parts_.Put("a", "1"))));
  EXPECT_FALSE(IsBorder(*parts_.Entry(parts_.Delete("a"))));
}

TEST_F(BordersTest, AKeyThatIsTooLargeForABorderLeavesNothing) {
  const uint64_t free = parts_.pool->free_chunks();
  // The entry would fit, with a lower tower.
  const uint64_t room = parts_.pool->chunk_bytes() - sizeof(format::LogChunkHeader);
  const uint64_t least = sizeof(format::EntryHeader) + 8 * format::kMaxHeight;
  const std::string fits(room - least, 'k');
  const std::string too_large(room - least + 1, 'l');
  EXPECT_TRUE(Write({"a", too_large}).status().IsOutOfSpace());
  EXPECT_EQ(parts_.pool->free_chunks(), free);
  EXPECT_TRUE(Write({"a", fits}).ok());
}

TEST_F(BordersTest, ABorderFollowsAllVersionsOfItsKeyAndHidesNothing) {
  parts_.Put("b", "1");
  parts_.Put("b", "2");
  parts_.Put("c", "3");
  parts_.views = {1};
  parts_.Link(Parts::kTarget, parts_.views);
  Bring({"a", "b"});
  EXPECT_EQ(parts_.Merged(), (Strings{"a@0-", "b@2=2", "b@1=1", "b@0-", "c@3=3"}));
  parts_.ExpectSoundTowers(Parts::kTarget);
}

TEST_F(BordersTest, ABorderIsFoundBehindTheVersionsOfItsKeyAlone) {
  parts_.Put("b", "1");
  parts_.Put("b", "2");
  parts_.Delete("c");
  parts_.views = {1};
  parts_.Link(Parts::kTarget, parts_.views);
  EXPECT_EQ(BorderOf("b"), 0u);
  Bring({"b"});
  const std::vector<uint64_t> places = parts_.Places(Parts::kTarget);
  ASSERT_EQ(places.size(), 4u);
  EXPECT_EQ(BorderOf("b"), places[2]);
  EXPECT_EQ(BorderOf("a"), 0u);
  EXPECT_EQ(BorderOf("c"), 0u) << "a delete is none";
  EXPECT_EQ(BorderOf("d"), 0u);
}

TEST_F(BordersTest, ABorderThatWasLeftBehindGoesWithTheNextMergeOfItsKey) {
  parts_.Put("a", "1");
  parts_.Put("c", "2");
  parts_.Link(Parts::kTarget);
  Bring({"a", "b"});
  const uint64_t border = BorderOf("a");
  parts_.Put("c", "3");
  parts_.Link(Parts::kSource);
  parts_.Run();
  EXPECT_EQ(parts_.Merged(), (Strings{"a@1=1", "a@0-", "b@0-", "c@3=3"})) << "not its key";
  parts_.Put("a", "4");
  parts_.Link(Parts::kSource);
  const MergeResult merged = parts_.Run();
  EXPECT_EQ(parts_.Merged(), (Strings{"a@4=4", "b@0-", "c@3=3"}));
  EXPECT_TRUE(parts_.IsObsolete(border));
  EXPECT_EQ(merged.progress.entries_delta, -1);
  parts_.Delete("b");
  parts_.Link(Parts::kSource);
  parts_.Run();
  EXPECT_EQ(parts_.Merged(), (Strings{"a@4=4", "c@3=3"}));
  parts_.ExpectSoundTowers(Parts::kTarget);
}

TEST_F(BordersTest, ABorderGoesWhateverViewsThereAre) {
  parts_.Put("a", "1");
  parts_.Link(Parts::kTarget);
  Bring({"a"});
  parts_.Put("a", "2");
  parts_.Link(Parts::kSource);
  parts_.views = {0, 1};
  MergeInput input = parts_.Begin();
  input.is_bottom = false;
  parts_.Run(input);
  EXPECT_EQ(parts_.Merged(), (Strings{"a@2=2", "a@1=1"})) << "although deletes stay";
}

TEST_F(BordersTest, AMergeWithinBordersLeavesThemAlone) {
  parts_.Put("a", "1");
  parts_.Put("b", "2");
  parts_.Put("c", "3");
  parts_.Link(Parts::kTarget);
  Bring({"a", "b"});
  const uint64_t left = BorderOf("a");
  const uint64_t right = BorderOf("b");
  const std::string beyond(parts_.pool->At(right), parts_.Entry(right)->size());
  parts_.Put("aa", "4");
  parts_.Put("b", "5");
  parts_.Link(Parts::kSource);
  MergeInput input = parts_.Begin();
  input.within_borders = true;
  input.left_border = left;
  parts_.Run(input);
  EXPECT_EQ(parts_.Merged(), (Strings{"a@1=1", "a@0-", "aa@4=4", "b@5=5", "b@0-", "c@3=3"}));
  EXPECT_EQ(std::string(parts_.pool->At(right), beyond.size()), beyond)
      << "the merge on the right owns its links";
  parts_.ExpectSoundTowers(Parts::kTarget);
}

TEST_F(BordersTest, NoLinkFromTheLeftOfABorderLeadsBeyondIt) {
  for (int i = 0; i < 300; ++i) parts_.Put("k" + std::to_string(1000 + i), "value");
  parts_.Link(Parts::kTarget);
  Bring({"k1150"});
  const uint64_t border = BorderOf("k1150");
  ASSERT_NE(border, 0u);
  const std::vector<uint64_t> places = parts_.Places(Parts::kTarget);
  std::vector<bool> is_left(parts_.pool->pool_bytes() / 8);
  for (const uint64_t place : places) {
    is_left[place / 8] = true;
    if (place == border) break;
  }
  for (const uint64_t place : places) {
    if (place == border) break;
    const format::EntryHeader* entry = parts_.Entry(place);
    for (uint32_t layer = 0; layer < entry->height(); ++layer) {
      EXPECT_TRUE(is_left[format::EntryPtr{entry->links()[layer]}.offset() / 8]) << layer;
    }
  }
}

}  // namespace
}  // namespace braid::merge
