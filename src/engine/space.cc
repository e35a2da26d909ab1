// Purpose: giving space and memory back: accounting of dead entries, reclamation of chunks after
// their readers are gone, and copying collection. Thread safety, invariants, persistence: see
// lsm_engine.h.
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>

#include "base/activity.h"
#include "base/mutants.h"
#include "base/no_throw.h"
#include "base/prefetch.h"
#include "compaction/garbage_collection.h"
#include "compaction/picker.h"
#include "engine/lsm_engine.h"
#include "log/log_reader.h"

namespace braid::engine {

namespace {
/// Live bytes copied by one collection, in chunks: a compromise between pauses and fences.
constexpr uint64_t kCollectChunks = 16;
/// Entries asked for ahead of their accounting, and how much of each.
constexpr size_t kAccountAhead = 16;
constexpr uint64_t kEntryFront = 64;
/// Chunks counted between two looks for a merge that waits.
constexpr size_t kCountSlice = 8;
}  // namespace

Status LsmEngine::RunMerge(compaction::CompactionJob* job,
                           const compaction::BatchProgress& resumed) {
  const base::ActivityScope activity(base::Activity::kMerge);
  if (index_ != nullptr) index_->ForgetCount();
  std::function<compaction::TargetTree()> fit_tree;
  if (second_chance_ != nullptr || index_ != nullptr) {
    fit_tree = [this]() -> compaction::TargetTree {
      // Without memory for a smaller one it stays as it is, until the next batch.
      base::Try([&] { FitMemory(); });
      FreeMemoryIfShort();
      if (second_chance_ != nullptr) FitSecondChance(false);
      return TreesOfL1();
    };
  }
  Status s = base::NoThrow([&] {
    const index::LiveViews views = views_->Collect();
    Status run = job->Run(
        views, &relinks_, [this] { return stop_merges_.load(); }, fit_tree);
    if (job->revisits()) kept_left_ = run.ok() ? job->kept().left : 0;
    // A part that is looked at once more is counted then.
    if (run.ok() && (!job->revisits() || kept_left_ == 0)) kept_.Add(views, job->kept());
    return run;
  });
  // Until the merge has ended in the manifest, whoever checks the tables must know how far it is.
  resumed_merge_ = job->progress().batch != 0 ? job->progress() : resumed;
  if (s.ok() && BRAID_MUTANT(kChunkFreedTooEarly)) {
    AccountDead(job->dead());
    RetireEmptyChunks();
    Reclaim();
  }
  return s;
}

/// Takes entries that died out of the counts and the lookup cache, and retires the extents of those
/// that had one.
void LsmEngine::AccountDead(const std::vector<uint64_t>& dead) {
  space::Retired retired;
  for (size_t i = 0; i < dead.size(); ++i) {
    if (i + kAccountAhead < dead.size()) {
      base::PrefetchRange(pool_->At(dead[i + kAccountAhead]), kEntryFront);
    }
    const uint64_t offset = dead[i];
    const format::EntryHeader* entry = pool_->EntryAt(offset);
    if (entry == nullptr) continue;
    if (lookup_cache_ != nullptr) TakeFromLookupCache(*entry, offset);
    if (!BRAID_MUTANT(kDeadNotAccounted)) usage_.Remove(pool_->ChunkOf(offset), entry->size());
    if (const uint64_t extent = pool_->ExtentOf(offset); extent != 0) {
      retired.extents.push_back(extent);
    }
  }
  if (!retired.extents.empty()) reclaimer_.Retire(std::move(retired));
}

/// The same for originals that gave way to their copies: in their buckets of the lookup cache, too.
/// In rounds, so that the misses of some are under way side by side.
void LsmEngine::AccountMoved(const index::Replacement* moved, size_t count) {
  std::array<uint64_t, kAccountAhead> hashes{};
  const auto ask = [&](size_t from) {
    for (size_t i = from; i < std::min(count, from + kAccountAhead); ++i) {
      base::PrefetchRange(pool_->At(moved[i].from), kEntryFront);
    }
  };
  ask(0);
  for (size_t begin = 0; begin < count; begin += kAccountAhead) {
    ask(begin + kAccountAhead);
    const size_t end = std::min(count, begin + kAccountAhead);
    for (size_t i = begin; i < end; ++i) {
      const format::EntryHeader* entry = pool_->EntryAt(moved[i].from);
      if (entry == nullptr) continue;
      usage_.Remove(pool_->ChunkOf(moved[i].from), entry->size());
      if (lookup_cache_ == nullptr) continue;
      hashes[i - begin] = base::Hash64(entry->key());
      lookup_cache_->Prefetch(hashes[i - begin]);
    }
    if (lookup_cache_ == nullptr) continue;
    for (size_t i = begin; i < end; ++i) {
      if (pool_->EntryAt(moved[i].from) == nullptr) continue;
      lookup_cache_->Replace(hashes[i - begin], moved[i].from, moved[i].to);
    }
  }
}

/// `entry`, at `offset`, is dead. If it is the original of a copy, the copy takes its place.
void LsmEngine::TakeFromLookupCache(const format::EntryHeader& entry, uint64_t offset) {
  const index::LookupKey key{entry.key(), base::Hash64(entry.key())};
  if (lookup_cache_->Names(key.hash, offset)) {
    const pmem::EpochGuard guard;
    const index::LookupResult found =
        state_.load(std::memory_order_acquire)->version->l1->Get(key, index::ReadView{});
    const bool known = found.state == index::LookupResult::State::kFound ||
                       found.state == index::LookupResult::State::kDeleted;
    if (known && pool_->As<format::EntryHeader>(found.offset)->sequence() == entry.sequence()) {
      lookup_cache_->Replace(key.hash, offset, found.offset);
      return;
    }
  }
  lookup_cache_->Forget(key.hash, offset);
}

/// Retires chunks of merged tables that hold nothing live any more.
void LsmEngine::RetireEmptyChunks() {
  compaction::ChunkSurvey survey;
  {
    const std::lock_guard lock(structure_mutex_);
    survey = compaction::SurveyChunks(*pool_, usage_, manifest_.record(),
                                      options_.compaction.gc_live_ratio);
  }
  // A retired chunk looks empty until it is free; its generation tells it from its next life.
  space::Retired retired;
  retired.chunks = compaction::WithoutRetiring(survey.empty, retiring_chunks_).chunks;
  if (!retired.chunks.empty()) reclaimer_.Retire(std::move(retired));
  retiring_chunks_ = std::move(survey.empty);
}

/// Logs whose entries a committed table has copies of. A recovered log may be one, whatever kind
/// this session writes.
void LsmEngine::RetireWriteAheadChunks() {
  space::Retired retired;
  {
    const std::lock_guard lock(structure_mutex_);
    const uint64_t flushed = manifest_.record().flushed_table_id;
    const uint64_t before = std::exchange(logs_retired_to_, flushed);
    if (pool_->write_ahead_chunks() == 0 || flushed == before) return;
    for (uint64_t chunk = 0; chunk < pool_->chunks(); ++chunk) {
      if (pool_->StateOf(chunk).kind() != format::ChunkKind::kWriteAhead) continue;
      Result<log::LogChunk> header = log::ReadLogChunk(*pool_, chunk);
      if (!header.ok() || header->table_id <= before || header->table_id > flushed) continue;
      retired.chunks.push_back(IdOf(chunk));
    }
  }
  if (BRAID_MUTANT(kWriteAheadFreedEarly)) {
    for (const pmem::ChunkId& chunk : retired.chunks) pool_->FreeChunk(chunk.chunk);
    return;
  }
  if (!retired.chunks.empty()) reclaimer_.Retire(std::move(retired));
}

/// Gives back what no reader and no view can reach. False when nothing could be.
bool LsmEngine::Reclaim() {
  Result<bool> worked = reclaimer_.Reclaim(failed());
  if (!worked.ok()) Fail(worked.status());
  return worked.ok() && *worked;
}

/// What reclaims may be busy touching pages for longer than writers need to fill the budget: where
/// memory is short, whoever has just retired some does not wait for it.
void LsmEngine::FreeMemoryIfShort() {
  if (MemoryBytes() > MemoryGoal()) reclaimer_.ReclaimMemory();
}

/// Counts a few chunks of earlier sessions. False when all are known.
bool LsmEngine::CountStep() {
  compaction::ChunkSurvey survey;
  {
    const std::lock_guard lock(structure_mutex_);
    survey = compaction::SurveyChunks(*pool_, usage_, manifest_.record(),
                                      options_.compaction.gc_live_ratio);
  }
  if (survey.unknown.empty()) return false;
  const size_t count = std::min(survey.unknown.size(), kCountSlice);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t chunk = survey.unknown[i];
    usage_.Set(chunk, static_cast<int64_t>(compaction::CountLiveBytes(*pool_, chunk)));
  }
  RetireEmptyChunks();
  return true;
}

