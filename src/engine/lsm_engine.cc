// Purpose: opening, closing and inspecting the LSM engine. Thread safety, invariants, persistence:
// see lsm_engine.h.
#include "engine/lsm_engine.h"

#include <algorithm>
#include <chrono>

#include "base/activity.h"
#include "base/mutants.h"
#include "base/no_throw.h"
#include "engine/parts.h"

namespace braid::engine {

namespace {

/// DRAM that each memtable may have, whatever the budget.
constexpr uint64_t kLeastMemTable = 2 << 10;

}  // namespace

LsmEngine::LsmEngine(const Options& options, std::unique_ptr<pmem::PmemPool> pool)
    : options_(options),
      memtable_memory_(std::max(kLeastMemTable, options.memory_budget_bytes /
                                                    (6 * (options.memtable.max_immutable + 1)))),
      watches_memtables_(memtable_memory_ < options.memtable.bytes),
      pool_(std::move(pool)),
      usage_(pool_->media().reserved_bytes() / pool_->chunk_bytes()),
      manifest_(pool_.get()),
      controller_(options),
      views_(std::make_shared<ViewRegistry>()),
      waiting_charge_(&pool_->memory_users()),
      lookup_cache_(
          *options_.cache.lookup_bytes == 0 || options_.read_only  // nothing would ever fill it
              ? nullptr
              : std::make_unique<cache::LookupCache>(pool_.get(), *options_.cache.lookup_bytes)),
      shards_(ShardCount(options)) {
  WatchMedium(pool_.get());
  if (options.lists.count_visits) visits_ = std::make_unique<index::VisitCounters>();
}

Result<std::shared_ptr<LsmEngine>> LsmEngine::Open(const Options& options,
                                                   std::unique_ptr<pmem::Media> media) {
  if (Status s = CheckLsmParts(options); !s.ok()) return s;
  const auto begin = std::chrono::steady_clock::now();
  Result<std::unique_ptr<pmem::PmemPool>> pool =
      pmem::PmemPool::Open(std::move(media), options, [](pmem::PmemPool* fresh) {
        level::Manifest manifest(fresh);
        return manifest.Create();
      });
  if (!pool.ok()) return pool.status();
  std::shared_ptr<LsmEngine> engine(new LsmEngine(options, std::move(pool).value()), Deleter());
  const auto& lookup = engine->lookup_cache_;
  if (!engine->usage_.ok() || (lookup != nullptr && !lookup->ok())) return Status::OutOfMemory();
  Status s = engine->Recover();
  if (s.ok() && options.verify_on_open == VerifyOnOpen::kFull) {
    VerifyReport report;
    s = engine->VerifyAll(&report, {});
  }
  if (engine->medium_failed()) return engine->MediumStatus();
  if (!s.ok()) return s;
  s = options.read_only ? engine->pool_->media().Seal() : engine->AnnounceWrites();
  if (!s.ok()) return s;
  engine->open_micros_ =
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                std::chrono::steady_clock::now() - begin)
                                .count());
  engine->TellRecovery();
  engine->StartJobs();
  return engine;
}

void LsmEngine::TellRecovery() const {
  if (options_.listener == nullptr) return;
  options_.listener->OnRecovery({.clean = pool_->was_clean(),
                                 .replayed_entries = recovered_entries_,
                                 .micros = open_micros_});
}

/// From here on the pool changes; until now recovery could be repeated from the same bytes.
Status LsmEngine::AnnounceWrites() {
  const bool copies =
      *options_.log.kind == LogKind::kWriteAhead || *options_.compaction.kind == MergeKind::kCopy;
  return pool_->MarkDirty(copies ? format::kIncompatCopies : 0);
}

