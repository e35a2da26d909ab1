// Purpose: giving space back: what is to be done when an entry counts no longer, reclamation after
// readers are gone, collection of sparse chunks. Thread safety, invariants, persistence: see
// leaf_engine.h.
//
// Page-cache media after a power loss: the leaves mean nothing, and of a key the newest entry that
// is live counts (recovery/leaf_recovery.h). So marks of death, which elsewhere only help a
// salvage, decide there. A version that was replaced must not be marked before what replaced it is
// on the medium, or both could be lost: it is doubtful until a sync that began after it was
// replaced has ended. A delete marks at once all versions of its key that are not marked yet: what
// a power loss then keeps of the marks is a state in which the delete, or nothing of it, has
// happened.
#include <algorithm>

#include "base/activity.h"
#include "base/mutants.h"
#include "base/no_throw.h"
#include "base/thread_slot.h"
#include "compaction/picker.h"
#include "engine/leaf_engine.h"
#include "log/log_reader.h"

namespace braid::engine {

using format::EntryHeader;
using index::LeafLookup;
using index::LeafNode;
using pmem::AllocationClass;

namespace {
/// Versions that wait for a sync before one is made for their sake.
constexpr size_t kManyDoubtful = 1u << 16;
}  // namespace

LeafEngine::Burial LeafEngine::PrepareBurial(uint64_t entry, uint64_t key_hash) const {
  Burial burial;
  if (const uint64_t extent = pool_->ExtentOf(entry); extent != 0) burial.extent.push_back(extent);
  if (page_media()) burial.doubtful.emplace(key_hash, Doubtful{entry, 0, false});
  return burial;
}

void LeafEngine::MarkDead(uint64_t entry) noexcept {
  uint8_t* state = pool_->As<EntryHeader>(entry)->state_byte();
  pool_->ops().StoreByte(state, format::kStateDead);
  // Durable with the next fence of anybody: only a salvage looks at it.
  pool_->ops().Flush(state, 1);
}

/// An entry that no leaf names any more. Under the mutex of the leaf that did, once that is
/// durable.
void LeafEngine::Bury(uint64_t entry, uint64_t key_hash, bool deleted, Burial* burial) noexcept {
  const uint64_t size = pool_->As<EntryHeader>(entry)->size();
  if (!page_media() || BRAID_MUTANT(kLeafOldMarkedEarly)) {
    MarkDead(entry);
  } else {
    const std::lock_guard lock(burial_mutex_);
    const auto [begin, end] = doubtful_.equal_range(key_hash);
    const std::string_view key = pool_->KeyAt(entry);
    for (auto at = begin; deleted && at != end && !BRAID_MUTANT(kLeafDeleteMarksOne);) {
      const auto next = std::next(at);
      if (pool_->KeyAt(at->second.entry) == key) {
        MarkDead(at->second.entry);
        at->second.round = round_;
        marked_.insert(doubtful_.extract(at));
      }
      at = next;
    }
    if (deleted && !marked_.contains(key_hash)) {
      MarkDead(entry);
    } else {
      burial->doubtful.begin()->second.round = round_;
      burial->doubtful.begin()->second.deleted = deleted;
      doubtful_.insert(burial->doubtful.extract(burial->doubtful.begin()));
    }
  }
  uint64_t bytes = size;
  if (!burial->extent.empty()) {
    bytes += pool_->chunk_bytes();
    const std::lock_guard lock(burial_mutex_);
    extents_.splice(extents_.end(), burial->extent);
  }
  // Last: a chunk without live bytes is freed, and what is said of its entries is said by then.
  if (!BRAID_MUTANT(kLeafDeadNotAccounted)) usage_.Remove(pool_->ChunkOf(entry), size);
  garbage_bytes_.fetch_add(bytes, std::memory_order_relaxed);
}

/// Before a sync: what was replaced until now is settled when that sync has ended.
uint64_t LeafEngine::BeginRound() noexcept {
  const std::lock_guard lock(burial_mutex_);
  return round_++;
}

/// Makes all writes so far survive a power loss.
Status LeafEngine::SyncAndSettle() {
  uint64_t round = BeginRound();
  if (Status s = pool_->media().Sync(); !s.ok()) return s;
  if (!SettleRound(round)) return Status::OK();
  round = BeginRound();
  if (Status s = pool_->media().Sync(); !s.ok()) return s;
  (void)SettleRound(round);
  return Status::OK();
}

/// After that sync. True: it has marked entries of deletes, whose marks another sync must cover
/// before the deletes count as synced.
bool LeafEngine::SettleRound(uint64_t round) noexcept {
  const std::lock_guard lock(burial_mutex_);
  std::erase_if(marked_, [&](const auto& marked) { return marked.second.round <= round; });
  bool deletes = false;
  for (auto at = doubtful_.begin(); at != doubtful_.end();) {
    const auto next = std::next(at);
    if (at->second.round <= round) {
      MarkDead(at->second.entry);
      deletes = deletes || at->second.deleted;
      at->second.round = round_;
      marked_.insert(doubtful_.extract(at));
    }
    at = next;
  }
  return deletes;
}

/// Gives back what nothing leads to. False when there was nothing. Not inside an EpochGuard.
bool LeafEngine::Reclaim(bool open_too) {
  const std::lock_guard maintenance(maintenance_mutex_);
  if (failed() || pool_->failed()) return false;
  garbage_bytes_.store(0, std::memory_order_relaxed);
  const std::vector<uint64_t> chunks = heap_.EmptyChunks(open_too);
  std::list<uint64_t> extents;
  size_t doubtful = 0;
  {
    const std::lock_guard lock(burial_mutex_);
    extents.swap(extents_);
    doubtful = doubtful_.size();
  }
  index::LeafList::Garbage garbage = list_->TakeGarbage();
  if (chunks.empty() && extents.empty() && garbage.empty() && doubtful < kManyDoubtful) {
    return false;
  }
  const uint64_t round = BeginRound();
  // What was replaced, and marks of death, must be on the medium before what they guard against is
  // used anew.
  if (page_media() && !BRAID_MUTANT(kLeafReclaimNotSynced)) {
    if (Status s = pool_->media().Sync(); !s.ok()) {
      Fail(s);
      list_->PutBack(std::move(garbage));
      return false;
    }
  }
  if (!BRAID_MUTANT(kLeafReclaimTooEarly)) pmem::SynchronizeEpoch();
  if (pool_->failed()) {
    list_->PutBack(std::move(garbage));
    return false;
  }
  (void)SettleRound(round);
  for (const uint64_t extent : extents) pool_->FreeExtent(extent);
  for (const uint64_t chunk : chunks) pool_->FreeChunk(chunk);
  counters_.Add(LeafCounter::kFreedChunks, chunks.size());
  list_->Release(std::move(garbage));
  return true;
}

/// Bytes that count no longer after which it is worth looking for what can be given back.
uint64_t LeafEngine::GarbageLimit() const {
  const uint64_t share = pool_->pool_bytes() / (page_media() ? 8 : 32);
  return std::clamp(share, pool_->chunk_bytes(), uint64_t{64} << 20);
}

void LeafEngine::Maintain() {
  const base::ActivityScope activity(base::Activity::kCollect);
  (void)Reclaim(false);
  if (CollectStep(false)) (void)Reclaim(false);
}

/// Copies what is live in sparse chunks together. False when it is not worth it.
bool LeafEngine::CollectStep(bool finish_all) {
  std::vector<uint64_t> sparse = heap_.SparseChunks(options_.compaction.gc_live_ratio);
  compaction::StoreFacts facts;
  facts.sparse_chunks = sparse.size();
  facts.total_chunks = pool_->chunks();
  facts.free_chunks = pool_->free_chunks();
  facts.may_grow = pool_->max_bytes() == 0 || pool_->pool_bytes() < pool_->max_bytes();
  facts.finish_all = finish_all;
  int64_t live = 0;
  for (const uint64_t chunk : sparse) live += usage_.Live(chunk);
  // Worth it only when fewer chunks remain: one alone would only move its entries to another.
  const uint64_t needed = static_cast<uint64_t>(live) * 8 / 7 / pool_->chunk_bytes() + 1;
  if (needed >= sparse.size() ||
      compaction::Pick(facts, options_.compaction) != compaction::CompactionPlan::kCollect) {
    return false;
  }
  return Collect(sparse);
}

/// False when nothing could be moved.
bool LeafEngine::Collect(const std::vector<uint64_t>& sparse) {
  const std::lock_guard maintenance(maintenance_mutex_);
  bool any = false;
  // What was placed in these chunks before they were left is written.
  pmem::SynchronizeEpoch();
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
      if (failed() || pool_->failed()) return any;
      if (Status s = MoveEntry(entry, &moved); !s.ok()) return any;
      any = any || moved;
    }
  }
  return any;
}

