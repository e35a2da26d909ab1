// Purpose: building the DRAM index over L1. Thread safety, invariants, persistence: dram_index.h.
#include "cache/dram_index.h"

#include "base/prefetch.h"
#include "index/list_walk.h"

namespace braid::cache {

using format::EntryHeader;

namespace {
/// Entries whose keys are on their way while one is inserted.
constexpr size_t kAhead = 8;
}  // namespace

DramIndex::DramIndex(pmem::PmemPool* pool, uint32_t min_height)
    : pool_(pool),
      min_height_(min_height),
      tree_(index::NewEntryIndex(pool, MemTableKind::kBTree)) {}

void DramIndex::Add(const EntryHeader& entry) {
  if (entry.height() < min_height_) return;
  const uint64_t offset = pool_->OffsetOf(&entry);
  tree_->Upsert(entry.key(), [&](uint64_t) { return offset; });
}

Status DramIndex::BuildSlice(const index::SkipList& list, uint64_t count) {
  index::Damage damage;
  const EntryHeader* start = begun_ ? list.FindGE(last_key_, &damage) : list.First(&damage);
  begun_ = true;
  index::ListWalk walk(list, start);
  const EntryHeader* previous = nullptr;
  const auto take = [&](const EntryHeader* entry) {
    if (previous != nullptr && !index::InOrder(*previous, *entry)) {
      damage.at = pool_->OffsetOf(entry);  // perhaps a circle
      return false;
    }
    // Only the newest version of a key is indexed; it comes first.
    if (previous == nullptr || entry->key() != previous->key()) Add(*entry);
    ++entries_;
    previous = entry;
    return true;
  };
  for (uint64_t taken = 0; taken < count && walk.next() != nullptr && !damage;) {
    index::Damage met;
    const std::vector<const EntryHeader*>& round = walk.Round(&met);
    taken += round.size();
    for (size_t i = 0; i < round.size(); ++i) {
      // The round is as large as a cache, and its first entries may have left it again.
      if (i + kAhead < round.size())
        base::PrefetchRange(round[i + kAhead], index::ListWalk::kTouched);
      if (!take(round[i])) break;
    }
    if (!damage) damage = met;
  }
  // A slice ends between two keys: the next one begins at a key's newest version, so it would not
  // get past a key with more versions than a slice has entries.
  const EntryHeader* entry = damage ? nullptr : walk.next();
  while (entry != nullptr && entry->key() == previous->key() && take(entry)) {
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
