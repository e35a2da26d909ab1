// Purpose: the volatile index over the newest entries of the log: a B+-tree or a skip list in DRAM,
// from keys to entries. Older versions of a key hang behind the newest by the entries' bottom
// links, which is the order the L0 table will have. Thread safety: Insert and reads from any
// thread. An insert holds its place (a leaf; a node of the list) from before the sequence number is
// drawn until the entry is in it; a reader that comes to the place waits. Invariant 1: a read that
// finds it unlocked sees every write to its keys whose sequence number was drawn before. So
// sequence numbers are the linearization order, and a snapshot is just a number. Invariant 2: an
// entry is durable before it is in the tree. Persistence: none of its own; the log is replayed into
// a new one. Source: ListDB 6.2 and 6.3; the B+-tree in the skip list's place is braid's
// (docs/decisions/0003).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "index/entry_tree.h"

namespace braid::memtable {

/// Life of a memtable. Only forwards.
enum class State : uint8_t {
  kMutable,   ///< takes writes
  kSealed,    ///< takes no new write; those under way may still finish
  kFlushing,  ///< a flush job links its entries
  kFlushed,   ///< the L0 table has taken its place
};

class DramMemTable {
 public:
  DramMemTable(pmem::PmemPool* pool, uint64_t id, MemTableKind kind)
      : pool_(pool), id_(id), tree_(index::NewEntryIndex(pool, kind)) {}

  /// Inserts under the lock of the key's place. `commit(older)` draws the sequence number, makes
  /// the entry durable and returns its offset, or 0 to leave everything as it was; `older` is the
  /// offset of the version it replaces, or 0. Returns false when commit returned 0.
  template <class Commit>
  bool Insert(std::string_view key, Commit&& commit) {
    bool added = false;
    tree_->Upsert(key, [&](uint64_t older) {
      const uint64_t offset = commit(older);
      added = offset != 0;
      return offset;
    });
    return added;
  }

  /// Inserts an entry that recovery read from the log: links it into the versions of its key by
  /// sequence number. In any order, but the oldest first costs no walk over versions.
  void InsertRecovered(uint64_t offset);

  index::LookupResult Get(const index::LookupKey& key, const index::ReadView& view) const noexcept;
  /// out[i] = Get(keys[i]) for i < n, at most index::kManyLookups, at a view that is not kLatest.
  void GetMany(const index::LookupKey* keys, size_t n, const index::ReadView& view,
               index::LookupResult* out) const noexcept {
    index::LookupManyInTree(*pool_, *tree_, keys, n, view, out);
  }
  std::unique_ptr<index::Cursor> NewCursor(const index::ReadView& view) const {
    return index::NewTreeCursor(pool_, tree_, view);
  }

  uint64_t id() const noexcept { return id_; }
  const std::shared_ptr<index::EntryIndex>& tree() const noexcept { return tree_; }
  /// Number of entries and log bytes, for the decision to seal. Approximate under concurrency.
  void Account(uint64_t bytes, uint64_t entries) noexcept {
    bytes_.fetch_add(bytes, std::memory_order_relaxed);
    entries_.fetch_add(entries, std::memory_order_relaxed);
  }
  uint64_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }
  uint64_t entries() const noexcept { return entries_.load(std::memory_order_relaxed); }

  State state() const noexcept { return state_.load(std::memory_order_acquire); }
  /// Moves to the next state; the order is checked.
  void Advance(State next) noexcept;

 private:
  pmem::PmemPool* pool_;
  uint64_t id_;
  std::shared_ptr<index::EntryIndex> tree_;
  std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> entries_{0};
  std::atomic<State> state_{State::kMutable};
};

}  // namespace braid::memtable