/// Finishes the merge of copies that has begun, be it before a crash. `moved`: the copies and their
/// originals, where they were made just now; may be null. `revisited`: there are no copies, but
/// these keys are looked at again; may be null. False when there is none.
bool LsmEngine::FinishCopies(const std::vector<index::Replacement>* moved,
                             const std::vector<uint64_t>* revisited) {
  const Status s = base::NoThrow([&] { return MergeCopies(moved, revisited); });
  if (!s.ok() && s.code() != Status::Code::kAborted && !s.IsNotFound()) Fail(s);
  return s.ok();
}

Status LsmEngine::MergeCopies(const std::vector<index::Replacement>* moved,
                              const std::vector<uint64_t>* revisited) {
  std::unique_ptr<compaction::CompactionJob> job;
  const compaction::BatchProgress resumed = resumed_merge_;
  {
    const std::lock_guard lock(structure_mutex_);
    format::ManifestRecord& record = manifest_.record();
    const format::TableRecord* found = nullptr;
    for (uint32_t i = 0; i < record.table_count; ++i) {
      if ((record.tables[i].flags & format::kTableOfCopies) != 0) found = &record.tables[i];
    }
    if (found == nullptr) return Status::NotFound();
    auto copies =
        std::make_shared<level::PmemTable>(pool_.get(), *found, options_.verify_checksums);
    job = std::make_unique<compaction::CompactionJob>(pool_.get(), &manifest_, std::move(copies),
                                                      state_owner_->version->l1, IndexTree(),
                                                      options_.compaction);
    job->SetMoved(moved);
    job->SetRevisited(revisited);
    const compaction::TargetTree trees = TreesOfL1();
    job->SetNextTree(trees.next, trees.next_min_height);
    if (Status s = job->Begin(resumed); !s.ok()) return s;
  }
  if (Status s = RunMerge(job.get(), resumed); !s.ok()) return s;
  {
    const std::lock_guard lock(structure_mutex_);
    if (pool_->failed()) return pool_->FaultStatus();
    if (Status s = job->Finish(); !s.ok()) return s;
    resumed_merge_ = {};
  }
  AccountDead(job->dead());
  for (const auto& [begin, end] : job->replaced()) AccountMoved(&(*moved)[begin], end - begin);
  RetireEmptyChunks();
  return Status::OK();
}

