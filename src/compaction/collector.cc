// Purpose: choosing and collecting sparse chunks.
// Thread safety, invariant, persistence: see collector.h.
#include "compaction/collector.h"

#include <algorithm>

#include "base/activity.h"
#include "base/check.h"
#include "base/no_throw.h"
#include "compaction/garbage_collection.h"
#include "compaction/picker.h"

namespace braid::compaction {

namespace {
/// Live bytes copied by one collection, in chunks: a compromise between pauses and fences.
constexpr uint64_t kChunksAtATime = 16;
}  // namespace

bool Collector::IsPinned(uint64_t chunk) const {
  const auto found = pinned_.find(chunk);
  if (found == pinned_.end()) return false;
  const Pinned& pinned = found->second;
  return pinned.id == IdOf(chunk) && pinned.live == store_.usage->Live(chunk) &&
         pinned.free_chunks >= pool_.free_chunks();
}

void Collector::Pin(const std::vector<uint64_t>& chunks, uint64_t free_chunks) {
  for (const uint64_t chunk : chunks) {
    pinned_[chunk] = {IdOf(chunk), store_.usage->Live(chunk), free_chunks};
  }
}

bool Collector::Plan(const Occasion& occasion, std::vector<uint64_t>* sparse) const {
  SpaceFacts facts;
  const auto survey_with = [&](double live_ratio) {
    ChunkSurvey survey = store_.accounts->Survey(live_ratio);
    facts.chunk_bytes = pool_.chunk_bytes();
    facts.used_bytes = survey.counted * facts.chunk_bytes;
    facts.live_bytes = static_cast<uint64_t>(std::max<int64_t>(survey.live, 0));
    *sparse = std::move(survey.sparse);
  };
  const double live_ratio = store_.options->compaction.gc_live_ratio;
  survey_with(live_ratio);
  if (live_ratio < compaction::kSparseWhenOver && TakesTooMuch(facts)) {
    survey_with(compaction::kSparseWhenOver);
  }
  int64_t live = 0;
  std::erase_if(*sparse, [&](uint64_t chunk) { return IsPinned(chunk); });
  for (const uint64_t chunk : *sparse) live += store_.usage->Live(chunk);
  facts.drain = occasion.awaited;
  facts.sparse_chunks = sparse->size();
  facts.total_chunks = pool_.chunks();
  facts.free_chunks = pool_.free_chunks();
  facts.may_grow = pool_.may_grow();
  // Worth it only when fewer chunks remain: one alone would only move its entries to another.
  const uint64_t needed = static_cast<uint64_t>(live) * 8 / 7 / pool_.chunk_bytes() + 1;
  return needed < sparse->size() && WantsCollection(facts);
}

Result<bool> Collector::Step(const Occasion& occasion) {
  // Copies need room: what the merge before has retired may be all there is.
  if (pool_.free_chunks() < kChunksAtATime) {
    const Result<bool> reclaimed = store_.reclaimer->Reclaim(store_.errors->failed());
    if (!reclaimed.ok()) return reclaimed;
  }
  std::vector<uint64_t> sparse;
  if (!Plan(occasion, &sparse)) return false;
  const base::ActivityScope activity(base::Activity::kCollect);
  Merger::CopySlot slot;
  if (!store_.merger->TakeSlot(&slot)) return false;
  const uint64_t room = std::min(kChunksAtATime, pool_.free_chunks()) * pool_.chunk_bytes();
  auto collected = base::CatchToStatus([&]() -> Result<CollectedTable> {
    return CopyLiveEntries(&pool_, store_.usage, sparse, slot.table_id, slot.head, room - room / 8);
  });
  const Result<bool> committed = store_.merger->CommitCopies(
      slot, collected.ok() ? Result<format::TableRecord>(collected->record) : collected.status());
  if (!committed.ok()) return committed;
  if (!collected.ok()) return false;
  BRAID_DCHECK(collected->copied.size() + collected->unmovable.size() <= sparse.size());
  Pin(collected->unmovable, pool_.free_chunks());
  if (!*committed) return false;
  BRAID_DCHECK(!collected->copied.empty() && collected->record.entries != 0);
  const Result<bool> merged = store_.merger->FinishCopies();
  if (!merged.ok() || !*merged) return merged;
  // What is still live by its mark was not in the last level, so that its copies were dropped: it
  // is in a list above, or damage, which must not be collected again and again.
  std::erase_if(collected->copied, [&](uint64_t chunk) { return store_.usage->Live(chunk) <= 0; });
  Pin(collected->copied, ~0ull);  // whatever becomes free
  return true;
}

}  // namespace braid::compaction
