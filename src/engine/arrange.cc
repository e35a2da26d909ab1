// Purpose: brings L1 into the order of its keys in memory, part by part, while nobody writes or
// when all work is to be finished. Thread safety, invariants, persistence: see lsm_engine.h; the
// copies are those of a collection (compaction/garbage_collection.h).
#include <algorithm>

#include "base/activity.h"
#include "base/clock.h"
#include "base/memory_users.h"
#include "base/no_throw.h"
#include "compaction/arrangement.h"
#include "compaction/garbage_collection.h"
#include "engine/lsm_engine.h"

namespace braid::engine {

namespace {
/// Copied in one go, in chunks: as a collection does, a compromise between pauses and fences. Fewer
/// where the lists of their entries would be a large part of the memory budget.
constexpr uint64_t kPartChunks = 16;
constexpr uint64_t kFewestPartChunks = 1;
constexpr uint64_t kBudgetOfAPartChunk = 32u << 20;
/// Without a write for so long, the store is taken to be at rest.
constexpr uint64_t kQuietNanos = 1'000'000'000;
}  // namespace

/// Whether writes have ended for now, or somebody waits for all work to be done.
bool LsmEngine::IsAtRest() {
  {
    const std::lock_guard lock(work_mutex_);
    if (finish_all_ > 0) return true;
  }
  if (!options_.background_threads) return false;
  const uint64_t writes = sequence_.load(std::memory_order_relaxed);
  const uint64_t now = NowNanos();
  if (writes != writes_seen_) {
    writes_seen_ = writes;
    quiet_since_ = now;
  }
  return now - quiet_since_ >= kQuietNanos;
}

/// Whether so much of L1 is new that it is worth a walk over all of it. The first time somebody
/// asks for all work to be done it is: nothing is known about a pool that was opened.
bool LsmEngine::WantsArrangement() {
  const double share = *options_.compaction.arrange_share;
  if (share == 0 || *options_.compaction.kind == MergeKind::kNone) return false;
  std::shared_ptr<level::PmemTable> l1;
  {
    const std::lock_guard lock(structure_mutex_);
    l1 = state_owner_->version->l1;
  }
  if (l1->entries() < options_.compaction.arrange_min_entries) return false;
  // All originals stay until the last part is done, since each chunk has keys of all parts.
  const uint64_t used = pool_->used_chunks() * pool_->chunk_bytes();
  const uint64_t free = pool_->free_chunks() * pool_->chunk_bytes();
  const uint64_t limit = pool_->max_bytes();
  if (limit != 0 && free + (limit - std::min(limit, pool_->pool_bytes())) < used) return false;
  const uint64_t merged = counters_.Sum(EngineCounter::kMergedEntries);
  const auto changed = static_cast<double>(merged - arranged_at_.value_or(0));
  const std::lock_guard lock(work_mutex_);
  return (!arranged_at_ && finish_all_ > 0) || changed > share * static_cast<double>(l1->entries());
}

/// Where a pass over L1 that begins now ends, however many keys come behind it meanwhile. Empty
/// when there is none, or it can't be read: then the first part of the pass is the last.
std::string LsmEngine::LastKeyOf(const index::SkipList& list) const {
  index::Damage damage;
  const format::EntryHeader* last = list.FindLast(&damage);
  return last == nullptr ? std::string() : std::string(last->key());
}

/// Surveys the next part of L1, and copies it into the order of its keys if it is scattered. False
/// when there is nothing to do.
bool LsmEngine::ArrangeStep() {
  if (!IsAtRest()) return false;
  std::shared_ptr<level::PmemTable> l1;
  {
    const std::lock_guard lock(structure_mutex_);
    l1 = state_owner_->version->l1;
  }
  if (!arranging_) {
    if ((round_ && round_->began_pass) || !WantsArrangement()) return false;
    if (round_) round_->began_pass = true;
    arrange_to_ = LastKeyOf(l1->list());
    arranging_ = true;
    arranged_at_ = counters_.Sum(EngineCounter::kMergedEntries);
    arrange_from_.clear();
  }
  arranging_ = ArrangePart(l1->list());
  return !failed();
}

/// False when the pass ends: it was the last part, or there was no room for more.
bool LsmEngine::ArrangePart(const index::SkipList& list) {
  const base::ActivityScope activity(base::Activity::kCollect);
  compaction::PartOfL1 part;
  const Status surveyed = base::NoThrow([&] {
    const uint64_t chunks = std::min(std::clamp(options_.memory_budget_bytes / kBudgetOfAPartChunk,
                                                kFewestPartChunks, kPartChunks),
                                     pool_->chunks());
    const uint64_t bytes = chunks * (pool_->chunk_bytes() - pool_->chunk_bytes() / 8);
    Result<compaction::PartOfL1> found = compaction::SurveyPart(
        list, index_ != nullptr ? IndexTree() : nullptr, arrange_from_, bytes);
    if (found.ok()) part = std::move(found).value();
    return found.status();
  });
  if (!surveyed.ok()) {
    // Nothing is begun: without memory it can wait.
    if (!surveyed.IsOutOfMemory()) Fail(surveyed);
    return false;
  }
  base::MemoryCharge charge(&pool_->memory_users());
  charge.Set(part.movable.capacity() * sizeof part.movable[0]);
  CopySlot slot;
  if (part.IsScattered(*options_.compaction.arrange_share)) {
    if (!TakeCopySlot(&slot)) return false;
    Result<format::TableRecord> copies = base::NoThrow([&]() -> Result<format::TableRecord> {
      return compaction::CopyEntries(pool_.get(), &usage_, &part.movable, slot.table_id, slot.head,
                                     ~0ull);
    });
    const bool committed = CommitCopies(slot, std::move(copies));
    // Where nothing verifies there is nothing to merge.
    if (!committed && (failed() || !part.movable.empty())) return false;
    if (committed && !FinishCopies(&part.movable)) return false;
    counters_.Add(EngineCounter::kArrangedEntries, part.movable.size());
  }
  arrange_from_ = std::move(part.next_key);
  return !part.is_last && arrange_from_ <= arrange_to_;
}

}  // namespace braid::engine
