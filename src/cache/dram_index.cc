// Purpose: building the DRAM index over L1.
// Thread safety, invariants, persistence: dram_index.h.
#include "cache/dram_index.h"

#include <utility>

#include "base/check.h"

namespace braid::cache {

using format::EntryHeader;

DramIndex::DramIndex(pool::PmemPool* pool, uint32_t min_height)
    : pool_(pool),
      min_height_(min_height),
      tree_(index::NewEntryIndex(pool, MemTableKind::kBTree)),
      walk_(pool) {
  BRAID_CHECK(min_height >= 1 && min_height <= format::kMaxHeight);
}

DramIndex::DramIndex(pool::PmemPool* pool, std::shared_ptr<index::EntryIndex> tree)
    : pool_(pool), min_height_(1), tree_(std::move(tree)), is_given_(true), walk_(pool) {
  BRAID_CHECK(tree_ != nullptr);
}

void DramIndex::Add(const EntryHeader& entry) {
  if (entry.height() < min_height_) return;
  const uint64_t offset = pool_->OffsetOf(&entry);
  tree_->Upsert(entry.key(), [&](uint64_t) { return offset; });
}

Status DramIndex::BuildSlice(const index::SkipList& list, uint64_t count) {
  return walk_.Slice(list, count, [this](const EntryHeader& entry) { Add(entry); });
}

}  // namespace braid::cache
