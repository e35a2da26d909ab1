// Purpose: the copying flush.
// Thread safety, invariants, persistence: see copy_flush.h.
#include "flush/copy_flush.h"

#include "base/check.h"
#include "base/prefetch.h"
#include "log/log_reader.h"

namespace braid::flush {

using format::ChunkKind;
using format::EntryHeader;
using format::EntryPtr;

Result<FlushResult> CopyFlush::Run(index::EntryIndex* tree, const index::LiveViews& views,
                                   uint64_t head_offset) {
  BRAID_DCHECK(copy_of_.empty() && newest_.empty() && kept_chunks_.empty());
  BRAID_DCHECK(pool_->IsHead(head_offset));
  if (Status s = CopyAll(*tree, views); !s.ok()) {
    GiveBack();
    return s;
  }
  LinkFlush link(pool_, usage_, lookup_);
  link.set_copies(&copy_of_);
  Result<FlushResult> linked = link.Run(*tree, views, head_offset);
  if (!linked.ok()) return linked;
  ShowCopies(tree);
  KeepChunks();
  pool_->ops().Fence(media::Site::kCopyFlushFence);
  return linked;
}

/// All that needs room in the pool, before anything else changes.
Status CopyFlush::CopyAll(const index::EntryIndex& tree, const index::LiveViews& views) {
  constexpr size_t kLeaf = 64;
  uint64_t refs[kLeaf];
  size_t count = tree.ScanFromStart(refs, kLeaf);
  while (count > 0) {
    for (size_t i = 0; i < count; ++i) base::Prefetch(pool_->At(refs[i]));
    for (size_t i = 0; i < count; ++i) {
      if (Status s = CopyVersions(refs[i], views); !s.ok()) return s;
    }
    // A node of the map takes about six words.
    charge_.Set(sizeof(uint64_t) *
                (copy_of_.bucket_count() + 6 * copy_of_.size() + newest_.capacity()));
    if (pool_->failed()) return pool_->FaultStatus();
    const uint64_t last = refs[count - 1];
    const std::string_view key = pool_->KeyAt(last);
    count = tree.ScanForward(key, false, refs, kLeaf);
    // The next keys are found by a key in the pool; where that is lost the walk would not end.
    if (count > 0 && pool_->KeyAt(refs[count - 1]) <= key) {
      if (pool_->failed()) return pool_->FaultStatus();
      return pool_->CorruptionAt(last, "log entry", "its key has changed since it was written");
    }
  }
  return Status::OK();
}

/// Of one key, newest first; which are needed is decided as LinkFlush does, by the same views.
Status CopyFlush::CopyVersions(uint64_t newest, const index::LiveViews& views) {
  uint64_t newer = index::kLatest;
  for (uint64_t offset = newest; offset != 0;) {
    const EntryHeader* entry = pool_->EntryAt(offset);
    // A copy gets new checks: damage must not be copied, or nobody would see it again.
    if (entry == nullptr || entry->sequence() >= newer || !log::EntryVerifies(*pool_, offset)) {
      return pool_->CorruptionAt(offset, "log entry", "it has changed since it was written");
    }
    const uint64_t sequence = entry->sequence();
    const EntryPtr next{
        std::atomic_ref<const uint64_t>(*entry->links()).load(std::memory_order_relaxed)};
    if (index::IsVersionNeeded(views, sequence, newer)) {
      if (Status s = CopyEntry(*entry, offset); !s.ok()) return s;
    }
    newer = sequence;
    offset = next.raw == 0 ? 0 : next.offset();
  }
  if (const auto copy = copy_of_.find(newest); copy != copy_of_.end()) {
    newest_.push_back(copy->second);
  }
  return Status::OK();
}

Status CopyFlush::CopyEntry(const EntryHeader& entry, uint64_t offset) {
  const uint64_t chunk = pool_->ChunkOf(offset);
  if (pool_->StateOf(chunk).kind() != ChunkKind::kWriteAhead) return Status::OK();
  if (entry.has(format::kValueInExtent)) {
    kept_chunks_.insert(chunk);
    return Status::OK();
  }
  log::PendingEntry pending;
  pending.op = entry.op();
  pending.key = entry.key();
  pending.value = entry.value();
  pending.key_hash = base::Hash64(pending.key);
  const uint32_t shard = pool_->RegionOfChunk(chunk);
  if (Status s =
          copies_.Reserve(shard, &pending, 1, base::Mix(pending.key_hash, entry.sequence_and_op),
                          pool::AllocationClass::kBackground);
      !s.ok()) {
    return s;
  }
  copies_.WritePayload(&pending);
  // A copy stands alone: its write is whole.
  copies_.Publish(pending, entry.sequence(), format::kFirstOfUnit, 0);
  copies_.Commit(shard);
  BRAID_DCHECK(pool_->StateOf(pool_->ChunkOf(pending.offset)).kind() == ChunkKind::kCopied);
  BRAID_DCHECK(pending.offset != offset && pending.extent == 0);
  copy_of_.emplace(offset, pending.offset);
  return Status::OK();
}

void CopyFlush::GiveBack() {
  for (const uint64_t chunk : copies_.chunks()) {
    BRAID_DCHECK(pool_->StateOf(chunk).kind() == ChunkKind::kCopied);  // never the log's own
    pool_->FreeChunk(chunk);
  }
}

void CopyFlush::ShowCopies(index::EntryIndex* tree) {
  for (const uint64_t copy : newest_) {
    BRAID_DCHECK(pool_->EntryAt(copy) != nullptr || pool_->failed());
    tree->Upsert(pool_->KeyAt(copy), [&](uint64_t) { return copy; });
  }
}

/// Write-ahead chunks with large values become chunks of the table, in which only these are live.
void CopyFlush::KeepChunks() {
  media::PersistOps& ops = pool_->ops();
  for (const uint64_t chunk : kept_chunks_) {
    BRAID_DCHECK(pool_->StateOf(chunk).kind() == ChunkKind::kWriteAhead);  // invariant 3
    log::ForEachEntry(*pool_, chunk, [&](uint64_t offset, const EntryHeader& entry) {
      if (entry.has(format::kValueInExtent) || entry.state() != format::kStateLive) return;
      auto* copied = pool_->As<EntryHeader>(offset);
      ops.StoreByte(copied->state_byte(), format::kStateObsolete);
      ops.Flush(copied->state_byte(), 1, media::Site::kKeptChunkMark);
    });
    pool_->KeepWriteAhead(chunk);
  }
}

}  // namespace braid::flush