Status LsmEngine::Recover() {
  const base::ActivityScope activity(base::Activity::kRecovery);
  recovery::RecoveryJob job(pool_.get(), &manifest_, &usage_, options_);
  Result<recovery::RecoveredState> recovered = job.Run();
  if (!recovered.ok()) return recovered.status();
  const format::ManifestRecord& record = manifest_.record();
  resumed_merge_ = recovered->merge_progress;
  sequence_.store(recovered->last_sequence);
  // Numbers of torn entries are found in their log only: the commit that ends the log keeps them.
  if (!BRAID_MUTANT(kRecoveredSequenceNotSaved)) {
    manifest_.record().last_sequence = recovered->last_sequence;
  }
  next_table_id_ = std::max(recovered->next_table_id, record.next_table_id);
  recovered_entries_ = recovered->replayed_entries;
  logs_retired_to_ = record.flushed_table_id;

  auto version = std::make_shared<level::Version>();
  for (uint32_t i = 0; i < record.table_count; ++i) {
    const format::TableRecord& table = record.tables[i];
    if ((table.flags & format::kTableOfCopies) != 0) continue;
    auto opened = std::make_shared<level::PmemTable>(pool_.get(), table, options_.verify_checksums);
    if (table.level == 0) {
      version->l0.push_back(std::move(opened));
    } else {
      version->l1 = std::move(opened);
    }
  }
  if (BRAID_MUTANT(kLogForgottenByRecovery)) {
    manifest_.record().flushed_table_id = next_table_id_ - 1;
    if (Status s = manifest_.Commit(); !s.ok()) return s;
  }
  l0_found_ = version->l0.size();
  if (!version->l0.empty()) unfilled_id_ = version->l0.front()->id();
  if (*options_.cache.index) {
    index_ = std::make_unique<cache::DramIndex>(pool_.get(), 1);
    for (const auto& table : version->l0) unindexed_.insert(unindexed_.begin(), table->id());
    indexes_left_.store(unindexed_.size());
  }
  if (*options_.cache.second_chance_bytes != 0) {
    second_chance_ = std::make_unique<cache::SecondChanceCache>(
        pool_.get(), *options_.cache.second_chance_bytes);
    version->l1->set_tree(second_chance_->tree(), second_chance_->min_height());
  }
  if (index_ != nullptr && version->l1->entries() == 0 && record.merge_id == 0) {
    if (Status s = index_->BuildSlice(version->l1->list(), 1); !s.ok()) return s;
    if (index_->complete()) version->l1->set_tree(index_->tree(), 1);
  }
  if (BRAID_MUTANT(kTreeShownIncomplete) && index_ != nullptr)
    version->l1->set_tree(index_->tree(), 1);
  auto state = std::make_shared<ReadState>();
  state->version = std::move(version);
  if (recovered->table != nullptr && recovered->table->entries() != 0) {
    auto sealed =
        std::make_shared<LoggedMemTable>(pool_.get(), recovered->table, recovered->write_ahead);
    sealed->sealed.store(true);
    sealed->table->Advance(memtable::State::kSealed);
    state->immutables.push_back(std::move(sealed));
  }
  state->active = std::make_shared<LoggedMemTable>(pool_.get(), next_table_id_++,
                                                   static_cast<uint32_t>(shards_.size()), options_);
  state_owner_ = std::move(state);
  state_.store(state_owner_.get(), std::memory_order_release);
  if (recovered->replayed_entries != 0 || recovered->rebuilt) {
    Log("recovered " + std::to_string(recovered->replayed_entries) + " log entries" +
        (recovered->rebuilt ? "; lists were rebuilt after a power loss" : ""));
  }
  return Status::OK();
}

LsmEngine::~LsmEngine() {
  // A database that was not closed is left as a crash leaves it: that is what recovery is for.
  closed_.store(true);
  controller_.Release();
  StopJobs();
  pmem::SynchronizeEpoch();
}

size_t LsmEngine::sealed_memtables() const {
  const std::lock_guard lock(structure_mutex_);
  return state_owner_->immutables.size();
}

Status LsmEngine::Close() {
  const std::lock_guard close_lock(close_mutex_);
  if (closed()) return Status::Closed();
  closed_.store(true);
  calls_.Shut();
  controller_.Release();
  pmem::SynchronizeEpoch();
  StopJobs();         // those that wait for the jobs, or merge themselves, stop as well
  calls_.AwaitAll();  // a load under way ends with its next record
  large_values_.Close();
  Status outcome = background_error();
  if (outcome.ok() && !options_.read_only) {
    outcome = base::NoThrow([&] { return FlushForClose(); });
  }
  if (outcome.ok() && medium_failed()) outcome = MediumStatus();
  if (outcome.ok() && !options_.read_only) {
    {
      const std::lock_guard lock(structure_mutex_);
      // Refused writes may have drawn numbers above the last one.
      manifest_.record().last_sequence = std::max(manifest_.record().last_sequence,
                                                  std::min(sequence_.load(), format::kMaxSequence));
      manifest_.record().next_table_id = next_table_id_;
      outcome = manifest_.Commit();
    }
    if (outcome.ok()) outcome = base::NoThrow([&] { return pool_->MarkClean(); });
  }
  // A pool that is not marked clean is recovered at the next open, as after a crash.
  pool_->media().Unlock();
  return outcome;
}

/// Everything the log holds becomes a table, so that the next open replays nothing.
Status LsmEngine::FlushForClose() {
  {
    const std::lock_guard lock(structure_mutex_);
    if (state_owner_->active->table->entries() != 0) {
      NextState next = CopyState();
      next.state->immutables.insert(next.state->immutables.begin(), next.state->active);
      next.state->active =
          std::make_shared<LoggedMemTable>(pool_.get(), next_table_id_++, 1, options_);
      next.state->immutables.front()->table->Advance(memtable::State::kSealed);
      SwapState(std::move(next));
    }
  }
  stop_merges_.store(false);
  if (BRAID_MUTANT(kCleanBeforeFlush)) (void)pool_->MarkClean();
  // When no head is free for another table, a merge makes one.
  const auto merge = [this] {
    TakeBackFromReaders();
    return MergeNext();
  };
  while (!BRAID_MUTANT(kCloseLeavesLog) &&
         (FlushOldest() || (sealed_memtables() != 0 && !failed() && merge()))) {
  }
  if (!failed()) {
    if (Status s = Checkpoint(); !s.ok()) return s;
    if (Status s = BlockedReason(); !s.ok()) return s;
  }
  while (Guarded(&LsmEngine::Reclaim)) {
  }
  return background_error();
}

