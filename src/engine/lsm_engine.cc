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

LsmEngine::LsmEngine(const Options& options, std::unique_ptr<pmem::PmemPool> pool)
    : options_(options),
      pool_(std::move(pool)),
      lookup_cache_(
          *options_.cache.lookup_bytes == 0 || options_.read_only  // nothing would ever fill it
              ? nullptr
              : std::make_unique<cache::LookupCache>(pool_.get(), *options_.cache.lookup_bytes)),
      usage_(pool_->media().reserved_bytes() / pool_->chunk_bytes()),
      controller_(options),
      views_(std::make_shared<ViewRegistry>()) {
  WatchMedium(pool_.get());
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
  const VersionSet::Locked versions = versions_.Lock();
  level::Manifest& manifest = versions.manifest();
  recovery::RecoveryJob job(pool_.get(), &manifest, &usage_, options_);
  Result<recovery::RecoveredState> recovered = job.Run();
  if (!recovered.ok()) return recovered.status();
  const format::ManifestRecord& record = manifest.record();
  merger_.Begin(recovered->merge_progress);
  sequence_.store(recovered->last_sequence);
  // Numbers of torn entries are found in their log only: the commit that ends the log keeps them.
  if (!BRAID_MUTANT(kRecoveredSequenceNotSaved)) {
    manifest.record().last_sequence = recovered->last_sequence;
  }
  const uint64_t next_table_id = std::max(recovered->next_table_id, record.next_table_id);
  recovered_entries_ = recovered->replayed_entries;

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
    manifest.record().flushed_table_id = next_table_id - 1;
    if (Status s = manifest.Commit(); !s.ok()) return s;
  }
  l0_found_ = version->l0.size();
  lookup_filler_.Begin(version->l0.empty() ? 0 : version->l0.front()->id());
  if (Status s = indexes_.Begin(*version, record.merge_id != 0); !s.ok()) return s;
  ReadState state;
  state.version = std::move(version);
  if (recovered->table != nullptr && recovered->table->entries() != 0) {
    auto sealed =
        std::make_shared<LoggedMemTable>(pool_.get(), recovered->table, recovered->write_ahead);
    sealed->sealed.store(true);
    sealed->table->Advance(memtable::State::kSealed);
    state.immutables.push_back(std::move(sealed));
  }
  state.active = NewMemTable(next_table_id);
  versions.Begin(std::move(state), next_table_id + 1);
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

std::shared_ptr<LoggedMemTable> LsmEngine::NewMemTable(uint64_t id) {
  return std::make_shared<LoggedMemTable>(pool_.get(), id, writer_.shards(), options_);
}

size_t LsmEngine::sealed_memtables() const { return versions_.Lock().state().immutables.size(); }

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
  Status outcome = errors_.failure();
  if (outcome.ok() && !options_.read_only) {
    outcome = base::NoThrow([&] { return FlushForClose(); });
  }
  if (outcome.ok() && medium_failed()) outcome = MediumStatus();
  if (outcome.ok() && !options_.read_only) {
    {
      const VersionSet::Locked versions = versions_.Lock();
      format::ManifestRecord& record = versions.record();
      // Refused writes may have drawn numbers above the last one.
      record.last_sequence =
          std::max(record.last_sequence, std::min(sequence_.load(), format::kMaxSequence));
      record.next_table_id = versions.next_table_id();
      outcome = versions.manifest().Commit();
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
    const VersionSet::Locked versions = versions_.Lock();
    const std::shared_ptr<LoggedMemTable> active = versions.state().active;
    if (active->table->entries() != 0) {
      NextState next = versions.Next();
      next.Seal(NewMemTable(versions.NewTableId()));
      active->table->Advance(memtable::State::kSealed);
      versions.Show(std::move(next));
    }
  }
  stop_merges_.store(false);
  if (BRAID_MUTANT(kCleanBeforeFlush)) (void)pool_->MarkClean();
  // When no head is free for another table, a merge makes one.
  const auto merge = [this] {
    readers_.TakeBack();
    return MergeNext();
  };
  while (!BRAID_MUTANT(kCloseLeavesLog) &&
         (FlushOldest() || (sealed_memtables() != 0 && !failed() && merge()))) {
  }
  if (!failed()) {
    if (Status s = Checkpoint(); !s.ok()) return s;
    if (Status s = errors_.block_reason(); !s.ok()) return s;
  }
  while (Guarded(&LsmEngine::Reclaim)) {
  }
  return errors_.failure();
}

Status LsmEngine::BackgroundStatus() {
  if (closed()) return Status::Closed();
  if (failed() || medium_failed()) return WhyEnded();
  if (Status s = pool_->media().SyncError(); !s.ok()) return s;
  return errors_.block_reason();
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

Statistics LsmEngine::GetStatistics() {
  Statistics s;
  reader_.Fill(&s);
  writer_.Fill(&s);
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
  s.arranged_entries = arranger_.arranged_entries();
  s.region_fallbacks = pool_->region_fallbacks();
  controller_.stalls()->Fill(&s);
  {
    const auto versions = versions_.Lock();
    const ReadState& state = versions.state();
    s.memtable_entries = state.active->table->entries();
    s.memtable_bytes = state.active->table->bytes();
    for (const auto& table : state.immutables) {
      s.memtable_entries += table->table->entries();
      s.memtable_bytes += table->table->bytes();
    }
    s.immutable_memtables = state.immutables.size();
    s.l0_tables = state.version->l0.size();
    for (const auto& table : state.version->l0) s.l0_entries += table->entries();
    s.waiting_tables = versions.waiting().size();
    s.l1_entries = state.version->l1->entries();
    const auto tree = state.version->l1->tree();
    const uint64_t covered = tree != nullptr ? tree->size() : 0;
    s.index_complete = tree != nullptr && *options_.cache.index && indexes_.AllAreMade() ? 1 : 0;
    s.index_entries = *options_.cache.index ? covered : 0;
    s.second_chance_entries = *options_.cache.index ? 0 : covered;
    s.memory_bytes = budget_.Used();
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
