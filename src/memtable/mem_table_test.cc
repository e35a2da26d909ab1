// Tests of writes, batches, freezing and recovery of memtables of all kinds; and that a reader
// never gets an entry before it is durable.
#include "memtable/mem_table.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/checksum.h"
#include "memtable/dram_memtable.h"
#include "memtable/pmem_memtable.h"
#include "support/log_entries.h"
#include "support/test_pool.h"

namespace braid::memtable {
namespace {

using index::LookupResult;
using LookupState = index::LookupResult::State;
using test::PendingOf;

class MemTableTest : public ::testing::TestWithParam<MemTableKind> {
 protected:
  MemTableTest() {
    options_.log.kind = LogKind::kIndexUnified;
    options_.memtable.kind = GetParam();
    if (GetParam() == MemTableKind::kPersistent) {
      table_ = std::make_shared<PmemMemTable>(store(), 1, 2, true);
    } else {
      table_ = std::make_shared<DramMemTable>(store(), 1, 2, options_);
    }
  }
  MemTable::Store store() { return {pool_.get(), &sequence_, &stalls_}; }

  Status Put(std::string_view key, std::string_view value,
             const MemTable::Condition* condition = nullptr) {
    log::PendingEntry pending = PendingOf(key, value);
    return table_->Write(0, &pending, condition);
  }
  LookupResult Find(std::string_view key, const index::ReadView& view = {}) const {
    return table_->Get({key, base::Hash64(key)}, view);
  }
  uint64_t SequenceAt(uint64_t offset) const {
    return pool_->As<format::EntryHeader>(offset)->sequence();
  }
  /// "-": deleted, or not there.
  std::string Get(std::string_view key, uint64_t at = index::kLatest) const {
    index::ReadView view;
    view.sequence = at;
    const LookupResult result = Find(key, view);
    if (result.state != LookupState::kFound) return "-";
    return std::string(pool_->As<format::EntryHeader>(result.value.offset())->value());
  }
  std::string Keys() const {
    std::string keys;
    const auto cursor = table_->NewCursor(index::ReadView{});
    for (cursor->SeekToFirst(); cursor->Valid(); cursor->Next()) keys += cursor->item().key;
    return keys;
  }

