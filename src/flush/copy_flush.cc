// Purpose: the copying flush.
// Thread safety, invariants, persistence: see copy_flush.h.
#include "flush/copy_flush.h"

#include <algorithm>

#include "base/check.h"
#include "base/no_throw.h"
#include "flush/tree_walk.h"
#include "log/log_reader.h"

namespace braid::flush {

using format::ChunkKind;
using format::EntryHeader;
using format::EntryPtr;

namespace {
/// Of an entry that is asked for ahead, in bytes: behind that the hardware goes on.
constexpr uint64_t kMostAsked = 192;
}  // namespace

Result<FlushResult> CopyFlush::Run(index::EntryIndex* tree, const index::LiveViews& views,
                                   uint64_t head_offset, Log log) {
  BRAID_DCHECK(newest_.empty() && dropped_.empty() && kept_chunks_.empty());
  BRAID_DCHECK(pool_->IsHead(head_offset));
  result_.is_plain = true;
  Status copied = base::CatchToStatus([&] { return CopyAll(*tree, views, log); });
  if (copied.ok() && pool_->failed()) copied = pool_->FaultStatus();
  if (!copied.ok()) {
    pool_->EndCopies(0);
    copies_.GiveBack();
    return copied;
  }
  copies_.Close(head_offset);
  MarkDropped();
  ShowCopies(tree);
  FillLookups();
  KeepChunks();
  pool_->ops().Fence(media::Site::kCopyFlushFence);
  return std::move(result_);
}

/// All that needs room in the pool, before anything else changes.
Status CopyFlush::CopyAll(const index::EntryIndex& tree, const index::LiveViews& views, Log log) {
  // At once: to copy what was noted, to twice the room, is a step of milliseconds.
  newest_.reserve(tree.size());
  if (lookup_ != nullptr) hashes_.reserve(tree.size());
  const auto charge = [this] {
    charge_.Set(newest_.capacity() * sizeof(index::Replacement) +
                (hashes_.capacity() + dropped_.capacity()) * sizeof(uint64_t));
  };
  WalkAhead ahead{.entries = 12, .bytes = kMostAsked};
  const auto copy = [&](uint64_t newest) {
    if (Status s = CopyVersions(newest, views, log); !s.ok()) return s;
    // Those that come are most likely as large.
    ahead.bytes = std::min(pool_->As<EntryHeader>(newest)->size(), kMostAsked);
    return Status::OK();
  };
  return WalkTree(*pool_, tree, ahead, copy, charge);
}

/// Of one key, newest first; which are needed is decided as LinkFlush does, by the same views. Each
/// older version is a wait for memory, and a key that is written to all the time has thousands.
Status CopyFlush::CopyVersions(uint64_t newest, const index::LiveViews& views, Log log) {
  uint64_t newer = index::kLatest;
  for (uint64_t offset = newest; offset != 0;) {
    const EntryHeader* entry = pool_->EntryAt(offset);
    if (entry == nullptr || entry->sequence() >= newer) {
      return pool_->CorruptionAt(offset, "log entry", "it has changed since it was written");
    }
    const uint64_t sequence = entry->sequence();
    const EntryPtr next{
        std::atomic_ref<const uint64_t>(*entry->links()).load(std::memory_order_relaxed)};
    if (index::IsVersionNeeded(views, sequence, newer)) {
      if (Status s = Place(*entry, offset, offset == newest); !s.ok()) return s;
    } else {
      Drop(*entry, offset);
    }
    if (log == Log::kGoes && !index::IsAnyOlderNeeded(views, sequence)) break;
    newer = sequence;
    offset = next.raw == 0 ? 0 : next.offset();
  }
  return Status::OK();
}

bool CopyFlush::IsCopied(const EntryHeader& entry, uint64_t offset) const {
  return !entry.has(format::kValueInExtent) &&
         pool_->StateOf(pool_->ChunkOf(offset)).kind() == ChunkKind::kWriteAhead;
}

/// Into the list: a copy, or the entry itself.
Status CopyFlush::Place(const EntryHeader& entry, uint64_t offset, bool is_newest) {
  log::PendingEntry pending = level::CopiedEntries::CopyOf(entry);
  uint64_t place = offset;
  if (IsCopied(entry, offset)) {
    // A copy gets new checks: damage must not be copied, or nobody would see it again.
    if (!index::KeyIsIntact(*pool_, entry, offset, pending.key_hash) ||
        format::ValueCheck(pending.value) != entry.value_check) {
      return pool_->CorruptionAt(offset, "log entry", "it has changed since it was written");
    }
    const uint32_t region = pool_->RegionOfChunk(pool_->ChunkOf(offset));
    const Result<uint64_t> copy = copies_.Add(&pending, entry.sequence(), region);
    if (!copy.ok()) return copy.status();
    place = *copy;
    BRAID_DCHECK(place != offset && pending.extent == 0);
  } else {
    const uint64_t chunk = pool_->ChunkOf(offset);
    if (pool_->StateOf(chunk).kind() == ChunkKind::kWriteAhead) kept_chunks_.insert(chunk);
    copies_.AddInPlace(offset);
  }
  ++result_.entries;
  result_.max_sequence = std::max(result_.max_sequence, entry.sequence());
  if (!is_newest || pending.op != format::EntryOp::kPut) result_.is_plain = false;
  if (!is_newest) return Status::OK();
  newest_.push_back({offset, place});
  if (lookup_ != nullptr) hashes_.push_back(pending.key_hash);
  return Status::OK();
}

/// Not into the list. A record that goes with its chunk needs no mark.
void CopyFlush::Drop(const EntryHeader& entry, uint64_t offset) {
  if (!IsCopied(entry, offset)) dropped_.push_back(offset);
}

void CopyFlush::MarkDropped() {
  media::PersistOps& ops = pool_->ops();
  for (const uint64_t offset : dropped_) {
    auto* entry = pool_->As<EntryHeader>(offset);
    ops.StoreByte(entry->state_byte(), format::kStateObsolete);
    ops.Flush(entry->state_byte(), 1, media::Site::kCopyFlushMark);
    if (const uint64_t extent = pool_->ExtentOf(offset); extent != 0) {
      result_.obsolete_extents.push_back(extent);
    }
  }
}

/// A leaf of the tree at a time.
void CopyFlush::ShowCopies(index::EntryIndex* tree) {
  for (size_t i = 0; i < newest_.size();) {
    const uint64_t to = newest_[i].to;
    BRAID_DCHECK(pool_->EntryAt(to) != nullptr || pool_->failed());
    size_t shown = 1;
    if (newest_[i].from != to) {
      shown = tree->ReplaceRun(pool_->KeyAt(to), &newest_[i], newest_.size() - i);
      if (shown == 0) {
        tree->Upsert(pool_->KeyAt(to), [&](uint64_t) { return to; });
        shown = 1;
      }
    }
    i += shown;
  }
}

void CopyFlush::FillLookups() {
  constexpr size_t kAhead = 16;
  for (size_t i = 0; i < hashes_.size(); ++i) {
    if (i + kAhead < hashes_.size()) lookup_->Prefetch(hashes_[i + kAhead]);
    lookup_->Fill(hashes_[i], newest_[i].to);
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
