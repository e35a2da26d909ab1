// Tests of the redo log: what is recorded, which record is believed, and what may be changed by
// one.
#include "merge/redo_log.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "support/log_entries.h"
#include "support/test_pool.h"

namespace braid::merge {
namespace {

using format::RedoUpdate;

class RedoLogTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kHeight = 4;

  RedoLogTest() {
    for (int i = 0; i < 8; ++i) {
      log::PendingEntry pending = test::PendingOf("key", "value");
      pending.wanted_height = kHeight;
      entries_.push_back(log_.Append({pending}).at(0));
    }
  }
  format::MergeRecord MergeOf(uint64_t id) {
    format::MergeRecord merge{};
    merge.id = id;
    merge.source_id = 10;
    merge.target_id = 1;
    for (uint32_t i = 0; i < 2; ++i) merge.redo_chunks[i] = pool_->first_redo_chunk(i);
    return merge;
  }
  uint64_t LinkAt(size_t entry, uint32_t layer) const {
    return entries_[entry] + sizeof(format::EntryHeader) + layer * sizeof(uint64_t);
  }
  uint64_t Word(uint64_t offset) { return *pool_->As<uint64_t>(offset); }
  uint64_t To(size_t entry) { return pool_->LinkTo(entries_[entry]).raw; }
  RedoUpdate Link(size_t from, uint32_t layer, size_t to) { return {LinkAt(from, layer), To(to)}; }
  RedoUpdate Mark(size_t entry) const { return {entries_[entry] | format::kRedoMarkObsolete, 0}; }
  bool IsObsolete(size_t entry) {
    return pool_->EntryAt(entries_[entry])->state() == format::kStateObsolete;
  }
  void Commit(const std::vector<RedoUpdate>& updates, uint64_t batch) {
    const Status s = redo_.Commit(updates, {batch, entries_[0], -3, 7 * batch});
    EXPECT_TRUE(s.ok()) << s.ToString();
  }
  /// The number of the batch that is believed.
  uint64_t Newest(std::vector<RedoUpdate>* updates) { return Newest(redo_, updates); }
  static uint64_t Newest(const RedoLog& redo, std::vector<RedoUpdate>* updates) {
    const Result<BatchProgress> newest = redo.Newest(updates);
    EXPECT_TRUE(newest.ok()) << newest.status().ToString();
    return newest.ok() ? newest->batch : ~uint64_t{0};
  }
  uint64_t Newest() {
    std::vector<RedoUpdate> updates;
    return Newest(&updates);
  }
  /// Where a batch of one of the parities is recorded.
  uint64_t PlaceOf(uint64_t batch) {
    for (uint32_t i = 0; i < 2; ++i) {
      const uint64_t place = pool_->ChunkOffset(pool_->first_redo_chunk(i));
      if (pool_->As<format::RedoHeader>(place)->batch == batch) return place;
    }
    ADD_FAILURE() << "batch " << batch << " is not recorded";
    return 0;
  }

  test::TestPool pool_;
  test::LogEntries log_{pool_.get(), 7};
  std::vector<uint64_t> entries_;
  RedoLog redo_{pool_.get(), MergeOf(5)};
};

bool SameUpdates(const std::vector<RedoUpdate>& a, const std::vector<RedoUpdate>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof a[0]) == 0;
}

TEST_F(RedoLogTest, ABatchIsMadeWhenItIsCommitted) {
  Commit({Link(0, 0, 3), Link(0, 2, 4), Mark(1)}, 1);
  EXPECT_EQ(Word(LinkAt(0, 0)), To(3));
  EXPECT_EQ(Word(LinkAt(0, 1)), 0u) << "nobody has named it";
  EXPECT_EQ(Word(LinkAt(0, 2)), To(4));
  EXPECT_TRUE(IsObsolete(1));
  EXPECT_FALSE(IsObsolete(0));
  EXPECT_TRUE(log::EntryVerifies(*pool_, entries_[1])) << "except for the mark it is as it was";
}

