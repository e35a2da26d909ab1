// Purpose: building the DRAM index over L1. Thread safety, invariants, persistence: dram_index.h.
#include "cache/dram_index.h"

namespace braid::cache {

using format::EntryHeader;

DramIndex::DramIndex(pmem::PmemPool* pool, uint32_t min_height)
    : pool_(pool),
      min_height_(min_height),
      tree_(std::make_shared<index::EntryTree>(index::EntryKeyOf(pool))) {}

Status DramIndex::BuildSlice(const index::SkipList& list, uint64_t count) {
  index::Damage damage;
  const EntryHeader* entry = nullptr;
  if (!begun_) {
    entry = list.First(&damage);
    begun_ = true;
  } else {
    entry = list.FindGE(last_key_, &damage);
  }
  std::string_view previous;
  bool has_previous = false;
  for (; entry != nullptr && count > 0; --count) {
    const std::string_view key = entry->key();
    // Only the newest version of a key is indexed; it comes first.
    if ((!has_previous || key != previous) && entry->height() >= min_height_) {
      const uint64_t offset = pool_->OffsetOf(entry);
      tree_->Upsert(key, [&](uint64_t) { return offset; });
    }
    previous = key;
    has_previous = true;
    entry = list.Next(entry, &damage);
  }
  if (damage) return pool_->CorruptionAt(damage.at, "skip list", "a link or key is damaged");
  if (entry == nullptr) {
    complete_ = true;
    last_key_.clear();
  } else {
    last_key_.assign(entry->key());
  }
  return Status::OK();
}

}  // namespace braid::cache
