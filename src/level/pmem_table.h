// Purpose: a table in persistent memory: a linked list of entries with its record in the manifest,
// and, where DRAM allows, a tree over it.
// Thread safety: reads from any thread; entries() and set_tree by the background thread that owns
// merges, read by any.
// Invariants:
//   1. The head of a table of L0, or of a run, never changes once the table is made, so a copy in
//      DRAM serves readers, and the place in the pool may be reused as soon as the manifest has
//      forgotten the table.
//   2. A tree given to set_tree holds the newest entry of every key (kFull), or of every key whose
//      newest entry is at least min_height tall (kSparse).
//   3. A bounded table answers for no key behind its bound. While its merge is open the list leads
//      on into the target, whose version of such a key may be older than the one in a table that is
//      asked later.
// Persistence: the manifest's commit makes a table exist (manifest.h).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/mutex.h"
#include "format/manifest.h"
#include "index/entry_tree.h"
#include "index/skiplist.h"
#include "level/table.h"

namespace braid::level {

/// The keys of a table, as they lie in it; valid as long as the table.
struct KeyRange {
  std::string_view first;
  std::string_view last;
  bool is_known = false;
};

class PmemTable final : public Table, public std::enable_shared_from_this<PmemTable> {
 public:
  /// A table of L0 or of a run, whose head is copied, or another list, whose head is read in place.
  PmemTable(pool::PmemPool* pool, const format::TableRecord& record, bool verify);

  index::LookupResult Get(const index::LookupKey& key,
                          const index::ReadView& view) const noexcept override;
  void GetMany(const index::LookupKey* keys, size_t n, const index::ReadView& view,
               index::LookupResult* out) const noexcept override;
  std::unique_ptr<index::Cursor> NewCursor(const index::ReadView& view) const override;
  std::optional<index::TreeSource> AsTree() const override;
  PmemTable* AsList() noexcept override { return this; }
  uint64_t index_bytes() const noexcept override {
    const std::shared_ptr<const index::EntryIndex> tree = this->tree();
    return tree == nullptr ? 0 : tree->memory_bytes();
  }

  uint32_t level() const noexcept { return record_.level; }
  bool is_of_run() const noexcept { return (record_.flags & format::kTableOfRun) != 0; }
  /// Invariant 1.
  bool never_changes() const noexcept { return record_.level == 0 || is_of_run(); }
  /// Copies of entries of L1, made by collection; only a merge reads it.
  bool is_copies() const noexcept { return (record_.flags & format::kTableOfCopies) != 0; }
  /// Puts only, one a key: it may become an empty level as it is. As far as this session knows.
  bool is_plain() const noexcept { return is_plain_; }
  /// Loaded in bulk by this session: plain.
  bool is_load() const noexcept { return is_load_; }
  /// These before others know the table.
  void set_is_plain() noexcept {
    BRAID_DCHECK(record_.level == 0 && !is_copies());
    is_plain_ = true;
  }
  void set_is_load() noexcept {
    set_is_plain();
    is_load_ = true;
  }
  uint32_t head_index() const noexcept { return record_.head; }
  uint64_t head_offset() const noexcept { return pool_->HeadOffset(record_.head); }
  uint64_t entries() const noexcept override { return entries_.load(std::memory_order_relaxed); }
  void set_entries(uint64_t entries) noexcept {
    entries_.store(entries, std::memory_order_relaxed);
  }
  /// False: entries() is a guess (kEntriesNotCounted).
  bool is_counted() const noexcept { return is_counted_.load(std::memory_order_relaxed); }
  void set_counted(uint64_t entries) noexcept {
    set_entries(entries);
    is_counted_.store(true, std::memory_order_relaxed);
  }
  /// Not known where there are no entries, or damage. Cost: a search, the first time. By the thread
  /// that owns merges, while none of this table is open: then the list leads on into another one.
  KeyRange range();
  /// Invariant 3. `last`: its last key, or the first that is merged already. Before the merge
  /// stores a link; by the thread that owns merges. Once: a merge that goes on keeps the bound.
  void SetBound(std::string_view last);
  uint64_t max_sequence() const noexcept override {
    return max_sequence_.load(std::memory_order_relaxed);
  }
  void set_max_sequence(uint64_t sequence) noexcept {
    max_sequence_.store(sequence, std::memory_order_relaxed);
  }
  format::TableRecord record() const noexcept;
  /// Searches go along the strand that is near the calling thread.
  index::SkipList list() const noexcept;
  uint32_t strands() const noexcept { return pool_->strands(); }
  /// Where the list's strand begins.
  index::Tower head(uint32_t strand) const noexcept;

  /// The tree for lookups, or null. Readers must be in an EpochGuard or hold the version.
  std::shared_ptr<const index::EntryIndex> tree() const;
  /// The same, if it has all keys; else null.
  std::shared_ptr<const index::EntryIndex> WholeTree() const;
  uint32_t tree_min_height() const noexcept { return Shown().min_height; }
  /// min_height 1: every key is in the tree.
  void set_tree(std::shared_ptr<const index::EntryIndex> tree, uint32_t min_height);

 private:
  /// The tree that lookups use, and what it holds: one word, so that both are always of one tree.
  struct ShownTree {
    const index::EntryIndex* tree;
    uint32_t min_height;
  };
  static constexpr uintptr_t kHeightMask = 63;
  static_assert(format::kMaxHeight <= kHeightMask);
  ShownTree Shown() const noexcept {
    // Acquire pairs with set_tree: the tree's content is complete when it is shown.
    const uintptr_t shown = shown_.load(std::memory_order_acquire);
    return {reinterpret_cast<const index::EntryIndex*>(shown & ~kHeightMask),
            static_cast<uint32_t>(shown & kHeightMask)};
  }

  index::LookupResult Search(const index::LookupKey& key,
                             const index::ReadView& view) const noexcept;
  /// Asked after the search. Acquire pairs with SetBound: a search that a link has led into the
  /// target sees the bound, which was set before that link.
  bool IsWithinBound(std::string_view key) const noexcept {
    return !is_bounded_.load(std::memory_order_acquire) || key <= bound_;
  }

  pool::PmemPool* pool_;
  format::TableRecord record_;
  bool verify_;
  bool is_plain_ = false;
  bool is_load_ = false;
  std::atomic<bool> is_bounded_{false};
  std::string bound_;  // not changed any more once is_bounded_ is set
  KeyRange range_;
  std::array<format::TableHead, format::kMaxRegions> head_copies_{};  // invariant 1; a strand
  std::atomic<uint64_t> entries_;
  std::atomic<uint64_t> max_sequence_;
  std::atomic<bool> is_counted_;
  // An address, a multiple of 64, and a height; the owner behind the mutex outlives it by the
  // epoch.
  std::atomic<uintptr_t> shown_{1};
  mutable base::Mutex mutex_;
  std::shared_ptr<const index::EntryIndex> tree_owner_ BRAID_GUARDED_BY(mutex_);
};

}  // namespace braid::level
