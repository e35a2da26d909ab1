// Purpose: the scan of leaves after a crash.
// Thread safety, invariants, persistence: see leaf_recovery.h.
#include "leaf/leaf_recovery.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/check.h"
#include "log/log_reader.h"
#include "recovery/recovery_job.h"

namespace braid::leaf {

using format::ChunkKind;
using format::EntryHeader;
using format::LeafPtr;

/// Pages may have reached the medium in any order, also old ones in the place of newer ones.
bool LeafRecovery::LostPageCache() const {
  return !pool_->was_clean() && pool_->boot_changed() &&
         pool_->header().media_class == static_cast<uint32_t>(MediaClass::kPage);
}

Result<RecoveredLeaves> LeafRecovery::Run() {
  BRAID_CHECK(list_->leaves() == 0 && linked_.empty() && !any_key_);  // runs once
  if (LostPageCache()) {
    return pool_->CorruptionAt(format::kPoolHeaderOffset[0], "pool",
                               "it was on page-cache media and was not closed before the system "
                               "went down; this design can't determine which of its pages are old. "
                               "`braid repair` writes what is intact to a new pool");
  }
  if (Status s = manifest_->Load(); !s.ok()) return s;
  state_.last_sequence = manifest_->record().last_sequence;
  if (pool_->was_clean() && LoadImage()) {
    state_.from_image = true;
    return state_;
  }
  if (Status s = ScanLeaves(); !s.ok()) return s;
  if (Status s = SweepChunks(); !s.ok()) return s;
  list_->TakeFreeLeaves();
  list_->BuildUpper();
  return state_;
}

// ---- The scan
// ------------------------------------------------------------------------------------

Status LeafRecovery::ScanLeaves() {
  media::PersistOps& ops = pool_->ops();
  const uint64_t most = pool_->chunks() * LeafList::LeavesInChunk(*pool_);
  auto* link = pool_->As<uint64_t>(format::kLeafHeadOffset);
  for (uint64_t count = 0;; ++count) {
    const LeafPtr next{*link};
    if (!next.IsValid() || next.region() != 0) {
      return pool_->CorruptionAt(pool_->OffsetOf(link), "link of a leaf",
                                 "its check does not match");
    }
    if (next.IsEnd()) break;
    if (count > most) {
      return pool_->CorruptionAt(pool_->OffsetOf(link), "list of leaves", "it goes in a circle");
    }
    const uint64_t offset = next.offset();
    if (Status s = list_->CheckLeaf(offset); !s.ok()) return s;
    auto* leaf = pool_->As<format::Leaf>(offset);
    if (format::LeafCommit{leaf->commit}.bitmap() == 0) {
      // Its last key was deleted, and then it was to be taken off the list.
      if (!LeafPtr{leaf->next}.IsValid()) {
        return pool_->CorruptionAt(offset, "link of a leaf", "its check does not match");
      }
      if (Status s = pool_->WillCopy(1); !s.ok()) return s;
      ops.StoreU64(link, leaf->next);
      ops.Flush(link, sizeof *link, media::Site::kLeafEmptyUnlinked);
      continue;
    }
    if (!pool_->was_clean()) ops.Flush(leaf, sizeof *leaf, media::Site::kLeafInherited);
    if (Status s = ScanLeaf(offset); !s.ok()) return s;
    link = &leaf->next;
  }
  ops.Fence(media::Site::kLeafInheritedFence);
  std::sort(linked_.begin(), linked_.end());
  state_.entries = linked_.size();
  return Status::OK();
}

Status LeafRecovery::ScanLeaf(uint64_t offset) {
  const auto* leaf = pool_->As<format::Leaf>(offset);
  std::string_view least;
  std::string_view greatest;
  std::array<uint64_t, 64> hashes;  // a bit of the map each
  size_t keys = 0;
  const uint64_t bitmap = format::LeafCommit{leaf->commit}.bitmap();
  for (uint64_t bits = bitmap; bits != 0; bits &= bits - 1) {
    const format::LeafSlot& slot = leaf->slots[std::countr_zero(bits)];
    const uint64_t at = format::EntryPtr{slot.entry}.offset();
    const EntryHeader* entry = pool_->EntryAt(at);
    const uint64_t hash = entry == nullptr ? 0 : base::Hash64(entry->key());
    if (entry == nullptr || !index::KeyIsIntact(*pool_, *entry, at, hash)) {
      return pool_->CorruptionAt(at, "entry", "a leaf names it, and its check does not match");
    }
    if (format::LeafTag{slot.tag}.fingerprint() != hash >> 32) {
      return pool_->CorruptionAt(pool_->OffsetOf(&slot), "slot of a leaf",
                                 "it names an entry of another key");
    }
    for (size_t i = 0; i < keys; ++i) {
      if (hashes[i] == hash && pool_->KeyAt(linked_[linked_.size() - keys + i]) == entry->key()) {
        return pool_->CorruptionAt(offset, "leaf", "it names two entries of one key");
      }
    }
    hashes[keys++] = hash;
    if (bits == bitmap || entry->key() < least) least = entry->key();
    if (bits == bitmap || entry->key() > greatest) greatest = entry->key();
    linked_.push_back(at);
    usage_->Add(pool_->ChunkOf(at), entry->size());
    state_.last_sequence = std::max(state_.last_sequence, entry->sequence());
  }
  if (any_key_ && least <= last_key_) {
    return pool_->CorruptionAt(offset, "leaf", "it is out of order");
  }
  // The first leaf is responsible for all that comes before its least key.
  LeafNode* node = list_->Append(any_key_ ? std::string(least) : std::string(), offset);
  last_key_ = greatest;
  any_key_ = true;
  return list_->LoadLocked(node);
}

bool LeafRecovery::IsLinked(uint64_t entry) const {
  return std::binary_search(linked_.begin(), linked_.end(), entry);
}

/// Frees what no leaf leads to, and marks entries that never came to count.
Status LeafRecovery::SweepChunks() {
  uint64_t bodies = 0;
  for (uint64_t chunk = 0; chunk < pool_->chunks(); ++chunk) {
    const ChunkKind kind = pool_->StateOf(chunk).kind();
    if (kind == ChunkKind::kExtentBody) {
      // Without a head: that was freed, or never written.
      if (bodies == 0) pool_->FreeChunk(chunk);
      bodies -= bodies == 0 ? 0 : 1;
      continue;
    }
    bodies = 0;
    if (kind == ChunkKind::kExtentHead) {
      if (Status s = SweepExtent(chunk, &bodies); !s.ok()) return s;
    } else if (kind == ChunkKind::kLog) {
      if (Status s = SweepEntries(chunk); !s.ok()) return s;
    } else if (kind == ChunkKind::kLeafIndex) {
      pool_->FreeChunk(chunk);
    }
  }
  return Status::OK();
}

Status LeafRecovery::SweepEntries(uint64_t chunk) {
  Result<log::LogChunk> header = log::ReadLogChunk(*pool_, chunk);
  if (!header.ok()) return header.status();
  state_.next_chunk_id = std::max(state_.next_chunk_id, header->table_id + 1);
  media::PersistOps& ops = pool_->ops();
  Status copies;
  uint64_t copied_page = 0;
  log::ForEachEntry(*pool_, chunk, [&](uint64_t offset, const EntryHeader& entry) {
    state_.last_sequence = std::max(state_.last_sequence, entry.sequence());
    if (entry.state() != format::kStateLive || IsLinked(offset)) return;
    if (const uint64_t page = offset / format::kPageBytes; page != copied_page && copies.ok()) {
      copies = pool_->WillCopy(1);
      copied_page = page;
    }
    if (!copies.ok()) return;
    // Its write was torn, or another one took its place. A salvage, which goes by the
    // entries, must not take it for one that counts.
    uint8_t* state = pool_->As<EntryHeader>(offset)->state_byte();
    ops.StoreByte(state, format::kStateVoid);
    ops.Flush(state, 1, media::Site::kLeafLostMark);
  });
  ops.Fence(media::Site::kLeafLostMarkFence);
  if (!copies.ok()) return copies;
  BRAID_DCHECK(usage_->Live(chunk) >= 0);  // nothing has died since the scan counted
  if (usage_->Live(chunk) == 0) pool_->FreeChunk(chunk);
  return Status::OK();
}

Status LeafRecovery::SweepExtent(uint64_t chunk, uint64_t* bodies) {
  const uint64_t offset = pool_->ChunkOffset(chunk);
  format::ExtentHeader header;
  std::memcpy(&header, pool_->At(offset), sizeof header);
  if (header.magic != format::kExtentMagic || header.check != format::StructCheck(header, offset) ||
      pool_->ExtentAt(offset) == nullptr) {
    return pool_->CorruptionAt(offset, "extent",
                               "its check does not match, or it has lost a chunk");
  }
  const bool owned =
      IsLinked(header.owner) && recovery::OwnerOf(*pool_, offset) != recovery::ExtentOwner::kNobody;
  if (owned) {
    *bodies = header.chunks - 1;
  } else {
    pool_->FreeExtent(offset);
  }
  return Status::OK();
}

}  // namespace braid::leaf
