// Purpose: opening, closing and inspecting the engine of leaves.
// Thread safety, invariants, persistence: see leaf_engine.h.
#include "leaf/leaf_engine.h"

#include <algorithm>
#include <chrono>

#include "base/activity.h"
#include "base/check.h"
#include "base/no_throw.h"
#include "engine/parts.h"
#include "engine/stored_value.h"

namespace braid::leaf {

namespace {

SpanSkipList::Limits LimitsOf(const Options& options) {
  SpanSkipList::Limits limits;
  limits.span = options.leaf.span;
  limits.ranges = options.leaf.ranges;
  limits.divide = *options.leaf.divide_ranges;
  return limits;
}

}  // namespace

LeafEngine::LeafEngine(const Options& options, std::unique_ptr<pool::PmemPool> pool)
    : options_(options),
      pool_(std::move(pool)),
      usage_(pool_->media().reserved_bytes() / pool_->chunk_bytes()),
      manifest_(pool_.get()),
      list_(std::make_unique<LeafList>(pool_.get(), LimitsOf(options), options.verify_checksums)),
      heap_(pool_.get(), &usage_, engine::ShardCount(options)),
      stalls_(options.listener.get()) {
  WatchMedium(pool_.get());
}

Result<std::shared_ptr<LeafEngine>> LeafEngine::Open(const Options& options,
                                                     std::unique_ptr<media::Media> media) {
  if (Status s = engine::CheckLeafParts(options); !s.ok()) return s;
  const auto begin = std::chrono::steady_clock::now();
  Result<std::unique_ptr<pool::PmemPool>> pool =
      pool::PmemPool::Open(std::move(media), options, [](pool::PmemPool* fresh) {
        if (Status s = fresh->RequireFeature(format::kIncompatLeaves); !s.ok()) return s;
        LeafList::Create(fresh);
        level::Manifest manifest(fresh);
        return manifest.Create();
      });
  if (!pool.ok()) return pool.status();
  std::shared_ptr<LeafEngine> engine(new LeafEngine(options, std::move(pool).value()), Deleter());
  if (!engine->usage_.ok()) return Status::OutOfMemory();
  Status s = engine->Recover();
  if (s.ok() && options.verify_on_open == VerifyOnOpen::kFull) {
    VerifyReport report;
    s = engine->VerifyAll(&report, {});
  }
  if (engine->medium_failed()) return engine->MediumStatus();
  if (!s.ok()) return s;
  if (options.read_only) {
    if (s = engine->pool_->media().Seal(); !s.ok()) return s;
  } else {
    if (s = engine->pool_->MarkDirty(); !s.ok()) return s;
    // The image is of no use from here on: a crash leads to a scan.
    engine->image_served_ = true;
    FreeLeafImage(engine->pool_.get());
  }
  engine->open_micros_ =
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                std::chrono::steady_clock::now() - begin)
                                .count());
  if (options.listener != nullptr) {
    options.listener->OnRecovery({.clean = engine->pool_->was_clean(),
                                  .replayed_entries = engine->recovered_entries_,
                                  .micros = engine->open_micros_});
  }
  engine->StartJob();
  return engine;
}

Status LeafEngine::Recover() {
  const base::ActivityScope activity(base::Activity::kRecovery);
  LeafRecovery job(pool_.get(), &manifest_, list_.get(), &usage_);
  Result<RecoveredLeaves> found = job.Run();
  if (!found.ok()) return found.status();
  sequence_.store(found->last_sequence);
  heap_.set_next_id(found->next_chunk_id);
  opened_entries_ = found->entries;
  if (pool_->was_clean()) {
    if (!found->from_image && found->entries != 0) {
      Log("the pool was closed in order and has no image of its index: its leaves were read");
    }
    return Status::OK();
  }
  recovered_entries_ = found->entries;
  Log("recovered " + std::to_string(found->entries) + " entries");
  return Status::OK();
}

void LeafEngine::Log(const std::string& line) const {
  if (options_.logger) options_.logger(line);
}

/// Reclaims and collects when garbage has come together.
class LeafEngine::Maintenance final : public base::Workers::Job {
 public:
  explicit Maintenance(LeafEngine* engine) : engine_(engine) {}

  base::Workers::Next Run() noexcept override {
    engine_->maintenance_wanted_.store(false);
    base::IgnoreExceptions([&] {  // without memory it is done later
      engine_->Maintain();
      engine_->pool_->GrowAhead(0);
      engine_->errors_.NoteSyncError();
    });
    return base::Workers::Next::WhenWoken();
  }

 private:
  LeafEngine* const engine_;
};

