// Purpose: EntryIndex, what memtables and the index over L1 need of an ordered structure in DRAM:
// from a key to the offset of its newest entry. Implemented by the B+-tree and the skip list.
// Thread safety: all operations at the same time, except construction and destruction. Entries are
// kept alive by the caller's epoch or view.
// Invariants:
//   1. Upsert runs `commit` under the lock of the place that holds or will hold the key. A read
//      that comes to that place after a commit began waits for its outcome. So a thread that takes
//      a snapshot number after a commit drew a lower one, and then reads, sees that commit
//      (docs/internals/decisions/0002).
//   2. One virtual call an operation, none a node.
// Persistence: none; the commit functor makes entries durable, and recovery inserts them again.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/function_ref.h"
#include "base/memory_users.h"
#include "braid/options.h"
#include "index/keyed_refs.h"
#include "pool/pool.h"

namespace braid::index {

/// An entry, and the copy of it that takes its place; offsets.
struct Replacement {
  uint64_t from;
  uint64_t to;
};

class EntryIndex : public base::MemoryUser {
 public:
  using Commit = base::FunctionRef<uint64_t(uint64_t)>;
  using Predicate = base::FunctionRef<bool(uint64_t)>;

  virtual ~EntryIndex() = default;

  /// Calls commit(old), where old is the offset stored for `key`, or 0. It returns the offset to
  /// store, or 0 to leave all as it is, and must not call back into the index. Returns old. Throws
  /// std::bad_alloc before commit is called, and changes nothing then.
  virtual uint64_t Upsert(std::string_view key, Commit commit) = 0;
  /// Adds `key`, which is above all others, while no other thread changes the index. Throws
  /// std::bad_alloc, and changes nothing then.
  virtual void Append(std::string_view key, uint64_t offset) = 0;
  /// Puts the `to` of `run` in the place of their `from`, which come in this order from `key` on,
  /// perhaps with others in between, as far as they do within one leaf. Returns how many; 0 when
  /// `key` has another offset.
  virtual size_t ReplaceRun(std::string_view key, const Replacement* run, size_t n) = 0;
  /// Erases `key` if it is there and predicate(offset), called under the lock, is true.
  virtual bool EraseIf(std::string_view key, Predicate predicate) = 0;

  /// The offset of `key`, or 0; of the greatest key <= `key`, or 0.
  virtual uint64_t Find(std::string_view key) const = 0;
  virtual uint64_t FindFloor(std::string_view key) const = 0;

  /// refs[i] = Find(keys[i]) for i < n; side by side where the structure can.
  virtual void FindMany(const std::string_view* keys, uint64_t* refs, size_t n) const = 0;

  /// Copies offsets from the first key >= `key` (> if not inclusive) on, ascending, at most `cap`,
  /// perhaps fewer. 0 only if there is no such key. To go on: the last key, not inclusive.
  virtual size_t ScanForward(std::string_view key, bool inclusive, uint64_t* out,
                             size_t cap) const = 0;
  /// The same from the last key <= `key` (<) on, descending.
  virtual size_t ScanBackward(std::string_view key, bool inclusive, uint64_t* out,
                              size_t cap) const = 0;
  /// Where a search was last. Of one index; it must be forgotten before nodes can be used again
  /// (ReclaimNodes).
  struct Finger {
    const void* leaf = nullptr;
    uint64_t state = 0;
  };
  /// A hint: the same, not inclusive, but some of the nearest keys may be left out, where that
  /// spares a look at an entry. Cheap for keys that come in order with the same finger.
  virtual size_t ScanBefore(std::string_view key, uint64_t* out, size_t cap,
                            Finger* finger) const = 0;
  /// As the others, with what the index knows of the keys. Only where it does (knows_keys).
  virtual size_t ScanKeyed(const ScanStart& start, KeyedRefs* out, size_t cap) const = 0;
  virtual bool knows_keys() const noexcept = 0;
  /// Whether a scan would find nothing now. It may say no where keys were erased.
  virtual bool is_empty() const = 0;
  virtual size_t ScanFromStart(uint64_t* out, size_t cap) const = 0;
  virtual size_t ScanFromEnd(uint64_t* out, size_t cap) const = 0;

  /// The number of keys; exact when no operation is under way.
  virtual size_t size() const = 0;

  /// A hint: what the last cursor took an entry for.
  uint64_t likely_entry_bytes() const noexcept {
    return likely_entry_bytes_.load(std::memory_order_relaxed);
  }
  void ExpectEntries(uint64_t bytes) const noexcept {
    // Mostly they are alike, and the line stays where it is.
    if (bytes == likely_entry_bytes()) return;
    likely_entry_bytes_.store(bytes, std::memory_order_relaxed);
  }

  /// Bytes of memory_bytes() that hold something; what is left of it is for keys to come.
  virtual size_t used_bytes() const = 0;
  /// Makes the room of nodes that erasures have emptied usable again, where it is `least` bytes or
  /// more. Waits for a grace period: all that read this index must do so inside an EpochGuard, or
  /// on the calling thread, which is in none.
  virtual void ReclaimNodes(size_t least) noexcept = 0;

 private:
  mutable std::atomic<uint64_t> likely_entry_bytes_{128};
};

/// An empty index over entries of `pool`, which counts it (PmemPool::memory_users).
std::shared_ptr<EntryIndex> NewEntryIndex(const pool::PmemPool* pool, MemTableKind kind);

}  // namespace braid::index
