#include "level/merging_iterator.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"

namespace braid::level {
namespace {

using format::EntryHeader;
using format::EntryOp;

/// An entry in DRAM, as one of a table.
class FakeEntry {
 public:
  FakeEntry(const std::string& key, uint64_t sequence, EntryOp op, const std::string& value)
      : words_(EntryHeader::EntryBytes(key.size(), value.size(), 1) / sizeof(uint64_t) + 1) {
    auto* header = reinterpret_cast<EntryHeader*>(words_.data());
    header->sequence_and_op = sequence << 8 | format::kFirstOfUnit | static_cast<uint64_t>(op);
    header->value_bytes = static_cast<uint32_t>(value.size());
    header->key_and_height = EntryHeader::PackKeyAndHeight(static_cast<uint32_t>(key.size()), 1);
    auto* at = reinterpret_cast<char*>(header->links() + 1);
    std::memcpy(at, key.data(), key.size());
    std::memcpy(at + key.size(), value.data(), value.size());
  }
  index::CursorItem item() const {
    const auto* header = reinterpret_cast<const EntryHeader*>(words_.data());
    return {header, header->key(), header->value()};
  }
  void MarkObsolete() {
    *reinterpret_cast<EntryHeader*>(words_.data())->state_byte() = format::kStateObsolete;
  }

 private:
  std::vector<uint64_t> words_;
};

using FakeTable = std::map<std::string, FakeEntry>;

/// Over a table; damaged behind the key `damage`, if that is not empty.
class FakeCursor final : public index::Cursor {
 public:
  FakeCursor(const FakeTable* table, std::string damage)
      : table_(table), damage_(std::move(damage)), at_(table->end()) {}

  bool Valid() const override { return at_ != table_->end(); }
  void SeekToFirst() override { Land(table_->begin()); }
  void SeekToLast() override { Land(table_->empty() ? table_->end() : std::prev(table_->end())); }
  void SeekGE(std::string_view key) override { Land(table_->lower_bound(std::string(key))); }
  void SeekLE(std::string_view key) override {
    const auto behind = table_->upper_bound(std::string(key));
    Land(behind == table_->begin() ? table_->end() : std::prev(behind));
  }
  void Next() override { Land(std::next(at_)); }
  void Prev() override { Land(at_ == table_->begin() ? table_->end() : std::prev(at_)); }
  const index::CursorItem& item() const override { return item_; }
  Status status() const override { return status_; }

 private:
  void Land(FakeTable::const_iterator at) {
    at_ = at;
    status_ = Status::OK();
    if (at_ == table_->end()) return;
    if (!damage_.empty() && at_->first > damage_) {
      at_ = table_->end();
      status_ = Status::Corruption("here");
      return;
    }
    item_ = at_->second.item();
  }

  const FakeTable* table_;
  const std::string damage_;
  FakeTable::const_iterator at_;
  index::CursorItem item_{};
  Status status_;
};

class MergingIteratorTest : public ::testing::Test {
 protected:
  void Put(size_t table, const std::string& key, const std::string& value) {
    Add(table, key, EntryOp::kPut, value);
    model_[key] = value;
  }
  void Delete(size_t table, const std::string& key) {
    Add(table, key, EntryOp::kDelete, "");
    model_.erase(key);
  }
  MergingIterator New(const std::string& damage = "") {
    std::vector<std::unique_ptr<index::Cursor>> cursors;
    for (const FakeTable& table : tables_) {
      cursors.push_back(std::make_unique<FakeCursor>(&table, cursors.empty() ? damage : ""));
    }
    return {std::move(cursors), [this](std::string_view key, Status*) {
              ++lookups_;
              const auto found = current_.find(std::string(key));
              return found == current_.end() ? std::nullopt : std::optional(found->second);
            }};
  }

  std::vector<FakeTable> tables_{6};
  std::map<std::string, std::string> model_;
  std::map<std::string, index::ValueRef> current_;  // what a lookup finds
  int lookups_ = 0;

 private:
  void Add(size_t table, const std::string& key, EntryOp op, const std::string& value) {
    tables_[table].erase(key);
    tables_[table].emplace(key, FakeEntry(key, ++sequence_, op, value));
  }

