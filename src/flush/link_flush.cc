// Purpose: the link flush. Thread safety, invariants, persistence: see link_flush.h.
#include "flush/link_flush.h"

#include <array>

#include "base/check.h"
#include "base/mutants.h"
#include "base/prefetch.h"

namespace braid::flush {

using format::EntryHeader;
using format::EntryPtr;
using format::kMaxHeight;

namespace {
/// Entries of one sequence number that a rebuild may meet: an original and copies of it whose marks
/// of death did not reach the medium.
constexpr int kMaxTwins = 1000;
}  // namespace

Result<FlushResult> LinkFlush::Run(const index::EntryIndex& tree, const index::LiveViews& views,
                                   uint64_t head_offset) {
  BRAID_DCHECK(pool_->IsHead(head_offset) && unflushed_ == nullptr);
  result_ = FlushResult{};
  // The head is put together in DRAM; entries are linked where they are.
  for (uint32_t strand = 0; strand < pool_->strands(); ++strand) {
    for (uint32_t layer = 0; layer < kMaxHeight; ++layer) {
      last_[strand][layer] = &heads_[strand][layer];
    }
  }
  if (Status s = LinkAll(tree, views); !s.ok()) return s;
  Close();
  pmem::PersistOps& ops = pool_->ops();
  for (uint32_t strand = 0; strand < pool_->strands(); ++strand) {
    char* head = pool_->At(pool_->StrandHead(head_offset, strand));
    ops.Copy(head, heads_[strand], sizeof heads_[strand]);
    if (strand > 0 && BRAID_MUTANT(kFlushStrandHeadsNotFlushed)) continue;
    if (!BRAID_MUTANT(kFlushHeadNotFlushed)) Flush(head, sizeof heads_[strand]);
  }
  if (write_back_ == WriteBack::kNow && !BRAID_MUTANT(kFlushNotFenced)) ops.Fence();
  return std::move(result_);
}

/// Leaf by leaf; the entries of the next leaf are on their way while those of this one are linked.
Status LinkFlush::LinkAll(const index::EntryIndex& tree, const index::LiveViews& views) {
  constexpr size_t kLeaf = 64;
  std::array<uint64_t, kLeaf> leaves[2];
  const auto ask = [&](const std::array<uint64_t, kLeaf>& refs, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      base::PrefetchRange(pool_->At(refs[i]), sizeof(EntryHeader) + sizeof(uint64_t));
    }
  };
  size_t count = tree.ScanFromStart(leaves[0].data(), kLeaf);
  ask(leaves[0], count);
  for (size_t turn = 0; count > 0; turn ^= 1) {
    const std::array<uint64_t, kLeaf>& refs = leaves[turn];
    std::array<uint64_t, kLeaf>& next = leaves[turn ^ 1];
    const uint64_t last = refs[count - 1];
    const std::string_view key = pool_->KeyAt(last);
    const size_t next_count = tree.ScanForward(key, false, next.data(), kLeaf);
    ask(next, next_count);
    for (size_t i = 0; i < count; ++i) {
      if (Status s = LinkVersions(refs[i], views); !s.ok()) return s;
    }
    // The next leaf is found by a key in the pool; where that is lost the walk would not end.
    if (pool_->failed()) return pool_->FaultStatus();
    count = next_count;
    if (count > 0 && pool_->KeyAt(next[count - 1]) <= key) {
      if (pool_->failed()) return pool_->FaultStatus();
      return pool_->CorruptionAt(last, "log entry", "its key has changed since it was written");
    }
  }
  return Status::OK();
}

