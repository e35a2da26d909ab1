#include "read/reader.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/epoch.h"
#include "support/environment.h"
#include "support/store_parts.h"

namespace braid::read {
namespace {

using LookupState = index::LookupResult::State;

/// A table whose keys and values lie in DRAM.
class TableElsewhere final : public level::Table {
 public:
  struct Record {
    format::EntryHeader header;
    std::string key;
    std::string sized;  // its length, and the value

    std::string_view value() const { return std::string_view(sized).substr(sizeof(uint32_t)); }
  };

  explicit TableElsewhere(uint64_t id) : Table(id) {}

  void Add(std::string_view key, uint64_t sequence, format::EntryOp op, std::string_view value) {
    const auto bytes = static_cast<uint32_t>(value.size());
    Record record{{}, std::string(key), std::string(sizeof bytes, '\0').append(value)};
    std::memcpy(record.sized.data(), &bytes, sizeof bytes);
    record.header.sequence_and_op = sequence << 8 | static_cast<uint64_t>(op);
    record.header.key_and_height = format::EntryHeader::PackKeyAndHeight(1, 1);
    records_.emplace(key, std::move(record));
  }

  index::LookupResult Get(const index::LookupKey& key,
                          const index::ReadView& view) const noexcept override {
    const auto at = records_.find(key.key);
    if (at == records_.end() || !view.Sees(at->second.header)) return {};
    const bool deleted = at->second.header.op() == format::EntryOp::kDelete;
    return {deleted ? LookupState::kDeleted : LookupState::kFound,
            at->second.header.sequence() & format::kMaxSequence,
            index::ValueRef::At(at->second.sized.data())};
  }
  void GetMany(const index::LookupKey* keys, size_t n, const index::ReadView& view,
               index::LookupResult* out) const noexcept override {
    for (size_t i = 0; i < n; ++i) out[i] = Get(keys[i], view);
  }
  std::unique_ptr<index::Cursor> NewCursor(const index::ReadView&) const override;
  uint64_t entries() const noexcept override { return records_.size(); }
  uint64_t max_sequence() const noexcept override { return 0; }
  uint64_t index_bytes() const noexcept override { return 0; }
  level::PmemTable* AsList() noexcept override { return nullptr; }

 private:
  class Walk;
  std::map<std::string, Record, std::less<>> records_;
};

class TableElsewhere::Walk final : public index::Cursor {
 public:
  explicit Walk(const TableElsewhere& table) : records_(table.records_) {}
  bool Valid() const override { return at_ != records_.end(); }
  void SeekToFirst() override { Place(records_.begin()); }
  void SeekToLast() override {
    Place(records_.empty() ? records_.end() : std::prev(records_.end()));
  }
  void SeekGE(std::string_view key) override { Place(records_.lower_bound(key)); }
  void SeekLE(std::string_view key) override { Back(records_.upper_bound(key)); }
  void Next() override { Place(std::next(at_)); }
  void Prev() override { Back(at_); }
  const index::CursorItem& item() const override { return item_; }
  Status status() const override { return Status::OK(); }

 private:
  using At = std::map<std::string, Record, std::less<>>::const_iterator;
  void Back(At behind) { Place(behind == records_.begin() ? records_.end() : std::prev(behind)); }
  void Place(At at) {
    at_ = at;
    if (Valid()) item_ = {&at->second.header, at->second.key, at->second.value()};
  }

  const std::map<std::string, Record, std::less<>>& records_;
  At at_ = records_.end();
  index::CursorItem item_{};
};

std::unique_ptr<index::Cursor> TableElsewhere::NewCursor(const index::ReadView&) const {
  return std::make_unique<Walk>(*this);
}

/// Versions of a few keys in every kind of table.
class ReaderTest : public ::testing::Test {
 protected:
  ReaderTest() {
    for (const std::string_view key : {"a", "b", "c", "d"}) parts_.Put(key, "in L1");
    parts_.Flush();
    parts_.Merge();
    parts_.Put("b", "in L0");
    parts_.Delete("c");
    parts_.Flush();
    parts_.Put("e", "sealed");
    parts_.SwitchMemTable();
    parts_.Put("a", "active");
  }

