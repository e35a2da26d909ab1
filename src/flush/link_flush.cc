// Purpose: the link flush.
// Thread safety, invariants, persistence: see link_flush.h.
#include "flush/link_flush.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "flush/tree_walk.h"

namespace braid::flush {

using format::EntryHeader;
using format::EntryPtr;
using format::kMaxHeight;

namespace {
/// Entries of one sequence number that a rebuild may meet: an original and copies of it whose
/// obsolete marks did not reach the medium.
constexpr int kMaxTwins = 1000;
}  // namespace

Result<FlushResult> LinkFlush::Run(const index::EntryIndex& tree, const index::LiveViews& views,
                                   uint64_t head_offset) {
  BRAID_DCHECK(pool_->IsHead(head_offset) && unflushed_ == nullptr);
  BRAID_DCHECK(pool_->strands() <= format::kMaxRegions);
  result_ = FlushResult{};
  result_.is_plain = true;
  // The head is put together in DRAM; entries are linked where they are.
  for (uint32_t strand = 0; strand < pool_->strands(); ++strand) {
    for (uint32_t layer = 0; layer < kMaxHeight; ++layer) {
      last_[strand][layer] = &heads_[strand][layer];
    }
  }
  if (Status s = LinkAll(tree, views); !s.ok()) return s;
  Close();
  BRAID_DCHECK(write_back_ == WriteBack::kNow ? result_.touched.empty()
                                              : result_.touched.size() >= result_.entries);
  media::PersistOps& ops = pool_->ops();
  for (uint32_t strand = 0; strand < pool_->strands(); ++strand) {
    // A link that is zero would be damage to a reader that follows it.
    BRAID_DCHECK(std::count(heads_[strand], heads_[strand] + kMaxHeight, 0u) == 0);
    char* head = pool_->At(pool_->StrandHead(head_offset, strand));
    ops.Copy(head, heads_[strand], sizeof heads_[strand]);
    Flush(head, sizeof heads_[strand],
          strand == 0 ? media::Site::kFlushHead : media::Site::kFlushStrandHead);
  }
  if (write_back_ == WriteBack::kNow) ops.Fence(media::Site::kFlushFence);
  return std::move(result_);
}

Status LinkFlush::LinkAll(const index::EntryIndex& tree, const index::LiveViews& views) {
  constexpr WalkAhead kAhead{.entries = kWalkedAtOnce,
                             .bytes = sizeof(EntryHeader) + sizeof(uint64_t)};
  return WalkTree(
      *pool_, tree, kAhead, [&](uint64_t newest) { return LinkVersions(newest, views); }, [] {});
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
    const bool seen = index::IsVersionNeeded(views, sequence, newer);
    if (seen) {
      LinkEntry(entry);
      if (offset != newest || entry->op() != format::EntryOp::kPut) result_.is_plain = false;
      if (lookup_ != nullptr && offset == newest) {
        lookup_->Fill(base::Hash64(entry->key()), offset);
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
  media::PersistOps& ops = pool_->ops();
  const uint64_t offset = pool_->OffsetOf(entry);
  const uint64_t link = pool_->LinkTo(offset).raw;
  const uint32_t own_strand = pool_->StrandOf(offset);
  BRAID_DCHECK(own_strand < pool_->strands());
  BRAID_DCHECK(entry->height() >= 1 || pool_->failed());
  for (uint32_t layer = 0; layer < entry->height(); ++layer) {
    uint64_t*& last = last_[layer == 0 ? 0 : own_strand][layer];
    uint64_t* target = last;
    BRAID_DCHECK(target != nullptr);  // Run has begun every layer of every strand
    if (IsHeadLink(target)) {
      *target = link;  // the head's copy in DRAM
    } else {
      ops.StoreU64(target, link);
      // The predecessor's bottom link is flushed with its header below; upper ones stand alone.
      if (layer > 0) Flush(target, sizeof *target, media::Site::kFlushUpperLink);
    }
    last = entry->links() + layer;
  }
  if (unflushed_ != nullptr) {
    Flush(unflushed_->links(), sizeof(uint64_t), media::Site::kFlushLink);
  }
  unflushed_ = entry;
  ++result_.entries;
  result_.max_sequence = std::max(result_.max_sequence, entry->sequence());
  usage_->Add(pool_->ChunkOf(offset), entry->size());
}

void LinkFlush::Drop(EntryHeader* entry) {
  media::PersistOps& ops = pool_->ops();
  ops.StoreByte(entry->state_byte(), format::kStateObsolete);
  Flush(entry->state_byte(), 1, media::Site::kFlushObsoleteMark);
  if (const uint64_t extent = pool_->ExtentOf(pool_->OffsetOf(entry)); extent != 0) {
    result_.obsolete_extents.push_back(extent);
  }
}

/// Ends every layer.
void LinkFlush::Close() {
  media::PersistOps& ops = pool_->ops();
  const uint64_t end = EntryPtr::End().raw;
  for (uint32_t strand = 0; strand < pool_->strands(); ++strand) {
    for (uint64_t* target : last_[strand]) {
      if (IsHeadLink(target)) {
        *target = end;
        continue;
      }
      ops.StoreU64(target, end);
      Flush(target, sizeof *target, media::Site::kFlushEnd);
    }
  }
  unflushed_ = nullptr;
}

}  // namespace braid::flush
