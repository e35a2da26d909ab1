// Memtables and the lists that flushes make of them, in a pool without a store: for tests of
// flushes and merges.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/stalls.h"
#include "flush/copy_flush.h"
#include "flush/link_flush.h"
#include "index/skiplist.h"
#include "memtable/dram_memtable.h"
#include "support/log_entries.h"
#include "support/test_pool.h"

namespace braid::test {

/// For one thread.
class FlushParts {
 public:
  using Strings = std::vector<std::string>;

  explicit FlushParts(const Options& options = PoolOfSmallChunks(256),
                      LogKind kind = LogKind::kIndexUnified)
      : pool([](pool::PmemPool*) { return Status::OK(); }, options), options_(options) {
    options_.log.kind = kind;
    options_.memtable.kind = MemTableKind::kBTree;
    NewMemTable();
  }

  void NewMemTable() {
    const memtable::MemTable::Store store{pool.get(), &sequence, &stalls_};
    memtable =
        std::make_shared<memtable::DramMemTable>(store, ++table_id_, pool->regions(), options_);
  }
  uint64_t table_id() const noexcept { return table_id_; }

  /// These return the entry's place. `height`: 0 is one by chance.
  uint64_t Put(std::string_view key, std::string_view value, uint32_t height = 0,
               uint32_t shard = 0) {
    return Write(PendingOf(key, value), height, shard);
  }
  uint64_t Delete(std::string_view key, uint32_t height = 0, uint32_t shard = 0) {
    return Write(PendingOf(key, "", format::EntryOp::kDelete), height, shard);
  }
  index::EntryIndex* tree() const { return memtable->flush_source().entries.get(); }

  uint64_t Head(uint32_t head) const { return pool->HeadOffset(head); }
  /// Makes the memtable the list behind a head, and begins another.
  flush::FlushResult Link(uint32_t head, const index::LiveViews& views = {},
                          flush::WriteBack write_back = flush::WriteBack::kNow) {
    flush::LinkFlush flush(pool.get(), &usage, nullptr, write_back);
    Result<flush::FlushResult> flushed = flush.Run(*tree(), views, Head(head));
    EXPECT_TRUE(flushed.ok()) << flushed.status().ToString();
    NewMemTable();
    return flushed.ok() ? std::move(flushed).value() : flush::FlushResult{};
  }

  index::SkipList List(uint32_t head) { return {pool.get(), pool->As<uint64_t>(Head(head))}; }
  format::EntryHeader* Entry(uint64_t offset) { return pool->As<format::EntryHeader>(offset); }
  /// The places of a list's entries.
  std::vector<uint64_t> Places(uint32_t head) {
    std::vector<uint64_t> places;
    index::Damage damage;
    const index::SkipList list = List(head);
    for (const auto* e = list.First(&damage); e != nullptr; e = list.Next(e, &damage)) {
      places.push_back(pool->OffsetOf(e));
      if (places.size() > 1'000'000) break;  // a circle
    }
    EXPECT_FALSE(damage) << "at " << damage.at;
    return places;
  }
  /// "key@number=value", "key@number-" for a delete.
  std::string Describe(uint64_t offset) {
    const format::EntryHeader* entry = Entry(offset);
    const std::string text = std::string(entry->key()) + "@" + std::to_string(entry->sequence());
    if (entry->op() == format::EntryOp::kDelete) return text + "-";
    const bool large = entry->has(format::kValueInExtent);
    return text + "=" + (large ? std::string("(large)") : std::string(entry->value()));
  }
  Strings Entries(uint32_t head) {
    Strings entries;
    for (const uint64_t place : Places(head)) entries.push_back(Describe(place));
    return entries;
  }
  bool IsObsolete(uint64_t offset) { return Entry(offset)->state() == format::kStateObsolete; }

  /// Each layer of each strand leads through all entries that are tall enough, and to an end.
  void ExpectSoundTowers(uint32_t head) {
    const std::vector<uint64_t> all = Places(head);
    for (uint32_t strand = 0; strand < pool->strands(); ++strand) {
      for (uint32_t layer = 1; layer < format::kMaxHeight; ++layer) {
        std::vector<uint64_t> expected;
        for (const uint64_t place : all) {
          const bool here = pool->StrandOf(place) == strand;
          if (here && Entry(place)->height() > layer) expected.push_back(place);
        }
        EXPECT_EQ(Layer(head, strand, layer, all.size()), expected) << strand << " " << layer;
      }
    }
  }

  TestPool pool;
  pool::ChunkUsage usage{4096};
  std::atomic<uint64_t> sequence{0};  // last one drawn
  std::shared_ptr<memtable::DramMemTable> memtable;

 private:
  uint64_t Write(log::PendingEntry pending, uint32_t height, uint32_t shard) {
    pending.wanted_height = height;
    const Status s = memtable->Write(shard, &pending, nullptr);
    EXPECT_TRUE(s.ok()) << s.ToString();
    return pending.offset;
  }
  std::vector<uint64_t> Layer(uint32_t head, uint32_t strand, uint32_t layer, size_t most) {
    std::vector<uint64_t> places;
    const uint64_t* links = pool->As<uint64_t>(pool->StrandHead(Head(head), strand));
    while (places.size() <= most) {
      const format::EntryPtr link{links[layer]};
      EXPECT_TRUE(link.IsValid()) << "layer " << layer;
      if (!link.IsValid() || link.IsEnd()) break;
      places.push_back(link.offset());
      links = Entry(link.offset())->links();
    }
    return places;
  }

  Options options_;
  base::Stalls stalls_;
  uint64_t table_id_ = 1;
};

}  // namespace braid::test
