// Purpose: opening, closing and inspecting the LSM engine.
// Thread safety, invariants, persistence: see lsm_engine.h.
#include "lsm/lsm_engine.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/activity.h"
#include "base/check.h"
#include "base/epoch.h"
#include "base/no_throw.h"
#include "base/resources.h"
#include "engine/parts.h"
#include "level/level_sizes.h"
#include "lsm/tier_opening.h"
#include "lsm/unmerged.h"
#include "lsm/verifier.h"
#include "memtable/dram_memtable.h"
#include "recovery/recovery_job.h"

namespace braid::lsm {

namespace {

/// What can't give way when memory is short.
uint64_t FixedMemory(const Options& options) {
  const uint64_t lookups = options.read_only ? 0 : *options.cache.lookup_bytes;
  return lookups + TierCacheBytes(options);
}

}  // namespace

LsmEngine::LsmEngine(const Options& options, std::unique_ptr<pool::PmemPool> pool,
                     std::unique_ptr<tier::Store> tier,
                     std::unique_ptr<level::MemoryBudget::Share> share)
    : store_(options, std::move(pool), std::move(tier), std::move(share), &scheduler_,
             &scheduler_) {
  WatchMedium(store_.pool.get());
}

Result<std::shared_ptr<LsmEngine>> LsmEngine::Open(const Options& options,
                                                   std::unique_ptr<media::Media> media) {
  if (Status s = engine::CheckLsmParts(options); !s.ok()) return s;
  const auto begin = std::chrono::steady_clock::now();
  // Before the pool is made. What can't give way later is sure of its room.
  Result<std::unique_ptr<level::MemoryBudget::Share>> share =
      base::JoinBudget(options, FixedMemory(options));
  if (!share.ok()) return share.status();
  Result<std::unique_ptr<pool::PmemPool>> pool =
      pool::PmemPool::Open(std::move(media), options, [&options](pool::PmemPool* fresh) {
        level::Manifest manifest(fresh);
        return manifest.Create(level::LevelsOfNewPool(options.levels));
      });
  if (!pool.ok()) return pool.status();
  Result<std::unique_ptr<tier::Store>> tier = OpenTierOf(pool->get(), options);
  if (!tier.ok()) return tier.status();
  std::shared_ptr<LsmEngine> engine(
      new LsmEngine(options, std::move(pool).value(), std::move(tier).value(),
                    std::move(share).value()),
      Deleter());
  if (!engine->store_.ok()) return Status::OutOfMemory();
  const pool::PmemPool& found = *engine->store_.pool;
  if (found.media_loss_possible()) engine->scheduler_.Log(found.MediaLossText());
  Status s = engine->Recover();
  if (s.ok() && (options.verify_on_open == VerifyOnOpen::kFull || found.media_loss_possible())) {
    VerifyReport report;
    s = engine->VerifyAll(&report, {});
  }
  if (engine->medium_failed()) return engine->MediumStatus();
  if (!s.ok()) return s;
  s = options.read_only ? engine->store_.pool->media().Seal() : engine->AnnounceWrites();
  if (!s.ok()) return s;
  engine->open_micros_ =
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                std::chrono::steady_clock::now() - begin)
                                .count());
  engine->NotifyRecovery(options, engine->recovered_entries_, engine->open_micros_);
  engine->scheduler_.Start();
  return engine;
}

/// From here on the pool changes; until now recovery could be repeated from the same bytes.
Status LsmEngine::AnnounceWrites() {
  const bool copies = *store_.options.log.kind != LogKind::kIndexUnified ||
                      *store_.options.compaction.kind == MergeKind::kCopy ||
                      level::HasSeveralLists(store_.options.levels);
  const bool rewrites = *store_.options.compaction.kind == MergeKind::kRewrite;
  return store_.pool->MarkDirty((copies ? format::kIncompatCopies : 0) |
                                (store_.tier != nullptr ? format::kIncompatTier : 0) |
                                (rewrites ? format::kIncompatRuns : 0));
}

