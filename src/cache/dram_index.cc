// Purpose: building the DRAM index over L1. Thread safety, invariants, persistence: dram_index.h.
#include "cache/dram_index.h"

namespace braid::cache {

using format::EntryHeader;

DramIndex::DramIndex(pmem::PmemPool* pool, uint32_t min_height)
    : pool_(pool),
      min_height_(min_height),
      tree_(index::NewEntryIndex(pool, MemTableKind::kBTree)) {}

Status DramIndex::BuildSlice(const index::SkipList& list, uint64_t count) {
  index::Damage damage;
  const EntryHeader* entry = nullptr;
  if (!begun_) {
    entry = list.First(&damage);
    begun_ = true;
  } else {
    entry = list.FindGE(last_key_, &damage);
  }
  const EntryHeader* previous = nullptr;
  // A slice ends between two keys: the next one begins at a key's newest version, so it would not
  // get past a key with more versions than a slice has entries.
  while (entry != nullptr) {
    const std::string_view key = entry->key();
    const bool is_newest = previous == nullptr || key != previous->key();
    if (is_newest && count == 0) break;
    if (previous != nullptr && !index::InOrder(*previous, *entry)) {
      damage.at = pool_->OffsetOf(entry);  // perhaps a circle
      break;
    }
    // Only the newest version of a key is indexed; it comes first.
    if (is_newest && entry->height() >= min_height_) {
      const uint64_t offset = pool_->OffsetOf(entry);
      tree_->Upsert(key, [&](uint64_t) { return offset; });
    }
    if (count > 0) --count;
    ++entries_;
    previous = entry;
    entry = list.Next(entry, &damage);
  }
  if (damage) return index::DamageStatus(*pool_, damage.at);
  if (entry == nullptr) {
    complete_ = true;
    last_key_.clear();
  } else {
    last_key_.assign(entry->key());
  }
  return Status::OK();
}

}  // namespace braid::cache