TEST_F(RedoLogTest, ABatchIsReadBackAsItWasCommitted) {
  const std::vector<RedoUpdate> updates{Link(0, 0, 3), Mark(1), Link(2, 3, 5)};
  ASSERT_TRUE(redo_.Commit(updates, {1, entries_[6], -3, 7}).ok());
  std::vector<RedoUpdate> read{Mark(7)};
  const Result<BatchProgress> newest = redo_.Newest(&read);
  ASSERT_TRUE(newest.ok()) << newest.status().ToString();
  EXPECT_EQ(newest->batch, 1u);
  EXPECT_EQ(newest->boundary, entries_[6]);
  EXPECT_EQ(newest->entries_delta, -3);
  EXPECT_EQ(newest->merged_entries, 7u);
  EXPECT_TRUE(newest->counted);
  EXPECT_TRUE(SameUpdates(read, updates));
}

TEST_F(RedoLogTest, BeforeTheFirstBatchThereIsNone) {
  std::vector<RedoUpdate> updates{Mark(7)};
  EXPECT_EQ(Newest(&updates), 0u);
  EXPECT_TRUE(updates.empty());
}

TEST_F(RedoLogTest, OfTwoRecordsTheNewerOneCounts) {
  for (uint64_t batch = 1; batch <= 5; ++batch) {
    const std::vector<RedoUpdate> updates{Link(batch, 0, batch + 1)};
    Commit(updates, batch);
    std::vector<RedoUpdate> read;
    EXPECT_EQ(Newest(&read), batch);
    EXPECT_TRUE(SameUpdates(read, updates)) << batch;
  }
}

TEST_F(RedoLogTest, ABatchLeavesTheRecordOfTheOneBeforeAlone) {
  Commit({Link(0, 0, 1)}, 1);
  Commit({Link(0, 0, 2)}, 2);
  Commit({Link(0, 0, 3)}, 3);
  *pool_->At(PlaceOf(3)) ^= 1;
  std::vector<RedoUpdate> read;
  EXPECT_EQ(Newest(&read), 2u);
  EXPECT_TRUE(SameUpdates(read, {Link(0, 0, 2)}));
}

TEST_F(RedoLogTest, ATornRecordIsNotBelieved) {
  Commit({Link(0, 0, 1)}, 1);
  Commit({Link(0, 0, 2), Mark(1), Link(3, 1, 4)}, 2);
  const uint64_t place = PlaceOf(2);
  const uint64_t bytes = sizeof(format::RedoHeader) + 3 * sizeof(RedoUpdate);
  for (uint64_t at = 0; at < bytes; at += sizeof(uint64_t)) {
    // A word that has not arrived: what was there before, or nothing.
    uint64_t* word = pool_->As<uint64_t>(place + at);
    const uint64_t written = *word;
    *word = ~written;
    EXPECT_EQ(Newest(), 1u) << at;
    *word = written;
  }
  EXPECT_EQ(Newest(), 2u);
}

TEST_F(RedoLogTest, WithoutAnIntactRecordThereIsNoBatch) {
  Commit({Link(0, 0, 1)}, 1);
  Commit({Link(0, 0, 2)}, 2);
  const uint64_t first = PlaceOf(1);
  const uint64_t second = PlaceOf(2);
  *pool_->At(first + sizeof(format::RedoHeader)) ^= 1;
  *pool_->At(second + sizeof(format::RedoHeader)) ^= 1;
  std::vector<RedoUpdate> updates{Mark(7)};
  EXPECT_EQ(Newest(&updates), 0u);
  EXPECT_TRUE(updates.empty());
}

TEST_F(RedoLogTest, WhatLiesBehindARecordDoesNotMatter) {
  Commit({Link(0, 0, 1), Link(0, 1, 2)}, 1);
  Commit({Link(0, 0, 2)}, 2);
  Commit({Link(0, 0, 3)}, 3);  // shorter than the one before in its place
  EXPECT_EQ(Newest(), 3u);
  *pool_->At(PlaceOf(3) + sizeof(format::RedoHeader) + sizeof(RedoUpdate)) ^= 1;
  EXPECT_EQ(Newest(), 3u);
}

TEST_F(RedoLogTest, ARecordOfAnotherMergeIsNotBelieved) {
  Commit({Link(0, 0, 1)}, 1);
  Commit({Link(0, 0, 2)}, 2);
  std::vector<RedoUpdate> updates;
  RedoLog next(pool_.get(), MergeOf(6));
  EXPECT_EQ(Newest(next, &updates), 0u);
  EXPECT_TRUE(updates.empty());
  // The first batch of the next merge, beside one of higher number of the last.
  ASSERT_TRUE(next.Commit({Link(0, 0, 5)}, {1, entries_[0], 0, 1}).ok());
  EXPECT_EQ(Newest(next, &updates), 1u);
  EXPECT_TRUE(SameUpdates(updates, {Link(0, 0, 5)}));
  EXPECT_EQ(Newest(), 2u);
}

