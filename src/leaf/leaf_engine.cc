// Purpose: opening, closing and inspecting the engine of leaves.
// Thread safety, invariants, persistence: see leaf_engine.h.
#include "leaf/leaf_engine.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/activity.h"
#include "base/check.h"
#include "base/epoch.h"
#include "base/no_throw.h"
#include "base/resources.h"
#include "engine/parts.h"
#include "leaf/leaf_recovery.h"
#include "space/space_use.h"

namespace braid::leaf {

LeafEngine::LeafEngine(const Options& options, std::unique_ptr<pool::PmemPool> pool,
                       std::unique_ptr<base::SharedBudget::Share> share)
    : store_(options, std::move(pool), std::move(share)) {
  WatchMedium(store_.pool.get());
}

Result<std::shared_ptr<LeafEngine>> LeafEngine::Open(const Options& options,
                                                     std::unique_ptr<media::Media> media) {
  if (Status s = engine::CheckLeafParts(options); !s.ok()) return s;
  const auto begin = std::chrono::steady_clock::now();
  Result<std::unique_ptr<base::SharedBudget::Share>> share = base::JoinBudget(options, 0);
  if (!share.ok()) return share.status();
  Result<std::unique_ptr<pool::PmemPool>> pool =
      pool::PmemPool::Open(std::move(media), options, [](pool::PmemPool* fresh) {
        if (Status s = fresh->RequireFeature(format::kIncompatLeaves); !s.ok()) return s;
        LeafList::Create(fresh);
        level::Manifest manifest(fresh);
        return manifest.Create();
      });
  if (!pool.ok()) return pool.status();
  std::shared_ptr<LeafEngine> engine(
      new LeafEngine(options, std::move(pool).value(), std::move(share).value()), Deleter());
  if (!engine->store_.ok()) return Status::OutOfMemory();
  const pool::PmemPool& found = *engine->store_.pool;
  if (found.media_loss_possible()) engine->Log(found.MediaLossText());
  Status s = engine->Recover();
  if (s.ok() && (options.verify_on_open == VerifyOnOpen::kFull || found.media_loss_possible())) {
    VerifyReport report;
    s = engine->VerifyAll(&report, {});
  }
  if (engine->medium_failed()) return engine->MediumStatus();
  if (!s.ok()) return s;
  pool::PmemPool* const opened = engine->store_.pool.get();
  if (options.read_only) {
    if (s = opened->media().Seal(); !s.ok()) return s;
  } else {
    if (s = opened->MarkDirty(); !s.ok()) return s;
    // The image is of no use from here on: a crash leads to a scan.
    engine->image_served_ = true;
    FreeLeafImage(opened);
  }
  engine->open_micros_ =
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                std::chrono::steady_clock::now() - begin)
                                .count());
  engine->NotifyRecovery(options, engine->recovered_entries_, engine->open_micros_);
  engine->store_.scheduler.Start();
  return engine;
}

Status LeafEngine::Recover() {
  const base::ActivityScope activity(base::Activity::kRecovery);
  LeafRecovery job(store_.pool.get(), &store_.manifest, &store_.list, &store_.usage);
  Result<RecoveredLeaves> found = job.Run();
  if (!found.ok()) return found.status();
  store_.writer.Begin(found->last_sequence, found->entries);
  store_.heap.set_next_id(found->next_chunk_id);
  if (store_.pool->was_clean()) {
    if (!found->from_image && found->entries != 0) {
      Log("the pool was closed cleanly but has no image of its index: its leaves were read");
    }
    return Status::OK();
  }
  recovered_entries_ = found->entries;
  Log("recovered " + std::to_string(found->entries) + " entries");
  return Status::OK();
}

void LeafEngine::Log(const std::string& line) const {
  if (store_.options.logger) store_.options.logger(line);
}

LeafEngine::~LeafEngine() {
  // A database that was not closed is left as a crash leaves it: that is what recovery is for.
  store_.closed.store(true);
  store_.scheduler.Stop();
  base::SynchronizeEpoch();
  LeafList::Forget(store_.list.TakeGarbage());
}