/// Copies an entry, if a leaf names it, and lets the leaf name the copy.
Status LeafEngine::MoveEntry(uint64_t entry, bool* moved) {
  const pmem::EpochGuard guard;
  const auto* original = pool_->As<EntryHeader>(entry);
  const std::string_view key = original->key();
  LeafNode* node = nullptr;
  std::unique_lock<std::mutex> lock;
  if (Status s = LockLeaf(key, &lock, &node); !s.ok()) return s;
  const uint64_t hash = base::Hash64(key);
  const LeafLookup found = node->offset == 0 ? LeafLookup{} : list_->Find(*node, key, hash);
  if (found.state != LeafLookup::State::kFound || found.offset != entry) return Status::OK();
  std::string_view value;
  if (Status s = ValueOf(entry, &value); !s.ok()) return Status::OK();  // damage stays where it is
  log::Draft draft;
  draft.key = key;
  draft.value = value;
  draft.key_hash = hash;
  Burial burial = PrepareBurial(entry, hash);
  if (Status s = heap_.Place(base::ThreadSlot(), &draft, AllocationClass::kBackground); !s.ok()) {
    return s;
  }
  heap_.Write(&draft, original->sequence());
  if (!BRAID_MUTANT(kLeafCopyNotFenced)) pool_->ops().Fence();
  list_->Redirect(node, found.slot, draft.offset);
  // Before the original is marked dead.
  pool_->ops().Fence();
  if (pool_->failed()) return pool_->FaultStatus();
  Bury(entry, hash, false, &burial);
  counters_.Add(LeafCounter::kMoved);
  *moved = true;
  return Status::OK();
}

