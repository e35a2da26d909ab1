// Tests that a reader of the memtable never gets an entry before it is durable.
#include "memtable/dram_memtable.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/checksum.h"
#include "log/index_unified_log.h"
#include "support/test_pool.h"

namespace braid::memtable {
namespace {

using index::LookupResult;

class DramMemTableTest : public ::testing::TestWithParam<MemTableKind> {
 protected:
  /// Inserts as the write path does; `before_fence` runs when all is written and nothing fenced.
  void Put(std::string_view key, std::string_view value,
           const std::function<void()>& before_fence) {
    log::Draft draft;
    draft.key = key;
    draft.value = value;
    draft.key_hash = base::Hash64(key);
    ASSERT_TRUE(log_->Place(0, &draft, 1, 1, pmem::AllocationClass::kWrite).ok());
    log_->WritePayload(&draft);
    table_->Insert(key, [&](uint64_t older) {
      log_->Seal(draft, ++sequence_, format::kFirstOfUnit, older);
      before_fence();
      pool_->ops().Fence();
      durable_.store(sequence_.load());
      return draft.offset;
    });
    log_->Accept(0);
  }
  LookupResult Get(std::string_view key) const {
    return table_->Get({key, base::Hash64(key)}, index::ReadView{});
  }
  uint64_t SequenceAt(uint64_t offset) const {
    return pool_->As<format::EntryHeader>(offset)->sequence();
  }

  test::TestPool pool_;
  std::unique_ptr<DramMemTable> table_ = std::make_unique<DramMemTable>(pool_.get(), 1, GetParam());
  std::unique_ptr<log::IndexUnifiedLog> log_ =
      std::make_unique<log::IndexUnifiedLog>(pool_.get(), 1, 1);
  std::atomic<uint64_t> sequence_{0};
  std::atomic<uint64_t> durable_{0};
};

TEST_P(DramMemTableTest, AReaderWaitsUntilTheEntryIsDurable) {
  for (const bool is_overwrite : {false, true}) {
    SCOPED_TRACE(is_overwrite ? "overwrite" : "new key");
    std::thread reader;
    std::atomic<bool> returned{false};
    uint64_t seen = 0;
    uint64_t durable_when_seen = 0;
    Put("key", "value", [&] {
      reader = std::thread([&] {
        const LookupResult result = Get("key");
        durable_when_seen = durable_.load();
        if (result.state == LookupResult::State::kFound) seen = SequenceAt(result.offset);
        returned.store(true);
      });
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      EXPECT_FALSE(returned.load()) << "a reader came back while the entry was not fenced";
    });
    reader.join();
    EXPECT_EQ(seen, is_overwrite ? 2u : 1u);
    EXPECT_EQ(durable_when_seen, seen);
  }
}

TEST_P(DramMemTableTest, ACursorWaitsUntilTheEntryIsDurable) {
  Put("a", "value", [] {});
  std::thread reader;
  std::atomic<bool> returned{false};
  std::string keys;
  Put("b", "value", [&] {
    reader = std::thread([&] {
      const auto cursor = table_->NewCursor(index::ReadView{});
      for (cursor->SeekToFirst(); cursor->Valid(); cursor->Next()) keys += cursor->item().key;
      returned.store(true);
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_FALSE(returned.load()) << "a cursor went by while the entry was not fenced";
  });
  reader.join();
  EXPECT_EQ(keys, "ab");
}

TEST_P(DramMemTableTest, EverythingThatReadersSeeIsDurable) {
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> too_early{0};
  std::thread reader([&] {
    while (!stop.load()) {
      const LookupResult result = Get("key");
      const uint64_t durable = durable_.load();
      if (result.state != LookupResult::State::kFound) continue;
      if (SequenceAt(result.offset) > durable) too_early.fetch_add(1);
    }
  });
  for (int i = 0; i < 2000; ++i) Put("key", "value", [] { std::this_thread::yield(); });
  stop.store(true);
  reader.join();
  EXPECT_EQ(too_early.load(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Kinds, DramMemTableTest,
                         ::testing::Values(MemTableKind::kBTree, MemTableKind::kSkipList),
                         [](const auto& kind) {
                           return kind.param == MemTableKind::kBTree ? "BTree" : "SkipList";
                         });

}  // namespace
}  // namespace braid::memtable