TEST_F(RedoLogTest, ARecordInAnotherPlaceIsNotBelieved) {
  Commit({Link(0, 0, 1)}, 1);
  const uint64_t place = PlaceOf(1);
  for (uint32_t i = 0; i < 2; ++i) {
    const uint64_t other = pool_->ChunkOffset(pool_->first_redo_chunk(i));
    if (other != place) std::memcpy(pool_->At(other), pool_->At(place), pool_->chunk_bytes());
  }
  EXPECT_EQ(Newest(), 1u);
  std::memset(pool_->At(place), 0, pool_->chunk_bytes());
  EXPECT_EQ(Newest(), 0u);
}

TEST_F(RedoLogTest, MakingABatchAgainChangesNothing) {
  const std::vector<RedoUpdate> updates{Link(0, 0, 3), Link(0, 2, 4), Mark(1), Link(0, 0, 5)};
  Commit(updates, 1);
  const uint64_t chunk = pool_->ChunkOffset(pool_->ChunkOf(entries_[0]));
  const std::string once(pool_->At(chunk), pool_->chunk_bytes());
  for (int times = 0; times < 3; ++times) {
    std::vector<RedoUpdate> read;
    ASSERT_EQ(Newest(&read), 1u);
    ASSERT_TRUE(redo_.Apply(read).ok());
    EXPECT_EQ(std::string(pool_->At(chunk), pool_->chunk_bytes()), once);
  }
}

TEST_F(RedoLogTest, WhatWasMadeInPartIsMadeAsAWhole) {
  const uint64_t chunk = pool_->ChunkOffset(pool_->ChunkOf(entries_[0]));
  const std::string before(pool_->At(chunk), pool_->chunk_bytes());
  const std::vector<RedoUpdate> updates{Link(0, 0, 3), Link(4, 2, 4), Mark(1), Mark(6)};
  Commit(updates, 1);
  const std::string after(pool_->At(chunk), pool_->chunk_bytes());
  for (size_t made = 0; made <= updates.size(); ++made) {
    std::memcpy(pool_->At(chunk), before.data(), before.size());
    for (size_t i = 0; i < made; ++i) MakeUpdate(pool_.get(), updates[i]);
    std::vector<RedoUpdate> read;
    ASSERT_EQ(Newest(&read), 1u);
    ASSERT_TRUE(redo_.Apply(read).ok());
    EXPECT_EQ(std::string(pool_->At(chunk), pool_->chunk_bytes()), after) << made;
  }
}

TEST_F(RedoLogTest, OfTwoUpdatesOfOneLinkTheLaterCounts) {
  Commit({Link(0, 0, 3), Link(0, 0, 5)}, 1);
  EXPECT_EQ(Word(LinkAt(0, 0)), To(5));
}

TEST_F(RedoLogTest, LinksOfHeadsMayChange) {
  const uint64_t head = pool_->HeadOffset(3);
  Commit({{head + 8, To(2)}, {head, format::EntryPtr::End().raw}}, 1);
  EXPECT_EQ(Word(head + 8), To(2));
  EXPECT_EQ(Word(head), format::EntryPtr::End().raw);
}