Status LeafEngine::Close() {
  const base::MutexLock closing(close_mutex_);
  {
    const base::MutexHold held = store_.scheduler.Hold();
    if (closed()) return Status::Closed();
    store_.closed.store(true);
  }
  // Not under the scheduler's lock: a write of a large value may wait for that one, for space.
  store_.large_values.Close();
  const base::MutexHold held = store_.scheduler.Hold();
  base::SynchronizeEpoch();  // no call is under way after this
  store_.scheduler.Stop();
  Status outcome;
  const bool writable = !store_.options.read_only;
  if (writable) outcome = base::CatchToStatus([&] { return CloseInOrder(); });
  if (outcome.ok() && medium_failed()) outcome = MediumStatus();
  if (outcome.ok() && writable) {
    outcome = base::CatchToStatus([&] { return store_.pool->MarkClean(); });
  }
  // A pool that is not marked clean is recovered at the next open, as after a crash.
  store_.pool->media().Unlock();
  store_.share->Close();
  return outcome;
}

Status LeafEngine::Flush() {
  if (closed()) return Status::Closed();
  return store_.writer.Admit();
}

Status LeafEngine::CompactRange(const CompactOptions& options, std::optional<Slice>,
                                std::optional<Slice>) {
  if (closed()) return Status::Closed();
  if (Status s = store_.writer.Admit(); !s.ok()) return s;
  if (options.progress && !options.progress(0)) return engine::CompactionCancelled();
  if (Status s = store_.scheduler.Compact(options.progress); !s.ok()) return s;
  if (options.progress) options.progress(1);
  return store_.writer.Admit();
}

Status LeafEngine::Verify(VerifyReport* report, const std::function<void(double)>& progress) {
  const base::MutexHold held = store_.scheduler.Hold();  // Close waits
  if (closed()) return Status::Closed();
  return VerifyAll(report, progress);
}

Status LeafEngine::VerifyAll(VerifyReport* report, const std::function<void(double)>& progress) {
  return LeafVerifier(store_.ToVerify(image_served_, &progress)).Run(report);
}

Status LeafEngine::BackgroundStatus() {
  if (closed()) return Status::Closed();
  return medium_failed() ? MediumStatus() : store_.pool->media().SyncError();
}

Status LeafEngine::CloseInOrder() {
  BRAID_DCHECK(closed());  // nobody writes any more
  while (store_.reclaimer.Reclaim(true)) {
  }
  BRAID_DCHECK(store_.pool->failed() || store_.list.garbage_leaves() == 0);
  RecoveredLeaves facts;
  facts.last_sequence = std::min(store_.writer.last_sequence(), format::kMaxSequence);
  facts.next_chunk_id = store_.heap.next_id();
  facts.entries = store_.writer.entries();
  const Status image =
      WriteLeafImage(store_.pool.get(), store_.list.head()->next.load(), store_.usage, facts);
  if (!image.ok()) Log("no image of the index was written: " + image.ToString());
  store_.manifest.record().last_sequence = facts.last_sequence;
  if (format::TableRecord* table = store_.manifest.FindTable(level::Manifest::kL1Id)) {
    table->entries = facts.entries;  // for those who read the pool's facts
  }
  return store_.manifest.Commit();
}

Statistics LeafEngine::GetStatistics() {
  Statistics s;
  store_.writer.Fill(&s);
  store_.scheduler.Fill(&s);
  s.gets = counters_.Sum(Counter::kGets);
  s.gets_found = counters_.Sum(Counter::kGetsFound);
  s.iterators = counters_.Sum(Counter::kIterators);
  s.lines_flushed = store_.pool->ops().lines_flushed();
  s.fences = store_.pool->ops().fences();
  s.collected_chunks = store_.reclaimer.chunks_given_back();
  store_.stalls.Fill(&s);
  space::AddUpChunks(
      *store_.pool, store_.usage,
      [](uint64_t, format::ChunkState) { return space::EntryLevel::kL1; }, &s);
  space::AddUpRetired(*store_.pool, 0, store_.reclaimer.RetiredExtents(), &s);
  s.index_entries = s.l1_entries;
  s.index_complete = 1;
  s.memory_bytes = store_.memory_bytes();
  s.memory_budget_bytes = store_.share->bytes();
  // In this order: the pool may grow between the two, but does not shrink.
  s.pool_used_bytes = store_.pool->used_chunks() * store_.pool->chunk_bytes();
  s.pool_bytes = store_.pool->pool_bytes();
  s.pool_max_bytes = store_.pool->max_bytes();
  space::FillHoles(*store_.pool, &s);
  s.open_micros = open_micros_;
  s.recovered_entries = recovered_entries_;
  s.clean_open = store_.pool->was_clean() ? 1 : 0;
  s.media_class = store_.pool->ops().media_class();
  s.media_class_forced = store_.pool->media().media_class_forced();
  s.design = store_.options.design;
  return s;
}

}  // namespace braid::leaf