  uint64_t sequence_ = 0;
};

TEST_F(MergingIteratorTest, AnyMovesAgreeWithAMap) {
  Random random(5);
  for (size_t round = 0; round < 40; ++round) {
    tables_.assign(1 + round % 6, {});
    model_.clear();
    const uint64_t keys = 1 + random.Uniform(300);
    const auto key_of = [&](uint64_t i) {
      // Behind a beginning that all share, longer than what is compared first.
      return (round % 2 == 0 ? "" : "a common beginning ") + std::to_string(i);
    };
    // Oldest table first, as writes come.
    for (size_t table = tables_.size(); table-- > 0;) {
      for (uint64_t n = random.Uniform(2 * keys); n > 0; --n) {
        const std::string key = key_of(random.Uniform(keys));
        random.OneIn(4) ? Delete(table, key) : Put(table, key, std::to_string(n));
      }
    }
    MergingIterator it = New();
    auto at = model_.end();
    const auto check = [&] {
      ASSERT_EQ(it.Valid(), at != model_.end());
      if (!it.Valid()) return;
      ASSERT_EQ(it.key(), at->first);
      ASSERT_EQ(it.item().value, at->second);
    };
    for (int move = 0; move < 400; ++move) {
      const std::string key = key_of(random.Uniform(keys));
      switch (at == model_.end() ? random.Uniform(4) : random.Uniform(40)) {
        case 0:
          it.SeekToFirst();
          at = model_.begin();
          break;
        case 1:
          it.SeekToLast();
          at = model_.empty() ? model_.end() : std::prev(model_.end());
          break;
        case 2:
          it.SeekGE(key);
          at = model_.lower_bound(key);
          break;
        case 3:
          it.SeekLE(key);
          at = model_.upper_bound(key);
          at = at == model_.begin() ? model_.end() : std::prev(at);
          break;
        case 4:
        case 5:
          it.Prev();
          at = at == model_.begin() ? model_.end() : std::prev(at);
          break;
        case 6: {
          const size_t ahead = it.FromHere().size() - 1;
          const size_t skipped = random.Uniform(ahead + 1);
          it.SkipAhead(skipped);
          std::advance(at, skipped);  // forwards or backwards is seen by the next check
          if (skipped != 0 && it.key() != at->first) {
            std::advance(at, -2 * static_cast<std::ptrdiff_t>(skipped));
          }
          break;
        }
        default:
          it.Next();
          ++at;
      }
      check();
      if (HasFatalFailure()) FAIL() << "round " << round << " move " << move;
    }
  }
}

TEST_F(MergingIteratorTest, BoundsEndAMove) {
  for (int i = 0; i < 100; ++i) Put(static_cast<size_t>(i) % 6, std::to_string(100 + i), "v");
  for (int i = 40; i < 60; ++i) Delete(0, std::to_string(100 + i));
  MergingIterator it = New();
  it.SetBounds("120", "150");
  int count = 0;
  for (it.SeekGE("120"); it.Valid(); it.Next()) ++count;
  EXPECT_EQ(count, 20);
  EXPECT_EQ(it.TakePassed(), 10u) << "those behind the bound cost nothing";
  count = 0;
  for (it.SeekLE("139"); it.Valid(); it.Prev()) ++count;
  EXPECT_EQ(count, 20);
}

TEST_F(MergingIteratorTest, BoundsEndAMoveOverOneTableToo) {
  tables_.resize(1);
  for (int i = 100; i < 200; ++i)
    i < 140 || i >= 160 ? Put(0, std::to_string(i), "v") : Delete(0, std::to_string(i));
  MergingIterator it = New();
  it.SetBounds("120", "150");
  std::string keys;
  for (it.SeekGE("120"); it.Valid(); it.Next()) keys += it.key();
  EXPECT_EQ(keys.size(), 20u * 3);
  EXPECT_EQ(it.TakePassed(), 10u) << "those behind the bound cost nothing";
  for (it.SeekLE("139"); it.Valid(); it.Prev()) keys += it.key();
  EXPECT_EQ(keys.size(), 40u * 3);
  EXPECT_TRUE(it.status().ok());
}

TEST_F(MergingIteratorTest, StretchesOfOneTableEndAtWhatOthersHave) {
  tables_.resize(3);
  for (int i = 1000; i < 1600; ++i) {
    i % 10 == 3 ? Delete(2, std::to_string(i)) : Put(2, std::to_string(i), "oldest");
  }
  for (int i = 1000; i < 1600; i += 41) Put(1, std::to_string(i), "overwritten");
  for (int i = 1007; i < 1600; i += 37) Delete(0, std::to_string(i));
  MergingIterator it = New();
  it.SetBounds("1017", "1583");
  const auto first = model_.lower_bound("1017");
  const auto end = model_.lower_bound("1583");
  auto at = first;
  for (it.SeekGE("1017"); it.Valid(); it.Next(), ++at) {
    ASSERT_NE(at, end);
    EXPECT_EQ(it.key(), at->first);
    EXPECT_EQ(it.item().value, at->second);
  }
  EXPECT_EQ(at, end);
  const auto deleted = static_cast<uint64_t>(1583 - 1017 - std::distance(first, end));
  EXPECT_EQ(it.TakePassed(), deleted) << "those behind the bound cost nothing";
  for (it.SeekLE("1582"); it.Valid(); it.Prev()) {
    ASSERT_NE(at, first);
    --at;
    EXPECT_EQ(it.key(), at->first);
    EXPECT_EQ(it.item().value, at->second);
  }
  EXPECT_EQ(at, first);
}

TEST_F(MergingIteratorTest, OneTableIsWalkedFarBehindDeletes) {
  tables_.resize(1);
  for (int i = 1000; i < 3000; ++i) Delete(0, std::to_string(i));
  Put(0, "0999", "before");
  Put(0, "3000", "behind");
  MergingIterator it = New();
  it.SeekToFirst();
  ASSERT_TRUE(it.Valid());
  it.Next();
  ASSERT_TRUE(it.Valid());
  EXPECT_EQ(it.item().value, "behind");
  EXPECT_EQ(it.TakePassed(), 2000u);
  it.Prev();
  ASSERT_TRUE(it.Valid());
  EXPECT_EQ(it.item().value, "before");
  it.Prev();
  EXPECT_FALSE(it.Valid());
}

TEST_F(MergingIteratorTest, WhatIsMarkedObsoleteMeanwhileIsLookedUp) {
  for (int i = 0; i < 40; ++i) Put(static_cast<size_t>(i) % 3, std::to_string(100 + i), "v");
  MergingIterator it = New();
  it.SeekToFirst();
  it.Next();
  it.Next();  // a batch is merged already
  current_["105"] = index::ValueRef::OfEntry(64);
  tables_[2].at("105").MarkObsolete();
  tables_[0].at("106").MarkObsolete();  // and deleted since
  std::string keys;
  for (; it.Valid(); it.Next()) {
    EXPECT_EQ(it.looked_up().has_value(), it.key() == "105");
    keys += std::string(it.key()) + " ";
  }
  EXPECT_EQ(lookups_, 2);
  EXPECT_NE(keys.find("104 105 107"), std::string::npos) << keys;
}

TEST_F(MergingIteratorTest, DamageEndsItBehindWhatComesBefore) {
  for (int i = 0; i < 90; ++i) Put(static_cast<size_t>(i) % 3, std::to_string(100 + i), "v");
  MergingIterator it = New("150");
  int count = 0;
  for (it.SeekToFirst(); it.Valid(); it.Next()) {
    EXPECT_TRUE(it.status().ok());
    EXPECT_EQ(it.key(), std::to_string(100 + count));
    ++count;
  }
  EXPECT_TRUE(it.status().IsCorruption());
  EXPECT_EQ(count, 49) << "behind 148 may be what table 0 has lost";
  it.SeekGE("160");
  EXPECT_FALSE(it.Valid());
  EXPECT_TRUE(it.status().IsCorruption());
  it.SeekLE("120");
  EXPECT_TRUE(it.Valid());
  EXPECT_TRUE(it.status().ok());
}

TEST_F(MergingIteratorTest, DamageOfTheOnlyTableEndsItBehindWhatComesBefore) {
  tables_.resize(1);
  for (int i = 100; i < 200; ++i) Put(0, std::to_string(i), "v");
  MergingIterator it = New("150");
  int count = 0;
  for (it.SeekToFirst(); it.Valid(); it.Next()) {
    EXPECT_TRUE(it.status().ok());
    EXPECT_EQ(it.key(), std::to_string(100 + count));
    ++count;
  }
  EXPECT_EQ(count, 51);
  EXPECT_TRUE(it.status().IsCorruption());
}

TEST_F(MergingIteratorTest, FewKeysAreReadAheadOfAShortScan) {
  for (int i = 0; i < 400; ++i) Put(static_cast<size_t>(i) % 4, std::to_string(1000 + i), "v");
  MergingIterator it = New();
  it.SeekGE("1200");
  EXPECT_EQ(it.FromHere().size(), 1u);
  it.Next();
  EXPECT_LE(it.FromHere().size() - 1, 1u);
  for (int i = 0; i < 50; ++i) it.Next();
  EXPECT_LE(it.FromHere().size() - 1, MergingIterator::kRun);
}

}  // namespace
}  // namespace braid::level