/// After a full pool: gives back what can be. True when there is room again.
bool LeafEngine::WaitForSpace() {
  counters_.Add(LeafCounter::kStalls);
  // Close waits for what is inside an EpochGuard; this is not, so it is kept out.
  const std::lock_guard close_lock(close_mutex_);
  if (closed()) return false;
  const uint64_t before = pool_->free_chunks();
  const Status done = base::NoThrow([&] {
    (void)Reclaim(false);
    if (pool_->free_chunks() <= before && CollectStep(true)) (void)Reclaim(false);
    return Status::OK();
  });
  return done.ok() && pool_->free_chunks() > before;
}

Status LeafEngine::Compact() {
  if (closed()) return Status::Closed();
  if (failed() || medium_failed()) return WriteError();
  {
    const std::lock_guard close_lock(close_mutex_);  // as in WaitForSpace
    if (closed()) return Status::Closed();
    (void)Reclaim(true);
    while (CollectStep(true)) {
      if (!Reclaim(true)) break;
    }
    (void)Reclaim(true);
  }
  if (failed() || medium_failed()) return WriteError();
  return page_media() ? SyncPool() : Status::OK();
}

void LeafEngine::MaintenanceLoop() {
  std::unique_lock lock(work_mutex_);
  while (!stopping_) {
    if (!wanted_) {
      work_changed_.wait(lock);
      continue;
    }
    wanted_ = false;
    lock.unlock();
    const Status maintained = base::NoThrow([&] {
      Maintain();
      if (const std::optional<uint32_t> region = pool_->WantsGrowth()) {
        (void)pool_->Grow(*region).ok();
      }
      return Status::OK();
    });
    (void)maintained;  // without memory it is done later
    lock.lock();
  }
}

}  // namespace braid::engine