bool LsmEngine::IsPinned(uint64_t chunk) const {
  const auto found = pinned_chunks_.find(chunk);
  if (found == pinned_chunks_.end()) return false;
  const PinnedChunk& pinned = found->second;
  return pinned.id == IdOf(chunk) && pinned.live == usage_.Live(chunk) &&
         pinned.free_chunks >= pool_->free_chunks();
}

void LsmEngine::Pin(const std::vector<uint64_t>& chunks, uint64_t free_chunks) {
  for (const uint64_t chunk : chunks) {
    pinned_chunks_[chunk] = {IdOf(chunk), usage_.Live(chunk), free_chunks};
  }
}

/// Whether collecting is worth it now, and which chunks.
bool LsmEngine::PlanCollection(std::vector<uint64_t>* sparse) {
  compaction::StoreFacts facts;
  const auto survey_with = [&](double live_ratio) {
    const std::lock_guard lock(structure_mutex_);
    compaction::ChunkSurvey survey =
        compaction::SurveyChunks(*pool_, usage_, manifest_.record(), live_ratio);
    facts.chunk_bytes = pool_->chunk_bytes();
    facts.used_bytes = survey.counted * facts.chunk_bytes;
    facts.live_bytes = static_cast<uint64_t>(std::max<int64_t>(survey.live, 0));
    *sparse = std::move(survey.sparse);
  };
  const double live_ratio = options_.compaction.gc_live_ratio;
  survey_with(live_ratio);
  if (live_ratio < compaction::kSparseWhenOver && compaction::TakesTooMuch(facts)) {
    survey_with(compaction::kSparseWhenOver);
  }
  {
    const std::lock_guard lock(work_mutex_);
    facts.finish_all = finish_all_ > 0;
  }
  int64_t live = 0;
  std::erase_if(*sparse, [&](uint64_t chunk) { return IsPinned(chunk); });
  for (const uint64_t chunk : *sparse) live += usage_.Live(chunk);
  facts.sparse_chunks = sparse->size();
  facts.total_chunks = pool_->chunks();
  facts.free_chunks = pool_->free_chunks();
  facts.may_grow = pool_->max_bytes() == 0 || pool_->pool_bytes() < pool_->max_bytes();
  // Worth it only when fewer chunks remain: one alone would only move its entries to another.
  const uint64_t needed = static_cast<uint64_t>(live) * 8 / 7 / pool_->chunk_bytes() + 1;
  return needed < sparse->size() &&
         compaction::Pick(facts, options_.compaction) == compaction::CompactionPlan::kCollect;
}

