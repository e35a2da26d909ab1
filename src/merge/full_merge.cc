// Purpose: merging tables and a list into a new list.
// Thread safety, invariants, persistence: see full_merge.h.
#include "merge/full_merge.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "base/epoch.h"
#include "base/prefetch.h"
#include "index/entry_tree.h"

namespace braid::merge {

using format::EntryHeader;

namespace {
/// Entries that are asked for ahead, and what of each: behind that the hardware goes on.
constexpr size_t kEntriesAhead = 12;
constexpr uint64_t kMostBytesAhead = 192;
}  // namespace

Status FullMerge::Run(std::vector<index::TreeSource> sources, uint64_t entries,
                      uint64_t head_offset, const std::function<bool()>& pause) {
  BRAID_DCHECK(newest_.empty() && pool_->IsHead(head_offset));
  // At once: to copy what was noted, to twice the room, is a step of milliseconds.
  newest_.reserve(entries);
  charge_.Set(newest_.capacity() * sizeof newest_.front());
  if (Status s = CopyAll(std::move(sources), pause); !s.ok()) return s;
  if (entries_ == 0) return Status::NotSupported("there would be an empty list");
  if (pool_->failed()) return pool_->FaultStatus();
  copies_.Close(head_offset);
  Index();
  return pool_->failed() ? pool_->FaultStatus() : Status::OK();
}

Status FullMerge::CopyAll(std::vector<index::TreeSource> sources,
                          const std::function<bool()>& pause) {
  BRAID_DCHECK(!sources.empty() && sources.size() <= kPiece);  // a key's refs come together
  index::TreeMerge merge(pool_, std::move(sources));
  std::array<uint64_t, kPiece> pieces[2];
  const auto next = [&](std::array<uint64_t, kPiece>& piece, bool begins) {
    const base::EpochGuard guard;
    return begins ? merge.Seek({true, true, true, {}}, piece.data(), piece.size())
                  : merge.Next(piece.data(), piece.size());
  };
  const auto ask = [&](uint64_t ref) {
    if ((ref & index::TreeMerge::kOlder) == 0) base::PrefetchRange(pool_->At(ref), likely_bytes_);
  };
  size_t count = next(pieces[0], true);
  for (size_t i = 0; i < std::min(count, kEntriesAhead); ++i) ask(pieces[0][i]);
  for (size_t turn = 0; count > 0; turn ^= 1) {
    const std::array<uint64_t, kPiece>& refs = pieces[turn];
    const std::array<uint64_t, kPiece>& following = pieces[turn ^ 1];
    const size_t following_count = next(pieces[turn ^ 1], false);
    for (size_t i = 0; i < count; ++i) {
      if (i + kEntriesAhead < count) {
        ask(refs[i + kEntriesAhead]);
      } else if (i + kEntriesAhead - count < following_count) {
        ask(following[i + kEntriesAhead - count]);
      }
      if ((refs[i] & index::TreeMerge::kOlder) != 0) continue;
      if (Status s = Copy(refs[i]); !s.ok()) return s;
    }
    read_ += count;
    if (pause()) return Status::Aborted("the merge was stopped");
    if (pool_->failed()) return pool_->FaultStatus();
    count = following_count;
  }
  return merge.status();
}

Status FullMerge::Copy(uint64_t offset) {
  const EntryHeader* const entry = pool_->EntryAt(offset);
  if (entry == nullptr) return pool_->CorruptionAt(offset, "entry", "it is no entry any more");
  if (entry->has(format::kValueInExtent) || entry->has(format::kValueElsewhere)) {
    return Status::NotSupported("an entry can't be copied");
  }
  log::PendingEntry pending = level::CopiedEntries::CopyOf(*entry);
  // A copy gets new checks: damage must not be copied, or nobody would see it again.
  if (!index::KeyIsIntact(*pool_, *entry, offset, pending.key_hash) ||
      format::ValueCheck(pending.value) != entry->value_check) {
    return pool_->CorruptionAt(offset, "entry", "it has changed since it was written");
  }
  if (pending.op == format::EntryOp::kDelete) {
    newest_.push_back({offset, 0});
    return Status::OK();
  }
  BRAID_DCHECK(pending.op == format::EntryOp::kPut);
  const uint64_t sequence = entry->sequence();
  likely_bytes_ = std::min(entry->size(), kMostBytesAhead);
  const Result<uint64_t> copy =
      copies_.Add(&pending, sequence, pool_->RegionOfChunk(pool_->ChunkOf(offset)));
  if (!copy.ok()) return copy.status();
  BRAID_DCHECK(*copy != offset && pending.extent == 0);
  newest_.push_back({offset, *copy});
  ++entries_;
  return Status::OK();
}

/// When all copies are in the pool: the tree compares their keys.
void FullMerge::Index() {
  tree_ = index::NewEntryIndex(pool_, MemTableKind::kBTree);
  for (size_t i = 0; i < newest_.size(); ++i) {
    if (i + kEntriesAhead < newest_.size() && newest_[i + kEntriesAhead].to != 0) {
      base::PrefetchRange(pool_->At(newest_[i + kEntriesAhead].to), 2 * media::kLineBytes);
    }
    const uint64_t to = newest_[i].to;
    if (to != 0) tree_->Append(pool_->KeyAt(to), to);
  }
  BRAID_DCHECK(tree_->size() == entries_ || pool_->failed());
}

}  // namespace braid::merge