/// Links the versions of one key that are needed and drops the others. Versions grow older from
/// link to link; what does not was changed by a merge into a list that a hostile pool laid over the
/// log.
Status LinkFlush::LinkVersions(uint64_t newest, const index::LiveViews& views) {
  uint64_t newer = index::kLatest;
  int twins_left = kMaxTwins;
  for (uint64_t offset = newest; offset != 0;) {
    auto* entry = pool_->EntryAt(offset);
    if (entry == nullptr || entry->sequence() > newer ||
        (entry->sequence() == newer && --twins_left < 0)) {
      return pool_->CorruptionAt(offset, "log entry", "it has changed since it was written");
    }
    if (write_back_ == WriteBack::kLater) result_.touched.push_back(offset);
    const uint64_t sequence = entry->sequence();
    const EntryPtr next{std::atomic_ref<uint64_t>(*entry->links()).load(std::memory_order_relaxed)};
    const bool seen = index::IsVersionNeeded(
        BRAID_MUTANT(kFlushIgnoresViews) ? index::LiveViews{} : views, sequence, newer);
    if (seen && !(BRAID_MUTANT(kFlushDropsDeletes) && entry->op() == format::EntryOp::kDelete)) {
      const uint64_t placed = Placed(offset);
      LinkEntry(pool_->As<EntryHeader>(placed));
      const bool skipped =
          BRAID_MUTANT(kLookupSkipsDeletes) && entry->op() == format::EntryOp::kDelete;
      if (lookup_ != nullptr && offset == newest && !skipped) {
        lookup_->Fill(base::Hash64(entry->key()), placed);
      }
    } else {
      Drop(entry);
    }
    newer = sequence;
    offset = next.raw == 0 ? 0 : next.offset();
  }
  return Status::OK();
}

void LinkFlush::LinkEntry(EntryHeader* entry) {
  pmem::PersistOps& ops = pool_->ops();
  const uint64_t offset = pool_->OffsetOf(entry);
  const uint64_t link = pool_->LinkTo(offset).raw;
  const uint32_t own_strand = pool_->StrandOf(offset);
  BRAID_DCHECK(own_strand < pool_->strands() && entry->height() >= 1);
  for (uint32_t layer = 0; layer < entry->height(); ++layer) {
    if (BRAID_MUTANT(kTowerHalfBuilt) && layer > 0 && layer + 1 == entry->height()) break;
    uint64_t*& last = last_[layer == 0 ? 0 : own_strand][layer];
    uint64_t* target = last;
    if (IsHeadLink(target)) {
      *target = link;  // the head's copy in DRAM
    } else {
      ops.StoreU64(target, link);
      // The predecessor's bottom link is flushed with its header below; upper ones stand alone.
      if (layer > 0 && !BRAID_MUTANT(kFlushLinksNotFlushed) &&
          !BRAID_MUTANT(kFlushUpperLinksNotFlushed)) {
        Flush(target, sizeof *target);
      }
    }
    last = entry->links() + layer;
  }
  if (unflushed_ != nullptr && !BRAID_MUTANT(kFlushLinksNotFlushed)) {
    Flush(unflushed_->links(), sizeof(uint64_t));
  }
  unflushed_ = entry;
  ++result_.entries;
  result_.max_sequence = std::max(result_.max_sequence, entry->sequence());
  usage_->Add(pool_->ChunkOf(offset), entry->size());
}

void LinkFlush::Drop(EntryHeader* entry) {
  pmem::PersistOps& ops = pool_->ops();
  ops.StoreByte(entry->state_byte(), format::kStateDead);
  if (!BRAID_MUTANT(kDeadMarkNotFlushed)) Flush(entry->state_byte(), 1);
  if (const uint64_t extent = pool_->ExtentOf(pool_->OffsetOf(entry)); extent != 0) {
    if (BRAID_MUTANT(kExtentFreedTooEarly)) return pool_->FreeExtent(extent);
    result_.dead_extents.push_back(extent);
  }
}

/// Ends every layer.
void LinkFlush::Close() {
  pmem::PersistOps& ops = pool_->ops();
  const uint64_t end = EntryPtr::End().raw;
  for (uint32_t strand = 0; strand < pool_->strands(); ++strand) {
    for (uint64_t* target : last_[strand]) {
      if (IsHeadLink(target)) {
        *target = end;
        continue;
      }
      ops.StoreU64(target, end);
      if (!BRAID_MUTANT(kFlushLinksNotFlushed) && !BRAID_MUTANT(kFlushEndsNotFlushed)) {
        Flush(target, sizeof *target);
      }
    }
  }
  unflushed_ = nullptr;
}

}  // namespace braid::flush
