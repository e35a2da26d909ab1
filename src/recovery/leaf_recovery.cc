// Purpose: the scan of leaves after a crash, and the rebuild from entries. Thread safety,
// invariants, persistence: see leaf_recovery.h.
#include "recovery/leaf_recovery.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_set>

#include "base/mutants.h"
#include "log/log_reader.h"
#include "recovery/recovery_job.h"

namespace braid::recovery {

using format::ChunkKind;
using format::EntryHeader;
using format::LeafPtr;

bool LeafRecovery::NeedsRebuild() const {
  return !BRAID_MUTANT(kLeafRebuildSkipped) && !pool_->was_clean() && pool_->boot_changed() &&
         pool_->header().media_class == static_cast<uint32_t>(MediaClass::kPage);
}

Result<RecoveredLeaves> LeafRecovery::Run() {
  if (Status s = manifest_->Load(); !s.ok()) return s;
  state_.last_sequence = manifest_->record().last_sequence;
  if (NeedsRebuild()) {
    if (Status s = Rebuild(); !s.ok()) return s;
    state_.rebuilt = true;
    return state_;
  }
  if ((pool_->was_clean() || BRAID_MUTANT(kLeafImageBelieved)) && LoadImage()) {
    state_.from_image = true;
    return state_;
  }
  if (Status s = ScanLeaves(); !s.ok()) return s;
  if (Status s = SweepChunks(); !s.ok()) return s;
  list_->TakeFreeLeaves();
  list_->BuildUpper();
  if (pool_->ops().media_class() == MediaClass::kPage && !BRAID_MUTANT(kLeafScanNotSynced)) {
    // Who reads now must not find after a power loss what the scan has marked as void.
    if (Status s = pool_->media().Sync(); !s.ok()) return s;
  }
  return state_;
}

// ---- The scan
// ------------------------------------------------------------------------------------

Status LeafRecovery::ScanLeaves() {
  pmem::PersistOps& ops = pool_->ops();
  const uint64_t most = pool_->chunks() * index::LeafList::LeavesInChunk(*pool_);
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
      ops.StoreU64(link, leaf->next);
      ops.Flush(link, sizeof *link);
      continue;
    }
    if (!pool_->was_clean() && !BRAID_MUTANT(kLeafInheritedNotFlushed)) {
      ops.Flush(leaf, sizeof *leaf);
    }
    if (Status s = ScanLeaf(offset); !s.ok()) return s;
    link = &leaf->next;
  }
  ops.Fence();
  std::sort(linked_.begin(), linked_.end());
  state_.entries = linked_.size();
  return Status::OK();
}

Status LeafRecovery::ScanLeaf(uint64_t offset) {
  const auto* leaf = pool_->As<format::Leaf>(offset);
  std::string_view least;
  std::string_view greatest;
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
  index::LeafNode* node = list_->Append(any_key_ ? std::string(least) : std::string(), offset);
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
    } else if (kind == ChunkKind::kLeafIndex && !BRAID_MUTANT(kLeafImageKept)) {
      pool_->FreeChunk(chunk);
    }
  }
  return Status::OK();
}

Status LeafRecovery::SweepEntries(uint64_t chunk) {
  Result<log::LogChunk> header = log::ReadLogChunk(*pool_, chunk);
  if (!header.ok()) return header.status();
  state_.next_chunk_id = std::max(state_.next_chunk_id, header->table_id + 1);
  pmem::PersistOps& ops = pool_->ops();
  log::ForEachEntry(*pool_, chunk, [&](uint64_t offset, const EntryHeader& entry) {
    if (!BRAID_MUTANT(kLeafTornSequenceReused)) {
      state_.last_sequence = std::max(state_.last_sequence, entry.sequence());
    }
    if (entry.state() != format::kStateLive || IsLinked(offset)) return;
    if (BRAID_MUTANT(kLeafLostEntriesLive)) return;
    // Its write was torn, or another one took its place. A rebuild or a salvage, which go by the
    // entries, must not take it for one that counts.
    uint8_t* state = pool_->As<EntryHeader>(offset)->state_byte();
    ops.StoreByte(state, format::kStateVoid);
    ops.Flush(state, 1);
  });
  ops.Fence();
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
  const bool owned = IsLinked(header.owner) && OwnerOf(*pool_, offset) != ExtentOwner::kNobody;
  if (owned) {
    *bodies = header.chunks - 1;
  } else if (!BRAID_MUTANT(kLeafExtentsNotSwept)) {
    pool_->FreeExtent(offset);
  } else {
    *bodies = header.chunks - 1;
  }
  return Status::OK();
}

// ---- The rebuild
// ---------------------------------------------------------------------------------

