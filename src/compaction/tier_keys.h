// Purpose: chooses the keys that go to the tier, and makes the run which that takes in.
// Thread safety: the compaction thread.
// Invariants: those of tier_filler.h.
// Persistence: none.
#pragma once

#include <string_view>
#include <utility>

#include "base/check.h"
#include "compaction/tier_filler.h"
#include "engine/stored_value.h"
#include "index/entry_tree.h"
#include "merge/borders.h"

namespace braid::compaction {

/// The versions of keys, as a walk over the last level comes to them.
class TierFiller::Keys {
 public:
  Keys(const Store& store, index::LiveViews views, bool deletes_only, Part* part)
      : store_(store), views_(std::move(views)), deletes_only_(deletes_only), part_(part) {}

  /// Invariant 1.
  static bool MayGo(const index::LiveViews& views, const format::EntryHeader& newest) noexcept {
    return views.empty() || newest.sequence() <= views.front();
  }
  /// A larger value stays: a run takes as much memory again, and RocksDB's sizes end at 4 GiB.
  static bool Takes(std::string_view value) noexcept { return value.size() <= kMostValueBytes; }
  /// The newest version of a key.
  Status Take(const format::EntryHeader& entry) {
    if (merge::IsBorder(entry)) return Status::OK();
    const bool is_delete = entry.op() == format::EntryOp::kDelete;
    if (deletes_only_ && !is_delete) return Status::OK();
    if (!MayGo(views_, entry)) return Status::OK();
    const uint64_t offset = store_.pool->OffsetOf(&entry);
    std::string_view value;
    // Damage stays where it is, for the reads and checks that report it.
    const Status read = is_delete ? CheckKey(entry, offset)
                                  : engine::ReadStoredValue(*store_.pool, offset, true, &value);
    met_damage_ = met_damage_ || read.IsCorruption();
    if (read.IsCorruption()) return Status::OK();
    if (!read.ok()) return read;
    if (!Takes(value)) return Status::OK();
    part_->keys.push_back(offset);
    if (is_delete && !store_.tier->MayHold(entry.key())) return Status::OK();
    part_->run.push_back({entry.key(), value, entry.sequence(), is_delete});
    part_->bytes += entry.key().size() + value.size();
    BRAID_DCHECK(part_->run.size() <= part_->keys.size());
    return Status::OK();
  }
  bool met_damage() const noexcept { return met_damage_; }

 private:
  static constexpr uint64_t kMostValueBytes = 1ull << 30;

  Status CheckKey(const format::EntryHeader& entry, uint64_t offset) const {
    if (index::KeyIsIntact(*store_.pool, entry, offset, base::Hash64(entry.key()))) {
      return Status::OK();
    }
    return store_.pool->CorruptionAt(offset, "entry", "its check does not match");
  }

  const Store& store_;
  const index::LiveViews views_;
  const bool deletes_only_;
  Part* part_;
  bool met_damage_ = false;
};

}  // namespace braid::compaction
