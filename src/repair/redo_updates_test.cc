// Updates of interrupted merges: which records count.
#include "repair/redo_updates.h"

#include <gtest/gtest.h>

#include "support/pool_of_bytes.h"

namespace braid::repair {
namespace {

using format::RedoUpdate;
using test::PoolOfBytes;

class RedoUpdatesTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kMerge = 7;
  static constexpr uint64_t kOther = 8;
  static constexpr uint64_t kTable = 20;  // which kMerge merges

  static RedoUpdate Mark(uint64_t entry) { return {entry | format::kRedoMarkObsolete, 0}; }
  static RedoUpdate Link(uint64_t value) { return {0x5000, value}; }

  format::RedoHeader* Record(uint64_t merge, uint64_t batch, std::vector<RedoUpdate> updates) {
    const uint64_t place = PoolOfBytes::OffsetOf(PoolOfBytes::kFirstChunk + places_.size());
    places_.push_back(place);
    auto* header = bytes_.As<format::RedoHeader>(place);
    header->magic = format::kRedoMagic;
    header->merge_id = merge;
    header->batch = batch;
    header->count = static_cast<uint32_t>(updates.size());
    const uint64_t body = updates.size() * sizeof(RedoUpdate);
    std::memcpy(bytes_.As<char>(place + sizeof *header), updates.data(), body);
    header->check = base::Mix(format::StructCheck(*header, place),
                              base::Hash64(bytes_.As<char>(place + sizeof *header), body));
    return header;
  }
  /// With kMerge open, and kOther.
  RedoUpdates Read(bool believes_marks = true) {
    const std::unique_ptr<DamagedPool> pool = bytes_.Open();
    manifest_.merges[0].id = kMerge;
    manifest_.merges[0].source_id = kTable;
    manifest_.merges[2].id = kOther;
    return {pool->image(), pool->chunk_bytes(), manifest_, places_, believes_marks};
  }

  PoolOfBytes bytes_;
  format::ManifestState manifest_{};
  std::vector<uint64_t> places_;
};

TEST_F(RedoUpdatesTest, TheNewestRecordOfEachOpenMergeCounts) {
  Record(kMerge, 2, {Mark(0x100), Link(2)});
  Record(kMerge, 3, {Mark(0x200), Link(3)});
  Record(kMerge, 1, {Mark(0x300), Link(1)});
  Record(kOther, 1, {Link(4)});
  Record(9, 5, {Mark(0x400), Link(5)});  // of a merge that has ended
  Record(0, 5, {Link(6)});
  const RedoUpdates redo = Read();
  EXPECT_EQ(redo.links(), (std::vector<uint64_t>{3, 4}));
  EXPECT_TRUE(redo.MarksObsolete(0x200));
  for (const uint64_t entry : {0x100, 0x300, 0x400}) EXPECT_FALSE(redo.MarksObsolete(entry));
}

TEST_F(RedoUpdatesTest, ADamagedRecordDoesNotHideAnIntactOne) {
  Record(kMerge, 1, {Link(1)});
  Record(kMerge, 2, {Link(2)})->boundary ^= 1;
  Record(kMerge, 3, {Link(3)})->count = 1u << 31;
  format::RedoHeader* torn = Record(kMerge, 4, {Link(4)});
  reinterpret_cast<RedoUpdate*>(torn + 1)->value = 5;
  EXPECT_EQ(Read().links(), std::vector<uint64_t>{1});
}

TEST_F(RedoUpdatesTest, WithoutThePageCacheMarksAreNotBelieved) {
  Record(kMerge, 1, {Mark(0x100), Link(1)});
  const RedoUpdates redo = Read(false);
  EXPECT_FALSE(redo.MarksObsolete(0x100));
  EXPECT_EQ(redo.links(), std::vector<uint64_t>{1});
}

// The copy may be damaged; the original is there until its own mark says otherwise.
TEST_F(RedoUpdatesTest, AMergeOfCopiesTakesNoOriginalAway) {
  Record(kMerge, 1, {Mark(0x100), Link(1)});
  format::TableRecord table{};
  table.id = kTable;
  manifest_.tables.push_back(table);
  EXPECT_TRUE(Read().MarksObsolete(0x100));
  manifest_.tables.back().flags = format::kTableOfCopies;
  const RedoUpdates redo = Read();
  EXPECT_FALSE(redo.MarksObsolete(0x100));
  EXPECT_EQ(redo.links(), std::vector<uint64_t>{1});
}

}  // namespace
}  // namespace braid::repair