TEST_F(RedoLogTest, WhatIsNoLinkAndNoEntryIsNotChanged) {
  const uint64_t log_chunk = pool_->ChunkOffset(pool_->ChunkOf(entries_[0]));
  const uint64_t chunk_end = log_chunk + pool_->chunk_bytes();
  const uint64_t mark = format::kRedoMarkObsolete;
  const RedoUpdate refused[] = {
      {LinkAt(0, 0) + 4, To(1)},          // not aligned
      {log_chunk, To(1)},                 // a chunk's header
      {log_chunk + 56, To(1)},            //
      {pool_->ChunkOffset(0), To(1)},     // the pool's
      {pool_->HeadOffset(0) - 8, To(1)},  // the manifest
      {pool_->ChunkOffset(pool_->first_redo_chunk(0)) + 128, To(1)},
      {pool_->ChunkOffset(pool_->chunks() - 1) + 128, To(1)},  // free
      {pool_->ChunkOffset(pool_->chunks()) + 128, To(1)},      // outside
      {LinkAt(0, 0), To(1) ^ 8},                               // to what is no link
      {LinkAt(0, 0), 0},
      {pool_->HeadOffset(3) | mark, 0},  // a head has no state
      {(log_chunk + 8) | mark, 0},
      {(entries_[0] + 4) | mark, 0},
      {(chunk_end - 16) | mark, 0},  // no header has room there
  };
  for (const RedoUpdate& update : refused) {
    const Status s = redo_.Commit({Link(0, 1, 3), update}, {1, entries_[0], 0, 1});
    EXPECT_TRUE(s.IsCorruption()) << std::hex << update.target << " " << update.value;
    EXPECT_TRUE(redo_.Apply({Link(0, 1, 3), update}).IsCorruption());
    EXPECT_EQ(Word(LinkAt(0, 1)), 0u) << "nothing else was done either";
    EXPECT_EQ(Newest(), 0u) << "and nothing recorded";
  }
  EXPECT_TRUE(redo_.Apply({{chunk_end - 8, To(1)}}).ok()) << "the last word is room of entries";
}

TEST_F(RedoLogTest, ABatchMayFillItsChunkAndNoMore) {
  std::vector<RedoUpdate> updates(redo_.capacity(), Link(0, 0, 1));
  EXPECT_EQ(sizeof(format::RedoHeader) + updates.size() * sizeof(RedoUpdate), pool_->chunk_bytes());
  updates.back() = Link(0, 0, 2);
  Commit(updates, 1);
  EXPECT_EQ(Word(LinkAt(0, 0)), To(2));
  std::vector<RedoUpdate> read;
  EXPECT_EQ(Newest(&read), 1u);
  EXPECT_TRUE(SameUpdates(read, updates));
  updates.push_back(Link(0, 0, 3));
  EXPECT_TRUE(redo_.Commit(updates, {2, entries_[0], 0, 1}).IsCorruption());
  EXPECT_EQ(Word(LinkAt(0, 0)), To(2));
  EXPECT_EQ(Newest(), 1u);
}

TEST_F(RedoLogTest, CountsThatNoPoolCanHaveAreDamage) {
  const auto most = static_cast<int64_t>(pool_->pool_bytes());
  std::vector<RedoUpdate> updates;
  uint64_t batch = 0;
  const auto read = [&](int64_t delta, uint64_t merged) {
    EXPECT_TRUE(redo_.Commit({Mark(0)}, {++batch, entries_[0], delta, merged}).ok());
    return redo_.Newest(&updates).status();
  };
  EXPECT_TRUE(read(most, static_cast<uint64_t>(most)).ok());
  EXPECT_TRUE(read(-most, 0).ok());
  EXPECT_TRUE(read(most + 1, 0).IsCorruption());
  batch += 1;
  EXPECT_TRUE(read(-most - 1, 0).IsCorruption());
  batch += 1;
  EXPECT_TRUE(read(0, static_cast<uint64_t>(most) + 1).IsCorruption());
}

TEST_F(RedoLogTest, ANumberBehindWhichThereIsNoneIsDamage) {
  ASSERT_TRUE(redo_.Commit({Mark(0)}, {format::kMaxId - 1, entries_[0], 0, 0}).ok());
  EXPECT_EQ(Newest(), format::kMaxId - 1);
  ASSERT_TRUE(redo_.Commit({Mark(0)}, {format::kMaxId, entries_[0], 0, 0}).ok());
  std::vector<RedoUpdate> updates;
  EXPECT_TRUE(redo_.Newest(&updates).status().IsCorruption());
}

TEST_F(RedoLogTest, ABatchTakesTwoFences) {
  const uint64_t fences = pool_->ops().fences();
  std::vector<RedoUpdate> updates;
  for (size_t i = 0; i + 1 < entries_.size(); ++i) updates.push_back(Link(i, 0, i + 1));
  Commit(updates, 1);
  EXPECT_EQ(pool_->ops().fences() - fences, 2u) << "that of the record, that of the updates";
}

}  // namespace
}  // namespace braid::merge