/// For whoever begins a merge of copies. False when it can't begin now.
bool LsmEngine::TakeCopySlot(CopySlot* slot) {
  const std::lock_guard lock(structure_mutex_);
  if (failed() || medium_failed()) return false;
  // The step before may have left its merge open, and the manifest tells of one only.
  if (manifest_.record().merge_id != 0 && !BRAID_MUTANT(kOpenMergeWaits)) return false;
  Result<uint32_t> taken = manifest_.TakeHead();
  if (!taken.ok()) return false;
  // The id is never shared, not even by a collection that comes to nothing.
  *slot = {*taken, next_table_id_++};
  return true;
}

/// Makes copies that have been written a table of the store, whose merge begins with the same
/// commit. False when there are none, or it failed.
bool LsmEngine::CommitCopies(const CopySlot& slot, Result<format::TableRecord> copies) {
  if (copies.ok() && pool_->failed()) copies = pool_->FaultStatus();
  // On page-cache media the copies must be on the medium before the originals are marked dead.
  Status s = copies.ok() ? SyncUnless(BRAID_MUTANT(kCollectedCopiesNotSynced)) : copies.status();
  const bool empty = !s.ok() || copies->entries == 0;
  {
    const std::lock_guard lock(structure_mutex_);
    if (empty) {
      manifest_.ReturnHead(slot.head);
    } else {
      format::ManifestRecord& record = manifest_.record();
      manifest_.AddTable(*copies);
      if (!BRAID_MUTANT(kCollectedIdNotRaised)) record.collected_table_id = slot.table_id;
      record.next_table_id = next_table_id_;
      s = compaction::NoteMergeBegin(pool_.get(), &manifest_, options_.compaction,
                                     record.next_merge_id++, slot.table_id);
      if (BRAID_MUTANT(kCopiesMergeNotBegun)) record.merge_id = 0;
      if (s.ok()) s = manifest_.Commit();
      resumed_merge_ = {};
    }
  }
  // The room of copies that came to nothing is a writer's again.
  if (empty) reclaimer_.CountRoom();
  // Copies that found no room were given back. A sync or commit that failed is another matter, for
  // want of space too: what it covers may be on the medium.
  if (!s.ok() && !copies.status().IsOutOfSpace()) Fail(s);
  return s.ok() && !empty;
}

/// Copies the live entries of sparse chunks together. False when there is nothing worth doing.
bool LsmEngine::CollectStep() {
  // Copies need room: what the merge before has retired may be all there is.
  if (pool_->free_chunks() < kCollectChunks) (void)Reclaim();
  std::vector<uint64_t> sparse;
  if (!PlanCollection(&sparse)) return false;
  const base::ActivityScope activity(base::Activity::kCollect);
  CopySlot slot;
  if (!TakeCopySlot(&slot)) return false;
  const uint64_t room = std::min(kCollectChunks, pool_->free_chunks()) * pool_->chunk_bytes();
  auto collected = base::NoThrow([&]() -> Result<compaction::CollectedTable> {
    return compaction::CopyLiveEntries(pool_.get(), &usage_, sparse, slot.table_id, slot.head,
                                       room - room / 8);
  });
  const bool committed = CommitCopies(
      slot, collected.ok() ? Result<format::TableRecord>(collected->record) : collected.status());
  if (!collected.ok() || failed()) return false;
  Pin(collected->unmovable, pool_->free_chunks());
  if (!committed || !FinishCopies()) return false;
  // What is still live by its mark was in no table, so that its copies were dropped: damage, which
  // must not be collected again and again.
  std::erase_if(collected->copied, [&](uint64_t chunk) { return usage_.Live(chunk) <= 0; });
  Pin(collected->copied, ~0ull);  // whatever becomes free
  return true;
}

}  // namespace braid::engine
