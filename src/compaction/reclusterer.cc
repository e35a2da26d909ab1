// Purpose: the parts of a reclustering.
// Thread safety, invariants, persistence: see reclusterer.h.
#include "compaction/reclusterer.h"

#include <algorithm>

#include "base/activity.h"
#include "base/check.h"
#include "base/memory_users.h"
#include "base/no_throw.h"
#include "compaction/garbage_collection.h"
#include "compaction/recluster_survey.h"

namespace braid::compaction {

namespace {
/// Copied in one go, in chunks: as a collection does, a compromise between pauses and fences. Fewer
/// where the lists of their entries would be a large part of the memory budget.
constexpr uint64_t kPartChunks = 16;
constexpr uint64_t kFewestPartChunks = 1;
constexpr uint64_t kBudgetOfAPartChunk = 32u << 20;
/// Where nobody has chosen a share. A small L1 is in the processor's caches however it lies.
constexpr double kDefaultShare = 0.25;
constexpr uint64_t kLeastEntries = 16384;

double ShareOf(const CompactionOptions& options) {
  return options.recluster_share.value_or(kDefaultShare);
}
}  // namespace

/// Whether so much of L1 is new that it is worth a walk over all of it. The first time somebody
/// asks for all work to be done it is: nothing is known about a pool that was opened.
bool Reclusterer::WantsPass(const level::PmemTable& l1, const Occasion& occasion) const {
  const CompactionOptions& options = store_.options->compaction;
  const double share = ShareOf(options);
  if (share == 0 || *options.kind == MergeKind::kNone) return false;
  if (!options.recluster_share && l1.entries() < kLeastEntries) return false;
  // All originals stay until the last part is done, since each chunk has keys of all parts.
  const pool::PmemPool& pool = *store_.pool;
  const uint64_t used = pool.used_chunks() * pool.chunk_bytes();
  const uint64_t free = pool.free_chunks() * pool.chunk_bytes();
  const uint64_t limit = pool.max_bytes();
  if (limit != 0 && free + (limit - std::min(limit, pool.pool_bytes())) < used) return false;
  BRAID_DCHECK(occasion.merged >= merged_then_.value_or(0));
  const auto changed = static_cast<double>(occasion.merged - merged_then_.value_or(0));
  return (!merged_then_ && occasion.awaited) || changed > share * static_cast<double>(l1.entries());
}

Result<bool> Reclusterer::Step(const Occasion& occasion) {
  if (!occasion.at_rest) return false;
  const std::shared_ptr<level::PmemTable> l1 = store_.versions->Lock().bottom();
  if (!pass_.under_way()) {
    if (!occasion.may_begin || !WantsPass(*l1, occasion)) return false;
    pass_.Begin(l1->list());
    merged_then_ = occasion.merged;
  }
  const Result<bool> more = Part(l1->list());
  if (!more.ok() || !*more) pass_.End();
  if (!more.ok()) return more.status();
  return true;
}

/// False when the pass ends early: there was no room for more.
Result<bool> Reclusterer::Part(const index::SkipList& list) {
  BRAID_DCHECK(pass_.under_way());
  const base::ActivityScope activity(base::Activity::kCollect);
  pool::PmemPool* const pool = store_.pool;
  Result<PartOfL1> part = base::CatchToStatus([&] {
    const uint64_t budget = store_.options->memory_budget_bytes / kBudgetOfAPartChunk;
    const uint64_t chunks =
        std::min(std::clamp(budget, kFewestPartChunks, kPartChunks), pool->chunks());
    const uint64_t bytes = chunks * (pool->chunk_bytes() - pool->chunk_bytes() / 8);
    return SurveyPart(list, store_.indexes->walk_tree(), pass_.from(), bytes);
  });
  // Nothing is begun: without memory it can wait.
  if (part.status().IsOutOfMemory()) return false;
  if (!part.ok()) return part.status();
  base::MemoryCharge charge(&pool->memory_users());
  charge.Set(part->movable.capacity() * sizeof part->movable[0]);
  if (part->IsScattered(ShareOf(store_.options->compaction))) {
    Merger::CopySlot slot;
    if (!store_.merger->TakeSlot(&slot)) return false;
    Result<format::TableRecord> copies = base::CatchToStatus([&]() -> Result<format::TableRecord> {
      return CopyEntries(pool, store_.usage, &part->movable, slot.table_id, slot.head, ~0ull);
    });
    const Result<bool> committed = store_.merger->CommitCopies(slot, std::move(copies));
    if (!committed.ok()) return committed.status();
    // Where nothing verifies there is nothing to merge.
    if (!*committed && !part->movable.empty()) return false;
    BRAID_DCHECK(*committed == !part->movable.empty());
    if (*committed) {
      const Result<bool> merged = store_.merger->FinishCopies({.moved = &part->movable});
      if (!merged.ok() || !*merged) return merged;
    }
    reclustered_.fetch_add(part->movable.size(), std::memory_order_relaxed);
  }
  pass_.Advance(part->is_last, std::move(part->next_key));
  return true;
}

}  // namespace braid::compaction
