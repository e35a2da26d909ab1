// Purpose: moving entries out of chunks.
// Thread safety, invariants, persistence: see leaf_collector.h.
#include "leaf/leaf_collector.h"

#include <unordered_set>

#include "base/check.h"
#include "base/epoch.h"
#include "base/thread_slot.h"
#include "compaction/picker.h"
#include "compaction/room.h"
#include "log/log_reader.h"

namespace braid::leaf {

using format::EntryHeader;
using pool::AllocationClass;

bool LeafCollector::CollectStep(bool drain) {
  const std::vector<uint64_t> sparse = SparseChunks();
  compaction::SpaceFacts facts;
  facts.sparse_chunks = sparse.size();
  facts.total_chunks = pool_.chunks();
  facts.free_chunks = pool_.free_chunks();
  facts.may_grow = pool_.may_grow();
  facts.drain = drain;
  const int64_t live = LiveIn(sparse);
  // Worth it only when fewer chunks remain: one alone would only move its entries to another.
  const uint64_t needed = static_cast<uint64_t>(live) * 8 / 7 / pool_.chunk_bytes() + 1;
  if (needed >= sparse.size() || !compaction::WantsCollection(facts)) return false;
  if (WasFutile(sparse.size(), live)) return false;
  const bool moved = Collect(sparse);
  // Large entries waste the ends of chunks, so that the copies may be as sparse as the originals:
  // they would be copied again, without end. Not before something has become obsolete or more is
  // sparse.
  const std::vector<uint64_t> left = SparseChunks();
  const base::MutexLock lock(mutex_);
  futile_chunks_ = left.size() >= sparse.size() ? left.size() : 0;
  futile_live_ = LiveIn(left);
  return moved;
}

/// Invariant 2.
bool LeafCollector::WasFutile(size_t chunks, int64_t live) const {
  const base::MutexLock lock(mutex_);
  return chunks <= futile_chunks_ && live >= futile_live_;
}

int64_t LeafCollector::LiveIn(const std::vector<uint64_t>& chunks) const noexcept {
  int64_t live = 0;
  for (const uint64_t chunk : chunks) live += store_.usage->Live(chunk);
  return live;
}

/// False when nothing could be moved.
bool LeafCollector::Collect(const std::vector<uint64_t>& sparse) {
  const base::MutexHold reclaim_lock = store_.reclaimer->Hold();
  bool any = false;
  // What was placed in these chunks before they were left is written.
  base::SynchronizeEpoch();
  for (const uint64_t chunk : sparse) {
    std::vector<uint64_t> entries;
    log::ForEachEntry(pool_, chunk, [&](uint64_t offset, const EntryHeader& entry) {
      // A value in an extent of its own names its entry, so that entry stays.
      if (entry.state() == format::kStateLive && !entry.has(format::kValueInExtent)) {
        entries.push_back(offset);
      }
    });
    for (const uint64_t entry : entries) {
      bool moved = false;
      if (pool_.failed()) return any;
      if (Status s = MoveEntry(entry, &moved); !s.ok()) return any;
      any = any || moved;
    }
  }
  return any;
}

/// Copies an entry, if a leaf names it, and lets the leaf name the copy. Under the reclaimer's
/// lock.
Status LeafCollector::MoveEntry(uint64_t entry, bool* moved) {
  log::PendingEntry pending;
  space::LargeValues::Scope large(store_.large_values, {&pending, 1});
  Status s = TryMove(entry, &pending, large, moved);
  if (!s.IsTryAgain()) return s;
  s = large.Copy(pool_.RegionOf(entry), AllocationClass::kBackground);
  return s.ok() ? TryMove(entry, &pending, large, moved) : s;
}

/// TryAgain when the value must be copied first, which takes too long for a leaf's mutex.
Status LeafCollector::TryMove(uint64_t entry, log::PendingEntry* pending,
                              const space::LargeValues::Scope& large, bool* moved) {
  store_.reclaimer->AssertHeld();  // invariant 1
  const base::EpochGuard guard;
  const auto* original = pool_.As<EntryHeader>(entry);
  const std::string_view key = original->key();
  LeafNode* node = nullptr;
  base::MutexHold lock;
  if (Status s = store_.list->Lock(key, &lock, &node); !s.ok()) return s;
  const uint64_t hash = base::Hash64(key);
  const LeafLookup found = node->offset == 0 ? LeafLookup{} : store_.list->Find(*node, key, hash);
  if (found.state != LeafLookup::State::kFound || found.offset != entry) return Status::OK();
  if (pending->reserved == 0) {
    std::string_view value;
    // Damage stays where it is.
    if (Status s = store_.list->ValueOf(entry, &value); !s.ok()) return Status::OK();
    pending->key = key;
    pending->value = value;
    pending->key_hash = hash;
    if (large.wants_copy()) return Status::TryAgain("");
  }
  LeafReclaimer::RetiredEntry retired = store_.reclaimer->PrepareToRetire(entry);
  // A shard of the region where the value is.
  const uint32_t shard =
      pending->reserved == 0 ? base::ThreadSlot() : pool_.RegionOf(pending->reserved);
  if (Status s = store_.heap->Reserve(shard, pending, AllocationClass::kBackground); !s.ok())
    return s;
  store_.heap->Write(pending, original->sequence());
  pool_.ops().Fence(media::Site::kLeafCopyFence);
  store_.list->Redirect(node, found.slot, pending->offset);
  // Before the original is marked obsolete.
  pool_.ops().Fence(media::Site::kLeafRedirectFence);
  if (pool_.failed()) return pool_.FaultStatus();
  store_.reclaimer->Retire(entry, &retired);
  *moved = true;
  return Status::OK();
}

void LeafCollector::MakeRoom() {
  constexpr int kRoomsTried = 16;
  std::unordered_set<uint64_t> stuck;
  for (int i = 0; i < kRoomsTried; ++i) {
    (void)store_.reclaimer->Reclaim(false);
    const uint64_t wanted = store_.large_values->WantedRun();
    if (wanted == 0 || pool_.HasRun(wanted) || pool_.failed()) return;
    const base::MutexHold reclaim_lock = store_.reclaimer->Hold();
    // What was placed in chunks before they were left is written.
    const std::vector<uint64_t> movable = store_.heap->SparseChunks(2.0);
    base::SynchronizeEpoch();
    std::vector<compaction::ChunkUse> uses =
        compaction::SurveyUses(pool_, *store_.usage, movable, wanted);
    for (const uint64_t chunk : stuck) uses[chunk].kind = compaction::ChunkUse::Kind::kFixed;
    const auto room = compaction::CheapestRoom(uses, wanted, pool_.chunk_bytes());
    if (!room) return;
    BRAID_DCHECK(room->begin <= room->first && room->first + wanted <= room->end);
    pool_.KeepRun(room->first, wanted);
    const auto entries = compaction::EntriesIn(pool_, uses, *room);
    Status s;
    bool moved = false;
    for (size_t k = 0; entries && k < entries->size() && s.ok(); ++k) {
      s = MoveEntry((*entries)[k], &moved);
    }
    if (entries && s.ok()) continue;
    for (uint64_t chunk = room->begin; chunk < room->end; ++chunk) {
      if (uses[chunk].kind == compaction::ChunkUse::Kind::kMovable) stuck.insert(chunk);
    }
    pool_.LetRunGo();
  }
}

}  // namespace braid::leaf