Status LsmEngine::Recover() {
  const base::ActivityScope activity(base::Activity::kRecovery);
  const level::VersionSet::Locked versions = store_.versions.Lock();
  level::Manifest& manifest = versions.manifest();
  recovery::RecoveryJob job(store_.pool.get(), &manifest, &store_.usage, store_.options);
  if (store_.tier != nullptr) job.SetTier(&store_.tier->store());
  Result<recovery::RecoveredState> recovered = job.Run();
  if (!recovered.ok()) return recovered.status();
  const format::ManifestState& record = manifest.record();
  const merge::OpenMerges open_merges = recovered->open_merges;
  store_.merger.Begin(std::move(recovered->open_merges));
  store_.sequence.store(recovered->last_sequence);
  // Numbers of torn entries are found in their log only: the commit that ends the log keeps them.
  manifest.record().last_sequence = recovered->last_sequence;
  const uint64_t next_table_id = std::max(recovered->next_table_id, record.next_table_id);
  recovered_entries_ = recovered->replayed_entries;

  auto version = std::make_shared<level::Version>();
  version->levels.resize(record.level_count);
  for (const format::TableRecord& table : record.tables) {
    if ((table.flags & (format::kTableOfCopies | format::kTableOfOriginals)) != 0) continue;
    BRAID_DCHECK(table.level < version->levels.size());  // Manifest::Load has looked
    auto list = std::make_shared<level::PmemTable>(store_.pool.get(), table,
                                                   store_.options.verify_checksums);
    if (const auto open = open_merges.find(table.id); open != open_merges.end()) {
      merge::BoundSource(*store_.pool, open->second, list.get());
    }
    version->levels[table.level].push_back(std::move(list));
  }
  if (Status s = OrderRuns(version.get()); !s.ok()) return s;
  scheduler_.SetL0Found(version->l0().size());
  store_.lookup_filler.Begin(version->l0().empty() ? 0 : version->l0().front()->id());
  if (Status s = store_.indexes.Begin(*version, record.AnyMerge()); !s.ok()) return s;
  level::ReadState state;
  state.version = std::move(version);
  if (recovered->entries != nullptr && recovered->entries->entries() != 0) {
    BRAID_DCHECK(recovered->log_id < next_table_id);
    state.immutables.push_back(memtable::DramMemTable::Recover(
        store_.memtables, recovered->log_id, *recovered->entries, recovered->write_ahead));
  }
  state.active = store_.NewMemTable(next_table_id, nullptr);
  versions.Begin(std::move(state), next_table_id + 1);
  if (recovered->replayed_entries != 0 || recovered->rebuilt) {
    scheduler_.Log("recovered " + std::to_string(recovered->replayed_entries) + " log entries" +
                   (recovered->rebuilt ? "; lists were rebuilt after a power loss" : ""));
  }
  return Status::OK();
}

/// Brings the lists of each level into the order of their keys.
Status LsmEngine::OrderRuns(level::Version* version) const {
  for (size_t i = 1; i < version->levels.size(); ++i) {
    level::Level& level = version->levels[i];
    if (!level.front()->AsList()->is_of_run()) continue;
    if (*store_.options.compaction.kind != MergeKind::kRewrite && !store_.options.read_only) {
      return Status::InvalidArgument(
          "the pool's levels have several lists each, which compaction.kind=rewrite has made; "
          "other "
          "kinds can read them only");
    }
    if (level.size() == 1) continue;
    for (const auto& table : level) {
      if (!table->AsList()->range().is_known) {
        return store_.pool->CorruptionAt(table->AsList()->head_offset(), "list",
                                         "its first or last entry is damaged");
      }
    }
    std::sort(level.begin(), level.end(), [](const auto& a, const auto& b) {
      return a->AsList()->range().first < b->AsList()->range().first;
    });
    for (size_t at = 1; at < level.size(); ++at) {
      if (level[at - 1]->AsList()->range().last < level[at]->AsList()->range().first) continue;
      return store_.pool->CorruptionAt(level[at]->AsList()->head_offset(), "list",
                                       "its keys are those of another list of its level, too");
    }
  }
  version->ListRuns();
  return Status::OK();
}

LsmEngine::~LsmEngine() {
  // A database that was not closed is left as a crash leaves it: that is what recovery is for.
  store_.closed.store(true);
  store_.controller.Release();
  scheduler_.Stop();
  base::SynchronizeEpoch();
}

Status LsmEngine::Close() {
  const base::MutexLock close_lock(close_mutex_);
  if (closed()) return Status::Closed();
  store_.closed.store(true);
  store_.calls.Shut();
  store_.controller.Release();
  base::SynchronizeEpoch();
  scheduler_.Stop();        // those that wait for the jobs, or merge themselves, stop as well
  store_.calls.AwaitAll();  // a load under way ends with its next record
  store_.large_values.Close();
  Status outcome = store_.errors.failure();
  if (outcome.ok() && !store_.options.read_only) {
    outcome = base::CatchToStatus([&] { return scheduler_.FlushForClose(); });
  }
  if (outcome.ok() && medium_failed()) outcome = MediumStatus();
  if (outcome.ok() && !store_.options.read_only) {
    {
      const level::VersionSet::Locked versions = store_.versions.Lock();
      format::ManifestState& record = versions.record();
      // Refused writes may have drawn numbers above the last one.
      record.last_sequence =
          std::max(record.last_sequence, std::min(store_.sequence.load(), format::kMaxSequence));
      BRAID_DCHECK(record.next_table_id <= versions.next_table_id());  // no id is given out twice
      record.next_table_id = versions.next_table_id();
      outcome = versions.manifest().Commit();
    }
    if (outcome.ok()) outcome = base::CatchToStatus([&] { return store_.pool->MarkClean(); });
  }
  if (store_.tier != nullptr) store_.tier->store().Close();
  // A pool that is not marked clean is recovered at the next open, as after a crash.
  store_.pool->media().Unlock();
  store_.budget.Close();
  return outcome;
}

