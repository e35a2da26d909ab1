// Purpose: the link flush. Thread safety, invariants, persistence: see link_flush.h.
#include "flush/link_flush.h"

#include <cstring>

#include "base/mutants.h"

namespace braid::flush {

using format::EntryHeader;
using format::EntryPtr;
using format::kMaxHeight;

Result<FlushResult> LinkFlush::Run(const index::EntryTree& tree, const index::LiveViews& views,
                                   uint64_t head_offset) {
  result_ = FlushResult{};
  // The head is put together in DRAM; entries are linked where they are.
  for (uint32_t layer = 0; layer < kMaxHeight; ++layer) last_[layer] = &head_[layer];
  constexpr size_t kLeaf = 64;
  uint64_t refs[kLeaf];
  size_t count = tree.ScanFromStart(refs, kLeaf);
  while (count > 0) {
    for (size_t i = 0; i < count; ++i) __builtin_prefetch(pool_->At(refs[i]), 1);
    for (size_t i = 0; i < count; ++i) LinkVersions(refs[i], views);
    count = tree.ScanForward(index::EntryKeyOf(pool_)(refs[count - 1]), false, refs, kLeaf);
  }
  Close();
  pmem::PersistOps& ops = pool_->ops();
  ops.Copy(pool_->At(head_offset), head_, sizeof head_);
  if (!BRAID_MUTANT(kFlushHeadNotFlushed)) ops.Flush(pool_->At(head_offset), sizeof head_);
  if (!BRAID_MUTANT(kFlushNotFenced)) ops.Fence();
  return std::move(result_);
}

/// Links the versions of one key that are needed and drops the others.
void LinkFlush::LinkVersions(uint64_t newest, const index::LiveViews& views) {
  uint64_t newer = index::kLatest;
  for (uint64_t offset = newest; offset != 0;) {
    auto* entry = pool_->As<EntryHeader>(offset);
    const uint64_t sequence = entry->sequence();
    const EntryPtr next{std::atomic_ref<uint64_t>(*entry->links()).load(std::memory_order_relaxed)};
    const bool seen = index::IsVersionNeeded(
        BRAID_MUTANT(kFlushIgnoresViews) ? index::LiveViews{} : views, sequence, newer);
    if (seen && !(BRAID_MUTANT(kFlushDropsDeletes) && entry->op() == format::EntryOp::kDelete)) {
      LinkEntry(entry);
    } else {
      Drop(entry);
    }
    newer = sequence;
    offset = next.raw == 0 ? 0 : next.offset();
  }
}

void LinkFlush::LinkEntry(EntryHeader* entry) {
  pmem::PersistOps& ops = pool_->ops();
  const uint64_t offset = pool_->OffsetOf(entry);
  const uint64_t link = EntryPtr::To(offset).raw;
  for (uint32_t layer = 0; layer < entry->height(); ++layer) {
    if (BRAID_MUTANT(kTowerHalfBuilt) && layer > 0 && layer + 1 == entry->height()) break;
    uint64_t* target = last_[layer];
    if (target >= head_ && target < head_ + kMaxHeight) {
      *target = link;  // the head's copy in DRAM
    } else {
      ops.StoreU64(target, link);
      // The predecessor's bottom link is flushed with its header below; upper ones stand alone.
      if (layer > 0 && !BRAID_MUTANT(kFlushLinksNotFlushed) &&
          !BRAID_MUTANT(kFlushUpperLinksNotFlushed)) {
        ops.Flush(target, sizeof *target);
      }
    }
    last_[layer] = entry->links() + layer;
  }
  if (unflushed_ != nullptr && !BRAID_MUTANT(kFlushLinksNotFlushed)) {
    ops.Flush(unflushed_->links(), sizeof(uint64_t));
  }
  unflushed_ = entry;
  ++result_.entries;
  result_.max_sequence = std::max(result_.max_sequence, entry->sequence());
  usage_->Add(pool_->ChunkOf(offset), entry->size());
}

void LinkFlush::Drop(EntryHeader* entry) {
  pmem::PersistOps& ops = pool_->ops();
  ops.StoreByte(entry->state_byte(), format::kStateDead);
  if (!BRAID_MUTANT(kDeadMarkNotFlushed)) ops.Flush(entry->state_byte(), 1);
  if (entry->has(format::kValueInExtent)) {
    format::ExtentRef ref;
    std::memcpy(&ref, entry->value().data(), sizeof ref);
    if (BRAID_MUTANT(kExtentFreedTooEarly)) return pool_->FreeExtent(ref.offset);
    result_.dead_extents.push_back(ref.offset);
  }
}

/// Ends every layer.
void LinkFlush::Close() {
  pmem::PersistOps& ops = pool_->ops();
  const uint64_t end = EntryPtr::End().raw;
  for (uint64_t* target : last_) {
    if (target >= head_ && target < head_ + kMaxHeight) {
      *target = end;
      continue;
    }
    ops.StoreU64(target, end);
    if (!BRAID_MUTANT(kFlushLinksNotFlushed) && !BRAID_MUTANT(kFlushEndsNotFlushed)) {
      ops.Flush(target, sizeof *target);
    }
  }
  unflushed_ = nullptr;
}

}  // namespace braid::flush