  test::StoreParts parts_;
};

TEST_F(ReaderTest, TheNewestTableThatKnowsTheKeyAnswers) {
  EXPECT_EQ(parts_.Get("a"), "active");
  EXPECT_EQ(parts_.Get("b"), "in L0");
  EXPECT_EQ(parts_.Get("c"), "-");
  EXPECT_EQ(parts_.Get("d"), "in L1");
  EXPECT_EQ(parts_.Get("e"), "sealed");
  EXPECT_EQ(parts_.Get("f"), "-");
}

TEST_F(ReaderTest, ManyKeysAreFoundAsOneIs) {
  const std::array<Slice, 7> keys = {"f", "e", "d", "c", "b", "a", "a"};
  std::array<std::string, 7> values;
  std::array<Status, 7> statuses;
  parts_.reader.MultiGet({}, keys, values.data(), statuses.data());
  for (size_t i = 0; i < keys.size(); ++i) {
    const std::string found = statuses[i].ok() ? values[i] : "-";
    EXPECT_EQ(found, parts_.Get(keys[i])) << keys[i];
    EXPECT_TRUE(statuses[i].ok() || statuses[i].IsNotFound()) << statuses[i].ToString();
  }
}

TEST_F(ReaderTest, ADeleteIsAnAnswerToWhoAsksForVersions) {
  const base::EpochGuard guard;
  Status status;
  const index::ReadView now = parts_.reader.ViewOfNow();
  EXPECT_EQ(parts_.reader.LookupEntry("c", now, &status, nullptr).state, LookupState::kDeleted);
  EXPECT_EQ(parts_.reader.LookupEntry("f", now, &status, nullptr).state, LookupState::kAbsent);
  EXPECT_TRUE(status.ok());
}

TEST_F(ReaderTest, ATableMayHaveItsDataElsewhere) {
  const std::string large(10'000, 'x');
  {
    const level::VersionSet::Locked versions = parts_.versions.Lock();
    auto elsewhere = std::make_shared<TableElsewhere>(versions.NewTableId());
    const uint64_t now = parts_.sequence.load();
    elsewhere->Add("a", now, format::EntryOp::kPut, "hidden by the active memtable");
    elsewhere->Add("b", now, format::EntryOp::kDelete, "");
    elsewhere->Add("d", now, format::EntryOp::kPut, large);
    elsewhere->Add("g", now, format::EntryOp::kPut, "elsewhere");
    level::NextState next = versions.Next();
    next.AddNewest(elsewhere);
    versions.Show(std::move(next));
  }
  EXPECT_EQ(parts_.Get("a"), "active");
  EXPECT_EQ(parts_.Get("b"), "-");
  EXPECT_EQ(parts_.Get("d"), large);
  EXPECT_EQ(parts_.Get("g"), "elsewhere");

  const std::array<Slice, 3> keys = {"b", "d", "g"};
  std::array<std::string, 3> values;
  std::array<Status, 3> statuses;
  parts_.reader.MultiGet({}, keys, values.data(), statuses.data());
  EXPECT_TRUE(statuses[0].IsNotFound());
  EXPECT_EQ(values[1], large);
  EXPECT_EQ(values[2], "elsewhere");

  PinnedValue pinned;
  ASSERT_TRUE(parts_.reader
                  .GetPinned({}, "d", &pinned,
                             []() -> Reader::Owner {
                               ADD_FAILURE() << "what a read section keeps can't be lent";
                               return nullptr;
                             })
                  .ok());
  EXPECT_EQ(pinned.data(), large);

  const base::EpochGuard guard;
  level::MergingIterator merged = parts_.reader.MergeOf(parts_.state(), parts_.reader.ViewOfNow());
  std::string all;
  for (merged.SeekToFirst(); merged.Valid(); merged.Next()) {
    std::string_view value;
    ASSERT_TRUE(parts_.reader.ValueOf(merged.item(), &value).ok());
    all += std::string(merged.key()) + (value == large ? "large" : std::string(value)) + " ";
  }
  EXPECT_EQ(all, "aactive dlarge esealed gelsewhere ");
}

TEST_F(ReaderTest, AllTablesTogetherAreInOrder) {
  const base::EpochGuard guard;
  level::MergingIterator merged = parts_.reader.MergeOf(parts_.state(), parts_.reader.ViewOfNow());
  std::string forwards;
  for (merged.SeekToFirst(); merged.Valid(); merged.Next()) forwards += merged.key();
  EXPECT_EQ(forwards, "abde");
  std::string backwards;
  for (merged.SeekToLast(); merged.Valid(); merged.Prev()) backwards += merged.key();
  EXPECT_EQ(backwards, "edba");
  merged.SeekGE("c");
  ASSERT_TRUE(merged.Valid());
  EXPECT_EQ(merged.key(), "d");
  merged.SeekLE("c");
  ASSERT_TRUE(merged.Valid());
  EXPECT_EQ(merged.key(), "b");
  EXPECT_TRUE(merged.status().ok());
}

/// A cursor has read entries of a log; then flushes copy them, and merges drop the copies and what
/// hid them. The log has no marks of that.
void ScanOverFlushesAndMerges(int stop) {
  constexpr int kKeys = 200;
  test::StoreParts parts([](Options* options) { options->log.kind = LogKind::kWriteAhead; });
  const auto live = [](int i) { return "key" + std::to_string(1001 + 2 * i); };
  const auto deleted = [](int i) { return "key" + std::to_string(1000 + 2 * i); };
  for (int i = 0; i < kKeys; ++i) parts.Put(deleted(i), "old");
  parts.SwitchMemTable();
  for (int i = 0; i < kKeys; ++i) parts.Delete(deleted(i));
  for (int i = 0; i < kKeys; ++i) parts.Put(live(i), "live");
  Result<Reader::Shown> shown = parts.reader.ShowNewest(nullptr);
  ASSERT_TRUE(shown.ok());
  level::MergingIterator& merged = shown->merged;
  merged.SeekToFirst();
  for (int i = 0; i < stop; ++i) merged.Next();
  // Newer than what the iterator sees: its deletes are the last of their keys in L1, and go.
  for (int i = 0; i < kKeys; ++i) parts.Put(deleted(i), "new");
  parts.Flush();
  parts.Merge();
  parts.Merge();
  for (int i = stop; i < kKeys; ++i, merged.Next()) {
    ASSERT_TRUE(merged.Valid());
    ASSERT_EQ(merged.key(), live(i));
    for (const index::CursorItem& item : merged.FromHere()) {
      if (item.entry->state() == format::kStateObsolete) break;  // looked up again
      const std::string key(item.key);
      ASSERT_EQ((key.back() - '0') % 2, 1) << key;
    }
  }
  EXPECT_FALSE(merged.Valid());
  EXPECT_TRUE(merged.status().ok());
  EXPECT_EQ(parts.Get(deleted(0)), "new");
}

TEST(CopiedEntriesTest, WhatWasReadBeforeAFlushIsNotTakenForLiveBehindMerges) {
  // Wherever leaves of the memtables' trees begin.
  constexpr int kStep = test::kSanitizer ? 7 : 1;
  for (int stop = 0; stop < 200 && !::testing::Test::HasFatalFailure(); stop += kStep) {
    SCOPED_TRACE(stop);
    ScanOverFlushesAndMerges(stop);
  }
}

// A delete that only a view sees lies behind a newer version in its table. A merge that drops it
// together with what it hides unlinks both before the tree over L1 forgets the latter.
TEST(LookupTest, AViewIsNotShownWhatABatchThatIsBeingMadeHasMarked) {
  test::StoreParts parts;
  parts.Put("key", "old");
  parts.Flush();
  parts.Merge();
  parts.Delete("key");
  const level::ViewRegistry::Handle handle = parts.views->Register(parts.sequence, nullptr);
  parts.Put("key", "new");
  parts.Flush();
  const index::LookupKey lookup{"key", base::Hash64(std::string_view("key"))};
  const auto entry_of = [&](const auto& table) {
    return parts.pool->As<format::EntryHeader>(table.Get(lookup, index::ReadView{}).value.offset());
  };
  format::EntryHeader* old = entry_of(parts.state().version->bottom());
  format::EntryHeader* newest = entry_of(*parts.state().version->l0().front());
  const auto* hidden = parts.pool->EntryAt(format::EntryPtr{newest->links()[0]}.offset());
  ASSERT_EQ(hidden->op(), format::EntryOp::kDelete);
  index::MergeEpoch& epoch = parts.versions.merge_epoch();
  epoch.Begin(false);
  parts.pool->ops().StoreByte(old->state_byte(), format::kStateObsolete);
  parts.pool->ops().StoreU64(newest->links(), hidden->links()[0]);
  index::ReadView view;
  view.sequence = handle.sequence();
  Status status;
  {
    const base::EpochGuard guard;
    EXPECT_EQ(parts.reader.LookupEntry("key", view, &status, nullptr).state,
              index::LookupResult::State::kDeleted);
  }
  epoch.End();
  BRAID_EXPECT_OK(status);
}

TEST(CopiedEntriesTest, WhatWasReadBeforeAFlushNeedsNoLookUpUntilItIsMerged) {
  constexpr int kKeys = 200;
  test::StoreParts parts([](Options* options) { options->log.kind = LogKind::kWriteAhead; });
  const auto key = [](int i) { return "key" + std::to_string(1000 + i); };
  for (int i = 0; i < kKeys; ++i) parts.Put(key(i), "old");
  parts.SwitchMemTable();
  for (int i = 0; i < kKeys; i += 2) parts.Put(key(i), "new");
  Result<Reader::Shown> shown = parts.reader.ShowNewest(nullptr);
  ASSERT_TRUE(shown.ok());
  level::MergingIterator& merged = shown->merged;
  merged.SeekToFirst();
  EXPECT_EQ(parts.FlushOldest().state, flush::Flusher::Outcome::State::kFlushed);
  size_t ahead = 0;
  for (int i = 0; i < kKeys; ++i, merged.Next()) {
    ASSERT_TRUE(merged.Valid());
    ASSERT_EQ(merged.key(), key(i));
    EXPECT_FALSE(merged.looked_up().has_value()) << key(i);
    EXPECT_EQ(merged.item().value, i % 2 == 0 ? "new" : "old");
    ahead = std::max(ahead, merged.FromHere().size() - 1);
  }
  EXPECT_FALSE(merged.Valid());
  EXPECT_EQ(ahead, level::MergingIterator::kRun - 1) << "entries are given out in whole batches";
}

TEST(CopiedEntriesTest, ACollectionTakesNoTableFromL0) {
  test::StoreParts parts([](Options* options) { options->log.kind = LogKind::kWriteAhead; });
  const auto key = [](int i) { return "key" + std::to_string(10'000 + i); };
  for (const int step : {1, 2, 3}) {
    for (int i = 0; i < 4000; i += step) parts.Put(key(i), std::string(100, 'v'));
    parts.Flush();
    parts.Merge();
  }
  const uint64_t merged = parts.versions.merged_up_to();
  EXPECT_EQ(merged, parts.versions.Lock().merged_table_id());
  size_t collected = 0;
  while (parts.Worked(parts.collector.Step(parts.Asked()))) ++collected;
  EXPECT_GT(collected, 0u);
  // Its copies have an id above that of the memtable, whose entries need no look-up.
  EXPECT_EQ(parts.versions.merged_up_to(), merged);
}

TEST_F(ReaderTest, ASnapshotSeesWhatItSawWhateverMovesSince) {
  const std::shared_ptr<const Snapshot> snapshot = parts_.reader.GetSnapshot();
  ASSERT_NE(snapshot, nullptr);
  parts_.Delete("a");
  parts_.Put("c", "again");
  parts_.Flush();
  while (!parts_.state().version->l0().empty()) parts_.Merge();
  ReadOptions then;
  then.snapshot = snapshot.get();
  std::string value;
  ASSERT_TRUE(parts_.reader.Get(then, "a", &value).ok());
  EXPECT_EQ(value, "active");
  EXPECT_TRUE(parts_.reader.Get(then, "c", &value).IsNotFound());
  EXPECT_EQ(parts_.Get("a"), "-");
  EXPECT_EQ(parts_.Get("c"), "again");
}

TEST_F(ReaderTest, ASnapshotOfAnotherStoreIsRefused) {
  test::StoreParts other;
  const std::shared_ptr<const Snapshot> snapshot = other.reader.GetSnapshot();
  ReadOptions options;
  options.snapshot = snapshot.get();
  std::string value;
  EXPECT_TRUE(parts_.reader.Get(options, "a", &value).IsInvalidArgument());
  const std::array<Slice, 1> keys = {"a"};
  Status status;
  parts_.reader.MultiGet(options, keys, &value, &status);
  EXPECT_TRUE(status.IsInvalidArgument());
}

TEST_F(ReaderTest, AClosedStoreIsNotRead) {
  parts_.closed.store(true);
  std::string value;
  EXPECT_TRUE(parts_.reader.Get({}, "a", &value).IsClosed());
  const std::array<Slice, 2> keys = {"a", "b"};
  std::array<std::string, 2> values;
  std::array<Status, 2> statuses;
  parts_.reader.MultiGet({}, keys, values.data(), statuses.data());
  EXPECT_TRUE(statuses[0].IsClosed());
  EXPECT_TRUE(statuses[1].IsClosed());
}

TEST_F(ReaderTest, ADamagedValueIsNotReturned) {
  {
    const base::EpochGuard guard;
    Status status;
    const index::LookupResult found =
        parts_.reader.LookupEntry("d", parts_.reader.ViewOfNow(), &status, nullptr);
    ASSERT_EQ(found.state, LookupState::kFound);
    const auto* entry = parts_.pool->As<format::EntryHeader>(found.value.offset());
    auto* at = reinterpret_cast<uint8_t*>(const_cast<char*>(entry->value().data()));
    parts_.pool->ops().StoreByte(at, static_cast<uint8_t>(*at ^ 1));
  }
  std::string value = "as it was";
  EXPECT_TRUE(parts_.reader.Get({}, "d", &value).IsCorruption());
  EXPECT_EQ(value, "as it was");
}

}  // namespace
}  // namespace braid::read