  test::TestPool pool_;
  Options options_;
  std::atomic<uint64_t> sequence_{0};
  base::Stalls stalls_;
  std::shared_ptr<MemTable> table_;
};

TEST_P(MemTableTest, WhatWasWrittenIsFoundAtEachNumber) {
  ASSERT_TRUE(Put("a", "1").ok());
  ASSERT_TRUE(Put("a", "2").ok());
  log::PendingEntry removal = PendingOf("a", "", format::EntryOp::kDelete);
  ASSERT_TRUE(table_->Write(1, &removal, nullptr).ok());
  ASSERT_TRUE(Put("b", std::string(20'000, 'x')).ok()) << "too large for a chunk: an extent";
  EXPECT_EQ(sequence_.load(), 4u);
  EXPECT_EQ(Get("a", 1), "1");
  EXPECT_EQ(Get("a", 2), "2");
  EXPECT_EQ(Get("a"), "-");
  EXPECT_EQ(Find("b").state, LookupState::kFound);
  EXPECT_EQ(Find("c").state, LookupState::kAbsent);
  EXPECT_EQ(table_->entries(), 4u);
  EXPECT_EQ(Keys(), "ab") << "a delete hides what lies below";
}

TEST_P(MemTableTest, AConditionIsThatOfTheNewestVersion) {
  const MemTable::Condition none{0};
  ASSERT_TRUE(Put("a", "1", &none).ok());
  EXPECT_TRUE(Put("a", "2", &none).IsTryAgain());
  const MemTable::Condition first{1};
  ASSERT_TRUE(Put("a", "2", &first).ok());
  EXPECT_TRUE(Put("a", "3", &first).IsTryAgain());
  EXPECT_EQ(Get("a"), "2");
  EXPECT_EQ(table_->entries(), 2u);
}

TEST_P(MemTableTest, AFrozenOneRefusesWritesAndLeavesNothing) {
  ASSERT_TRUE(Put("a", "1").ok());
  table_->FreezeForNow();
  const uint64_t free = pool_->free_chunks();
  EXPECT_TRUE(Put("b", std::string(20'000, 'x')).IsTryAgain());
  EXPECT_EQ(pool_->free_chunks(), free) << "the extent was given back";
  EXPECT_EQ(Find("b").state, LookupState::kAbsent);
  table_->Unfreeze();
  ASSERT_TRUE(Put("b", "2").ok());
  table_->Freeze();
  EXPECT_EQ(table_->state(), State::kImmutable);
  EXPECT_TRUE(Put("c", "3").IsTryAgain());
  EXPECT_EQ(Keys(), "ab");
}

TEST_P(MemTableTest, AMediumThatFailsUnderAWriteIsItsError) {
  ASSERT_TRUE(Put("a", "1").ok());
  ASSERT_EQ(::truncate((pool_.path() + "/segment-000000").c_str(), 0), 0);
  const Status s = Put("a", "2");  // what it is compared with has become zeros
  EXPECT_TRUE(s.IsIOError()) << s.ToString();
}

TEST_P(MemTableTest, ABatchHasNumbersThatFollowEachOther) {
  ASSERT_TRUE(Put("a", "1").ok());
  std::vector<log::PendingEntry> entries = {PendingOf("a", "2"), PendingOf("b", "3"),
                                            PendingOf("a", "4")};
  bool is_torn = false;
  ASSERT_TRUE(table_->WriteBatch(0, entries, pool::AllocationClass::kWrite, &is_torn).ok());
  EXPECT_FALSE(is_torn);
  EXPECT_EQ(sequence_.load(), 4u);
  EXPECT_EQ(Get("a", 1), "1");
  EXPECT_EQ(Get("a", 2), "2");
  EXPECT_EQ(Get("a"), "4");
  EXPECT_EQ(Get("b"), "3");
}

TEST_P(MemTableTest, ABatchThatFindsNoNumbersLeavesNothing) {
  sequence_.store(format::kMaxSequence - 1);
  const std::string large(20'000, 'x');
  std::vector<log::PendingEntry> entries = {PendingOf("a", "1"), PendingOf("b", large)};
  const uint64_t free = pool_->free_chunks();
  bool is_torn = false;
  const Status s = table_->WriteBatch(0, entries, pool::AllocationClass::kWrite, &is_torn);
  EXPECT_TRUE(s.IsIOError()) << s.ToString();
  EXPECT_FALSE(is_torn);
  EXPECT_EQ(pool_->free_chunks(), free);
  EXPECT_EQ(Keys(), "");
  ASSERT_TRUE(Put("a", "last").ok());
  EXPECT_TRUE(Put("a", "one too many").IsIOError());
  EXPECT_EQ(Get("a"), "last");
}

TEST_P(MemTableTest, WhatLogsHeldIsRecoveredInWhateverOrder) {
  std::vector<uint64_t> offsets;
  for (const std::string_view value : {"1", "2", "3"}) {
    ASSERT_TRUE(Put("a", value).ok());
    offsets.push_back(Find("a").value.offset());
  }
  ASSERT_TRUE(Put("b", "4").ok());
  offsets.push_back(Find("b").value.offset());
  for (const std::vector<size_t>& order :
       std::vector<std::vector<size_t>>{{0, 1, 2, 3}, {2, 3, 0, 1}, {3, 1, 2, 0}}) {
    RecoveredEntries recovered(pool_.get(), GetParam());
    for (const size_t i : order) recovered.Insert(offsets[i]);
    recovered.Account(400, 4);
    table_ = DramMemTable::Recover(store(), 7, recovered, false);
    EXPECT_EQ(table_->id(), 7u);
    EXPECT_EQ(table_->entries(), 4u);
    EXPECT_EQ(table_->state(), State::kImmutable);
    EXPECT_EQ(Get("a", 1), "1");
    EXPECT_EQ(Get("a", 2), "2");
    EXPECT_EQ(Get("a"), "3");
    EXPECT_EQ(Get("b"), "4");
    EXPECT_TRUE(table_->is_frozen());
  }
}

#if defined(BRAID_CRASHSIM)

/// Does something when all of a write is stored, and nothing fenced.
class FenceHook final : public media::PersistHook {
 public:
  explicit FenceHook(pool::PmemPool* pool) : pool_(pool) { pool_->ops().set_hook(this); }
  ~FenceHook() override { pool_->ops().set_hook(nullptr); }
  std::function<void()> before_fence = [] {};
  std::atomic<uint64_t> fences{0};

 private:
  void BeforeStore(const void*, size_t) override {}
  void AfterStore(const void*, size_t) override {}
  void OnFlush(const void*, size_t) override {}
  void OnFence() override {
    before_fence();
    fences.fetch_add(1);
  }
  pool::PmemPool* pool_;
};

TEST_P(MemTableTest, AReaderWaitsUntilTheEntryIsDurable) {
  ASSERT_TRUE(Put("a", "the first chunk takes fences of its own").ok());
  for (const bool is_overwrite : {false, true}) {
    SCOPED_TRACE(is_overwrite ? "overwrite" : "new key");
    FenceHook hook(pool_.get());
    std::thread reader;
    std::atomic<bool> returned{false};
    uint64_t seen = 0;
    uint64_t fences_when_seen = 0;
    hook.before_fence = [&] {
      reader = std::thread([&] {
        const LookupResult result = Find("key");
        fences_when_seen = hook.fences.load();
        if (result.state == LookupState::kFound) seen = SequenceAt(result.value.offset());
        returned.store(true);
      });
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      EXPECT_FALSE(returned.load()) << "a reader came back while the entry was not fenced";
    };
    ASSERT_TRUE(Put("key", "value").ok());
    reader.join();
    EXPECT_EQ(seen, is_overwrite ? 3u : 2u);
    EXPECT_EQ(fences_when_seen, 1u);
  }
}

TEST_P(MemTableTest, ACursorWaitsUntilTheEntryIsDurable) {
  ASSERT_TRUE(Put("a", "value").ok());
  FenceHook hook(pool_.get());
  std::thread reader;
  std::atomic<bool> returned{false};
  std::string keys;
  hook.before_fence = [&] {
    reader = std::thread([&] {
      keys = Keys();
      returned.store(true);
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_FALSE(returned.load()) << "a cursor went by while the entry was not fenced";
  };
  ASSERT_TRUE(Put("b", "value").ok());
  reader.join();
  EXPECT_EQ(keys, "ab");
}

TEST_P(MemTableTest, EverythingThatReadersSeeIsDurable) {
  ASSERT_TRUE(Put("a", "the first chunk takes fences of its own").ok());
  FenceHook hook(pool_.get());
  hook.before_fence = [] { std::this_thread::yield(); };
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> too_early{0};
  std::thread reader([&] {
    while (!stop.load()) {
      const LookupResult result = Find("key");
      const uint64_t fences = hook.fences.load();
      if (result.state != LookupState::kFound) continue;
      if (SequenceAt(result.value.offset()) > fences + 1) too_early.fetch_add(1);
    }
  });
  for (int i = 0; i < 2000; ++i) ASSERT_TRUE(Put("key", "value").ok());
  stop.store(true);
  reader.join();
  EXPECT_EQ(too_early.load(), 0u);
}

#endif  // BRAID_CRASHSIM

INSTANTIATE_TEST_SUITE_P(Kinds, MemTableTest,
                         ::testing::Values(MemTableKind::kBTree, MemTableKind::kSkipList,
                                           MemTableKind::kPersistent),
                         [](const auto& kind) {
                           if (kind.param == MemTableKind::kPersistent) return "Persistent";
                           return kind.param == MemTableKind::kBTree ? "BTree" : "SkipList";
                         });

}  // namespace
}  // namespace braid::memtable