Status LsmEngine::BackgroundStatus() {
  if (closed()) return Status::Closed();
  if (failed() || medium_failed()) return WriteError();
  if (Status s = pool_->media().SyncError(); !s.ok()) return s;
  return BlockedReason();
}

Status LsmEngine::Resume() {
  const CallGate::Call call(&calls_);
  if (!call.entered()) return Status::Closed();
  // A flush that found no room has changed nothing: it is tried again. What ended otherwise is half
  // done, and takes a recovery.
  Unblock();
  if (Status s = WaitUntilIdle(false); !s.ok()) return s;
  return BackgroundStatus();
}

void LsmEngine::FillVisits(Statistics* statistics) const {
  if (visits_ == nullptr) return;
  statistics->upper_visits_local = visits_->nodes(0, 0);
  statistics->upper_visits_remote = visits_->nodes(0, 1);
  statistics->bottom_visits_local = visits_->nodes(1, 0);
  statistics->bottom_visits_remote = visits_->nodes(1, 1);
  static_assert(std::tuple_size_v<decltype(Statistics::lookup_paths)> == index::kPathBuckets);
  for (uint32_t i = 0; i < index::kPathBuckets; ++i)
    statistics->lookup_paths[i] = visits_->paths(i);
}

Statistics LsmEngine::GetStatistics() {
  Statistics s;
  FillVisits(&s);
  s.puts = counters_.Sum(EngineCounter::kPuts);
  s.deletes = counters_.Sum(EngineCounter::kDeletes);
  s.batches = counters_.Sum(EngineCounter::kBatches);
  s.gets = counters_.Sum(EngineCounter::kGets);
  s.gets_found = counters_.Sum(EngineCounter::kGetsFound);
  s.iterators = counters_.Sum(EngineCounter::kIterators);
  s.passed_entries = counters_.Sum(EngineCounter::kPassedEntries);
  s.bytes_put = counters_.Sum(EngineCounter::kBytesPut);
  s.lines_flushed = pool_->ops().lines_flushed();
  s.fences = pool_->ops().fences();
  s.syncs = counters_.Sum(EngineCounter::kSyncs);
  s.flushes = counters_.Sum(EngineCounter::kFlushes);
  s.flushed_entries = counters_.Sum(EngineCounter::kFlushedEntries);
  s.flush_micros = counters_.Sum(EngineCounter::kFlushNanos) / 1000;
  s.merges = counters_.Sum(EngineCounter::kMerges);
  s.merged_entries = counters_.Sum(EngineCounter::kMergedEntries);
  s.merge_micros = counters_.Sum(EngineCounter::kMergeNanos) / 1000;
  s.collected_chunks = reclaimer_.chunks_given_back();
  s.arranged_entries = counters_.Sum(EngineCounter::kArrangedEntries);
  s.region_fallbacks = pool_->region_fallbacks();
  controller_.stalls()->Fill(&s);
  {
    const std::lock_guard lock(structure_mutex_);
    const ReadState& state = *state_owner_;
    s.memtable_entries = state.active->table->entries();
    s.memtable_bytes = state.active->table->bytes();
    for (const auto& table : state.immutables) {
      s.memtable_entries += table->table->entries();
      s.memtable_bytes += table->table->bytes();
    }
    s.immutable_memtables = state.immutables.size();
    s.l0_tables = state.version->l0.size();
    for (const auto& table : state.version->l0) s.l0_entries += table->entries();
    s.waiting_tables = waiting_.size();
    s.l1_entries = state.version->l1->entries();
    const auto tree = state.version->l1->tree();
    const uint64_t covered = tree != nullptr ? tree->size() : 0;
    s.index_complete =
        tree != nullptr && *options_.cache.index && indexes_left_.load() == 0 ? 1 : 0;
    s.index_entries = *options_.cache.index ? covered : 0;
    s.second_chance_entries = *options_.cache.index ? 0 : covered;
    s.memory_bytes = MemoryBytes();
  }
  if (lookup_cache_ != nullptr) {
    s.lookup_cache_entries = lookup_cache_->entries();
    s.lookup_cache_hits = lookup_cache_->hits();
    s.lookup_cache_absences = lookup_cache_->absences();
    s.lookup_cache_misses = lookup_cache_->misses();
  }
  s.memory_budget_bytes = options_.memory_budget_bytes;
  // In this order: the pool may grow between the two, but does not shrink.
  s.pool_used_bytes = pool_->used_chunks() * pool_->chunk_bytes();
  s.pool_bytes = pool_->pool_bytes();
  s.pool_max_bytes = pool_->max_bytes();
  s.last_sequence = sequence_.load();
  s.snapshots = views_->count();
  s.open_micros = open_micros_;
  s.recovered_entries = recovered_entries_;
  s.clean_open = pool_->was_clean() ? 1 : 0;
  s.media_class = pool_->ops().media_class();
  s.media_class_forced = pool_->media().media_class_forced();
  s.design = options_.design;
  return s;
}

}  // namespace braid::engine
