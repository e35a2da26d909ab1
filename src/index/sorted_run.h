// Purpose: the interface of lookups and iterators: keys in order, each with its versions, wherever
// they are. Memtables and the tables of all levels implement it.
// Thread safety: any thread, without locks, inside an EpochGuard.
// Persistence: none here.
// Source: the sorted runs of an LSM-tree; the one virtual call is one a run, none a node.
#pragma once

#include <memory>
#include <optional>

#include "index/cursor.h"
#include "index/read_view.h"
#include "index/tree_merge.h"

namespace braid::index {

/// Lookups that GetMany takes at a time.
inline constexpr size_t kManyLookups = 32;

class SortedRun {
 public:
  SortedRun() = default;
  SortedRun(const SortedRun&) = delete;
  SortedRun& operator=(const SortedRun&) = delete;
  virtual ~SortedRun() = default;

  /// Versions in it, deletes included; a guess where it is not counted, or written to.
  virtual uint64_t entries() const noexcept = 0;
  /// The newest version of the key that `view` sees.
  virtual LookupResult Get(const LookupKey& key, const ReadView& view) const noexcept = 0;
  /// out[i] = Get(keys[i]) for i < n, at most kManyLookups, side by side where that is faster. At a
  /// view that is not kLatest.
  virtual void GetMany(const LookupKey* keys, size_t n, const ReadView& view,
                       LookupResult* out) const noexcept = 0;
  /// The caller keeps the run, and what the view sees, as long as the cursor. Throws
  /// std::bad_alloc.
  virtual std::unique_ptr<Cursor> NewCursor(const ReadView& view) const = 0;
  /// The tree that has the newest entries of all its keys, and knows its keys, where there is one:
  /// a cursor over several such is faster than one over each.
  virtual std::optional<TreeSource> AsTree() const { return std::nullopt; }
};

}  // namespace braid::index
