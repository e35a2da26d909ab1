// Purpose: the tier of an open store: where its entries lie, and what readers and the filler have
// to tell each other.
// Thread safety: any thread.
// Invariants:
//   1. `moves` grows after a run was taken in and before its entries leave the pool. So who has
//      made a walk at one number, and finds the same number after reading a part of the pool, has
//      missed nothing of that part.
// Persistence: store.h.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/checksum.h"
#include "base/counters.h"
#include "base/memory_users.h"
#include "braid/statistics.h"
#include "tier/record_cache.h"
#include "tier/store.h"

namespace braid::tier {

class Tier {
 public:
  /// `share`: of DRAM, for what the store takes, and the rest of it for records that are read.
  /// Throws std::bad_alloc.
  Tier(std::unique_ptr<Store> opened, uint64_t share, base::MemoryUsers* users);
  Store& store() const noexcept { return *store_; }
  const std::atomic<uint64_t>& moves() const noexcept { return moves_; }
  /// Runs that may be on their way at a time.
  static constexpr size_t kMostComing = 2;
  using Coming = std::array<std::span<const RunEntry>, kMostComing>;
  /// What is on its way counts as held, so that nothing above is dropped that is to hide it. The
  /// bytes are the caller's. By the compaction thread, while nobody else calls MayHold.
  void SetComing(const Coming& runs) noexcept { coming_ = runs; }
  /// False only where the tier has no record of the key, nor is about to have one. By the
  /// compaction thread, and those that it waits for.
  bool MayHold(std::string_view key) const noexcept;
  /// Entries of this run, which was taken in, are about to leave the pool.
  void BeginMove(std::span<const RunEntry> run) noexcept;

  /// For a Get that may follow.
  void Prefetch(uint64_t hash) const noexcept { records_->Prefetch(hash); }
  /// The version of the key that the tier has, for a reader to whom the pool shows none. Throws
  /// std::bad_alloc.
  Status Get(const index::LookupKey& wanted, const index::ReadView& view, Found* found) const {
    counters_.Add(Counter::kGets);
    found->Clear();
    if (records_->Find(wanted, found)) {
      counters_.Add(Counter::kCached);
    } else if (Status s = Read(wanted, found); !s.ok()) {
      return s;
    }
    // What is moved is no newer than any view (compaction/tier_filler.h).
    if (view.sequence != index::kLatest && found->result().sequence > view.sequence) {
      found->Clear();
    }
    if (found->result().state == index::LookupResult::State::kFound) {
      counters_.Add(Counter::kAnswered);
    }
    return Status::OK();
  }
  void CountMoved(uint64_t entries, uint64_t bytes) noexcept {
    counters_.Add(Counter::kMovedEntries, entries);
    counters_.Add(Counter::kMovedBytes, bytes);
  }
  void Fill(Statistics* statistics) const {
    const Sizes sizes = store_->sizes();
    statistics->tier_bytes = sizes.bytes;
    statistics->tier_entries = sizes.records;
    statistics->tier_gets = counters_.Sum(Counter::kGets);
    statistics->tier_gets_found = counters_.Sum(Counter::kAnswered);
    statistics->tier_gets_cached = counters_.Sum(Counter::kCached);
    statistics->tier_moved_entries = counters_.Sum(Counter::kMovedEntries);
    statistics->tier_moved_bytes = counters_.Sum(Counter::kMovedBytes);
  }

 private:
  enum class Counter : uint8_t { kGets, kAnswered, kCached, kMovedEntries, kMovedBytes, kCount };

  Status Read(const index::LookupKey& key, Found* found) const;
  void FitRecords() noexcept;

  const std::unique_ptr<Store> store_;
  const uint64_t share_;
  const std::unique_ptr<RecordCache> records_;
  base::MemoryCharge charge_;  // the share, or what the store takes if that is more
  Coming coming_{};
  uint64_t runs_ = 0;  // that have moved
  std::atomic<uint64_t> moves_{0};
  mutable base::Counters<Counter, static_cast<size_t>(Counter::kCount)> counters_;
};

}  // namespace braid::tier
