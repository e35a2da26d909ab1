// Purpose: tells a merge which keys newer tables have versions of that every reader sees before an
// older one: such an older version need not be merged, it is obsolete where it lies.
// Thread safety: one thread; flushes and merges go on meanwhile.
// Invariants:
//   1. A table that is asked is one that a flush has made. So its entries are durable, all reads
//      that began before the last of them was written have ended, and a view that is registered
//      later than the horizon sees the newest of them. A read that is under way sees the newer
//      version, which it asks for first, or is that of one of the horizon's views.
// Persistence: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "index/entry_index.h"
#include "index/read_view.h"
#include "index/retention.h"

namespace braid::index {

class NewerVersions {
 public:
  /// The newer tables at some moment.
  struct Horizon {
    /// Indexes with the newest entry of each key of a table; none is kept for this: of one that is
    /// given up meanwhile nothing is known.
    std::vector<std::weak_ptr<const EntryIndex>> tables;
    LiveViews views;  // that were alive after that
  };
  /// Called now and then, since tables come. Not inside an EpochGuard.
  using Look = std::function<Horizon()>;

  /// `pool` has the entries of all tables.
  NewerVersions(const pool::PmemPool* pool, Look look) : pool_(pool), look_(std::move(look)) {}

  /// sequences[i]: the number of a version of keys[i] that a table holds; kLatest where none is
  /// known, though there may be one. Cost: a lookup in each table, side by side; in tables that
  /// have few of the keys, of some of these; a look in each kCallsALook calls. Memory for the keys.
  /// Throws std::bad_alloc. Not inside an EpochGuard.
  void Find(std::span<const std::string_view> keys, std::vector<uint64_t>* sequences);
  /// Whether a reader sees the version `sequence`, though there is a newer one, `newer`. As Find
  /// was called last.
  bool IsNeeded(uint64_t sequence, uint64_t newer) const noexcept {
    return IsVersionNeeded(horizon_.views, sequence, newer);
  }

 private:
  bool HasMany(const EntryIndex& index);
  void LookUp(const EntryIndex& index, std::vector<uint64_t>* sequences);
  uint64_t SequenceAt(uint64_t offset) const noexcept;

  static constexpr uint32_t kCallsALook = 8;

  const pool::PmemPool* const pool_;
  const Look look_;
  Horizon horizon_;
  uint32_t calls_ = 0;
  // Of a call: keys that are not found yet, and where they stand among all.
  std::vector<std::string_view> missing_;
  std::vector<size_t> places_;
};

}  // namespace braid::index
