// Purpose: giving space back: what is to be done when an entry counts no longer, reclamation after
// readers are gone, collection of sparse chunks.
// Thread safety, invariants, persistence: see leaf_engine.h.
#include <algorithm>
#include <unordered_set>

#include "base/activity.h"
#include "base/check.h"
#include "base/no_throw.h"
#include "base/thread_slot.h"
#include "compaction/picker.h"
#include "compaction/room.h"
#include "leaf/leaf_engine.h"
#include "log/log_reader.h"

namespace braid::leaf {

using format::EntryHeader;
using pool::AllocationClass;

LeafEngine::RetiredEntry LeafEngine::PrepareToRetire(uint64_t entry) const {
  RetiredEntry retired;
  if (const uint64_t extent = pool_->ExtentOf(entry); extent != 0) retired.extent.push_back(extent);
  return retired;
}

/// An entry that no leaf names any more. Under the mutex of the leaf that did, once that is
/// durable.
void LeafEngine::Retire(uint64_t entry, RetiredEntry* retired) noexcept {
  BRAID_DCHECK(retired->extent.size() <= 1);
  auto* header = pool_->As<EntryHeader>(entry);
  const uint64_t size = header->size();
  pool_->ops().StoreByte(header->state_byte(), format::kStateObsolete);
  // Durable with the next fence of anybody: only a salvage looks at it.
  pool_->ops().Flush(header->state_byte(), 1, media::Site::kLeafObsoleteMark);
  uint64_t bytes = size;
  if (!retired->extent.empty()) {
    bytes += pool_->chunk_bytes();
    const base::MutexLock lock(retired_mutex_);
    extents_.splice(extents_.end(), retired->extent);
  }
  // Last: a chunk without live bytes is freed, and what is said of its entries is said by then.
  usage_.Remove(pool_->ChunkOf(entry), size);
  garbage_bytes_.fetch_add(bytes, std::memory_order_relaxed);
}

/// Gives back what nothing leads to. False when there was nothing. Not inside an EpochGuard.
bool LeafEngine::Reclaim(bool open_too) {
  const base::MutexLock maintenance(maintenance_mutex_);
  if (pool_->failed()) return false;
  garbage_bytes_.store(0, std::memory_order_relaxed);
  const std::vector<uint64_t> chunks = heap_.EmptyChunks(open_too);
  std::list<uint64_t> extents;
  {
    const base::MutexLock lock(retired_mutex_);
    extents.swap(extents_);
  }
  LeafList::Garbage garbage = list_->TakeGarbage();
  if (chunks.empty() && extents.empty() && garbage.empty()) return false;
  base::SynchronizeEpoch();
  if (pool_->failed()) {
    list_->PutBack(std::move(garbage));
    return false;
  }
  for (const uint64_t extent : extents) pool_->FreeExtent(extent);
  for (const uint64_t chunk : chunks) pool_->FreeChunk(chunk);
  counters_.Add(LeafCounter::kFreedChunks, chunks.size());
  list_->Release(std::move(garbage));
  // Relaxed: a writer that waits for space looks under maintenance_mutex_; an earlier look that
  // misses this one leads to one attempt more.
  if (!chunks.empty() || !extents.empty()) reclaims_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

/// Bytes that count no longer after which it is worth looking for what can be given back.
uint64_t LeafEngine::GarbageLimit() const {
  static_assert(format::kMaxChunkBytes <= uint64_t{64} << 20);  // the limits are in order
  return std::clamp(pool_->pool_bytes() / 32, pool_->chunk_bytes(), uint64_t{64} << 20);
}

void LeafEngine::Maintain() {
  const base::ActivityScope activity(base::Activity::kCollect);
  (void)Reclaim(false);
  if (CollectStep(false)) (void)Reclaim(false);
}

/// Copies what is live in sparse chunks together. False when it is not worth it.
bool LeafEngine::CollectStep(bool drain) {
  std::vector<uint64_t> sparse = heap_.SparseChunks(options_.compaction.gc_live_ratio);
  compaction::SpaceFacts facts;
  facts.sparse_chunks = sparse.size();
  facts.total_chunks = pool_->chunks();
  facts.free_chunks = pool_->free_chunks();
  facts.may_grow = pool_->max_bytes() == 0 || pool_->pool_bytes() < pool_->max_bytes();
  facts.drain = drain;
  int64_t live = 0;
  for (const uint64_t chunk : sparse) live += usage_.Live(chunk);
  // Worth it only when fewer chunks remain: one alone would only move its entries to another.
  const uint64_t needed = static_cast<uint64_t>(live) * 8 / 7 / pool_->chunk_bytes() + 1;
  if (needed >= sparse.size() || !compaction::WantsCollection(facts)) return false;
  {
    const base::MutexLock maintenance(maintenance_mutex_);
    if (sparse.size() <= futile_chunks_ && live >= futile_live_) return false;
  }
  const bool moved = Collect(sparse);
  // Large entries waste the ends of chunks, so that the copies may be as sparse as the originals:
  // they would be copied again, without end. Not before something has become obsolete or more is
  // sparse.
  const std::vector<uint64_t> left = heap_.SparseChunks(options_.compaction.gc_live_ratio);
  const base::MutexLock maintenance(maintenance_mutex_);
  const bool futile = left.size() >= sparse.size();
  futile_chunks_ = futile ? left.size() : 0;
  futile_live_ = 0;
  for (const uint64_t chunk : left) futile_live_ += usage_.Live(chunk);
  return moved;
}

/// False when nothing could be moved.
bool LeafEngine::Collect(const std::vector<uint64_t>& sparse) {
  const base::MutexLock maintenance(maintenance_mutex_);
  bool any = false;
  // What was placed in these chunks before they were left is written.
  base::SynchronizeEpoch();
  for (const uint64_t chunk : sparse) {
    std::vector<uint64_t> entries;
    log::ForEachEntry(*pool_, chunk, [&](uint64_t offset, const EntryHeader& entry) {
      // A value in an extent of its own names its entry, so that entry stays.
      if (entry.state() == format::kStateLive && !entry.has(format::kValueInExtent)) {
        entries.push_back(offset);
      }
    });
    for (const uint64_t entry : entries) {
      bool moved = false;
      if (pool_->failed()) return any;
      if (Status s = MoveEntry(entry, &moved); !s.ok()) return any;
      any = any || moved;
    }
  }
  return any;
}

/// Copies an entry, if a leaf names it, and lets the leaf name the copy. Under maintenance_mutex_:
/// what is replaced meanwhile stays as it is.
Status LeafEngine::MoveEntry(uint64_t entry, bool* moved) {
  log::PendingEntry pending;
  space::LargeValues::Scope large(&large_values_, {&pending, 1});
  Status s = TryMove(entry, &pending, large, moved);
  if (!s.IsTryAgain()) return s;
  s = large.Copy(pool_->RegionOf(entry), AllocationClass::kBackground);
  return s.ok() ? TryMove(entry, &pending, large, moved) : s;
}

/// TryAgain when the value must be copied first, which takes too long for a leaf's mutex.
Status LeafEngine::TryMove(uint64_t entry, log::PendingEntry* pending,
                           const space::LargeValues::Scope& large, bool* moved) {
  maintenance_mutex_.AssertHeld();
  const base::EpochGuard guard;
  const auto* original = pool_->As<EntryHeader>(entry);
  const std::string_view key = original->key();
  LeafNode* node = nullptr;
  base::MutexHold lock;
  if (Status s = LockLeaf(key, &lock, &node); !s.ok()) return s;
  const uint64_t hash = base::Hash64(key);
  const LeafLookup found = node->offset == 0 ? LeafLookup{} : list_->Find(*node, key, hash);
  if (found.state != LeafLookup::State::kFound || found.offset != entry) return Status::OK();
  if (pending->reserved == 0) {
    std::string_view value;
    // Damage stays where it is.
    if (Status s = ValueOf(entry, &value); !s.ok()) return Status::OK();
    pending->key = key;
    pending->value = value;
    pending->key_hash = hash;
    if (large.wants_copy()) return Status::TryAgain("");
  }
  RetiredEntry retired = PrepareToRetire(entry);
  // A shard of the region where the value is.
  const uint32_t shard =
      pending->reserved == 0 ? base::ThreadSlot() : pool_->RegionOf(pending->reserved);
  if (Status s = heap_.Reserve(shard, pending, AllocationClass::kBackground); !s.ok()) return s;
  heap_.Write(pending, original->sequence());
  pool_->ops().Fence(media::Site::kLeafCopyFence);
  list_->Redirect(node, found.slot, pending->offset);
  // Before the original is marked obsolete.
  pool_->ops().Fence(media::Site::kLeafRedirectFence);
  if (pool_->failed()) return pool_->FaultStatus();
  Retire(entry, &retired);
  counters_.Add(LeafCounter::kMoved);
  *moved = true;
  return Status::OK();
}

/// For a write that has found no run of neighbouring chunks for its value: empties the cheapest
/// one, large values included (compaction/room.h).
void LeafEngine::MakeRoom() {
  constexpr int kRoomsTried = 16;
  std::unordered_set<uint64_t> stuck;
  for (int i = 0; i < kRoomsTried; ++i) {
    (void)Reclaim(false);
    const uint64_t wanted = large_values_.WantedRun();
    if (wanted == 0 || pool_->HasRun(wanted) || pool_->failed()) return;
    const base::MutexLock maintenance(maintenance_mutex_);
    // What was placed in chunks before they were left is written.
    const std::vector<uint64_t> movable = heap_.SparseChunks(2.0);
    base::SynchronizeEpoch();
    std::vector<compaction::ChunkUse> uses =
        compaction::SurveyUses(*pool_, usage_, movable, wanted);
    for (const uint64_t chunk : stuck) uses[chunk].kind = compaction::ChunkUse::Kind::kFixed;
    const auto room = compaction::CheapestRoom(uses, wanted, pool_->chunk_bytes());
    if (!room) return;
    BRAID_DCHECK(room->begin <= room->first && room->first + wanted <= room->end);
    pool_->KeepRun(room->first, wanted);
    const auto entries = compaction::EntriesIn(*pool_, uses, *room);
    Status s;
    bool moved = false;
    for (size_t k = 0; entries && k < entries->size() && s.ok(); ++k) {
      s = MoveEntry((*entries)[k], &moved);
    }
    if (entries && s.ok()) continue;
    for (uint64_t chunk = room->begin; chunk < room->end; ++chunk) {
      if (uses[chunk].kind == compaction::ChunkUse::Kind::kMovable) stuck.insert(chunk);
    }
    pool_->LetRunGo();
  }
}

/// After a full pool: gives back what can be. True when there is room again, as there is at once
/// when another thread has given some back since the attempt.
bool LeafEngine::WaitForSpace(uint64_t reclaims) {
  const base::Stalls::Timer timer(&stalls_, StallReason::kFullPool);
  // Close waits for what is inside an EpochGuard; this is not, so it is kept out.
  const base::MutexLock close_lock(close_mutex_);
  if (closed()) return false;
  uint64_t before = 0;
  {
    const base::MutexLock maintenance(maintenance_mutex_);  // no reclaim is half done
    if (reclaims_.load(std::memory_order_relaxed) != reclaims) return true;
    before = pool_->free_chunks();
  }
  const Status done = base::CatchToStatus([&] {
    (void)Reclaim(false);
    if (pool_->free_chunks() <= before && CollectStep(true)) (void)Reclaim(false);
    MakeRoom();
    return Status::OK();
  });
  return done.ok() && (pool_->free_chunks() > before || large_values_.HasWantedRun());
}

Status LeafEngine::Compact() {
  if (closed()) return Status::Closed();
  if (Status s = AdmitWrite(); !s.ok()) return s;
  {
    const base::MutexLock close_lock(close_mutex_);  // as in WaitForSpace
    if (closed()) return Status::Closed();
    (void)Reclaim(true);
    // For what is sparse now: while writers are busy there is always more.
    size_t steps = heap_.SparseChunks(options_.compaction.gc_live_ratio).size();
    for (; steps > 0 && CollectStep(true); --steps) {
      if (!Reclaim(true)) break;
    }
    (void)Reclaim(true);
  }
  return AdmitWrite();
}

}  // namespace braid::leaf