void LeafEngine::StartJob() {
  if (!options_.background_threads || options_.read_only) return;
  BRAID_CHECK(workers_ == nullptr && job_ == nullptr);
  job_ = std::make_unique<Maintenance>(this);
  workers_ = base::Workers::OfProcess();
  workers_->Add(job_.get(), base::Workers::Lane::kMerge);
}

LeafEngine::~LeafEngine() {
  // A database that was not closed is left as a crash leaves it: that is what recovery is for.
  closed_.store(true);
  if (job_ != nullptr) workers_->Remove(job_.get());
  base::SynchronizeEpoch();
  list_->Forget(list_->TakeGarbage());
}

Status LeafEngine::Close() {
  const base::MutexLock closing(closing_mutex_);
  {
    const base::MutexLock close_lock(close_mutex_);
    if (closed()) return Status::Closed();
    closed_.store(true);
  }
  // Not under close_mutex_: a write of a large value may wait for that one, for space.
  large_values_.Close();
  const base::MutexLock close_lock(close_mutex_);
  base::SynchronizeEpoch();  // no call is under way after this
  if (job_ != nullptr) workers_->Remove(job_.get());
  Status outcome;
  if (!options_.read_only) outcome = base::CatchToStatus([&] { return CloseInOrder(); });
  if (outcome.ok() && medium_failed()) outcome = MediumStatus();
  if (outcome.ok() && !options_.read_only)
    outcome = base::CatchToStatus([&] { return pool_->MarkClean(); });
  // A pool that is not marked clean is recovered at the next open, as after a crash.
  pool_->media().Unlock();
  return outcome;
}

Status LeafEngine::BackgroundStatus() {
  if (closed()) return Status::Closed();
  return medium_failed() ? MediumStatus() : pool_->media().SyncError();
}

Status LeafEngine::CloseInOrder() {
  BRAID_DCHECK(closed());  // nobody writes any more
  while (Reclaim(true)) {
  }
  BRAID_DCHECK(pool_->failed() || list_->garbage_leaves() == 0);
  RecoveredLeaves facts;
  facts.last_sequence = std::min(sequence_.load(), format::kMaxSequence);
  facts.next_chunk_id = heap_.next_id();
  facts.entries = entries();
  const Status image = WriteLeafImage(pool_.get(), list_->head()->next.load(), usage_, facts);
  if (!image.ok()) Log("no image of the index was written: " + image.ToString());
  manifest_.record().last_sequence = facts.last_sequence;
  if (format::TableRecord* table = manifest_.FindTable(level::Manifest::kL1Id)) {
    table->entries = facts.entries;  // for those who read the pool's facts
  }
  return manifest_.Commit();
}

Status LeafEngine::ValueOf(uint64_t entry, std::string_view* value) const {
  return engine::ReadStoredValue(*pool_, entry, options_.verify_checksums, value);
}

Statistics LeafEngine::GetStatistics() {
  Statistics s;
  s.puts = counters_.Sum(LeafCounter::kPuts);
  s.deletes = counters_.Sum(LeafCounter::kDeletes);
  s.batches = counters_.Sum(LeafCounter::kBatches);
  s.gets = counters_.Sum(LeafCounter::kGets);
  s.gets_found = counters_.Sum(LeafCounter::kGetsFound);
  s.iterators = counters_.Sum(LeafCounter::kIterators);
  s.bytes_put = counters_.Sum(LeafCounter::kBytesPut);
  s.lines_flushed = pool_->ops().lines_flushed();
  s.fences = pool_->ops().fences();
  s.collected_chunks = counters_.Sum(LeafCounter::kFreedChunks);
  stalls_.Fill(&s);
  s.l1_entries = entries();
  s.index_entries = s.l1_entries;
  s.index_complete = 1;
  s.memory_bytes = list_->leaves() * sizeof(LeafNode) + list_->upper().nodes() * sizeof(SpanNode);
  s.memory_budget_bytes = options_.memory_budget_bytes;
  // In this order: the pool may grow between the two, but does not shrink.
  s.pool_used_bytes = pool_->used_chunks() * pool_->chunk_bytes();
  s.pool_bytes = pool_->pool_bytes();
  s.pool_max_bytes = pool_->max_bytes();
  s.last_sequence = sequence_.load();
  s.open_micros = open_micros_;
  s.recovered_entries = recovered_entries_;
  s.clean_open = pool_->was_clean() ? 1 : 0;
  s.media_class = pool_->ops().media_class();
  s.media_class_forced = pool_->media().media_class_forced();
  s.design = options_.design;
  return s;
}

}  // namespace braid::leaf