Status LsmEngine::BackgroundStatus() {
  if (closed()) return Status::Closed();
  if (store_.errors.ended()) return store_.errors.WhyEnded();
  if (Status s = store_.pool->media().SyncError(); !s.ok()) return s;
  return store_.errors.block_reason();
}

Status LsmEngine::Resume() {
  const engine::CallGate::Call call(&store_.calls);
  if (!call.entered()) return Status::Closed();
  // A flush that found no room has changed nothing: it is tried again. What ended otherwise is half
  // done, and takes a recovery.
  scheduler_.Unblock();
  if (Status s = scheduler_.WaitUntilIdle(false); !s.ok()) return s;
  return BackgroundStatus();
}

Statistics LsmEngine::GetStatistics() {
  Statistics s;
  store_.reader.Fill(&s);
  store_.writer.Fill(&s);
  scheduler_.Fill(&s);
  s.lines_flushed = store_.pool->ops().lines_flushed();
  s.fences = store_.pool->ops().fences();
  s.collected_chunks = store_.reclaimer.chunks_given_back();
  s.reclustered_entries = store_.reclusterer.reclustered_entries();
  s.region_fallbacks = store_.pool->region_fallbacks();
  store_.controller.stalls()->Fill(&s);
  {
    const auto versions = store_.versions.Lock();
    const level::ReadState& state = versions.state();
    s.memtable_entries = state.active->entries();
    s.memtable_bytes = state.active->bytes();
    for (const auto& table : state.immutables) {
      s.memtable_entries += table->entries();
      s.memtable_bytes += table->bytes();
    }
    s.immutable_memtables = state.immutables.size();
    s.l0_tables = state.version->l0().size();
    for (const auto& table : state.version->l0()) s.l0_entries += table->entries();
    s.waiting_tables = versions.waiting().size();
    for (size_t i = 1; i < state.version->levels.size(); ++i) {
      for (const auto& table : state.version->levels[i]) s.l1_entries += table->entries();
    }
    const auto tree = state.version->KeepList(state.version->levels.size() - 1)->tree();
    const uint64_t covered = tree != nullptr ? tree->size() : 0;
    s.index_complete =
        tree != nullptr && *store_.options.cache.index && store_.indexes.AllAreMade() ? 1 : 0;
    s.index_entries = *store_.options.cache.index ? covered : 0;
    s.second_chance_entries = *store_.options.cache.index ? 0 : covered;
    s.memory_bytes = store_.budget.Used();
  }
  s.overwritten_tables = store_.merger.overwritten_tables();
  s.full_merges = store_.full_merger.merges();
  store_.accounts.Fill(&s);
  s.memory_budget_bytes = store_.budget.bytes();
  // In this order: the pool may grow between the two, but does not shrink.
  s.pool_used_bytes = store_.pool->used_chunks() * store_.pool->chunk_bytes();
  s.pool_bytes = store_.pool->pool_bytes();
  s.pool_max_bytes = store_.pool->max_bytes();
  space::FillHoles(*store_.pool, &s);
  s.last_sequence = store_.sequence.load();
  s.snapshots = store_.views->count();
  s.open_micros = open_micros_;
  s.recovered_entries = recovered_entries_;
  s.clean_open = store_.pool->was_clean() ? 1 : 0;
  s.media_class = store_.pool->ops().media_class();
  s.media_class_forced = store_.pool->media().media_class_forced();
  s.design = store_.options.design;
  return s;
}

Status LsmEngine::Verify(VerifyReport* report, const std::function<void(double)>& progress) {
  const engine::CallGate::Call call(&store_.calls);
  if (!call.entered()) return Status::Closed();
  // Merges and flushes wait meanwhile, so that counts mean something; reads and writes go on.
  const auto merges_held = scheduler_.HoldMerges();
  const flush::Flusher::Lock flushes_held = store_.flusher.HoldFlushes();
  const flush::Flusher::Lock groups_held = store_.flusher.HoldGroups();
  if (closed()) return Status::Closed();
  return VerifyAll(report, progress);
}