/// Pages reached the medium in any order: of leaves nothing is believed. Entries say by their
/// checks whether they are whole; of a key the newest live one counts. What a delete, or a newer
/// version that is on the medium for certain, has ended is marked dead (LeafEngine::Bury).
Status LeafRecovery::Rebuild() {
  if (!BRAID_MUTANT(kLeafRebuildReusesGenerations)) {
    if (Status s = pool_->RaiseGenerations(); !s.ok()) return s;
  }
  if (Status s = CollectEntries(); !s.ok()) return s;
  if (Status s = ChooseEntries(); !s.ok()) return s;
  if (Status s = LinkEntries(); !s.ok()) return s;
  // The header will say that this run of the operating system has written the pool.
  return BRAID_MUTANT(kLeafRebuildNotSynced) ? Status::OK() : pool_->media().Sync();
}

Status LeafRecovery::CollectEntries() {
  pmem::PersistOps& ops = pool_->ops();
  for (uint64_t chunk = 0; chunk < pool_->chunks(); ++chunk) {
    const ChunkKind kind = pool_->StateOf(chunk).kind();
    if (kind == ChunkKind::kLeaf || kind == ChunkKind::kLeafIndex) pool_->FreeChunk(chunk);
    if (kind != ChunkKind::kLog) continue;
    Result<log::LogChunk> header = log::ReadLogChunk(*pool_, chunk);
    if (!header.ok()) {
      pool_->FreeChunk(chunk);  // its allocation did not reach the medium: nothing in it was synced
      continue;
    }
    state_.next_chunk_id = std::max(state_.next_chunk_id, header->table_id + 1);
    log::ForEachEntry(*pool_, chunk, [&](uint64_t offset, const EntryHeader& entry) {
      state_.last_sequence = std::max(state_.last_sequence, entry.sequence());
      if (entry.state() != format::kStateLive) return;
      if (log::EntryVerifies(*pool_, offset)) {
        linked_.push_back(offset);
      } else {
        ops.StoreByte(pool_->As<EntryHeader>(offset)->state_byte(), format::kStateVoid);
      }
    });
  }
  return Status::OK();
}

Status LeafRecovery::ChooseEntries() {
  std::sort(linked_.begin(), linked_.end(), [&](uint64_t a, uint64_t b) {
    const auto* left = pool_->As<EntryHeader>(a);
    const auto* right = pool_->As<EntryHeader>(b);
    if (const int order = left->key().compare(right->key()); order != 0) return order < 0;
    if (left->sequence() != right->sequence()) return left->sequence() > right->sequence();
    return a < b;  // an original and its copy
  });
  std::vector<uint64_t> chosen;
  std::unordered_set<uint64_t> extents;
  for (const uint64_t offset : linked_) {
    auto* entry = pool_->As<EntryHeader>(offset);
    if (!chosen.empty() && pool_->As<EntryHeader>(chosen.back())->key() == entry->key()) {
      pool_->ops().StoreByte(entry->state_byte(), format::kStateDead);
      continue;
    }
    chosen.push_back(offset);
    usage_->Add(pool_->ChunkOf(offset), entry->size());
    if (const uint64_t extent = pool_->ExtentOf(offset); extent != 0) {
      const uint64_t first = pool_->ChunkOf(extent);
      const uint64_t chunks = pool_->As<format::ExtentHeader>(extent)->chunks;
      for (uint64_t i = 0; i < chunks; ++i) extents.insert(first + i);
    }
  }
  linked_.swap(chosen);
  // What was found dead, or is older, is on the medium with what ended it.
  for (uint64_t chunk = 0; chunk < pool_->chunks(); ++chunk) {
    const ChunkKind kind = pool_->StateOf(chunk).kind();
    const bool extent = kind == ChunkKind::kExtentHead || kind == ChunkKind::kExtentBody;
    if (extent && !extents.contains(chunk)) pool_->FreeChunk(chunk);
    if (kind == ChunkKind::kLog && usage_->Live(chunk) == 0) pool_->FreeChunk(chunk);
  }
  state_.entries = linked_.size();
  return Status::OK();
}

Status LeafRecovery::LinkEntries() {
  constexpr size_t kFill = format::kLeafSlots * 3 / 4;
  index::LeafList::Create(pool_);
  index::LeafNode* last = list_->head();
  for (size_t begin = 0; begin < linked_.size(); begin += kFill) {
    std::vector<index::LeafPlan> plan(1);
    const size_t end = std::min(linked_.size(), begin + kFill);
    for (size_t i = begin; i < end; ++i) {
      const std::string_view key = pool_->As<EntryHeader>(linked_[i])->key();
      if (i == begin && begin != 0) plan[0].low = key;
      plan[0].items.push_back({linked_[i], base::Hash64(key)});
    }
    const Status made = list_->Replace(last, {}, plan, pmem::AllocationClass::kBackground);
    if (!made.ok()) return made;
    last = last->next.load();
    index::SpanSkipList::Raises raises;
    (void)list_->upper().Find(last->low, &raises);
    if (raises.count != 0) list_->upper().Raise(last->low, raises);
  }
  return Status::OK();
}

}  // namespace braid::recovery