Status LsmEngine::VerifyAll(VerifyReport* report, const std::function<void(double)>& progress) {
  *report = VerifyReport{};
  Verifier verifier({.pool = store_.pool.get(),
                     .usage = &store_.usage,
                     .versions = &store_.versions,
                     .reclaimer = &store_.reclaimer,
                     .large_values = &store_.large_values,
                     .sequence = &store_.sequence,
                     .open_merges = &store_.merger.open(),
                     .progress = &progress});
  if (!verifier.CheckTables([this] { return closed(); })) return Status::Closed();
  {
    // Nobody allocates or frees meanwhile: writers wait here for a moment.
    const auto reclaim_lock = store_.reclaimer.Hold();
    const auto batches_held = store_.writer.HoldBatches();
    const auto shards_held = store_.writer.LockShards();
    const base::MutexHold large_lock = store_.large_values.Hold();
    const auto chunks_held = store_.bulk_loader.HoldChunks();
    verifier.CheckSpace();
  }
  if (store_.tier != nullptr) {
    store_.tier_filler.AwaitRuns();
    if (Status s = store_.tier->store().Verify(); s.IsCorruption()) {
      verifier.AddProblem(s);
    } else if (!s.ok()) {
      return s;
    }
  }
  // The same through the read path: what a user would see, each value checked. Not where an
  // obsolete entry is linked: readers take it for one that a merge has just unlinked, and look
  // again.
  if (!verifier.links_obsolete()) {
    const std::unique_ptr<Iterator> all = NewIterator({});
    for (all->SeekToFirst(); all->Valid(); all->Next()) ++report->live_entries;
    // Lack of memory is no damage.
    if (Status s = all->status(); s.IsCorruption()) {
      verifier.AddProblem(s);
    } else if (!s.ok()) {
      return s;
    }
  }
  return verifier.Report(report);
}

Status LsmEngine::Flush() { return FinishWork(false); }

Status LsmEngine::Compact() {
  Status s = FinishWork(true);
  if (s.ok()) GiveSpaceBack();
  if (s.ok() && store_.tier != nullptr) s = AwaitTier();
  return s;
}

/// Until the tier has put together what it has. What goes to it meanwhile is not waited for: while
/// writers are busy there is always more.
Status LsmEngine::AwaitTier() {
  const engine::CallGate::Call call(&store_.calls);
  if (!call.entered()) return Status::Closed();
  const tier::Tier& tier = *store_.tier;
  // One job may be followed by another a moment later: asked until the answer stays.
  constexpr int kQuietAnswers = 3;
  const uint64_t moves = tier.moves().load();
  for (int quiet = 0; quiet < kQuietAnswers && tier.moves().load() == moves;) {
    if (closed()) return Status::Closed();
    quiet = tier.store().IsBusy() ? 0 : quiet + 1;
    if (quiet < kQuietAnswers) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return Status::OK();
}

/// Behind a compaction that somebody asked for: does not wait until the space was free for long.
void LsmEngine::GiveSpaceBack() {
  const engine::CallGate::Call call(&store_.calls);
  if (!call.entered() || store_.errors.ended()) return;
  // Where it fails the background finds the same error.
  if (store_.reclaimer.Reclaim(false).ok()) store_.trimmer.TrimAll(0);
}

Status LsmEngine::FinishWork(bool merged_too) {
  const engine::CallGate::Call call(&store_.calls);
  if (!call.entered()) return Status::Closed();
  scheduler_.SwitchMemTable(nullptr);
  return BehindWork(scheduler_.WaitUntilIdle(merged_too));
}

Status LsmEngine::CompactRange(const CompactOptions& options, std::optional<Slice> begin,
                               std::optional<Slice> end) {
  const engine::CallGate::Call call(&store_.calls);
  if (!call.entered()) return Status::Closed();
  if (options.progress && !options.progress(0)) return engine::CompactionCancelled();
  const bool all = !begin && !end;
  if (all || MemTableHasKeys(&store_.versions, begin, end)) scheduler_.SwitchMemTable(nullptr);
  const uint64_t tables =
      all ? scheduler_.NewestTable() : NewestTableWithKeys(&store_.versions, begin, end);
  Status s = BehindWork(scheduler_.Drain(tables, options.progress));
  if (s.ok()) GiveSpaceBack();
  if (s.ok() && options.progress) options.progress(1);
  return s;
}

Status LsmEngine::BehindWork(Status idle) {
  if (idle.ok()) idle = scheduler_.WriteBackGroup();
  if (idle.ok() && closed()) return Status::Closed();  // it may have come in between
  return idle.ok() ? store_.errors.block_reason() : idle;
}

Status LsmEngine::Ingest(RecordSource* source, const IngestOptions& options, IngestReport* report) {
  const engine::CallGate::Call call(&store_.calls);
  if (!call.entered()) return Status::Closed();
  if (Status blocked = store_.errors.block_reason(); !blocked.ok()) return blocked;
  return store_.bulk_loader.Load(source, options, report);
}

}  // namespace braid::lsm
